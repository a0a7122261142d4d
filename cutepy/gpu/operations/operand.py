"""Where an operation runs: on which engine, with operands of which home, and where its results are.

Law: with `engine="wgpu"` a device computes and the result is there: that of the operands, or the default one, to which
arrays of the host are brought. With `engine="interpreter"` NumPy runs the kernels, and everything stays on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import KernelError
from ...layout import Layout, from_modes, is_injective, joined
from ...tensor import Array, DType, Tensor, as_tensor, gpu_dtype, make_tensor, rules, view_of
from .. import Device, DeviceEngine, KernelFunction, Limits, array, default_device


@dataclass(frozen=True, slots=True)
class ExecutionSite:
    """Where an operation runs and its result is: a device, or the host (None), where the interpreter runs it."""

    device: Device | None

    def bring(self, tensor: Tensor) -> Tensor:
        """`tensor` at this site: copied only where it is on the host and has to go to a device."""
        if self.device is None or isinstance(tensor.engine, DeviceEngine):
            return tensor
        return array(tensor, device=self.device)

    @property
    def engine(self) -> str:
        """The name by which a call asks for this place."""
        return "interpreter" if self.device is None else "wgpu"

    @property
    def most_threads(self) -> int:
        """Threads that a workgroup may have."""
        return (Limits() if self.device is None else self.device.limits).invocations

    def run(self, kernel: KernelFunction, *args: object, **static: object) -> None:
        """Run a kernel."""
        if self.device is None:
            kernel.interpret(*args, **static)
        else:
            kernel(*args, **static)

    def new(self, shape: rules.Shape, dtype: DType, order: Sequence[int] | None = None) -> Tensor:
        """A new tensor to be filled, which holds anything on a device; `order` lists its axes, the fastest first
        (default: the last one first)."""
        layout, step = compact_layout(shape, order)
        if self.device is None:
            return Tensor(view_of(np.zeros(step, dtype.numpy)), layout)
        buffer = self.device.allocate(step * dtype.bytes, pooled=True)
        return Tensor(DeviceEngine(buffer, dtype, step), layout)

    def put(self, values: Array) -> Tensor:
        """A new tensor with these values."""
        return make_tensor(values) if self.device is None else array(values, device=self.device)


def compact_layout(shape: rules.Shape, order: Sequence[int] | None = None) -> tuple[Layout, int]:
    """The compact layout of a new tensor, whose axes are fastest in this order, and its size.

    >>> compact_layout((2, 3), (0, 1))
    (Layout((2, 3), (1, 2)), 6)
    """
    # From the fastest axis on; an axis of size 1 has stride 0, as in CuTe.
    stride, step = [0] * len(shape), 1
    for axis in range(len(shape))[::-1] if order is None else order:
        stride[axis], step = (step if shape[axis] > 1 else 0), step * shape[axis]
    return joined([from_modes([size], [d]) for size, d in zip(shape, stride, strict=True)]), step


def place_of(call: str, engine: str, tensors: Iterable[Tensor]) -> ExecutionSite:
    """Where `call` runs. Raises KernelError for an unknown engine, and for device tensors in the interpreter."""
    held = [t.engine for t in tensors if isinstance(t.engine, DeviceEngine)]
    if engine == "interpreter":
        if held:
            raise KernelError(
                f"{call}(engine='interpreter'): {held[0].name or 'a tensor'} is on {held[0].device}; pass .numpy()"
            )
        return ExecutionSite(None)
    if engine != "wgpu":
        raise KernelError(f"{call}(engine={engine!r}): there are 'wgpu' and 'interpreter'")
    return ExecutionSite(held[0].device if held else default_device())


def tensor_of(call: str, x: object) -> Tensor:
    """`x` as a tensor, as `ops` takes it.

    Raises TensorError for what is no array, KernelError for a tile that reaches beyond its tensor.
    """
    tensor = as_tensor(x)
    gpu_dtype(tensor.dtype)
    if tensor.guard is not None:
        raise KernelError(f"{call}({tensor}): the tile reaches beyond its tensor; copy it into a tensor of its own")
    return tensor


def target_of(call: str, x: object) -> Tensor:
    """`x` as a tensor that is stored into. Raises KernelError also where two of its elements share memory."""
    tensor = tensor_of(call, x)
    if tensor.size and not is_injective(tensor.layout):
        raise KernelError(
            f"{call}({tensor}): elements of the target share memory, and which is stored last is open; "
            "give a tensor whose elements lie apart"
        )
    return tensor
