"""Running sums of any number of elements: each workgroup scans its tile, the sums of tiles are scanned, then added."""

import numpy as np
from example import Example, main

from cutepy import Layout, ceil_div, copy, gpu, local_tile, make_fragment_like, make_tiled_copy, size, transform
from cutepy.tensor import universal_copy

COPIES = make_tiled_copy(universal_copy(4), Layout(256), Layout(4))
TILE = 1024


@gpu.kernel
def scan_tiles(x, y, sums):
    gpu.launch(grid=ceil_div(size(x), TILE), threads=COPIES.threads)
    tile = gpu.workgroup.x
    part = COPIES.thread(local_tile(x, TILE, tile), local_tile(y, TILE, tile))
    values = make_fragment_like(part.source)
    copy(part.source, values)
    running = gpu.workgroup_scan(values)
    copy(running, part.target)
    if gpu.thread == COPIES.threads - 1:
        sums[tile] = running[3]


@gpu.kernel
def add_before(sums, y):
    gpu.launch(grid=ceil_div(size(y), TILE), threads=COPIES.threads)
    tile = gpu.workgroup.x
    part = COPIES.thread(local_tile(y, TILE, tile), local_tile(y, TILE, tile))
    if tile > 0:
        before = sums[tile - 1]
        transform(part.target, part.target, op=lambda v: v + before)


def scan(x, y):
    """y = running sums of x, on the device of the tensors."""
    sums = gpu.empty(ceil_div(size(x), TILE), x.dtype)
    scan_tiles(x, y, sums)
    if size(sums) > 1:
        scan(sums, sums)
        add_before(sums, y)


def example(n: int = 1_000_003, dtype: str = "int32") -> Example:
    """The first of the kernels: every tile by itself."""
    x = np.random.default_rng(0).integers(0, 100, n).astype(dtype)
    tiles = ceil_div(n, TILE)
    sums = np.add.reduceat(x, range(0, n, TILE), dtype=dtype)
    return Example(scan_tiles, (x, np.zeros_like(x), np.zeros(tiles, dtype)), sums)


if __name__ == "__main__":
    main(example())
