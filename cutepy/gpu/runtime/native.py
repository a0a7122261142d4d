"""wgpu-native as a runtime: wgpu, loaded when something of it is first asked for, and the calls that wgpu-py 0.32 does
not wrap; and what both runtimes do alike by the C functions of webgpu.h: submissions, maps, polls.

Nothing here waits. A submission and a map give a `Completion`, and a poll sets those that are over: wgpu-py waits for a
thread of its own by locks that an interrupt can leave held. Everything here may break with the next release: tested
with wgpu 0.32; `pyproject.toml` pins that range. The unchecked module alone has a stand-in (a checked one) where a
release lacks it; the caller says so to the user.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...errors import DeviceError
from .interrupts import Uninterrupted
from .program import MatrixShape


class Later:
    """A module that is loaded with the first of its names that is asked for. Raises DeviceError where it cannot be."""

    def __init__(self, name: str, remedy: str) -> None:
        self._name, self._remedy = name, remedy

    def __getattr__(self, name: str) -> object:
        try:
            with Uninterrupted():  # half a package in sys.modules is not imported again
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
    read, declarations = getattr(parser, "parse_type_and_quals", None), getattr(parser, "_declarations", None)
    if parser is None or read is None or not isinstance(declarations, dict):
        return

    def alone(text: str) -> object:
        parser._declarations = {name: declarations[name] for name in declarations if name.rpartition(" ")[2] in text}
        try:
            return read(text)
        finally:
            declarations.update(parser._declarations)
            parser._declarations = declarations

    parser.parse_type_and_quals = alone


@dataclass(slots=True, eq=False, weakref_slot=True)
class Completion:
    """Work that a device ends on its own: `done` once a poll has heard of its end; `failed` says if it went wrong. It
    `keeps` what must not go before."""

    done: bool = False
    failed: bool = False
    keeps: object = None


class Asynchronous(ABC):
    """What both runtimes do alike: calls of webgpu.h that begin something, and a poll that hears of its end."""

    @property
    @abstractmethod
    def api(self) -> Any:
        """The C library, webgpu.h and cffi, where wgpu-py's API costs a launch too much."""

    @abstractmethod
    def callback(self, kind: str, status: str) -> dict[str, Any]:
        """The fields of a callback's description that say what C calls."""

    @abstractmethod
    def awaits(self, status: str, completion: Completion) -> Any:
        """What such a callback is told, so that it sets `completion`."""

    @abstractmethod
    def after_fork(self) -> None:
        """In a forked child: the next adapter makes an instance. The parent's is never called again."""

    def mapped(self, buffer: wgpu.GPUBuffer, size: int) -> Any:
        """The first bytes of a buffer that is mapped, until it is unmapped. Raises DeviceError where it is not."""
        address = self.api.lib.wgpuBufferGetConstMappedRange(buffer._internal, 0, size)
        if address == self.api.ffi.NULL:
            raise DeviceError("read: the staging buffer is not mapped")
        return self.api.ffi.buffer(address, size)

    def unmap(self, buffer: wgpu.GPUBuffer) -> None:
        self.api.lib.wgpuBufferUnmap(buffer._internal)

    def on_destroy(self, gpu: wgpu.GPUDevice, exclusive: Callable[[], AbstractContextManager[object]]) -> None:
        """Let whatever destroys this device, on any thread, do so inside `exclusive`. wgpu-native ends the process
        where a device is destroyed between the check of a command buffer and its submission, and Dawn's calls race
        with it."""
        number = int(self.api.ffi.cast("uintptr_t", gpu._internal))
        _order_destruction(self.api)
        _TURNS[number] = exclusive
        weakref.finalize(gpu, _TURNS.pop, number, None)


_DONE, _MAPPED = "WGPUQueueWorkDoneStatus", "WGPUMapAsyncStatus"
"""What the two callbacks are told, as C names them."""


class Queue:
    """A device's queue, by the C functions: their descriptions are made once. The caller has the device to itself."""

    def __init__(self, runtime: Asynchronous, gpu: wgpu.GPUDevice) -> None:
        self._runtime, self._api, self._queue = runtime, runtime.api, gpu.queue._internal
        self._commands = self._api.ffi.new("WGPUCommandBuffer[1]")
        self._done, self._mapped = [
            self._api.ffi.new(f"WGPU{kind}CallbackInfo *", runtime.callback(f"WGPU{kind}Callback", status))
            for kind, status in (("QueueWorkDone", _DONE), ("BufferMap", _MAPPED))
        ]

    def submit(self, commands: Owned) -> None:
        """Submit one command buffer."""
        self._commands[0] = commands.handle
        self._api.libf.wgpuQueueSubmit(self._queue, 1, self._commands)

    def submitted(self) -> Completion:
        """The end of what is submitted so far."""
        completion = Completion()
        self._done.userdata1 = self._runtime.awaits(_DONE, completion)
        self._api.lib.wgpuQueueOnSubmittedWorkDone(self._queue, self._done[0])
        return completion

    def map_for_read(self, buffer: wgpu.GPUBuffer, size: int, completion: Completion) -> None:
        """Map the first bytes of a buffer, once what is submitted is done with it."""
        self._mapped.userdata1 = self._runtime.awaits(_MAPPED, completion)
        self._api.libf.wgpuBufferMapAsync(buffer._internal, self._api.lib.WGPUMapMode_Read, 0, size, self._mapped[0])

    def write(self, buffer: wgpu.GPUBuffer, data: bytes | memoryview, offset: int = 0) -> None:
        """Copy bytes, a multiple of 4, to a buffer from byte `offset` on, before what is submitted next."""
        held = self._api.ffi.from_buffer(data)
        self._api.libf.wgpuQueueWriteBuffer(self._queue, buffer._internal, offset, held, len(held))


class Owned:
    """An object of webgpu.h, made past wgpu-py; it is released with its last reference."""

    __slots__ = ("_release", "handle")

    def __init__(self, handle: Any, release: Callable[[Any], None]) -> None:
        self.handle, self._release = handle, release

    def __del__(self) -> None:
        if not sys.is_finalizing():  # at the end of Python what releases it may be gone, and the process takes it
            self._release(self.handle)


class Encoder:
    """The commands of one submission, by the C functions: wgpu-py's way there takes as long as 20 launches.

    `finish` tells the errors of all: what comes before it is called without wgpu-py's look at errors after each call.
    """

    def __init__(self, runtime: Asynchronous, gpu: wgpu.GPUDevice) -> None:
        self._api, lib = runtime.api, runtime.api.lib
        made = lib.wgpuDeviceCreateCommandEncoder(gpu._internal, self._api.ffi.NULL)
        self._encoder = Owned(made, lib.wgpuCommandEncoderRelease)

    def compute_pass(self, timestamps: Timestamps | None) -> Owned:
        """Begin a compute pass, which writes its two timestamps where it is told."""
        api, described = self._api, self._api.ffi.NULL
        if timestamps is not None:
            queries, first = timestamps
            fields = {
                "querySet": queries._internal,
                "beginningOfPassWriteIndex": first,
                "endOfPassWriteIndex": first + 1,
            }
            written = api.ffi.new("WGPUPassTimestampWrites *", fields)
            described = api.ffi.new("WGPUComputePassDescriptor *", {"timestampWrites": written})
        made = api.lib.wgpuCommandEncoderBeginComputePass(self._encoder.handle, described)
        return Owned(made, api.lib.wgpuComputePassEncoderRelease)

    def end(self, compute_pass: Owned) -> None:
        self._api.lib.wgpuComputePassEncoderEnd(compute_pass.handle)

    def copy(self, source: wgpu.GPUBuffer, offset: int, target: wgpu.GPUBuffer, size: int) -> None:
        """Copy bytes to the first of another buffer; `offset` and `size` are multiples of 4."""
        copy = self._api.lib.wgpuCommandEncoderCopyBufferToBuffer
        copy(self._encoder.handle, source._internal, offset, target._internal, 0, size)

    def resolve(self, queries: wgpu.GPUQuerySet, count: int, target: wgpu.GPUBuffer) -> None:
        """Write the first queries of a set to a buffer."""
        resolve = self._api.lib.wgpuCommandEncoderResolveQuerySet
        resolve(self._encoder.handle, queries._internal, 0, count, target._internal, 0)

    def finish(self) -> Owned:
        """The commands, validated. Raises the runtime's error for what it refuses, and on a lost device."""
        made = self._api.libf.wgpuCommandEncoderFinish(self._encoder.handle, self._api.ffi.NULL)
        return Owned(made, self._api.lib.wgpuCommandBufferRelease)


Timestamps = tuple[Any, int]
"""A set of queries, and the first of two of them that a pass writes."""


class Binder:
    """Bind groups of buffers for one layout, by a description of which buffers and bytes alone are written anew: that
    takes a fifth of wgpu-py's way. The caller has the device to itself."""

    def __init__(
        self,
        runtime: Asynchronous,
        gpu: wgpu.GPUDevice,
        layout: wgpu.GPUBindGroupLayout,
        count: int,
        after: Sequence[tuple[wgpu.GPUBuffer, int]] = (),
    ) -> None:
        ffi, libf = runtime.api.ffi, runtime.api.libf
        self._gpu, self._layout, self._device = gpu, layout, gpu._internal
        self._create, self._release = libf.wgpuDeviceCreateBindGroup, runtime.api.lib.wgpuBindGroupRelease
        fixed = [{"buffer": buffer._internal, "size": size} for buffer, size in after]
        entries = [{"binding": i, **fields} for i, fields in enumerate([*[{}] * count, *fixed])]
        self._entries = ffi.new("WGPUBindGroupEntry[]", entries)
        fields = {"layout": layout._internal, "entryCount": len(entries), "entries": self._entries}
        self._description = ffi.new("WGPUBindGroupDescriptor *", fields)
        self._each, self._after = list(self._entries)[:count], after

    def group(self, memory: Sequence[tuple[wgpu.GPUBuffer, int]]) -> Owned:
        """The group of these buffers, so many bytes of each, and of those that come `after` them in each group."""
        for entry, (buffer, size) in zip(self._each, memory, strict=True):
            entry.buffer, entry.size = buffer._internal, size
        return Owned(self._create(self._device, self._description), self._release)


_TURNS: dict[int, Callable[[], AbstractContextManager[object]]] = {}


@cache
def _order_destruction(api: Any) -> None:
    """Replace `wgpuDeviceDestroy`, for wgpu-py and for what calls it by hand, by one that takes the device's turn."""
    destroy = api.lib.wgpuDeviceDestroy

    def in_turn(handle: object) -> None:
        exclusive = _TURNS.get(int(api.ffi.cast("uintptr_t", handle)), nullcontext)
        with exclusive():
            destroy(handle)

    api.libf.wgpuDeviceDestroy = in_turn
    with suppress(AttributeError, TypeError):  # a library that is compiled takes no names
        api.lib.__dict__["wgpuDeviceDestroy"] = in_turn


class WgpuNative(Asynchronous):
    """The runtime that is always there. With `module_checks` a program has run-time checks or not, module by module;
    without, that is decided when the device is opened."""

    name: ClassVar[Literal["wgpu"]] = "wgpu"
    dialect: ClassVar[Literal["naga"]] = "naga"
    module_checks = True
    frees_late = False
    #: A call of a device that is lost raises; elsewhere `lost` has to be asked before each.
    raises_when_lost = True

    def __init__(self) -> None:
        self._pending: dict[int, Completion] = {}
        self._callbacks: dict[str, Any] = {}
        self._numbers = itertools.count(1)

    @property
    def api(self) -> Any:
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

    def callback(self, kind: str, status: str) -> dict[str, Any]:
        """One C function a kind, which is told by a number what it sets."""
        if kind not in self._callbacks:
            success = getattr(api.lib, f"{status}_Success")

            def heard(code: int, message: object, number: object, _: object) -> None:
                ended = self._pending.pop(int(api.ffi.cast("uintptr_t", number)))
                ended.done, ended.failed = True, code != success

            self._callbacks[kind] = api.ffi.callback(f"void({status}, WGPUStringView, void *, void *)", heard)
        return {"mode": api.lib.WGPUCallbackMode_AllowProcessEvents, "callback": self._callbacks[kind]}

    def awaits(self, status: str, completion: Completion) -> Any:
        number = next(self._numbers)
        self._pending[number] = completion
        return api.ffi.cast("void *", number)

    def after_fork(self) -> None:
        forget_instance("wgpu.backends.wgpu_native._helpers")
        self._pending.clear()

    def poll(self, gpu: wgpu.GPUDevice) -> None:
        """Hear of what is over, without waiting."""
        api.libf.wgpuDevicePoll(gpu._internal, False, api.ffi.NULL)

    def timestamp_period(self, gpu: wgpu.GPUDevice) -> float:
        return float(api.libf.wgpuQueueGetTimestampPeriod(gpu.queue._internal))

    def lost(self, gpu: wgpu.GPUDevice) -> bool:
        return False  # the next call that needs the device raises, and says so

    def lost_error(self, text: str) -> bool:
        return "device is lost" in text.lower()


def forget_instance(helpers: str) -> None:
    """Have the next adapter make an instance anew, where this module has made one."""
    if getattr(sys.modules.get(helpers), "_the_instance", None) is not None:
        sys.modules[helpers]._the_instance = None  # type: ignore[attr-defined]


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
