"""What a grid of a layout is made from: two modes at a coordinate of the others, the places drawn, the values there.

The values come from the layout itself (`layout.grid.offset_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from ..errors import DrawError
from ..layout import ComposedLayout, Layout, slice_and_offset, tuple_add
from ..layout.text.write import extents, offset_rows
from ..layout.values.basis import Basis, BasisSum
from ..layout.values.coordinates import Coordinate, _, idx2crd
from ..layout.values.int_tuple import IntTuple, as_tuple, leaves
from .grid import mode_size, shortened

AnyLayout = Layout | ComposedLayout
Value: TypeAlias = "int | IntTuple | None"
"""An offset, a coordinate (basis strides), or None in a gap."""


@dataclass(frozen=True, slots=True)
class Part:
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
        if isinstance(value, tuple) or isinstance(self.base, tuple):
            return tuple_add(value, self.base)
        return value + self.base + self.start

    @property
    def caption(self) -> str:
        """The slice that the part is."""
        return f"(_,_,{','.join(map(str, self.rest))})" if self.rest else ""


def as_layout(thing: object, view: str) -> AnyLayout:
    """`thing`, or its layout, with numbers for sizes; DrawError otherwise."""
    found = getattr(thing, "layout", thing)
    if not isinstance(found, AnyLayout):
        raise DrawError(f"view {view!r} draws layouts, not {type(thing).__name__}")
    for extent in leaves(found.shape):
        mode_size(extent)
    return found


def plain_of(layout: AnyLayout) -> Layout:
    """The layout itself, or the one inside a composed layout."""
    return layout if isinstance(layout, Layout) else layout.inner


def gives_offsets(layout: AnyLayout) -> bool:
    """True if no stride is a basis element."""
    return all(type(step) is int for step in leaves(plain_of(layout).stride))


def reach(layout: Layout) -> tuple[int, int]:
    """The least and the greatest offset.

    >>> reach(Layout((4, 3), (-1, 10)))
    (-3, 20)
    """
    ends = [(extent - 1) * step for extent, step in zip(leaves(layout.shape), leaves(layout.stride), strict=True)]
    return sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)


def parts(layout: AnyLayout) -> Iterator[Part]:
    """The rank-2 parts of a layout, in colexicographic order of the modes from the third on."""
    if layout.rank <= 2:
        yield Part(layout, layout)
        return
    sizes = tuple(_further(layout))
    for number in range(part_count(layout)):
        rest = cast("tuple[int, ...]", idx2crd(number, sizes))
        place = cast(Coordinate, (_, _, *rest))
        if isinstance(layout, Layout):
            kept, base = slice_and_offset(place, layout)
            yield Part(kept, layout, base.coordinate() if isinstance(base, (Basis, BasisSum)) else base, rest)
        else:
            yield Part(cast(ComposedLayout, layout(place)), layout, 0, rest)


def part_count(layout: AnyLayout) -> int:
    """How many parts there are."""
    count = 1
    for size in _further(layout):
        count *= size
    return count


def _further(layout: AnyLayout) -> list[int]:
    return [mode_size(extent) for extent in as_tuple(layout.shape)[2:]]


@dataclass(frozen=True, slots=True)
class Table:
    """The places of a part that are drawn, and the values there."""

    part: Part
    rows: list[int | None]
    columns: list[int | None]
    values: list[list[Value]]

    @property
    def flat(self) -> list[Value]:
        """The values cell by cell."""
        return [cell for cells in self.values for cell in cells]

    @property
    def cells(self) -> list[tuple[int | None, int | None, Value]]:
        """Row, column and value, cell by cell."""
        return [
            (row, column, cell)
            for row, cells in zip(self.rows, self.values, strict=True)
            for column, cell in zip(self.columns, cells, strict=True)
        ]

    @property
    def whole_numbers(self) -> bool:
        """True if every cell has an integer: nothing is left out and no stride is a basis element."""
        return None not in self.rows and None not in self.columns and gives_offsets(self.part.layout)

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
        place = idx2crd(column, across)
        return (place,) if self.part.layout.rank < 2 else (idx2crd(row, down), place, *self.part.rest)

    def index(self, row: int, column: int) -> int:
        """The colexicographic index of a place in the whole layout."""
        height, width = extents(self.part.layout)
        index, step = row + height * column, height * width
        for entry, size in zip(self.part.rest, _further(self.part.whole), strict=True):
            index, step = index + entry * step, step * size
        return index


def table_of(part: Part, limit: int) -> Table:
    """The places of a part to draw, at most about `limit`, and the values there."""
    rows, columns = shortened(*extents(part.layout), limit)
    found = iter(offset_rows(part.layout, [r for r in rows if r is not None], [c for c in columns if c is not None]))
    values: list[list[Value]] = []
    for row in rows:
        if row is None:
            values.append([None] * len(columns))
            continue
        cells: list[Value] = list(next(found))  # type: ignore[arg-type]
        if part.base or part.start:
            cells = [part.moved(cell) for cell in cells]  # type: ignore[arg-type]
        if None in columns:
            cells.insert(columns.index(None), None)
        values.append(cells)
    return Table(part, rows, columns, values)
