"""Grouped products, convolutions and a stencil by `gpu.ragged` and `padded`, timed beside the products and copies.

    python bench/ragged.py [--small] [--rounds 5]

Device times by timestamps, medians of rounds in which all take turns after 0.3 s; each result is compared with NumPy in
a part. The bars: a grouped product and a convolution have 0.8 of the rate of `ops.matmul` in f32, a stencil of 27
points over 256^3 0.85 of that of `gpu.copy`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "kernels"))

import itertools

from cutepy import (
    E,
    Layout,
    _,
    ceil_div,
    clear,
    composition,
    copy,
    gemm,
    gpu,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    ops,
    size,
)
from cutepy.tensor import FMA, TiledCopy, TiledMMA, padded, universal_copy

ENOUGH = 0.02


def blocks_of_four(threads: int, count: int) -> Layout:
    """(thread, value) -> row: so many blocks of four rows a thread, all threads side by side in each."""
    return Layout((threads, 4, count), (4, 1, 4 * threads))


def side_by_side(tm: int, tn: int) -> Layout:
    """(m, n, k) -> thread of tm x tn: 8 x 4 of them are a subgroup, which reads few different rows and columns."""
    return Layout(((8, tm // 8), (4, tn // 4), 1), ((4, 8 * tn), (1, 32), 0))


def copies(rows: int, columns: int, along: int) -> TiledCopy:
    """rows x columns threads bring four rows by `along` columns each, transposed in registers: shared memory is written
    and read in vectors alone."""
    return make_tiled_copy(universal_copy(4), Layout((rows, columns), (columns, 1)), Layout((4, along)))


# 16 rows and 8 columns of the result a thread.
PRODUCTS = make_tiled_mma(FMA, side_by_side(8, 16), (blocks_of_four(8, 4), blocks_of_four(16, 2), None))
COPIES, TAPS = copies(32, 4, 2), copies(8, 16, 1)


@gpu.static_type
@dataclass(frozen=True, slots=True)
class Convolution:
    """How a workgroup computes `count` blocks of pixels (q, p, image) and 64 filters; between two columns of a slab
    there are `pad` elements."""

    count: int
    block: tuple[int, int, int]
    products: TiledMMA
    pad: int


# Tiles of 128 pixels, where there are many; three blocks of 32, two such workgroups on each of 132 processors, where
# these would else have one tile or two. With the larger pad four do not fit on a processor.
CONVOLUTIONS = {
    1: Convolution(
        1,
        (16, 8, 1),
        make_tiled_mma(FMA, side_by_side(16, 8), (blocks_of_four(16, 2), blocks_of_four(8, 2), None)),
        4,
    ),
    2: Convolution(
        3,
        (8, 4, 1),
        make_tiled_mma(FMA, side_by_side(8, 16), (blocks_of_four(8, 1), blocks_of_four(16, 1), None)),
        12,
    ),
}


def product(slabs: Sequence[Any], parts: Sequence[Any], steps: int, deep: int, stages: int = 1) -> None:
    """Add to each of `parts` the products of slabs along k, of which `stages` lie in shared memory: the next one is on
    its way in registers."""
    ahead = [make_fragment_like(x.source(_, _, 0)) for x in slabs]
    for slab, held in zip(slabs, ahead, strict=True):
        copy(slab.source(_, _, 0), held)
    for k in gpu.loop(steps):
        stage = (k % stages,) if stages > 1 else ()
        for slab, held in zip(slabs, ahead, strict=True):
            copy(held, slab.target(_, _, *stage))
        gpu.barrier()
        after = gpu.minimum(k + 1, steps - 1)
        for slab, held in zip(slabs, ahead, strict=True):
            copy(slab.source(_, _, after), held)
        for kk in gpu.unroll(deep):
            for c, acc in parts:
                gemm(c.A(_, kk, *stage), c.B(_, kk, *stage), acc)
        if stages == 1:
            gpu.barrier()


@gpu.kernel(sizes="known")
def grouped(A, B, offsets, C):
    """C[rows of e] = A[rows of e] @ B[e].T: A (rows, k), B (experts, n, k), C (rows, n)."""
    gpu.launch(grid=(ceil_div(size(C, 1), 128), ceil_div(size(A, 0), 128), size(B, 0)), threads=PRODUCTS.threads)
    gpu.assume(offsets, ascending=True)
    column, turn, e = gpu.workgroup.x, gpu.workgroup.y, gpu.workgroup.z
    first, stop = (gpu.minimum(offsets[e + end], size(A, 0)) for end in (0, 1))
    row = first + turn * 128
    if row < stop:
        sA, sB = gpu.shared("f32", (128, 8, 2), pad=4), gpu.shared("f32", (128, 8, 2), pad=4)
        gA = local_tile(gpu.ragged(A, row, stop), (128, 8), (0, _))
        gC = local_tile(gpu.ragged(C, row, stop), (128, 128), (0, column))
        a, b = COPIES.thread(gA, sA), COPIES.thread(local_tile(B(e, _, _), (128, 8), (column, _)), sB)
        c = PRODUCTS.thread(sA, sB, gC)
        acc = make_fragment_like(c.C)
        clear(acc)
        product((a, b), [(c, acc)], size(gA, 2), 8, stages=2)
        copy(acc, c.C)


@gpu.kernel(sizes="known")
def convolve(x, filters, result, *, stride, padding, plan):  # (c,w,h,i), (f,(c,s,r)), ((q,p,i),f)
    """Some blocks of pixels and 64 filters a workgroup, 16 channels of a tap at a time."""
    (q, p, images), (f, taps) = result.shape[0], filters.shape
    total = prod(ceil_div(extent, step) for extent, step in zip((q, p, images), plan.block, strict=True))
    gpu.launch(grid=(ceil_div(total, plan.count), ceil_div(f, 64)), threads=plan.products.threads)
    steps = (stride * E(1), stride * E(2), E(3)), (E(0), E(1), E(2))
    patches = composition(padded(x, (0, padding, padding, 0)), Layout(((q, p, images), taps), steps))
    column, one_tap, sB = gpu.workgroup.y, (16, 1, 1), gpu.shared("f32", (64, 16), pad=plan.pad)
    slabs, parts = [], []
    for j in range(plan.count):
        tile, sA = gpu.workgroup.x * plan.count + j, gpu.shared("f32", (prod(plan.block), 16), pad=plan.pad)
        pixels = local_tile(patches, (plan.block, one_tap), (gpu.minimum(tile, total - 1), _))
        c = plan.products.thread(sA, sB, local_tile(result, (plan.block, 64), (tile, column)))
        slabs.append(TAPS.thread(pixels, sA))
        parts.append((c, make_fragment_like(c.C)))
        clear(parts[j][1])
    slabs.append(TAPS.thread(local_tile(filters, (64, one_tap), (column, _)), sB))  # what has no guards comes last
    product(slabs, parts, size(slabs[-1].source, 2), 16)
    for j in range(plan.count):
        if gpu.workgroup.x * plan.count + j < total:
            copy(parts[j][1], parts[j][0].C)


@gpu.kernel(sizes="known")
def stencil(x, y, *, depth, weights):
    """The sum of 27 neighbours by four weights (centre, face, edge, corner), zeros around: four columns a thread, which
    goes through the planes and keeps the parts of two results."""
    quads, (middle, face, edge, corner) = size(x, 0) // 4, weights
    gpu.launch(grid=(ceil_div(size(x, 1), 4), ceil_div(size(x, 2), depth)), threads=quads * 4)
    t, j, first = gpu.thread % quads, gpu.workgroup.x * 4 + gpu.thread // quads, gpu.workgroup.y * depth
    rim, v = padded(x, (4, 1, 1)), [make_tensor("f32", 4) for _row in range(3)]
    below, here, out = (make_tensor("f32", 4) for _part in range(3))
    clear(below)
    clear(here)
    for turn in gpu.loop(depth + 2):
        plane, ends = rim(_, _, first + turn), []
        for row in range(3):
            copy(local_tile(plane(_, j + row), (4,), (t + 1,)), v[row])
            ends.append((plane[t * 4 + 3, j + row], plane[t * 4 + 8, j + row]))
        for i in range(4):
            beside = [(v[r][i - 1] if i else ends[r][0]) + (v[r][i + 1] if i < 3 else ends[r][1]) for r in range(3)]
            c, f, d = v[1][i], beside[1] + (v[0][i] + v[2][i]), beside[0] + beside[2]
            out[i] = below[i] + (c * face + f * edge + d * corner)
            below[i] = here[i] + (c * middle + f * face + d * edge)
            here[i] = c * face + f * edge + d * corner
        if turn > 1:
            copy(out, local_tile(y(_, j, first + turn - 2), (4,), (t,)))


Case = tuple[str, Callable[[], object], float, str, Callable[[], float]]
"""A name, a launch, its work, the unit of the rate, and the error of the result."""


def cases(small: bool) -> list[Case]:
    """All that is timed."""
    rng, f = np.random.default_rng(0), np.float32
    found: list[Case] = []

    def add(name: str, launch: Callable[[], object], work: float, unit: str, error: Callable[[], float]) -> None:
        found.append((name, launch, work, unit, error))

    # A plain product and a grouped one, of as many multiplications.
    rows, k, n, experts = (512, 64, 256, 4) if small else (8192, 2048, 2048, 8)
    host_A, host_B = rng.random((rows, k), f) - f(0.5), rng.random((experts, n, k), f) - f(0.5)
    A, B, C, D = (gpu.array(x) for x in (host_A, host_B, np.zeros((rows, n), f), np.zeros((rows, n), f)))
    one = gpu.array(np.ascontiguousarray(host_B[0].T))
    add("ops.matmul", lambda: ops.matmul(A, one, D), 2 * rows * n * k, "TFLOP/s",
        lambda: error_of(D.numpy()[:64], host_A[:64] @ host_B[0].T))  # fmt: skip
    cuts = np.sort(rng.integers(0, rows + 1, experts - 1))
    for name, ends in (("even", np.arange(experts + 1) * (rows // experts)), ("uneven", np.array([0, *cuts, rows]))):
        offsets = gpu.array(ends.astype(np.uint32))

        def wrong(ends: Any = ends) -> float:
            got = C.numpy()
            return max(
                error_of(got[a : min(b, a + 32)], host_A[a : min(b, a + 32)] @ host_B[e].T)
                for e, (a, b) in enumerate(itertools.pairwise(ends))
                if b > a
            )

        add(f"grouped, {name}", lambda o=offsets: grouped(A, B, o, C), 2 * rows * n * k, "TFLOP/s", wrong)  # type: ignore[misc]
    # Convolutions.
    i, h, c, filters = (1, 16, 16, 64) if small else (8, 112, 64, 64)
    image, weights = rng.random((i, h, h, c), f) - f(0.5), rng.random((filters, 3, 3, c), f) - f(0.5)
    x = make_tensor(gpu.array(image.ravel()).engine, Layout((c, h, h, i), (1, c, h * c, h * h * c)))
    w = make_tensor(gpu.array(weights.ravel()).engine, Layout((filters, (c, 3, 3)), (9 * c, (1, c, 3 * c))))
    rim = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for stride in (1, 2):
        q = (h - 1) // stride + 1
        memory = gpu.array(np.zeros(i * q * q * filters, f))
        layout = Layout(((q, q, i), filters), ((filters, q * filters, q * q * filters), 1))
        y = make_tensor(memory.engine, layout)
        windows = np.lib.stride_tricks.sliding_window_view(rim[:1], (3, 3), axis=(1, 2))[:, ::stride, ::stride]
        wanted = np.einsum("ipqcrs,frsc->ipqf", windows, weights)

        def far(memory: Any = memory, wanted: Any = wanted) -> float:
            return error_of(memory.numpy()[: wanted.size], wanted.ravel())

        run = partial(convolve, x, w, y, stride=stride, padding=1, plan=CONVOLUTIONS[stride])
        add(f"convolution, stride {stride}", run, 2 * i * q * q * filters * c * 9, "TFLOP/s", far)
    # A stencil and a copy.
    edge = 16 if small else 256
    grid = np.asfortranarray(rng.random((edge, edge, edge), f))
    g, out, again = gpu.array(grid), gpu.array(np.zeros_like(grid)), gpu.array(np.zeros_like(grid))
    four = (0.5, 0.25, 0.125, 0.0625)

    def apart() -> float:
        part, around = grid[:, :, :5], np.pad(grid, 1)
        total = np.zeros(part.shape)
        for at in np.ndindex(3, 3, 3):
            weight = four[sum(a != 1 for a in at)]
            total += weight * around[at[0] : at[0] + edge, at[1] : at[1] + edge, at[2] : at[2] + 5]
        return error_of(out.numpy()[:, :, :5], total)

    moved = 2 * grid.nbytes
    add("gpu.copy", lambda: gpu.copy(g, again), moved, "GB/s", lambda: error_of(again.numpy(), grid))
    for depth in (8, 16, 32):
        add(f"stencil, {depth} planes", lambda d=depth: stencil(g, out, depth=d, weights=four), moved, "GB/s", apart)  # type: ignore[misc]
    return found


def error_of(got: Any, wanted: Any) -> float:
    """The relative error."""
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def main() -> None:
    """Time all and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    device, every = gpu.default_device(), cases(arguments.small)
    print(device.adapter.summary, flush=True)
    for name, launch, _work, _unit, error in every:
        launch()
        wrong = error()
        assert wrong < 1e-5, (name, wrong)
    times = medians(device, [launch for _name, launch, *_rest in every], arguments.rounds, small=arguments.small)
    for (name, _launch, work, unit, _error), median in zip(every, times, strict=True):
        rate = work / median / (1e12 if unit == "TFLOP/s" else 1e9)
        print(f"{name:24} {median * 1e3:9.3f} ms {rate:9.1f} {unit}", flush=True)


def medians(device: Any, launches: Sequence[Callable[[], object]], rounds: int, *, small: bool) -> list[float]:
    """Device times in seconds, medians of rounds in which all take turns, after 0.3 s of warming up for each.

    A launch at a time leaves the device idle in between, and its clock low: it warms up by as many as are timed.
    """
    repeats, times = [], [[] for _launch in launches]
    for launch in launches:
        start, once = time.monotonic(), seconds(device, launch, 1)
        while time.monotonic() - start < (0.05 if small else 0.3):
            once = seconds(device, launch, max(1, int(ENOUGH / once)))
        repeats.append(max(1, int(ENOUGH / once)))
    for _round in range(rounds):
        for launch, count, taken in zip(launches, repeats, times, strict=True):
            taken.append(seconds(device, launch, count))
    return [statistics.median(taken) for taken in times]


def seconds(device: Any, launch: Callable[[], object], repeats: int) -> float:
    """Device time of one launch, the mean of some."""
    with device.timed() as watch:
        for _turn in range(repeats):
            launch()
    return float(watch.seconds) / repeats


if __name__ == "__main__":
    main()
