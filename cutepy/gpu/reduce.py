"""Sums: one kernel over a tiled tensor, run once over the elements and once over the sums of its workgroups.

Law: the sum of all elements, in f32 for f16 and f32, modulo 2**32 for i32 and u32. The order of additions depends on
the layout and the plan alone, so equal inputs give equal bits.
"""
# mypy: disable-error-code="arg-type, index, operator"
# In a kernel, coordinates and bounds are expressions where the layout layer is typed for numbers.

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from ..errors import KernelError
from ..layout import Layout, coalesce, composition, group_modes, size
from ..layout import _ as ALL
from ..tensor.algorithms import axpby, clear, reduce_tree
from ..tensor.make import make_tensor
from ..tensor.partition import local_tile, thread_value_partition
from ..tensor.tensor import Tensor
from .array import DeviceEngine, empty
from .trace import language as gpu
from .trace.kernel import kernel


@dataclass(frozen=True, slots=True)
class SumPlan:
    """How a sum is cut up: at most `groups` workgroups of `threads`, a thread with `vectors` sums of 4 lanes each."""

    groups: int = 2048
    threads: int = 256
    vectors: int = 4

    def __post_init__(self) -> None:
        if self.threads < 1 or self.threads & (self.threads - 1) or min(self.groups, self.vectors) < 1:
            raise KernelError(f"{self}: threads must be a power of two, groups and vectors at least 1")

    @property
    def step(self) -> int:
        """Elements that a workgroup takes at a time."""
        return 4 * self.threads * self.vectors

    def groups_for(self, elements: int) -> int:
        """Workgroups for so many elements."""
        return max(1, min(self.groups, -(-elements // self.step)))


@kernel
def sum_kernel(x: Tensor, sums: Tensor, *, plan: SumPlan) -> None:
    """sums[g] = the sum of what workgroup g takes of x, a tensor of rank 1."""
    groups = size(sums)
    gpu.launch(grid=groups, threads=plan.threads)
    group, tid = gpu.workgroup.x, gpu.thread()
    acc = make_tensor(sums.dtype, (4, plan.vectors))
    clear(acc)
    if x.layout.depth <= 1:
        _add_tiles(x, acc, group, groups, plan)
    else:
        for i in gpu.loop(size(x), start=group * plan.threads + tid, step=groups * plan.threads):
            acc[0, 0] = acc[0, 0] + x[i]

    partial = gpu.shared(sums.dtype, plan.threads)
    partial[tid] = reduce_tree(acc, 0, lambda a, b: a + b)
    half = plan.threads // 2
    while half:
        gpu.barrier()
        with gpu.when(tid < half):
            partial[tid] = partial[tid] + partial[tid + half]
        half //= 2
    with gpu.when(tid == 0):
        sums[group] = partial[0]


def _add_tiles(x: Tensor, acc: Tensor, group: object, groups: int, plan: SumPlan) -> None:
    """Whole tiles in turns, four neighbours a thread at a time; the rest by the first workgroup, guarded."""
    whole, rest = divmod(size(x), plan.step)
    owned = Layout((plan.threads, (4, plan.vectors)), (4, (1, 4 * plan.threads)))
    gpu.note(owned=owned)
    if whole:
        tiles = local_tile(composition(x, Layout(whole * plan.step)), (plan.step,), (ALL,))
        for t in gpu.loop(whole, start=group, step=groups):
            axpby(1, thread_value_partition(tiles(ALL, t), owned), 1, acc)
    if rest:
        with gpu.when(group == 0):
            axpby(1, thread_value_partition(local_tile(x, (plan.step,), (whole,)), owned), 1, acc)


def sum_all(x: object, *, plan: SumPlan | None = None, engine: str = "wgpu") -> np.generic:
    """The sum of all elements of an array or tensor of f32, f16, i32 or u32, in any layout; 0 of none.

    `engine` is "wgpu" (the device of the tensor, or the default one) or "numpy" (the interpreter).

    >>> print(sum_all(np.arange(1000, dtype=np.float32), engine="numpy"))
    499500.0

    Raises KernelError for another element type.
    """
    if isinstance(x, np.ndarray) and x.size == 0:
        return np.dtype(x.dtype).type(0)
    tensor = x if isinstance(x, Tensor) else make_tensor(x)
    if tensor.dtype.kind == "b":
        raise KernelError(f"sum({tensor}): there is no sum of bools; convert them to u32")
    if engine not in ("wgpu", "numpy"):
        raise KernelError(f"sum(engine={engine!r}): there are 'wgpu' and 'numpy'")
    chosen = SumPlan() if plan is None else plan
    flat = _flat(tensor)
    dtype = tensor.dtype.accumulator
    while True:
        groups = chosen.groups_for(flat.size)
        if engine == "numpy":
            sums = make_tensor(np.zeros(groups, dtype.numpy))
            sum_kernel.interpret(flat, sums, plan=chosen)
        else:
            held = tensor.engine.device if isinstance(tensor.engine, DeviceEngine) else None
            sums = empty((groups,), dtype, device=held)
            sum_kernel(flat, sums, plan=chosen)
        if groups == 1:
            total: np.generic = sums.numpy().ravel()[0]
            return total
        flat = sums


def _flat(tensor: Tensor) -> Tensor:
    """The same elements as one mode, with as few factors as can say it."""
    joined = cast(Tensor, coalesce(tensor))
    return cast(Tensor, group_modes(joined, 0, joined.layout.rank)) if joined.layout.rank > 1 else joined
