"""`explain`: the steps from operands to result, each with its numbers; those that claim an equality are checked.

Law: a step whose claim was evaluated says at how many coordinates, and one whose claim fails cannot be built. Layouts
of up to 65,536 coordinates are checked at every one, larger ones at 65,536 spread over them. Steps that only say what
is done next (which modes are kept, what one tile is) claim nothing and have no such note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple, cast

from ...errors import LayoutError
from ..algebra.composition import composition
from ..algebra.inverse import left_inverse, right_inverse
from ..algebra.operation import OPERATIONS, Act, Operation, on_any
from ..algebra.queries import size
from ..algebra.rearrange import coalesce, coalesced, coalesced_open, moving
from ..algebra.tile import complement, logical_divide, logical_product, room_for, rounded_up, tile_of
from ..public import guarded
from ..values.composed import AnyLayout, ComposedLayout
from ..values.coordinates import idx2crd, keeps
from ..values.int_tuple import IntTuple, show
from ..values.layout import Layout, _make, flat_modes
from ..values.methods import ReprIsStr
from ..values.size import is_unknown
from .parse import parse_call, parse_layout
from .write import spelt

CHECKED = 1 << 16
SHOWN = 8


class ExplainStep(NamedTuple):
    """One step: what is done, the layout that it gives (if any), and at how many coordinates that was evaluated."""

    text: str
    layout: AnyLayout | None = None
    checked: int = 0

    def __str__(self) -> str:
        return f"{self.text}  [checked at {self.checked}]" if self.checked else self.text


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(ReprIsStr):
    """The call, its steps in order, and the result or the error that ends them.

    >>> from cutepy.layout import coalesce
    >>> told = explain(coalesce, Layout((2, 4), (1, 2)))
    >>> told.call, len(told.steps), str(told.result), told.error
    ('coalesce((2,4):(1,2))', 3, '8:1', None)
    """

    call: str
    steps: tuple[ExplainStep, ...]
    result: Layout | None
    error: LayoutError | None = None

    def __str__(self) -> str:
        lines = [self.call, *(f"  {number}. {step}" for number, step in enumerate(self.steps, 1))]
        lines.append(f"  = {self.result}" if self.error is None else f"  refused: {self.error}")
        return "\n".join(lines)


@guarded
def explain(function: Act | str, *operands: object) -> Explanation:
    """How `function(*operands)` comes to its result, in checked steps; for a refusal, the step that fails and why.

    >>> from cutepy.layout import Layout, composition
    >>> print(explain(composition, Layout((4, 2), (2, 1)), Layout((2, 2), (4, 1))))
    composition((4,2):(2,1), (2,2):(4,1))
      1. The left operand, coalesced, is (4,2):(2,1): it reads an index as digits of extents (4,2), the last unbounded.
      2. Mode 0 of the right operand, 2:4: a step moves these digits by (0,1); the offsets 0, 1 are 2:1.  [checked at 2]
      3. Mode 1 of the right operand, 2:1: a step moves these digits by (1,0); the offsets 0, 2 are 2:2.  [checked at 2]
      4. The modes add up without disturbing one another, so they stand side by side: (2,2):(1,2).  [checked at 4]
      = (2,2):(1,2)

    A text of a call is read as the command line and pictures read it: `explain("composition((4,2), (2,2):(4,1))")`.
    Works for coalesce, composition, complement, the inverses, the divides and the products.
    Raises LayoutError for another function, composed layouts and unknown sizes, and TypeError for operands that it
    does not take.
    """
    operation: Act | None = None
    if isinstance(function, str):
        operation, operands = parse_call(function)
        if operation is None:
            raise LayoutError(f"{function}: explain takes a call, such as composition((4,2):(2,1), (2,2):(4,1))")
    else:
        operation = function
    operands = tuple(parse_layout(one) if isinstance(one, str) else one for one in operands)
    name = getattr(operation, "__name__", str(function))
    # Operations that only rearrange another one's modes tell its story and then the rearrangement.
    stories = STORIES | {record.call: partial(_put, record) for record in OPERATIONS.values() if record.put}
    if operation not in stories:
        story = ", ".join(sorted(story.__name__ for story in stories))
        raise LayoutError(f"explain({name}, ...): there is no story for it; there is one for {story}")
    call = f"{name}({', '.join(map(spelt, operands))})"
    if any(isinstance(operand, ComposedLayout) for operand in operands) or is_unknown(operands):
        raise LayoutError(f"explain({call}): only layouts of known sizes and with nothing outside are told; see .inner")
    result: Layout | None = None
    refused: LayoutError | None = None
    try:
        given = operation(*operands)
        result = cast("Layout", given)  # what every operation with a story gives
    except LayoutError as error:
        refused = error
    steps: list[ExplainStep] = []
    with suppress(LayoutError):  # the step that cannot be told is the one at which the call itself is refused
        for step in stories[operation](*operands):
            steps.append(step)
    return Explanation(call, tuple(steps), result, refused)


def _coordinates(size: int) -> Sequence[int]:
    return range(size) if size <= CHECKED else range(0, size, -(-size // CHECKED))


def _require(holds: bool, claim: str) -> None:
    """A step is built only where its claim holds, also under `python -O`, which leaves out assertions."""
    if not holds:
        raise AssertionError(f"a step of an explanation is false, a fault of cutepy: {claim}")


def _claim(text: str, layout: Layout, expected: Callable[[int], object]) -> ExplainStep:
    """A step that says `layout` is the map `expected` of integer coordinates."""
    coordinates = _coordinates(layout.size)
    for coordinate in coordinates:
        _require(layout(coordinate) == expected(coordinate), f"{text} at {coordinate}")
    return ExplainStep(text, layout, len(coordinates))


def _offsets(layout: Layout) -> str:
    shown = ", ".join(str(layout(i)) for i in range(min(SHOWN, layout.size)))
    return shown + (", ..." if layout.size > SHOWN else "")


def _by_mode_steps(
    function: Callable[..., Layout], layout: Layout, tiler: tuple[object, ...], *more: object
) -> Iterator[ExplainStep]:
    """One step for each mode that a tuple tiler names, and one for the modes that it does not."""
    for position, (mode, entry) in enumerate(zip(layout, tiler, strict=False)):
        if keeps(entry):
            yield ExplainStep(f"Mode {position}: {mode} is kept.", mode)
        else:
            call = f"{function.__name__}{spelt((mode, entry, *more))}"
            yield ExplainStep(f"Mode {position}: {call} = {function(mode, entry, *more)}.")
    if layout.rank > len(tiler):
        fate = "dropped" if function is composition else "kept"
        yield ExplainStep(f"The tiler names {len(tiler)} of {layout.rank} modes; the others are {fate}.")


def _coalesce(layout: Layout, profile: object = None) -> Iterator[ExplainStep]:
    """The steps of `coalesce`: leaves, size-1 modes that go, neighbours that merge or stay apart, result."""
    if isinstance(profile, tuple):
        yield ExplainStep(f"The profile {show(profile)} is coalesced mode by mode.")
        for position, mode in enumerate(list(layout)[: len(profile)]):
            yield ExplainStep(f"Mode {position}: {mode} becomes {coalesce(mode)}.")
        return
    yield ExplainStep(f"The leaves of {layout} are " + ", ".join(f"{s}:{d}" for s, d in flat_modes(layout)) + ".")
    ones = [f"{s}:{d}" for s, d in flat_modes(layout) if s == 1]
    if ones:
        yield ExplainStep(f"Modes of size 1 go: {', '.join(ones)}.")
    kept = [(s, d) for s, d in flat_modes(layout) if s != 1]
    for (extent, step), (_next, following) in pairwise(kept):
        verdict = (
            "they merge" if following == extent * step else f"{following} is not {extent} * {step}, they stay apart"
        )
        yield ExplainStep(
            f"{extent}:{step} ends where stride {extent * step} begins: next to stride {following}, {verdict}."
        )
    result = coalesce(layout)
    yield _claim(f"What is left is {result}, the same map of an integer coordinate.", result, lambda i: layout(i))


def _composition(outer: Layout, inner: object) -> Iterator[ExplainStep]:
    """The steps of `composition`: the digits of the left operand, each leaf of the right one, their sum."""
    if isinstance(inner, tuple):
        yield from _by_mode_steps(composition, outer, inner)
        return
    right = tile_of(composition, outer, inner)
    extents, _strides = coalesced_open(outer)
    whole = coalesce(outer)
    yield ExplainStep(
        f"The left operand, coalesced, is {whole}: it reads an index as digits of extents {show(tuple(extents))}, "
        f"the last unbounded."
    )
    for position, (extent, step) in enumerate(flat_modes(right)):
        digits = ("-" if step < 0 else "") + show(idx2crd(abs(step), tuple(extents) or (1,)))
        leaf = composition(outer, _make(extent, step))
        yield _claim(
            f"Mode {position} of the right operand, {extent}:{step}: a step moves these digits by {digits}; "
            f"the offsets {_offsets(leaf)} are {leaf}.",
            leaf,
            ComposedLayout(outer, 0, _make(extent, step)),
        )
    result = composition(outer, right)
    yield _claim(
        f"The modes add up without disturbing one another, so they stand side by side: {result}.",
        result,
        lambda i: outer(right(i)),
    )


def _complement(layout: Layout, cotarget: IntTuple | Layout | None = None) -> Iterator[ExplainStep]:
    """The steps of `complement`: gaps between the modes in order of stride, the last mode, disjointness."""
    target = layout.cosize if cotarget is None else size(cotarget)
    by_stride = sorted((d, s) for d, _at, s in moving(layout))
    yield ExplainStep(f"The modes that move, by stride: {', '.join(f'{s}:{d}' for d, s in by_stride) or 'none'}.")
    # The same walk as tile.gaps, with one step for each mode.
    filled = 1
    for step, extent in by_stride:
        gap = step // filled if filled else 0
        if gap > 1:
            yield ExplainStep(
                f"Up to stride {step} the offsets fill {filled}: {gap} copies fit, a mode {gap}:{filled}."
            )
        elif gap == 1:
            yield ExplainStep(f"Stride {step} begins where the {filled} filled offsets end: nothing is left out.")
        filled = step * extent
    result = complement(layout, cotarget)
    copies = -(-target // filled)
    if any(step == filled for _extent, step in flat_modes(result)):
        yield ExplainStep(f"From {filled} on, {copies} copies reach {target}, a mode {copies}:{filled}.")
    else:
        yield ExplainStep(f"The offsets below {filled} reach {target}: no mode follows.")
    yield _disjoint(layout, result)


def _disjoint(layout: Layout, rest: Layout) -> ExplainStep:
    """The step that says that the shifted copies of `layout` are disjoint; checked where there are few offsets."""
    text = f"Shifted by {_offsets(rest)}, the image of {layout} never meets itself: {rest}."
    if layout.size * rest.size > CHECKED:
        return ExplainStep(text, rest)
    image = {layout(i) for i in range(layout.size)}
    shifts = {rest(j) for j in range(rest.size)}
    reached = [offset + shift for shift in shifts for offset in image]
    _require(len(set(reached)) == len(reached), text)
    return ExplainStep(text, rest, len(reached))


def _logical_divide(layout: Layout, tiler: object, round_up: bool = False) -> Iterator[ExplainStep]:
    """The steps of `logical_divide`: the tile, its complement, the pair of both, the composition."""
    if isinstance(tiler, tuple):
        yield from _by_mode_steps(logical_divide, layout, tiler, *[round_up] * round_up)
        return
    tile = tile_of(logical_divide, layout, tiler)
    if round_up:
        layout = rounded_up(layout, tile)
        yield ExplainStep(f"Long enough for whole tiles the layout is {layout}.", layout)
    rest = complement(tile, layout.size)
    yield ExplainStep(
        f"One tile is {tile}; its complement in {layout.size} is {rest}, which tells the tiles apart.", rest
    )
    pair = _make((tile.shape, rest.shape), (tile.stride, rest.stride))
    yield ExplainStep(
        f"Tile and rest together choose an index: {pair}, {tile.size} * {rest.size} = {pair.size} coordinates.", pair
    )
    result = logical_divide(layout, tile)
    yield _claim(f"The layout after that choice: {layout} o {pair} = {result}.", result, lambda i: layout(pair(i)))


def _put(record: Operation, *operands: object) -> Iterator[ExplainStep]:
    """The story of an operation that is another one, its modes put otherwise."""
    basic, forms = cast("tuple[Act, str]", record.put)  # the stories are made from the records that have it
    yield from STORIES[basic](*operands)
    result = on_any(record.call, *operands)
    yield ExplainStep(f"The modes of {basic(*operands)} are put as {forms}: {result}.", result)


def _logical_product(block: Layout, tiler: object) -> Iterator[ExplainStep]:
    """The steps of `logical_product`: the room beside the block, the copies in it, disjointness."""
    if isinstance(tiler, tuple):
        yield from _by_mode_steps(logical_product, block, tiler)
        return
    copies = tile_of(logical_product, block, tiler)
    target = block.size * copies.cosize
    room = room_for(block, copies)
    yield ExplainStep(f"The block {block} leaves room for copies at {room}, its complement in {target}.", room)
    arranged = composition(room, copies)
    yield _claim(
        f"The tiler {copies} picks among them: {room} o {copies} = {arranged}.", arranged, lambda i: room(copies(i))
    )
    yield _disjoint(block, coalesce(arranged))


def _inverse(function: Callable[..., Layout]) -> Callable[..., Iterator[ExplainStep]]:
    """The steps of an inverse: the modes in order of stride, then the result with its law checked."""

    def story(layout: Layout) -> Iterator[ExplainStep]:
        """The steps for one layout."""
        modes = sorted((step, extent, at) for step, at, extent in moving(layout))
        listed = ", ".join(f"{extent}:{step} at index stride {at}" for step, extent, at in modes) or "none"
        yield ExplainStep(f"The modes that move, by stride: {listed}.")
        result = function(layout)
        if function is right_inverse:
            yield _claim(
                f"Modes whose strides continue one another give {result}, so that layout(result(i)) is i.",
                composition(layout, result) if coalesced(layout)[0] else result,
                lambda i: i,
            )
        else:
            offsets = [layout(i) for i in _coordinates(layout.size)]
            _require(all(layout(result(offset)) == offset for offset in offsets), f"{result} undoes {layout}")
            yield ExplainStep(
                f"Reading an offset by these strides gives {result}: it takes each offset back to a coordinate of it.",
                result,
                len(offsets),
            )

    return story


STORIES: dict[Act, Callable[..., Iterator[ExplainStep]]] = {
    coalesce: _coalesce,
    composition: _composition,
    complement: _complement,
    logical_divide: _logical_divide,
    logical_product: _logical_product,
    right_inverse: _inverse(right_inverse),
    left_inverse: _inverse(left_inverse),
}
