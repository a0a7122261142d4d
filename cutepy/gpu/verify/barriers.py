"""Do all threads of a workgroup come to every barrier, and does every loop end?"""

from functools import partial

import numpy as np

from ..evaluate import Unknown
from ..ir import Builtin, Call, Const, Expr, Load, Var, nodes
from ..ir.operators import SUBGROUP
from ..wgsl import show
from .model import Fence, Model, domain_of, environment, happens, ids_of, unknowns, use
from .verdict import Verdict, Witness


def decide_loops(model: Model) -> Verdict:
    """Whether no loop can run for ever."""
    for loop in model.loops:
        step = loop.stmt.step
        name = loop.stmt.var.name
        if loop.bounded:
            continue
        where = f" ({loop.stmt.place})" if loop.stmt.place else ""
        if isinstance(step, Const) and int(step.value) == 0:
            return Verdict("bounded loops", "refuted", f"the loop over {name}{where} steps by 0")
        return Verdict("bounded loops", "undecided", f"{name}{where} may step over its end {show(loop.stmt.stop)}")
    count = len(model.loops)
    return Verdict("bounded loops", "proven", f"{count} loops" if count != 1 else "1 loop")


def decide_barriers(model: Model) -> Verdict:
    """Whether each barrier is in uniform control flow: what decides who comes there is the same for all threads."""
    for fence in model.fences:
        for condition in fence.conditions:
            if is_uniform(model, condition):
                continue
            found = _divided(model, fence)
            if found is not None:
                return found
            reason = f"{show(condition)} decides who comes, and a compiler cannot tell that all threads agree on it"
            return Verdict("uniform barriers", "undecided", f"{fence.text}: {reason}")
    count = len(model.fences)
    return Verdict("uniform barriers", "proven", f"{count} barriers" if count != 1 else "1 barrier")


def is_uniform(model: Model, value: Expr) -> bool:
    """Whether all threads of a workgroup agree on `value` by WGSL's rules: it is made of ids of the workgroup, of
    parameters, of elements of read-only bindings, and of counters of loops whose own bounds are such."""
    return not any(map(partial(_differs, model), nodes(value)))


def _differs(model: Model, node: Expr) -> bool:
    """Whether threads may differ about a node that they do not inherit from its operands."""
    match node:
        case Builtin():
            return node is model.tid
        case Var():
            return not model.is_id(node)
        case Load(buffer=buffer):
            return buffer not in model.readable
        case Call(name=name):
            return name in SUBGROUP
    return False


def _divided(model: Model, fence: Fence) -> Verdict | None:
    """A workgroup of which some threads come to the barrier and some do not."""
    domain = domain_of(model, ids_of(model, fence.guards), each=model.threads)
    strange = unknowns(model, fence.guards)
    for numbers in domain.chunks(model.threads):
        ids = domain.at(numbers)
        try:
            comes = happens(fence.guards, environment(model, ids), {}, model.data if strange else None)
        except Unknown:
            return None
        mixed = comes.any(axis=1) & ~comes.all(axis=1)
        if mixed.any():
            row = int(np.argmax(mixed))
            point = {leaf: int(v[row]) for leaf, v in ids.items()}
            who = int(np.argmax(comes[row])), int(np.argmin(comes[row]))
            verbs = "comes to", "does not come to"
            uses = tuple(use(model, fence, point, t, verb) for t, verb in zip(who, verbs, strict=True))
            given = "for some data" if strange else ""
            witness = Witness("", "", 0, uses, given)
            return Verdict("uniform barriers", "refuted", "threads of one workgroup part", witness=witness)
    return None
