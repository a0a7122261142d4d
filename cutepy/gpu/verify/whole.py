"""Do whole subgroups do what matrices ask of whole subgroups? One verdict for all places that move or compute them.

All threads of a subgroup come there or none, and agree on where the matrix begins. That is seen in the expressions:
what does not depend on the thread is agreed on, and what depends on it alone is tried for every thread.
"""

import numpy as np

from ..evaluate import Unknown, evaluate
from ..ir import Const, Expr, Load, Param, is_told
from ..wgsl import show
from .model import Gathering, Model, happens
from .verdict import Claim, Verdict, Witness

CLAIM: Claim = "whole subgroups"


def decide_whole(model: Model) -> list[Verdict]:
    """The verdict, where there are matrices."""
    if not model.gatherings:
        return []
    known: dict[Expr, bool] = {}
    for place in model.gatherings:
        threads = model.threads
        if threads % place.threads:
            reason = f"{threads} threads are no whole subgroups of {place.threads}"
            return [Verdict(CLAIM, "refuted", f"{place.text}: {reason}")]
        values = (*place.conditions, *(() if place.first is None else (place.first,)))
        if not all(_agreed(model, value, place.threads, known) for value in values):
            return [_divided(model, place)]
    count = len(model.gatherings)
    return [Verdict(CLAIM, "proven", f"{count} places" if count > 1 else "1 place")]


def _agreed(model: Model, value: Expr, threads: int, known: dict[Expr, bool]) -> bool:
    """Whether all threads of a subgroup are sure to agree on `value`."""
    found = known.get(value)
    if found is None:
        leaves = model.leaves(value)
        if isinstance(value, Const) or (value is not model.tid and (model.is_id(value) or isinstance(value, Param))):
            found = True
        elif value.dtype.kind in "iub" and value.lanes == 1 and leaves == frozenset((model.tid,)):
            table = model.table(value).reshape(-1, threads)
            found = bool((table == table[:, :1]).all())
        elif not value.operands:
            found = False
        else:
            told = value.buffer in model.readable if isinstance(value, Load) else is_told(value)
            found = told and all(_agreed(model, x, threads, known) for x in value.operands)
        known[value] = found
    return found


def _divided(model: Model, place: Gathering) -> Verdict:
    """A subgroup that parts, or whose threads do not agree; else why that could not be ruled out."""
    values = (*place.guards, *(() if place.first is None else (place.first,)))
    domain = model.domain(model.ids_of(values), each=model.threads)
    data = model.data if model.unknowns(values) else None
    for numbers in domain.chunks(model.threads):
        ids = domain.at(numbers)
        env = model.environment(ids)
        try:
            comes = happens(place.guards, env, {}, data).reshape(-1, model.threads // place.threads, place.threads)
            first = np.zeros((1, model.threads), np.int64)
            if place.first is not None:
                first = evaluate(place.first, env, {}, data).astype(np.int64)
        except Unknown:
            break
        at = np.broadcast_to(first, (comes.shape[0], model.threads)).reshape(comes.shape)
        parted = comes.any(axis=2) & ~comes.all(axis=2)
        differ = comes.all(axis=2) & (at != at[:, :, :1]).any(axis=2)
        for mask, split, verbs, reason in (
            (parted, comes, ("comes to", "does not come to"), "threads of one subgroup part"),
            (differ, at == at[:, :, :1], ("moves", "moves elsewhere"), "threads of one subgroup mean different places"),
        ):
            if mask.any():
                row, subgroup = map(int, np.argwhere(mask)[0])
                who = np.argmax(split[row, subgroup]), np.argmin(split[row, subgroup])
                point = {leaf: int(v[row]) for leaf, v in ids.items()}
                met = zip(who, verbs, strict=True)
                uses = tuple(model.use(place, point, subgroup * place.threads + int(t), verb) for t, verb in met)
                witness = Witness("", "", 0, uses, "for some data" if data else "")
                return Verdict(CLAIM, "refuted", reason, witness=witness)
    texts = " and ".join(show(value) for value in values)
    return Verdict(CLAIM, "undecided", f"{place.text}: nothing tells that all threads of a subgroup agree on {texts}")
