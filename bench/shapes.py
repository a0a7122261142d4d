"""Products, reductions and softmax in every shape through the names that users call, beside torch in the same run.

    python bench/shapes.py [--rows matmul,reduce,random,...] [--json FILE] [--minutes M] [--small]
    CUTEPY_RUNTIME=dawn python bench/shapes.py --rows random --type f16 --seed 22 --count 200

Device times by timestamps (CUDA events for torch), taken in turn, medians after a warm-up. Operands are random, outputs
that a call takes are poisoned with NaN, and every result is compared with float64. A case that takes longer than
`LIMIT` seconds is given up and said so. `plans` and `folds` time the choices that the plans could have made.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import peers

from cutepy import gpu, ops
from cutepy.gpu.matmul.contraction import problem_for_plans
from cutepy.gpu.matmul.cost_model import (
    LARGE,
    PLANS,
    PLANS_OF_FEW_ROWS,
    PLANS_OF_SHORT_K,
    SKINNY,
    ProductProblem,
    choose_plan,
    in_splits,
)
from cutepy.gpu.operations import fold
from cutepy.gpu.operations.copies import copy_kernel
from cutepy.gpu.operations.domain import tiling_of
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.runtime import default_device
from cutepy.layout import Layout
from cutepy.tensor import Tensor

LIMIT = 30  # seconds for a case
ROUNDS, WARM_UP = 9, 0.05
GROUPS = ("host", "matmul", "thin", "reduce", "softmax", "copy", "random", "variants", "folds", "plans")


class Late(Exception):
    """A case has taken its time."""


class Shapes:
    """The device, two large random operands on it and in torch, and the lines so far."""

    def __init__(self, small: bool | None, minutes: float, target: Path | None, kind: str = "f32") -> None:
        self.device = default_device()
        self.small = self.device.adapter.kind != "DiscreteGPU" if small is None else small
        self.torch = None if self.small else peers.load_torch()
        self.count, self.seed = 60, 14  # random products
        self.end, self.target = time.perf_counter() + 60 * minutes, target
        self.lines: list[dict[str, Any]] = []
        self.length = 1 << (20 if self.small else 28)
        random = np.random.default_rng(0)
        self.kind = np.dtype({"f32": np.float32, "f16": np.float16}[kind])
        halves = (random.random(self.length, dtype=np.float32) - np.float32(0.5) for _ in "ab")
        self.host = [x.astype(self.kind) for x in halves]
        self.ours = [gpu.array(x, device=self.device) for x in self.host]
        self.theirs = [self.torch.tensor(x) for x in self.host] if self.torch else [None, None]

    def view(self, which: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Tensor, Any, np.ndarray]:
        """The first elements of an operand in this layout: ours, torch's, and NumPy's."""
        ours = Tensor(self.ours[which].engine, Layout(shape, strides))
        theirs = self.theirs[which].as_strided(shape, strides) if self.torch else None
        host = np.lib.stride_tricks.as_strided(self.host[which], shape, [self.kind.itemsize * step for step in strides])
        return ours, theirs, host

    def seconds(self, launch: Callable[[], object], repeats: int) -> float:
        with self.device.timed() as watch:
            for _ in range(repeats):
                launch()
        return watch.seconds / repeats

    def measure(self, ours: Callable[[], object], theirs: Callable[[], object] | None) -> tuple[float, float | None]:
        """Medians of both, taken in turn."""
        first = self.seconds(ours, 1)
        repeats = 1 if self.small or first > 1e-4 else 8
        mine: list[float] = []
        other: list[float] = []
        warm = time.perf_counter() + (0 if self.small else WARM_UP)
        while len(mine) < (2 if self.small else ROUNDS):
            times = self.seconds(ours, repeats), self.torch.seconds(theirs, repeats) if self.torch and theirs else None
            if time.perf_counter() > warm:
                mine.append(times[0])
                other += [] if times[1] is None else [times[1]]
        return statistics.median(mine), statistics.median(other) if other else None

    def case(self, group: str, name: str, work: Callable[[], dict[str, Any]]) -> None:
        """Run one case under its limit, print its line and keep it."""
        if time.perf_counter() > self.end:
            return
        started = time.perf_counter()
        signal.signal(signal.SIGALRM, _late)
        signal.alarm(LIMIT)
        try:
            line = work()
        except Late:
            line = {"failed": f"more than {LIMIT} s"}
        except Exception as error:
            line = {"failed": f"{type(error).__name__}: {str(error)[:300]}", "trace": traceback.format_exc(limit=-3)}
        finally:
            signal.alarm(0)
        line = {"group": group, "name": name, **line, "took": round(time.perf_counter() - started, 1)}
        self.lines.append(line)
        shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()}
        print("  ".join(f"{key}={value}" for key, value in shown.items() if key != "trace"), flush=True)
        if self.target:
            self.target.write_text(json.dumps(self.lines, indent=0) + "\n")


def _late(*_: object) -> None:
    raise Late


def strides_of(shape: tuple[int, ...], order: str) -> tuple[int, ...]:
    """Compact strides; "T" exchanges the last two axes in memory."""
    axes = list(range(len(shape)))
    if order == "T":
        axes[-2:] = axes[-2:][::-1]
    steps, step = [0] * len(shape), 1
    for axis in axes[::-1]:
        steps[axis], step = step, step * shape[axis]
    return tuple(steps)


def product(
    shapes: Shapes, one: tuple[int, ...], other: tuple[int, ...], orders: str = "NN", plan: gpu.Plan | None = None
) -> dict[str, Any]:
    """A product of operands of these shapes; the errors are those of at most 16 rows."""
    a, ta, ha = shapes.view(0, one, strides_of(one, orders[0]))
    b, tb, hb = shapes.view(1, other, strides_of(other, orders[1]))
    batch = np.broadcast_shapes(one[:-2], other[:-2])
    m, n, k = one[-2], other[-1], one[-1]
    count = int(np.prod(batch, dtype=np.int64))
    poison = np.full((*batch, m, n), np.nan, shapes.kind)
    c = gpu.array(poison, device=shapes.device)
    tc = shapes.torch.tensor(poison) if shapes.torch else None
    torch = shapes.torch.torch if shapes.torch else None
    ops.matmul(a, b, c, plan=plan)
    first = c.numpy().tobytes() if poison.size < 1 << 24 else b""
    mine, theirs = shapes.measure(
        lambda: ops.matmul(a, b, c, plan=plan), (lambda: torch.matmul(ta, tb, out=tc)) if torch else None
    )
    found = c.numpy()
    rows = np.random.default_rng(1).integers(0, m, min(m, 16))
    at = (0,) * len(batch)
    full_a, full_b = (np.broadcast_to(x, (*batch, *x.shape[-2:]))[at] for x in (ha, hb))
    wanted = full_a[rows].astype(np.float64) @ full_b.astype(np.float64)
    line = {"ms": 1e3 * mine, "tflops": 2e-12 * m * n * k * count / mine, **_bytes(mine, [ha, hb], found.nbytes)}
    line |= {"error": _error(found[at][rows], wanted), "same_bits": not first or first == found.tobytes()}
    if theirs is not None:
        line |= {"torch_ms": 1e3 * theirs, "ratio": theirs / mine}
        line["torch_error"] = _error(tc.cpu().numpy()[at][rows], wanted)
    if min(m, n) <= 16 and not batch:
        line["of_copy"] = copying(shapes, ha.nbytes + hb.nbytes + found.nbytes) / mine
    problem = problem_for_plans(ExecutionSite(shapes.device), a, b)
    if shapes.kind == np.float16:
        line["plan"] = gpu.explain_matmul(a, b).partition(" on ")[0]
    else:
        line["plan"] = _short(plan or choose_plan(problem, shapes.device.adapter)) if problem else "a sum of rows"
    return line


def copying(shapes: Shapes, nbytes: int) -> float:
    """Seconds of a copy that moves so many bytes, half of them read."""
    x = Tensor(shapes.ours[0].engine, Layout(nbytes // 8))
    y = gpu.empty(nbytes // 8, device=shapes.device)
    return shapes.measure(lambda: gpu.copy(x, y), None)[0]


def _short(plan: gpu.Plan) -> str:
    return "x".join(map(str, plan.tile)) + f"/{plan.splits}"


def _bytes(seconds: float, arrays: list[np.ndarray], written: int) -> dict[str, float]:
    read = sum(x.itemsize * int(np.prod(x.shape, dtype=np.int64)) for x in arrays)
    return {"GBs": 1e-9 * (read + written) / seconds}


def _error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / max(1e-30, float(np.linalg.norm(wanted))))


def products(shapes: Shapes) -> None:
    """The products of the issue's table and of its bars."""
    f = 64 if shapes.small else 1
    cases: list[tuple[tuple[int, ...], tuple[int, ...], str]] = [
        ((16, 4096 // f), (4096 // f, 4096 // f), "NN"),
        ((16, 4096 // f), (4096 // f, 4096 // f), "NT"),
        ((4096 // f, 4096 // f), (4096 // f, 16), "NN"),
        ((4096 // f, 4096 // f), (4096 // f, 1), "NN"),
        ((4096 // f, 4096 // f), (4096 // f, 1), "TN"),
        ((1, 4096 // f), (4096 // f, 4096 // f), "NN"),
        ((1, 4096 // f), (4096 // f, 4096 // f), "NT"),
        ((16384 // f, 16384 // f), (16384 // f, 1), "NN"),
        ((64, (1 << 20) // f), ((1 << 20) // f, 64), "NN"),
        ((64, (1 << 20) // f), ((1 << 20) // f, 64), "TN"),
        ((3000 // f, 7000 // f), (7000 // f, 200 // 4), "NN"),
        ((3000 // f, 7000 // f), (7000 // f, 200), "NN"),
        ((128, 4096 // f), (4096 // f, 8192 // f), "NN"),
        ((256, 64, 64), (256, 64, 64), "NN"),
        ((16, 512 // f, 512), (512, 512 // f), "NN"),
        ((32, 12, 128, 64), (32, 1, 64, 128), "NT"),
    ]
    cases += [((n, n), (n, n), "NN") for n in ((64, 128) if shapes.small else (512, 1024, 2048, 4096, 8192))]
    cases += [((n, n), (n, n), "TT") for n in ((96,) if shapes.small else (1024, 4096))]
    for one, other, orders in cases:
        if all(int(np.prod(x)) <= shapes.length for x in (one, other)):
            shapes.case("matmul", f"{one} @ {other} {orders}", lambda c=(one, other, orders): product(shapes, *c))


THIN = {
    "f32": [
        ((1, 4096), (4096, 4096)), ((7, 1, 4098), (7, 4098, 2595)), ((8, 2, 86), (8, 86, 4767)),
        ((6, 2410, 26), (6, 26, 262)), ((21, 6077, 285), (21, 285, 173)), ((30, 356, 263), (30, 263, 2095)),
        ((4095, 4099), (4099, 4097)), ((128, 4096), (4096, 8192)),
        ((708, 5584), (5584, 499)), ((1185, 793), (793, 4549)),
    ],
    "f16": [
        ((16, 4096), (4096, 4096)), ((1, 4096), (4096, 4096)), ((128, 4096), (4096, 4096)), ((512, 4096), (4096, 4096)),
        ((300, 20000), (20000, 300)), ((4096, 64), (64, 4096)),
        ((4096, 4096), (4096, 4096)), ((8192, 8192), (8192, 8192)),
    ],
}  # fmt: skip
"""Products as models have them: few rows, short k, batches, and odd extents."""


def thin(shapes: Shapes) -> None:
    """These products in NumPy's order, those of few rows also by columns of B; and other operations on odd shapes."""
    f = 32 if shapes.small else 1
    for one, other in THIN["f16" if shapes.kind == np.float16 else "f32"]:
        one, other = ((*x[:-2], *(-(-n // f) for n in x[-2:])) for x in (one, other))
        for orders in ("NN", "NT") if one[0] in (1, 16) else ("NN",):
            shapes.case("thin", f"{one} @ {other} {orders}", lambda c=(one, other, orders): product(shapes, *c))
    if shapes.kind == np.float32:
        four = tuple(-(-n // (4 if shapes.small else 1)) for n in (7, 1000, 333, 5))
        for axes in ((3, 1, 0, 2), (0, 2, 1, 3)):
            shapes.case("thin", f"{four} as {axes}", lambda c=(four, axes): permutation(shapes, *c))
        shapes.case("thin", f"softmax ({(1 << 20) // f**2},17)", lambda: softmax(shapes, (1 << 20) // f**2, 17, 1))
        x, theirs, host = shapes.view(0, four, strides_of(four, "N"))
        shapes.case("thin", f"sum {four} over 1", lambda: reduction(shapes, "sum", x, (1,), theirs, host, (1,)))


def random_shapes(count: int, seed: int = 14) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], str]]:
    """Extents of 1 to 16,384, log-uniform; a third of the products transposed, a third batched."""
    random = np.random.default_rng(seed)
    while count:
        m, n, k = (int(np.exp(random.uniform(0, np.log(16385)))) for _ in "mnk")
        batch = int(random.integers(2, 33)) if random.random() < 1 / 3 else 0
        orders = str(random.choice(["TN", "NT", "TT"])) if random.random() < 1 / 3 else "NN"
        shared = batch and random.random() < 1 / 2
        if m * n * k * max(1, batch) > 1 << 33 or max(m * k, k * n, m * n) * max(1, batch) > 1 << 28:
            continue
        count -= 1
        one = (batch, m, k) if batch else (m, k)
        yield one, (1, k, n) if shared else (batch, k, n) if batch else (k, n), orders


def at_random(shapes: Shapes) -> None:
    """Random products, and what they come to."""
    for one, other, orders in random_shapes(6 if shapes.small else shapes.count, shapes.seed):
        if all(int(np.prod(x)) <= shapes.length for x in (one, other)):
            shapes.case("random", f"{one} @ {other} {orders}", lambda c=(one, other, orders): product(shapes, *c))
    ratios = [line["ratio"] for line in shapes.lines if line["group"] == "random" and "ratio" in line]
    if ratios:
        print(f"random: geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, worst {min(ratios):.3f} of {len(ratios)}")


def layouts(shapes: Shapes) -> dict[str, tuple[Layout, tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]]:
    """Name: the layout, shape and strides for the peers, and the axes to reduce (in those of the layout)."""
    n = 512 if shapes.small else 16384
    e, t = (16, 32) if shapes.small else (64, 256)
    four = (e, t, e, t)
    steps = (t * e * t, e * t, t, 1)
    every: list[tuple[int, ...]] = [(0, 1), (1,), (0,)]
    return {
        "row-major": (Layout((n, n), (n, 1)), (n, n), (n, 1), every),
        "column-major": (Layout((n, n), (1, n)), (n, n), (1, n), every),
        "tiled": (
            Layout(((32, n // 32), (32, n // 32)), ((1, 1024), (32, 32 * n))),
            (32, n // 32, 32, n // 32),
            (1, 1024, 32, 32 * n),
            every,
        ),
        "4-D": (Layout(four, steps), four, steps, [(0, 2), (1, 3)]),
    }


def reductions(shapes: Shapes) -> None:
    """sum, max, argmax and mean over all, rows, columns and pairs of axes of 1 GiB, in several layouts."""
    for layout_name, (layout, shape, strides, every) in layouts(shapes).items():
        x = Tensor(shapes.ours[0].engine, layout)
        _, theirs, host = shapes.view(0, shape, strides)
        for axes in every:
            every_name = ("sum", "max", "argmax", "mean", "var", "logsumexp")
            for name in every_name if layout_name in ("row-major", "4-D") else ("sum", "argmax", "var"):
                if name == "argmax" and (len(shape) == 4 or (len(axes) == 2 and layout_name != "row-major")):
                    continue
                peer_axes = (
                    tuple(2 * axis + part for axis in axes for part in (0, 1)) if layout_name == "tiled" else axes
                )
                shapes.case(
                    "reduce",
                    f"{name} {layout_name} over {axes}",
                    lambda c=(name, x, axes, theirs, host, peer_axes): reduction(shapes, *c),
                )


def reduction(
    shapes: Shapes, name: str, x: Tensor, axes: tuple[int, ...], theirs: Any, host: np.ndarray, peer: tuple[int, ...]
) -> dict[str, Any]:
    call = getattr(ops, name)
    torch = shapes.torch.torch if shapes.torch else None
    if name == "argmax":
        peer_call = (
            (lambda: torch.argmax(theirs) if len(peer) > 1 else torch.argmax(theirs, peer[0])) if torch else None
        )
    elif torch:
        own = {"max": torch.amax}.get(name) or getattr(torch, name)
        how = {"correction": 0} if name == "var" else {}
        peer_call = lambda: own(theirs, peer, **how)  # noqa: E731
    else:
        peer_call = None
    mine, other = shapes.measure(lambda: call(x, axes), peer_call)
    found = call(x, axes).numpy().ravel()
    if torch and name in ("sum", "mean"):
        wanted = getattr(torch, name)(theirs.double(), peer).cpu().numpy()
        scale = torch.sum(theirs.double().abs(), peer).cpu().numpy() / (
            host.size / wanted.size if name == "mean" else 1
        )
    elif torch and name in ("var", "logsumexp"):
        wanted, scale = own(theirs.double(), peer, **how).cpu().numpy(), 1.0
    elif torch:
        wanted, scale = peer_call().cpu().numpy(), 1.0
    else:
        where = peer if name != "argmax" else None if len(peer) > 1 else peer[0]
        wide = host.astype(np.float64) if name in ("sum", "mean", "var", "logsumexp") else host
        found_by = (lambda x, axes: np.log(np.exp(x).sum(axes))) if name == "logsumexp" else getattr(np, name)
        wanted, scale = np.asarray(found_by(wide, where)), 1.0
    error = float(np.max(np.abs(found - _in_order(wanted, x, axes)) / np.max(scale)))
    line = {"ms": 1e3 * mine, "GBs": 1e-9 * host.nbytes / mine, "error": error}
    return line | ({"torch_ms": 1e3 * other, "ratio": other / mine} if other else {})


def _in_order(wanted: np.ndarray, x: Tensor, axes: tuple[int, ...]) -> np.ndarray:
    """What is left of a tiled tensor as one axis: (inner, outer) with the inner one fastest."""
    tiled = wanted.ndim == 2 and x.rank == 2 and len(axes) == 1
    return wanted.ravel(order="F") if tiled else wanted.ravel()


def softmaxes(shapes: Shapes) -> None:
    """Softmax of rows and of columns."""
    n = 256 if shapes.small else 16384
    for rows, columns in ((n, n), (n * 16, n // 16)):
        for axis in (1, 0):
            shapes.case(
                "softmax",
                f"({rows},{columns}) along {axis}",
                lambda c=(rows, columns, axis): softmax(shapes, *c),
            )


def softmax(shapes: Shapes, rows: int, columns: int, axis: int) -> dict[str, Any]:
    x, theirs, host = shapes.view(0, (rows, columns), (columns, 1))
    torch = shapes.torch.torch if shapes.torch else None
    mine, other = shapes.measure(lambda: ops.softmax(x, axis), (lambda: torch.softmax(theirs, axis)) if torch else None)
    part = host[:64] if axis else host[:, :64]
    e = np.exp(part.astype(np.float64))
    found = ops.softmax(x, axis).numpy()
    error = float(np.abs((found[:64] if axis else found[:, :64]) / (e / e.sum(axis, keepdims=True)) - 1).max())
    line = {"ms": 1e3 * mine, "GBs": 2e-9 * host.nbytes / mine, "error": error}
    return line | ({"torch_ms": 1e3 * other, "ratio": other / mine} if other else {})


PERMUTATIONS = (
    ((64, 3, 1024, 1024), (0, 2, 3, 1)),  # NCHW to NHWC
    ((64, 1024, 1024, 3), (0, 3, 1, 2)),
    ((64, 256, 112, 112), (0, 2, 3, 1)),
    ((64, 112, 112, 256), (0, 3, 1, 2)),
    ((64, 128, 96, 256), (3, 2, 1, 0)),
    ((64, 128, 96, 256), (1, 3, 0, 2)),
    ((64, 128, 96, 256), (2, 0, 3, 1)),
)


def permutation(shapes: Shapes, shape: tuple[int, ...], axes: tuple[int, ...]) -> dict[str, Any]:
    """A copy of the axes in another order."""
    x, theirs, host = shapes.view(0, shape, strides_of(shape, "N"))
    turned = ops.permute(x, axes)
    y = gpu.empty(tuple(shape[axis] for axis in axes), device=shapes.device)
    torch = shapes.torch.torch if shapes.torch else None
    ty = torch.empty([shape[axis] for axis in axes], device="cuda") if torch else None
    view = theirs.permute(axes) if torch else None
    mine, other = shapes.measure(lambda: gpu.copy(turned, y), (lambda: ty.copy_(view)) if torch else None)
    part = y.numpy()[:2]
    line = {"ms": 1e3 * mine, "GBs": 2e-9 * host.nbytes / mine}
    line["error"] = float(np.abs(part - host.transpose(axes)[:2]).max())
    return line | ({"torch_ms": 1e3 * other, "ratio": other / mine} if other else {})


def chain(shapes: Shapes) -> None:
    """What ten different operations on 1 MiB cost the host, a call; nothing is waited for but at the end."""
    n = 64 if shapes.small else 512
    a, ta, _ = shapes.view(0, (n, n), (n, 1))
    b, tb, _ = shapes.view(1, (n, n), (n, 1))
    torch = shapes.torch.torch if shapes.torch else None
    axpy = gpu.pointwise("a + alpha * b")

    def ours() -> None:
        x = ops.add(a, b)
        x = axpy(ops.exp(x), 0.5, b)
        x = ops.sub(x, ops.max(x, 1, keepdims=True))
        x = ops.div(x, ops.sum(x, 0, keepdims=True))
        ops.matmul(ops.where(ops.softmax(x), a, b), b)

    def theirs() -> None:
        x = ta + tb
        x = torch.add(torch.exp(x), tb, alpha=0.5)
        x = x - torch.amax(x, 1, keepdim=True)
        x = x / torch.sum(x, 0, keepdim=True)
        torch.matmul(torch.where(torch.softmax(x, 1) != 0, ta, tb), tb)

    def host(work: Callable[[], None], wait: Callable[[], object]) -> tuple[float, float]:
        issued, whole = [], []
        for _ in range(30):
            wait()
            start = time.perf_counter()
            work()
            issued.append(time.perf_counter() - start)
            wait()
            whole.append(time.perf_counter() - start)
        return statistics.median(issued) / 10, statistics.median(whole) / 10

    def work() -> dict[str, Any]:
        issued, whole = host(ours, shapes.device.wait)
        line = {"us_a_call": 1e6 * issued, "us_with_the_wait": 1e6 * whole}
        line["us_on_the_device"] = 1e5 * shapes.seconds(ours, 10)
        line["us_of_an_empty_batch"] = 1e6 * _empty_batch(shapes)
        if torch:
            other, other_whole = host(theirs, torch.cuda.synchronize)
            line |= {"torch_us": 1e6 * other, "torch_with_the_wait": 1e6 * other_whole, "ratio": other_whole / whole}
        return line

    shapes.case("host", f"ten operations on {4 * n * n} bytes", work)


def _empty_batch(shapes: Shapes) -> float:
    """What the least launch takes from the call to the end of the wait: no call is ready sooner."""
    x = Tensor(shapes.ours[0].engine, Layout(4))
    y = gpu.empty(4, device=shapes.device)
    times = []
    for _ in range(30):
        shapes.device.wait()
        start = time.perf_counter()
        gpu.copy(x, y)
        shapes.device.wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def copies(shapes: Shapes) -> None:
    """A copy and a transpose: the bandwidth that other lines are measured by."""
    n = 256 if shapes.small else 16384
    y = gpu.empty((n, n), device=shapes.device)
    ty = shapes.torch.torch.empty((n, n), device="cuda") if shapes.torch else None
    for shape, axes in PERMUTATIONS:
        sizes = tuple(-(-size // 8) for size in shape) if shapes.small else shape
        shapes.case("copy", f"{sizes} as {axes}", lambda c=(sizes, axes): permutation(shapes, *c))
    for name, strides in (("copy", (n, 1)), ("transpose", (1, n))):
        x, theirs, host = shapes.view(0, (n, n), strides)

        def work(x: Tensor = x, theirs: Any = theirs, host: np.ndarray = host) -> dict[str, Any]:
            mine, other = shapes.measure(lambda: gpu.copy(x, y), (lambda: ty.copy_(theirs)) if shapes.torch else None)
            line = {"ms": 1e3 * mine, "GBs": 2e-9 * host.nbytes / mine, "error": float(np.abs(y.numpy() - host).max())}
            return line | ({"torch_ms": 1e3 * other, "ratio": other / mine} if other else {})

        shapes.case("copy", name, work)


def plans(shapes: Shapes) -> None:
    """Every plan with several splits on some products."""
    sizes = [(64, 64, 256)] if shapes.small else [
        (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (16, 4096, 4096), (64, 64, 1 << 20), (3000, 200, 7000),
        (128, 8192, 4096), (300, 300, 300), (700, 900, 3000), (5000, 40, 500), (200, 16000, 60), (32, 1000, 12000),
    ]  # fmt: skip
    for m, n, k in sizes:
        few = *PLANS_OF_SHORT_K, *PLANS_OF_FEW_ROWS[False], *PLANS_OF_FEW_ROWS[True]
        for whole in (*PLANS, SKINNY, *few):
            for plan in in_splits(ProductProblem(m, n, k), whole):
                if whole.tile[0] <= 4 * m and whole.tile[1] <= 4 * n:
                    name = f"({m},{n},{k}) {_short(plan)}"
                    shapes.case("plans", name, lambda c=(m, n, k, plan): _planned(shapes, *c))


def _planned(shapes: Shapes, m: int, n: int, k: int, plan: gpu.Plan, orders: str = "NN") -> dict[str, Any]:
    a = shapes.view(0, (m, k), strides_of((m, k), orders[0]))[0]
    b = shapes.view(1, (k, n), strides_of((k, n), orders[1]))[0]
    c = gpu.empty((m, n), device=shapes.device)
    mine, _ = shapes.measure(lambda: ops.matmul(a, b, c, plan=plan), None)
    return {"ms": 1e3 * mine, "tflops": 2e-12 * m * n * k / mine}


FAST: dict[str, Any] = {"stages": 2, "unrolled": True}
VARIANTS: dict[tuple[int, int, int, str], list[gpu.Plan]] = {
    (4096, 4096, 4096, "NN"): [
        replace(LARGE, lanes=(4, 8)),
        replace(LARGE, repeat_last=False),
        gpu.Plan((128, 128, 16), (8, 16), lanes=(8, 4), **FAST),
        gpu.Plan((128, 128, 16), (8, 16), lanes=(8, 4), repeat_last=True, **FAST),
        gpu.Plan((128, 128, 8), (16, 16), lanes=(8, 4), repeat_last=True, **FAST),
        gpu.Plan((128, 128, 16), (16, 16), lanes=(8, 4), **FAST),
        gpu.Plan((256, 128, 8), (16, 16), lanes=(8, 4), repeat_last=True, **FAST),
        gpu.Plan((256, 128, 8), (16, 16), lanes=(8, 4), **FAST),
        gpu.Plan((128, 256, 8), (8, 32), lanes=(8, 4), repeat_last=True, **FAST),
        gpu.Plan((128, 128, 8), (16, 8), lanes=(4, 8), repeat_last=True, **FAST),
        gpu.Plan((128, 128, 8), (16, 8), lanes=(8, 4), repeat_last=True, **FAST),
    ],
    **{
        (16, 4096, 4096, orders): [
            gpu.Plan((16, 128, 32), (2, 32), splits=16, **FAST),
            gpu.Plan((16, 128, 16), (1, 32), splits=16, **FAST),
            gpu.Plan((16, 256, 16), (1, 64), splits=16, **FAST),
            gpu.Plan((16, 256, 16), (2, 64), splits=16, **FAST),
            gpu.Plan((16, 64, 32), (2, 16), splits=8, **FAST),
            gpu.Plan((16, 128, 16), (4, 32), splits=16, **FAST),
            gpu.Plan((16, 128, 32), (4, 32), splits=8, **FAST),
        ]
        for orders in ("NN", "NT")
    },
}


def variants(shapes: Shapes) -> None:
    """Plans that are not chosen, beside those that are."""
    n = 256 if shapes.small else 16384
    x, theirs, _ = shapes.view(0, (n * n,), (1,))
    y = gpu.empty(n * n, device=shapes.device)
    ty = shapes.torch.torch.empty(n * n, device="cuda") if shapes.torch else None
    for elements in (1, 2, 4, 8):
        for threads in (64, 128, 256, 512, 1024):

            def work(e: int = 4 * elements * threads, t: int = threads) -> dict[str, Any]:
                tiling = tiling_of([x.layout, y.layout], elements=e, threads=t)
                mine, other = shapes.measure(
                    lambda: copy_kernel(x, y, tiling=tiling), (lambda: ty.copy_(theirs)) if shapes.torch else None
                )
                line = {"ms": 1e3 * mine, "GBs": 8e-9 * n * n / mine}
                return line | ({"torch_ms": 1e3 * other, "ratio": other / mine} if other else {})

            shapes.case("variants", f"copy, {elements} vectors in each of {threads} threads", work)
    for (m, n, k, orders), tried in VARIANTS.items():
        for plan in [] if shapes.small else tried:
            shapes.case(
                "variants",
                f"({m},{n},{k}) {orders} {_short(plan)} threads {plan.threads} lanes {plan.lanes} {plan.repeat_last}",
                lambda c=(m, n, k, plan, orders): _planned(shapes, *c),
            )


def folds(shapes: Shapes) -> None:
    """Sums with other numbers of workgroups and of elements a thread."""
    n = 512 if shapes.small else 16384
    kept = fold.MANY_WORKGROUPS
    for groups in (528, 1024, 2048, 4096):
        fold.MANY_WORKGROUPS = groups
        for name, axes in (("all", (0, 1)), ("columns", (0,))):
            x = shapes.view(0, (n, n), (n, 1))[0]
            shapes.case("folds", f"{name} {groups} groups", lambda c=(x, axes): _folded(shapes, *c))
    fold.MANY_WORKGROUPS = kept


def _folded(shapes: Shapes, x: Tensor, axes: tuple[int, ...]) -> dict[str, Any]:
    mine, _ = shapes.measure(lambda: ops.sum(x, axes), None)
    return {"ms": 1e3 * mine, "GBs": 4e-9 * x.size / mine}


RUN = {
    "host": chain,
    "matmul": products,
    "thin": thin,
    "reduce": reductions,
    "softmax": softmaxes,
    "copy": copies,
    "random": at_random,
    "plans": plans,
    "folds": folds,
    "variants": variants,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", default=",".join(GROUPS), help="which groups of lines, in this order")
    arguments.add_argument("--json", type=Path, help="write the lines to this file as they come")
    arguments.add_argument("--minutes", type=float, default=7.5, help="begin no case after this time")
    arguments.add_argument("--small", action="store_true", default=None, help="small sizes")
    arguments.add_argument("--type", choices=("f32", "f16"), default="f32", help="of the operands of products")
    arguments.add_argument("--count", type=int, default=60, help="random products")
    arguments.add_argument("--seed", type=int, default=14, help="of random products")
    options = arguments.parse_args()
    shapes = Shapes(options.small, options.minutes, options.json, options.type)
    shapes.count, shapes.seed = options.count, options.seed
    print(shapes.device.adapter.summary)
    for group in options.rows.split(","):
        RUN[group](shapes)
    failed = [line["name"] for line in shapes.lines if "failed" in line]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
