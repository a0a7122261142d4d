"""A tiled matrix product with a function before it and one after it: C = epilogue(prologue(A) B^T, D).

The copies and the products are shared out by a tiled copy and a tiled multiply-add; `D` may be any layout, such as a
bias for each column, which is a matrix whose rows have stride 0.
"""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    _,
    ceil_div,
    clear,
    copy,
    gemm,
    gpu,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    size,
    transform,
)
from cutepy.tensor import FMA, universal_copy

TILE = bm, bn, bk = 64, 64, 16
COPIES = make_tiled_copy(universal_copy(4), Layout((16, 16), (1, 16)), Layout((4, 1)))  # 4 rows by 1 a thread
BLOCKS = Layout((16, 4), (4, 1))  # 16 threads own 4 neighbours each
PRODUCTS = make_tiled_mma(FMA, (16, 16, 1), (BLOCKS, BLOCKS, None))


@gpu.kernel
def matmul(A, B, D, C, *, prologue, epilogue):  # A (m,k), B (n,k), D and C (m,n)
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=PRODUCTS.threads)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    gA, gB = local_tile(A, (bm, bk), (row, _)), local_tile(B, (bn, bk), (column, _))  # (rows, bk, tiles)
    gD, gC = (local_tile(t, (bm, bn), (row, column)) for t in (D, C))
    sA, sB = gpu.shared(A, (bm, bk), pad=4), gpu.shared(B, (bn, bk), pad=4)
    a, b = COPIES.thread(gA, sA), COPIES.thread(gB, sB)
    mine, mine_D = PRODUCTS.thread(sA, sB, gC), PRODUCTS.thread(sA, sB, gD)
    acc = make_fragment_like(mine.C, C.dtype.accumulator)
    clear(acc)
    for k in gpu.loop(size(gA, 2)):
        transform(a.source(_, _, k), a.target, op=prologue)
        copy(b.source(_, _, k), b.target)
        gpu.barrier()
        for kk in gpu.loop(bk):
            gemm(mine.A(_, kk), mine.B(_, kk), acc)
        gpu.barrier()
    transform(acc, mine_D.C, mine.C, op=epilogue)


def relu(x):
    return gpu.nan_maximum(x, 0.0)


def biased_gelu(x, bias):
    x = x + bias
    return 0.5 * x * (1 + gpu.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def example(m: int = 200, n: int = 150, k: int = 100, dtype: str = "float32", orders: str = "CC") -> Example:
    """Operands in C or Fortran order; the bias is one vector."""
    g = np.random.default_rng(0)
    A, B = (
        g.standard_normal(shape).astype(dtype).copy(order=order)
        for shape, order in zip(((m, k), (n, k)), orders, strict=True)
    )
    bias = g.standard_normal(n).astype(dtype)
    D = make_tensor(bias, Layout((m, n), (0, 1)))
    product = np.maximum(A, 0).astype(np.float64) @ B.T.astype(np.float64)
    static = {"prologue": relu, "epilogue": biased_gelu}
    tolerance = 2e-3 if dtype == "float16" else 2e-6
    return Example(matmul, (A, B, D, np.zeros((m, n), dtype)), biased_gelu(product, bias), static, tolerance)


if __name__ == "__main__":
    main(example())
