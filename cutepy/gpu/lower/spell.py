"""A kernel in the terms of WGSL, by three passes: arrays over vectors, no conditions in loads, and what it has no words
for: constants that it refuses come out of variables, remainders are written with a division, functions that devices
lose are kept where they do not, and what was written in bits is in bits again.
"""

import math
from dataclasses import replace

from ...tensor.dtypes import bool_, f32, i32, u32
from .. import ir
from ..ranges import range_of
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
        dtype = u32 if buffer.dtype is bool_ and buffer.space != "private" else buffer.dtype
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
        return ir.rewrite(value, self.load, self.memo) if ir.loads(value) else value

    def load(self, old: ir.Expr) -> ir.Expr:
        if not isinstance(old, ir.Load):
            return old
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


def branch(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without a `where` on any load."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Let):
            predicates = [n.where for n in ir.loads(stmt.value) if n.where is not None]
            if predicates:
                _fill(out, stmt, predicates[0])
                continue
        stmt = ir.with_blocks(stmt, tuple([_block(b) for b in stmt.blocks]))
        last = out[-1] if out else None
        if isinstance(stmt, ir.If) and isinstance(last, ir.If) and _joinable(last, stmt):
            also = last.condition is stmt.condition
            out[-1] = replace(last, then=last.then + stmt.then) if also else replace(last, orelse=stmt.then)
        else:
            out.append(stmt)
    return tuple(out)


def _fill(out: list[ir.Stmt], stmt: ir.Let, condition: ir.Expr) -> None:
    """Declare the variable before the `if` of the same condition that ends `out`, and set it inside."""
    zero = ir.Declare(stmt.var, ir.splat(ir.const(0, stmt.var.dtype), stmt.var.lanes))
    filled = ir.Assign(stmt.var, ir.rewrite(stmt.value, _unconditional, {}))
    match out[-1:]:
        case [ir.If(then=(ir.Assign(), *_), orelse=()) as last] if last.condition is condition:
            out[-1:] = [zero, replace(last, then=(*last.then, filled))]
        case _:
            out += [zero, ir.If(condition, (filled,), place=stmt.place)]


def _unconditional(node: ir.Expr) -> ir.Expr:
    if isinstance(node, ir.Load) and node.where is not None:
        return ir.load(node.buffer, node.index, lanes=node.lanes, place=node.place)
    return node


def _joinable(first: ir.If, second: ir.If) -> bool:
    """Whether the two, one after the other, are one: of a condition that the first does not change, or of opposites."""
    one, other = first.condition, second.condition
    if first.orelse or second.orelse or ir.loads(one) or (one is not other and ir.negated(one) is not other):
        return False
    return {s.sets for s in ir.statements(first.then)}.isdisjoint(ir.variables(one))


_TANH_IS_1 = 10
"""From here on no number of f32 is nearer to tanh(x) than 1."""
_SPELT = {ir.Const, ir.Binary, ir.Call}
_BITS = {"infinity_bits": 0x7F800000, "nan_bits": 0x7FC00000}


def spell(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without infinite or NaN literals, without arithmetic on floating-point literals alone, with
    `x - x / y * y` in place of each `x % y` of which the driver might make something else, and with tanh within the
    numbers of which a device can divide the hyperbolic sine by the cosine; shifts and masks as they were written."""
    used: dict[ir.Const, ir.Var] = {}
    memo: dict[ir.Expr, ir.Expr] = {}
    body = ir.map_block(kernel.body, lambda value: ir.rewrite(value, lambda node: _spelled(node, used), memo))
    return replace(kernel, body=(*[ir.Declare(v, value) for value, v in used.items()], *body))


def _spelled(node: ir.Expr, used: dict[ir.Const, ir.Var]) -> ir.Expr:
    """A node as it is written; `used` gains the variables that hold literals."""

    def kept(literal: ir.Expr, name: str) -> ir.Expr:
        return used.setdefault(literal, ir.var(name, literal.dtype)) if isinstance(literal, ir.Const) else literal

    if type(node) not in _SPELT:
        return node
    match node:
        case ir.Const(value=number, dtype=dtype) if dtype.kind == "f" and not math.isfinite(number):
            name = "nan_bits" if math.isnan(number) else "infinity_bits"
            value = ir.cast(ir.cast(kept(ir.const(_BITS[name]), name), f32, bits=True), dtype)
            return -value if number < 0 else value
        case ir.Binary() | ir.Call() if node.operands[0].dtype.kind == "f" and all(map(_is_literal, node.operands)):
            first, *others = node.operands
            return ir.rebuild(node, [ir.rewrite(first, lambda x: kept(x, "number"), {}), *others])
        case ir.Call(name="tanh", args=(x,)) if not (isinstance(x, ir.Call) and x.name == "clamp"):
            ends = [ir.splat(ir.const(end, x.dtype), x.lanes) for end in (-_TANH_IS_1, _TANH_IS_1)]
            return ir.rebuild(node, [ir.call("clamp", x, *ends)])
        case ir.Binary(op=op, left=left, right=ir.Const(value=number)) if _was_in_bits(node):
            return _in_bits(op, left, int(number))
        case ir.Binary(op="%", left=x, right=y) if node.dtype is i32 and node.lanes == 1:
            low, high = range_of(y)
            if min(range_of(x)[0], low) < 0:
                rest = ir.binary("-", x, ir.binary("*", ir.binary("//", x, y), y))
                zero = ir.const(0, i32)
                return rest if low > 0 or high < 0 else ir.select(ir.binary("==", y, zero), zero, rest)
    return node


def _is_literal(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) or (isinstance(node, ir.Vector) and all(map(_is_literal, node.items)))


def _was_in_bits(node: ir.Binary) -> bool:
    """Whether `node` was written as a shift or a mask, and can be."""
    if not ir.arena().as_bits.get(node) or (node.op != "*" and range_of(node.left)[0] < 0):
        return False
    return isinstance(node.right, ir.Const) and node.right.value > 0 and int(node.right.value).bit_count() == 1


def _in_bits(op: str, left: ir.Expr, number: int) -> ir.Expr:
    match left:
        case _ if op == "%":
            return ir.binary("&", left, ir.const(number - 1, left.dtype))
        case ir.Binary(op="&", left=ir.Binary(op=">>", left=x, right=ir.Const(value=by)), right=ir.Const(value=mask)):
            if op == "*" and 1 << int(by) == number:
                return ir.binary("&", x, ir.const(int(mask) * number, left.dtype))
    return ir.binary({"//": ">>", "*": "<<"}[op], left, ir.const(number.bit_length() - 1))
