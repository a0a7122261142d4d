"""Is every address accessed by one invocation, or ordered by a barrier? One verdict for each array that is written.

Within a workgroup the accesses between two barriers are compared, thread by thread. What the whole workgroup shares -
its ids, the iteration of a loop with barriers - is left out where it adds the same to all indices, else one of each
kind of iteration is looked at. Barriers do not order workgroups: no address may be accessed by two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...layout.affine import Congruent
from ..ir import AddressSpace, Buffer, Const, Expr, Param, Verb, nodes
from ..ir.ranges import Integers, Mask, linear
from ..ir.simplify import from_linear
from .barriers import BarrierInterval, barrier_intervals
from .bounds import facts_of, may_happen
from .conflicts import AddressTable, Answer, Counterexample, Scene, counterexample, decide, find_conflict, owned
from .for_all_sizes import decide_coordinates, owned_by_coordinates
from .model import MOST, Access, Domain, Model, SampleData, typed
from .replay import met
from .verdict import Claim, Status, Verdict, concluded, counted

MOST_ENTRIES = 1 << 25
"""Entries of the tables of all searches for a conflict between two barriers over one array."""


def unmoved(accesses: Sequence[Access]) -> tuple[Access, ...]:
    """The accesses without what the launch adds to all their indices alike, such as the offset of a view: two indices
    are equal modulo 2**32 where they are equal without it."""
    forms = [linear(a.index) for a in accesses]
    moved = {
        atom: c
        for atom, c in (forms[0].terms.items() if forms else ())
        if all(isinstance(leaf, Param | Const) for leaf in nodes(atom) if not leaf.operands)
        and all(form.terms.get(atom) == c for form in forms)
    }
    if not moved:
        return tuple(accesses)
    return tuple(
        replace(a, index=from_linear(form.plus(Congruent(moved, 0), -1), a.index.dtype))
        for a, form in zip(accesses, forms, strict=True)
    )


def check(model: Model, phase: BarrierInterval, buffer: Buffer) -> Answer:
    """Whether two threads of a workgroup access one address of `buffer` in `phase`."""
    return _checked(model, phase, [a for a in phase.accesses if a.buffer is buffer])


def _checked(model: Model, phase: BarrierInterval, accesses: Sequence[Access]) -> Answer:
    scene = Scene(model, phase, unmoved(accesses))
    verbs = {a.verb for a in scene.accesses}
    if verbs <= {Verb.READS} or verbs == {Verb.UPDATES}:
        return Answer()
    known = not model.unknowns([a.index for a in scene.accesses])
    # 1. Fewer guards, fewer kinds: no conflict there is none at all. With all guards the turns of a long loop are too
    # many kinds to try, as in `double_buffered` of tests/gpu/test_proofs.py.
    entries = [0]
    if known and _search_phase(scene, None, entries, loose=True) is True:
        return Answer()
    if not any(a.moved for a in scene.accesses):
        # 2. One thread alone, or an owner for each address.
        masks = np.array([facts_of(model, a).mask for a in scene.accesses])
        if np.count_nonzero(masks.any(axis=0)) <= 1 or owned(model, scene.accesses).thread:
            return Answer()
    # 3. What may happen at all: of the ways past a barrier some hold under conditions that exclude one another.
    possible = [a for a in accesses if may_happen(model, a)]
    if len(possible) < len(accesses):
        return _checked(model, phase, possible)
    # 4. Every kind of workgroup and iteration.
    return decide(model, scene.accesses, lambda data: _search_phase(scene, data, entries))


def _search_phase(
    scene: Scene, data: SampleData | None, entries: list[int], *, loose: bool = False
) -> Counterexample | bool:
    """Try every invocation, or those at the edges, in every kind of what the workgroup shares: where nothing asks for
    this together with the thread, what asks for it alone tells the kinds. `loose` leaves out the guards that ask for
    both: so more may happen, in fewer kinds. `entries` adds up those of the tables: beyond `MOST_ENTRIES` no further
    kind is tried."""
    model, indices = scene.model, scene.relative_indices()

    def asked(own: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple([g for g in own if not scene.mixes(g)]) if loose else own

    guards = [asked(a.guards if data is not None else model.split_guards(a)[0]) for a in scene.accesses]
    # Kinds: combinations of shared ids in which some index or guard differs.
    wanted = [e for index, own in zip(indices, guards, strict=True) for e in (index, *own)]
    parts = [e for value in wanted for e in (linear(value).terms if value.dtype.kind in "iu" else (value,))]
    mixed = any(scene.mixes(e) for e in parts)
    own = [scene.own_domain((a.index, *asked(a.guards))) for a in scene.accesses]
    each = sum(d.size for d in own) * model.threads
    domain = scene.domain(scene.shared_ids(wanted), each if mixed else 64, wanted)
    points = model.points(typed(domain.every) if not mixed else {}, data)
    alike = [points.of(e) for e in dict.fromkeys(parts) if not mixed and all(map(scene.is_shared, model.leaves(e)))]
    seen: set[bytes] = set()
    for numbers in domain.chunks(each, alike):
        entries[0] += len(numbers) * each
        if entries[0] > MOST_ENTRIES:
            return False
        ids = domain.at(numbers)
        tables = []
        for index, known, mine in zip(indices, guards, own, strict=True):
            tables.append(_table(model, index, known, (ids, mine), data))
        for row in range(len(numbers)):
            now = [(at[min(row, len(at) - 1)], on[min(row, len(on) - 1)]) for at, on in tables]
            key = b"".join(part.tobytes() for pair in now for part in pair)
            # Equal tables have equal answers.
            if key in seen:
                continue
            seen.add(key)
            owners = [a.owners(model.threads) for a in scene.accesses]
            tables_now = zip(scene.accesses, now, owners, strict=True)
            conflict = find_conflict([AddressTable(a.verb, *pair, a.lanes, own_) for a, pair, own_ in tables_now])
            if conflict is not None:
                return scene.counterexample(conflict, {leaf: int(v[row]) for leaf, v in ids.items()}, own)
    return domain.complete and all(d.complete for d in own)


def _table(
    model: Model,
    index: Expr,
    guards: Sequence[Expr],
    over: tuple[dict[Expr, Integers], Domain],
    data: SampleData | None,
) -> tuple[Integers, Mask]:
    """Addresses, and which threads access them, by what is shared, own iteration and thread."""
    ids, own = over
    points = model.points(model.environment(ids, own.every), data)
    active, at = points.where(guards), points.whole(index)
    at = at.reshape((1,) * (3 - at.ndim) + at.shape)
    return np.broadcast_to(at, (at.shape[0], own.size, model.threads)), active


def check_groups(model: Model, buffer: Buffer) -> tuple[Answer, bool]:
    """Whether two workgroups access one address of `buffer`; and whether each address is proven to have one thread."""
    accesses = unmoved([a for a in model.accesses if a.buffer is buffer])
    verbs = {a.verb for a in accesses}
    if verbs <= {Verb.READS} or verbs == {Verb.UPDATES}:
        return Answer(), True
    alone = all(isinstance(group, Const) for group in model.groups)
    tells = owned(model, accesses)
    if alone or tells.workgroup:
        return Answer(), tells.thread and not any(a.moved for a in accesses)
    return decide(model, accesses, lambda data: _search_groups(model, accesses, data)), False


def _search_groups(model: Model, accesses: Sequence[Access], data: SampleData | None) -> Counterexample | bool:
    """Try all workgroups, or those at the edges."""
    moving = {g for g in model.groups if not isinstance(g, Const)}
    places, domains = [], []
    for access in accesses:
        guards = access.guards if data is not None else model.split_guards(access)[0]
        ids = model.ids_of((access.index, *guards)) | moving
        domain = model.domain(ids, each=model.threads * access.lanes, most=MOST // len(accesses))
        points = model.points(model.environment(domain.every), data)
        active, at = points.where(guards), np.atleast_2d(points.whole(access.index))
        x, y, z = map(points.whole, model.workgroup)
        number = np.atleast_2d(x + model.kernel.grid[0] * (y + model.kernel.grid[1] * z))
        places.append(AddressTable(access.verb, at, active, access.lanes, number))
        domains.append(domain)
    conflict = find_conflict(places)
    if conflict is None:
        return all(d.complete for d in domains)
    return counterexample(model, [(accesses[s.table], domains[s.table].point(s.row), s.thread) for s in conflict])


def decide_races(model: Model) -> list[Verdict]:
    """One verdict for each array that invocations share and write."""
    shared = barrier_intervals(model, storage=False)
    bindings = barrier_intervals(model, storage=True)
    verdicts = []
    for buffer in (*model.kernel.buffers, *model.kernel.local):
        verbs = {a.verb for a in model.accesses if a.buffer is buffer}
        changed = not verbs <= {Verb.READS}
        if buffer.space == AddressSpace.WORKGROUP and changed:
            answers = _within(model, buffer, shared)
            verdicts.append(_verdict(buffer, answers, verbs, f"between barriers in {counted(len(shared), 'place')}"))
        elif buffer.shape and changed:
            verdicts.append(_verdict(buffer, _by_coordinates(model, buffer, bindings), verbs, "for all sizes"))
        elif buffer.space == AddressSpace.STORAGE and changed:
            answer, single = check_groups(model, buffer)
            answers = [answer] if answer.witness or single else [answer, *_within(model, buffer, bindings)]
            verdicts.append(_verdict(buffer, answers, verbs, "in the whole grid"))
    return verdicts


def _by_coordinates(model: Model, buffer: Buffer, found: list[BarrierInterval]) -> list[Answer]:
    """Whether each element of an array of unknown sizes has one owner: where the host has seen that its layout maps no
    two coordinates to one index, whether each coordinate has."""
    accesses = [a for a in model.accesses if a.buffer is buffer]
    if {a.verb for a in accesses} == {Verb.UPDATES}:
        return [Answer()]
    if decide_coordinates(model, buffer, accesses).status is not Status.PROVEN:
        return [
            Answer(reason="its accesses are not proven to be inside, and coordinates outside tell no elements apart")
        ]
    tells = owned_by_coordinates(model, accesses)
    alone = all(isinstance(group, Const) for group in model.groups)
    if not (alone or tells.workgroup):
        return [Answer(reason="its coordinates do not tell their workgroup")]
    if tells.thread:
        return [Answer()]
    answers = []
    for phase in found:
        own = [a for a in phase.accesses if a.buffer is buffer]
        verbs = {a.verb for a in own}
        if verbs <= {Verb.READS} or verbs == {Verb.UPDATES}:
            continue
        masks = np.array([facts_of(model, a).mask for a in own])
        single = np.count_nonzero(masks.any(axis=0)) <= 1
        told = single or owned_by_coordinates(model, own).thread
        answers.append(Answer() if told else Answer(reason="its coordinates do not tell their thread"))
    return answers or [Answer()]


def _within(model: Model, buffer: Buffer, found: list[BarrierInterval]) -> list[Answer]:
    return [check(model, phase, buffer) for phase in found if any(a.buffer is buffer for a in phase.accesses)]


def _verdict(buffer: Buffer, answers: list[Answer], verbs: set[Verb], where: str) -> Verdict:
    for answer in answers:
        if answer.witness is not None:
            return Verdict(Claim.NO_RACES, Status.REFUTED, met(answer.witness), buffer.name, answer.witness)
    atomics = "or is touched by atomics only, " if Verb.UPDATES in verbs else ""
    one_owner = f"every element has one owner {atomics}{where}"
    proven = "only atomics touch it" if verbs == {Verb.UPDATES} else one_owner
    return concluded(Claim.NO_RACES, buffer.name, [a.reason for a in answers if a.status is Status.UNDECIDED], proven)
