"""Private arrays whose indices are all constants become named variables, and values read from them stay there."""

from collections.abc import Iterable
from dataclasses import replace

from ...layout.affine import Interval
from ..ir import (
    Assign,
    Block,
    Buffer,
    Component,
    Const,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Load,
    Stmt,
    Store,
    Var,
    blocks,
    expressions,
    loads,
    map_block,
    rewrite,
    statements,
    var,
    variables,
    with_blocks,
    with_expressions,
)
from ..ranges import domain


def name_registers(kernel: Kernel) -> Kernel:
    """`kernel` with the private arrays that are accessed in whole vectors at constant indices as variables `name0`,
    `name1`, ... of those vectors.

    Done before and after arrays get their widths: arrays that are whole already need none, and cost no rewriting.
    """
    units = _whole(kernel)
    if not units:
        return kernel
    bounds = _bounds(kernel)
    registers = {b: _variables(b, units[b], bounds.get(b, domain(b.dtype))) for b in kernel.local if b in units}
    memo: dict[Expr, Expr] = {}

    def at(buffer: Buffer, index: Expr) -> Var:
        assert isinstance(index, Const)
        return registers[buffer][int(index.value) * buffer.width // units[buffer]]

    def read(node: Expr) -> Expr:
        return at(node.buffer, node.index) if isinstance(node, Load) and node.buffer in registers else node

    def write(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Store) and stmt.buffer in registers:
                out.append(Assign(at(stmt.buffer, stmt.index), stmt.value))
            else:
                out.append(with_blocks(stmt, tuple([write(b) for b in blocks(stmt)])))
        return tuple(out)

    body = write(map_block(kernel.body, lambda value: rewrite(value, read, memo) if loads(value) else value))
    declared = [v for variables in registers.values() for v in variables]
    local = tuple(b for b in kernel.local if b not in registers)
    return replace(kernel, body=_Forward(_declare(declared, body)).result, local=local)


def _bounds(kernel: Kernel) -> dict[Buffer, Interval]:
    """Where the integers lie that are read from each private array: in the bounds of the names that read them."""
    found: dict[Buffer, Interval] = {}
    for stmt in statements(kernel.body):
        for root in expressions(stmt):
            for node in loads(root):
                if node.buffer.space == "private" and node.dtype.kind in "iu":
                    named = isinstance(stmt, Let) and root is node and node.lanes == 1
                    low, high = (stmt.var.lo, stmt.var.hi) if named and isinstance(stmt, Let) else domain(node.dtype)
                    a, b = found.get(node.buffer, (low, high))
                    found[node.buffer] = min(a, low), max(b, high)
    return found


def _variables(buffer: Buffer, unit: int, bounds: Interval) -> list[Var]:
    count = -(-buffer.length // unit)
    names = [buffer.name] if count == 1 else [f"{buffer.name}{i}" for i in range(count)]
    return [var(name, buffer.dtype, lanes=unit, lo=bounds[0], hi=bounds[1]) for name in names]


def _whole(kernel: Kernel) -> dict[Buffer, int]:
    """The private arrays of which every access is one whole vector at a constant index, with the elements of one."""
    lanes: dict[Buffer, int] = {}

    def see(buffer: Buffer, index: Expr, count: int, *, always: bool = True) -> None:
        if buffer.space != "private":
            return
        at = int(index.value) * buffer.width if always and isinstance(index, Const) else -1
        aligned = 0 <= at <= buffer.length - count and at % count == 0
        if not aligned or lanes.setdefault(buffer, count) != count:
            lanes[buffer] = 0

    for stmt in statements(kernel.body):
        if isinstance(stmt, Store):
            see(stmt.buffer, stmt.index, stmt.value.lanes)
        for root in expressions(stmt):
            for node in loads(root):
                see(node.buffer, node.index, node.lanes, always=node.where is None)
    return {buffer: count for buffer, count in lanes.items() if count}


def _declare(names: list[Var], body: Block) -> Block:
    """`body` with each of the variables declared: where it is first set, if all of the body can follow, or before its
    first use."""
    waiting: dict[Expr, Var] = dict(zip(names, names, strict=True))
    out: list[Stmt] = []
    for at, stmt in enumerate(body):
        if not waiting:
            return (*out, *body[at:])
        used = {v for s in statements((stmt,)) for v in _mentioned(s)}
        fresh = isinstance(stmt, Assign) and stmt.lane is None and stmt.var not in set(variables(stmt.value))
        for name in [] if waiting.keys().isdisjoint(used) else [v for v in waiting if v in used]:
            first = waiting.pop(name)
            if fresh and isinstance(stmt, Assign) and stmt.var is name:
                stmt = Declare(first, stmt.value)
            else:
                out.append(Declare(first))
        out.append(stmt)
    return tuple(out)


def _mentioned(stmt: Stmt) -> list[Var]:
    read = [v for root in expressions(stmt) for v in variables(root)]
    return [stmt.var, *read] if isinstance(stmt, Assign) else read


class _Forward:
    """Copy propagation: a `let` that only reads a variable goes where the variable is not set before its last use.

    One walk in order of text. `waiting` holds such lets; setting a variable whose waiting lets are still to be used
    puts them down just before. A block inside counts as setting all that it sets.
    """

    def __init__(self, block: Block) -> None:
        self.uses: dict[Expr, int] = {}
        self.mutable: set[Expr] = set()
        self.bounds: set[Expr] = set()  # of loops: they are computed once, before the loop changes what they read
        for stmt in statements(block):
            if isinstance(stmt, Declare):
                self.mutable.add(stmt.var)
            for root in expressions(stmt):
                for name in variables(root):
                    self.uses[name] = self.uses.get(name, 0) + 1
                if isinstance(stmt, For):
                    self.bounds.update(variables(root))
        self.waiting: dict[Expr, Let] = {}
        self.reading: dict[Expr, list[Let]] = {}
        self.result = self.walk(block)

    def source(self, value: Expr) -> Expr | None:
        """The variable that `value` merely reads, if it does."""
        whole = value.value if isinstance(value, Component) else value
        return whole if isinstance(whole, Var) and whole in self.mutable else None

    def expr(self, value: Expr) -> Expr:
        touched = False
        for name in variables(value):
            self.uses[name] = self.uses.get(name, 0) - 1
            touched = touched or name in self.waiting
        return self.put_back(value) if touched else value

    def put_back(self, value: Expr) -> Expr:
        waiting = self.waiting

        def change(node: Expr) -> Expr:
            if isinstance(node, Var) and node in waiting:
                return waiting[node].value
            return node

        return rewrite(value, change, {})

    def settle(self, changed: Iterable[Expr], out: list[Stmt]) -> None:
        """Put down the waiting lets of variables about to change that are still to be used, in order of text."""
        lets = [let for source in changed for let in self.reading.pop(source, ())]
        for let in sorted(lets, key=lambda let: let.var.order):
            if self.waiting.pop(let.var, None) is not None and self.uses.get(let.var, 0) > 0:
                out.append(let)

    def walk(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            inner = blocks(stmt)
            if isinstance(stmt, If):  # its condition is computed before anything in it
                stmt = with_expressions(stmt, [self.expr(x) for x in expressions(stmt)])
            if inner:
                changed = {s.var: None for b in inner for s in statements(b) if isinstance(s, Assign)}
                self.settle(changed, out)
            if not isinstance(stmt, If):
                stmt = with_expressions(stmt, [self.expr(x) for x in expressions(stmt)])
            source = self.source(stmt.value) if isinstance(stmt, Let) and stmt.var not in self.bounds else None
            if isinstance(stmt, Let) and source is not None:
                self.waiting[stmt.var] = stmt
                self.reading.setdefault(source, []).append(stmt)
                continue
            if isinstance(stmt, Assign):
                self.settle((stmt.var,), out)
            out.append(with_blocks(stmt, tuple([self.walk(b) for b in inner])) if inner else stmt)
        return tuple(out)
