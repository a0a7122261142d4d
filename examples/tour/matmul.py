# %% [markdown]
# # A matrix product, from the tile to the timing
#
# C = A B with A (m,k) and B (k,n) of any sizes. First on one element of C, then on tiles, then measured.

# %%
import time

import numpy as np

from cutepy import (
    DeviceError,
    Layout,
    _,
    ceil_div,
    clear,
    copy,
    draw,
    gemm,
    gpu,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_mma,
    select,
    size,
)
from cutepy.tensor import FMA, universal_copy

m, n, k = 250, 200, 150
random = np.random.default_rng(0)
A, B = random.random((m, k), np.float32), random.random((k, n), np.float32)
EXACT = A.astype(np.float64) @ B


def check(C: np.ndarray) -> float:
    """How far C is from the product in float64, relative, by Frobenius' norm."""
    error = float(np.linalg.norm(C - EXACT) / np.linalg.norm(EXACT))
    assert error < 1e-6, error
    return error


# %% [markdown]
# ## The plainest kernel
#
# A thread computes one element. `B.T` costs nothing: it is another layout over the same memory. `gemm` over a row and a
# column is their scalar product, and tiles that reach beyond the edge guard themselves.

# %%


@gpu.kernel
def plain(A, B, C):  # A (m,k), B (n,k), C (m,n)
    gpu.launch(grid=(ceil_div(size(C, 1), 16), ceil_div(size(C, 0), 16)), threads=256)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    threads = Layout((16, 16), (16, 1))
    mine_A = local_partition(local_tile(A, (16, 8), (row, _)), threads, proj=(1, None))  # (1, 8, tiles)
    mine_B = local_partition(local_tile(B, (16, 8), (column, _)), threads, proj=(None, 1))
    mine_C = local_partition(local_tile(C, (16, 16), (row, column)), threads)
    acc = make_fragment_like(mine_C)
    clear(acc)
    for tile in gpu.loop(size(mine_A, 2)):
        for kk in gpu.unroll(8):
            gemm(mine_A(_, kk, tile), mine_B(_, kk, tile), acc)
    copy(acc, mine_C)


C = np.zeros((m, n), np.float32)
plain.interpret(A, B.T, C)
print(f"plain: {check(C):.0e} from float64")

# %% [markdown]
# ## Tiles in shared memory, blocks in registers
#
# 256 threads compute 64 x 64 elements, 4 x 4 each, from slabs of 16 along k that they bring into shared memory
# together. Who brings what is a tiled copy, who multiplies what a tiled multiply-add. Both can be looked at before
# anything runs.

# %%
TILE = bm, bn, bk = 64, 64, 16
COPIES = make_tiled_copy(universal_copy(4), Layout((16, 16), (1, 16)), Layout((4, 1)))
BLOCKS = Layout((16, 4), (4, 1))  # 16 threads own 4 neighbours each
PRODUCTS = make_tiled_mma(FMA, (16, 16, 1), (BLOCKS, BLOCKS, None))
assert COPIES.tile == (bm, bk) and PRODUCTS.tile == (bm, bn, 1)
assert COPIES.threads == PRODUCTS.threads == 256
draw(COPIES.layout_tv, view=draw.ThreadValue((bm, bk)), color="thread")

# %%
draw(PRODUCTS.layout_tv("c"), view=draw.ThreadValue((bm, bn)), color="thread", label="thread")


# %%
@gpu.kernel
def tiled(A, B, C, *, pad):
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=256)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    gA, gB = local_tile(A, (bm, bk), (row, _)), local_tile(B, (bn, bk), (column, _))  # (rows, bk, tiles)
    gC = local_tile(C, (bm, bn), (row, column))
    sA, sB = gpu.shared(A, (bm, bk), pad=pad), gpu.shared(B, (bn, bk), pad=pad)
    a, b = COPIES.thread(gA, sA), COPIES.thread(gB, sB)
    mine = PRODUCTS.thread(sA, sB, gC)
    acc = make_fragment_like(mine.C)
    clear(acc)
    for slab in gpu.loop(size(gA, 2)):
        copy(a.source(_, _, slab), a.target)
        copy(b.source(_, _, slab), b.target)
        gpu.barrier()
        for kk in gpu.loop(bk):
            gemm(mine.A(_, kk), mine.B(_, kk), acc)
        gpu.barrier()
    copy(acc, mine.C)


C = np.zeros((m, n), np.float32)
tiled.interpret(A, B.T, C, pad=4)
print(f"tiled: {check(C):.0e} from float64")

# %% [markdown]
# ## Proven before it runs
#
# Every address is a layout of workgroup, thread and loop, so bounds and races are decided, not sampled. A kernel that
# is proven in bounds runs without the checks that a WebGPU runtime would add.

# %%
proof = tiled.verify(A, B.T, C, pad=4)
print(proof)
assert proof.ok

# %% [markdown]
# ## Timed
#
# From the launch to the end of the work, over tensors that stay on the device. On a software driver the figures say
# nothing about a GPU.

# %%


def seconds(kernel: gpu.KernelFunction, **static: int) -> float:
    """The least time of five launches; the result is checked first."""
    a, b, c = gpu.array(A), select(gpu.array(B), 1, 0), gpu.array(np.zeros((m, n), np.float32))
    kernel(a, b, c, **static)
    check(c.numpy())
    times = []
    for _round in range(5):
        begin = time.perf_counter()
        kernel(a, b, c, **static)
        gpu.default_device().wait()
        times.append(time.perf_counter() - begin)
    return min(times)


try:
    print("on", gpu.default_device().adapter.summary)
    for kernel, static in ((plain, {}), (tiled, {"pad": 0}), (tiled, {"pad": 4})):
        took = seconds(kernel, **static)
        print(f"{kernel.__name__:6} {static!s:12} {took * 1e3:8.2f} ms, {2e-9 * m * n * k / took:7.2f} GFLOP/s")
except DeviceError:
    print("not timed, for there is no GPU driver")
