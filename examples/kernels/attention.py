"""Attention, forward, without its matrix of scores: softmax(Q K^T / sqrt(d)) V, a tile of keys at a time.

A row of scores is never whole. A tile of keys may bring a larger score; then what was summed before it is scaled down.
"""

import operator

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
    make_fragment_like,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    reduce_tree,
    select,
    size,
    transform,
)
from cutepy.tensor import FMA, universal_copy

ROWS, KEYS = 64, 32
PRODUCTS = make_tiled_mma(FMA, Layout((8, 8, 1), (8, 1, 0)), (Layout((8, 8), (8, 1)), Layout((8, 4), (4, 1)), None))
COPIES = make_tiled_copy(universal_copy(4), Layout((8, 8), (8, 1)), Layout((1, 4)))


@gpu.kernel
def attention(Q, K, V, O, *, causal):  # (length, width, heads)
    length, width, heads = O.shape
    gpu.launch(grid=(ceil_div(length, ROWS), heads), threads=PRODUCTS.threads)
    tile, head = gpu.workgroup.x, gpu.workgroup.y
    gQ, gO = (local_tile(x(_, _, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (KEYS, width), (_, 0)) for x in (K, V))  # (keys, width, tiles)
    sQ, sK = gpu.shared(Q, across(ROWS, width)), gpu.shared(K, across(KEYS, width))
    sP = gpu.shared("f32", across(ROWS, KEYS))
    sV = make_tensor(sK, Layout((KEYS, width), (width, 1)))  # where K was
    q, k, v = COPIES.thread(gQ, sQ), COPIES.thread(gK, sK), COPIES.thread(gV, sV)
    scored, summed = PRODUCTS.thread(sQ, sK, sP), PRODUCTS.thread(sP, select(sV, 1, 0), gO)
    row, key = tile * ROWS + gpu.thread // 8 * 8, gpu.thread % 8 * 4  # of the first of this thread's scores
    s, o = make_fragment_like(scored.C), make_fragment_like(summed.C, "f32")
    top, total = make_tensor("f32", s.shape[0]), make_tensor("f32", s.shape[0])
    copy(q.source, q.target)
    clear(o)
    fill(top, -np.inf)
    clear(total)
    tiles = ceil_div(length, KEYS)
    for j in gpu.loop(gpu.minimum((tile + 1) * (ROWS // KEYS), tiles) if causal else tiles):
        copy(k.source(_, _, j), k.target)
        gpu.barrier()
        clear(s)
        for kk in gpu.loop(width):
            gemm(scored.A(_, kk), scored.B(_, kk), s)
        gpu.barrier()
        copy(v.source(_, _, j), v.target)
        for m in range(size(s, 0)):
            for n in range(size(s, 1)):
                at = j * KEYS + key + n
                seen = (at <= row + m) if causal else (at < length)
                s[m, n] = gpu.select(seen, s[m, n] * (width**-0.5), -np.inf)
            new = gpu.maximum(top[m], of_row(reduce_tree(s(m, _), -np.inf, gpu.maximum), gpu.maximum))
            transform(s(m, _), op=lambda x, new=new: gpu.exp(x - new))
            scale = gpu.exp(top[m] - new)
            total[m] = total[m] * scale + of_row(reduce_tree(s(m, _), 0.0, operator.add), operator.add)
            transform(o(m, _), op=lambda x, scale=scale: x * scale)
            top[m] = new
        copy(s, scored.C)
        gpu.barrier()
        for kk in gpu.loop(KEYS):
            gemm(summed.A(_, kk), summed.B(_, kk), o)
        gpu.barrier()
    for m in range(size(s, 0)):
        transform(o(m, _), op=lambda x, m=m: x / total[m])
    copy(o, summed.C)


def of_row(value, op):
    """`op` over the eight threads of a row."""
    for step in 1, 2, 4:
        value = op(value, gpu.subgroup_shuffle_xor(value, step))
    return value


def across(rows, columns):
    """Columns, four rows of which are read at once, and which are written by rows or by blocks without conflicts."""
    return composition(Swizzle(3, 2, rows.bit_length() - 1), Layout((rows, columns)))


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
