"""Devices: the only part of cutepy that imports wgpu or Dawn, and it does so at the first call that needs a device.

`adapters()` lists what there is, `open_device()` and `default_device()` open one, and a `Device` uploads arrays,
launches programs and reads results back. `Program` is what it runs: plain data, without a trace of how it was made.
"""

import threading
from collections.abc import Sequence

from ...errors import DeviceError
from .adapters import RUNTIMES, quiet_loader
from .adapters import Adapter as Adapter
from .adapters import adapters as adapters
from .adapters import choose_adapter as choose_adapter
from .adapters import missing_runtimes as missing_runtimes
from .buffer import DeviceBuffer as DeviceBuffer
from .device import Device as Device
from .device import DeviceStats as DeviceStats
from .program import MATRICES
from .program import Binding as Binding
from .program import Limits as Limits
from .program import MatrixShape as MatrixShape
from .program import Param as Param
from .program import Program as Program

_USEFUL = (
    *("shader-f16", "subgroup", "subgroups", "subgroup-barrier", "timestamp-query", "shader-int64"),
    *("shader-float32-atomic", MATRICES, "implicit-device-synchronization"),
)


def open_device(
    adapter: Adapter | int | str | None = None,
    *,
    runtime: str | None = None,
    needs: Sequence[str] = (),
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

    With `checked`, every program runs with the runtime's checks of bounds. Without, a program that is proven to need
    none runs without; any other keeps them: the runtime's where it has them module by module (wgpu), else checks that
    are printed into its text (Dawn), and a program that is neither proven nor printed so is refused.

    Raises DeviceError where there is no such adapter, the runtime is not installed or the driver refuses.
    """
    chosen = choose_adapter(adapter, runtime=runtime, needs=needs)
    through = RUNTIMES[chosen.runtime]
    wanted = [name for name in _USEFUL if name in chosen.handle.features]
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

    >>> from cutepy.errors import DeviceError
    >>> try:
    ...     print(default_device() is default_device())
    ... except DeviceError:  # no adapter here
    ...     print(True)
    True

    Raises DeviceError as `open_device` does.
    """
    global _default
    with _default_lock:
        if _default is None or not _default.alive:
            _default = open_device()
        return _default
