"""Complement: the layout of what a layout leaves out.

Imports `rearrange`. Law: `R = complement(L, M)` is ordered, the translates of L by R's offsets are disjoint, and together
they cover [0, M) wherever the strides of L divide one another in order (where they do not, no layout covers it).
"""

from __future__ import annotations

from ..errors import LayoutError
from .basis import Basis
from .composed import lift
from .int_tuple import IntTuple, leaves, product
from .layout import Layout, _make
from .rearrange import from_modes


def complement(layout: Layout, cotarget: IntTuple | Layout | None = None) -> Layout:
    """The ordered layout whose translates of `layout` are disjoint and reach `cotarget` offsets.

    `cotarget` is a size, a shape or a layout (its size); left out, `cosize(layout)`.

    >>> print(complement(Layout(4, 2), 24), complement(Layout((2, 4), (1, 4)), 14))
    (2,3):(1,8) 2:2

    Raises LayoutError where modes of `layout` overlap or a stride is negative, for then no layout is disjoint from it.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.4.
    """
    if type(layout) is not Layout or layout.facts is not None:
        return lift(complement, layout, cotarget)
    steps = leaves(layout.stride)
    if any(type(step) is not int for step in steps):
        return _complement_by_axis(layout, cotarget)
    reach = layout.cosize if cotarget is None else _target_size(layout, cotarget)
    extents, strides, _ = gaps(layout, reach, cotarget is None)
    return from_modes(extents, strides)


def gaps(layout: Layout, reach: int, always_extend: bool = False) -> tuple[list[int], list[int], bool]:
    """Extents and strides of the complement up to `reach`, and whether the strides divide, so that no offset is left out."""
    pairs = sorted([(d, s) for s, d in zip(leaves(layout.shape), leaves(layout.stride)) if s != 1 and d != 0])  # noqa: B905  (congruent)
    if pairs and pairs[0][0] < 0:
        raise LayoutError(
            f"complement({layout}, {reach}): stride {pairs[0][0]} is negative; "
            f"offsets below 0 have no complement in [0, {reach})"
        )
    extents: list[int] = []
    strides: list[int] = []
    filled, even = 1, True
    for step, extent in pairs:
        if step < filled:
            raise LayoutError(
                f"complement({layout}, {reach}): modes overlap: mode {extent}:{step} starts within the {filled} offsets "
                f"that the smaller strides span; a stride of {filled} would not"
            )
        gap = step // filled
        if gap > 1:
            extents.append(gap)
            strides.append(filled)
        if step != gap * filled:
            even = False
        filled = step * extent
    more = -(-reach // filled)
    if more > 1 or not extents or always_extend:
        extents.append(more)
        strides.append(filled)
    return extents, strides, even


def _target_size(layout: Layout, cotarget: IntTuple | Layout) -> int:
    size = cotarget.size if isinstance(cotarget, Layout) else product(cotarget)
    if type(size) is not int or size < 1:
        raise LayoutError(
            f"complement({layout}, {cotarget}): the cotarget must be a size, a shape or a layout of at least 1"
        )
    return size


def _complement_by_axis(layout: Layout, cotarget: IntTuple | Layout | None) -> Layout:
    """The complement of a layout with basis strides, axis by axis of its codomain."""
    pairs = [(s, d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)]
    width = 1 + max(d.path[0] for _, d in pairs if isinstance(d, Basis))  # type: ignore[unreachable]
    targets: tuple[IntTuple | None, ...] = (
        cotarget if isinstance(cotarget, tuple) else (cotarget,) + (None,) * (width - 1)
    )
    targets = targets[:width] if cotarget is None or isinstance(cotarget, tuple) else targets
    modes = [_one_axis(axis, pairs, target) for axis, target in enumerate(targets + (None,) * (width - len(targets)))]
    return _make(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def _one_axis(axis: int, pairs: list[tuple[int, int]], target: IntTuple | None) -> Layout:
    inner = [
        (s, Basis(d.value, d.path[1:]) if len(d.path) > 1 else d.value)  # type: ignore[attr-defined]
        for s, d in pairs
        if isinstance(d, Basis) and d.path[0] == axis  # type: ignore[unreachable]
    ]
    if not inner:
        return _make(1 if target is None else target, Basis(1, (axis,)))  # type: ignore[arg-type]
    left = _make(tuple(s for s, _ in inner), tuple(d for _, d in inner))  # type: ignore[misc]
    return _under(axis, complement(left, target))


def _under(axis: int, layout: Layout) -> Layout:
    def deeper(stride: IntTuple) -> IntTuple:
        if isinstance(stride, tuple):
            return tuple(map(deeper, stride))
        if isinstance(stride, Basis):  # type: ignore[unreachable]
            return Basis(stride.value, (axis, *stride.path))  # type: ignore[unreachable]
        return Basis(stride, (axis,))  # type: ignore[return-value]

    return _make(layout.shape, deeper(layout.stride))
