"""Statistics over any axes, by the rules of `ops`: variance, standard deviation, log-sum-exp, norms; cumulative folds.

Law: `ops.reductions`. Each element is read once. Here no axes named give a number; `ops` gives a tensor of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import SupportsIndex

import numpy as np

from ...layout import size
from ...ops import reductions as ops
from ...ops.rules import OF_NO_NUMBERS, Axes, check_order, chosen_axes, statistic_type
from ...tensor.bulk import mode_sizes
from ...tensor.dtypes import f32
from ...tensor.tensor import Tensor
from ..repeat import repeatable
from ..trace.folds import Fold
from .copies import filled
from .fold import RUN, fold_kernel, passes, plan_for
from .operand import Place, place_of, tensor_of
from .pointwise import converted, pointwise
from .reductions import Reduction, Result, folded
from .scan import scanned
from .softmax import softmax_sums_kernel
from .variance import variance_of_rows


@repeatable
def statistic(name: str, x: object, axes: Axes, option: float, keepdims: bool, engine: str) -> Tensor:
    """What the statistic of this name gives, where `x` is or `engine` computes."""
    tensor = tensor_of(name, x)
    call = Reduction(tensor, chosen_axes(name, len(mode_sizes(tensor)), axes), keepdims)
    dtype = statistic_type(name, tensor.dtype)
    place = place_of(name, engine, [tensor])
    if call.count == 0:
        return filled(place, place.new(call.shape, dtype), OF_NO_NUMBERS[name])
    out = place.new(call.shape, dtype)
    if not out.size:
        return out
    rows, target = replace(call, tensor=place.bring(tensor)).rows(out)
    if name == "norm":
        order = "norm1" if option == 1 else "norm2" if option == 2 else "norminf"
        for operands, static in passes(place, rows, target, Fold(order, dtype.accumulator)):
            place.run(fold_kernel, *operands, **static)
    elif name == "logsumexp":
        _log_of_sums(place, rows, target)
    else:
        variance_of_rows(place, rows, target, correction=float(option), root=name == "std")
    return out


def _log_of_sums(place: Place, x: Tensor, out: Tensor) -> None:
    """out[i, 0] = log(sum(exp(x[i, :]))), from the greatest and the sum below it of each split."""
    at = place.engine
    x = x if x.dtype.kind == "f" else converted(x, f32, engine=at)
    plan = plan_for(x, run=RUN // 4)
    tops, totals = (place.new((size(x, 0), plan.splits), f32) for _ in range(2))
    place.run(softmax_sums_kernel, x, tops, totals, plan=plan)
    if plan.splits > 1:
        top = folded("max", tops, 1, True, at)
        totals = folded("sum", pointwise("t * exp(a - b)")(totals, tops, top, engine=at), 1, True, at)
        tops = top
    pointwise("where(isinf(top) and top > 0, top, top + log(total))")(tops, totals, out=out, engine=at)


def _given(out: Tensor, axes: Axes, keepdims: bool) -> Result:
    if axes is not None or keepdims:
        return out
    number: np.generic = out.numpy().ravel()[0]
    return number


def var(x: object, axis: Axes = None, *, correction: float = 0, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The mean of the squared distances from the mean; with `correction` their sum over that many elements fewer.

    With no axes a number, else a tensor. Of no elements it is NaN.

    >>> print(var(np.float32([1, 2, 3, 4]), engine="numpy"))
    1.25
    """
    return _given(statistic("var", x, axis, correction, keepdims, engine), axis, keepdims)


def std(x: object, axis: Axes = None, *, correction: float = 0, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The square root of the variance. With no axes a number, else a tensor."""
    return _given(statistic("std", x, axis, correction, keepdims, engine), axis, keepdims)


def logsumexp(x: object, axis: Axes = None, *, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """log(sum(exp(x))), also where exp(x) is beyond the type. With no axes a number, else a tensor.

    >>> print(round(float(logsumexp(np.float32([1000, 1000]), engine="numpy")), 3))
    1000.693
    """
    return _given(statistic("logsumexp", x, axis, 0, keepdims, engine), axis, keepdims)


def norm(x: object, axis: Axes = None, *, order: float = 2, keepdims: bool = False, engine: str = "wgpu") -> Result:
    """The length of the vectors along the axes, of order 1, 2 or infinite. With no axes a number, else a tensor.

    >>> print(norm(np.float32([3, -4]), engine="numpy"), norm(np.float32([3, -4]), order=1, engine="numpy"))
    5.0 7.0

    Raises TensorError for another order.
    """
    return _given(statistic("norm", x, axis, check_order(order), keepdims, engine), axis, keepdims)


def _scan(call: Callable[..., Tensor], example: str, gives: str) -> Callable[..., Tensor]:
    name = call.__name__

    def scan(x: object, axis: SupportsIndex, *, engine: str = "wgpu") -> Tensor:
        return scanned(name, x, axis, engine)

    scan.__name__, scan.__qualname__ = name, name
    scan.__doc__ = f"""{str(call.__doc__).partition(">>>")[0].strip()}

    >>> {name}({example}, engine="numpy").numpy().tolist()
    {gives}
    """
    return scan


cumsum = _scan(ops.cumsum, "np.int32([[1, 2], [3, 4]]), 0", "[[1, 2], [4, 6]]")
cumprod = _scan(ops.cumprod, "np.int32([2, 3, 4]), 0", "[2, 6, 24]")
