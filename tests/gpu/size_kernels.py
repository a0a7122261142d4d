"""Kernels for unknown sizes: right ones, each with what NumPy computes, and wrong ones that no proof may pass."""

# ruff: noqa: F821  sizes in annotations are names of the kernel's own

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cutepy import gpu
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, _, ceil_div, size
from cutepy.tensor import (
    axpby,
    clear,
    copy,
    gemm,
    local_partition,
    local_tile,
    make_tensor,
)

f32 = np.float32
Array = np.ndarray


@gpu.kernel
def flat(x: "(M,N)", y: "(M,N)") -> None:
    """One index for two axes."""
    M, N = x.shape
    gpu.launch(grid=ceil_div(M * N, 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < M * N:
        y[i // N, i % N] = x[i // N, i % N]


@gpu.kernel
def scale(a: "f32", x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=-(-x.shape[0] // 256), threads=256)
    i = gpu.workgroup.x * 256 + gpu.thread
    if i < x.shape[0]:
        y[i] = a * x[i]


@gpu.kernel
def axpy(a: "f32", x: "(M,N)", y: "(M,N)") -> None:
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 64), ceil_div(M, 4)), threads=64)
    crd = (gpu.workgroup.y, gpu.workgroup.x)
    mine = [local_partition(local_tile(t, (4, 64), crd), (4, 16)) for t in (x, y)]
    axpby(a, mine[0], 1, mine[1])


@gpu.kernel(often=["16 divides N", "M <= 2 * N"])
def in_tiles(x: "(M,N)", y: "(M,N)") -> None:
    """Where the facts hold nothing is guarded."""
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 16), M), threads=16)
    crd = (gpu.workgroup.y, gpu.workgroup.x)
    mine = [local_partition(local_tile(t, (1, 16), crd), (1, 16)) for t in (x, y)]
    axpby(2.0, mine[0], 1, mine[1])


@gpu.kernel
def rows_in_vectors(x: "(M,N)", y: "(M,N)") -> None:
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 256), M), threads=64)
    crd = (gpu.workgroup.y, gpu.workgroup.x)
    source, target = (local_tile(t, (1, 256), crd) for t in (x, y))
    first = gpu.thread * 4
    for i in range(4):
        if gpu.workgroup.x * 256 + first + i < N:
            target[0, first + i] = source[0, first + i] + 1


@gpu.kernel
def softmax(x: "(M,N)", y: "(M,N)") -> None:
    M, N = x.shape
    gpu.launch(grid=M, threads=64)
    row, t = gpu.workgroup.x, gpu.thread
    most = -3.0e38
    for k in gpu.loop(N, start=t, step=64):
        most = gpu.maximum(most, x[row, k])
    most = gpu.workgroup_reduce(most, "max")
    total = 0.0
    for k in gpu.loop(N, start=t, step=64):
        total += gpu.exp(x[row, k] - most)
    total = gpu.workgroup_reduce(total, "sum")
    for k in gpu.loop(N, start=t, step=64):
        y[row, k] = gpu.exp(x[row, k] - most) / total


@gpu.kernel
def product(A: "(M,K)", B: "(N,K)", C: "(M,N)") -> None:
    M, N = A.shape[0], B.shape[0]
    gpu.launch(grid=(ceil_div(N, 16), ceil_div(M, 16)), threads=(16, 16))
    gA = local_tile(A, (16, 16), (gpu.workgroup.y, _))
    gB = local_tile(B, (16, 16), (gpu.workgroup.x, _))
    gC = local_tile(C, (16, 16), (gpu.workgroup.y, gpu.workgroup.x))
    sA, sB = gpu.shared("f32", Layout((16, 16), (17, 1))), gpu.shared("f32", Layout((16, 16), (17, 1)))
    threads = Layout((16, 16), (16, 1))
    acc = make_tensor("f32", Layout((1, 1)))
    clear(acc)
    for k in gpu.loop(size(gA, 2)):
        copy(local_partition(gA(_, _, k), threads), local_partition(sA, threads))
        copy(local_partition(gB(_, _, k), threads), local_partition(sB, threads))
        gpu.barrier()
        for kk in gpu.unroll(16):
            gemm(
                local_partition(sA(_, kk), (16,), gpu.thread // 16),
                local_partition(sB(_, kk), (16,), gpu.thread % 16),
                acc,
            )
        gpu.barrier()
    copy(acc, local_partition(gC, threads))


@gpu.kernel
def gather(table: "(V,N)", ids: "(n)", y: "(n,N)") -> None:
    V, N = table.shape
    gpu.launch(grid=ids.shape[0], threads=32)
    row = gpu.minimum(ids[gpu.workgroup.x], V - 1)
    for k in gpu.loop(N, start=gpu.thread, step=32):
        y[gpu.workgroup.x, k] = table[row, k]


@gpu.kernel
def turned(x: "(n)", y: "(n)") -> None:
    n = x.shape[0]
    gpu.launch(grid=ceil_div(n, 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < n:
        y[n - 1 - i] = x[i]


@gpu.kernel
def halves(x: "(n)", y: "(n)") -> None:
    half = x.shape[0] // 2
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < half:
        y[i] = x[half + i]


@gpu.kernel
def by_parity(x: "(n)", y: "(n)") -> None:
    n = x.shape[0]
    gpu.launch(grid=ceil_div(n, 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if n % 4 == 0:
        if i < n:
            y[i] = x[i] + n
    else:
        if i < n:
            y[i] = x[i] - n


@gpu.kernel
def transposed(x: "(M,N)", y: "(N,M)") -> None:
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 8), ceil_div(M, 8)), threads=64)
    tile = gpu.shared("f32", Layout((8, 8), (9, 1)))
    i, j = gpu.thread // 8, gpu.thread % 8
    row, column = gpu.workgroup.y * 8 + i, gpu.workgroup.x * 8 + j
    tile[i, j] = gpu.load(x, (row, column), where=(row < M) & (column < N))
    gpu.barrier()
    row, column = gpu.workgroup.x * 8 + i, gpu.workgroup.y * 8 + j
    if (row < N) & (column < M):
        y[row, column] = tile[j, i]


@gpu.kernel
def counted(x: "(n)", y: "(8)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 32), threads=32)
    i = gpu.workgroup.x * 32 + gpu.thread
    if i < x.shape[0]:
        gpu.atomic_add(y, x[i] % 8, 1)


@gpu.kernel
def in_parts(x: "(n)", parts: "(m)", y: "(n)") -> None:
    """Each workgroup has a run of tiles, in parts of as many tiles each as are needed."""
    n, m = x.shape[0], parts.shape[0]
    tiles = ceil_div(n, 8)
    share = ceil_div(tiles, m)
    gpu.launch(grid=m, threads=8)
    first = gpu.minimum(gpu.workgroup.x * share, tiles)
    for t in gpu.loop(gpu.minimum(first + share, tiles), start=first):
        i = t * 8 + gpu.thread
        if i < n:
            y[i] = x[i] + 1


@dataclass(frozen=True)
class SizeCase:
    """A kernel, arrays for it by sizes, and what they hold afterwards; `proven` in all claims; by at most so many
    `forms`: with vectors and without, each perhaps with facts that often hold."""

    kernel: KernelFunction
    unknowns: int
    arrays: Callable[..., list[Array]]
    wanted: Callable[..., Array]
    numbers: tuple[float, ...] = ()
    proven: bool = True
    forms: int = 2


def some(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(f32)


def by_half(x: Array, y: Array) -> Array:
    out, half = y.copy(), len(x) // 2
    out[:half] = x[half : 2 * half]
    return out


def exponents(x: Array, y: Array) -> Array:
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def whole(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(0, 1 << 20, shape).astype(np.uint32)


CASES = {
    "scale": SizeCase(scale, 1, lambda n: [some(n), some(n + 1)[1:]], lambda x, y: 2 * x, (2.0,)),
    "axpy": SizeCase(axpy, 2, lambda m, n: [some(m, n), some(n, m).T.copy()], lambda x, y: 2 * x + y, (2.0,)),
    "in_tiles": SizeCase(in_tiles, 2, lambda m, n: [some(m, n), some(m, n)], lambda x, y: 2 * x + y, forms=4),
    "rows_in_vectors": SizeCase(rows_in_vectors, 2, lambda m, n: [some(m, n), some(m, n)], lambda x, y: x + 1),
    "softmax": SizeCase(softmax, 2, lambda m, n: [some(m, n), some(m, n)], exponents),
    "product": SizeCase(
        product, 3, lambda m, n, k: [some(m, k), some(n, k), some(m, n)], lambda a, b, c: a.astype(float) @ b.T
    ),
    "gather": SizeCase(
        gather, 3, lambda v, n, m: [some(v, n), whole(m), some(m, n)], lambda t, i, y: t[np.minimum(i, len(t) - 1)]
    ),
    "turned": SizeCase(turned, 1, lambda n: [some(n), some(n)], lambda x, y: x[::-1]),
    "halves": SizeCase(halves, 1, lambda n: [some(n), some(n)], by_half),
    "by_parity": SizeCase(
        by_parity, 1, lambda n: [some(n), some(n)], lambda x, y: x + len(x) if len(x) % 4 == 0 else x - len(x)
    ),
    "transposed": SizeCase(transposed, 2, lambda m, n: [some(m, n), some(n, m)], lambda x, y: x.T),
    "in_parts": SizeCase(in_parts, 2, lambda n, m: [some(n), some(m), some(n)], lambda x, p, y: x + 1),
    "counted": SizeCase(
        counted, 1, lambda n: [whole(n), np.zeros(8, np.uint32)], lambda x, y: np.bincount(x % 8, minlength=8)
    ),
}


# Wrong ones: each does something that is wrong for some sizes.


@gpu.kernel
def no_guard(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    y[i] = x[i]


@gpu.kernel(often=["64 divides n"])
def no_guard_for_others(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    y[i] = x[i]


@gpu.kernel
def before(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.shape[0]:
        y[i] = x[i - 1]


@gpu.kernel
def before_signed(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.cast(gpu.workgroup.x * 64 + gpu.thread, "i32") - 1
    if i < x.shape[0] - 1:
        y[i + 1] = x[i]


@gpu.kernel
def one_more(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.shape[0]:
        y[i] = x[i + 1]


@gpu.kernel
def not_the_last(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i <= x.shape[0]:
        y[i] = x[i]


@gpu.kernel
def of_another(x: "(n)", y: "(m)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.shape[0]:
        y[i] = x[i]


@gpu.kernel
def second(x: "(n)", y: "(n)") -> None:
    gpu.launch(threads=1)
    y[0] = x[1]


@gpu.kernel
def into_one_row(x: "(M,N)", y: "(M,N)") -> None:
    gpu.launch(grid=x.shape[0], threads=32)
    for k in gpu.loop(x.shape[1], start=gpu.thread, step=32):
        y[0, k] = x[gpu.workgroup.x, k]


@gpu.kernel
def step_too_short(x: "(M,N)", y: "(M,N)") -> None:
    gpu.launch(grid=x.shape[0], threads=32)
    for k in gpu.loop(x.shape[1], start=gpu.thread, step=16):
        y[gpu.workgroup.x, k] = x[gpu.workgroup.x, k]


@gpu.kernel
def overlapping(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 32), threads=64)
    i = gpu.workgroup.x * 32 + gpu.thread
    if i < x.shape[0]:
        y[i] = x[i]


@gpu.kernel
def other_axis(x: "(M,N)", y: "(M,N)") -> None:
    gpu.launch(grid=x.shape[0], threads=32)
    for k in gpu.loop(x.shape[0], start=gpu.thread, step=32):
        y[gpu.workgroup.x, k] = x[gpu.workgroup.x, k]


@gpu.kernel
def unclamped(table: "(V)", ids: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ids.shape[0], threads=1)
    y[gpu.workgroup.x] = table[ids[gpu.workgroup.x]]


@gpu.kernel
def barrier_for_some(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    shared = gpu.shared("f32", 64)
    t = gpu.thread
    i = gpu.workgroup.x * 64 + t
    if i < x.shape[0]:
        shared[t] = x[i]
    gpu.barrier()
    if i < x.shape[0]:
        y[i] = shared[63 - t]


@gpu.kernel
def neighbours(x: "(n)", y: "(n)") -> None:
    gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i + 1 < x.shape[0]:
        x[i] = x[i + 1]
        y[i] = x[i]


@gpu.kernel
def parts_that_overlap(x: "(n)", y: "(n)", parts: "(m)") -> None:
    n, m = x.shape[0], parts.shape[0]
    share = ceil_div(n, m)
    gpu.launch(grid=m, threads=1)
    first = gpu.minimum(gpu.workgroup.x * share, n)
    for i in gpu.loop(gpu.minimum(first + share + 1, n), start=first):
        y[i] = x[i]


@gpu.kernel
def parts_that_end_together(x: "(n)", y: "(n)", parts: "(m)") -> None:
    """Of parts beyond the row each has the last element."""
    n, m = x.shape[0], parts.shape[0]
    share = ceil_div(n, m)
    gpu.launch(grid=m, threads=1)
    first = gpu.minimum(gpu.workgroup.x * share, n - 1)
    for i in gpu.loop(gpu.minimum(first + share, n), start=first):
        y[i] = x[i]


WRONG = {
    name: (kernel, count)
    for name, kernel, count in (
        ("no_guard", no_guard, 1),
        ("no_guard_for_others", no_guard_for_others, 1),
        ("before", before, 1),
        ("before_signed", before_signed, 1),
        ("one_more", one_more, 1),
        ("not_the_last", not_the_last, 1),
        ("of_another", of_another, 2),
        ("second", second, 1),
        ("into_one_row", into_one_row, 2),
        ("step_too_short", step_too_short, 2),
        ("overlapping", overlapping, 1),
        ("other_axis", other_axis, 2),
        ("unclamped", unclamped, 2),
        ("barrier_for_some", barrier_for_some, 1),
        ("neighbours", neighbours, 1),
        ("parts_that_overlap", parts_that_overlap, 2),
        ("parts_that_end_together", parts_that_end_together, 2),
    )
}


def wrong_arguments(name: str, *sizes: int) -> tuple[Array, ...]:
    """Arrays for a wrong kernel, by its sizes."""
    first, last = some(sizes[0]), some(sizes[-1])
    if name == "of_another":
        return first, last
    if name == "unclamped":
        return first, whole(sizes[1]), last
    if name.startswith("parts_"):
        return first, first.copy(), last
    return some(*sizes), some(*sizes)
