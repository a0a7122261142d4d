"""How many threads a subgroup of a device has: measured, for wgpu does not tell."""

from __future__ import annotations

import struct
import weakref
from typing import TYPE_CHECKING

from ...errors import DeviceError
from .native import wgpu

if TYPE_CHECKING:
    from .device import Device

_MEASURED: weakref.WeakKeyDictionary[wgpu.GPUDevice, int] = weakref.WeakKeyDictionary()
_PROBE = """@group(0) @binding(0) var<storage, read_write> found: array<u32>;
@compute @workgroup_size(128)
fn probe(@builtin(subgroup_size) size: u32, @builtin(local_invocation_index) thread: u32) {
    if thread == 0u { found[0] = size; }
}"""


def subgroup_size(device: Device) -> int:
    """The threads of a subgroup, as a kernel of 128 threads sees them; asked once a device."""
    gpu = device.gpu
    if gpu not in _MEASURED:
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        found = gpu.create_buffer(size=16, usage=usage)
        module = gpu.create_shader_module(code="enable subgroups;\n" * (device.dialect == "tint") + _PROBE)
        pipeline = gpu.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "probe"})
        entries = [{"binding": 0, "resource": {"buffer": found, "offset": 0, "size": 16}}]
        group = gpu.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
        encoder = gpu.create_command_encoder()
        step = encoder.begin_compute_pass()
        step.set_pipeline(pipeline)
        step.set_bind_group(0, group)
        step.dispatch_workgroups(1)
        step.end()
        gpu.queue.submit([encoder.finish()])
        _MEASURED[gpu] = struct.unpack("<I", gpu.queue.read_buffer(found, 0, 4))[0]
    return _MEASURED[gpu]


def check_lanes(entry: str, lanes: int, device: Device) -> None:
    """Raise DeviceError where subgroups are smaller than a kernel's shuffles take for granted."""
    size = subgroup_size(device)
    if size < lanes:
        raise DeviceError(
            f"{entry} shuffles within subgroups of {lanes} threads, those of {device.adapter.name} have {size}; "
            f'give gpu.convert(..., lanes={size}), or through="memory"'
        )
