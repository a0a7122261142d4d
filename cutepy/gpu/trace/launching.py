"""Running a traced kernel: on the device of its tensors, or on arrays of the host."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...errors import KernelError
from ...tensor.engine import ViewEngine
from ..array import DeviceEngine
from ..runtime.program import Program
from .arguments import Call

if TYPE_CHECKING:
    from ..runtime import Device

Array = npt.NDArray[Any]  # of any element type


def launch_on_device(program: Program, call: Call) -> None:
    """Launch over the device's buffers; host arrays are uploaded before, and read back if the kernel wrote them."""
    device = _device(call)
    buffers = [e.buffer if isinstance(e, DeviceEngine) else device.upload(e.memory, e.name) for e in call.engines]
    device.launch(program, buffers, list(call.params.values()))
    for engine, buffer, binding in zip(call.engines, buffers, program.bindings, strict=True):
        if isinstance(engine, ViewEngine) and binding.access == "read_write":
            engine.memory[...] = buffer.read(engine.memory.dtype, len(engine.memory))


def _device(call: Call) -> "Device":
    """The one device of all device tensors, or the default one."""
    from ..runtime import default_device

    devices = {id(e.device): e.device for e in call.engines if isinstance(e, DeviceEngine)}
    if len(devices) > 1:
        names = ", ".join(str(d) for d in devices.values())
        raise KernelError(f"{call.name}: the tensors are on {len(devices)} devices ({names}); move them to one")
    return next(iter(devices.values())) if devices else default_device()


def run_on_host(call: Call, run: Callable[[list[Array], dict[str, float]], None]) -> None:
    """Run on the memory of host arrays, in place."""
    arrays: list[Array] = []
    for engine in call.engines:
        if isinstance(engine, DeviceEngine):
            raise KernelError(
                f"{call.name}.interpret runs on arrays of the host; {engine.name or 'a tensor'} is on a device"
            )
        memory = engine.memory
        arrays.append(memory if memory.flags.c_contiguous else np.ascontiguousarray(memory))
    run(arrays, call.params)
    for engine, array in zip(call.engines, arrays, strict=True):
        if isinstance(engine, ViewEngine) and array is not engine.memory and engine.writable:
            engine.memory[...] = array
