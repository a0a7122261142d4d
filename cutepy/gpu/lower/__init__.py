"""From a traced kernel to one that can be printed as it stands, and to the program that a runtime takes: every decision
about the text is made here.

Each pass maps a kernel to a kernel that computes the same (tests run both in the interpreter).
"""

from weakref import WeakKeyDictionary

from ...tensor.dtypes import DType, f16, f32, i32, u32
from ..ir import Kernel, check
from ..runtime.program import Binding, Param, ParamType, Program
from ..wgsl import Dialect, write_wgsl
from .reads import forward, load_once
from .registers import name_registers
from .spell import branch, choose_widths, spell
from .uses import drop_unused as drop_unused
from .uses import finish as finish
from .uses import hoist

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


_TYPES: dict[DType, ParamType] = {f16: "f16", f32: "f32", i32: "i32", u32: "u32"}


def compile_kernel(
    kernel: Kernel, *, dialect: Dialect = "naga", checked: bool = True, guarded: bool = False
) -> Program:
    """The program of `kernel` for a WGSL compiler; `checked=False` is for a kernel proven in bounds, `guarded` prints
    checks into the text, for a device whose modules have none."""
    ready = lower(kernel)
    source = write_wgsl(ready, dialect, guarded=guarded, to_run=True)
    return Program(
        wgsl=source.text,
        entry=source.entry,
        bindings=tuple(
            Binding(b.name, "read_write" if b.writable else "read", b.length * b.dtype.bytes) for b in kernel.buffers
        ),
        workgroup_size=kernel.workgroup,
        grid=kernel.grid,
        params=tuple(Param(p.name, _TYPES[p.dtype]) for p in kernel.params),
        needs=source.needs,
        shared_bytes=ready.shared_bytes,
        checked=checked,
        lanes=kernel.lanes,
        guarded=guarded,
    )
