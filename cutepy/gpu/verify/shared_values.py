"""The values in shared memory: those that the kernel stores there.

Law: if every integer that is stored in an array lies between two numbers wherever what is read from it does, and
nothing is read before it is written, then whatever is read lies between them. The numbers are guessed from what is
stored that was not read there; one more walk over the kernel, with loads in these bounds, checks that they are
inductive."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...layout.affine import Interval, within
from .. import ir
from ..ir.ranges import domain
from .barriers import decide_barriers
from .bounds import facts_of, reach
from .collect import Known, collect
from .initialised import decide_written
from .model import GuardFacts, Model
from .tickets import narrowed, tickets_of
from .verdict import Status

Held = dict[ir.Buffer, Interval]


def understood(kernel: ir.Kernel, subgroup: int = 32) -> Model:
    """The model of `kernel`, in which loads of shared memory lie where what is stored there does."""
    return _with_sure_tickets(_bounded_values(kernel, subgroup))


def _with_sure_tickets(model: Model) -> Model:
    """The model; a ticket that is read of shared memory counts where nothing is read there before it is written."""
    kept = {leaf for leaf, ticket in model.tickets.items() if ticket.shared and leaf in model.read_from}
    if kept:
        ordered = decide_barriers(model).status is Status.PROVEN
        sure = {v.array for v in decide_written(model) if v.status is Status.PROVEN} if ordered else set()
        model.tickets = {
            leaf: t for leaf, t in model.tickets.items() if leaf not in kept or model.read_from[leaf].name in sure
        }
    return model


def _bounded_values(kernel: ir.Kernel, subgroup: int) -> Model:
    """The model, with loads of shared memory in the bounds that are proven of what is stored there."""
    model = collect(kernel, subgroup)
    indices = [e for access in model.accesses for e in (access.index, *access.guards)]
    asked = _read(model, indices)
    asked |= _read(model, [value for _, value in model.stored if value is not None]) if asked else set()
    # 1. A guess: the range of all stores that do not themselves read the array.
    held = {b: stored for b, stored in _stored(model, asked).items() if b in asked and stored != domain(b.dtype)}
    names = narrowed(tickets_of(kernel, model.work))
    while held or names:
        # 2. The induction step: with loads in these ranges, all stores lie in them.
        narrow = collect(kernel, subgroup, Known(held, names))
        stored = _stored(narrow, set())
        kept = {b: bounds for b, bounds in held.items() if b not in stored or within(stored[b], bounds)}
        if kept == held:
            # uninitialised memory, and memory read past a divergent barrier, may hold anything
            ordered = decide_barriers(narrow).status is Status.PROVEN
            proven = {v.array for v in decide_written(narrow) if v.status is Status.PROVEN}
            kept = {b: bounds for b, bounds in held.items() if b.name in proven}
            sure = {name: n for name, n in names.items() if narrow.tickets[n].buffer.name in proven}
            if ordered and (kept, sure) == (held, names):
                # Inductive, initialised and ordered by barriers: the ranges hold.
                return narrow
            held, names = (kept if kept != held else {}), (sure if ordered and sure != names else {})
        else:
            held = kept
    return model


def _read(model: Model, values: Iterable[ir.Expr]) -> set[ir.Buffer]:
    """The arrays that the kernel writes and that `values` depend on."""
    return {model.read_from[leaf] for value in values for leaf in model.leaves(value) if leaf in model.read_from}


def _stored(model: Model, own: set[ir.Buffer]) -> Held:
    """Where the integers lie that are put in each array, but for those that are read from one of `own`."""
    bounds: Held = {}
    for access, value in model.stored:
        whole = domain(access.buffer.dtype)
        sure = replace(access, guards=tuple(g for g in access.guards if not _read(model, [g])))
        facts = facts_of(model, sure)  # a guard over what others write says nothing of a second read
        ends = [whole] if value is None else list(_bounds(model, value, facts, own)) if facts.mask.any() else []
        ends += [bounds[access.buffer]] if access.buffer in bounds else []
        if ends:
            bounds[access.buffer] = min(low for low, _ in ends), max(high for _, high in ends)
    return bounds


def _bounds(model: Model, value: ir.Expr, facts: GuardFacts, own: set[ir.Buffer]) -> Iterator[Interval]:
    """Where `value` lies; a choice of what is read from one of `own`, where the rest of it does."""
    read = _read(model, [value])
    match value:
        case ir.Select(then=one, other=two) | ir.Call(name="min" | "max", args=(one, two)) if read & own:
            yield from _bounds(model, one, facts, own)
            yield from _bounds(model, two, facts, own)
        case _ if model.read_from.get(value) not in own:
            yield reach(model, value, facts)
