"""Tiles of a layout, where they lie in it.

Which tile an element is in is read off `zipped_divide` of the layout of indices: its mode 1 numbers the tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from ..errors import DrawError
from ..layout import Layout, zipped_divide
from ..layout.text.write import extents, offset_rows
from . import palette
from .cells import LABELS, paint_from, written
from .grid import ELLIPSIS, Figure, Grid
from .look import CellFunction, Look
from .plain import MOST_PANELS, arranged, layout_grid, title_of
from .table import AnyLayout, Part, as_layout, parts, table_of

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
        for tile, index in enumerate(cast("list[int]", row)):
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
