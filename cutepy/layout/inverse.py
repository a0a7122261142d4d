"""Inverses of layouts.

Imports `rearrange`. Laws: `L(right_inverse(L)(i)) == i` for every i of the right inverse, which is as large as possible;
`L(R(L(i))) == L(i)` for R = left_inverse(L).
"""

from __future__ import annotations

from ..errors import LayoutError
from .composed import lift
from .int_tuple import leaves
from .layout import Layout
from .rearrange import coalesce, from_modes


def right_inverse(layout: Layout) -> Layout:
    """The largest layout R with `layout(R(i)) == i`.

    >>> print(right_inverse(Layout((2, 4, 6), (4, 1, 8))), right_inverse(Layout(4, 2)))
    (4,2,6):(2,1,8) 1:0

    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.3.4.
    """
    if type(layout) is not Layout or layout.facts is not None:
        return lift(right_inverse, layout)
    extents: list[int] = []
    strides: list[int] = []
    reached = 1
    for step, position, extent in _sorted_modes(layout):
        if step == reached:
            extents.append(extent)
            strides.append(position)
            reached *= extent
    return coalesce(from_modes(extents, strides))


def left_inverse(layout: Layout) -> Layout:
    """A layout R with `layout(R(layout(i))) == layout(i)`: it finds the coordinate of an offset.

    >>> print(left_inverse(Layout((4, 8), (1, 5))), left_inverse(Layout(4, 2)))
    (5,8):(1,4) (2,4):(0,1)

    Raises LayoutError where no layout does that.
    """
    if type(layout) is not Layout or layout.facts is not None:
        return lift(left_inverse, layout)
    extents: list[int] = []
    strides: list[int] = []
    reached, span, position = 1, 1, 0
    for step, at, extent in _sorted_modes(layout):
        if step < span or step % reached:
            raise LayoutError(f"left_inverse({layout}): mode {extent}:{step} does not line up with the smaller strides")
        extents.append(step // reached)
        strides.append(position)
        reached, span, position = step, step * extent, at
    return coalesce(from_modes([*extents, span // reached], [*strides, position]))


def _sorted_modes(layout: Layout) -> list[tuple[int, int, int]]:
    """(stride, position stride, extent) of every mode that moves, by stride; the position is colexicographic."""
    found = []
    position = 1
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        if extent != 1 and step != 0:
            found.append((step, position, extent))
        position *= extent
    return sorted(found)
