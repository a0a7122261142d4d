"""Order along an axis: sort, argsort, top_k, searchsorted, take_along_axis, of the host; no kernel sorts yet.

Law: as NumPy, stable: equal elements keep their order, and NaN comes last.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

import numpy as np

from ..errors import TensorError
from ..tensor import Array, Tensor, TensorLike, as_tensor, from_array, i32, load_all, mode_sizes, rules
from .engine import chosen
from .movement import check_indices


def _on_host(call: str, *operands: TensorLike) -> list[Array]:
    """The elements of operands of the host. Raises TensorError for those of a device, and for complex numbers."""
    tensors = [as_tensor(x) for x in operands]
    if chosen(call, None, *tensors) != "numpy":
        raise TensorError(f"{call}({tensors[0]}): no kernel sorts here; call it with t.to_device('cpu')")
    if any(t.dtype.kind == "c" for t in tensors):
        raise TensorError(f"{call} of complex numbers: they have no order; take their abs, or a part")
    return [load_all(t) for t in tensors]


def argsort(x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices, as i32, that put the elements along an axis in order; equal ones in their own.

    >>> argsort([3.0, 1.0, 2.0, 1.0]).numpy().tolist(), argsort([3, 1, 3], descending=True).numpy().tolist()
    ([1, 3, 2, 0], [0, 2, 1])

    Raises TensorError for complex numbers and on a device.
    """
    (values,) = _on_host("argsort", x)
    (along,) = rules.chosen_axes("argsort", values.ndim, (axis,))
    return from_array(_falling(values, along) if descending else np.argsort(values, along, stable=True), i32)


def _falling(values: Array, along: int) -> Array:
    """The indices of the elements along an axis, the greatest first; of equal ones the first one first."""
    # Backwards twice: equal elements keep their order, and NaN is greatest.
    backwards = np.argsort(np.flip(values, along), along, stable=True)
    return np.flip(values.shape[along] - 1 - backwards, along)


def sort(x: TensorLike, /, *, axis: SupportsIndex = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along an axis in ascending or descending order.

    >>> sort([3.0, 1.0, 2.0], descending=True).numpy().tolist()
    [3.0, 2.0, 1.0]

    Raises TensorError for complex numbers and on a device.
    """
    (values,) = _on_host("sort", x)
    (along,) = rules.chosen_axes("sort", values.ndim, (axis,))
    found = np.sort(values, along, stable=True)
    return from_array(np.ascontiguousarray(np.flip(found, along)) if descending else found, as_tensor(x).dtype)


def top_k(x: TensorLike, k: int, /, *, axis: SupportsIndex = -1) -> tuple[Tensor, Tensor]:
    """The k greatest elements along an axis, the greatest first, and their indices as i32.

    >>> [part.numpy().tolist() for part in top_k(np.float32([1, 5, 3]), 2)]
    [[5.0, 3.0], [1, 2]]

    Raises TensorError for more elements than there are, and as `sort`.
    """
    tensor = as_tensor(x)
    (along,) = rules.chosen_axes("top_k", len(mode_sizes(tensor)), (axis,))
    if not 0 <= k <= mode_sizes(tensor)[along]:
        raise TensorError(f"top_k({tensor}, {k}): of {mode_sizes(tensor)[along]} elements along axis {along}")
    (values,) = _on_host("top_k", tensor)
    first = _falling(values, along)[(slice(None),) * along + (slice(0, k),)]
    return from_array(np.take_along_axis(values, first, along), tensor.dtype), from_array(first.copy(), i32)


def take_along_axis(x: TensorLike, indices: TensorLike, /, *, axis: SupportsIndex = -1) -> Tensor:
    """The elements at indices along an axis, one for each element of `indices`, which broadcasts with `x` elsewhere.

    >>> x = np.float32([[3, 1, 2], [5, 6, 4]])
    >>> take_along_axis(x, argsort(x)).numpy().tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

    Raises TensorError on a device, and CoordinateError, an IndexError, for an index outside the axis.
    """
    tensor, numbers = as_tensor(x), as_tensor(indices)
    if chosen("take_along_axis", None, tensor, numbers) != "numpy":
        raise TensorError(f"take_along_axis({tensor}): no kernel sorts here, nor takes so; use t.to_device('cpu')")
    values, at = load_all(tensor), load_all(numbers)
    (along,) = rules.chosen_axes("take_along_axis", values.ndim, (axis,))
    if at.dtype.kind not in "iu" or at.ndim != values.ndim:
        raise TensorError(f"take_along_axis({tensor}, {numbers}): give integers with as many axes")
    check_indices("take_along_axis", tensor, at, along)
    return from_array(np.array(np.take_along_axis(values, at, along)), tensor.dtype)


def searchsorted(
    x1: TensorLike, x2: TensorLike, /, *, side: Literal["left", "right"] = "left", sorter: TensorLike | None = None
) -> Tensor:
    """Where each element of `x2` stands in the ascending vector `x1`, as i32: before those equal to it, or behind.

    >>> searchsorted([1.0, 2.0, 4.0], [2.0, 3.0]).numpy().tolist()
    [1, 2]

    Raises TensorError on a device, and for a `side` that does not exist.
    """
    if side not in ("left", "right"):
        raise TensorError(f"searchsorted(side={side!r}): there are 'left' and 'right'")
    given = (x1, x2) if sorter is None else (x1, x2, sorter)
    values = _on_host("searchsorted", *given)
    return from_array(np.searchsorted(values[0], values[1], side, *values[2:]), i32)
