"""Programs as users write them, checked by mypy --strict in test_types.py."""

import numpy as np

from cutepy import draw, gpu, ops
from cutepy.layout import Layout, _, ceil_div, composition, select, size, zipped_divide
from cutepy.tensor import (
    Tensor,
    clear,
    copy,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tensor,
    reduce_tree,
    transform,
)


@gpu.kernel
def saxpy(a: float, x: Tensor, y: Tensor) -> None:
    gpu.launch(grid=ceil_div(size(x), 256), threads=256)
    i = gpu.workgroup.x * 256 + gpu.thread
    if i < size(x):
        y[i] = a * x[i] + y[i]


@gpu.kernel
def tiles(A: Tensor, B: Tensor, C: Tensor, *, tile: tuple[int, int]) -> None:
    gpu.launch(grid=(ceil_div(size(A, 0), 8), 1), threads=(64,))
    g = local_tile(A, tile, (gpu.workgroup.x, _))
    s = gpu.shared(A, tile, pad=4)
    acc = make_fragment_like(local_partition(g(_, _, 0), Layout((8, 8)), gpu.thread))
    clear(acc)
    for k in gpu.loop(size(g, 2)):
        copy(g(_, _, k), s)
        gpu.barrier()
        part = s[gpu.thread % 8, _]
        acc[0] = acc[0] + gpu.exp(reduce_tree(part, 0, lambda a, b: a + b))
    transform(acc, op=lambda v: gpu.select(v > 0, v, 0.0))
    turned = select(C, 1, 0)
    tiled = zipped_divide(composition(C, Layout((4, 4))), (2, 2))[(_, _), gpu.lane]
    old = gpu.atomic_add(B, (gpu.thread // 2, 0), 1)
    with gpu.when((gpu.thread == 0) & (old > 1)):
        turned[gpu.thread * 2, 0] = gpu.cast(tiled[0, 0], "f32") // 4 + tiled.layout.size


def host(x: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> float:
    tensor = make_tensor(x)
    row = tensor[0, _]
    return float(tensor[1, 2]) + float(row[1]) + float(zipped_divide(tensor, (1, 2))[(0, 1), 0])


def normal(x: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> Tensor:
    likely = ops.mul(ops.exp(ops.mul(ops.square(x), -0.5)), ops.rsqrt(2 * np.pi))
    return ops.where(ops.isfinite(likely), likely, ops.sum(likely, 0, keepdims=True))


def pictures(layout: Layout) -> str:
    """`draw` takes its options flat, each with its type."""
    framed = draw(layout, view="tiles", tiler=(4, 4), tile=(0, 1), title="one tile", theme="dark", limit=256)
    banks = draw(layout, element_bytes=2, palette="ordered", color=lambda coordinate, offset: 3)
    return framed.svg() + banks.text(width=80)
