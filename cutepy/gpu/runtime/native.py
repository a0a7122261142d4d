"""wgpu-native as a runtime: wgpu, loaded when something of it is first asked for, and the calls that wgpu-py 0.32 does
not wrap.

Everything here may break with the next release: tested with wgpu 0.32; `pyproject.toml` pins that range. The unchecked
module alone has a stand-in (a checked one) where a release lacks it; the caller says so to the user.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...errors import DeviceError
from .program import MatrixShape


class Later:
    """A module that is loaded with the first of its names that is asked for. Raises DeviceError where it cannot be."""

    def __init__(self, name: str, remedy: str) -> None:
        self._name, self._remedy = name, remedy

    def __getattr__(self, name: str) -> object:
        try:
            module = import_module(self._name)
        except (ImportError, OSError, RuntimeError) as error:
            raise DeviceError(f"{self._name.partition('.')[0]} cannot be loaded ({error}); {self._remedy}") from error
        self.__dict__.update(vars(module))
        return getattr(module, name)


_REINSTALL = "reinstall it: pip install 'wgpu>=0.32,<0.33'"

if TYPE_CHECKING:
    import wgpu as wgpu
    from wgpu.backends import wgpu_native as wgpu_native
    from wgpu.backends.wgpu_native import _api

    api = _api
else:
    wgpu = Later("wgpu", _REINSTALL)
    wgpu_native = Later("wgpu.backends.wgpu_native", _REINSTALL)
    api = Later("wgpu.backends.wgpu_native._api", _REINSTALL)


@cache
def read_types_alone(ffi: Any) -> None:
    """Let cffi read the name of a C type without all others; nothing is changed where cffi is not as it was.

    It puts the 450 names that it knows before each text that it parses, and a process's first kernel names 46 types:
    that took 0.8 s. Names that a text does not hold have no say in what it means.
    """
    parser = getattr(ffi, "_parser", None)
    read, known = getattr(parser, "parse_type_and_quals", None), getattr(parser, "_declarations", None)
    if parser is None or read is None or not isinstance(known, dict):
        return

    def alone(text: str) -> object:
        parser._declarations = {name: known[name] for name in known if name.rpartition(" ")[2] in text}
        try:
            return read(text)
        finally:
            known.update(parser._declarations)
            parser._declarations = known

    parser.parse_type_and_quals = alone


class WgpuNative:
    """The runtime that is always there. With `module_checks` a program has run-time checks or not, module by module;
    without, that is decided when the device is opened."""

    name: ClassVar[Literal["wgpu"]] = "wgpu"
    dialect: ClassVar[Literal["naga"]] = "naga"
    module_checks = True

    @property
    def api(self) -> Any:
        """The C library, webgpu.h and cffi, where wgpu-py's API costs a launch too much."""
        return api

    @property
    def errors(self) -> tuple[type[Exception], type[Exception]]:
        """Its class of errors, and that of memory that ran out."""
        return wgpu.GPUError, wgpu.GPUOutOfMemoryError

    @property
    def version(self) -> str:
        return f"wgpu {wgpu.__version__}"

    def lock(self) -> threading.Lock:
        """What a device holds while it calls the runtime."""
        return threading.Lock()

    def adapters(self) -> list[wgpu.GPUAdapter]:
        read_types_alone(api.ffi)
        handles: list[wgpu.GPUAdapter] = wgpu.gpu.enumerate_adapters_sync()
        return handles

    def matrices(self, handle: wgpu.GPUAdapter) -> tuple[tuple[MatrixShape, ...], str]:
        """The matrices that an adapter multiplies; where there are none, why."""
        return (), 'wgpu-native gives none; an adapter of Dawn may: gpu.open_device(runtime="dawn")'

    def open(self, handle: wgpu.GPUAdapter, features: Sequence[str], checked: bool) -> wgpu.GPUDevice:
        return handle.request_device_sync(label="cutepy", required_features=features)

    def module(self, gpu: wgpu.GPUDevice, wgsl: str, label: str, checked: bool) -> tuple[wgpu.GPUShaderModule, bool]:
        """A validated shader module, and whether it has run-time checks: also where none were asked for, if need be."""
        module = None if checked else create_trusted_module(gpu, wgsl, label)
        if module is None:
            return gpu.create_shader_module(code=wgsl, label=label), True
        return module, False

    def submit(self, gpu: wgpu.GPUDevice, commands: wgpu.GPUCommandBuffer) -> Callable[[], None]:
        """Submit one command buffer; what is returned blocks until it, and all before it, are done."""
        ids = api.ffi.new("WGPUCommandBuffer []", [commands._internal])
        index = api.ffi.new("WGPUSubmissionIndex *", int(api.libf.wgpuQueueSubmitForIndex(gpu.queue._internal, 1, ids)))
        return lambda: api.libf.wgpuDevicePoll(gpu._internal, True, index)

    def timestamp_period(self, gpu: wgpu.GPUDevice) -> float:
        return float(api.libf.wgpuQueueGetTimestampPeriod(gpu.queue._internal))

    def lost(self, gpu: wgpu.GPUDevice) -> bool:
        return False  # the next call that needs the device raises, and says so

    def lost_error(self, text: str) -> bool:
        return "device is lost" in text.lower()


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
