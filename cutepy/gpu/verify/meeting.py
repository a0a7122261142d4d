"""Two threads at one address: found by letting every writer sign its addresses, in the accesses of one phase."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ...layout.affine import Congruent
from ..evaluate import Integers, MadeUp, Mask, Unknown
from ..ir import Expr
from ..ranges import linear, range_of
from ..simplify import from_linear
from ..wgsl import show
from .bounds import last_of
from .model import Access, Domain, Model, Verb, named
from .phases import Phase
from .verdict import Witness

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


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two entries with different owners at one address, at least one of which changes it."""

    address: int
    first: Spot
    second: Spot


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """Accesses one by one: address, owner, and where it stands."""

    at: Integers
    owner: Integers
    mark: Integers


def meet(places: Sequence[Places]) -> Meeting | None:
    """A meeting, if there is one. Updates do not disturb one another.

    The last signature at an address stays; a writer who finds another's, or a reader who finds a stranger's, has met
    somebody; if nobody has, each address has one writer, and only he reads it.
    """
    listed = {verb: _entries(places, verb) for verb in ("writes", "updates", "reads")}
    everywhere = np.concatenate([e.at for e in listed.values()])
    if not everywhere.size:
        return None
    low = int(everywhere.min())
    if int(everywhere.max()) - low <= _FAR:
        listed = {v: _Entries(e.at - low, e.owner, e.mark) for v, e in listed.items()}
        span, back = int(everywhere.max()) - low + 1, None
    else:
        back, inverse = np.unique(everywhere & _WHOLE, return_inverse=True)
        ends = np.cumsum([e.at.size for e in listed.values()])[:-1]
        parts = np.split(inverse, ends)
        listed = {v: _Entries(p, e.owner, e.mark) for (v, e), p in zip(listed.items(), parts, strict=True)}
        span = back.size
    found = _disturbed(listed["writes"], list(listed.values()), span) or _updated(
        listed["updates"], listed["reads"], span
    )
    if found is None:
        return None
    at, first, second = found
    return Meeting(at + low if back is None else int(back[at]), _spot(places, first), _spot(places, second))


def _entries(places: Sequence[Places], verb: str) -> _Entries:
    at, owner, mark = [], [], []
    start = 0
    for table in places:
        if table.verb == verb:
            active = np.broadcast_to(table.active, table.shape)
            rows, threads = np.nonzero(active)
            where = np.broadcast_to(table.addresses, active.shape)[rows, threads]
            who = threads if table.owners is None else np.broadcast_to(table.owners, active.shape)[rows, threads]
            lanes = np.arange(table.lanes)
            at.append((where[:, None] + lanes).ravel())
            owner.append(np.repeat(who, table.lanes))
            mark.append(np.repeat(start + rows * active.shape[1] + threads, table.lanes))
        start += prod(table.shape)
    if not at:
        none = np.zeros(0, np.int64)
        return _Entries(none, none, none)
    return _Entries(np.concatenate(at), np.concatenate(owner), np.concatenate(mark))


def _disturbed(writes: _Entries, others: list[_Entries], span: int) -> tuple[int, int, int] | None:
    """A writer and somebody else at one address."""
    if not writes.at.size:
        return None
    signed = np.full(span, -1, np.int64)
    signed[writes.at] = np.arange(writes.at.size)
    for entries in others:
        last = signed[entries.at]
        met = (last >= 0) & (writes.owner[last] != entries.owner)
        if met.any():
            i = int(np.argmax(met))
            return int(entries.at[i]), int(writes.mark[last[i]]), int(entries.mark[i])
    return None


def _updated(updates: _Entries, reads: _Entries, span: int) -> tuple[int, int, int] | None:
    """A reader at an address that somebody else updates: the first or the last of those who do."""
    if not updates.at.size or not reads.at.size:
        return None
    order = np.argsort(updates.owner, kind="stable")
    for turn in (order, order[::-1]):
        signed = np.full(span, -1, np.int64)
        signed[updates.at[turn]] = turn
        last = signed[reads.at]
        met = (last >= 0) & (updates.owner[last] != reads.owner)
        if met.any():
            i = int(np.argmax(met))
            return int(reads.at[i]), int(updates.mark[last[i]]), int(reads.mark[i])
    return None


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
        spots = meeting.first, meeting.second
        met = [(self.accesses[s.table], {**ids, **own[s.table].point(s.row)}, s.thread) for s in spots]
        return found_by(self.model, met)
