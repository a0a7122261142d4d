"""Complements, divides and products: what a layout leaves out; a layout split into tiles; copies of a block.

Law: `R = complement(L, M)` is ordered, the translates of L by R's offsets are disjoint, and together they cover [0, M)
wherever the strides of L divide one another in order (where they do not, no layout covers it).
Law: `logical_divide(L, T) == composition(L, (T, complement(T, size(L))))`; the size is kept or the call is refused.
`logical_product(A, B) == (A, composition(A*, B))`, where A* is the complement of A without an end: mode 0 is the block,
mode 1 its copies, ordered as the tiler and disjoint where that is injective. Of a tuple of tilers each knows its own
mode alone. Zipped, tiled and flat ones rearrange the modes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, islice, repeat
from math import gcd

from ...errors import LayoutError
from ..values.composed import axis_layout
from ..values.coordinates import as_stride, has_basis, keeps, path_of, value_of
from ..values.int_tuple import IntTuple, Order, as_tuple, fold_profile, leaves, map_leaves, product, product_each
from ..values.layout import Layout, _make
from ..values.size import Size
from .composition import composition
from .operation import on_inner, operation
from .queries import HasShape, is_bijective, shape
from .rearrange import append, by_mode, from_modes, joined, make_ordered_layout


@operation(composed="what a function outside leaves out is no layout; ask for that of the inner layout")
def complement(layout: Layout, cotarget: IntTuple | Layout | None = None) -> Layout:
    """The ordered layout whose translates of `layout` are disjoint and reach `cotarget` offsets.

    `cotarget` is a size, a shape or a layout (its size); left out, `cosize(layout)`.

    >>> print(complement(Layout(4, 2), 24), complement(Layout((2, 4), (1, 4)), 14))
    (2,3):(1,8) 2:2

    Raises LayoutError where modes of `layout` overlap or a stride is negative: then there is no such layout in general.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.4.
    """
    if has_basis(layout.stride):
        return _complement_by_axis(layout, cotarget)
    target = layout.cosize if cotarget is None else _target_size(layout, cotarget)
    extents, strides, _ = gaps(layout, target, cotarget is None)
    return from_modes(extents, strides)


def gaps(layout: Layout, target: int, always_extend: bool = False) -> tuple[list[int], list[int], bool]:
    """Extents and strides of the complement up to `target`, and whether no offset is left out."""
    pairs = sorted([(d, s) for s, d in zip(leaves(layout.shape), leaves(layout.stride)) if s != 1 and d != 0])  # noqa: B905  (congruent)
    if pairs and pairs[0][0] < 0:
        raise LayoutError(
            f"complement({layout}, {target}): stride {pairs[0][0]} is negative; "
            f"offsets below 0 have no complement in [0, {target})"
        )
    extents: list[int] = []
    strides: list[int] = []
    filled, even = 1, True
    for step, extent in pairs:
        if step < filled:
            raise LayoutError(
                f"complement({layout}, {target}): modes overlap: mode {extent}:{step} starts within the {filled} "
                f"offsets that the smaller strides span; a stride of {filled} would not"
            )
        # Offsets 0..filled-1 are covered; `gap` shifted copies fit before the next mode begins.
        gap = step // filled
        if gap > 1:
            extents.append(gap)
            strides.append(filled)
        if step != gap * filled:
            even = False
        filled = step * extent
    # A last mode of copies up to the target.
    more = -(-target // filled)
    if more > 1 or not extents or always_extend:
        extents.append(more)
        strides.append(filled)
    return extents, strides, even


def _target_size(layout: Layout, cotarget: IntTuple | Layout) -> int:
    size = cotarget.size if isinstance(cotarget, Layout) else product(cotarget)
    if not (type(size) is int or isinstance(size, Size)) or size < 1:
        raise LayoutError(
            f"complement({layout}, {cotarget}): the cotarget must be a size, a shape or a layout of at least 1"
        )
    return size


def _complement_by_axis(layout: Layout, cotarget: IntTuple | Layout | None) -> Layout:
    """The complement of a layout with basis strides, axis by axis of its codomain."""
    named = cotarget if isinstance(cotarget, tuple) else (cotarget,)
    width = max(len(named), *(1 + path[0] for step in leaves(layout.stride) if (path := path_of(step))))
    modes: list[Layout] = []
    for axis, target in enumerate(islice(chain(named, repeat(None)), width)):
        along = complement(axis_layout(layout, axis), target)
        steps = map_leaves(lambda step, axis=axis: as_stride(value_of(step), (axis, *path_of(step))), along.stride)
        modes.append(_make(along.shape, steps))
    return joined(modes)


def evenly_divides(left: HasShape, right: object) -> bool:
    """True if tiles of the right one fill the left shape: what `logical_divide` asks of a tiler, entry by entry.

    >>> evenly_divides((8, 16), (4, 4)), evenly_divides((8, 10), (4, 4)), evenly_divides((8, 10), 20)
    (True, False, True)
    >>> evenly_divides(48, Layout(8, 3)), evenly_divides(32, Layout(8, 3))
    (True, False)

    An integer divides the size, a layout has a complement in it, `_` and None keep an entry. Raises LayoutError for
    another tiler.
    """
    whole = shape(left)
    if keeps(right):
        return True
    if isinstance(right, tuple):
        entries = as_tuple(whole)
        return len(right) <= len(entries) and all(map(evenly_divides, entries, right))
    if isinstance(right, int | Size) and right > 0:
        return product(whole) % right == 0
    if not isinstance(right, Layout) or has_basis(right.stride):
        raise LayoutError(
            f"evenly_divides({left}, {right}): a tile is a layout of offsets, a size, `_`, or a tuple of these"
        )
    try:
        extents, _strides, even = gaps(right, product(whole))
    except LayoutError:
        return False
    return even and right.size * product(tuple(extents)) == product(whole)


a_divide = partial(operation, composed=on_inner, tiled=True, tiles="tile", on_tensor="divided")
a_product = partial(operation, composed=on_inner, tiled=True, tiles="tile", on_tensor="multiplied")


@a_divide()
def logical_divide(layout: Layout, tiler: object, round_up: bool = False) -> Layout:
    """`(tile, rest)` of the whole layout, or mode by mode for a tuple tiler: `((tile, rest), (tile, rest), ...)`.

    An integer N tiles by `N:1`; `_` and None keep a mode, as do modes that the tiler does not name. With `round_up` the
    last tile may reach beyond the layout, which goes on there; the same of `make_identity_layout(shape)` is the guard:
    a coordinate is real where `elem_less(guard(c), shape)`.

    >>> print(logical_divide(Layout((4, 8)), 2), logical_divide(Layout((6, 8), (8, 1)), (3, 4)))
    (2,16):(1,2) ((3,2),(4,2)):((8,24),(1,4))
    >>> print(logical_divide(Layout(1000), 128, round_up=True))
    (128,8):(1,128)

    Raises LayoutError where the tile does not divide the size, CompositionError where it does not fit the modes.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.5.
    """
    if type(round_up) is not bool:
        raise LayoutError(
            f"logical_divide({layout}, {tiler}, {round_up}): round_up is True or False; a tiler of modes is a tuple"
        )
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, layout, tiler, *[True] * round_up)
    if keeps(tiler):
        return layout
    tile = tile_of(logical_divide, layout, tiler)
    if round_up:
        layout = rounded_up(layout, tile)
    # A tile of coordinates: valid when tile and rest together reach every coordinate once.
    if has_basis(tile.stride):
        rest = complement(tile, layout.shape)
        whole = _make((tile.shape, rest.shape), (tile.stride, rest.stride))
        if whole.size != layout.size or not is_bijective(whole):
            raise LayoutError(_uneven(layout, tile, rest, whole.size != layout.size))
        return composition(layout, whole)
    # rest = complement(tile, size); the result is layout o (tile, rest).
    extents, strides, even = gaps(tile, layout.size)
    rest = from_modes(extents, strides)
    if tile.size * rest.size != layout.size or not even:
        raise LayoutError(_uneven(layout, tile, rest, even))
    return composition(layout, _make((tile.shape, rest.shape), (tile.stride, rest.stride)))


def rounded_up(layout: Layout, tile: Layout) -> Layout:
    """`layout` with its last mode long enough for whole tiles, the gaps between their elements included."""
    sizes = leaves(layout.shape)
    if has_basis(tile.stride) or not sizes:
        return layout
    # A whole tile with the gaps between its elements; the other modes already contribute a factor.
    unit = tile.size * product(tuple(gaps(tile, tile.cosize)[0]))
    unit //= gcd(unit, product(sizes[:-1]))
    longer = -(-sizes[-1] // unit) * unit
    return _make(fold_profile(iter([*sizes[:-1], longer]), layout.shape), layout.stride, layout.facts)


def tile_of(call: Callable[..., Layout], layout: Layout, tiler: object) -> Layout:
    """The layout that a tiler of a whole layout is: an integer N is `N:1`."""
    if isinstance(tiler, Layout):
        return tiler
    if type(tiler) is int:
        return Layout(tiler, 1)
    raise LayoutError(f"{call.__name__}({layout}, {tiler!r}): a tiler is a layout, an integer, `_` or a tuple of these")


def _uneven(layout: Layout, tile: Layout, rest: Layout, even: bool) -> str:
    """The message of a divide that is refused: sizes that do not match (`even`), or copies of the tile that leave
    gaps."""
    call = f"logical_divide({layout}, {tile})"
    if even:
        # A tile of coordinates says nothing of how the axes go on; a tuple of tiles rounds each mode up.
        basis = has_basis(tile.stride)
        other = "tile by mode, with a tuple and round_up=True," if basis else "pass round_up=True"
        return (
            f"{call}: the tile and its rest {rest} have {tile.size} * {rest.size} = {tile.size * rest.size} "
            f"coordinates, the layout {layout.size}; choose a tile that divides {layout.size}, or {other} "
            "and guard the edge"
        )
    return (
        f"{call}: copies of the tile {tile} leave gaps, for its strides do not divide one another; choose some that do"
    )


def unzipped(layout: Layout, guide: object) -> tuple[Layout, Layout]:
    """All tiles and all rests of a divided layout, whose `(tile, rest)` pairs stand mode by mode as `guide` nests.

    Where `guide` stops, a layout of two modes is one pair, as in CuTe also one that it keeps; any other is a tile
    without a rest, 1:0.
    """
    if not isinstance(guide, tuple):
        if layout.rank != 2:
            return layout, _make(1, 0)
        return layout[0], layout[1]
    modes = list(layout)
    # ((tile, rest), (tile, rest), ...) -> ((tile, tile, ...), (rest, rest, ...)); modes without an entry are rests.
    pairs = [unzipped(mode, entry) for mode, entry in zip(modes, guide, strict=False)]
    return joined(tile for tile, _ in pairs), joined([rest for _, rest in pairs] + modes[len(guide) :])


@a_divide(put=(logical_divide, "((tiles), (rests))"))
def zipped_divide(layout: Layout, tiler: object, round_up: bool = False) -> Layout:
    """`((tile, tile, ...), (rest, rest, ...))`: mode 0 is one tile, mode 1 chooses among them.

    >>> print(zipped_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),(2,2)):((8,1),(24,4))

    Raises as `logical_divide`.
    """
    return joined(unzipped(logical_divide(layout, tiler, round_up), tiler))


@a_divide(put=(logical_divide, "((tiles), rest, rest, ...)"))
def tiled_divide(layout: Layout, tiler: object, round_up: bool = False) -> Layout:
    """`((tile, tile, ...), rest, rest, ...)`.

    >>> print(tiled_divide(Layout((6, 8), (8, 1)), (3, 4)))
    ((3,4),2,2):((8,1),24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler, round_up), tiler)
    return joined([tile, *rest])


@a_divide(put=(logical_divide, "(tile, ..., rest, ...)"))
def flat_divide(layout: Layout, tiler: object, round_up: bool = False) -> Layout:
    """`(tile, tile, ..., rest, rest, ...)`.

    >>> print(flat_divide(Layout((6, 8), (8, 1)), (3, 4)))
    (3,4,2,2):(8,1,24,4)

    Raises as `logical_divide`.
    """
    tile, rest = unzipped(logical_divide(layout, tiler, round_up), tiler)
    return joined([*tile, *rest])


@a_product()
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
    # A* o B: the tiler picks among the places where shifted blocks are disjoint.
    arranged = composition(room_for(block, copies), copies)
    return _make((block.shape, arranged.shape), (block.stride, arranged.stride))


def room_for(block: Layout, copies: Layout) -> Layout:
    """The complement of `block` with a last mode that goes on beyond it, so that no copy falls back into the gaps."""
    if has_basis(block.stride):
        return complement(block)
    extents, strides, _ = gaps(block, block.size * copies.cosize, True)
    return from_modes(extents, strides)


@a_product(put=(logical_product, "((blocks), (copies))"))
def zipped_product(block: Layout, tiler: object) -> Layout:
    """`((block, block, ...), (copies, copies, ...))`.

    >>> print(zipped_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,4),(2,5)):((4,1),(12,24))

    Raises as `logical_product`.
    """
    return joined(unzipped(logical_product(block, tiler), tiler))


@a_product(put=(logical_product, "((blocks), copy, copy, ...)"))
def tiled_product(block: Layout, tiler: object) -> Layout:
    """`((block, block, ...), copies, copies, ...)`.

    >>> print(tiled_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,4),2,5):((4,1),12,24)

    Raises as `logical_product`.
    """
    inner, copies = unzipped(logical_product(block, tiler), tiler)
    return joined([inner, *copies])


@a_product(put=(logical_product, "(block, ..., copy, ...)"))
def flat_product(block: Layout, tiler: object) -> Layout:
    """`(block, block, ..., copies, copies, ...)`.

    >>> print(flat_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    (3,4,2,5):(4,1,12,24)

    Raises as `logical_product`.
    """
    inner, copies = unzipped(logical_product(block, tiler), tiler)
    return joined([*inner, *copies])


@a_product(layouts=2, put=(logical_product, "((block, copies), ...) mode by mode"), tiles="block")
def blocked_product(block: Layout, tiler: Layout) -> Layout:
    """Mode by mode `(block, copies)`: neighbouring elements of a block stay neighbours.

    >>> print(blocked_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((3,2),(4,5)):((4,12),(1,24))

    The shorter operand is continued with size-1 modes. Raises as `logical_product`. Source: CuTe, `layout.hpp`.
    """
    return _interleaved(blocked_product, block, tiler, False)


@a_product(layouts=2, put=(logical_product, "((copies, block), ...) mode by mode"), tiles="rake")
def raked_product(block: Layout, tiler: Layout) -> Layout:
    """Mode by mode `(copies, block)`: neighbouring elements belong to neighbouring copies.

    >>> print(raked_product(Layout((3, 4), (4, 1)), Layout((2, 5))))
    ((2,3),(5,4)):((12,4),(24,1))

    Raises as `logical_product`. Source: CuTe, `layout.hpp`.
    """
    return _interleaved(raked_product, block, tiler, True)


def _interleaved(call: Callable[..., Layout], block: Layout, tiler: Layout, copies_first: bool) -> Layout:
    """Mode by mode the pair of the block's mode and its copies, or the copies first; extra modes of one operand
    alone."""
    if not isinstance(tiler, Layout):
        raise LayoutError(f"{call.__name__}({block}, {tiler!r}): the tiler must be a layout; write Layout({tiler!r})")
    rank = max(block.rank, tiler.rank)
    # Pad to one rank, multiply, then pair mode i of the block with mode i of the copies.
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
    # Number of copies along each mode, rounded up; then order them as asked.
    copies = tuple(-(-extent // mode.size) for extent, mode in zip(targets, padded, strict=True))
    inner, arranged = logical_product(padded, make_ordered_layout(copies, order))
    return joined(map(joined, zip(inner, arranged, strict=True)))
