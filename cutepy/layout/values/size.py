"""Sizes that are not known yet, computed with as if they were integers.

A `Size` is a polynomial over unknowns of a `Context`. `+ - * // %` give sizes or integers; a comparison is decided by
the context from the facts, or for all but one value of an unknown (which is then assumed and checked by itself:
`lift.py`), or raises `Undecided` with the fact that would do. So an algorithm over integers runs over sizes as it
stands.

A polynomial is a dict from monomials to coefficients, none of them 0; a monomial is a tuple of (unknown, exponent),
sorted, the empty one for the constant. Exponents below 0 occur only while text is being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ..unknown.prover import Context

Monomial: TypeAlias = tuple[tuple[int, int], ...]
Poly: TypeAlias = dict[Monomial, int]

ONE: Monomial = ()


def constant(value: int) -> Poly:
    """The polynomial that is a number."""
    return {ONE: value} if value else {}


def unknown(number: int) -> Poly:
    """The polynomial that is one unknown."""
    return {((number, 1),): 1}


def as_constant(poly: Poly) -> int | None:
    """The number that a polynomial is, or None.

    >>> as_constant({}), as_constant({(): 3}), as_constant({((0, 1),): 3})
    (0, 3, None)
    """
    if not poly:
        return 0
    return poly[ONE] if len(poly) == 1 and ONE in poly else None


def added(left: Poly, right: Poly, factor: int = 1) -> Poly:
    """`left + factor * right`."""
    total = dict(left)
    for monomial, coefficient in right.items():
        value = total.get(monomial, 0) + factor * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return total


def scaled(poly: Poly, factor: int) -> Poly:
    """`factor * poly`."""
    return {monomial: factor * coefficient for monomial, coefficient in poly.items()} if factor else {}


def times(left: Monomial, right: Monomial, sign: int = 1) -> Monomial:
    """The product of two monomials, or their quotient with `sign=-1`."""
    powers = dict(left)
    for number, exponent in right:
        power = powers.get(number, 0) + sign * exponent
        if power:
            powers[number] = power
        else:
            del powers[number]
    return tuple(sorted(powers.items()))


def multiplied(left: Poly, right: Poly) -> Poly:
    """`left * right`.

    >>> multiplied({((0, 1),): 1, (): 1}, {((0, 1),): 1, (): -1})
    {((0, 2),): 1, (): -1}
    """
    total: Poly = {}
    for one, a in left.items():
        for other, b in right.items():
            monomial = times(one, other)
            value = total.get(monomial, 0) + a * b
            if value:
                total[monomial] = value
            else:
                del total[monomial]
    return total


def power(poly: Poly, exponent: int) -> Poly:
    """`poly ** exponent`."""
    total = constant(1)
    for _ in range(exponent):
        total = multiplied(total, poly)
    return total


def replaced(poly: Poly, number: int, by: Poly) -> Poly:
    """`poly` with one unknown replaced by a polynomial."""
    total: Poly = {}
    for monomial, coefficient in poly.items():
        exponent = dict(monomial).get(number, 0)
        if not exponent:
            total = added(total, {monomial: coefficient})
            continue
        rest = tuple(entry for entry in monomial if entry[0] != number)
        total = added(total, multiplied({rest: coefficient}, power(by, exponent)))
    return total


def shifted(poly: Poly, lows: Mapping[int, int]) -> Poly:
    """`poly` in new unknowns, each less by its low: what it is made of above its least value."""
    for number in unknowns(poly):
        low = lows[number]
        if low:
            poly = replaced(poly, number, {((number, 1),): 1, ONE: low})
    return poly


def unknowns(poly: Poly) -> list[int]:
    """The numbers of the unknowns, in order."""
    return sorted({number for monomial in poly for number, _exponent in monomial})


def quotient(poly: Poly, divisor: Poly) -> Poly | None:
    """`poly / divisor` where that is a polynomial with integer coefficients, else None.

    >>> quotient({((0, 2),): 4, ((0, 1),): 4}, {((0, 1),): 2})
    {((0, 1),): 2, (): 2}
    >>> quotient({((0, 1),): 1}, {(): 2}) is None
    True
    """
    if not divisor:
        return None
    lead = max(divisor, key=_rank)
    result: Poly = {}
    rest = poly
    while rest:
        top = max(rest, key=_rank)
        monomial = times(top, lead, -1)
        if rest[top] % divisor[lead] or any(exponent < 0 for _number, exponent in monomial):
            return None
        term = {monomial: rest[top] // divisor[lead]}
        result = added(result, term)
        rest = added(rest, multiplied(term, divisor), -1)
    return result


def _rank(monomial: Monomial) -> tuple[int, list[tuple[int, int]]]:
    """A monomial order: by degree, then by unknowns."""
    return sum(exponent for _number, exponent in monomial), [(-number, exponent) for number, exponent in monomial]


Operand: TypeAlias = "int | Size"


class Undecided(Exception):
    """Inside a lifted operation: nobody stated what decides it. `lift.py` puts the polynomials into words."""

    def __init__(self, context: Context, kind: str, left: Poly, right: Poly | None = None) -> None:
        self.context, self.kind, self.left, self.right = context, kind, left, right or {}


def is_unknown(thing: object) -> bool:
    """True for what has a symbol in it: a SymPy expression, a layout with unknown sizes, a tuple with one of those."""
    if type(thing) is int or thing is None:
        return False
    if isinstance(thing, tuple):
        return any(map(is_unknown, thing))
    return hasattr(thing, "free_symbols") or getattr(thing, "facts", None) is not None


def list_coordinates(*sizes: object) -> None:
    """Stand before an algorithm that lists coordinates: raises Undecided if some size is not known."""
    for size in sizes:
        if isinstance(size, Size):
            raise Undecided(size.context, "table", size.poly)


class Size:
    """An unknown size: a polynomial that is not a constant, with the context that decides about it."""

    __slots__ = ("context", "of", "poly")

    def __init__(self, context: Context, poly: Poly, of: tuple[Poly, Poly] | None = None) -> None:
        self.context, self.poly = context, poly
        self.of = of  # of a remainder: what is divided by what

    def _other(self, other: object) -> Poly | None:
        if type(other) is int:
            return constant(other)
        return other.poly if isinstance(other, Size) else None

    def __add__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self.context.size(added(self.poly, right))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self.context.size(added(self.poly, right, -1))

    def __rsub__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self.context.size(added(right, self.poly, -1))

    def __mul__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self.context.size(multiplied(self.poly, right))

    __rmul__ = __mul__

    def __neg__(self) -> Operand:
        return self.context.size(scaled(self.poly, -1))

    def __abs__(self) -> Operand:
        return -self if self < 0 else self

    def __floordiv__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self.context.size(self.context.floor(self.poly, right))

    def __rfloordiv__(self, other: Operand) -> Operand:
        left = self._other(other)
        return NotImplemented if left is None else self.context.size(self.context.floor(left, self.poly))

    def __mod__(self, other: Operand) -> Operand:
        right = self._other(other)
        return NotImplemented if right is None else self._remainder(self.poly, right)

    def __rmod__(self, other: Operand) -> Operand:
        left = self._other(other)
        return NotImplemented if left is None else self._remainder(left, self.poly)

    def _remainder(self, poly: Poly, divisor: Poly) -> Operand:
        found = self.context.parts(poly, divisor)
        if found is not None:
            return self.context.size(found[1])
        if self.context.known_multiple(poly, divisor):
            return 0
        rest = added(poly, multiplied(self.context.floor(poly, divisor), divisor), -1)
        return Size(self.context, rest, (poly, divisor))

    def __eq__(self, other: object) -> bool:
        right = self._other(other)
        if right is None:
            return False
        if self.of is not None and not right:
            raise Undecided(self.context, "divides", self.of[1], self.of[0])
        return self.context.decided(self.context.is_zero, added(self.poly, right, -1), "equal")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Operand) -> bool:
        return self._less(other, self.poly, self._other(other))

    def __gt__(self, other: Operand) -> bool:
        return self._less(other, self._other(other), self.poly)

    def __le__(self, other: Operand) -> bool:
        return not self > other

    def __ge__(self, other: Operand) -> bool:
        return not self < other

    def _less(self, other: Operand, left: Poly | None, right: Poly | None) -> bool:
        if left is None or right is None:
            raise TypeError(f"an unknown size has no order with {other!r}")
        return self.context.decided(self.context.is_less, added(left, right, -1), "less")

    def __hash__(self) -> int:
        return hash(frozenset(self.poly.items()))

    def __index__(self) -> int:
        raise Undecided(self.context, "table", self.poly)

    def __truediv__(self, other: object) -> Operand:
        raise Undecided(self.context, "table", self.poly)  # NumPy divides where it is asked to list coordinates

    __rtruediv__ = __truediv__

    def __repr__(self) -> str:
        return str(self.context.expression(self.poly))
