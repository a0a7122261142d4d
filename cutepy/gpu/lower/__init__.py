"""From a traced kernel to one that can be printed as it stands: every decision about the text is made here.

Each pass maps a kernel to a kernel that computes the same (tests run both in the interpreter).
"""

from ..ir import Kernel
from .constants import spell_constants
from .hoist import hoist
from .predicates import branch
from .registers import name_registers
from .widths import choose_widths


def lower(kernel: Kernel) -> Kernel:
    """`kernel` ready to print: arrays over vectors, registers named, predicates as `if`, shared sums named once."""
    for step in (choose_widths, branch, name_registers, spell_constants, hoist):
        kernel = step(kernel)
    return kernel
