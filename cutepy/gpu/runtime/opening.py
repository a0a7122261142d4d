"""How a device is opened: a new one on a chosen adapter, or the one that this process shares."""

import threading

from ...errors import DeviceError
from .adapters import Adapter, choose_adapter, quiet_loader
from .device import Device

_USEFUL = ("shader-f16", "subgroup", "subgroup-barrier", "timestamp-query", "shader-int64", "shader-float32-atomic")


def open_device(adapter: Adapter | int | str | None = None) -> Device:
    """A new device on the adapter that `choose_adapter` finds, with all its limits and every useful feature it has.

    Raises DeviceError where there is no such adapter or the driver refuses.
    """
    chosen = choose_adapter(adapter)
    wanted = [name for name in _USEFUL if name in chosen.handle.features]
    try:
        with quiet_loader():
            handle = chosen.handle.request_device_sync(label="cutepy", required_features=wanted)
    except (RuntimeError, KeyError) as error:
        raise DeviceError(f"{chosen.summary} gives no device: {error}") from error
    return Device(chosen, handle)


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
