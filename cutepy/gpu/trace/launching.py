"""Running a traced kernel: on the device of its tensors, or on arrays of the host; and what a verification has to know
of such a call."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from ...errors import KernelError
from ...tensor.engine import ViewEngine
from ...tensor.tensor import Tensor
from ..array import DeviceEngine
from ..ir import Kernel
from ..runtime.program import Limits, Program
from .arguments import NUMBERS, Call

if TYPE_CHECKING:
    from ..runtime import Device, DeviceBuffer

Array = npt.NDArray[Any]  # of any element type


def launch_on_device(program: Program, call: Call, device: "Device") -> None:
    """Launch over the device's buffers; host arrays are uploaded before, and read back if the kernel wrote them."""
    buffers = [e.buffer if isinstance(e, DeviceEngine) else device.upload(e.memory, e.name) for e in call.engines]
    params = call.params
    device.launch(program, buffers, [params[p.name] for p in program.params])
    for engine, buffer, binding in zip(call.engines, buffers, program.bindings, strict=True):
        if isinstance(engine, ViewEngine) and binding.access == "read_write":
            engine.memory[...] = buffer.read(engine.memory.dtype, len(engine.memory))


@dataclass(frozen=True, slots=True)
class Ready:
    """A program, and which of a call's numbers each of its parameters is."""

    program: Program
    numbers: tuple[int, ...]


@dataclass(slots=True)
class Quick:
    """What a launch needs once its program is known; two calls with one key have the same program."""

    key: Hashable
    buffers: list["DeviceBuffer"]
    numbers: list[float]
    device: "Device"

    def launch(self, ready: Ready) -> None:
        self.device.launch(ready.program, self.buffers, [self.numbers[i] for i in ready.numbers])


def ready(program: Program, call: Call) -> Ready:
    """The program as later calls of the same kind launch it."""
    names = list(call.params)
    return Ready(program, tuple([names.index(p.name) for p in program.params]))


def quick_call(args: tuple[object, ...]) -> Quick | None:
    """A call over tensors of one device, each in a buffer of its own; None for any other, which goes the long way."""
    key: list[Hashable] = []
    buffers: list[DeviceBuffer] = []
    numbers: list[float] = []
    for value in args:
        kind: type = type(value)
        if kind is Tensor:
            tensor = cast(Tensor, value)
            engine = tensor.engine
            if type(engine) is not DeviceEngine or tensor.guard is not None or engine.buffer in buffers:
                return None
            key.append((tensor.layout, tensor.offset, engine.dtype.name, engine.length, engine.writable))
            buffers.append(engine.buffer)
        elif kind is float or kind is int or kind in NUMBERS:
            key.append(kind)
            numbers.append(cast(float, value))
        else:
            return None
    if not buffers or any(b.device is not buffers[0].device for b in buffers):
        return None
    return Quick(tuple(key), buffers, numbers, buffers[0].device)


def device_of(call: Call) -> "Device | None":
    """The one device of all device tensors; None where there are none. Raises KernelError for tensors of several."""
    devices = {id(e.device): e.device for e in call.engines if isinstance(e, DeviceEngine)}
    if len(devices) > 1:
        names = ", ".join(str(d) for d in devices.values())
        raise KernelError(f"{call.name}: the tensors are on {len(devices)} devices ({names}); move them to one")
    return next(iter(devices.values()), None)


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


def limits_of(call: Call) -> Limits:
    """The limits of the device that holds the tensors; what every WebGPU device can, where none does."""
    for engine in call.engines:
        if isinstance(engine, DeviceEngine):
            return engine.device.limits
    return Limits()


def aliases(call: Call, kernel: Kernel) -> tuple[str, ...]:
    """The pairs of bindings over one memory of which the kernel writes one: WebGPU forbids that."""
    bound = list(zip(call.engines, kernel.buffers, strict=True))
    return tuple(
        f"{a.name} and {b.name}"
        for (one, a), (two, b) in combinations(bound, 2)
        if (a.writable or b.writable) and _memory(one) is _memory(two)
    )


def _memory(engine: ViewEngine | DeviceEngine) -> object:
    return engine.buffer if isinstance(engine, DeviceEngine) else engine.memory
