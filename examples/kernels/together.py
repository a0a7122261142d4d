"""Kernels whose workgroups decide together how often they turn: a queue of jobs, a solver that stops when it is exact
enough, a selection by digits, products whose work is cut evenly, and running sums in one pass.

What a workgroup reduced, or read by `gpu.uniform`, is the same in all its threads; so barriers may stand under it.
"""

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
    make_tiled_copy,
    make_tiled_mma,
    size,
)
from cutepy.tensor import FMA, universal_copy

ROWS, COLUMNS, DEEP = 32, 32, 16
PRODUCTS = make_tiled_mma(FMA, Layout((8, 8, 1), (8, 1, 0)), (*[Layout((8, 4), (4, 1))] * 2, None))
COPIES = make_tiled_copy(universal_copy(4), Layout((16, 4), (4, 1)), Layout((1, 4)))


@gpu.kernel
def queue(jobs, counter, y, *, groups):
    """y[job * 64 + t] = jobs[job] + t: workgroups stay, and take the next job when they are ready. counter is 0."""
    gpu.launch(grid=groups, threads=64)
    s = gpu.shared("f32", 64)
    for _turn in gpu.loop(size(jobs) + 1):
        ticket = 0
        if gpu.thread == 0:
            ticket = gpu.atomic_add(counter, 0, 1)
        job = gpu.uniform(ticket)
        if job >= size(jobs):
            break
        s[gpu.thread] = jobs[job] + gpu.cast(gpu.thread, "f32")
        gpu.barrier()
        y[job * 64 + gpu.thread] = s[gpu.thread]
        gpu.barrier()


@gpu.kernel
def jacobi(b, x, turns, *, most, tolerance):
    """Solves 3 x[i] - x[i-1] - x[i+1] = b[i], 64 unknowns a workgroup, until no x moves by more than the tolerance."""
    gpu.launch(grid=size(b) // 64, threads=64)
    s, at, t = gpu.shared("f32", 66), gpu.workgroup.x * 64 + gpu.thread, gpu.thread
    s[t + 1] = 0.0
    if t < 2:
        s[t * 65] = 0.0
    gpu.barrier()
    moved, n = gpu.constant(np.inf, "f32"), 0
    while gpu.at_most(most, gpu.workgroup_reduce(moved, "max") > tolerance):
        new = (b[at] + s[t] + s[t + 2]) / 3.0
        moved = gpu.absolute(new - s[t + 1])
        gpu.barrier()
        s[t + 1] = new
        gpu.barrier()
        n += 1
    x[at], turns[at] = s[t + 1], n


@gpu.kernel
def select(x, out, *, k):
    """out[row] = element number k of x[:, row] in order, of u32: eight bits a turn, until one candidate is left."""
    gpu.launch(grid=size(x, 1), threads=256)
    bins, row, t = gpu.shared("u32", 256), gpu.workgroup.x, gpu.thread
    prefix, left, many, shift = (gpu.constant(n, "u32") for n in (0, k, size(x, 0), 32))
    while gpu.at_most(4, many > 1):
        shift -= 8
        gpu.atomic_store(bins, t, 0)
        gpu.barrier()
        for i in gpu.loop(size(x, 0), start=t, step=256):
            v = x[i, row]
            if shift == 24 or v >> (shift + 8) == prefix:
                gpu.atomic_add(bins, v >> shift & 255, 1)
        gpu.barrier()
        count = gpu.atomic_load(bins, t)
        before = gpu.workgroup_scan(count, exclusive=True)
        mine = (before <= left) & (left < before + count)
        digit, many, left = (
            gpu.uniform(gpu.workgroup_reduce(gpu.select(mine, v, 0), "max")) for v in (t, count, left - before)
        )
        prefix = prefix * 256 + digit
    for i in gpu.loop(size(x, 0), start=t, step=256):
        if shift == 32 or x[i, row] >> shift == prefix:
            gpu.atomic_store(out, row, x[i, row])


@gpu.kernel
def stream_k(A, B, C, *, groups):
    """C += A @ B.T, C 0 before: tiles of C times steps along k, cut in as many equal parts as there are workgroups."""
    steps, across = ceil_div(size(A, 1), DEEP), ceil_div(size(C, 1), COLUMNS)
    total = ceil_div(size(C, 0), ROWS) * across * steps
    per = ceil_div(total, groups)
    gpu.launch(grid=groups, threads=PRODUCTS.threads)
    sA, sB = gpu.shared("f32", (ROWS, DEEP), pad=4), gpu.shared("f32", (COLUMNS, DEEP), pad=4)
    begin, end = gpu.workgroup.x * per, gpu.minimum(gpu.workgroup.x * per + per, total)
    for tile in gpu.loop(ceil_div(end, steps), start=begin // steps):
        row, column, first = tile // across, tile % across, gpu.maximum(begin, tile * steps) - tile * steps
        last = gpu.minimum(end - tile * steps, steps)
        gA, gB = (local_tile(x, (ROWS, DEEP), (i, _)) for x, i in ((A, row), (B, column)))
        a, b = COPIES.thread(gA, sA), COPIES.thread(gB, sB)
        c = PRODUCTS.thread(sA, sB, local_tile(C, (ROWS, COLUMNS), (row, column)))
        acc = make_fragment_like(c.C)
        clear(acc)
        for k in gpu.loop(last, start=first):
            copy(a.source(_, _, k), a.target)
            copy(b.source(_, _, k), b.target)
            gpu.barrier()
            for kk in gpu.unroll(DEEP):
                gemm(c.A(_, kk), c.B(_, kk), acc)
            gpu.barrier()
        for i in gpu.unroll(size(acc)):
            gpu.atomic_add(c.C, i, acc[i])


@gpu.kernel
def look_back(x, y, state, counter):
    """y = the running sums of u32 below 2^30, in one pass: a tile adds what those before published. state is 0."""
    gpu.launch(grid=size(state), threads=256)
    t, ticket, before = gpu.thread, 0, 0
    if t == 0:
        ticket = gpu.atomic_add(counter, 0, 1)
    tile = gpu.uniform(ticket)
    gpu.assume(tile < size(state))  # counter is 0 before
    v = gpu.load(x, tile * 256 + t, where=tile * 256 + t < size(x))
    inside, total = gpu.workgroup_scan(v), gpu.workgroup_reduce(v)
    if t == 0:
        gpu.atomic_store(state, tile, total * 4 + 1)
        for back in gpu.loop(tile):
            seen = gpu.atomic_load(state, tile - 1 - back)
            while seen % 4 == 0:  # that tile was begun before this one
                seen = gpu.atomic_load(state, tile - 1 - back)
            before += seen // 4
            if seen % 4 == 2:
                break
        gpu.atomic_store(state, tile, (before + total) * 4 + 2)
    before = gpu.uniform(before)
    if tile * 256 + t < size(x):
        y[tile * 256 + t] = inside + before
