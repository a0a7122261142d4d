"""What a user does with unknown sizes: state facts, put values in, read the offset as a formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ..errors import LayoutError
from .basis import Basis
from .facts import Fact, Facts, Origin, facts_of, put
from .int_tuple import IntTuple, leaves, map_leaves
from .layout import Layout, _make

if TYPE_CHECKING:
    import sympy

    from .composed import ComposedLayout


def given(layout: Layout, *statements: object) -> Layout:
    """`layout` with facts stated about its sizes: texts, `divides(64, M)`, SymPy relations such as `M >= 4`.

    >>> print(given(Layout.parse("(M,8):(8,1)"), "64 divides M", "M >= 128").facts)
    64 divides M, M >= 128

    Raises LayoutError for a statement that is no fact, and for facts that contradict each other.
    """
    from .knowledge import Knowledge

    facts = facts_of(statements)
    if layout.facts is None:
        raise LayoutError(
            f"{layout}: it has no unknown sizes; state {facts} on the operand that has, as Layout(N).given(...)"
        )
    stated = _make(layout.shape, layout.stride, cast(Facts, layout.facts) | facts)
    Knowledge.of((stated,))
    return stated


def subs(layout: Layout, values: Mapping[object, object] | None = None, **named: object) -> Layout:
    """`layout` with values, or other expressions, for symbols; the facts are checked against them.

    >>> subs(given(Layout.parse("(M,8):(8,1)"), "64 divides M"), M=128)
    Layout((128, 8), (8, 1))

    Where values are known for all of a result, the operation that gave it is asked again, so that modes of size 1, and
    modes that merge at these values, are spelled as it spells them for numbers.

    Symbols are meant by themselves (those that do not occur are passed over) or by name. Raises LayoutError where a
    fact does not hold, for a value below 1, and for a name that does not occur.
    """
    if layout.facts is None:
        return layout
    facts = cast(Facts, layout.facts)
    together: dict[object, object] = dict(values or {})
    table = _by_symbol(layout, facts, together | dict(named))
    left: list[Fact] = []
    for fact in facts.stated:
        there = fact.replaced(table)
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
        return _make(
            result.shape, result.stride, Facts((cast(Facts, result.facts) | Facts(tuple(left))).stated, origin)
        )
    return result if origin is None else cast(Layout, origin.function(*origin.operands))


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
    return cast(int, put(offset, _by_symbol(layout.inner, cast(Facts, layout.inner.facts), together | dict(named))))


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
