"""Operands of whole tiles, for products by matrices, and tensors that hold such.

Law: `of_whole_tiles(t)` has the elements of `t` where it has any, and zeros beyond.
"""

from __future__ import annotations

from math import prod

from ..layout import Layout, ceil_div, composition, size
from ..layout.algebra.rearrange import joined
from ..layout.values.int_tuple import leaves
from ..tensor.algorithms import copy
from ..tensor.bulk import mode_sizes
from ..tensor.dtypes import DType
from ..tensor.partition import local_tile, thread_value_partition
from ..tensor.tensor import Tensor
from .matmul_matrices import MatrixPlan
from .operations.operand import Place, modes_of, over, runs_across, steps_of
from .slabs import copy_layout
from .trace import language as gpu
from .trace.kernel import kernel

THREADS = 128


def new_of_tiles(place: Place, like: Tensor, tile: tuple[int, ...], dtype: DType) -> Tensor:
    """A tensor to be filled, as large as `like` in whole tiles, its first two modes in the same order."""
    sizes = mode_sizes(like)
    whole = *(ceil_div(extent, step) * step for extent, step in zip(sizes, tile, strict=False)), *sizes[len(tile) :]
    return place.new(whole, dtype, (*((1, 0) if runs_across(like) else (0, 1)), *range(2, len(sizes))))


def corner(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The first elements of a tensor of whole tiles, so many of its first two modes."""
    rows, columns, *rest = modes_of(tensor)
    inside = [composition(mode, Layout(extent)) for mode, extent in zip((rows, columns), sizes, strict=False)]
    return over(tensor, joined([*inside, *rest]))


@kernel
def padded_kernel(source: Tensor, result: Tensor, *, tile: tuple[int, ...]) -> None:
    """result[i] = source[i], and 0 where the source has none: tiles divide the result."""
    gpu.launch(grid=size(result) // prod(tile), threads=THREADS)
    shares = copy_layout((tile[0], tile[1]), None, THREADS, along_k=runs_across(result))
    parts = [thread_value_partition(local_tile(t, tile, gpu.workgroup.x), shares) for t in (source, result)]
    copy(*parts)


def of_whole_tiles(place: Place, tensor: Tensor, plan: MatrixPlan, operand: int) -> Tensor:
    """A (0) or B (1) as (rows, k) of whole tiles that are read in vectors: itself, or a copy among zeros."""
    tile = plan.slab(operand)
    steps = [abs(step) for mode in modes_of(tensor) for step in leaves(mode.stride)]
    aligned = 1 in steps_of(tensor) and not any(at % 4 for at in (*steps, tensor.offset) if at != 1)
    if aligned and all(extent % step == 0 for extent, step in zip(mode_sizes(tensor), tile, strict=False)):
        return tensor
    fresh = new_of_tiles(place, tensor, tile, tensor.dtype)
    place.run(padded_kernel, tensor, fresh, tile=(*tile, *[1] * (tensor.rank - 2)))
    return fresh
