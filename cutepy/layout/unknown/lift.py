"""Layouts whose sizes are not known: SymPy expressions in shapes and strides.

Law: for every substitution that satisfies the facts, substituting after an operation and operating after the
substitution give the same layout. `lifted` runs the very functions that work on integers: every symbolic leaf becomes a
`Size`, and what the function assumes on the way (an unknown is not 1, two are not equal) is checked by running the
excluded case as well, up to the spelling of modes of size 1 and of modes that merge; `subs` asks the operation again to
spell those (a result without unknowns is spelled one way for all values). What cannot be decided is an UndecidedError
with a fact that would decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...errors import LayoutError, UndecidedError
from ..values.basis import path_of, value_of
from ..values.facts import Facts, Origin
from ..values.layout import Layout, _make, flat_modes
from ..values.size import Operand, Poly, Size, Undecided
from .knowledge import Knowledge, mapped
from .prover import Assumption, Context

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
    rounded = [number for number in undecided.left.unknowns() if number in context.floors]
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


def lifted(function: Callable[..., object], *operands: object, tiled: bool = False) -> object:
    """`function(*operands)` with unknown sizes among the operands; the result carries their facts.

    In a `tiled` one a size after the first operand is a tile of that many.
    Raises UndecidedError where the answer depends on the unknown, naming a fact that would decide it.
    """
    knowledge = Knowledge.of(operands)
    try:
        wrapped = [knowledge.wrapped(operand, tiled and position > 0) for position, operand in enumerate(operands)]
        result = _solved(function, wrapped, knowledge.context)
    except Undecided as undecided:
        call = f"{function.__name__}({', '.join(map(str, operands))})"
        raise undecided_error(call, knowledge.facts, undecided) from None
    answer = knowledge.unwrapped(result)
    if not isinstance(answer, Layout) or answer.facts is None:
        return answer
    origin = Origin(function, operands, answer.shape, answer.stride)
    return _make(answer.shape, answer.stride, Facts(knowledge.facts.stated, origin))


def _solved(function: Callable[..., object], operands: list[object], context: Context) -> object:
    """The result where no assumption fails, once every case that was assumed away gives the same."""
    trial = context.copy()
    general: object = None
    refusal: LayoutError | None = None
    try:
        general = function(*[_moved(operand, trial) for operand in operands])
    except LayoutError as error:
        refusal = error
    for position, assumption in enumerate(trial.assumed):
        special = context.copy()
        special.know_floors(trial)
        for earlier in trial.assumed[:position]:
            special.exclude(earlier)
        if not special.pin(assumption):
            continue
        refused, answer = False, None
        try:
            answer = _solved(function, [_moved(operand, special) for operand in operands], special)
        except LayoutError:
            refused = True
        except Undecided:
            raise _depends_on(assumption, trial) from None
        if refused != (refusal is not None) or not (
            refused or _canonical(answer) == _canonical(_moved(general, special))
        ):
            raise _depends_on(assumption, trial)
    if refusal is not None:
        raise refusal
    return general


def _depends_on(assumption: Assumption, context: Context) -> Undecided:
    value = assumption.value.number()
    alone = Poly.unknown(assumption.number)
    if value is None:
        return Undecided(context, "equal", alone - assumption.value)
    return Undecided(context, "less", alone - (value + 1))


def _moved(thing: object, context: Context) -> object:
    """`thing` with its sizes in another context, where an unknown may have become a value."""

    def size(leaf: object) -> object:
        return context.size(_translated(leaf.poly, leaf.context, context)) if isinstance(leaf, Size) else leaf

    return mapped(size, thing)


def _translated(poly: Poly, origin: Context, context: Context) -> Poly:
    """A polynomial of one context in another; what rounds down is looked at again, for it may now be a number."""
    for number, value in context.solved.items():
        poly = poly.put(number, value)
    for number in reversed(origin.floors):
        if number in poly.unknowns():
            above, below = (_translated(part, origin, context) for part in origin.floors[number])
            if context.floors.get(number) != (above, below):
                poly = poly.put(number, context.floor(above, below))
    return poly


def _canonical(thing: object) -> object:
    """What two results are compared by: for a layout its flat modes, merged where they merge by name."""
    if isinstance(thing, tuple):
        return tuple(map(_canonical, thing))
    if not isinstance(thing, Layout):
        return _key(thing)
    modes: list[tuple[Operand, Operand, tuple[int, ...]]] = []
    for extent, step in flat_modes(thing):
        path, value = path_of(step), value_of(step)
        if type(extent) is int and extent == 1:
            continue
        if modes and modes[-1][2] == path and _key(modes[-1][0] * modes[-1][1]) == _key(value):
            modes[-1] = modes[-1][0] * extent, modes[-1][1], path
        else:
            modes.append((extent, value, path))
    return [(_key(extent), _key(value), path) for extent, value, path in modes]


def _key(value: object) -> object:
    """A size as something that is equal only to the same size, whatever number an unknown has."""
    if not isinstance(value, Size):
        return value
    floors = value.context.floors

    def named(poly: Poly) -> object:
        return frozenset((frozenset((name(number), exponent) for number, exponent in m), c) for m, c in poly.items())

    def name(number: int) -> object:
        return tuple(map(named, floors[number])) if number in floors else number

    return named(value.poly)
