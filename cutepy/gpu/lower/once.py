"""An element that nobody writes is loaded once: where it is loaded again, the first value is still there."""

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
