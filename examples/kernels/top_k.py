"""The k largest of each row and their places, largest first: a workgroup has a row, and takes one after another out."""

import numpy as np
from example import Example, main

from cutepy import Layout, _, copy, gpu, local_partition, local_tile, make_fragment_like, size, transform

THREADS = 128


@gpu.kernel
def top_k(x, values, places, *, width=None):  # (rows, n), (rows, k), (rows, k); any n up to a width, if one is given
    gpu.launch(grid=size(x, 0), threads=THREADS)
    row, n = gpu.workgroup.x, size(x, 1)
    part = local_partition(local_tile(x(row, _), width or n, 0), Layout(THREADS))
    mine, where = make_fragment_like(part), make_fragment_like(part, "u32")
    copy(part, mine)
    for i in range(size(mine)):
        where[i] = gpu.thread + i * THREADS
        mine[i] = gpu.select(where[i] < n, mine[i], -np.inf)
    for turn in gpu.loop(size(values, 1)):
        best, place = gpu.workgroup_argmax(mine, where)
        if gpu.thread == 0:
            values[row, turn], places[row, turn] = best, place
        transform(mine, where, mine, op=lambda v, at, place=place: gpu.select(at == place, -np.inf, v))


def example(shape: tuple[int, int] = (50, 1000), k: int = 8) -> Example:
    """Rows of any length."""
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    places = np.argsort(-x, axis=1, kind="stable")[:, :k]
    return Example(top_k, (x, np.zeros((shape[0], k), np.float32), np.zeros((shape[0], k), np.uint32)), places)


if __name__ == "__main__":
    main(example())
