"""Inverses of layouts, and what they do not see: kernels, free bits and quotients, Triton's words for linear maps.

Laws: `L(right_inverse(L)(i)) == i` for every i of the right inverse, which is as large as possible; `L(R(L(i))) ==
L(i)` for `R = left_inverse(L)`, returned whenever a layout does it.

Where every stride, in order of size, spans the ones before it, an offset determines its coordinate and both inverses
are read off the sorted modes. Elsewhere (overlapping, coprime or negative strides) they are searched for (`search.py`).

Law of `nullspace`: `layout(R(i)) == 0` for every i of R, no two of them alike; of what is linear over F2, all.
Law of `quotient`: `layout(c)` is `R(the other entries of c)` on the other axes, and c itself on those of `modes`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ...errors import LayoutError
from ..values.bit_map import Columns, Image
from ..values.composed import (
    AnyLayout,
    ComposedLayout,
    axes_of,
    axis_layout,
    before_last,
    chained,
    gives_coordinates,
    last_of,
    make_composed_layout,
)
from ..values.coordinates import has_basis, path_of
from ..values.int_tuple import as_tuple, leaves, product
from ..values.layout import Layout, _make, flat_modes, make_identity_layout
from .bits import columns_of, index_columns, joined_columns, linear_layout_of, to_f2
from .composition import composition
from .operation import OfPlain, known_sizes, on_any, operation
from .queries import is_injective
from .rearrange import coalesce, coalesced, from_modes, joined, moving
from .search import MOST_SEARCHED, largest_right_inverse, some_left_inverse
from .swizzled import left_inverse_of, right_inverse_of, stays_inside

Moving = list[tuple[int, int, int]]


def _of_composed(call: OfPlain, layout: ComposedLayout) -> AnyLayout:
    """Where a layout to coordinates comes last, back to its index, then the inverse of what comes before it."""
    if not gives_coordinates(layout):
        return left_inverse_of(call, layout) if call is left_inverse else right_inverse_of(layout, (call, left_inverse))
    # layout = last o (offset + before), and last is a layout to coordinates.
    last, (offset, before) = last_of(layout), before_last(layout)
    assert isinstance(last, Layout) and isinstance(before, AnyLayout)
    known_sizes(call, layout)
    if not offset and isinstance(before, Layout) and has_basis(before.stride):
        return call(composition(last, before))
    if offset or gives_coordinates(before) or not stays_inside(last, 0, before) or not is_injective(last):
        raise LayoutError(
            f"{call.__name__}({layout}): {last} comes last, and is one to one from index 0 to {last.size - 1} at most; "
            f"{before} from {offset} on leads out of that"
        )
    undo, back = on_any(call, before), call(last)
    if call is right_inverse and undo.size < back.cosize:
        raise LayoutError(
            f"{call.__name__}({layout}): {before} reaches {undo.size} indices one after the other, and {last} has "
            f"{last.size}; no layout of coordinates holds those alone"
        )
    try:
        return on_any(composition, undo, back)
    except LayoutError:
        return chained(undo, 0, back)


@operation(composed=_of_composed)
def right_inverse(layout: Layout) -> Layout:
    """The largest layout R with `layout(R(i)) == i`.

    >>> print(right_inverse(Layout((2, 4, 6), (4, 1, 8))), right_inverse(Layout(4, 2)))
    (4,2,6):(2,1,8) 1:0
    >>> print(right_inverse(Layout((4, 3), (1, 2))))
    (4,2):(1,8)

    A layout with basis strides gives the inverse of each axis as a mode. Overlapping or negative strides are searched
    exhaustively up to 65,536 coordinates; of more, those that are 0 along modes of stride 0; and where these are more,
    too, the result is the largest that a chain of whole modes gives.
    Raises LayoutError where that search is cut off, after about a second.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.3.4.
    """
    return _by_axis(_right, layout) if has_basis(layout.stride) else _right(layout, anywhere=True)


@operation(composed=_of_composed)
def left_inverse(layout: Layout) -> Layout:
    """A layout R with `layout(R(layout(i))) == layout(i)`: it finds a coordinate of every offset that is reached.

    >>> print(left_inverse(Layout((4, 8), (1, 5))), left_inverse(Layout(4, 2)))
    (5,8):(1,4) (2,4):(0,1)
    >>> print(left_inverse(Layout((2, 2), (2, 3))))
    (2,3):(1,1)

    Raises LayoutError where no layout does that, and for negative offsets. Source: CuTe, `layout.hpp` (which refuses
    more).
    """
    return _by_axis(_left, layout) if has_basis(layout.stride) else _left(layout, anywhere=True)


def _right(layout: Layout, *, anywhere: bool = False) -> Layout:
    """The right inverse, into coordinates that are 0 along modes of stride 0 unless it may lead `anywhere`."""
    modes = sorted(moving(layout))
    if _spans(modes):
        return _whole_modes(modes)
    # Overlapping modes: an offset may have several coordinates, so search.
    if anywhere and layout.size <= MOST_SEARCHED:
        return largest_right_inverse(layout, layout)
    extents, steps = coalesced(layout)
    # A step between such coordinates carries at most 1 into a mode of stride 0, so 2 coordinates along it are enough;
    # at the second of them offsets are below 0, where no inverse looks.
    shape = tuple(extent if step else 2 for extent, step in zip(extents, steps, strict=True))
    if prod(shape) > MOST_SEARCHED:
        return _whole_modes(_longest_chain(modes))
    near = _make(shape, tuple(step or -layout.cosize for step in steps))
    back = _make(shape, tuple(prod(extents[:mode]) for mode in range(len(extents))))
    return coalesce(composition(back, largest_right_inverse(near, layout)))


def _whole_modes(modes: Moving) -> Layout:
    """The right inverse made of whole modes in order of stride, no two of one stride: that of stride 1, the one that
    continues it, and so on."""
    extents: list[int] = []
    strides: list[int] = []
    reached = 1
    for step, position, extent in modes:
        if step == reached:
            extents.append(extent)
            strides.append(position)
            reached *= extent
    return from_modes(*coalesced(_make(tuple(extents), tuple(strides))))


def _longest_chain(modes: Moving) -> Moving:
    """Of modes in order of stride the chain from stride 1 on, each continued by the next, that reaches farthest."""
    # For each stride the longest chain that begins with it: where it ends, and its modes.
    longest: dict[int, tuple[int, Moving]] = {}
    for step, position, extent in reversed(modes):
        end, chain = longest.get(step * extent, (step * extent, []))
        if step not in longest or end >= longest[step][0]:
            longest[step] = end, [(step, position, extent), *chain]
    return longest.get(1, (1, []))[1]


def _left(layout: Layout, *, anywhere: bool = False) -> Layout:
    """The left inverse, into coordinates that are 0 along modes of stride 0 unless it may lead `anywhere`."""
    modes = sorted(moving(layout))
    if modes and modes[0][0] < 0:
        raise LayoutError(
            f"left_inverse({layout}): stride {modes[0][0]} gives offsets below 0; an inverse takes offsets from 0 on"
        )
    return (_radices(modes) if _spans(modes) else None) or some_left_inverse(layout, anywhere=anywhere)


def _radices(modes: Moving) -> Layout | None:
    """The left inverse of modes in order of stride, each of which divides the next; None where one does not. The
    modes have to span (`_spans`)."""
    extents: list[int] = []
    strides: list[int] = []
    previous, span, position = 1, 1, 0
    for step, at, extent in modes:
        # Digit i of an offset has radix step / previous step, which must be an integer.
        if step % previous:
            return None
        extents.append(step // previous)
        strides.append(position)
        previous, span, position = step, step * extent, at
    return coalesce(from_modes([*extents, span // previous], [*strides, position]))


def _spans(modes: Moving) -> bool:
    """True if each stride is at least what the smaller ones span, so that no two coordinates share an offset."""
    span = 1
    for step, _position, extent in modes:
        if step < span:
            return False
        span = step * extent
    return True


def _by_axis(inverse: Callable[[Layout], Layout], layout: Layout) -> Layout:
    """The inverse of a layout to coordinates: one mode for each axis of the codomain, nested alike.

    Along one axis the modes that move others have stride 0: `inverse` keeps the coordinates along them at 0.
    """
    if not has_basis(layout.stride):
        return inverse(layout)
    width = 1 + max(path[0] for step in leaves(layout.stride) if (path := path_of(step)))
    return joined(_by_axis(inverse, axis_layout(layout, axis)) for axis in range(width))


def _nullspace_of(call: OfPlain, layout: ComposedLayout) -> AnyLayout:
    """`nullspace` of a composed layout: the kernel over F2, or that of what comes before an injective last
    function."""
    known_sizes(call, layout)
    if (columns := index_columns(layout)) is not None:
        return linear_layout_of(kernel_of(columns))
    offset, before = before_last(layout)
    last = last_of(layout)
    if offset or not isinstance(before, AnyLayout) or (isinstance(last, Layout) and not is_injective(last)):
        raise LayoutError(
            f"{call.__name__}({layout}): it is not linear over F2, and what is outside may take several offsets to 0"
        )
    if not isinstance(last, Layout):
        last.inverse()  # raises where two offsets become one
    elif not stays_inside(last, 0, before):
        raise LayoutError(f"{call.__name__}({layout}): out of its size {last} may come to 0 again")
    return on_any(call, before)


def kernel_of(columns: Columns) -> Columns:
    """A basis of the coordinates that a linear map takes to 0, in order of their highest bit.

    >>> kernel_of((1, 2, 3, 0))
    (7, 8)
    """
    image = Image()
    dependencies = [image.add(column) for column in columns]
    return tuple(made_of | 1 << bit for bit, made_of in enumerate(dependencies) if made_of is not None)


def free_of(columns: Columns) -> int:
    """The bits that bring nothing new: their columns are XORs of those of lower bits.

    >>> bin(free_of((1, 2, 3, 0)))
    '0b1100'
    """
    return sum(1 << made_of.bit_length() - 1 for made_of in kernel_of(columns))


@operation(composed=_nullspace_of, layouts=0)
def nullspace(layout: Layout) -> Layout:
    """The coordinates that do not move the offset: R with `layout(R(i)) == 0`, over the modes of stride 0.

    >>> print(nullspace(Layout((2, 4, 3), (1, 0, 2))), nullspace(Layout((4, 8))))
    4:2 1:0

    Of a composed layout that is linear over F2 it is the whole kernel. Source: CuTe, `layout.hpp`.

    Raises LayoutError for a composed layout that is not linear over F2.
    """
    extents, strides = [], []
    position = 1
    for extent, step in flat_modes(layout):
        if step == 0:
            extents.append(extent)
            strides.append(position)
        position *= extent
    return from_modes(*coalesced(_make(tuple(extents), tuple(strides))))


def free_bits(layout: AnyLayout) -> tuple[int, ...]:
    """For each mode the bits of its coordinate that bring nothing new: their steps are XORs of those of lower bits.

    >>> free_bits(Layout.parse("(4,8,2):(1,0,4)")), free_bits(Layout.parse("F2<1,3,2> o 0 o (2,2,2):(1,2,4)"))
    ((0, 7, 0), (0, 0, 1))

    Source: Triton, `getFreeVariableMasks`. Raises LayoutError where the layout is not linear over F2.
    """
    columns = index_columns(layout)
    if columns is None:
        to_f2(layout)
        raise LayoutError(f"free_bits({layout}): it is not linear over XOR along every axis")
    free = free_of(columns)
    masks: list[int] = []
    for extent in as_tuple(layout.shape):
        size = product(extent)
        masks.append(free % size)
        free //= size
    return tuple(masks)


def quotient(layout: AnyLayout, *modes: int) -> AnyLayout:
    """What `layout` does on the other modes and axes, where it leaves `modes` as they are.

    Mode m goes with axis m of the coordinates that the layout gives; the modes in `modes` must come out along their own
    axes, and nowhere else, and nothing else may move those axes.

    >>> moved = make_composed_layout(make_identity_layout((4, 8, 2)), 0, Layout((4, 8, 2), (8, 1, 32)))
    >>> print(quotient(moved, 2))
    (4,8):(1@0,1@1) o 0 o (4,8):(8,1)

    Source: Triton, `quotient`. Raises LayoutError, with the coordinate, where it does not leave them so.
    """
    said = f"quotient({layout}, {', '.join(map(str, modes))})"
    sizes = [product(extent) for extent in as_tuple(layout.shape)]
    axes = axes_of(layout)
    if any(type(m) is not int or not 0 <= m < len(sizes) for m in modes) or any(len(axis) != 1 for axis in axes):
        raise LayoutError(f"{said}: modes are numbers from 0 to {len(sizes) - 1}, of a layout that gives a coordinate")
    # For each axis: check the bits of `modes`, collect the columns of the others.
    kept: list[Columns] = []
    for axis in range(max([len(sizes), *(1 + path[0] for path in axes)])):
        along = axis_layout(layout, axis)
        steps = columns_of(along)
        if steps is None:
            to_f2(along)
            raise LayoutError(f"{said}: axis {axis} is not linear over XOR")
        rest: list[int] = []
        moves = iter(steps)
        for mode, size in enumerate(sizes):
            for bit, step in zip(range(size.bit_length() - 1), moves, strict=False):
                stays = 1 << bit if mode == axis else 0
                if (mode in modes or axis in modes) and step != stays:
                    raise LayoutError(f"{said}: bit {bit} of mode {mode} moves axis {axis} by {step}, not by {stays}")
                rest += [step] if mode not in modes else []
        kept += [tuple(rest)] if axis not in modes else []
    columns, extents = joined_columns(kept)
    shape = tuple(extent for mode, extent in enumerate(as_tuple(layout.shape)) if mode not in modes)
    return make_composed_layout(make_identity_layout(extents), 0, linear_layout_of(columns, shape))
