"""What a kernel does, invocation by invocation in plain Python: the judge of what `verify` claims.

Nothing is shared with `cutepy.gpu.verify`. Kernels whose addresses or conditions depend on memory that they write are
out of its reach.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Barrier,
    Binary,
    Block,
    Buffer,
    Builtin,
    Call,
    Cast,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    children,
    expressions,
)
from cutepy.gpu.ir.operators import FOLD, wrapped


class Event(NamedTuple):
    """One access: who (workgroup, thread), when (barriers before it, place in the thread's order), what."""

    group: int
    thread: int
    epoch: int
    order: int
    verb: str
    buffer: Buffer
    element: int
    site: tuple[int, int]
    loops: tuple[int, ...]


@dataclass
class Run:
    """All that happened. `barriers` holds the barriers of each invocation, in order."""

    kernel: Kernel
    events: list[Event] = field(default_factory=list)
    barriers: dict[tuple[int, int], list[tuple[object, ...]]] = field(default_factory=lambda: defaultdict(list))
    loads: dict[int, list[Load]] = field(default_factory=dict)

    def loads_of(self, stmt: Stmt) -> list[Load]:
        """The loads in the expressions of a statement, operands first."""
        known = self.loads.get(id(stmt))
        if known is None:
            found: dict[Expr, None] = {}
            for root in expressions(stmt):
                _loads(root, found)
            known = self.loads[id(stmt)] = [x for x in found if isinstance(x, Load)]
        return known


def _loads(x: Expr, found: dict[Expr, None]) -> None:
    if x not in found:
        for operand in children(x):
            _loads(operand, found)
        found[x] = None


@dataclass
class _Thread:
    run: Run
    env: dict[object, int]
    data: Mapping[Buffer, list[int]]
    group: int
    thread: int
    order: int = 0
    epochs: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    loops: tuple[int, ...] = ()

    def value(self, x: Expr) -> int:
        match x:
            case Const(value=number):
                return int(number)
            case Builtin(name=name):
                return self.env[name]
            case Var():
                return self.env[x]
            case Unary(op=op, value=y):
                inner = self.value(y)
                return int(wrapped({"-": -inner, "~": ~inner, "!": not inner}[op], x.dtype))
            case Binary(op=op, left=left, right=right):
                return int(wrapped(FOLD[op](self.value(left), self.value(right)), x.dtype))
            case Select(condition=condition, then=then, other=other):
                return self.value(then if self.value(condition) else other)
            case Call(name="min" | "max", args=args):
                return {"min": min, "max": max}[x.name](self.value(a) for a in args)
            case Cast(value=y):
                return int(wrapped(self.value(y), x.dtype))
            case Load(buffer=buffer, index=index, where=where):
                if where is not None and not self.value(where):
                    return 0
                contents, at = self.data[buffer], self.value(index)
                return contents[at] if 0 <= at < len(contents) else 0
        raise AssertionError(x)

    def note(self, verb: str, stmt: Stmt, node: Load | Store | Atomic, lanes: int) -> None:
        self.order += 1
        buffer = node.buffer
        first = self.value(node.index) * buffer.width
        epoch = self.epochs[buffer.space == "storage"]
        for i in range(lanes):
            what = verb, buffer, first + i, (id(stmt), id(node)), self.loops
            self.run.events.append(Event(self.group, self.thread, epoch, self.order, *what))

    def block(self, block: Block) -> None:
        for stmt in block:
            if not isinstance(stmt, For):
                for node in self.run.loads_of(stmt):
                    if node.where is None or self.value(node.where):
                        self.note("reads", stmt, node, node.lanes)
            match stmt:
                case Let(var=var, value=value) | Declare(var=var, value=value) | Assign(var=var, value=value):
                    if value is not None and value.lanes == 1 and value.dtype.kind in "iub" and self.known(value):
                        self.env[var] = self.value(value)
                case Store(value=value):
                    self.note("writes", stmt, stmt, value.lanes)
                case Atomic():
                    self.note("updates", stmt, stmt, 1)
                case If(condition=condition, then=then, orelse=orelse):
                    self.block(then if self.value(condition) else orelse)
                case Barrier(storage=storage):
                    self.run.barriers[self.group, self.thread].append((id(stmt), *self.loops))
                    self.epochs[storage] += 1
                case For():
                    self.loop(stmt)

    def known(self, x: Expr) -> bool:
        if isinstance(x, Load) and x.buffer not in self.data:
            return False
        return all(map(self.known, children(x))) and not (isinstance(x, Var) and x not in self.env)

    def loop(self, stmt: For) -> None:
        at, outside, number = self.value(stmt.start), self.loops, 0
        while at < self.value(stmt.stop):
            self.env[stmt.var], self.loops = at, (*outside, number)
            self.block(stmt.body)
            number += 1
            at = int(wrapped(at + self.value(stmt.step), stmt.var.dtype))
        self.loops = outside


def observe(kernel: Kernel, data: Mapping[Buffer, list[int]] | None = None) -> Run:
    """Run every invocation of `kernel`; `data` are the contents of bindings that it only reads."""
    run = Run(kernel)
    x, y, z = kernel.grid
    for group, (gz, gy, gx) in enumerate(product(range(z), range(y), range(x))):
        for thread in range(kernel.threads):
            env: dict[object, int] = {
                "workgroup_id.x": gx,
                "workgroup_id.y": gy,
                "workgroup_id.z": gz,
                "local_invocation_index": thread,
            }
            run.barriers[group, thread] = []
            _Thread(run, env, data or {}, group, thread).block(kernel.body)
    return run


def faults(run: Run) -> set[tuple[str, str]]:
    """(claim, array) for each claim that the run breaks, in the words of `verify`."""
    found: set[tuple[str, str]] = set()
    for e in run.events:
        if not 0 <= e.element < -(-e.buffer.length // e.buffer.width) * e.buffer.width:
            found.add(("in bounds", e.buffer.name))
    groups = {group for group, _ in run.barriers}
    for group in groups:
        if len({tuple(b) for (g, _), b in run.barriers.items() if g == group}) > 1:
            found.add(("uniform barriers", ""))
    found |= {("no races", name) for name in _races(run)}
    found |= {("written before read", name) for name in _unwritten(run)}
    return found


def _races(run: Run) -> Iterator[str]:
    met: dict[tuple[object, ...], list[Event]] = defaultdict(list)
    for e in run.events:
        if e.buffer.space != "private":
            key = (e.buffer, e.element) if e.buffer.space == "storage" else (e.buffer, e.element, e.group, e.epoch)
            met[key].append(e)
    for events in met.values():
        for a in events:
            for b in events:
                if {a.verb, b.verb} <= {"reads"} or {a.verb, b.verb} == {"updates"}:
                    continue
                other_group = a.group != b.group
                other_thread = a.thread != b.thread and a.group == b.group and a.epoch == b.epoch
                if other_group or other_thread:
                    yield a.buffer.name
                    break


def _unwritten(run: Run) -> Iterator[str]:
    mine: dict[tuple[object, ...], int] = {}
    first: dict[tuple[object, ...], int] = {}
    for e in run.events:
        if e.buffer.space == "workgroup" and e.verb != "reads":
            where = e.buffer, e.element, e.group
            first[where] = min(first.get(where, e.epoch), e.epoch)
            own = *where, e.thread, e.epoch
            mine[own] = min(mine.get(own, e.order), e.order)
    for e in run.events:
        if e.buffer.space == "workgroup" and e.verb != "writes":
            where = e.buffer, e.element, e.group
            before = first.get(where, 1 << 30) < e.epoch
            limit = e.order if e.verb == "reads" else e.order - 1
            if not before and mine.get((*where, e.thread, e.epoch), 1 << 30) > limit:
                yield e.buffer.name
