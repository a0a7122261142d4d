"""A second prover: z3 decides bounds, races and first writes of a kernel with known sizes.

* **In bounds**: no invocation makes an access whose index is above the last one: one question for each access.
* **No races**: no two invocations overlap in an element that one of them writes, or updates while the other reads.
  Two threads of one workgroup, if they passed the same barrier last; or two workgroups, with no barrier between them.
* **Written before read**: no thread reads an element of workgroup memory such that *all* writes are elsewhere or later.
  A write that may not happen where its path holds counts as none.

"unsat" is a proof, for the formulas allow all that the kernel does. "sat" is a proof of nothing: its launch is replayed
by the interpreter, on the contents and parameters of the model, and refutes where it does what is claimed not to be. If
contents or parameters decide an index, the replayed launch has to stay in bounds everywhere else: data that a kernel is
not meant for refute nothing. What z3 does not decide within its limit stays undecided. A limit counts z3's own steps,
not time: a verdict is the same on a busy machine.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic, process_time
from typing import Any

import numpy as np

from ..ir import AddressSpace, Buffer, For, Kernel, Verb, statements
from ..ir.laws import Array
from .replay import Launch, TooLong, shown
from .smt_encoding import Encoding, NotEncoded, SymbolicAccess, Term, mentions
from .verdict import Claim, Status, Verdict
from .z3_library import z3

#: Steps of z3 (its `rlimit`, about 2 million a second) for one question, and for all about one kernel.
QUESTION, TOTAL = 20_000_000, 120_000_000
#: The same for what cutepy leaves undecided.
LEFT_QUESTION, LEFT = 2_000_000, 6_000_000
#: Seconds after which nothing more is asked, whatever is left of the limit: a net for a machine that stands still.
PATIENCE = 300.0
#: Launches that are replayed for one question.
_CANDIDATES = 3
#: The largest number that a replayed launch may count to.
_SHORT = 256


@dataclass(slots=True)
class Statistics:
    """How many questions were asked, and how long each took, in seconds of CPU."""

    times: list[float] = field(default_factory=list)


def decide_by_z3(
    kernel: Kernel, wanted: Iterable[tuple[Claim, str]], *, racing: frozenset[str] = frozenset(),
    question: int = QUESTION, total: int = TOTAL, statistics: Statistics | None = None,
) -> dict[tuple[Claim, str], Verdict]:  # fmt: skip
    """Verdicts on the claims about the arrays that are `wanted`, by z3; undecided ones with the reason.

    The claims of races and first writes hold if all threads of a workgroup come to the same barriers: the caller asks
    that of `decide_barriers`. An array of `racing` may have another value each time that it is read. `question` is the
    limit of one question, in steps of z3, `total` that of all of them.
    """
    asked = list(wanted)
    # z3 counts references without a lock: no other thread may collect its objects while this one asks.
    collecting = gc.isenabled()
    gc.disable()
    try:
        prover = _Prover(kernel, racing, _Limit(question, total), statistics or Statistics())
        return {key: prover.decide(*key) for key in asked}
    except NotEncoded as error:
        why = f"z3 is not asked about {error}"
    except z3.Z3Exception as error:  # z3 may give up at any call once its limit is reached
        why = f"z3 gives up: {error}"
    finally:
        if collecting:
            gc.enable()
    return {key: Verdict(key[0], Status.UNDECIDED, why, key[1], by="z3") for key in asked}


@dataclass(slots=True)
class _Limit:
    """What is left: steps for one question, for all, and the time at which the net is."""

    question: int
    left: int
    ends: float = field(default_factory=lambda: monotonic() + PATIENCE)

    def check(self, solver: Any, statistics: Statistics) -> Any:
        """z3's answer within the limit, which its steps are taken from; unknown, unasked, where nothing is left."""
        seconds = self.ends - monotonic()
        if self.left <= 0 or seconds <= 0:
            return z3.unknown
        solver.set("rlimit", min(self.question, self.left))
        solver.set("timeout", max(1, int(1000 * seconds)))
        before, started = _steps(), process_time()
        answer = solver.check()
        statistics.times.append(process_time() - started)
        self.left -= _steps() - before
        return answer


def _steps() -> int:
    """The steps that z3 has done in this process: an empty solver counts them all."""
    solver = z3.SimpleSolver()
    solver.check()
    return int(solver.statistics().get_key_value("rlimit count"))


class _Prover:
    def __init__(self, kernel: Kernel, racing: frozenset[str], limit: _Limit, statistics: Statistics) -> None:
        self.kernel, self.limit, self.statistics = kernel, limit, statistics
        self.encoding = Encoding(kernel, racing)
        turns = dict.fromkeys(self.encoding.turn_names)
        ids = [*self.encoding.invocation, *turns]
        self.other = [(x, z3.Const(f"other_{x.decl().name()}", x.sort())) for x in ids]
        self.solver = z3.Solver()
        self.solver.add(*self.encoding.common, *self.encoding.facts)

    def decide(self, claim: Claim, array: str) -> Verdict:
        """The verdict on one claim about one array."""
        accesses = [a for a in self.encoding.accesses if a.buffer.name == array]
        questions = {
            Claim.IN_BOUNDS: self._bounds,
            Claim.INSIDE_ITS_SHAPE: self._shapes,
            Claim.NO_RACES: self._races,
            Claim.WRITTEN_BEFORE_READ: self._first_writes,
        }[claim](accesses)
        count = 0
        late: str = ""
        for formulas, pair in questions:
            count += 1
            outcome, reason = self._ask(claim, array, formulas, pair)
            if outcome is not None:
                return outcome
            late = late or reason
        if late:
            return Verdict(claim, Status.UNDECIDED, late, array, by="z3")
        return Verdict(claim, Status.PROVEN, f"{count} questions to z3 over 32-bit vectors", array, by="z3")

    # The questions

    def _bounds(self, accesses: list[SymbolicAccess]) -> Iterator[tuple[list[Term], tuple[SymbolicAccess, ...]]]:
        for a in accesses:
            whole = -(-a.buffer.length // a.buffer.width) * a.buffer.width
            last = (whole - a.lanes) // a.buffer.width
            outside = z3.BoolVal(True) if whole < a.lanes else z3.UGT(a.index, last)
            yield [*a.path, outside], (a,)

    def _shapes(self, accesses: list[SymbolicAccess]) -> Iterator[tuple[list[Term], tuple[SymbolicAccess, ...]]]:
        for a in accesses:
            if a.coordinates:
                yield [*a.path, z3.Or([z3.UGE(c, n) for c, n in a.coordinates])], (a,)

    def _races(self, accesses: list[SymbolicAccess]) -> Iterator[tuple[list[Term], tuple[SymbolicAccess, ...]]]:
        """Pairs of an access that changes and another; a pair of threads, or of workgroups."""
        tid, groups = self.encoding.own_tid, self.encoding.workgroup
        for i, a in enumerate(accesses):
            if a.verb == Verb.READS:
                continue
            for j, b in enumerate(accesses):
                if (b.verb != Verb.READS and j < i) or (a.verb == b.verb == Verb.UPDATES):
                    continue
                path, index, last = self._copied(b)
                meet = [*a.path, *path, *self._other_facts(), _overlap(a, b, index)]
                if tid is not None:
                    there = dict(self.other)[tid]
                    near = [tid != there, *[x == y for x, y in self.other if any(x is g for g in groups)]]
                    yield [*meet, *near, *[x == y for x, y in zip(a.last, last, strict=True)]], (a, b)
                if groups and a.buffer.space == AddressSpace.STORAGE:
                    far = [x != y for x, y in self.other if any(x is g for g in groups)]
                    yield [*meet, z3.Or(far)], (a, b)

    def _first_writes(self, accesses: list[SymbolicAccess]) -> Iterator[tuple[list[Term], tuple[SymbolicAccess, ...]]]:
        """A read of an element, such that every write is of another one, or not before it."""
        groups = self.encoding.workgroup
        own = [(x, y) for x, y in self.other if not any(x is g for g in groups)]
        writes = [w for w in accesses if w.verb != Verb.READS and w.sure]
        for r in accesses:
            if not r.takes:
                continue
            element = z3.BitVec("element", 32)
            read = z3.And(
                z3.UGE(element, r.index * r.buffer.width), z3.ULT(element - r.index * r.buffer.width, r.lanes)
            )
            never = []
            for w in writes:
                path, index, last, order = (
                    [z3.substitute(x, *own) for x in xs] if own else list(xs)
                    for xs in (w.path, (w.index,), w.last, w.order)
                )
                facts = [z3.substitute(f, *own) for f in self.encoding.facts] if own else list(self.encoding.facts)
                covers = z3.ULT(element - index[0] * w.buffer.width, w.lanes)
                apart = z3.Or([x != y for x, y in zip(r.last, last, strict=True)])
                tid = self.encoding.own_tid
                same = z3.BoolVal(True) if tid is None else tid == dict(self.other)[tid]
                happens = z3.And(*facts, *path, covers, _before(order, r.order), z3.Or(same, apart))
                bound = [y for _, y in own if mentions(happens, y)]
                never.append(z3.ForAll(bound, z3.Not(happens)) if bound else z3.Not(happens))
            yield [*r.path, read, *never], (r,)

    def _copied(self, a: SymbolicAccess) -> tuple[list[Term], Term, list[Term]]:
        """The access of another invocation."""
        if not self.other:
            return list(a.path), a.index, list(a.last)
        path, last = ([z3.substitute(x, *self.other) for x in xs] for xs in (a.path, a.last))
        return path, z3.substitute(a.index, *self.other), last

    def _other_facts(self) -> list[Term]:
        if not self.other:
            return []
        between = self.encoding.order_facts(lambda index: z3.substitute(index, *self.other))
        return [*[z3.substitute(f, *self.other) for f in self.encoding.facts], *between]

    # Asking, and what to make of the answer

    def _ask(
        self, claim: Claim, array: str, formulas: list[Term], pair: Sequence[SymbolicAccess]
    ) -> tuple[Verdict | None, str]:
        """Whether the formulas of a fault can hold together: (None, "") if not, which proves its absence for this
        `pair`; (verdict, reason) where a run of the model shows the fault, (None, reason) where that stays open."""
        whole = z3.simplify(z3.And(*formulas))
        if z3.is_false(whole):
            return None, ""
        solver = self.solver
        if claim is Claim.WRITTEN_BEFORE_READ:  # z3 is better at quantifiers in a solver that is asked once
            solver = z3.Solver()
            solver.add(*self.solver.assertions())
        solver.push()
        try:
            solver.add(whole)
            answer = self.limit.check(solver, self.statistics)
            if answer == z3.unsat:
                return None, ""
            if answer == z3.unknown:
                return None, f"z3 does not decide {pair[0].text} within its limit"
            return self._replayed(claim, array, solver, pair), f"z3 finds no proof for {pair[0].text}"
        finally:
            solver.pop()

    def _replayed(self, claim: Claim, array: str, solver: Any, pair: Sequence[SymbolicAccess]) -> Verdict | None:
        """A verdict that refutes, if the interpreter does what a model says."""
        if claim is Claim.IN_BOUNDS and self._is_promised(pair[0]):
            return None
        for _ in range(_CANDIDATES if self.encoding.params else 1):
            solver.push()  # small parameters, if there are any: a launch that is short
            solver.add(*[z3.And(p >= 0, p <= _SHORT) for p in self.encoding.params.values() if z3.is_bv(p)])
            if solver.check() != z3.sat:
                solver.pop()
                if solver.check() != z3.sat:
                    return None
            launch = self._launch(solver.model(), pair)
            if solver.num_scopes() > 1:
                solver.pop()
            if self._is_long(launch):
                return None
            with suppress(TooLong):
                if (verdict := shown(self.kernel, claim, array, launch)) is not None:
                    return replace(verdict, by="z3")
            # Other parameters: those with which the first and the last invocation stay in bounds.
            solver.add(*self._corners())
            tried = launch.params
            solver.add(
                *[z3.Or([p != tried[n.name] for n, p in self.encoding.params.items()])] if self.encoding.params else []
            )
        return None

    def _is_promised(self, access: SymbolicAccess) -> bool:
        """Whether data decide the index: then the caller promises that they keep it inside."""
        data = [*self.encoding.params.values(), *self.encoding.contents.values()]
        return any(mentions(access.index, x) for x in data)

    def _is_long(self, launch: Launch) -> bool:
        """Whether a loop may count up to large data."""
        numbers = [int(x) for x in launch.params.values()] + [
            int(abs(c).max(initial=0)) for c in launch.contents.values()
        ]
        return max(map(abs, numbers), default=0) > _SHORT and any(
            isinstance(s, For) for s in statements(self.kernel.body)
        )

    def _corners(self) -> list[Term]:
        """That the first and the last invocation stay in bounds."""
        found: list[Term] = []
        extents = [self.kernel.threads, *self.kernel.grid]
        owns = [self.encoding.own_tid, *[own for _, own in self.encoding.groups]]
        for at in (lambda n: 0, lambda n: n - 1):
            put = [
                (own, z3.BitVecVal(at(n), own.size())) for own, n in zip(owns, extents, strict=True) if own is not None
            ]
            for a in self.encoding.accesses:
                last = a.buffer.length - a.lanes
                if (
                    not a.data
                    and a.buffer.width == 1
                    and not any(mentions(a.index, t) for t in self.encoding.turn_names)
                ):
                    term = z3.Implies(z3.And(*a.path), z3.ULE(a.index, last)) if a.path else z3.ULE(a.index, last)
                    found.append(z3.substitute(term, *put) if put else term)
        return found

    def _launch(self, model: Any, pair: Sequence[SymbolicAccess]) -> Launch:
        """The launch that a model speaks of."""
        params: dict[str, Any] = {}
        for p, term in self.encoding.params.items():
            value = model.eval(term, True)
            if z3.is_bool(value):
                params[p.name] = bool(z3.is_true(value))
            else:
                params[p.name] = int(value.as_signed_long() if p.dtype.kind == "i" else value.as_long())
        for p in self.kernel.params:
            params.setdefault(p.name, 1)
        contents = {b: _array(b, model[f] if f in model.decls() else None) for b, f in self.encoding.contents.items()}
        groups = {self._group(model, put) for put in ([], self.other)[: max(1, len(pair))]}
        made_up = bool(contents) or bool(self.encoding.params)
        return Launch(params, contents, None if made_up or len(groups) > 1 else groups.pop())

    def _group(self, model: Any, put: list[tuple[Term, Term]]) -> int:
        names = dict(put)
        at = []
        for _, own in self.encoding.groups:
            at.append(0 if own is None else model.eval(names.get(own, own), True).as_long())
        x, y, _ = self.kernel.grid
        return int(at[0] + x * (at[1] + y * at[2]))


def _overlap(a: SymbolicAccess, b: SymbolicAccess, index: Term) -> Term:
    """That elements of both are the same: in 36 bits, where four times a 32-bit number does not wrap."""
    width = a.buffer.width
    if a.lanes == b.lanes == width:
        return a.index == index
    one, two = (z3.ZeroExt(4, x) * width for x in (a.index, index))
    return z3.And(z3.ULT(one, two + b.lanes), z3.ULT(two, one + a.lanes))


def _before(one: Sequence[Term], two: Sequence[Term]) -> Term:
    """That an invocation comes to one place before another comes to the other: by text and iteration, outermost first.
    Iterations of a loop without barriers are compared too: then no barrier is between them, and `last` is the same."""
    found = z3.BoolVal(False)
    for x, y in reversed(list(zip(one, two, strict=False))):
        found = z3.Or(z3.ULT(x, y), z3.And(x == y, found))
    return z3.simplify(found)


def _array(buffer: Buffer, interpretation: Any) -> Array:
    """The contents that a model gives an array."""
    found = np.zeros(buffer.length, np.uint32)
    if interpretation is not None:
        other = interpretation.else_value()
        if other is not None and z3.is_bv_value(other):
            found[:] = other.as_long()
        for number in range(interpretation.num_entries()):
            entry = interpretation.entry(number)
            at = entry.arg_value(0).as_long()
            if at < buffer.length:
                found[at] = entry.value().as_long()
    return found.astype(buffer.dtype.numpy)
