"""Associative operations by their names: what sums, products, extremes and searches are made of, in kernels.

Law: f16 is folded in f32 and truths as 0 and 1 in u32; NaN wins among extremes, and of equal elements the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...tensor.dtypes import DType, bool_, f32, i32, u32
from ...tensor.rules import folded_type
from ..ir import Expr
from ..ir import cast as cast_bits
from ..trace.blocks import only
from . import functions
from .control import barrier

LEAST = {"f": float("-inf"), "i": -(1 << 31), "u": 0}
GREATEST = {"f": float("inf"), "i": (1 << 31) - 1, "u": (1 << 32) - 1}
"""The ends of each kind of 32-bit numbers."""
NO_INDEX = (1 << 32) - 1
"""The index of no element: greater than any, so that it loses against each index of an equal element."""


@dataclass(frozen=True, slots=True)
class Fold:
    """An associative operation by its name, and the type in which it is done.

    `again` says that what is folded was folded before: then its magnitudes and squares have been taken; `last` that
    nothing folds the result again.

    >>> from cutepy.gpu import constant
    >>> from cutepy.tensor import i32
    >>> total = Fold.over("sum", i32)
    >>> total.identity, Fold.over("any", i32).identity
    (0, 0)
    >>> parts = [total.taken(constant(x, "i32")) for x in (1, 2)]
    >>> total.combine(*parts), total.finish(total.combine(*parts), i32)
    (3i, 3i)
    """

    name: str
    dtype: DType
    again: bool = False
    last: bool = True

    @classmethod
    def over(cls, name: str, dtype: DType) -> Fold:
        """The fold of this name over elements of `dtype`, in the type in which these are folded.

        >>> from cutepy.tensor import f16
        >>> str(Fold.over("sum", f16)), str(Fold.over("any", f16))
        ('sum in f32', 'any in u32')
        """
        return cls(name, accumulator(name, dtype))

    def __str__(self) -> str:
        return f"{self.name} in {self.dtype}"

    @property
    def identity(self) -> float:
        """The value that changes nothing."""
        kind = self.dtype.kind
        ends = {"max": LEAST[kind], "min": GREATEST[kind]}
        return {"prod": 1, "all": 1, **ends}.get(self.name, 0)

    def taken(self, value: Expr) -> Expr:
        """An element as it is folded."""
        met = functions.cast(functions.cast(value, bool_) if self.name in ("any", "all") else value, self.dtype)
        if self.again or self.name not in ("norm1", "norm2", "norminf"):
            return met
        return met * met if self.name == "norm2" else abs(met)

    def combine(self, a: Expr, b: Expr) -> Expr:
        """Two values folded into one; NaN wins in max and min."""
        return _COMBINE[self.name](a, b)

    def finish(self, value: Expr, dtype: DType, count: Expr | float = 1.0) -> Expr:
        """The result from the folded value of `count` elements, in its type."""
        whole = value / count if self.name == "mean" else value
        whole = functions.sqrt(whole) if self.name == "norm2" else whole
        return whole != 0 if dtype is bool_ else functions.cast(whole, dtype)


_COMBINE: dict[str, Callable[..., Expr]] = {
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: a + b,
    "norm1": lambda a, b: a + b,
    "norm2": lambda a, b: a + b,
    "norminf": functions.nan_maximum,
    "prod": lambda a, b: a * b,
    "max": functions.nan_maximum,
    "min": functions.nan_minimum,
    "any": functions.maximum,
    "all": functions.minimum,
}


def fold_lanes(lanes: int, lane: Expr, step: Callable[[Expr, Expr], None]) -> None:
    """A tree over the lanes of a row: `step(a, b)` folds what lane b has into lane a; lane 0 has all in the end."""
    # Each step halves the lanes; the barrier orders it after the step before, and after what filled the memory.
    half = lanes // 2
    while half:
        barrier()
        with only(lane < half):
            step(lane, lane + half)
        half //= 2


def accumulator(name: str, dtype: DType) -> DType:
    """The type in which elements of `dtype` are folded."""
    if name in ("any", "all"):
        return u32
    if name in ("sum", "prod", "mean"):
        return folded_type(name, dtype).accumulator
    return u32 if dtype is bool_ else dtype.accumulator


@dataclass(frozen=True, slots=True)
class ArgFold:
    """The search for the greatest element, or the least, and its index, among elements of `dtype`.

    A state is (key, index): the key is a whole number that stands in the order of the elements, so that a device
    compares no floats; NaN wins, and of equal elements the least index.

    >>> from cutepy.gpu import constant
    >>> best = ArgFold(True, i32)
    >>> str(best.key), best.identity
    ('i32', (-2147483648, 4294967295))
    >>> one, other = [(best.lift(constant(x, "i32")), constant(at, "u32")) for at, x in enumerate((3, 7))]
    >>> best.combine(one, other), best.value(other[0]), best.beats(one[0], other[0]), best.wins(one, other)
    ((7i, 1u), 7i, false, false)
    """

    greatest: bool
    dtype: DType

    @property
    def key(self) -> DType:
        """The type of keys: i32 for floats, u32 for bool, else the elements' own."""
        return i32 if self.dtype.kind == "f" else u32 if self.dtype is bool_ else self.dtype

    @property
    def identity(self) -> tuple[float, int]:
        """The state of no elements, which loses against any."""
        return (LEAST if self.greatest else GREATEST)[self.key.kind], NO_INDEX

    def lift(self, value: Expr) -> Expr:
        """The key of an element."""
        return order_key(value, self.key, self.greatest)

    def value(self, key: Expr) -> Expr:
        """The element with that key: what `lift` gives, the other way round."""
        return float_of_key(key, self.dtype)

    def beats(self, one: Expr, other: Expr) -> Expr:
        """Whether a key is beyond another."""
        return one > other if self.greatest else one < other

    def wins(self, met: tuple[Expr, Expr], kept: tuple[Expr, Expr]) -> Expr:
        """Whether a state beats another, or is equal to it and comes before it."""
        return self.beats(met[0], kept[0]) | (~self.beats(kept[0], met[0]) & (met[1] < kept[1]))

    def combine(self, kept: tuple[Expr, Expr], met: tuple[Expr, Expr]) -> tuple[Expr, Expr]:
        """The one of two states that wins."""
        won = self.wins(met, kept)
        return functions.select(won, met[0], kept[0]), functions.select(won, met[1], kept[1])


def order_key(value: Expr, dtype: DType, greatest: bool) -> Expr:
    """An integer key in the order of floats: 0 for 0.0 of either sign, for NaN beyond all others in the direction
    sought.

    NaN is recognised by its bits, for a compiler may compare as if there were none; and whole numbers compare at once.
    """
    if value.dtype.kind != "f":
        return functions.cast(value, dtype)
    # IEEE 754 is sign and magnitude: the key of a negative float is minus its magnitude.
    signed = cast_bits(functions.cast(value, f32), i32, bits=True)
    magnitude = signed & 0x7FFF_FFFF
    key = functions.select(signed < 0, -magnitude, magnitude)
    # 0x7F80_0000 is infinity: greater magnitudes are NaN.
    result: Expr = functions.select(magnitude > 0x7F80_0000, 0x7FFF_FFFF if greatest else -0x7FFF_FFFF, key)
    return result


def float_of_key(key: Expr, dtype: DType) -> Expr:
    """The value of `dtype` with that key: the inverse of `order_key`."""
    if dtype.kind != "f":
        return functions.cast(key, dtype)
    # Back to sign and magnitude: -key with the sign bit set.
    bits = functions.select(key < 0, -key | -(1 << 31), key)
    result: Expr = functions.cast(cast_bits(bits, f32, bits=True), dtype)
    return result
