"""The axes of a tensor as layouts, and the tensor again over other axes made of them.

An axis is a top-level mode of the layout. Law: whatever is made here of a tensor has its elements, in the order that
the new axes say; nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..layout import ComposedLayout, Layout
from ..layout.algebra.rearrange import from_modes, joined
from ..layout.values.composed import plain_part
from ..layout.values.layout import flat_modes
from .rules import Shape
from .tensor import Tensor

NO_NEIGHBOUR = 1 << 40
"""The stride, in elements, of an axis along which nothing moves: greater than any stride in memory."""


def mode_layouts(tensor: Tensor) -> list[Layout]:
    """The axes of a tensor as layouts, from the index along an axis to an offset; those of a swizzle's inner layout.

    >>> from cutepy import Layout, make_tensor
    >>> [str(mode) for mode in mode_layouts(make_tensor("f32", Layout((2, (3, 4)), (12, (1, 3)))))]
    ['2:12', '(3,4):(1,3)']
    """
    return list(plain_part(tensor.layout))


def least_strides(tensor: Tensor) -> list[int]:
    """The least distance in memory, in elements, between neighbours along each axis; 2**40 for an axis of one element.

    >>> from cutepy import Layout, make_tensor
    >>> least_strides(make_tensor("f32", Layout((2, (3, 4)), (12, (4, 1)))))
    [12, 1]
    """
    return [min((abs(d) for s, d in flat_modes(m) if s > 1), default=NO_NEIGHBOUR) for m in mode_layouts(tensor)]


def is_row_major(tensor: Tensor) -> bool:
    """Whether neighbours along axis 1 are at least as near in memory as those along axis 0.

    >>> from cutepy import Layout, make_tensor
    >>> is_row_major(make_tensor("f32", Layout((2, 3), (3, 1)))), is_row_major(make_tensor("f32", Layout((2, 3))))
    (True, False)
    """
    strides = least_strides(tensor)
    return strides[0] >= strides[1]


def with_layout(tensor: Tensor, axes: Layout | Iterable[Layout]) -> Tensor:
    """The elements of `tensor`, which has no guard, over other axes made of its own: a layout, or one for each axis.

    The swizzle of a swizzled tensor stays: the axes take the place of its inner layout.

    >>> from cutepy import make_tensor
    >>> print(with_layout(make_tensor("f32", Layout((2, 3))), [Layout(3, 2), Layout(2, 1)]).layout)
    (3,2):(2,1)
    """
    layout = axes if isinstance(axes, Layout) else joined(list(axes))
    whole = tensor.layout.with_inner(layout) if isinstance(tensor.layout, ComposedLayout) else layout
    return Tensor(tensor.engine, whole, tensor.offset)


def broadcast_modes(modes: Sequence[Layout], shape: Shape) -> list[Layout]:
    """Axes, as layouts, broadcast to `shape` by NumPy's rule: new ones in front, and those of size 1, at stride 0.

    >>> print(*broadcast_modes([Layout(1), Layout(4, 2)], (2, 3, 4)))
    2:0 3:0 4:2
    """
    new = len(shape) - len(modes)
    return [
        *(from_modes([size], [0]) for size in shape[:new]),
        *(m if m.size == size else from_modes([size], [0]) for m, size in zip(modes, shape[new:], strict=True)),
    ]


def broadcast_to(tensor: Tensor, shape: Shape) -> Tensor:
    """`tensor`, which has no guard, with new axes in front and axes of size 1 stretched to `shape`, at stride 0.

    >>> from cutepy import Layout, make_tensor
    >>> print(broadcast_to(make_tensor("f32", Layout((3, 1))), (2, 3, 4)).layout)
    (2,3,4):(0,1,0)
    """
    return with_layout(tensor, broadcast_modes(mode_layouts(tensor), shape))
