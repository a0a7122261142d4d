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
    """`rows` of queries and `keys` at a time, by `threads` along both; `lanes` of them in which neighbours stand."""

    rows: int = 64
    keys: int = 64
    threads: tuple[int, int] = (8, 8)
    deep: int = 4  # values of k in the body of a loop
    loaded: str = "shared"  # V: through shared memory, "chunk" by chunk of P, or read where it lies: "global"
    apart: bool = False  # P, K and V in places of their own, and two barriers
    lanes: int = 8
    queries: str = "shared"  # Q, as V
    chunk: int = 64  # keys of P that are in shared memory at a time

    def products(self, columns):
        tm, tn = self.threads
        deal = [Layout((n, 4, extent // (4 * n)), (4, 1, 4 * n)) for n, extent in ((tm, self.rows), (tn, columns))]
        return make_tiled_mma(FMA, Layout((tm, tn, 1), (tn, 1, 0)), (*deal, None))

    @property
    def copies(self):
        count = self.threads[0] * self.threads[1]
        return make_tiled_copy(universal_copy(4), Layout((count // 16, 16), (16, 1)), Layout((1, 4)))


def along(rows, columns):
    """Rows, four columns of which are read at once, at the same place of rows that are four apart."""
    return composition(Swizzle(3, 2, columns.bit_length() - 1), Layout((rows, columns), (columns, 1)))


@gpu.kernel
def attention(Q, K, V, O, *, causal, form):  # (length, width, heads)
    ROWS, KEYS, DEEP = form.rows, form.keys, form.deep
    length, width, heads = O.shape
    scores, sums = form.products(KEYS), form.products(width)
    gpu.launch(grid=(ceil_div(length, ROWS), heads), threads=scores.threads)
    tile, head = gpu.workgroup.x, gpu.workgroup.y
    if causal:
        tile = ceil_div(length, ROWS) - 1 - tile
    gQ, gO = (local_tile(x(_, _, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (KEYS, width), (_, 0)) for x in (K, V))  # (keys, width, tiles)
    CHUNK = min(form.chunk, KEYS)
    sQ = gpu.shared(Q, along(ROWS, width)) if form.queries == "shared" else gQ
    room = max(KEYS * width, ROWS * CHUNK)
    sK = gpu.shared(K, along(room // width, width))
    sP = gpu.shared("f32", along(ROWS, CHUNK)) if form.apart else make_tensor(sK, along(ROWS, CHUNK))
    sK = local_tile(sK, (KEYS, width), (0, 0))
    sV = gpu.shared(V, Layout((KEYS, width), (width, 1))) if form.loaded == "shared" else None
    k = form.copies.thread(gK, sK)
    v = form.copies.thread(gV, sV) if form.loaded == "shared" else None
    if form.loaded == "chunk":
        sV = gpu.shared(V, Layout((CHUNK, width), (width, 1)))
    whole = make_counting_tensor(Layout((ROWS, KEYS)))
    mine, chunk = scores.thread(gQ, sK, whole).C, form.products(CHUNK).thread(gQ, sK, sP).C
    out = sums.thread(sP, make_counting_tensor(Layout((width, CHUNK))), gO).C
    rows, columns = (
        scores.thread(gQ, sK, make_counting_tensor(Layout((ROWS, KEYS), steps), dtype=u32)).C
        for steps in ((1, 0), (0, 1))
    )
    s, o = (make_tensor("f32", make_ordered_layout(x.shape, (1, 0))) for x in (mine, out))
    top, total = make_tensor("f32", s.shape[0]), make_tensor("f32", s.shape[0])
    scale = width**-0.5 * log2(e)
    if sQ is not gQ:
        q = form.copies.thread(gQ, sQ)
        copy(q.source, q.target)
    clear(o)
    fill(top, -np.inf)
    clear(total)
    tiles = ceil_div(length, KEYS)
    last = gpu.minimum(ceil_div((tile + 1) * ROWS, KEYS), tiles) if causal else tiles
    if form.apart:
        copy(k.source(_, _, 0), k.target)
    for j in gpu.loop(last):
        if not form.apart:
            copy(k.source(_, _, j), k.target)
            if v is not None:
                copy(v.source(_, _, j), v.target)
        gpu.barrier()
        clear(s)
        for kk in gpu.loop(width // DEEP):
            part = scores.thread(local_tile(sQ, (ROWS, DEEP), (0, kk)), local_tile(sK, (KEYS, DEEP), (0, kk)), sP)
            gemm(part.A, part.B, s)
        if not form.apart:
            gpu.barrier()
        elif v is not None:
            copy(v.source(_, _, j), v.target)

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
        best = gpu.reduce_rows(s, scores, gpu.maximum, lanes=form.lanes)
        for m in range(size(s, 0)):
            new = gpu.maximum(top[m], best[m, 0] * scale)
            less = gpu.exp2(top[m] - new)
            transform(s(m, _), op=lambda x, new=new: gpu.exp2(x * scale - new))
            transform(o(m, _), op=lambda x, less=less: x * less)
            top[m], total[m] = new, total[m] * less
            for n in range(size(s, 1)):
                total[m] += s[m, n]
        for c in range(KEYS // CHUNK):
            blocks = CHUNK // (4 * form.threads[1])
            copy(local_tile(s, (size(s, 0), 4 * blocks), (0, c)), chunk)
            if form.loaded == "chunk":
                w = form.copies.thread(local_tile(gV(_, _, j), (CHUNK, width), (c, 0)), sV)
                copy(w.source, w.target)
            gpu.barrier()
            if form.apart:
                with gpu.when(j + 1 < last):
                    copy(k.source(_, _, j + 1), k.target)
            for kk in gpu.loop(CHUNK // DEEP):
                at = kk if form.loaded == "chunk" else c * (CHUNK // DEEP) + kk
                values = local_tile(gV(_, _, j) if sV is None else sV, (DEEP, width), (at, 0))
                part = sums.thread(local_tile(sP, (ROWS, DEEP), (0, kk)), select(values, 1, 0), gO)
                gemm(part.A, part.B, o)
            if not form.apart:
                gpu.barrier()
    for m in range(size(s, 0)):
        fill(s(m, _), total[m] / size(s, 1))
    found = gpu.reduce_rows(s, scores, "sum", lanes=form.lanes)
    for m in range(size(s, 0)):
        transform(o(m, _), op=lambda x, m=m: x / found[m, 0])
    copy(o, out)
