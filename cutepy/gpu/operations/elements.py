"""The functions of `ops` on single elements inside a kernel: the same table and types, spelt in the kernel's language.

Law: `apply(f, a, b)` is what `ops.f` gives for these elements; of f16 it is kept in f32 until it is stored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...errors import KernelError
from ...ops.functions import Function
from ...ops.rules import Number, Typed, Weak, check_number, result_type
from ...tensor.dtypes import DType, bool_, f32, i32, u32
from ..ir import Const, Expr, as_expr, call, cast, select

LARGEST = 3.4028234663852886e38
"""The greatest finite f32."""


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """A value of one element: its expression, and the type that the rules know it by. f16 is computed in f32."""

    value: Expr
    dtype: DType | Weak


Operand: TypeAlias = Element | Number


def apply(function: Function, *operands: Operand) -> Element:
    """What `function` gives for these elements. Raises as the rules do."""
    taken, result = function.types(*map(type_of, operands))
    used = [_taken(operand, dtype.accumulator) for operand, dtype in zip(operands, taken, strict=True)]
    return Element(_SPELT[function.name](*used), result)


def type_of(operand: Operand) -> Typed:
    """What the rules know of an operand: its type, or the number itself."""
    return operand.dtype if isinstance(operand, Element) else operand


def _taken(operand: Operand, dtype: DType) -> Expr:
    if isinstance(operand, Element):
        return _true(operand.value) if dtype is bool_ else cast(operand.value, dtype)
    return as_expr(rounded(operand, dtype), dtype)


def rounded(number: Number, dtype: DType) -> Number:
    """A Python number as an element of `dtype`: what is beyond the greatest float is infinite."""
    with np.errstate(over="ignore"):
        found: Number = np.asarray(number).astype(dtype.numpy).item()
    return found


def convert(operand: Operand, dtype: DType) -> Element:
    """The element in another type: NaN to 0 where that holds whole numbers; to f16 it is rounded at once."""
    if not isinstance(operand, Element):
        check_number(f"as {dtype}", operand, dtype)
        return Element(_taken(operand, dtype.accumulator), dtype)
    value = operand.value
    if value.dtype.kind == "f" and dtype.kind in "iu":
        value = select(_compare("==", value, value), value, as_expr(0, value.dtype))
    rounded_once = _true(value) if dtype is bool_ else cast(value, dtype)
    return Element(cast(rounded_once, dtype.accumulator), dtype)


def _compare(symbol: str, left: Expr, right: Expr) -> Expr:
    return Expr.operate(symbol, left, right)


def _named(name: str) -> Callable[..., Expr]:
    return lambda *values: call(name, *values)


def _by_kind(whole: Callable[..., Expr], fraction: Callable[..., Expr]) -> Callable[..., Expr]:
    """One spelling for integers, another for floats."""
    return lambda *values: (whole if values[0].dtype.kind in "iu" else fraction)(*values)


def _or_bool(truth: Callable[..., Expr], other: Callable[..., Expr]) -> Callable[..., Expr]:
    """One spelling for bool, another for numbers."""
    return lambda *values: (truth if values[0].dtype is bool_ else other)(*values)


def _unchanged(x: Expr) -> Expr:
    return x


def _differ(a: Expr, b: Expr) -> Expr:
    """Not equal: naga's != is false of NaN."""
    return _on_bits("!=")(a, b) if a.dtype.kind != "f" else ~_compare("==", a, b)


def _true(x: Expr) -> Expr:
    """Whether x is not 0, as NaN is."""
    return ~_compare("==", x, as_expr(0.0, x.dtype)) if x.dtype.kind == "f" else cast(x, bool_)


def _negative(x: Expr) -> Expr:
    return as_expr(0, u32) - x if x.dtype is u32 else -x


def _sign(x: Expr) -> Expr:
    kept = x if x.dtype.kind == "f" else as_expr(0, x.dtype)  # 0, or NaN
    return select(x > 0, as_expr(1, x.dtype), select(x < 0, as_expr(-1, x.dtype), kept))


def _is_nan(x: Expr) -> Expr:
    return ~_compare("==", x, x) if x.dtype.kind == "f" else as_expr(False, bool_)


def _is_infinite(x: Expr) -> Expr:
    return abs(x) > LARGEST if x.dtype.kind == "f" else as_expr(False, bool_)


def _is_finite(x: Expr) -> Expr:
    return abs(x) <= LARGEST if x.dtype.kind == "f" else as_expr(True, bool_)


def _not_a_number(x: Expr) -> Expr:
    """NaN, made of a value so that no compiler finds it too early."""
    return call("sqrt", -1.0 - abs(x))


def _within_one(name: str) -> Callable[[Expr], Expr]:
    """A function that is NaN beyond 1: what WGSL leaves open."""
    return lambda x: select(abs(x) <= 1, call(name, x), _not_a_number(x))


def _exp_less_1(x: Expr) -> Expr:
    """exp(x) - 1 cancels near 0: there the series, to a relative error of 2**-24 within 0.3."""
    series: Expr = as_expr(1 / 5040, f32)
    for n in (720, 120, 24, 6, 2, 1):
        series = series * x + 1 / n
    return select(abs(x) < 0.3, series * x, call("exp", x) - 1.0)


def _log_of_1_and(x: Expr) -> Expr:
    """log(1 + x) loses x near 0: there log((1 + s) / (1 - s)) = 2 (s + s**3 / 3 + ...) with s = x / (2 + x)."""
    s = x / (x + 2.0)
    square = s * s
    series: Expr = as_expr(1 / 9, f32)
    for n in (7, 5, 3, 1):
        series = series * square + 1 / n
    return select(abs(x) < 0.3, 2.0 * s * series, call("log", x + 1.0))


def _quotient(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """floordiv and mod of floats: the floor of the rounded quotient may be off by 1, its exact rest says so."""
    quotient = call("floor", a / b)
    rest = call("fma", -quotient, b, a)
    below, above = (rest < 0) == (b > 0), abs(rest) >= abs(b)
    low = below & ~_compare("==", rest, as_expr(0.0, f32))
    quotient, rest = (
        select(low, down, select(above & ~low, up, kept))
        for down, up, kept in ((quotient - 1.0, quotient + 1.0, quotient), (rest + b, rest - b, rest))
    )
    beyond = _is_infinite(b) & _is_finite(a)
    alike = _compare("==", a, as_expr(0.0, f32)) | _compare("==", a > 0, b > 0)
    quotient = select(_is_finite(a), quotient, _not_a_number(a))
    quotient = select(beyond, select(alike, as_expr(0.0, f32), as_expr(-1.0, f32)), quotient)
    return quotient, select(beyond, select(alike, a, b), rest)


def _angle(a: Expr, b: Expr) -> Expr:
    """WGSL leaves the angle of the origin open, and that of NaN."""
    origin = _compare("==", abs(a) + abs(b), as_expr(0.0, f32))
    angle = select(origin, as_expr(0.0, f32), call("atan2", a, b))
    return select(_is_nan(a) | _is_nan(b), _not_a_number(a), angle)


def _whole_quotient(a: Expr, b: Expr) -> Expr:
    """NumPy's quotient by 0 is 0, the kernel language's is `a`."""
    return select(_compare("==", b, as_expr(0, b.dtype)), as_expr(0, a.dtype), a // b)


def _float_power(base: Expr, exponent: Expr) -> Expr:
    """WGSL's pow is for positive bases: the sign follows a whole exponent, and there is none for others."""
    if isinstance(exponent, Const) and exponent.value in range(1, 17):
        return base ** int(exponent.value)
    size = call("pow", abs(base), exponent)
    whole = _compare("==", call("floor", exponent), exponent)
    half = exponent * 0.5
    odd = whole & ~_compare("==", call("floor", half), half)
    whole = whole | _is_infinite(base)
    zero, one, nan = as_expr(0.0, f32), as_expr(1.0, f32), _not_a_number(base)
    signed = select(base < 0, select(whole, select(odd, -size, size), nan), size)
    signed = select(_compare("==", base, zero) & (exponent < 0), one / abs(base), signed)
    signed = select(_is_nan(base) | _is_nan(exponent), nan, signed)
    always_1 = _compare("==", exponent, zero) | _compare("==", base, one)
    always_1 = always_1 | (_compare("==", base, -one) & _is_infinite(exponent))
    return select(always_1, one, signed)


def _whole_power(base: Expr, exponent: Expr) -> Expr:
    """By squares, over the bits of the exponent; 0 where that is negative."""
    found, bits = as_expr(1, base.dtype), cast(exponent, u32)
    known = int(exponent.value) if isinstance(exponent, Const) else (1 << exponent.dtype.bits) - 1
    for place in range(known.bit_length() - (exponent.dtype is i32 and not isinstance(exponent, Const))):
        used = _compare("!=", (bits >> place) & 1, as_expr(0, u32))
        found = select(used, found * base, found)
        base = base * base
    return select(exponent < 0, as_expr(0, base.dtype), found) if exponent.dtype is i32 else found


def _on_bits(symbol: str) -> Callable[[Expr, Expr], Expr]:
    """A comparison; of bool, of the numbers 0 and 1."""
    return lambda a, b: _compare(symbol, *((cast(a, u32), cast(b, u32)) if a.dtype is bool_ else (a, b)))


_SPELT: dict[str, Callable[..., Expr]] = {
    **{name: _named(name) for name in "exp exp2 log log2 sqrt sin cos tan atan sinh cosh tanh".split()},
    **{name: _by_kind(_unchanged, _named(name)) for name in "floor ceil round trunc".split()},
    **{name: _on_bits(symbol) for name, symbol in {"eq": "==", "lt": "<", "le": "<="}.items()},
    **{name: _on_bits(symbol) for name, symbol in {"gt": ">", "ge": ">="}.items()},
    "ne": _differ,
    "expm1": _exp_less_1,
    "log1p": _log_of_1_and,
    "rsqrt": _named("inverseSqrt"),
    "reciprocal": lambda x: 1.0 / x,
    "asin": _within_one("asin"),
    "acos": _within_one("acos"),
    "sigmoid": lambda x: 1.0 / (1.0 + call("exp", -x)),
    "abs": lambda x: x if x.dtype.kind in "bu" else abs(x),
    "neg": _negative,
    "sign": _sign,
    "square": lambda x: x * x,
    "bitwise_not": operator.invert,
    "isnan": _is_nan,
    "isinf": _is_infinite,
    "isfinite": _is_finite,
    "logical_not": lambda x: ~_true(x),
    "add": _or_bool(operator.or_, operator.add),
    "sub": operator.sub,
    "mul": _or_bool(operator.and_, operator.mul),
    "div": operator.truediv,
    "atan2": _angle,
    "floordiv": _by_kind(_whole_quotient, lambda a, b: _quotient(a, b)[0]),
    "mod": _by_kind(operator.mod, lambda a, b: _quotient(a, b)[1]),
    "pow": _by_kind(_whole_power, _float_power),
    "minimum": _or_bool(operator.and_, _named("nan_min")),
    "maximum": _or_bool(operator.or_, _named("nan_max")),
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": _or_bool(_on_bits("!="), operator.xor),
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "logical_and": lambda a, b: _true(a) & _true(b),
    "logical_or": lambda a, b: _true(a) | _true(b),
    "fma": _by_kind(lambda a, b, c: a * b + c, _named("fma")),
    "where": select,
}
"""How each function of the table is written in a kernel, for operands that have their type."""


def in_one_type(name: str, function: Callable[..., object]) -> Callable[..., Element]:
    """A function of the kernel language over elements: they meet in one type before it is called, bool stays bool."""

    def element(*operands: Operand) -> Element:
        met = result_type(name, *map(type_of, operands))
        kept = [isinstance(x, Element) and x.value.dtype is bool_ for x in operands]
        used = [_taken(x, bool_ if stays else met.accumulator) for x, stays in zip(operands, kept, strict=True)]
        found = function(*used)
        if not isinstance(found, Expr):
            if not isinstance(found, bool | int | float):
                raise KernelError(f"{name}: it gives {type(found).__name__}; return an element")
            return Element(_taken(found, met.accumulator), met)
        return Element(found, met if found.dtype is met.accumulator else found.dtype)

    return element
