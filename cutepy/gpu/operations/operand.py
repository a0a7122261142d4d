"""What an operation takes and what it gives: operands as tensors, an engine to run on, results beside the operands.

Law: operands on a device stay there and the result is there too; with `engine="wgpu"` arrays of the host are brought to
the device of the others, or to the default one; with `engine="numpy"` everything stays on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import KernelError
from ...layout import ComposedLayout, Layout
from ...layout.algebra.rearrange import from_modes, joined
from ...layout.values.int_tuple import leaves
from ...ops.operand import tensor_of as as_tensor
from ...ops.rules import Shape
from ...tensor.dtypes import DType, gpu_dtype
from ...tensor.engine import Array
from ...tensor.make import make_tensor, view_of
from ...tensor.tensor import Tensor
from ..array import DeviceEngine, array
from ..runtime import Device, default_device
from ..trace.kernel import KernelFunction


@dataclass(frozen=True, slots=True)
class Place:
    """Where an operation runs and its result is: a device, or the host (None), where the interpreter runs it."""

    device: Device | None

    def bring(self, tensor: Tensor) -> Tensor:
        """`tensor` here, copied only where it is on the host and has to go to a device."""
        if self.device is None or isinstance(tensor.engine, DeviceEngine):
            return tensor
        return array(tensor, device=self.device)

    def run(self, kernel: KernelFunction, *args: object, **static: object) -> None:
        """Run a kernel."""
        if self.device is None:
            kernel.interpret(*args, **static)
        else:
            kernel(*args, **static)

    def zeros(self, shape: Shape, dtype: DType, order: Sequence[int] | None = None) -> Tensor:
        """A new tensor of zeros; `order` lists its axes, the fastest first (default: the last one first)."""
        stride, step = [0] * len(shape), 1
        for axis in range(len(shape))[::-1] if order is None else order:
            stride[axis], step = (step if shape[axis] > 1 else 0), step * shape[axis]
        layout = joined([from_modes([size], [d]) for size, d in zip(shape, stride, strict=True)])
        if self.device is None:
            return Tensor(view_of(np.zeros(step, dtype.numpy)), layout)
        buffer = self.device.allocate(step * dtype.bytes)
        return Tensor(DeviceEngine(buffer, dtype, step), layout)

    def put(self, values: Array) -> Tensor:
        """A new tensor with these values."""
        return make_tensor(values) if self.device is None else array(values, device=self.device)


def place_of(call: str, engine: str, tensors: Iterable[Tensor]) -> Place:
    """Where `call` runs. Raises KernelError for an unknown engine and for device tensors with `engine="numpy"`."""
    held = [t.engine for t in tensors if isinstance(t.engine, DeviceEngine)]
    if engine == "numpy":
        if held:
            raise KernelError(
                f"{call}(engine='numpy'): {held[0].name or 'a tensor'} is on {held[0].device}; pass .numpy()"
            )
        return Place(None)
    if engine != "wgpu":
        raise KernelError(f"{call}(engine={engine!r}): there are 'wgpu' and 'numpy'")
    return Place(held[0].device if held else default_device())


def tensor_of(call: str, x: object) -> Tensor:
    """`x` as a tensor, as `ops` takes it.

    Raises TensorError for what is no array, KernelError for a tile that reaches beyond its tensor.
    """
    tensor = as_tensor(x)
    gpu_dtype(tensor.dtype)
    if tensor.guard is not None:
        raise KernelError(f"{call}({tensor}): the tile reaches beyond its tensor; copy it into a tensor of its own")
    return tensor


def modes_of(tensor: Tensor) -> list[Layout]:
    """The axes of a tensor as layouts; those of a swizzled one before the swizzle."""
    layout = tensor.layout.inner if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    return list(layout) if isinstance(layout.shape, tuple) else [layout]


def steps_of(tensor: Tensor) -> list[int]:
    """How far apart the neighbours along each axis are at the nearest; very far where there are none."""
    return [
        min((abs(d) for s, d in zip(leaves(m.shape), leaves(m.stride), strict=True) if s > 1), default=1 << 40)
        for m in modes_of(tensor)
    ]


def over(tensor: Tensor, layout: Layout) -> Tensor:
    """The elements of `tensor` by other axes made from its own; a swizzle stays."""
    if isinstance(tensor.layout, ComposedLayout):
        return Tensor(tensor.engine, tensor.layout.with_inner(layout), tensor.offset)
    return Tensor(tensor.engine, layout, tensor.offset)


def broadcast(tensor: Tensor, shape: Shape) -> Tensor:
    """`tensor` with new axes in front and axes of size 1 stretched, at stride 0."""
    modes = modes_of(tensor)
    new = len(shape) - len(modes)
    stretched = [
        mode if mode.size == size else from_modes([size], [0]) for mode, size in zip(modes, shape[new:], strict=True)
    ]
    return over(tensor, joined([*(from_modes([size], [0]) for size in shape[:new]), *stretched]))
