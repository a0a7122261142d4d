"""Reductions over any axes: sum, prod, max, min, mean, any, all, argmax, argmin.

Imports `operand`. Law: an axis that is named leaves the shape (or stays with size 1); no axes given means all. f16 is
summed in f32 and rounded once, integers wrap as on a GPU, bool sums to i32; NaN wins in max and min. Nothing of the
size of the operand is copied: nested modes are reduced leaf by leaf, argmax block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from ..errors import TensorError
from ..layout.int_tuple import as_tuple, leaves
from ..tensor.bulk import leaf_view, mode_sizes
from ..tensor.dtypes import DType, bool_, f32, i32
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .gathered import Blocks, blocks_of
from .operand import Operand, Value, value_of, wrap

Axes = int | Sequence[int] | None
BLOCK = 1 << 20
"""How many elements are read at once where NumPy cannot reduce in place."""


def chosen_axes(call: str, rank: int, axes: Axes) -> tuple[int, ...]:
    """Axes from 0, in order; None means all.

    Raises TensorError for an axis that is not there or is named twice.
    """
    if axes is None:
        return tuple(range(rank))
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in listed:
        if not -rank <= axis < rank:
            raise TensorError(f"{call}: axis {axis} of a tensor with {rank} axes")
    found = tuple(sorted(axis % rank for axis in listed))
    if len(set(found)) < len(found):
        raise TensorError(f"{call}: the axes {listed} name one axis twice")
    return found


def _over(call: str, x: Operand, axes: Axes) -> tuple[Value, tuple[int, ...]]:
    value = value_of(x)
    return value, chosen_axes(call, len(value.shape), axes)


def _reduced(value: Value, axes: tuple[int, ...], function: np.ufunc, working: str, keepdims: bool) -> Array:
    """`function.reduce` over the axes of a view with one axis a leaf of the layout, or else block by block."""
    if value.tensor is None:
        return np.asarray(value.number, working)
    sizes = mode_sizes(value.tensor)
    view = leaf_view(value.tensor)
    kept = [size for axis, size in enumerate(sizes) if axis not in axes]
    with np.errstate(all="ignore"):
        if view is not None:
            found = np.asarray(function.reduce(view, axis=_leaf_axes(value.tensor, axes), dtype=working))
        else:
            found = np.full(kept, _neutral(function, np.dtype(working)), working)
            _reduce_into(blocks_of(value.tensor), axes, found, function)
    found = found.reshape(kept, order="F")
    return found.reshape([1 if axis in axes else size for axis, size in enumerate(sizes)]) if keepdims else found


def _neutral(function: np.ufunc, working: np.dtype[np.generic]) -> object:
    """What `function` leaves unchanged: for max and min the end of the type's range."""
    if function.identity is not None:
        return function.identity
    low, high = (-np.inf, np.inf) if working.kind == "f" else (False, True)
    if working.kind in "iu":
        low, high = np.iinfo(working.name).min, np.iinfo(working.name).max
    return low if function is np.maximum else high


def _reduce_into(blocks: Blocks, axes: tuple[int, ...], found: Array, function: np.ufunc) -> None:
    """Combine `found` with the blocks, cut in halves until each is small enough to be read."""
    if blocks.size > BLOCK:
        axis = int(np.argmax(blocks.shape))
        half = blocks.shape[axis] // 2
        for part in (slice(None, half), slice(half, None)):
            place = len([earlier for earlier in range(axis) if earlier not in axes])
            target = found if axis in axes else found[(slice(None),) * place + (part,)]
            _reduce_into(blocks[(slice(None),) * axis + (part,)], axes, target, function)
        return
    function(found, function.reduce(np.asarray(blocks), axis=axes, dtype=found.dtype), out=found)


def _leaf_axes(tensor: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    first = 0
    for axis, mode in enumerate(as_tuple(tensor.shape)):
        count = len(leaves(mode))
        if axis in axes:
            found += range(first, first + count)
        first += count
    return tuple(found)


def _summing(dtype: DType) -> DType:
    return i32 if dtype is bool_ else dtype


def sum(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum over the axes; 0 where there is nothing to add.

    >>> sum([[1.0, 2.0], [3.0, 4.0]], 0).numpy().tolist(), sum(np.ones((0, 4), np.float32)).numpy().item()
    ([4.0, 6.0], 0.0)
    """
    value, over = _over("sum", x, axes)
    dtype = _summing(_dtype_of(value))
    return wrap(_reduced(value, over, np.add, dtype.accumulator.numpy, keepdims), dtype)


def prod(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The product over the axes; 1 where there is nothing to multiply."""
    value, over = _over("prod", x, axes)
    dtype = _summing(_dtype_of(value))
    return wrap(_reduced(value, over, np.multiply, dtype.accumulator.numpy, keepdims), dtype)


def mean(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum over the axes divided by the number of elements; integers give f32, an empty mean is NaN."""
    value, over = _over("mean", x, axes)
    dtype = _dtype_of(value)
    count = int(np.prod([value.shape[axis] for axis in over], dtype=np.int64))
    working = dtype.accumulator.numpy if dtype.kind == "f" else "float64"
    total = _reduced(value, over, np.add, working, keepdims)
    with np.errstate(all="ignore"):
        return wrap(np.asarray(total / np.asarray(count, total.dtype)), dtype if dtype.kind == "f" else f32)


def _extreme(call: str, x: Operand, axes: Axes, function: np.ufunc, keepdims: bool) -> Tensor:
    value, over = _over(call, x, axes)
    _check_not_empty(call, value, over)
    dtype = _dtype_of(value)
    return wrap(_reduced(value, over, function, dtype.numpy, keepdims), dtype)


def max(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element over the axes; NaN where there is one.

    >>> max([[-1.0, -5.0], [-3.0, -2.0]], 1).numpy().tolist()
    [-1.0, -2.0]

    Raises TensorError over no elements, which have no greatest.
    """
    return _extreme("max", x, axes, np.maximum, keepdims)


def min(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The least element over the axes; NaN where there is one. Raises TensorError over no elements."""
    return _extreme("min", x, axes, np.minimum, keepdims)


def any(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """True where an element over the axes is not 0."""
    value, over = _over("any", x, axes)
    return wrap(_reduced(value, over, np.logical_or, "bool", keepdims), bool_)


def all(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """True where every element over the axes is not 0."""
    value, over = _over("all", x, axes)
    return wrap(_reduced(value, over, np.logical_and, "bool", keepdims), bool_)


def argmax(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The index, as i32, of the first greatest element over the axes, the last axis fastest; NaN counts as greatest.

    >>> argmax([[1.0, 7.0], [7.0, 2.0]]).numpy().item(), argmax([[1.0, 7.0], [7.0, 2.0]], 0).numpy().tolist()
    (1, [1, 0])

    Raises TensorError over no elements.
    """
    return _place("argmax", x, axes, np.argmax, np.greater, keepdims)


def argmin(x: Operand, axes: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The index, as i32, of the first least element over the axes; NaN counts as least. TensorError over none."""
    return _place("argmin", x, axes, np.argmin, np.less, keepdims)


def _place(call: str, x: Operand, axes: Axes, locate: Callable[..., Array], better: np.ufunc, keepdims: bool) -> Tensor:
    value, over = _over(call, x, axes)
    _check_not_empty(call, value, over)
    blocks = np.asarray(value.number) if value.tensor is None else blocks_of(value.tensor)
    kept = tuple(axis for axis in range(blocks.ndim) if axis not in over)
    found = np.empty([blocks.shape[axis] for axis in kept], np.int32)
    _place_into(blocks.transpose(kept + over), len(kept), found, locate, better)
    if keepdims:
        found = found.reshape([1 if axis in over else size for axis, size in enumerate(blocks.shape)])
    return wrap(found, i32)


def _place_into(turned: Blocks, kept: int, found: Array, locate: Callable[..., Array], better: np.ufunc) -> None:
    """Fill `found` from `turned`, whose first `kept` axes are those of `found`, a block at a time."""
    if not found.size:
        return
    if turned.size > BLOCK and found.size > 1:
        axis = int(np.argmax(found.shape))
        half = found.shape[axis] // 2
        for part in (slice(None, half), slice(half, None)):
            cut = (slice(None),) * axis + (part,)
            _place_into(turned[cut], kept, found[cut], locate, better)
        return
    rows = turned.shape[kept] if turned.ndim > kept else 1
    below = int(np.prod(turned.shape[kept + 1 :], dtype=np.int64))
    step = int(np.clip(BLOCK // np.maximum(found.size * below, 1), 1, rows))
    best: Array | None = None
    for start in range(0, rows, step):
        block = turned[(slice(None),) * kept + (slice(start, start + step),)] if turned.ndim > kept else turned
        flat = np.asarray(block).reshape((*found.shape, -1))
        here = np.asarray(locate(flat, axis=-1))
        values = np.take_along_axis(flat, here[..., None], -1)[..., 0]
        if best is None:
            best, found[...] = np.array(values), here
            continue
        with np.errstate(all="ignore"):
            wins = better(values, best) | (_nan(values) & ~_nan(best))
        best = np.where(wins, values, best)
        found[...] = np.where(wins, here + start * below, found)


def _nan(values: Array) -> Array:
    return cast(Array, values != values)


def _dtype_of(value: Value) -> DType:
    if value.dtype is not None:
        return value.dtype
    return {"b": bool_, "i": i32, "f": f32}[value.weak]


def _check_not_empty(call: str, value: Value, axes: tuple[int, ...]) -> None:
    sizes = [value.shape[axis] for axis in axes]
    kept = [size for axis, size in enumerate(value.shape) if axis not in axes]
    if 0 in sizes and 0 not in kept:
        raise TensorError(f"{call} over the axes {axes} of the shape {value.shape}: of no elements none is chosen")
