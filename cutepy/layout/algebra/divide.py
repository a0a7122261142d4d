"""Divides: a layout split into a tile and the tiles' arrangement.

Law: `logical_divide(L, T) == composition(L, (T, complement(T, size(L))))`; zipped, tiled and flat divide rearrange its
modes; the size is kept or the call is refused.
"""

from __future__ import annotations

from ...errors import LayoutError
from ..values.basis import has_basis
from ..values.coordinates import keeps
from ..values.layout import Layout, _make
from .complement import complement, gaps
from .composition import composition
from .operation import on_inner, operation
from .properties import is_bijective
from .rearrange import by_mode, from_modes, joined


@operation(composed=on_inner, tiled=True, on_tensor="divided")
def logical_divide(layout: Layout, tiler: object) -> Layout:
    """`(tile, rest)` of the whole layout, or mode by mode for a tuple tiler: `((tile, rest), (tile, rest), ...)`.

    An integer N tiles by `N:1`; `_` and None keep a mode, as do modes that the tiler does not name.

    >>> print(logical_divide(Layout((4, 8)), 2), logical_divide(Layout((6, 8), (8, 1)), (3, 4)))
    (2,16):(1,2) ((3,2),(4,2)):((8,24),(1,4))

    Raises LayoutError where the tile does not divide the size, CompositionError where it does not fit the modes.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.5.
    """
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, layout, tiler)
    if keeps(tiler):
        return layout
    tile = Layout(tiler, 1) if type(tiler) is int else tiler
    if not isinstance(tile, Layout):
        raise LayoutError(
            f"logical_divide({layout}, {tiler!r}): a tiler is a layout, an integer, `_` or a tuple of these"
        )
    if has_basis(tile.stride):
        rest = complement(tile, layout.shape)
        whole = _make((tile.shape, rest.shape), (tile.stride, rest.stride))
        if whole.size != layout.size or not is_bijective(whole):
            raise LayoutError(_uneven(layout, tile, rest, whole.size != layout.size))
        return composition(layout, whole)
    extents, strides, even = gaps(tile, layout.size)
    rest = from_modes(extents, strides)
    if tile.size * rest.size != layout.size or not even:
        raise LayoutError(_uneven(layout, tile, rest, even))
    return composition(layout, _make((tile.shape, rest.shape), (tile.stride, rest.stride)))


def _uneven(layout: Layout, tile: Layout, rest: Layout, even: bool) -> str:
    call = f"logical_divide({layout}, {tile})"
    if even:
        return (
            f"{call}: the tile and its rest {rest} have {tile.size} * {rest.size} = {tile.size * rest.size} "
            f"coordinates, the layout {layout.size}; choose a tile that divides {layout.size}, or round the shape up "
            f"and guard the edge"
        )
    return (
        f"{call}: copies of the tile {tile} leave gaps, for its strides do not divide one another; choose some that do"
    )


def unzipped(layout: Layout, guide: object) -> tuple[Layout, Layout]:
    """Split `(tile, rest)` pairs that stand mode by mode, as `guide` nests, into all tiles and all rests."""
    if not isinstance(guide, tuple):
        if layout.rank != 2:
            return layout, _make(1, 0)
        return layout[0], layout[1]
    modes = list(layout)
    pairs = [unzipped(mode, entry) for mode, entry in zip(modes, guide, strict=False)]
    return joined(tile for tile, _ in pairs), joined([rest for _, rest in pairs] + modes[len(guide) :])


@operation(composed=on_inner, tiled=True, on_tensor="divided")
def zipped_divide(layout: Layout, tiler: object) -> Layout:
    """`((tile, tile, ...), (rest, rest, ...))`: mode 0 is one tile, mode 1 chooses among them.

    >>> print(zipped_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),(2,2)):((8,1),(24,4))

    Raises as `logical_divide`.
    """
    return joined(unzipped(logical_divide(layout, tiler), tiler))


@operation(composed=on_inner, tiled=True, on_tensor="divided")
def tiled_divide(layout: Layout, tiler: object) -> Layout:
    """`((tile, tile, ...), rest, rest, ...)`.

    >>> print(tiled_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),2,2):((8,1),24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler), tiler)
    return joined([tile, *rest])


@operation(composed=on_inner, tiled=True, on_tensor="divided")
def flat_divide(layout: Layout, tiler: object) -> Layout:
    """`(tile, tile, ..., rest, rest, ...)`.

    >>> print(flat_divide(Layout((6, 8), (8, 1)), (3, 4)))
    (3,4,2,2):(8,1,24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler), tiler)
    return joined([*tile, *rest])
