"""Redundant load elimination, for elements that the kernel never writes.

Law: every name has the same value as before; no element is loaded that was not loaded on the same path.
"""

from dataclasses import replace

from .. import ir

#: The name that holds each element loaded so far.
Loaded = dict[ir.Expr, ir.Var]


def load_once(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with one load of each element of a binding that it does not write, in a block and those inside it; and
    before a branch, if each way through it, or what follows it, loads the element anyhow."""
    written = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change)}
    walk = _LoadOnce(frozenset(b for b in kernel.buffers if b not in written), kernel.body)
    return replace(kernel, body=walk.block(kernel.body, {}))


class _LoadOnce:
    """One walk in order of text. `same` maps a name that was loaded again to the first name of the element."""

    def __init__(self, readonly: frozenset[ir.Buffer], body: ir.Block) -> None:
        self.readonly = readonly
        self.assigned = {s.sets for s in ir.statements(body) if s.sets is not None}
        self.same: dict[ir.Expr, ir.Expr] = {}
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def block(self, block: ir.Block, outer: Loaded) -> ir.Block:
        loaded = dict(outer)  # what this block loads is in scope here and in the blocks inside it alone
        out: list[ir.Stmt] = []
        for at, stmt in enumerate(block):
            stmt = ir.with_expressions(stmt, [self.renamed(x) for x in stmt.expressions])
            # A branch whose loads are made anyhow gets them from names bound before it.
            for let in self.anticipated(stmt, block[at + 1 :]) if stmt.blocks else ():
                if loaded.setdefault(let.value, let.var) is let.var:
                    out.append(let)
            if isinstance(stmt, ir.Let) and isinstance(stmt.value, ir.Load) and self.is_invariant(stmt.value):
                # The element was loaded on every path that comes here, for blocks inherit the loads of the blocks
                # around them.
                first = loaded.setdefault(stmt.value, stmt.var)
                if first is not stmt.var:
                    self.same[stmt.var] = first
                    continue
            out.append(ir.with_blocks(stmt, [self.block(inner, loaded) for inner in stmt.blocks]))
        return tuple(out)

    def anticipated(self, stmt: ir.Stmt, rest: ir.Block) -> list[ir.Let]:
        """The loads in the blocks of `stmt` that are made on every path: by both arms of an `if`, or by `rest` up to
        the first statement that may leave the block."""
        inside = [x for block in stmt.blocks for s in ir.statements(block) for x in self.invariant_loads(s)]
        if not inside:
            return []
        # `rest` is certain to run up to its first `break`.
        stay = next((i for i, s in enumerate(rest) if isinstance(s, ir.Break)), len(rest))
        always = {let.value for s in rest[:stay] for let in self.invariant_loads(s)}
        if isinstance(stmt, ir.If):
            arms = [{let.value for s in arm for let in self.invariant_loads(s)} for arm in stmt.blocks]
            always |= set.intersection(*arms)
        # Fresh names: the lets inside stay, and the walk replaces them by these.
        return [replace(let, var=replace(let.var)) for let in inside if let.value in always]

    def invariant_loads(self, stmt: ir.Stmt) -> list[ir.Let]:
        """`stmt` if it is a `let` of an element that is the same wherever it is loaded, in the names of now."""
        if not isinstance(stmt, ir.Let) or not isinstance(stmt.value, ir.Load):
            return []
        value = self.renamed(stmt.value)
        return [replace(stmt, value=value)] if isinstance(value, ir.Load) and self.is_invariant(value) else []

    def renamed(self, value: ir.Expr) -> ir.Expr:
        """`value` with the first name of each element that was loaded again."""
        if not self.same or not any(name in self.same for name in ir.variables(value)):
            return value
        return ir.rewrite(value, lambda node: self.same.get(node, node), self.memo)

    def is_invariant(self, load: ir.Load) -> bool:
        """Whether the element is the same wherever it is loaded: it, its index and its predicate read nothing that the
        kernel changes."""
        fixed = all(x.buffer in self.readonly for x in ir.loads(load))
        return fixed and not any(name in self.assigned for name in ir.variables(load))
