"""Sums of multiples of atoms: exact ones, which have bounds, and sums that are equal modulo 2**32 only, which have not.

Index arithmetic wraps, so what a sum of operands says about a value holds modulo 2**32. `Congruent` is such a sum;
only `exact` makes an `Affine` of it, by the one lemma: a value known to lie in a window, congruent to a sum all of
whose values lie near one copy of that window, *is* that sum, less the copy's multiple of 2**32.
Atoms are anything hashable; `bounds` says in which interval each lies.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from ..errors import InternalError
from ..frozen import dataclass
from .values.size import added

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WRAP = 1 << 32
Interval = tuple[int, int]
Atom = TypeVar("Atom")
#: A constant: a number, or a table of numbers, one for each of many places at once.
Constant = TypeVar("Constant", int, "npt.NDArray[np.int64]")
Bounds = Callable[[Atom], Interval]

#: Below these a table of int64 cannot overflow: the multiples of limits, and what tables hold; then how many limits are
#: looked at, and how many are added up.
_FACTOR, _TABLE, _LIMITS, _DEPTH = 1 << 24, 1 << 37, 8, 3


@dataclass(frozen=True, slots=True, eq=False)
class Affine(Generic[Atom, Constant]):
    """The integer `constant` plus the sum of coefficient * atom over `terms`.

    >>> Affine({"x": 4, "y": 1}, 3).interval({"x": (0, 7), "y": (0, 3)}.__getitem__)
    (3, 34)
    """

    terms: dict[Atom, int]
    constant: Constant

    def plus(self, other: "Affine[Atom, Constant]", factor: int = 1) -> "Affine[Atom, Constant]":
        """This sum plus `factor` times another one."""
        return Affine(added(self.terms, other.terms, factor), self.constant + factor * other.constant)

    def moved(self, by: int) -> "Affine[Atom, Constant]":
        """This sum plus a number."""
        return Affine(self.terms, self.constant + by)

    def interval(self, bounds: Bounds[Atom]) -> Interval:
        """The least and the largest value."""
        lo, hi = _ends(self.constant)
        for atom, c in self.terms.items():
            a, b = bounds(atom)
            lo, hi = (lo + c * a, hi + c * b) if c > 0 else (lo + c * b, hi + c * a)
        return lo, hi

    def greatest(self, bounds: Bounds[Atom]) -> int:
        """The largest value."""
        hi = self.constant if isinstance(self.constant, int) else int(self.constant.max())
        for atom, c in self.terms.items():
            hi += c * bounds(atom)[c > 0]
        return hi

    def split(self, by: int) -> "tuple[Affine[Atom, Constant], Affine[Atom, Constant]]":
        """Euclid's split: (high, low) with this sum equal to by * high + low, the constant of `low` in 0..by-1.

        Where `low` as a whole is known to lie in 0..by-1, `high` is the quotient and `low` the remainder.

        >>> high, low = Affine({"x": 8, "y": 1}, 19).split(8)
        >>> high.terms, high.constant, low.terms, low.constant
        ({'x': 1}, 2, {'y': 1}, 3)
        """
        # c * x with by | c belongs to the quotient; Euclid: constant = by * (constant // by) + constant % by.
        high = {atom: c // by for atom, c in self.terms.items() if c % by == 0}
        low = {atom: c for atom, c in self.terms.items() if c % by}
        return Affine(high, self.constant // by), Affine(low, self.constant % by)

    def upper(
        self,
        bounds: Bounds[Atom],
        limits: "Sequence[Affine[Atom, Constant]]" = (),
        depth: int = _DEPTH,
        enough: int | None = None,
    ) -> int:
        """A number that this sum does not exceed where all `limits` are 0 or less.

        Limits are taken off as often as makes terms vanish: the multipliers of linear programming's dual, tried by
        hand. Any choice of them gives a bound; the best one is kept, or the first that is `enough` or less.

        >>> x_below_y = Affine({"x": 1, "y": -1}, 1)
        >>> Affine({"x": 1}, 0).upper({"x": (0, 99), "y": (0, 8)}.__getitem__, [x_below_y])
        7
        """
        best = self.greatest(bounds)
        if depth == 0 or (enough is not None and best <= enough):
            return best
        limits = limits[:_LIMITS]
        for limit in limits:
            # A multiplier must be positive (limit <= 0). Only those that make a term vanish can lower the bound.
            ratios = [r for a, c in limit.terms.items() if a in self.terms and (r := self.terms[a] / c) > 0]
            if not ratios:
                continue
            # Round the ratio both ways: an integer multiplier need not hit it exactly.
            factors = {int(r) for r in ratios if r >= 1} | {-int(-r // 1) for r in ratios}
            # Each limit is used at most once per chain, so the recursion ends after _DEPTH levels.
            others = [other for other in limits if other is not limit] if depth > 1 else ()
            for factor in factors:
                if factor < _FACTOR:
                    best = min(best, self.plus(limit, -factor).upper(bounds, others, depth - 1, enough))
                    if enough is not None and best <= enough:
                        return best
        return best

    def lower(self, bounds: Bounds[Atom], limits: "Sequence[Affine[Atom, Constant]]" = ()) -> int:
        """A number that this sum does not fall below where all `limits` are 0 or less."""
        return -self.negative().upper(bounds, limits)

    def at_most(self, number: int, bounds: Bounds[Atom], limits: "Sequence[Affine[Atom, Constant]]" = ()) -> bool:
        """Whether `upper` is `number` or less: it ends as soon as that is known."""
        return self.upper(bounds, limits, enough=number) <= number

    def at_least(self, number: int, bounds: Bounds[Atom], limits: "Sequence[Affine[Atom, Constant]]" = ()) -> bool:
        """Whether `lower` is `number` or more."""
        return self.negative().at_most(-number, bounds, limits)

    def negative(self) -> "Affine[Atom, Constant]":
        """This sum times -1."""
        return Affine({atom: -c for atom, c in self.terms.items()}, -self.constant)

    def modulo(self) -> "Congruent[Atom, Constant]":
        """What is left of this sum where arithmetic wraps."""
        return Congruent(added({}, self.terms, 1, signed), signed(self.constant))


@dataclass(frozen=True, slots=True, eq=False)
class Congruent(Generic[Atom, Constant]):
    """A sum to which a value is equal modulo 2**32. It has no interval but under `exact`."""

    terms: dict[Atom, int]
    constant: Constant

    def plus(self, other: "Congruent[Atom, Constant]", factor: int = 1) -> "Congruent[Atom, Constant]":
        """This sum plus `factor` times another one, with coefficients of least magnitude."""
        # Coefficients modulo 2**32, of least magnitude: the interval of the sum is then the tightest.
        terms = added(self.terms, other.terms, factor, signed)
        return Congruent(terms, signed(self.constant + factor * other.constant))

    def times(self, factor: int) -> "Congruent[Atom, Constant]":
        """This sum, multiplied."""
        return Affine({a: c * factor for a, c in self.terms.items()}, self.constant * factor).modulo()

    def remainder(self, base: int) -> "Affine[Atom, Constant]":
        """A sum that a value equals modulo `base`, a divisor of 2**32: wrapping around keeps that."""
        if WRAP % base:
            raise InternalError(f"remainders by {base}: only by a divisor of 2**32 are they kept where a sum wraps")
        return Affine(self.terms, self.constant).split(base)[1]

    def exact(
        self, window: Interval, bounds: Bounds[Atom], limits: "Sequence[Affine[Atom, Constant]]" = ()
    ) -> "Affine[Atom, Constant] | None":
        """The sum that a value in `window` *is* where all `limits` are 0 or less, if no other number that is congruent
        to it can be meant.

        >>> i = Congruent({"i": 1}, -1)  # i - 1 of an unsigned i in 0..9, which may wrap
        >>> i.exact((0, 2**32 - 1), lambda atom: (0, 9)) is None
        True
        >>> i.exact((0, 5), lambda atom: (0, 9)).constant  # where it is at most 5, it did not
        -1
        """
        whole, (least, most) = Affine(self.terms, self.constant), _ends(self.constant)
        if max(abs(least), abs(most)) > _TABLE:
            return None
        # First by the interval of the atoms, which is cheap, then by the bounds that the limits give.
        lo, hi = Affine(self.terms, 0).interval(bounds)
        by = copy_of((lo + least, hi + most), window)
        if by is None and limits:
            by = copy_of((whole.lower(bounds, limits), whole.upper(bounds, limits)), window)
        return None if by is None else whole.moved(by)


def copy_of(interval: Interval, window: Interval) -> int | None:
    """The multiple of 2**32 that takes numbers of `interval` into `window`; None if there is not just one.

    A window that holds only some of `interval` will do: whoever asks knows the value to be in it.
    """
    (lo, hi), (first, last) = interval, window
    # Multiples k of 2**32 with interval + k * 2**32 meeting the window: unique only if both ends agree.
    least, most = -((hi - first) // WRAP), (last - lo) // WRAP
    return least * WRAP if least == most else None


def signed(value: Constant) -> Constant:
    """The number of least magnitude that equals `value` modulo 2**32."""
    return (value + WRAP // 2) % WRAP - WRAP // 2


def within(inner: Interval, outer: Interval) -> bool:
    """Whether every number of `inner` is in `outer`."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _ends(constant: "int | npt.NDArray[np.int64]") -> Interval:
    if isinstance(constant, int):
        return constant, constant
    return int(constant.min()), int(constant.max())
