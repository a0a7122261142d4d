"""A histogram: each workgroup counts in shared memory, then adds its counts to everybody's, all by atomics."""

import numpy as np
from example import Example, main

from cutepy import Layout, ceil_div, gpu, local_partition, local_tile, size

TILE, THREADS = 4096, 256


@gpu.kernel
def histogram(x, counts):
    gpu.launch(grid=ceil_div(size(x), TILE), threads=THREADS)
    bins, thread = size(counts), gpu.thread
    local = gpu.shared(counts, bins)
    for bin in gpu.loop(bins, start=thread, step=THREADS):
        local[bin] = 0
    gpu.barrier()
    mine = local_partition(local_tile(x, (TILE,), (gpu.workgroup.x,)), Layout(THREADS))
    for i in gpu.loop(size(mine)):
        with gpu.when(gpu.workgroup.x * TILE + i * THREADS + thread < size(x)):
            gpu.atomic_add(local, mine[i] % bins, 1)
    gpu.barrier()
    for bin in gpu.loop(bins, start=thread, step=THREADS):
        gpu.atomic_add(counts, bin, local[bin])


def example(n: int = 100_000, bins: int = 300, step: int = 1) -> Example:
    """The values modulo the number of bins, counted."""
    x = np.random.default_rng(0).integers(0, 1 << 32, n * step, dtype=np.uint32)[::step]
    return Example(histogram, (x, np.zeros(bins, np.uint32)), np.bincount(x % bins, minlength=bins), tolerance=0)


if __name__ == "__main__":
    main(example())
