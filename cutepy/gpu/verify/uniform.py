"""Who comes to a barrier, and to what a subgroup does with a matrix: all threads together, or some of them?

A barrier is for whole workgroups: what decides who comes there has to be the same for all threads by WGSL's rules. A
matrix is for whole subgroups, which also agree on where it begins in memory: what does not depend on the thread is
agreed on, and what depends on it alone is tried for every thread.
"""

import numpy as np

from ..evaluate import Points, Unknown
from ..ir import Expr, Param, is_uniform, nodes
from ..wgsl import show
from .model import Gathering, Model
from .verdict import Claim, Verdict, Witness


def decide_barriers(model: Model) -> Verdict:
    """Whether each barrier is in uniform control flow: what decides who comes there is the same for all threads."""
    known: dict[Expr, bool] = {}
    for fence in model.fences:
        for condition in (*fence.conditions, *(c for loop in fence.loops for c in loop.leaving)):
            if not _is_agreed(model, condition, known):
                reason = f"{show(condition)} decides who comes, and a compiler cannot tell that all threads agree on it"
                undecided = Verdict("uniform barriers", "undecided", f"{fence.text}: {reason}")
                return _divided(model, fence, "uniform barriers") or undecided
    count = len(model.fences)
    return Verdict("uniform barriers", "proven", f"{count} barriers" if count != 1 else "1 barrier")


def decide_whole(model: Model) -> list[Verdict]:
    """Whether subgroups move and compute matrices as a whole: one verdict, where there are matrices."""
    known: dict[Expr, bool] = {}
    for place in model.gatherings:
        if model.threads % place.threads:
            reason = f"{model.threads} threads are no whole subgroups of {place.threads}"
            return [Verdict("whole subgroups", "refuted", f"{place.text}: {reason}")]
        for value in (*place.conditions, *place.meant):
            for node in nodes(value, known=known):
                if node.dtype.kind in "iub" and node.lanes == 1 and model.leaves(node) == frozenset((model.tid,)):
                    table = model.table(node).reshape(-1, place.threads)
                    known[node] = bool((table == table[:, :1]).all())
            if not _is_agreed(model, value, known):
                texts = " and ".join(map(show, (*place.guards, *place.meant)))
                reason = f"{place.text}: nothing tells that all threads of a subgroup agree on {texts}"
                undecided = Verdict("whole subgroups", "undecided", reason)
                return [_divided(model, place, "whole subgroups") or undecided]
    count = len(model.gatherings)
    proven = Verdict("whole subgroups", "proven", f"{count} places" if count > 1 else "1 place")
    return [proven] if model.gatherings else []


def _is_agreed(model: Model, value: Expr, known: dict[Expr, bool]) -> bool:
    """Whether all threads are sure to agree on `value`; `known` is what is known of others."""

    def leaf(node: Expr) -> bool:
        return node is not model.tid and (model.is_id(node) or isinstance(node, Param))

    return is_uniform(value, leaf, model.readable.__contains__, known)


def _divided(model: Model, place: Gathering, claim: Claim) -> Verdict | None:
    """Threads that belong together, of which some come to `place` and some do not, or mean different places."""
    values = (*place.guards, *place.meant)
    domain = model.domain(model.ids_of(values), each=model.threads)
    made_up = model.readable if model.unknowns(values) else None
    together = "workgroup" if claim == "uniform barriers" else "subgroup"
    for numbers in domain.chunks(model.threads):
        ids = domain.at(numbers)
        points = Points(model.environment(ids), made_up)
        shape = (-1, model.threads // place.threads, place.threads)
        try:
            comes = points.where(place.guards).reshape(shape)
            firsts = [points.of(first) for first in place.meant]
        except Unknown:
            return None
        at = np.broadcast_to(firsts[0] if firsts else 0, (comes.shape[0], model.threads)).reshape(comes.shape)
        parted = comes.any(axis=2) & ~comes.all(axis=2)
        differ = comes.all(axis=2) & (at != at[:, :, :1]).any(axis=2)
        for mask, split, verbs, reason in (
            (parted, comes, ("comes to", "does not come to"), f"threads of one {together} part"),
            (differ, at == at[:, :, :1], ("moves", "moves elsewhere"), "threads of one subgroup mean different places"),
        ):
            if mask.any():
                row, group = map(int, np.argwhere(mask)[0])
                who = np.argmax(split[row, group]), np.argmin(split[row, group])
                point = {leaf: int(v[row]) for leaf, v in ids.items()}
                met = zip(who, verbs, strict=True)
                uses = tuple(model.use(place, point, group * place.threads + int(t), verb) for t, verb in met)
                witness = Witness("", "", 0, uses, "for some data" if made_up is not None else "")
                return Verdict(claim, "refuted", reason, witness=witness)
    return None
