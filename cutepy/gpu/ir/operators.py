"""What operators there are, what they give for numbers, and which functions subgroups have."""

import math
import operator
from collections.abc import Callable

import numpy as np

from ...tensor.dtypes import DType, bool_, f16, i32, u32

Number = int | float | bool
U32_LIMIT = 1 << 32

ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
INTEGER: dict[str, Callable[[int, int], int]] = {
    "//": lambda a, b: a if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: 0 if b == 0 else abs(a) % abs(b) * (1 if a >= 0 else -1),
    "<<": lambda a, b: a << (b & 31),
    ">>": lambda a, b: a >> (b & 31),
}
BITS: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
#: What a comparison is with its sides exchanged, and what it is not.
SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
INSTEAD = {
    ("/", "i"): "; use //",
    ("/", "u"): "; use //",
    ("//", "f"): "; use gpu.floor(a / b)",
    ("%", "f"): "; use a - b * gpu.floor(a / b)",
    **{(op, "b"): "; choose by gpu.select, or cast it" for op in (*ARITHMETIC, *INTEGER)},
}
"""What to write where an operator is not defined on a kind of numbers."""
#: What is right modulo 2^32 where its operands are; whether one number is below another is not, nor a quotient.
WRAPS = frozenset({"+", "-", "*", "&", "|", "^", "~", "<<"})
FOLD: dict[str, Callable[..., Number]] = {**ARITHMETIC, **INTEGER, **BITS, **COMPARE}

SUBGROUP_REDUCE = frozenset("subgroup_add subgroup_mul subgroup_min subgroup_max subgroup_and subgroup_or".split())
SUBGROUP_VOTE = frozenset("subgroup_any subgroup_all subgroup_ballot".split())
#: Sizes of subgroups that WebGPU allows (https://www.w3.org/TR/WGSL/#subgroup-size-built-in-value).
SUBGROUP_SIZES = 4, 8, 16, 32, 64, 128
SUBGROUP = (
    SUBGROUP_REDUCE
    | SUBGROUP_VOTE
    | frozenset(
        "subgroup_inclusive_add subgroup_exclusive_add subgroup_shuffle subgroup_shuffle_xor subgroup_shuffle_down"
        " subgroup_shuffle_up subgroup_broadcast subgroup_broadcast_first".split()
    )
)


def wrapped(value: Number, dtype: DType) -> Number:
    """`value` as a value of `dtype`: integers wrap, bool is a truth value, floats are rounded."""
    if dtype is u32:
        return int(value) % U32_LIMIT
    if dtype is i32:
        return (int(value) + U32_LIMIT // 2) % U32_LIMIT - U32_LIMIT // 2
    if dtype is bool_:
        return bool(value)
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype.numpy).type(value))


def beyond(number: Number, dtype: DType) -> str:
    """What an integer type holds, in words, where that is not `number`.

    >>> beyond(-1, u32), beyond(-1, i32)
    ('which holds 0 to 4294967295', '')
    """
    low = -(1 << 31) if dtype is i32 else 0
    inside = dtype.kind not in "iu" or wrapped(number, dtype) == number
    return "" if inside else f"which holds {low} to {low + U32_LIMIT - 1}"


def clamped(value: float, source: DType, target: DType) -> int:
    """A float as an integer, as WGSL converts it: towards zero, and to what of `source` is within `target`'s range.

    NaN gives 0, where WGSL leaves the choice.

    >>> from ...tensor.dtypes import f16, f32
    >>> clamped(float("inf"), f32, u32), clamped(-1e20, f32, i32), clamped(float("inf"), f16, u32)
    (4294967040, -2147483648, 65504)
    """
    if math.isnan(value):
        return 0
    low, high = whole_range(source, target)
    return int(max(low, min(high, value)))


def whole_range(source: DType, target: DType) -> tuple[int, int]:
    """The least and the largest value of the float type `source` that the integer type `target` can hold."""
    digits, most = (11, 65504) if source is f16 else (24, None)
    low, high = (-(1 << 31), (1 << 31) - 1) if target is i32 else (0, U32_LIMIT - 1)
    high = high >> (high.bit_length() - digits) << (high.bit_length() - digits)
    return (low, high) if most is None else (max(low, -most), min(high, most))
