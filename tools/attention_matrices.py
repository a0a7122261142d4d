"""Attention in f16 by matrices of a subgroup: forms that `tools/h200_attention.py` times on Dawn."""

from dataclasses import dataclass
from math import e, log2

import numpy as np

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
    select,
    size,
    transform,
)
from cutepy.tensor import subgroup_matrix, universal_copy


@dataclass(frozen=True)
class Form:
    """32 rows of queries for each of `subgroups`, and `keys` at a time."""

    subgroups: int = 4
    keys: int = 32
    padding: int = 8
    ahead: bool = False  # K of the next tile comes into registers while this one is used

    @property
    def copies(self):
        return make_tiled_copy(universal_copy(4), Layout((self.subgroups * 4, 8), (8, 1)), Layout((1, 8)))


def apart(rows, columns):
    """Blocks of 16 rows, column by column, where 32 neighbours of a column lie in all banks."""
    return Layout(((16, rows // 16), columns), ((1, 16 * columns + 16), 16))


def some(fragment, c, columns):
    """Columns of matrices of a fragment."""
    return local_tile(fragment, (1, size(fragment, 1), columns), (0, 0, c))


@gpu.kernel
def attention(Q, K, V, O, *, causal, form):  # (length, width, heads) of f16
    ROWS, KEYS = 32 * form.subgroups, form.keys
    length, width, heads = O.shape
    mma = make_tiled_mma(subgroup_matrix((16, 16, 16), ("f16", "f16", "f32")), (form.subgroups, 1, 1))
    gpu.launch(grid=(ceil_div(length, ROWS), heads), threads=32 * form.subgroups)
    tile, head, who = gpu.workgroup.x, gpu.workgroup.y, 32 * gpu.subgroup
    if causal:
        tile = ceil_div(length, ROWS) - 1 - tile
    gQ, gO = (local_tile(x(_, _, head), (ROWS, width), (tile, 0)) for x in (Q, O))
    gK, gV = (local_tile(x(_, _, head), (KEYS, width), (_, 0)) for x in (K, V))
    sK = gpu.shared(K, Layout((KEYS, width), (width + form.padding, 1)))  # V, too
    sS, sP = gpu.shared("f32", apart(ROWS, KEYS)), gpu.shared("f16", apart(ROWS, KEYS))
    k, v = form.copies.thread(gK, sK), form.copies.thread(gV, sK)
    part_K, part_V = mma.partition_B(sK, who), mma.partition_B(select(sK, 1, 0), who)
    part_S, part_P = mma.partition_C(sS, who), mma.partition_A(sP, who)
    q = mma.make_fragment_A(mma.partition_A(make_tensor("f16", Layout((ROWS, width))), who))
    s = mma.make_fragment_C(part_S)
    frag_K, frag_V, p = mma.make_fragment_B(part_K), mma.make_fragment_B(part_V), mma.make_fragment_A(part_P)
    o = mma.make_fragment_C(mma.partition_C(make_tensor("f32", Layout((ROWS, width))), who))
    clear(o)
    for c in range(width // KEYS):
        copy(local_tile(gQ, (ROWS, KEYS), (0, c))(gpu.thread, _), sP(gpu.thread, _))
        gpu.barrier()
        copy(part_P, some(q, c, KEYS // 16))
        gpu.barrier()
    mine, scale = sS(gpu.thread, _), width**-0.5 * log2(e)
    row, values = tile * ROWS + gpu.thread, make_fragment_like(mine)
    tiles = ceil_div(length, KEYS)
    last = gpu.minimum(ceil_div((tile + 1) * ROWS, KEYS), tiles) if causal else tiles

    following = make_fragment_like(k.source(_, _, 0))

    def scores(j):
        if form.ahead:
            copy(following, k.target)
            gpu.barrier()
            copy(k.source(_, _, gpu.minimum(j + 1, tiles - 1)), following)
        else:
            copy(k.source(_, _, j), k.target)
            gpu.barrier()
        clear(s)
        copy(part_K, frag_K)
        gemm(q, frag_K, s)
        copy(s, part_S)
        gpu.barrier()
        copy(mine, values)
        for n in range(KEYS):
            seen = (j * KEYS + n <= row) if causal else (j * KEYS + n < length) if length % KEYS else True
            if seen is not True:
                values[n] = gpu.select(seen, values[n], -np.inf)

    top, total = -np.inf, 0.0
    if form.ahead:
        copy(k.source(_, _, 0), following)
    for j in gpu.loop(last):
        scores(j)
        for n in range(KEYS):
            top = gpu.maximum(top, values[n])
    top = top * scale
    if form.ahead:
        copy(k.source(_, _, 0), following)
    for j in gpu.loop(last):
        scores(j)
        copy(v.source(_, _, j), v.target)
        for n in range(KEYS):
            weight = gpu.exp2(values[n] * scale - top)
            total += weight
            sP[gpu.thread, n] = gpu.cast(weight, "f16")
        gpu.barrier()
        copy(part_P, p)
        copy(part_V, frag_V)
        gemm(p, frag_V, o)
        gpu.barrier()
    for c in range(width // KEYS):
        copy(some(o, c, KEYS // 16), part_S)
        gpu.barrier()
        copy(mine, values)
        transform(values, op=lambda x: x / total)
        copy(values, local_tile(gO, (ROWS, KEYS), (0, c))(gpu.thread, _))
        gpu.barrier()
