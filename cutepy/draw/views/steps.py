"""An operation of the algebra as pictures: its operands and its result, with one colour for what is one thing.

In a composition a coordinate keeps its colour from the right operand over the left one to the result; in a complement,
a divide or a product a copy or a tile does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from textwrap import wrap
from typing import Any

from ...errors import CompositionError, CutepyError, DrawError, TableError, shown
from ...layout import ComposedLayout, Layout, crd2idx, joined
from ...layout.algebra.operation import OPERATIONS
from ...layout.text.parse import Expression, parse_expression
from ...layout.text.write import extents, spelt
from ...layout.values.bit_map import OfBits
from ...layout.values.composed import AnyLayout, plain_part
from ...layout.values.int_tuple import IntTuple, as_tuple, leaves, map_leaves, show
from ...layout.values.size import is_unknown
from .. import palette
from ..grid import Axis, Figure, Grid, filled, shorten
from ..look import Look, named
from .layouts import grid_of_ends, layout_grid, side, title_of
from .table import Table, Value, as_layout, panels
from .tiles import sizes_tiled, tile_numbers

LARGEST_STEPS = 4096
STRIP = 32

Painting = Callable[[Table, int, int, Value], str]
"""From a table, and the row, column and value of a cell, to a paint."""


def steps(function: Callable[..., object], *operands: object) -> Expression:
    """The call `function(*operands)`, to be drawn with its operands: `draw(steps(composition, A, B), view="steps")`.

    >>> from cutepy.layout import complement
    >>> print(steps(complement, Layout(4, 2), 24).value)
    (2,3):(1,8)

    Raises DrawError for what is no function, and what the call raises.
    """
    if not callable(function):
        raise DrawError(f"steps({shown(function)}, ...): it takes a function of the algebra, and its operands")
    value, name = function(*operands), getattr(function, "__name__", str(function))
    return Expression(f"{name}({', '.join(map(spelt, operands))})", name, operands, value)


def tile_color(call: Expression) -> str:
    """How the result of a call holds its tiles: mode by mode (tile, rest) "block" or (rest, tile) "rake", or "tile"."""
    if call.function == "logical_divide" and len(call.operands) > 1 and isinstance(call.operands[1], tuple):
        return "block"
    return (call.function in OPERATIONS and OPERATIONS[call.function].tiles) or "tile"


@named("steps")
@dataclass(frozen=True, slots=True)
class Steps:
    """View "steps": operands and result of a call, or of an explanation, side by side.

    >>> from cutepy import draw
    >>> len(draw("composition((4,2):(2,1), 4:2)", view=Steps()).figure.grids)
    3
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid for each operand that is a layout, and one for the result."""
        look.expect_none("color", "label")
        call = _as_expression(thing)
        grids, notes = _drawn(call, look)
        sentences = [str(step) for step in getattr(thing, "steps", ())]
        return Figure(
            (tuple(grids),),
            title=title_of(f"{call.text} = {spelt(call.value)}", look),
            description=f"{call.text} gives {spelt(call.value)}.",
            notes=tuple(notes) + tuple(f"{number}. {shorten(text, 200)}" for number, text in enumerate(sentences, 1)),
        )


def _as_expression(thing: object) -> Expression:
    """The call that a thing is or was made from. Raises DrawError where it is none."""
    if isinstance(thing, Expression) and thing.function:
        return thing
    call = getattr(thing, "call", None)
    if isinstance(call, str) and getattr(thing, "result", None) is not None:
        return parse_expression(call)
    raise DrawError(
        "view 'steps' takes a call: steps(composition, A, B), an explanation, or the text composition(A, B)"
    )


def _drawn(call: Expression, look: Look) -> tuple[list[Grid], list[str]]:
    """The grids of a call and the notes below them, by what the operation makes of its first operand."""
    for thing in (*call.operands, call.value):
        if isinstance(thing, AnyLayout) and as_layout(thing, "steps").size > LARGEST_STEPS:
            raise DrawError(
                f"view 'steps' of {call.text}: {thing} has {thing.size} coordinates; it draws up to {LARGEST_STEPS}"
            )
    first = call.operands[0] if call.operands else None
    # Operations with a known correspondence between operand and result cells; any other call shows its layouts side
    # by side.
    if isinstance(call.value, Layout) and isinstance(first, Layout):
        if call.function == "composition" and isinstance(call.operands[1], Layout):
            return _composition(first, call.operands[1], call.value, look), []
        if call.function == "composition":
            return _restriction(call, first, call.value, look), []
        if call.function == "complement":
            return _complement(first, call.value, look)
        record = OPERATIONS.get(call.function)
        if record and record.tiles and record.on_tensor == "divided" and first.rank <= 2:
            return _divide(call, first, call.value, look), []
        if record and record.tiles and record.on_tensor == "multiplied":
            return _product(call, first, call.value, look), []
    things = [(f"operand {i}" if i else "operand", thing) for i, thing in enumerate(call.operands)]
    layouts = [(name, thing) for name, thing in [*things, ("result", call.value)] if isinstance(thing, AnyLayout)]
    if not layouts:
        raise DrawError(f"view 'steps' of {call.text}: it takes a call of layouts, or one that gives a layout")
    grids = [(name, _captioned(f"{name}\n{layout}", layout, look)) for name, layout in layouts]
    # what is one thing in operand and result is known of the operations above alone
    return [grid if name == "result" else replace(grid, links=((),) * len(grid.labels)) for name, grid in grids], []


def _captioned(caption: str, layout: AnyLayout, look: Look, paint: Painting | str | None = None) -> Grid:
    """The first two modes of a layout, coloured by `paint`; further modes are folded into the columns.

    By name a result is coloured by its modes from 1 on ("tile"), by the second entries of all modes ("block"), or the
    first ("rake"); of the last two nothing is folded.
    """
    panel = next(panels(layout if paint in ("block", "rake") else _folded(layout)))
    grid = layout_grid(panel, Look(None if paint is None else "none", None, look.style))
    if paint is not None:
        table = panel.table(look.style.limit)
        of_table = partial(paint, table) if callable(paint) else table.painter(paint, look)
        grid = replace(grid, paints=table.painted(of_table))
    return replace(grid, caption=_shortened(caption))


def _shortened(caption: str) -> str:
    return "\n".join(shorten(line, 60) for line in caption.split("\n"))


def _folded(layout: AnyLayout) -> AnyLayout:
    if layout.rank <= 2:
        return layout
    shape, stride = as_tuple(layout.shape), as_tuple(plain_part(layout).stride)
    folded = Layout((shape[0], shape[1:]), (stride[0], stride[1:]))
    return layout.with_inner(folded) if isinstance(layout, ComposedLayout) else folded


def _hue(index: int, count: int) -> str:
    """Different colours while they last, a ramp beyond."""
    return palette.color(index) if count <= palette.COLORS else palette.ramp(index, 0, count - 1)


def _by_index(count: int) -> Painting:
    """Every coordinate its own colour."""
    return lambda table, row, column, cell: _hue(table.index(row, column), count)


def _numbered(table: Table, row: int, column: int, cell: Value) -> str:
    """The colour of the number that an index is, as tiles and copies have it."""
    return palette.color(table.index(row, column))


def _one_color(table: Table, row: int, column: int, cell: Value) -> str:
    return palette.color(0)


def _composition(outer: Layout, inner: Layout, result: Layout, look: Look) -> list[Grid]:
    """The coordinates of the right operand, the indices that they give in the left one, and the result."""
    count = inner.size
    # An index that several coordinates point at has the colour of the first.
    hit = {inner(index): index for index in reversed(range(count))}

    def pointed_at(table: Table, row: int, column: int, cell: Value) -> str:
        index = hit.get(table.index(row, column))
        return palette.PLAIN if index is None else _hue(index, count)

    left = _captioned(f"left, where right points\n{outer}", outer, look, pointed_at)
    # `4→8` where right gives 4: the index that is pointed at, and the offset there, which is the result's
    texts = (
        f"{own[0]}→{text}" if own and own[0] in hit else text
        for own, text in zip(left.indices, left.labels, strict=True)
    )
    # Inverse of the right operand: index of the left -> coordinates of the right.
    pointing: dict[int, list[int]] = {}
    for index in range(count):
        pointing.setdefault(inner(index), []).append(index)
    links = tuple([tuple([link for at in own for link in pointing.get(at, ())]) for own in left.indices])
    return [
        _captioned(f"right\n{inner}", inner, look, _by_index(count)),
        replace(left, labels=tuple(texts), links=links),
        _captioned(f"result\n{result}", result, look, _by_index(count)),
    ]


def counter_example(outer: object, inner: object, error: CompositionError) -> Figure:
    """A composition that is refused, at its counter-example: the coordinate of the right operand, framed, and the index
    that it points at in the left one; below, what the composition is there and what a layout would have to be.

    Raises DrawError where the error names no coordinate, or an operand is no plain layout of numbers.
    """
    witness = error.witness
    if not isinstance(outer, Layout) or not isinstance(inner, Layout) or not isinstance(witness, tuple | int):
        raise DrawError(f"composition({outer}, {inner}): there is no counter-example to draw")
    for operand in (outer, inner):
        if as_layout(operand, "steps").size > LARGEST_STEPS:
            raise DrawError(f"composition({outer}, {inner}): {operand} has {operand.size} coordinates")
    at = inner(witness)
    right, left = (_captioned(f"{name}\n{it}", it, Look()) for name, it in (("right", inner), ("left", outer)))
    framed = crd2idx(witness, inner.shape)
    texts = (f"{own[0]}→{text}" if own == (at,) else text for own, text in zip(left.indices, left.labels, strict=True))
    is_there, would_be = error.values
    return Figure(
        (
            (
                replace(right, marked=frozenset(right.places({framed}))),
                replace(left, labels=tuple(texts), marked=frozenset(left.places({at}))),
            ),
        ),
        title=f"refused at {show(witness)}",
        description=f"The counter-example of {outer} o {inner} at {show(witness)}.",
        notes=(f"right points at {at}: composed, {show(witness)} is {is_there}; a layout would have {would_be} there",),
    )


def refused(error: CutepyError) -> Figure:
    """A call that is refused: its operands that are layouts, each with a counter-example framed, and the reason.

    >>> from cutepy import draw
    >>> try:
    ...     Layout.from_offsets([0, 2, 1, 5])
    ... except CutepyError as error:
    ...     print(draw(error))  # doctest: +ELLIPSIS
    Layout.from_offsets is refused
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 2 | 1 |[5]|
    ...

    A composition that is refused at a coordinate is drawn as `counter_example` does. Else the first two coordinates of
    an operand that share an offset are framed; where none do, what a divide leaves over: the coordinates beyond the
    last whole tile of each mode. Of unknown and of large sizes the ends are shown. Where no operand is a layout, the
    first one is drawn as a compact layout if it is a shape; others stand in cells, a table by its entries.

    Raises DrawError where no call was refused.
    """
    if error.refused is None:
        raise DrawError(f"nothing to draw in this {type(error).__name__}: it refuses no call of the algebra")
    # A layout that is called at a coordinate is the operation ".".
    name, operands = error.refused.name.removeprefix(".") or "a coordinate", error.refused.operands
    if name == "composition" and isinstance(error, CompositionError):
        with suppress(DrawError):
            return counter_example(operands[0], operands[1], error)
    layouts: list[AnyLayout] = []
    with suppress(CutepyError, RecursionError):
        layouts = _layouts_in(operands) or [Layout(tree) for tree in operands[:1] if isinstance(tree, int | tuple)]
    grids = []
    for number, layout in enumerate(layouts):
        with suppress(CutepyError):  # a layout that itself cannot be computed
            grid, framed = _ends_of(layout), frozenset[int]()
            if grid is None:
                grid = _captioned("", layout, Look())
                framed = _shared(layout) or _left_over(layout, operands[1] if number == 0 < len(operands) - 1 else None)
            caption = f"operand {number}\n{layout}" if len(layouts) > 1 else str(layout)
            grids.append(replace(grid, marked=frozenset(grid.places(framed)), caption=_shortened(caption)))
    reason = str(error).partition("\n")[0]
    return Figure(
        (tuple(grids) or (_entries_of(operands, error),),),
        title=f"{name} is refused",
        description=f"The operands of a call of {name} that is refused: {reason}",
        notes=tuple(wrap(reason, NOTE_WIDTH)),
    )


def _entries_of(operands: tuple[Any, ...], error: CutepyError) -> Grid:
    """The operands in a row of cells, or the table that the only one is, an entry framed that no layout has."""
    table = operands[0] if len(operands) == 1 else list(operands)
    table = table.tolist() if hasattr(table, "tolist") else table
    entries = table if isinstance(table, list) else [table]
    rows = [each for each in entries if isinstance(each, list)] or [entries]
    wide = max(1, *map(len, rows))
    cells = [
        "" if entry is None else shorten(shown(entry), 24)
        for row in rows
        for entry in [*row, *[None] * (wide - len(row))]
    ]
    index = (0, *error.index)[-2:] if isinstance(error, TableError) else ()
    marked = frozenset({index[0] * wide + index[1]} if index else ())
    sides = Axis(tuple(range(len(rows)))), Axis(tuple(range(wide)))
    return Grid(*sides, tuple(cells), (palette.PLAIN,) * len(cells), marked=marked)


def _ends_of(layout: AnyLayout) -> Grid | None:
    """The grid of the ends of a layout that is not shown whole; None for one that is."""
    whole = not is_unknown(layout) and layout.size <= LARGEST_STEPS
    return None if whole else grid_of_ends(plain_part(layout), Look())


def _layouts_in(operands: object) -> list[AnyLayout]:
    """The layouts among operands, and in the tuples of them; a map of bits as what it makes of the first offsets."""
    if isinstance(operands, tuple | list):
        return [layout for operand in operands for layout in _layouts_in(operand)]
    thing = getattr(operands, "layout", operands)  # of a tensor, of what was found
    drawn = ComposedLayout(thing, 0, Layout(STRIP)) if isinstance(thing, OfBits) else thing
    return [drawn] if isinstance(drawn, AnyLayout) else []


NOTE_WIDTH = 90


def _shared(layout: AnyLayout) -> frozenset[int]:
    """The first two indices of one offset."""
    first: dict[object, int] = {}
    for index in range(layout.size):
        before = first.setdefault(layout(index), index)
        if before != index:
            return frozenset({before, index})
    return frozenset()


def _left_over(layout: AnyLayout, tiler: object) -> frozenset[int]:
    """The indices beyond the last whole tile of a mode, where a tiler has numbers for the modes."""
    sizes = [mode.size for mode in layout]
    tiles = tiler if isinstance(tiler, tuple) else (tiler,)
    if not all(type(tile) is int and tile > 0 for tile in tiles) or len(tiles) > len(sizes):
        return frozenset()
    if not isinstance(tiler, tuple):
        sizes = [layout.size]
    whole = [size - size % tile for size, tile in zip(sizes, tiles, strict=False)]
    ends = [*whole, *sizes[len(whole) :]]
    over = set()
    for index in range(layout.size):
        rest = index
        for size, end in zip(sizes, ends, strict=True):
            if rest % size >= end:
                over.add(index)
            rest //= size
    return frozenset(over)


def _restriction(call: Expression, outer: Layout, result: Layout, look: Look) -> list[Grid]:
    """A tiler mode by mode: the offsets that it keeps, in the whole and in the result."""
    chosen: dict[Value, int] = {result(index): index for index in range(result.size)}

    def kept(table: Table, row: int, column: int, cell: Value) -> str:
        index = chosen.get(cell)
        return palette.PLAIN if index is None else _hue(index, result.size)

    whole = _captioned(f"whole\n{outer}", outer, look, kept)
    return [_linked(whole, call, outer), _captioned(f"result\n{result}", result, look, kept)]


def _linked(whole: Grid, call: Expression, layout: Layout) -> Grid:
    """The grid of the first operand, each cell linked with the index of the result that shows it.

    The same call on the layout of indices tells which index of the operand each index of the result is.
    """
    shown: dict[int, int] = {}
    tiler, sizes = call.operands[1], leaves(sizes_tiled(layout.shape, call.operands[1]))
    # A tile that does not divide its mode reaches beyond it: no such offset is that of another mode.
    assert isinstance(call.value, Layout)
    far = max(layout.size, call.value.size)
    apart = _apart(layout.shape, tiler, (far**mode for mode in range(len(sizes))))
    # Operations act on the domain, so applying the same call to the identity gives the index map.
    indices = OPERATIONS[call.function].call(apart, *call.operands[1:])
    assert isinstance(indices, Layout)
    for index in range(indices.size):
        crd = [indices(index) // far**mode % far for mode in range(len(sizes))]
        if all(at < extent for at, extent in zip(crd, sizes, strict=True)):
            shown.setdefault(crd2idx(tuple(crd), sizes), index)
    return replace(whole, links=tuple([tuple([shown[at] for at in own if at in shown]) for own in whole.indices]))


def _apart(shape: IntTuple, tiler: object, units: Iterator[int]) -> Layout:
    """The layout of indices in each part of a shape that one entry of a tiler tiles, times the unit of that part."""
    if isinstance(tiler, tuple) and isinstance(shape, tuple):
        return joined([_apart(*pair, units) for pair in zip(shape, chain(tiler, repeat(None)), strict=False)])
    unit = next(units)
    return Layout(shape, map_leaves(lambda step: step * unit, Layout(shape).stride))


def _complement(layout: Layout, rest: Layout, look: Look) -> tuple[list[Grid], list[str]]:
    """The line of offsets: every copy of the layout, shifted by the complement, in its own colour."""
    owner: dict[int, tuple[int, int]] = {}
    shared = set[int]()
    if layout.size * rest.size > LARGEST_STEPS:
        raise DrawError(
            f"view 'steps' of a complement: {layout.size} * {rest.size} offsets; it draws up to {LARGEST_STEPS}"
        )
    # Copy c of the layout is shifted by rest(c); an offset met again belongs to the first copy.
    for copy in range(rest.size):
        for index in range(layout.size):
            at = rest(copy) + layout(index)
            if owner.setdefault(at, (copy, index)) != (copy, index):
                shared.add(at)
    end = max(owner) + 1
    strip = _strip(end, owner, layout, rest, look)
    alone = _captioned(f"layout\n{layout}", layout, look, _one_color)
    grids = [
        replace(alone, links=((),) * len(alone.labels)),
        _captioned(f"complement\n{rest}", rest, look, _numbered),
        strip,
    ]
    empty = end - len(owner)
    return grids, [
        f"{rest.size} copies of {layout.size} offsets fill [0, {end}): {empty} left out, {len(shared)} twice"
    ]


def _strip(end: int, owner: dict[int, tuple[int, int]], layout: Layout, rest: Layout, look: Look) -> Grid:
    """The line of offsets 0 to end - 1, 32 a row: the colour of an offset is the number of the copy that has it."""
    if end > 4 * LARGEST_STEPS:
        raise DrawError(
            f"view 'steps' of a complement: the copies reach offset {end}; it draws up to {4 * LARGEST_STEPS}"
        )
    width = min(STRIP, end)
    rows = -(-end // width)

    def cell(row: int, column: int) -> tuple[str, str, str]:
        at = row * width + column
        if at not in owner:
            return "", palette.HOLE if at < end else palette.GAP, f"{at}: nothing"
        copy, index = owner[at]
        return str(at), palette.color(copy), f"{at} = {rest(copy)} + {layout(index)}: copy {copy}, index {index}"

    heads = tuple((str(row * width), 1) for row in range(rows))
    return filled(
        Axis(tuple(range(rows)), (heads,), (0,) * (rows - 1)),
        side(width, list(range(width)), look),
        cell,
        caption="offsets, a colour a copy",
        links=tuple([owner[at][:1] if at in owner else () for at in range(rows * width)]),
    )


def _divide(call: Expression, layout: Layout, result: Layout, look: Look) -> list[Grid]:
    """The operand coloured by tile, and the result coloured by its mode of tiles."""
    tiles = [tile for tile, _place in tile_numbers(layout, call.operands[1])]
    rows, columns = extents(layout)
    whole = replace(
        _captioned(
            f"whole, a colour a tile\n{layout}",
            layout,
            look,
            lambda table, row, column, cell: palette.color(tiles[table.index(row, column)]),
        ),
        groups=tuple(tiles[row + rows * column] for row in range(rows) for column in range(columns)),
    )
    return [_linked(whole, call, layout), _captioned(f"result\n{result}", result, look, tile_color(call))]


def _product(call: Expression, block: Layout, result: Layout, look: Look) -> list[Grid]:
    """The block, the tiler if it is a layout, and the result coloured by copy."""
    by_mode = call.function == "logical_product" and isinstance(call.operands[1], tuple)
    kind = "block" if by_mode else tile_color(call)
    grids = [_captioned(f"block\n{block}", block, look, _one_color)]
    if isinstance(call.operands[1], Layout):
        grids.append(_captioned(f"tiler\n{call.operands[1]}", call.operands[1], look, _numbered))
    alone = [replace(grid, links=((),) * len(grid.labels)) for grid in grids]  # a block stands in the result many times
    return [*alone, _captioned(f"result\n{result}", result, look, kind)]
