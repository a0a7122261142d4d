"""Functions that a GPU does not have, or has by another law than NumPy's, said in what every GPU has.

Each takes the language of kernels and operands of one type: integers, bool, or f32. What WGSL leaves open is decided
here: zeros, the edge of a domain, and NaN and infinities, which a compiler may take never to occur; bits tell them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import factorial, pi
from typing import Any, Protocol, TypeAlias

from .dtypes import DType, bool_, f32, u32

Value: TypeAlias = Any
"""A value of a kernel: it has Python's operators."""


class Language(Protocol):
    """What a kernel can say beside operators. Numbers take the type of the values beside them."""

    def call(self, name: str, *values: Value) -> Value:
        """A function of WGSL."""

    def select(self, condition: Value, then: Value, other: Value) -> Value:
        """One of two values."""

    def cast(self, value: Value, dtype: DType) -> Value:
        """A value in another type."""

    def bits(self, value: Value, dtype: DType) -> Value:
        """The bits of a value as another type of the same width."""


Operator: TypeAlias = Callable[..., Value]
Decomposition: TypeAlias = Callable[..., Value]
"""What a function is made of: it takes a `Language` and the operands."""

_INFINITE, _SIGN, _REST, _UPPER_HALF = 0x7F800000, 0x80000000, 0x7FFFFFFF, 0xFFFFF000
LN2, LOG10_2 = 0.6931471805599453, 0.3010299956639812


def called(name: str) -> Decomposition:
    """The function of WGSL of this name."""
    return lambda k, *values: k.call(name, *values)


def operation(symbol: Operator) -> Decomposition:
    """An operator of Python."""
    return lambda k, *values: symbol(*values)


def by_kind(whole: Decomposition, fraction: Decomposition) -> Decomposition:
    """One way for integers, another for floats."""
    return lambda k, *values: (whole if values[0].dtype.kind in "iu" else fraction)(k, *values)


def or_bool(truth: Decomposition, other: Decomposition) -> Decomposition:
    """One way for bool, another for numbers."""
    return lambda k, *values: (truth if values[0].dtype is bool_ else other)(k, *values)


def for_floats(fraction: Decomposition, whole: bool) -> Decomposition:
    """A test of floats; integers and bool always, or never, pass it."""
    return lambda k, x: fraction(k, x) if x.dtype.kind == "f" else whole


def rounding(name: str) -> Decomposition:
    """A function of WGSL, which leaves integers as they are."""
    return by_kind(lambda k, x: x, called(name))


def on_bits(symbol: Operator) -> Decomposition:
    """A comparison; of bool, of the numbers 0 and 1."""
    return or_bool(lambda k, a, b: symbol(k.cast(a, u32), k.cast(b, u32)), operation(symbol))


def left_shift(k: Language, x: Value, amount: Value) -> Value:
    """0 by the width or more; a negative amount is one, as the bits of a number without a sign."""
    places, width = k.cast(amount, u32), x.dtype.bits
    return k.select(places < width, x << (places & (width - 1)), 0)


def right_shift(k: Language, x: Value, amount: Value) -> Value:
    """By the width or more what is left is the sign: 0, or -1 of a negative number."""
    places, width = k.cast(amount, u32), x.dtype.bits
    if x.dtype.kind == "i":
        return x >> k.call("min", places, width - 1)
    return k.select(places < width, x >> (places & (width - 1)), 0)


def is_true(k: Language, x: Value) -> Value:
    """Whether x is not 0, as NaN is."""
    return ~(x == 0.0) if x.dtype.kind == "f" else k.cast(x, bool_)


def differ(k: Language, a: Value, b: Value) -> Value:
    """Not equal: naga's != is false of NaN."""
    return ~(a == b) if a.dtype.kind == "f" else on_bits(operator.ne)(k, a, b)


def absolute(k: Language, x: Value) -> Value:
    """Unsigned integers and bool as they are."""
    return x if x.dtype.kind in "bu" else abs(x)


def negative(k: Language, x: Value) -> Value:
    """Unsigned integers wrap."""
    return 0 - x if x.dtype is u32 else -x


def sign(k: Language, x: Value) -> Value:
    """NaN as it is, 0 of either sign as 0."""
    other = k.select(is_nan(k, x), x, 0) if x.dtype.kind == "f" else 0
    return k.select(x > 0, 1, k.select(x < 0, -1, other))


def magnitude(k: Language, x: Value) -> Value:
    """The bits of a float without its sign: ordered as the floats are, infinity and then NaN above all."""
    return k.bits(x, u32) & _REST


def is_nan(k: Language, x: Value) -> Value:
    """Whether a float is NaN."""
    return magnitude(k, x) > _INFINITE


def is_infinite(k: Language, x: Value) -> Value:
    """Whether a float is infinite."""
    return magnitude(k, x) == _INFINITE


def is_finite(k: Language, x: Value) -> Value:
    """Whether a float is neither infinite nor NaN."""
    return magnitude(k, x) < _INFINITE


def sign_bit(k: Language, x: Value) -> Value:
    """Whether a number has a minus, as -0.0 has."""
    return k.bits(x, u32) >= _SIGN if x.dtype.kind == "f" else x.dtype.kind == "i" and x < 0


def copy_sign(k: Language, x: Value, y: Value) -> Value:
    """The magnitude of x with the sign of y."""
    return k.bits(magnitude(k, x) | (k.bits(y, u32) & _SIGN), f32)


def odd(name: str) -> Decomposition:
    """A function of a device that has the sign of its operand, of 0 too, and is NaN of NaN: devices forget both."""
    return lambda k, x: k.select(is_nan(k, x), x, copy_sign(k, k.call(name, x), x))


def not_a_number(k: Language, x: Value) -> Value:
    """NaN, made of a value so that no compiler finds it too early."""
    return k.call("sqrt", -1.0 - abs(x))


def within(condition: Callable[[Value], Value], inside: Decomposition) -> Decomposition:
    """A function that is NaN where the condition does not hold: what WGSL leaves open."""
    return lambda k, x: k.select(condition(x), inside(k, x), not_a_number(k, x))


def lesser(k: Language, a: Value, b: Value) -> Value:
    """The lesser of both, the other where one is NaN."""
    return _unless_nan(k, "min", a, b)


def greater(k: Language, a: Value, b: Value) -> Value:
    """The greater of both, the other where one is NaN."""
    return _unless_nan(k, "max", a, b)


def _unless_nan(k: Language, name: str, a: Value, b: Value) -> Value:
    result = k.call(name, a, b)
    return k.select(is_nan(k, a), b, k.select(is_nan(k, b), a, result)) if a.dtype.kind == "f" else result


def clip(k: Language, x: Value, low: Value, high: Value) -> Value:
    """NaN where one of the three is."""
    return k.call("nan_min", k.call("nan_max", x, low), high)


def exp_less_1(k: Language, x: Value) -> Value:
    """exp(x) - 1 cancels near 0: there the series, to a relative error of 2**-24 within 0.3."""
    # Horner's scheme for x + x^2/2! + ... + x^7/7!, 5040 = 7!.
    series: Value = 1 / 5040
    for n in (720, 120, 24, 6, 2, 1):
        series = series * x + 1 / n
    return k.select(abs(x) < 0.3, series * x, k.call("exp", x) - 1.0)


def log_of_1_and(k: Language, x: Value) -> Value:
    """log(1 + x) loses x near 0: there log((1 + s) / (1 - s)) = 2 (s + s**3 / 3 + ...) with s = x / (2 + x)."""
    s = x / (x + 2.0)
    square = s * s
    series: Value = 1 / 9
    for n in (7, 5, 3, 1):
        series = series * square + 1 / n
    return k.select(abs(x) < 0.3, 2.0 * s * series, k.call("log", x + 1.0))


def log_of_added_powers(k: Language, a: Value, b: Value) -> Value:
    """max(a, b) + log(1 + exp(-|a - b|)), an infinite distance counted as 200; of equal infinities themselves."""
    top, apart = k.call("nan_max", a, b), abs(a - b)
    beside = k.call("exp", -k.select(is_infinite(k, apart), 200.0, apart))
    return k.select(on_bits(operator.eq)(k, a, b), a + LN2, top + log_of_1_and(k, beside))


def log_of_1_and_power(k: Language, x: Value) -> Value:
    """max(x, 0) + log(1 + exp(-|x|)), as `log_of_added_powers` of x and 0."""
    beside = k.call("exp", -k.select(is_infinite(k, x), 200.0, abs(x)))
    return k.call("nan_max", x, 0.0) + log_of_1_and(k, beside)


def area_sine(k: Language, x: Value) -> Value:
    """log(|x| + sqrt(x**2 + 1)) with the sign of x; near 0 by log1p, beyond 2**30 without the square."""
    size = abs(x)
    square = size * size
    near = log_of_1_and(k, size + square / (k.call("sqrt", square + 1.0) + 1.0))
    return copy_sign(k, k.select(size < 2.0**30, near, k.call("log", size) + LN2), x)


def area_cosine(k: Language, x: Value) -> Value:
    """log(x + sqrt(x**2 - 1)); near 1 by log1p, beyond 2**30 without the square; NaN below 1."""
    more = x - 1.0
    near = log_of_1_and(k, more + k.call("sqrt", more * (x + 1.0)))
    return k.select(x >= 1, k.select(x < 2.0**30, near, k.call("log", x) + LN2), not_a_number(k, x))


def area_tangent(k: Language, x: Value) -> Value:
    """log((1 + x) / (1 - x)) / 2; near 0 by log1p, infinite at 1, NaN beyond."""
    size = abs(x)
    inside = 0.5 * log_of_1_and(k, 2.0 * size / (1.0 - size))
    return copy_sign(k, k.select(size <= 1, inside, not_a_number(k, x)), x)


def cube_root(k: Language, x: Value) -> Value:
    """By logarithms and a step of Newton's; the smallest are scaled by 2**72, what is 0 or infinite stays."""
    size = abs(x)
    small = size < 2.0**-100
    scaled = k.select(small, size * 2.0**72, size)
    root = k.call("exp2", k.call("log2", scaled) * (1 / 3))
    # One Newton step for r^3 = x: r - (r - x / r^2) / 3.
    root = root - (root - scaled / (root * root)) * (1 / 3)
    result = copy_sign(k, k.select(small, root * 2.0**-24, root), x)
    return k.select((scaled == 0.0) | ~is_finite(k, x), x, result)


def hypotenuse(k: Language, a: Value, b: Value) -> Value:
    """sqrt(a**2 + b**2) with the greater taken out, so that no square is beyond f32; infinite where one is."""
    a, b = abs(a), abs(b)
    large, small = k.call("max", a, b), k.call("min", a, b)
    # hypot = large * sqrt(1 + (small / large)^2): the square is at most 1.
    ratio = small / large
    length = k.select(large == 0.0, 0.0, large * k.call("sqrt", ratio * ratio + 1.0))
    length = k.select(is_nan(k, a) | is_nan(k, b), a + b, length)
    either = is_infinite(k, a) | is_infinite(k, b)
    return k.select(either, k.select(is_infinite(k, a), a, b), length)


def error_function(k: Language, x: Value) -> Value:
    """Near 0 the power series; elsewhere 1 less exp(-x**2) by a polynomial (Abramowitz and Stegun 7.1.26)."""
    size = abs(x)
    square = size * size
    series: Value = 0.0
    for n in range(12)[::-1]:
        series = series * square + (-1) ** n / (factorial(n) * (2 * n + 1))
    # Coefficients of 7.1.26, absolute error below 1.5e-7.
    t = 1.0 / (1.0 + 0.3275911 * size)
    tail: Value = 0.0
    for term in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = (tail + term) * t
    far = 1.0 - tail * k.call("exp", -square)
    value = k.select(size < 1, 1.1283791670955126 * size * series, k.select(size < 6, far, 1.0))
    return k.select(is_nan(k, x), x, copy_sign(k, value, x))


def step(k: Language, x: Value, middle: Value) -> Value:
    """0 below 0, 1 above, `middle` at 0, NaN of NaN."""
    return k.select(x < 0, 0.0, k.select(x > 0, 1.0, k.select(x == 0.0, middle, x)))


def _division_remainder(k: Language, a: Value, quotient: Value, b: Value) -> Value:
    """a - quotient * b without fma, which a device may round twice: products of halves are exact (Dekker)."""
    # Split into 12-bit halves: products of halves need at most 24 bits, so they are exact.
    first, high = (k.bits(k.bits(x, u32) & _UPPER_HALF, f32) for x in (quotient, b))
    second, low = quotient - first, b - high
    return (((a - first * high) - first * low) - second * high) - second * low


def _quotient(k: Language, a: Value, b: Value) -> tuple[Value, Value]:
    """floordiv and mod of floats: the floor of the rounded quotient may be off by 1, its exact rest says so.

    Not where |a| < |b|: there the quotient is 0 or -1, and the rest of -1 may round to b. NaN is put where it belongs:
    a compiler may take a / -a for -1 and 0 / a for 0.
    """
    quotient = k.call("floor", a / b)
    rest = k.select(b == 0.0, not_a_number(k, a), _division_remainder(k, a, quotient, b))
    # The rest must have the sign of b and be smaller than it; otherwise the quotient is off by one.
    below, above = (rest < 0) == (b > 0), (abs(rest) >= abs(b)) & (abs(a) >= abs(b))
    low = below & ~(rest == 0.0)
    quotient, rest = (
        k.select(low, down, k.select(above & ~low, up, kept))
        for down, up, kept in ((quotient - 1.0, quotient + 1.0, quotient), (rest + b, rest - b, rest))
    )
    beyond = is_infinite(k, b) & is_finite(k, a)
    alike = (a == 0.0) | ((a > 0) == (b > 0))
    none = is_nan(k, b) | ((b == 0.0) & (a == 0.0)) | (~(b == 0.0) & ~is_finite(k, a))
    quotient, rest = (k.select(none, not_a_number(k, a), x) for x in (quotient, rest))
    quotient = k.select(beyond, k.select(alike, 0.0, -1.0), quotient)
    rest = k.select(beyond, k.select(alike, a, b), rest)
    # A quotient of 0 has the sign of a / b, a rest of 0 that of b. By bits: to a compiler all zeros may be alike.
    differ = k.bits((k.bits(a, u32) ^ k.bits(b, u32)) & _SIGN, f32)
    return k.select(quotient == 0.0, differ, quotient), k.select(rest == 0.0, copy_sign(k, rest, b), rest)


def floor_quotient(k: Language, a: Value, b: Value) -> Value:
    """NumPy's quotient of integers by 0 is 0, the kernel language's is `a`."""
    return k.select(b == 0, 0, a // b) if a.dtype.kind in "iu" else _quotient(k, a, b)[0]


def floor_remainder(k: Language, a: Value, b: Value) -> Value:
    """a - b * floor(a / b)."""
    return a % b if a.dtype.kind in "iu" else _quotient(k, a, b)[1]


def angle(k: Language, a: Value, b: Value) -> Value:
    """WGSL leaves the angle of the origin open, and that of NaN; every angle has the sign of `a`, of 0 too."""
    origin = k.select(sign_bit(k, b), pi, 0.0)
    result = copy_sign(k, k.select(abs(a) + abs(b) == 0.0, origin, k.call("atan2", a, b)), a)
    return k.select(is_nan(k, a) | is_nan(k, b), not_a_number(k, a), result)


def _beside(k: Language, x: Value) -> Value:
    """sqrt(1 - x * x), right also where x is near 1: nothing cancels."""
    return k.call("sqrt", (1.0 - x) * (1.0 + x))


def angle_of_sine(k: Language, x: Value) -> Value:
    """Devices' own asin loses all but 11 bits near 1; the sign is that of x, of 0 too."""
    return copy_sign(k, k.call("atan2", abs(x), _beside(k, x)), x)


def angle_of_cosine(k: Language, x: Value) -> Value:
    """As `angle_of_sine`; it has no sign."""
    return k.call("atan2", _beside(k, x), x)


def power(k: Language, base: Value, exponent: Value) -> Value:
    """WGSL's pow is for positive bases: the sign follows a whole exponent, and there is none for others."""
    if base.dtype.kind in "iu":
        return _whole_power(k, base, exponent)
    constant = getattr(exponent, "value", None)
    if isinstance(constant, int | float) and constant in range(1, 17):
        return base ** int(constant)
    zero = abs(base) == 0.0
    size = k.select(zero & (exponent < 0), 1.0 / abs(base), k.call("pow", abs(base), exponent))
    whole = k.call("floor", exponent) == exponent
    # An exponent is odd if it is whole and its half is not.
    half = exponent * 0.5
    odd = whole & ~(k.call("floor", half) == half)
    whole = whole | is_infinite(k, base)
    nan = not_a_number(k, base)
    # -0.0 and -inf have powers by every exponent, and their sign by odd ones. By bits: -0.0 is not below 0.
    signed = k.select(odd & sign_bit(k, base), copy_sign(k, size, base), size)
    signed = k.select((base < 0) & ~whole, nan, signed)
    signed = k.select(is_nan(k, base) | is_nan(k, exponent), nan, signed)
    always_1 = (exponent == 0.0) | (base == 1.0) | ((base == -1.0) & is_infinite(k, exponent))
    return k.select(always_1, 1.0, signed)


def _whole_power(k: Language, base: Value, exponent: Value) -> Value:
    """By squares, over the bits of the exponent; 0 where that is negative."""
    signed, constant = exponent.dtype.kind == "i", getattr(exponent, "value", None)
    most = constant if isinstance(constant, int) else (1 << exponent.dtype.bits - signed) - 1
    result, bits = base * 0 + 1, k.cast(exponent, u32)
    # Square and multiply.
    for bit in range(max(0, most).bit_length()):
        result = k.select((bits >> bit) & 1 != 0, result * base, result)
        base = base * base
    return k.select(exponent < 0, 0, result) if signed else result


def high_product(k: Language, a: Value, b: Value) -> Value:
    """The upper half of a product of 32 bits each, of products of 16; `>>` keeps the sign of what may be negative."""
    (a_low, a_high), (b_low, b_high) = ((x & 0xFFFF, x >> 16) for x in (a, b))
    low = k.cast(k.cast(a_low, u32) * k.cast(b_low, u32) >> 16, a.dtype)
    middle = a_high * b_low + low
    rest = (middle & 0xFFFF) + a_low * b_high
    return a_high * b_high + (middle >> 16) + (rest >> 16)
