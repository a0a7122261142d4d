"""Statistics over any axes: variance, standard deviation, log-sum-exp, norms; and sums and products so far along one.

Law: each is what its formula gives in exact numbers, rounded to the type of the result: a type of fractions, but for
sums and products so far, whose types are those of `sum` and `prod`. f16 is computed in f32. NumPy computes the host's
in f64, a block at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from operator import index
from typing import SupportsIndex

import numpy as np

from ..tensor.bulk import load_all, mode_sizes
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .gathered import BLOCK, blocks_of, pieces
from .home import library_of
from .operand import Operand, tensor_of, wrap
from .rules import (
    OF_NO_NUMBERS,
    Axes,
    check_order,
    chosen_axes,
    folded_shape,
    folded_type,
    statistic_type,
)


def var(x: Operand, axis: Axes = None, *, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The mean of the squared distances from the mean; with `correction` their sum over that many elements fewer.

    >>> var([1.0, 2.0, 3.0, 4.0]).numpy().item(), var([1.0, 2.0, 4.0], correction=1).numpy().item()
    (1.25, 2.3333332538604736)

    Of no elements it is NaN. Raises TensorError for complex numbers.
    """
    return statistic("var", x, axis, correction, keepdims)


def std(x: Operand, axis: Axes = None, *, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The square root of the variance."""
    return statistic("std", x, axis, correction, keepdims)


def logsumexp(x: Operand, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))), also where exp(x) is beyond the type; of no elements -inf.

    >>> round(logsumexp([1000.0, 1000.0]).numpy().item(), 3)
    1000.693

    Raises TensorError for complex numbers.
    """
    return statistic("logsumexp", x, axis, 0, keepdims)


def norm(x: Operand, axis: Axes = None, *, order: float = 2, keepdims: bool = False) -> Tensor:
    """The length of the vectors along the axes: of order 1 the sum of the magnitudes, 2 the root of the sum of squares,
    infinite the greatest magnitude. Of no elements it is 0.

    >>> [norm([3.0, -4.0], order=p).numpy().item() for p in (1, 2, float("inf"))]
    [7.0, 5.0, 4.0]

    Raises TensorError for another order and for complex numbers. Source: NumPy, `linalg.vector_norm`.
    """
    return statistic("norm", x, axis, check_order(order), keepdims)


def cumsum(x: Operand, axis: SupportsIndex) -> Tensor:
    """The sum of the elements so far, along an axis.

    >>> cumsum([[1, 2], [3, 4]], 0).numpy().tolist()
    [[1, 2], [4, 6]]

    Raises TensorError for an axis that is not there.
    """
    return scanned("cumsum", x, axis)


def cumprod(x: Operand, axis: SupportsIndex) -> Tensor:
    """The product of the elements so far, along an axis. Raises TensorError for an axis that is not there."""
    return scanned("cumprod", x, axis)


def statistic(call: str, x: Operand, axes: Axes, option: float, keepdims: bool) -> Tensor:
    """The statistic of this name, where the operand lives; `option` is the correction, or the order of a norm."""
    library = library_of(x)
    if library is not None:
        return library.statistic(call, x, axes, option, keepdims)
    tensor = tensor_of(x)
    sizes = mode_sizes(tensor)
    over, result = chosen_axes(call, len(sizes), axes), statistic_type(call, tensor.dtype)
    blocks = blocks_of(tensor)
    kept = tuple(axis for axis in range(len(sizes)) if axis not in over)
    found = np.full([sizes[axis] for axis in kept], OF_NO_NUMBERS[call], np.float64)
    each = prod(sizes[axis] for axis in over)
    turned = blocks.transpose(kept + over)
    if each and found.size:
        with np.errstate(all="ignore"):
            for part in pieces(found.shape, lambda part: prod(part) * each <= BLOCK or prod(part) == 1):
                block = np.asarray(turned[part], np.float64)
                found[part] = _STATISTICS[call](block.reshape((*block.shape[: len(kept)], each)), option)
    with np.errstate(over="ignore"):
        return wrap(found.reshape(folded_shape(sizes, over, keepdims)), result)


def _variance(x: Array, correction: float) -> Array:
    squares = np.square(x - x.mean(-1, keepdims=True)).sum(-1)
    return np.asarray(squares / np.maximum(x.shape[-1] - correction, 0))


def _log_of_sum(x: Array, _option: float) -> Array:
    return np.asarray(np.logaddexp.reduce(x, -1))


def _norm(x: Array, order: float) -> Array:
    sizes = np.abs(x)
    if order == 2:
        return np.asarray(np.sqrt(np.square(sizes).sum(-1)))
    return np.asarray(sizes.max(-1) if order == inf else sizes.sum(-1))


_STATISTICS: dict[str, Callable[[Array, float], Array]] = {
    "var": _variance,
    "std": lambda x, correction: np.sqrt(_variance(x, correction)),
    "logsumexp": _log_of_sum,
    "norm": _norm,
}


def scanned(call: str, x: Operand, axis: SupportsIndex) -> Tensor:
    """The sums or the products so far, where the operand lives."""
    library = library_of(x)
    if library is not None:
        return library.scanned(call, x, index(axis))
    tensor = tensor_of(x)
    (along,) = chosen_axes(call, len(mode_sizes(tensor)), (axis,))
    result = folded_type({"cumsum": "sum", "cumprod": "prod"}[call], tensor.dtype)
    with np.errstate(all="ignore"):
        function = np.add if call == "cumsum" else np.multiply
        return wrap(function.accumulate(load_all(tensor), along, result.accumulator.numpy), result)
