"""Kernels whose rows are where the data say: bags of an embedding, a sparse product, attention over sequences of their
own lengths and over pages of memory, and the products of a mixture of experts.

`gpu.ragged(x, start, stop)` is the rows of x from one number of the data to another; `gpu.assume` says what is known of
these numbers, and the proof names it. No index is clamped.
"""

from cutepy import (
    Layout,
    _,
    axpby,
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
)
from cutepy.tensor import FMA, universal_copy

ROWS, COLUMNS, DEEP = 64, 64, 16
PRODUCTS = make_tiled_mma(FMA, Layout((16, 16, 1), (16, 1, 0)), (*[Layout((16, 4), (4, 1))] * 2, None))
KEYS = make_tiled_copy(universal_copy(4), Layout((8, 4), (4, 1)), Layout((1, 4)))
COPIES = make_tiled_copy(universal_copy(4), Layout((64, 4), (4, 1)), Layout((1, 4)))


@gpu.kernel
def embedding_bag(table, ids, offsets, out):
    """out[b] = the sum of table[ids[i]] for i from offsets[b] to offsets[b + 1]; four columns a thread."""
    gpu.launch(grid=size(out, 0), threads=size(table, 1) // 4)
    gpu.assume(ids, bounds=(0, size(table, 0)))
    gpu.assume(offsets, bounds=(0, size(ids) + 1))
    b = gpu.workgroup.x
    total, row = make_tensor("f32", 4), make_tensor("f32", 4)
    clear(total)
    for i in gpu.loop(offsets[b + 1], start=offsets[b]):
        copy(local_tile(table(ids[i], _), (4,), (gpu.thread,)), row)
        axpby(1, row, 1, total)
    copy(total, local_tile(out(b, _), (4,), (gpu.thread,)))


@gpu.kernel
def csr_product(values, columns, offsets, X, Y):
    """Y = S @ X, S sparse in compressed rows, X (columns, width): a row a workgroup, four columns of X a thread."""
    gpu.launch(grid=size(Y, 0), threads=size(X, 1) // 4)
    gpu.assume(columns, bounds=(0, size(X, 0)))
    gpu.assume(offsets, bounds=(0, size(values) + 1))
    r = gpu.workgroup.x
    total, row = make_tensor("f32", 4), make_tensor("f32", 4)
    clear(total)
    for i in gpu.loop(offsets[r + 1], start=offsets[r]):
        copy(local_tile(X(columns[i], _), (4,), (gpu.thread,)), row)
        axpby(values[i], row, 1, total)
    copy(total, local_tile(Y(r, _), (4,), (gpu.thread,)))


@gpu.kernel
def grouped_product(A, B, offsets, C):
    """C[rows of e] = A[rows of e] @ B[e].T: A (rows, k), B (experts, n, k), C (rows, n)."""
    gpu.launch(grid=(ceil_div(size(C, 1), COLUMNS), size(B, 0)), threads=PRODUCTS.threads)
    gpu.assume(offsets, bounds=(0, size(A, 0) + 1))
    gpu.assume(offsets, ascending=True)
    column, e = gpu.workgroup.x, gpu.workgroup.y
    stop = offsets[e + 1]
    sA, sB = gpu.shared("f32", (ROWS, DEEP), pad=4), gpu.shared("f32", (COLUMNS, DEEP), pad=4)
    gB = local_tile(B(e, _, _), (COLUMNS, DEEP), (column, _))
    for row in gpu.loop(stop, start=offsets[e], step=ROWS):
        gA = local_tile(gpu.ragged(A, row, stop), (ROWS, DEEP), (0, _))
        gC = local_tile(gpu.ragged(C, row, stop), (ROWS, COLUMNS), (0, column))
        a, b, c = COPIES.thread(gA, sA), COPIES.thread(gB, sB), PRODUCTS.thread(sA, sB, gC)
        acc = make_fragment_like(c.C)
        clear(acc)
        for k in gpu.loop(size(gA, 2)):
            copy(a.source(_, _, k), a.target)
            copy(b.source(_, _, k), b.target)
            gpu.barrier()
            for kk in gpu.unroll(DEEP):
                gemm(c.A(_, kk), c.B(_, kk), acc)
            gpu.barrier()
        copy(acc, c.C)


@gpu.kernel
def varlen_attention(Q, K, V, offsets, O):
    """O = softmax(Q K^T / sqrt(d)) V for sequences one after the other, all (rows, d); a query a thread."""
    keys, d, threads = 16, size(Q, 1), 32
    gpu.launch(grid=size(offsets) - 1, threads=threads)
    gpu.assume(offsets, bounds=(0, size(Q, 0) + 1))
    gpu.assume(offsets, ascending=True)
    e, t = gpu.workgroup.x, gpu.thread
    first, stop = offsets[e], offsets[e + 1]
    sK, sV = (gpu.shared("f32", Layout((keys, d), (d, 1))) for _side in range(2))
    for row in gpu.loop(stop, start=first, step=threads):
        q, o = make_tensor("f32", d), make_tensor("f32", d)
        copy(gpu.ragged(Q, row, stop)(t, _), q)
        clear(o)
        top, total = gpu.constant(-1e30, "f32"), gpu.constant(0.0, "f32")
        for key in gpu.loop(stop, start=first, step=keys):
            for g, s in ((K, sK), (V, sV)):
                part = KEYS.thread(local_tile(gpu.ragged(g, key, stop), (keys, d), (0, 0)), s)
                copy(part.source, part.target)
            gpu.barrier()
            for j in gpu.loop(gpu.minimum(stop - key, keys)):
                k, v = make_tensor("f32", d), make_tensor("f32", d)
                copy(sK(j, _), k)
                copy(sV(j, _), v)
                score = sum(q[c] * k[c] for c in range(d)) * d**-0.5
                most = gpu.maximum(top, score)
                old, new = gpu.exp(top - most), gpu.exp(score - most)
                top, total = most, total * old + new
                axpby(new, v, old, o)
            gpu.barrier()
        axpby(1 / total, o, 0, gpu.ragged(O, row, stop)(t, _))


@gpu.kernel
def paged_attention(q, K, V, table, lengths, out):
    """out[b] = attention of the query q[b] over lengths[b] keys, in the pages table[b] of K and V (pages, keys, d)."""
    keys, d = size(K, 1), size(q, 1)
    gpu.launch(grid=size(q, 0), threads=d // 4)
    gpu.assume(table, bounds=(0, size(K, 0)))
    gpu.assume(lengths, bounds=(0, size(table, 1) * keys + 1))
    b, t, sP = gpu.workgroup.x, gpu.thread, gpu.shared("f32", keys)
    mine, k, o, v = (make_tensor("f32", n) for n in (d, d, 4, 4))
    copy(q(b, _), mine)
    clear(o)
    top, total, length = gpu.constant(-1e30, "f32"), gpu.constant(0.0, "f32"), lengths[b]
    for first in gpu.loop(length, step=keys):
        left = length - first
        rows, values = (gpu.ragged(x(table[b, first // keys], _, _), 0, left) for x in (K, V))
        score = gpu.constant(-1e30, "f32")
        if t < gpu.minimum(left, keys):
            copy(rows(t, _), k)
            score = sum(mine[c] * k[c] for c in range(d)) * d**-0.5
        most = gpu.maximum(top, gpu.workgroup_reduce(score, "max"))
        if t < keys:
            sP[t] = gpu.exp(score - most)
        gpu.barrier()
        axpby(0, o, gpu.exp(top - most), o)
        total, top = total * gpu.exp(top - most) + gpu.workgroup_reduce(gpu.exp(score - most)), most
        for j in gpu.loop(gpu.minimum(left, keys)):
            copy(local_tile(values(j, _), (4,), (t,)), v)
            axpby(sP[j], v, 1, o)
        gpu.barrier()
    axpby(1 / total, o, 0, local_tile(out(b, _), (4,), (t,)))
