"""Forms of attention in f32 that `tools/h200_attention.py` times; the best of them is examples/kernels/attention.py."""

from dataclasses import dataclass
from math import e, log2

import numpy as np

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
    make_ordered_layout,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    select,
    size,
    transform,
)
from cutepy.tensor import FMA, universal_copy
from cutepy.tensor.dtypes import u32
from cutepy.tensor.make import make_counting_tensor


@dataclass(frozen=True)
class Form:
    """`rows` of queries and 64 keys at a time, by `threads` along both, 8 x 8 scores each; P and V by `chunk` keys."""

    rows: int = 128
    keys: int = 64
    threads: tuple[int, int] = (16, 8)
    chunk: int = 32
    deep: int = 4  # values of k in the body of a loop
    slab: int = 0  # columns of Q that come through shared memory at a time, in V's place; 0: Q is read where it lies
    keys_ahead: bool = False  # the next K is loaded into registers before the last chunk
    values_ahead: bool = False  # V before the weights are computed

    def products(self, columns):
        tm, tn = self.threads
        deal = [Layout((n, 4, extent // (4 * n)), (4, 1, 4 * n)) for n, extent in ((tm, self.rows), (tn, columns))]
        return make_tiled_mma(FMA, Layout((tm, tn, 1), (tn, 1, 0)), (*deal, None))

    def copies(self, columns):
        count = self.threads[0] * self.threads[1]
        across = columns // 4
        return make_tiled_copy(universal_copy(4), Layout((count // across, across), (across, 1)), Layout((1, 4)))


def along(rows, columns):
    """Rows, four columns of which are read at once, at the same place of rows that are four apart."""
    bits = min(3, columns.bit_length() - 3)
    return composition(Swizzle(bits, 2, columns.bit_length() - 1), Layout((rows, columns), (columns, 1)))


@gpu.kernel
def attention(Q, K, V, O, *, causal, form):  # (length, width, heads)
    ROWS, KEYS, DEEP, CHUNK = form.rows, form.keys, form.deep, form.chunk
    length, width, heads = O.shape
    scores, sums = form.products(KEYS), form.products(width)
    gpu.launch(grid=(ceil_div(length, ROWS), heads), threads=scores.threads)
    tile, head = gpu.workgroup.x, gpu.workgroup.y
    if causal:
        tile = ceil_div(length, ROWS) - 1 - tile
    gQ, gO = (local_tile(x(_, _, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK = local_tile(K(_, _, head), (KEYS, width), (_, 0))  # (keys, width, tiles)
    gV = local_tile(V(_, _, head), (CHUNK, width), (_, 0))
    sK = gpu.shared(K, along(KEYS, width))
    sV = gpu.shared(V, Layout((CHUNK, width), (width, 1)))
    sP = make_tensor(sK, along(ROWS, CHUNK))  # where K was
    k, v = form.copies(width).thread(gK, sK), form.copies(width).thread(gV, sV)
    if form.slab:
        sQ = make_tensor(sV, along(ROWS, form.slab))
        q = form.copies(form.slab).thread(local_tile(gQ, (ROWS, form.slab), (0, _)), sQ)
    whole = make_counting_tensor(Layout((ROWS, KEYS)))
    mine, chunk = scores.thread(gQ, sK, whole).C, form.products(CHUNK).thread(gQ, sK, sP).C
    out = sums.thread(sP, make_counting_tensor(Layout((width, CHUNK))), gO).C
    rows, columns = (
        scores.thread(gQ, sK, make_counting_tensor(Layout((ROWS, KEYS), steps), dtype=u32)).C
        for steps in ((1, 0), (0, 1))
    )
    s, o = (make_tensor("f32", make_ordered_layout(x.shape, (1, 0))) for x in (mine, out))
    top, total = make_tensor("f32", s.shape[0]), make_tensor("f32", s.shape[0])
    next_K, next_V = make_fragment_like(k.source(_, _, 0)), make_fragment_like(v.source(_, _, 0))
    scale, parts = width**-0.5 * log2(e), KEYS // CHUNK
    clear(o)
    fill(top, -np.inf)
    clear(total)
    tiles = ceil_div(length, KEYS)
    last = gpu.minimum(ceil_div((tile + 1) * ROWS, KEYS), tiles) if causal else tiles
    if form.keys_ahead:
        copy(k.source(_, _, 0), next_K)
    for j in gpu.loop(last):
        copy(next_K if form.keys_ahead else k.source(_, _, j), k.target)
        clear(s)

        def multiply(queries, first, columns):
            for kk in gpu.loop(columns // DEEP):
                a = local_tile(queries, (ROWS, DEEP), (0, kk))
                b = local_tile(sK, (KEYS, DEEP), (0, first + kk))
                part = scores.thread(a, b, whole)
                gemm(part.A, part.B, s)

        if form.slab:
            for c in gpu.loop(width // form.slab):
                copy(q.source(_, _, c), q.target)
                gpu.barrier()
                multiply(sQ, c * (form.slab // DEEP), form.slab)
                gpu.barrier()
        else:
            gpu.barrier()
            multiply(gQ, 0, width)
            gpu.barrier()
        if form.values_ahead:
            copy(v.source(_, _, j * parts), next_V)

        def masked():
            for m in range(size(s, 0)):
                row = tile * ROWS + rows[m, 0]
                seen = (lambda k: j * KEYS + k <= row) if causal else (lambda k: j * KEYS + k < length)  # noqa: B023
                transform(s(m, _), columns(m, _), s(m, _), op=lambda x, k: gpu.select(seen(k), x, -np.inf))  # noqa: B023

        if causal:
            with gpu.when((j + 1) * KEYS > tile * ROWS):
                masked()
        elif length % KEYS:
            with gpu.when(j == last - 1):
                masked()
        best = gpu.reduce_rows(s, scores, gpu.maximum, lanes=8)
        for m in range(size(s, 0)):
            new = gpu.maximum(top[m], best[m, 0] * scale)
            less = gpu.exp2(top[m] - new)
            transform(s(m, _), op=lambda x, new=new: gpu.exp2(x * scale - new))
            transform(o(m, _), op=lambda x, less=less: x * less)
            top[m], total[m] = new, total[m] * less
            for n in range(size(s, 1)):
                total[m] += s[m, n]
        for c in range(parts):
            copy(local_tile(s, (size(s, 0), CHUNK // form.threads[1]), (0, c)), chunk)
            copy(next_V if form.values_ahead else v.source(_, _, j * parts + c), v.target)
            gpu.barrier()
            if form.values_ahead and c + 1 < parts:
                copy(v.source(_, _, j * parts + c + 1), next_V)
            if form.keys_ahead and c + 1 == parts:
                copy(k.source(_, _, gpu.minimum(j + 1, last - 1)), next_K)
            for kk in gpu.loop(CHUNK // DEEP):
                values = select(local_tile(sV, (DEEP, width), (kk, 0)), 1, 0)
                part = sums.thread(local_tile(sP, (ROWS, DEEP), (0, kk)), values, gO)
                gemm(part.A, part.B, o)
            gpu.barrier()
    for m in range(size(s, 0)):
        fill(s(m, _), total[m] / size(s, 1))
    found = gpu.reduce_rows(s, scores, "sum", lanes=8)
    for m in range(size(s, 0)):
        transform(o(m, _), op=lambda x, m=m: x / found[m, 0])
    copy(o, out)
