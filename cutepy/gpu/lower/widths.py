"""Which arrays are declared over vec2 or vec4, with all indices in those units; bool bindings become u32."""

from dataclasses import replace

from ...tensor.dtypes import bool_, u32
from .. import ir
from ..simplify import quotient, simplify


def choose_widths(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with each array over the widest vectors that all its stores and its widest loads agree on.

    A store never writes part of a declared vector: WGSL may write the rest of it too, under other invocations' feet.
    """
    stores: dict[ir.Buffer, set[int]] = {}
    read: dict[ir.Buffer, set[int]] = {}
    narrow: set[ir.Buffer] = set()
    atomic: set[ir.Buffer] = set()
    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Store):
            stores.setdefault(stmt.buffer, set()).add(stmt.value.lanes)
        elif isinstance(stmt, ir.Change):
            narrow.add(stmt.buffer)
            atomic |= {stmt.buffer} if stmt.VERB == "updates" else set()
        for root in stmt.expressions:
            for node in ir.loads(root):
                read.setdefault(node.buffer, set()).add(node.lanes)
                if isinstance(node, ir.MatrixLoad):
                    narrow.add(node.buffer)
    renamed: dict[ir.Buffer, ir.Buffer] = {}
    for buffer in (*kernel.buffers, *kernel.local):
        width = max(read.get(buffer, {1}))
        if buffer in stores:
            width = min(stores[buffer]) if buffer not in read else min(width, *stores[buffer])
        if buffer in narrow:
            width = 1
        dtype = u32 if buffer.dtype is bool_ and buffer.space == "storage" else buffer.dtype
        renamed[buffer] = replace(buffer, width=width, dtype=dtype, atomic=buffer in atomic)
    return replace(
        kernel,
        buffers=tuple(renamed[b] for b in kernel.buffers),
        local=tuple(renamed[b] for b in kernel.local),
        body=_Widen(renamed).block(kernel.body),
    )


class _Widen:
    """Rewrites accesses to the arrays that take the place of the old ones."""

    def __init__(self, renamed: dict[ir.Buffer, ir.Buffer]) -> None:
        self.renamed = renamed
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            new = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            if isinstance(new, ir.Store):
                out.extend(self.store(new))
            elif isinstance(new, ir.Change):
                out.append(ir.with_fields(new, buffer=self.renamed[new.buffer]))
            else:
                out.append(ir.with_blocks(new, tuple([self.block(b) for b in new.blocks])))
        return tuple(out)

    def expr(self, value: ir.Expr) -> ir.Expr:
        if not ir.loads(value):
            return value
        known = self.memo.get(value)
        if known is None:
            operands = value.operands
            new = ir.rebuild(value, [self.expr(x) for x in operands]) if operands else value
            known = self.memo[value] = self.load(new) if isinstance(new, ir.Load) else new
        return known

    def load(self, old: ir.Load) -> ir.Expr:
        buffer = self.renamed[old.buffer]
        if isinstance(old, ir.MatrixLoad):
            return ir.load_matrix(old.dtype, buffer, old.index, old.stride, old.by_columns, old.place)
        width = buffer.width

        def read(index: ir.Expr) -> ir.Expr:
            value = ir.load(buffer, _in_units(index, width), lanes=width, where=old.where, place=old.place)
            return value if buffer.dtype is old.dtype else value != 0

        if old.lanes == width:
            return read(old.index)
        if old.lanes > width:
            parts = [read(old.index + i) for i in range(0, old.lanes, width)]
            return ir.vector(*[ir.component(part, i) for part in parts for i in range(part.lanes)])
        whole, at = read(old.index), simplify(old.index % width)
        lanes = [ir.component(whole, simplify(at + i)) for i in range(old.lanes)]
        return ir.vector(*lanes)

    def store(self, old: ir.Store) -> list[ir.Stmt]:
        buffer = self.renamed[old.buffer]
        width, value = buffer.width, old.value
        if buffer.dtype is not old.buffer.dtype:
            value = ir.cast(value, u32) if value.lanes > 1 else ir.select(value, ir.const(1), ir.const(0))
        if value.lanes == width:
            return [ir.Store(buffer, _in_units(old.index, width), value, old.place)]
        lanes = [ir.component(value, i) for i in range(value.lanes)]
        return [
            ir.Store(buffer, _in_units(old.index + i, width), ir.vector(*lanes[i : i + width]), old.place)
            for i in range(0, value.lanes, width)
        ]


def _in_units(index: ir.Expr, width: int) -> ir.Expr:
    """An index in elements as one in vectors."""
    if isinstance(index, ir.Const):
        return ir.const(int(index.value) // width)
    return quotient(simplify(index), width)
