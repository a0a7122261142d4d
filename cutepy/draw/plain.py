"""Layouts as they are: one cell a coordinate, one grid for the first two modes, more grids for further modes.

Imports `grid`, `look`, `palette`, `detail`. The values come from the layout itself (`layout.grid.offset_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import cast

from ..errors import DrawError
from ..layout import ComposedLayout, Layout, slice_and_offset
from ..layout.coordinates import Coordinate, _, crd2idx, idx2crd, keeps
from ..layout.grid import extents, offset_rows, show_value
from ..layout.int_tuple import IntTuple, as_tuple, leaves
from . import palette
from .detail import value_sum
from .grid import ELLIPSIS, Axis, Figure, Grid, axis_of, coordinate_texts, mode_size, shortened
from .look import Look
from .safe import LONGEST_TITLE, clean, shorten

AnyLayout = Layout | ComposedLayout

MOST_PANELS = 16

COLORS = ("offset", "row", "column", "index", "tile", "block", "rake", "bank", "none")
LABELS = ("offset", "coordinate", "index", "none")

_BANKS = 32


@dataclass(frozen=True, slots=True)
class Plain:
    """View "grid": a layout's offsets at its coordinates."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of a layout: one for the first two modes, one for each coordinate of the others."""
        layout = as_layout(thing, "grid")
        panels = [layout_grid(part, look) for part in islice(parts(layout), MOST_PANELS)]
        more = _panel_count(layout) - len(panels)
        notes = (f"and {more} more grids",) if more > 0 else ()
        return Figure(
            arranged(panels), title=title_of(layout, look), description=description_of(layout), notes=notes
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Two modes of a layout at a coordinate of the others: `base` is added to its offsets, `rest` follows its coordinates."""

    layout: AnyLayout
    base: int = 0
    rest: tuple[int, ...] = ()
    whole: AnyLayout | None = None

    @property
    def caption(self) -> str:
        """The slice that the part is."""
        return f"(_,_,{','.join(map(str, self.rest))})" if self.rest else ""


def as_layout(thing: object, view: str) -> AnyLayout:
    """`thing` if it is a layout with numbers for sizes; DrawError otherwise."""
    found = getattr(thing, "layout", thing)
    if not isinstance(found, AnyLayout):
        raise DrawError(f"view {view!r} draws layouts, not {type(thing).__name__}")
    for extent in leaves(found.shape):
        mode_size(extent)
    return found


def title_of(layout: object, look: Look) -> str:
    """The asked-for title, or the layout."""
    asked = look.style.title
    return shorten(str(layout), LONGEST_TITLE) if asked is None else clean(asked, LONGEST_TITLE)


def description_of(layout: AnyLayout) -> str:
    """What a screen reader says."""
    rows, columns = extents(layout)
    return f"Layout {shorten(str(layout), 400)}: {rows} rows, {columns} columns, {layout.size} coordinates."


def parts(layout: AnyLayout):  # type: ignore[no-untyped-def]
    """The rank-2 parts of a layout, in colexicographic order of the modes from the third on."""
    if layout.rank <= 2:
        yield Part(layout, 0, (), layout)
        return
    sizes = [mode_size(mode.shape) for mode in layout][2:]
    for crd in product(*(range(size) for size in reversed(sizes))):
        rest = tuple(reversed(crd))
        place = (_, _, *rest)
        if isinstance(layout, Layout):
            kept, base = slice_and_offset(cast(Coordinate, place), layout)
            yield Part(kept, base, rest, layout)
        else:
            yield Part(cast(ComposedLayout, layout(*cast("tuple[Coordinate, ...]", place))), 0, rest, layout)


def _panel_count(layout: AnyLayout) -> int:
    count = 1
    for mode in list(layout)[2:]:
        count *= mode_size(mode.shape)
    return count


def arranged(grids: Sequence[Grid]) -> tuple[tuple[Grid | None, ...], ...]:
    """Grids in rows of up to four, narrow ones side by side."""
    if not grids:
        return ()
    across = max(1, min(4, 48 // max(grid.columns.size for grid in grids), len(grids)))
    return tuple(tuple(grids[start : start + across]) for start in range(0, len(grids), across))


@dataclass(frozen=True, slots=True)
class Table:
    """What a grid of a layout is made from: the places drawn, their coordinates as text, and the values."""

    part: Part
    rows: list[int | None]
    columns: list[int | None]
    values: list[list[object]]

    @property
    def flat(self) -> list[object]:
        """The values cell by cell."""
        return [cell for cells in self.values for cell in cells]

    @property
    def whole_numbers(self) -> bool:
        """True if every cell has an integer: nothing is left out and no stride is a basis."""
        return None not in self.rows and None not in self.columns and all(type(cells[0]) is int for cells in self.values)

    @property
    def modes(self) -> tuple[IntTuple, IntTuple]:
        """The shapes of rows and columns; a vector is one row."""
        shapes = as_tuple(self.part.layout.shape)
        return (shapes[0], shapes[1]) if len(shapes) > 1 else (1, shapes[0] if shapes else 1)

    def coordinate(self, row: int, column: int) -> tuple[IntTuple, ...]:
        """The nested coordinate of a place, with the rest of a slice."""
        if self.part.layout.shape == ():
            return ()
        down, across = self.modes
        place = (idx2crd(column, across),)
        if self.part.layout.rank > 1:
            place = (idx2crd(row, down), *place)
        return place + self.part.rest

    def index(self, row: int, column: int) -> int:
        """The colexicographic index of a place in the whole layout."""
        height, width = extents(self.part.layout)
        beyond = list(cast(AnyLayout, self.part.whole))[2:]
        index, step = row + height * column, height * width
        for entry, mode in zip(self.part.rest, beyond, strict=True):
            index, step = index + entry * step, step * mode_size(mode.shape)
        return index


def table_of(part: Part, limit: int) -> Table:
    """The places of a part to draw and the values there."""
    rows, columns = shortened(*extents(part.layout), limit)
    found = offset_rows(part.layout, [r for r in rows if r is not None], [c for c in columns if c is not None])
    values: list[list[object]] = []
    given = iter(found)
    for row in rows:
        if row is None:
            values.append([None] * len(columns))
            continue
        cells: list[object] = [cell + part.base if type(cell) is int else cell for cell in next(given)]
        if None in columns:
            cells.insert(columns.index(None), None)
        values.append(cells)
    return Table(part, rows, columns, values)


def layout_grid(part: Part, look: Look) -> Grid:
    """The grid of one part of a layout."""
    table = table_of(part, look.style.limit)
    down, across = table.modes
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    row_texts, column_texts = coordinate_texts(down, table.rows), coordinate_texts(across, table.columns)
    hints = hints_of(table, row_texts, column_texts)
    return Grid(
        side(down, table.rows, look, vector=part.layout.rank < 2),
        side(across, table.columns, look),
        labels=labels_of(table, label, hints),
        paints=paints_of(table, color),
        hints=hints,
        caption=part.caption,
        marked=marked_in(table, look.style.highlight),
        detail=lambda place: detail_of(table, place),
        least_width=_least_width(table, label),
    )


def side(shape: IntTuple, places: Sequence[int | None], look: Look, *, vector: bool = False) -> Axis:
    """An axis in the asked-for style."""
    if vector or look.style.heads == "none":
        rules = axis_of(shape, places).rules
        return Axis(tuple(places), (), rules)
    return axis_of(shape, places, nested=look.style.heads == "nested")


def hints_of(table: Table, row_texts: list[str], column_texts: list[str]) -> tuple[str, ...]:
    """`(row,column) → value` for every place."""
    tail = "".join(f",{entry}" for entry in table.part.rest)
    flat = table.part.layout.rank < 2
    if any(type(cell) is tuple for cell in table.values[0]):
        return tuple(
            [
                f"({'' if flat else row + ','}{column}{tail}) → {show_value(cell)}"
                for row, cells in zip(row_texts, table.values, strict=True)
                for column, cell in zip(column_texts, cells, strict=True)
            ]
        )
    if flat:
        return tuple([f"({column}) → {cell}" for column, cell in zip(column_texts, table.values[0], strict=True)])
    ends = [f",{column}{tail}) → " for column in column_texts]
    return tuple(
        [
            f"({row}{end}{cell}"
            for row, cells in zip(row_texts, table.values, strict=True)
            for end, cell in zip(ends, cells, strict=True)
        ]
    )


def labels_of(table: Table, label: object, hints: Sequence[str]) -> tuple[str, ...]:
    """The text of every cell."""
    if label == "offset":
        flat = table.flat
        return tuple(map(str, flat)) if table.whole_numbers else tuple(map(_shown, flat))
    if label == "none":
        return ("",) * len(hints)
    if label == "coordinate":
        return tuple([hint.partition(" →")[0] if ELLIPSIS not in hint else ELLIPSIS for hint in hints])
    return tuple(
        [
            ELLIPSIS
            if row is None or column is None
            else str(table.index(row, column))
            if label == "index"
            else clean(str(label(table.coordinate(row, column), cell)))  # type: ignore[operator]
            for row, cells in zip(table.rows, table.values, strict=True)
            for column, cell in zip(table.columns, cells, strict=True)
        ]
    )


def _shown(cell: object) -> str:
    return ELLIPSIS if cell is None else show_value(cell)


def paints_of(table: Table, color: object) -> tuple[str, ...]:
    """The paint of every cell."""
    if color == "offset":
        return _on_ramp(table)
    if color == "none":
        return tuple([palette.GAP if cell is None else palette.PLAIN for cell in table.flat])
    number = _numbering(table, color)
    return tuple(
        [
            palette.GAP if row is None or column is None else number(row, column, cell)
            for row, cells in zip(table.rows, table.values, strict=True)
            for column, cell in zip(table.columns, cells, strict=True)
        ]
    )


def _on_ramp(table: Table) -> tuple[str, ...]:
    flat = table.flat
    known = flat if table.whole_numbers else [cell for cell in flat if type(cell) is int]
    low, high = (min(known), max(known)) if known else (0, 0)  # type: ignore[type-var]
    if table.whole_numbers and high - low < 4 * len(flat):  # type: ignore[operator]
        paints = [palette.ramp(step, 0, high - low) for step in range(high - low + 1)]  # type: ignore[arg-type, operator]
        return tuple([paints[cell - low] for cell in flat])  # type: ignore[operator]
    return tuple(
        [
            palette.GAP
            if cell is None
            else palette.ramp(cell, low, high)  # type: ignore[arg-type]
            if type(cell) is int
            else palette.PLAIN
            for cell in flat
        ]
    )


def _numbering(table: Table, color: object):  # type: ignore[no-untyped-def]
    """From a place and its value to a paint, for the colours that number places."""
    layout = cast(AnyLayout, table.part.whole)
    if color == "index":
        return lambda row, column, cell: palette.ramp(table.index(row, column), 0, layout.size - 1)
    if color == "bank":
        return lambda row, column, cell: palette.color(cell % _BANKS) if type(cell) is int else palette.PLAIN
    if color in ("row", "column"):
        return lambda row, column, cell: palette.color(row if color == "row" else column)
    if color in ("tile", "block", "rake"):
        height = extents(layout)[0]
        if color == "tile":
            return lambda row, column, cell: palette.color(table.index(row, column) // height)
        down, across = (_tile_numbers(shape, color == "rake") for shape in table.modes)
        count = max(down) + 1
        return lambda row, column, cell: palette.color(down[row] + count * across[column])
    return lambda row, column, cell: paint_from(color(table.coordinate(row, column), cell))


def paint_from(answer: object) -> str:
    """The paint that a color function means: a number of a color, or a name of `palette`."""
    if isinstance(answer, str):
        palette.value(answer, "light")
        return answer
    if isinstance(answer, int) and answer >= 0:
        return palette.color(int(answer))
    raise DrawError(f"the color function gave {answer!r}; it gives a number from 0 or the name of a paint")


def _tile_numbers(shape: IntTuple, raked: bool) -> list[int]:
    """Which tile each place along a mode of shape (tile, rest), or (rest, tile) if raked, is in."""
    size = mode_size(shape)
    if not isinstance(shape, tuple) or len(shape) < 2:
        return [0] * size
    first = mode_size(shape[0])
    return [place % first if raked else place // first for place in range(size)]


def marked_in(table: Table, pattern: Coordinate) -> frozenset[int]:
    """The cells whose coordinate `pattern` selects."""
    if pattern is None:
        return frozenset()
    shape = cast(AnyLayout, table.part.whole).shape
    pattern = pattern if isinstance(pattern, tuple) and isinstance(shape, tuple) else (pattern,)
    shapes = as_tuple(shape)
    if len(pattern) != len(shapes):
        raise DrawError(f"highlight={_written(pattern)}: it has {len(pattern)} entries, the shape {show_value(shape)} has {len(shapes)}")
    width = len(table.columns)
    return frozenset(
        place
        for place in range(len(table.rows) * width)
        if (row := table.rows[place // width]) is not None
        and (column := table.columns[place % width]) is not None
        and _matches(table.coordinate(row, column), pattern, shapes)
    )


def _written(pattern: object) -> str:
    return f"({','.join(map(_written, pattern))})" if isinstance(pattern, tuple) else "_" if keeps(pattern) else str(pattern)


def _matches(crd: IntTuple, pattern: Coordinate, shape: IntTuple) -> bool:
    if keeps(pattern):
        return True
    if isinstance(pattern, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(pattern):
            raise DrawError(f"highlight: {_written(pattern)} does not nest as the shape {show_value(shape)}")
        return all(map(_matches, cast("tuple[IntTuple, ...]", crd), pattern, shape))
    return crd2idx(crd, shape) == pattern


def detail_of(table: Table, place: int) -> str:
    """`(1,(0,1)) → index 9 → 1·1 + 0·4 + 1·8 = 9`."""
    row, column = table.rows[place // len(table.columns)], table.columns[place % len(table.columns)]
    if row is None or column is None:
        return "left out: the picture shows the corners"
    crd = table.coordinate(row, column)
    layout = cast(AnyLayout, table.part.whole)
    found = value_sum(layout, crd[0] if layout.rank == 1 and not isinstance(layout.shape, tuple) else crd)
    return f"{show_value(crd)} → index {table.index(row, column)} → {found}"


def _least_width(table: Table, label: object) -> int:
    layout = table.part.layout
    if label != "offset" or not isinstance(layout, Layout) or any(type(step) is not int for step in leaves(layout.stride)):
        return 1
    return len(str(layout.cosize))
