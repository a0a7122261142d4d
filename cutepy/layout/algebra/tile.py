"""Divides and products: a layout split into a tile and the tiles' arrangement, copies of a block laid out by a tiler.

Law: `logical_divide(L, T) == composition(L, (T, complement(T, size(L))))`; the size is kept or the call is refused.
`logical_product(A, B) == (A, composition(A*, B))`, where A* is the complement of A without an end: mode 0 is the block,
mode 1 its copies, disjoint and ordered as the tiler. Zipped, tiled and flat ones rearrange the modes.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import LayoutError
from ..values.basis import has_basis
from ..values.composed import ComposedLayout
from ..values.coordinates import keeps
from ..values.int_tuple import IntTuple, fold_profile, leaves, product_each
from ..values.layout import Layout, Order, _make
from .complement import complement, gaps
from .composition import composition
from .operation import on_inner, operation
from .queries import is_bijective
from .rearrange import append, by_mode, from_modes, joined


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
    tile = tile_of(logical_divide, layout, tiler)
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


def tile_of(call: Callable[..., Layout], layout: Layout, tiler: object) -> Layout:
    """The layout that a tiler of a whole layout is: an integer N is `N:1`."""
    if isinstance(tiler, Layout):
        return tiler
    if type(tiler) is int:
        return Layout(tiler, 1)
    raise LayoutError(f"{call.__name__}({layout}, {tiler!r}): a tiler is a layout, an integer, `_` or a tuple of these")


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


@operation(composed=on_inner, tiled=True, put=(logical_divide, "((tiles), (rests))"), on_tensor="divided")
def zipped_divide(layout: Layout, tiler: object) -> Layout:
    """`((tile, tile, ...), (rest, rest, ...))`: mode 0 is one tile, mode 1 chooses among them.

    >>> print(zipped_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),(2,2)):((8,1),(24,4))

    Raises as `logical_divide`.
    """
    return joined(unzipped(logical_divide(layout, tiler), tiler))


@operation(composed=on_inner, tiled=True, put=(logical_divide, "((tiles), rest, rest, ...)"), on_tensor="divided")
def tiled_divide(layout: Layout, tiler: object) -> Layout:
    """`((tile, tile, ...), rest, rest, ...)`.

    >>> print(tiled_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),2,2):((8,1),24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler), tiler)
    return joined([tile, *rest])


@operation(composed=on_inner, tiled=True, put=(logical_divide, "(tile, ..., rest, ...)"), on_tensor="divided")
def flat_divide(layout: Layout, tiler: object) -> Layout:
    """`(tile, tile, ..., rest, rest, ...)`.

    >>> print(flat_divide(Layout((6, 8), (8, 1)), (3, 4)))
    (3,4,2,2):(8,1,24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler), tiler)
    return joined([*tile, *rest])


@operation(composed=on_inner, tiled=True, on_tensor="multiplied")
def logical_product(block: Layout, tiler: object) -> Layout:
    """`(block, copies)`, or mode by mode for a tuple tiler.

    >>> print(logical_product(Layout((2, 2), (1, 2)), Layout((3, 3), (3, 1))))
    ((2,2),(3,3)):((1,2),(12,4))

    Raises LayoutError where the block has no complement, CompositionError where the tiler does not fit it.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.6.
    """
    if isinstance(tiler, tuple):
        return by_mode(logical_product, block, tiler)
    if keeps(tiler):
        return block
    copies = tile_of(logical_product, block, tiler)
    if has_basis(copies.stride):
        raise LayoutError(f"logical_product({block}, {tiler}): the copies are ordered by offsets, not by coordinates")
    arranged = composition(room_for(block, copies), copies)
    return _make((block.shape, arranged.shape), (block.stride, arranged.stride))


def room_for(block: Layout, copies: Layout) -> Layout:
    """The complement of `block` with a last mode that goes on beyond it, so that no copy falls back into the gaps."""
    if has_basis(block.stride):
        return complement(block)
    extents, strides, _ = gaps(block, block.size * copies.cosize, True)
    return from_modes(extents, strides)


@operation(composed=on_inner, tiled=True, put=(logical_product, "((blocks), (copies))"), on_tensor="multiplied")
def zipped_product(block: Layout, tiler: object) -> Layout:
    """`((block, block, ...), (copies, copies, ...))`.

    >>> print(zipped_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,4),(2,5)):((4,1),(12,24))

    Raises as `logical_product`.
    """
    return joined(unzipped(logical_product(block, tiler), tiler))


@operation(composed=on_inner, tiled=True, put=(logical_product, "((blocks), copy, copy, ...)"), on_tensor="multiplied")
def tiled_product(block: Layout, tiler: object) -> Layout:
    """`((block, block, ...), copies, copies, ...)`.

    >>> print(tiled_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,4),2,5):((4,1),12,24)

    Raises as `logical_product`.
    """
    inner, copies = unzipped(logical_product(block, tiler), tiler)
    return joined([inner, *copies])


@operation(composed=on_inner, tiled=True, put=(logical_product, "(block, ..., copy, ...)"), on_tensor="multiplied")
def flat_product(block: Layout, tiler: object) -> Layout:
    """`(block, block, ..., copies, copies, ...)`.

    >>> print(flat_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    (3,4,2,5):(4,1,12,24)

    Raises as `logical_product`.
    """
    inner, copies = unzipped(logical_product(block, tiler), tiler)
    return joined([*inner, *copies])


@operation(
    composed=on_inner,
    tiled=True,
    layouts=2,
    put=(logical_product, "((block, copies), ...) mode by mode"),
    on_tensor="multiplied",
)
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Mode by mode `(block, copies)`: neighbouring elements of a block stay neighbours.

    >>> print(blocked_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,2),(4,5)):((4,12),(1,24))

    The shorter operand is continued with size-1 modes. Raises as `logical_product`. Source: CuTe, `layout.hpp`.
    """
    return _interleaved(blocked_product, block, tiler, False)


@operation(
    composed=on_inner,
    tiled=True,
    layouts=2,
    put=(logical_product, "((copies, block), ...) mode by mode"),
    on_tensor="multiplied",
)
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Mode by mode `(copies, block)`: neighbouring elements belong to neighbouring copies.

    >>> print(raked_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((2,3),(5,4)):((12,4),(24,1))

    Raises as `logical_product`. Source: CuTe, `layout.hpp`.
    """
    return _interleaved(raked_product, block, tiler, True)


def _interleaved(call: Callable[..., Layout], block: Layout, tiler: Layout, copies_first: bool) -> Layout:
    if not isinstance(tiler, Layout):
        raise LayoutError(f"{call.__name__}({block}, {tiler!r}): the tiler must be a layout; write Layout({tiler!r})")
    rank = max(block.rank, tiler.rank)
    inner, copies = logical_product(append(_in_modes(block), rank), append(_in_modes(tiler), rank))
    pairs = []
    for mode, (kept, repeated) in enumerate(zip(inner, copies, strict=True)):
        if mode >= tiler.rank or mode >= block.rank:
            pairs.append(kept if mode >= tiler.rank else repeated)
        else:
            pairs.append(joined((repeated, kept) if copies_first else (kept, repeated)))
    return joined(pairs)


def _in_modes(layout: Layout) -> Layout:
    """An integer layout as its one mode, so that what becomes of it stays one mode."""
    return layout if isinstance(layout.shape, tuple) else joined([layout])


def make_ordered_layout(shape: IntTuple, order: IntTuple | Order) -> Layout:
    """The compact layout of `shape` whose strides grow in the order of the numbers in `order`.

    >>> print(make_ordered_layout((2, (2, 2), 2), (0, (2, 3), 1)))
    (2,(2,2),2):(1,(4,8),2)

    An entry of `order` that stops nesting orders all below it, first mode fastest. Raises LayoutError where it nests
    deeper.
    """
    if isinstance(order, Order):
        return Layout(shape, order)
    whole = Layout(shape)
    ranked = _ranks(shape, order, whole)
    extents = leaves(shape)
    strides = [0] * len(extents)
    running = 1
    for leaf in sorted(range(len(extents)), key=lambda i: (ranked[i], i)):
        if extents[leaf] != 1:
            strides[leaf] = running
            running *= extents[leaf]
    return _make(whole.shape, fold_profile(iter(strides), whole.shape))


def _ranks(shape: IntTuple, order: IntTuple, whole: Layout) -> list[int]:
    if not isinstance(order, tuple):
        return [order] * len(leaves(shape))
    if not isinstance(shape, tuple) or len(shape) != len(order):
        raise LayoutError(
            f"make_ordered_layout({whole.shape}, {order}): it must nest no deeper than the shape, one entry a mode"
        )
    return [rank for part, entry in zip(shape, order, strict=True) for rank in _ranks(part, entry, whole)]


def make_layout_like(layout: Layout) -> Layout:
    """A compact layout of the same shape whose strides grow in the same order; stride-0 modes stay.

    >>> print(make_layout_like(Layout((4, 8), (32, 2))))
    (4,8):(8,1)
    """
    if isinstance(layout, ComposedLayout):
        layout = layout.inner
    if has_basis(layout.stride):
        raise LayoutError(f"make_layout_like({layout}): strides along axes have no order; use make_layout(shape)")
    extents, steps = leaves(layout.shape), leaves(layout.stride)
    strides = [0] * len(extents)
    running = 1
    for leaf in sorted(range(len(extents)), key=lambda i: (abs(steps[i]), i)):
        if steps[leaf] != 0 and extents[leaf] != 1:
            strides[leaf] = running
            running *= extents[leaf]
    return _make(layout.shape, fold_profile(iter(strides), layout.shape))


@operation(composed=on_inner, on_tensor="multiplied")
def tile_to_shape(block: Layout, shape: IntTuple, order: IntTuple | Order = Order.LEFT) -> Layout:
    """`block` repeated until each mode reaches `shape`; the copies are ordered as `order` says.

    >>> print(tile_to_shape(Layout((2, 4)), (8, 16), (2, 1)))
    ((2,4),(4,4)):((1,32),(2,8))

    Where a block does not divide the shape the last copy reaches beyond it, as in CuTe.
    Raises LayoutError where the block has more modes than the shape, and for an order that is none of them.
    Source: CuTe, `layout.hpp`.
    """
    targets = product_each(shape)
    if block.rank > len(targets):
        raise LayoutError(
            f"tile_to_shape({block}, {shape}): the block has {block.rank} modes, the shape "
            f"{len(targets)}; group the block's modes"
        )
    ranks = sorted(leaves(order)) if isinstance(order, tuple) else []
    if ranks != list(range(ranks[0], ranks[0] + len(targets)) if ranks else ranks):
        raise LayoutError(f"tile_to_shape({block}, {shape}, {order}): the order ranks {len(targets)} modes, each once")
    padded = append(block, len(targets))
    copies = tuple(-(-extent // mode.size) for extent, mode in zip(targets, padded, strict=True))
    inner, arranged = logical_product(padded, make_ordered_layout(copies, order))
    return joined(map(joined, zip(inner, arranged, strict=True)))
