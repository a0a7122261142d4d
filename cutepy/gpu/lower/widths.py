"""Which arrays are declared over vec2 or vec4, with all indices in those units; bool bindings become u32."""

from dataclasses import replace

from ...tensor.dtypes import bool_, u32
from ..ir import (
    Atomic,
    Block,
    Buffer,
    Const,
    Expr,
    Kernel,
    Load,
    Stmt,
    Store,
    blocks,
    cast,
    children,
    component,
    const,
    expressions,
    load,
    loads,
    rebuild,
    select,
    statements,
    vector,
    with_blocks,
    with_expressions,
)
from ..simplify import quotient, simplify


def choose_widths(kernel: Kernel) -> Kernel:
    """`kernel` with each array over the widest vectors that all its stores and its widest loads agree on.

    A store never writes part of a declared vector: WGSL may write the rest of it too, under other invocations' feet.
    """
    stores: dict[Buffer, set[int]] = {}
    read: dict[Buffer, set[int]] = {}
    atomic: set[Buffer] = set()
    for stmt in statements(kernel.body):
        if isinstance(stmt, Store):
            stores.setdefault(stmt.buffer, set()).add(stmt.value.lanes)
        elif isinstance(stmt, Atomic):
            atomic.add(stmt.buffer)
        for root in expressions(stmt):
            for node in loads(root):
                read.setdefault(node.buffer, set()).add(node.lanes)
    renamed: dict[Buffer, Buffer] = {}
    for buffer in (*kernel.buffers, *kernel.local):
        width = max(read.get(buffer, {1}))
        if buffer in stores:
            width = min(stores[buffer]) if buffer not in read else min(width, *stores[buffer])
        if buffer in atomic:
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

    def __init__(self, renamed: dict[Buffer, Buffer]) -> None:
        self.renamed = renamed
        self.memo: dict[Expr, Expr] = {}

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            new = with_expressions(stmt, [self.expr(x) for x in expressions(stmt)])
            if isinstance(new, Store):
                out.extend(self.store(new))
            elif isinstance(new, Atomic):
                out.append(replace(new, buffer=self.renamed[new.buffer]))
            else:
                out.append(with_blocks(new, tuple([self.block(b) for b in blocks(new)])))
        return tuple(out)

    def expr(self, value: Expr) -> Expr:
        if not loads(value):
            return value
        known = self.memo.get(value)
        if known is None:
            operands = children(value)
            new = rebuild(value, [self.expr(x) for x in operands]) if operands else value
            known = self.memo[value] = self.load(new) if isinstance(new, Load) else new
        return known

    def load(self, old: Load) -> Expr:
        buffer = self.renamed[old.buffer]
        width = buffer.width

        def read(index: Expr) -> Expr:
            value = load(buffer, _in_units(index, width), lanes=width, where=old.where, place=old.place)
            return value if buffer.dtype is old.dtype else value != 0

        if old.lanes == width:
            return read(old.index)
        if old.lanes > width:
            parts = [read(old.index + i) for i in range(0, old.lanes, width)]
            return _join(parts)
        whole, at = read(old.index), simplify(old.index % width)
        lanes = [component(whole, simplify(at + i)) for i in range(old.lanes)]
        return vector(*lanes)

    def store(self, old: Store) -> list[Stmt]:
        buffer = self.renamed[old.buffer]
        width, value = buffer.width, old.value
        if buffer.dtype is not old.buffer.dtype:
            value = cast(value, u32) if value.lanes > 1 else select(value, const(1), const(0))
        if value.lanes == width:
            return [Store(buffer, _in_units(old.index, width), value, old.place)]
        lanes = [component(value, i) for i in range(value.lanes)]
        return [
            Store(buffer, _in_units(old.index + i, width), vector(*lanes[i : i + width]), old.place)
            for i in range(0, value.lanes, width)
        ]


def _in_units(index: Expr, width: int) -> Expr:
    """An index in elements as one in vectors."""
    if isinstance(index, Const):
        return const(int(index.value) // width)
    return quotient(simplify(index), width)


def _join(parts: list[Expr]) -> Expr:
    return vector(*[component(p, i) for p in parts for i in range(p.lanes)])
