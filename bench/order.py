"""Order along rows, beside torch where it is: `python bench/order.py [--small] [--rounds 5]`.

Device times by timestamps, medians of rounds in which all take turns after 0.3 s, each order compared with NumPy's of
two rows; torch's by its own events, in microseconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from ragged import medians

from cutepy import gpu, ops

SHAPES = (((1, 1 << 20), 50), ((4096, 1024), 50), ((2048, 4096), 50), ((64, 50_000), 50), ((100_000, 100), 5))
"""Rows and columns, and the k of top_k."""


def torch_time(x: np.ndarray, call: Callable[[Any], object]) -> str:
    """What torch takes for a call on its device, in words; nothing where it has none."""
    try:
        import torch
    except ImportError:
        return ""
    if not torch.cuda.is_available():
        return ""
    there = torch.tensor(x, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for turn in range(70):
        if turn == 20:
            begin.record()
        call(there)
    end.record()
    torch.cuda.synchronize()
    return f"   torch {begin.elapsed_time(end) / 50 * 1e3:8.1f}"


def main() -> None:
    """Time all and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    device, rng = gpu.default_device(), np.random.default_rng(0)
    print(device.adapter.summary, flush=True)
    for shape, k in (((3, 300), 5), ((2, 2100), 5)) if arguments.small else SHAPES:
        array = rng.standard_normal(shape, np.float32)
        x = gpu.array(array)
        assert np.array_equal(ops.argsort(x).numpy()[:2], np.argsort(array[:2], 1, stable=True))
        calls = (lambda x=x: ops.sort(x)), (lambda x=x: ops.argsort(x)), (lambda x=x, k=k: ops.top_k(x, k))
        times = medians(device, calls, arguments.rounds, small=arguments.small)
        theirs = (lambda t: t.sort(dim=1, stable=True)), None, (lambda t, k=k: t.topk(k, 1))
        for name, seconds, call in zip(("sort", "argsort", f"top_k {k}"), times, theirs, strict=True):
            beside = torch_time(array, call) if call else ""
            print(f"{shape[0]:7} x {shape[1]:<8} {name:9} {seconds * 1e6:9.1f} us{beside}", flush=True)


if __name__ == "__main__":
    main()
