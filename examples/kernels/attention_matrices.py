"""Attention in f16 by matrices of a subgroup (tensor cores): scores are summed in f32, and so is what they weigh.

Nobody sees an element of a fragment, so sums are scaled down through shared memory. That is rare: weights are relative
to a reference, which a row raises only where a score is 2^8 times larger; 16 bits hold what is between. Queries may be
the last of the keys (a cache), and several heads of them may share one of keys.
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
    make_ordered_layout,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    reduce_tree,
    select,
    size,
    transform,
)
from cutepy.tensor import subgroup_matrix, universal_copy

ROWS, KEYS, RAISED = 128, 16, 8
# A subgroup has 32 rows side by side, so has a thread one of them.
PRODUCTS = make_tiled_mma(
    subgroup_matrix((16, 16, 16), ("f16", "f16", "f32")), (4, 1, 1), (Layout((16, 4, 2), (1, 32, 16)), None, None)
)


@gpu.kernel
def attention(Q, K, V, O, *, causal, window=None):  # Q, O (length, width, group, heads), K, V (keys, width, heads)
    (length, width, group, heads), keys = O.shape, K.shape[0]
    gpu.launch(grid=(ceil_div(length, ROWS), group, heads), threads=PRODUCTS.threads)
    gpu.in_order(K, V)
    tile, head, who, scale = gpu.workgroup.x, gpu.workgroup.z, 32 * gpu.subgroup, width**-0.5 * np.log2(np.e)
    tile = ceil_div(length, ROWS) - 1 - tile if causal else tile  # those with the most keys first
    gQ, gO = (local_tile(x(_, _, gpu.workgroup.y, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (KEYS, width), (_, 0)) for x in (K, V))
    sK, sV = (gpu.shared(K, Layout((KEYS, width), (width + 8, 1))) for _operand in "KV")
    sS = gpu.shared("f32", Layout((ROWS, KEYS), (KEYS + 4, 1)))
    sP = gpu.shared("f16", Layout((ROWS, KEYS), (KEYS + 8, 1)) if causal else columns(40))  # each is faster there
    k, v = copies(width).thread(gK, sK), copies(width).thread(gV, sV)
    part_K, part_V = PRODUCTS.partition_B(sK, who), PRODUCTS.partition_B(select(sV, 1, 0), who)
    part_S, part_P = PRODUCTS.partition_C(sS, who), PRODUCTS.partition_A(sP, who)
    q = PRODUCTS.make_fragment_A(PRODUCTS.partition_A(gQ, who))
    o = PRODUCTS.make_fragment_C(PRODUCTS.partition_C(gO, who))
    frag_K, frag_V = PRODUCTS.make_fragment_B(part_K), PRODUCTS.make_fragment_B(part_V)
    s, p = PRODUCTS.make_fragment_C(part_S), PRODUCTS.make_fragment_A(part_P)
    next_K, next_V = make_fragment_like(k.source(_, _, 0)), make_fragment_like(v.source(_, _, 0))
    mine, values, raised = sS(gpu.thread, _), make_tensor("f32", KEYS), gpu.shared("u32", 1)
    # The keys that queries of this tile see: from the first one's window to the last one's own.
    here, first, last = tile * ROWS + keys - length, 0, ceil_div(keys, KEYS)
    if causal:
        last = gpu.minimum(ceil_div(here + ROWS, KEYS), last)
    if window:
        first = (gpu.maximum(here + 1, window) - window) // KEYS
    for c in range(width // 16):
        copy(local_tile(gQ, (ROWS, 16), (0, c))(gpu.thread, _), sP(gpu.thread, _))
        gpu.barrier()
        copy(part_P, column(q, c))
        gpu.barrier()
    clear(o)
    top, total = -1e30, 0.0
    if gpu.thread == 0:
        gpu.atomic_store(raised, 0, 0)
    copy(k.source(_, _, first), k.target)
    copy(k.source(_, _, gpu.minimum(first + 1, last - 1)), next_K)
    copy(v.source(_, _, first), next_V)
    gpu.barrier()
    for j in gpu.loop(last, start=first):
        clear(s)
        copy(part_K, frag_K)
        gemm(q, frag_K, s)
        copy(s, part_S)
        gpu.barrier()  # all have the scores, and have weighed the values before: the next tiles take their places
        copy(next_K, k.target)
        copy(next_V, v.target)
        copy(k.source(_, _, gpu.minimum(j + 2, last - 1)), next_K)
        copy(v.source(_, _, gpu.minimum(j + 1, last - 1)), next_V)
        copy(mine, values)
        beyond = (j + 1) * KEYS > (here + 1 if causal else keys)
        if (
            (beyond | (j * KEYS + window < here + ROWS)) if window else beyond
        ):  # a tile that some row does not see whole
            for n in range(KEYS):
                key, row = j * KEYS + n, here + gpu.thread
                seen = (key <= row) if causal else (key < keys)
                values[n] = gpu.select(seen & (key + window > row) if window else seen, values[n], -np.inf)
        best, less = reduce_tree(values, None, gpu.maximum) * scale, 1.0
        if best > top + RAISED:
            less, top = gpu.exp2(top - best), best
            gpu.atomic_store(raised, 0, j + 1)
        transform(values, op=lambda x, top=top: gpu.exp2(x * scale - top))
        total = total * less + reduce_tree(values, None, lambda a, b: a + b)
        transform(values, sP(gpu.thread, _), op=lambda x: gpu.cast(x, "f16"))
        if gpu.uniform(gpu.atomic_load(raised, 0)) == j + 1:
            for c in range(width // 16):
                copy(column(o, c), part_S)
                gpu.barrier()
                transform(mine, op=lambda x, less=less: x * less)
                gpu.barrier()
                copy(part_S, column(o, c))
                gpu.barrier()
        copy(part_P, p)
        copy(part_V, frag_V)
        gemm(p, frag_V, o)
    for c in range(width // 16):
        copy(column(o, c), part_S)
        gpu.barrier()
        transform(mine, local_tile(gO, (ROWS, 16), (0, c))(gpu.thread, _), op=lambda x: gpu.cast(x / total, "f16"))
        gpu.barrier()


def columns(pitch):
    """A column of 32 rows for each subgroup, `pitch` elements from the next: matrices and rows meet no bank twice."""
    return Layout(((32, 4), KEYS), ((1, pitch * KEYS), pitch))


def copies(width):
    """Whole keys side by side, four columns a thread: vectors of neighbours meet no bank twice."""
    threads = make_ordered_layout((PRODUCTS.threads * 4 // width, width // 4), (1, 0))
    return make_tiled_copy(universal_copy(4), threads, Layout((1, 4)))


def column(fragment, c):
    """A column of the matrices of a fragment."""
    return local_tile(fragment, (1, size(fragment, 1), 1), (0, 0, c))


def example(
    length: int = 200,
    width: int = 64,
    heads: int = 2,
    *,
    causal: bool = True,
    keys: int = 0,
    group: int = 1,
    window=None,
) -> Example:
    """Queries are the last ones of `keys`, and a group of heads of them shares one of keys and values."""
    g, keys = np.random.default_rng(0), keys or length
    sizes = (heads, group, length, width), (heads, keys, width)
    Q, K, V = (g.standard_normal(sizes[of]).astype(np.float16) for of in (0, 1, 1))
    q, o = (x.transpose(2, 3, 1, 0) for x in (Q, np.zeros_like(Q)))
    given = q, K.transpose(1, 2, 0), V.transpose(1, 2, 0), o
    return Example(attention, given, weighed(Q, K, V, causal, window), {"causal": causal, "window": window}, 1e-3)


def weighed(Q, K, V, causal, window=None):
    """The same in float64, of arrays (heads, group, length, width) and (heads, keys, width)."""
    (length, width), keys = Q.shape[2:], K.shape[1]
    scores = np.einsum("hgid,hjd->hgij", Q, K, dtype=np.float64) / np.sqrt(width)
    behind = np.arange(length)[:, None] + keys - length - np.arange(keys)  # how far a key is behind a query
    scores[..., (behind < 0) & causal | (behind >= (window or keys))] = -np.inf
    e = np.exp(scores - scores.max(3, keepdims=True))
    return np.einsum("hgij,hjd->idgh", e / e.sum(3, keepdims=True), V.astype(np.float64))


if __name__ == "__main__":
    main(example())
