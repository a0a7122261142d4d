"""Forms of attention timed on a real GPU: `python tools/h200_attention.py [--only A,B] [--small] [--runtime dawn]`.

4 batches of 16 heads, 4,096 x 64. A line for each form as soon as it is known: device time, TFLOP/s, the error against
float64 of some rows, the seconds until its first launch was done. A form that takes longer than `--limit` is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tools"), str(ROOT / "examples" / "kernels")]

import numpy as np  # noqa: E402  found by the path above
from attention_matrices import Form as Matrices  # noqa: E402
from attention_matrices import attention as by_matrices  # noqa: E402
from attention_variants import Form  # noqa: E402
from attention_variants import attention as variant  # noqa: E402
from limited import run_limited, say  # noqa: E402

from examples import SMALL, on_torch, seconds_here, seconds_there, torch  # noqa: E402

FORMS = {
    "A 128x64 of 8x8, Q direct, V by chunks": Form(),
    "A8 8 of k": Form(deep=8),
    "A16 16 of k": Form(deep=16),
    "Ak8 K ahead": Form(deep=8, keys_ahead=True),
    "Av8 V ahead": Form(deep=8, values_ahead=True),
    "Akv8 both ahead": Form(deep=8, keys_ahead=True, values_ahead=True),
    "Q Q by slabs of 16": Form(slab=16),
    "Q8 Q by slabs of 16": Form(slab=16, deep=8),
    "Qkv8 Q by slabs of 16, both ahead": Form(slab=16, deep=8, keys_ahead=True, values_ahead=True),
}
HALVES = {
    "M f16, 4 subgroups of 32 rows, 32 keys": Matrices(),
    "Ma ahead": Matrices(ahead=True),
    "M2 2 subgroups": Matrices(subgroups=2),
    "M2a 2 subgroups, ahead": Matrices(subgroups=2, ahead=True),
    "M16 16 keys": Matrices(keys=16),
    "M16a 16 keys, ahead": Matrices(keys=16, ahead=True),
    "M8 16 keys, 8 subgroups": Matrices(keys=16, subgroups=8),
}
HALF = os.environ.get("ATTENTION_HALF") == "1"
FORMS = HALVES if HALF else FORMS
DTYPE = np.float16 if HALF else np.float32


@cache
def given() -> Any:
    """Q, K, V on the host, and O on rows of the first and the last head."""
    length, width, heads = (128, 64, 2) if SMALL else (4096, 64, 64)
    g = np.random.default_rng(0)
    return [g.standard_normal((heads, length, width), np.float32).astype(DTYPE).astype(np.float32) for _ in "QKV"]


def on_torch_too() -> Any:
    return on_torch(*(x.astype(DTYPE) for x in given()))


@cache
def right(causal: bool) -> Any:
    Q, K, V = given()
    heads, length, width = Q.shape
    rows, which = np.arange(0, length, max(1, length // 64)), [0, heads - 1]
    scores = np.einsum("hid,hjd->hij", Q[which][:, rows], K[which], dtype=np.float64) / np.sqrt(width)
    if causal:
        scores[:, np.arange(length) > rows[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return rows, which, np.einsum("hij,hjd->hid", weights / weights.sum(2, keepdims=True), V[which].astype(np.float64))


@cache
def on_device() -> Any:
    from cutepy import Layout, gpu, make_tensor

    Q, K, V = given()
    heads, length, width = Q.shape
    layout = Layout((length, width, heads), (width, 1, length * width))
    return [gpu.array(make_tensor(x.astype(DTYPE), layout)) for x in (Q, K, V, np.zeros_like(Q))]


def work(name: str) -> None:
    """One form, or torch."""
    causal = name.endswith("causal")
    heads, length, width = given()[0].shape
    flops = 4.0 * heads * width * (length * (length + 1) // 2 if causal else length**2)
    if name.startswith("torch"):
        if torch() is not None:
            on = [x.reshape(-1, min(16, heads), length, width) for x in on_torch_too()]
            product = torch().nn.functional.scaled_dot_product_attention
            took = seconds_there(partial(product, *on, is_causal=causal))
            say(f"{name}: {took * 1e3:.2f} ms, {flops / took / 1e12:.1f} TFLOP/s")
        return
    tensors, form = on_device(), FORMS[name.removesuffix(" causal")]
    begun = time.perf_counter()
    kernel = by_matrices if HALF else variant
    kernel(*tensors, causal=causal, form=form)
    tensors[-1].engine.buffer.read(np.uint32, 4)
    first = time.perf_counter() - begun
    took = seconds_here(lambda: kernel(*tensors, causal=causal, form=form))
    rows, which, wanted = right(causal)
    found = tensors[-1].numpy()[rows][:, :, which].transpose(2, 0, 1)
    error = np.abs(found - wanted).max() / np.abs(wanted).max()
    say(f"{name}: {took * 1e3:.2f} ms, {flops / took / 1e12:.1f} TFLOP/s, error {error:.1e}, first {first:.1f} s")


def main() -> None:
    """Time all forms, or some."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--small", action="store_true", help="small sizes, for a software device")
    options.add_argument("--only", default="", help="beginnings of names, with commas")
    options.add_argument("--limit", type=float, default=40.0, help="seconds for one form")
    options.add_argument("--total", type=float, default=400.0, help="seconds for all")
    options.add_argument("--causal", action="store_true")
    options.add_argument("--half", action="store_true", help="f16, by matrices of a subgroup: with --runtime dawn")
    options.add_argument("--runtime", choices=("wgpu", "dawn"), default="wgpu")
    chosen = options.parse_args()
    os.environ["CUTEPY_RUNTIME"] = chosen.runtime
    os.environ["EXAMPLES_SMALL"] = "1" if chosen.small else "0"
    os.environ["ATTENTION_HALF"] = "1" if chosen.half else "0"
    every = HALVES if chosen.half else FORMS
    names = [n for n in every if not chosen.only or n.split()[0] in chosen.only.split(",")]
    names = ["torch", *names] if not chosen.causal else ["torch causal", *(f"{n} causal" for n in names)]
    run_limited(work, names, limit=chosen.limit, total=chosen.total)


if __name__ == "__main__":
    main()
