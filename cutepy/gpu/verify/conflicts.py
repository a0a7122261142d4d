"""Do two threads of a workgroup meet at one address between two barriers? Decided by writing down who is where.

What the whole workgroup shares - its ids, the iteration of a loop with barriers - only moves the addresses of an
access; where all accesses move alike it is left out, else one of each kind of iteration is looked at.
"""

from collections.abc import Sequence

import numpy as np

from ..ir import Buffer, Expr
from .digits import owned
from .evaluate import Array, Data, Integers, Mask, evaluate
from .forms import facts_of
from .meeting import Places, meet
from .model import Model
from .parts import Part, part_of
from .phases import Phase
from .scene import Answer, Found, Scene, decide
from .search import Domain, split_guards, unknowns


def check(model: Model, phase: Phase, buffer: Buffer) -> Answer:
    """Whether two threads of a workgroup meet at an address of `buffer` in `phase`."""
    scene = Scene(model, phase, tuple(a for a in phase.accesses if a.buffer is buffer))
    verbs = {a.verb for a in scene.accesses}
    if verbs <= {"reads"} or verbs == {"updates"}:
        return Answer()
    strange = unknowns(model, [a.index for a in scene.accesses])
    if strange:
        masks = np.array([facts_of(model, a).mask for a in scene.accesses])
        if np.count_nonzero(masks.any(axis=0)) <= 1 or owned(model, scene.accesses).thread:
            return Answer()
    else:
        found = _quick(scene)
        if found is not None:
            return found
    return decide(model, scene.accesses, lambda data: _search(scene, data))


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
        parts = [p.still() for p in parts]
    switches = list(dict.fromkeys(s for p in parts for s in p.switches))
    ids = scene.shared_ids([atom for move in moves for atom, _ in move] + switches)
    domain = scene.domain(ids, 64)
    if not domain.complete:
        return None
    env: dict[Expr, Array] = {i: v.astype(i.dtype.numpy) for i, v in domain.at(np.arange(domain.size)).items()}
    memo: dict[Expr, Array] = {}
    offsets = [_sum(move, env, memo, domain.size) for move in moves]
    holds = [np.broadcast_to(evaluate(s, env, memo).astype(np.int64), (domain.size,)) for s in switches]
    _, kinds = np.unique(np.stack([*offsets, *holds], axis=1), axis=0, return_index=True)
    for kind in kinds.tolist():
        moved = {move: int(offset[kind]) for move, offset in zip(moves, offsets, strict=True)}
        on = {s: bool(h[kind]) for s, h in zip(switches, holds, strict=True)}
        meeting = meet([p.places(moved[p.moves], all(on[s] for s in p.switches)) for p in parts])
        if meeting is not None:
            if parts[meeting.first.table].loose or parts[meeting.second.table].loose:
                return None
            point = {leaf: int(v[kind]) for leaf, v in domain.at(np.arange(domain.size)).items()}
            return Answer(scene.found(meeting, point, [p.own for p in parts]).witness)
    return Answer()


def _sum(move: tuple[tuple[Expr, int], ...], env: dict[Expr, Array], memo: dict[Expr, Array], rows: int) -> Integers:
    total = np.zeros(rows, np.int64)
    for atom, c in move:
        total = total + c * evaluate(atom, env, memo).astype(np.int64)
    return total


def _search(scene: Scene, data: Data | None) -> tuple[Found | None, bool]:
    """Try every invocation, or those at the edges, in every kind of what the workgroup shares."""
    model, indices = scene.model, scene.still_indices()
    guards = [a.guards if data else split_guards(model, a)[0] for a in scene.accesses]
    wanted = [e for index, own in zip(indices, guards, strict=True) for e in (index, *own)]
    own = [scene.own_domain(a) for a in scene.accesses]
    each = sum(d.size for d in own) * model.threads
    domain = scene.domain(scene.shared_ids(wanted), each)
    seen: set[bytes] = set()
    for numbers in domain.chunks(each):
        ids = domain.at(numbers)
        tables = []
        for index, known, mine in zip(indices, guards, own, strict=True):
            tables.append(_table(model, index, known, (ids, mine), data))
        for row in range(len(numbers)):
            now = [(at[min(row, len(at) - 1)], on[min(row, len(on) - 1)]) for at, on in tables]
            key = b"".join(part.tobytes() for pair in now for part in pair)
            if key in seen:
                continue
            seen.add(key)
            meeting = meet([Places(a.verb, *pair, a.lanes) for a, pair in zip(scene.accesses, now, strict=True)])
            if meeting is not None:
                return scene.found(meeting, {leaf: int(v[row]) for leaf, v in ids.items()}, own), False
    return None, domain.complete and all(d.complete for d in own)


def _table(
    model: Model, index: Expr, guards: Sequence[Expr], over: tuple[dict[Expr, Integers], Domain], data: Data | None
) -> tuple[Integers, Mask]:
    """Addresses, and who is there, by what is shared, own iteration and thread."""
    ids, own = over
    env: dict[Expr, Array] = {leaf: v.astype(leaf.dtype.numpy)[:, None, None] for leaf, v in ids.items()}
    for leaf, v in own.at(np.arange(own.size)).items():
        env[leaf] = v.astype(leaf.dtype.numpy)[None, :, None]
    env[model.tid] = np.arange(model.threads, dtype=np.uint32)[None, None, :]
    memo: dict[Expr, Array] = {}
    active: Mask = np.ones((1, own.size, model.threads), bool)
    for guard in guards:
        active = active & evaluate(guard, env, memo, data).astype(bool)
    at = np.asarray(evaluate(index, env, memo, data).astype(np.int64))
    at = at.reshape((1,) * (3 - at.ndim) + at.shape)
    return np.broadcast_to(at, (at.shape[0], own.size, model.threads)), active
