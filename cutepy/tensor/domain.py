"""Several tensors over one domain: their axes as layouts, broadcast, reordered, and merged into as few as they share.

Law: whatever is made here of a tensor has its elements, in the order that the new axes say; nothing is copied.
"""

from __future__ import annotations

from ..layout import ComposedLayout, Layout
from ..layout.algebra.rearrange import from_modes, joined
from ..layout.values.composed import plain_part
from ..layout.values.layout import flat_modes
from .rules import Shape
from .tensor import Tensor


def modes_of(tensor: Tensor) -> list[Layout]:
    """The axes of a tensor as layouts; those of a swizzled one before the swizzle."""
    return list(plain_part(tensor.layout))


def steps_of(tensor: Tensor) -> list[int]:
    """How far apart the neighbours along each axis are at the nearest; very far where there are none."""
    return [min((abs(d) for s, d in flat_modes(m) if s > 1), default=1 << 40) for m in modes_of(tensor)]


def runs_across(tensor: Tensor) -> bool:
    """Whether neighbours along axis 1 are at least as near in memory as those along axis 0."""
    steps = steps_of(tensor)
    return steps[0] >= steps[1]


def over(tensor: Tensor, layout: Layout) -> Tensor:
    """The elements of `tensor`, which has no guard, by other axes made from its own; a swizzle stays."""
    whole = tensor.layout.with_inner(layout) if isinstance(tensor.layout, ComposedLayout) else layout
    return Tensor(tensor.engine, whole, tensor.offset)


def broadcast(tensor: Tensor, shape: Shape) -> Tensor:
    """`tensor` with new axes in front and axes of size 1 stretched, at stride 0."""
    modes = modes_of(tensor)
    new = len(shape) - len(modes)
    stretched = [
        mode if mode.size == size else from_modes([size], [0]) for mode, size in zip(modes, shape[new:], strict=True)
    ]
    return over(tensor, joined([*(from_modes([size], [0]) for size in shape[:new]), *stretched]))
