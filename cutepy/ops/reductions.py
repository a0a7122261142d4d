"""Reductions over any axes: sum, prod, max, min, mean, any, all, argmax, argmin; and softmax.

Law: types, axes and what is left of nothing are those of `rules`; NaN wins in max and min. Nothing of the size of the
operand is copied: nested modes are reduced leaf by leaf, argmax block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as prod_of
from operator import index
from typing import SupportsIndex

import numpy as np

from ..layout.values.int_tuple import as_tuple, leaves
from ..tensor.bulk import leaf_view, load_all, mode_sizes
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .gathered import BLOCK, Blocks, blocks_of, pieces
from .home import library_of
from .operand import Operand, tensor_of, wrap
from .rules import Axes, check_not_empty, chosen_axes, folded_shape, folded_type, softmax_type


def _reduced(tensor: Tensor, axes: tuple[int, ...], function: np.ufunc, working: str) -> Array:
    """`function.reduce` over the axes of a view with one axis a leaf of the layout, or else block by block."""
    kept = folded_shape(mode_sizes(tensor), axes, keepdims=False)
    view = leaf_view(tensor)
    with np.errstate(all="ignore"):
        if view is not None:
            found = np.asarray(function.reduce(view, axis=_leaf_axes(tensor, axes), dtype=working))
        else:
            found, blocks = np.full(kept, _neutral(function, np.dtype(working)), working), blocks_of(tensor)
            for part in pieces(blocks.shape, lambda sizes: prod_of(sizes) <= BLOCK):
                here = tuple(along for axis, along in enumerate(part) if axis not in axes)
                found[here] = function(found[here], function.reduce(np.asarray(blocks[part]), axis=axes, dtype=working))
    return found.reshape(kept, order="F")


def _neutral(function: np.ufunc, working: np.dtype[np.generic]) -> object:
    """What `function` leaves unchanged: for max and min the end of the type's range."""
    if function.identity is not None:
        return function.identity
    low, high = (-np.inf, np.inf) if working.kind == "f" else (False, True)
    if working.kind in "iu":
        low, high = np.iinfo(working.name).min, np.iinfo(working.name).max
    return low if function is np.maximum else high


def _leaf_axes(tensor: Tensor, axes: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    first = 0
    for axis, mode in enumerate(as_tuple(tensor.shape)):
        count = len(leaves(mode))
        if axis in axes:
            found += range(first, first + count)
        first += count
    return tuple(found)


_FOLDS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "mean": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def folded(call: str, x: Operand, axes: Axes, keepdims: bool) -> Tensor:
    """What the reduction of this name gives, where the operand lives."""
    library = library_of(x)
    if library is not None:
        return library.folded(call, x, axes, keepdims)
    tensor = tensor_of(x)
    sizes = mode_sizes(tensor)
    over = chosen_axes(call, len(sizes), axes)
    result = folded_type(call, tensor.dtype)
    check_not_empty(call, sizes, over)
    shape = folded_shape(sizes, over, keepdims)
    if call in ("argmax", "argmin"):
        return wrap(_places(call, tensor, over).reshape(shape), result)
    working = "float64" if call == "mean" and tensor.dtype.kind in "biu" else result.accumulator.numpy
    found = _reduced(tensor, over, _FOLDS[call], working)
    if call == "mean":
        with np.errstate(all="ignore"):
            found = np.asarray(found / np.asarray(prod_of(sizes[axis] for axis in over), found.dtype))
    return wrap(found.reshape(shape), result)


def sum(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum over the axes; 0 where there is nothing to add.

    >>> sum([[1.0, 2.0], [3.0, 4.0]], 0).numpy().tolist(), sum(np.ones((0, 4), np.float32)).numpy().item()
    ([4.0, 6.0], 0.0)
    """
    return folded("sum", x, axis, keepdims)


def prod(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The product over the axes; 1 where there is nothing to multiply."""
    return folded("prod", x, axis, keepdims)


def mean(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The sum over the axes divided by the number of elements; integers give f32, an empty mean is NaN."""
    return folded("mean", x, axis, keepdims)


def max(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The greatest element over the axes; NaN where there is one.

    >>> max([[-1.0, -5.0], [-3.0, -2.0]], 1).numpy().tolist()
    [-1.0, -2.0]

    Raises TensorError over no elements, which have no greatest.
    """
    return folded("max", x, axis, keepdims)


def min(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The least element over the axes; NaN where there is one. Raises TensorError over no elements."""
    return folded("min", x, axis, keepdims)


def any(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """True where an element over the axes is not 0."""
    return folded("any", x, axis, keepdims)


def all(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """True where every element over the axes is not 0."""
    return folded("all", x, axis, keepdims)


def argmax(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The index, as i32, of the first greatest element over the axes, the last axis fastest; NaN counts as greatest.

    >>> argmax([[1.0, 7.0], [7.0, 2.0]]).numpy().item(), argmax([[1.0, 7.0], [7.0, 2.0]], 0).numpy().tolist()
    (1, [1, 0])

    Raises TensorError over no elements.
    """
    return folded("argmax", x, axis, keepdims)


def argmin(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """The index, as i32, of the first least element over the axes; NaN counts as least. TensorError over none."""
    return folded("argmin", x, axis, keepdims)


def softmax(x: Operand, axis: SupportsIndex = -1) -> Tensor:
    """exp(x - m) / sum(exp(x - m)) along an axis, with m the greatest there; integers give f32.

    >>> softmax([[0.0, 0.0], [0.0, float("inf")]]).numpy().tolist()
    [[0.5, 0.5], [nan, nan]]

    Raises TensorError for an axis that is not there and for complex numbers.
    """
    library = library_of(x)
    if library is not None:
        return library.softmax(x, index(axis))
    tensor = tensor_of(x)
    over = chosen_axes("softmax", len(mode_sizes(tensor)), (axis,))
    result = softmax_type(tensor.dtype)
    values = load_all(tensor).astype(result.accumulator.numpy)
    if not values.size:
        return wrap(values, result)
    with np.errstate(all="ignore"):
        powers = np.exp(values - values.max(axis=over, keepdims=True))
        return wrap(powers / powers.sum(axis=over, keepdims=True), result)


def _places(call: str, tensor: Tensor, over: tuple[int, ...]) -> Array:
    locate, better = (np.argmax, np.greater) if call == "argmax" else (np.argmin, np.less)
    blocks = blocks_of(tensor)
    kept = tuple(axis for axis in range(blocks.ndim) if axis not in over)
    found = np.empty([blocks.shape[axis] for axis in kept], np.int32)
    turned, each = blocks.transpose(kept + over), prod_of(blocks.shape[axis] for axis in over)
    if found.size:
        for part in pieces(found.shape, lambda sizes: prod_of(sizes) * each <= BLOCK or prod_of(sizes) == 1):
            _place_into(turned[part], len(kept), found[part] if part else found, locate, better)
    return found


def _place_into(turned: Blocks, kept: int, found: Array, locate: Callable[..., Array], better: np.ufunc) -> None:
    """Fill `found` from `turned`, whose first `kept` axes are those of `found`, a part of the other axes at a time."""
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
    unequal: Array = values != values
    return unequal
