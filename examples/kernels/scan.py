"""Running sums of any number of elements: the sums of tiles, their running sums, and each tile from there on."""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    Swizzle,
    ceil_div,
    composition,
    copy,
    gpu,
    local_tile,
    make_fragment_like,
    make_tiled_copy,
    size,
    transform,
)
from cutepy.tensor import universal_copy

THREADS, TILE = 256, 2048
SPREAD = make_tiled_copy(universal_copy(4), Layout(THREADS), Layout(4))  # neighbours bring what lies side by side
OWNED = make_tiled_copy(universal_copy(4), Layout(THREADS), Layout(8))  # a thread has eight that follow each other


@gpu.kernel
def sum_tiles(x, before):
    """before[t + 1] = the sum of tile t, and before[0] = 0: their running sums are what comes before each tile."""
    gpu.launch(grid=size(before), threads=THREADS)
    tile = gpu.workgroup.x
    part = SPREAD.thread(local_tile(x, TILE, tile), local_tile(x, TILE, tile)).source
    values = make_fragment_like(part)
    copy(part, values)
    total = gpu.workgroup_reduce(values)
    if gpu.thread == 0:
        before[(tile + 1) % size(before)] = gpu.select(tile + 1 < size(before), total, 0)


@gpu.kernel
def scan_tiles(x, before, y):
    gpu.launch(grid=size(before), threads=THREADS)
    tile = size(before) - 1 - gpu.workgroup.x  # backwards: what was summed last may still be in a cache
    s = gpu.shared(x, composition(Swizzle(1, 2, 3), Layout(TILE)))
    into, out = SPREAD.thread(local_tile(x, TILE, tile), s), SPREAD.thread(s, local_tile(y, TILE, tile))
    mine = OWNED.thread(s, s).source
    copy(into.source, into.target)
    gpu.barrier()
    values = make_fragment_like(mine)
    copy(mine, values)
    running = gpu.workgroup_scan(values)
    if size(before) > 1:
        transform(running, op=lambda v: v + before[tile])
    copy(running, mine)
    gpu.barrier()
    copy(out.source, out.target)


def scan(x, y):
    """y = running sums of x, on the device of the tensors."""
    before = gpu.empty(ceil_div(size(x), TILE), x.dtype)
    if size(before) > 1:
        sum_tiles(x, before)
        scan(before, before)
    scan_tiles(x, before, y)


def example(n: int = 1_000_003, dtype: str = "int32") -> Example:
    """The last of the kernels: all tiles, from what comes before each."""
    x = np.random.default_rng(0).integers(0, 100, n).astype(dtype)
    running = np.cumsum(x, dtype=dtype)
    before = np.concatenate([np.zeros(1, dtype), running[TILE - 1 : -1 : TILE]])
    return Example(scan_tiles, (x, before, np.zeros_like(x)), running)


if __name__ == "__main__":
    main(example())
