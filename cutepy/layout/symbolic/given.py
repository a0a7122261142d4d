"""What a user does with unknown sizes: state facts about them, put values in, read the offset as a formula."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import TYPE_CHECKING, Any

from ...errors import LayoutError
from ..public import guarded
from ..values.coordinates import Basis, as_stride, path_of, value_of
from ..values.facts import Fact, Facts, FactSource, Term, check_symbol, whole
from ..values.int_tuple import leaves, map_leaves
from ..values.layout import Layout, _make
from .lift import Knowledge

if TYPE_CHECKING:
    from fractions import Fraction

    import sympy

    from ..values.composed import ComposedLayout
else:
    from ...lazy import sympy

_SIGN = r"\s+divides\s+|\s*(?:>=|<=|==|!=|>|<)\s*"
_FLIPPED = {">=": "<=", "<=": ">=", "==": "==", "!=": "!=", ">": "<", "<": ">"}


@guarded
def given(layout: Layout, *statements: object) -> Layout:
    """`Layout.given`: facts are texts, `divides(64, M)`, SymPy relations such as `M >= 4`."""
    facts = facts_of(statements)
    if layout.facts is None:
        raise LayoutError(
            f"{layout}: it has no unknown sizes; state {facts} on the operand that has, as Layout(N).given(...)"
        )
    stated = _make(layout.shape, layout.stride, layout.facts | facts)
    Knowledge.of((stated,))
    return stated


@guarded
def divides(divisor: object, size: object) -> Fact:
    """The fact that `divisor` divides `size`.

    >>> import sympy
    >>> print(divides(64, sympy.Symbol("M", integer=True, positive=True)))
    64 divides M

    Raises LayoutError for what is neither a number nor a symbol.
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
    sides, signs = re.split(_SIGN, text), re.findall(_SIGN, text)
    if not signs:
        raise LayoutError(f"{text!r} is no fact; write '64 divides M', 'M >= 4', 'N == 4*M' or 'K != M'")
    terms = [_term(side) for side in sides]
    return [_normal(left, sign.strip(), right) for left, sign, right in zip(terms[:-1], signs, terms[1:], strict=True)]


def _from_relation(relation: Any) -> Fact:
    named = {"Equality": "==", "Unequality": "!="}
    sign = named.get(type(relation).__name__, str(getattr(relation, "rel_op", "")))
    if sign not in _FLIPPED:
        raise LayoutError(f"{relation!r} is no fact; give a text, divides(64, M), or a SymPy relation such as M >= 4")
    return _normal(_term(relation.lhs), sign, _term(relation.rhs))


def _normal(left: Term, sign: str, right: Term) -> Fact:
    """Strict signs made loose, `M % 64 == 0` made a divisor, a number on the left put on the right."""
    if sign == "divides":
        return Fact(left, sign, right)
    if type(left) is int and type(right) is not int:
        left, sign, right = right, _FLIPPED[sign], left
    if sign == "==" and isinstance(right, int) and not isinstance(left, int) and type(left).__name__ == "Mod":
        value, divisor = left.args
        return Fact(whole(divisor), "divides", whole(value - right))
    if sign in (">", "<"):
        sign, right = sign + "=", whole(right + 1 if sign == ">" else right - 1)
    return Fact(left, sign, right)


def _term(value: object) -> Term:
    from ..text.parse import parse_tiler  # which imports this module

    term = parse_tiler(value) if isinstance(value, str) else value
    if type(term) is int:
        return term
    if not hasattr(term, "free_symbols"):
        raise LayoutError(f"{value!r} is no size; facts are about numbers and symbols")
    for symbol in term.free_symbols:
        check_symbol(symbol)
    return whole(term)


@guarded
def subs(layout: Layout, values: Mapping[object, object] | None = None, **named: object) -> Layout:
    """`layout` with values, or other expressions, for symbols; the facts are checked against them.

    >>> subs(Layout.parse("(M,8):(8,1)").given("64 divides M"), M=128)
    Layout((128, 8), (8, 1))

    Where values are known for all of a result, the operation that gave it is asked again, so that modes of size 1, and
    modes that merge at these values, are spelled as it spells them for numbers.

    Symbols are meant by themselves (those that do not occur are passed over) or by name. Raises LayoutError where a
    fact does not hold, for a value below 1, and for a name that does not occur.
    """
    if layout.facts is None:
        return layout
    facts = layout.facts
    together: dict[object, object] = dict(values or {})
    table = _by_symbol(layout, facts, together | dict(named))
    left: list[Fact] = []
    for fact in facts.stated:
        there = Fact(put(fact.left, table), fact.sign, put(fact.right, table))
        holds = there.holds()
        if holds is False:
            what = " and ".join(f"{symbol} = {value}" for symbol, value in table.items())
            raise LayoutError(f"{layout} with {what}: the fact '{fact}' does not hold there ({there})")
        if holds is None:
            left.append(there)

    def leaf(step: int | Basis) -> int:
        value: Any = put(value_of(step), table)
        return as_stride(value, path_of(step))

    result = Layout(map_leaves(leaf, layout.shape), map_leaves(leaf, layout.stride))
    origin = facts.origin
    if origin is not None and (origin.shape, origin.stride) != (layout.shape, layout.stride):
        origin = None
    if origin is not None:
        operands = tuple(_subs_operand(operand, table) for operand in origin.operands)
        origin = FactSource(origin.function, operands, result.shape, result.stride)
    if result.facts is not None:
        return _make(result.shape, result.stride, Facts((result.facts | Facts(tuple(left))).stated, origin))
    if origin is None:
        return result
    again = origin.function(*origin.operands)
    assert isinstance(again, Layout)
    return again


def put(term: Term, values: Mapping[object, object]) -> Term:
    """A term with values in place of symbols: by plain arithmetic where all are numbers, by SymPy otherwise."""
    if isinstance(term, int):
        return term
    try:
        value = _number(term, values)
    except LookupError:
        return whole(term.subs(values, simultaneous=True))
    if value.denominator == 1:
        return int(value)
    return sympy.Rational(value.numerator, value.denominator)


def _number(tree: sympy.Expr, values: Mapping[object, object]) -> Fraction:
    """The number that an expression is; LookupError where a symbol has none or a function is not known here."""
    from fractions import Fraction  # with decimal, whose loading is a tenth of that of all of cutepy

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


def _subs_operand(operand: Any, table: Mapping[object, object]) -> object:
    if isinstance(operand, tuple):
        return tuple(_subs_operand(entry, table) for entry in operand)
    if isinstance(operand, Layout):
        return subs(operand, table)
    return put(operand, table) if hasattr(operand, "free_symbols") else operand


def subs_offset(layout: ComposedLayout, values: Mapping[object, object]) -> Term:
    """The offset of a composed layout, which a slice may have made symbolic, with values for its symbols."""
    offset: Any = layout.offset
    return _subs_operand(offset, dict(values)) if values else offset


def _by_symbol(layout: Layout, facts: Facts, values: Mapping[object, Any]) -> dict[object, object]:
    symbols = {str(symbol): symbol for symbol in symbols_of(layout, facts)}
    table: dict[object, object] = {}
    for name, value in values.items():
        if str(name) not in symbols and not isinstance(name, str):
            continue
        if str(name) not in symbols:
            raise LayoutError(f"{layout} has no unknown size {name}; it has {', '.join(sorted(symbols))}")
        known = type(value) is int or (hasattr(value, "__index__") and not isinstance(value, bool))
        if known and int(value) < 1:
            raise LayoutError(f"{layout} with {name} = {value}: sizes are at least 1")
        if not known and not hasattr(value, "free_symbols"):
            raise LayoutError(f"{layout} with {name} = {value!r}: a value is a whole number or a SymPy expression")
        table[symbols[str(name)]] = int(value) if known else value
    return table


def symbols_of(layout: Layout, facts: Facts | None = None) -> set[object]:
    """The unknown sizes of a layout and of what is stated about them."""
    terms: list[Any] = [*leaves(layout.shape), *leaves(layout.stride)]
    for fact in facts.stated if facts else ():
        terms += [fact.left, fact.right]
    return {symbol for term in terms for symbol in getattr(value_of(term), "free_symbols", ())}


@dataclass(frozen=True, slots=True)
class Formula:
    """The offset of a layout at coordinates that are symbols: `layout(*coordinate) == expression`."""

    coordinate: tuple[sympy.Symbol, ...]
    expression: sympy.Expr

    def __str__(self) -> str:
        return f"L({', '.join(map(str, self.coordinate))}) = {self.expression}"

    def latex(self) -> str:
        """The formula in LaTeX, for math mode."""
        return f"L({', '.join(map(sympy.latex, self.coordinate))}) = {sympy.latex(self.expression)}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


@guarded
def formula(layout: Layout) -> Formula:
    """The offset of `layout` as a SymPy formula over one fresh symbol a mode, each an index within its mode.

    >>> print(formula(Layout.parse("(M,N):(N,1)")))
    L(i, j) = N*i + j
    >>> print(formula(Layout(((4, 2), 8), ((1, 16), 4))))
    L(i, j) = 4*j + Mod(i, 4) + 16*floor(i/4)

    Raises LayoutError for basis strides. LaTeX: `formula(layout).latex()`.
    """
    taken = {str(symbol) for symbol in symbols_of(layout)}
    names = [name for name in "ijklmnpqrstuvw" if name not in taken][: layout.rank]
    if len(names) < layout.rank:
        names = [f"i{mode}" for mode in range(layout.rank) if f"i{mode}" not in taken]
    coordinate = tuple(sympy.Symbol(name, integer=True, nonnegative=True) for name in names)
    offset: object = layout(coordinate if isinstance(layout.shape, tuple) else coordinate[0])
    if isinstance(offset, tuple):
        raise LayoutError(f"formula of {layout}: it gives coordinates; take one axis with axis_layout")
    return Formula(coordinate, sympy.sympify(offset))
