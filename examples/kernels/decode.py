"""One step of a model that writes: attention of one query a head over a cache of keys and values, which is read once.

Heads of queries that share keys are a group, and are weighed together. The keys are dealt out in parts, a workgroup
each, whose results a second kernel puts together. Each thread has some columns of a key, read in one access or two.
"""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    Tensor,
    _,
    axpby,
    ceil_div,
    clear,
    composition,
    copy,
    fill,
    gemm,
    gpu,
    local_tile,
    make_tensor,
    make_tiled_mma,
    recast,
    select,
    size,
    transform,
)
from cutepy.tensor import FMA

THREADS, BYTES, RAISED, LEAST = 128, 64, 8, -1e30


@gpu.kernel
def decode(q, K, V, norms, o, *, dtype=None, lanes=0, deep=0):
    # q (width, group, heads), K, V (keys, width, heads), norms (group, heads, parts), o (width, group, heads, parts)
    (width, group, heads, parts), keys = o.shape, size(K, 0)
    lanes = lanes or width // (8 if group <= 4 else 4)  # threads that share a key, of a subgroup
    gpu.launch(grid=(parts, heads), threads=THREADS)
    gpu.in_order(K, V)
    part, head, scale = gpu.workgroup.x, gpu.workgroup.y, width**-0.5 * np.log2(np.e)
    rows, lane, row = THREADS // lanes, gpu.thread % lanes, gpu.thread // lanes
    if dtype:  # of keys and values in words
        K, V = recast(K, dtype), recast(V, dtype)
    wide = width // lanes
    ahead = BYTES if group > 2 else 2 * BYTES if K.dtype.bits < 32 else BYTES * group // 2  # of keys, on their way
    deep = deep or min(8, lanes, max(1, 8 * ahead // (wide * K.dtype.bits)))
    each = max(1, ceil_div(group * deep, lanes))  # scores of a thread: numbers lane, lane + lanes, ...

    def mine(columns):
        """The columns of this thread, in runs of 16 bytes."""
        run = min(wide, 128 // K.dtype.bits)
        return composition(columns, Layout((run, lanes, wide // run)))(_, lane, _)

    queries, found, k, v = (make_tensor("f32", (n, wide), (wide, 1)) for n in (group, group, deep, deep))
    weights, s = make_tensor("f32", (group, deep), (deep, 1)), make_tensor("f32", group * deep)
    scores, tops, totals = (make_tensor("f32", each) for _row in range(3))
    for g in range(group):
        copy(mine(q(_, g, head)), queries(g, _))
    transform(queries, op=lambda x: x * scale)
    fill(tops, LEAST)
    clear(totals)
    clear(found)
    turns = ceil_div(keys, rows * deep)
    share = ceil_div(turns, parts)
    for j in gpu.loop(gpu.minimum((part + 1) * share, turns), start=part * share):
        for d in range(deep):
            at = gpu.minimum((j * deep + d) * rows + row, keys - 1)
            for x, held in ((K, k), (V, v)):
                copy(mine(x(at, _, head)), held(d, _))
        clear(s)
        gemm(queries, k, make_tensor(s, (group, deep), (deep, 1)))
        dealt_sums(s, scores, lanes)
        for i in range(each):  # number // deep is the query, number % deep the key
            there = (j * deep + (lane + lanes * i) % deep) * rows + row < keys
            log = gpu.select(there, scores[i], -np.inf)
            best = over_keys(log, deep, gpu.maximum)
            # Weights are relative to a reference, and 2^8 at most: it is rare that one is raised.
            top = gpu.select(best > tops[i] + RAISED, best, tops[i])
            less, scores[i], tops[i] = gpu.exp2(tops[i] - top), gpu.exp2(log - top), top
            totals[i] = totals[i] * less + scores[i]
            for g in range(group):
                if g * deep // lanes == i:
                    factor = gpu.subgroup_shuffle(less, g * deep % lanes, lanes=lanes)
                    if factor < 1:
                        transform(found(g, _), op=lambda x, factor=factor: x * factor)
        for n in range(group * deep):
            weights[n // deep, n % deep] = gpu.subgroup_shuffle(scores[n // lanes], n % lanes, lanes=lanes)
        gemm(weights, select(v, 1, 0), found)
    top, total = make_tensor("f32", (group, 1)), make_tensor("f32", (group, 1))
    for g in range(group):
        i, first = g * deep // lanes, g * deep % lanes
        top[g, 0] = gpu.subgroup_shuffle(tops[i], first, lanes=lanes)
        total[g, 0] = gpu.subgroup_shuffle(over_keys(totals[i], deep, lambda a, b: a + b), first, lanes=lanes)
    best = gpu.reduce_rows(top, across(lanes), "max")
    transform(top, best, top, op=lambda x, most: gpu.exp2(x - most))
    transform(total, top, total, op=lambda x, less: x * less)
    whole, shared = gpu.reduce_rows(total, across(lanes)), gpu.shared("f32", (width, rows))
    for g in range(group):
        transform(found(g, _), mine(shared(_, row)), op=lambda x, g=g: x * top[g, 0])
        gpu.barrier()
        share = gpu.select(whole[g, 0] > 0, 1 / whole[g, 0], 0.0)
        for c in gpu.loop(width, start=gpu.thread, step=THREADS):
            o[c, g, head, part] = sum(shared[c, r] for r in range(rows)) * share
        if gpu.thread == 0:
            norms[g, head, part] = gpu.select(whole[g, 0] > 0, best[g, 0] + gpu.log2(whole[g, 0]), LEAST)
        gpu.barrier()


def dealt_sums(parts, sums, lanes):
    """Sum number n of the `parts` over `lanes` threads, in thread n % lanes as its number n // lanes: by halves."""
    values, step = [parts[i] for i in range(size(parts))], 1
    while step < lanes:
        upper, values = gpu.thread // step % 2 == 1, values + [0.0] * (len(values) % 2)
        pairs = zip(values[::2], values[1::2], strict=True)
        exchanged = [(gpu.select(upper, b, a), gpu.select(upper, a, b)) for a, b in pairs]
        values = [kept + gpu.subgroup_shuffle_xor(given, step, lanes=lanes) for kept, given in exchanged]
        step *= 2
    for i, value in enumerate(values):
        sums[i] = value


def over_keys(value, deep, op):
    """The fold of the values of `deep` neighbouring threads."""
    step = 1
    while step < deep:
        value = op(value, gpu.subgroup_shuffle_xor(value, step, lanes=deep))
        step *= 2
    return value


@gpu.kernel
def combine(norms, parts, o):
    """o (width, group, heads) = the parts (width, group, heads, parts), each by its share of all weights."""
    width, group, heads = o.shape
    gpu.launch(grid=(group, heads), threads=THREADS)
    g, head, count, lanes = gpu.workgroup.x, gpu.workgroup.y, size(parts, 3), width // 4
    column, row, most, total = gpu.thread % lanes, gpu.thread // lanes, LEAST, 0.0
    for p in gpu.loop(count, start=gpu.thread, step=THREADS):
        most = gpu.maximum(most, norms[g, head, p])
    best = gpu.workgroup_reduce(most, "max")
    value, one = make_tensor("f32", (4, 1)), make_tensor("f32", (4, 1))
    clear(value)
    for p in gpu.loop(count, start=row, step=THREADS // lanes):
        share = gpu.exp2(norms[g, head, p] - best)
        total += share
        copy(local_tile(parts(_, g, head, p), 4, column), one(_, 0))
        axpby(share, one, 1, value)
    sums, whole = gpu.reduce_rows(value, across(lanes)), gpu.workgroup_reduce(total) / lanes
    if row == 0:
        transform(sums(_, 0), local_tile(o(_, g, head), 4, column), op=lambda x: gpu.cast(x / whole, o.dtype))


def across(lanes):
    """Rows of threads, each of the values of `lanes` columns: what they fold together."""
    return make_tiled_mma(FMA, Layout((lanes, THREADS // lanes, 1), (1, lanes, 0)))


def attend(q, K, V, o, *, workgroups=512, **static):
    """o (width, group, heads) = attention of q over all keys; a window is the last of them, `K[-window:]`."""
    width, group, heads = o.shape
    parts = max(1, min(workgroups // heads, size(K, 0) // 256))
    norms, found = gpu.empty((parts, heads, group)), gpu.empty((parts, heads, group, width))
    norms, found = (Tensor(t.engine, Layout(t.shape[::-1])) for t in (norms, found))
    decode(q, K, V, norms, found, **static)
    combine(norms, found, o)


def example(keys: int = 300, width: int = 64, heads: int = 2, *, group: int = 2, dtype: str = "float32") -> Example:
    """One part, of which the result is the whole."""
    g = np.random.default_rng(0)
    q, K, V = (g.standard_normal((heads, n, width)).astype(dtype) for n in (group, keys, keys))
    o, norms = np.zeros((1, heads, group, width), np.float32), np.zeros((1, heads, group), np.float32)
    given = q.transpose(2, 1, 0), K.transpose(1, 2, 0), V.transpose(1, 2, 0), norms.transpose(2, 1, 0), o.transpose()
    return Example(decode, (*given[:4], o.transpose(3, 2, 1, 0)), weighed(q, K, V)[..., None], {"lanes": 4}, 2e-6)


def weighed(q, K, V):
    """The same in float64, of arrays (heads, group, width) and (heads, keys, width): (width, group, heads)."""
    scores = np.einsum("hgd,hkd->hgk", q, K, dtype=np.float64) / np.sqrt(q.shape[2])
    e = np.exp(scores - scores.max(2, keepdims=True))
    return np.einsum("hgk,hkd->dgh", e / e.sum(2, keepdims=True), V.astype(np.float64))


if __name__ == "__main__":
    main(example())
