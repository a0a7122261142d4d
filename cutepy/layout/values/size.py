"""Sizes that are not known yet, computed with as if they were integers.

A `Size` is a polynomial over unknowns of a `Context`. `+ - * // %` give sizes or integers; a comparison is decided by
the context from the facts, or for all but one value of an unknown (which is then assumed and checked by itself:
`lift.py`), or raises `Undecided` with the fact that would do. So an algorithm over integers runs over sizes as it
stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..symbolic.prover import Context

Monomial: TypeAlias = tuple[tuple[int, int], ...]
"""A product of powers: (unknown, exponent), sorted, none 0; exponents below 0 occur only while text is being read."""

ONE: Monomial = ()


Terms = TypeVar("Terms", bound="dict[Any, int]")


def added(one: Terms, two: dict[Any, int], factor: int, short: Callable[[int], int] | None = None) -> Terms:
    """The coefficients of `one` plus `factor` times those of `two`, none of them 0."""
    return _add(type(one)(one), two, factor, short)


def _add(terms: Terms, two: dict[Any, int], factor: int, short: Callable[[int], int] | None = None) -> Terms:
    """`terms`, which is being built, with `factor` times the coefficients of `two` added."""
    for atom, c in two.items():
        total = terms.get(atom, 0) + factor * c
        if total := short(total) if short else total:
            terms[atom] = total
        else:
            terms.pop(atom, None)
    return terms


class Poly(dict[Monomial, int]):
    """A polynomial with integer coefficients: from monomials to coefficients, none of them 0. It is never changed.

    >>> x = Poly.unknown(0)
    >>> (x + 1) * (x - 1), (x * x - x).divided(x)
    ({((0, 2),): 1, (): -1}, {((0, 1),): 1, (): -1})
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # a dict that may change has none
        return hash(frozenset(self.items()))

    @staticmethod
    def of(value: int) -> Poly:
        """The polynomial that is a number."""
        return Poly({ONE: value} if value else {})

    @staticmethod
    def unknown(number: int) -> Poly:
        """The polynomial that is one unknown."""
        return Poly({((number, 1),): 1})

    def number(self) -> int | None:
        """The number that the polynomial is, or None."""
        if not self:
            return 0
        return self[ONE] if len(self) == 1 and ONE in self else None

    def plus(self, other: Poly | int, factor: int) -> Poly:
        """This polynomial plus `factor` times another one."""
        return added(self, Poly.of(other) if isinstance(other, int) else other, factor)

    def __add__(self, other: Poly | int) -> Poly:
        return self.plus(other, 1)

    def __sub__(self, other: Poly | int) -> Poly:
        return self.plus(other, -1)

    def __neg__(self) -> Poly:
        return self * -1

    def __mul__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return Poly({monomial: other * coefficient for monomial, coefficient in self.items()} if other else {})
        total = Poly()
        for one, a in self.items():
            _add(total, {times(one, another): b for another, b in other.items()}, a)
        return total

    def __pow__(self, exponent: int) -> Poly:
        total = Poly.of(1)
        for _ in range(exponent):
            total = total * self
        return total

    def without(self, monomial: Monomial) -> Poly:
        """This polynomial less one of its terms."""
        return Poly({m: c for m, c in self.items() if m != monomial})

    def solved(self, number: int) -> Poly | None:
        """What an unknown is where this polynomial is 0: a polynomial in the others, or None.

        >>> x, y = Poly.unknown(0), Poly.unknown(1)
        >>> (y - x * 4).solved(1) == x * 4, (y - x * 4).solved(0)
        (True, None)
        """
        alone = ((number, 1),)
        rest = self.without(alone)
        return rest * -self[alone] if abs(self.get(alone, 0)) == 1 and number not in rest.unknowns() else None

    def put(self, number: int, by: Poly) -> Poly:
        """This polynomial with `by` in the place of one unknown."""
        total = Poly()
        for monomial, coefficient in self.items():
            if exponent := dict(monomial).get(number):
                rest = tuple([entry for entry in monomial if entry[0] != number])
                _add(total, Poly({rest: coefficient}) * by**exponent, 1)
            else:
                _add(total, {monomial: coefficient}, 1)
        return total

    def at(self, point: Mapping[int, int]) -> int:
        """The value where each unknown has its value at `point`.

        >>> (Poly.unknown(0) * Poly.unknown(0) - 3).at({0: 5})
        22
        """
        total = 0
        for monomial, term in self.items():
            for number, exponent in monomial:
                term *= point[number] ** exponent
            total += term
        return total

    def shifted(self, lows: Mapping[int, int]) -> Poly:
        """This polynomial with x + lows[x] in the place of each unknown x.

        Where no unknown is below its low the new ones are 0 or more: without a negative coefficient the polynomial is
        0 or more too. Raises KeyError for an unknown without a low.
        """
        total = Poly()
        for monomial, coefficient in self.items():
            # (x + low)^n is the sum of C(n, k) low^(n - k) x^k; in the order of the unknowns monomials stay sorted.
            product: dict[Monomial, int] = {ONE: coefficient}
            for entry in monomial:
                number, n = entry
                moved = {(*m, entry): c for m, c in product.items()}
                if low := lows[number]:
                    for k in range(1, n):
                        by = comb(n, k) * low ** (n - k)
                        moved |= {(*m, (number, k)): c * by for m, c in product.items()}
                    moved |= {m: c * low**n for m, c in product.items()}
                product = moved
            _add(total, product, 1)
        return total

    def is_not_negative(self, lows: Mapping[int, int]) -> bool:
        """Whether `shifted` has no negative coefficient: then this polynomial is 0 or more from `lows` on."""
        least = 0
        for monomial, coefficient in self.items():
            if len(monomial) > 1 or (monomial and monomial[0][1] > 1):
                return all(c > 0 for c in self.shifted(lows).values())
            least += coefficient * lows[monomial[0][0]] if monomial else coefficient
        return least >= 0 and all(coefficient > 0 for monomial, coefficient in self.items() if monomial)

    def unknowns(self) -> list[int]:
        """The numbers of the unknowns, in order."""
        return sorted({number for monomial in self for number, _exponent in monomial})

    def divided(self, divisor: Poly) -> Poly | None:
        """The quotient where that is a polynomial with integer coefficients, else None."""
        if not divisor:
            return None
        lead = max(divisor, key=_rank)
        result, rest = Poly(), self
        while rest:
            top = max(rest, key=_rank)
            monomial = times(top, lead, -1)
            if rest[top] % divisor[lead] or any(exponent < 0 for _number, exponent in monomial):
                return None
            term = Poly({monomial: rest[top] // divisor[lead]})
            result, rest = result + term, rest - term * divisor
        return result


def times(left: Monomial, right: Monomial, sign: int = 1) -> Monomial:
    """The product of two monomials, sorted tuples of (size, exponent), or their quotient with `sign=-1`. A size whose
    exponents cancel is left out."""
    if not (left and right) and sign == 1:
        return left or right
    powers = dict(left)
    for number, exponent in right:
        power = powers.get(number, 0) + sign * exponent
        if power:
            powers[number] = power
        else:
            del powers[number]
    return tuple(sorted(powers.items()))


def _rank(monomial: Monomial) -> tuple[int, list[tuple[int, int]]]:
    """A monomial order: by degree, then by unknowns."""
    return sum(exponent for _number, exponent in monomial), [(-number, exponent) for number, exponent in monomial]


Operand: TypeAlias = "int | Size"


class Undecided(Exception):
    """Inside a lifted operation: nobody stated what decides it. `lift.py` puts the polynomials into words."""

    def __init__(self, context: Context, kind: str, left: Poly, right: Poly | None = None) -> None:
        self.context, self.kind, self.left, self.right = context, kind, left, right or Poly()


def is_unknown(thing: object) -> bool:
    """True for what has a symbol in it: a SymPy expression, a layout with unknown sizes, a tuple with one of those."""
    if type(thing) is int or thing is None:
        return False
    if isinstance(thing, tuple):
        return any(map(is_unknown, thing))
    return hasattr(thing, "free_symbols") or getattr(thing, "facts", None) is not None


def require_known_sizes(*sizes: object) -> None:
    """Before an algorithm that lists coordinates: raises Undecided if some size is not known."""
    for size in sizes:
        if isinstance(size, Size):
            raise Undecided(size.context, "table", size.poly)


def poly_of(operand: object) -> Poly | None:
    """The polynomial of a whole number or of an unknown size; None for anything else."""
    if type(operand) is int:
        return Poly.of(operand)
    return operand.poly if isinstance(operand, Size) else None


def _arithmetic(
    combine: Callable[[Context, Poly, Poly], Operand],
) -> tuple[Callable[[Size, Operand], Operand], Callable[[Size, Operand], Operand]]:
    """An operator with the size on the left, and on the right."""

    def forward(self: Size, other: Operand) -> Operand:
        right = poly_of(other)
        return NotImplemented if right is None else combine(self.context, self.poly, right)

    def reflected(self: Size, other: Operand) -> Operand:
        left = poly_of(other)
        return NotImplemented if left is None else combine(self.context, left, self.poly)

    return forward, reflected


def _remainder(context: Context, poly: Poly, divisor: Poly) -> Operand:
    """`poly % divisor`, where need be by a new unknown: then it remembers what was divided by what."""
    found = context.parts(poly, divisor)
    if found is not None:
        return context.size(found[1])
    if context.known_multiple(poly, divisor):
        return 0
    rest = context.size(poly - context.floor(poly, divisor) * divisor)
    if isinstance(rest, Size):
        rest.of = (poly, divisor)
    return rest


class Size:
    """An unknown size: a polynomial that is not a constant, with the context that decides about it."""

    __slots__ = ("context", "of", "poly")

    def __init__(self, context: Context, poly: Poly, of: tuple[Poly, Poly] | None = None) -> None:
        self.context, self.poly = context, poly
        self.of = of  # of a remainder: what is divided by what

    __add__ = __radd__ = _arithmetic(lambda context, left, right: context.size(left + right))[0]
    __sub__, __rsub__ = _arithmetic(lambda context, left, right: context.size(left - right))
    __mul__ = __rmul__ = _arithmetic(lambda context, left, right: context.size(left * right))[0]
    __floordiv__, __rfloordiv__ = _arithmetic(lambda context, above, below: context.size(context.floor(above, below)))
    __mod__, __rmod__ = _arithmetic(_remainder)

    def __neg__(self) -> Operand:
        return self.context.size(-self.poly)

    def __abs__(self) -> Operand:
        return -self if self < 0 else self

    def __eq__(self, other: object) -> bool:
        right = poly_of(other)
        if right is None:
            return False
        if self.of is not None and not right:
            raise Undecided(self.context, "divides", self.of[1], self.of[0])
        return self.context.decided(self.context.is_zero, self.poly - right, "equal")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Operand) -> bool:
        return self._less(other, self.poly, poly_of(other))

    def __gt__(self, other: Operand) -> bool:
        return self._less(other, poly_of(other), self.poly)

    def __le__(self, other: Operand) -> bool:
        return not self > other

    def __ge__(self, other: Operand) -> bool:
        return not self < other

    def _less(self, other: Operand, left: Poly | None, right: Poly | None) -> bool:
        if left is None or right is None:
            raise TypeError(f"an unknown size has no order with {other!r}")
        return self.context.decided(self.context.is_less, left - right, "less")

    def __hash__(self) -> int:
        return hash(self.poly)

    def __index__(self) -> int:
        raise Undecided(self.context, "table", self.poly)

    def __truediv__(self, other: object) -> Operand:
        raise Undecided(self.context, "table", self.poly)  # NumPy divides where it is asked to list coordinates

    __rtruediv__ = __truediv__

    def in_kernel(self) -> Any:
        """The size as a value of the kernel that is being traced; only one of its own has that."""
        raise Undecided(self.context, "table", self.poly)

    def __repr__(self) -> str:
        return str(self.context.expression(self.poly))
