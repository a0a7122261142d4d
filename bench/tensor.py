"""Tensors beside NumPy, in one process: `make bench` or `python bench/tensor.py`.

Times of bulk work are medians of rounds in which both sides take turns, as a ratio to NumPy on the same views; memory
is the peak of the resident set while the operation runs, less operands and result. Each line ends with its bar, and
whether it holds.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cutepy import ops
from cutepy.layout import ComposedLayout, Layout, Swizzle, _
from cutepy.layout.values.int_tuple import leaves
from cutepy.tensor import Tensor, copy, gemm, make_tensor

MIB = 1 << 20
SIZE = 64 * MIB // 4
ROUNDS = 15

COPIES = {
    "contiguous": ("4096,4096 : 1,4096", "4096,4096 : 1,4096"),
    "row to column major": ("4096,4096 : 4096,1", "4096,4096 : 1,4096"),
    "column major to tiles of 64x64": (
        "(64,64),(64,64) : (1,64),(4096,262144)",
        "(64,64),(64,64) : (1,4096),(64,262144)",
    ),
    "tiles of 32x32 to row major": (
        "(32,128),(32,128) : (32,1024),(1,131072)",
        "(32,128),(32,128) : (4096,131072),(1,32)",
    ),
    "other splits of the modes": ("4096,4096 : 4096,1", "16777216 : 1"),
    "padded rows to column major": ("4096,4096 : 4104,1", "4096,4096 : 1,4096"),
    "three modes permuted": ("256,256,256 : 1,256,65536", "256,256,256 : 65536,1,256"),
    "reversed": ("4096,4096 : -4096,1", "4096,4096 : 4096,1"),
}


def layout_of(text: str) -> Layout:
    shape, stride = (eval(f"({part})") for part in text.split(" : "))
    return Layout(shape, stride)


def strided(data: np.ndarray, layout: Layout, offset: int) -> np.ndarray:
    """The view that NumPy would be given: one axis a leaf."""
    return as_strided(data[offset:], leaves(layout.shape), tuple(4 * step for step in leaves(layout.stride)))


def ratio(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Medians in ms of both, taking turns, and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    ours(), theirs()
    for _round in range(rounds):
        for function, taken in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            function()
            taken.append((time.perf_counter() - start) * 1e3)
    one, other = map(statistics.median, times)
    return one, other, one / other


def line(what: str, figures: str, bar: str, holds: bool) -> bool:
    print(f"{what:<52} {figures:<44} {bar:<14} {'ok' if holds else 'MISSED'}")
    return holds


def copies() -> bool:
    good = True
    for name, (source_text, target_text) in COPIES.items():
        source_layout, target_layout = layout_of(source_text), layout_of(target_text)
        offset = sum(
            -(s - 1) * d
            for s, d in zip(leaves(source_layout.shape), leaves(source_layout.stride), strict=True)
            if d < 0
        )
        data, goal = np.random.default_rng(1).random(SIZE + 4096 * 8, np.float32), np.zeros(SIZE, np.float32)
        source = Tensor(make_tensor(data).engine, source_layout, offset)
        target = make_tensor(goal, target_layout)
        views = strided(data, source_layout, offset), strided(goal, target_layout, 0)
        if views[0].shape != views[1].shape:  # NumPy pairs by axes: give it the finer split
            views = views[0], goal.reshape(views[0].shape, order="F")
        np.copyto(views[1], views[0])
        expected = goal.copy()
        goal[:] = 0
        copy(source, target)
        assert (goal == expected).all(), name
        ours, theirs, times = ratio(lambda s=source, t=target: copy(s, t), lambda v=views: np.copyto(v[1], v[0]))
        good &= line(
            f"copy 64 MiB, {name}", f"{ours:7.1f} ms, copyto {theirs:7.1f} ms, {times:.2f}x", "<= 1.3x", times <= 1.3
        )
    return good


def products() -> bool:
    rng, good = np.random.default_rng(2), True
    a, b, c = (rng.random((1024, 1024), np.float32) for _matrix in range(3))
    A, B, C = make_tensor(a), make_tensor(b), make_tensor(c)
    turned = make_tensor(np.asfortranarray(a))
    cases = {
        "gemm 1024^3 f32, (m,k) (n,k) (m,n)": (lambda: gemm(A, B, C), lambda: np.matmul(a, b.T)),
        "gemm 1024^3 f32, A column major": (
            lambda: gemm(turned, B, C),
            lambda: np.matmul(turned.numpy(), b.T),
        ),
        "ops.matmul 1024^3 f32": (lambda: ops.matmul(A, B), lambda: np.matmul(a, b)),
        "ops.matmul 1024^3 f32, B transposed": (lambda: ops.matmul(a, b.T), lambda: np.matmul(a, b.T)),
    }
    for name, (ours, theirs) in cases.items():
        one, other, times = ratio(ours, theirs, 31)
        good &= line(name, f"{one:7.1f} ms, matmul {other:7.1f} ms, {times:.2f}x", "<= 1.2x", times <= 1.2)
    return good


def microseconds(function: Callable[[], object]) -> float:
    """The time of one call in the best of many rounds, as timeit takes it."""
    taken = []
    for _round in range(31):
        start = time.perf_counter()
        for _call in range(2000):
            function()
        taken.append((time.perf_counter() - start) / 2000 * 1e6)
    return min(taken)


def overhead() -> bool:
    plain, nested = make_tensor("f32", (64, 64)), make_tensor("f32", ((8, 8), 64))
    calls = {
        "t[i, j]": (lambda: plain[3, 5], 3.0),
        "t[i]": (lambda: plain[77], 3.0),
        "t(i, j)": (lambda: plain(3, 5), 3.0),
        "t[(i0, i1), j], nested": (lambda: nested[(1, 2), 3], 3.0),
        "t(_, j)": (lambda: plain(_, 3), 10.0),
        "t((_, i1), j), nested": (lambda: nested((_, 2), 3), 10.0),
    }
    good = True
    for name, (call, most) in calls.items():
        taken = microseconds(call)
        good &= line(name, f"{taken:5.2f} us", f"<= {most:g} us", taken <= most)
    return good


def status(field: str) -> float:
    """A figure of /proc/self/status, in MiB."""
    text = next(row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith(field))
    return float(text.split()[1]) / 1024


def extra_memory(operation: Callable[[], Tensor]) -> float:
    """The peak of the resident set over operands and result, in MiB."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed before must not hide what is taken now
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    result = operation()
    own = result.size * result.dtype.bytes / MIB
    return status("VmHWM") - before - own


def memory() -> bool:
    rng, good = np.random.default_rng(3), True
    single = rng.random((8192, 8192), np.float32)
    half = rng.random((6144, 6144), np.float32).astype(np.float16)
    whole = rng.integers(-9, 9, (2048, 2048), np.int32)
    deep = rng.random((64, 64, 4096), np.float32)
    tiled = make_tensor(single, ((64, 64), (64, 64)), ((1, 4096), (64, 262144)))
    swizzled = make_tensor(single, ComposedLayout(Swizzle(3, 2, 3), 0, Layout((4096, 4096))))
    ops.matmul(single[:64], single[:, :64])
    cases: dict[str, Callable[[], Tensor]] = {
        "matmul f32 4096^3": lambda: ops.matmul(single[:4096, :4096], single[4096:, 4096:]),
        "matmul f32, every second element": lambda: ops.matmul(single[::4, ::2], single[::2, 1::4]),
        "matmul f32 4096^3, tiles of 64x64": lambda: ops.matmul(tiled, single[:4096, :4096]),
        "sum f32, swizzled": lambda: ops.sum(swizzled, 1),
        "argmax f32, tiles of 64x64": lambda: ops.argmax(tiled, 0),
        "matmul f16 6144x6144x1024": lambda: ops.matmul(half, half[:, :1024]),
        "matmul i32 2048^3": lambda: ops.matmul(whole, whole.T),
        "dot of N-D, (64,64,4096) by (4096,8192)": lambda: ops.dot(deep[:, :16], single[:4096]),
        "dot of vectors of 2^26": lambda: ops.dot(single.reshape(-1), single.reshape(-1)[::-1]),
        "fused multiply-add (2048,1,4096) (1,2048,4096)": lambda: ops.fused_multiply_add(
            single[:2048, None, :4096], single[None, 2048:4096, :4096], 2
        ),
        "fused multiply-add over the first axis": lambda: ops.fused_multiply_add(single, single[:, ::-1], 0),
        "sum f16": lambda: ops.sum(half),
        "sum f32 over rows, transposed": lambda: ops.sum(single.T, 1),
        "mean f16 over columns": lambda: ops.mean(half, 0),
        "max f32": lambda: ops.max(single[::2, ::-1], 0),
        "argmax f32, transposed": lambda: ops.argmax(single.T),
        "argmin f32 over columns": lambda: ops.argmin(single, 0),
        "sum i32": lambda: ops.sum(whole),
    }
    for name, operation in cases.items():
        extra = max(extra_memory(operation) for _round in range(2))
        good &= line(f"peak memory, {name}", f"operands + result + {max(extra, 0):5.1f} MiB", "<= 64 MiB", extra <= 64)
    return good


if __name__ == "__main__":
    print(f"numpy {np.__version__}, Python {sys.version.split()[0]}")
    all_hold = [part() for part in (copies, products, overhead, memory)]
    print("all bars hold" if all(all_hold) else "some bars are missed")
