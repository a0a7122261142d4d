"""Order along an axis: sort, argsort, top_k, searchsorted, take_along_axis; where the operands are.

Law: as NumPy, stable: equal elements keep their order, and NaN comes last, or first where the greatest do.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex

import numpy as np

from ..errors import TensorError
from ..gpu import operations
from ..tensor import Array, Tensor, TensorLike, as_tensor, from_array, i32, load_all, mode_sizes, rules
from .engine import Engine, chosen
from .movement import checked_indices, expand, ravel, reshape
from .pointwise import astype


def _with_order(call: str, x: TensorLike) -> Tensor:
    """An operand. Raises TensorError for complex numbers."""
    tensor = as_tensor(x)
    if tensor.dtype.kind == "c":
        raise TensorError(f"{call} of complex numbers: they have no order; take their abs, or a part")
    return tensor


def argsort(
    x: TensorLike,
    /,
    *,
    axis: SupportsIndex = -1,
    descending: bool = False,
    stable: bool = True,
    engine: Engine | None = None,
) -> Tensor:
    """The indices, as i32, that put the elements along an axis in order; equal ones in their own.

    >>> argsort([3.0, 1.0, 2.0, 1.0]).numpy().tolist(), argsort([3, 1, 3], descending=True).numpy().tolist()
    ([1, 3, 2, 0], [0, 2, 1])

    Raises TensorError for complex numbers.
    """
    return _first("argsort", _with_order("argsort", x), axis, descending, None, engine)


def _first(
    call: str, tensor: Tensor, axis: SupportsIndex, descending: bool, count: int | None, engine: Engine | None
) -> Tensor:
    """The indices of so many elements that come first in order along an axis; of all of them without a number."""
    sizes = mode_sizes(tensor)
    (along,) = rules.chosen_axes(call, len(sizes), (axis,))
    count = sizes[along] if count is None else count
    if not 0 <= count <= sizes[along]:
        raise TensorError(f"{call}({tensor}, {count}): of {sizes[along]} elements along axis {along}")
    engine = chosen(call, engine, tensor)
    if engine != "numpy":
        return operations.ordered(call, tensor, along, descending, count, engine)
    values = load_all(tensor)
    order = _falling(values, along) if descending else np.argsort(values, along, stable=True)
    return from_array(np.ascontiguousarray(order[(slice(None),) * along + (slice(0, count),)]), i32)


def _falling(values: Array, along: int) -> Array:
    """The indices of the elements along an axis, the greatest first; of equal ones the first one first."""
    # Backwards twice: equal elements keep their order, and NaN is greatest.
    backwards = np.argsort(np.flip(values, along), along, stable=True)
    return np.flip(values.shape[along] - 1 - backwards, along)


def sort(
    x: TensorLike,
    /,
    *,
    axis: SupportsIndex = -1,
    descending: bool = False,
    stable: bool = True,
    engine: Engine | None = None,
) -> Tensor:
    """The elements along an axis in ascending or descending order.

    >>> sort([3.0, 1.0, 2.0], descending=True).numpy().tolist()
    [3.0, 2.0, 1.0]

    Raises TensorError for complex numbers.
    """
    tensor = _with_order("sort", x)
    order = _first("sort", tensor, axis, descending, None, engine)
    return take_along_axis(tensor, order, axis=axis, engine=engine)


def top_k(x: TensorLike, k: int, /, *, axis: SupportsIndex = -1, engine: Engine | None = None) -> tuple[Tensor, Tensor]:
    """The k greatest elements along an axis, the greatest first, and their indices as i32.

    >>> [part.numpy().tolist() for part in top_k(np.float32([1, 5, 3]), 2)]
    [[5.0, 3.0], [1, 2]]

    Raises TensorError for more elements than there are, and as `sort`.
    """
    tensor = _with_order("top_k", x)
    first = _first("top_k", tensor, axis, True, k, engine)
    return take_along_axis(tensor, first, axis=axis, engine=engine), first


def take_along_axis(
    x: TensorLike, indices: TensorLike, /, *, axis: SupportsIndex = -1, engine: Engine | None = None
) -> Tensor:
    """The elements at indices along an axis, one for each element of `indices`, which broadcasts with `x` elsewhere.

    >>> x = np.float32([[3, 1, 2], [5, 6, 4]])
    >>> take_along_axis(x, argsort(x)).numpy().tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

    Raises TensorError for indices that are no integers with as many axes, and CoordinateError, an IndexError, for one
    outside the axis. Indices of a device are not looked at before: there the element of one outside the axis is 0.
    """
    tensor, numbers = as_tensor(x), as_tensor(indices)
    sizes, given = mode_sizes(tensor), mode_sizes(numbers)
    (along,) = rules.chosen_axes("take_along_axis", len(sizes), (axis,))
    if len(given) != len(sizes):
        raise TensorError(f"take_along_axis({tensor}, {numbers}): give integers with as many axes")
    engine = chosen("take_along_axis", engine, tensor, numbers)
    numbers = checked_indices("take_along_axis", tensor, numbers, along, engine)
    if engine == "numpy":
        found = np.take_along_axis(load_all(tensor), load_all(numbers), along)
        return from_array(np.ascontiguousarray(found), tensor.dtype)
    # Both with the axes beside this one that they have together.
    around = rules.broadcast_shape("take_along_axis", *[(*n[:along], 1, *n[along + 1 :]) for n in (sizes, given)])
    values, places = [
        expand(t, (*around[:along], n[along], *around[along + 1 :])) for t, n in ((tensor, sizes), (numbers, given))
    ]
    return operations.taken(values, places, along, engine, each=True)


def searchsorted(
    x1: TensorLike,
    x2: TensorLike,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: TensorLike | None = None,
    engine: Engine | None = None,
) -> Tensor:
    """Where each element of `x2` stands in the ascending vector `x1`, as i32: before those equal to it, or behind.

    >>> searchsorted([1.0, 2.0, 4.0], [2.0, 3.0]).numpy().tolist()
    [1, 2]

    Raises TensorError for a `side` that does not exist, and for an `x1` that is no vector.
    """
    if side not in ("left", "right"):
        raise TensorError(f"searchsorted(side={side!r}): there are 'left' and 'right'")
    given = [_with_order("searchsorted", x) for x in ((x1, x2) if sorter is None else (x1, x2, sorter))]
    values, wanted, *order = given
    if len(mode_sizes(values)) != 1 or any(mode_sizes(t) != mode_sizes(values) for t in order):
        raise TensorError(f"searchsorted({', '.join(map(str, given))}): it is for a vector, and a sorter of its size")
    engine = chosen("searchsorted", engine, *given)
    order = [checked_indices("searchsorted", values, t, 0, engine) for t in order]
    if engine == "numpy":
        arrays = [load_all(t) for t in (values, wanted, *order)]
        return from_array(np.searchsorted(arrays[0], arrays[1], side, *arrays[2:]), i32)
    common = rules.result_type("searchsorted", values.dtype, wanted.dtype)
    values, flat = astype(values, common, engine=engine), astype(ravel(wanted), common, engine=engine)
    found = operations.search_sorted(values, flat, order[0] if order else None, side == "right", engine)
    return reshape(found, mode_sizes(wanted))
