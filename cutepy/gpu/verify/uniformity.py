"""Which barriers all threads of a workgroup come to, by WGSL's rules: a fixed point over the text, in no order of it.

Law: a name or register is uniform if all that is put in it is uniform, where all that decides who puts it there is; who
is in a loop is decided by its bounds and by every condition on which it is left. What a `UniformLoad` gives is uniform.
Whatever is not shown to be is not. A compiler that follows WGSL's own analysis agrees, for that one is finer.
"""

from .. import ir

Holder = ir.Expr | ir.Buffer


def uniform_fences(kernel: ir.Kernel) -> set[ir.Stmt]:
    """The barriers of `kernel` in uniform control flow."""
    written = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Change)}
    walk = _Uniformity({b for b in kernel.buffers if b not in written})
    while True:
        before = len(walk.mixed)
        walk.fences = set()
        walk.block(kernel.body, True)
        if len(walk.mixed) == before:
            return walk.fences


class _Uniformity:
    """One walk. `mixed` are the names and registers in which threads may differ: none at first, more with each walk."""

    def __init__(self, readable: set[ir.Buffer]) -> None:
        self.readable = readable
        self.mixed: set[Holder] = set()
        self.fences: set[ir.Stmt] = set()

    def agreed(self, value: ir.Expr) -> bool:
        def leaf(node: ir.Expr) -> bool:
            if isinstance(node, ir.Builtin):
                return node.name in ("workgroup_id", "num_workgroups")
            return node not in self.mixed

        def readable(buffer: ir.Buffer) -> bool:
            return buffer in self.readable or (buffer.space == ir.AddressSpace.PRIVATE and buffer not in self.mixed)

        return ir.is_uniform(value, leaf, readable, {})

    def block(self, block: ir.Block, together: bool) -> None:
        """`together` tells that all threads come here, as far as is known."""
        for stmt in block:
            here = together and all(map(self.agreed, stmt.expressions))
            match stmt:
                case ir.UniformLoad() | ir.Barrier():
                    self.fences |= {stmt} if together else set()
                    if not together and stmt.binds is not None:
                        self.mixed.add(stmt.binds)
                case ir.Let():
                    if not self.agreed(stmt.value):
                        self.mixed.add(stmt.var)
                case ir.Change():
                    if not here or not isinstance(stmt, ir.Store):
                        self.mixed.add(stmt.buffer)
                    if stmt.binds is not None:
                        self.mixed.add(stmt.binds)
                case ir.Declare() | ir.Assign():
                    if not here:
                        self.mixed.add(stmt.var)
                case ir.For():
                    exits = [s for s in stmt.body if isinstance(s, ir.Break)]
                    inside = here and all(self.agreed(s.condition) for s in exits)
                    if not inside:
                        self.mixed.add(stmt.var)
                    self.block(stmt.body, inside)
                case _ if stmt.blocks:
                    for inner in stmt.blocks:
                        self.block(inner, here)
                case _ if stmt.binds is not None or stmt.sets is not None:
                    self.mixed |= {x for x in (stmt.binds, stmt.sets) if x is not None}
