"""Questions about layouts: sizes, shapes, how two of them fit.

The functions with `*modes` follow mode indices first: `size(L, 0, 1)` is the size of mode 1 of mode 0.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, cast

from ...errors import CoordinateError, LayoutError
from ..values.basis import Basis, BasisSum, as_stride, has_basis, path_of, value_of
from ..values.composed import ComposedLayout
from ..values.int_tuple import IntTuple, as_tuple, compatible_shapes, depth_of, leaves, map_leaves, product, show
from ..values.int_tuple import congruent as congruent_trees
from ..values.int_tuple import weakly_congruent as weakly_congruent_trees
from ..values.layout import Layout
from .complement import gaps
from .rearrange import get


class HasShape(Protocol):
    """A layout, a tensor: what has a shape."""

    @property
    def shape(self) -> IntTuple: ...


Shaped: TypeAlias = "HasShape | IntTuple"


def shape(thing: Shaped, *modes: int) -> IntTuple:
    """The shape of a layout, of one of its modes, or an int tuple itself.

    >>> shape(Layout((4, (2, 8))), 1), shape((4, (2, 8)), 1, 0)
    ((2, 8), 2)
    """
    whole = tree = thing if isinstance(thing, (int, tuple)) else thing.shape
    for mode in modes:
        if not -len(as_tuple(tree)) <= mode < len(as_tuple(tree)):
            raise CoordinateError(f"mode {mode} of {tree}, in {show(whole)}: it has {len(as_tuple(tree))}")
        tree = as_tuple(tree)[mode]
    return tree


def stride(layout: Layout, *modes: int) -> IntTuple:
    """The stride of a layout or of one of its modes.

    >>> stride(Layout((4, (2, 8))), 1)
    (4, 8)
    """
    mode = get(layout, *modes)
    if isinstance(mode, ComposedLayout):
        raise LayoutError(f"stride({mode}): a composed layout has none; ask for that of its inner layout, .inner")
    return mode.stride


def size(thing: Shaped, *modes: int) -> int:
    """The number of coordinates.

    >>> size(Layout((4, (2, 8)))), size(Layout((4, (2, 8))), 1), size((4, 3))
    (64, 16, 12)
    """
    return product(shape(thing, *modes))


def rank(thing: Shaped, *modes: int) -> int:
    """The number of modes; 1 for an integer.

    >>> rank(Layout((4, (2, 8)))), rank(Layout((4, (2, 8))), 0)
    (2, 1)
    """
    return len(as_tuple(shape(thing, *modes)))


def depth(thing: Shaped, *modes: int) -> int:
    """How deep the shape nests; 0 for an integer.

    >>> depth(Layout((4, (2, 8)))), depth(4)
    (2, 0)
    """
    return depth_of(shape(thing, *modes))


def cosize(layout: Layout | ComposedLayout, *modes: int) -> int:
    """One more than the distance between the least and the greatest offset.

    >>> cosize(Layout((4, 8), (1, 5))), cosize(Layout((4, 8), (1, 5)), 1)
    (39, 36)
    """
    return get(cast(Layout, layout), *modes).cosize


def coshape(layout: Layout, *modes: int) -> IntTuple:
    """The shape of the codomain: `cosize` for integer strides, one extent an axis for basis strides.

    >>> from cutepy.layout import E
    >>> coshape(Layout((4, 8), (E(0), 2 * E(1)))), coshape(Layout((4, 8)))
    ((4, 15), 32)
    """
    layout = get(layout, *modes)
    if isinstance(layout, ComposedLayout):
        return layout.cosize
    total: object = 0
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        total = total + as_stride((extent - 1) * abs(value_of(step)), path_of(step))  # type: ignore[operator]
    tree = total.coordinate() if isinstance(total, (Basis, BasisSum)) else cast(IntTuple, total)
    return map_leaves(lambda top: cast(int, top) + 1, tree)


def coprofile(layout: Layout, *modes: int) -> IntTuple:
    """The nesting of the codomain, as zeros.

    >>> from cutepy.layout import E
    >>> coprofile(Layout((4, 8), (E(0), E(1)))), coprofile(Layout((4, 8)))
    ((0, 0), 0)
    """
    return map_leaves(lambda extent: 0, coshape(layout, *modes))


def congruent(left: Shaped, right: Shaped) -> bool:
    """True if both shapes nest alike.

    >>> congruent(Layout((4, (2, 8))), Layout((1, (1, 1))))
    True
    """
    return congruent_trees(shape(left), shape(right))


def weakly_congruent(left: Shaped, right: Shaped) -> bool:
    """True if the right shape nests at least as finely as the left.

    >>> weakly_congruent(Layout((4, 16)), Layout((4, (2, 8))))
    True
    """
    return weakly_congruent_trees(shape(left), shape(right))


def compatible(left: Shaped, right: Shaped) -> bool:
    """True if every coordinate of the left shape is one of the right: the right one refines it.

    >>> compatible(Layout(24), Layout((4, 6))), compatible(Layout((4, 6)), Layout(24))
    (True, False)
    """
    return compatible_shapes(shape(left), shape(right))


def evenly_divides(left: Shaped, right: Shaped) -> bool:
    """True if tiles of the right one fill the left shape: what `logical_divide` asks of a tiler, entry by entry.

    >>> evenly_divides((8, 16), (4, 4)), evenly_divides((8, 10), (4, 4)), evenly_divides((8, 10), 20)
    (True, False, True)
    >>> evenly_divides(48, Layout(8, 3)), evenly_divides(32, Layout(8, 3))
    (True, False)

    An integer divides the size, a layout has a complement in it. Raises LayoutError for another tiler.
    """
    whole = shape(left)
    if isinstance(right, tuple):
        entries = as_tuple(whole)
        return len(right) <= len(entries) and all(map(evenly_divides, entries, right))
    if type(right) is int and right > 0:
        return product(whole) % right == 0
    if not isinstance(right, Layout) or has_basis(right.stride):
        raise LayoutError(
            f"evenly_divides({left}, {right}): a tile is a layout of offsets, a size, or a tuple of these"
        )
    try:
        extents, _strides, even = gaps(right, product(whole))
    except LayoutError:
        return False
    return even and right.size * product(tuple(extents)) == product(whole)
