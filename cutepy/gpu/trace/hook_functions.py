"""The hooks in the user's code, by the names under which `hooks` calls them."""

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import repeat
from types import FrameType, FunctionType, MethodType
from typing import Any

from ...errors import KernelError
from ...tensor.dtypes import bool_
from ..ir import Const, Expr
from ..ir.expr import arena, describe
from ..ir.place import KERNEL_FILE, caller_place
from ..ir.simplify import simplify
from ..ir.weak import settled
from .blocks import Block, Branch, Chosen, Conditional, Tables, Unrolled, truth
from .blocks import opposite as opposite
from .complex import Complex
from .loops import Repeated, WhileLoop
from .python_state import cells_of, is_of_library
from .rewrite_source import with_hooks
from .sizes import KernelSize, as_value
from .state import current, is_known, tracing
from .statements import LoopRange, When, loop_over
from .tables import looked_up

#: How a value is compared with the next, and what that is.
Comparison = tuple[Callable[[object, object], object], Callable[[], object]]


def target(function: Any) -> Any:
    """`function` as code inside a trace calls it: the user's own Python functions with hooks, others as they are."""
    if function is range:
        return _range
    if function is isinstance:
        return _isinstance
    if function is type:
        return _type
    if function is print:
        return _print
    if isinstance(function, FunctionType):
        return with_hooks(function, sys.modules[__name__], KERNEL_FILE.get())
    if isinstance(function, MethodType):
        inner = target(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if isinstance(function, partial):
        return partial(target(function.func), *function.args, **function.keywords)
    call = vars(type(function)).get("__call__")
    return MethodType(target(call), function) if isinstance(call, FunctionType) else function


def _print(*values: object, **options: Any) -> None:
    """`print`, which knows nothing of the number that a value will be on the GPU."""
    if (one := next((value for value in values if isinstance(value, Expr)), None)) is not None:
        raise KernelError(
            f"{caller_place()}: print runs once, while the kernel is traced, and {describe(one)} is known only on the "
            "GPU: gpu.print(...) prints what each thread has, in interpret(...); print(str(...)) shows the expression"
        )
    print(*values, **options)


def trying() -> tuple[int, int]:
    """Before a `try`: what has been traced so far."""
    trace = tracing()
    return (0, 0) if trace is None else (trace.emitted, len(arena().nodes))


def tried(began: tuple[int, int], kinds: Callable[[], tuple[Any, ...]]) -> None:
    """After the body of a `try` that raised nothing: where it computes what the GPU knows, nothing there will."""
    if trying() == began:
        return
    for kind in [one for some in kinds() for one in (some if isinstance(some, tuple) else (some,))]:
        if issubclass(IndexError, kind) or issubclass(kind, ArithmeticError):
            raise KernelError(
                f"{caller_place()}: except {kind.__name__}: a GPU raises nothing: an index outside is kept inside, or "
                "refuted by verify(...), and a divisor 0 acts as 1; ask before, `if i < x.size:`, and keep what is "
                "Python's alone in a try of its own"
            )


def identified(value: object) -> object:
    """What is compared with True or False by `is`."""
    if isinstance(value, Expr):
        raise KernelError(
            f"{caller_place()}: `is` compares objects of Python, and {describe(value)} is known only on the GPU: write "
            "the condition itself, or `not` of it"
        )
    return value


def matched(value: object, attributes: bool) -> object:
    """What `match` compares with patterns that name classes, also inside others, where they may name `attributes`."""
    parts, seen = [value], set()
    for part in parts:  # which grows meanwhile
        _check_kind(part, int, "by conditions")
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, tuple | list):
            parts += part
        elif isinstance(part, dict):
            parts += part.values()
        elif attributes and not is_of_library(type(part)):
            parts += getattr(part, "__dict__", {}).values()
    return value


def _isinstance(value: object, kinds: Any) -> bool:
    """`isinstance`, which knows nothing of the number that a value will be on the GPU."""
    _check_kind(value, kinds, "isinstance(v, gpu.Expr)")
    return isinstance(value, kinds)


def _type(*values: Any, **options: Any) -> Any:
    """`type`, which knows nothing of it either."""
    if len(values) == 1:
        _check_kind(values[0], int, "isinstance(v, gpu.Expr)")
    return type(*values, **options)


def _check_kind(value: object, kinds: Any, instead: str) -> None:
    """Raise KernelError for a value of the GPU that a number of Python's would pass for one of these kinds."""
    numbers = (bool, int, float, complex)
    if (
        isinstance(value, Expr | Complex)
        and not isinstance(value, kinds)
        and any(issubclass(n, kinds) for n in numbers)
    ):
        what = describe(value) if isinstance(value, Expr) else "a complex number"
        raise KernelError(
            f"{caller_place(2)}: {what} is known only on the GPU, and is no number of Python there: ask {instead}, or "
            "for v.dtype"
        )


def _range(first: Any, *rest: Any) -> Iterable[object]:
    """`range`, and over values of the GPU a loop of the kernel."""
    ends: list[Any] = [as_value(value) for value in (first, *rest)]
    if not any(isinstance(value, Expr) for value in ends):
        return range(*ends)
    start, stop, step = (0, ends[0], 1) if not rest else (*ends, 1)[:3]
    return loop_over(stop, start, step)


def item(name: str, holder: Any, key: Any) -> object:
    """`holder[key]`; of a tuple or a list of numbers, at an index of the GPU, an element of a table."""
    # A class of the user's may read its items otherwise.
    plain = getattr(type(holder), "__getitem__", None) in (tuple.__getitem__, list.__getitem__)
    if plain and isinstance(index := as_value(key), Expr):
        index = simplify(settled(index))
        if not isinstance(index, Const):
            return looked_up(current(f"{name}[...]"), name, holder, index)
        key = index.value
    return holder[key]


def look() -> None:
    """After a statement that may have changed an object of Python's."""
    trace = tracing()
    if trace is not None and trace.open:
        trace.open[-1].look(caller_place())


def leave(kind: str, blocks: tuple[Block | Unrolled, ...], value: object = None) -> object:
    """Before a statement that leaves blocks."""
    for block in reversed(blocks):
        if isinstance(block, Block):
            way = {
                "break": "bound the loop, or let gpu.when decide about its body",
                "yield": "write the block where the value is used",
            }.get(kind, "write `if condition: return` outside loops, or put what follows under the opposite condition")
            raise KernelError(
                f"{caller_place()}: {kind} inside {block.what}: it would be done once while tracing, and not by each "
                f"thread; {way}"
            )
    return value


def conditional(subject: Any, tables: Tables, cells: FunctionType) -> Unrolled | Conditional:
    """What `with subject:` enters."""
    if not isinstance(subject, When):
        block = Unrolled()
        block.entered = block.enter_context(subject)
        return block
    condition = subject.condition
    if isinstance(condition, Expr) and not isinstance(condition, Const):
        return Conditional("gpu.when", subject.place, truth(condition), tables, cells_of(cells), sys._getframe(1))
    current("gpu.when").skipped |= is_known(condition, False)
    return Unrolled(runs=is_known(condition, True))


def branching(test: object, tables: Tables, cells: FunctionType) -> Unrolled | Branch:
    """What `if test:` goes through."""
    test = _not_0(test)
    condition = simplify(truth(test)) if isinstance(test, Expr) else test
    if isinstance(condition, Expr) and not isinstance(condition, Const):
        return Branch("if", caller_place(), condition, tables, cells_of(cells), sys._getframe(1))
    return Unrolled(runs=bool(condition.value) if isinstance(condition, Const) else bool(condition))


def repeated(
    subject: Any, tables: Tables, cells: FunctionType, counters: tuple[str, ...], left: str = ""
) -> Unrolled | Repeated:
    """What `for counters in subject:` goes through; `left` is the name of the flag that it was left."""
    if isinstance(subject, LoopRange):
        return Repeated(subject, tables, cells_of(cells), counters, sys._getframe(1), left)
    return Unrolled(subject)


def while_loop(
    _: None, tables: Tables, cells: FunctionType, counters: tuple[str, ...], left: str
) -> Unrolled | WhileLoop:
    """What `while` goes through."""
    return (
        WhileLoop(tables, cells_of(cells), sys._getframe(1), left) if tracing() is not None else Unrolled(repeat(None))
    )


def _decided(test: object, first: Callable[[], object], second: Callable[[], object], frame: FrameType) -> object:
    """`first() if test else second()`."""
    test = _not_0(test)
    condition = simplify(truth(test)) if isinstance(test, Expr) else test
    if not isinstance(condition, Expr):
        return first() if condition else second()
    if isinstance(condition, Const):
        return first() if condition.value else second()
    with Chosen(condition, frame) as branch:
        branch.value = first()
        branch.other_side()
        branch.value = second()
    return branch.now[".value"]


def _not_0(test: object) -> object:
    """Whether a size is not 0, which the launch may decide; anything else as it is."""
    return test != 0 if isinstance(test, KernelSize) else test


def _itself(value: object) -> object:
    return simplify(value) if isinstance(value, Expr) and value.dtype is bool_ else value


def choose(test: object, first: Callable[[], object], second: Callable[[], object]) -> object:
    """`first() if test else second()`."""
    return _decided(test, first, second, sys._getframe(1))


def both(first: object, second: Callable[[], object]) -> object:
    """`first and second()`."""
    first = _not_0(first)  # 0 and x is 0, which False is
    return _decided(first, second, lambda: _itself(first), sys._getframe(1))


def either(first: object, second: Callable[[], object]) -> object:
    """`first or second()`."""
    return _decided(first, lambda: _itself(first), second, sys._getframe(1))


def compared(value: object, *rest: Comparison) -> object:
    """`value < a() <= b()` and so on: each comparison, and the next if it holds."""
    return _compared(value, rest, sys._getframe(1))


def _compared(value: object, rest: Sequence[Comparison], frame: FrameType) -> object:
    (compare, operand), *others = rest
    right = operand()
    holds = compare(value, right)
    if not others:
        return holds
    return _decided(holds, lambda: _compared(right, others, frame), lambda: _itself(holds), frame)
