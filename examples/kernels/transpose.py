"""A transpose through shared memory. Threads are neighbours along rows when they read, along columns when they write;
the tile between is swizzled, so that a column of it lies in 32 different banks, as a row does."""

import numpy as np
from example import Example, main

from cutepy import Layout, Swizzle, ceil_div, composition, copy, gpu, local_partition, local_tile, make_composed_layout
from cutepy import size as extent


@gpu.kernel
def transpose(x, y, *, swizzle=True):
    gpu.launch(grid=(ceil_div(extent(x, 1), 32), ceil_div(extent(x, 0), 32)), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    plain = Layout((32, 32), (32, 1))
    tile = gpu.shared(x, make_composed_layout(Swizzle(5, 0, 5), 0, plain) if swizzle else plain)
    turned = composition(tile, Layout((32, 32), (32, 1)))  # the same tile, seen with its modes exchanged
    threads = Layout((8, 32), (32, 1))  # 8 rows of 32 threads
    copy(local_partition(local_tile(x, (32, 32), (i, j)), threads), local_partition(tile, threads))
    gpu.barrier()
    copy(local_partition(turned, threads), local_partition(local_tile(y, (32, 32), (j, i)), threads))


def example(
    shape: tuple[int, int] = (500, 300), dtype: str = "float32", order: str = "C", swizzle: bool = True
) -> Example:
    """A matrix of any shape and order of storage."""
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype).copy(order=order)
    return Example(transpose, (x, np.zeros(shape[::-1], dtype)), x.T.copy(), {"swizzle": swizzle}, tolerance=0)


if __name__ == "__main__":
    main(example())
