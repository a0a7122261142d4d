"""wgpu, loaded when something of it is first asked for, and the calls of wgpu-native that wgpu-py 0.32 does not wrap.

Everything here may break with the next release: tested with wgpu 0.32; `pyproject.toml` pins that range.
`create_trusted_module` alone has a stand-in (a checked module) where a release lacks it; the caller says so to the
user.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from ...errors import DeviceError


class Later:
    """A module that is loaded with the first of its names that is asked for. Raises DeviceError where it cannot be."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        try:
            module = import_module(self._name)
        except (ImportError, OSError, RuntimeError) as error:
            raise DeviceError(
                f"wgpu cannot be loaded ({error}); reinstall it: pip install 'wgpu>=0.32,<0.33'"
            ) from error
        self.__dict__.update(vars(module))
        return getattr(module, name)


if TYPE_CHECKING:
    import wgpu as wgpu
    from wgpu.backends import wgpu_native as wgpu_native
    from wgpu.backends.wgpu_native import _api

    api = _api
else:
    wgpu = Later("wgpu")
    wgpu_native = Later("wgpu.backends.wgpu_native")
    api = Later("wgpu.backends.wgpu_native._api")


def create_trusted_module(device: wgpu.GPUDevice, wgsl: str, label: str) -> wgpu.GPUShaderModule | None:
    """A shader module without run-time checks (naga's index clamps and loop counters), or None where wgpu lacks it.

    The source is validated as always: only what would run inside the kernel goes away.
    """
    create = getattr(api.libf, "wgpuDeviceCreateShaderModuleTrusted", None)
    if create is None:
        return None
    source = api.new_struct_p("WGPUShaderSourceWGSL *", code=api.to_c_string_view(wgsl))
    source[0].chain.next = api.ffi.NULL
    source[0].chain.sType = api.lib.WGPUSType_ShaderSourceWGSL
    chain = api.ffi.cast("WGPUChainedStruct *", source)
    descriptor = api.new_struct_p("WGPUShaderModuleDescriptor *", nextInChain=chain, label=api.to_c_string_view(label))
    module = create(device._internal, descriptor, 0)
    return wgpu_native.GPUShaderModule(label, module, device)


def submit(queue: wgpu.GPUQueue, commands: wgpu.GPUCommandBuffer) -> int:
    """Submit one command buffer and return the index by which `wait` knows the submission."""
    ids = api.ffi.new("WGPUCommandBuffer []", [commands._internal])
    return int(api.libf.wgpuQueueSubmitForIndex(queue._internal, 1, ids))


def wait(device: wgpu.GPUDevice, submission: int) -> None:
    """Block until that submission, and all before it, are done. The GIL is released meanwhile."""
    api.libf.wgpuDevicePoll(device._internal, True, api.ffi.new("WGPUSubmissionIndex *", submission))


def timestamp_period(queue: wgpu.GPUQueue) -> float:
    """Nanoseconds in one tick of the device's timestamps."""
    return float(api.libf.wgpuQueueGetTimestampPeriod(queue._internal))


@contextmanager
def mapped_for_read(buffer: wgpu.GPUBuffer, size: int) -> Iterator[memoryview]:
    """The first bytes of a staging buffer as memory of the host, inside the block, once the copies to it are done.

    wgpu-py's public "READ" submits an empty command buffer first; the copy before a read has been submitted already.
    """
    buffer.map_async("READ_NOSYNC", 0, size).sync_wait()
    try:
        yield buffer.read_mapped(0, size, copy=False)
    finally:
        buffer.unmap()
