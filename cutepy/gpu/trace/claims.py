"""What a verification has to know of a call: the limits of its device, and which of its tensors share memory."""

from itertools import combinations

from ...tensor.engine import ViewEngine
from ..array import DeviceEngine
from ..ir import Kernel
from ..runtime.program import Limits
from .arguments import Call


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
