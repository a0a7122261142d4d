"""What a user does with unknown sizes: put values in, read the offset as a formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod
from typing import TYPE_CHECKING, cast

from ...errors import LayoutError
from ..values.basis import Basis
from ..values.facts import Fact, Facts, Origin, Term, whole
from ..values.int_tuple import IntTuple, leaves, map_leaves
from ..values.layout import Layout, _make

if TYPE_CHECKING:
    import sympy

    from ..values.composed import ComposedLayout


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

    def leaf(value: IntTuple) -> IntTuple:
        if isinstance(value, Basis):
            return cast(int, Basis(cast(int, leaf(value.value)), value.path))
        return cast(int, put(cast(int, value), table))

    result = Layout(map_leaves(leaf, layout.shape), map_leaves(leaf, layout.stride))
    origin = facts.origin
    if origin is None or (origin.shape, origin.stride) != (layout.shape, layout.stride):
        origin = None
    else:
        operands = tuple(_subs_operand(operand, table) for operand in origin.operands)
        origin = Origin(origin.function, operands, result.shape, result.stride)
    if result.facts is not None:
        return _make(result.shape, result.stride, Facts((result.facts | Facts(tuple(left))).stated, origin))
    return result if origin is None else cast(Layout, origin.function(*origin.operands))


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


def _subs_operand(operand: object, table: Mapping[object, object]) -> object:
    if isinstance(operand, tuple):
        return tuple(_subs_operand(entry, table) for entry in operand)
    if isinstance(operand, Layout):
        return subs(operand, table)
    return put(cast(int, operand), table) if hasattr(operand, "free_symbols") else operand


def subs_offset(layout: ComposedLayout, values: Mapping[object, object] | None, named: Mapping[str, object]) -> int:
    """The offset of a composed layout, which a slice may have made symbolic, with values for symbols."""
    offset = layout.offset
    if type(offset) is int or layout.inner.facts is None:
        return offset
    together: dict[object, object] = dict(values or {})
    return cast(int, put(offset, _by_symbol(layout.inner, layout.inner.facts, together | dict(named))))


def _by_symbol(layout: Layout, facts: Facts, values: Mapping[object, object]) -> dict[object, object]:
    symbols = {str(symbol): symbol for symbol in symbols_of(layout, facts)}
    table: dict[object, object] = {}
    for name, value in values.items():
        if str(name) not in symbols and not isinstance(name, str):
            continue
        if str(name) not in symbols:
            raise LayoutError(f"{layout} has no unknown size {name}; it has {', '.join(sorted(symbols))}")
        known = type(value) is int or (hasattr(value, "__index__") and not isinstance(value, bool))
        if known and int(cast(int, value)) < 1:
            raise LayoutError(f"{layout} with {name} = {value}: sizes are at least 1")
        if not known and not hasattr(value, "free_symbols"):
            raise LayoutError(f"{layout} with {name} = {value!r}: a value is a whole number or a SymPy expression")
        table[symbols[str(name)]] = int(cast(int, value)) if known else value
    return table


def symbols_of(layout: Layout, facts: Facts | None = None) -> set[object]:
    """The unknown sizes of a layout and of what is stated about them."""
    terms: list[object] = [*leaves(layout.shape), *leaves(layout.stride)]
    for fact in facts.stated if facts else ():
        terms += [fact.left, fact.right]
    terms = [term.value if isinstance(term, Basis) else term for term in terms]
    return {symbol for term in terms for symbol in getattr(term, "free_symbols", ())}


@dataclass(frozen=True, slots=True)
class Formula:
    """The offset of a layout at coordinates that are symbols: `layout(*coordinate) == expression`."""

    coordinate: tuple[sympy.Symbol, ...]
    expression: sympy.Expr

    def __str__(self) -> str:
        return f"L({', '.join(map(str, self.coordinate))}) = {self.expression}"

    def latex(self) -> str:
        """The formula in LaTeX, for math mode."""
        from sympy import latex

        return f"L({', '.join(map(latex, self.coordinate))}) = {latex(self.expression)}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"


def formula(layout: Layout) -> Formula:
    """The offset of `layout` as a SymPy formula over one fresh symbol a mode, each an index within its mode.

    >>> print(formula(Layout.parse("(M,N):(N,1)")))
    L(i, j) = N*i + j
    >>> print(formula(Layout(((4, 2), 8), ((1, 16), 4))))
    L(i, j) = 4*j + Mod(i, 4) + 16*floor(i/4)

    Raises LayoutError for basis strides. LaTeX: `formula(layout).latex()`.
    """
    from sympy import Symbol

    taken = {str(symbol) for symbol in symbols_of(layout)}
    names = [name for name in "ijklmnpqrstuvw" if name not in taken][: layout.rank]
    if len(names) < layout.rank:
        names = [f"i{mode}" for mode in range(layout.rank) if f"i{mode}" not in taken]
    coordinate = tuple(Symbol(name, integer=True, nonnegative=True) for name in names)
    offset: object = layout(coordinate if isinstance(layout.shape, tuple) else coordinate[0])
    if isinstance(offset, tuple):
        raise LayoutError(f"formula of {layout}: it gives coordinates; take one axis with axis_layout")
    from sympy import sympify

    return Formula(coordinate, sympify(offset))
