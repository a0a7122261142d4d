"""Devices: the only room of cutepy that imports wgpu or Dawn, and it does so at the first call that needs a device.

`adapters()` lists what there is, `open_device()` and `default_device()` open one, and a `Device` uploads arrays,
launches programs and reads results back. `Program` is what it runs: plain data, without a trace of how it was made.
"""

import os
import threading
from collections.abc import Sequence

from ...errors import DeviceError
from .adapters import RUNTIMES, Adapter, adapters, choose_adapter, missing_runtimes, quiet_loader, webgpu_names
from .buffer import DeviceBuffer
from .device import Device, DeviceStats
from .forks import compute, forked, in_time, part_with
from .interrupts import Uninterrupted
from .program import MATRICES, Binding, Limits, MatrixShape, Program, ProgramParam

_USEFUL = (
    *("shader-f16", "subgroup", "subgroups", "subgroup-barrier", "subgroup-size-control", "timestamp-query"),
    *("shader-int64", "shader-float32-atomic", MATRICES, "implicit-device-synchronization"),
)


def open_device(
    adapter: Adapter | int | str | None = None,
    *,
    runtime: str | None = None,
    needs: Sequence[str] = (),
    without: Sequence[str] = (),
    checked: bool = False,
) -> Device:
    """A new device on the adapter that `choose_adapter` finds, with all its limits and every useful feature it has:
    of the runtime "wgpu" or "dawn", or with the features that a program `needs`, whichever runtime has them.

    >>> from cutepy.errors import DeviceError
    >>> try:
    ...     open_device(needs=["warp-drive"])
    ... except DeviceError as error:
    ...     print(str(error).partition(";")[0])
    no adapter has the feature 'warp-drive'

    Features that it shall be `without`, by their WebGPU names, are left: what is recorded there is exported for devices
    that lack them, such as `without=["subgroups"]`.

    With `checked`, every program runs with the runtime's checks of bounds. Without, a program that is proven to need
    none runs without; any other keeps them: the runtime's where it has them module by module (wgpu), else checks that
    are printed into its text (Dawn), and a program that is neither proven nor printed so is refused.

    Raises DeviceError where there is no such adapter, the runtime is not installed or the driver refuses.
    """
    with Uninterrupted():
        device = in_time(lambda: _opened(adapter, runtime, needs, without, checked), "the driver")
        if forked():  # a driver that does not work here is told by its first program
            try:
                in_time(lambda: compute(device), device.adapter.summary)
            except DeviceError:
                part_with(device, "opened in a forked process, where its driver does not work")
                raise
        return device


def _opened(
    adapter: Adapter | int | str | None,
    runtime: str | None,
    needs: Sequence[str],
    without: Sequence[str],
    checked: bool,
) -> Device:
    if unknown := {*without} - webgpu_names({*_USEFUL}):
        raise DeviceError(
            f"without={[*without]}: there is no {min(unknown)!r}; {', '.join(sorted(webgpu_names({*_USEFUL})))}"
        )
    if isinstance(adapter, Adapter) and adapter.process != os.getpid():  # its handle is the parent's
        adapter = adapters()[adapter.index]
    chosen = choose_adapter(adapter, runtime=runtime, needs=needs)
    through = RUNTIMES[chosen.runtime]
    left = {*without} | ({"subgroup-barrier"} if "subgroups" in without else set())
    wanted = [name for name in _USEFUL if name in chosen.handle.features and not webgpu_names({name}) & left]
    try:
        with quiet_loader():
            handle = through.open(chosen.handle, wanted, checked)
    except (RuntimeError, KeyError) as error:
        if isinstance(error, DeviceError):
            raise
        raise DeviceError(f"{chosen.summary} gives no device: {error}") from error
    return Device(chosen, handle, checked=checked)


_default: Device | None = None
_default_lock = threading.Lock()


def default_device() -> Device:
    """The device of this process: opened on the first call, and again after it was lost or closed.

    >>> default_device() is default_device()
    True

    Raises DeviceError as `open_device` does.
    """
    global _default
    with _default_lock:
        if _default is None or not _default.alive:
            _default = open_device()
        return _default


def _in_child() -> None:
    """A child opens a default device of its own; another thread of the parent may have held the lock."""
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)

__all__ = [
    "MATRICES", "Adapter", "Binding", "Device", "DeviceBuffer", "DeviceStats", "Limits", "MatrixShape", "Program",
    "ProgramParam", "adapters", "choose_adapter", "default_device", "missing_runtimes", "open_device",
]  # fmt: skip
