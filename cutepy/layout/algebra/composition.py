"""Composition: exact, or refused with a counter-example.

Law: `R = composition(A, B)` has a shape that refines B's, and `R(c) == A(B(c))` for every `c` of B; it is returned
whenever such an R exists.

Method. A, coalesced, reads an index as digits in the mixed radix of its extents, the last digit without bound.
R exists exactly when (a) the map is additive over the leaves of B and (b) along each leaf it is itself a layout.
Arithmetic on one leaf `s:d` settles (b) while the digits that `d * x` fills stay aligned; (a) holds when no digit
carries, and fails when one does. Only where a leaf runs askew of A's digits is its table looked at (`table.py`).
Source: the criterion follows arXiv 2603.02298, section 3.3; the decision procedure is cutepy's own (docs/design.md).
"""

from __future__ import annotations

from typing import cast

from ...errors import LayoutError
from ..values.basis import as_stride, has_basis, path_of, value_of
from ..values.coordinates import keeps
from ..values.int_tuple import IntTuple, fold_profile, leaves, map_leaves
from ..values.layout import Layout, _make, axis_layout
from .alignment import Leaves, Refused
from .operation import operation
from .rearrange import by_mode, coalesced_open
from .refusal import composition_error
from .swizzled import composition_of


@operation(composed=composition_of, tiled=True, on_tensor="extended")
def composition(outer: Layout, inner: object) -> Layout:
    """The layout `c -> outer(inner(c))`, whose shape refines that of `inner`.

    `inner` is a layout, an integer N (for `N:1`), or a tuple of those, taken mode by mode: `_` and None keep a mode,
    modes that the tuple does not name are dropped. Beyond its size `outer` goes on in its last mode.

    >>> print(composition(Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5))))
    (5,(2,2)):(16,(80,4))

    Raises CompositionError, with the coordinate as `.witness`, where no layout is that map.
    Source: CuTe, `layout.hpp` (whose own result is wrong or missing for some operands: docs/design.md).
    """
    if type(inner) is not Layout:
        return _by_tiler(outer, inner)
    shape, stride = coalesced_open(outer)
    if has_basis(inner.stride):
        return _through_basis(outer, inner)
    if len(shape) == 1:
        return _make(inner.shape, _scaled(inner.stride, stride[0]))
    try:
        return _refold(inner, Leaves(outer, inner, shape, stride).modes())
    except Refused as refused:
        if has_basis(outer.stride):
            return _along_one_axis(outer, inner, refused)
        raise composition_error(outer, inner, refused) from None


def _by_tiler(outer: Layout, inner: object) -> Layout:
    if isinstance(inner, tuple):
        return by_mode(composition, outer, inner, keep_rest=False)
    if type(inner) is int:
        return composition(outer, Layout(inner, 1))
    if keeps(inner):
        return outer
    raise LayoutError(
        f"composition({outer}, {inner!r}): the right operand is a layout, an integer, `_` or a tuple of these"
    )


def _scaled(tree: IntTuple, factor: int) -> IntTuple:
    if type(tree) is tuple:
        return tuple([_scaled(entry, factor) for entry in tree])
    return cast(int, tree) * factor


def _refold(inner: Layout, modes: list[tuple[IntTuple, IntTuple]]) -> Layout:
    if type(inner.shape) is not tuple:
        return _make(*modes[0])
    if tuple not in map(type, inner.shape):
        extents, strides = zip(*modes, strict=True) if modes else ((), ())
        return _make(tuple(extents), tuple(strides))
    return _make(
        fold_profile(iter([extent for extent, _ in modes]), inner.shape),
        fold_profile(iter([stride for _, stride in modes]), inner.shape),
    )


def _along_one_axis(outer: Layout, inner: Layout, refused: Refused) -> Layout:
    """Compose with a layout to coordinates of one axis as with one to integers; several axes are not tried together."""
    paths = {path_of(step) for step in leaves(outer.stride) if value_of(step) != 0}
    if len(paths) != 1:
        raise composition_error(outer, inner, refused)
    [path] = paths
    along = composition(axis_layout(outer, *path), inner)
    return _make(along.shape, map_leaves(lambda step: as_stride(cast(int, step), path), along.stride))


def _through_basis(outer: Layout, inner: Layout) -> Layout:
    """Compose with leaves that walk along named modes of `outer`: `s:k@i` is `composition(outer[i], s:k)`."""
    paths = {path_of(step) for step in leaves(inner.stride)} - {()}
    parts: dict[tuple[int, ...], list[tuple[IntTuple, IntTuple]]] = {}
    for path in paths:
        mode = outer
        for axis in path:
            if axis >= mode.rank:
                raise LayoutError(
                    f"composition({outer}, {inner}): axis {axis} of the basis stride is not a mode of {mode}"
                )
            mode = mode[axis]
        along = [
            (extent, value_of(step) if path_of(step) == path else 0)
            for extent, step in zip(leaves(inner.shape), leaves(inner.stride), strict=True)
        ]
        walked = composition(mode, _make(tuple(s for s, _ in along), tuple(d for _, d in along)))
        parts[path] = [(part.shape, part.stride) for part in walked]
    chosen: list[tuple[IntTuple, IntTuple]] = []
    for position, (extent, step) in enumerate(zip(leaves(inner.shape), leaves(inner.stride), strict=True)):
        if path_of(step):
            chosen.append(parts[path_of(step)][position])
        elif step == 0:
            chosen.append((extent, 0))
        else:
            raise LayoutError(
                f"composition({outer}, {inner}): strides {step} and {next(iter(paths))} mix offsets and axes"
            )
    return _refold(inner, chosen)
