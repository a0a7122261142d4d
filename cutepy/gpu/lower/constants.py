"""What WGSL refuses of constants: infinities and NaN have no spelling, and what is computed from floating-point
literals alone must neither overflow nor leave a function's domain. Both come out of a variable, which is not folded.
"""

import math
from dataclasses import replace

from ...tensor.dtypes import f32
from ..ir import (
    Binary,
    Call,
    Const,
    Declare,
    Expr,
    Kernel,
    Var,
    Vector,
    all_nodes,
    cast,
    children,
    const,
    map_block,
    rebuild,
    rewrite,
    var,
)

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
