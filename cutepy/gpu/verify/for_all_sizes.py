"""Is every access of an array of unknown sizes inside, and of one owner? Decided for all sizes, by coordinates.

Two theorems replace what products of sizes and ids would say, which no sums can: where the host has seen that the least
and the greatest index of a layout are in the memory, every coordinate inside the shape has its index in the memory, and
no sum wraps; where it has seen that the layout maps no two coordinates of the shape to one index, and one memory has
one layout, owners of coordinates are owners of elements. What is left is linear in ids and sizes.

Where ids can be eliminated and sizes are left, that is a condition of the launch: it is found, and the host checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import gcd

import numpy as np

from ...layout.affine import Affine
from ..ir import Binary, Buffer, Call, Const, Expr, Param, SizeFacts, nodes
from ..ir.ranges import Integers, domain, exact, range_of
from .bounds import facts_of, near, product_limits, restrict, sum_of
from .conflicts import Ownership, owned_by
from .model import Access, Form, GuardFacts, Judged, Model, located
from .verdict import Claim, Status, Verdict, concluded, counted

Sum = Affine[Expr, int]
Products = Mapping[Expr, tuple[int, Expr, Expr]]
#: Ids that are eliminated from an obligation, one by one.
_DEPTH = 5
#: Values of an id that are few enough to take its end instead of a limit.
_FEW = 1 << 12


def lanes_of(access: Access) -> list[tuple[tuple[Expr, int | Expr], ...]]:
    """The coordinates of each element of an access, with their extents."""
    rank = len(access.buffer.shape)
    return [access.coordinates[rank * lane : rank * (lane + 1)] for lane in range(access.lanes)]


def decide_coordinates(model: Model, buffer: Buffer, accesses: Sequence[Access]) -> Verdict:
    """Whether all accesses of an array of unknown sizes are inside."""
    conditions: dict[object, Sum] = {}
    reasons: dict[str, None] = {}
    for access in accesses:
        if len(access.coordinates) < len(buffer.shape) * access.lanes:
            reasons.setdefault(f"{access.text}: it does not say its coordinates")
            continue
        facts = facts_of(model, access, tuple([coordinate for coordinate, _ in access.coordinates]))
        if not facts.mask.any():
            continue
        for coordinate, extent in dict.fromkeys(claim for lane in lanes_of(access) for claim in lane):
            asked = coordinate, extent, facts
            if (judged := model.judged.get(asked)) is None:
                judged = model.judged[asked] = judge(model, coordinate, extent, facts)
            if judged.reason:
                reasons.setdefault(located(access, judged.reason))
            for condition in judged.conditions:
                conditions.setdefault(_key(condition), condition)
    found = () if reasons else tuple(conditions.values())
    given = f", given {said(model, found)}" if found else ""
    proven = f"{counted(len(accesses), 'access')}, for all sizes{given}"
    return replace(concluded(Claim.IN_BOUNDS, buffer.name, reasons, proven), conditions=found)


def decide_all(model: Model) -> list[Verdict]:
    """The verdicts on the bounds of arrays of unknown sizes. What is proven under conditions that no sizes satisfy is
    not proven."""
    arrays: dict[Buffer, list[Access]] = {}
    for access in model.accesses:
        if access.buffer.shape:
            arrays.setdefault(access.buffer, []).append(access)
    verdicts = [decide_coordinates(model, buffer, accesses) for buffer, accesses in arrays.items()]
    every = {_key(form): form for verdict in verdicts for form in verdict.conditions}
    if _may_hold(model, tuple(every.values())):
        return verdicts
    reason = f"it would take {said(model, every.values())}, which no sizes satisfy"
    return [Verdict(v.claim, Status.UNDECIDED, reason, v.array) if v.conditions else v for v in verdicts]


def said(model: Model, conditions: Iterable[Sum]) -> str:
    """Conditions as people say them."""
    return " and ".join(condition_text(form, model.kernel.sizes) for form in conditions)


def judge(model: Model, coordinate: Expr, extent: int | Expr, facts: GuardFacts) -> Judged:
    """Whether a coordinate is from 0 to below its extent where `facts` hold."""
    whole = restrict(sum_of(model, coordinate), facts.mask)
    facts = _with_products(model, whole.terms, facts)
    window = domain(coordinate.dtype)
    form = whole.exact(window, range_of) or whole.exact(window, range_of, near(whole.terms, facts.limits))
    if form is None:
        return Judged(reason=f"a coordinate may wrap around, {coordinate!r}")
    top = Affine({}, extent) if isinstance(extent, int) else exact(extent)
    if top is None:
        return Judged(reason=f"an extent may wrap around, {extent!r}")
    gap = form.plus(Affine(top.terms, np.full_like(form.constant, top.constant)), -1).moved(1)
    limits = (*_of_divisions(model, (*form.terms, *top.terms), facts), *facts.limits)
    conditions: list[Sum] = []
    for obligation in (form.negative(), gap):  # each is to be 0 or less
        if obligation.at_most(0, range_of):
            continue
        # Of many limits only the first are looked at: those of outer guards, then those of inner ones.
        close = near(obligation.terms, limits)
        if obligation.at_most(0, range_of, close) or obligation.at_most(
            0, range_of, near(obligation.terms, limits[::-1])
        ):
            continue
        left = condition_of(model, obligation, close)
        if left is None:
            side = "may be negative" if obligation is not gap else f"is not proven to stay below {_named(extent)}"
            return Judged(reason=f"a coordinate, {coordinate!r}, {side}")
        conditions += [left] if left.terms else []
    return Judged(tuple(conditions))


def _with_products(model: Model, atoms: Iterable[Expr], facts: GuardFacts) -> GuardFacts:
    """`facts`, and what is known of products among the atoms, which guards may compare in sums that wrap but for it."""
    products = [limit for atom in atoms for limit in product_limits(model, atom, facts.limits)]
    if not products:
        return facts
    limits = [*products, *facts.limits]
    for meant, atom in facts.names:
        form = meant.exact(domain(atom.dtype), range_of, near(meant.terms, limits))
        if form is not None:  # the sum does not wrap: the atom is it
            named: Form = Affine({atom: 1}, np.zeros_like(form.constant))
            told = [limit for limit in limits if atom in limit.terms]
            limits += [limit.plus(named, -limit.terms[atom]).plus(form, limit.terms[atom]) for limit in told]
    return replace(facts, limits=tuple(limits))


def condition_of(model: Model, obligation: Form, limits: Sequence[Form]) -> Sum | None:
    """A sum of parameters that is an upper bound of the obligation, ids eliminated by limits or by their ends: 0 where
    one of them is 0 or less for all sizes, else the shortest. None where there is none but such as never hold."""
    found: list[Sum] = []

    def eliminate(form: Form, left: tuple[Form, ...], depth: int) -> None:
        ids = {atom: c for atom, c in form.terms.items() if not isinstance(atom, Param)}
        if all(range_of(atom)[1] < _FEW for atom in ids):
            ends = sum(c * range_of(atom)[c > 0] for atom, c in ids.items())
            sizes: dict[Expr, int] = {atom: c for atom, c in form.terms.items() if isinstance(atom, Param)}
            found.append(Affine(sizes, int(form.constant.max()) + ends))
        if depth == 0 or not ids:
            return
        for number, limit in enumerate(left):
            for atom, c in limit.terms.items():
                if atom in ids and ids[atom] * c > 0 and ids[atom] % c == 0:
                    rest = (*left[:number], *left[number + 1 :])
                    eliminate(form.plus(limit, -(ids[atom] // c)), rest, depth - 1)

    eliminate(obligation, tuple(limits[:12]), _DEPTH)
    if any(_holds(model, form) for form in found):
        return Affine({}, 0)
    possible = [form for form in found if form.terms and _may_hold(model, [form])]

    def length(form: Sum) -> tuple[int, int, int]:
        products = sum(atom in model.products for atom in form.terms)
        return sum(map(abs, form.terms.values())), products, form.constant

    return min(possible, key=length, default=None)


def _holds(model: Model, condition: Sum) -> bool:
    """Whether it is 0 or less for all sizes, by what is known of them."""
    none = np.zeros(1, np.int64)
    facts: list[Form] = [Affine(form.terms, none + form.constant) for form in model.facts]
    table: Form = Affine(condition.terms, none + condition.constant)
    return table.at_most(0, range_of, near(table.terms, facts))


def _may_hold(model: Model, conditions: Sequence[Sum]) -> bool:
    """Whether it is not seen that no sizes satisfy all of these conditions."""
    none = np.zeros(1, np.int64)
    tables: list[Form] = [Affine(form.terms, none + form.constant) for form in conditions]
    facts: list[Form] = [Affine(form.terms, none + form.constant) for form in model.facts]
    return not any(
        form.at_least(1, range_of, near(form.terms, [*(other for other in tables if other is not form), *facts]))
        for form in tables
    )


def _of_divisions(model: Model, atoms: Iterable[Expr], facts: GuardFacts) -> Iterator[Form]:
    """Limits of what divisions by parameters, `min` and `max` give, for those among the atoms.

    For N >= 1: x % N < N; x // N <= x; and where x < M * N for a parameter that is that product, x // N < M.
    """
    zero = np.zeros(int(facts.mask.sum()), np.int64)
    for atom in dict.fromkeys(atoms):
        alone: Form = Affine({atom: 1}, zero)
        if isinstance(atom, Call) and atom.name in ("min", "max"):
            for value in atom.args:
                form = restrict(sum_of(model, value), facts.mask).exact(domain(value.dtype), range_of, facts.limits)
                if form is not None:
                    above = alone.plus(form, -1)
                    yield above if atom.name == "min" else above.negative()
        if not isinstance(atom, Binary) or atom.op not in ("//", "%") or atom.dtype.kind != "u":
            continue
        by = exact(atom.right)
        if by is None or by.interval(range_of)[0] < 1 or not all(isinstance(p, Param) for p in by.terms):
            continue
        if atom.op == "%":
            yield alone.moved(1).plus(Affine(by.terms, zero + by.constant), -1)
            continue
        numerator = restrict(sum_of(model, atom.left), facts.mask)
        limits = (*_of_divisions(model, numerator.terms, facts), *facts.limits)
        form = numerator.exact(domain(atom.left.dtype), range_of, near(numerator.terms, limits))
        if form is None:
            continue
        yield alone.plus(form, -1)
        if len(by.terms) != 1 or by.constant:
            continue
        [(factor, c)] = by.terms.items()
        for product, (times, *factors) in model.products.items():
            # whole * product = (c * factor) * (whole * times / c * other)
            others = [f for at, f in enumerate(factors) if factors[1 - at] is factor]
            if not others:
                continue
            whole = c // gcd(times, c)
            gap = form.plus(Affine({product: whole}, zero), -1)
            if gap.at_most(-1, range_of, near(gap.terms, limits)):
                yield alone.moved(1).plus(Affine({others[0]: whole * times // c}, zero), -1)


def owned_by_coordinates(model: Model, accesses: Sequence[Access]) -> Ownership:
    """Whether every coordinate belongs to one workgroup, and to one thread, of the accesses to one array."""
    found = [(a, facts) for a in accesses if (facts := facts_of(model, a)).mask.any()]
    if not found:
        return Ownership(True, True)
    if any(len(a.coordinates) < len(a.buffer.shape) * a.lanes for a, _ in found):
        return Ownership(False, False)
    entries = [(facts, [c for c, _extent in lane]) for access, facts in found for lane in lanes_of(access)]
    lanes = _rejoined([lane for _, lane in entries], model.products)
    axes: list[list[tuple[Integers, GuardFacts, Form]]] = [[] for _ in lanes[0]]
    for (facts, _), coordinates in zip(entries, lanes, strict=True):
        for axis, coordinate in enumerate(coordinates):
            whole = restrict(sum_of(model, coordinate), facts.mask)
            facts = _with_products(model, whole.terms, facts)
            form = whole.exact(domain(coordinate.dtype), range_of, near(whole.terms, facts.limits))
            if form is None:
                return Ownership(False, False)
            form = _chosen(model, form, facts)
            divided = tuple(_of_divisions(model, form.terms, facts))
            here = replace(facts, limits=near(form.terms, (*divided, *facts.limits)))
            axes[axis].append((np.flatnonzero(facts.mask), here, form))
    return owned_by(model, axes)


def _chosen(model: Model, form: Form, facts: GuardFacts) -> Form:
    """`form` with min(a, b) replaced by a where the facts say min(a, b) < b, and max(a, b) where max(a, b) > b; also
    with a and b exchanged. Each is one of the two: where it is not the one, it is the other.

    Part p of a row takes the tiles t with min(p * share, tiles) <= t < tiles. Where there is such a t, p * share is
    below tiles, so the part begins at p * share, a linear term."""
    for atom, c in form.terms.items():
        if not isinstance(atom, Call) or atom.name not in ("min", "max"):
            continue
        one, other = (restrict(sum_of(model, value), facts.mask) for value in atom.args)
        for chosen, left in ((one, other), (other, one)):
            # Neither side may wrap: the comparison is of integers.
            sums = [side.exact(domain(atom.dtype), range_of, near(side.terms, facts.limits)) for side in (chosen, left)]
            if sums[0] is None or sums[1] is None:
                continue
            alone: Form = Affine({atom: 1}, form.constant * 0)
            gap = alone.plus(sums[1], -1)
            gap = gap if atom.name == "min" else gap.negative()
            if gap.at_most(-1, range_of, near(gap.terms, facts.limits)):
                return _chosen(model, form.plus(alone, -c).plus(sums[0], c), facts)
    return form


def _rejoined(lanes: list[list[Expr]], products: Products) -> list[list[Expr]]:
    """The coordinates of each lane, with y in the place of the axes y // N and y % N where all lanes have such a pair
    there, of one N: the two tell y, and y tells them (Euclid)."""
    rank = len(lanes[0])
    for up, low in permutations(range(rank), 2):
        found = [_divided(lane[up], lane[low], products) for lane in lanes]
        if all(found) and len({pair[1] for pair in found if pair}) == 1:
            rest = [axis for axis in range(rank) if axis not in (up, low)]
            return _rejoined([[*(lane[axis] for axis in rest), lane[low].operands[0]] for lane in lanes], products)
    return lanes


def _divided(quotient: Expr, rest: Expr, products: Products) -> tuple[Expr, Expr] | None:
    """(y, N) of y // N and y % N for a number N of the launch, y // N being x // (M * N) where y is x // M; None of
    anything else."""
    match quotient, rest:
        case Binary(op="//", left=y, right=by), Binary(op="%", left=z, right=other) if y is z and by is other:
            of_launch = all(isinstance(leaf, Param | Const) for leaf in nodes(by) if not leaf.operands)
            return (y, by) if of_launch else None
        case Binary(op="//", left=x, right=by), Binary(op="%", left=Binary(op="//", left=y, right=m) as z, right=other):
            times, *factors = products.get(by, (0,))
            same = times == 1 and {id(factor) for factor in factors} == {id(m), id(other)}
            return (z, other) if x is y and same else None
    return None


def _key(form: Sum) -> object:
    return frozenset((id(atom), c) for atom, c in form.terms.items()), form.constant


def _named(extent: int | Expr) -> str:
    return str(extent) if isinstance(extent, int) else repr(extent).replace("params.", "")


def condition_text(form: Sum, sizes: SizeFacts | None = None) -> str:
    """A condition as people say it: `n <= m`."""
    sides: list[list[str]] = [[], []]
    for atom, c in form.terms.items():
        name = atom.name if isinstance(atom, Param) else repr(atom)
        times, word = sizes.words.get(name, (1, name)) if sizes is not None else (1, name)
        name, count = (word, abs(c) // times) if c % times == 0 else (name, abs(c))
        sides[c < 0].append(
            name if count == 1 else f"{count}*{name}" if "+" not in name and "-" not in name else f"{count}*({name})"
        )
    if form.constant:
        sides[form.constant < 0].append(str(abs(form.constant)))
    left, right = (" + ".join(side) or "0" for side in sides)
    return f"{left} <= {right}"
