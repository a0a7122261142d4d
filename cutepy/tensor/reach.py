"""Which elements a tensor holds, and that no view of it reaches another.

Law: the elements of a view, those that its guard lets exist, are among the elements of what it was made of. Memory that
a program reads at once holds its views to it (`engine.confined`); inside a kernel the verifier decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..errors import LayoutError, TensorError
from ..layout import ComposedLayout, Layout, filter_zeros
from ..layout.values.basis import has_basis
from ..layout.values.coordinates import keeps
from ..layout.values.int_tuple import IntTuple, fold_profile, leaves, product, show
from .bulk import mask_table, mode_sizes, offset_table

if TYPE_CHECKING:
    from .tensor import Tensor


def offset_range(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """The least offset of `layout` and the one after the greatest.

    >>> offset_range(Layout((4, 8), (-1, 4)))
    (-3, 29)
    """
    if isinstance(layout, ComposedLayout):
        table = layout.offsets()
        return int(table.min()), int(table.max()) + 1
    if layout.facts is not None:
        raise LayoutError(f"offsets of {layout}: its sizes are not known; put values in with subs")
    if layout.size == 0:
        return 0, 0
    reach = [(s - 1) * d for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)]
    return sum(min(0, r) for r in reach), sum(max(0, r) for r in reach) + 1


def names_only(tiler: object, shape: IntTuple) -> bool:
    """True if `composition(tensor, tiler)` asks for coordinates of `shape` alone; False also where that takes a table.

    >>> names_only((Layout(2, 2), None), (4, 8)), names_only(33, (4, 8))
    (True, False)
    """
    if keeps(tiler):
        return True
    if isinstance(tiler, tuple):
        return isinstance(shape, tuple) and len(tiler) <= len(shape) and all(map(names_only, tiler, shape))
    if type(tiler) is int:
        return tiler <= product(shape)
    if type(tiler) is not Layout or tiler.facts is not None or has_basis(tiler.stride):
        return False
    low, end = offset_range(tiler)
    return low >= 0 and end <= product(shape)


def confined(part: Tensor, whole: Tensor, call: str, *operands: object) -> Tensor:
    """`part`, which `call(*operands)` made of `whole`, if it reaches no element that `whole` does not hold.

    Raises TensorError, with the coordinate and the offset, where it does.
    """
    same = part.layout is whole.layout and part.offset is whole.offset and part.guard is whole.guard
    found = None if same or not getattr(whole.engine, "confined", False) else _stray(part, whole)
    if found is None:
        return part
    crd, offset = found
    low, end = (whole.offset + bound for bound in offset_range(whole.layout))
    called = f"{call}({', '.join(str(operand) for operand in operands if operand is not None)})"
    raise TensorError(
        f"{called}: at {show(crd)} it reaches offset {offset}, which is no element of {whole} "
        f"(its offsets: {low} to {end - 1}); choose smaller sizes or strides, or a layout that stays within its shape"
    )


def _stray(part: Tensor, whole: Tensor) -> tuple[IntTuple, int] | None:
    """A coordinate of `part` and its offset, which is none of the offsets of `whole`; None if there is none."""
    plain = part.guard is None and type(part.layout) is Layout
    if plain:
        low, end = (whole.offset + bound for bound in offset_range(whole.layout))
        first, last = (part.offset + bound for bound in offset_range(part.layout))
        if part.size and (first < low or last > end):
            return _corner(part, below=first < low)
        if whole.guard is None and _has_no_gaps(whole.layout):
            return None
        part = type(part)(part.engine, filter_zeros(cast(Layout, part.layout)), part.offset)
    table = offset_table(part)
    exists, held = mask_table(part), mask_table(whole)
    stray = ~np.isin(table, offset_table(whole) if held is None else offset_table(whole)[held])
    if exists is not None:
        stray &= exists
    if not stray.any():
        return None
    at = np.unravel_index(int(np.argmax(stray.ravel(order="F"))), mode_sizes(part), order="F")
    return tuple(int(entry) for entry in at), int(table[at])


def _corner(part: Tensor, *, below: bool) -> tuple[IntTuple, int]:
    """The coordinate of the least or of the greatest offset, and that offset."""
    layout = cast(Layout, part.layout)
    steps = zip(leaves(layout.shape), leaves(layout.stride), strict=True)
    crd = fold_profile(
        iter([extent - 1 if step and (step < 0) == below else 0 for extent, step in steps]), layout.shape
    )
    return crd, part.offset + layout(crd)


def _has_no_gaps(layout: Layout | ComposedLayout) -> bool:
    """True if the offsets of `layout` are all integers of their range; False also for a composed layout.

    By rising stride, each mode must step to where the modes before it have reached, or less far: the least stride that
    does not leaves out the offset before it.
    """
    if not isinstance(layout, Layout):
        return False
    reach = 0
    for step, extent in sorted((abs(d), s) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True)):
        if extent > 1 and step > reach + 1:
            return False
        reach += (extent - 1) * step
    return True
