"""Operations element by element: unary, binary, comparisons, where, fused multiply-add.

Imports `operand`. Law: `op(a, b)[i] == op(a[i], b[i])` over shapes broadcast by NumPy's rule. f16 is computed in f32;
integers wrap; nothing warns about infinities or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import cast

import numpy as np

from ..errors import TensorError
from ..layout.int_tuple import IntTuple
from ..tensor.dtypes import DType, as_dtype, bool_, f32
from ..tensor.engine import Array, Scalars
from ..tensor.tensor import Tensor
from .operand import Operand, Value, broadcast_shape, common_nesting, number_as, promoted, value_of, wrap

TRACED: ContextVar[Callable[[str, tuple[Scalars, ...]], Scalars] | None] = ContextVar("traced", default=None)
"""Under a kernel trace: the expression of the named operation on single values."""


def _broadcast(name: str, values: list[Value]) -> tuple[tuple[int, ...], IntTuple | None]:
    """The shape of the result, and its nesting where every tensor has it."""
    shape = broadcast_shape(name, *(value.shape for value in values))
    whole = all(value.tensor is None or value.shape == shape for value in values)
    return shape, common_nesting(values) if whole else None


def _computed(name: str, function: Callable[..., Array], values: list[Value], result: DType, operands: DType) -> Tensor:
    """Apply `function` in the type `operands` (f32 for f16), round to `result`, and keep the nesting."""
    shape, nesting = _broadcast(name, values)
    arrays = [value.array() for value in values]
    if any(isinstance(array, np.ndarray) and array.dtype == object for array in arrays):
        return wrap(_by_element(name, arrays), result, nesting)
    working = operands.accumulator.numpy
    taken = [
        np.asarray(number_as(name, value.number, operands), working) if value.tensor is None else cast(Array, array)
        for value, array in zip(values, arrays, strict=True)
    ]
    with np.errstate(all="ignore"):
        if shape and isinstance(function, np.ufunc) and result is not bool_:
            out = np.empty(shape, result.numpy)
            function(*taken, out=out, dtype=working, casting="unsafe")
            return wrap(out, result, nesting)
        found = function(*(array.astype(working, copy=False) for array in taken))
        return wrap(np.asarray(found), result, nesting)


def _by_element(name: str, arrays: list[Scalars]) -> Array:
    traced = TRACED.get()
    if traced is None:
        raise TensorError(f"{name}: expressions, but no kernel is being traced")
    apply = np.frompyfunc(lambda *single: traced(name, single), len(arrays), 1)
    return np.asarray(apply(*arrays), object)


def _float_of(dtype: DType) -> DType:
    return dtype if dtype.kind == "f" else f32


def _unary(
    name: str, function: Callable[..., Array], law: str, *, floating: bool = True
) -> Callable[[Operand], Tensor]:
    def operation(x: Operand) -> Tensor:
        value = value_of(x)
        dtype = promoted(name, value)
        if floating:
            dtype = _float_of(dtype)
        elif dtype is bool_ and name != "abs":
            raise TensorError(f"{name} of bool: convert it with ops.astype, or use logical_not")
        used = np.positive if dtype.kind in "iu" and name in ("floor", "ceil", "round", "trunc") else function
        return _computed(name, used, [value], dtype, dtype)

    return _named(operation, name, law)


def _binary(name: str, function: Callable[..., Array], law: str) -> Callable[[Operand, Operand], Tensor]:
    def operation(a: Operand, b: Operand) -> Tensor:
        values = [value_of(a), value_of(b)]
        dtype = promoted(name, *values)
        if name in ("div", "atan2"):
            dtype = _float_of(dtype)
        if name == "pow" and dtype.kind in "iu":
            exponent = values[1].array()
            if np.any(np.asarray(exponent) < 0):
                raise TensorError("pow: an integer to a negative power is no integer; convert the base to f32")
        if dtype is bool_ and name in ("sub", "mod", "floordiv", "pow"):
            raise TensorError(f"{name} of bool: convert it with ops.astype")
        return _computed(name, function, values, dtype, dtype)

    return _named(operation, name, law)


def _comparison(name: str, function: Callable[..., Array], law: str) -> Callable[[Operand, Operand], Tensor]:
    def operation(a: Operand, b: Operand) -> Tensor:
        values = [value_of(a), value_of(b)]
        return _computed(name, function, values, bool_, promoted(name, *values))

    return _named(operation, name, law)


def _test(name: str, function: Callable[..., Array], law: str) -> Callable[[Operand], Tensor]:
    def operation(x: Operand) -> Tensor:
        value = value_of(x)
        return _computed(name, function, [value], bool_, promoted(name, value))

    return _named(operation, name, law)


def _named(operation: Callable[..., Tensor], name: str, law: str) -> Callable[..., Tensor]:
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = law
    return operation


exp = _unary("exp", np.exp, "e to the power x; integers give f32.")
exp2 = _unary("exp2", np.exp2, "2 to the power x; integers give f32.")
expm1 = _unary("expm1", np.expm1, "e to the power x, less 1, also right for small x.")
log = _unary("log", np.log, "The natural logarithm; -inf at 0, NaN below.")
log2 = _unary("log2", np.log2, "The logarithm to base 2.")
log1p = _unary("log1p", np.log1p, "The logarithm of 1 + x, also right for small x.")
sqrt = _unary("sqrt", np.sqrt, "The square root; NaN below 0.")
rsqrt = _unary("rsqrt", lambda x: np.reciprocal(np.sqrt(x)), "1 over the square root.")
reciprocal = _unary("reciprocal", np.reciprocal, "1 / x.")
sin = _unary("sin", np.sin, "The sine, x in radians.")
cos = _unary("cos", np.cos, "The cosine, x in radians.")
tan = _unary("tan", np.tan, "The tangent, x in radians.")
asin = _unary("asin", np.arcsin, "The inverse sine, in radians.")
acos = _unary("acos", np.arccos, "The inverse cosine, in radians.")
atan = _unary("atan", np.arctan, "The inverse tangent, in radians.")
sinh = _unary("sinh", np.sinh, "The hyperbolic sine.")
cosh = _unary("cosh", np.cosh, "The hyperbolic cosine.")
tanh = _unary("tanh", np.tanh, "The hyperbolic tangent.")
sigmoid = _unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), "1 / (1 + exp(-x)).")
abs = _unary("abs", np.abs, "The absolute value.", floating=False)
neg = _unary("neg", np.negative, "-x; u32 wraps.", floating=False)
sign = _unary("sign", np.sign, "-1, 0 or 1.", floating=False)
square = _unary("square", np.square, "x * x.", floating=False)
floor = _unary("floor", np.floor, "The greatest whole number that is not above x.", floating=False)
ceil = _unary("ceil", np.ceil, "The least whole number that is not below x.", floating=False)
round = _unary("round", np.rint, "The nearest whole number, halves to even.", floating=False)
trunc = _unary("trunc", np.trunc, "x without its fraction.", floating=False)
isnan = _test("isnan", np.isnan, "True where x is not a number.")
isinf = _test("isinf", np.isinf, "True where x is infinite.")
isfinite = _test("isfinite", np.isfinite, "True where x is neither infinite nor NaN.")
logical_not = _test("logical_not", np.logical_not, "True where x is 0.")

add = _binary("add", np.add, "a + b.")
sub = _binary("sub", np.subtract, "a - b.")
mul = _binary("mul", np.multiply, "a * b.")
div = _binary("div", np.true_divide, "a / b; integers give f32.")
floordiv = _binary("floordiv", np.floor_divide, "The greatest whole number that is not above a / b.")
mod = _binary("mod", np.remainder, "a - b * floordiv(a, b).")
pow = _binary("pow", np.power, "a to the power b.")
atan2 = _binary("atan2", np.arctan2, "The angle of the point (b, a), in radians.")
minimum = _binary("minimum", np.minimum, "The lesser of both; NaN where either is.")
maximum = _binary("maximum", np.maximum, "The greater of both; NaN where either is.")
eq = _comparison("eq", np.equal, "a == b, as bool.")
ne = _comparison("ne", np.not_equal, "a != b, as bool.")
lt = _comparison("lt", np.less, "a < b, as bool.")
le = _comparison("le", np.less_equal, "a <= b, as bool.")
gt = _comparison("gt", np.greater, "a > b, as bool.")
ge = _comparison("ge", np.greater_equal, "a >= b, as bool.")
logical_and = _comparison("logical_and", np.logical_and, "True where both are not 0.")
logical_or = _comparison("logical_or", np.logical_or, "True where one is not 0.")


def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """`a` where `condition` is not 0, else `b`.

    >>> where([True, False], 1.0, [5.0, 6.0]).numpy().tolist()
    [1.0, 6.0]
    """
    choice, values = value_of(condition), [value_of(a), value_of(b)]
    dtype = promoted("where", *values)
    _shape, nesting = _broadcast("where", [choice, *values])
    arrays = [value.array() for value in (choice, *values)]
    if any(isinstance(array, np.ndarray) and array.dtype == object for array in arrays):
        return wrap(_by_element("where", arrays), dtype, nesting)
    with np.errstate(all="ignore"):
        taken = [
            np.asarray(number_as("where", value.number, dtype) if value.tensor is None else array).astype(dtype.numpy)
            for value, array in zip(values, arrays[1:], strict=True)
        ]
    return wrap(np.where(np.asarray(arrays[0]).astype(bool), *taken), dtype, nesting)


def fma(a: Operand, b: Operand, c: Operand) -> Tensor:
    """a * b + c, with the product kept in f32 for f16.

    >>> fma([2.0, 3.0], 10.0, 1.0).numpy().tolist()
    [21.0, 31.0]
    """
    values = [value_of(a), value_of(b), value_of(c)]
    dtype = promoted("fma", *values)

    return _computed("fma", lambda x, y, z: x * y + z, values, dtype, dtype)


def astype(x: Operand, dtype: object) -> Tensor:
    """`x` converted to another element type: floats to integers without their fraction, numbers to bool as "not 0".

    >>> astype([1.75, -1.75], "i32").numpy().tolist()
    [1, -1]
    """
    value, wanted = value_of(x), as_dtype(dtype)
    array = value.array()
    if isinstance(array, np.ndarray) and array.dtype == object:
        return wrap(_by_element(f"as_{wanted}", [array]), wanted, common_nesting([value]))
    with np.errstate(all="ignore"):
        return wrap(np.array(array).astype(wanted.numpy), wanted, common_nesting([value]))
