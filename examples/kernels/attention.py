"""Attention, forward, without its matrix of scores: softmax(Q K^T / sqrt(d)) V, a tile of keys at a time.

A row of scores is never whole. A tile of keys may bring a larger score; then what was summed before it is scaled down.
"""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    Swizzle,
    _,
    ceil_div,
    clear,
    composition,
    copy,
    fill,
    gemm,
    gpu,
    local_tile,
    make_identity_tensor,
    make_ordered_layout,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    reduce,
    select,
    size,
    transform,
)
from cutepy.tensor import FMA, universal_copy

ROWS, KEYS, CHUNK, DEEP = 128, 64, 32, 4
PRODUCTS = make_tiled_mma(FMA, Layout((16, 8, 1), (8, 1, 0)), (Layout((16, 4), (4, 1)), Layout((8, 4), (4, 1)), None))
COPIES = make_tiled_copy(universal_copy(4), Layout((16, 8), (8, 1)), Layout((1, 4)))


@gpu.kernel
def attention(Q, K, V, O, *, causal, rows=ROWS):  # (length, width, heads)
    length, width, heads = O.shape
    tiles = ceil_div(length, rows)
    gpu.launch(grid=(heads, tiles) if causal else (tiles, heads), threads=PRODUCTS.threads)
    tile, head, scale = gpu.workgroup.x, gpu.workgroup.y, width**-0.5 * np.log2(np.e)
    if causal:
        tile, head = tiles - 1 - gpu.workgroup.y, gpu.workgroup.x  # those with the most keys first, of all heads
    gQ, gO = (local_tile(x(_, _, head), (rows, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (keys, width), (_, 0)) for x, keys in ((K, KEYS), (V, CHUNK)))
    room = gpu.shared("f32", max(KEYS * width, rows * CHUNK))
    sK, sP = make_tensor(room, along(KEYS, width)), make_tensor(room, along(rows, CHUNK))  # P where K was
    sV = gpu.shared("f32", Layout((CHUNK, width), (width, 1)))
    k, v = COPIES.thread(gK, sK), COPIES.thread(gV, sV)
    scored = PRODUCTS.thread(gQ, sK, make_identity_tensor((rows, KEYS)))
    summed, put = PRODUCTS.thread(sP, select(sV, 1, 0), gO), PRODUCTS.thread(sP, sK, sP)
    s, o = (make_tensor("f32", make_ordered_layout(part.C.shape, (1, 0))) for part in (scored, summed))
    top, total = (make_tensor("f32", size(s, 0)) for _row in range(2))
    fill(top, -np.inf)
    clear(total)
    clear(o)
    end = (lambda at: tile * rows + at[0] + 1) if causal else lambda at: length  # of the keys that a query sees
    last = ceil_div(length, KEYS)
    for j in gpu.loop(gpu.minimum(ceil_div((tile + 1) * rows, KEYS), last) if causal else last):
        copy(k.source(_, _, j), k.target)
        gpu.barrier()
        clear(s)
        for kk in gpu.loop(width // DEEP):
            gemm(deep(scored.A, kk), deep(scored.B, kk), s)
        gpu.barrier()
        if (causal or length % KEYS) and (j + 1) * KEYS > (tile * rows if causal else length):
            transform(s, scored.C, s, op=lambda x, at, j=j: gpu.select(j * KEYS + at[1] < end(at), x, -np.inf))
        best = gpu.reduce_rows(s, PRODUCTS, gpu.maximum, lanes=8)
        for m in range(size(s, 0)):
            new = gpu.maximum(top[m], best[m, 0] * scale)
            less = gpu.exp2(top[m] - new)
            transform(s(m, _), op=lambda x, new=new: gpu.exp2(x * scale - new))
            transform(o(m, _), op=lambda x, less=less: x * less)
            top[m], total[m] = new, reduce(s(m, _), total[m] * less, lambda a, b: a + b)
        for c in range(KEYS // CHUNK):
            copy(s(_, (_, c)), put.C)
            copy(v.source(_, _, j * (KEYS // CHUNK) + c), v.target)
            gpu.barrier()
            for kk in gpu.loop(CHUNK // DEEP):
                gemm(deep(summed.A, kk), deep(summed.B, kk), o)
            gpu.barrier()
    for m in range(size(s, 0)):
        fill(s(m, _), total[m] / size(s, 1))
    sums = gpu.reduce_rows(s, PRODUCTS, "sum", lanes=8)
    for m in range(size(s, 0)):
        transform(o(m, _), op=lambda x, m=m: x / sums[m, 0])
    copy(o, summed.C)


def for_all_lengths(width):
    """The kernel for heads of this width and all lengths; where all tiles are whole, by a form without guards."""
    return gpu.kernel(sizes=dict.fromkeys("QKVO", f"(L,{width},H)"), often=[f"{ROWS} divides L"])(attention.function)


def rows_of(length, heads):
    """Rows of a tile: half as many where a GPU, of 132 processors here, has less than two tiles for each."""
    return ROWS if heads * -(-length // ROWS) >= 256 else ROWS // 2


def along(rows, columns):
    """Rows, of which four columns are read at once: those of rows that are four apart lie in different banks."""
    return composition(Swizzle(3, 2, columns.bit_length() - 1), Layout((rows, columns), (columns, 1)))


def deep(part, k):
    """The k-th DEEP of what a product sums over."""
    return local_tile(part, (size(part, 0), DEEP), (0, k))


def example(length: int = 200, width: int = 64, heads: int = 2, causal: bool = True, dtype: str = "float32") -> Example:
    """Heads of any length."""
    g = np.random.default_rng(0)
    Q, K, V = (g.standard_normal((heads, length, width)).astype(dtype) for _operand in "QKV")
    O = np.zeros_like(Q)
    scores = np.einsum("hid,hjd->hij", Q, K, dtype=np.float64) / np.sqrt(width)
    scores[:, np.triu(np.full((length, length), causal), 1)] = -np.inf
    e = np.exp(scores - scores.max(2, keepdims=True))
    wanted = np.einsum("hij,hjd->hid", e / e.sum(2, keepdims=True), V.astype(np.float64))
    ordered = (make_tensor(x, Layout((length, width, heads), (width, 1, length * width))) for x in (Q, K, V, O))
    return Example(attention, tuple(ordered), wanted.transpose(1, 2, 0), {"causal": causal}, 2e-6)


if __name__ == "__main__":
    main(example())
