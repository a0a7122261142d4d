"""What a compiled kernel hands to a runtime, and what a device can serve: plain frozen data.

Nothing here knows of the kernel IR, of layouts or of wgpu. The contract with the WGSL text:

* tensor `i` of `bindings` is `@group(0) @binding(i) var<storage, access> name: array<...>`;
* the parameters, where there are any, are one struct of 4-byte members in the order of `params`,
  `@group(1) @binding(0) var<uniform> params: Params`;
* a bool lives in a buffer as a u32, a buffer's size is a multiple of 4 bytes.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import DeviceError, KernelError

Access = Literal["read", "read_write"]
ParamType = Literal["f32", "i32", "u32"]
Size3 = tuple[int, int, int]

_PACK = {"f32": "f", "i32": "i", "u32": "I"}


@dataclass(frozen=True, slots=True)
class Binding:
    """One tensor of a program: its name in the source, how it is used, and the bytes that it must have at least."""

    name: str
    access: Access = "read"
    min_bytes: int = 4


@dataclass(frozen=True, slots=True)
class Param:
    """One scalar that may differ at every launch; it travels in the uniform buffer."""

    name: str
    type: ParamType


@dataclass(frozen=True, slots=True)
class Program:
    """A compute shader and everything that is needed to run it.

    `grid` counts workgroups, `needs` lists device features by their WebGPU names ("shader-f16", "subgroups"),
    `shared_bytes` is the workgroup memory, and `checked=False` asks for a module without the run-time checks of array
    bounds and loops: only for a kernel that is proven not to need them.

    >>> p = Program("...", "scale", (Binding("x", "read_write"),), (64, 1, 1), (16, 1, 1), params=(Param("a", "f32"),))
    >>> p.pack((2.0,))
    b'\\x00\\x00\\x00@'
    """

    wgsl: str
    entry: str
    bindings: tuple[Binding, ...]
    workgroup_size: Size3
    grid: Size3
    params: tuple[Param, ...] = ()
    needs: tuple[str, ...] = ()
    shared_bytes: int = 0
    checked: bool = True

    def pack(self, values: Sequence[float]) -> bytes:
        """The bytes of the uniform buffer for these parameter values.

        Raises KernelError where the number of values differs or one does not fit its type.
        """
        if len(values) != len(self.params):
            names = ", ".join(p.name for p in self.params)
            raise KernelError(f"{self.entry}: {len(values)} parameter values for {len(self.params)} ({names or 'none'})")
        try:
            return struct.pack("<" + "".join(_PACK[p.type] for p in self.params), *values)
        except (struct.error, OverflowError) as error:
            given = ", ".join(f"{p.name}: {p.type} = {v!r}" for p, v in zip(self.params, values, strict=True))
            raise KernelError(f"{self.entry}: a parameter does not fit its type ({given}): {error}") from None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can do, in the numbers that a compute kernel meets. The defaults are what every WebGPU device has."""

    workgroup_bytes: int = 16384
    invocations: int = 256
    workgroup_size: Size3 = (256, 256, 64)
    workgroups: int = 65535
    bindings: int = 8
    binding_bytes: int = 134217728
    buffer_bytes: int = 268435456
    uniform_bytes: int = 65536
    storage_alignment: int = 256
    uniform_alignment: int = 256
    subgroup_sizes: tuple[int, int] = (4, 128)
