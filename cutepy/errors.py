"""What cutepy raises. Each kind is also the builtin that a caller expects.

A message holds the call with its operands, the failing part with its numbers, and a way out.
"""

from collections.abc import Callable, Iterable
from functools import cached_property, wraps
from inspect import isfunction
from pathlib import Path
from typing import Any, NamedTuple, Self


class RefusedCall(NamedTuple):
    """A call that was refused: its name, what was called, the operands, and whether a text made it or Python.

    A method's name is `.name`, that of a call of the first operand itself is empty.
    """

    name: str
    act: Callable[..., Any]
    operands: tuple[Any, ...]
    named: dict[str, Any]
    in_text: bool = False


class CutepyError(Exception):
    """The root of every error that cutepy raises on purpose.

    `column` (from 0) is the place in a text that was read, where there is one; the message then carries a caret.

    >>> from cutepy import Layout
    >>> try:
    ...     Layout.parse("(4,8):(1,4")
    ... except CutepyError as error:
    ...     print(error.column, error)
    10 expected ',' or ')' in the tuple, found the end of the text
      (4,8):(1,4
                ^
    >>> from cutepy.layout.text.parse import parse_expression
    >>> try:
    ...     parse_expression("composition((6,2):(1,7), (3,2):(2,3))")
    ... except CutepyError as error:
    ...     print(error.fixes[0])
    composition((6,2):(1,7), (3,2):(2,1))
    """

    column: int | None = None
    around: tuple[str, str] = ("", "")
    """What stands before and after the expression in a text of several lines."""

    @cached_property
    def refused(self) -> RefusedCall | None:
        """The call of the algebra that was refused, in a text or in Python; None where there was none."""
        from .layout.text.repair import refused_call

        return None if isinstance(self, NotationError) else refused_call(self)

    @cached_property
    def fixes(self) -> tuple[str, ...]:
        """What works in place of what was refused, each computed: of a text in its grammar, of a call in Python.

        >>> from cutepy import Layout, composition
        >>> try:
        ...     composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
        ... except CutepyError as error:
        ...     print(error.fixes[0])
        composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 1)))
        """
        from .layout.text.repair import fixes_of

        return fixes_of(self)

    def at(self, text: str, column: int) -> Self:
        """This error said in one line, with a caret under the place of a text that it is about.

        >>> print(LayoutError("there are 2 modes").at("get((4,8), 7)", 0))
        there are 2 modes
          get((4,8), 7)
          ^
        """
        line = " ".join(map(str.strip, str(self).split("\n")))
        self.args, self.column = (f"{line}\n{_pointed(text, column)}",), column
        return self

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the lines of the caller's own code, and the message. Equal in every run."""
        from traceback import extract_tb, format_exception_only

        inside = (str(Path(__file__).parent), "/IPython/", "\\IPython\\")
        own = [frame for frame in extract_tb(self.__traceback__) if not any(name in frame.filename for name in inside)]
        shown = [f"{_file(frame.filename)}, line {frame.lineno}\n    {frame.line}" for frame in own]
        return [*shown, "".join(format_exception_only(self)).rstrip()]


def _file(name: str) -> str:
    """A file of code; the name of a notebook's cell is another one in every run."""
    return "a cell" if "ipykernel_" in name or name.startswith("<ipython") else name


class InternalError(CutepyError, RuntimeError):
    """Something that cutepy says does not hold: a fault of cutepy, whatever was asked. `python -O` leaves it in."""

    _render_traceback_ = None  # type: ignore[assignment]  # IPython, which cannot call it, shows every line


def hold(claim: bool, said: str) -> None:
    """Raise InternalError unless a claim holds on which what is said next rests."""
    if not claim:
        raise InternalError(f"{said}: this does not hold, which is a fault of cutepy; please report it with the call")


class LayoutError(CutepyError, ValueError):
    """An operand of the layout algebra, or the pair of them, does not have the asked-for property.

    >>> from cutepy import Layout
    >>> try:
    ...     Layout((4, 0.5))
    ... except LayoutError as error:
    ...     print(isinstance(error, ValueError), error)
    True Layout((4,0.5)): a size is 0.5 of type float; it must be a whole number
    """


class OperandError(LayoutError, TypeError):
    """An operand is not of the kind that a function takes, or one is missing.

    >>> from cutepy import size
    >>> try:
    ...     size(3.5)
    ... except OperandError as error:
    ...     print(error)
    size(3.5): thing is 3.5; it is a layout, a shape, or a tuple of these
    """


class CompositionError(LayoutError):
    """A composition is not a layout.

    `witness` is the coordinate of the right operand where no layout can hold, `values` what the composition is there
    and what a layout would have to be, `clause` the condition that failed: "stride", "shape" or "carry".

    >>> from cutepy import Layout, composition
    >>> try:
    ...     composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    ... except CompositionError as error:
    ...     print(error.witness, error.values, error.clause)
    (2, 1) (8, 7) carry
    """

    def __init__(
        self, message: str, clause: str, witness: object = None, values: tuple[object, object] = (None, None)
    ) -> None:
        self.witness, self.values, self.clause = witness, values, clause
        super().__init__(message)


class CoordinateError(CutepyError, IndexError):
    """A coordinate does not fit the shape: nested in another way, or out of range.

    >>> from cutepy import Layout
    >>> try:
    ...     Layout((4, 8))(1, 2, 3)
    ... except CoordinateError as error:
    ...     print(isinstance(error, IndexError), error)
    True coordinate (1, 2, 3) has 3 modes, the shape (4, 8) has 2; give one entry a mode, or one integer for all
    """


class NotationError(LayoutError):
    """A text is not a layout. `column` is where reading stopped.

    >>> from cutepy import Layout
    >>> try:
    ...     Layout.parse("(4,8):(1,x)y")
    ... except NotationError as error:
    ...     print(error.column)
    11
    """

    def __init__(self, message: str, text: str = "", column: int = 0) -> None:
        super().__init__(message)
        self.text, self.column, self.stopped = text, column, column
        if text:
            self.at(text, column)


def _pointed(text: str, column: int, width: int = 100) -> str:
    """The line of `text` that holds `column`, cut to `width` around it, with a caret below."""
    start = text.rfind("\n", 0, column) + 1
    line = text[start:].split("\n", 1)[0] if "\n" in text else text
    at = column - start
    begin = max(0, min(at - width // 2, len(line) - width))
    shown = line[begin : begin + width].replace("\t", " ")
    before, after = "…" if begin else "", "…" if begin + width < len(line) else ""
    return f"  {before}{shown}{after}\n  {' ' * (len(before) + at - begin)}^"


class TableError(LayoutError):
    """A table of offsets is no layout. `index` is where; `values` what stands there and what a layout would have.

    >>> from cutepy import Layout
    >>> try:
    ...     Layout.from_offsets([0, 2, 1, 5])
    ... except TableError as error:
    ...     print(error.index, error.values)
    (3,) (5, 3)
    """

    def __init__(self, message: str, index: tuple[int, ...], values: tuple[int, int]) -> None:
        self.index, self.values = index, values
        super().__init__(message)


class UndecidedError(LayoutError):
    """An answer about symbolic sizes depends on a fact that nobody stated. `fact` is one that would decide it.

    >>> from cutepy import Layout, logical_divide
    >>> try:
    ...     logical_divide(Layout.parse("n:1"), 4)
    ... except UndecidedError as error:
    ...     print(error.fact)
    4 divides n
    """

    def __init__(self, message: str, fact: str = "") -> None:
        self.fact = fact
        super().__init__(message)


class TensorError(CutepyError, ValueError):
    """A tensor, or an algorithm over tensors, got operands that it cannot serve.

    >>> import numpy as np
    >>> from cutepy import ops
    >>> try:
    ...     ops.add(np.zeros((2, 3)), np.zeros(4))
    ... except TensorError as error:
    ...     print(error)
    add: the shapes (2, 3), (4,) do not broadcast: axis -1 has the sizes [3, 4]
    """


class KernelError(CutepyError, ValueError):
    """A kernel cannot be traced, printed or launched as written.

    >>> from cutepy import gpu
    >>> try:
    ...     gpu.barrier()
    ... except KernelError as error:
    ...     print(error)
    gpu.barrier has a meaning inside a @gpu.kernel function only
    """


class VerificationError(KernelError):
    """A kernel was refuted: the message names the invocations and the address.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def shift(x):
    ...     gpu.launch(threads=4)
    ...     x[gpu.thread + 1] = 0
    >>> try:
    ...     shift.verify(np.zeros(4, np.int32)).raise_if_refuted()
    ... except VerificationError as error:
    ...     print(isinstance(error, KernelError), "x" in str(error))
    True True
    """


class DeviceError(CutepyError, RuntimeError):
    """No adapter, a lost device, memory that ran out, or a limit of the device exceeded.

    >>> from cutepy import gpu
    >>> try:
    ...     gpu.open_device("no such adapter")
    ... except DeviceError as error:
    ...     print(isinstance(error, RuntimeError))
    True
    """


class DrawError(CutepyError, ValueError):
    """A thing cannot be drawn as asked.

    >>> from cutepy import draw
    >>> try:
    ...     draw("(4,8)", view="nothing")
    ... except DrawError as error:
    ...     print(str(error).split(";")[0])
    view='nothing': there are grid, memory, tree, tiles, tv, banks, swizzle, steps, compare, data, mma, copy
    """


class CommandError(CutepyError, ValueError):
    """The command line was used wrongly; `cutepy` exits with code 2."""


BARE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What Python raises where an operand is not of the kind that a function computes with."""

LONGEST_SHOWN = 80
"""Characters of an operand in a message."""


def shown(operand: object) -> str:
    """An operand in a message, however large it is."""
    try:
        text = repr(operand)
    except BARE:  # nested beyond Python's recursion, or a number of more digits than Python writes
        return f"a {type(operand).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN // 2]}…{text[-LONGEST_SHOWN // 4 :]}"


def refusing(room: dict[str, Any], names: Iterable[str]) -> None:
    """Let the functions of these names in a package's `room` end in a CutepyError where they ended in a bare error.

    Operands are not tested, so a call costs as before; it is for functions that call none of the user's.
    """
    for name in names:
        if isfunction(room[name]):
            room[name] = _refusing(room[name])


def _refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*operands: Any, **named: Any) -> Any:
        try:
            return function(*operands, **named)
        except CutepyError:
            raise
        except (*BARE, MemoryError) as error:
            said = [shown(operand) for operand in operands] + [f"{key}={shown(value)}" for key, value in named.items()]
            name = function.__name__
            raise OperandError(f"{name}({', '.join(said)}): {error}; see help({name})") from error

    return call
