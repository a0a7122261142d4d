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
from dataclasses import dataclass, field
from math import prod
from time import monotonic, process_time
from typing import Any

import numpy as np

from ...errors import KernelError
from ..ir import AddressSpace, Buffer, For, Kernel, Verb, statements
from ..ir.laws import Array
from ..targets.interpreter import interpret
from ..targets.interpreter_memory import AccessCheck, InterpreterState, Phased
from .smt_encoding import Encoding, NotEncoded, SymbolicAccess, Term, mentions
from .verdict import Claim, Status, Use, Verdict, Witness, use_of
from .z3_library import z3

#: Steps of z3 (its `rlimit`, about 2 million a second) for one question, and for all about one kernel.
QUESTION, TOTAL = 20_000_000, 120_000_000
#: The same for what cutepy leaves undecided.
LEFT_QUESTION, LEFT = 2_000_000, 6_000_000
#: Seconds after which nothing more is asked, whatever is left of the limit: a net for a machine that stands still.
PATIENCE = 300.0
#: Invocations and elements of a launch that is replayed; candidates that are replayed for one question.
_REPLAYED, _ELEMENTS, _CANDIDATES = 1 << 16, 1 << 24, 3
#: The largest number that a replayed launch may count to.
_SHORT = 256
#: Accesses of a replayed launch that are looked at.
_NOTED = 1 << 18


@dataclass(slots=True)
class Statistics:
    """How many questions were asked, and how long each took, in seconds of CPU."""

    times: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A launch that may refute: parameters, contents, the workgroups of a witness; whether any data were made up, and
    whether they decide an index of the witness."""

    params: dict[str, Any]
    contents: dict[Buffer, Array]
    groups: tuple[int, ...]
    made_up: bool
    promised: bool


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
        between = self.encoding.ascends(lambda index: z3.substitute(index, *self.other))
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
        total = self.kernel.threads * prod(self.kernel.grid)
        elements = sum(b.length for b in self.kernel.buffers)
        if elements > _ELEMENTS:
            return None
        if claim is Claim.IN_BOUNDS and self._is_promised(pair[0]):
            return None
        for _ in range(_CANDIDATES if self.encoding.params else 1):
            solver.push()  # small parameters, if there are any: a launch that is short
            solver.add(*[z3.And(p >= 0, p <= _SHORT) for p in self.encoding.params.values() if z3.is_bv(p)])
            if solver.check() != z3.sat:
                solver.pop()
                if solver.check() != z3.sat:
                    return None
            candidate = self._candidate(solver.model(), pair)
            if solver.num_scopes() > 1:
                solver.pop()
            if self._is_long(candidate):
                return None
            if not (candidate.made_up or len(set(candidate.groups)) > 1) or total <= _REPLAYED:
                verdict = _replay(self.kernel, claim, array, candidate)
                if verdict is not None:
                    return verdict
            # Other parameters: those with which the first and the last invocation stay in bounds.
            solver.add(*self._corners())
            tried = candidate.params
            solver.add(
                *[z3.Or([p != tried[n.name] for n, p in self.encoding.params.items()])] if self.encoding.params else []
            )
        return None

    def _is_promised(self, access: SymbolicAccess) -> bool:
        """Whether data decide the index: then the caller promises that they keep it inside."""
        data = [*self.encoding.params.values(), *self.encoding.contents.values()]
        return any(mentions(access.index, x) for x in data)

    def _is_long(self, candidate: _Candidate) -> bool:
        """Whether a loop may count up to large data."""
        numbers = [int(x) for x in candidate.params.values()] + [
            int(abs(c).max(initial=0)) for c in candidate.contents.values()
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

    def _candidate(self, model: Any, pair: Sequence[SymbolicAccess]) -> _Candidate:
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
        values = [self._group(model, put) for put in ([], self.other)[: max(1, len(pair))]]
        made_up = bool(contents) or bool(self.encoding.params)
        return _Candidate(params, contents, tuple(values), made_up, any(map(self._is_promised, pair)))

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


# The replay


class _Enough(Exception):
    """As many accesses as are looked at."""


class _Meetings(Phased):
    """Notes who does what to one array, after how many barriers, and what was read before it was written."""

    def __init__(self, kernel: Kernel, array: str) -> None:
        super().__init__(kernel)
        self.array = array
        self.rows: list[Array] = []
        self.unwritten: tuple[int, Use] | None = None
        self.written: set[tuple[int, int]] = set()
        self.known: list[Use] = []

    def access(self, s: InterpreterState, check: AccessCheck, at: Array, active: Array | None, values: Array) -> None:
        if check.buffer.name != self.array:
            return
        if sum(r.shape[1] for r in self.rows[-64:]) * max(1, len(self.rows) / 64) > _NOTED:
            raise _Enough
        on = np.broadcast_to(np.True_ if active is None else active, s.shape)
        group, thread = np.nonzero(on)
        first = np.broadcast_to(at, s.shape)[group, thread]
        verb = (Verb.READS, Verb.UPDATES, Verb.WRITES).index(check.verb)
        for lane in range(check.lanes):
            number = np.full(group.shape, len(self.known))
            self.rows.append(np.stack([first + lane, self.groups[group], thread, self.epochs[check.buffer.space][group],
                                       np.full(group.shape, verb), number]))  # fmt: skip
            if check.buffer.space != AddressSpace.WORKGROUP:
                continue
            keys = list(zip(self.groups[group].tolist(), (first + lane).tolist(), strict=True))
            if check.takes and self.unwritten is None:
                for which, key in enumerate(keys):
                    if key not in self.written:
                        self.unwritten = key[1], use_of(s, check, int(group[which]), int(thread[which]))
                        break
            if check.verb != Verb.READS:
                self.written.update(keys)
        self.known.append(use_of(s, check, 0, 0))

    def race(self) -> tuple[int, tuple[Use, Use]] | None:
        """An element and two uses of it that race."""
        if not self.rows:
            return None
        rows = np.concatenate(self.rows, axis=1)
        rows = rows[:, np.lexsort((rows[4], rows[2], rows[1], rows[0]))]
        x, y, _ = self.kernel.grid
        ends = np.flatnonzero(np.diff(rows[0])) + 1
        storage = any(b.name == self.array for b in self.kernel.buffers)
        for part in np.split(rows, ends, axis=1):
            if (
                (part[4] == 0).all()
                or (part[4] == 1).all()
                or len({*zip(part[1].tolist(), part[2].tolist(), strict=True)}) < 2
            ):
                continue
            columns = list({tuple(c): None for c in part.T.tolist()})[:256]
            for i, a in enumerate(columns):
                for b in columns[:i]:
                    if (a[1:3] == b[1:3]) or {a[4], b[4]} in ({0}, {1}):
                        continue
                    if (a[1] != b[1] and storage) or (a[1] == b[1] and a[3] == b[3]):
                        uses = []
                        for c in (a, b):
                            known = self.known[c[5]]
                            where = (c[1] % x, c[1] // x % y, c[1] // (x * y))
                            uses.append(Use(where, c[2], (), known.verb, known.access, known.place))
                        return a[0], (uses[0], uses[1])
        return None


def _replay(kernel: Kernel, claim: Claim, array: str, candidate: _Candidate) -> Verdict | None:
    """A verdict that refutes `claim` about `array`, if the launch does what it must not."""
    buffers = [*kernel.buffers, *kernel.local]
    buffer = next(b for b in buffers if b.name == array)
    only = None if candidate.made_up or len(set(candidate.groups)) > 1 else candidate.groups[0]
    arrays = [candidate.contents.get(b, np.zeros(b.length, b.dtype.numpy)).copy() for b in kernel.buffers]
    watch = _Meetings(kernel, array)
    told = [f"{name} = {value}" for name, value in candidate.params.items()]
    told += [f"what z3 puts in {b.name}" for b in candidate.contents]
    given = f"for {', '.join(told)}" if told else ""
    try:
        interpret(kernel, arrays, candidate.params, watch=watch, only=only)
    except _Enough:
        if candidate.promised:
            return None
    except KernelError as error:
        outside = f" {array} at " in str(error) and ("coordinate" in str(error)) == (claim is Claim.INSIDE_ITS_SHAPE)
        if claim not in (Claim.IN_BOUNDS, Claim.INSIDE_ITS_SHAPE) or not outside:
            return None
        return Verdict(claim, Status.REFUTED, f"replayed{' ' + given if given else ''}: {error}", array, by="z3")
    if claim is Claim.NO_RACES and (met := watch.race()) is not None:
        writing = {u.verb for u in met[1]} == {Verb.WRITES}
        reason = "two invocations write one element" if writing else "one changes what another uses"
        return Verdict(
            claim, Status.REFUTED, reason, array, Witness(array, buffer.note, met[0], met[1], given), by="z3"
        )
    if claim is Claim.WRITTEN_BEFORE_READ and watch.unwritten is not None:
        element, use = watch.unwritten
        witness = Witness(array, buffer.note, element, (use,), given)
        return Verdict(claim, Status.REFUTED, "nobody has written it", array, witness, by="z3")
    return None
