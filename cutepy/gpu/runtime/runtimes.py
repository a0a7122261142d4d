"""The runtimes that kernels run on, behind one small interface: wgpu-native, which is always there, and Dawn.

wgpu-py's API is common to both; a `Runtime` is what is not. Its handles are that API's objects.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ...errors import DeviceError
from .dawn import Dawn
from .native import WgpuNative
from .program import Dialect, MatrixShape

if TYPE_CHECKING:
    from .native import wgpu

RuntimeName = Literal["wgpu", "dawn"]


class Api(Protocol):
    """The functions of webgpu.h, and cffi's way to make their arguments."""

    lib: Any
    ffi: Any


class Runtime(Protocol):
    """What a runtime has to say and to do beyond wgpu-py's API.

    `errors` are its class of errors and that of memory that ran out. With `module_checks` a program has run-time checks
    or not, module by module; without, that is decided when the device is opened.
    """

    @property
    def name(self) -> RuntimeName: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def module_checks(self) -> bool: ...
    @property
    def version(self) -> str: ...
    @property
    def api(self) -> Api:
        """The C library that it calls, where wgpu-py's API costs a launch too much."""

    @property
    def errors(self) -> tuple[type[Exception], type[Exception]]: ...

    def lock(self) -> threading.Lock:
        """What a device holds while it calls the runtime."""

    def adapters(self) -> list[wgpu.GPUAdapter]:
        """Every adapter. Raises DeviceError where the runtime is not installed."""

    def matrices(self, handle: wgpu.GPUAdapter) -> tuple[tuple[MatrixShape, ...], str]:
        """The matrices that an adapter multiplies; where there are none, why."""

    def open(self, handle: wgpu.GPUAdapter, features: Sequence[str], checked: bool) -> wgpu.GPUDevice:
        """A new device, with every limit of the adapter; `checked` where modules do not decide."""

    def module(self, gpu: wgpu.GPUDevice, wgsl: str, label: str, checked: bool) -> tuple[wgpu.GPUShaderModule, bool]:
        """A validated shader module, and whether it has run-time checks: also where none were asked for, if need be."""

    def submit(self, gpu: wgpu.GPUDevice, commands: wgpu.GPUCommandBuffer) -> Callable[[], None]:
        """Submit one command buffer; what is returned blocks until it, and all before it, are done."""

    def timestamp_period(self, gpu: wgpu.GPUDevice) -> float:
        """Nanoseconds in one tick of the device's timestamps."""

    def lost(self, gpu: wgpu.GPUDevice) -> bool:
        """Whether the device is known to be lost, without an error that says so."""

    def lost_error(self, text: str) -> bool:
        """Whether an error says that the device is lost."""


RUNTIMES: dict[str, Runtime] = {runtime.name: runtime for runtime in (WgpuNative(), Dawn())}


def runtime_named(name: str) -> Runtime:
    """The runtime of that name. Raises DeviceError, naming those that there are."""
    if name not in RUNTIMES:
        raise DeviceError(f"runtime {name!r}: there are {' and '.join(map(repr, RUNTIMES))}")
    return RUNTIMES[name]
