"""Kernels written in the IR by hand, each with inputs and what it must give."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cutepy.gpu.ir import (
    Atomic,
    Barrier,
    Buffer,
    Declare,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    builtin,
    call,
    cast,
    component,
    const,
    load,
    param,
    select,
    splat,
    var,
)
from cutepy.tensor.dtypes import bool_, f32, u32


@dataclass
class Case:
    kernel: Kernel
    inputs: Callable[[np.random.Generator], list[np.ndarray]]
    expected: Callable[[list[np.ndarray]], list[np.ndarray]]
    params: dict[str, float]


def saxpy(n: int = 1000) -> Case:
    """y = a x + y, guarded, eight elements a thread as two vec4."""
    x, y = Buffer("x", f32, n), Buffer("y", f32, n, writable=True)
    tid, group = builtin("local_invocation_index", 0, 63), builtin("workgroup_id", 0, -(-n // 512) - 1, axis=0)
    a = param("a", f32)
    body: list[Stmt] = []
    for i in range(2):
        at = group * 512 + tid * 4 + 256 * i
        inside = at < n
        xs, ys = var(f"x_{i}", f32, lanes=4), var(f"y_{i}", f32, lanes=4)
        body.append(Let(xs, load(x, at, lanes=4, where=inside)))
        body.append(Let(ys, load(y, at, lanes=4, where=inside)))
        body.append(If(inside, (Store(y, at, call("fma", splat(a, 4), xs, ys)),)))
    kernel = Kernel("saxpy", (x, y), tuple(body), (-(-n // 512), 1, 1), (64, 1, 1), params=(a,), notes=(f"x {n}:1",))
    return Case(
        kernel,
        lambda g: [g.random(n, dtype=np.float32), g.random(n, dtype=np.float32)],
        lambda arrays: [arrays[0], np.float32(2.5) * arrays[0] + arrays[1]],
        {"a": 2.5},
    )


def matmul(m: int = 128, n: int = 64, k: int = 64, unrolled: bool = False) -> Case:
    """C = A B^T for row-major A (m,k), B (n,k), C (m,n); tile 64x64x16, 4x4 a thread, workgroup memory padded."""
    bm, bn, bk, pitch = 64, 64, 16, 68
    a, b, c = Buffer("A", f32, m * k), Buffer("B", f32, n * k), Buffer("C", f32, m * n, writable=True)
    sa, sb = (Buffer(s, f32, bk * pitch, space="workgroup") for s in ("sA", "sB"))
    acc = Buffer("acc", f32, 16, space="private")
    tid = builtin("local_invocation_index", 0, 255)
    gx, gy = builtin("workgroup_id", 0, n // bn - 1, axis=0), builtin("workgroup_id", 0, m // bm - 1, axis=1)
    step = var("k", hi=k // bk - 1)
    tile: list[Stmt] = []
    for source, shared, origin in ((a, sa, gy), (b, sb, gx)):
        values = []
        for i in range(4):
            value = var(f"{source.name}_{i}", f32)
            at = (origin * 64 + tid // 16 + 16 * i) * k + step * bk + tid % 16
            tile.append(Let(value, load(source, at)))
            values.append(value)
        tile += [Store(shared, (tid % 16) * pitch + tid // 16 + 16 * i, v) for i, v in enumerate(values)]
    tile.append(Barrier())
    kk = var("kk", hi=bk - 1)

    def multiply(at: object) -> list[Stmt]:
        row, column = var("a", f32, lanes=4), var("b", f32, lanes=4)
        out: list[Stmt] = [
            Let(row, load(sa, at * pitch + tid // 16 * 4, lanes=4)),
            Let(column, load(sb, at * pitch + tid % 16 * 4, lanes=4)),
        ]
        for i in range(4):
            old = var(f"old_{i}", f32, lanes=4)
            out.append(Let(old, load(acc, const(4 * i), lanes=4)))
            out.append(Store(acc, const(4 * i), call("fma", splat(component(row, i), 4), column, old)))
        return out

    if unrolled:
        tile += [s for i in range(bk) for s in multiply(const(i))]
    else:
        tile.append(For(kk, const(0), const(bk), const(1), tuple(multiply(kk))))
    tile.append(Barrier())
    body: list[Stmt] = [For(step, const(0), const(k // bk), const(1), tuple(tile))]
    for i in range(4):
        at = (gy * bm + tid // 16 * 4 + i) * n + gx * bn + tid % 16 * 4
        body.append(Store(c, at, load(acc, const(4 * i), lanes=4)))
    kernel = Kernel(
        "matmul",
        (a, b, c),
        tuple(body),
        (n // bn, m // bm, 1),
        (256, 1, 1),
        local=(sa, sb, acc),
        notes=(f"A ({m},{k}):({k},1)", f"B ({n},{k}):({k},1)", f"C ({m},{n}):({n},1)"),
    )

    def expected(arrays: list[np.ndarray]) -> list[np.ndarray]:
        product = arrays[0].reshape(m, k).astype(np.float64) @ arrays[1].reshape(n, k).T
        return [arrays[0], arrays[1], product.ravel().astype(np.float32)]

    def inputs(g: np.random.Generator) -> list[np.ndarray]:
        return [g.random(m * k, dtype=np.float32), g.random(n * k, dtype=np.float32), np.zeros(m * n, np.float32)]

    return Case(kernel, inputs, expected, {})


def row_maximum(rows: int = 6, columns: int = 100) -> Case:
    """NaN-propagating maximum of each row: a strided loop of each thread, then a tree over workgroup memory."""
    x, y = Buffer("x", f32, rows * columns), Buffer("y", f32, rows, writable=True)
    part = Buffer("part", f32, 32, space="workgroup")
    best = Buffer("best", f32, 1, space="private")
    tid, row = builtin("local_invocation_index", 0, 31), builtin("workgroup_id", 0, rows - 1, axis=0)
    i = var("i", hi=columns - 1)
    value, old = var("value", f32), var("old", f32)
    scan = (
        Let(value, load(x, row * columns + i)),
        Let(old, load(best, const(0))),
        Store(best, const(0), call("nan_max", value, old)),
    )
    body: list[Stmt] = [
        Store(best, const(0), const(float("-inf"), f32)),
        For(i, tid, const(columns), const(32), scan),
        Store(part, tid, load(best, const(0))),
    ]
    for half in (16, 8, 4, 2, 1):
        both = call("nan_max", load(part, tid), load(part, tid + half))
        mine = var("merged", f32)
        body += [Barrier(), If(tid < half, (Let(mine, both), Store(part, tid, mine)))]
    body += [If(tid.__eq__(0), (Store(y, row, load(part, const(0))),))]
    kernel = Kernel("row_maximum", (x, y), tuple(body), (rows, 1, 1), (32, 1, 1), local=(part, best))

    def inputs(g: np.random.Generator) -> list[np.ndarray]:
        data = -g.random((rows, columns), dtype=np.float32)
        data[1, 7] = np.nan
        data[2] = -np.inf
        return [data.ravel(), np.zeros(rows, np.float32)]

    return Case(kernel, inputs, lambda v: [v[0], v[0].reshape(rows, columns).max(1)], {})


def histogram(n: int = 1000, bins: int = 8) -> Case:
    """Counts of values in workgroup memory, merged by atomics; also marks the even values in a bool array."""
    x, h = Buffer("x", u32, n), Buffer("h", u32, bins, writable=True)
    even = Buffer("even", bool_, n, writable=True)
    local = Buffer("counts", u32, bins, space="workgroup")
    tid, group = builtin("local_invocation_index", 0, 63), builtin("workgroup_id", 0, -(-n // 64) - 1, axis=0)
    at, value = group * 64 + tid, var("value")
    inside = at < n
    body: tuple[Stmt, ...] = (
        If(tid < bins, (Store(local, tid, const(0)),)),
        Barrier(),
        If(
            inside,
            (
                Let(value, load(x, at)),
                Atomic("Add", local, value % bins, const(1)),
                Store(even, at, (value % 2).__eq__(0)),
            ),
        ),
        Barrier(),
        If(tid < bins, (Atomic("Add", h, tid, load(local, tid)),)),
    )
    kernel = Kernel("histogram", (x, h, even), body, (-(-n // 64), 1, 1), (64, 1, 1), local=(local,))

    def inputs(g: np.random.Generator) -> list[np.ndarray]:
        return [g.integers(0, 1000, n).astype(np.uint32), np.zeros(bins, np.uint32), np.zeros(n, bool)]

    def expected(v: list[np.ndarray]) -> list[np.ndarray]:
        return [v[0], np.bincount(v[0] % bins, minlength=bins).astype(np.uint32), v[0] % 2 == 0]

    return Case(kernel, inputs, expected, {})


def scan_of_select(n: int = 96) -> Case:
    """A loop with a trip count of its own in each thread, a dynamic private array, casts and a signed floor."""
    y = Buffer("y", f32, n, writable=True)
    stack = Buffer("stack", f32, 4, space="private")
    tid = builtin("local_invocation_index", 0, n - 1)
    i, total, value = var("i", hi=n), var("total", f32), var("value", f32)
    signed = cast(tid, i32_type()) - 40
    body: tuple[Stmt, ...] = (
        Declare(total),
        For(i, const(0), tid % 5, const(1), (Store(stack, i % 4, cast(i, f32) + 1),)),
        Let(value, load(stack, tid % 4)),
        Store(y, tid, select(tid % 3 > 1, cast(signed // 7, f32), value)),
    )
    kernel = Kernel("scan_of_select", (y,), body, (1, 1, 1), (n, 1, 1), local=(stack,))

    def expected(_: list[np.ndarray]) -> list[np.ndarray]:
        out = np.zeros(n, np.float32)
        for t in range(n):
            memory = [0.0] * 4
            for j in range(t % 5):
                memory[j % 4] = j + 1
            out[t] = (t - 40) // 7 if t % 3 > 1 else memory[t % 4]
        return [out]

    return Case(kernel, lambda g: [np.zeros(n, np.float32)], expected, {})


def i32_type():
    from cutepy.tensor.dtypes import i32

    return i32


CASES: dict[str, Callable[[], Case]] = {
    "saxpy": saxpy,
    "matmul": matmul,
    "row_maximum": row_maximum,
    "histogram": histogram,
    "scan_of_select": scan_of_select,
}
