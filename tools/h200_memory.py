"""Forms of the prefix sum and of the 4-bit matrix-vector product on a real GPU: `python tools/h200_memory.py`.

Beside a copy, and torch where it is there. A line as soon as it is known: device time, GB/s of what the form has to
move, that over a copy's, the error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tools"), str(ROOT / "examples" / "kernels")]

import numpy as np  # noqa: E402  found by the path above
from limited import run_limited, say  # noqa: E402

from cutepy import (  # noqa: E402
    Layout,
    Swizzle,
    _,
    ceil_div,
    composition,
    copy,
    gpu,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tiled_copy,
    size,
    transform,
)
from cutepy.tensor import universal_copy  # noqa: E402
from examples import COPIES as RATES  # noqa: E402
from examples import SMALL, seconds_here  # noqa: E402
from examples import copy as time_copy  # noqa: E402


@gpu.kernel
def sum_tiles(x, sums, *, threads, values):
    tile = threads * values
    gpu.launch(grid=ceil_div(size(x), tile), threads=threads)
    part = make_tiled_copy(universal_copy(4), Layout(threads), Layout(4)).thread(
        local_tile(x, tile, gpu.workgroup.x), local_tile(x, tile, gpu.workgroup.x)
    )
    mine = make_fragment_like(part.source)
    copy(part.source, mine)
    total = gpu.workgroup_reduce(mine)
    if gpu.thread == 0:
        sums[gpu.workgroup.x] = total


@gpu.kernel
def scan_tiles(x, before, y, *, threads, values, staged, backwards, first):
    tile = threads * values
    tiles = ceil_div(size(x), tile)
    gpu.launch(grid=tiles, threads=threads)
    at = tiles - 1 - gpu.workgroup.x if backwards else gpu.workgroup.x
    gx, gy = local_tile(x, tile, at), local_tile(y, tile, at)
    own = make_tiled_copy(universal_copy(4), Layout(threads), Layout(values))
    if staged:
        every = make_tiled_copy(universal_copy(4), Layout(threads), Layout(4))
        s = gpu.shared(x, composition(Swizzle(values.bit_length() - 3, 2, 3), Layout(tile)))
        into = every.thread(gx, s)
        copy(into.source, into.target)
        gpu.barrier()
        part = own.thread(s, s)
    else:
        part = own.thread(gx, gy)
    mine = make_fragment_like(part.source)
    copy(part.source, mine)
    running = gpu.workgroup_scan(mine)
    if not first:
        so_far = gpu.load(before, gpu.maximum(at, 1) - 1) * gpu.select(at > 0, 1, 0)
        transform(running, op=lambda v: v + so_far)
    copy(running, part.target)
    if staged:
        gpu.barrier()
        out = every.thread(s, gy)
        copy(out.source, out.target)


def scan(x, y, **form):
    tile = form["threads"] * form["values"]
    if size(x) <= tile:
        scan_tiles(x, x, y, **form, first=True)
        return
    sums = gpu.empty(ceil_div(size(x), tile), x.dtype)
    sum_tiles(x, sums, threads=form["threads"], values=form["values"])
    scan(sums, sums, **form)
    scan_tiles(x, sums, y, **form, first=False)


def time_scan(name: str, **form: Any) -> None:
    n = 2**18 + 3 if SMALL else 2**26
    x = np.random.default_rng(0).integers(-100, 100, n).astype(np.int32)
    a, b = gpu.array(x), gpu.array(np.zeros_like(x))
    took = seconds_here(lambda: scan(a, b, **form))
    right = bool((b.numpy() == np.cumsum(x, dtype=np.int32)).all())
    cut = {key: form[key] for key in ("threads", "values")}
    sums = gpu.empty(ceil_div(n, form["threads"] * form["values"]), "i32")
    alone, bound = seconds_here(lambda: sum_tiles(a, sums, **cut)), 12 * n / RATES["here"]
    told = f"{bound / took:.2f}x of what a copy's bandwidth allows for 12 bytes, right {right}"
    say(f"{name}: {took * 1e3:.3f} ms, {told}; the sums of tiles alone {alone * 1e3:.3f} ms")


@gpu.kernel
def matvec(weights, scales, x, y, *, rows, threads, magic, ahead):
    """weights (rows, columns / 8) of u32, four of them a group; x of f16, or of u32 with two each."""
    gpu.launch(grid=ceil_div(size(y), rows), threads=threads)
    wide = x.dtype.kind == "u"
    first, groups = gpu.workgroup.x * rows, weights.shape[1] // 4
    totals, factors = make_tensor("f32", rows), make_tensor("f32", rows)
    words = make_tensor("u32", Layout((rows, 4), (4, 1)))
    halves = make_tensor(x.dtype, 16 if wide else 32)
    next_words, next_halves, next_factors = (make_fragment_like(t) for t in (words, halves, factors))
    for r in range(rows):
        totals[r] = 0.0

    def bring(k, words, halves, factors):
        group = gpu.minimum(k + gpu.thread, groups - 1)
        copy(local_tile(x, halves.size, group), halves)
        for r in range(rows):
            row = gpu.minimum(first + r, size(y) - 1)
            copy(local_tile(weights(row, _), 4, group), words(r, _))
            factors[r] = scales[row, group]

    if ahead:
        bring(0, next_words, next_halves, next_factors)
    for k in gpu.loop(groups, step=threads):
        if ahead:
            copy(next_words, words)
            copy(next_halves, halves)
            copy(next_factors, factors)
            bring(k + threads, next_words, next_halves, next_factors)
        else:
            bring(k, words, halves, factors)
        keep = gpu.select(k + gpu.thread < groups, 1.0, 0.0)
        if wide:
            vs = [v for i in range(16) for v in gpu.unpack2x16float(halves[i])]
        else:
            vs = [gpu.cast(halves[i], "f32") for i in range(32)]
        if magic:
            least = 0.0
            for v in vs:
                least = least - 8.0 * v
            vs = [v * 2.0 ** (-4 * (i % 8)) for i, v in enumerate(vs)]
        for r in range(rows):
            part = least if magic else 0.0
            for w in range(4):
                word = words[r, w] ^ 0x88888888 if magic else words[r, w]
                for i in range(8):
                    if magic:  # eight more than the weight, where it lies in the word
                        value = gpu.cast(word & (15 << 4 * i), "f32")
                    else:
                        value = gpu.cast(gpu.bitcast(word << (28 - 4 * i), "i32") >> 28, "f32")
                    part = gpu.fma(value, vs[8 * w + i], part)
            totals[r] = totals[r] + part * (factors[r] * keep)
    for r in range(rows):
        total = gpu.workgroup_reduce(totals[r])
        if (gpu.thread == 0) & (first + r < size(y)):
            y[first + r] = total


@cache
def weights_of(height: int) -> tuple[list[Any], dict[bool, Any], Any]:
    """Packed weights and scales on the device, x there as it is and as words, and what 64 rows should give."""
    rows, columns = (64, 1056) if SMALL else (height, 16384)
    g = np.random.default_rng(0)
    packed = g.integers(0, 256, (rows, columns // 2), np.uint8)
    scales, x = g.random((rows, columns // 32), np.float32), g.standard_normal(columns).astype(np.float16)
    low, factors = (
        ((packed[:64].astype(np.int8) << 4) >> 4, packed[:64].astype(np.int8) >> 4),
        scales[:64].astype(float),
    )
    wanted = (np.stack(low, 2).reshape(-1, columns) * np.repeat(factors, 32, 1)) @ x.astype(float)
    vectors = {False: gpu.array(x), True: gpu.array(x.view(np.uint32))}
    return [gpu.array(packed.view(np.uint32)), gpu.array(scales)], vectors, wanted


def time_matvec(name: str, height: int = 16384, wide: bool = False, **form: Any) -> None:
    given, vectors, wanted = weights_of(height)
    rows, columns = given[0].shape[0], 8 * given[0].shape[1]
    y = gpu.array(np.zeros(rows, np.float32))
    took = seconds_here(lambda: matvec(*given, vectors[wide], y, **form))
    moved = rows * columns / 2 + 4 * rows * columns / 32 + 2 * columns + 4 * rows
    error = np.abs(y.numpy()[:64] - wanted).max() / np.abs(wanted).max()
    rate = moved / took
    say(f"{name}: {took * 1e6:.1f} us, {rate / 1e9:.0f} GB/s, {rate / RATES['here']:.2f}x of a copy, error {error:.1e}")


def forms() -> dict[str, Callable[[], None]]:
    found: dict[str, Callable[[], None]] = {}
    for values in (8,):
        for staged in (True,):
            for backwards in (False, True):
                for threads in (128, 256, 512):
                    name = f"scan {threads} x {values}{' staged' * staged}{' backwards' * backwards}"
                    form = {"threads": threads, "values": values, "staged": staged, "backwards": backwards}
                    found[name] = partial(time_scan, name, **form)
    for height in (16384, 4096):
        for rows, threads in ((2, 128), (4, 64), (4, 128), (4, 256), (8, 64)):
            for magic, ahead, wide in product((False, True), repeat=3):
                words = f"{' in place' * magic}{' ahead' * ahead}{' wide' * wide}"
                name = f"int4 of {height} rows, {rows} rows, {threads} threads{words}"
                if height == 16384 or (rows < 8 and wide):
                    form = {"rows": rows, "threads": threads, "magic": magic, "ahead": ahead, "wide": wide}
                    found[name] = partial(time_matvec, name, height, **form)
    return found


def work(name: str) -> None:
    """One form, after the copy that it is compared with."""
    if not RATES:
        time_copy()
    forms()[name]()


def main() -> None:
    """Time all forms, or some."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--small", action="store_true", help="small sizes, for a software device")
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--limit", type=float, default=30.0, help="seconds for one form")
    options.add_argument("--total", type=float, default=240.0, help="seconds for all")
    chosen = options.parse_args()
    os.environ["EXAMPLES_SMALL"] = "1" if chosen.small else "0"
    names = [n for n in forms() if not chosen.only or any(part in n for part in chosen.only.split(","))]
    run_limited(work, names, limit=chosen.limit, total=chosen.total)


if __name__ == "__main__":
    main()
