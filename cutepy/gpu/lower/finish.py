"""What is done to every traced kernel at once, before anything reads it: its IR stays in units of elements."""

from dataclasses import replace

from .. import ir
from .hoist import share


def finish(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without values and arrays that nobody uses, and with floating-point values used twice named.

    Raises KernelError for what `check` and `check_constants` refuse.
    """
    useful = drop_unused(ir.check_constants(ir.check(kernel)))
    return replace(useful, body=share(useful.body))


def drop_unused(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without names, results, registers, branches and arrays of its own that are not used."""
    roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
    read: set[object] = {name for x in roots for name in ir.variables(x)}
    read |= {load.buffer for x in roots for load in ir.loads(x)}
    body = kernel.body
    while True:
        useful = _Useful(read)
        body = useful.block(body)
        left = useful.live | useful.loaded
        if len(left) == len(read):
            local = tuple(b for b in kernel.local if b in useful.loaded or b in useful.changed)
            return replace(kernel, body=body, local=local)
        read = left


class _Useful:
    """One walk from the end, which drops what only sets a name that is not used after it, or a register that is not in
    `read`, what nobody uses of an update, and branches that do nothing. What is not set again is used only after it is
    bound: `live` gains the names that are used, `loaded` and `changed` the arrays.
    """

    def __init__(self, read: set[object]) -> None:
        self.read = read
        self.live: set[object] = set()
        self.loaded: set[object] = set()
        self.changed: set[object] = set()

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in reversed(block):
            if isinstance(stmt, ir.If) and isinstance(stmt.condition, ir.Const):
                out += reversed(self.block(stmt.then if stmt.condition.value else stmt.orelse))
                continue
            if isinstance(stmt, ir.Break) and isinstance(stmt.condition, ir.Const):
                if not stmt.condition.value:
                    continue
                out.clear()  # nobody comes so far
            if not self.is_unread(stmt) and (kept := self.useful(stmt)) is not None:
                out.append(kept)
        return tuple(out[::-1])

    def is_unread(self, stmt: ir.Stmt) -> bool:
        """Whether `stmt` only sets a name that is not used after it, or one that is set again, or a register, that is
        not read at all: what a block carries may be of no use after it."""
        match stmt:
            case ir.Let(var=var):
                return var not in self.live
            case ir.Declare(var=var) | ir.Assign(var=var):
                return var not in self.read
            case ir.Store(buffer=buffer):
                return buffer.space == "private" and buffer.length == 1 and buffer not in self.read
        return False

    def useful(self, stmt: ir.Stmt) -> ir.Stmt | None:
        """What is of use of `stmt`."""
        if isinstance(stmt, ir.Break):
            stmt = replace(stmt, last=self.block(stmt.last))
        elif isinstance(stmt, ir.If | ir.For):
            match stmt:
                case ir.For(start=ir.Const(value=first), stop=ir.Const(value=end)) if first >= end:
                    return None  # a barrier in it would be one that no compiler can tell to be never reached
            inner = [self.block(b) for b in reversed(stmt.blocks)][::-1]
            if not any(inner):
                return None
            stmt = ir.with_blocks(stmt, inner)
            if isinstance(stmt, ir.If) and not stmt.then:
                stmt = replace(stmt, condition=ir.negated(stmt.condition), then=stmt.orelse, orelse=())
        elif isinstance(stmt, ir.Atomic) and stmt.result is not None and stmt.result not in self.live:
            stmt = replace(stmt, result=None)
        if isinstance(stmt, ir.Change):
            self.changed.add(stmt.buffer)
        for root in stmt.expressions:
            self.live.update(ir.variables(root))
            self.loaded.update([load.buffer for load in ir.loads(root)])
        return stmt
