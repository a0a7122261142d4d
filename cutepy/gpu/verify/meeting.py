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
