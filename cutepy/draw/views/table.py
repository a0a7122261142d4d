"""What grids of a layout are made from: two modes at a coordinate of the others, the values there, what cells say.

Law: the values come from the layout itself (`layout.text.write.offset_rows`). A colour or a label is a name, or a
function of (coordinate, value).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from ...errors import DrawError
from ...layout import BitMap, ComposedLayout, Layout, Swizzle, slice_and_offset
from ...layout.text.write import extents, gives_offsets, offset_rows
from ...layout.values.composed import AnyLayout, Function
from ...layout.values.coordinates import Coordinate, _, crd2idx, idx2crd, keeps
from ...layout.values.int_tuple import IntTuple, as_tuple, leaves, moved, show
from ...layout.values.layout import offset_bounds
from .. import palette
from ..grid import ELLIPSIS, Cells, clean, coordinate_texts, mode_size, shortened
from ..look import CellFunction, Look

Value: TypeAlias = "int | IntTuple | None"
"""An offset, a coordinate (basis strides), or None in a gap."""


COLORS = ("offset", "row", "column", "index", "tile", "block", "rake", "bank", "none")
LABELS = ("offset", "coordinate", "index", "none")

Painter: TypeAlias = Callable[[int, int, Value], str]
"""From row, column and value to a paint."""

_BANKS = 32


@dataclass(frozen=True, slots=True)
class Panel:
    """Two modes of the layout `whole` at a coordinate of the others.

    `base` is added to the offsets of `layout`; `rest` follows its coordinates. `start` is what a tensor adds to all.
    """

    layout: AnyLayout
    whole: AnyLayout
    base: IntTuple = 0
    rest: tuple[int, ...] = ()
    start: int = 0

    def moved(self, value: IntTuple) -> IntTuple:
        """A value of `layout` as one of the whole: an offset, or a coordinate, further on."""
        shifted: IntTuple = moved(value, self.base)
        return shifted if isinstance(shifted, tuple) else shifted + self.start

    @property
    def further(self) -> tuple[IntTuple, ...]:
        """`rest`, each entry nested as its mode."""
        return tuple(map(idx2crd, self.rest, as_tuple(self.whole.shape)[2:]))

    @property
    def caption(self) -> str:
        """The slice that the panel is."""
        return f"(_,_,{','.join(map(str, self.rest))})" if self.rest else ""

    def table(self, limit: int) -> Table:
        """The places to draw, at most about `limit`, and the values there."""
        # Values are computed for the drawn rows and columns alone; gaps are inserted after.
        rows, columns = shortened(*extents(self.layout), limit)
        rows_of_values = iter(
            offset_rows(self.layout, [r for r in rows if r is not None], [c for c in columns if c is not None])
        )
        values: list[list[Value]] = []
        for row in rows:
            if row is None:
                values.append([None] * len(columns))
                continue
            there = next(rows_of_values)
            cells: list[Value] = [self.moved(cell) for cell in there] if self.base or self.start else [*there]
            if None in columns:
                cells.insert(columns.index(None), None)
            values.append(cells)
        return Table(self, rows, columns, values)


def as_layout(thing: object, view: str) -> AnyLayout:
    """`thing`, or its layout, with numbers for sizes; DrawError otherwise."""
    layout = getattr(thing, "layout", thing)
    if not isinstance(layout, AnyLayout):
        raise DrawError(f"view {view!r} draws layouts, not {type(thing).__name__}")
    for extent in leaves(layout.shape):
        mode_size(extent)
    return layout


def panels(layout: AnyLayout) -> Iterator[Panel]:
    """The rank-2 panels of a layout, in colexicographic order of the modes from the third on."""
    if layout.rank <= 2:
        yield Panel(layout, layout)
        return
    sizes = tuple(_further(layout))
    for number in range(panel_count(layout)):
        rest = leaves(idx2crd(number, sizes))
        pattern: Coordinate = (_, _, *rest)
        if isinstance(layout, Layout):
            kept, base = slice_and_offset(pattern, layout)
            yield Panel(kept, layout, base, rest)
        else:
            yield Panel(layout.sliced(pattern), layout, 0, rest)


def panel_count(layout: AnyLayout) -> int:
    """How many panels there are."""
    return prod(_further(layout))


def _further(layout: AnyLayout) -> list[int]:
    return [mode_size(extent) for extent in as_tuple(layout.shape)[2:]]


@dataclass(frozen=True, slots=True)
class Table:
    """The places of a panel that are drawn, and the values there."""

    panel: Panel
    rows: list[int | None]
    columns: list[int | None]
    values: list[list[Value]]

    @property
    def flat(self) -> list[Value]:
        """The values cell by cell."""
        return [cell for cells in self.values for cell in cells]

    @property
    def cells(self) -> list[tuple[int, int, Value] | None]:
        """Row, column and value, cell by cell; None in a gap."""
        return [
            None if row is None or column is None else (row, column, cell)
            for row, cells in zip(self.rows, self.values, strict=True)
            for column, cell in zip(self.columns, cells, strict=True)
        ]

    @property
    def whole_numbers(self) -> bool:
        """True if every cell has an integer: nothing is left out and no stride is a basis element."""
        return None not in self.rows and None not in self.columns and gives_offsets(self.panel.layout)

    @property
    def modes(self) -> tuple[IntTuple, IntTuple]:
        """The shapes of rows and columns; a vector is one row."""
        shapes = as_tuple(self.panel.layout.shape)
        return (shapes[0], shapes[1]) if len(shapes) > 1 else (1, shapes[0] if shapes else 1)

    def coordinate(self, row: int, column: int) -> tuple[IntTuple, ...]:
        """The nested coordinate of a place, with the rest of a slice."""
        if self.panel.layout.shape == ():
            return ()
        down, across = self.modes
        crd = idx2crd(column, across)
        if self.panel.layout.rank < 2:
            return (crd,)
        return (idx2crd(row, down), crd, *self.panel.further)

    def index(self, row: int, column: int) -> int:
        """The colexicographic index of a place in the whole layout."""
        height, width = extents(self.panel.layout)
        # Colexicographic: modes 0 and 1 first, then the fixed coordinates of further modes.
        index, step = row + height * column, height * width
        for entry, size in zip(self.panel.rest, _further(self.panel.whole), strict=True):
            index, step = index + entry * step, step * size
        return index

    @property
    def indices(self) -> Cells:
        """The index of each place in the whole layout, none in a gap."""
        # index(row, column) is affine in both, so the tables are built from the first index.
        start, height = self.index(0, 0), extents(self.panel.layout)[0]
        return tuple(
            [
                () if row is None or column is None else (start + row + height * column,)
                for row in self.rows
                for column in self.columns
            ]
        )

    def hints(self) -> tuple[str, ...]:
        """`(row,column) → value` for every place; nothing in a gap."""
        down, across = self.modes
        row_texts, column_texts = coordinate_texts(down, self.rows), coordinate_texts(across, self.columns)
        tail = "".join(f",{show(entry)}" for entry in self.panel.further)
        starts = [""] * len(row_texts) if self.panel.layout.rank < 2 else [f"{text}," for text in row_texts]
        ends = [f"{text}{tail}) → " for text in column_texts]
        said = str if self.whole_numbers else show
        return tuple(
            [
                "" if cell is None else f"({start}{end}{said(cell)}"
                for start, cells in zip(starts, self.values, strict=True)
                for end, cell in zip(ends, cells, strict=True)
            ]
        )

    def labels(self, label: str | CellFunction, hints: Sequence[str]) -> tuple[str, ...]:
        """The text of every cell."""
        if label == "offset":
            said = str if self.whole_numbers else show
            return tuple([ELLIPSIS if cell is None else said(cell) for cell in self.flat])
        if label == "none":
            return ("",) * len(hints)
        if label == "coordinate":
            return tuple([hint.partition(" →")[0] or ELLIPSIS for hint in hints])
        if isinstance(label, str):
            return tuple([ELLIPSIS if at is None else str(self.index(*at[:2])) for at in self.cells])
        return tuple(
            [ELLIPSIS if at is None else clean(str(label(self.coordinate(*at[:2]), at[2]))) for at in self.cells]
        )

    def paints(self, color: str | CellFunction, look: Look) -> tuple[str, ...]:
        """The paint of every cell."""
        return self._on_ramp() if color == "offset" else self.painted(self.painter(color, look))

    def painted(self, painter: Painter) -> tuple[str, ...]:
        """What `painter` gives every cell; gaps stay gaps."""
        return tuple([palette.GAP if at is None else painter(*at) for at in self.cells])

    def _on_ramp(self) -> tuple[str, ...]:
        """One ramp for all panels of a plain layout; a swizzled one is measured panel by panel, corners go by rank."""
        flat, whole, start = self.flat, self.panel.whole, self.panel.start
        offsets = sorted({cell for cell in flat if type(cell) is int})
        paints: dict[Value, str]
        # Of corners the offsets are too far apart for a linear ramp: rank them.
        if None in self.rows or None in self.columns:
            paints = {cell: palette.ramp(rank, 0, len(offsets) - 1) for rank, cell in enumerate(offsets)}
        else:
            low, high = (offsets[0], offsets[-1]) if offsets else (0, 0)
            if offsets and isinstance(whole, Layout) and gives_offsets(whole):
                low, high = (end + start for end in offset_bounds(whole))
            paints = {cell: palette.ramp(cell, low, high) for cell in offsets}
        return tuple([palette.GAP if cell is None else paints.get(cell, palette.PLAIN) for cell in flat])

    def painter(self, color: str | CellFunction, look: Look) -> Painter:
        """The colours that number places: by row, column, index, tile, bank, or what a function says."""
        layout = self.panel.whole
        if not isinstance(color, str):
            return lambda row, column, cell: paint_from(color(self.coordinate(row, column), cell))
        if color == "none":
            return lambda row, column, cell: palette.PLAIN
        if color == "index":
            return lambda row, column, cell: palette.ramp(self.index(row, column), 0, layout.size - 1)
        if color == "bank":
            return lambda row, column, cell: (
                look.hue(cell % _BANKS, _BANKS, usual="ordered") if type(cell) is int else palette.PLAIN
            )
        if color in ("row", "column"):
            return lambda row, column, cell: look.hue(row if color == "row" else column)
        height = extents(layout)[0]
        if color == "tile":
            return lambda row, column, cell: look.hue(self.index(row, column) // height)
        down, across = self.modes
        raked = color == "rake"
        # Tiles are numbered colexicographically over the two modes.
        count = _tile_number(mode_size(down) - 1, down, raked=raked) + 1
        return lambda row, column, cell: look.hue(
            _tile_number(row, down, raked=raked) + count * _tile_number(column, across, raked=raked)
        )

    def marked(self, pattern: Coordinate) -> frozenset[int]:
        """The cells whose coordinate `pattern` selects."""
        if pattern is None:
            return frozenset()
        shape = self.panel.whole.shape
        entries = pattern if isinstance(pattern, tuple) and isinstance(shape, tuple) else (pattern,)
        shapes = as_tuple(shape)
        if len(entries) != len(shapes):
            raise DrawError(
                f"highlight={written(pattern)}: it has {len(entries)} entries, the shape {show(shape)} {len(shapes)}"
            )
        return frozenset(
            cell
            for cell, at in enumerate(self.cells)
            if at is not None and _matches(self.coordinate(*at[:2]), entries, shapes)
        )

    def detail(self, cell: int) -> str:
        """`(1,(0,1)) → index 9 → 1·1 + 0·4 + 1·8 = 9`, and of a tensor at offset 100 `, 100 + 9 = 109` after it."""
        row, column = self.rows[cell // len(self.columns)], self.columns[cell % len(self.columns)]
        if row is None or column is None:
            return "left out: the picture shows the corners"
        crd = self.coordinate(row, column)
        whole = self.panel.whole
        inner = crd if isinstance(whole.shape, tuple) else crd[0]
        total, start = value_sum(whole, inner), self.panel.start
        if start:
            value = whole(inner)
            total += f", {start} + {show(value)} = {show(moved(start, value))}"
        return f"{show(crd)} → index {self.index(row, column)} → {total}"


def paint_from(answer: object) -> str:
    """The paint that a color function means: a number of a color, or a name of `palette`."""
    if isinstance(answer, str):
        paint = f"h{palette.own_colors(answer)[0]}" if answer.startswith("#") else answer
        palette.value(paint, "light")
        return paint
    if isinstance(answer, int) and answer >= 0:
        return palette.color(int(answer))
    raise DrawError(f"the color function gave {answer!r}; it gives a number from 0, a paint's name, or as '#e41a1c'")


def _tile_number(index: int, shape: IntTuple, *, raked: bool) -> int:
    """Which tile a place along a mode of shape (tile, rest), or (rest, tile) if raked, is in."""
    if not isinstance(shape, tuple) or len(shape) < 2:
        return 0
    first = mode_size(shape[0])
    return index % first if raked else index // first


def written(pattern: object) -> str:
    """A coordinate or a tiler as CuTe writes it."""
    if isinstance(pattern, tuple):
        return f"({','.join(map(written, pattern))})"
    return "_" if keeps(pattern) else str(pattern)


def _matches(crd: IntTuple, pattern: Coordinate, shape: IntTuple) -> bool:
    """True if a nested coordinate is one that `pattern` selects; `_` selects all, a number the index of its mode."""
    if keeps(pattern):
        return True
    if isinstance(pattern, tuple):
        if not isinstance(shape, tuple) or not isinstance(crd, tuple) or len(shape) != len(pattern):
            raise DrawError(f"highlight: {written(pattern)} does not nest as the shape {show(shape)}")
        return all(map(_matches, crd, pattern, shape))
    if not (isinstance(pattern, int) and 0 <= pattern < mode_size(shape)):
        raise DrawError(f"highlight: {written(pattern)} is no coordinate of a mode {show(shape)}; from 0, or _ for all")
    return crd2idx(crd, shape) == pattern


MOST_TERMS = 12


def value_sum(layout: Layout | ComposedLayout, crd: IntTuple) -> str:
    """The value of a layout at a nested coordinate, with the sum written out: of more than `MOST_TERMS` leaves the
    value alone. A tensor's own offset is not in it.

    >>> value_sum(Layout((4, (2, 8)), (1, (4, 8))), (1, (0, 1)))
    '1·1 + 0·4 + 1·8 = 9'
    >>> value_sum(ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, 2))), (3, 1))
    '3·1 + 1·4 = 7 → S<1,0,2>: 111 ^ 001 = 110 = 6'
    """
    if isinstance(layout, ComposedLayout):
        inner = layout.inner(crd)
        text = value_sum(layout.inner, crd)
        outer_input = moved(layout.offset, inner)
        if layout.offset:
            text += f", {show(layout.offset)} + {show(inner)} = {show(outer_input)}"
        return f"{text} → {_applied(layout.outer, outer_input)}"
    # A mode taken as a whole is unfolded first, so that terms match the leaves of the stride.
    pairs = list(zip(leaves(_natural(crd, layout.shape)), leaves(layout.stride), strict=True))
    total = show(layout(crd))
    if not pairs or len(pairs) > MOST_TERMS:
        return total
    terms = " + ".join(f"{entry}·{step}" for entry, step in pairs)
    return f"{terms} = {total}"


def _natural(crd: IntTuple, shape: IntTuple) -> IntTuple:
    """The coordinate nested as the shape, where it takes a mode as a whole."""
    if not isinstance(shape, tuple):
        return crd
    if not isinstance(crd, tuple):
        return idx2crd(crd, shape)
    return tuple(map(_natural, crd, shape))


def _applied(outer: Function, offset: int) -> str:
    if not isinstance(outer, (Swizzle, BitMap)):
        return f"({outer})({offset}) = {show(outer(offset))}"
    result = outer(offset)
    flipped = offset ^ result
    digits = max(offset.bit_length(), flipped.bit_length(), 1)
    return f"{outer}: {offset:0{digits}b} ^ {flipped:0{digits}b} = {result:0{digits}b} = {result}"
