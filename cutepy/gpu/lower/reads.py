"""What is read has one name, and none where it is read anew for nothing.

An element that nobody writes is loaded once: where it is loaded again, the first value is still there. A name that only
reads a variable goes where the variable is not set before its last use.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from .. import ir

Known = dict[ir.Expr, ir.Var]


def load_once(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with one load of each element of a binding that it does not write, in a block and those inside it; and
    before a branch, if each way through it, or what follows it, loads the element anyhow."""
    written = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change)}
    pass_ = _Once(frozenset(b for b in kernel.buffers if b not in written), kernel.body)
    return replace(kernel, body=pass_.block(kernel.body, {}))


class _Once:
    def __init__(self, readable: frozenset[ir.Buffer], body: ir.Block) -> None:
        self.readable = readable
        self.set_again = {s.sets for s in ir.statements(body) if s.sets is not None}
        self.same: dict[ir.Expr, ir.Expr] = {}
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def block(self, block: ir.Block, outer: Known) -> ir.Block:
        known = dict(outer)
        out: list[ir.Stmt] = []
        for at, stmt in enumerate(block):
            stmt = ir.with_expressions(stmt, [self.now(x) for x in stmt.expressions])
            for let in self.anyhow(stmt, block[at + 1 :]) if stmt.blocks else ():
                if known.setdefault(let.value, let.var) is let.var:
                    out.append(let)
            if isinstance(stmt, ir.Let) and isinstance(stmt.value, ir.Load) and self.is_lasting(stmt.value):
                first = known.setdefault(stmt.value, stmt.var)
                if first is not stmt.var:
                    self.same[stmt.var] = first
                    continue
            out.append(ir.with_blocks(stmt, [self.block(inner, known) for inner in stmt.blocks]))
        return tuple(out)

    def anyhow(self, stmt: ir.Stmt, rest: ir.Block) -> list[ir.Let]:
        """The loads in the blocks of `stmt` that both its arms or, up to where one may leave, the `rest` makes too."""
        inside = [x for block in stmt.blocks for s in ir.statements(block) for x in self.lasting(s)]
        if not inside:
            return []
        stay = next((i for i, s in enumerate(rest) if isinstance(s, ir.Break)), len(rest))
        always = {let.value for s in rest[:stay] for let in self.lasting(s)}
        if isinstance(stmt, ir.If):
            arms = [{let.value for s in arm for let in self.lasting(s)} for arm in stmt.blocks]
            always |= set.intersection(*arms)
        return [replace(let, var=replace(let.var)) for let in inside if let.value in always]

    def lasting(self, stmt: ir.Stmt) -> list[ir.Let]:
        """`stmt`, if it names an element that is the same wherever it is loaded."""
        if not isinstance(stmt, ir.Let) or not isinstance(stmt.value, ir.Load):
            return []
        value = self.now(stmt.value)
        lasting = isinstance(value, ir.Load) and self.is_lasting(value)
        return [replace(stmt, value=value)] if lasting else []

    def now(self, value: ir.Expr) -> ir.Expr:
        """`value` with the first names for what was loaded again."""
        if not self.same or not any(name in self.same for name in ir.variables(value)):
            return value
        return ir.rewrite(value, lambda node: self.same.get(node, node), self.memo)

    def is_lasting(self, load: ir.Load) -> bool:
        """Whether it is the same wherever it is loaded: it reads nothing that the kernel changes."""
        fixed = all(x.buffer in self.readable for x in ir.loads(load))
        return fixed and not any(name in self.set_again for name in ir.variables(load))


def forward(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with variables read where they are used, wherever they still hold what was read."""
    return replace(kernel, body=_Forward(kernel.body).result)


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
                for name in ir.variables(root):
                    self.uses[name] = self.uses.get(name, 0) + 1
                if isinstance(stmt, ir.For):
                    self.bounds.update(ir.variables(root))
        self.waiting: dict[ir.Expr, ir.Let] = {}
        self.reading: dict[ir.Expr, list[ir.Let]] = {}
        self.result = self.walk(block)

    def source(self, value: ir.Expr) -> ir.Expr | None:
        """The variable that `value` merely reads, if it does."""
        whole = value.value if isinstance(value, ir.Component) else value
        return whole if isinstance(whole, ir.Var) and whole in self.mutable else None

    def expr(self, value: ir.Expr) -> ir.Expr:
        touched = False
        for name in ir.variables(value):
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
        roots = [root for s in ir.statements(stmt.last) for root in s.expressions]
        used: Counter[ir.Expr] = Counter(name for root in roots for name in ir.variables(root))
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
