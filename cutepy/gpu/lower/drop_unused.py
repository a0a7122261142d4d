"""Dead code elimination: names, registers, branches and arrays that nothing reads.

Law: the kernel writes the same elements of its bindings and of workgroup memory, in the same order, with the same
values. Loads that go were checked before (`finish`), so a kernel does not become right by losing an access.
"""

from dataclasses import replace

from .. import ir


def drop_unused(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without names, results of atomics, registers, branches and arrays of its own that are not used."""
    roots = [root for stmt in ir.statements(kernel.body) for root in stmt.expressions]
    read: set[object] = {name for x in roots for name in ir.variables(x)}
    read |= {load.buffer for x in roots for load in ir.loads(x)}
    body = kernel.body
    # Fixed point: what only dead code read is dead in the next walk. The sets of reads shrink, so it ends.
    while True:
        walk = _LiveStatements(read)
        body = walk.block(body)
        still_read = walk.live | walk.loaded
        if len(still_read) == len(read):
            local = tuple(b for b in kernel.local if b in walk.loaded or b in walk.changed)
            return replace(kernel, body=body, local=local)
        read = still_read


class _LiveStatements:
    """One backward walk. `live` gains the names that kept statements read, `loaded` and `changed` the arrays.

    A `let` is dead if no statement after it reads its name. A variable that is set more than once, and a register of
    one element, is dead if nothing at all reads it (`read`): the next iteration of a loop may.
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
                # An `if` on a constant is one of its blocks; the walk goes backwards, so its statements are appended
                # reversed.
                out += reversed(self.block(stmt.then if stmt.condition.value else stmt.orelse))
                continue
            if isinstance(stmt, ir.Break) and isinstance(stmt.condition, ir.Const):
                if not stmt.condition.value:
                    continue
                out.clear()  # no iteration comes past an unconditional break
            if not self.is_dead(stmt) and (kept := self.kept(stmt)) is not None:
                out.append(kept)
        return tuple(out[::-1])

    def is_dead(self, stmt: ir.Stmt) -> bool:
        """Whether all that `stmt` does is to set a name or a register that is not read."""
        match stmt:
            # A `let` is in scope after itself only, so the reads that the backward walk has met are all of its reads.
            case ir.Let(var=var):
                return var not in self.live
            # A variable, and a register array of one element, may be read by an earlier statement in the next
            # iteration.
            case ir.Declare(var=var) | ir.Assign(var=var):
                return var not in self.read
            case ir.Store(buffer=buffer):
                return buffer.space == ir.AddressSpace.PRIVATE and buffer.length == 1 and buffer not in self.read
        return False

    def kept(self, stmt: ir.Stmt) -> ir.Stmt | None:
        """`stmt` without its dead inner statements; None where none is left. Notes what it reads and changes."""
        if isinstance(stmt, ir.Break):
            stmt = replace(stmt, last=self.block(stmt.last))
        elif stmt.blocks:
            match stmt:
                case ir.For(start=ir.Const(value=first), stop=ir.Const(value=end)) if first >= end:
                    return None  # no iteration: but a compiler would refuse a barrier in its body
            # Backward: the block that comes last in the text is walked first.
            inner = [self.block(b) for b in reversed(stmt.blocks)][::-1]
            if not any(inner):
                return None
            stmt = ir.with_blocks(stmt, inner)
            # if (c) {} else { S } -> if (!c) { S }
            if isinstance(stmt, ir.If) and not stmt.then:
                stmt = replace(stmt, condition=ir.negated(stmt.condition), then=stmt.orelse, orelse=())
        # An atomic is a side effect and stays; only the name of its old value goes.
        elif isinstance(stmt, ir.Atomic) and stmt.result is not None and stmt.result not in self.live:
            stmt = replace(stmt, result=None)
        if isinstance(stmt, ir.Change):
            self.changed.add(stmt.buffer)
        for root in stmt.expressions:
            self.live.update(ir.variables(root))
            self.loaded.update([load.buffer for load in ir.loads(root)])
        return stmt
