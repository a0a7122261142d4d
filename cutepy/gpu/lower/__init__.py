"""From a traced kernel to one that can be printed as it stands: every decision about the text is made here.

Each pass maps a kernel to a kernel that computes the same (tests run both in the interpreter).
"""

from dataclasses import replace

from ..ir import Expr, Kernel, map_block
from ..simplify import simplify
from .constants import spell_constants
from .finish import finish as finish
from .hoist import hoist
from .predicates import branch
from .registers import name_registers
from .widths import choose_widths


def lower(kernel: Kernel) -> Kernel:
    """`kernel` ready to print: arrays over vectors, registers named, predicates as `if`, shared sums named once."""
    for step in (_simplify, name_registers, choose_widths, branch, name_registers, spell_constants, hoist):
        kernel = step(kernel)
    return kernel


def _simplify(kernel: Kernel) -> Kernel:
    """`kernel` with all index arithmetic and conditions simplified."""

    def change(value: Expr) -> Expr:
        return simplify(value) if value.dtype.kind in "iub" and value.lanes == 1 else value

    return replace(kernel, body=map_block(kernel.body, change))
