"""Facts about unknown sizes: "64 divides M", "M >= 4", "N == 4*M", "K != M".

A layout with unknown sizes carries its facts, operations unite those of their operands, and `subs` checks them against
the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, prod
from typing import TYPE_CHECKING, TypeAlias, cast

from ..errors import LayoutError

if TYPE_CHECKING:
    import sympy

Term: TypeAlias = "int | sympy.Expr"

_SIGN = re.compile(r"\s+divides\s+|\s*(?:>=|<=|==|!=|>|<)\s*")
_FLIPPED = {">=": "<=", "<=": ">=", "==": "==", "!=": "!=", ">": "<", "<": ">"}


@dataclass(frozen=True, slots=True)
class Fact:
    """`left sign right`: the sign is "divides", ">=", "<=", "==" or "!="."""

    left: Term
    sign: str
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"

    def replaced(self, values: Mapping[object, object]) -> Fact:
        """The fact with values in place of symbols."""
        return Fact(put(self.left, values), self.sign, put(self.right, values))

    def holds(self) -> bool | None:
        """True or False where both sides are numbers, None where something is unknown."""
        if not (type(self.left) is int and type(self.right) is int):
            return self._holds_anyway()
        left, right = self.left, self.right
        if self.sign == "divides":
            return left != 0 and right % left == 0
        if self.sign in (">=", "<="):
            return left >= right if self.sign == ">=" else left <= right
        return left == right if self.sign == "==" else left != right

    def _holds_anyway(self) -> bool | None:
        """True or False where that is so for every positive value of what is unknown."""
        sides = (self.left, self.right)
        if any(getattr(side, "is_integer", None) is False for side in sides):
            return False
        if self.sign == "divides":
            return True if getattr(self.right / self.left, "is_integer", False) else None
        more = self.left - self.right if self.sign != "<=" else self.right - self.left
        if self.sign in ("==", "!="):
            zero = more == 0 or getattr(more, "is_zero", None)
            return zero if zero is None or self.sign == "==" else not zero
        return cast("bool | None", getattr(more, "is_nonnegative", more >= 0 if type(more) is int else None))


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that gave a layout, and the shape and stride that it gave: other layouts may share its facts."""

    function: Callable[..., object]
    operands: tuple[object, ...]
    shape: object
    stride: object


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stated, in the order of stating, each once; and where the layout that carries it comes from."""

    stated: tuple[Fact, ...] = ()
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return ", ".join(map(str, self.stated))

    def __or__(self, other: object) -> Facts:
        more = other.stated if isinstance(other, Facts) else ()
        return Facts(tuple(dict.fromkeys(self.stated + more)), self.origin) if more else self


def whole(value: object) -> Term:
    """A SymPy integer as an int; other expressions as they are."""
    return int(cast(int, value)) if getattr(value, "is_Integer", False) else cast("Term", value)


def put(term: Term, values: Mapping[object, object]) -> Term:
    """A term with values in place of symbols: by plain arithmetic where all are numbers, by SymPy otherwise."""
    if type(term) is int:
        return term
    try:
        value = _number(cast("sympy.Expr", term), values)
    except LookupError:
        return whole(cast("sympy.Expr", term).subs(values, simultaneous=True))
    if value.denominator == 1:
        return int(value)
    import sympy

    return sympy.Rational(value.numerator, value.denominator)


def _number(tree: sympy.Expr, values: Mapping[object, object]) -> Fraction:
    """The number that an expression is; LookupError where a symbol has none or a function is not known here."""
    if tree.is_Symbol:
        value = values[tree]
        if type(value) is not int:
            raise LookupError(value)
        return Fraction(value)
    if tree.is_Rational:
        return Fraction(int(tree.p), int(tree.q))
    name = type(tree).__name__
    if name not in ("Add", "Mul", "Pow", "floor", "ceiling", "Mod"):
        raise LookupError(tree)
    parts = [_number(part, values) for part in tree.args]
    if name in ("Add", "Mul"):
        return sum(parts, Fraction(0)) if name == "Add" else prod(parts, start=Fraction(1))
    if name in ("floor", "ceiling"):
        return Fraction(floor(parts[0]) if name == "floor" else ceil(parts[0]))
    return parts[0] % parts[1] if name == "Mod" else Fraction(parts[0] ** parts[1])


def divides(divisor: object, size: object) -> Fact:
    """The fact that `divisor` divides `size`.

    >>> import sympy
    >>> print(divides(64, sympy.Symbol("M", integer=True, positive=True)))
    64 divides M
    """
    return Fact(_term(divisor), "divides", _term(size))


def facts_of(statements: Iterable[object]) -> Facts:
    """Facts from texts, from `divides(...)`, and from SymPy relations.

    >>> print(facts_of(["64 divides M", "M > 64", "N == 4*M", "K % 8 == 0"]))
    64 divides M, M >= 65, N == 4*M, 8 divides K

    Raises LayoutError for what is none of these.
    """
    found: list[Fact] = []
    for statement in statements:
        if isinstance(statement, Fact):
            found.append(statement)
        elif isinstance(statement, str):
            found += _from_text(statement)
        else:
            found.append(_from_relation(statement))
    return Facts(tuple(dict.fromkeys(found)))


def _from_text(text: str) -> list[Fact]:
    sides, signs = _SIGN.split(text), _SIGN.findall(text)
    if not signs:
        raise LayoutError(f"{text!r} is no fact; write '64 divides M', 'M >= 4', 'N == 4*M' or 'K != M'")
    terms = [_term(side) for side in sides]
    return [_normal(left, sign.strip(), right) for left, sign, right in zip(terms[:-1], signs, terms[1:], strict=True)]


def _from_relation(relation: object) -> Fact:
    sign = {"Equality": "==", "Unequality": "!="}.get(type(relation).__name__) or getattr(relation, "rel_op", None)
    if sign not in _FLIPPED:
        raise LayoutError(f"{relation!r} is no fact; give a text, divides(64, M), or a SymPy relation such as M >= 4")
    return _normal(_term(relation.lhs), cast(str, sign), _term(relation.rhs))  # type: ignore[attr-defined]


def _normal(left: Term, sign: str, right: Term) -> Fact:
    """Strict signs made loose, `M % 64 == 0` made a divisor, a number on the left put on the right."""
    if sign == "divides":
        return Fact(left, sign, right)
    if type(left) is int and type(right) is not int:
        left, sign, right = right, _FLIPPED[sign], left
    if sign == "==" and type(right) is int and type(left).__name__ == "Mod":
        value, divisor = left.args  # type: ignore[union-attr]
        return Fact(whole(divisor), "divides", whole(value - right))
    if sign in (">", "<"):
        sign, right = sign + "=", whole(right + 1 if sign == ">" else right - 1)
    return Fact(left, sign, right)


def _term(value: object) -> Term:
    from .notation import parse_tiler

    term = parse_tiler(value) if isinstance(value, str) else value
    if type(term) is int:
        return term
    if not hasattr(term, "free_symbols"):
        raise LayoutError(f"{value!r} is no size; facts are about numbers and symbols")
    for symbol in term.free_symbols:
        check_symbol(symbol)
    return whole(term)


def check_symbol(symbol: object) -> None:
    """Sizes are positive integers; a symbol must say so, for SymPy tells M from M by what is said of it."""
    if not (getattr(symbol, "is_integer", False) and getattr(symbol, "is_positive", False)):
        raise LayoutError(
            f"the symbol {symbol} is not known to be a positive integer; make it with "
            f"Symbol({str(symbol)!r}, integer=True, positive=True)"
        )


def implied(shape: Iterable[Term], stride: Iterable[Term]) -> Facts | None:
    """What writing a layout states: each size is an integer from 1, each stride an integer. None without symbols."""
    shape, stride = list(shape), list(stride)
    symbolic = False
    found: list[Fact] = []
    for position, term in enumerate(shape + stride):
        if type(term) is int:
            continue
        if not term.free_symbols:  # type: ignore[union-attr]
            raise LayoutError(f"{term} is no size: a size is a whole number")
        symbolic = True
        for symbol in term.free_symbols:  # type: ignore[union-attr]
            check_symbol(symbol)
        if not term.is_integer:  # type: ignore[union-attr]
            found.append(_integral(term))
        if position < len(shape) and not term.is_positive:  # type: ignore[union-attr]
            found.append(Fact(term, ">=", 1))
    return Facts(tuple(dict.fromkeys(found))) if symbolic else None


def _integral(term: Term) -> Fact:
    import sympy

    above, below = sympy.fraction(sympy.together(term))
    if not (getattr(above, "is_integer", False) and getattr(below, "is_integer", False)) or below == 1:
        raise LayoutError(f"{term} is no size: a size is a whole number, a positive symbol, or made of them by + - * /")
    return Fact(whole(below), "divides", whole(above))
