"""Operations element by element: the table of `functions`, over tensors.

Law: `op(a, b)[i] == op(a[i], b[i])` over shapes broadcast by NumPy's rule, in the types that `rules` says. f16 is
computed in f32; integers wrap; nothing warns about infinities or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ..errors import TensorError
from ..tensor import DType, Tensor, as_dtype
from ..tensor.engine import Array
from .functions import Function
from .operand import Operand, Value, common_nesting, library_of, value_of, wrap
from .rules import broadcast_shape


def elementwise(function: Function, *operands: Operand) -> Tensor:
    """`function` of each element of the operands, where they live."""
    if (library := library_of(*operands)) is not None:
        return library.elementwise(function, operands)
    values = [value_of(operand) for operand in operands]
    taken, result = function.types(*(value.typed for value in values))
    shape = broadcast_shape(function.name, *(value.shape for value in values))
    whole = all(value.tensor is None or value.shape == shape for value in values)
    nesting = common_nesting(values) if whole else None
    working = [dtype.accumulator.numpy for dtype in taken]
    arrays = [_as_taken(value, dtype) for value, dtype in zip(values, working, strict=True)]
    with np.errstate(all="ignore"):
        if shape and isinstance(function.numpy, np.ufunc) and function.gives != "bool":
            out = np.empty(shape, result.numpy)  # cast in passing: no operand is copied whole
            function.numpy(*arrays, out=out, dtype=working[0], casting="unsafe")
            return wrap(out, result, nesting)
        found = function.numpy(*(array.astype(dtype, copy=False) for array, dtype in zip(arrays, working, strict=True)))
        return wrap(np.asarray(found), result, nesting)


def _as_taken(value: Value, dtype: str) -> Array:
    if value.tensor is not None:
        return value.array()
    with np.errstate(over="ignore"):
        return np.asarray(value.number).astype(dtype)


@cache
def operation(function: Function) -> Callable[..., Tensor]:
    """The operation that `ops` has under the names of a function.

    >>> from cutepy.ops.functions import NAMED
    >>> operation(NAMED["fma"])([2.0, 3.0], 10.0, 1.0).numpy().tolist()
    [21.0, 31.0]
    """

    def of_tensors(*operands: Operand) -> Tensor:
        if len(operands) != function.arity:
            raise TensorError(f"{function.name}: it takes {function.arity} operands, given are {len(operands)}")
        return elementwise(function, *operands)

    of_tensors.__name__ = of_tensors.__qualname__ = function.name
    of_tensors.__doc__ = function.law + (" Integers give f32." if function.gives == "fraction" else "")
    return of_tensors


def astype(x: Operand, dtype: object) -> Tensor:
    """`x` in another element type: floats to integers without their fraction, clamped; numbers to bool as "not 0".

    >>> astype([1.75, -1.75], "i32").numpy().tolist()
    [1, -1]
    """
    wanted = as_dtype(dtype)
    if (library := library_of(x)) is not None:
        return library.converted(x, wanted)
    value = value_of(x)
    return wrap(converted(np.array(value.array()), wanted), wanted, common_nesting([value]))


def converted(array: Array, dtype: DType) -> Array:
    """`array` as `dtype`: floats to integers without their fraction, clamped to the range, NaN to 0.

    >>> from cutepy.tensor import u32
    >>> converted(np.float32([1.75, -1, 1e20, np.nan]), u32).tolist()
    [1, 0, 4294967295, 0]

    Raises TensorError for complex numbers that would lose their imaginary part.
    """
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        raise TensorError(f"astype: {array.dtype} as {dtype} loses the imaginary part; convert .numpy().real or .imag")
    with np.errstate(all="ignore"):
        if array.dtype.kind != "f" or dtype.kind not in "iu":
            return array.astype(dtype.numpy)
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        wide = np.where(np.isnan(array), 0, np.clip(array.astype(np.float64), least, most))
        return np.where(wide < float(most), wide.astype(dtype.numpy), np.asarray(most, dtype.numpy))
