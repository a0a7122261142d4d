"""What operators and functions there are, and what they give for Python numbers."""

import math
import operator
from collections.abc import Callable

from ...tensor.dtypes import DType, bool_, i32, u32
from .functions import BY_WGSL

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
    "%": lambda a, b: 0 if b == 0 else int(math.fmod(a, b)),
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

FUNCTIONS = frozenset(BY_WGSL)
FLOAT_FUNCTIONS = frozenset(name for name, function in BY_WGSL.items() if function.floats)
SUBGROUP_REDUCE = frozenset("subgroupAdd subgroupMul subgroupMin subgroupMax subgroupAnd subgroupOr".split())
SUBGROUP = SUBGROUP_REDUCE | frozenset(
    "subgroupInclusiveAdd subgroupExclusiveAdd subgroupShuffle subgroupShuffleXor subgroupShuffleDown"
    " subgroupShuffleUp subgroupBroadcastFirst".split()
)


def wrapped(value: Number, dtype: DType) -> Number:
    """`value` as a value of `dtype`: integers wrap, bool is a truth value, floats stay as they are."""
    if dtype is u32:
        return int(value) % U32_LIMIT
    if dtype is i32:
        return (int(value) + U32_LIMIT // 2) % U32_LIMIT - U32_LIMIT // 2
    return bool(value) if dtype is bool_ else float(value)
