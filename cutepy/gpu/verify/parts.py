"""An access as a sum of what its thread, its own iteration and its workgroup contribute to the address."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..ir import Expr
from ..ranges import linear
from .evaluate import Array, Integers, Mask, evaluate
from .meeting import Places
from .model import Access
from .scene import Scene
from .search import Domain

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

    def still(self) -> Part:
        """The same, not moved."""
        return replace(self, moves=())

    def places(self, by: int, on: bool) -> Places:
        """Where threads are when the workgroup moves addresses by that much."""
        active = self.active if on else np.zeros((1, 1), bool)
        return Places(self.access.verb, self.table + by, active, self.access.lanes)


def part_of(scene: Scene, access: Access) -> Part | None:
    """The parts of an access; None if some term of its index mixes what threads and what workgroups have."""
    model, own = scene.model, scene.own_domain(access)
    if not own.complete:
        return None
    env: dict[Expr, Array] = {
        leaf: v.astype(leaf.dtype.numpy)[:, None] for leaf, v in own.at(np.arange(own.size)).items()
    }
    env[model.tid] = np.arange(model.threads, dtype=np.uint32)[None, :]
    memo: dict[Expr, Array] = {}
    total = linear(access.index)
    table: Integers = np.full((1, model.threads), total.constant, np.int64)
    moves: list[tuple[Expr, int]] = []
    for atom, c in total.terms.items():
        kind = _kind(scene, atom)
        if kind == "mixed":
            return None
        if kind == "shared":
            moves.append((atom, c))
        elif model.leaves(atom) == frozenset((model.tid,)):
            table = table + c * model.table(atom)
        else:
            table = table + c * evaluate(atom, env, memo).astype(np.int64)
    active, switches, loose = np.ones((1, model.threads), bool), [], False
    for guard in access.guards:
        kind = _kind(scene, guard)
        if kind == "shared":
            switches.append(guard)
        elif kind == "own":
            active = active & evaluate(guard, env, memo).astype(bool)
        else:
            loose = True
    ordered = tuple(sorted(moves, key=lambda move: (id(move[0]), move[1])))
    return Part(access, table, active, ordered, tuple(switches), own, loose)


def _kind(scene: Scene, value: Expr) -> str:
    """ "shared" if all threads of a workgroup agree on `value`, "own" if it depends on the thread and its own pace."""
    shared = [scene.is_shared(leaf) for leaf in scene.model.leaves(value)]
    if not all(map(scene.model.is_id, scene.model.leaves(value))):
        return "mixed"
    return "shared" if all(shared) else "mixed" if any(shared) else "own"
