"""Is every access inside its array? Decided for each access by a bound on its index, or by trying every invocation.

Indices are sums over ids, and guards say that sums are 0 or less: enough to bound an index under its guards. The
constant of a sum is a table: one number for each thread.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from ...layout.affine import Affine, Congruent, Interval, signed
from ...tensor.dtypes import bool_
from ..ir import (
    Binary,
    Buffer,
    Builtin,
    Call,
    Cast,
    Const,
    ElementOrder,
    Expr,
    Load,
    Param,
    Select,
    UnknownVar,
    Var,
    binary,
    conjuncts,
    const,
    negated,
    nodes,
    rewrite,
)
from ..ir.ranges import Integers, Mask, Points, Unknown, domain, exact, linear, range_of
from ..ir.simplify import from_linear, quotient, remainder, replaced, simplify
from .model import Access, Domain, Form, GuardFacts, Model, SampleData, Wrapping, located, named
from .register_state import bounded
from .verdict import Claim, Status, Verdict, Witness, concluded, counted


def sum_of(model: Model, value: Expr) -> Wrapping:
    """The sum that `value` is congruent to: what depends on the thread alone is in the table, and casts between
    integers, which keep the number modulo 2**32, are looked through."""
    if (known := model.sums.get(value)) is not None:
        return known
    total = linear(value)
    form: Wrapping = Congruent({}, np.full(model.threads, total.constant, np.int64))
    for atom, c in total.terms.items():
        if model.leaves(atom) == frozenset((model.tid,)):
            term: Wrapping = Congruent({}, model.table(atom))
        elif isinstance(atom, Cast) and atom.value.dtype.kind in "iu":
            term = sum_of(model, atom.value)
        else:
            term = Congruent({atom: 1}, np.zeros(model.threads, np.int64))
        form = form.plus(term, c)
    model.sums[value] = form
    return form


def facts_of(model: Model, access: Access, about: tuple[Expr, ...] = ()) -> GuardFacts:
    """What is sure where `access` happens, for a claim `about` these values, or about its index. A guard that cannot be
    used is left out: more may happen, never less.

    The guards say it, but for products in the values, and elements of sorted arrays: most accesses under the same
    guards have the same facts.
    """
    values = about or (access.index,)
    products = tuple([atom for value in (*values, *access.guards) for atom in _products(value)])
    asked = access.guards, products, values if model.orders else ()
    if (known := model.facts_under.get(asked)) is None:
        known = model.facts_under[asked] = _facts_of(model, access.guards, products, values)
    return known


def _facts_of(
    model: Model, guards: tuple[Expr, ...], products: tuple[Expr, ...], values: tuple[Expr, ...]
) -> GuardFacts:
    thread = frozenset((model.tid,))
    alone = [guard for guard in guards if model.leaves(guard) <= thread]
    others = [guard for guard in guards if not model.leaves(guard) <= thread]
    found = _assumed(model, alone, others)
    if found.mask.any():
        if products and found.mask.any():
            known = times_limits(products, found.limits, int(np.count_nonzero(found.mask)))
            found = GuardFacts(found.mask, tuple(known)) if known else found
            for guard in others if known else ():
                found = assume(model, found, guard)
        mask = found.mask
        if model.facts:
            count = int(np.count_nonzero(mask))
            told = [Affine(fact.terms, np.full(count, fact.constant, np.int64)) for fact in model.facts]
            found = replace(found, limits=(*found.limits, *told))
        if model.orders:
            found = replace(found, limits=(*found.limits, *ascents(model, (*values, *guards), mask)))
    return _without_idle(found)


def _assumed(model: Model, alone: Sequence[Expr], others: Sequence[Expr]) -> GuardFacts:
    """What guards say: those `alone` of the thread's id as a table of the threads where they hold, then the `others`
    as sums that are at most 0. What the first of them say is kept: they stand around other accesses too."""
    guards = *alone, *others
    at = next((n for n in range(len(guards), len(alone) - 1, -1) if guards[:n] in model.assumed), None)
    if at is None:
        mask = np.ones(model.threads, bool)
        for guard in alone:
            mask = mask & model.table(guard).astype(bool)
        at, model.assumed[tuple(alone)] = len(alone), GuardFacts(mask, ())
    found = model.assumed[guards[:at]]
    for n in range(at, len(guards)) if found.mask.any() else ():
        found = model.assumed[guards[: n + 1]] = assume(model, found, guards[n])
    return found


def may_happen(model: Model, access: Access) -> bool:
    """Whether it is not seen that the guards of an access exclude one another: that a sum which one says to be 0 or
    less is more, where the others hold."""
    facts = facts_of(model, access)
    if not facts.mask.any():
        return False
    return not any(
        limit.at_least(1, range_of, [other for other in near(limit.terms, facts.limits) if other is not limit])
        for limit in facts.limits
    )


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Element `index` of a sorted array, or `most` where that is less: it ascends with the index as well."""

    buffer: Buffer
    index: Expr
    most: Const | None

    def steps(self, other: "Ascent") -> int | None:
        """How many elements `other` comes after this one in the same sequence; None where that is not known."""
        gap = linear(other.index).plus(linear(self.index), -1)
        alike = self.buffer is other.buffer and self.most is other.most
        return signed(gap.constant) if alike and not gap.terms else None


def ascent(model: Model, atom: Expr) -> Ascent | None:
    """What an atom is of an array that the user says is sorted, if it is anything."""
    match atom:
        case Load(buffer=buffer, index=index, where=None, lanes=1) if model.says(buffer, ElementOrder.ASCENDING):
            return Ascent(buffer, index, None)
        case Call(name="min", args=(one, two)):
            for value, most in ((one, two), (two, one)):
                if isinstance(most, Const) and isinstance(value, Load) and (found := ascent(model, value)) is not None:
                    return replace(found, most=most)
    return None


def ascents(model: Model, values: Iterable[Expr], mask: Mask) -> list[Form]:
    """What sorted arrays say of their elements in `values`: x[i] - x[j] is 0 or less where j - i is a positive number.
    Both are in the array, so neither index wraps."""
    sides = [x for value in values for x in (value.operands if value.dtype.kind == "b" else (value,))]
    atoms = dict.fromkeys(atom for side in sides if side.dtype.kind in "iu" for atom in linear(side).terms)
    atoms |= dict.fromkeys(leaf for value in values for leaf in model.leaves(value))
    known = [(atom, found) for atom in atoms if (found := ascent(model, atom)) is not None]
    zero = np.zeros(int(np.count_nonzero(mask)), np.int64)
    return [
        Affine({low: 1, high: -1}, zero)
        for (low, first), (high, second) in permutations(known, 2)
        if (first.steps(second) or 0) > 0
    ]


def near(atoms: Iterable[Expr], limits: Sequence[Form]) -> tuple[Form, ...]:
    """The limits in the order in which they may matter to a sum of these atoms, for few are looked at: those that share
    an atom with it, those that share one with these, the others."""
    wanted, left = set(atoms), list(limits)
    found: list[Form] = []
    for _turn in range(3):
        close: list[Form] = []
        others: list[Form] = []
        for limit in left:
            (others if wanted.isdisjoint(limit.terms) else close).append(limit)
        if not close:
            break
        left = others
        if len(close) > 1:
            close.sort(key=lambda limit: len(limit.terms.keys() - wanted))
        found += close
        wanted |= {atom for limit in close for atom in limit.terms}
    return (*found, *left)


def _without_idle(facts: GuardFacts) -> GuardFacts:
    """`facts` about the threads for which all limits can hold: a sum that is more than 0 whatever its atoms are rules
    its thread out. So a guard between a number of the thread and an unknown in bounds takes threads out."""
    may = np.ones(np.count_nonzero(facts.mask), bool)
    for limit in facts.limits:
        may &= limit.constant + Affine(limit.terms, 0).interval(range_of)[0] <= 0
    return facts if may.all() else restricted(facts, may)


def restricted(facts: GuardFacts, may: Mask) -> GuardFacts:
    """`facts` about some of their threads."""
    mask = facts.mask.copy()
    mask[facts.mask] = may
    limits = tuple(Affine(limit.terms, limit.constant[may]) for limit in facts.limits)
    return GuardFacts(mask, limits, tuple((restrict(form, may), atom) for form, atom in facts.names))


def assume(model: Model, facts: GuardFacts, guard: Expr) -> GuardFacts:
    """`facts`, and what `guard` says: sums that are at most 0 where it holds."""
    if not isinstance(guard, Binary) or guard.left.dtype.kind not in "iu" or guard.lanes > 1 or guard.op == "!=":
        return facts
    left, right = guard.left, guard.right
    # x < min(a, b) -> x < a and x < b; max(a, b) < x -> a < x and b < x
    least, most = (right, left) if guard.op[0] == "<" else (left, right)
    for side, name in ((least, "min"), (most, "max")):
        if isinstance(side, Call) and side.name == name and guard.op != "==":
            for value in side.args:
                facts = assume(model, facts, replaced_side(guard, side, value))
    if not facts.mask.any():
        return facts
    (a, b), (c, d) = _signs(model, left, facts), _signs(model, right, facts)
    # The range of each side where the guard holds: `a < b` bounds a by the greatest b, and b by the least a.
    windows = {
        "<": ((a, min(b, d - 1)), (max(c, a + 1), d)),
        "<=": ((a, min(b, d)), (max(c, a), d)),
        ">": ((max(a, c + 1), b), (c, min(d, b - 1))),
        ">=": ((max(a, c), b), (c, min(d, b))),
        "==": ((max(a, c), min(b, d)),) * 2,
    }[guard.op]
    if any(low > high for low, high in windows):
        return restricted(facts, np.zeros(int(np.count_nonzero(facts.mask)), bool))
    compared = []
    for value, window in zip((left, right), windows, strict=True):
        # In its window a sum modulo 2^32 is one integer: i - 1 < n says that i did not wrap.
        whole = restrict(sum_of(model, value), facts.mask)
        form = whole.exact(window, range_of)
        if form is None and facts.limits:  # which may tell
            form = whole.exact(window, range_of, near(whole.terms, facts.limits))
        if form is None:  # it may wrap: an atom of its own
            facts = replace(facts, names=(*facts.names, (whole, value)))
            form = Affine({value: 1}, np.zeros_like(whole.constant))
        if form.interval(range_of)[0] < window[0]:
            facts = replace(facts, limits=(*facts.limits, form.negative().moved(window[0])))
        compared.append(form)
    # Over integers: left < right is left - right + 1 <= 0.
    below, above = compared[0].plus(compared[1], -1), compared[1].plus(compared[0], -1)
    new = {"<": (below.moved(1),), "<=": (below,), ">": (above.moved(1),), ">=": (above,), "==": (below, above)}[
        guard.op
    ]
    return replace(facts, limits=(*facts.limits, *new))


def _is_product(atom: Expr) -> bool:
    return isinstance(atom, Binary) and atom.op == "*" and atom.dtype.kind == "u"


def _products(value: Expr) -> list[Expr]:
    """The products of unknowns in an index, or in the sides of a comparison, each after those in its factors."""
    sides = value.operands if value.dtype.kind == "b" else (value,)
    atoms = [atom for side in sides if side.dtype.kind in "iu" for atom in linear(side).terms if _is_product(atom)]
    return [product for atom in atoms for product in (*_products(atom.operands[0]), *_products(atom.operands[1]), atom)]


def times_bound(product: Expr, limits: Sequence[Form]) -> int | None:
    """The most that x * q is, by what limits say of each; None where that may wrap."""
    assert isinstance(product, Binary)
    most = _most_of(product.left, limits) * _most_of(product.right, limits)
    return most if most < 1 << 32 else None


def _most_of(side: Expr, limits: Sequence[Form]) -> int:
    """The most that a factor is, 0 at least."""
    high = range_of(side)[1]
    if limits and high >= _SMALL:
        whole, close = linear(side), near(linear(side).terms, limits)
        table = np.full_like(close[0].constant, whole.constant)
        form = Congruent(whole.terms, table).exact(domain(side.dtype), range_of, close)
        high = high if form is None else min(high, form.upper(range_of, close))
    return max(0, high)


def times_limits(products: Iterable[Expr], limits: Sequence[Form], count: int) -> list[Form]:
    """That products are at most what their factors allow, in which earlier ones of them may be; x * q for an id x below
    n also at most (n - 1) * q."""
    found: list[Form] = []
    for atom in dict.fromkeys(products):
        if (most := times_bound(atom, (*found, *limits))) is not None:
            found.append(Affine({atom: 1}, np.full(count, -most, np.int64)))
            for x, q in (atom.operands, atom.operands[::-1]):
                if isinstance(x, Builtin) and not isinstance(q, Builtin | Const):
                    found.append(Affine({atom: 1, q: -range_of(x)[1]}, np.zeros(count, np.int64)))
    return found


def replaced_side(guard: Binary, side: Expr, value: Expr) -> Expr:
    """A comparison with `value` in the place of one of its sides."""
    return binary(guard.op, *(value if x is side else x for x in (guard.left, guard.right)))


def _signs(model: Model, value: Expr, facts: GuardFacts) -> Interval:
    """Where `value` lies; a remainder has the sign of what it is left of, also where it is computed by a quotient."""
    low, high = range_of(value)
    if low < 0 and isinstance(value, Binary):
        if value.op == "%":
            return (0, high) if reach(model, value.left, facts)[0] >= 0 else (low, high)
        if any(isinstance(atom, Binary) and atom.op == "//" for atom in linear(value).terms):
            return reach(model, value, facts)
    return low, high


def product_limits(model: Model, atom: Expr, limits: Sequence[Form]) -> list[Form]:
    """Sums that are 0 or less because `atom` is x * q with a number q of the launch, where x is below others of its
    numbers: x + 1 <= p gives x*q + q <= p*q, a number of its own (`model.products`), and what that is below. Where
    there is one, the product does not wrap: p*q is a number that the host has seen to be a size."""
    if not isinstance(atom, Binary) or atom.op != "*" or atom.dtype.kind != "u":
        return []
    found: list[Form] = []
    for x, q in ((atom.left, atom.right), (atom.right, atom.left)):
        if not isinstance(q, Param) or isinstance(x, Param | Const) or range_of(x)[0] < 0:
            continue
        for limit in limits:
            if limit.terms.get(x) != 1 or int(limit.constant.min()) < 0:
                continue
            terms: dict[Expr, int] = {atom: 1, q: int(limit.constant.min())}
            for p, c in limit.terms.items():
                times = [(node, n) for node, (n, *pair) in model.products.items() if {*map(id, pair)} == {id(p), id(q)}]
                if p is x or (times and c % times[0][1] == 0):
                    terms |= {} if p is x else {times[0][0]: c // times[0][1]}
                else:
                    break
            else:
                below: Form = Affine({a: c for a, c in terms.items() if c}, np.zeros_like(limit.constant))
                most = below.plus(Affine({atom: 1}, below.constant), -1).negative()
                facts = [Affine(fact.terms, below.constant + fact.constant) for fact in model.facts]
                if most.at_most((1 << 32) - 1, range_of, near(most.terms, facts)):
                    found.append(below)
    # Each in other words as well: with what p*q is below, and what that is, in its place.
    fresh = found
    for _turn in range(3):
        words: list[Form] = []
        for below in fresh:
            none: Form = Affine({}, np.zeros_like(below.constant))
            for fact in model.facts:
                told: Form = Affine(fact.terms, none.constant + fact.constant)
                for p, d in fact.terms.items():
                    if d > 0 and (c := below.terms.get(p, 0)) < 0:
                        words.append(none.plus(below, d).plus(told, -c))
        fresh, found = words, [*found, *words]
    return found


def restrict(form: Wrapping, threads: Mask) -> Wrapping:
    """The same sum, for some of the threads."""
    return Congruent(form.terms, form.constant[threads])


def assume_all(model: Model, facts: GuardFacts, guards: Iterable[Expr]) -> GuardFacts:
    """`facts`, and what all `guards` say, for the threads for which they can hold."""
    for guard in guards:
        facts = assume(model, facts, guard)
    return _without_idle(facts)


def reach(model: Model, value: Expr, facts: GuardFacts, less: Var | None = None) -> Interval:
    """The least and the largest that `value` is where `facts` hold, or `value - less` as an integer."""
    whole = domain(value.dtype)
    low, high = range_of(value)
    taken: Form = Affine({}, np.zeros(int(np.count_nonzero(facts.mask)), np.int64))
    if less is not None:
        least, most = range_of(less)
        low, high, taken = low - most, high - least, Affine({less: 1}, taken.constant)
    if len(facts.limits) > 1:
        facts = replace(facts, limits=near(sum_of(model, value).terms, facts.limits))
    # A quotient of what is not negative is none either.
    signed_ = [atom for atom in sum_of(model, value).terms if range_of(atom)[0] < 0 and _divided(model, atom, facts)]
    facts = replace(facts, limits=(*[Affine({atom: -1}, taken.constant) for atom in signed_], *facts.limits))
    spelled = _spellings(restrict(sum_of(model, value), facts.mask), facts)
    for form in (*spelled, *[_with_quotients(model, form, facts) for form in spelled]):
        # Any spelling that is exact gives a valid bound; the tightest of all counts.
        sum_ = form.exact(whole, range_of, facts.limits)
        if sum_ is not None:
            sum_ = sum_.plus(taken, -1)
            bounds = [(sum_.lower(range_of, facts.limits), sum_.upper(range_of, facts.limits))]
            for least, most in (*bounds, *_by_numerators(model, sum_, facts)):
                low, high = max(low, least), min(high, most)
    return low, high


def _by_numerators(model: Model, sum_: Form, facts: GuardFacts) -> Iterator[Interval]:
    """Bounds of a sum with k * (y // c) in it, from guards about what is in y.

    c * (y // c) = y - r with a remainder r of 0 to c - 1, if y is an integer sum that is not negative. So c times the
    sum lies where c * rest + k * y does, less k * r: for the midpoint of a < b this is a + b, which guards bound.
    """
    for atom, k in sum_.terms.items():
        divided = _divided(model, atom, facts)
        if divided is None:
            continue
        c, numerator = divided
        rest = Affine({a: n for a, n in sum_.terms.items() if a is not atom}, sum_.constant)
        none: Form = Affine({}, np.zeros_like(sum_.constant))
        scaled = none.plus(rest, c).plus(numerator, k)
        slack, limits = k * (c - 1), near(scaled.terms, facts.limits)
        low = scaled.lower(range_of, limits) - max(0, slack)
        high = scaled.upper(range_of, limits) - min(0, slack)
        yield -(-low // c), high // c


def _with_quotients(model: Model, form: Wrapping, facts: GuardFacts) -> Wrapping:
    """The sum, its quotients y // c in the bounds that guards give to y: rounded down, which a sum of y is not."""
    for atom, k in tuple(form.terms.items()):
        if (divided := _divided(model, atom, facts)) is not None:
            c, numerator = divided
            limits = near(numerator.terms, facts.limits)
            inside = _inside(atom, numerator.lower(range_of, limits) // c, numerator.upper(range_of, limits) // c)
            if inside is not atom:
                form = form.plus(Congruent({atom: -k, inside: k}, np.zeros_like(form.constant)))
    return form


def _divided(model: Model, atom: Expr, facts: GuardFacts) -> tuple[int, Form] | None:
    """By what, and of what a quotient is one, an integer sum that is not negative; None for anything else."""
    if not isinstance(atom, Binary) or atom.op not in ("//", ">>") or not isinstance(atom.right, Const):
        return None
    c, y = int(atom.right.value), atom.left
    c = 1 << c if atom.op == ">>" and 0 <= c < 32 else c
    if c < 1 or model.leaves(y) <= frozenset((model.tid,)):
        return None
    whole = restrict(sum_of(model, y), facts.mask)
    limits = near(whole.terms, facts.limits)
    numerator = whole.exact(domain(y.dtype), range_of, limits)
    return (c, numerator) if numerator is not None and numerator.at_least(0, range_of, limits) else None


def _spellings(form: Wrapping, facts: GuardFacts) -> list[Wrapping]:
    """The sum, also in words of the guards: the remainders in them, and values they compare in place of sums that may
    wrap."""
    found = [form, *_taken_apart(form, facts)]
    for meant, atom in facts.names:
        # Where the form holds k times a sum that a guard names, k times the name may stand for it.
        factors = {form.terms[a] // c for a, c in meant.terms.items() if a in form.terms and form.terms[a] % c == 0}
        for name in dict.fromkeys((atom, _narrower(meant, atom, facts))) if factors else ():
            named: Wrapping = Congruent({name: 1}, np.zeros_like(form.constant))
            found += [form.plus(meant, -factor).plus(named, factor) for factor in sorted(factors)]
    return found


def _narrower(meant: Wrapping, atom: Expr, facts: GuardFacts) -> Expr:
    """What a guard names, in the bounds that the guards give to the sum that it is meant as."""
    sum_ = meant.exact(domain(atom.dtype), range_of, facts.limits)
    if sum_ is None:
        return atom
    return _inside(atom, sum_.lower(range_of, facts.limits), sum_.upper(range_of, facts.limits))


def _inside(atom: Expr, least: int, most: int) -> Expr:
    """An unknown of the value of an atom, from `least` to `most`; the atom itself where that says nothing new."""
    low, high = range_of(atom)
    return UnknownVar(atom, atom.dtype, 1, max(low, least), min(high, most)) if least > low or most < high else atom


def _taken_apart(form: Wrapping, facts: GuardFacts) -> list[Wrapping]:
    """The sum with y // c * c + y % c for y, wherever a guard speaks of one of them."""
    words = {atom for limit in facts.limits for atom in limit.terms}
    bases = sorted({base for word in words for base in _bases(word)})
    whole, waiting = form, [atom for atom in form.terms if atom not in words]
    while waiting:
        y = waiting.pop()
        for base in bases if y in whole.terms and range_of(y)[0] >= 0 else ():
            # y -> (y // base) * base + y % base (requires y >= 0)
            apart = linear(quotient(y, base)).times(base).plus(linear(remainder(y, base)))
            if y not in apart.terms and not words.isdisjoint(apart.terms):
                difference = apart.plus(Congruent({y: 1}, 0), -1)
                table = np.full_like(form.constant, difference.constant)
                whole = whole.plus(Congruent(difference.terms, table), whole.terms[y])
                waiting += apart.terms.keys() - words
                break
    return [] if whole is form else [whole]


def _bases(word: Expr) -> Iterator[int]:
    """By what a chain of quotients and remainders divides."""
    while isinstance(word, Binary) and word.op in ("//", "%") and isinstance(word.right, Const):
        yield int(word.right.value)
        word = word.left


def sides(values: tuple[Expr, ...], most: int = 16) -> Iterator[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
    """The values without choices, and the conditions that choose so: for each way to decide them, of which there are at
    most so many; more are no way."""
    waiting: list[tuple[tuple[Expr, ...], tuple[Expr, ...]]] = [((), values)]
    found: list[tuple[tuple[Expr, ...], tuple[Expr, ...]]] = []
    while waiting and len(waiting) + len(found) <= most:
        tests, chosen = waiting.pop()
        test = next((node.condition for node in nodes(*chosen) if isinstance(node, Select)), None)
        if test is None:
            found.append((tests, chosen))
            continue
        other = simplify(negated(test))
        for said, left_out in ((test, other), (other, test)):
            put = {said: const(True, bool_), left_out: const(False, bool_)}
            waiting.append(((*tests, *conjuncts(said)), tuple([replaced(value, put) for value in chosen])))
    yield from () if waiting else found


#: Accesses of one array that are tried in full, where no bound settles them, and evaluations for the others.
_TRIES, _SMALL = 8, 1 << 18


def decide_bounds(model: Model, racing: Set[Buffer]) -> list[Verdict]:
    """One verdict for each array. Whoever reads an array of `racing` twice may find two values."""
    arrays: dict[Buffer, list[Access]] = {}
    for access in model.accesses:
        arrays.setdefault(access.buffer, []).append(access)
    return [decide_array(model, buffer, found, racing) for buffer, found in arrays.items() if not buffer.shape]


def last_of(access: Access) -> int:
    """The largest index that is in bounds. An array declared over vectors holds whole ones."""
    buffer = access.buffer
    return -(-buffer.length // buffer.width) * buffer.width - access.lanes


def is_in_bounds(model: Model, racing: Set[Buffer]) -> bool:
    """Whether every access is inside its array, as far as that can be told at once."""
    tries = 0
    for access in model.accesses:
        if access.buffer.shape:
            continue  # `decide_coordinates` judges it, of the kernel before it was lowered
        bounded = _bounded(model, access)
        # Trying every invocation is dear: in full for a few accesses, a sample for the others.
        tries += not bounded
        if bounded and _unstable_reason(model, access, racing):
            return False
        if not bounded and (tries > _TRIES or _enumerated(model, access, _SMALL) != (None, "")):
            return False
    return True


def decide_array(model: Model, buffer: Buffer, accesses: list[Access], racing: Set[Buffer]) -> Verdict:
    """The verdict on the accesses of one array."""
    undecided: list[str] = []
    tries = 0
    for access in accesses:
        if _bounded(model, access):
            witness, reason = None, _unstable_reason(model, access, racing)
        else:
            tries += 1
            witness, reason = _enumerated(model, access, None if tries <= _TRIES else _SMALL)
        if witness is not None:
            return Verdict(Claim.IN_BOUNDS, Status.REFUTED, f"it has {buffer.length} elements", buffer.name, witness)
        if reason:
            undecided.append(located(access, reason))
    count = counted(len(accesses), "access")
    return concluded(Claim.IN_BOUNDS, buffer.name, undecided, f"{count}, {buffer.length} elements")


def _bounded(model: Model, access: Access) -> bool:
    """Whether a bound on the index shows that the access is inside."""
    last = last_of(access)
    low, high = range_of(access.index)
    if 0 <= low and high <= last:
        return True
    facts = facts_of(model, access)
    if not facts.mask.any():
        return True
    low, high = reach(model, access.index, facts)
    if 0 <= low and high <= last:
        return True
    ways = [(assume_all(model, facts, tests), index) for tests, (index,) in sides((access.index,))]
    reached = [reach(model, index, each) for each, index in ways if each.mask.any()] if len(ways) > 1 else [(low, high)]
    return all(0 <= low and high <= last for low, high in reached)


def _unstable_reason(model: Model, access: Access, racing: Set[Buffer]) -> str:
    """Why a bound may not hold: it rests on a guard over what others write meanwhile, and the index may read it again
    (WGSL's compilers are free to load twice what the text loads once)."""
    put: dict[Expr, Expr] = {}
    for leaf in model.leaves(access.index):
        if model.read_from.get(leaf) in racing and isinstance(leaf, Var):
            put[leaf] = bounded(leaf, leaf.lo, leaf.hi)
    if not put or _bounded(model, replace(access, index=rewrite(access.index, lambda node: put.get(node, node), {}))):
        return ""
    arrays = " and ".join(dict.fromkeys(model.read_from[leaf].name for leaf in put))
    return f"its guard holds for one read of {named(put)}, and other threads may write {arrays} before the next"


def _enumerated(model: Model, access: Access, most: int | None) -> tuple[Witness | None, str]:
    """An invocation that is outside; or why there may be one, '' if there is none: at the least and at the most that
    parameters of the launch add to the index, `most` evaluations for each."""
    for end in _at_ends(model, access):
        witness, reason = _tried(model, end, most)
        if witness is not None or reason:
            return witness, reason
    return None, ""


def _at_ends(model: Model, access: Access) -> list[Access]:
    """The access with parameters that are only added to its index at both ends of what they add; as it is where there
    are none.

    Lemma: what is left is a number f modulo 2**32. If f + low and f + high are both in 0..last modulo 2**32, and
    high - low + last < 2**32, then f has one residue in -low..last - high, so f + p is in bounds for every p between.
    """
    form = linear(access.index)
    used = {leaf for value in (*access.guards, *form.terms) if not isinstance(value, Param) for leaf in nodes(value)}
    added: dict[Expr, int] = {p: c for p, c in form.terms.items() if isinstance(p, Param) and p not in used}
    low, high = Affine(added, 0).interval(range_of)
    if not added or high - low + access.buffer.length >= 1 << 32:
        return [access]
    rest = form.plus(Congruent(added, 0), -1)
    ends = [Congruent(rest.terms, signed(rest.constant + end)) for end in (low, high)]
    return [replace(access, index=from_linear(end, access.index.dtype)) for end in ends]


def _tried(model: Model, access: Access, most: int | None) -> tuple[Witness | None, str]:
    """The same for all that parameters may be, as they are."""
    known, unknown = model.split_guards(access)
    strange = model.unknowns([access.index])
    over = model.domain(model.ids_of((access.index, *access.guards)), each=model.threads, most=most)
    # 1. With the guards that are decidable, whatever memory holds.
    found = _outside(model, access, known, over, None)
    if found is None and not strange:
        return None, "" if over.complete else "no bound on its index follows from the guards"
    if found is not None and not unknown:
        return found, ""
    # where the kernel itself limits what memory contributes to an index, it means to deal with any contents
    wild = [atom for atom in linear(access.index).terms if model.unknowns([atom])]
    # 2. With made-up data under all guards.
    if found is not None or all(range_of(atom) != domain(atom.dtype) for atom in wild):
        for data in model.trials((access.index, *access.guards)):
            try:
                found = _outside(model, access, access.guards, over, data)
            except Unknown:
                break
            if found is not None:
                told = [e for e in (access.index, *unknown) if model.unknowns([e])]
                return replace(found, given=data.given(told)), ""
    if strange:
        return None, f"its index depends on {named(strange)}"
    return None, f"it is guarded by what {named(model.unknowns(unknown))} holds"


def _outside(
    model: Model, access: Access, guards: tuple[Expr, ...], over: Domain, data: SampleData | None
) -> Witness | None:
    """The first invocation of a domain that is outside: with made-up data, or whatever memory holds."""
    last = last_of(access)
    least = data is None and bool(model.unknowns([access.index]))
    if least and exact(access.index) is None:
        return None
    for numbers in over.chunks(model.threads):
        ids = over.at(numbers)
        points = model.points(model.environment(ids), data)
        active = points.where(guards)
        # Undecided terms at their least: if even that is beyond the end, the access is out of bounds for any data.
        at = _least(model, access.index, ids) if least else points.whole(access.index)
        outside = active & ((at > last) | ((at < 0) & (not least)))
        if outside.any():
            row, thread = map(int, np.argwhere(outside)[0])
            element = int(np.broadcast_to(at, active.shape)[row, thread])
            point = {leaf: int(v[row]) for leaf, v in ids.items()}
            which = element if element < 0 else max(element, last + access.lanes)
            invocation = model.use(access, point, thread, access.verb)
            return Witness(access.buffer.name, access.buffer.note, which, (invocation,))
    return None


def _least(model: Model, index: Expr, ids: dict[Expr, Integers]) -> Integers:
    """The least that a sum can be, row by row, if what is not known is as small as it gets."""
    form = exact(index)
    assert form is not None
    strange = {atom: c for atom, c in form.terms.items() if model.unknowns([atom])}
    least = form.constant + sum(c * range_of(atom)[c < 0] for atom, c in strange.items())
    known = {atom: c for atom, c in form.terms.items() if atom not in strange}
    return np.atleast_2d(Points(model.environment(ids)).total(known) + least)
