"""Tiles of a layout, where they lie in it.

Imports `plain`. Which tile an element is in is read off `zipped_divide` of the layout of indices: mode 1 numbers the tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..errors import DrawError
from ..layout import Layout, zipped_divide
from ..layout.grid import extents, offset_rows
from . import palette
from .grid import Figure, Grid
from .look import Look
from .plain import (
    LABELS,
    MOST_PANELS,
    AnyLayout,
    Table,
    arranged,
    as_layout,
    layout_grid,
    paint_from,
    parts,
    table_of,
    title_of,
)

LARGEST_TILED = 1 << 20


@dataclass(frozen=True, slots=True)
class Tiles:
    """View "tiles": a layout with each tile of `tiler` in its own colour and a heavy line round it."""

    tiler: object

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of the layout, coloured by tile."""
        layout = as_layout(thing, "tiles")
        tiles = tile_numbers(layout, self.tiler)
        color, label = look.colored_by("tile", "place", "none"), look.labelled_by(*LABELS, "tile", "place")
        grids = [
            _tiled(table_of(part, look.style.limit), tiles, color, label, look)
            for part in islice(parts(layout), MOST_PANELS)
        ]
        count = 1 + max(number for number, _place in tiles)
        legend = [(palette.color(tile), f"tile {tile}") for tile in range(min(count, 16))]
        if count > 16:
            legend.append((palette.GAP, f"and {count - 16} more"))
        return Figure(
            arranged(grids),
            title=title_of(f"{layout} in tiles of {_written(self.tiler)}", look),
            description=f"Layout {layout} in {count} tiles of {_written(self.tiler)}.",
            legend=tuple(legend) if look.style.legend and color == "tile" and label != "tile" else (),
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
            found[index] = (tile, place)  # type: ignore[index]
    return found


def _tiled(table: Table, tiles: Sequence[tuple[int, int]], color: object, label: object, look: Look) -> Grid:
    plain_label = label if label in LABELS or callable(label) else "offset"
    plain = layout_grid(table.part, Look("none", plain_label, look.style))  # type: ignore[arg-type]
    here = [
        None if row is None or column is None else tiles[table.index(row, column)]
        for row in table.rows
        for column in table.columns
    ]
    labels = plain.labels
    if label in ("tile", "place"):
        labels = tuple("…" if found is None else str(found[label == "place"]) for found in here)
    return replace(
        plain,
        labels=labels,
        paints=tuple(palette.GAP if found is None else _paint(color, found) for found in here),
        hints=tuple(
            hint if found is None else f"{hint}, tile {found[0]}" for hint, found in zip(plain.hints, here, strict=True)
        ),
        groups=tuple(-1 if found is None else found[0] for found in here),
    )


def _paint(color: object, found: tuple[int, int]) -> str:
    if callable(color):
        return paint_from(color(found, None))
    return palette.PLAIN if color == "none" else palette.color(found[color == "place"])


def _written(tiler: object) -> str:
    return f"({','.join(map(_written, tiler))})" if isinstance(tiler, tuple) else str(tiler)


