"""Private arrays whose indices are all constants become named variables, and values read from them stay there."""

from dataclasses import replace

from ..ir import (
    Assign,
    Block,
    Buffer,
    Component,
    Const,
    Declare,
    Expr,
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


def name_registers(kernel: Kernel) -> Kernel:
    """`kernel` with its constant-indexed private arrays as variables `name0`, `name1`, ... of the array's width."""
    indexed = _indexed(kernel)
    registers = {b: _variables(b) for b in kernel.local if b.space == "private" and b not in indexed}
    memo: dict[Expr, Expr] = {}

    def read(node: Expr) -> Expr:
        if isinstance(node, Load) and node.buffer in registers:
            assert isinstance(node.index, Const)
            return registers[node.buffer][int(node.index.value)]
        return node

    def write(block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Store) and stmt.buffer in registers:
                assert isinstance(stmt.index, Const)
                out.append(Assign(registers[stmt.buffer][int(stmt.index.value)], stmt.value))
            else:
                out.append(with_blocks(stmt, tuple([write(b) for b in blocks(stmt)])))
        return tuple(out)

    body = write(map_block(kernel.body, lambda value: rewrite(value, read, memo) if loads(value) else value))
    declared = tuple(Declare(v) for variables in registers.values() for v in variables)
    local = tuple(b for b in kernel.local if b not in registers)
    return replace(kernel, body=_Forward((*declared, *body)).result, local=local)


def _variables(buffer: Buffer) -> list[Var]:
    count = -(-buffer.length // buffer.width)
    names = [buffer.name] if count == 1 else [f"{buffer.name}{i}" for i in range(count)]
    return [var(name, buffer.dtype, lanes=buffer.width) for name in names]


def _indexed(kernel: Kernel) -> set[Buffer]:
    """Arrays with an index that is not a constant."""
    found: set[Buffer] = set()
    for stmt in statements(kernel.body):
        if isinstance(stmt, Store) and not isinstance(stmt.index, Const):
            found.add(stmt.buffer)
        for root in expressions(stmt):
            found.update(n.buffer for n in loads(root) if not isinstance(n.index, Const))
    return found


class _Forward:
    """Copy propagation: a `let` that only reads a variable goes where the variable is not set before its last use.

    One walk in order of text. `waiting` holds such lets; setting a variable whose waiting lets are still to be used
    puts them down just before. A block inside counts as setting all that it sets.
    """

    def __init__(self, block: Block) -> None:
        self.uses: dict[Expr, int] = {}
        self.mutable: set[Expr] = set()
        for stmt in statements(block):
            if isinstance(stmt, Declare):
                self.mutable.add(stmt.var)
            for root in expressions(stmt):
                for name in variables(root):
                    self.uses[name] = self.uses.get(name, 0) + 1
        self.waiting: dict[Expr, Let] = {}
        self.result = self.walk(block)

    def source(self, value: Expr) -> Expr | None:
        """The variable that `value` merely reads, if it does."""
        whole = value.value if isinstance(value, Component) else value
        return whole if isinstance(whole, Var) and whole in self.mutable else None

    def expr(self, value: Expr) -> Expr:
        touched = False
        for name in variables(value):
            self.uses[name] -= 1
            touched = touched or name in self.waiting
        return self.put_back(value) if touched else value

    def put_back(self, value: Expr) -> Expr:
        waiting = self.waiting

        def change(node: Expr) -> Expr:
            if isinstance(node, Var) and node in waiting:
                return waiting[node].value
            return node

        return rewrite(value, change, {})

    def settle(self, changed: set[Expr], out: list[Stmt]) -> None:
        """Put down the waiting lets of variables about to change that are still to be used."""
        for name, let in list(self.waiting.items()):
            source = self.source(let.value)
            if source in changed:
                del self.waiting[name]
                if self.uses[name] > 0:
                    out.append(let)

    def walk(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            inner = blocks(stmt)
            if inner:
                changed: set[Expr] = {s.var for b in inner for s in statements(b) if isinstance(s, Assign)}
                self.settle(changed, out)
            stmt = with_expressions(stmt, [self.expr(x) for x in expressions(stmt)])
            if isinstance(stmt, Let) and self.source(stmt.value) is not None:
                self.waiting[stmt.var] = stmt
                continue
            if isinstance(stmt, Assign):
                self.settle({stmt.var}, out)
            out.append(with_blocks(stmt, tuple([self.walk(b) for b in inner])) if inner else stmt)
        return tuple(out)
