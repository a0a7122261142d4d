"""Running sums of any number of elements: the sums of parts, then each part from what comes before it, tile by tile."""

import numpy as np
from example import Example, main

from cutepy import ceil_div, clear, copy, gpu, local_tile, make_tensor, size, transform

THREADS, PARTS = 256, 1024
TILE = 4 * THREADS  # a thread has four numbers that follow each other


@gpu.kernel
def sum_parts(x, sums):
    """sums[p] = the sum of part p of x."""
    gpu.launch(grid=size(sums), threads=THREADS)
    values, total = make_tensor(x.dtype, 4), make_tensor(x.dtype, 4)
    clear(total)
    last = tiles(x, sums) - 1
    for t in gpu.loop(last + 1):  # backwards: what is read last may still be in a cache, and is needed first
        copy(mine(x, sums, last - t), values)
        transform(total, values, total, op=lambda a, b: a + b)
    whole = gpu.workgroup_reduce(total)
    if gpu.thread == 0:
        sums[gpu.workgroup.x] = whole


@gpu.kernel
def scan_parts(x, sums, y):
    """y = running sums of x: each part from the sums of the parts before it."""
    gpu.launch(grid=size(sums), threads=THREADS)
    before, values = gpu.constant(0, x.dtype), make_tensor(x.dtype, 4)
    for p in gpu.loop(gpu.workgroup.x, start=gpu.thread, step=THREADS):
        before += sums[p]
    carry = gpu.workgroup_reduce(before)
    for t in gpu.loop(tiles(x, sums)):
        copy(mine(x, sums, t), values)
        running, carry = gpu.workgroup_scan(values, carry=carry)
        copy(running, mine(y, sums, t))


def tiles(x, sums):
    """The tiles of a part."""
    return ceil_div(ceil_div(size(x), TILE), size(sums))


def mine(x, sums, t):
    """What this thread has of tile t of the part of its workgroup."""
    return local_tile(local_tile(x, TILE, gpu.workgroup.x * tiles(x, sums) + t), 4, gpu.thread)


def scan(x, y):
    """y = running sums of x, on the device of the tensors."""
    whole = ceil_div(size(x), TILE)
    sums = gpu.empty(ceil_div(whole, ceil_div(whole, PARTS)), x.dtype)
    sum_parts(x, sums)
    scan_parts(x, sums, y)


def example(n: int = 1_000_003, dtype: str = "int32", parts: int = 50) -> Example:
    """The second of the kernels: all parts, from the sums of them."""
    x = np.random.default_rng(0).integers(0, 100, n).astype(dtype)
    running = np.cumsum(x, dtype=dtype)
    part = ceil_div(ceil_div(n, TILE), parts) * TILE
    sums = np.diff(running[[*range(part - 1, n - 1, part), n - 1]], prepend=running.dtype.type(0))
    return Example(scan_parts, (x, sums, np.zeros_like(x)), running)


if __name__ == "__main__":
    main(example())
