"""Does every address belong to one invocation, or wait for a barrier? One verdict for each array that is written.

Within a workgroup it is decided by writing down who is where between two barriers. What the whole workgroup shares -
its ids, the iteration of a loop with barriers - is left out where it moves all accesses alike, else one of each kind
of iteration is looked at. Barriers do not order workgroups: those share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Buffer, Const, Expr
from ..ranges import Integers, MadeUp, Mask, Points, linear
from .barriers import Phase, phases
from .bounds import facts_of
from .meeting import Answer, Found, Places, Scene, decide, found_by, meet, owned
from .model import MOST, Access, Domain, Model, Verb, typed
from .verdict import Verdict


def check(model: Model, phase: Phase, buffer: Buffer) -> Answer:
    """Whether two threads of a workgroup meet at an address of `buffer` in `phase`."""
    scene = Scene(model, phase, tuple(a for a in phase.accesses if a.buffer is buffer))
    verbs = {a.verb for a in scene.accesses}
    if verbs <= {"reads"} or verbs == {"updates"}:
        return Answer()
    known = not model.unknowns([a.index for a in scene.accesses])
    if known and _search_phase(scene, None, loose=True) == (None, True):
        return Answer()
    if not any(a.moved for a in scene.accesses):
        masks = np.array([facts_of(model, a).mask for a in scene.accesses])
        if np.count_nonzero(masks.any(axis=0)) <= 1 or owned(model, scene.accesses).thread:
            return Answer()
    return decide(model, scene.accesses, lambda made_up: _search_phase(scene, made_up))


def _search_phase(scene: Scene, made_up: MadeUp, *, loose: bool = False) -> tuple[Found | None, bool]:
    """Try every invocation, or those at the edges, in every kind of what the workgroup shares: where nothing asks for
    this together with the thread, what asks for it alone tells the kinds. `loose` leaves out the guards that ask for
    both: so more may happen, in fewer kinds."""
    model, indices = scene.model, scene.still_indices()
    guards = [a.guards if made_up is not None else model.split_guards(a)[0] for a in scene.accesses]
    if loose:
        guards = [tuple(g for g in own if not scene.mixes(g)) for own in guards]
    wanted = [e for index, own in zip(indices, guards, strict=True) for e in (index, *own)]
    parts = [e for value in wanted for e in (linear(value).terms if value.dtype.kind in "iu" else (value,))]
    mixed = any(scene.mixes(e) for e in parts)
    own = [scene.own_domain(a) for a in scene.accesses]
    each = sum(d.size for d in own) * model.threads
    domain = scene.domain(scene.shared_ids(wanted), each if mixed else 64, wanted)
    points = Points(typed(domain.every) if not mixed else {}, made_up)
    alike = [points.of(e) for e in dict.fromkeys(parts) if not mixed and all(map(scene.is_shared, model.leaves(e)))]
    seen: set[bytes] = set()
    for numbers in domain.chunks(each, alike):
        ids = domain.at(numbers)
        tables = []
        for index, known, mine in zip(indices, guards, own, strict=True):
            tables.append(_table(model, index, known, (ids, mine), made_up))
        for row in range(len(numbers)):
            now = [(at[min(row, len(at) - 1)], on[min(row, len(on) - 1)]) for at, on in tables]
            key = b"".join(part.tobytes() for pair in now for part in pair)
            if key in seen:
                continue
            seen.add(key)
            whose = [a.owners(model.threads) for a in scene.accesses]
            there = zip(scene.accesses, now, whose, strict=True)
            meeting = meet([Places(a.verb, *pair, a.lanes, owners) for a, pair, owners in there])
            if meeting is not None:
                return scene.found(meeting, {leaf: int(v[row]) for leaf, v in ids.items()}, own), False
    return None, domain.complete and all(d.complete for d in own)


def _table(
    model: Model, index: Expr, guards: Sequence[Expr], over: tuple[dict[Expr, Integers], Domain], made_up: MadeUp
) -> tuple[Integers, Mask]:
    """Addresses, and who is there, by what is shared, own iteration and thread."""
    ids, own = over
    points = Points(model.environment(ids, own.every), made_up)
    active, at = points.where(guards), points.whole(index)
    at = at.reshape((1,) * (3 - at.ndim) + at.shape)
    return np.broadcast_to(at, (at.shape[0], own.size, model.threads)), active


def check_groups(model: Model, buffer: Buffer) -> tuple[Answer, bool]:
    """Whether two workgroups meet at an address of `buffer`; and whether each address is known to have one thread."""
    accesses = [a for a in model.accesses if a.buffer is buffer]
    verbs = {a.verb for a in accesses}
    if verbs <= {"reads"} or verbs == {"updates"}:
        return Answer(), True
    alone = all(isinstance(group, Const) for group in model.groups)
    tells = owned(model, accesses)
    if alone or tells.workgroup:
        return Answer(), tells.thread and not any(a.moved for a in accesses)
    return decide(model, accesses, lambda made_up: _search_groups(model, accesses, made_up)), False


def _search_groups(model: Model, accesses: Sequence[Access], made_up: MadeUp) -> tuple[Found | None, bool]:
    """Try all workgroups, or those at the edges."""
    moving = {g for g in model.groups if not isinstance(g, Const)}
    places, domains = [], []
    for access in accesses:
        guards = access.guards if made_up is not None else model.split_guards(access)[0]
        ids = model.ids_of((access.index, *guards)) | moving
        domain = model.domain(ids, each=model.threads * access.lanes, most=MOST // len(accesses))
        points = Points(model.environment(domain.every), made_up)
        active, at = points.where(guards), np.atleast_2d(points.whole(access.index))
        x, y, z = map(points.whole, model.workgroup)
        number = np.atleast_2d(x + model.kernel.grid[0] * (y + model.kernel.grid[1] * z))
        places.append(Places(access.verb, at, active, access.lanes, number))
        domains.append(domain)
    meeting = meet(places)
    if meeting is None:
        return None, all(d.complete for d in domains)
    return found_by(model, [(accesses[s.table], domains[s.table].point(s.row), s.thread) for s in meeting]), False


def decide_races(model: Model) -> list[Verdict]:
    """One verdict for each array that invocations share and write."""
    shared = phases(model, storage=False)
    bindings = phases(model, storage=True)
    verdicts = []
    for buffer in (*model.kernel.buffers, *model.kernel.local):
        verbs = {a.verb for a in model.accesses if a.buffer is buffer}
        changed = not verbs <= {"reads"}
        if buffer.space == "workgroup" and changed:
            answers = _within(model, buffer, shared)
            count = f"{len(shared)} places" if len(shared) > 1 else "1 place"
            verdicts.append(_verdict(buffer, answers, verbs, f"between barriers in {count}"))
        elif buffer.space == "storage" and changed:
            answer, single = check_groups(model, buffer)
            answers = [answer] if answer.witness or single else [answer, *_within(model, buffer, bindings)]
            verdicts.append(_verdict(buffer, answers, verbs, "in the whole grid"))
    return verdicts


def _within(model: Model, buffer: Buffer, found: list[Phase]) -> list[Answer]:
    return [check(model, phase, buffer) for phase in found if any(a.buffer is buffer for a in phase.accesses)]


def _verdict(buffer: Buffer, answers: list[Answer], verbs: set[Verb], where: str) -> Verdict:
    for answer in answers:
        if answer.witness is not None:
            writing = {u.verb for u in answer.witness.uses} == {"writes"}
            reason = "two invocations write one element" if writing else "one changes what another uses"
            return Verdict("no races", "refuted", reason, buffer.name, answer.witness)
    doubts = [a.doubt for a in answers if a.doubt]
    if doubts:
        return Verdict("no races", "undecided", "; ".join(dict.fromkeys(doubts)), buffer.name)
    if verbs == {"updates"}:
        return Verdict("no races", "proven", "only atomics touch it", buffer.name)
    atomics = "or is touched by atomics only, " if "updates" in verbs else ""
    return Verdict("no races", "proven", f"every element has one owner {atomics}{where}", buffer.name)
