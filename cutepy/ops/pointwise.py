"""Operations element by element: the table of `functions`, over tensors.

Law: `op(a, b)[i] == op(a[i], b[i])` over shapes broadcast by NumPy's rule, in the types that `rules` says. f16 is
computed in f32; integers wrap; nothing warns about infinities or NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..tensor.dtypes import as_dtype
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .functions import FUNCTIONS, Function, converted
from .home import library_of
from .operand import Operand, Value, common_nesting, value_of, wrap
from .rules import broadcast_shape


def elementwise(function: Function, *operands: Operand) -> Tensor:
    """`function` of each element of the operands, where they live."""
    library = library_of(*operands)
    if library is not None:
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


def _of_one(name: str) -> Callable[[Operand], Tensor]:
    function = FUNCTIONS[name]

    def operation(x: Operand) -> Tensor:
        return elementwise(function, x)

    operation.__name__, operation.__qualname__, operation.__doc__ = name, name, function.law
    return operation


def _of_two(name: str) -> Callable[[Operand, Operand], Tensor]:
    function = FUNCTIONS[name]

    def operation(a: Operand, b: Operand) -> Tensor:
        return elementwise(function, a, b)

    operation.__name__, operation.__qualname__, operation.__doc__ = name, name, function.law
    return operation


exp = _of_one("exp")
exp2 = _of_one("exp2")
expm1 = _of_one("expm1")
log = _of_one("log")
log2 = _of_one("log2")
log1p = _of_one("log1p")
sqrt = _of_one("sqrt")
rsqrt = _of_one("rsqrt")
reciprocal = _of_one("reciprocal")
sin = _of_one("sin")
cos = _of_one("cos")
tan = _of_one("tan")
asin = _of_one("asin")
acos = _of_one("acos")
atan = _of_one("atan")
sinh = _of_one("sinh")
cosh = _of_one("cosh")
tanh = _of_one("tanh")
sigmoid = _of_one("sigmoid")
abs = _of_one("abs")
neg = _of_one("neg")
sign = _of_one("sign")
square = _of_one("square")
floor = _of_one("floor")
ceil = _of_one("ceil")
round = _of_one("round")
trunc = _of_one("trunc")
bitwise_not = _of_one("bitwise_not")
isnan = _of_one("isnan")
isinf = _of_one("isinf")
isfinite = _of_one("isfinite")
logical_not = _of_one("logical_not")

add = _of_two("add")
sub = _of_two("sub")
mul = _of_two("mul")
div = _of_two("div")
floordiv = _of_two("floordiv")
mod = _of_two("mod")
pow = _of_two("pow")
atan2 = _of_two("atan2")
minimum = _of_two("minimum")
maximum = _of_two("maximum")
bitwise_and = _of_two("bitwise_and")
bitwise_or = _of_two("bitwise_or")
bitwise_xor = _of_two("bitwise_xor")
left_shift = _of_two("left_shift")
right_shift = _of_two("right_shift")
eq = _of_two("eq")
ne = _of_two("ne")
lt = _of_two("lt")
le = _of_two("le")
gt = _of_two("gt")
ge = _of_two("ge")
logical_and = _of_two("logical_and")
logical_or = _of_two("logical_or")


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """`a` where `condition` is not 0, else `b`.

    >>> where([True, False], 1.0, [5.0, 6.0]).numpy().tolist()
    [1.0, 6.0]
    """
    return elementwise(FUNCTIONS["where"], condition, a, b)


def fma(a: Operand, b: Operand, c: Operand) -> Tensor:
    """a * b + c, with the product kept in f32 for f16.

    >>> fma([2.0, 3.0], 10.0, 1.0).numpy().tolist()
    [21.0, 31.0]
    """
    return elementwise(FUNCTIONS["fma"], a, b, c)


def astype(x: Operand, dtype: object) -> Tensor:
    """`x` in another element type: floats to integers without their fraction, clamped; numbers to bool as "not 0".

    >>> astype([1.75, -1.75], "i32").numpy().tolist()
    [1, -1]
    """
    wanted = as_dtype(dtype)
    library = library_of(x)
    if library is not None:
        return library.converted(x, wanted)
    value = value_of(x)
    return wrap(converted(np.array(value.array()), wanted), wanted, common_nesting([value]))
