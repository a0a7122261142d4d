"""Copies between any two layouts on a device; where these run along different modes, by tiles of shared memory.

Law: `target[i] = source[i]` for every i in colexicographic order: the shapes may differ, the sizes may not.
"""

from __future__ import annotations

import numpy as np

from ... import gpu
from ...errors import KernelError
from ...layout import joined
from ...tensor import Tensor, mode_layouts, mode_sizes, with_layout
from .. import cached_launches
from .domain import Tiling
from .operand import ExecutionSite, place_of, target_of, tensor_of
from .pointwise import each_element, in_whole_vectors, of_a_run, shares_memory, walk


@gpu.kernel(sizes={"source": "(...)", "result": "(...)"})
def copy_kernel(source: Tensor, result: Tensor, *, tiling: Tiling | None) -> None:
    """result[i] = source[i]."""
    each_element([source], [result], lambda value: (gpu.cast(value, result.dtype),), tiling)


@gpu.kernel(sizes={"result": "(...)"})
def fill_kernel(result: Tensor, *, value: float, tiling: Tiling | None) -> None:
    """result[i] = value."""
    each_element([result], [result], lambda _: (gpu.constant(value, result.dtype),), tiling)


def filled(place: ExecutionSite, result: Tensor, value: float) -> Tensor:
    """`result` with this value in every element, by a launch."""
    if result.size:
        (target,), tiling = walk([result])
        place.run(fill_kernel, target, value=value, tiling=tiling)
    return result


@cached_launches
def copy(source: object, target: Tensor, *, engine: str = "wgpu") -> None:
    """`target[i] = source[i]` for every i, between any layouts, types that convert without losing kind, and memories.

    An array or a tensor of the host is brought to the device where the other is; a target on the host is read back.

    >>> from cutepy.tensor import make_tensor
    >>> A, B = np.float32([[1, 2, 3], [4, 5, 6]]), np.zeros((3, 2), np.float32)
    >>> copy(A.T, make_tensor(B), engine="interpreter")
    >>> B.tolist()
    [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]

    Raises KernelError where sizes differ, the tensors overlap, and for a target that is read-only, that cannot hold the
    type, or two elements of which share memory.
    """
    # What may be copied into what.
    call = "copy"
    a, b = tensor_of(call, source), target_of(call, target)
    if a.size != b.size:
        raise KernelError(f"copy({a}, {b}): the sizes {a.size} and {b.size} differ")
    if not b.engine.writable:
        raise KernelError(f"copy({a}, {b}): the target is read-only; pass a writable tensor")
    if a.dtype is not b.dtype and not np.can_cast(a.dtype.numpy, b.dtype.numpy, "same_kind"):
        raise KernelError(f"copy({a}, {b}): {b.dtype} cannot hold {a.dtype} values; convert them with gpu.pointwise")
    if shares_memory(a, b) and (a.layout != b.layout or a.offset != b.offset):
        raise KernelError(f"copy({a}, {b}): they may overlap; copy through a tensor of its own")
    place = place_of(call, engine, [a, b])
    if not b.size:
        return
    # The launch: over the modes that both share, by long tiles where these are one run each.
    a = place.bring(a)
    (a, b), tiling = walk(_alike([a, b]))
    for pair, tiles in in_whole_vectors([a, b], tiling):
        place.run(copy_kernel, *pair, tiling=of_a_run(place, pair, tiles))


@cached_launches
def copied(tensor: Tensor, order: str) -> Tensor:
    """A copy on the device of a tensor, or of one of the host on the default device, its last axis fastest in memory;
    with the `order` "F" its first.

    >>> from cutepy import gpu
    >>> copied(gpu.array(np.float32([[1, 2], [3, 4]])), "F").layout
    Layout((2, 2), (1, 2))

    Raises as `copy`.
    """
    sizes = mode_sizes(tensor)
    axes = range(len(sizes))
    fresh = place_of("copied", "wgpu", [tensor]).new(sizes, tensor.dtype, axes if order == "F" else axes[::-1])
    copy(tensor, fresh)
    return fresh


def _alike(tensors: list[Tensor]) -> list[Tensor]:
    """Two tensors of one size as tensors of one shape: as they are, or each as one mode, in colexicographic order."""
    first, second = ([mode.size for mode in mode_layouts(t)] for t in tensors)
    if first == second:
        return tensors
    return [with_layout(t, [joined(mode_layouts(t))]) for t in tensors]
