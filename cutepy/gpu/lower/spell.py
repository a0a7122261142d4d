"""What WGSL has no words for: loads and stores under a condition become branches, constants that it refuses come out of
variables, and remainders are written with a division.
"""

import math
from dataclasses import replace

from ...tensor.dtypes import f32, i32
from ..ir import (
    Assign,
    Binary,
    Block,
    Call,
    Const,
    Declare,
    Expr,
    If,
    Kernel,
    Let,
    Load,
    Stmt,
    Var,
    Vector,
    all_nodes,
    binary,
    blocks,
    cast,
    children,
    const,
    load,
    loads,
    map_block,
    rebuild,
    rewrite,
    select,
    splat,
    var,
    with_blocks,
)
from ..ranges import range_of


def branch(kernel: Kernel) -> Kernel:
    """`kernel` without a `where` on any load."""
    return replace(kernel, body=_block(kernel.body))


def _block(block: Block) -> Block:
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, Let):
            predicates = [n for n in loads(stmt.value) if n.where is not None]
            if predicates:
                _fill(out, stmt, predicates[0])
                continue
        stmt = with_blocks(stmt, tuple([_block(b) for b in blocks(stmt)]))
        last = out[-1] if out else None
        if isinstance(stmt, If) and isinstance(last, If) and _joinable(last, stmt):
            out[-1] = replace(last, then=last.then + stmt.then)
        else:
            out.append(stmt)
    return tuple(out)


def _fill(out: list[Stmt], stmt: Let, predicated: Load) -> None:
    """Declare the variable before the `if` of the same condition that ends `out`, and set it inside."""
    condition = predicated.where
    assert condition is not None
    filled = Assign(stmt.var, _unconditional(stmt.value))
    last = out[-1] if out else None
    if isinstance(last, If) and last.condition is condition and not last.orelse and isinstance(last.then[0], Assign):
        out[-1:] = [_zero(stmt.var), replace(last, then=(*last.then, filled))]
    else:
        out += [_zero(stmt.var), If(condition, (filled,), place=stmt.place)]


def _zero(name: Var) -> Declare:
    return Declare(name, splat(const(0, name.dtype), name.lanes))


def _unconditional(value: Expr) -> Expr:
    def change(node: Expr) -> Expr:
        if isinstance(node, Load) and node.where is not None:
            return load(node.buffer, node.index, lanes=node.lanes, place=node.place)
        return node

    return rewrite(value, change, {})


def _joinable(first: If, second: If) -> bool:
    if first.condition is not second.condition or first.orelse or second.orelse:
        return False
    return not loads(first.condition)


_BITS = {"infinity_bits": 0x7F800000, "nan_bits": 0x7FC00000}


def spell_constants(kernel: Kernel) -> Kernel:
    """`kernel` without infinite or NaN literals, and without arithmetic on floating-point literals alone."""
    if not any(_unspelled(node) or _literal_alone(node) for node in all_nodes(kernel.body)):
        return kernel
    used: dict[Const, Var] = {}

    def change(node: Expr) -> Expr:
        if isinstance(node, Const) and _unspelled(node):
            name = "nan_bits" if math.isnan(node.value) else "infinity_bits"
            value = cast(cast(_kept(used, const(_BITS[name]), name), f32, bits=True), node.dtype)
            return -value if node.value < 0 else value
        if _literal_alone(node):
            first, *others = children(node)
            return rebuild(node, [rewrite(first, lambda x: _kept(used, x, "number"), {}), *others])
        return node

    memo: dict[Expr, Expr] = {}
    body = map_block(kernel.body, lambda value: rewrite(value, change, memo))
    return replace(kernel, body=(*[Declare(v, value) for value, v in used.items()], *body))


def _kept(used: dict[Const, Var], node: Expr, name: str) -> Expr:
    """A variable that holds a literal."""
    return used.setdefault(node, var(name, node.dtype)) if isinstance(node, Const) else node


def _unspelled(node: Expr) -> bool:
    return isinstance(node, Const) and node.dtype.kind == "f" and not math.isfinite(node.value)


def _literal_alone(node: Expr) -> bool:
    """Whether `node` is computed from literals alone, at least one of them of a floating-point type."""
    operands = children(node)
    return isinstance(node, Binary | Call) and operands[0].dtype.kind == "f" and all(map(_literal, operands))


def _literal(node: Expr) -> bool:
    return isinstance(node, Const) or (isinstance(node, Vector) and all(map(_literal, node.items)))


def spell_remainders(kernel: Kernel) -> Kernel:
    """`kernel` with `x - x / y * y` in place of each `x % y` of which the driver might make something else."""
    if not any(map(_open, all_nodes(kernel.body))):
        return kernel

    def change(node: Expr) -> Expr:
        if not (isinstance(node, Binary) and _open(node)):
            return node
        x, y = node.left, node.right
        rest = binary("-", x, binary("*", binary("//", x, y), y))
        low, high = range_of(y)
        return rest if low > 0 or high < 0 else select(binary("==", y, const(0, i32)), const(0, i32), rest)

    memo: dict[Expr, Expr] = {}
    return replace(kernel, body=map_block(kernel.body, lambda value: rewrite(value, change, memo)))


def _open(node: Expr) -> bool:
    signed = isinstance(node, Binary) and node.op == "%" and node.dtype is i32 and node.lanes == 1
    return signed and isinstance(node, Binary) and min(range_of(node.left)[0], range_of(node.right)[0]) < 0
