"""Devices: the only part of cutepy that imports wgpu or Dawn, and it does so at the first call that needs a device.

`adapters()` lists what there is, `open_device()` and `default_device()` open one, and a `Device` uploads arrays,
launches programs and reads results back. `Program` is what it runs: plain data, without a trace of how it was made.
"""

from .adapters import Adapter as Adapter
from .adapters import adapters as adapters
from .adapters import choose_adapter as choose_adapter
from .adapters import missing_runtimes as missing_runtimes
from .buffer import BufferView as BufferView
from .buffer import DeviceBuffer as DeviceBuffer
from .buffer import Operand as Operand
from .device import Device as Device
from .device import DeviceStats as DeviceStats
from .opening import default_device as default_device
from .opening import open_device as open_device
from .program import Binding as Binding
from .program import Limits as Limits
from .program import MatrixShape as MatrixShape
from .program import Param as Param
from .program import Program as Program
