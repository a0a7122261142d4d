"""Complement: the layout of what a layout leaves out.

Law: `R = complement(L, M)` is ordered, the translates of L by R's offsets are disjoint, and together they cover [0, M)
wherever the strides of L divide one another in order (where they do not, no layout covers it).
"""

from __future__ import annotations

from ...errors import LayoutError
from ..values.basis import as_stride, has_basis, path_of, value_of
from ..values.int_tuple import IntTuple, leaves, map_leaves, product
from ..values.layout import Layout, _make
from ..values.size import Size
from .operation import operation
from .rearrange import from_modes


@operation(composed="what a function outside leaves out is no layout; ask for that of the inner layout")
def complement(layout: Layout, cotarget: IntTuple | Layout | None = None) -> Layout:
    """The ordered layout whose translates of `layout` are disjoint and reach `cotarget` offsets.

    `cotarget` is a size, a shape or a layout (its size); left out, `cosize(layout)`.

    >>> print(complement(Layout(4, 2), 24), complement(Layout((2, 4), (1, 4)), 14))
    (2,3):(1,8) 2:2

    Raises LayoutError where modes of `layout` overlap or a stride is negative, for then no layout is disjoint from it.
    Source: CuTe, `layout.hpp`; arXiv 2603.02298, section 3.4.
    """
    if has_basis(layout.stride):
        return _complement_by_axis(layout, cotarget)
    reach = layout.cosize if cotarget is None else _target_size(layout, cotarget)
    extents, strides, _ = gaps(layout, reach, cotarget is None)
    return from_modes(extents, strides)


def gaps(layout: Layout, reach: int, always_extend: bool = False) -> tuple[list[int], list[int], bool]:
    """Extents and strides of the complement up to `reach`, and whether no offset is left out."""
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
                f"complement({layout}, {reach}): modes overlap: mode {extent}:{step} starts within the {filled} "
                f"offsets that the smaller strides span; a stride of {filled} would not"
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
    if not (type(size) is int or isinstance(size, Size)) or size < 1:
        raise LayoutError(
            f"complement({layout}, {cotarget}): the cotarget must be a size, a shape or a layout of at least 1"
        )
    return size


def _complement_by_axis(layout: Layout, cotarget: IntTuple | Layout | None) -> Layout:
    """The complement of a layout with basis strides, axis by axis of its codomain."""
    pairs = [(s, d) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if path_of(d)]
    width = 1 + max(path_of(d)[0] for _, d in pairs)
    named: tuple[IntTuple | Layout | None, ...] = cotarget if isinstance(cotarget, tuple) else (cotarget,)
    width = max(width, len(named))
    targets = (named + (None,) * width)[:width]
    modes = [_one_axis(layout, axis, pairs, target) for axis, target in enumerate(targets)]
    return _make(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def _one_axis(layout: Layout, axis: int, pairs: list[tuple[int, int]], target: IntTuple | Layout | None) -> Layout:
    inner = [(s, as_stride(value_of(d), path_of(d)[1:])) for s, d in pairs if path_of(d)[0] == axis]
    if not inner:
        return _make(1 if target is None else _target_size(layout, target), as_stride(1, (axis,)))
    left = _make(tuple(s for s, _ in inner), tuple(d for _, d in inner))
    return _under(axis, complement(left, target))


def _under(axis: int, layout: Layout) -> Layout:
    """The layout one axis deeper: every offset becomes a step along `axis`."""
    deeper = map_leaves(lambda step: as_stride(value_of(step), (axis, *path_of(step))), layout.stride)
    return _make(layout.shape, deeper)
