"""Does every address belong to one invocation, or wait for a barrier? One verdict for each array that is written.

Within a workgroup it is decided by writing down who is where between two barriers. What the whole workgroup shares -
its ids, the iteration of a loop with barriers - only moves the addresses of an access; where all accesses move alike it
is left out, else one of each kind of iteration is looked at. Barriers do not order workgroups: those share nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..ir import Buffer, Const, Expr
from ..ranges import Integers, MadeUp, Mask, Points, linear
from .barriers import Phase, phases
from .bounds import facts_of, reach
from .meeting import Answer, Found, Places, Scene, decide, found_by, meet, owned
from .model import MOST, Access, Domain, Model, Verb, typed
from .verdict import Verdict

Moves = tuple[tuple[Expr, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """`table[row, thread]` plus what `moves` add up to, where `active`, and where all `switches` hold.

    Rows are the iterations `own`; moves and switches are the same for all threads. `loose` tells that guards were left
    out, so that less may happen than this says.
    """

    access: Access
    table: Integers
    active: Mask
    moves: Moves
    switches: tuple[Expr, ...]
    own: Domain
    loose: bool

    def places(self, by: int, on: bool) -> Places:
        """Where threads are when the workgroup moves addresses by that much."""
        active = self.active if on else np.zeros((1, 1), bool)
        owners = self.access.owners(self.table.shape[1])
        return Places(self.access.verb, self.table + by, active, self.access.lanes, owners)


def part_of(scene: Scene, access: Access) -> Part | None:
    """The parts of an access; None if some term of its index mixes what threads and what workgroups have."""
    model, own = scene.model, scene.own_domain(access)
    if not own.complete:
        return None
    points = Points(model.environment(own.every))
    form = linear(access.index)
    table: Integers = np.full((1, model.threads), form.constant, np.int64)
    moves: list[tuple[Expr, int]] = []
    for atom, c in form.terms.items():
        kind = _kind(scene, atom)
        if kind == "mixed":
            return None
        if kind == "shared":
            moves.append((atom, c))
        elif model.leaves(atom) == frozenset((model.tid,)):
            table = table + c * model.table(atom)
        else:
            table = table + c * points.whole(atom)
    kinds = [(_kind(scene, guard), guard) for guard in access.guards]
    active = points.where([guard for kind, guard in kinds if kind == "own"])
    switches = tuple(guard for kind, guard in kinds if kind == "shared")
    ordered = tuple(sorted(moves, key=lambda move: (id(move[0]), move[1])))
    return Part(access, table, active, ordered, switches, own, any(kind == "mixed" for kind, _ in kinds))


def _kind(scene: Scene, value: Expr) -> str:
    """ "shared" if all threads of a workgroup agree on `value`, "own" if it depends on the thread and its own pace."""
    shared = [scene.is_shared(leaf) for leaf in scene.model.leaves(value)]
    if not all(map(scene.model.is_id, scene.model.leaves(value))):
        return "mixed"
    return "shared" if all(shared) else "mixed" if any(shared) else "own"


def check(model: Model, phase: Phase, buffer: Buffer) -> Answer:
    """Whether two threads of a workgroup meet at an address of `buffer` in `phase`."""
    scene = Scene(model, phase, tuple(a for a in phase.accesses if a.buffer is buffer))
    verbs = {a.verb for a in scene.accesses}
    if verbs <= {"reads"} or verbs == {"updates"}:
        return Answer()
    if not model.unknowns([a.index for a in scene.accesses]):
        found = _quick(scene)
        if found is not None:
            return found
    if not any(a.moved for a in scene.accesses):
        masks = np.array([facts_of(model, a).mask for a in scene.accesses])
        if np.count_nonzero(masks.any(axis=0)) <= 1 or owned(model, scene.accesses).thread:
            return Answer()
    return decide(model, scene.accesses, lambda made_up: _search_phase(scene, made_up))


def _quick(scene: Scene) -> Answer | None:
    """Decide by tables over the threads, if the indices are sums of what threads and what workgroups have."""
    parts: list[Part] = []
    for access in scene.accesses:
        part = part_of(scene, access)
        if part is None:
            return None
        parts.append(part)
    moves = list(dict.fromkeys(p.moves for p in parts))
    if len(moves) == 1:
        moves = [()]
        parts = [replace(p, moves=()) for p in parts]
    switches = list(dict.fromkeys(s for p in parts for s in p.switches))
    values = [atom for move in moves for atom, _ in move] + switches
    domain = scene.domain(scene.shared_ids(values), 64, values)
    if not domain.complete:
        return None
    points, rows = Points(typed(domain.every)), (domain.size,)
    offsets = [np.broadcast_to(points.total(dict(move)), rows) for move in moves]
    holds = [np.broadcast_to(points.whole(s), rows) for s in switches]
    _, kinds = np.unique(np.stack([*offsets, *holds], axis=1), axis=0, return_index=True)
    for kind in kinds.tolist():
        moved = {move: int(offset[kind]) for move, offset in zip(moves, offsets, strict=True)}
        on = {s: bool(h[kind]) for s, h in zip(switches, holds, strict=True)}
        meeting = meet([p.places(moved[p.moves], all(on[s] for s in p.switches)) for p in parts])
        if meeting is not None:
            if any(parts[spot.table].loose for spot in meeting):
                return None
            return Answer(scene.found(meeting, domain.point(kind), [p.own for p in parts]).witness)
    return Answer()


def _search_phase(scene: Scene, made_up: MadeUp) -> tuple[Found | None, bool]:
    """Try every invocation, or those at the edges, in every kind of what the workgroup shares."""
    model, indices = scene.model, scene.still_indices()
    guards = [a.guards if made_up is not None else model.split_guards(a)[0] for a in scene.accesses]
    wanted = [e for index, own in zip(indices, guards, strict=True) for e in (index, *own)]
    own = [scene.own_domain(a) for a in scene.accesses]
    each = sum(d.size for d in own) * model.threads
    domain = scene.domain(scene.shared_ids(wanted), each, wanted)
    seen: set[bytes] = set()
    for numbers in domain.chunks(each):
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
    if alone or tells.workgroup or _apart(model, accesses):
        return Answer(), tells.thread and not any(a.moved for a in accesses)
    return decide(model, accesses, lambda made_up: _search_groups(model, accesses, made_up)), False


def _apart(model: Model, accesses: Sequence[Access]) -> bool:
    """Whether the reads are elsewhere, and only the writes have to be told apart."""
    changes, reads = [[a for a in accesses if (a.verb == "reads") is reading] for reading in (False, True)]
    if not reads or not owned(model, changes).workgroup:
        return False
    low, high = _reach(model, changes)
    return all(last < low or first > high for first, last in (_reach(model, [a]) for a in reads))


def _reach(model: Model, accesses: Sequence[Access]) -> tuple[int, int]:
    low, high = 1 << 62, -(1 << 62)
    for access in accesses:
        facts = facts_of(model, access)
        if facts.mask.any():
            first, last = reach(model, access.index, facts)
            low, high = min(low, first), max(high, last + access.lanes - 1)
    return low, high


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
