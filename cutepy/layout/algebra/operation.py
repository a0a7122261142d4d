"""An operation of the algebra: its law is written once, for layouts of integers; a record says how it acts on others.

Law: an operation acts on a kind of operand only as its record says, and refuses what the record does not name. There is
no default: a new operation says what it does with a composed layout, or why it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, Protocol, TypeVar, cast, overload

from ...errors import BARE, CutepyError, LayoutError
from ..public import refusal
from ..values.bit_map import BitMap, OfBits, Swizzle
from ..values.composed import AnyLayout, ComposedLayout
from ..values.coordinates import Basis, has_basis
from ..values.int_tuple import IntTuple
from ..values.layout import Entries, Layout
from ..values.size import Undecided, is_unknown

First = TypeVar("First", contravariant=True)
Given = ParamSpec("Given")
Result = TypeVar("Result", covariant=True)
Act = Callable[..., object]
Elements = Literal["none", "mode", "kept", "refolded", "nested", "extended", "divided", "multiplied"]
"""What an operation does with a tensor: it acts on layouts alone; takes the subtensor of a mode; keeps modes; refolds
the shape; may go beyond the elements; divides them, rounded up to whole tiles; needs more memory, and is refused."""
Tiles = Literal["", "tile", "block", "rake"]
"""How the result of an operation holds tiles: not at all, as mode 0, mode by mode (tile, rest), or (rest, tile)."""


class Holder(Protocol):
    """What holds a layout and does with it what an operation does, as a tensor."""

    def lift_layout(self, function: Callable[..., Layout], *arguments: Any) -> Any: ...


Held = TypeVar("Held", bound=Holder)


class Acting(Protocol[First, Given, Result]):
    """An operation as it is called: on a layout, and on what holds one."""

    __name__: str

    @overload
    def __call__(self, layout: First, /, *operands: Given.args, **named: Given.kwargs) -> Result: ...
    @overload
    def __call__(
        self, layout: ComposedLayout, /, *operands: Given.args, **named: Given.kwargs
    ) -> Result | ComposedLayout: ...
    @overload
    def __call__(self, layout: Held, /, *operands: Given.args, **named: Given.kwargs) -> Held: ...


class Rearranging(Acting[First, Given, Result], Protocol[First, Given, Result]):
    """An operation that moves modes, as it is called: on a tuple its entries are what moves."""

    @overload
    def __call__(self, layout: int | tuple[Any, ...], /, *operands: Any, **named: Any) -> IntTuple: ...
    @overload
    def __call__(self, layout: First, /, *operands: Given.args, **named: Given.kwargs) -> Result: ...
    @overload
    def __call__(
        self, layout: ComposedLayout, /, *operands: Given.args, **named: Given.kwargs
    ) -> Result | ComposedLayout: ...
    @overload
    def __call__(self, layout: Held, /, *operands: Given.args, **named: Given.kwargs) -> Held: ...


OfPlain = Callable[..., Layout]
"""An operation where it is called with plain layouts."""


class Operation(NamedTuple):
    """What is known of an operation: its public function, and how it acts on operands that are no plain layouts.

    `composed` is called as `composed(call, *operands)` where an operand has a function outside, or says why none may.
    A `structural` operation moves modes about, so unknown sizes are nothing to it; of a `tiled` one a size is a tile.
    Where a text calls it, the first `layouts` operands are layouts; no text calls one with 0. An operation that is
    another one, its modes put otherwise, says as `put` which one and how, to be told so. `tiles` says how the result
    holds tiles, to be coloured so. `on_tensor` says what becomes of the elements of a tensor. What moves modes moves
    entries of int tuples too: operands number `entries` are such. `of_bits`: a map of bits is an operand as well.
    """

    call: Act
    composed: Act | str
    structural: bool
    tiled: bool
    layouts: int
    put: tuple[Act, str] | None
    tiles: Tiles
    on_tensor: Elements
    plain: Act
    entries: tuple[int, ...]
    of_bits: bool

    def on(self, operands: tuple[object, ...]) -> object:
        """The operation on operands of which some are no plain layouts of known sizes."""
        first = operands[0]
        # Tensors apply the operation to their layout and check what becomes of their elements.
        holder = getattr(first, "lift_layout", None)
        if holder is not None:
            return holder(self.call, *operands[1:])
        # An int tuple is a layout whose stride is itself; the moved strides are the result.
        if self.entries and (isinstance(first, (int, tuple, Basis)) or hasattr(first, "free_symbols")):
            rearranged = self.plain(*(Entries.of(it) if at in self.entries else it for at, it in enumerate(operands)))
            assert isinstance(rearranged, Layout)
            return rearranged.stride
        if not isinstance(first, (Layout, ComposedLayout)) and not (self.of_bits and isinstance(first, OfBits)):
            raise LayoutError(f"{in_words(self.call, *operands)}: {_no_layout(first)}")
        if _any_composed(operands):
            if isinstance(self.composed, str):
                raise LayoutError(f"{in_words(self.call, *operands)}: {self.composed}")
            return self.composed(self.call, *operands)
        # Unknown sizes: the operation runs on Size values that record the facts they need.
        from ..symbolic.lift import lifted  # which imports the operations

        return lifted(self.call, *operands, tiled=self.tiled)


NOTHING = object()
"""Stands for an operand that is not given."""

OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name."""


def operation(
    *,
    composed: Act | str,
    structural: bool = False,
    tiled: bool = False,
    layouts: int = 1,
    put: tuple[Act, str] | None = None,
    tiles: Tiles = "",
    on_tensor: Elements = "none",
    entries: tuple[int, ...] = (),
    of_bits: bool = False,
) -> Callable[[Callable[Concatenate[First, Given], Result]], Acting[First, Given, Result]]:
    """Make a function over plain layouts an operation: on all else it does what its record says (see `Operation`)."""

    def decorated(function: Callable[Concatenate[First, Given], Result]) -> Acting[First, Given, Result]:
        """The public function of an operation, with its record put into OPERATIONS."""
        plain: Act = function

        def general(operands: tuple[object, ...], named: dict[str, object]) -> object:
            """Every call that is not the fast case: operands in order, then the function itself or the record."""
            first = operands[0]
            # Keyword arguments: bind them once, then treat all operands by position.
            if named or first is None:
                bound = signature(function).bind(*(operands if first is not None else ()), **named)
                bound.apply_defaults()
                operands = bound.args
            # All operands plain and of known sizes: the function itself, with no record in between.
            if type(operands[0]) is Layout:
                for operand in operands:
                    if type(operand) is Layout:
                        if operand.facts is not None and not structural:
                            break
                    elif type(operand) is not int and not _admitted(operand, structural):
                        break
                else:
                    return plain(*operands)
            return record.on(operands)

        @wraps(function)
        def call(first: object = None, second: object = NOTHING, /, *more: object, **named: object) -> object:
            try:
                if type(first) is Layout and not more and not named and (structural or first.facts is None):
                    if second is NOTHING:  # spelt out for speed: nearly every call ends here
                        return plain(first)
                    if type(second) is int or (type(second) is Layout and (structural or second.facts is None)):
                        return plain(first, second)
                return general((first, *more) if second is NOTHING else (first, second, *more), named)
            except CutepyError:
                raise
            except Undecided as undecided:  # of sizes that a kernel does not know: for all values, or not at all
                solve = getattr(undecided.context, "solve", None)
                if (
                    solve is None or type(first) is not Layout
                ):  # of a tensor it is the layout's operation that is solved
                    raise
                given = tuple(it for it in (first, second, *more) if it is not NOTHING)
                return solve(lambda *sizes: call(*sizes, **named), given)
            except BARE as error:
                operands = tuple(it for it in (first, second, *more) if it is not None and it is not NOTHING)
                raise refusal(function, operands, named, error) from error

        # The record and the wrapper refer to each other: `call` reads `record` when it is called.
        record = Operation(call, composed, structural, tiled, layouts, put, tiles, on_tensor, plain, entries, of_bits)
        OPERATIONS[function.__name__] = record
        return cast("Acting[First, Given, Result]", call)

    return decorated


def rearranging(
    *, entries: tuple[int, ...] = (0,), on_tensor: Elements = "none"
) -> Callable[[Callable[Concatenate[First, Given], Result]], Rearranging[First, Given, Result]]:
    """Make a function that moves modes an operation on what has modes: layouts of every kind, tensors, int tuples."""
    made: Any = operation(composed=on_inner, structural=True, entries=entries, on_tensor=on_tensor)
    decorator: Callable[[Callable[Concatenate[First, Given], Result]], Rearranging[First, Given, Result]] = made
    return decorator


def _admitted(operand: object, structural: bool) -> bool:
    """True for what the function itself may see: no function outside, and no unknown size to compute with."""
    if type(operand) is tuple:
        for entry in operand:
            if type(entry) is not int and not _admitted(entry, structural):
                return False
        return True
    if type(operand) is Layout:
        return structural or operand.facts is None
    return type(operand) not in (ComposedLayout, Swizzle, BitMap) and (
        structural or not hasattr(operand, "free_symbols")
    )


def _any_composed(operands: tuple[object, ...]) -> bool:
    return any(
        _any_composed(operand) if isinstance(operand, tuple) else isinstance(operand, (ComposedLayout, OfBits))
        for operand in operands
    )


def _no_layout(thing: object) -> str:
    """What stands where a layout is meant, and what to write instead."""
    if isinstance(thing, OfBits):
        return f"the first operand is a map of bits; make_composed_layout({thing!r}, 0, layout) is a layout after it"
    kind = type(thing).__name__
    return f"the first operand is a {kind}, not a layout; write Layout(...), or make_tensor(...) for an array"


def in_words(call: Act, *operands: object) -> str:
    """A call as a message has it."""
    return f"{call.__name__}({', '.join(map(str, operands))})"


def known_sizes(call: Act, *operands: object) -> None:
    """Stand before arithmetic on offsets outside of a layout: raises LayoutError where a size is not known."""
    if is_unknown(operands):
        raise LayoutError(f"{in_words(call, *operands)}: a function outside takes known sizes; put values in with subs")


def on_any(call: Act, *operands: object) -> AnyLayout:
    """`call(*operands)` of layouts of any kind, for an operation that gives a layout."""
    result = call(*operands)
    if not isinstance(result, AnyLayout):
        raise refusal(call, operands, {}, TypeError("the result is no layout"))
    return result


def on_inner(call: OfPlain, layout: object, *arguments: object) -> ComposedLayout:
    """An operation on the coordinates of a composed layout: that of its inner layout, the function outside going along.

    Raises LayoutError where another operand than the first has a function outside.
    """
    if not isinstance(layout, ComposedLayout) or _any_composed(arguments):
        said = in_words(call, layout, *arguments)
        raise LayoutError(f"{said}: only the first operand may be a composed layout; use the inner layout of others")
    # The outer function takes offsets; an inner layout that gives coordinates would change its argument.
    inner = call(layout.inner, *arguments)
    if has_basis(inner.stride) and not has_basis(layout.inner.stride):
        said = in_words(call, layout, *arguments)
        raise LayoutError(f"{said}: outside are offsets, and {inner} gives coordinates")
    return layout.with_inner(inner)
