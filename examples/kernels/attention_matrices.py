"""Attention in f16 by matrices of a subgroup (tensor cores): scores are summed in f32, and so is what they weigh.

Nobody sees an element of a fragment, so no row of sums could be scaled down later, as in attention.py. All scores are
computed twice instead: first for the largest of each row, then for the weights. Scores and weights pass through shared
memory, where a thread has a row.
"""

import numpy as np
from attention import example as in_f32
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
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    reduce,
    select,
    size,
    transform,
)
from cutepy.tensor import subgroup_matrix, universal_copy

ROWS, KEYS = 128, 16
PRODUCTS = make_tiled_mma(subgroup_matrix((16, 16, 16), ("f16", "f16", "f32")), (ROWS // 32, 1, 1))
COPIES = make_tiled_copy(universal_copy(4), Layout((KEYS, 8), (8, 1)), Layout((1, 4)))


@gpu.kernel
def attention(Q, K, V, O, *, causal):  # (length, width, heads) of f16
    length, width, heads = O.shape
    gpu.launch(grid=(ceil_div(length, ROWS), heads), threads=PRODUCTS.threads)
    tile, head, who, scale = gpu.workgroup.x, gpu.workgroup.y, 32 * gpu.subgroup, width**-0.5 * np.log2(np.e)
    if causal:
        tile = ceil_div(length, ROWS) - 1 - tile  # those with the most keys first
    gQ, gO = (local_tile(x(_, _, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (KEYS, width), (_, 0)) for x in (K, V))  # (keys, width, tiles)
    sK = gpu.shared(K, Layout((KEYS, width), (width + 8, 1)))  # and V
    sS, sP = gpu.shared("f32", by_blocks(ROWS, KEYS)), gpu.shared("f16", by_blocks(ROWS, KEYS))
    k, v = COPIES.thread(gK, sK), COPIES.thread(gV, sK)
    part_K, part_V = PRODUCTS.partition_B(sK, who), PRODUCTS.partition_B(select(sK, 1, 0), who)
    part_S, part_P = PRODUCTS.partition_C(sS, who), PRODUCTS.partition_A(sP, who)
    q = PRODUCTS.make_fragment_A(PRODUCTS.partition_A(gQ, who))
    o = PRODUCTS.make_fragment_C(PRODUCTS.partition_C(gO, who))
    frag_K, frag_V = PRODUCTS.make_fragment_B(part_K), PRODUCTS.make_fragment_B(part_V)
    s, p = PRODUCTS.make_fragment_C(part_S), PRODUCTS.make_fragment_A(part_P)
    row, mine, values = tile * ROWS + gpu.thread, sS(gpu.thread, _), make_tensor("f32", KEYS)
    last = gpu.minimum((tile + 1) * (ROWS // KEYS), ceil_div(length, KEYS)) if causal else ceil_div(length, KEYS)

    def scores(j):  # of this thread's row
        copy(k.source(_, _, j), k.target)
        gpu.barrier()
        clear(s)
        copy(part_K, frag_K)
        gemm(q, frag_K, s)
        copy(s, part_S)
        gpu.barrier()
        copy(mine, values)
        for n in range(KEYS if causal or length % KEYS else 0):
            seen = (j * KEYS + n <= row) if causal else (j * KEYS + n < length)
            values[n] = gpu.select(seen, values[n], -np.inf)

    for c in range(width // KEYS):
        copy(local_tile(gQ, (ROWS, KEYS), (0, c))(gpu.thread, _), sP(gpu.thread, _))
        gpu.barrier()
        copy(part_P, column(q, c))
        gpu.barrier()
    clear(o)
    top, total = -np.inf, 0.0
    for j in gpu.loop(last):
        scores(j)
        top = reduce(values, top, gpu.maximum)
    for j in gpu.loop(last):
        scores(j)
        copy(v.source(_, _, j), v.target)
        transform(values, op=lambda x: gpu.exp2(x * scale - top * scale))
        total = reduce(values, total, lambda a, b: a + b)
        transform(values, sP(gpu.thread, _), op=lambda x: gpu.cast(x, "f16"))
        gpu.barrier()
        copy(part_P, p)
        copy(part_V, frag_V)
        gemm(p, frag_V, o)
        gpu.barrier()
    for c in range(width // KEYS):
        copy(column(o, c), part_S)
        gpu.barrier()
        transform(mine, local_tile(gO, (ROWS, KEYS), (0, c))(gpu.thread, _), op=lambda x: gpu.cast(x / total, "f16"))
        gpu.barrier()


def by_blocks(rows, columns):
    """Blocks of 16 rows, column by column: what 32 threads have of a column lies in all banks."""
    return Layout(((16, rows // 16), columns), ((1, 16 * columns + 16), 16))


def column(fragment, c):
    """A column of the matrices of a fragment."""
    return local_tile(fragment, (1, size(fragment, 1), 1), (0, 0, c))


def example(length: int = 200, width: int = 64, heads: int = 2, causal: bool = True) -> Example:
    """Heads of any length."""
    given = in_f32(length, width, heads, causal, "float16")
    return Example(attention, given.arguments, given.wanted, given.static, 1e-3)


if __name__ == "__main__":
    main(example())
