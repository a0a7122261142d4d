"""A matrix of 4-bit weights, with a scale for each 32 of a row, times a vector of f16: one subgroup's worth a row."""

import numpy as np
from example import Example, main

from cutepy import _, copy, gpu, local_tile, make_fragment_like, make_tensor, recast, size

THREADS, GROUP = 32, 32


@gpu.kernel
def matvec(weights, scales, x, y):  # (rows, columns) of i4, (rows, columns / 32), (columns), (rows)
    gpu.launch(grid=size(weights, 0), threads=THREADS)
    row, total = gpu.workgroup.x, 0.0
    for k in gpu.loop(size(x) // GROUP, step=THREADS):
        group = k + gpu.thread
        if group < size(x) // GROUP:
            w, v = (local_tile(t, GROUP, group) for t in (weights(row, _), x))
            ws, vs = make_fragment_like(w), make_fragment_like(v)
            copy(w, ws)
            copy(v, vs)
            part = 0.0
            for i in range(GROUP):
                part += gpu.cast(ws[i], "f32") * gpu.cast(vs[i], "f32")
            total += part * scales[row, group]
    total = gpu.workgroup_reduce(total)
    if gpu.thread == 0:
        y[row] = total


def example(rows: int = 50, columns: int = 1056) -> Example:
    """Rows of any multiple of 32 weights."""
    g = np.random.default_rng(0)
    weights = recast(make_tensor(g.integers(0, 256, (rows, columns // 2), np.uint8)), "i4")
    scales, x = g.random((rows, columns // GROUP), np.float32), g.standard_normal(columns).astype(np.float16)
    wanted = (weights.numpy() * np.repeat(scales.astype(np.float64), GROUP, 1)) @ x
    return Example(matvec, (weights, scales, x, np.zeros(rows, np.float32)), wanted, tolerance=2e-6)


if __name__ == "__main__":
    main(example())
