"""The values of expressions for many invocations at once, as far as the text of a kernel tells them.

What memory holds is not known: a load from a binding that the kernel never writes may be given made-up data, the same
at every visit; anything else that memory decides raises `Unknown`. So does all arithmetic of floats: a device rounds as
it likes, and what it compares then is for it to say.
"""

from collections import ChainMap
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .ir import Buffer, Cast, Component, Const, Expr, Load, Param, Vector, is_told, meaning, nodes
from .ir.expr import MOST_DEPTH
from .ir.laws import Array as Array

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Unknown(Exception):
    """A value that only the memory of a running kernel decides."""


@dataclass(frozen=True, slots=True)
class Data:
    """Made-up contents of the bindings in `readable`, and made-up parameters."""

    readable: frozenset[Buffer]
    seed: int = 0


def is_opaque(value: Expr) -> bool:
    """Whether only a running kernel tells what `value` is, whatever its operands are."""
    if isinstance(value, Const):
        return False
    vectors = isinstance(value, Vector | Component)
    floats = value.dtype.kind == "f" or (isinstance(value, Cast) and value.value.dtype.kind == "f")
    return vectors or floats or not is_told(value)


def evaluate(value: Expr, env: dict[Expr, Array], memo: dict[Expr, Array], data: Data | None = None) -> Array:
    """`value` where its leaves are the arrays of `env`, which broadcast; `memo` belongs to one `env`.

    Raises Unknown for what depends on memory that `data` does not tell.
    """
    known = env.get(value)
    if known is None:
        known = memo.get(value)
    if known is None:
        if value.depth > MOST_DEPTH:  # lanes of memory are looked at one by one
            for node in nodes(*value.operands, known=ChainMap(memo, env)):
                if node.lanes == 1:
                    evaluate(node, env, memo, data)
        known = memo[value] = _evaluate(value, env, memo, data)
    return known


def _evaluate(value: Expr, env: dict[Expr, Array], memo: dict[Expr, Array], data: Data | None) -> Array:
    def of(operand: Expr) -> Array:
        return evaluate(operand, env, memo, data)

    match value:
        case Const(value=number, dtype=dtype):
            return np.asarray(number, dtype.numpy)
        case Component(value=Load(where=None) as whole, lane=int(lane)) if data is not None:
            return _contents(whole, of(whole.index), lane, data)
        case Load(lanes=1, where=None) if data is not None:
            return _contents(value, of(value.index), 0, data)
        case Param(dtype=dtype) if data is not None:
            return np.asarray(1 if dtype.kind == "f" else min(max(value.lo, 64), value.hi), dtype.numpy)
    if is_opaque(value):
        raise Unknown
    compute = meaning(value)
    if compute is None:
        raise Unknown
    with np.errstate(all="ignore"):
        return compute(*map(of, value.operands))


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
