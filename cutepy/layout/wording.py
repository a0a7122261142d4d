"""Unknown sizes in words: polynomials as SymPy expressions, and what an undecided question asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..errors import UndecidedError
from .context import Context
from .facts import Facts
from .polynomial import Poly, added, constant, unknowns
from .size import Undecided

if TYPE_CHECKING:
    import sympy


def expression(poly: Poly, context: Context) -> sympy.Expr:
    """A polynomial of a context in SymPy."""
    import sympy

    total = sympy.Integer(0)
    for monomial, coefficient in poly.items():
        term = sympy.Integer(coefficient)
        for number, exponent in monomial:
            term *= _meaning(number, context) ** exponent
        total += term
    return sympy.expand(total) if total.is_Add else total


def _meaning(number: int, context: Context) -> sympy.Expr:
    """What an unknown stands for: a symbol, a symbol divided by what divides it, or a quotient rounded up or down."""
    import sympy

    if number in context.meaning:
        return cast("sympy.Expr", context.meaning[number])
    above, below = context.floors[number]
    up = added(added(above, below, -1), constant(1))
    rounding, value = (sympy.ceiling, up) if len(up) <= len(above) else (sympy.floor, above)
    return rounding(expression(value, context) / expression(below, context))


def undecided_error(call: str, facts: Facts, undecided: Undecided) -> UndecidedError:
    """What is not decided, in words, and a fact that would decide it."""
    import sympy

    context = undecided.context
    known = f" Known: {facts}." if facts.stated else ""
    left, right = expression(undecided.left, context), expression(undecided.right, context)
    if undecided.kind == "table":
        return UndecidedError(
            f"{call}: this case is decided by listing all coordinates, and {left} is not known. "
            f"Put a value in with subs first.{known}"
        )
    rounded = [number for number in unknowns(undecided.left) if number in context.floors]
    if undecided.kind == "divides" or rounded:
        if rounded:
            above, below = context.floors[rounded[0]]
            up = added(added(above, below, -1), constant(1))
            left, right = expression(below, context), expression(up if len(up) <= len(above) else above, context)
        divisor, size = sympy.fraction(sympy.cancel(left / right))
        fact, contrary = f"{divisor} divides {size}", "its contrary"
    else:
        fact, contrary = _inequality(left, undecided.kind)
    return UndecidedError(
        f"{call}: the answer depends on the unknown sizes.{known} Either '{fact}' or {contrary} decides it: "
        f"state it with layout.given({fact!r})",
        fact,
    )


def _inequality(difference: sympy.Expr, kind: str) -> tuple[str, str]:
    """`difference >= 0` (or `!= 0`) and its contrary, with what counts on the left and the number on the right."""
    import sympy

    above, _below = sympy.fraction(sympy.together(sympy.expand(difference)))
    number, rest = sympy.expand(above).as_coeff_Add()
    content = sympy.gcd_terms(rest).as_coeff_Mul()[0]
    if content < 0 and kind == "less":
        bound = sympy.floor(-number / content)
        rest = sympy.expand(rest / content)
        return f"{rest} <= {bound}", f"'{rest} >= {bound + 1}'"
    rest = sympy.expand(rest / content)
    parts = sympy.Add.make_args(rest)
    less = [-part for part in parts if part.could_extract_minus_sign()]
    more = sympy.Add(*[part for part in parts if not part.could_extract_minus_sign()])
    if kind == "equal":
        other = sympy.Add(*less, -number / content)
        return f"{more} != {other}", f"'{more} == {other}'"
    bound = sympy.ceiling(-number / content)
    return f"{more} >= {sympy.Add(*less, bound)}", f"'{more} <= {sympy.Add(*less, bound - 1)}'"
