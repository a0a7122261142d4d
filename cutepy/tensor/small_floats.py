"""Floats of 8 and 16 bits that no GPU computes with: from their bits to f32, and back by rounding once.

Law: `widened` is exact, of subnormal numbers too; `narrowed` is the nearest number, of two the one whose last bit is 0.
Bits are moved as whole numbers, for a device may take subnormal numbers for 0 and round as it likes; what is computed
of floats has normal operands, and is exact where it is used.
"""

from __future__ import annotations

from .decompositions import Language, Value
from .dtypes import SmallFloat, f32, u32

_NAN, _INFINITE, _ONE, _REST, _SIGN = 0x7FC00000, 0x7F800000, 0x00800000, 0x7FFFFFFF, 0x80000000
#: Bits of the fraction of f32, and its bias.
_FRACTION, _BIAS = 23, 127


def widened(k: Language, field: Value, dtype: SmallFloat) -> Value:
    """The f32 of which `field`, a u32, has the bits."""
    if dtype.bias == _BIAS:  # f32 cut short
        return k.bits(field << 32 - dtype.bits, f32)
    magnitude = field & (1 << dtype.bits - 1) - 1
    moved = magnitude << _FRACTION - dtype.fraction
    # With an exponent of 0 a fraction has no 1 before it: y is 2^-bias (1 + fraction), and twice the fraction is meant.
    # 2 y - 2^(1 - bias) is that, less than y, and of all other y at least y.
    y = k.bits(moved + (_BIAS - dtype.bias << _FRACTION), f32)
    bits = k.bits(k.call("min", y, y * 2.0 - 2.0 ** (1 - dtype.bias)), u32)
    beyond = moved | _INFINITE if dtype.infinities else _NAN
    bits = k.select(magnitude > dtype.greatest, beyond, bits)
    return k.bits(bits | (field << 32 - dtype.bits) & _SIGN, f32)


def narrowed(k: Language, value: Value, dtype: SmallFloat) -> Value:
    """The bits, as a u32, of the element nearest to `value`, an f32; NaN stays NaN."""
    first, lost = _BIAS + 1 - dtype.bias, _FRACTION - dtype.fraction
    given = k.bits(value, u32)
    magnitude = given & _REST
    # 1. The significand, and the exponent that it is for; subnormal numbers have that of the least normal one.
    exponent = k.call("max", magnitude >> _FRACTION, 1)
    significand = (magnitude & _ONE - 1) | k.cast(magnitude >= _ONE, u32) << _FRACTION
    # 2. Below the least normal number more bits are lost; of 25 none is left.
    lost = k.call("min", lost + first - k.call("min", exponent, first), _FRACTION + 2)
    rounded = significand + (1 << lost - 1) - 1 + (significand >> lost & 1) >> lost
    # 3. A carry out of the fraction is one more in the exponent.
    bits = rounded + (k.call("max", exponent, first) - first << dtype.fraction)
    bits = k.call("min", bits, dtype.greatest + 1)
    bits = k.select(magnitude > _INFINITE, dtype.greatest + 1 | (dtype.infinities << dtype.fraction - 1), bits)
    return bits | given >> 31 << dtype.bits - 1
