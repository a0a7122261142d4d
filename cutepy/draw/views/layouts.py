"""Layouts as they are: offsets at coordinates, in tiles, and the tree of their nesting.

One grid shows the first two modes, more grids further modes. Which tile an element is in is read off `zipped_divide` of
the layout of indices: its mode 1 numbers the tiles. A node of a tree is a cell as wide as its leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ...errors import DrawError
from ...layout import Layout, zipped_divide
from ...layout.text.write import extents, offset_rows
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import IntTuple, depth_of, leaves, show
from .. import palette
from ..grid import ELLIPSIS, Axis, Figure, Grid, axis_of
from ..look import CellFunction, Look
from ..safe import LONGEST_TITLE, clean, shorten
from .table import (
    COLORS,
    LABELS,
    Part,
    as_layout,
    detail_of,
    gives_offsets,
    hints_of,
    labels_of,
    marked_in,
    paint_from,
    paints_of,
    part_count,
    parts,
    plain_of,
    table_of,
    written,
)

MOST_PANELS = 16


@dataclass(frozen=True, slots=True)
class Plain:
    """View "grid": a layout's offsets at its coordinates."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of a layout: one for the first two modes, one for each coordinate of the others."""
        layout = as_layout(thing, "grid")
        grids = [layout_grid(part, look) for part in islice(parts(layout), MOST_PANELS)]
        more = part_count(layout) - len(grids)
        notes = (f"and {more} more grids",) if more > 0 else ()
        return Figure(arranged(grids), title=title_of(layout, look), description=description_of(layout), notes=notes)


def title_of(layout: object, look: Look) -> str:
    """The asked-for title, or the layout."""
    asked = look.style.title
    return shorten(str(layout), LONGEST_TITLE) if asked is None else clean(asked, LONGEST_TITLE)


def description_of(layout: AnyLayout) -> str:
    """What a screen reader says."""
    rows, columns = extents(layout)
    return f"Layout {shorten(str(layout), 400)}: {rows} rows, {columns} columns, {layout.size} coordinates."


def arranged(grids: Sequence[Grid]) -> tuple[tuple[Grid | None, ...], ...]:
    """Grids in rows of up to four, narrow ones side by side."""
    if not grids:
        return ()
    across = max(1, min(4, 48 // max(grid.columns.size for grid in grids), len(grids)))
    return tuple(tuple(grids[start : start + across]) for start in range(0, len(grids), across))


def layout_grid(part: Part, look: Look) -> Grid:
    """The grid of one part of a layout."""
    table = table_of(part, look.style.limit)
    down, across = table.modes
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    hints = hints_of(table)
    as_print_layout = label == "offset" and isinstance(part.layout, Layout) and gives_offsets(part.layout)
    return Grid(
        side(down, table.rows, look, vector=part.layout.rank < 2),
        side(across, table.columns, look),
        labels=labels_of(table, label, hints),
        paints=paints_of(table, color),
        hints=hints,
        caption=part.caption,
        marked=marked_in(table, look.style.highlight),
        detail=lambda place: detail_of(table, place),
        least_width=len(str(part.layout.cosize)) if as_print_layout else 1,
    )


def side(shape: IntTuple, places: Sequence[int | None], look: Look, *, vector: bool = False) -> Axis:
    """An axis in the asked-for style."""
    if vector or look.style.heads == "none":
        return Axis(tuple(places), (), axis_of(shape, places).rules)
    return axis_of(shape, places, nested=look.style.heads == "nested")


LARGEST_TILED = 1 << 20
MOST_NAMED = 16

TileColors = ("tile", "place", "none")


@dataclass(frozen=True, slots=True)
class Tiles:
    """View "tiles": a layout with each tile of `tiler` in its own colour and a heavy line round it."""

    tiler: object

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of the layout, coloured by tile."""
        layout = as_layout(thing, "tiles")
        tiles = tile_numbers(layout, self.tiler)
        grids = [_tiled(part, tiles, look) for part in islice(parts(layout), MOST_PANELS)]
        count = 1 + max(tile for tile, _place in tiles)
        legend = [(palette.color(tile), f"tile {tile}") for tile in range(min(count, MOST_NAMED))]
        if count > MOST_NAMED:
            legend.append((palette.GAP, f"and {count - MOST_NAMED} more"))
        named = look.style.legend and look.color in (None, "tile") and look.label != "tile"
        return Figure(
            arranged(grids),
            title=title_of(f"{layout} in tiles of {written(self.tiler)}", look),
            description=f"Layout {layout} in {count} tiles of {written(self.tiler)}.",
            legend=tuple(legend) if named else (),
        )


def tile_numbers(layout: AnyLayout, tiler: object) -> list[tuple[int, int]]:
    """For every index of `layout` the tile that it is in and its place within the tile.

    >>> tile_numbers(Layout((2, 4)), (2, 2))
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    """
    if layout.size > LARGEST_TILED:
        raise DrawError(f"tiles of {layout}: {layout.size} coordinates; pictures of tiles go up to {LARGEST_TILED}")
    divided = zipped_divide(Layout(layout.shape), tiler)
    within, tiles = extents(divided)
    found = [(0, 0)] * layout.size
    for place, row in enumerate(offset_rows(divided, range(within), range(tiles))):
        for tile, index in enumerate(row):
            if isinstance(index, int):
                found[index] = (tile, place)
    return found


def _tiled(part: Part, tiles: Sequence[tuple[int, int]], look: Look) -> Grid:
    color, label = look.colored_by(*TileColors), look.labelled_by(*LABELS, "tile", "place")
    own = label in ("tile", "place")
    plain = layout_grid(part, Look("none", "none" if own else label, look.style))
    table = table_of(part, look.style.limit)
    here = [
        None if row is None or column is None else tiles[table.index(row, column)] for row, column, _cell in table.cells
    ]
    labels = tuple(ELLIPSIS if found is None else str(found[label == "place"]) for found in here)
    return replace(
        plain,
        labels=labels if own else plain.labels,
        paints=tuple(palette.GAP if found is None else _paint(color, found) for found in here),
        hints=tuple(
            hint if found is None else f"{hint}, tile {found[0]}" for hint, found in zip(plain.hints, here, strict=True)
        ),
        groups=tuple(-1 if found is None else found[0] for found in here),
    )


def _paint(color: str | CellFunction, found: tuple[int, int]) -> str:
    if not isinstance(color, str):
        return paint_from(color(found, None))
    return palette.PLAIN if color == "none" else palette.color(found[color == "place"])


MOST_LEAVES = 64
DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Tree:
    """View "tree": the shape from the whole down to its leaves, and the strides below them."""

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid: a level of nesting a row."""
        layout = as_layout(thing, "tree")
        plain = plain_of(layout)
        count, depth = len(leaves(plain.shape)), depth_of(plain.shape)
        if not 1 <= count <= MOST_LEAVES or depth > DEEPEST:
            raise DrawError(
                f"view 'tree' of {shorten(str(layout), 200)}: {count} leaves, {depth} levels; it draws 1 to "
                f"{MOST_LEAVES} leaves and {DEEPEST} levels: draw a mode of it, or flatten or coalesce it"
            )
        grown = _Grown(count, depth)
        grown.add(plain.shape, 0, 0, ())
        for leaf, step in enumerate(leaves(plain.stride)):
            grown.put(depth + 1, leaf, 1, str(step), palette.PLAIN, f"stride {step}")
        color = look.colored_by("level", "leaf", "none")
        paints = tuple(
            paint if paint[0] != "n" else f"g{min(2 * int(paint[1:]), 14)}" if color == "level" else palette.PLAIN
            for paint in grown.paints
        )
        rows = tuple((text, 1) for text in ["shape", *[""] * depth, "stride"])
        grid = Grid(
            Axis(tuple(range(depth + 2)), (rows,)),
            Axis(tuple(range(count))),
            tuple(grown.labels),
            paints,
            tuple(grown.hints),
            spans=grown.spans,
        )
        return Figure(((grid,),), title=title_of(layout, look), description=f"The nesting of {layout}.")


@dataclass(slots=True)
class _Grown:
    """The cells of a tree while it is drawn."""

    count: int
    depth: int
    labels: list[str] = field(init=False)
    paints: list[str] = field(init=False)
    hints: list[str] = field(init=False)
    spans: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = self.count * (self.depth + 2)
        self.labels, self.hints = [""] * cells, [""] * cells
        self.paints = [palette.GAP] * cells

    def put(self, row: int, column: int, span: int, label: str, paint: str, hint: str) -> None:
        """One cell."""
        place = row * self.count + column
        self.labels[place], self.paints[place], self.hints[place] = label, paint, hint
        self.spans[place] = span

    def add(self, shape: IntTuple, row: int, column: int, path: tuple[int, ...]) -> None:
        """A node and everything below it."""
        span = max(1, len(leaves(shape)))
        name = f"mode {show(path)}" if path else "the whole"
        self.put(row, column, span, shorten(show(shape), 12 * span), f"n{row}", f"{name}: {show(shape)}")
        if isinstance(shape, tuple):
            for place, entry in enumerate(shape):
                self.add(entry, row + 1, column, (*path, place))
                column += len(leaves(entry))
