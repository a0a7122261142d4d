"""What WGSL has no words for: loads and stores under a condition become branches, constants that it refuses come out of
variables, remainders are written with a division, functions that devices lose are kept where they do not, and what was
written in bits is in bits again.
"""

import math
from dataclasses import replace

from ...tensor.dtypes import f32, i32
from .. import ir
from ..ranges import range_of


def branch(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without a `where` on any load."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: ir.Block) -> ir.Block:
    out: list[ir.Stmt] = []
    for stmt in block:
        if isinstance(stmt, ir.Let):
            predicates = [n for n in ir.loads(stmt.value) if n.where is not None]
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


def _fill(out: list[ir.Stmt], stmt: ir.Let, predicated: ir.Load) -> None:
    """Declare the variable before the `if` of the same condition that ends `out`, and set it inside."""
    condition = predicated.where
    assert condition is not None
    filled = ir.Assign(stmt.var, _unconditional(stmt.value))
    last = out[-1] if out else None
    if (
        isinstance(last, ir.If)
        and last.condition is condition
        and not last.orelse
        and isinstance(last.then[0], ir.Assign)
    ):
        out[-1:] = [_zero(stmt.var), replace(last, then=(*last.then, filled))]
    else:
        out += [_zero(stmt.var), ir.If(condition, (filled,), place=stmt.place)]


def _zero(name: ir.Var) -> ir.Declare:
    return ir.Declare(name, ir.splat(ir.const(0, name.dtype), name.lanes))


def _unconditional(value: ir.Expr) -> ir.Expr:
    def change(node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Load) and node.where is not None:
            return ir.load(node.buffer, node.index, lanes=node.lanes, place=node.place)
        return node

    return ir.rewrite(value, change, {})


def _joinable(first: ir.If, second: ir.If) -> bool:
    """Whether the two, one after the other, are one: of a condition that the first does not change, or of opposites."""
    one, other = first.condition, second.condition
    if first.orelse or second.orelse or ir.loads(one) or (one is not other and ir.negated(one) is not other):
        return False
    return {s.sets for s in ir.statements(first.then)}.isdisjoint(ir.variables(one))


_TANH_IS_1 = 10
"""From here on no number of f32 is nearer to tanh(x) than 1."""
_BITS = {"infinity_bits": 0x7F800000, "nan_bits": 0x7FC00000}


def spell(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without infinite or NaN literals, without arithmetic on floating-point literals alone, with
    `x - x / y * y` in place of each `x % y` of which the driver might make something else, and with tanh within the
    numbers of which a device can divide the hyperbolic sine by the cosine; shifts and masks as they were written."""
    used: dict[ir.Const, ir.Var] = {}

    def change(node: ir.Expr) -> ir.Expr:
        if not _is_odd(node):
            return node
        if isinstance(node, ir.Const):
            name = "nan_bits" if math.isnan(node.value) else "infinity_bits"
            value = ir.cast(ir.cast(_kept(used, ir.const(_BITS[name]), name), f32, bits=True), node.dtype)
            return -value if node.value < 0 else value
        if _literal_alone(node):
            first, *others = node.operands
            return ir.rebuild(node, [ir.rewrite(first, lambda x: _kept(used, x, "number"), {}), *others])
        if isinstance(node, ir.Call):
            x = node.args[0]
            ends = [ir.splat(ir.const(end, x.dtype), x.lanes) for end in (-_TANH_IS_1, _TANH_IS_1)]
            return ir.rebuild(node, [ir.call("clamp", x, *ends)])
        assert isinstance(node, ir.Binary)
        return _in_bits(node) if _is_in_bits(node) else _by_division(node)

    memo: dict[ir.Expr, ir.Expr] = {}
    body = ir.map_block(kernel.body, lambda value: ir.rewrite(value, change, memo))
    return replace(kernel, body=(*[ir.Declare(v, value) for value, v in used.items()], *body))


def _is_odd(node: ir.Expr) -> bool:
    """Whether `node` is written in another way."""
    if isinstance(node, ir.Binary):
        return _literal_alone(node) or _open(node) or _is_in_bits(node)
    return _unspelled(node) or (isinstance(node, ir.Call) and (_literal_alone(node) or _unbounded(node)))


def _kept(used: dict[ir.Const, ir.Var], node: ir.Expr, name: str) -> ir.Expr:
    """A variable that holds a literal."""
    return used.setdefault(node, ir.var(name, node.dtype)) if isinstance(node, ir.Const) else node


def _unspelled(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.dtype.kind == "f" and not math.isfinite(node.value)


def _literal_alone(node: ir.Expr) -> bool:
    """Whether `node` is computed from literals alone, at least one of them of a floating-point type."""
    operands = node.operands
    return isinstance(node, ir.Binary | ir.Call) and operands[0].dtype.kind == "f" and all(map(_literal, operands))


def _literal(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) or (isinstance(node, ir.Vector) and all(map(_literal, node.items)))


def _unbounded(node: ir.Expr) -> bool:
    """Whether `node` is a tanh of anything."""
    if not isinstance(node, ir.Call) or node.name != "tanh":
        return False
    inner = node.args[0]
    return not (isinstance(inner, ir.Call) and inner.name == "clamp")


def _by_division(node: ir.Binary) -> ir.Expr:
    x, y = node.left, node.right
    rest = ir.binary("-", x, ir.binary("*", ir.binary("//", x, y), y))
    low, high = range_of(y)
    return rest if low > 0 or high < 0 else ir.select(ir.binary("==", y, ir.const(0, i32)), ir.const(0, i32), rest)


def _is_in_bits(node: ir.Expr) -> bool:
    """Whether `node` was written as a shift or a mask, and can be."""
    if not ir.arena().as_bits.get(node) or not isinstance(node, ir.Binary):
        return False
    right, whole = node.right, node.op == "*" or range_of(node.left)[0] >= 0
    return whole and isinstance(right, ir.Const) and right.value > 0 and int(right.value).bit_count() == 1


def _in_bits(node: ir.Binary) -> ir.Expr:
    assert isinstance(node.right, ir.Const)
    number = int(node.right.value)
    if node.op == "%":
        return ir.binary("&", node.left, ir.const(number - 1, node.dtype))
    match node:
        case ir.Binary(op="*", left=ir.Binary(op="&", left=ir.Binary(op=">>", left=x, right=by), right=mask)):
            if isinstance(by, ir.Const) and isinstance(mask, ir.Const) and 1 << int(by.value) == number:
                return ir.binary("&", x, ir.const(int(mask.value) * number, node.dtype))
    return ir.binary({"//": ">>", "*": "<<"}[node.op], node.left, ir.const(number.bit_length() - 1))


def _open(node: ir.Expr) -> bool:
    signed = isinstance(node, ir.Binary) and node.op == "%" and node.dtype is i32 and node.lanes == 1
    return signed and isinstance(node, ir.Binary) and min(range_of(node.left)[0], range_of(node.right)[0]) < 0
