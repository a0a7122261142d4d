"""Vector widths: each array is declared over the widest vectors that its accesses agree on.

Law: the same elements are read and written, with the same values; an index counts vectors where it counted elements.
"""

from dataclasses import replace

from ...layout.affine import Congruent
from ...tensor.dtypes import bool_, u32
from .. import ir
from ..ir.ranges import linear
from ..ir.simplify import from_linear, quotient, simplify


def choose_widths(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with each array over the widest vectors that all its stores and its widest loads agree on.

    A store never writes a lane of a declared vector alone: WGSL may write the whole vector, and lose what other threads
    write to its other lanes. In an array of `kernel.widened` the whole vector is loaded and stored, and proven so.
    Atomics and matrices address single elements. Bools in memory become u32, which the host and the device lay out
    alike.
    """
    atomic = {s.buffer for s in ir.statements(kernel.body) if isinstance(s, ir.Atomic)}
    # bool has no layout that host and device share, so in memory it is a u32 that is 0 or 1.
    widened: dict[ir.Buffer, ir.Buffer] = {}
    for buffer, width in widths_of(kernel).items():
        dtype = u32 if buffer.dtype is bool_ and buffer.is_shared else buffer.dtype
        widened[buffer] = replace(buffer, width=width, dtype=dtype, atomic=buffer in atomic)
    return replace(
        kernel,
        buffers=tuple(widened[b] for b in kernel.buffers),
        local=tuple(widened[b] for b in kernel.local),
        body=_Widen(widened).block(kernel.body),
    )


def widths_of(kernel: ir.Kernel) -> dict[ir.Buffer, int]:
    """The width of each array: one declared width serves every access."""
    stores: dict[ir.Buffer, set[int]] = {}
    read: dict[ir.Buffer, set[int]] = {}
    scalar: set[ir.Buffer] = set()
    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Store):
            stores.setdefault(stmt.buffer, set()).add(stmt.value.lanes)
        elif isinstance(stmt, ir.Change):
            scalar.add(stmt.buffer)
        for root in stmt.expressions:
            for node in ir.loads(root):
                read.setdefault(node.buffer, set()).add(node.lanes)
                if isinstance(node, ir.MatrixLoad):
                    scalar.add(node.buffer)
    widths: dict[ir.Buffer, int] = {}
    for buffer in (*kernel.buffers, *kernel.local):
        # The widest load, unless a store is narrower; where nothing is read, the narrowest store.
        width = max(read.get(buffer, {1}))
        if buffer in stores:
            narrow = min(stores[buffer]) if buffer not in read else min(width, *stores[buffer])
            width = max(width, *stores[buffer]) if buffer.name in kernel.widened else narrow
        widths[buffer] = 1 if buffer in scalar else width
    return widths


class _Widen:
    """Rewrites accesses to the arrays that replace the old ones."""

    def __init__(self, widened: dict[ir.Buffer, ir.Buffer]) -> None:
        self.widened = widened
        self.memo: dict[ir.Expr, ir.Expr] = {}

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt] = []
        for stmt in block:
            new = ir.with_expressions(stmt, [self.expr(x) for x in stmt.expressions])
            if isinstance(new, ir.Store):
                out.extend(self.store(new))
            elif isinstance(new, ir.Change):
                out.append(ir.with_fields(new, buffer=self.widened[new.buffer]))
            else:
                out.append(ir.with_blocks(new, tuple([self.block(b) for b in new.blocks])))
        return tuple(out)

    def expr(self, value: ir.Expr) -> ir.Expr:
        return ir.rewrite(value, self.load, self.memo) if ir.loads(value) else value

    def load(self, old: ir.Expr) -> ir.Expr:
        """One load as loads of whole vectors, each under the mask `where` of the old one: 0 where that is false.

        Accesses have 1, 2 or 4 lanes and begin at a multiple of these (`superword.runs`): one is made of whole vectors
        of the array, or lies inside one.
        """
        if not isinstance(old, ir.Load):
            return old
        buffer = self.widened[old.buffer]
        if isinstance(old, ir.MatrixLoad):
            return ir.load_matrix(old.dtype, buffer, old.index, (old.stride, old.by_columns), old.place)
        width = buffer.width

        def read(index: ir.Expr) -> ir.Expr:
            value = ir.load(buffer, _in_vectors(index, buffer), lanes=width, where=old.where, place=old.place)
            return value if buffer.dtype is old.dtype else value != 0

        if old.lanes == width:
            return read(old.index)
        if old.lanes > width:  # vector(b[i:i+n]) -> vector(b[i], b[i+1], ...), several narrow loads
            vectors = [read(old.index + i) for i in range(0, old.lanes, width)]
            return ir.vector(*[ir.component(vector, i) for vector in vectors for i in range(vector.lanes)])
        # b[i] -> b[i // width][i % width]: lanes of one wide load
        whole, at = read(old.index), simplify(old.index % width)
        lanes = [ir.component(whole, simplify(at + i)) for i in range(old.lanes)]
        return ir.vector(*lanes)

    def store(self, old: ir.Store) -> list[ir.Stmt]:
        buffer = self.widened[old.buffer]
        width, value = buffer.width, old.value
        if buffer.dtype is not old.buffer.dtype:
            value = ir.cast(value, u32) if value.lanes > 1 else ir.select(value, ir.const(1), ir.const(0))
        # A store of more lanes than the width becomes several stores of whole vectors, never of a lane alone.
        if value.lanes == width:
            return [ir.Store(buffer, _in_vectors(old.index, buffer), value, old.place)]
        lanes = [ir.component(value, i) for i in range(value.lanes)]
        if value.lanes < width:  # v = b[i // width]; b[i // width] = v with some lanes set
            index, at = _in_vectors(old.index, buffer), simplify(old.index % width)
            whole = ir.var(buffer.name, buffer.dtype, lanes=width)
            found = [ir.component(whole, i) for i in range(width)]
            for lane, new in enumerate(lanes):
                found = [ir.select(simplify(at + lane == ir.const(i)), new, held) for i, held in enumerate(found)]
            load = ir.load(buffer, index, lanes=width, place=old.place)
            return [ir.Let(whole, load, old.place), ir.Store(buffer, index, ir.vector(*found), old.place)]
        return [
            ir.Store(buffer, _in_vectors(old.index + i, buffer), ir.vector(*lanes[i : i + width]), old.place)
            for i in range(0, value.lanes, width)
        ]


def _in_vectors(index: ir.Expr, buffer: ir.Buffer) -> ir.Expr:
    """An index that counts elements as one that counts the vectors of an array.

    Of an array of unknown sizes an index is the number that its coordinates mean: what is summed up modulo 2**32 is
    that number, so where all terms are multiples of the width, their quotients summed up are its quotient.
    """
    width = buffer.width
    if buffer.shape and width > 1:
        form = linear(simplify(index))
        if not any(c % width for c in (*form.terms.values(), form.constant)):
            parts = {atom: c // width for atom, c in form.terms.items()}
            return from_linear(Congruent(parts, form.constant // width), u32)
    if isinstance(index, ir.Const):
        return ir.const(int(index.value) // width)
    return quotient(simplify(index), width)


def could_be_wider(kernel: ir.Kernel) -> frozenset[str]:
    """The workgroup arrays, but for atomic ones, with a store of one element by one thread alone, or by threads whose
    elements are whole vectors apart, and with no other store of one element."""
    single: dict[ir.Buffer, bool] = {}
    _look_at_stores(kernel.body, False, single)
    return frozenset(buffer.name for buffer, holds in single.items() if holds)


def _look_at_stores(block: ir.Block, alone: bool, single: dict[ir.Buffer, bool]) -> None:
    """Write into `single` of each workgroup array whether all stores of one element are such; `alone` is one thread."""
    for stmt in block:
        if isinstance(stmt, ir.Change) and stmt.buffer.space == ir.AddressSpace.WORKGROUP:
            if not isinstance(stmt, ir.Store):
                single[stmt.buffer] = False
            elif stmt.value.lanes == 1:
                single[stmt.buffer] = single.get(stmt.buffer, True) and (alone or _apart(stmt.index))
        for inner in stmt.blocks:
            one = isinstance(stmt, ir.If) and inner is stmt.blocks[0] and _one_thread(stmt)
            _look_at_stores(inner, alone or one, single)


def _one_thread(stmt: ir.If) -> bool:
    """Whether the condition holds in one thread of a workgroup."""
    return any(
        isinstance(x, ir.Binary) and x.op == "==" and isinstance(x.right, ir.Const) and _is_thread(x.left)
        for x in ir.conjuncts(stmt.condition)
    )


def _apart(index: ir.Expr) -> bool:
    """Whether an index counts whole vectors of 4 from thread to thread, and always the same lane of them."""
    terms = linear(simplify(index)).terms
    return any(map(_is_thread, terms)) and not any(c % 4 for c in terms.values())


def _is_thread(atom: ir.Expr) -> bool:
    return isinstance(atom, ir.Builtin) and atom.name == "local_invocation_index"
