"""What a kernel does, invocation by invocation in plain Python: the judge of what `verify` claims.

Nothing is shared with `cutepy.gpu.verify`. Kernels whose addresses or conditions depend on bindings or workgroup memory
that they write are out of its reach. Where floats are computed with, anything may come out: what a comparison says, and
what a cast to an integer gives, is drawn at random, for a device may round as it likes. Loops end where they would step
past the end of their type.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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
    Vector,
    const,
)
from cutepy.gpu.ir.operators import FOLD, U32_LIMIT, wrapped
from cutepy.gpu.verify import Witness
from cutepy.tensor.dtypes import bool_


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


#: More turns than these a loop of a random kernel makes only where it would not end.
TURNS = 40

Code = Callable[[dict[object, int]], int]


class Site(NamedTuple):
    """A place in the text that accesses memory: what it does, where (`at`) and whether (`where`), as code."""

    verb: str
    buffer: Buffer
    lanes: int
    at: Code
    where: Code | None
    key: tuple[int, int]
    seen: bool
    """False where a private array is accessed inside its bounds: only where its vectors begin matters."""


@dataclass
class Run:
    """All that happened. `barriers` holds the barriers of each invocation, in order."""

    kernel: Kernel
    events: list[Event] = field(default_factory=list)
    barriers: dict[tuple[int, int], list[tuple[object, ...]]] = field(default_factory=lambda: defaultdict(list))
    data: Mapping[Buffer, list[int]] = field(default_factory=dict)
    wrapped: bool = False
    misaligned: set[str] = field(default_factory=set)
    salt: int = 0
    sites: dict[int, list[Site]] = field(default_factory=dict)
    code: dict[Expr, Code] = field(default_factory=dict)

    def compiled(self, x: Expr) -> Code:
        """A function from what the names of an invocation hold to the value of `x`."""
        known = self.code.get(x)
        if known is None:
            known = self.code[x] = self._compiled(x)
        return known

    def _compiled(self, x: Expr) -> Code:
        dtype = x.dtype
        match x:
            case Const(value=number):
                constant = number if dtype.kind == "f" else int(number)
                return lambda env: constant
            case Builtin(name=name, axis=axis):
                return lambda env: env[name, axis]
            case Var():
                return lambda env: env[x]
            case Unary(op=op, value=y):
                inner = self.compiled(y)
                apply = {"-": lambda v: -v, "~": lambda v: ~v, "!": lambda v: not v}[op]
                return lambda env: int(wrapped(apply(inner(env)), dtype))
            case Binary(left=left, right=right) | Call(args=(left, right)) if left.dtype.kind == "f" and not (
                all(isinstance(y, Const | Load) for y in (left, right))
            ):
                return self._drawn(x, 2)
            case Binary(op=op, left=left, right=right):
                fold, one, two = FOLD[op], self.compiled(left), self.compiled(right)
                if dtype.kind == "u":
                    return lambda env: fold(one(env), two(env)) % U32_LIMIT
                return lambda env: int(wrapped(fold(one(env), two(env)), dtype))
            case Select(condition=condition, then=then, other=other):
                test, yes, no = self.compiled(condition), self.compiled(then), self.compiled(other)
                return lambda env: yes(env) if test(env) else no(env)
            case Call(name="min" | "max", args=args):
                choose, each = {"min": min, "max": max}[x.name], [self.compiled(a) for a in args]
                return lambda env: choose(f(env) for f in each)
            case Cast(value=y) if y.dtype.kind == "f":
                return self._drawn(x, 1 << (5 if self.salt % 2 else 32))
            case Cast(value=y):
                inner = self.compiled(y)
                return lambda env: int(wrapped(inner(env), dtype))
            case Load(buffer=buffer, index=index, where=where):
                at, test = self.compiled(index), self.compiled(where if where is not None else const(True, bool_))
                if buffer.space == "private":
                    return lambda env: env.get((buffer, at(env)), 0)
                contents = self.data[buffer]
                return lambda env: contents[i] if test(env) and 0 <= (i := at(env)) < len(contents) else 0
        raise AssertionError(x)

    def _drawn(self, x: Expr, below: int) -> Code:
        """A number that is the same for the same operands."""
        salt = self.salt, len(self.code)
        operands = [self.compiled(y) for y in _below_floats(x)]
        return lambda env: hash((salt, *[f(env) for f in operands])) % below

    def sites_of(self, stmt: Stmt) -> list[Site]:
        """What a statement reads, operands first, then what it changes."""
        known = self.sites.get(id(stmt))
        if known is None:
            found: dict[Expr, None] = {}
            for root in stmt.expressions:
                _loads(root, found)
            known = [self._site("reads", stmt, x, x.lanes) for x in found if isinstance(x, Load)]
            if isinstance(stmt, Store | Atomic):
                lanes = stmt.value.lanes if isinstance(stmt, Store) else 1
                verb = "writes" if isinstance(stmt, Store) else "sets" if stmt.op == "Store" else "updates"
                known.append(self._site(verb, stmt, stmt, lanes))
            self.sites[id(stmt)] = known
        return known

    def _site(self, verb: str, stmt: Stmt, node: Load | Store | Atomic, lanes: int) -> Site:
        buffer, index = node.buffer, node.index
        inside = isinstance(index, Const) and 0 <= index.value < buffer.length - lanes
        where = node.where if isinstance(node, Load) else None
        test = None if where is None else self.compiled(where)
        key = id(stmt), id(node)
        return Site(verb, buffer, lanes, self.compiled(index), test, key, not (buffer.space == "private" and inside))


def _below_floats(x: Expr) -> list[Expr]:
    """What the floats in `x` are made of: integers, and elements of memory."""
    return [y for y in x.operands if y.dtype.kind != "f" or isinstance(y, Load)] + [
        z for y in x.operands if y.dtype.kind == "f" and not isinstance(y, Load) for z in _below_floats(y)
    ]


def _loads(x: Expr, found: dict[Expr, None]) -> None:
    if x not in found:
        for operand in x.operands:
            _loads(operand, found)
        found[x] = None


@dataclass
class _Thread:
    run: Run
    env: dict[object, int]
    group: int
    thread: int
    order: int = 0
    epochs: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    loops: tuple[int, ...] = ()

    def value(self, x: Expr) -> int:
        return self.run.compiled(x)(self.env)

    def note(self, site: Site) -> None:
        self.order += 1
        buffer, lanes, run = site.buffer, site.lanes, self.run
        if not site.seen and lanes == 1:
            return
        first = site.at(self.env) * buffer.width
        if first % lanes:
            run.misaligned.add(buffer.name)
        elif not site.seen:
            return
        epoch = self.epochs[buffer.space == "storage"]
        for element in range(first, first + lanes):
            run.events.append(
                Event(self.group, self.thread, epoch, self.order, site.verb, buffer, element, site.key, self.loops)
            )

    def block(self, block: Block) -> None:
        for stmt in block:
            for site in self.run.sites_of(stmt):
                if site.where is None or site.where(self.env):
                    self.note(site)
            match stmt:
                case Let(var=var, value=value) | Declare(var=var, value=value) | Assign(var=var, value=value):
                    if value is not None and value.lanes == 1 and value.dtype.kind in "iub" and self.known(value):
                        self.env[var] = self.value(value)
                case Store(buffer=buffer, value=value):
                    if buffer.space == "private" and value.dtype.kind in "iub" and self.known(value):
                        first = self.value(stmt.index)
                        for i, part in enumerate(value.items if isinstance(value, Vector) else (value,)):
                            self.env[buffer, first + i] = self.value(part)
                case If(condition=condition, then=then, orelse=orelse):
                    self.block(then if self.value(condition) else orelse)
                case Barrier(storage=storage):
                    self.run.barriers[self.group, self.thread].append((id(stmt), *self.loops))
                    self.epochs[storage] += 1
                case For():
                    self.loop(stmt)

    def known(self, x: Expr) -> bool:
        if isinstance(x, Load) and x.buffer.space != "private" and x.buffer not in self.run.data:
            return False
        match x:  # what floats decide is drawn, whatever they are
            case Binary(left=left, right=right) if left.dtype.kind == "f" and not (
                all(isinstance(y, Const | Load) for y in (left, right))
            ):
                return True
            case Cast(value=y) if y.dtype.kind == "f":
                return True
        return all(map(self.known, x.operands)) and not (isinstance(x, Var) and x not in self.env)

    def loop(self, stmt: For) -> None:
        at, outside, number = self.value(stmt.start), self.loops, 0
        while at < self.value(stmt.stop):
            self.env[stmt.var], self.loops = at, (*outside, number)
            self.block(stmt.body)
            number += 1
            after = at + self.value(stmt.step)
            at = int(wrapped(after, stmt.var.dtype))
            if at != after or number > TURNS:
                self.run.wrapped = True
                break
        self.loops = outside


def observe(kernel: Kernel, data: Mapping[Buffer, list[int]] | None = None, salt: int = 0) -> Run:
    """Run every invocation of `kernel`; `data` are the contents of bindings that it only reads, `salt` draws what
    floats decide."""
    run = Run(kernel, data=data or {}, salt=salt)
    x, y, z = kernel.grid
    for group, (gz, gy, gx) in enumerate(product(range(z), range(y), range(x))):
        for thread in range(kernel.threads):
            env: dict[object, int] = {
                ("workgroup_id", 0): gx,
                ("workgroup_id", 1): gy,
                ("workgroup_id", 2): gz,
                ("local_invocation_index", None): thread,
            }
            run.barriers[group, thread] = []
            _Thread(run, env, group, thread).block(kernel.body)
    return run


def is_made(run: Run, witness: Witness) -> bool:
    """Whether the invocations of a witness about an array do what it says, to that element."""
    x, y, _ = run.kernel.grid
    made = {
        (e.group, e.thread, e.verb.replace("sets", "updates"), e.element)
        for e in run.events
        if e.buffer.name == witness.array
    }
    return not witness.array or all(
        (i + x * (j + y * k), use.thread, use.verb, witness.element) in made
        for use in witness.uses
        for i, j, k in [use.workgroup]
    )


def faults(run: Run) -> set[tuple[str, str]]:
    """(claim, array) for each claim that the run breaks, in the words of `verify`."""
    found: set[tuple[str, str]] = set()
    for e in run.events:
        if not 0 <= e.element < -(-e.buffer.length // e.buffer.width) * e.buffer.width:
            found.add(("in bounds", e.buffer.name))
    found |= {("aligned", name) for name in run.misaligned}
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
            for b in events if a.verb != "reads" else ():
                if {a.verb, b.verb} <= {"updates", "sets"}:
                    continue
                other_group = a.group != b.group
                other_thread = a.thread != b.thread and a.group == b.group and a.epoch == b.epoch
                if other_group or other_thread:
                    yield a.buffer.name
                    break


def by_order(run: Run) -> set[tuple[Buffer, int]]:
    """Elements of bindings that one thread sets and another updates, so that the order of the two shows in the end."""
    setters: dict[tuple[Buffer, int], set[tuple[int, int]]] = defaultdict(set)
    for e in run.events:
        if e.verb == "sets" and e.buffer.space == "storage":
            setters[e.buffer, e.element].add((e.group, e.thread))
    return {
        (e.buffer, e.element)
        for e in run.events
        if e.verb == "updates" and setters.get((e.buffer, e.element), set()) - {(e.group, e.thread)}
    }


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
        if e.buffer.space == "workgroup" and e.verb in ("reads", "updates"):
            where = e.buffer, e.element, e.group
            before = first.get(where, 1 << 30) < e.epoch
            limit = e.order if e.verb == "reads" else e.order - 1
            if not before and mine.get((*where, e.thread, e.epoch), 1 << 30) > limit:
                yield e.buffer.name
