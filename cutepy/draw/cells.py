"""What the cells of a layout's table say: labels, hints, paints, marks.

A colour or a label is a name, or a function of (coordinate, value).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from ..errors import DrawError
from ..layout import Layout
from ..layout.text.write import extents
from ..layout.values.coordinates import Coordinate, crd2idx, keeps
from ..layout.values.int_tuple import IntTuple, as_tuple, show
from . import palette
from .detail import value_sum
from .grid import ELLIPSIS, coordinate_texts, mode_size
from .look import CellFunction
from .safe import clean
from .table import Table, Value, gives_offsets, reach

COLORS = ("offset", "row", "column", "index", "tile", "block", "rake", "bank", "none")
LABELS = ("offset", "coordinate", "index", "none")

Painter: TypeAlias = Callable[[int, int, Value], str]
"""From row, column and value to a paint."""

_BANKS = 32


def hints_of(table: Table) -> tuple[str, ...]:
    """`(row,column) → value` for every place; nothing in a gap."""
    down, across = table.modes
    row_texts, column_texts = coordinate_texts(down, table.rows), coordinate_texts(across, table.columns)
    tail = "".join(f",{entry}" for entry in table.part.rest)
    starts = [""] * len(row_texts) if table.part.layout.rank < 2 else [f"{text}," for text in row_texts]
    ends = [f"{text}{tail}) → " for text in column_texts]
    if table.whole_numbers:
        return tuple(
            [
                f"({start}{end}{cell}"
                for start, cells in zip(starts, table.values, strict=True)
                for end, cell in zip(ends, cells, strict=True)
            ]
        )
    return tuple(
        [
            "" if cell is None else f"({start}{end}{show(cell)}"
            for start, cells in zip(starts, table.values, strict=True)
            for end, cell in zip(ends, cells, strict=True)
        ]
    )


def labels_of(table: Table, label: str | CellFunction, hints: Sequence[str]) -> tuple[str, ...]:
    """The text of every cell."""
    if label == "offset":
        flat = table.flat
        return tuple(map(str, flat)) if table.whole_numbers else tuple(map(_shown, flat))
    if label == "none":
        return ("",) * len(hints)
    if label == "coordinate":
        return tuple([hint.partition(" →")[0] or ELLIPSIS for hint in hints])
    return tuple(
        [
            ELLIPSIS
            if row is None or column is None
            else str(table.index(row, column))
            if isinstance(label, str)
            else clean(str(label(table.coordinate(row, column), cell)))
            for row, column, cell in table.cells
        ]
    )


def _shown(cell: Value) -> str:
    return ELLIPSIS if cell is None else show(cell)


def paints_of(table: Table, color: str | CellFunction) -> tuple[str, ...]:
    """The paint of every cell."""
    return _on_ramp(table) if color == "offset" else painted(table, painter_of(table, color))


def painted(table: Table, painter: Painter) -> tuple[str, ...]:
    """What `painter` gives every cell; gaps stay gaps."""
    return tuple(
        [
            palette.GAP if row is None or column is None else painter(row, column, cell)
            for row, column, cell in table.cells
        ]
    )


def _on_ramp(table: Table) -> tuple[str, ...]:
    """One ramp for all parts of a plain layout; a swizzled one is measured part by part."""
    flat = table.flat
    known = [cell for cell in flat if type(cell) is int]
    low, high = (min(known), max(known)) if known else (0, 0)
    whole, start = table.part.whole, table.part.start
    if known and isinstance(whole, Layout) and gives_offsets(whole):
        low, high = (end + start for end in reach(whole))
    if len(known) == len(flat) and high - low < 4 * len(flat):
        paints = [palette.ramp(step, 0, high - low) for step in range(high - low + 1)]
        return tuple([paints[cell - low] for cell in known])
    return tuple(
        [
            palette.GAP if cell is None else palette.ramp(cell, low, high) if type(cell) is int else palette.PLAIN
            for cell in flat
        ]
    )


def painter_of(table: Table, color: str | CellFunction) -> Painter:
    """The colours that number places: by row, column, index, tile, bank, or what a function says."""
    layout = table.part.whole
    if not isinstance(color, str):
        return lambda row, column, cell: paint_from(color(table.coordinate(row, column), cell))
    if color == "none":
        return lambda row, column, cell: palette.PLAIN
    if color == "index":
        return lambda row, column, cell: palette.ramp(table.index(row, column), 0, layout.size - 1)
    if color == "bank":
        return lambda row, column, cell: palette.color(cell % _BANKS) if type(cell) is int else palette.PLAIN
    if color in ("row", "column"):
        return lambda row, column, cell: palette.color(row if color == "row" else column)
    height = extents(layout)[0]
    if color == "tile":
        return lambda row, column, cell: palette.color(table.index(row, column) // height)
    down, across = table.modes
    raked = color == "rake"
    count = _tile_number(mode_size(down) - 1, down, raked=raked) + 1
    return lambda row, column, cell: palette.color(
        _tile_number(row, down, raked=raked) + count * _tile_number(column, across, raked=raked)
    )


def paint_from(answer: object) -> str:
    """The paint that a color function means: a number of a color, or a name of `palette`."""
    if isinstance(answer, str):
        palette.value(answer, "light")
        return answer
    if isinstance(answer, int) and answer >= 0:
        return palette.color(int(answer))
    raise DrawError(f"the color function gave {answer!r}; it gives a number from 0 or the name of a paint")


def _tile_number(place: int, shape: IntTuple, *, raked: bool) -> int:
    """Which tile a place along a mode of shape (tile, rest), or (rest, tile) if raked, is in."""
    if not isinstance(shape, tuple) or len(shape) < 2:
        return 0
    first = mode_size(shape[0])
    return place % first if raked else place // first


def marked_in(table: Table, pattern: Coordinate) -> frozenset[int]:
    """The cells whose coordinate `pattern` selects."""
    if pattern is None:
        return frozenset()
    shape = table.part.whole.shape
    entries = pattern if isinstance(pattern, tuple) and isinstance(shape, tuple) else (pattern,)
    shapes = as_tuple(shape)
    if len(entries) != len(shapes):
        raise DrawError(
            f"highlight={written(pattern)}: it has {len(entries)} entries, the shape {show(shape)} {len(shapes)}"
        )
    return frozenset(
        place
        for place, (row, column, _cell) in enumerate(table.cells)
        if row is not None and column is not None and _matches(table.coordinate(row, column), entries, shapes)
    )


def written(pattern: object) -> str:
    """A coordinate or a tiler as CuTe writes it."""
    if isinstance(pattern, tuple):
        return f"({','.join(map(written, pattern))})"
    return "_" if keeps(pattern) else str(pattern)


def _matches(crd: IntTuple, pattern: Coordinate, shape: IntTuple) -> bool:
    if keeps(pattern):
        return True
    if isinstance(pattern, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(pattern):
            raise DrawError(f"highlight: {written(pattern)} does not nest as the shape {show(shape)}")
        return all(map(_matches, cast("tuple[IntTuple, ...]", crd), pattern, shape))
    return crd2idx(crd, shape) == pattern


def detail_of(table: Table, place: int) -> str:
    """`(1,(0,1)) → index 9 → 1·1 + 0·4 + 1·8 = 9`."""
    row, column = table.rows[place // len(table.columns)], table.columns[place % len(table.columns)]
    if row is None or column is None:
        return "left out: the picture shows the corners"
    crd = table.coordinate(row, column)
    whole = table.part.whole
    found = value_sum(whole, crd if isinstance(whole.shape, tuple) else crd[0])
    return f"{show(crd)} → index {table.index(row, column)} → {found}"
