"""An undecided question in words, with the fact that would decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UndecidedError
from ..values.facts import Facts
from ..values.polynomial import unknowns
from ..values.size import Undecided

if TYPE_CHECKING:
    import sympy


def undecided_error(call: str, facts: Facts, undecided: Undecided) -> UndecidedError:
    """What is not decided, in words, and a fact that would decide it."""
    import sympy

    context = undecided.context
    known = f" Known: {facts}." if facts.stated else ""
    left, right = context.expression(undecided.left), context.expression(undecided.right)
    if undecided.kind == "table":
        return UndecidedError(
            f"{call}: this case is decided by listing all coordinates, and {left} is not known. "
            f"Put a value in with subs first.{known}"
        )
    rounded = [number for number in unknowns(undecided.left) if number in context.floors]
    if undecided.kind == "divides" or rounded:
        if rounded:
            _rounding, above, below = context.rounded(rounded[0])
            left, right = context.expression(below), context.expression(above)
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
