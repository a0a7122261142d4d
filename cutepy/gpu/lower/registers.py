"""Private arrays whose indices are all constants become named variables, and values read from them stay there."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ...layout.affine import Interval
from .. import ir
from ..ir import variables
from ..ranges import domain


def name_registers(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with the private arrays that are accessed in whole vectors at constant indices as variables `name0`,
    `name1`, ... of those vectors.

    Done before and after arrays get their widths: arrays that are whole already need none, and cost no rewriting.
    """
    units = _whole(kernel)
    if not units:
        return kernel
    bounds = _bounds(kernel) if any(b.dtype.kind in "iu" for b in units) else {}
    registers = {b: _variables(b, units[b], bounds.get(b, domain(b.dtype))) for b in kernel.local if b in units}
    memo: dict[ir.Expr, ir.Expr] = {}

    def at(buffer: ir.Buffer, index: ir.Expr) -> ir.Var:
        assert isinstance(index, ir.Const)
        return registers[buffer][int(index.value) * buffer.width // units[buffer]]

    def read(node: ir.Expr) -> ir.Expr:
        return at(node.buffer, node.index) if isinstance(node, ir.Load) and node.buffer in registers else node

    def write(block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            if isinstance(stmt, ir.Store) and stmt.buffer in registers:
                out.append(ir.Assign(at(stmt.buffer, stmt.index), stmt.value))
            else:
                out.append(ir.with_blocks(stmt, tuple([write(b) for b in stmt.blocks])))
        return tuple(out)

    body = write(ir.map_block(kernel.body, lambda value: ir.rewrite(value, read, memo) if ir.loads(value) else value))
    declared = [v for variables in registers.values() for v in variables]
    local = tuple(b for b in kernel.local if b not in registers)
    return replace(kernel, body=_Forward(_declare(declared, body)).result, local=local)


def _bounds(kernel: ir.Kernel) -> dict[ir.Buffer, Interval]:
    """Where the integers lie that are read from each private array: in the bounds of the names that read them."""
    found: dict[ir.Buffer, Interval] = {}
    for stmt in ir.statements(kernel.body):
        for root in stmt.expressions:
            for node in ir.loads(root):
                if node.buffer.space == "private" and node.dtype.kind in "iu":
                    named = isinstance(stmt, ir.Let) and root is node and node.lanes == 1
                    low, high = (stmt.var.lo, stmt.var.hi) if named and isinstance(stmt, ir.Let) else domain(node.dtype)
                    a, b = found.get(node.buffer, (low, high))
                    found[node.buffer] = min(a, low), max(b, high)
    return found


def _variables(buffer: ir.Buffer, unit: int, bounds: Interval) -> list[ir.Var]:
    count = -(-buffer.length // unit)
    names = [buffer.name] if count == 1 else [f"{buffer.name}{i}" for i in range(count)]
    return [ir.var(name, buffer.dtype, lanes=unit, lo=bounds[0], hi=bounds[1]) for name in names]


def _whole(kernel: ir.Kernel) -> dict[ir.Buffer, int]:
    """The private arrays of which every access is one whole vector at a constant index, with the elements of one."""
    lanes: dict[ir.Buffer, int] = {}

    def see(buffer: ir.Buffer, index: ir.Expr, count: int, *, always: bool = True) -> None:
        if buffer.space != "private":
            return
        at = int(index.value) * buffer.width if always and isinstance(index, ir.Const) else -1
        aligned = 0 <= at <= buffer.length - count and at % count == 0
        if not aligned or lanes.setdefault(buffer, count) != count:
            lanes[buffer] = 0

    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Change):
            see(stmt.buffer, stmt.index, stmt.value.lanes, always=isinstance(stmt, ir.Store))
        for root in stmt.expressions:
            for node in ir.loads(root):
                see(node.buffer, node.index, node.lanes, always=node.where is None)
    return {buffer: count for buffer, count in lanes.items() if count}


def _declare(names: list[ir.Var], body: ir.Block) -> ir.Block:
    """`body` with each of the variables declared: where it is first set, if all of the body can follow, or before its
    first use."""
    waiting: dict[ir.Expr, ir.Var] = dict(zip(names, names, strict=True))
    out: list[ir.Stmt] = []
    for at, stmt in enumerate(body):
        if not waiting:
            return (*out, *body[at:])
        used = {v for s in ir.statements((stmt,)) for v in _mentioned(s)}
        fresh = isinstance(stmt, ir.Assign) and stmt.lane is None and stmt.var not in set(variables(stmt.value))
        for name in [] if waiting.keys().isdisjoint(used) else [v for v in waiting if v in used]:
            first = waiting.pop(name)
            if fresh and isinstance(stmt, ir.Assign) and stmt.var is name:
                stmt = ir.Declare(first, stmt.value)
            else:
                out.append(ir.Declare(first))
        out.append(stmt)
    return tuple(out)


def _mentioned(stmt: ir.Stmt) -> list[ir.Var]:
    return [stmt.sets, *_read(stmt)] if stmt.sets is not None else _read(stmt)


def _read(stmt: ir.Stmt) -> list[ir.Var]:
    return [v for root in stmt.expressions for v in variables(root)]


class _Forward:
    """Copy propagation: a `let` that only reads a variable goes where the variable is not set before its last use.

    One walk in order of text. `waiting` holds such lets; setting a variable whose waiting lets are still to be used
    puts them down just before. A block inside counts as setting all that it sets.
    """

    def __init__(self, block: ir.Block) -> None:
        self.uses: dict[ir.Expr, int] = {}
        self.mutable: set[ir.Expr] = set()
        self.bounds: set[ir.Expr] = set()  # of loops: they are computed once, before the loop changes what they read
        for stmt in ir.statements(block):
            if isinstance(stmt, ir.Declare):
                self.mutable.add(stmt.var)
            for root in stmt.expressions:
                for name in variables(root):
                    self.uses[name] = self.uses.get(name, 0) + 1
                if isinstance(stmt, ir.For):
                    self.bounds.update(variables(root))
        self.waiting: dict[ir.Expr, ir.Let] = {}
        self.reading: dict[ir.Expr, list[ir.Let]] = {}
        self.result = self.walk(block)

    def source(self, value: ir.Expr) -> ir.Expr | None:
        """The variable that `value` merely reads, if it does."""
        whole = value.value if isinstance(value, ir.Component) else value
        return whole if isinstance(whole, ir.Var) and whole in self.mutable else None

    def expr(self, value: ir.Expr) -> ir.Expr:
        touched = False
        for name in variables(value):
            self.uses[name] = self.uses.get(name, 0) - 1
            touched = touched or name in self.waiting
        return self.put_back(value) if touched else value

    def put_back(self, value: ir.Expr) -> ir.Expr:
        waiting = self.waiting

        def change(node: ir.Expr) -> ir.Expr:
            if isinstance(node, ir.Var) and node in waiting:
                return waiting[node].value
            return node

        return ir.rewrite(value, change, {})

    def settle(self, changed: Iterable[ir.Expr], out: list[ir.Stmt]) -> None:
        """Put down the waiting lets of variables about to change that are still to be used, in order of text."""
        lets = [let for source in changed for let in self.reading.pop(source, ())]
        for let in sorted(lets, key=lambda let: let.var.order):
            if self.waiting.pop(let.var, None) is not None and self.uses.get(let.var, 0) > 0:
                out.append(let)

    def leave(self, stmt: ir.Break) -> ir.Stmt:
        """Only what is used in it waits there, under names of its own: they may be put down outside too."""
        waiting, reading, uses = self.waiting, self.reading, self.uses
        used: Counter[ir.Expr] = Counter(name for s in ir.statements(stmt.last) for name in _read(s))
        own = {name: replace(let.var) for name, let in waiting.items() if name in used}
        last = ir.map_block(stmt.last, lambda value: ir.rewrite(value, lambda node: own.get(node, node), {}))
        self.uses = {own.get(name, name): count for name, count in used.items()}
        self.waiting = {own[name]: replace(let, var=own[name]) for name, let in waiting.items() if name in own}
        self.reading = {
            source: [self.waiting[own[let.var]] for let in lets if let.var in own] for source, lets in reading.items()
        }
        left = replace(stmt, last=self.walk(last))
        self.waiting, self.reading, self.uses = waiting, reading, uses
        for name, count in used.items():
            uses[name] -= count
        return left

    def walk(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            inner = stmt.blocks
            if isinstance(stmt, ir.Break):  # what it sets is of no concern to those who stay
                out.append(self.leave(replace(stmt, condition=self.expr(stmt.condition))))
                continue
            if isinstance(stmt, ir.If):  # its condition is computed before anything in it
                stmt = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            if inner:
                changed = {s.sets: None for b in inner for s in ir.statements(b) if s.sets is not None}
                self.settle(changed, out)
            if not isinstance(stmt, ir.If):
                stmt = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            source = self.source(stmt.value) if isinstance(stmt, ir.Let) and stmt.var not in self.bounds else None
            if isinstance(stmt, ir.Let) and source is not None:
                self.waiting[stmt.var] = stmt
                self.reading.setdefault(source, []).append(stmt)
                continue
            if stmt.sets is not None:
                self.settle((stmt.sets,), out)
            out.append(ir.with_blocks(stmt, tuple([self.walk(b) for b in inner])) if inner else stmt)
        return tuple(out)
