"""Devices: the only part of cutepy that imports wgpu, and it does so at the first call that needs a device.

`adapters()` lists what there is, `open_device()` and `default_device()` open one, and a `Device` uploads arrays,
launches programs and reads results back. `Program` is what it runs: plain data, without a trace of how it was made.
"""

from typing import TYPE_CHECKING

from .adapters import Adapter as Adapter
from .adapters import adapters as adapters
from .adapters import choose_adapter as choose_adapter
from .adapters import default_device as default_device
from .adapters import open_device as open_device
from .buffer import BufferView as BufferView
from .buffer import DeviceBuffer as DeviceBuffer
from .buffer import Operand as Operand
from .program import Binding as Binding
from .program import Limits as Limits
from .program import Param as Param
from .program import Program as Program

if TYPE_CHECKING:
    from .device import Device as Device
    from .device import DeviceStats as DeviceStats


def __getattr__(name: str) -> object:
    if name in ("Device", "DeviceStats"):  # they load wgpu
        from . import device

        return getattr(device, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
