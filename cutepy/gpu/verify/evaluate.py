"""The value of index expressions and conditions for many invocations at once, in the kernel's own arithmetic.

What memory holds is not known. A load from a binding that the kernel never writes may be given made-up data, the same
at every visit; anything else that memory decides raises `Unknown`.
"""

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..interpret_functions import BINARY, FUNCTIONS
from ..ir import Binary, Buffer, Call, Cast, Component, Const, Expr, Load, Param, Select, Unary, ask_operands_first
from ..ir.operators import SUBGROUP

Array = npt.NDArray[np.generic]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_UNARY = {"-": np.negative, "~": np.invert, "!": np.logical_not}


class Unknown(Exception):
    """A value that only the memory of a running kernel decides."""


@dataclass(frozen=True, slots=True)
class Data:
    """Made-up contents of the bindings in `readable`, and made-up parameters."""

    readable: frozenset[Buffer]
    seed: int = 0


def evaluate(value: Expr, env: Mapping[Expr, Array], memo: dict[Expr, Array], data: Data | None = None) -> Array:
    """`value` where its leaves are the arrays of `env`, which broadcast; `memo` belongs to one `env`.

    Raises Unknown for what depends on memory that `data` does not tell.
    """
    known = env.get(value)
    if known is None:
        known = memo.get(value)
    if known is None:

        def scalar(node: Expr) -> object:
            return node.lanes > 1 or evaluate(node, env, memo, data)  # lanes of memory are looked at one by one

        ask_operands_first(value, ChainMap(memo, env), scalar)  # type: ignore[arg-type]
        known = memo[value] = _evaluate(value, env, memo, data)
    return known


def _evaluate(value: Expr, env: Mapping[Expr, Array], memo: dict[Expr, Array], data: Data | None) -> Array:
    def of(operand: Expr) -> Array:
        return evaluate(operand, env, memo, data)

    match value:
        case Const(value=number, dtype=dtype):
            return np.asarray(number, dtype.numpy)
        case Binary(op=op, left=left, right=right):
            with np.errstate(all="ignore"):
                found: Array = BINARY[op](of(left), of(right))
                return found
        case Unary(op=op, value=operand):
            with np.errstate(all="ignore"):
                negated: Array = _UNARY[op](of(operand))
                return negated
        case Select(condition=condition, then=then, other=other):
            return np.where(of(condition), of(then), of(other))
        case Cast(value=operand, dtype=dtype, bits=False) if value.dtype.kind in "iu" or operand.dtype.kind != "f":
            inner = of(operand)
            if inner.dtype.kind == "f":
                raise Unknown
            return inner.astype(dtype.numpy)
        case Call(name=name, args=args) if name not in SUBGROUP:
            with np.errstate(all="ignore"):
                called: Array = FUNCTIONS[name](*[of(a) for a in args])
                return called
        case Component(value=Load(where=None) as whole, lane=int(lane)) if data is not None:
            return _contents(whole, of(whole.index), lane, data)
        case Load(lanes=1, where=None) if data is not None:
            return _contents(value, of(value.index), 0, data)
        case Param(dtype=dtype) if data is not None:
            return np.asarray(1 if dtype.kind == "f" else min(max(value.lo, 64), value.hi), dtype.numpy)
    raise Unknown


def _contents(load: Load, index: Array, lane: int, data: Data) -> Array:
    """Made-up elements of a binding: numbers below 64, halves of them in floating-point types."""
    buffer = load.buffer
    if buffer not in data.readable:
        raise Unknown
    at = index.astype(np.uint64) * np.uint64(buffer.width) + np.uint64(lane)
    with np.errstate(over="ignore"):
        mixed = (at + np.uint64(data.seed * 7919 + 1)) * np.uint64(0x9E3779B97F4A7C15)
    number = (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(33) & np.uint64(63)
    if load.dtype.kind == "f":
        return ((number.astype(np.float64) - 32) / 2).astype(load.dtype.numpy)
    return (number % np.uint64(2) if load.dtype.kind == "b" else number).astype(load.dtype.numpy)
