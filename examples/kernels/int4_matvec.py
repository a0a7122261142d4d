"""A matrix of 4-bit weights, with a scale for each 32 of a row, times a vector of f16: four rows to a workgroup."""

import numpy as np
from example import Example, main

from cutepy import (
    _,
    ceil_div,
    clear,
    copy,
    gemm,
    gpu,
    local_tile,
    make_tensor,
    recast,
    size,
)

ROWS, THREADS, GROUP = 4, 128, 32


@gpu.kernel
def matvec(weights, scales, x, y):  # (rows, columns) of i4, (rows, columns / 32), (columns), (rows)
    gpu.launch(grid=ceil_div(size(y), ROWS), threads=THREADS)
    first, groups = gpu.workgroup.x * ROWS, size(x) // GROUP
    totals = make_tensor("f32", ROWS)
    clear(totals)
    for k in gpu.loop(groups, step=THREADS):
        group = k + gpu.thread
        if group < groups:
            v = local_tile(x, GROUP, group)
            vs, ws = make_tensor("f32", (1, GROUP)), make_tensor("f32", (ROWS, GROUP), (GROUP, 1))
            copy(v, vs(0, _))
            for r in range(ROWS):
                copy(local_tile(weights(gpu.minimum(first + r, size(y) - 1), _), GROUP, group), ws(r, _))
            parts = make_tensor("f32", (ROWS, 1))
            clear(parts)
            gemm(ws, vs, parts)
            for r in range(ROWS):
                totals[r] += parts[r, 0] * scales[gpu.minimum(first + r, size(y) - 1), group]
    for r in range(ROWS):
        total = gpu.workgroup_reduce(totals[r])
        if gpu.thread == 0 and first + r < size(y):
            y[first + r] = total


def example(rows: int = 50, columns: int = 1056) -> Example:
    """Rows of any multiple of 32 weights."""
    g = np.random.default_rng(0)
    weights = recast(make_tensor(g.integers(0, 256, (rows, columns // 2), np.uint8)), "i4")
    scales, x = g.random((rows, columns // GROUP), np.float32), g.standard_normal(columns).astype(np.float16)
    wanted = (weights.numpy() * np.repeat(scales.astype(np.float64), GROUP, 1)) @ x
    return Example(matvec, (weights, scales, x, np.zeros(rows, np.float32)), wanted, tolerance=2e-6)


if __name__ == "__main__":
    main(example())
