"""Polynomials with integer coefficients over numbered unknowns: what sizes are made of.

A polynomial is a dict from monomials to coefficients, none of them 0; a monomial is a tuple of (unknown, exponent),
sorted, the empty one for the constant. Exponents below 0 occur only while text is being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

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
