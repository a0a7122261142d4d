"""Can two threads access one address? Ruled out where addresses encode their thread, else searched for.

Proof, by positional notation: if an address is `m * high + low` with `low` in a window of m numbers, two addresses are
equal only where their lows and their highs are. Addresses of all accesses are split in the same way until the ids of
the workgroup stand alone, and the rest are tables with one thread to each row; a ticket of an atomic addition also
stands for its thread. Guards keep the low digits of a tile at the edge within its row. Where no split applies, nothing
follows.

Search: writers mark their addresses with their number; a mark of another thread is a conflict.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod

import numpy as np

from ...layout.affine import Affine, Congruent
from ..ir import AddressSpace, Binary, Const, ElementOrder, Expr, Load, Param, Verb, binary
from ..ir.ranges import Integers, Mask, Points, Unknown, domain, exact, linear, range_of
from ..ir.simplify import from_linear
from .barriers import BarrierInterval
from .bounds import Ascent, ascent, facts_of, last_of, near, product_limits, restrict, sum_of, times_bound
from .model import Access, Domain, Form, GuardFacts, Model, SampleData, Wrapping, named, typed
from .tickets import Ticket
from .verdict import Status, Witness

#: Digits into which an address is taken apart, and workgroups that are told one by one.
_DIGITS, _GRID = 24, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """Accesses of one form, by entry (a thread, a lane): the thread of each, and the limits that hold there."""

    thread: Integers
    limits: tuple[Form, ...]
    index: Form


_Digit = list[Form]


@dataclass(frozen=True, slots=True)
class Ownership:
    """What an address tells: its workgroup, its thread."""

    workgroup: bool
    thread: bool


def owned(model: Model, accesses: Sequence[Access]) -> Ownership:
    """Whether every address belongs to one workgroup, and whether it belongs to one thread."""
    found = [(a, facts) for a in accesses if (facts := facts_of(model, a)).mask.any()]
    if not found:
        return Ownership(True, True)
    # 1. Candidate radixes: the factors of all terms, and the differences of constants.
    sums = [linear(a.index) for a in accesses]
    least = min(total.constant for total in sums)
    moduli = {abs(c) for total in sums for c in total.terms.values()}
    moduli |= set(sorted({total.constant - least for total in sums})[-_DIGITS * 4 :])
    wrapping = [restrict(sum_of(model, a.index), facts.mask) for a, facts in found]
    whole = [
        form.exact(domain(a.index.dtype), range_of, facts.limits)
        for form, (a, facts) in zip(wrapping, found, strict=True)
    ]
    # 2. Sums over integers where guards show that they do not wrap; else their remainders to a base that divides 2^32.
    exact = [form for form in whole if form is not None]
    family = [_member(a, facts, form) for form, (a, facts) in zip(exact, found, strict=False)]
    if len(exact) < len(found):  # wrapping around keeps what is low, to a base that divides 2**32
        family = _low_digits(found, wrapping, sorted((m for m in moduli if m.bit_count() == 1 and m > 1), reverse=True))
    # 3. Digits of the address. Equal addresses have equal digits, so a digit that determines the owner proves
    # ownership.
    digits = _digits(model, family, moduli) if family else []
    tickets = [ticket for digit in digits if (ticket := _ticket_of(model, digit))]
    workgroup = any(t.buffer.space == AddressSpace.STORAGE for t in tickets) or _tells_workgroup(model, digits)
    single = any(not t.shared for t in tickets)
    return Ownership(workgroup, single or (bool(family) and _tells_thread(family, digits)))


def owned_by(model: Model, axes: Sequence[Sequence[tuple[Integers, GuardFacts, Form]]]) -> Ownership:
    """Whether every tuple of numbers belongs to one workgroup, and to one thread: of each number of it, axis by axis,
    the sum that it is for each entry, with the threads of its table and what holds there. Equal tuples have equal
    digits in all axes."""
    digits: list[_Digit] = []
    family: list[_Member] = []
    for entries in axes:
        (_, _, first), *_ = entries
        same = {  # what the launch adds to all alike tells nothing apart
            atom: c
            for atom, c in first.terms.items()
            if isinstance(atom, Param) and all(form.terms.get(atom) == c for _, _, form in entries)
        }
        family = [
            _Member(
                threads, facts.limits, Affine({a: c for a, c in form.terms.items() if a not in same}, form.constant)
            )
            for threads, facts, form in entries
        ]
        moduli = {abs(c) for member in family for c in member.index.terms.values()}
        constants = [int(end) for m in family for end in (m.index.constant.min(), m.index.constant.max())]
        moduli |= {max(constants) - min(constants), max(constants) - min(constants) + 1}
        digits += _digits(model, family, moduli)
    return Ownership(_tells_workgroup(model, digits), _tells_thread(family, digits))


def _digits(model: Model, family: list[_Member], moduli: set[int]) -> list[_Digit]:
    """Numbers that the indices of the family tell: their digits to known bases and to numbers of the launch, and what
    these tell by the order of arrays. Each that tells others is replaced by them, which have fewer terms or lie less
    deep."""
    done: list[_Digit] = []
    todo = _taken_apart(family, [_shifted([m.index for m in family])], moduli)
    while todo:
        digit = todo.pop()
        told = _split_by_number(model, family, digit)
        if not told and model.orders:
            told = _place_of(model, family, digit) or _segment_of(model, family, digit)
        for part in told if len(done) < _DIGITS else ():
            todo += _taken_apart(family, [_shifted(part)], moduli)
        if not told:
            done.append(digit)
    return done


def _split_by_number(model: Model, family: list[_Member], digit: _Digit) -> list[_Digit]:
    """(low, high) of a digit that is high * q + low for a number q of the launch, low in a window of q numbers; none
    where it is not. The products in it are those that do not wrap."""
    for product in digit[0].terms:
        if not isinstance(product, Binary) or product.op != "*":
            continue
        for x, q in ((product.left, product.right), (product.right, product.left)):
            lows = [Affine({a: c for a, c in form.terms.items() if a is not product}, form.constant) for form in digit]
            if not _of_launch(model, q) or any(form.terms.get(product) != 1 for form in digit):
                continue
            pairs = list(zip(lows, family, strict=True))
            whole = all(
                product_limits(model, product, m.limits) or times_bound(product, m.limits) is not None for m in family
            )
            below = all(
                low.at_least(0, range_of, near(low.terms, m.limits))
                and (gap := low.plus(Affine({q: 1}, low.constant * 0), -1)).at_most(
                    -1, range_of, near(gap.terms, m.limits)
                )
                for low, m in pairs
            )
            if whole and below:
                return [lows, [_over_threads(model, x, m) for m in family]]
    return []


def _of_launch(model: Model, q: Expr) -> bool:
    """Whether a number is the same in all invocations: of the host, or at a place of an array that is only read."""
    return isinstance(q, Param) or (bool(model.leaves(q)) and all(isinstance(x, Load | Param) for x in model.leaves(q)))


def _over_threads(model: Model, x: Expr, member: _Member) -> Form:
    """What `x` is for each entry: a sum over ids and a table over threads, where it does not wrap."""
    whole = sum_of(model, x)
    form = Congruent(whole.terms, whole.constant[member.thread]).exact(domain(x.dtype), range_of, member.limits)
    return Affine({x: 1}, member.index.constant * 0) if form is None else form


def _place_of(model: Model, family: list[_Member], digit: _Digit) -> list[_Digit]:
    """i of a digit x[i] for an array x of distinct elements, which tell their places."""
    loads = [
        atom
        for form in digit
        for atom in form.terms
        if isinstance(atom, Load) and model.says(atom.buffer, ElementOrder.DISTINCT)
    ]
    alike = {
        (load.buffer, load.where, load.lanes, *form.terms.values()) for load, form in zip(loads, digit, strict=False)
    }
    constants = np.concatenate([form.constant for form in digit])
    if not len(loads) == len(digit) == sum(len(form.terms) for form in digit) or len(alike) != 1:
        return []
    if constants.min() != constants.max() or loads[0].where is not None or loads[0].lanes > 1:
        return []
    return [[_over_threads(model, load.index, m) for load, m in zip(loads, family, strict=True)]]


def _segment_of(model: Model, family: list[_Member], digit: _Digit) -> list[_Digit]:
    """(e, d - x[e]) of a digit d from x[e] to below x[e + 1] for a sorted array x: its segments have no number in
    common, so d tells e."""
    for atom in digit[0].terms:
        first = ascent(model, atom)
        number = None if first is None else exact(first.index)
        if first is None or number is None or model.tid in model.leaves(first.index):
            continue
        if any(form.terms.get(atom) != 1 for form in digit):
            continue
        rest = [Affine({a: c for a, c in form.terms.items() if a is not atom}, form.constant) for form in digit]
        if all(_within_segment(model, first, entry) for entry in zip(digit, rest, family, strict=True)):
            return [rest, [Affine(number.terms, form.constant * 0) for form in digit]]
    return []


def _within_segment(model: Model, first: Ascent, entry: tuple[Form, Form, _Member]) -> bool:
    """Whether a number is from x[e] on, for `rest` is 0 or more, and below x[e + 1]."""
    form, rest, member = entry
    if not rest.at_least(0, range_of, near(rest.terms, member.limits)):
        return False
    for end in dict.fromkeys(atom for limit in member.limits for atom in limit.terms):
        if (last := ascent(model, end)) is not None and first.steps(last) == 1:
            gap = form.plus(Affine({end: 1}, form.constant * 0), -1)
            return gap.at_most(-1, range_of, near(gap.terms, member.limits))
    return False


def _ticket_of(model: Model, digit: _Digit) -> Ticket | None:
    """The ticket that a digit tells, None where it tells none: every entry of the digit is c * ticket + constant, with
    one c and the tickets of one counter. An invocation took the ticket, or its workgroup where it is shared. Two
    tickets differ by a multiple of the counter's step, so constants less than c steps apart, as those of the lanes of
    a vector are, keep their digits distinct."""
    if any(len(form.terms) != 1 for form in digit):
        return None
    pairs = {(model.tickets.get(atom), c) for form in digit for atom, c in form.terms.items()}
    (ticket, c), *more = pairs
    if ticket is None or more:
        return None
    constants = np.concatenate([form.constant for form in digit])
    return ticket if int(constants.max() - constants.min()) < abs(c) * ticket.step else None


def _low_digits(found: list[tuple[Access, GuardFacts]], wrapping: list[Wrapping], bases: list[int]) -> list[_Member]:
    """The accesses by the remainders of their indices to the largest base to which these lie in one window."""
    for base in bases:
        family = [_member(a, facts, form.remainder(base)) for form, (a, facts) in zip(wrapping, found, strict=True)]
        if _window(family, [m.index for m in family]) < base:
            return family
    return []


def _window(family: list[_Member], digit: _Digit) -> int:
    """How far apart the values of a digit may be."""
    pairs = [(form, near(form.terms, m.limits)) for form, m in zip(digit, family, strict=True)]
    least = min(form.lower(range_of, limits) for form, limits in pairs)
    most = max(form.upper(range_of, limits) for form, limits in pairs)
    return most - least


def _member(access: Access, facts: GuardFacts, index: Form) -> _Member:
    """The entries of an access: its threads, and the lanes of each."""
    lanes = np.arange(access.lanes)
    index = Affine(index.terms, np.repeat(index.constant, access.lanes) + np.tile(lanes, index.constant.size))
    limits = tuple(Affine(limit.terms, np.repeat(limit.constant, access.lanes)) for limit in facts.limits)
    return _Member(np.repeat(np.flatnonzero(facts.mask), access.lanes), limits, index)


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
            # low < base in every access, so (low, high) and the address determine one another.
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
        if plain and terms and all(_of_workgroup(model, atom) for atom in terms):
            sums.append(terms)
    # Digits that are single ids of the workgroup determine them; other sums are tabulated over the grid.
    moving = {g for g in model.groups if not isinstance(g, Const)}
    single = {next(iter(terms)) for terms in sums if len(terms) == 1}
    quotients = {atom for atom in single if isinstance(atom, Binary) and atom.op == "//"}
    todo = [*quotients]
    while todo:  # x // (a * b), with (x // a) % b, tells x // a
        whole = todo.pop()
        number, *factors = model.products.get(whole.right, (0,))
        for a, b in permutations(factors) if number == 1 else ():
            inner = binary("//", whole.left, a)
            if isinstance(inner, Binary) and binary("%", inner, b) in single:
                quotients.add(inner)
                single.add(inner)
                todo.append(inner)
    told: list[Expr] = [q.left for q in quotients if binary("%", q.left, q.right) in single]
    while told:  # quotient and remainder tell the number, which may be one of both as well
        x = told.pop()
        single.add(x)
        if isinstance(x, Binary) and x.op in ("//", "%"):
            pair = binary("//", x.left, x.right), binary("%", x.left, x.right)
            told += [x.left] if single.issuperset(pair) else []
    if moving <= single:
        return True
    sums = [terms for terms in sums if all(model.leaves(atom) <= model.workgroup_ids for atom in terms)]
    if prod(map(model.extent, moving)) > _GRID:
        return False
    domain = model.domain(moving, each=1)
    points = Points(typed(domain.every))
    rows = [points.total(terms) for terms in sums]
    return bool(rows) and _distinct(rows) == domain.size


def _of_workgroup(model: Model, atom: Expr) -> bool:
    """Whether a number is made of ids of the workgroup and of parameters, of ids at least."""
    leaves = {leaf for leaf in model.leaves(atom) if not isinstance(leaf, Param)}
    return bool(leaves) and leaves <= model.workgroup_ids


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
    # Sorted by digits: two threads with equal digits stand side by side.
    order = np.lexsort((thread, *tables))
    same = np.ones(thread.size - 1, bool)
    for table in tables:
        same &= table[order][1:] == table[order][:-1]
    return not bool((same & (thread[order][1:] != thread[order][:-1])).any())


_FAR = 1 << 24
_WHOLE = (1 << 32) - 1


@dataclass(frozen=True, slots=True, eq=False)
class AddressTable:
    """Addresses of the first lane at one access, and which threads make it, as tables of (row, thread); rows are
    iterations, say. `owners` are the numbers of the threads; by default the column."""

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
class Entry:
    """The number of a table, and a row and a thread of it."""

    table: int
    row: int
    thread: int


#: Two entries of different threads with one address, at least one of which changes it.
Conflict = tuple[Entry, Entry]


def find_conflict(tables: Sequence[AddressTable]) -> Conflict | None:
    """A conflict, if there is one. Two atomic updates are none.

    Writers mark their address, the last mark stays: if every writer and reader of an address finds its own thread
    there, the address has one writing thread, and no other reads it. Updates of an address conflict with its readers
    alone: it is marked by the updating thread of the largest number, then by that of the least, and a reader that finds
    itself both times is the only thread that updates it.
    """
    listed = [_entries(tables, verb) for verb in (Verb.WRITES, Verb.UPDATES, Verb.READS)]
    every = np.concatenate(listed, axis=1)
    if not every.size:
        return None
    # 1. Addresses become small numbers, for a table of marks.
    from_least = every[0] - every[0].min()
    every[0] = from_least if from_least.max() <= _FAR else np.unique(every[0] & _WHOLE, return_inverse=True)[1]
    ends = np.cumsum([entries.shape[1] for entries in listed])
    writes, updates, reads = np.split(every, ends[:-1], axis=1)
    # 2. Writes against everything, updates against reads.
    by_owner = np.argsort(updates[1], kind="stable")
    pair = _first_conflict(writes, np.arange(writes.shape[1]), every)
    pair = pair or _first_conflict(updates, by_owner, reads) or _first_conflict(updates, by_owner[::-1], reads)
    return None if pair is None else (_entry(tables, pair[0]), _entry(tables, pair[1]))


def _entries(tables: Sequence[AddressTable], verb: str) -> Integers:
    """Accesses one by one, as columns: the address, the thread, and the number of the entry over all tables."""
    found, start = [np.zeros((3, 0), np.int64)], 0
    for table in tables:
        if table.verb == verb:
            active = np.broadcast_to(table.active, table.shape)
            rows, threads = np.nonzero(active)
            where = np.broadcast_to(table.addresses, active.shape)[rows, threads]
            owners = threads if table.owners is None else np.broadcast_to(table.owners, active.shape)[rows, threads]
            numbers = start + rows * active.shape[1] + threads
            columns = np.repeat(np.stack([where, owners, numbers]), table.lanes, axis=1)
            columns[0] += np.tile(np.arange(table.lanes), len(rows))
            found.append(columns)
        start += prod(table.shape)
    return np.concatenate(found, axis=1)


def _first_conflict(writers: Integers, order: Integers, others: Integers) -> tuple[int, int] | None:
    """The entries of a writer and of another thread that finds its mark; writers mark in this order."""
    if not writers.size or not others.size:
        return None
    marked = np.full(int(max(writers[0].max(), others[0].max())) + 1, -1, np.int64)
    marked[writers[0, order]] = order
    # The mark that stays is one of the writers': any other thread at that address is in conflict.
    last = marked[others[0]]
    apart = (last >= 0) & (writers[1, last] != others[1])
    i = int(np.argmax(apart))
    return (int(writers[2, last[i]]), int(others[2, i])) if apart[i] else None


def _entry(tables: Sequence[AddressTable], number: int) -> Entry:
    """The entry of that number over all tables."""
    for i, table in enumerate(tables):
        if number < prod(table.shape):
            return Entry(i, *divmod(number, table.shape[1]))
        number -= prod(table.shape)
    raise AssertionError("a number beyond the tables")


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether threads conflict: refuted by a `witness`, undecided for a `reason`, or proven that none do."""

    witness: Witness | None = None
    reason: str = ""

    @property
    def status(self) -> Status:
        if self.witness is not None:
            return Status.REFUTED
        return Status.UNDECIDED if self.reason else Status.PROVEN


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """Two accesses in conflict, and the witness."""

    accesses: tuple[Access, ...]
    witness: Witness


#: A search, with made-up data or without what data decides: a counter-example, or whether it left nothing out.
Search = Callable[[SampleData | None], Counterexample | bool]


def decide(model: Model, accesses: Sequence[Access], search: Search) -> Answer:
    """The answer of a search; where data decide which threads access what, it is repeated with made-up data.

    Made-up data refute only where the kernel itself keeps its indices in bounds: else the caller promises the data.
    """
    strange = model.unknowns([a.index for a in accesses])
    if not strange:
        found = search(None)
        if isinstance(found, bool):
            return Answer() if found else Answer(reason="there are too many invocations to try them all")
        strange = model.unknowns([g for a in found.accesses for g in model.split_guards(a)[1]])
        if not strange:
            return Answer(found.witness)
    for access in accesses:
        if model.unknowns([access.index]):
            low, high = range_of(access.index)
            if low < 0 or high > last_of(access):
                return Answer(reason=f"{access.text} depends on {named(strange)}")
    for data in model.trials([e for a in accesses for e in (a.index, *a.guards)]):
        try:
            found = search(data)
        except Unknown:
            break
        if isinstance(found, Counterexample):
            told = [e for a in found.accesses for e in (a.index, *a.guards) if model.unknowns([e])]
            return Answer(replace(found.witness, given=data.given(told)))
    return Answer(reason=f"it depends on {named(strange)}")


def counterexample(model: Model, pair: Sequence[tuple[Access, dict[Expr, int], int]]) -> Counterexample:
    """The conflict of two invocations, each given by its access, its ids and its thread, for people."""
    uses = tuple(model.use(access, ids, thread, access.verb) for access, ids, thread in pair)
    element = max(model.index_at(access, ids, thread) for access, ids, thread in pair)
    accesses = tuple(access for access, _, _ in pair)
    buffer = accesses[0].buffer
    return Counterexample(accesses, Witness(buffer.name, buffer.note, element, uses))


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The accesses to one array between two barriers."""

    model: Model
    phase: BarrierInterval
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

    def own_domain(self, values: Iterable[Expr]) -> Domain:
        """The iterations in `values` that each thread runs through at its own pace."""
        ids = self.model.ids_of(values)
        return self.model.domain({i for i in ids if not self.is_shared(i)}, each=self.model.threads)

    def relative_indices(self) -> list[Expr]:
        """The indices less the terms that a workgroup's threads share, where these are the same in all accesses; else
        the indices as they are."""
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

    def counterexample(self, conflict: Conflict, ids: dict[Expr, int], own: list[Domain]) -> Counterexample:
        """The conflict for people; `ids` are what the workgroup shares, `own` the iterations of each access."""
        pair = [(self.accesses[e.table], {**ids, **own[e.table].point(e.row)}, e.thread) for e in conflict]
        return counterexample(self.model, pair)
