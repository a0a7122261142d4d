"""Movement: reshape, permute, expand, pad, crop, flip. Layout operations wherever a layout can say the result.

Law: the elements are those of the operand in another order, and the result is a view of them;
`pad`, and what no layout says, is a copy. Axes are the top-level modes, and `reshape` counts the last axis fastest, as
NumPy does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ..errors import LayoutError, TensorError
from ..layout import ComposedLayout, Layout, composition, select
from ..layout.algebra.rearrange import joined
from ..layout.values.int_tuple import IntTuple, leaves, map_leaves
from ..layout.values.layout import _make
from ..tensor.bulk import load_all, mode_sizes
from ..tensor.engine import Array, fit_values
from ..tensor.tensor import Tensor
from .home import library_of
from .operand import Operand, tensor_of, wrap
from .rules import Axes, chosen_axes


def _placed(array: Array, like: Tensor) -> Tensor:
    """A tensor of its own with these elements, where `like` lives."""
    library = library_of(like)
    return wrap(array, like.dtype) if library is None else library.placed(array, like)


def permute(x: Operand, axes: Sequence[int]) -> Tensor:
    """The axes in another order: axis i of the result is axis `axes[i]`.

    >>> permute(np.zeros((2, 3, 4), np.float32), (2, 0, 1)).shape
    (4, 2, 3)

    Raises TensorError unless each axis is named once.
    """
    tensor = tensor_of(x)
    order = tuple(axis % tensor.rank if -tensor.rank <= axis < tensor.rank else axis for axis in axes)
    if sorted(order) != list(range(_rank(tensor))):
        raise TensorError(f"permute({tensor}, {tuple(axes)}): name each of the axes 0 to {_rank(tensor) - 1} once")
    return tensor.lift_layout(select, *order)


def reshape(x: Operand, shape: int | Sequence[int], *, order: str = "C") -> Tensor:
    """The elements in a new shape, the last axis fastest; `order="F"` the first. One size may be -1.

    >>> A = reshape(np.arange(6, dtype=np.float32), (2, 3))
    >>> A.layout, A.numpy().tolist()
    (Layout((2, 3), (3, 1)), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])

    A view wherever a layout says it, which may nest: the columns of a row-major matrix laid end to end are one mode of
    two. Raises TensorError where the sizes differ.
    """
    tensor = tensor_of(x)
    wanted = _filled(tensor, (shape,) if isinstance(shape, int) else tuple(shape))
    if tensor.size and isinstance(tensor.layout, Layout) and tensor.guard is None:
        modes = list(tensor.layout) if isinstance(tensor.shape, tuple) else [tensor.layout]
        try:
            if order == "F":
                return Tensor(tensor.engine, _reshaped(joined(modes), wanted), tensor.offset)
            turned = _reshaped(joined(modes[::-1]), wanted[::-1])
            return Tensor(tensor.engine, joined(list(turned)[::-1]), tensor.offset)
        except LayoutError:
            pass
    return _placed(np.reshape(load_all(tensor), wanted, order=cast("None", order)), tensor)


def _reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout:
    return composition(layout, Layout(shape)) if shape else _make((), ())


def _filled(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    known = int(np.prod([size for size in shape if size != -1], dtype=np.int64))
    if shape.count(-1) == 1 and known and tensor.size % known == 0:
        return tuple(tensor.size // known if size == -1 else size for size in shape)
    if known != tensor.size or -1 in shape:
        raise TensorError(f"reshape({tensor}, {shape}): {known} is not its size {tensor.size}")
    return shape


def expand(x: Operand, shape: Sequence[int]) -> Tensor:
    """Broadcast to `shape` by NumPy's rule: new axes in front and axes of size 1 get stride 0, nothing is copied.

    >>> expand(np.arange(3, dtype=np.float32), (2, 3)).layout
    Layout((2, 3), (0, 1))

    Raises TensorError where an axis has another size than 1. The result of repeating a place should not be written.
    """
    tensor = tensor_of(x)
    sizes = mode_sizes(tensor)
    new = len(shape) - len(sizes)
    bad = new < 0 or any(
        size not in (1, wanted) for size, wanted in zip(sizes, tuple(shape)[max(new, 0) :], strict=True)
    )
    if bad:
        raise TensorError(f"expand({tensor}, {tuple(shape)}): only axes of size 1 stretch, and new axes stand in front")
    modes = _modes(tensor)
    kept = [
        mode if mode.size == wanted else _make(wanted, 0)
        for mode, wanted in zip(modes, tuple(shape)[new:], strict=True)
    ]
    return _with_modes(tensor, [_make(size, 0) for size in tuple(shape)[:new]] + kept)


def crop(x: Operand, ranges: Sequence[tuple[int, int]]) -> Tensor:
    """The elements from begin up to end along each axis.

    >>> crop(np.arange(12, dtype=np.float32).reshape(3, 4), [(1, 3), (0, 2)]).numpy().tolist()
    [[4.0, 5.0], [8.0, 9.0]]

    Raises TensorError for a range outside the axis.
    """
    tensor = tensor_of(x)
    sizes = mode_sizes(tensor)
    if len(ranges) != len(sizes) or any(not 0 <= a <= b <= size for (a, b), size in zip(ranges, sizes, strict=True)):
        raise TensorError(f"crop({tensor}, {list(ranges)}): give 0 <= begin <= end <= size for the sizes {sizes}")
    if not _flat(tensor) or tensor.guard is not None:
        return _placed(np.array(load_all(tensor)[tuple(slice(a, b) for a, b in ranges)]), tensor)
    modes = _modes(tensor)
    moved = sum(a * cast(int, mode.stride) for mode, (a, b) in zip(modes, ranges, strict=True) if b > a)
    cut = [_make(b - a, mode.stride) for mode, (a, b) in zip(modes, ranges, strict=True)]
    return _with_modes(tensor, cut, moved)


def flip(x: Operand, axes: Axes = None) -> Tensor:
    """The elements in reverse along the axes, all by default: strides change sign.

    >>> flip(np.arange(3, dtype=np.float32)).layout
    Layout((3,), (-1,))
    """
    tensor = tensor_of(x)
    over = chosen_axes("flip", _rank(tensor), axes)
    if isinstance(tensor.layout, ComposedLayout) or tensor.guard is not None:
        return _placed(np.array(np.flip(load_all(tensor), over)), tensor)
    modes = _modes(tensor)
    moved = sum(
        (size - 1) * step
        for axis in over
        for size, step in zip(leaves(modes[axis].shape), leaves(modes[axis].stride), strict=True)
        if size
    )
    turned = [
        _make(mode.shape, map_leaves(lambda d: -cast(int, d), mode.stride)) if axis in over else mode
        for axis, mode in enumerate(modes)
    ]
    return _with_modes(tensor, turned, moved)


def pad(x: Operand, widths: Sequence[tuple[int, int]], value: float = 0) -> Tensor:
    """A copy with `value` before and after the elements of each axis.

    >>> pad([1.0, 2.0], [(1, 2)], 9).numpy().tolist()
    [9.0, 1.0, 2.0, 9.0, 9.0]

    Raises TensorError for a negative width; crop takes away.
    """
    tensor = tensor_of(x)
    if len(widths) != _rank(tensor) or any(a < 0 or b < 0 for a, b in widths):
        raise TensorError(
            f"pad({tensor}, {list(widths)}): give (before, after) from 0 for each of {_rank(tensor)} axes"
        )
    padded = np.full(
        [a + size + b for (a, b), size in zip(widths, mode_sizes(tensor), strict=True)],
        fit_values(value, tensor.dtype),
        tensor.dtype.numpy,
    )
    padded[tuple(slice(a, a + size) for (a, _b), size in zip(widths, mode_sizes(tensor), strict=True))] = load_all(
        tensor
    )
    return _placed(padded, tensor)


def _rank(tensor: Tensor) -> int:
    return len(mode_sizes(tensor))


def _modes(tensor: Tensor) -> list[Layout]:
    if isinstance(tensor.layout, ComposedLayout):
        raise TensorError(f"{tensor}: a swizzled layout has no strides to change; copy it first")
    return list(tensor.layout)


def _flat(tensor: Tensor) -> bool:
    return isinstance(tensor.layout, Layout) and all(isinstance(mode.shape, int) for mode in tensor.layout)


def _with_modes(tensor: Tensor, modes: list[Layout], moved: int = 0) -> Tensor:
    shape: IntTuple = tuple(mode.shape for mode in modes)
    layout = _make(shape, tuple(mode.stride for mode in modes))
    return Tensor(tensor.engine, layout, tensor.offset + moved)
