"""The examples that people come for (examples/kernels), timed on one device beside torch, where it is there.

    python bench/examples.py [--small] [--only attention,scan] [--limit 60] [--runtime wgpu|dawn]

Those by matrices of a subgroup need `--runtime dawn`.

Device time on both sides: timestamps here, CUDA events there, after 0.3 s of running (the clock is low while a pipeline
compiles). Random data; the error is that of a part of the result against float64, relative to its greatest element. The
bandwidth of a plain copy is measured first, here and by torch. A line is printed as soon as it is known, and no case
takes longer than its limit.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "examples" / "kernels")]

import numpy as np  # noqa: E402  found by the path above
from limited import run_limited, say  # noqa: E402

SMALL = "--small" in sys.argv or os.environ.get("EXAMPLES_SMALL") == "1"
ROUNDS, ENOUGH, WARM = (1, 0.0, 0.0) if SMALL else (5, 0.03, 0.3)


@cache
def torch() -> Any:
    """torch with its GPU, or None."""
    try:
        import torch as found

        if found.cuda.is_available():
            found.backends.cuda.matmul.allow_tf32 = False
            return found
    except Exception as fault:
        say(f"torch: {fault}")
    return None


def seconds_here(run: Callable[[], object]) -> float:
    """Device time of a call, the median of some rounds; by the wall where there are no timestamps."""
    from cutepy import gpu

    device = gpu.default_device()

    def batch(count: int) -> float:
        if "timestamp-query" in device.features:
            with device.timed() as watch:
                for _ in range(count):
                    run()
            return float(watch.seconds) / count
        device.wait()
        begun = time.perf_counter()
        for _ in range(count):
            run()
        device.wait()
        return (time.perf_counter() - begun) / count

    run()
    device.wait()
    once, ends = batch(1), time.perf_counter() + WARM
    while time.perf_counter() < ends:
        once = batch(2)
    return statistics.median(batch(max(1, int(ENOUGH / once))) for _ in range(ROUNDS))


def seconds_there(run: Callable[[], object]) -> float:
    """The same of torch."""
    cuda = torch().cuda

    def batch(count: int) -> float:
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            run()
        end.record()
        cuda.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3 / count

    run()
    once, ends = batch(1), time.perf_counter() + WARM
    while time.perf_counter() < ends:
        once = batch(2)
    return statistics.median(batch(max(1, int(ENOUGH / once))) for _ in range(ROUNDS))


def on_torch(*arrays: Any) -> list[Any]:
    """Host arrays on torch's GPU."""
    return [torch().from_numpy(np.ascontiguousarray(x)).cuda() for x in arrays]


def error(found: Any, right: Any) -> str:
    """How far a result is from float64, relative to the greatest element."""
    return f"error {np.abs(np.asarray(found, np.float64) - right).max() / np.abs(right).max():.1e}"


def told(name: str, work: float, unit: str, run: Callable[[], object], there: Callable[[], object] | None) -> str:
    """The rates of both, for `work` of 1e9 `unit`."""
    took = seconds_here(run)
    words = f"{name}: {took * 1e3:.3f} ms, {work / took / 1e9:.1f} {unit}"
    if unit == "GB/s" and name != "copy":
        words += f", {work / took / COPIES['here']:.2f}x of a copy" if "here" in COPIES else ""
    if torch() is not None and there is not None:
        other = seconds_there(there)
        words += f" | torch {other * 1e3:.3f} ms, {work / other / 1e9:.1f} {unit} | {other / took:.2f}x of torch"
    return words


COPIES: dict[str, float] = {}


def copy() -> None:
    """Bytes read and written by a plain copy."""
    from cutepy import gpu

    n = 2**18 if SMALL else 2**28
    x = np.random.default_rng(0).random(n, np.float32)
    a, b = gpu.array(x), gpu.empty(n, "f32")
    took = seconds_here(lambda: gpu.copy(a, b))
    COPIES["here"] = 8 * n / took
    there = None
    if torch() is not None:
        source = on_torch(x)[0]
        into = torch().empty_like(source)
        there = lambda: into.copy_(source)  # noqa: E731
    say(told("copy", 8 * n, "GB/s", lambda: gpu.copy(a, b), there), "|", error(b.numpy()[:1000], x[:1000]))


def attention(causal: bool, module: str = "attention") -> None:
    """4 batches of 16 heads, 4,096 x 64; by matrices of a subgroup in f16."""
    from cutepy import Layout, Tensor, gpu, make_tensor

    kernel, dtype = import_module(module).attention, "f16" if module == "attention_matrices" else "f32"
    length, width, heads = (128, 64, 2) if SMALL else (4096, 64, 64)
    g = np.random.default_rng(0)
    Q, K, V = (g.standard_normal((heads, length, width), np.float32).astype(DTYPES[dtype]) for _ in "QKV")
    layout = Layout((length, width, heads), (width, 1, length * width))
    q, k, v, o = (gpu.array(make_tensor(x, layout)) for x in (Q, K, V, np.zeros_like(Q)))
    if dtype == "f16":  # heads of queries in groups of one
        q, o = (Tensor(t.engine, Layout((length, width, 1, heads), (width, 1, 0, length * width))) for t in (q, o))
    there = None
    if torch() is not None:
        on = [x.reshape(max(1, heads // 16), -1, length, width) for x in on_torch(Q, K, V)]
        product = torch().nn.functional.scaled_dot_product_attention
        there = partial(product, *on, is_causal=causal)
    flops = 4.0 * heads * width * (length * (length + 1) // 2 if causal else length**2)
    name = f"attention {dtype} {causal=}"
    words = told(name, flops / 1e3, "TFLOP/s", lambda: kernel(q, k, v, o, causal=causal), there)
    rows, which = np.arange(0, length, max(1, length // 64)), [0, heads - 1]
    scores = np.einsum("hid,hjd->hij", Q[which][:, rows], K[which], dtype=np.float64) / np.sqrt(width)
    if causal:
        scores[:, np.arange(length) > rows[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(2, keepdims=True))
    right = np.einsum("hij,hjd->hid", weights / weights.sum(2, keepdims=True), V[which].astype(np.float64))
    say(words, "|", error(o.numpy().reshape(length, width, heads)[rows][:, :, which].transpose(2, 0, 1), right))


def decode(dtype: str, group: int = 4) -> None:
    """One query of each of `group` heads that share 8,192 keys of 128, 268 MB of keys and values in all."""
    from decode import attend, weighed

    from cutepy import Layout, Tensor, gpu

    heads, keys, width = (2, 300, 64) if SMALL else (32 if dtype == "f32" else 64, 8192, 128)
    g = np.random.default_rng(0)
    q = g.standard_normal((heads, group, width), np.float32).astype(DTYPES[dtype])
    K, V = (np.resize(g.standard_normal(2**20 + 7, np.float32), (heads, keys, width)).astype(q.dtype) for _ in "KV")
    out = gpu.empty((heads, group, width))
    of_heads = Layout((width, group, heads))
    cache = Layout((keys, width, heads), (width, 1, keys * width))
    given = [Tensor(gpu.array(x).engine, of_heads if x is q else cache) for x in (q, K, V)]
    there = None
    if torch() is not None:
        on = [x.reshape(heads // 8, -1, keys if n else 1, width) for n, x in enumerate(on_torch(q, K, V))]
        there = partial(torch().nn.functional.scaled_dot_product_attention, *on, enable_gqa=True)
    run = partial(attend, *given, Tensor(out.engine, of_heads))
    words = told(f"decode {dtype} {group}", 2 * K.nbytes, "GB/s", run, there)
    say(words, "|", error(out.numpy()[:2].T, weighed(q[:2], K[:2], V[:2])))


def scan(dtype: str) -> None:
    """Running sums of 2^26 elements."""
    from scan import scan as run

    from cutepy import gpu

    n = 2**18 + 3 if SMALL else 2**26
    g = np.random.default_rng(0)
    x = g.integers(-100, 100, n).astype(dtype) if dtype == "int32" else g.standard_normal(n, np.float32)
    a, b = gpu.array(x), gpu.array(np.zeros_like(x))
    there = None
    if torch() is not None:
        source = on_torch(x)[0]
        there = partial(torch().cumsum, source, 0, dtype=source.dtype)
    words = told(f"scan {dtype}", 8 * n, "GB/s", lambda: run(a, b), there)
    say(words, "|", error(b.numpy(), np.cumsum(x, dtype=np.float64)))


def int4(rows: int, columns: int) -> None:
    """A matrix of 4-bit weights times a vector of f16; torch has the same weights in f16."""
    from int4_matvec import GROUP, THREADS, matvec, plan_of

    from cutepy import gpu, make_tensor, recast

    g = np.random.default_rng(0)
    packed = g.integers(0, 256, (rows, columns // 2), np.uint8)
    scales, x = g.random((rows, columns // GROUP), np.float32), g.standard_normal(columns).astype(np.float16)
    host = recast(make_tensor(packed), "i4")
    weights, y = gpu.array(host), gpu.array(np.zeros(rows, np.float32))
    on = gpu.array(scales), gpu.array(x)
    there, limits = None, gpu.default_device().limits
    plan = plan_of(rows, columns // GROUP, limits.invocations if limits.workgroup_bytes >= 1 << 15 else THREADS)
    low = (packed.astype(np.int8) << 4) >> 4, packed.astype(np.int8) >> 4
    if torch() is not None:
        full = np.stack(low, 2).reshape(rows, columns) * np.repeat(scales, GROUP, 1)
        there = partial(torch().mv, *on_torch(full.astype(np.float16), x))
    moved = rows * columns / 2 + 4 * scales.size + 2 * columns + 4 * rows
    words = told(f"int4 x f16, {rows} x {columns}", moved, "GB/s", lambda: matvec(weights, *on, y, plan=plan), there)
    part = np.stack(low, 2).reshape(rows, columns)[:64].astype(np.float64) * np.repeat(scales[:64], GROUP, 1)
    say(words, "(torch: its time, of f16 weights)", "|", error(y.numpy()[:64], part @ x.astype(np.float64)))


def layer_norm(rows: int, n: int, gradient: bool) -> None:
    """Layer norm of rows, and the gradient of its argument."""
    from layer_norm import EPSILON, backward
    from layer_norm import layer_norm as forward

    from cutepy import Layout, composition, gpu

    g = np.random.default_rng(0)
    x, dy = (g.standard_normal((rows, n), np.float32) for _ in range(2))
    gain, bias = (g.standard_normal(n, np.float32) for _ in range(2))
    a, d, y = gpu.array(x), gpu.array(dy), gpu.array(np.zeros_like(x))
    along = [composition(gpu.array(row), Layout((rows, n), (0, 1))) for row in (gain, bias)]
    run = (lambda: backward(a, along[0], d, y)) if gradient else (lambda: forward(a, *along, y))
    there = None
    if torch() is not None:
        tx, tdy, tgain, tbias = on_torch(x, dy, gain, bias)
        if gradient:
            ops = torch().ops.aten
            _y, mean, scale = ops.native_layer_norm(tx, [n], tgain, tbias, EPSILON)
            given = tdy, tx, [n], mean, scale, tgain, tbias, [True, False, False]
            there = partial(ops.native_layer_norm_backward, *given)
        else:
            there = partial(torch().nn.functional.layer_norm, tx, [n], tgain, tbias, EPSILON)
    name = f"layer norm {'backward ' if gradient else ''}{rows} x {n}"
    words = told(name, (12 if gradient else 8) * x.size, "GB/s", run, there)
    part = x[:64].astype(np.float64)
    scaled = 1 / np.sqrt(part.var(1, keepdims=True) + EPSILON)
    z, e = (part - part.mean(1, keepdims=True)) * scaled, dy[:64] * gain.astype(np.float64)
    right = (
        (e - e.mean(1, keepdims=True) - z * (e * z).mean(1, keepdims=True)) * scaled if gradient else z * gain + bias
    )
    say(words, "|", error(y.numpy()[:64], right))


DTYPES = {"f16": np.float16, "f32": np.float32}
WIDE = (64, 1056) if SMALL else (16384, 16384)
ROWS = (64, 1000) if SMALL else (16384, 4096)
CASES: dict[str, Callable[[], None]] = {
    "attention": partial(attention, False),
    "attention causal": partial(attention, True),
    **{f"decode {dtype} {n}": partial(decode, dtype, n) for dtype in ("f16", "f32") for n in (1, 4, 8)},
    "matrices": partial(attention, False, "attention_matrices"),
    "matrices causal": partial(attention, True, "attention_matrices"),
    "scan int32": partial(scan, "int32"),
    "scan float32": partial(scan, "float32"),
    "int4": partial(int4, *WIDE),
    "int4 of one layer": partial(int4, WIDE[0] // 4, WIDE[1]),
    "layer norm": partial(layer_norm, *ROWS, False),
    "layer norm backward": partial(layer_norm, *ROWS, True),
}


def work(name: str) -> None:
    """One case, after the copy that it is compared with."""
    if not COPIES:
        copy()
    CASES[name]()


def main() -> None:
    """Measure all cases, or some."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--small", action="store_true", help="small sizes, for a software device")
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--limit", type=float, default=60.0, help="seconds for one case")
    options.add_argument("--runtime", choices=("wgpu", "dawn"), default="wgpu")
    given = options.parse_args()
    os.environ["CUTEPY_RUNTIME"] = given.runtime
    os.environ["EXAMPLES_SMALL"] = "1" if given.small else "0"
    found = [n for n in CASES if n.startswith("matrices") <= (given.runtime == "dawn")]
    names = [n for n in found if not given.only or any(part in n for part in given.only.split(","))]
    run_limited(work, names, limit=given.limit)


if __name__ == "__main__":
    main()
