"""What operators and functions there are: their names here, in NumPy and in WGSL, and what they give for numbers.

`gpu.NAME` follows NumPy's names. NumPy's own functions of kernel values, `np.ceil(v)` say, are the same by this table.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...tensor.dtypes import DType, bool_, f16, i32, u32


@dataclass(frozen=True, slots=True)
class Function:
    """`gpu.name`, which takes so many operands; `wgsl` is its name in the IR, `numpy` are NumPy's names for its law.

    `floats` says that it is defined on f16 and f32 alone.
    """

    name: str
    wgsl: str
    law: str
    operands: int = 1
    numpy: tuple[str, ...] = ()
    floats: bool = True


_SAME = {
    "exp": "e to the power of x.",
    "exp2": "2 to the power of x.",
    "log": "The natural logarithm.",
    "log2": "The logarithm to base 2.",
    "sqrt": "The square root.",
    "sin": "The sine.",
    "cos": "The cosine.",
    "tan": "The tangent.",
    "sinh": "The hyperbolic sine.",
    "cosh": "The hyperbolic cosine.",
    "tanh": "The hyperbolic tangent.",
    "floor": "The greatest whole number that is not greater.",
    "ceil": "The least whole number that is not less.",
    "trunc": "The whole number next to it, towards zero.",
    "sign": "-1, 0 or 1, as x is below, equal to or above 0.",
}
_INVERSE = {
    "sin": "The angle of which x is the sine.",
    "cos": "The angle of which x is the cosine.",
    "tan": "The angle of which x is the tangent.",
    "sinh": "The number of which x is the hyperbolic sine.",
    "cosh": "The number of which x is the hyperbolic cosine.",
    "tanh": "The number of which x is the hyperbolic tangent.",
}
FUNCTIONS = (
    *[Function(name, name, law, numpy=(name,)) for name, law in _SAME.items()],
    *[Function(f"arc{name}", f"a{name}", law, numpy=(f"arc{name}",)) for name, law in _INVERSE.items()],
    Function("arctan2", "atan2", "The angle of the point (x, y), for operands y, x.", 2, ("arctan2",)),
    Function("rsqrt", "inverseSqrt", "1 over the square root."),
    Function("round", "round", "The whole number next to it, the even one of two as near.", 1, ("rint",)),
    Function("fract", "fract", "What x has above its floor."),
    Function("power", "pow", "x to the power of y, for x >= 0.", 2, ("power",)),
    Function("absolute", "abs", "The magnitude.", 1, ("absolute", "abs", "fabs"), floats=False),
    Function("minimum", "min", "The smaller of two; where one is NaN, the device decides.", 2, floats=False),
    Function("maximum", "max", "The greater of two; where one is NaN, the device decides.", 2, floats=False),
    Function("nan_minimum", "nan_min", "The smaller of two; NaN where one is.", 2, ("minimum",), floats=False),
    Function("nan_maximum", "nan_max", "The greater of two; NaN where one is.", 2, ("maximum",), floats=False),
    Function("clip", "clamp", "x, but not below the second and not above the third.", 3, ("clip",), floats=False),
    Function("fma", "fma", "a * b + c, rounded once where the device can.", 3),
)


BY_NAME = {function.name: function for function in FUNCTIONS}
#: By the name in the IR.
BY_WGSL = {function.wgsl: function for function in FUNCTIONS}
#: By NumPy's names.
BY_NUMPY = {name: function for function in FUNCTIONS for name in function.numpy}


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
FOLD: dict[str, Callable[..., Number]] = {**ARITHMETIC, **INTEGER, **BITS, **COMPARE}

SUBGROUP_REDUCE = frozenset("subgroupAdd subgroupMul subgroupMin subgroupMax subgroupAnd subgroupOr".split())
SUBGROUP = SUBGROUP_REDUCE | frozenset(
    "subgroupInclusiveAdd subgroupExclusiveAdd subgroupShuffle subgroupShuffleXor subgroupShuffleDown"
    " subgroupShuffleUp subgroupBroadcastFirst".split()
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
