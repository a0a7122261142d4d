"""Layouts with a function outside, where an operation looks at more than the domain: composition, inverses, cosize.

Law: as for layouts. Power-of-two parts go through bit matrices; where the result is then a
layout or one swizzle after a layout it is returned as that, otherwise as the chain of functions that it is.
"""

from __future__ import annotations

from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

from ...errors import LayoutError
from ...lazy import numpy as np
from ..values.bit_map import BitMap, Columns, Image, OfBits, apply
from ..values.composed import (
    AnyLayout,
    Chained,
    ComposedLayout,
    Function,
    axes_of,
    axis_layout,
    before_last,
    chained,
    gives_coordinates,
    greatest_number,
    last_of,
    never_below_0,
    plain_part,
)
from ..values.coordinates import has_basis, value_of
from ..values.int_tuple import IntTuple, map_leaves, moved
from ..values.layout import Layout, _make, flat_modes, offset_bounds
from ..values.size import is_unknown
from .bits import columns_of, layout_of_columns, mapped_layout
from .operation import OfPlain, known_sizes, on_any, on_inner
from .rearrange import coalesced_open
from .table import LARGEST_TABLE, SHORT, extremes, first_deviation, gathered, reached_from_0

if TYPE_CHECKING:
    from .table import Listed, Table

LARGEST_SET = 1 << 20
"""How many offsets of the highest block of a swizzle are looked at."""


def greatest_offset(layout: ComposedLayout) -> int:
    """The greatest offset that `layout` reaches; of coordinates, that of the box from 0 on which holds them."""
    if gives_coordinates(layout):
        return prod(greatest_offset(axis_layout(layout, *axis)) + 1 for axis in axes_of(layout)) - 1
    columns = columns_of(layout)
    if columns is not None:
        return Image(columns).greatest(0)
    if layout.facts is not None:
        raise LayoutError(f"cosize of {layout}: its sizes are not known; put values in with subs")
    if isinstance(layout.outer, OfBits):
        return _greatest_swizzled(layout.outer, layout)
    return extremes(listed(layout))[1]


def _greatest_swizzled(swizzle: OfBits, layout: ComposedLayout) -> int:
    """A swizzle permutes aligned blocks of `span`, so only offsets in the highest block matter; those are listed."""
    # A swizzle keeps aligned blocks of `span`; only offsets of the block of the greatest one can become greatest.
    bottom, top = (layout.offset + end for end in offset_bounds(layout.inner))
    if bottom >= 0 and top < swizzle.lowest:
        return top  # no offset has a bit that the swizzle moves
    least = top // swizzle.span * swizzle.span
    reached = {top}
    # Walk down from the greatest offset, largest stride first, keeping offsets >= least.
    for extent, step in sorted(flat_modes(layout.inner), key=lambda mode: abs(mode[1]), reverse=True):
        if down := abs(step):
            rooms = [(at, min(extent - 1, (at - least) // down) + 1) for at in reached]
            count = sum(room for _at, room in rooms)
            if count > SHORT and layout.size <= LARGEST_TABLE:
                return extremes(listed(layout))[1]
            if count > LARGEST_SET:
                raise LayoutError(
                    f"cosize of {layout}: more than {LARGEST_SET} offsets from {least} on would have to be listed; "
                    "slice the layout"
                )
            reached = {at - down * x for at, room in rooms for x in range(room)}
    return max(swizzle(at) for at in reached)


def composition_of(call: OfPlain, outer: AnyLayout | OfBits, inner: object) -> AnyLayout:
    """`outer o inner` with a composed layout, or a map of bits, on either side."""
    if isinstance(outer, OfBits):
        if not isinstance(inner, AnyLayout):
            raise LayoutError(f"composition({outer}, {inner}): after a map of bits comes a layout")
        return (_through_bits(outer, inner) if isinstance(inner, ComposedLayout) else None) or chained(outer, 0, inner)
    # A map of bits on the right acts on the indices of the left operand.
    if isinstance(inner, OfBits):
        inner = ComposedLayout(inner, 0, Layout(outer.shape))
    if not isinstance(inner, ComposedLayout):
        return on_inner(call, outer, inner)
    known_sizes(call, outer)
    if is_unknown(inner):
        return chained(outer, 0, inner)
    bits = _through_bits(outer, inner)
    if bits is not None:
        return bits
    # Associativity: (f o L) o inner = f o (L o inner).
    if isinstance(outer, ComposedLayout):
        return chained(outer.outer, outer.offset, on_any(call, outer.inner, inner))
    if gives_coordinates(inner):
        width = 1 + max(axis[0] for axis in axes_of(inner))
        if outer.rank < width or not isinstance(outer.shape, tuple):
            raise LayoutError(
                f"composition({outer}, {inner}): coordinates of {width} axes, and {outer.rank} to take them"
            )
        # Fold the layout that gives the coordinates into the left operand, if the rest stays in its domain.
        last, (offset, before) = last_of(inner), before_last(inner)
        assert isinstance(last, Layout)
        with suppress(LayoutError):
            if offset == 0 and isinstance(before, AnyLayout) and stays_inside(last, 0, before):
                return on_any(call, call(outer, last), before)
        return chained(outer, 0, inner)
    shape, stride = coalesced_open(outer)
    if len(shape) == 1:
        return _scaled(stride[0], inner)
    if (
        isinstance(inner.outer, Layout)
        and not has_basis(inner.inner.stride)
        and stays_inside(inner.outer, inner.offset, inner.inner)
    ):
        with suppress(LayoutError):
            return ComposedLayout(call(outer, inner.outer), inner.offset, inner.inner)
    return chained(outer, 0, inner)


def _through_bits(outer: Function, inner: ComposedLayout) -> AnyLayout | None:
    """`outer o inner` as a product of bit matrices; None where it is none, or no layout and swizzle."""
    columns = columns_of(inner)
    if columns is None:
        return None
    through = columns_of(outer, max([column.bit_length() for column in columns], default=0))
    if through is None:
        return None
    return _simplest(tuple(apply(through, column) for column in columns), (outer, inner), inner.shape)


def _simplest(columns: Columns, operands: tuple[Function, ...], shape: IntTuple | None = None) -> AnyLayout | None:
    """The layout with these columns; after a map of bits only where an operand has one, for chains read better."""
    layout = layout_of_columns(columns, shape)
    if layout is None and any(
        isinstance(operand, ComposedLayout) and isinstance(operand.outer, BitMap) for operand in operands
    ):
        return mapped_layout(columns, shape)
    return layout


def stays_inside(outer: Layout, offset: int, before: AnyLayout) -> bool:
    """True if the layout outside, `outer`, is indexed within its size only, by `before` from `offset` on.

    `A o B` is A after B on the coordinates of B alone. Beyond them it goes on in its own last mode, B goes on in B's:
    so `(A o B) o L` is `A o (B o L)` only while L stays within B.
    """
    if gives_coordinates(before):
        reached = [(axis, axis_layout(before, *axis).cosize) for axis in axes_of(before)]
        inside = all(len(axis) == 1 and axis[0] < outer.rank and top <= outer[axis[0]].size for axis, top in reached)
        return offset == 0 and never_below_0(before) and inside
    if isinstance(before, ComposedLayout):
        return offset >= 0 and never_below_0(before) and offset + before.cosize <= outer.size
    least, most = (offset + end for end in offset_bounds(before))
    return 0 <= least and most < outer.size


def _scaled(step: int, inner: ComposedLayout) -> AnyLayout:
    """`step` times a composed layout."""
    zoom = value_of(step).bit_length() - 1
    if step == 0:
        return _make(inner.shape, map_leaves(lambda extent: 0, inner.shape))
    if isinstance(inner.outer, OfBits) and step == 1 << zoom:
        return ComposedLayout(inner.outer.zoomed(zoom), inner.offset * step, _times(inner.inner, step))
    if isinstance(inner.outer, Layout):
        return ComposedLayout(_times(inner.outer, step), inner.offset, inner.inner)
    return chained(_make(1, step), 0, inner)


def _times(layout: Layout, factor: int) -> Layout:
    return _make(layout.shape, map_leaves(lambda step: step * factor, layout.stride))


def right_inverse_of(layout: ComposedLayout, inverses: tuple[OfPlain, OfPlain]) -> AnyLayout:
    """The largest R with `layout(R(i)) == i`, by one of the inverses of plain layouts."""
    known_sizes(inverses[0], layout)
    columns = columns_of(layout)
    if columns is not None:
        # Solve for offsets 1, 2, 4, ... while a coordinate gives them: the longest prefix of offsets.
        image = Image(columns)
        solutions: list[int] = []
        while (solution := image.solve(1 << len(solutions))) is not None:
            solutions.append(solution)
        recovered = _simplest(tuple(solutions), (layout,))
        if recovered is not None:
            return recovered
    outside = _of_bits("right_inverse", layout)
    offsets = listed(layout)
    reached = reached_from_0(offsets)
    if reached == 0:
        raise LayoutError(f"right_inverse({layout}): no coordinate has the offset 0")
    undo = outside.inverse()
    # The inverse of the inner layout after the inverse of the outer function; checked on every offset.
    for inverse in inverses:
        with suppress(LayoutError):
            back = Chained(inverse(layout.inner), -layout.offset, undo)
            inverted = ComposedLayout(back, 0, Layout(reached, 1))
            places = listed(inverted)
            least, most = extremes(places)
            if 0 <= least and most < layout.size and first_deviation(gathered(offsets, places)) is None:
                return inverted
    raise LayoutError(f"right_inverse({layout}): no layout inverts {layout.inner} on the offsets it reaches")


def listed(layout: AnyLayout) -> Listed:
    """Every offset in order; in an array where there are many.

    >>> listed(Layout((2, 2), (5, 1)))
    [0, 5, 1, 6]

    Raises LayoutError where there are more than 16 million.
    """
    if layout.size > LARGEST_TABLE:
        raise LayoutError(
            f"{layout}: {layout.size} coordinates are too many to list, and its parts are no powers of two"
        )
    call: Any = layout
    plain = plain_part(layout)
    if gives_coordinates(layout) or has_basis(plain.stride):
        return [call(index) for index in range(layout.size)]
    if layout.size > SHORT and greatest_number(layout) < 1 << 62:
        with suppress(ModuleNotFoundError):  # the explorer's page has no NumPy
            table: Table = call(np.arange(layout.size))
            return table
    # Without NumPy: the outer sum of the modes, the first mode fastest.
    offsets = [0]
    for extent, step in flat_modes(plain):
        starts = range(0, extent * step, step) if step else [0] * extent
        offsets = [start + offset for start in starts for offset in offsets]
    if isinstance(layout, Layout):
        return offsets
    outer: Any = layout.outer
    return [outer(moved(layout.offset, offset)) for offset in offsets]


def left_inverse_of(call: OfPlain, layout: ComposedLayout) -> AnyLayout:
    """R with `layout(R(layout(c))) == layout(c)`.

    By Gauss elimination where the layout is linear over F2 and its inverse a layout or one swizzle; else the chain that
    undoes the map of bits, the offset and the inner layout, one after another.
    """
    known_sizes(call, layout)
    columns = columns_of(layout)
    if columns is not None:
        image = Image(columns)
        width = max([column.bit_length() for column in columns], default=0)
        recovered = _simplest(tuple(image.project(bit) for bit in range(width)), (layout,))
        if recovered is not None:
            return recovered
    undo = _of_bits("left_inverse", layout).inverse()
    back: Function = Chained(call(layout.inner), -layout.offset, undo)
    return ComposedLayout(back, 0, Layout(layout.cosize, 1))


def _of_bits(call: str, layout: ComposedLayout) -> OfBits:
    if not isinstance(layout.outer, OfBits):
        raise LayoutError(
            f"{call}({layout}): {layout.outer} is not known to be invertible; compose it with {layout.inner} first"
        )
    return layout.outer
