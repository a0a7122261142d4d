"""Do two workgroups meet at one address of a binding? Barriers do not order them, so nothing may be shared."""

from collections.abc import Sequence

import numpy as np

from ..ir import Buffer, Const, Expr
from . import search
from .digits import owned
from .evaluate import Array, Data, Integers, evaluate
from .forms import facts_of, reach
from .meeting import Places, meet
from .model import Access, Model
from .scene import Answer, Found, decide, found_by
from .search import domain_of, environment, happens, ids_of, split_guards


def check_groups(model: Model, buffer: Buffer) -> tuple[Answer, bool]:
    """Whether two workgroups meet at an address of `buffer`; and whether each address is known to have one thread."""
    accesses = [a for a in model.accesses if a.buffer is buffer]
    verbs = {a.verb for a in accesses}
    if verbs <= {"reads"} or verbs == {"updates"}:
        return Answer(), True
    alone = all(isinstance(group, Const) for group in model.groups)
    tells = owned(model, accesses)
    if alone or tells.workgroup or _apart(model, accesses):
        return Answer(), tells.thread
    return decide(model, accesses, lambda data: _search(model, accesses, data)), False


def _apart(model: Model, accesses: Sequence[Access]) -> bool:
    """Whether the reads are elsewhere, and only the writes have to be told apart."""
    changes, reads = [[a for a in accesses if (a.verb == "reads") is reading] for reading in (False, True)]
    if not reads or not owned(model, changes).workgroup:
        return False
    low, high = _reach(model, changes)
    return all(last < low or first > high for first, last in (_reach(model, [a]) for a in reads))


def _reach(model: Model, accesses: Sequence[Access]) -> tuple[int, int]:
    """The least and the largest address of all, by bounds."""
    low, high = 1 << 62, -(1 << 62)
    for access in accesses:
        facts = facts_of(model, access)
        if facts.mask.any():
            first, last = reach(model, access.index, facts)
            low, high = min(low, first), max(high, last + access.lanes - 1)
    return low, high


def _search(model: Model, accesses: Sequence[Access], data: Data | None) -> tuple[Found | None, bool]:
    """Try all workgroups, or those at the edges."""
    moving = {g for g in model.groups if not isinstance(g, Const)}
    places, domains = [], []
    for access in accesses:
        guards = access.guards if data else split_guards(model, access)[0]
        ids = ids_of(model, (access.index, *guards)) | moving
        domain = domain_of(model, ids, each=model.threads * access.lanes, most=search.MOST // len(accesses))
        env = environment(model, domain.at(np.arange(domain.size)))
        memo: dict[Expr, Array] = {}
        active = happens(model, guards, env, memo, data)
        at = np.atleast_2d(evaluate(access.index, env, memo, data).astype(np.int64))
        places.append(Places(access.verb, at, active, access.lanes, _numbers(model, env)))
        domains.append(domain)
    meeting = meet(places)
    if meeting is None:
        return None, all(d.complete for d in domains)
    spots = meeting.first, meeting.second
    one, two = ((accesses[s.table], domains[s.table].point(s.row), s.thread) for s in spots)
    return found_by(model, (one[0], two[0]), (one[1], two[1]), (one[2], two[2])), False


def _numbers(model: Model, env: dict[Expr, Array]) -> Integers:
    """The number of the workgroup in each row."""
    x, y, z = (evaluate(group, env, {}).astype(np.int64) for group in model.workgroup)
    return np.atleast_2d(x + model.kernel.grid[0] * (y + model.kernel.grid[1] * z))
