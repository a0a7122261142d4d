"""Operations element by element: the table of `functions`, over tensors.

Law: `op(a, b)[i] == op(a[i], b[i])` over shapes broadcast by NumPy's rule, in the types that `rules` says. f16 is
computed in f32; integers wrap; nothing warns about infinities or NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, overload

import numpy as np

from ..errors import TensorError
from ..gpu import Expr
from ..gpu.operations import elements, place_of
from ..gpu.operations.pointwise import converted as converted_by_kernel
from ..gpu.operations.pointwise import of_function
from ..tensor import Array, DType, Tensor, TensorLike, as_dtype, as_tensor, from_array, functions, rules
from .engine import Engine, Home, chosen, delivered, home_of, on_device
from .operand import Value, common_nesting, value_of


def elementwise(
    function: functions.Function, *operands: TensorLike, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """`function` of each element of the operands, by the engine that `chosen` names."""
    engine = chosen(function.name, engine, *operands, out)
    if engine != "numpy":
        # Lists become tensors; numbers and NumPy scalars stay what they are.
        given = [as_tensor(x) if isinstance(x, list | tuple) else x for x in operands]
        return of_function(function)(*given, engine=engine, out=out)
    return delivered(function.name, _by_numpy(function, *operands), out, engine)


def _by_numpy(function: functions.Function, *operands: TensorLike) -> Tensor:
    """`function` of each element of operands of the host."""
    # What the rules say: the type in which each operand takes part, the result's type and shape.
    values = [value_of(operand) for operand in operands]
    taken, result = function.types(*(value.typed for value in values))
    shape = rules.broadcast_shape(function.name, *(value.shape for value in values))
    # Nested modes stay where every operand has them.
    whole = all(value.tensor is None or value.shape == shape for value in values)
    nesting = common_nesting(values) if whole else None
    working = [dtype.accumulator.numpy for dtype in taken]
    arrays = [_as_taken(value, dtype) for value, dtype in zip(values, working, strict=True)]
    with np.errstate(all="ignore"):
        # NumPy's own functions convert in passing: no operand is copied whole. Others take converted arrays.
        if shape and isinstance(function.numpy, np.ufunc) and function.gives != "bool":
            out = np.empty(shape, result.numpy)
            function.numpy(*arrays, out=out, dtype=working[0], casting="unsafe")
            return from_array(out, result, nesting)
        found = function.numpy(*(array.astype(dtype, copy=False) for array, dtype in zip(arrays, working, strict=True)))
        return from_array(np.asarray(found), result, nesting)


def of_values(function: functions.Function, *operands: Any) -> Any:
    """`function` of single values of a kernel, or of the entries of object arrays, in the types that the rules say."""

    def single(*values: Any) -> Expr:
        given = (elements.Element(v, v.dtype) if isinstance(v, Expr) else v for v in values)
        return elements.stored(elements.apply(function, *given))

    many = any(isinstance(operand, np.ndarray) for operand in operands)
    return (np.frompyfunc(single, len(operands), 1) if many else single)(*operands)


def _as_taken(value: Value, dtype: str) -> Array:
    """The elements of an operand; a number in the type in which it takes part, infinite where that holds no more."""
    if value.tensor is not None:
        return value.array()
    with np.errstate(over="ignore"):
        return np.asarray(value.number).astype(dtype)


@cache
def operation(function: functions.Function) -> Callable[..., Tensor]:
    """The operation that `ops` has under the names of a function.

    >>> from cutepy.tensor.functions import NAMED
    >>> operation(NAMED["fma"])([2.0, 3.0], 10.0, 1.0).numpy().tolist()
    [21.0, 31.0]
    """

    def of_tensors(*operands: TensorLike, engine: Engine | None = None, out: Tensor | None = None) -> Tensor:
        if len(operands) != function.arity:
            raise TensorError(f"{function.name}: it takes {function.arity} operands, given are {len(operands)}")
        if engine is None and on_device(operands):
            return of_function(function)(*operands, out=out)
        if any(home_of(function.name, operand) is Home.VALUE for operand in operands):
            found: Tensor = of_values(function, *operands)
            return found
        return elementwise(function, *operands, engine=engine, out=out)

    of_tensors.__name__ = of_tensors.__qualname__ = function.name
    of_tensors.__doc__ = _documentation(function)
    return of_tensors


def _documentation(function: functions.Function) -> str:
    """The law of a function, what it gives for its sample, and what it refuses."""
    fractions = " Integers give f32." * (function.gives == "fraction")
    operands = list(map(list, function.sample))
    with np.errstate(all="ignore"):
        shown = functions.session(
            f"ops.{function.name}({{}}).numpy()", operands, _by_numpy(function, *operands).numpy()
        )
    refused = ["shapes that do not meet"] * (function.arity > 1) + [function.refused] * bool(function.refused)
    return (
        f"{function.law}{fractions}\n\n{shown}\n\nElement by element, over shapes that are broadcast by NumPy's rule. "
        f"Raises TensorError for {' and for '.join(refused) or 'what is no tensor, array or number'}."
    )


def clip(
    x: TensorLike,
    low: TensorLike | None = None,
    high: TensorLike | None = None,
    *,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """x, but not below `low` and not above `high`, where these are given; NaN where one of them is.

    >>> clip([-1.0, 0.5, 3.0], 0).numpy().tolist(), clip([-1.0, 0.5, 3.0], 0, 1).numpy().tolist()
    ([0.0, 0.5, 3.0], [0.0, 0.5, 1.0])

    The operands meet as shapes do by NumPy's rule. Raises TensorError where they do not, and for bool and
    complex numbers.
    """
    if low is None and high is None:
        return delivered("clip", as_tensor(x), out, chosen("clip", engine, x, out))
    if low is None or high is None:
        bound = high if low is None else low
        assert bound is not None
        return operation(functions.NAMED["minimum" if low is None else "maximum"])(x, bound, engine=engine, out=out)
    return operation(functions.NAMED["clip"])(x, low, high, engine=engine, out=out)


@overload
def astype(x: Expr, dtype: object) -> Expr: ...
@overload
def astype(x: TensorLike, dtype: object, *, engine: Engine | None = None) -> Tensor: ...
def astype(x: TensorLike | Expr, dtype: object, *, engine: Engine | None = None) -> Tensor | Expr:
    """`x` in another element type: floats to integers without their fraction, clamped; numbers to bool as "not 0".

    >>> astype([1.75, -1.75], "i32").numpy().tolist()
    [1, -1]

    Raises TensorError for what names no element type.
    """
    wanted = as_dtype(dtype)
    if isinstance(x, Expr):
        return elements.stored(elements.convert(elements.Element(x, x.dtype), wanted))
    engine = chosen("astype", engine, x)
    if engine != "numpy":
        tensor = as_tensor(x)
        return converted_by_kernel(place_of("astype", engine, [tensor]).bring(tensor), wanted, engine=engine)
    value = value_of(x)
    return from_array(converted(np.array(value.array()), wanted), wanted, common_nesting([value]))


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
        # Clamped in f64, where the ends of 32-bit integers are exact; NaN is 0.
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        wide = np.where(np.isnan(array), 0, np.clip(array.astype(np.float64), least, most))
        return np.where(wide < float(most), wide.astype(dtype.numpy), np.asarray(most, dtype.numpy))


def _part(
    call: str, x: TensorLike, of_complex: Callable[[Array], Array], of_real: Callable[[Tensor], Tensor]
) -> Tensor:
    """A part of complex numbers of the host, which no device computes with; of real ones what they have of it."""
    tensor = as_tensor(x)
    if tensor.dtype.kind != "c":
        return of_real(tensor)
    if chosen(call, None, tensor) != "numpy":
        raise TensorError(f"{call}({tensor}): no device computes with complex numbers; call it with t.to_device('cpu')")
    return from_array(np.array(of_complex(value_of(tensor).array())))


def real(x: TensorLike, /) -> Tensor:
    """The real parts; of real numbers themselves.

    >>> real(np.array([1 + 2j, 3], np.complex64)).numpy().tolist()
    [1.0, 3.0]

    Element by element, of a tensor of any shape. Raises TensorError for complex numbers on a device.
    """
    return _part("real", x, np.real, lambda tensor: tensor)


def imag(x: TensorLike, /) -> Tensor:
    """The imaginary parts; of real numbers 0.

    >>> imag(np.complex64([1 + 2j])).numpy().tolist()
    [2.0]

    Element by element, of a tensor of any shape. Raises TensorError for complex numbers on a device.
    """

    def none(tensor: Tensor) -> Tensor:
        nothing = np.zeros((), tensor.dtype.numpy)[()]
        return elementwise(functions.FUNCTIONS["where"], True, nothing, tensor)

    return _part("imag", x, np.imag, none)


def conj(x: TensorLike, /) -> Tensor:
    """The complex conjugates; of real numbers themselves.

    >>> conj(np.array([1 + 2j, 3], np.complex64)).numpy().tolist()
    [(1-2j), (3-0j)]

    Element by element, of a tensor of any shape. Raises TensorError for complex numbers on a device.
    """
    return _part("conj", x, np.conj, lambda tensor: tensor)


def positive(x: TensorLike, /) -> Tensor:
    """+x: the tensor itself. Raises TensorError for bool, which has no sign.

    >>> positive([1, -2]).numpy().tolist()
    [1, -2]

    Element by element, of a tensor of any shape.
    """
    tensor = as_tensor(x)
    if tensor.dtype.kind == "b":
        raise TensorError("positive: it is not defined on bool; convert with astype")
    return tensor


def isclose(x: TensorLike, y: TensorLike, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """True where |x - y| <= atol + rtol * |y|, where both are the same infinity, and, if asked, where both are NaN.

    >>> isclose([1.0, float("inf")], [1.000001, float("inf")]).numpy().tolist()
    [True, True]

    The operands meet as shapes do by NumPy's rule. Raises TensorError where they do not.
    """
    f = functions.FUNCTIONS
    x, y = (v if v.dtype.kind in "fc" else astype(v, rules.fraction_type(v.dtype)) for v in map(as_tensor, (x, y)))
    near = (abs(x - y) <= abs(y) * rtol + atol) & elementwise(f["isfinite"], y)
    found = near | elementwise(f["eq"], x, y)
    return found | elementwise(f["isnan"], x) & elementwise(f["isnan"], y) if equal_nan else found
