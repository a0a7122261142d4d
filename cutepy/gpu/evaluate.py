"""What the operators and functions of the IR mean on NumPy arrays, and the values of whole expressions.

A value is found for many invocations at once, in the kernel's own arithmetic. What memory holds is not known: a load
from a binding that the kernel never writes may be given made-up data, the same at every visit; anything else that
memory decides raises `Unknown`. So does all arithmetic of floats: a device rounds as it likes, and what it compares
then is for it to say.
"""

from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tensor.dtypes import DType
from .ir import (
    Binary,
    Buffer,
    Call,
    Cast,
    Component,
    Const,
    Expr,
    Load,
    Param,
    Select,
    Unary,
    Vector,
    ask_operands_first,
    children,
)
from .ir.operators import SUBGROUP, whole_range

Array = npt.NDArray[Any]  # the dtype is the kernel's
Function = Callable[..., Array]


def _divide(a: Array, b: Array) -> Array:
    """Integer division as WGSL has it: truncating; a divisor 0 does what 1 does."""
    wide, by = a.astype(np.int64), np.where(b == 0, 1, b).astype(np.int64)
    whole: Array = np.sign(wide) * np.sign(by) * (abs(wide) // abs(by))
    return whole.astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """The remainder of the truncating division; a divisor 0 does what 1 does."""
    return np.fmod(a, b if a.dtype.kind == "f" else np.where(b == 0, b.dtype.type(1), b))


def _shift(direction: Function) -> Function:
    return lambda a, b: direction(a, (b & b.dtype.type(31)).astype(a.dtype))


def convert(value: Array, source: DType, target: DType) -> Array:
    """A conversion by value, of floats to integers as WGSL has it: `operators.clamped`, NaN to 0."""
    if source.kind == "f" and target.kind in "iu":
        value = np.nan_to_num(np.clip(np.trunc(value.astype(np.float64)), *whole_range(source, target)))
    return value.astype(target.numpy)


UNARY: dict[str, Function] = {"-": np.negative, "~": np.invert, "!": np.logical_not}
BINARY: dict[str, Function] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": _divide,
    "%": _remainder,
    "<<": _shift(np.left_shift),
    ">>": _shift(np.right_shift),
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}

FUNCTIONS: dict[str, Function] = {
    "fma": lambda a, b, c: a * b + c,
    "abs": np.abs,
    "min": np.fmin,
    "max": np.fmax,
    "nan_min": np.minimum,
    "nan_max": np.maximum,
    "clamp": lambda x, lo, hi: np.fmin(np.fmax(x, lo), hi),
    "inverseSqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
    "round": np.rint,
    "fract": lambda x: x - np.floor(x),
    "pow": np.power,
    "atan2": np.arctan2,
    **{n: getattr(np, n) for n in "exp exp2 log log2 sqrt sin cos tan sinh cosh tanh floor ceil trunc sign".split()},
    **{n: getattr(np, f"arc{n[1:]}") for n in "asin acos atan asinh acosh atanh".split()},
}


def meaning(value: Expr) -> Function | None:
    """What a node does with the values of its operands, in the order of `children`; None where that is not all that
    decides it."""
    match value:
        case Binary(op=op):
            return BINARY[op]
        case Unary(op=op):
            return UNARY[op]
        case Select():
            return np.where
        case Cast(value=operand, dtype=dtype, bits=bits):
            if bits and "f" in (operand.dtype.kind, dtype.kind):
                return lambda x: np.ascontiguousarray(x).view(dtype.numpy)
            return lambda x: convert(x, operand.dtype, dtype)
        case Call(name=name):
            return FUNCTIONS.get(name)
    return None


_REDUCE: dict[str, tuple[Function, float]] = {
    "subgroupAdd": (np.add.reduce, 0),
    "subgroupMul": (np.multiply.reduce, 1),
    "subgroupMin": (np.fmin.reduce, float("inf")),
    "subgroupMax": (np.fmax.reduce, float("-inf")),
    "subgroupAnd": (np.bitwise_and.reduce, -1),
    "subgroupOr": (np.bitwise_or.reduce, 0),
}


def _neutral(number: float, dtype: np.dtype[Any]) -> object:
    if dtype.kind == "f":
        return number
    limits = np.iinfo(dtype)
    if np.isinf(number):
        return limits.max if number > 0 else limits.min
    return limits.max if number == -1 and dtype.kind == "u" else int(number)


def subgroup_call(name: str, args: list[Array], shape: tuple[int, int], active: Array | None, size: int) -> Array:
    """A subgroup operation over consecutive runs of `size` threads; inactive ones take no part."""
    value = np.broadcast_to(args[0], shape if args[0].ndim == 2 else (args[0].shape[0], *shape))
    threads = shape[1]
    padding = -threads % size
    on = np.ones(shape, bool) if active is None else np.broadcast_to(active, shape)
    pad = [(0, 0)] * (value.ndim - 1) + [(0, padding)]
    rows = np.pad(value, pad).reshape(*value.shape[:-1], -1, size)
    live = np.broadcast_to(np.pad(on, [(0, 0), (0, padding)]).reshape(shape[0], -1, size), rows.shape)
    if name in _REDUCE:
        reduce, start = _REDUCE[name]
        kept = np.where(live, rows, np.asarray(_neutral(start, value.dtype), value.dtype))
        result = np.broadcast_to(reduce(kept, axis=-1)[..., None], rows.shape)
    elif name in ("subgroupInclusiveAdd", "subgroupExclusiveAdd"):
        kept = np.where(live, rows, value.dtype.type(0))
        result = np.cumsum(kept, axis=-1, dtype=value.dtype)
        if name == "subgroupExclusiveAdd":
            result = result - kept
    elif name == "subgroupBroadcastFirst":
        result = np.broadcast_to(np.take_along_axis(rows, live.argmax(-1)[..., None], -1), rows.shape)
    else:
        result = np.take_along_axis(rows, _partners(name, args[1], rows, shape, size), -1)
    return result.reshape(*value.shape[:-1], -1)[..., :threads]


def _partners(name: str, operand: Array, rows: Array, shape: tuple[int, int], size: int) -> npt.NDArray[np.intp]:
    """The lane from which each lane takes its value; beyond the subgroup, its own."""
    given = np.broadcast_to(operand, shape)
    padded = np.pad(given, [(0, 0), (0, -shape[1] % size)]).reshape(shape[0], -1, size).astype(np.int64)
    lane = np.arange(size)
    moves = {
        "subgroupShuffle": padded,
        "subgroupShuffleXor": lane ^ padded,
        "subgroupShuffleDown": lane + padded,
        "subgroupShuffleUp": lane - padded,
    }
    source = moves[name]
    return np.broadcast_to(np.where((source >= 0) & (source < size), source, lane), rows.shape).astype(np.intp)


_UPDATE: dict[str, np.ufunc] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Min": np.minimum,
    "Max": np.maximum,
    "And": np.bitwise_and,
    "Or": np.bitwise_or,
    "Xor": np.bitwise_xor,
}


def atomic_update(op: str, array: Array, at: Array, value: Array, active: Array, wants_old: bool) -> Array | None:
    """Apply `op` at each active invocation's element, one after the other; the values before, where wanted."""
    targets, operands = at[active], value[active]
    if not wants_old and op in _UPDATE:
        _UPDATE[op].at(array, targets, operands)
        return None
    old = np.zeros(at.shape, array.dtype)
    before = np.empty(targets.shape, array.dtype)
    for i, (target, operand) in enumerate(zip(targets.tolist(), operands, strict=True)):
        before[i] = array[target]
        array[target] = operand if op == "Exchange" else _UPDATE[op](array[target], operand)
    old[active] = before
    return old


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
    told = not isinstance(value, Load | Vector | Component) and not (isinstance(value, Call) and value.name in SUBGROUP)
    return not told or value.dtype.kind == "f" or (isinstance(value, Cast) and value.value.dtype.kind == "f")


def evaluate(value: Expr, env: dict[Expr, Array], memo: dict[Expr, Array], data: Data | None = None) -> Array:
    """`value` where its leaves are the arrays of `env`, which broadcast; `memo` belongs to one `env`.

    Raises Unknown for what depends on memory that `data` does not tell.
    """
    known = env.get(value)
    if known is None:
        known = memo.get(value)
    if known is None:

        def scalar(node: Expr) -> object:
            return node.lanes > 1 or evaluate(node, env, memo, data)  # lanes of memory are looked at one by one

        ask_operands_first(value, ChainMap(memo, env), scalar)
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
        return compute(*map(of, children(value)))


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
