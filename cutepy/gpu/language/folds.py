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

Element = tuple[Expr, Expr]
"""A value and its index."""
LEAST = {"f": float("-inf"), "i": -(1 << 31), "u": 0}
GREATEST = {"f": float("inf"), "i": (1 << 31) - 1, "u": (1 << 32) - 1}


@dataclass(frozen=True, slots=True)
class Fold:
    """An associative operation by its name, and the type in which it is done. `mean` divides by `count` at the end.

    `again` says that what is folded was folded before: then its magnitudes and squares have been taken.
    """

    name: str
    dtype: DType
    count: int = 1
    again: bool = False

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

    def finish(self, value: Expr, dtype: DType) -> Expr:
        """The result from the folded value, in its type."""
        whole = value / float(self.count) if self.name == "mean" else value
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


def better(kept: Element, met: Element, greatest: bool) -> Element:
    """The one of two elements that wins."""
    won = wins(met, kept, greatest)
    return functions.select(won, met[0], kept[0]), functions.select(won, met[1], kept[1])


def wins(met: Element, kept: Element, greatest: bool) -> Expr:
    """Whether an element beats another, or equals it and comes before it."""
    return beats(met[0], kept[0], greatest) | (~beats(kept[0], met[0], greatest) & (met[1] < kept[1]))


def beats(a: Expr, b: Expr, greatest: bool) -> Expr:
    """Whether a place in the order is beyond another."""
    return a > b if greatest else a < b


def ordered(value: Expr, dtype: DType, greatest: bool) -> Expr:
    """A float's place in the order of floats, a whole number: of 0 for either sign, of NaN beyond all that it may be.

    NaN is told by its bits, for a compiler may compare as if there were none; and whole numbers compare at once.
    """
    if value.dtype.kind != "f":
        return functions.cast(value, dtype)
    signed = cast_bits(functions.cast(value, f32), i32, bits=True)
    magnitude = signed & 0x7FFF_FFFF
    place = functions.select(signed < 0, -magnitude, magnitude)
    found: Expr = functions.select(magnitude > 0x7F80_0000, 0x7FFF_FFFF if greatest else -0x7FFF_FFFF, place)
    return found


def of_place(place: Expr, dtype: DType) -> Expr:
    """The value of `dtype` with that place in the order: what `ordered` gives, the other way round."""
    if dtype.kind != "f":
        return functions.cast(place, dtype)
    bits = functions.select(place < 0, -place | -(1 << 31), place)
    found: Expr = functions.cast(cast_bits(bits, f32, bits=True), dtype)
    return found
