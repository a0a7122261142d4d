"""Legalisation for WGSL: literals, remainders and functions that its compilers refuse or get wrong are rewritten.

Law: every statement computes the same values. What devices leave open (the sign of a remainder, tanh of large numbers)
becomes what the interpreter computes.
"""

import math
from dataclasses import replace

from ...tensor.dtypes import f32, i32
from .. import ir
from ..ir.ranges import range_of

#: From this x on tanh(x) rounds to 1 in f32: 1 - tanh(10) is 4e-9, half a unit in the last place of 1 is 3e-8.
_TANH_IS_1 = 10
#: Bit patterns (IEEE 754 binary32), held in variables: a compiler may not fold a literal infinity or NaN.
_BITS = {"infinity_bits": 0x7F800000, "nan_bits": 0x7FC00000}
_REWRITTEN = {ir.Const, ir.Binary, ir.Call}


def legalize_wgsl(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` without infinite or NaN literals, without arithmetic on floating-point literals alone, with
    `x - x / y * y` for each `x % y` whose sign devices disagree on, and with tanh clamped to where a device can divide
    sinh by cosh; shifts and masks as they were written."""
    held: dict[ir.Const, ir.Var] = {}
    memo: dict[ir.Expr, ir.Expr] = {}
    body = ir.map_block(kernel.body, lambda value: ir.rewrite(value, lambda node: _legal(node, held), memo))
    return replace(kernel, body=(*[ir.Declare(v, value) for value, v in held.items()], *body))


def _legal(node: ir.Expr, held: dict[ir.Const, ir.Var]) -> ir.Expr:
    """A legal node that computes the same; `held` gains the variables that hold literals."""

    def variable(literal: ir.Expr, name: str) -> ir.Expr:
        return held.setdefault(literal, ir.var(name, literal.dtype)) if isinstance(literal, ir.Const) else literal

    if type(node) not in _REWRITTEN:
        return node
    match node:
        # A literal that WGSL does not have: its bits.
        case ir.Const(value=number, dtype=dtype) if dtype.kind == "f" and not math.isfinite(number):
            name = "nan_bits" if math.isnan(number) else "infinity_bits"
            value = ir.cast(ir.cast(variable(ir.const(_BITS[name]), name), f32, bits=True), dtype)
            return -value if number < 0 else value
        # A constant expression: compilers fold it in another precision, and refuse an overflow.
        case ir.Binary() | ir.Call() if node.operands[0].dtype.kind == "f" and all(map(_is_literal, node.operands)):
            first, *others = node.operands
            return ir.rebuild(node, [ir.rewrite(first, lambda x: variable(x, "number"), {}), *others])
        # tanh(x) = sinh(x) / cosh(x) is inf / inf for large x.
        case ir.Call(name="tanh", args=(x,)) if not (isinstance(x, ir.Call) and x.name == "clamp"):
            ends = [ir.splat(ir.const(end, x.dtype), x.lanes) for end in (-_TANH_IS_1, _TANH_IS_1)]
            return ir.rebuild(node, [ir.call("clamp", x, *ends)])
        case ir.Binary(op=op, left=left, right=ir.Const(value=number)) if _was_in_bits(node):
            return _in_bits(op, left, int(number))
        # The remainder of a negative i32: x - x / y * y, and 0 for a divisor 0.
        case ir.Binary(op="%", left=x, right=y) if node.dtype is i32 and node.lanes == 1:
            # Only where an operand may be negative: else WGSL's % and the IR's agree.
            low, high = range_of(y)
            if min(range_of(x)[0], low) < 0:
                rest = ir.binary("-", x, ir.binary("*", ir.binary("//", x, y), y))
                zero = ir.const(0, i32)
                return rest if low > 0 or high < 0 else ir.select(ir.binary("==", y, zero), zero, rest)
    return node


def _is_literal(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) or (isinstance(node, ir.Vector) and all(map(_is_literal, node.items)))


def _was_in_bits(node: ir.Binary) -> bool:
    """Whether the user wrote `node` as a shift or a mask, and it equals one: its left operand is not negative and the
    right one is a power of 2."""
    if not ir.arena().as_bits.get(node) or (node.op != "*" and range_of(node.left)[0] < 0):
        return False
    return isinstance(node.right, ir.Const) and node.right.value > 0 and int(node.right.value).bit_count() == 1


def _in_bits(op: str, left: ir.Expr, number: int) -> ir.Expr:
    """`left op number` for a power of 2 as a shift or a mask: x % 2^k is x & (2^k - 1), ((x >> k) & m) * 2^k is
    x & (m * 2^k)."""
    match left:
        # x % 2^k -> x & (2^k - 1)
        case _ if op == "%":
            return ir.binary("&", left, ir.const(number - 1, left.dtype))
        case ir.Binary(op="&", left=ir.Binary(op=">>", left=x, right=ir.Const(value=by)), right=ir.Const(value=mask)):
            # ((x >> k) & m) * 2^k -> x & (m * 2^k)
            if op == "*" and 1 << int(by) == number:
                return ir.binary("&", x, ir.const(int(mask) * number, left.dtype))
    return ir.binary({"//": ">>", "*": "<<"}[op], left, ir.const(number.bit_length() - 1))
