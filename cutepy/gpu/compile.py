"""From a kernel to the program that a runtime takes: lowered, printed, with what it needs of a device."""

from ..tensor.dtypes import DType, f16, f32, i32, u32
from .ir import Kernel
from .lower import lower
from .runtime.program import MATRICES, Binding, Param, ParamType, Program
from .wgsl import Dialect, write_wgsl

_TYPES: dict[DType, ParamType] = {f16: "f16", f32: "f32", i32: "i32", u32: "u32"}


def compile_kernel(
    kernel: Kernel, *, dialect: Dialect = "naga", checked: bool = True, guarded: bool = False
) -> Program:
    """The program of `kernel` for a WGSL compiler; `checked=False` is for a kernel proven in bounds, `guarded` prints
    checks into the text, for a device whose modules have none."""
    ready = lower(kernel)
    source = write_wgsl(ready, dialect, guarded=guarded)
    if MATRICES in source.needs and dialect != "tint":  # wgpu grants no matrices yet: what runs them is Dawn
        source = write_wgsl(ready, "tint", guarded=guarded)
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
