"""A second judge of what is said for all sizes: z3 over the integers, sizes free.

It shares nothing with the prover. Sizes, grids and parameters are what the host computes (`LaunchPlan`), over numbers
of a call that are unknown; guards, loops and coordinates are read off the IR, each operator as WGSL defines it: u32
and i32 wrap. A claim is put as its negation: no model, and it holds for all sizes; a model is a call, with the
invocation, in which it fails. What memory decides is any number: a model that asks for contents says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import z3

from cutepy.gpu import ir
from cutepy.gpu.ir.stmt import Assign, Atomic, Barrier, Block, Break, Change, Declare, For, If, Kernel, Let, Store
from cutepy.gpu.runtime.program import Formula
from cutepy.gpu.trace.kernel import SizedLaunch
from cutepy.gpu.trace.sizes import divisors_of
from cutepy.gpu.verify import Claim, Status, Verdict
from cutepy.layout.affine import Affine
from cutepy.tensor.dtypes import DType, bool_, i32

LARGEST, EXTENT, WRAP = (1 << 31) - 1, (1 << 31) - (1 << 16), 1 << 32
Term = Any  # of z3, which has no types


class Answer(StrEnum):
    """What z3 says of a claim: `CONTENTS` where it fails for some contents of memory, `UNKNOWN` in the time it has."""

    HOLDS = "holds"
    FAILS = "fails"
    CONTENTS = "fails for some contents"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Judgement:
    """The answer about one claim of one array; where it fails, sizes with which it does, by the names of the call."""

    answer: Answer
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """An integer of z3 from `low` to `high`; `wild` where memory has a part in it."""

    term: Term
    low: int
    high: int
    wild: bool = False


@dataclass(frozen=True)
class Reached:
    """An access that an invocation makes where `guards` hold: the coordinates of each lane with their extents, or, of
    an array of known length, the index."""

    verb: str
    buffer: ir.Buffer
    guards: tuple[Term, ...]
    lanes: tuple[tuple[tuple[Number, Number], ...], ...]
    wild: bool


def _range(dtype: DType) -> tuple[int, int]:
    if dtype is bool_:
        return 0, 1
    return (-(1 << 31), (1 << 31) - 1) if dtype is i32 else (0, WRAP - 1)


def _into(dtype: DType, term: Term, low: int, high: int, wild: bool) -> Number:
    """A number that may lie outside of its type, as the type holds it."""
    least, most = _range(dtype)
    if least <= low and high <= most:
        return Number(term, low, high, wild)
    if low >= least - WRAP and high <= most + WRAP:  # at most once around
        term = z3.If(term < least, term + WRAP, z3.If(term > most, term - WRAP, term))
    else:
        term = (term - least) % WRAP + least
    return Number(term, least, most, wild)


class Call:
    """The numbers of any call of a class: what the host has seen to hold of them, and what it computes."""

    def __init__(self, launch: SizedLaunch) -> None:
        plan = launch.traced.plan
        assert plan is not None and launch.call.values is not None
        self.names = {name: z3.Int(name) for name in launch.call.values}
        self.facts: list[Term] = []
        letters: dict[str, Term] = {}
        divisors = divisors_of(launch.call.facts)
        for a in launch.call.arguments:
            if a.sizes is None:
                continue
            at = self.names[f"{a.name}.offset"]
            self.facts.append(at >= 0)
            for axis, (n, step) in enumerate(zip(a.sizes.shape, a.sizes.stride, strict=True)):
                extent, stride = self.names[f"{a.name}.shape[{axis}]"], self.names[f"{a.name}.stride[{axis}]"]
                self.facts += [extent >= 1, extent <= EXTENT, z3.Implies(extent == 1, stride == 0)]
                if isinstance(n, int):
                    self.facts.append(extent == n)
                elif n in letters:
                    self.facts.append(extent == letters[n])
                else:
                    letters[n] = extent
                if step is not None:
                    self.facts.append(z3.Or(extent == 1, stride == step))
                if n in divisors:
                    self.facts.append(extent % divisors[n] == 0)
                if a.sizes.aligned:
                    self.facts.append((extent if step == 1 else stride) % 4 == 0)
            if a.sizes.aligned:
                self.facts.append(at % 4 == 0)
        self.facts += [self.of(formula) >= 0 for formula, _text, _stated in plan.conditions]
        self.grid = [self.of(formula) for formula in plan.grid]
        self.facts += [z3.And(n >= 1, n <= 65535) for n in self.grid]
        self.params = {name: self.of(formula) for name, formula in launch.traced.formulas.items()}

    def of(self, formula: Formula) -> Term:
        """The number that a formula is."""
        if isinstance(formula, int):
            return z3.IntVal(formula)
        if isinstance(formula, str):
            return self.names[formula]
        op, *parts = formula
        first, *rest = [self.of(part) for part in parts]
        for number in rest:
            first = (
                {"+": first + number, "*": first * number}[op]
                if op in "+*"
                else (first / number if op == "//" else first % number)
            )  # fmt: skip  z3 rounds down for divisors above 0, as the host does
        return first


class Invocation:
    """Any invocation of a kernel, in any call: what it reaches, in order of text, between which barriers."""

    def __init__(self, kernel: Kernel, call: Call, tag: str) -> None:
        self.kernel, self.call, self.tag, self.made = kernel, call, tag, 0
        self.facts: list[Term] = []
        self.reached: list[Reached] = []
        self.state: dict[ir.Var, Number] = {}
        self.barriers = False
        self.ids: dict[tuple[str, int | None], Number] = {}
        self.thread = self.of(ir.builtin("local_invocation_index", 0, kernel.threads - 1))
        self.group = [self.of(ir.builtin("workgroup_id", 0, 65534, axis=axis)) for axis in range(3)]
        self.block(kernel.body, ())

    def any(self, name: str, low: int, high: int, *, wild: bool) -> Number:
        """A number of its own."""
        self.made += 1
        term = z3.Int(f"{name}{self.tag}_{self.made}")
        self.facts += [term >= low, term <= high]
        return Number(term, low, high, wild)

    # Statements.

    def block(self, block: Block, guards: tuple[Term, ...]) -> None:
        for stmt in block:
            for value in stmt.expressions:
                self.loads(value, guards)
            match stmt:
                case Let(var=var, value=value):
                    self.state[var] = self.of(value) if var.dtype.kind in "iub" and var.lanes == 1 else self.free(var)
                case Declare(var=var, value=value):
                    plain = value is not None and var.dtype.kind in "iub" and var.lanes == 1
                    self.state[var] = self.of(value) if plain and value is not None else self.free(var)
                case Assign(var=var, value=value, lane=lane):
                    plain = lane is None and var.dtype.kind in "iub" and var.lanes == 1
                    self.state[var] = self.of(value) if plain else self.free(var)
                case Change():
                    self.change(stmt, guards)
                case If(condition=condition, then=then, orelse=orelse):
                    holds = self.true(condition)
                    self.block(then, (*guards, holds))
                    self.forget((then,))
                    self.block(orelse, (*guards, z3.Not(holds)))
                    self.forget((then, orelse))
                case For():
                    self.loop(stmt, guards)
                case Break(condition=condition, last=last):
                    holds = self.true(condition)
                    self.block(last, (*guards, holds))
                    self.forget((last,))
                    guards = (*guards, z3.Not(holds))
                case Barrier():
                    self.barriers = True
                case _:
                    assert not stmt.blocks, f"{type(stmt).__name__} is not known here"

    def loop(self, stmt: For, guards: tuple[Term, ...]) -> None:
        start, step = self.of(stmt.start), self.of(stmt.step)
        self.forget((stmt.body,))
        turn = self.any("turn", 0, LARGEST, wild=False)
        wild = start.wild or step.wild
        low, high = _range(stmt.var.dtype)
        value = Number(start.term + turn.term * step.term, low, high, wild)
        inside = [value.term >= low, value.term <= high]
        self.state[stmt.var] = value
        if stmt.stop is not None:  # the body runs where the counter is below; no turn before it was at or above
            stop = self.of(stmt.stop)
            inside.append(value.term < stop.term)
            self.state[stmt.var] = replace(value, low=start.low, high=min(high, stop.high - 1), wild=wild or stop.wild)
        self.block(stmt.body, (*guards, *inside))
        self.forget((stmt.body,))

    def forget(self, blocks: Iterable[Block]) -> None:
        """Variables that these blocks may have set have any value."""
        for block in blocks:
            for stmt in block:
                if stmt.sets is not None:
                    self.state[stmt.sets] = self.free(stmt.sets)
                self.forget(stmt.blocks)

    def free(self, var: ir.Var) -> Number:
        return (
            self.any(var.name, *_range(var.dtype), wild=True) if var.dtype.kind in "iub" else Number(None, 0, 0, True)
        )

    def change(self, stmt: Change, guards: tuple[Term, ...]) -> None:
        lanes = 1 if isinstance(stmt, Atomic) else stmt.value.lanes
        self.reach("updates" if isinstance(stmt, Atomic) else "writes", stmt, lanes, guards)
        if isinstance(stmt, Atomic) and stmt.result is not None:
            self.state[stmt.result] = self.free(stmt.result)
        assert isinstance(stmt, Store | Atomic), "matrices are not known here"

    def loads(self, value: ir.Expr, guards: tuple[Term, ...]) -> None:
        seen: set[int] = set()

        def visit(node: ir.Expr) -> None:
            if id(node) in seen:
                return
            seen.add(id(node))
            if isinstance(node, ir.Load):
                more = (*guards, self.true(node.where)) if node.where is not None else guards
                self.reach("reads", node, node.lanes, more)
            for operand in node.operands:
                visit(operand)

        visit(value)

    def reach(self, verb: str, access: Any, lanes: int, guards: tuple[Term, ...]) -> None:
        buffer = access.buffer
        if buffer.space == "private":
            return
        told: list[tuple[tuple[Number, Number], ...]] = []
        if buffer.shape:
            rank = len(buffer.shape)
            pairs = [(self.of(c), self.extent(n)) for c, n in zip(access.coordinates, access.shape, strict=True)]
            told = [tuple(pairs[rank * lane : rank * (lane + 1)]) for lane in range(lanes)]
            assert len(told[-1]) == rank, f"an access of {buffer.name} does not say its coordinates"
        else:
            index, length = self.of(access.index), -(-buffer.length // buffer.width)
            for lane in range(-(-lanes // buffer.width)):
                at = Number(index.term + lane, index.low, index.high + lane, index.wild)
                told.append(((at, self.extent(length)),))
        wild = any(x.wild for lane in told for pair in lane for x in pair) or any(map(_is_wild, guards))
        self.reached.append(Reached(verb, buffer, guards, tuple(told), wild))

    def extent(self, n: int | ir.Expr) -> Number:
        return self.of(n) if isinstance(n, ir.Expr) else Number(z3.IntVal(n), n, n)

    # Expressions.

    def true(self, value: ir.Expr) -> Term:
        found = self.of(value)
        term = found.term != 0
        return z3.And(term, _WILD) if found.wild else term

    def of(self, value: ir.Expr, memo: dict[ir.Expr, Number] | None = None) -> Number:
        """The integer that an expression is, in the state of now."""
        memo = {} if memo is None else memo
        if value not in memo:
            memo[value] = self.compute(value, memo)
        return memo[value]

    def compute(self, value: ir.Expr, memo: dict[ir.Expr, Number]) -> Number:
        match value:
            case ir.Const(value=number) if value.dtype.kind in "iub":
                return Number(z3.IntVal(int(number)), int(number), int(number))
            case ir.Param(name=name) if name in self.call.params:
                return Number(self.call.params[name], value.lo, value.hi)
            case ir.Builtin(name=name, axis=axis):
                return self.builtin(value, name, axis)
            case ir.Var() if value in self.state:
                return self.state[value]
            case ir.Binary() if value.lanes == 1 and value.left.dtype.kind in "iub":
                return self.binary(value, self.of(value.left, memo), self.of(value.right, memo))
            case ir.Unary(op=op, value=inner) if value.lanes == 1 and value.dtype.kind in "iub":
                x = self.of(inner, memo)
                if value.dtype is bool_:
                    return Number(z3.If(x.term == 0, 1, 0), 0, 1, x.wild)
                if op in "-~":
                    less = int(op == "~")
                    return _into(value.dtype, -x.term - less, -x.high - less, -x.low - less, x.wild)
            case ir.Select(condition=condition, then=then, other=other) if (
                value.lanes == 1 and value.dtype.kind in "iub"
            ):
                c, a, b = (self.of(x, memo) for x in (condition, then, other))
                term = z3.If(c.term != 0, a.term, b.term)
                return Number(term, min(a.low, b.low), max(a.high, b.high), c.wild or a.wild or b.wild)
            case ir.Cast(value=inner) if value.lanes == 1 and value.dtype.kind in "iub" and inner.dtype.kind in "iub":
                x = self.of(inner, memo)
                if value.dtype is bool_:
                    return Number(z3.If(x.term == 0, 0, 1), 0, 1, x.wild)
                return _into(value.dtype, x.term, x.low, x.high, x.wild)
            case ir.Call(name="min" | "max" as name, args=(left, right)) if (
                value.lanes == 1 and value.dtype.kind in "iu"
            ):
                a, b, pick = self.of(left, memo), self.of(right, memo), min if name == "min" else max
                first = a.term <= b.term if name == "min" else a.term >= b.term
                term = z3.If(first, a.term, b.term)
                return Number(term, pick(a.low, b.low), pick(a.high, b.high), a.wild or b.wild)
        if value.dtype.kind not in "iub" or value.lanes != 1:
            return Number(None, 0, 0, True)
        return self.any("memory", *_range(value.dtype), wild=True)

    def builtin(self, value: ir.Builtin, name: str, axis: int | None) -> Number:
        known = self.ids.get((name, axis))
        if known is None:
            own = name in ("local_invocation_index", "workgroup_id")
            most = value.hi if name != "workgroup_id" else 65534
            known = self.ids[name, axis] = self.any(f"{name}{axis}", value.lo, most, wild=not own)
            if name == "workgroup_id" and axis is not None:
                self.facts.append(known.term < self.call.grid[axis])
        return known

    def binary(self, value: ir.Binary, a: Number, b: Number) -> Number:
        op, wild, dtype = value.op, a.wild or b.wild, value.dtype
        if op in ("<", "<=", ">", ">=", "==", "!="):
            holds = {
                "<": a.term < b.term, "<=": a.term <= b.term, ">": a.term > b.term, ">=": a.term >= b.term,
                "==": a.term == b.term, "!=": a.term != b.term,
            }[op]  # fmt: skip
            return Number(z3.If(holds, 1, 0), 0, 1, wild)
        if dtype is bool_:
            holds = {
                "&": z3.And(a.term != 0, b.term != 0), "|": z3.Or(a.term != 0, b.term != 0), "^": a.term != b.term
            }[op[0]]  # fmt: skip
            return Number(z3.If(holds, 1, 0), 0, 1, wild)
        if op in "+-":
            low, high = (a.low + b.low, a.high + b.high) if op == "+" else (a.low - b.high, a.high - b.low)
            return _into(dtype, a.term + b.term if op == "+" else a.term - b.term, low, high, wild)
        if op == "*":
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return _into(dtype, a.term * b.term, min(ends), max(ends), wild)
        if op == "<<" and b.low == b.high:
            by = 1 << (b.low & 31)
            return _into(dtype, a.term * by, a.low * by, a.high * by, wild)
        if op == ">>" and b.low == b.high:
            return Number(a.term / (1 << (b.low & 31)), a.low >> (b.low & 31), a.high >> (b.low & 31), wild)
        if op in ("//", "%") and b.low >= 0:
            by = b.term if b.low >= 1 else z3.If(b.term == 0, 1, b.term)  # a divisor 0 acts as 1
            whole = a.term / by if a.low >= 0 else z3.If(a.term >= 0, a.term / by, -(-a.term / by))
            if op == "//":
                return Number(whole, min(a.low, 0), max(a.high, 0), wild)
            return Number(a.term - whole * by if a.low < 0 else a.term % by, min(a.low, 0), max(a.high, 0), wild)
        return self.any("bits", *_range(dtype), wild=True)


#: Marks a guard that memory decides: true, and found again by its name.
_WILD = z3.Bool("memory decides")


def _is_wild(term: Term) -> bool:
    return z3.is_and(term) and any(x.eq(_WILD) for x in term.children())


@dataclass
class IntegerJudge:
    """Answers about the claims that a form for unknown sizes is in bounds and free of races, `seconds` for each query.

    Of a kernel with barriers only workgroups are told apart: no barrier orders them. `conditions` are what the claims
    are said under: sums of parameters that are 0 or less.
    """

    launch: SizedLaunch
    conditions: tuple[Affine[ir.Expr, int], ...] = ()
    seconds: float = 2.0

    def __post_init__(self) -> None:
        self.call = Call(self.launch)
        kernel = self.launch.traced.kernel
        self.one, self.two = (Invocation(kernel, self.call, tag) for tag in ("", "'"))
        for form in self.conditions:
            numbers = [(self.one.of(atom), c) for atom, c in form.terms.items()]
            self.call.facts.append(sum(n.term * c for n, c in numbers) + form.constant <= 0)

    @property
    def possible(self) -> bool:
        """Whether there is a call at all: what nothing satisfies implies everything."""
        return self._ask(())[0] == z3.sat

    def claims(self) -> Iterator[tuple[Claim, str, Judgement]]:
        """Each claim of each array."""
        for name in dict.fromkeys(access.buffer.name for access in self.one.reached):
            yield Claim.IN_BOUNDS, name, self.in_bounds(name)
        for buffer in dict.fromkeys(access.buffer for access in self.one.reached):
            if buffer.shape and any(a.verb != "reads" for a in self.one.reached if a.buffer is buffer):
                yield Claim.NO_RACES, buffer.name, self.no_races(buffer)

    def in_bounds(self, name: str) -> Judgement:
        """Whether every coordinate is inside its extent."""
        asked = []
        for access in self.one.reached:
            if access.buffer.name == name:
                for number, extent in dict.fromkeys(pair for lane in access.lanes for pair in lane):
                    outside = z3.Or(number.term < 0, number.term >= extent.term)
                    asked.append((access.wild, (*access.guards, outside)))
        return self._all(asked, self.one.facts)

    def no_races(self, buffer: ir.Buffer) -> Judgement:
        """Whether no two invocations use one element, one of them changing it."""
        first, second = self.one, self.two
        apart = [z3.Or(*[a.term != b.term for a, b in zip(first.group, second.group, strict=True)])]
        if not first.barriers:
            apart = [z3.Or(*apart, first.thread.term != second.thread.term)]
        asked = []
        own = [(x, y) for x, y in zip(first.reached, second.reached, strict=True) if x.buffer is buffer]
        for i, (x, _) in enumerate(own):
            for _, y in own[i:]:
                verbs = {x.verb, y.verb}
                if verbs == {"reads"} or verbs == {"updates"}:
                    continue
                for a in x.lanes:
                    for b in y.lanes:
                        same = [p.term == q.term for (p, _), (q, _) in zip(a, b, strict=True)]
                        asked.append((x.wild or y.wild, (*x.guards, *y.guards, *apart, *same)))
        return self._all(asked, [*first.facts, *second.facts])

    def _all(self, asked: Iterable[tuple[bool, tuple[Term, ...]]], facts: list[Term]) -> Judgement:
        """Whether none of these has a model; with small sizes first, where it has."""
        answer = Answer.HOLDS
        for wild, terms in asked:
            found, sizes = self._ask((*facts, *terms))
            if found == z3.sat:
                if not wild:
                    return Judgement(Answer.FAILS, sizes)
                answer = Answer.CONTENTS
            elif found == z3.unknown and answer is Answer.HOLDS:
                answer = Answer.UNKNOWN
        return Judgement(answer)

    def _ask(self, terms: tuple[Term, ...]) -> tuple[Any, dict[str, int]]:
        small = [z3.And(n <= 80, n >= -80) for n in self.call.names.values()]
        for more in (small, []):
            solver = z3.Solver()
            solver.set("timeout", int(1000 * self.seconds))
            solver.add(*self.call.facts, *terms, *more, _WILD)
            found = solver.check()
            if found == z3.sat:
                model = solver.model()
                value = {name: model.eval(n, model_completion=True).as_long() for name, n in self.call.names.items()}
                return found, value
        return found, {}


def compared(launch: SizedLaunch, verdicts: Iterable[Verdict], seconds: float = 2.0) -> Iterator[tuple[str, str]]:
    """What z3 says of what was said, claim by claim: "confirmed", "FALSE PROOF", "FALSE REFUTATION", "undecided and
    holds", "undecided and fails", or what was not judged; and about what it is said."""
    said = {(v.claim, v.array): v for v in verdicts}
    judge = IntegerJudge(launch, tuple([c for v in said.values() for c in v.conditions]), seconds)
    if not judge.possible:
        yield "said of no call at all", ""
        return
    for claim, array, judged in judge.claims():
        if (verdict := said.get((claim, array))) is None:
            continue
        kind = {
            (Status.PROVEN, Answer.HOLDS): "confirmed",
            (Status.PROVEN, Answer.FAILS): "FALSE PROOF",
            (Status.REFUTED, Answer.FAILS): "confirmed",
            (Status.REFUTED, Answer.HOLDS): "FALSE REFUTATION",
            (Status.UNDECIDED, Answer.HOLDS): "undecided and holds",
            (Status.UNDECIDED, Answer.FAILS): "undecided and fails",
        }.get((verdict.status, judged.answer), f"{verdict.status}, z3 says {judged.answer}")
        sizes = ", ".join(f"{name} = {n}" for name, n in judged.sizes.items() if "shape" in name)
        yield kind, f"{claim} {array}: {verdict.reason}" + (f" (at {sizes})" if sizes else "")
