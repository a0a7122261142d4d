"""Reductions over any axes: sum, prod, max, min, mean, any, all, argmax, argmin; softmax; statistics; sums so far.

Law: types, axes and what is left of nothing are those of `rules`; NaN wins in max and min. Nothing of the size of the
operand is copied: nested modes are reduced leaf by leaf, argmax block by block. A statistic is what its formula gives
in exact numbers, rounded to its type; NumPy computes the host's in f64, a block at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from math import inf
from math import prod as prod_of
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from ..errors import TensorError
from ..gpu import operations
from ..gpu.operations.softmax import softmax as softmax_by_kernel
from ..layout import as_tuple, leaves
from ..tensor import Array, Tensor, TensorLike, as_tensor, from_array, functions, leaf_view, load_all, mode_sizes, rules
from ..tensor.rules import Axes
from .blocks import BLOCK, Blocks, blocks_of, pieces
from .engine import Engine, chosen, delivered
from .movement import concat
from .pointwise import astype, operation


def _reduced(tensor: Tensor, axes: tuple[int, ...], function: np.ufunc, working: str) -> Array:
    """`function.reduce` over the axes of a view with one axis a leaf of the layout, or else block by block."""
    kept = rules.folded_shape(mode_sizes(tensor), axes, keepdims=False)
    view = leaf_view(tensor)
    with np.errstate(all="ignore"):
        # One axis of NumPy a leaf: a folded mode is all of its leaves.
        if view is not None:
            ends = [*accumulate((len(leaves(mode)) for mode in as_tuple(tensor.shape)), initial=0)]
            along = tuple(leaf for axis in axes for leaf in range(ends[axis], ends[axis + 1]))
            found = np.asarray(function.reduce(view, axis=along, dtype=working))
        else:
            found, blocks = np.full(kept, _neutral(function, np.dtype(working)), working), blocks_of(tensor)
            for part in pieces(blocks.shape, lambda sizes: prod_of(sizes) <= BLOCK):
                here = tuple(some for axis, some in enumerate(part) if axis not in axes)
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


_FOLDS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "mean": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def folded(
    call: str,
    x: TensorLike,
    axes: Axes,
    keepdims: bool,
    engine: Engine | None,
    option: float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What the reduction of this name gives; `option` is the correction of a variance, or the order of a norm."""
    engine = chosen(call, engine, x, out)
    if engine == "numpy":
        found = _by_numpy(call, as_tensor(x), axes, keepdims, option)
    else:
        found = operations.folded(call, as_tensor(x), axes, keepdims, engine, option)
    return delivered(call, found, out, engine)


def _by_numpy(call: str, tensor: Tensor, axes: Axes, keepdims: bool, option: float) -> Tensor:
    """A reduction of a tensor of the host."""
    sizes = mode_sizes(tensor)
    over = rules.chosen_axes(call, len(sizes), axes)
    result = rules.folded_type(call, tensor.dtype)
    rules.check_not_empty(call, sizes, over)
    shape = rules.folded_shape(sizes, over, keepdims)
    # Searches and statistics take whole rows, a block of rows at a time; folds take any order.
    if call in ("argmax", "argmin"):
        places = partial(_put_indices, *((np.argmax, np.greater) if call == "argmax" else (np.argmin, np.less)))
        return from_array(_of_rows(tensor, over, np.int32(0), places).reshape(shape), result)
    if call in rules.STATISTICS:
        statistic = partial(_statistic, _STATISTICS[call], option)
        return from_array(_of_rows(tensor, over, rules.STATISTICS[call], statistic).reshape(shape), result)
    working = "float64" if call == "mean" and tensor.dtype.kind in "biu" else result.accumulator.numpy
    found = _reduced(tensor, over, _FOLDS[call], working)
    if call == "mean":
        with np.errstate(all="ignore"):
            found = np.asarray(found / np.asarray(prod_of(sizes[axis] for axis in over), found.dtype))
    return from_array(found.reshape(shape), result)


def _folded_as(
    call: str, x: TensorLike, axes: Axes, dtype: object, keepdims: bool, engine: Engine | None, out: Tensor | None
) -> Tensor:
    """The reduction in a type that is named: of elements of that type, and of that type itself."""
    if dtype is None:
        return folded(call, x, axes, keepdims, engine, out=out)
    found = folded(call, astype(x, dtype, engine=engine), axes, keepdims, engine)
    return delivered(call, astype(found, dtype, engine=engine), out, chosen(call, engine, x, out))


def sum(
    x: TensorLike,
    axis: Axes = None,
    *,
    dtype: object = None,
    keepdims: bool = False,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum over the axes; 0 where there is nothing to add. Of bool and of integers below 32 bits it is i32 or u32,
    else of the elements' type; with `dtype` the elements are converted to that type first, and the result has it.

    >>> sum([[1.0, 2.0], [3.0, 4.0]], 0).numpy().tolist(), sum(np.ones((0, 4), np.float32)).numpy().item()
    ([4.0, 6.0], 0.0)

    Raises TensorError for an axis that is not there, and for what is no array of numbers.
    """
    return _folded_as("sum", x, axis, dtype, keepdims, engine, out)


def prod(
    x: TensorLike,
    axis: Axes = None,
    *,
    dtype: object = None,
    keepdims: bool = False,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The product over the axes, in the type of `dtype` where that is given; 1 where there is nothing to multiply.

    >>> prod([2, 3, 4]).numpy().item()
    24

    Raises TensorError for an axis that is not there, and for what is no array of numbers.
    """
    return _folded_as("prod", x, axis, dtype, keepdims, engine, out)


def mean(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum over the axes divided by the number of elements; integers give f32, an empty mean is NaN.

    >>> mean([1, 2]).numpy().item()
    1.5

    Raises TensorError for an axis that is not there, and for what is no array of numbers.
    """
    return folded("mean", x, axis, keepdims, engine, out=out)


def max(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The greatest element over the axes; NaN where there is one.

    >>> max([[-1.0, -5.0], [-3.0, -2.0]], 1).numpy().tolist()
    [-1.0, -2.0]

    Raises TensorError over no elements, which have no greatest.
    """
    return folded("max", x, axis, keepdims, engine, out=out)


def min(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The least element over the axes; NaN where there is one. Raises TensorError over no elements.

    >>> min([3.0, -1.0, 2.0]).numpy().item()
    -1.0
    """
    return folded("min", x, axis, keepdims, engine, out=out)


def any(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """True where an element over the axes is not 0.

    >>> any([[0, 0], [1, 0]], axis=1).numpy().tolist()
    [False, True]

    Raises TensorError for an axis that is not there, and for what is no array of numbers.
    """
    return folded("any", x, axis, keepdims, engine, out=out)


def all(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """True where every element over the axes is not 0.

    >>> all([[1, 1], [1, 0]], axis=1).numpy().tolist()
    [True, False]

    Raises TensorError for an axis that is not there, and for what is no array of numbers.
    """
    return folded("all", x, axis, keepdims, engine, out=out)


def argmax(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The index, as i32, of the first greatest element over the axes, the last axis fastest; NaN counts as greatest.

    >>> argmax([[1.0, 7.0], [7.0, 2.0]]).numpy().item(), argmax([[1.0, 7.0], [7.0, 2.0]], 0).numpy().tolist()
    (1, [1, 0])

    Raises TensorError over no elements.
    """
    return folded("argmax", x, axis, keepdims, engine, out=out)


def argmin(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The index, as i32, of the first least element over the axes; NaN counts as least. TensorError over none.

    >>> argmin([3.0, -1.0, 2.0]).numpy().item()
    1
    """
    return folded("argmin", x, axis, keepdims, engine, out=out)


def softmax(
    x: TensorLike, axis: SupportsIndex = -1, *, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """exp(x - m) / sum(exp(x - m)) along an axis, with m the greatest there; integers give f32.

    >>> softmax([[0.0, 0.0], [0.0, float("inf")]]).numpy().tolist()
    [[0.5, 0.5], [nan, nan]]

    Raises TensorError for an axis that is not there and for complex numbers.
    """
    engine = chosen("softmax", engine, x, out)
    if engine != "numpy":
        return delivered("softmax", softmax_by_kernel(as_tensor(x), index(axis), engine=engine), out, engine)
    return delivered("softmax", _softmax_by_numpy(as_tensor(x), axis), out, engine)


def _softmax_by_numpy(tensor: Tensor, axis: SupportsIndex) -> Tensor:
    """Softmax of a tensor of the host."""
    over = rules.chosen_axes("softmax", len(mode_sizes(tensor)), (axis,))
    result = rules.softmax_type(tensor.dtype)
    values = load_all(tensor).astype(result.accumulator.numpy)
    if not values.size:
        return from_array(values, result)
    with np.errstate(all="ignore"):
        powers = np.exp(values - values.max(axis=over, keepdims=True))
        return from_array(powers / powers.sum(axis=over, keepdims=True), result)


def _of_rows(tensor: Tensor, over: tuple[int, ...], of_none: object, put: Callable[[Blocks, Array], None]) -> Array:
    """What `put` makes of rows, as many at a time as a block has. A row is all elements over the axes, at one index of
    the other axes; `of_none` is the result for a row without elements, and gives the type.

    `put(block, found)` fills `found`, an array over some of the other axes, from a block that has these axes first.
    """
    blocks = blocks_of(tensor)
    kept = tuple(axis for axis in range(blocks.ndim) if axis not in over)
    found = np.full([blocks.shape[axis] for axis in kept], of_none)
    moved, each = blocks.transpose(kept + over), prod_of(blocks.shape[axis] for axis in over)
    if each and found.size:
        for part in pieces(found.shape, lambda sizes: prod_of(sizes) * each <= BLOCK or prod_of(sizes) == 1):
            put(moved[part], found[part] if part else found)
    return found


def _put_indices(locate: Callable[..., Array], better: np.ufunc, moved: Blocks, found: Array) -> None:
    """Fill `found` with the index of the best element, from `moved`, whose first axes are those of `found`.

    The other axes are searched a part at a time, along the first of them; `locate` is NumPy's argmax or argmin of a
    part, `better` compares elements. An earlier part wins where neither is better; NaN is better than any number.
    """
    kept = found.ndim
    length = moved.shape[kept] if moved.ndim > kept else 1
    below = int(np.prod(moved.shape[kept + 1 :], dtype=np.int64))
    step = int(np.clip(BLOCK // np.maximum(found.size * below, 1), 1, length))
    best: Array | None = None  # the element at `found`, of the parts so far
    for start in range(0, length, step):
        block = moved[(slice(None),) * kept + (slice(start, start + step),)] if moved.ndim > kept else moved
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
    """Where elements are NaN: they alone differ from themselves."""
    unequal: Array = values != values
    return unequal


def var(
    x: TensorLike,
    axis: Axes = None,
    *,
    correction: float = 0,
    keepdims: bool = False,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of the squared distances from the mean; with `correction` their sum over that many elements fewer.

    >>> var([1.0, 2.0, 3.0, 4.0]).numpy().item(), var([1.0, 2.0, 4.0], correction=1).numpy().item()
    (1.25, 2.3333332538604736)

    Of no elements it is NaN. Raises TensorError for complex numbers.
    """
    return folded("var", x, axis, keepdims, engine, correction, out=out)


def std(
    x: TensorLike,
    axis: Axes = None,
    *,
    correction: float = 0,
    keepdims: bool = False,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The square root of the variance.

    >>> std([1.0, 3.0]).numpy().tolist(), std([[1.0, 3.0], [2.0, 2.0]], axis=1, correction=1).numpy().tolist()
    (1.0, [1.4142135381698608, 0.0])

    Raises TensorError for an axis that is not there.
    """
    return folded("std", x, axis, keepdims, engine, correction, out=out)


def logsumexp(
    x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))), also where exp(x) is beyond the type; of no elements -inf.

    >>> round(logsumexp([1000.0, 1000.0]).numpy().item(), 3)
    1000.693

    Raises TensorError for complex numbers.
    """
    return folded("logsumexp", x, axis, keepdims, engine, out=out)


def norm(
    x: TensorLike,
    axis: Axes = None,
    *,
    order: float = 2,
    keepdims: bool = False,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The length of the vectors along the axes: of order 1 the sum of the magnitudes, 2 the root of the sum of squares,
    infinite the greatest magnitude. Of no elements it is 0.

    >>> [norm([3.0, -4.0], order=p).numpy().item() for p in (1, 2, float("inf"))]
    [7.0, 5.0, 4.0]

    Raises TensorError for another order and for complex numbers. Source: NumPy, `linalg.vector_norm`.
    """
    return folded("norm", x, axis, keepdims, engine, rules.check_order(order), out=out)


def cumsum(x: TensorLike, axis: SupportsIndex, *, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements so far, along an axis.

    >>> cumsum([[1, 2], [3, 4]], 0).numpy().tolist()
    [[1, 2], [4, 6]]

    Raises TensorError for an axis that is not there.
    """
    return scanned("cumsum", x, axis, engine, out)


def cumprod(x: TensorLike, axis: SupportsIndex, *, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """The product of the elements so far, along an axis. Raises TensorError for an axis that is not there.

    >>> cumprod([[1, 2], [3, 4]], 0).numpy().tolist()
    [[1, 2], [3, 8]]
    """
    return scanned("cumprod", x, axis, engine, out)


def cummax(x: TensorLike, axis: SupportsIndex, *, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """The greatest of the elements so far, along an axis; NaN from the first one on.

    >>> cummax([3, 1, 4, 1, 5], 0).numpy().tolist()
    [3, 3, 4, 4, 5]

    Raises TensorError for an axis that is not there and for complex numbers.
    """
    return scanned("cummax", x, axis, engine, out)


def cummin(x: TensorLike, axis: SupportsIndex, *, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
    """The least of the elements so far, along an axis. Raises TensorError as `cummax`.

    >>> cummin([3, 1, 2], 0).numpy().tolist()
    [3, 1, 1]
    """
    return scanned("cummin", x, axis, engine, out)


def scan(
    function: Callable[[Any, Any], Any],
    x: TensorLike,
    axis: SupportsIndex,
    *,
    identity: float,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """What an associative function gives for the elements so far, along an axis: `f(f(x[0], x[1]), x[2])` at 2.

    It may be regrouped, and is not assumed to commute; `identity` is the number that it leaves the other one with.
    `function` is called with values of a kernel where a device or the interpreter computes, and with arrays where NumPy
    does: operators and NumPy's functions take both. It gives the type of the elements; f16 is scanned in f32.

    >>> last = lambda a, b: np.where(b != 0, b, a)
    >>> scan(last, [3, 0, 0, 5, 0], 0, identity=0).numpy().tolist()
    [3, 3, 3, 5, 5]

    Raises TensorError for an axis that is not there and for bool, which is no number to go on with.
    """
    tensor = as_tensor(x)
    if tensor.dtype.kind == "b":
        raise TensorError(f"scan({tensor}): its elements are bool; convert with astype")
    engine = chosen("scan", engine, tensor, out)
    if engine != "numpy":
        found = operations.scanned("scan", tensor, index(axis), engine, function, float(identity))
        return delivered("scan", found, out, engine)
    (along,) = rules.chosen_axes("scan", len(mode_sizes(tensor)), (axis,))
    values, step = np.moveaxis(load_all(tensor).astype(tensor.dtype.accumulator.numpy), along, 0), 1
    # After each step an element folds twice as many as before (Hillis and Steele).
    with np.errstate(all="ignore"):
        while step < len(values):
            folded_on = np.asarray(function(values[:-step], values[step:]), values.dtype)
            values, step = np.concatenate([values[:step], folded_on]), 2 * step
    return delivered("scan", from_array(np.moveaxis(values, 0, along), tensor.dtype), out, engine)


def _statistic(function: Callable[[Array, float], Array], option: float, block: Blocks, found: Array) -> None:
    """Fill `found` with a statistic of the rows of a block, computed in f64."""
    with np.errstate(all="ignore"):
        found[...] = function(np.asarray(block, np.float64).reshape((*found.shape, -1)), option)


def _variance(x: Array, correction: float) -> Array:
    """The variance along the last axis; NaN where there are no elements."""
    squares = np.square(x - x.mean(-1, keepdims=True)).sum(-1)
    return np.asarray(squares / np.maximum(x.shape[-1] - correction, 0))


def _norm(x: Array, order: float) -> Array:
    """The norm along the last axis, of order 1, 2 or infinity."""
    sizes = np.abs(x)
    if order == 2:
        return np.asarray(np.sqrt(np.square(sizes).sum(-1)))
    return np.asarray(sizes.max(-1) if order == inf else sizes.sum(-1))


_STATISTICS: dict[str, Callable[[Array, float], Array]] = {
    "var": _variance,
    "std": lambda x, correction: np.sqrt(_variance(x, correction)),
    "logsumexp": lambda x, _option: np.asarray(np.logaddexp.reduce(x, -1)),
    "norm": _norm,
}


def scanned(call: str, x: TensorLike, axis: SupportsIndex, engine: Engine | None, out: Tensor | None) -> Tensor:
    """The sums or the products so far."""
    engine = chosen(call, engine, x, out)
    tensor = as_tensor(x)
    if engine != "numpy":
        return delivered(call, operations.scanned(call, tensor, index(axis), engine), out, engine)
    (along,) = rules.chosen_axes(call, len(mode_sizes(tensor)), (axis,))
    fold = operations.SCANS[call]
    result = rules.folded_type(fold, tensor.dtype)
    with np.errstate(all="ignore"):
        function = _FOLDS[fold]
        found = from_array(function.accumulate(load_all(tensor), along, result.accumulator.numpy), result)
    return delivered(call, found, out, engine)


def cumulative_sum(
    x: TensorLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: object = None,
    include_initial: bool = False,
    engine: Engine | None = None,
) -> Tensor:
    """`cumsum` by the array API: of a vector without an axis, in a type that may be named, from 0 on if asked.

    >>> cumulative_sum([1, 2, 3], include_initial=True).numpy().tolist()
    [0, 1, 3, 6]

    Raises TensorError for an axis that is not there, and for a tensor of several axes without one.
    """
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, engine)


def cumulative_prod(
    x: TensorLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: object = None,
    include_initial: bool = False,
    engine: Engine | None = None,
) -> Tensor:
    """`cumprod` by the array API: of a vector without an axis, in a type that may be named, from 1 on if asked.

    >>> cumulative_prod([1, 2, 3, 4], include_initial=True).numpy().tolist()
    [1, 1, 2, 6, 24]

    Raises TensorError for an axis that is not there, and for a tensor of several axes without one.
    """
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, engine)


def _cumulative(
    call: str, x: TensorLike, axis: SupportsIndex | None, dtype: object, initial: bool, engine: Engine | None
) -> Tensor:
    tensor = as_tensor(x)
    rank, scan = len(mode_sizes(tensor)), call.replace("ulative_", "")
    if not rank:
        raise TensorError(f"{call}({tensor}): it has no axis; give a tensor with one, as [x]")
    if axis is None and rank > 1:
        raise TensorError(f"{call}({tensor}): it has {rank} axes; name one")
    (along,) = rules.chosen_axes(call, rank, (0 if axis is None else axis,))
    given = tensor if dtype is None else astype(tensor, dtype, engine=engine)
    found = scanned(scan, given, along, engine, None)
    found = found if dtype is None else astype(found, dtype, engine=engine)
    if not initial:
        return found
    shape = [1 if at == along else size for at, size in enumerate(mode_sizes(found))]
    first = np.full(shape, scan == "cumprod", found.dtype.numpy)
    return concat([first, found], along, engine=engine)


def log_softmax(x: TensorLike, axis: SupportsIndex = -1, *, engine: Engine | None = None) -> Tensor:
    """x - logsumexp(x) along an axis: the logarithm of softmax.

    >>> np.exp(log_softmax([0.0, 0.0]).numpy()).round(4).tolist()
    [0.5, 0.5]

    Raises TensorError for what is no array of numbers, and for an axis that is not there.
    """
    total = logsumexp(x, (axis,), keepdims=True, engine=engine)
    return operation(functions.FUNCTIONS["sub"])(x, total, engine=engine)


def count_nonzero(x: TensorLike, axis: Axes = None, *, keepdims: bool = False, engine: Engine | None = None) -> Tensor:
    """How many elements over the axes are not 0, as i32.

    >>> count_nonzero([0, 3, 0, 1]).numpy().item()
    2

    Raises TensorError for what is no array of numbers.
    """
    return sum(astype(x, "bool", engine=engine), axis, keepdims=keepdims, engine=engine)
