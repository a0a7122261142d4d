"""What is known about unknown sizes, and what follows from it.

A question is answered from least values, stated inequalities and divisors; where only one value of an unknown stands
against the answer, that value is assumed away and noted (`lift.py` looks at it).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, fields
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from ..values.size import ONE, Monomial, Operand, Poly, Size, Undecided, times

if TYPE_CHECKING:
    import sympy


class Assumption(NamedTuple):
    """That an unknown is not `value`; the case that it is remains to be looked at."""

    number: int
    value: Poly


@dataclass(slots=True)
class Context:
    """What is known: the least value of each unknown, polynomials from 0 on, divisors, polynomials other than 0."""

    lows: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    meaning: dict[int, sympy.Expr] = field(default_factory=dict)
    at_least: list[Poly] = field(default_factory=list)
    divides: list[tuple[Poly, Poly]] = field(default_factory=list)
    differs: list[Poly] = field(default_factory=list)
    floors: dict[int, tuple[Poly, Poly]] = field(default_factory=dict)
    solved: dict[int, Poly] = field(default_factory=dict)
    rules: list[tuple[Monomial, Poly]] = field(default_factory=list)
    assumed: list[Assumption] = field(default_factory=list)

    def copy(self) -> Context:
        """A context to make assumptions in."""
        own: dict[str, Any] = {each.name: copy(getattr(self, each.name)) for each in fields(self)}
        return Context(**own | {"assumed": []})

    def know_floors(self, other: Context) -> None:
        """Take over what another context has rounded down, but nothing that it assumed."""
        self.lows |= {number: low for number, low in other.first.items() if number not in self.lows}
        self.first, self.floors, self.at_least = dict(other.first), dict(other.floors), list(other.at_least)

    def number(self, low: int) -> int:
        """A new unknown."""
        fresh = len(self.lows)
        self.lows[fresh] = self.first[fresh] = low
        return fresh

    def not_negative(self, poly: Poly) -> bool:
        """True if `poly >= 0` follows."""
        return _not_negative(poly, tuple(self.lows.items()), tuple(self.at_least))

    def positive(self, poly: Poly) -> bool:
        """True if `poly >= 1` follows."""
        if self.not_negative(poly - 1):
            return True
        return any(poly in (other, -other) for other in self.differs) and self.not_negative(poly)

    def is_less(self, poly: Poly) -> bool | None:
        """Whether `poly < 0`, None where that does not follow either way."""
        if self.positive(-poly):
            return True
        return False if self.not_negative(poly) else None

    def is_zero(self, poly: Poly) -> bool | None:
        """Whether `poly == 0`, None where that does not follow either way."""
        if not poly:
            return True
        others = [coefficient for monomial, coefficient in poly.items() if monomial]
        if others and poly.get(ONE, 0) % gcd(*others):
            return False
        if any(poly in (other, -other) for other in self.differs):
            return False
        if self.positive(poly) or self.positive(-poly):
            return False
        return True if self.not_negative(poly) and self.not_negative(-poly) else None

    def decided(self, question: Callable[[Poly], bool | None], poly: Poly, kind: str) -> bool:
        """The answer to a question; where it follows for all but the least value of an unknown, that is assumed."""
        answer = question(poly)
        if answer is not None:
            return answer
        names = poly.unknowns()
        for chosen in [[number] for number in names] + ([names] if len(names) > 1 else []):
            for number in chosen:
                self.lows[number] += 1
            answer = question(poly)
            if answer is not None and not self.impossible():
                self.assumed += [Assumption(number, Poly.of(self.lows[number] - 1)) for number in chosen]
                return answer
            for number in chosen:
                self.lows[number] -= 1
        if kind == "equal" and not any(number in self.floors for number in names):
            for number in names:
                if (value := poly.solved(number)) is not None:
                    self.differs.append(poly)
                    self.assumed.append(Assumption(number, value))
                    return False
        raise Undecided(self, kind, poly)

    def impossible(self) -> bool:
        """True if it is seen that nothing satisfies all that is known."""
        return any(self.positive(-poly) for poly in self.at_least)

    def exclude(self, assumption: Assumption) -> None:
        """State what an assumption states."""
        value = assumption.value.number()
        if value == self.lows[assumption.number]:
            self.lows[assumption.number] += 1
        else:
            self.differs.append(Poly.unknown(assumption.number) - assumption.value)

    def pin(self, assumption: Assumption) -> bool:
        """State the opposite: the unknown is that value. False where the facts exclude it."""
        number, value = assumption.number, assumption.value
        self.solved[number] = value
        self.at_least.append(value - self.lows[number])
        self.replace(number, value)
        rules, self.rules = self.rules, []
        for monomial, by in rules:
            self._rule_with(Poly({monomial: 1}).put(number, value), by.put(number, value))
        possible = all((poly.number() or 0) >= 0 for poly in self.at_least) and {} not in self.differs
        self.at_least = [poly for poly in self.at_least if poly.number() is None]
        return possible

    def replace(self, number: int, by: Poly) -> None:
        """Put a polynomial in an unknown's place in what is known."""
        self.at_least = [poly.put(number, by) for poly in self.at_least]
        self.differs = [poly.put(number, by) for poly in self.differs]
        self.divides = [(d.put(number, by), p.put(number, by)) for d, p in self.divides]

    def _rule_with(self, product: Poly, by: Poly) -> None:
        """A rule after a value was put in: still a rule, or the value of the one unknown that is left, or given up."""
        if len(product) != 1:
            return
        [(monomial, factor)] = product.items()
        rest = by.divided(Poly.of(factor))
        if rest is not None and len(monomial) == 1 and monomial[0][1] == 1:
            self.pin(Assumption(monomial[0][0], rest))
        elif rest is not None and monomial:
            self.rules.append((monomial, rest))

    def normal(self, poly: Poly) -> Poly:
        """`poly` with every product that a rule knows written as the rule says."""
        for product, by in self.rules:
            while True:
                found = next((monomial for monomial in poly if _contains(monomial, product)), None)
                if found is None:
                    break
                poly = poly.without(found) + Poly({times(found, product, -1): poly[found]}) * by
        return poly

    def size(self, poly: Poly) -> Operand:
        """The polynomial as a size, or as the integer that it is."""
        poly = self.normal(poly) if self.rules else poly
        value = poly.number()
        return Size(self, poly) if value is None else value

    def parts(self, poly: Poly, divisor: Poly) -> tuple[Poly, Poly] | None:
        """`poly == quotient * divisor + rest` with `0 <= rest < divisor`, where that follows; else None."""
        exact = self.exact(poly, divisor)
        if exact is not None:
            return exact, Poly()
        if len(divisor) == 1:
            [(monomial, modulus)] = divisor.items()
            rest = Poly({m: c % modulus if _contains(m, monomial) else c for m, c in poly.items()})
            rest = Poly({m: c for m, c in rest.items() if c})
        else:
            rest = Poly({monomial: c for monomial, c in poly.items() if Poly({monomial: c}).divided(divisor) is None})
        for candidate in (rest, poly):
            whole = (poly - candidate).divided(divisor)
            below = divisor - candidate
            if whole is not None and self.not_negative(candidate) and self.positive(below):
                return whole, candidate
        return None

    def exact(self, poly: Poly, divisor: Poly) -> Poly | None:
        """`poly / divisor` where that is known to be whole."""
        found = poly.divided(divisor)
        for product, by in self.rules if found is None else ():
            factor = poly.divided(by)
            found = found if factor is None else (factor * Poly({product: 1})).divided(divisor)
        return found

    def known_multiple(self, poly: Poly, divisor: Poly) -> bool:
        """True if a stated divisor of something that `poly` is a multiple of shows that `divisor` divides it."""
        for known, of in self.divides:
            factor = poly.divided(of)
            if factor is not None and (known * factor).divided(divisor) is not None:
                return True
        return False

    def floor(self, poly: Poly, divisor: Poly) -> Poly:
        """`poly // divisor` as a polynomial, with a new unknown where need be."""
        found = self.parts(poly, divisor)
        if found is not None:
            return found[0]
        if not self.not_negative(poly) and self.not_negative(-poly):
            up = -poly + divisor - 1
            return -self.floor(up, divisor)
        for number, parts in self.floors.items():
            if parts == (poly, divisor):
                return self.solved.get(number, Poly.unknown(number))
        self.check_rounding(poly, divisor)
        number = self.number(1 if self.not_negative(poly - divisor) else 0)
        self.floors[number] = poly, divisor
        alone = Poly.unknown(number)
        left_over = poly - alone * divisor
        self.at_least += [left_over, divisor - left_over - 1]
        return alone

    def check_rounding(self, poly: Poly, divisor: Poly) -> None:
        """Raises Undecided, unless `poly` is known to be at least 0 and `divisor` at least 1."""
        if not self.not_negative(poly):
            raise Undecided(self, "less", poly)
        if not self.positive(divisor):
            raise Undecided(self, "less", divisor - 1)

    def rounded(self, number: int) -> tuple[str, Poly, Poly]:
        """How a quotient is rounded, what is divided, and by what: up where that says it shorter."""
        above, below = self.floors[number]
        up = above - below + 1
        return ("ceiling", up, below) if len(up) <= len(above) else ("floor", above, below)

    def expression(self, poly: Poly) -> sympy.Expr:
        """A polynomial in SymPy: an unknown is a symbol, a symbol divided by what divides it, or a rounded quotient."""
        import sympy

        total = sympy.Integer(0)
        for monomial, coefficient in poly.items():
            term = sympy.Integer(coefficient)
            for number, exponent in monomial:
                if number in self.meaning:
                    factor = self.meaning[number]
                else:
                    rounding, above, below = self.rounded(number)
                    factor = getattr(sympy, rounding)(self.expression(above) / self.expression(below))
                term *= factor**exponent
            total += term
        return sympy.expand(total) if total.is_Add else total


@lru_cache(1 << 13)
def _not_negative(poly: Poly, lows: tuple[tuple[int, int], ...], at_least: tuple[Poly, ...]) -> bool:
    """True if `poly >= 0` follows of the least values of unknowns, and of polynomials from 0 on. A trace asks the same
    for each tensor, and of each element."""
    # What follows holds at every point, so one point below 0 spares the search, which takes longest where it fails.
    if any(poly.at(point) < 0 for point in points(lows, at_least)):
        return False
    return _follows(poly, dict(lows), at_least, 3)


@lru_cache(1 << 10)
def points(lows: tuple[tuple[int, int], ...], at_least: tuple[Poly, ...]) -> list[dict[int, int]]:
    """Values of the unknowns from their least ones on at which no polynomial of `at_least` is negative; at most three
    points, and none where none is found."""
    found = []
    for distance in (0, 1, 1000):
        point: dict[int, int] = {}
        for number, low in lows:
            # The polynomials whose last unknown this is bound it, as if linear in it: start + step * x >= 0.
            bounds = []
            for known in at_least:
                if known.unknowns()[-1:] == [number]:
                    start, next_one = (known.at({**point, number: x}) for x in (0, 1))
                    bounds.append((start, next_one - start))
            least = max([low, *(-(start // step) for start, step in bounds if step > 0)])
            most = [start // -step for start, step in bounds if step < 0]
            point[number] = min([least + distance * (number + 1), *most])
        if all(point[number] >= low for number, low in lows) and all(known.at(point) >= 0 for known in at_least):
            found.append(point)
    return found


def _follows(poly: Poly, lows: dict[int, int], at_least: tuple[Poly, ...], depth: int) -> bool:
    """Whether that follows with at most `depth` of these polynomials subtracted, each as many times as removes a
    negative term."""
    if (holds := poly.is_not_negative(lows)) or depth == 0:
        return holds
    pairs = [(known, m, c) for known in at_least for m, c in poly.items() if c < 0 and known.get(m, 0) < 0]
    return any(_follows(poly.plus(known, -c // known[m]), lows, at_least, depth - 1) for known, m, c in pairs)


def _contains(monomial: Monomial, product: Monomial) -> bool:
    powers = dict(monomial)
    return all(powers.get(number, 0) >= exponent for number, exponent in product)
