"""From a traced kernel to one that can be printed as it stands: every decision about the text is made here.

Each pass maps a kernel to a kernel that computes the same (tests run both in the interpreter).
"""

from weakref import WeakKeyDictionary

from ..ir import Kernel, check
from .finish import drop_unused as drop_unused
from .finish import finish as finish
from .forward import forward
from .hoist import hoist
from .once import load_once
from .registers import name_registers
from .spell import branch, spell
from .widths import choose_widths

#: Each kernel as `lower` made it: what is printed is what is proven.
_LOWERED: WeakKeyDictionary[Kernel, Kernel] = WeakKeyDictionary()


def lower(kernel: Kernel) -> Kernel:
    """`kernel` ready to print: arrays over vectors, registers named, predicates as `if`, shared values named once."""
    ready = _LOWERED.get(kernel)
    if ready is None:
        ready = kernel
        values = check, name_registers, drop_unused, load_once
        for step in (*values, choose_widths, branch, spell, hoist, forward):
            ready = step(ready)
        _LOWERED[kernel] = ready
    return ready
