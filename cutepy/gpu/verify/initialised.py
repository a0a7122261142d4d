"""Is workgroup memory initialised before it is read? It starts with what the last workgroup left in it.

The text is run through once in its order, for all threads at once. Of a loop with barriers only the first iteration of
each kind is: by a later one of the same kind no less has been written. What guards over data may skip counts as read,
and as written for what comes under the same guards only. First the ids of the workgroup are
unknowns: what is initialised then is so in every workgroup; only where that fails are all kinds of workgroups tried.
"""

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from ...layout.affine import Affine
from ..ir import AddressSpace, Buffer, Expr, Verb, conjuncts, negated
from ..ir.ranges import Integers, MadeUp, Mask, Points, Unknown, exact, linear, range_of
from ..ir.simplify import from_linear, simplify
from ..targets.wgsl import show
from .bounds import facts_of, last_of, reach
from .model import Access, BranchModel, Domain, Fence, Item, LoopModel, Model, Repeat, flat, named
from .verdict import Claim, Status, Verdict, Witness, concluded

#: Kinds of iterations of one loop, and of all loops that stand in one another; entries of one table, and of all tables
#: before no further workgroup is tried; how many a search for a bound counts for, and a look at an access at least.
_KINDS, _NESTED, _ROWS, _ENTRIES, _SEARCH, _LOOK = 1 << 11, 1 << 14, 1 << 20, 1 << 24, 1 << 14, 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    """What threads wrote since the last barrier, as thread * length + element, in the iterations `own`: entry by entry,
    `rows` says in which of them."""

    keys: Integers
    rows: Integers
    own: Domain
    loops: frozenset[Expr]


@dataclass(slots=True, eq=False)
class _Memory:
    """An array: the elements on which all threads may rely, and what was written since the last barrier."""

    written: Mask
    since: list[_Write] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _FixedIds:
    """What is fixed: the ids of the workgroup and the iterations of loops with barriers."""

    ids: dict[Expr, int]
    points: Points


def decide_written(model: Model) -> list[Verdict]:
    """One verdict for each array in workgroup memory that is read."""
    read = {a.buffer for a in model.accesses if a.takes and a.buffer.space == AddressSpace.WORKGROUP}
    if not read:
        return []
    # 1. For every workgroup at once, its ids unknown; 2. if that does not prove all, workgroup by workgroup.
    run = _Run(model, model.workgroup_ids)
    run.anywhere()
    if run.witnesses or run.doubts or run.doubt:
        run = _Run(model)
        run.everywhere()
    verdicts = []
    for buffer in model.kernel.local:
        if buffer in read:
            witness, doubt = run.witnesses.get(buffer), run.doubts.get(buffer, run.doubt)
            claim, refuted = Claim.WRITTEN_BEFORE_READ, "nobody wrote it before"
            verdict = concluded(claim, buffer.name, [doubt] if doubt else [], f"{buffer.length} elements")
            if witness is not None:
                verdict = Verdict(claim, Status.REFUTED, refuted, buffer.name, witness)
            verdicts.append(verdict)
    return verdicts


class _Run:
    def __init__(self, model: Model, hidden: frozenset[Expr] = frozenset()) -> None:
        self.model, self.hidden = model, hidden
        self.accesses = [a for a in model.accesses if a.buffer.space == AddressSpace.WORKGROUP]
        self.memory: dict[Buffer, _Memory] = {}
        self.assumed: frozenset[Expr] = frozenset()
        self.masked: frozenset[Expr] = frozenset()
        self.witnesses: dict[Buffer, Witness] = {}
        self.doubts: dict[Buffer, str] = {}
        self.doubt = ""
        self.room, self.entries = _NESTED, 0
        self.partial: set[Buffer] = set()

    def unresolved(self, values: Iterable[Expr]) -> list[Expr]:
        """The leaves of `values` without a value here: data, and ids that are hidden."""
        leaves = [leaf for value in values for leaf in self.model.leaves(value)]
        return [leaf for leaf in leaves if leaf in self.hidden or not self.model.is_id(leaf)]

    def unsure(self, guards: Iterable[Expr]) -> list[Expr]:
        """The guards that may hold or not, here."""
        return [g for g in guards if self.unresolved([g]) or self.model.leaves(g) & self.masked]

    def anywhere(self, ids: dict[Expr, int] | None = None) -> None:
        arrays = [b for b in self.model.kernel.local if b.space == AddressSpace.WORKGROUP]
        self.memory = {b: _Memory(np.zeros(-(-b.length // b.width) * b.width, bool)) for b in arrays}
        self.run(self.model.items, self.scope({} if ids is None else ids))

    def everywhere(self) -> None:
        """Run once for each kind of workgroup."""
        model = self.model
        decisive = [e for a in self.accesses for e in (a.index, *a.guards)]
        decisive += [g for f in model.fences for g in f.guards]
        groups = {i for i in model.ids_of(decisive) if i in model.workgroup_ids}
        domain = model.domain(groups, each=model.threads, most=_ROWS)
        if not domain.complete:
            self.doubt = "there are too many workgroups to try them all"
        # Workgroups in which all indices and guards are equal need one run.
        for row in self.kinds(decisive, domain.every, {}):
            if self.entries > _ENTRIES:
                self.doubt = "the workgroups are too many, and too different, to try them all"
                return
            self.anywhere(domain.point(row))

    def scope(self, ids: dict[Expr, int]) -> _FixedIds:
        model = self.model
        given = {leaf: np.full(1, n) for leaf, n in (dict.fromkeys(model.groups, 0) | ids).items()}
        return _FixedIds(ids, Points(model.environment(given)))

    def kinds(self, values: Iterable[Expr], over: dict[Expr, Integers], fixed: dict[Expr, int]) -> list[int]:
        """The first row of each kind: rows of `over` in which all of `values` are the same are one kind."""
        model = self.model
        rows = max((v.size for v in over.values()), default=1)
        terms = (linear(value).terms if value.dtype.kind in "iu" else (value,) for value in values)
        varying = [e for e in dict.fromkeys(chain.from_iterable(terms)) if model.leaves(e) & over.keys()]
        evaluable = {*over, *fixed, *model.groups, model.tid}
        if any(not model.leaves(e) <= evaluable for e in varying if not self.unresolved([e])):
            return list(range(rows))
        points = Points({**self.scope(fixed).points.ids, **model.environment(over)})
        tables = [points.of(e) for e in varying if not self.unresolved([e])]
        seen: dict[bytes, int] = {}
        for row in range(rows):
            seen.setdefault(b"".join(t[row].tobytes() for t in tables), row)
        return list(seen.values())

    def run(self, items: Iterable[Item], scope: _FixedIds) -> None:
        for item in items:
            match item:
                case Access(buffer=buffer) if buffer.space == AddressSpace.WORKGROUP:
                    self.access(item, scope)
                case Fence():
                    self.fence(item, scope)
                case BranchModel(condition=condition, then=then, other=other):
                    self.under(conjuncts(condition), then, scope)
                    self.under(conjuncts(simplify(negated(condition))), other, scope)
                case Repeat(loop=loop, body=body):
                    if any(isinstance(f, Fence) and not f.storage for f in flat(body)):
                        self.repeat(loop, body, scope)
                    else:
                        self.run(body, scope)

    def under(self, guards: tuple[Expr, ...], items: tuple[Item, ...], *scopes: _FixedIds) -> None:
        """Run items under `guards`. If those are undecided they are assumed inside, and the writes inside do not count
        afterwards."""
        # A copy of the memory: writes under undecided guards are seen inside alone.
        unsure = frozenset(self.unsure(guards))
        before, outside = self.memory, self.assumed
        if unsure:
            self.memory = {b: _Memory(m.written.copy(), list(m.since)) for b, m in before.items()}
            self.assumed = outside | unsure
        for scope in scopes:
            self.run(items, scope)
        self.assumed = outside
        if unsure:
            self.memory = before

    def repeat(self, loop: LoopModel, body: tuple[Item, ...], scope: _FixedIds) -> None:
        """The first iteration of each kind. All threads are in one: that they agree on the guards of a barrier is
        another claim."""
        guards = () if loop.inside is None else conjuncts(loop.inside)
        inside = [a for a in flat(body) if isinstance(a, Access) and a.buffer.space == AddressSpace.WORKGROUP]
        unsure = {g for g in guards if self.unresolved([g])}
        indices, fences = [a.index for a in inside], [g for f in flat(body) if isinstance(f, Fence) for g in f.guards]
        values = [e for e in (*indices, *(g for a in inside for g in a.guards), *fences) if e not in unsure]
        # Iterations after a period of the index expressions repeat earlier ones.
        count, outside = min(loop.count, self.model.period(loop.index, values)), self.masked
        if count * self.model.threads > 1 << 24:  # what its guards say of the iteration is left open
            self.masked, values = outside | {loop.index}, indices
            count = min(loop.count, self.model.period(loop.index, values))
        if count * self.model.threads > 1 << 24:
            self.doubt = f"the loop over {loop.stmt.var.name} is too long"
            return
        kinds = self.kinds(values, {loop.index: np.arange(count)}, scope.ids)
        # Nested loops share a budget of iterations.
        room = min(_KINDS, self.room)
        if len(kinds) > room:
            self.doubt, kinds = f"the iterations over {loop.stmt.var.name} are all different", kinds[:1]
        scopes = [self.scope({**scope.ids, loop.index: number}) for number in kinds]
        before, self.room = self.room, max(1, self.room // max(1, len(scopes)))
        self.under(guards, body, *scopes)
        self.masked, self.room = outside, before

    def fence(self, fence: Fence, scope: _FixedIds) -> None:
        """After a barrier all threads see what was written before it."""
        if fence.storage:
            return
        guards = [g for g in fence.guards if g not in self.assumed]
        if unsure := self.unsure(guards):
            self.doubt = f"a barrier depends on {named(unsure)}"
            return
        if all(scope.points.of(g).all() for g in guards):
            for memory in self.memory.values():
                # What any thread wrote before the barrier, all may rely on after it.
                for write in memory.since:
                    memory.written[write.keys % memory.written.size] = True
                memory.since.clear()

    def access(self, access: Access, scope: _FixedIds) -> None:
        """A read needs every element; a write that is sure to happen gives them."""
        model, buffer = self.model, access.buffer
        memory = self.memory[buffer]
        unsure = self.unsure(access.guards)
        decided = tuple(g for g in access.guards if g not in set(unsure))
        unresolved = self.unresolved([access.index])
        # 1. An index that depends on data: proven only if every element that it may reach is initialised.
        if unresolved:
            if not access.takes or self.is_written(access, decided, scope):
                return
            if range_of(access.index)[1] > last_of(access):
                self.doubts.setdefault(buffer, f"{access.text} depends on {named(unresolved)}")
                return
        try:
            # 2. Every (iteration, thread, element) at which the access happens.
            places = self.places(
                access, scope, access.guards if unresolved else decided, model.readable if unresolved else None
            )
        except Unknown:
            places = None
        if places is None:
            reason = f"depends on {named(unresolved)}" if unresolved else "is in a loop that is too long"
            self.doubts.setdefault(buffer, f"{access.text} {reason}")
            self.partial.add(buffer)
            return
        own, rows, threads, elements = places
        keys = threads[:, None] * memory.written.size + elements
        loops = frozenset(loop.index for loop in access.loops if loop.index not in scope.ids)
        if access.takes:
            # 3. A read needs an element of before the barrier, or one that this thread itself wrote since.
            missing = ~memory.written[elements] & ~_seen(memory.since, keys, rows, own, loops)
            if missing.any():
                i, lane = np.argwhere(missing)[0].tolist()
                use = model.use(access, {**scope.ids, **own.point(int(rows[i]))}, int(threads[i]), access.verb)
                given = f"for data that give this {show(access.index)}" if unresolved else ""
                witness = Witness(buffer.name, buffer.note, int(elements[i, lane]), (use,), given)
                self.missing(access, witness, bool(unsure) and not unresolved, loops)
            elif unresolved:
                self.doubts.setdefault(buffer, f"{access.text} depends on {named(unresolved)}")
        if access.verb != Verb.READS and not unresolved and self.assumed.issuperset(unsure):
            # 4. A write that is certain counts for this thread now, and for all after the next barrier.
            memory.since.append(_Write(keys.ravel(), np.repeat(rows, access.lanes), own, loops))

    def is_written(self, access: Access, decided: tuple[Expr, ...], scope: _FixedIds) -> bool:
        """Whether all elements are written at which an access may be, if each unknown takes any value of its range."""
        written = self.memory[access.buffer].written
        facts = facts_of(self.model, access)
        if not facts.mask.any():
            return True
        # By the interval of the index.
        self.entries += _SEARCH
        low, high = reach(self.model, access.index, facts)
        if low >= 0 and high <= last_of(access) and written[low : high + access.lanes].all():
            return True
        form = exact(access.index)
        if form is None:
            return False
        # By the image of the index: the decided terms are enumerated, each undecided one adds all of its range.
        loose = {atom: c for atom, c in form.terms.items() if self.unresolved([atom])}
        least = sum(c * range_of(atom)[c < 0] for atom, c in loose.items())
        steps = [(abs(c), range_of(atom)[1] - range_of(atom)[0]) for atom, c in loose.items()]
        still = {atom: c for atom, c in form.terms.items() if atom not in loose}
        if Affine(still, form.constant + least).interval(range_of)[0] < 0:
            return False  # places below 0 are left out, and with them what lies above them
        index = from_linear(Affine(still, form.constant + least), access.index.dtype)
        places = self.places(replace(access, index=index), scope, decided, None)
        if places is None or any(step * count >= written.size for step, count in steps):
            return False
        image = np.zeros(2 * written.size, bool)
        image[places[3]] = True
        for step, count in steps:
            done = 0
            # Doubling: the union of `count` shifts by `step` takes log2(count) steps.
            while done < count:
                more = min(done + 1, count - done)
                image[step * more :] |= image[: image.size - step * more]
                done += more
        return bool(written[: last_of(access) + access.lanes][image[: last_of(access) + access.lanes]].all())

    def places(
        self, access: Access, scope: _FixedIds, guards: tuple[Expr, ...], made_up: MadeUp
    ) -> tuple[Domain, Integers, Integers, Integers] | None:
        """The iterations that threads run through by themselves; then, entry by entry, which of them, which thread, and
        the elements of all lanes. None where there are too many."""
        model = self.model
        values = (access.index, *guards)
        ids = {i for i in model.ids_of(values) if i not in scope.ids and i not in model.workgroup_ids}
        self.entries += _LOOK
        own = model.domain(ids, each=model.threads * access.lanes, most=_ROWS)
        if not own.complete:
            return None
        points = scope.points
        if ids or made_up is not None:
            points = Points({**points.ids, **model.environment(own.every)}, made_up)
        active = points.where(guards)
        self.entries += active.size
        at = np.broadcast_to(points.whole(access.index), active.shape)
        active = active & (at >= 0) & (at + access.lanes <= self.memory[access.buffer].written.size)
        rows, threads = np.nonzero(active)
        return own, rows, threads, at[rows, threads][:, None] + np.arange(access.lanes)

    def missing(self, access: Access, witness: Witness, vague: bool, loops: frozenset[Expr]) -> None:
        """Note a read of what may not have been written; surely not, unless data or earlier iterations decide it."""
        buffer, model = access.buffer, self.model
        earlier = [a for a in self.accesses if a.buffer is buffer and not a.takes]
        unresolved = [g for a in earlier for g in (a.index, *a.guards) if model.unknowns([g])]
        unresolved += [g for f in model.fences for g in f.guards if model.unknowns([g])]  # it may have shown a write
        again = any(loops & {loop.index for loop in a.loops} for a in earlier)
        if vague or unresolved or again or self.doubt or self.masked or buffer in self.partial:
            why = (
                f"{named(model.unknowns(unresolved))} decides"
                if unresolved
                else "an iteration may rely on earlier ones"
            )
            self.doubts.setdefault(buffer, f"{access.text}: {'its guard depends on data' if vague else why}")
            return
        self.witnesses.setdefault(buffer, witness)


def _seen(since: list[_Write], keys: Integers, rows: Integers, own: Domain, loops: frozenset[Expr]) -> Mask:
    """Which of `keys` the same thread wrote since the last barrier, before: in text above, in loops that are over or
    whatever the iteration; or in the same iteration, where both depend on the same iterations."""
    seen = np.zeros(keys.shape, bool)
    for write in since:
        if not (write.loops & loops) or write.own.size == 1:
            seen |= np.isin(keys, write.keys)
        elif len(write.own.ids) == len(own.ids) and all(map(operator.is_, write.own.ids, own.ids)):
            seen |= np.isin(keys * own.size + rows[:, None], write.keys * own.size + write.rows)
    return seen
