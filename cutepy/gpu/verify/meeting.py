"""Two threads at one address: ruled out where addresses tell whose they are, else found by letting writers sign them.

An address that is read digit by digit tells which workgroup, or which thread, it belongs to: if it is `m * high + low`
with `low` in a window of m numbers, two accesses meet only where their lows and their highs are equal. Both are taken
apart in the same way, until the ids of the workgroup stand alone, and the rest are tables in which each row belongs to
one thread. Guards help: they keep the low digits of a tile at the edge within its row. Where positional notation does
not apply, nothing is proven and nothing is refuted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ...layout.affine import Affine, Congruent
from ..ir import Const, Expr
from ..ranges import Integers, MadeUp, Mask, Points, Unknown, domain, linear, range_of
from ..simplify import from_linear
from ..wgsl import show
from .barriers import Phase
from .bounds import Facts, Form, Wrapping, at, facts_of, last_of, sum_of
from .model import Access, Domain, Model, Verb, named, typed
from .verdict import Witness

#: Entries of all tables together, and digits into which an address is taken apart.
_ENTRIES, _DIGITS, _GRID = 1 << 18, 24, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """Accesses of one form, by entry (a thread, a lane, an iteration): whose each is, and what is sure there."""

    thread: Integers
    limits: tuple[Form, ...]
    index: Form


_Digit = list[Form]


@dataclass(frozen=True, slots=True)
class Owned:
    """What an address tells: its workgroup, its thread."""

    workgroup: bool
    thread: bool


def owned(model: Model, accesses: Sequence[Access]) -> Owned:
    """Whether every address belongs to one workgroup, and whether it belongs to one thread."""
    found = [(a, facts) for a in accesses if (facts := facts_of(model, a)).mask.any()]
    if not found:
        return Owned(True, True)
    sums = [linear(a.index) for a in accesses]
    least = min(total.constant for total in sums)
    moduli = {abs(c) for total in sums for c in total.terms.values()}
    moduli |= set(sorted({total.constant - least for total in sums})[-_DIGITS * 4 :])
    wrapping = [at(sum_of(model, a.index), facts.mask) for a, facts in found]
    whole = [
        form.exact(domain(a.index.dtype), range_of, facts.limits)
        for form, (a, facts) in zip(wrapping, found, strict=True)
    ]
    exact = [form for form in whole if form is not None]
    family = [_member(a, facts, form, len(accesses)) for form, (a, facts) in zip(exact, found, strict=False)]
    if len(exact) < len(found):  # wrapping around keeps what is low, to a base that divides 2**32
        family = _low_digits(found, wrapping, sorted((m for m in moduli if m & (m - 1) == 0 and m > 1), reverse=True))
    digits = _taken_apart(family, [_shifted([m.index for m in family])], moduli) if family else []
    return Owned(_tells_workgroup(model, digits), bool(family) and _tells_thread(family, digits))


def _low_digits(found: list[tuple[Access, Facts]], wrapping: list[Wrapping], bases: list[int]) -> list[_Member]:
    """The accesses by the remainders of their indices to the largest base to which these lie in one window."""
    for base in bases:
        family = [
            _member(a, facts, form.remainder(base), len(found))
            for form, (a, facts) in zip(wrapping, found, strict=True)
        ]
        if _window(family, [m.index for m in family]) < base:
            return family
    return []


def _window(family: list[_Member], digit: _Digit) -> int:
    """How far apart the values of a digit may be."""
    least = min(form.lower(range_of, m.limits) for form, m in zip(digit, family, strict=True))
    most = max(form.upper(range_of, m.limits) for form, m in zip(digit, family, strict=True))
    return most - least


def _member(access: Access, facts: Facts, index: Form, count: int) -> _Member:
    """The entries of one of `count` accesses, loops written out where that is not too much."""
    thread, limits = np.flatnonzero(facts.mask), facts.limits
    room = _ENTRIES // count // (thread.size * access.lanes)
    for loop in sorted(access.loops, key=lambda loop: loop.count):
        if loop.count <= room and loop.index in index.terms:
            room //= loop.count
            numbers = np.arange(loop.count)
            index = _written_out(index, loop.index, numbers)
            limits = tuple(_written_out(limit, loop.index, numbers) for limit in limits)
            thread = np.repeat(thread, loop.count)
    lanes = np.arange(access.lanes)
    index = Affine(index.terms, np.repeat(index.constant, access.lanes) + np.tile(lanes, index.constant.size))
    limits = tuple(Affine(limit.terms, np.repeat(limit.constant, access.lanes)) for limit in limits)
    return _Member(np.repeat(thread, access.lanes), limits, index)


def _written_out(form: Form, atom: Expr, values: Integers) -> Form:
    """`form` with an entry for each value of `atom`."""
    factor = form.terms.get(atom, 0)
    table = np.repeat(form.constant, values.size) + factor * np.tile(values, form.constant.size)
    return Affine({a: c for a, c in form.terms.items() if a is not atom}, table)


def _shifted(digit: _Digit) -> _Digit:
    """The same digit, counted from the least entry of all tables."""
    low = min(int(form.constant.min()) for form in digit)
    return [form.moved(-low) for form in digit] if low else digit


def _taken_apart(family: list[_Member], digits: list[_Digit], moduli: set[int]) -> list[_Digit]:
    done: list[_Digit] = []
    todo = [(digit, moduli) for digit in digits]
    while todo:
        digit, bases = todo.pop()
        bases = {b for b in bases | {abs(c) for form in digit for c in form.terms.values()} if b > 1}
        room = len(done) + len(todo) < _DIGITS
        for base in sorted(bases, reverse=True) if room else ():
            if (split := _split(family, digit, base)) is not None:
                low, high = split
                todo += [(low, {b for b in bases if b < base}), (high, {b // base for b in bases})]
                break
        else:
            done.append(digit)
    return done


def _split(family: list[_Member], digit: _Digit, base: int) -> tuple[_Digit, _Digit] | None:
    """(low, high) with digit = high * base + low and low in a window of `base` numbers; None if that is not so, or if
    it says nothing new."""
    highs, lows = map(list, zip(*[form.split(base) for form in digit], strict=True))
    if _is_constant(lows) or _is_constant(highs) or _window(family, lows) >= base:
        return None
    return _shifted(lows), _shifted(highs)


def _is_constant(digit: _Digit) -> bool:
    first = int(digit[0].constant[0])
    return all(not form.terms and bool((form.constant == first).all()) for form in digit)


def _tells_workgroup(model: Model, digits: list[_Digit]) -> bool:
    """Whether the digits in which only ids of the workgroup stand have other values in every workgroup."""
    sums = []
    for digit in digits:
        terms = digit[0].terms
        plain = all(form.terms == terms and not form.constant.any() for form in digit)
        if plain and terms and all(model.leaves(atom) <= model.workgroup_ids for atom in terms):
            sums.append(terms)
    moving = {g for g in model.groups if not isinstance(g, Const)}
    single = {next(iter(terms)) for terms in sums if len(terms) == 1}
    if moving <= single:
        return True
    if prod(map(model.extent, moving)) > _GRID:
        return False
    domain = model.domain(moving, each=1)
    points = Points(typed(domain.every))
    rows = [points.total(terms) for terms in sums]
    return bool(rows) and _distinct(rows) == domain.size


def _distinct(columns: list[Integers]) -> int:
    """How many different rows there are."""
    key: Integers = np.zeros(columns[0].size, np.int64)
    for column in columns:
        values, numbers = np.unique(column, return_inverse=True)
        key = np.unique(key * values.size + numbers, return_inverse=True)[1]
    return int(key.max()) + 1


def _tells_thread(family: list[_Member], digits: list[_Digit]) -> bool:
    """Whether the digits without ids and iterations are different for different threads."""
    tables = [np.concatenate([form.constant for form in digit]) for digit in digits if not any(f.terms for f in digit)]
    thread = np.concatenate([m.thread for m in family])
    if not tables:
        return bool((thread == thread[0]).all())
    order = np.lexsort((thread, *tables))
    same = np.ones(thread.size - 1, bool)
    for table in tables:
        same &= table[order][1:] == table[order][:-1]
    return not bool((same & (thread[order][1:] != thread[order][:-1])).any())


_FAR = 1 << 24
_WHOLE = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where threads are at one access: addresses of the first lane, and who is there, as tables of (row, thread).

    `owners` is who each thread is; by default itself. Rows are iterations, say.
    """

    verb: Verb
    addresses: Integers
    active: Mask
    lanes: int
    owners: Integers | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and threads."""
        rows, threads = np.broadcast_shapes(self.active.shape, self.addresses.shape)
        return rows, threads


@dataclass(frozen=True, slots=True)
class Spot:
    """The entry of a table: which one, which row and thread of it."""

    table: int
    row: int
    thread: int


#: Two entries with different owners at one address, at least one of which changes it.
Meeting = tuple[Spot, Spot]


def meet(places: Sequence[Places]) -> Meeting | None:
    """A meeting, if there is one. Updates do not disturb one another.

    The last signature at an address stays; a writer who finds another's, or a reader who finds a stranger's, has met
    somebody; if nobody has, each address has one writer, and only he reads it. Of those who update an address the first
    and the last owner sign for all.
    """
    listed = [_entries(places, verb) for verb in ("writes", "updates", "reads")]
    every = np.concatenate(listed, axis=1)
    if not every.size:
        return None
    near = every[0] - every[0].min()
    every[0] = near if near.max() <= _FAR else np.unique(every[0] & _WHOLE, return_inverse=True)[1]
    ends = np.cumsum([entries.shape[1] for entries in listed])
    writes, updates, reads = np.split(every, ends[:-1], axis=1)
    by_owner = np.argsort(updates[1], kind="stable")
    met = _met(writes, np.arange(writes.shape[1]), every)
    met = met or _met(updates, by_owner, reads) or _met(updates, by_owner[::-1], reads)
    return None if met is None else (_spot(places, met[0]), _spot(places, met[1]))


def _entries(places: Sequence[Places], verb: str) -> Integers:
    """Accesses one by one, as columns: the address, the owner, and the mark, where it stands."""
    found, start = [np.zeros((3, 0), np.int64)], 0
    for table in places:
        if table.verb == verb:
            active = np.broadcast_to(table.active, table.shape)
            rows, threads = np.nonzero(active)
            where = np.broadcast_to(table.addresses, active.shape)[rows, threads]
            who = threads if table.owners is None else np.broadcast_to(table.owners, active.shape)[rows, threads]
            marks = start + rows * active.shape[1] + threads
            columns = np.repeat(np.stack([where, who, marks]), table.lanes, axis=1)
            columns[0] += np.tile(np.arange(table.lanes), len(rows))
            found.append(columns)
        start += prod(table.shape)
    return np.concatenate(found, axis=1)


def _met(writers: Integers, order: Integers, others: Integers) -> tuple[int, int] | None:
    """The marks of a writer and of somebody else who finds his signature; writers sign in this order."""
    if not writers.size or not others.size:
        return None
    signed = np.full(int(max(writers[0].max(), others[0].max())) + 1, -1, np.int64)
    signed[writers[0, order]] = order
    last = signed[others[0]]
    met = (last >= 0) & (writers[1, last] != others[1])
    i = int(np.argmax(met))
    return (int(writers[2, last[i]]), int(others[2, i])) if met[i] else None


def _spot(places: Sequence[Places], mark: int) -> Spot:
    for i, table in enumerate(places):
        if mark < prod(table.shape):
            return Spot(i, *divmod(mark, table.shape[1]))
        mark -= prod(table.shape)
    raise AssertionError("a mark beyond the tables")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found: a counter-example, or why none could be ruled out ('' if it could)."""

    witness: Witness | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Two accesses that meet, and the counter-example."""

    accesses: tuple[Access, ...]
    witness: Witness


#: A search, with made-up data or without what data decides; and whether it left nothing out.
Search = Callable[[MadeUp], tuple[Found | None, bool]]


def decide(model: Model, accesses: Sequence[Access], search: Search) -> Answer:
    """What a search says; where memory decides who is where, it is repeated with made-up contents.

    An index that the kernel does not itself keep in bounds is the caller's affair: nothing is said about it.
    """
    strange = model.unknowns([a.index for a in accesses])
    if not strange:
        found, complete = search(None)
        if found is None:
            return Answer() if complete else Answer(doubt="there are too many invocations to try them all")
        strange = model.unknowns([g for a in found.accesses for g in model.split_guards(a)[1]])
        if not strange:
            return Answer(found.witness)
    for access in accesses:
        if model.unknowns([access.index]):
            low, high = range_of(access.index)
            if low < 0 or high > last_of(access):
                return Answer(doubt=f"{access.text} depends on {named(strange)}")
    try:
        found, _ = search(model.readable)
    except Unknown:
        found = None
    if found is None:
        return Answer(doubt=f"it depends on {named(strange)}")
    told = [e for a in found.accesses for e in (a.index, *a.guards) if model.unknowns([e])]
    given = "for data that give these " + " and ".join(dict.fromkeys(map(show, told)))
    return Answer(replace(found.witness, given=given))


def found_by(model: Model, met: Sequence[tuple[Access, dict[Expr, int], int]]) -> Found:
    """The meeting of two invocations, each given by its access, its ids and its thread, for people."""
    uses = tuple(model.use(access, ids, thread, access.verb) for access, ids, thread in met)
    element = max(model.index_at(access, ids, thread) for access, ids, thread in met)
    accesses = tuple(access for access, _, _ in met)
    buffer = accesses[0].buffer
    return Found(accesses, Witness(buffer.name, buffer.note, element, uses))


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The accesses to one array between two barriers."""

    model: Model
    phase: Phase
    accesses: tuple[Access, ...]

    def is_shared(self, leaf: Expr) -> bool:
        """Whether all threads of a workgroup agree on an id or iteration."""
        return leaf in self.model.workgroup_ids or leaf in self.phase.shared

    def mixes(self, value: Expr) -> bool:
        """Whether `value` depends on what threads of a workgroup agree on, and on more."""
        return len({*map(self.is_shared, self.model.leaves(value))}) > 1

    def shared_ids(self, values: Iterable[Expr]) -> set[Expr]:
        """The ids and iterations in `values` on which all threads of a workgroup agree."""
        return {leaf for leaf in self.model.ids_of(values) if self.is_shared(leaf)}

    def domain(self, ids: set[Expr], each: int, values: Sequence[Expr]) -> Domain:
        """The values of shared ids, as far as they make a difference to `values`."""
        extents = {
            leaf: min(n, self.model.period(leaf, values)) for leaf, n in self.phase.shared.items() if leaf in ids
        }
        return self.model.domain(ids, each=each, extents=extents)

    def own_domain(self, access: Access) -> Domain:
        """The iterations of an access that each thread runs through at its own pace."""
        ids = self.model.ids_of((access.index, *access.guards))
        return self.model.domain({i for i in ids if not self.is_shared(i)}, each=self.model.threads)

    def still_indices(self) -> list[Expr]:
        """The indices, without what moves all of them alike."""
        forms = [linear(a.index) for a in self.accesses]
        moved = [
            {atom: c for atom, c in form.terms.items() if all(map(self.is_shared, self.model.leaves(atom)))}
            for form in forms
        ]
        if any(m != moved[0] for m in moved):
            return [a.index for a in self.accesses]
        return [
            from_linear(Congruent({e: c for e, c in f.terms.items() if e not in moved[0]}, f.constant), a.index.dtype)
            for f, a in zip(forms, self.accesses, strict=True)
        ]

    def found(self, meeting: Meeting, ids: dict[Expr, int], own: list[Domain]) -> Found:
        """The meeting for people; `ids` are what the workgroup shares, `own` the iterations of each access."""
        met = [(self.accesses[s.table], {**ids, **own[s.table].point(s.row)}, s.thread) for s in meeting]
        return found_by(self.model, met)
