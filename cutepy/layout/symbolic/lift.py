"""Layouts whose sizes are not known: SymPy expressions in shapes and strides.

Law: for every substitution that satisfies the facts, substituting after an operation and operating after the
substitution give the same layout. `lifted` runs the very functions that work on integers: every symbolic leaf becomes a
`Size`, and what the function assumes on the way (an unknown is not 1, two are not equal) is checked by running the
excluded case as well, up to the spelling of modes of size 1 and of modes that merge; `subs` asks the operation again to
spell those (a result without unknowns is spelled one way for all values). What cannot be decided is an UndecidedError
with a fact that would decide.

`Knowledge` is what the operands say about their sizes, as a context to compute in. A fact is built into the unknowns
wherever it can be: after "64 divides M" the unknown is M / 64, and M is 64 times it, so that divisibility is read off
the coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

from ...errors import LayoutError, UndecidedError
from ..values.coordinates import Basis, path_of, value_of
from ..values.facts import Fact, Facts, FactSource, whole
from ..values.int_tuple import leaves
from ..values.layout import Layout, _make, flat_modes
from ..values.size import ONE, Operand, Poly, Size, Undecided
from .prover import Assumption, Context

if TYPE_CHECKING:
    import sympy
else:
    from ...lazy import sympy


def mapped(size: Callable[[object], Any], thing: object) -> Any:
    """`thing` with `size` applied to every leaf of its layouts and tuples, also to the values of basis strides."""
    if isinstance(thing, Layout):
        return _make(mapped(size, thing.shape), mapped(size, thing.stride))
    if isinstance(thing, Basis):
        return Basis(size(thing.value), thing.path)
    return tuple(mapped(size, entry) for entry in thing) if isinstance(thing, tuple) else size(thing)


@dataclass(slots=True)
class Knowledge:
    """The facts of some operands, as a context, and how its unknowns read in SymPy."""

    context: Context
    facts: Facts
    polys: dict[object, Poly]

    @staticmethod
    def of(operands: Iterable[object]) -> Knowledge:
        """What the operands say about their sizes."""
        facts = Facts()
        todo = list(operands)
        terms: list[Any] = []
        while todo:
            thing = todo.pop()
            if isinstance(thing, tuple):
                todo += thing
            elif isinstance(thing, Layout):
                facts = facts | thing.facts
                terms += [*leaves(thing.shape), *leaves(thing.stride)]
            elif hasattr(thing, "free_symbols"):
                terms.append(thing)
        knowledge = Knowledge(Context(), facts, {})
        for fact in facts.stated:
            terms += [fact.left, fact.right]
        for term in terms:
            for symbol in sorted(getattr(value_of(term), "free_symbols", ()), key=str):
                knowledge._unknown(symbol, 1)
        for fact in sorted(facts.stated, key=lambda fact: {"==": 0, "divides": 1}.get(fact.sign, 2)):
            knowledge._state(fact)
        if knowledge.context.impossible():
            raise LayoutError(f"these facts contradict each other: {facts}")
        return knowledge

    def _unknown(self, meaning: sympy.Expr, low: int) -> Poly:
        if meaning not in self.polys:
            number = self.context.number(low)
            self.context.meaning[number] = meaning
            self.polys[meaning] = Poly.unknown(number)
        return self.polys[meaning]

    def poly(self, term: object) -> Poly:
        """A SymPy expression as a polynomial. Raises Undecided where it is an integer only if something divides."""
        above, below = self._ratio(term)
        exact = above.divided(below)
        if exact is not None:
            return exact
        if self.context.known_multiple(above, below):
            return self.context.floor(above, below)
        raise Undecided(self.context, "divides", below, above)

    def _ratio(self, term: Any) -> tuple[Poly, Poly]:
        """Numerator and denominator."""
        if isinstance(term, int):
            return Poly.of(term), Poly.of(1)
        tree: sympy.Expr = term
        if tree in self.polys:
            return self.polys[tree], Poly.of(1)
        if tree.is_Rational:
            return Poly.of(int(tree.p)), Poly.of(int(tree.q))
        if tree.is_Add or tree.is_Mul:
            above, below = Poly.of(0 if tree.is_Add else 1), Poly.of(1)
            for part in tree.args:
                p, q = self._ratio(part)
                if tree.is_Add:
                    above = above * q + p * below
                else:
                    above = above * p
                below = below * q
            return above, below
        if tree.is_Pow and tree.exp.is_Integer and abs(int(tree.exp)) <= 64:
            p, q = self._ratio(tree.base)
            p, q = (p, q) if tree.exp > 0 else (q, p)
            return p ** abs(int(tree.exp)), q ** abs(int(tree.exp))
        return self._function(tree), Poly.of(1)

    def _function(self, tree: sympy.Expr) -> Poly:
        """`floor` and its kin in terms of sizes; other integers from 0, as SymPy knows, are unknowns of their own."""
        name = type(tree).__name__
        if name in ("floor", "ceiling"):
            above, below = self._ratio(tree.args[0])
            up = above + below - 1 if name == "ceiling" else above
            return self.context.floor(up, below)
        if name == "Mod":
            value, divisor = (self.poly(part) for part in tree.args)
            return value - self.context.floor(value, divisor) * divisor
        if not (tree.is_integer and tree.is_nonnegative):
            raise LayoutError(
                f"{tree} is no size: a size is a whole number, a positive symbol, or made of them by + - * /"
            )
        return self._unknown(tree, 1 if tree.is_positive else 0)

    def _state(self, fact: Fact) -> None:
        left, right = self._ratio(fact.left), self._ratio(fact.right)
        difference = left[0] * right[1] - right[0] * left[1]
        if fact.sign == "divides":
            self._divide(left[0] * right[1], right[0] * left[1], fact)
        elif fact.sign == "==" and not self._equate(difference):
            self.context.at_least += [difference, -difference]
        elif fact.sign == "!=":
            self.context.differs.append(difference)
        elif fact.sign in (">=", "<="):
            self._bound(difference if fact.sign == ">=" else -difference, fact)

    def _replace(self, number: int, by: Poly) -> None:
        """An unknown is a polynomial in others from here on."""
        context = self.context
        self.polys = {meaning: poly.put(number, by) for meaning, poly in self.polys.items()}
        context.replace(number, by)
        context.floors = {n: (a.put(number, by), b.put(number, by)) for n, (a, b) in context.floors.items()}

    def _equate(self, difference: Poly) -> bool:
        if any(number in self.context.floors for number in difference.unknowns()):
            return False
        for number in reversed(difference.unknowns()):
            if (value := difference.solved(number)) is not None:
                self.context.at_least.append(value - self.context.lows[number])
                self._replace(number, value)
                return True
        return False

    def _divide(self, divisor: Poly, of: Poly, fact: Fact) -> None:
        """State a divisor: where it is one of `a * x + b`, x becomes so many times a new unknown, and a rest."""
        if not divisor:
            raise LayoutError(f"the fact {fact} is impossible")
        if of.divided(divisor) is not None:
            return
        if divisor.number() is not None and of.number() is not None:
            raise LayoutError(f"the fact {fact} is impossible")
        divisor, of = _cancelled(divisor, of)
        bases = [number for number in of.unknowns() if number not in divisor.unknowns()]
        number = bases[0] if len(of.unknowns()) == 1 and bases else None
        factor = of.get(((number, 1),), 0) if number is not None else 0
        rest = of.without(((number, 1),) if number is not None else ONE)
        modulus, offset = divisor.number(), rest.number()
        if number is None or factor == 0 or offset is None or (modulus is None and (factor != 1 or offset)):
            self._product_rule(divisor, of)
            return
        start = 0
        if modulus is not None:
            try:
                start = -offset * pow(factor, -1, modulus) % modulus
            except ValueError:
                raise LayoutError(f"the fact {fact} is impossible") from None
        low = max(0, -((start - self.context.lows[number]) // modulus)) if modulus is not None else 1
        meaning = (self.context.meaning[number] - start) / self.context.expression(divisor)
        fresh = self._unknown(meaning, low)
        self._replace(number, divisor * fresh + start)

    def _product_rule(self, divisor: Poly, of: Poly) -> None:
        """A divisor of a product, or of a number: the quotient becomes an unknown that the product is written with."""
        if len(divisor) == len(of) == 1:
            [(below, factor)], [(above, multiple)] = divisor.items(), of.items()
            fresh = self._unknown(self.context.expression(of) / self.context.expression(divisor), 1)
            if multiple == 1 and above:
                self.context.rules.append((above, divisor * fresh))
                return
            if factor == 1 and below:
                self.context.rules.append((next(iter(divisor * fresh)), of))
                return
        self.context.divides.append((divisor, of))

    def _bound(self, poly: Poly, fact: Fact) -> None:
        names = poly.unknowns()
        value = poly.number()
        if value is not None:
            if value < 0:
                raise LayoutError(f"the fact {fact} contradicts the others: {self.facts}")
            return
        alone = ((names[0], 1),)
        if len(names) == 1 and poly.get(alone, 0) > 0 and set(poly) <= {alone, ONE}:
            low = -(poly.get(ONE, 0) // poly[alone])
            self.context.lows[names[0]] = max(self.context.lows[names[0]], low)
        else:
            self.context.at_least.append(poly)

    def wrapped(self, operand: object, tiler: bool = False) -> object:
        """An operand with a `Size` for every symbolic leaf; as a tiler, a size alone is that many in a row."""

        def size(leaf: object) -> object:
            return self.context.size(self.poly(leaf)) if hasattr(leaf, "free_symbols") else leaf

        if tiler and isinstance(operand, tuple):
            return tuple(self.wrapped(entry, True) for entry in operand)
        found = mapped(size, operand)
        in_a_row = tiler and type(found) is Size
        return _make(found, 1) if in_a_row else found

    def unwrapped(self, result: object) -> object:
        """A result with SymPy expressions for sizes; a layout carries the facts."""
        if isinstance(result, tuple):
            return tuple(map(self.unwrapped, result))
        found = mapped(
            lambda leaf: whole(leaf.context.expression(leaf.poly)) if isinstance(leaf, Size) else leaf, result
        )
        return _make(found.shape, found.stride, self.facts) if isinstance(found, Layout) else found


def _cancelled(divisor: Poly, of: Poly) -> tuple[Poly, Poly]:
    """Both without their common number and, where `divisor` is one product, without their common unknowns."""
    common = gcd(*divisor.values(), *of.values())
    (shared,) = divisor if len(divisor) == 1 else (ONE,)
    powers = {number: min(exponent, *(dict(monomial).get(number, 0) for monomial in of)) for number, exponent in shared}
    monomial = tuple(sorted((number, exponent) for number, exponent in powers.items() if exponent))
    factor = Poly({monomial: common})
    reduced, rest = divisor.divided(factor), of.divided(factor)
    assert reduced is not None and rest is not None
    return reduced, rest


def undecided_error(call: str, facts: Facts, undecided: Undecided) -> UndecidedError:
    """What is not decided, in words, and a fact that would decide it."""
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
        result = solved(function, wrapped, knowledge.context)
    except Undecided as undecided:
        call = f"{function.__name__}({', '.join(map(str, operands))})"
        raise undecided_error(call, knowledge.facts, undecided) from None
    answer = knowledge.unwrapped(result)
    if not isinstance(answer, Layout) or answer.facts is None:
        return answer
    origin = FactSource(function, operands, answer.shape, answer.stride)
    return _make(answer.shape, answer.stride, Facts(knowledge.facts.stated, origin))


def solved(function: Callable[..., object], operands: list[object], context: Context) -> object:
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
            answer = solved(function, [_moved(operand, special) for operand in operands], special)
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
