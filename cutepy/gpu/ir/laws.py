"""What the operators and functions of the IR mean on NumPy arrays, in the kernel's own arithmetic."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...tensor.dtypes import DType
from .operators import whole_range

Array = npt.NDArray[Any]  # the dtype is the kernel's
#: What an operator or a function does with the values of its operands.
Law = Callable[..., Array]


def _divide(a: Array, b: Array) -> Array:
    """Integer division as WGSL has it: truncating; a divisor 0 does what 1 does."""
    by = np.where(b == 0, b.dtype.type(1), b)
    if a.dtype.kind == "u":  # NumPy has one divisor for all by a multiplication, and rounds as WGSL does
        return np.asarray(a // by)
    wide, by = a.astype(np.int64), by.astype(np.int64)
    whole: Array = np.sign(wide) * np.sign(by) * (abs(wide) // abs(by))
    return whole.astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """The remainder of the truncating division; a divisor 0 does what 1 does."""
    if a.dtype.kind == "f":
        return np.asarray(np.fmod(a, b))
    by = np.where(b == 0, b.dtype.type(1), b)
    return np.asarray(a - a // by * by if a.dtype.kind == "u" else np.fmod(a, by))


def _shift(direction: Law) -> Law:
    return lambda a, b: direction(a, (b & b.dtype.type(31)).astype(a.dtype))


def convert(value: Array, source: DType, target: DType) -> Array:
    """A conversion by value, of floats to integers as WGSL has it: `operators.clamped`, NaN to 0."""
    if source.kind == "f" and target.kind in "iu":
        value = np.nan_to_num(np.clip(np.trunc(value.astype(np.float64)), *whole_range(source, target)))
    return value.astype(target.numpy)


UNARY: dict[str, Law] = {"-": np.negative, "~": np.invert, "!": np.logical_not}
BINARY: dict[str, Law] = {
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


def stacked(items: Sequence[object]) -> Law:
    """The law of a vector: lanes along a first axis, one for all where they are the same."""
    if all(x is items[0] for x in items):
        return lambda first, *_: first[None]
    return lambda *lanes: np.stack(np.broadcast_arrays(*lanes))


def lane_of(vector: Array, lane: int) -> Array:
    """One lane of a vector."""
    values: Array = vector[0] if vector.shape[0] == 1 else vector[lane]
    return values


def lane_at(vector: Array, lane: Array) -> Array:
    """The lane of a vector at a computed number."""
    at, *lanes = np.broadcast_arrays(lane.astype(np.intp), *vector)
    return np.choose(at, lanes)


def conversion(source: DType, target: DType, bits: bool) -> Law:
    """The law of a cast."""
    if bits and "f" in (source.kind, target.kind):
        return lambda x: np.ascontiguousarray(x).view(target.numpy)
    return lambda x: convert(x, source, target)
