"""The remainder of i32 where an operand may be negative: Vulkan leaves it open, whatever WGSL says of `%`, and drivers
use that (NVIDIA's gives -7 % 3 another sign from one expression to the next). Spelt by a division it is one number.
"""

from dataclasses import replace

from ...tensor.dtypes import i32
from ..ir import Binary, Expr, Kernel, all_nodes, binary, const, map_block, rewrite, select
from ..ranges import range_of


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
