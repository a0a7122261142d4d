"""Softmax of each row: a workgroup has it in the registers of its threads, and in shared memory what they agree on."""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    _,
    copy,
    gpu,
    local_partition,
    local_tile,
    make_fragment_like,
    reduce_tree,
    transform,
)

THREADS = 128


@gpu.kernel
def softmax(x, y, *, width=None):
    rows, columns = x.shape
    gpu.launch(grid=rows, threads=THREADS)  # rows of any length up to a width, where one is given
    scratch, thread = gpu.shared("f32", THREADS), gpu.thread

    def agree(value, op):
        """`op` over the values of all threads: a tree in shared memory."""
        scratch[thread] = value
        half = THREADS // 2
        while half:
            gpu.barrier()
            with gpu.when(thread < half):
                scratch[thread] = op(scratch[thread], scratch[thread + half])
            half //= 2
        gpu.barrier()
        result = scratch[0]
        gpu.barrier()
        return result

    def mine(tensor):
        return local_partition(local_tile(tensor, (1, width or columns), (gpu.workgroup.x, 0))(0, _), Layout(THREADS))

    source, target = mine(x), mine(y)
    values = make_fragment_like(source, "f32")
    copy(source, values)
    for i in range(values.size):
        values[i] = gpu.select(thread + i * THREADS < columns, values[i], -np.inf)
    largest = agree(reduce_tree(values, -np.inf, gpu.nan_maximum), gpu.nan_maximum)
    transform(values, op=lambda v: gpu.exp(v - largest))
    total = agree(reduce_tree(values, 0, lambda a, b: a + b), lambda a, b: a + b)
    transform(values, op=lambda v: v / total)
    copy(values, target)


def example(shape: tuple[int, int] = (50, 1000), dtype: str = "float32", order: str = "C") -> Example:
    """Rows of any length, in any order of storage."""
    x = (4 * np.random.default_rng(0).standard_normal(shape)).astype(dtype).copy(order=order)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Example(
        softmax, (x, np.zeros_like(x)), e / e.sum(1, keepdims=True), tolerance=1e-3 if dtype == "float16" else 1e-5
    )


if __name__ == "__main__":
    main(example())
