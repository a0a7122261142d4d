"""Copy propagation: a `let` that only reads a variable is replaced by the variable, where that still holds the value.

Law: every statement computes the same values. A copy whose variable is set before its last use stays, just before the
statement that sets it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from .. import ir


def forward_copies(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with variables read where they are used, wherever they still hold what was read."""
    return replace(kernel, body=_ForwardCopies(kernel.body).result)


class _ForwardCopies:
    """One walk in order of text. `pending` holds the copies that were not emitted yet, `copies` them by the variable
    that they read; `uses` counts how often a name is still to be read. Setting a variable emits its pending copies
    that are still to be used. A block inside a statement counts as setting all that it sets.
    """

    def __init__(self, block: ir.Block) -> None:
        self.uses: dict[ir.Expr, int] = {}
        self.mutable: set[ir.Expr] = set()
        self.bounds: set[ir.Expr] = set()  # read by a loop's bounds, computed once before the loop changes variables
        for stmt in ir.statements(block):
            if isinstance(stmt, ir.Declare):
                self.mutable.add(stmt.var)
            for root in stmt.expressions:
                for name in ir.variables(root):
                    self.uses[name] = self.uses.get(name, 0) + 1
                if isinstance(stmt, ir.For):
                    self.bounds.update(ir.variables(root))
        self.pending: dict[ir.Expr, ir.Let] = {}
        self.copies: dict[ir.Expr, list[ir.Let]] = {}
        self.result = self.walk(block)

    def walk(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            inner = stmt.blocks
            if isinstance(stmt, ir.Break):  # what its block sets, the iterations that stay never see
                out.append(self.leave(replace(stmt, condition=self.expr(stmt.condition))))
                continue
            # The condition of an `if` is computed before its blocks set anything, the bounds of a loop on every
            # iteration.
            if isinstance(stmt, ir.If):
                stmt = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            if inner:
                changed = {s.sets: None for b in inner for s in ir.statements(b) if s.sets is not None}
                self.emit(changed, out)
            if not isinstance(stmt, ir.If):
                stmt = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            # A copy waits; it is emitted by the next statement that sets its variable, or never.
            variable = self.copied(stmt.value) if isinstance(stmt, ir.Let) and stmt.var not in self.bounds else None
            if isinstance(stmt, ir.Let) and variable is not None:
                self.pending[stmt.var] = stmt
                self.copies.setdefault(variable, []).append(stmt)
                continue
            # The value of an assignment is computed before it sets its variable, so its copies are forwarded first.
            if stmt.sets is not None:
                self.emit((stmt.sets,), out)
            out.append(ir.with_blocks(stmt, tuple([self.walk(b) for b in inner])) if inner else stmt)
        return tuple(out)

    def copied(self, value: ir.Expr) -> ir.Expr | None:
        """The variable that `value`, or the vector of which it is a lane, merely reads."""
        whole = value.value if isinstance(value, ir.Component) else value
        return whole if isinstance(whole, ir.Var) and whole in self.mutable else None

    def expr(self, value: ir.Expr) -> ir.Expr:
        """`value` with variables for pending copies; its names are used once less."""
        replaced = False
        for name in ir.variables(value):
            self.uses[name] = self.uses.get(name, 0) - 1
            replaced = replaced or name in self.pending
        if not replaced:
            return value
        return ir.rewrite(value, lambda node: self.pending[node].value if node in self.pending else node, {})

    def emit(self, changed: Iterable[ir.Expr], out: list[ir.Stmt]) -> None:
        """Emit the pending copies of variables about to change that are still to be used, in order of text."""
        lets = [let for variable in changed for let in self.copies.pop(variable, ())]
        for let in sorted(lets, key=lambda let: let.var.order):
            if self.pending.pop(let.var, None) is not None and self.uses.get(let.var, 0) > 0:
                out.append(let)

    def leave(self, stmt: ir.Break) -> ir.Stmt:
        """The block that runs on leaving a loop. Copies that it uses are pending there under fresh names, for they may
        be emitted once in it and once more after it, for the iterations that stay."""
        pending, copies, uses = self.pending, self.copies, self.uses
        roots = [root for s in ir.statements(stmt.last) for root in s.expressions]
        # The block on leaving has its own copies of the pending lets, with uses of its own.
        used: Counter[ir.Expr] = Counter(name for root in roots for name in ir.variables(root))
        own = {name: replace(let.var) for name, let in pending.items() if name in used}
        last = ir.map_block(stmt.last, lambda value: ir.rewrite(value, lambda node: own.get(node, node), {}))
        self.uses = {own.get(name, name): count for name, count in used.items()}
        self.pending = {own[name]: replace(let, var=own[name]) for name, let in pending.items() if name in own}
        self.copies = {
            variable: [self.pending[own[let.var]] for let in lets if let.var in own]
            for variable, lets in copies.items()
        }
        # Walk it in that state, then go on with the state of the iterations that stay.
        left = replace(stmt, last=self.walk(last))
        self.pending, self.copies, self.uses = pending, copies, uses
        for name, count in used.items():
            uses[name] -= count
        return left
