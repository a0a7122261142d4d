"""Infinities and NaN have no spelling in WGSL: they come out of the bits of a variable, which no compiler may fold."""

import math
from dataclasses import replace

from ...tensor.dtypes import f32, u32
from ..ir import Const, Declare, Expr, Kernel, Var, all_nodes, cast, const, map_block, rewrite, var

_BITS = {"infinity_bits": 0x7F800000, "nan_bits": 0x7FC00000}


def spell_constants(kernel: Kernel) -> Kernel:
    """`kernel` without infinite or NaN literals."""
    if not any(map(_unspelled, all_nodes(kernel.body))):
        return kernel
    used: dict[str, Var] = {}

    def change(node: Expr) -> Expr:
        if not isinstance(node, Const) or not _unspelled(node):
            return node
        name = "nan_bits" if math.isnan(node.value) else "infinity_bits"
        bits = used.setdefault(name, var(name, u32))
        value = cast(cast(bits, f32, bits=True), node.dtype)
        return -value if node.value < 0 else value

    memo: dict[Expr, Expr] = {}
    body = map_block(kernel.body, lambda value: rewrite(value, change, memo))
    return replace(kernel, body=(*[Declare(v, const(_BITS[name])) for name, v in used.items()], *body))


def _unspelled(node: Expr) -> bool:
    return isinstance(node, Const) and node.dtype.kind == "f" and not math.isfinite(node.value)
