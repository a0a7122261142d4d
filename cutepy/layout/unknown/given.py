"""Facts stated by a user: as texts, as `divides(...)`, as SymPy relations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from ...errors import LayoutError
from ..text.parse import parse_tiler
from ..values.facts import Fact, Facts, Term, check_symbol, whole
from ..values.layout import Layout, _make
from .knowledge import Knowledge

_SIGN = re.compile(r"\s+divides\s+|\s*(?:>=|<=|==|!=|>|<)\s*")
_FLIPPED = {">=": "<=", "<=": ">=", "==": "==", "!=": "!=", ">": "<", "<": ">"}


def given(layout: Layout, *statements: object) -> Layout:
    """`layout` with facts stated about its sizes: texts, `divides(64, M)`, SymPy relations such as `M >= 4`.

    >>> print(given(Layout.parse("(M,8):(8,1)"), "64 divides M", "M >= 128").facts)
    64 divides M, M >= 128

    Raises LayoutError for a statement that is no fact, and for facts that contradict each other.
    """
    facts = facts_of(statements)
    if layout.facts is None:
        raise LayoutError(
            f"{layout}: it has no unknown sizes; state {facts} on the operand that has, as Layout(N).given(...)"
        )
    stated = _make(layout.shape, layout.stride, layout.facts | facts)
    Knowledge.of((stated,))
    return stated


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
    term = parse_tiler(value) if isinstance(value, str) else value
    if type(term) is int:
        return term
    if not hasattr(term, "free_symbols"):
        raise LayoutError(f"{value!r} is no size; facts are about numbers and symbols")
    for symbol in term.free_symbols:
        check_symbol(symbol)
    return whole(term)
