"""Barriers: the barrier intervals, whose accesses may happen at the same time, and uniform control flow around them.

A loop with a barrier in it is cut at its barriers: what follows the last one in an iteration meets what precedes the
first one in the next iteration that passes a barrier, and all between. There barriers are taken to be where the whole
workgroup comes by, which is a claim of its own: by WGSL's rules every condition around a barrier is the same for all
threads. A matrix is for whole subgroups, which also agree on where it begins in memory: an expression without the
thread's id is uniform, one of that id alone is enumerated over the threads.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial, reduce

import numpy as np

from ...tensor.dtypes import bool_
from .. import ir
from ..ir.ranges import Integers, Unknown
from ..ir.simplify import replaced, simplify
from ..targets.wgsl import show
from .model import Access, BranchModel, ExitModel, Fence, Gathering, Item, LoopModel, Model, Repeat, SampleData, flat
from .uniformity import uniform_fences
from .verdict import Claim, Status, Verdict, Witness, counted

#: Added to the order of a loop's number where it stands for another iteration.
_OTHER = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class BarrierInterval:
    """Accesses with no barrier between them. `shared` maps the index of a loop that all threads execute in step to
    its number of iterations; in other loops threads may be in different iterations."""

    accesses: tuple[Access, ...]
    shared: dict[ir.Expr, int]


@dataclass(slots=True, eq=False)
class _Piece:
    """A stretch of text, by its accesses before its first barrier (`head`) and after its last (`tail`); one list if it
    has no barrier.

    `through` are the conditions under which a thread passes it without a barrier, None if it never does; `passed` are
    its accesses then: none of a loop with a barrier in each iteration, which has no iteration. `loose` maps the loops
    whose iteration all threads share at its end to their counts. `leaving` are accesses after the last barrier of
    threads that leave the loop around; `early`: some of them may have passed no barrier.
    """

    head: list[Access]
    tail: list[Access]
    through: tuple[ir.Expr, ...] | None
    passed: list[Access]
    loose: dict[ir.Expr, int]
    leaving: list[Access] = field(default_factory=list)
    early: bool = False


def barrier_intervals(model: Model, *, storage: bool) -> list[BarrierInterval]:
    """The barrier intervals of accesses to bindings (`storage`) or to workgroup memory: each has barriers of its
    own."""
    cut = _CutAtBarriers(model, storage)
    piece = cut.block(model.items, {})
    cut.close(piece.head, piece.loose)
    if piece.tail is not piece.head:
        cut.close(piece.tail, piece.loose)
    return cut.intervals


class _CutAtBarriers:
    def __init__(self, model: Model, storage: bool) -> None:
        self.model, self.storage = model, storage
        self.intervals: list[BarrierInterval] = []

    def close(self, accesses: Iterable[Access], shared: dict[ir.Expr, int]) -> None:
        """Add an interval, if it has a write to this memory: reads alone are no race."""
        space = ir.AddressSpace.STORAGE if self.storage else ir.AddressSpace.WORKGROUP
        wanted = tuple(a for a in accesses if a.buffer.space == space)
        if any(a.verb != ir.Verb.READS for a in wanted):
            self.intervals.append(BarrierInterval(wanted, shared))

    def is_cut(self, item: Item) -> bool:
        return any(isinstance(x, Fence) and x.storage is self.storage for x in flat((item,)))

    def block(self, items: Iterable[Item], shared: dict[ir.Expr, int]) -> _Piece:
        head: list[Access] = []
        running: list[Access] = []
        passed: list[Access] = []
        through: tuple[ir.Expr, ...] | None = ()
        loose: dict[ir.Expr, int] = {}
        leaving: list[Access] = []
        has_barrier = early = False
        # A stack, for what follows an exit belongs to the threads that stay: `item.other` is walked in its place.
        waiting = list(items)[::-1]
        while waiting:
            item = waiting.pop()
            # Threads that leave take what is pending here with them to the end of the loop.
            if isinstance(item, ExitModel) and self.is_cut(item):
                leaving += running + _accesses(item.then)
                early = early or through is not None
                passed += _accesses(item.then)
                waiting += item.other[::-1]
                continue
            # No barrier in it: it joins the interval that is open, and the head where all before may be passed without
            # one.
            if not self.is_cut(item):
                whole = _accesses((item,))
                running = running + whole
                passed += whole
                if has_barrier and through is not None:
                    head += _where(whole, through)
                continue
            piece = self.item(item, shared)
            # The first barrier ends the head; any further one closes an interval between two barriers.
            if not has_barrier:
                head = running + piece.head
            else:
                self.close(running + piece.head, {**shared, **loose, **piece.loose})
                if through is not None:
                    head += _where(piece.head, through)
            # After the barrier: its tail, and what was open before for threads that may pass it by.
            running = piece.tail + ([] if piece.through is None else _where(running, piece.through))
            through = None if through is None or piece.through is None else through + piece.through
            passed += piece.passed
            loose, has_barrier = {**loose, **piece.loose}, True
        return _Piece(head if has_barrier else running, running, through, passed, loose, leaving, early)

    def item(self, item: Item, shared: dict[ir.Expr, int]) -> _Piece:
        match item:
            case Repeat(loop=loop, body=body):
                return self.repeat(loop, body, shared)
            case BranchModel(condition=condition, then=then, other=other):
                return self.branch(condition, self.block(then, shared), self.block(other, shared))
        return _Piece([], [], None, [], {})

    def branch(self, condition: ir.Expr, then: _Piece, other: _Piece) -> _Piece:
        """Either side; the condition is among the guards of what is inside."""
        ways = [
            _all((test, *side.through))
            for side, test in ((then, condition), (other, ir.negated(condition)))
            if side.through is not None
        ]
        passed = None if not ways else ways[0] if len(ways) == 1 else ir.binary("|", *ways)
        through = None if passed is None else ir.conjuncts(simplify(passed))
        sides = [[*a, *b] for a, b in ((then.head, other.head), (then.tail, other.tail), (then.passed, other.passed))]
        return _Piece(sides[0], sides[1], through, sides[2], {**then.loose, **other.loose})

    def repeat(self, loop: LoopModel, body: tuple[Item, ...], shared: dict[ir.Expr, int]) -> _Piece:
        """The first iteration is its head, the last one its tail; in between each meets the next."""
        # 1. One iteration. Its index is shared: the barrier keeps all threads in the same one.
        piece = self.block(body, {**shared, loop.index: loop.count})
        zero = ir.const(0, loop.index.dtype)
        first, following = _at(loop, zero), _at(loop, loop.index + 1)
        passing, through = self.passing(loop, piece)
        # 2. The tail of iteration i meets the head of iteration i + 1.
        if loop.count > 1:
            again = piece.tail + [following(a) for a in piece.head] + passing
            self.close(again, {**shared, **piece.loose, loop.index: loop.count - 1})
        head = [first(a) for a in piece.head] + passing
        # Where iterations pass no barrier, that of a later one too; so does what is before the loop, and after it the
        # tail of an iteration is open that is not the last. All threads share the one with the next barrier.
        open_tail, loose = list[Access](), dict(piece.loose)
        if piece.through is not None and loop.count > 1:
            later, at_later = _iteration(loop, 2)
            heads = _where([at_later(a) for a in piece.head], _open())
            each = {**shared, **piece.loose, loop.index: loop.count, later: loop.count}
            self.close(piece.tail + _where(heads, (later > loop.index + 1,)), each)
            head, open_tail = head + heads, _where(piece.tail, _open())
            loose |= {loop.index: loop.count, later: loop.count}
        # 3. A loop that threads leave: its tail may be that of any iteration.
        if loop.leaving:  # any iteration may be the last one
            tail = piece.tail + piece.leaving + passing
            through = _open() if piece.early or loop.inside is not None or through is not None else None
            return _Piece(head, tail, through, _accesses(body), {**loose, loop.index: loop.count})
        # 4. A counted loop: the last iteration is known.
        if loop.inside is None:
            last = _at(loop, ir.const(loop.count - 1, loop.index.dtype))
            return _Piece(head, [last(a) for a in piece.tail] + open_tail + passing, through, passing, loose)
        # 5. A loop under a condition: an iteration is the last where the condition fails for the next one.
        begins, goes_on = (replaced(loop.inside, {loop.index: n}) for n in (zero, loop.index + 1))
        ends = ir.binary("|", ir.negated(goes_on), loop.index >= loop.count - 1)
        tail = _where(piece.tail, ir.conjuncts(simplify(ends))) + open_tail + passing
        # Passed without a barrier where no iteration happens, or all pass none.
        never = simplify(ir.negated(begins))
        whole = never if through is None else simplify(ir.binary("|", never, _all(through)))
        return _Piece(head, tail, ir.conjuncts(whole), passing, {**loose, loop.index: loop.count})

    def passing(self, loop: LoopModel, piece: _Piece) -> tuple[list[Access], tuple[ir.Expr, ...] | None]:
        """The accesses of iterations that pass no barrier, and the conditions under which all iterations are such.

        If some may be and others not, which ones follow one another is left open: a condition that nothing decides.
        """
        if piece.through is None:
            return [], None
        own = through = piece.through
        if any(loop.index in self.model.leaves(condition) for condition in through):
            through = _open()
        any_ = _iteration(loop, 1)[1]  # of each thread its own, for no barrier keeps them together
        passing = [any_(a) for a in _where(piece.passed, own)]
        return passing if through is own else _where(passing, through), through


def _open() -> tuple[ir.Expr, ...]:
    """A condition that is left open: accesses that conflict under it are neither proven apart nor a counterexample."""
    return (ir.var("path", bool_),)


def _all(conditions: tuple[ir.Expr, ...]) -> ir.Expr:
    always: ir.Expr = ir.const(True, bool_)
    return reduce(partial(ir.binary, "&"), conditions, always)


def _accesses(items: Iterable[Item]) -> list[Access]:
    return [item for item in flat(items) if isinstance(item, Access)]


def _where(accesses: list[Access], conditions: tuple[ir.Expr, ...]) -> list[Access]:
    """The accesses in runs in which `conditions` hold."""
    if any(isinstance(c, ir.Const) and not c.value for c in conditions):
        return []
    return [replace(a, guards=a.guards + conditions) for a in accesses] if conditions else accesses


def _at(loop: LoopModel, number: ir.Expr) -> Callable[[Access], Access]:
    """What an access is in iteration `number` of `loop`."""
    memo: dict[ir.Expr, ir.Expr] = {}
    put = {loop.index: number}

    def moved(access: Access) -> Access:
        return replace(
            access,
            index=replaced(access.index, put, memo),
            guards=tuple(replaced(g, put, memo) for g in access.guards),
            counters=tuple((name, replaced(c, put, memo)) for name, c in access.counters),
        )

    return moved


def _iteration(loop: LoopModel, which: int) -> tuple[ir.Var, Callable[[Access], Access]]:
    """The number of another iteration of a loop, by `which` one of several; and what an access is in that."""
    assert isinstance(loop.index, ir.Var)
    number = replace(loop.index, order=loop.index.order - which * _OTHER)
    return number, _at(loop, number)


def decide_barriers(model: Model) -> Verdict:
    """Whether each barrier is in uniform control flow: every condition around it is the same for all threads."""
    uniform: dict[ir.Expr, bool] = {}
    in_uniform_flow: set[ir.Stmt] | None = None
    undecided: Verdict | None = None
    for fence in model.fences:
        for condition in (*fence.conditions, *(c for loop in fence.loops for c in loop.leaving)):
            if not _is_uniform(model, condition, uniform):
                if in_uniform_flow is None:
                    in_uniform_flow = uniform_fences(model.kernel)
                if fence.stmt in in_uniform_flow:
                    break
                if refuted := _divided(model, fence, Claim.UNIFORM_BARRIERS):
                    return refuted
                reason = f"{show(condition)} decides who comes, and a compiler cannot tell that all threads agree on it"
                undecided = undecided or Verdict(Claim.UNIFORM_BARRIERS, Status.UNDECIDED, f"{fence.text}: {reason}")
                break
    return undecided or Verdict(Claim.UNIFORM_BARRIERS, Status.PROVEN, counted(len(model.fences), "barrier"))


def decide_whole(model: Model) -> list[Verdict]:
    """Whether subgroups move and compute matrices as a whole: one verdict, where there are matrices."""
    # What is the same in each subgroup depends on its threads.
    memos: dict[int, dict[ir.Expr, bool]] = {}
    undecided: Verdict | None = None
    for gathering in model.gatherings:
        if model.threads % gathering.threads:
            reason = f"{model.threads} threads are no whole subgroups of {gathering.threads}"
            return [Verdict(Claim.WHOLE_SUBGROUPS, Status.REFUTED, f"{gathering.text}: {reason}")]
        uniform = memos.setdefault(gathering.threads, {})
        for value in (*gathering.conditions, *gathering.meant):
            for node in ir.nodes(value, skip=uniform):
                if node.dtype.kind in "iub" and node.lanes == 1 and model.leaves(node) == frozenset((model.tid,)):
                    # Values of the thread's id alone, enumerated: equal within each subgroup?
                    table = model.table(node).reshape(-1, gathering.threads)
                    uniform[node] = bool((table == table[:, :1]).all())
            if not _is_uniform(model, value, uniform):
                if refuted := _divided(model, gathering, Claim.WHOLE_SUBGROUPS):
                    return [refuted]
                texts = " and ".join(map(show, (*gathering.guards, *gathering.meant)))
                reason = f"{gathering.text}: nothing tells that all threads of a subgroup agree on {texts}"
                undecided = undecided or Verdict(Claim.WHOLE_SUBGROUPS, Status.UNDECIDED, reason)
                break
    proven = Verdict(Claim.WHOLE_SUBGROUPS, Status.PROVEN, counted(len(model.gatherings), "place"))
    return [undecided or proven] if model.gatherings else []


def _is_uniform(model: Model, value: ir.Expr, uniform: dict[ir.Expr, bool]) -> bool:
    """Whether `value` is proven to be the same in all threads; `uniform` memoises the answer for its nodes."""

    def leaf(node: ir.Expr) -> bool:
        own = model.is_id(node) or isinstance(node, ir.Param) or node in model.agreed
        return own and node is not model.tid

    return ir.is_uniform(value, leaf, model.readable.__contains__, uniform)


def _divided(model: Model, item: Gathering, claim: Claim) -> Verdict | None:
    """A refutation: threads that belong together, of which some come to `item` and some do not, or which mean different
    addresses; None where none is met, for any data that is tried."""
    values = (*item.guards, *item.meant)
    domain = model.domain(model.ids_of(values), each=model.threads)
    for data in model.trials(values) if model.unknowns(values) else (None,):
        for numbers in domain.chunks(model.threads):
            try:
                verdict = _divided_at(model, item, claim, domain.at(numbers), data)
            except Unknown:
                return None
            if verdict is not None:
                return verdict
    return None


def _divided_at(
    model: Model, item: Gathering, claim: Claim, ids: dict[ir.Expr, Integers], data: SampleData | None
) -> Verdict | None:
    """The same for some iterations and workgroups, and for one choice of data."""
    points = model.points(model.environment(ids), data)
    # tables of (iterations, subgroups or the workgroup, threads in one): whether a thread arrives, and its address
    shape = (-1, model.threads // item.threads, item.threads)
    comes = points.where(item.guards).reshape(shape)
    firsts = [points.of(first) for first in item.meant]
    at = np.broadcast_to(firsts[0] if firsts else 0, (comes.shape[0], model.threads)).reshape(comes.shape)
    parted = comes.any(axis=2) & ~comes.all(axis=2)
    differ = comes.all(axis=2) & (at != at[:, :, :1]).any(axis=2)
    together = "workgroup" if claim is Claim.UNIFORM_BARRIERS else "subgroup"
    for mask, split, verbs, reason in (
        (parted, comes, ("comes to", "does not come to"), f"threads of one {together} part"),
        (differ, at == at[:, :, :1], ("moves", "moves elsewhere"), "threads of one subgroup mean different addresses"),
    ):
        if mask.any():
            row, group = map(int, np.argwhere(mask)[0])
            # One thread that does, and one that does not.
            pair = int(np.argmax(split[row, group])), int(np.argmin(split[row, group]))
            point = {leaf: int(v[row]) for leaf, v in ids.items()}
            threads = zip(pair, verbs, strict=True)
            uses = tuple(model.use(item, point, group * item.threads + t, verb) for t, verb in threads)
            given = "" if data is None else data.given([v for v in (*item.guards, *item.meant) if model.unknowns([v])])
            return Verdict(claim, Status.REFUTED, reason, witness=Witness("", "", 0, uses, given))
    return None
