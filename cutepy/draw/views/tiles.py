"""A layout in tiles: all of them, or one framed in the whole, with its threads and values.

Law: which tile an element is in is read off `zipped_divide` of the layout of indices: its mode 0 numbers the places
within a tile, its mode 1 the tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat

from ...errors import DrawError
from ...layout import Layout, crd2idx, idx2crd, make_identity_layout, zipped_divide
from ...layout.text.write import extents, offset_rows
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import IntTuple, as_tuple, leaves, product
from .. import palette
from ..grid import ELLIPSIS, Figure, Grid
from ..look import Look, named
from .layouts import MOST_PANELS, layout_grid, title_of
from .owners import Owners, legend_of, number_set, owners_of
from .table import LABELS, Panel, as_layout, paint_from, panels, written

LARGEST_TILED = 1 << 20

Place = tuple[int, int]
"""The number of a tile, and of a place within it."""


@named("tiles")
@dataclass(frozen=True, slots=True)
class Tiles:
    """View "tiles": a layout with each tile of `tiler` in its own colour and a heavy line round it.

    `tile`, a number or a coordinate, is the one that is shown in the whole. With a layout `threads` of (thread, value)
    over a tile its elements have the colours of their threads, and those of `thread` are framed.

    >>> from cutepy import draw
    >>> draw("(4,4):(4,1)", view=Tiles((2, 2))).figure.grids[0].groups
    (0, 0, 2, 2, 0, 0, 2, 2, 1, 1, 3, 3, 1, 1, 3, 3)
    """

    tiler: object
    tile: object = None
    threads: object = None
    thread: int | None = None

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of the layout, coloured by tile, or by thread in one tile."""
        layout = as_layout(thing, "tiles")
        tiles = tile_numbers(layout, self.tiler)
        count = 1 + max(tile for tile, _place in tiles)
        title = title_of(f"{layout} in tiles of {written(self.tiler)}", look)
        some = list(islice(panels(layout), MOST_PANELS))
        if self.tile is None and self.threads is None and self.thread is None:
            named = look.style.legend and look.color in (None, "tile") and count <= palette.COLORS
            return Figure(
                (tuple(_tiled(panel, tiles, count, look) for panel in some),),
                title=title,
                description=f"Layout {layout} in {count} tiles of {written(self.tiler)}.",
                legend=tuple((look.hue(tile, count), str(tile)) for tile in range(count)) if named else (),
                subject="tile",
            )
        chosen = self._chosen(layout, count)
        owners = self._owners(layout)
        grids = [_one_tile(panel, tiles, chosen, owners, self.thread, look) for panel in some]
        framed = f", thread {self.thread} framed" if self.thread is not None else ""
        return Figure(
            (tuple(grids),),
            title=title,
            description=f"Tile {written(self.tile or 0)} of layout {layout} in tiles of {written(self.tiler)}{framed}.",
            legend=legend_of(owners, "thread", look),
            notes=(f"tile {written(self.tile or 0)} of {count}{framed}",),
            subject="thread",
        )

    def _chosen(self, layout: AnyLayout, count: int) -> int:
        """The number of the tile that is asked for by number or coordinate. Raises DrawError for one that is not
        there."""
        tiles = as_tuple(_divided(layout, self.tiler).shape)[1]
        try:
            number = crd2idx(self.tile, tiles) if isinstance(self.tile, tuple) else self.tile or 0
        except (TypeError, ValueError) as error:
            raise DrawError(f"tile={written(self.tile)}: {error}") from error
        if (
            not isinstance(number, int)
            or not 0 <= number < count
            or self.tile not in (None, number, idx2crd(number, tiles))
        ):
            raise DrawError(f"tile={written(self.tile)}: there are {count} tiles of shape {written(tiles)}, from 0 on")
        return number

    def _owners(self, layout: AnyLayout) -> Owners:
        """The owners of each position of a tile by `threads`, none without. Raises DrawError where they do not fit."""
        if self.threads is None:
            if self.thread is not None:
                raise DrawError(f"thread={self.thread}: give threads, the layout of (thread, value) over a tile, too")
            return {}
        threads = as_layout(self.threads, "tiles")
        if threads.rank < 2:
            raise DrawError(f"threads={threads}: it is a layout of (thread, value)")
        places = extents(_divided(layout, self.tiler))[0]
        owners = owners_of(threads)
        # Threads own indices within a tile; the coverage of the tile is not asked for.
        if outside := [at for at in owners if not isinstance(at, int) or not 0 <= at < places]:
            raise DrawError(f"threads={threads}: it reaches {written(outside[0])}, a tile has {places} elements")
        if self.thread is not None and not 0 <= self.thread < extents(threads)[0]:
            raise DrawError(f"thread={self.thread}: {threads} has {extents(threads)[0]} threads")
        return owners


def tile_numbers(layout: AnyLayout, tiler: object) -> list[Place]:
    """For every index of `layout` the tile that it is in and its place within the tile.

    >>> tile_numbers(Layout((2, 4)), (2, 2))
    [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    >>> tile_numbers(Layout((3, 2)), (2, 2))  # the second tile reaches beyond the edge
    [(0, 0), (0, 1), (1, 0), (0, 2), (0, 3), (1, 2)]
    """
    if layout.size > LARGEST_TILED:
        raise DrawError(f"tiles of {layout}: {layout.size} coordinates; pictures of tiles go up to {LARGEST_TILED}")
    # Mode 0 of the divided index layout runs within a tile, mode 1 over the tiles.
    divided = _divided(layout, tiler)
    within, tiles = extents(divided)
    numbers = [(0, 0)] * layout.size
    # A tile that does not divide its mode reaches beyond it, where an index would be that of another column.
    sizes, by_mode = _modes(layout, tiler)
    whole = divided.size == layout.size
    beyond = None if whole else zipped_divide(make_identity_layout(sizes), by_mode, round_up=True)
    for position, row in enumerate(offset_rows(divided, range(within), range(tiles))):
        for tile, index in enumerate(row):
            crd = () if beyond is None else leaves(beyond(position, tile))
            if isinstance(index, int) and all(at < size for at, size in zip(crd, leaves(sizes), strict=False)):
                numbers[index] = (tile, position)
    return numbers


def sizes_tiled(shape: IntTuple, tiler: object) -> IntTuple:
    """A shape as a tiler meets it: the size of each mode that one entry tiles, or that none does."""
    if not isinstance(tiler, tuple) or not isinstance(shape, tuple):
        return product(shape)
    return tuple([sizes_tiled(*pair) for pair in zip(shape, chain(tiler, repeat(None)), strict=False)])


def _divided(layout: AnyLayout, tiler: object) -> Layout:
    """The layout of indices in tiles, rounded up where a tile does not divide its mode."""
    sizes, by_mode = _modes(layout, tiler)
    if isinstance(by_mode, tuple):
        return zipped_divide(Layout(sizes), by_mode, round_up=True)
    return zipped_divide(Layout(layout.shape), tiler)


def _modes(layout: AnyLayout, tiler: object) -> tuple[IntTuple, object]:
    """The sizes of the modes, and the tiler for them: an integer that does not divide the layout is of all of it."""
    if isinstance(tiler, int) and tiler > 0 and layout.size % tiler:
        return (layout.size,), (tiler,)
    return sizes_tiled(as_tuple(layout.shape), tiler), tiler


def _tiled(panel: Panel, tiles: Sequence[Place], count: int, look: Look) -> Grid:
    """One panel with a colour, or a label, by the number of the tile or of the position in it."""
    color, label = look.colored_by("tile", "place", "none"), look.labelled_by(*LABELS, "tile", "place")
    own = label in ("tile", "place")
    plain = layout_grid(panel, Look("none", "none" if own else label, look.style))
    here = _places(panel, tiles, look)
    labels = tuple(ELLIPSIS if number is None else str(number[label == "place"]) for number in here)

    def paint(number: Place | None) -> str:
        if number is None or color == "none":
            return palette.GAP if number is None else palette.PLAIN
        return look.hue(number[color == "place"], count) if isinstance(color, str) else paint_from(color(number, None))

    return replace(
        plain,
        labels=labels if own else plain.labels,
        paints=tuple(map(paint, here)),
        hints=tuple(
            hint if number is None else f"{hint}, tile {number[0]}"
            for hint, number in zip(plain.hints, here, strict=True)
        ),
        groups=tuple(-1 if number is None else number[0] for number in here),
    )


def _places(panel: Panel, tiles: Sequence[Place], look: Look) -> list[Place | None]:
    table = panel.table(look.style.limit)
    return [None if at is None else tiles[table.index(*at[:2])] for at in table.cells]


def _one_tile(
    panel: Panel, tiles: Sequence[Place], chosen: int, owners: Owners, thread: int | None, look: Look
) -> Grid:
    """One tile in the whole: a frame round it, colours in it, a frame round what `thread` has."""
    color, label = look.colored_by("thread", "value", "none"), look.labelled_by(*LABELS, "thread,value")
    shows_owner = label == "thread,value"
    plain = layout_grid(panel, Look("none", None if shows_owner else label, look.style))
    labels, paints, hints, marked = list(plain.labels), list(plain.paints), list(plain.hints), set()
    here = _places(panel, tiles, look)
    for cell, number in enumerate(here):
        if number is None or number[0] != chosen:
            continue
        mine = owners.get(number[1], ())
        paints[cell] = palette.HOLE if owners else look.hue(0)
        if mine:
            owner = f"T{number_set(o[0] for o in mine)}\nV{number_set(o[1] for o in mine)}"
            labels[cell] = owner if shows_owner else labels[cell]
            hints[cell] = f"{hints[cell]}: {owner.replace(chr(10), ' ')}"
            if not isinstance(color, str):
                paints[cell] = paint_from(color(mine[0], None))
            else:
                paints[cell] = palette.PLAIN if color == "none" else look.hue(mine[0][color == "value"])
        if thread in [owner[0] for owner in mine]:
            marked.add(cell)
    return replace(
        plain,
        labels=tuple(labels),
        paints=tuple(paints),
        hints=tuple(hints),
        groups=tuple(int(number is not None and number[0] == chosen) for number in here),
        marked=plain.marked | marked,
    )
