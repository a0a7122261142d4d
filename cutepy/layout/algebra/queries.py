"""Questions about layouts: sizes, shapes, how two of them fit; injective, surjective, bijective, decided exactly.

The functions with `*modes` follow mode indices first: `size(L, 0, 1)` is the size of mode 1 of mode 0.

The properties are decided by arithmetic on the modes, whatever the size. Turning a mode round (stride -d for d) only
shifts the offsets, so strides count by size. Sorted by stride, the modes before a mode reach `sum of (s - 1) * d`.
"""

from __future__ import annotations

from math import gcd, prod
from typing import Any, TypeAlias

from ...errors import CoordinateError, LayoutError
from ..values.bit_map import Image, OfBits
from ..values.composed import AnyLayout, ComposedLayout, axes_of, axis_layout, gives_coordinates, plain_part
from ..values.coordinates import as_stride, as_value, path_of, value_of
from ..values.int_tuple import IntTuple, Shaped, as_tuple, depth_of, map_leaves, nests_as, product, show
from ..values.layout import Layout, flat_modes
from .bits import columns_of, index_columns
from .operation import Act, known_sizes, on_any, operation
from .rearrange import coalesced, get
from .swizzled import listed
from .table import distinct, extremes, first_deviation

HasShape: TypeAlias = "Shaped | IntTuple"


def shape(thing: HasShape, *modes: int) -> IntTuple:
    """The shape of a layout, of one of its modes, or an int tuple itself.

    >>> shape(Layout((4, (2, 8))), 1), shape((4, (2, 8)), 1, 0)
    ((2, 8), 2)
    >>> shape((Layout((4, 8)), 2))
    ((4, 8), 2)

    Raises CoordinateError for a mode that is not there.
    """
    whole = tree = _shape_of(thing)
    for mode in modes:
        if not -len(as_tuple(tree)) <= mode < len(as_tuple(tree)):
            raise CoordinateError(f"mode {mode} of {tree}, in {show(whole)}: it has {len(as_tuple(tree))}")
        tree = as_tuple(tree)[mode]
    return tree


def _shape_of(thing: HasShape) -> IntTuple:
    """The shape of anything; of a tile, a tuple of layouts, that of each of them."""
    if isinstance(thing, tuple):
        return tuple(map(_shape_of, thing)) if any(map(holds_layout, thing)) else thing
    return thing.shape if hasattr(thing, "shape") else thing


def holds_layout(thing: object) -> bool:
    return any(map(holds_layout, thing)) if isinstance(thing, tuple) else isinstance(thing, AnyLayout)


def stride(layout: Layout, *modes: int) -> IntTuple:
    """The stride of a layout or of one of its modes.

    >>> stride(Layout((4, (2, 8))), 1)
    (4, 8)

    Raises LayoutError for a composed layout, which has none; CoordinateError for a mode that is not there.
    """
    mode = get(layout, *modes)
    if isinstance(mode, ComposedLayout):
        raise LayoutError(f"stride({mode}): a composed layout has none; ask for that of its inner layout, .inner")
    return mode.stride


def size(thing: HasShape, *modes: int) -> int:
    """The number of coordinates.

    >>> size(Layout((4, (2, 8)))), size(Layout((4, (2, 8))), 1), size((4, 3))
    (64, 16, 12)

    Raises CoordinateError for a mode that is not there.
    """
    return product(shape(thing, *modes))


def rank(thing: HasShape, *modes: int) -> int:
    """The number of modes; 1 for an integer.

    >>> rank(Layout((4, (2, 8)))), rank(Layout((4, (2, 8))), 0)
    (2, 1)

    Raises CoordinateError for a mode that is not there.
    """
    return len(as_tuple(shape(thing, *modes)))


def depth(thing: HasShape, *modes: int) -> int:
    """How deep the shape nests; 0 for an integer.

    >>> depth(Layout((4, (2, 8)))), depth(4)
    (2, 0)

    Raises CoordinateError for a mode that is not there.
    """
    return depth_of(shape(thing, *modes))


def cosize(layout: Layout | ComposedLayout, *modes: int) -> int:
    """One more than the distance between the least and the greatest offset.

    >>> cosize(Layout((4, 8), (1, 5))), cosize(Layout((4, 8), (1, 5)), 1)
    (39, 36)

    Raises CoordinateError for a mode that is not there.
    """
    return on_any(get, layout, *modes).cosize


def coshape(layout: Layout, *modes: int) -> IntTuple:
    """The shape of the codomain: `cosize` for integer strides, one extent an axis for basis strides.

    >>> from cutepy.layout import E
    >>> coshape(Layout((4, 8), (E(0), 2 * E(1)))), coshape(Layout((4, 8)))
    ((4, 15), 32)

    Raises CoordinateError for a mode that is not there.
    """
    layout = get(layout, *modes)
    if isinstance(layout, ComposedLayout):
        reached = [as_stride(axis_layout(layout, *axis).cosize - 1, axis) for axis in axes_of(layout)]
        return _as_shape(sum(reached)) if reached else layout.cosize
    total: Any = 0
    for extent, step in flat_modes(layout):
        total = total + as_stride((extent - 1) * abs(value_of(step)), path_of(step))
    return _as_shape(total)


def _as_shape(total: Any) -> IntTuple:
    """The least shape that has a coordinate, or an index."""
    return map_leaves(lambda top: top + 1, as_value(total))


def coprofile(layout: Layout, *modes: int) -> IntTuple:
    """The nesting of the codomain, as zeros.

    >>> from cutepy.layout import E
    >>> coprofile(Layout((4, 8), (E(0), E(1)))), coprofile(Layout((4, 8)))
    ((0, 0), 0)

    Raises CoordinateError for a mode that is not there.
    """
    return map_leaves(lambda extent: 0, coshape(layout, *modes))


def congruent(left: HasShape, right: HasShape) -> bool:
    """True if both shapes nest alike.

    >>> congruent(Layout((4, (2, 8))), Layout((1, (1, 1))))
    True
    """
    return nests_as(shape(left), shape(right), lambda _one, other: not isinstance(other, tuple))


def weakly_congruent(left: HasShape, right: HasShape) -> bool:
    """True if the right shape nests at least as finely as the left.

    >>> weakly_congruent(Layout((4, 16)), Layout((4, (2, 8))))
    True
    """
    return nests_as(shape(left), shape(right), lambda _one, _other: True)


def compatible(left: HasShape, right: HasShape) -> bool:
    """True if every coordinate of the left shape is one of the right: the right one refines it.

    >>> compatible(Layout(24), Layout((4, 6))), compatible(Layout((4, 6)), Layout(24))
    (True, False)
    """
    return nests_as(shape(left), shape(right), lambda one, other: one == product(other))


Modes = list[tuple[int, int]]


def _all_differ(call: Act, layout: ComposedLayout) -> bool:
    """`is_injective` of a composed layout: a swizzle takes no two offsets to one."""
    # An injective map of bits after a layout: injective if the layout is.
    if isinstance(layout.outer, OfBits) and Image(layout.outer.columns).rank == len(layout.outer.columns):
        return bool(call(layout.inner))
    known_sizes(call, layout)
    # Linear over F2: injective exactly when the columns have full rank.
    columns = index_columns(layout)
    if columns is not None:
        return Image(columns).rank == len(columns)
    return _reached(layout)[0] == layout.size


def _all_reached(call: Act, layout: ComposedLayout) -> bool:
    """`is_surjective` of a composed layout; its least offset is not always 0."""
    known_sizes(call, layout)
    columns = index_columns(layout)
    if columns is not None:
        return layout.cosize == 1 << Image(columns).rank
    count, box = _reached(layout)
    return count == box


def _reached(layout: ComposedLayout) -> tuple[int, int]:
    """How many different offsets there are, or coordinates, and how many the least interval, or box, of them holds."""
    # Otherwise list the offsets (or coordinates) and count.
    axes = [listed(axis_layout(layout, *axis)) for axis in axes_of(layout)] or [listed(layout)]
    count = distinct(axes[0]) if len(axes) == 1 else len(set(zip(*axes, strict=True)))
    return count, prod(most - least + 1 for least, most in map(extremes, axes))


def _in_a_row(call: Act, layout: ComposedLayout) -> bool:
    """`is_contiguous` of a composed layout, from whatever offset on."""
    known_sizes(call, layout)
    if gives_coordinates(layout):
        return layout.size == 1
    columns = columns_of(layout)
    if columns is not None:
        return all(column == 1 << bit for bit, column in enumerate(columns))
    offsets = listed(layout)
    return first_deviation(offsets, 1, int(offsets[0])) is None


@operation(composed=_all_differ, layouts=0)
def is_injective(layout: AnyLayout) -> bool:
    """True if no two coordinates share an offset.

    >>> is_injective(Layout((4, 8), (8, 1))), is_injective(Layout((4, 3), (1, 2))), is_injective(Layout((2, 2), (2, 3)))
    (True, False, True)

    Decided by strides that outreach the smaller ones; else by looking for a vector of coordinate differences of
    offset 0. Raises LayoutError where that search is cut off (above a million steps; no layout of a kernel comes near).
    """
    return all(_apart(modes, layout) for modes in _by_axis(layout))


def _apart(modes: Modes, layout: AnyLayout) -> bool:
    """True if modes along one axis, (stride, extent) in order of stride, give different offsets at different
    coordinates."""
    # Modes in order of stride: with stride > span of the smaller ones, an offset determines its coordinate.
    span = 0
    for step, extent in modes:
        if step <= span:
            return step > 0 and not _collide(modes, layout)
        span += (extent - 1) * step
    return True


@operation(composed=_all_reached, layouts=0)
def is_surjective(layout: AnyLayout) -> bool:
    """True if every offset between the least and the greatest is reached.

    >>> is_surjective(Layout((4, 8))), is_surjective(Layout((4, 8), (1, 5))), is_surjective(Layout((4, 3), (1, 2)))
    (True, False, True)

    Exact: a stride may exceed what the smaller ones reach by 1 at most, or the next offset is missed by all.
    """
    for modes in _by_axis(layout):
        span = 0
        for step, extent in modes:
            if step > span + 1:
                return False
            span += (extent - 1) * step
    return True


@operation(composed=lambda _call, layout: is_injective(layout) and is_surjective(layout), layouts=0)
def is_bijective(layout: AnyLayout) -> bool:
    """True if every offset between the least and the greatest is reached exactly once.

    >>> is_bijective(Layout((4, 8), (8, 1))), is_bijective(Layout((4, 3), (1, 2)))
    (True, False)
    """
    return is_surjective(layout) and layout.size == layout.cosize


@operation(composed=_in_a_row, layouts=0)
def is_contiguous(layout: AnyLayout) -> bool:
    """True if consecutive coordinates have consecutive offsets: it coalesces to N:1.

    >>> is_contiguous(Layout((4, 8))), is_contiguous(Layout((4, 8), (8, 1)))
    (True, False)
    """
    return coalesced(plain_part(layout))[1] in ([], [1])


def _by_axis(layout: AnyLayout) -> list[Modes]:
    """The modes that move, by stride, for each axis of the codomain; one axis for offsets. No mode moves two."""
    axes: dict[tuple[int, ...], Modes] = {}
    plain = plain_part(layout)
    for extent, step in flat_modes(plain):
        if extent != 1:
            axes.setdefault(path_of(step), []).append((abs(value_of(step)), extent))
    return [sorted(modes) for modes in axes.values()]


def _collide(modes: Modes, layout: AnyLayout) -> bool:
    """Whether coordinate differences c, |c_i| < s_i, not all 0, have sum of c_i * d_i = 0, largest stride first."""
    # spans[i]: greatest difference that modes before i can make; common[i]: gcd of their strides.
    steps_left, spans, common = 1_000_000, [0], [0]
    for step, extent in modes:
        spans.append(spans[-1] + (extent - 1) * step)
        common.append(gcd(common[-1], step))

    def fills(below: int, gap: int) -> bool:
        """Whether the modes before `below` can make up `gap` by differences."""
        nonlocal steps_left
        if abs(gap) > spans[below]:
            return False
        if below == 0:
            return gap == 0
        steps_left -= 1
        if steps_left < 0:
            raise LayoutError(f"is_injective({layout}): undecided after a million steps; divide the layout first")
        # Every sum of the remaining modes is a multiple of the gcd of their strides.
        if gap % common[below]:
            return False
        step, extent = modes[below - 1]
        # Bounds on c with |gap - c * step| <= span of the remaining modes.
        low = max(1 - extent, -((spans[below - 1] - gap) // step))
        high = min(extent - 1, (spans[below - 1] + gap) // step)
        return any(fills(below - 1, gap - c * step) for c in range(low, high + 1))

    return any(  # some mode is the slowest that differs; its difference may be taken as positive
        fills(top, step * c)
        for top, (step, extent) in enumerate(modes)
        for c in range(1, min(extent - 1, spans[top] // step) + 1)
    )
