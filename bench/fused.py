"""Chains of operations as one kernel by `gpu.fused`, timed beside the same calls one after the other, and a copy.

    python bench/fused.py [--small] [--rounds 5]

Device times by timestamps of recorded launches, which keep the device busy (where it waits for the host its clock
falls, on an H200 from 1980 to 345 MHz), medians of rounds in which all take turns after 0.3 s; each result is compared
with NumPy in a part. A rate is what must be read and written over the time; the bar: 0.95 of that of `gpu.copy`, by one
kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from ragged import error_of, medians

from cutepy import gpu, ops

PART = 3
"""Rows that are compared."""
Case = tuple[str, Callable[[], Any], int, Callable[[Any], float], int]
"""A name, the calls, the bytes they must move, the error of what they give, and the kernels of a block of them."""


def cases(small: bool) -> list[Case]:
    """Chains over rows of 16,384, over rows of 512, and after a product."""
    rng, found = np.random.default_rng(0), []
    for rows, columns in ((64, 96), (64, 32)) if small else ((4096, 16384), (131072, 512)):
        array = rng.random((rows, columns), np.float32)
        row = rng.random(columns, np.float32)
        x, w, other = gpu.array(array), gpu.array(row), gpu.array(array)
        part, shape, once = array[:PART].astype(np.float64), f"{rows} x {columns}", array.nbytes

        def chain(x: Any = x) -> Any:
            return ops.sqrt(ops.maximum(ops.add(ops.mul(ops.exp(ops.sub(x, 1.0)), 2.0), x), 0.5))

        def two(x: Any = x, w: Any = w, other: Any = other) -> Any:
            return ops.add(ops.mul(ops.tanh(ops.sub(ops.mul(x, 0.5), other)), w), 1.0)

        def sums(x: Any = x, w: Any = w) -> Any:
            return ops.sum(ops.mul(ops.exp(ops.sub(x, 1.0)), w), 1)

        def normed(x: Any = x, w: Any = w) -> Any:
            return ops.mul(ops.mul(x, ops.rsqrt(ops.add(ops.mean(ops.mul(x, x), 1, keepdims=True), 1e-5))), w)

        of_chain = np.sqrt(np.maximum(np.exp(part - 1) * 2 + part, 0.5))
        rooted = part / np.sqrt((part * part).mean(1, keepdims=True) + 1e-5) * row
        found.append((f"gpu.copy {shape}", copied(x, other), 2 * once, lambda y, p=part: error_of(rows_of(y), p), 1))
        for name, calls, work, wanted, kernels in (
            ("chain of 6", chain, 2 * once, of_chain, 1),
            ("chain of 5 over two", two, 3 * once, np.tanh(part * 0.5 - part) * row + 1, 1),
            ("chain and row sum", sums, once, (np.exp(part - 1) * row).sum(1), 1),
            ("RMS norm", normed, 3 * once, rooted, 2),
        ):
            found += both(f"{name} {shape}", calls, work, wanted, kernels)
    m = 64 if small else 2048
    a, b = (rng.random((m, m), np.float32) - np.float32(0.5) for _ in range(2))
    x, y, bias = gpu.array(a), gpu.array(b), gpu.array(a[0].copy())

    def layer(x: Any = x, y: Any = y, bias: Any = bias) -> Any:
        return ops.maximum(ops.add(ops.mul(ops.matmul(x, y), 0.5), bias), 0.0)

    wanted = np.maximum((a[:PART].astype(np.float64) @ b) * 0.5 + a[0], 0)
    return found + both(f"product and its finish {m}", layer, 3 * a.nbytes, wanted, 1)


def copied(x: Any, other: Any) -> Callable[[], Any]:
    """A copy, which gives its target."""

    def launch() -> Any:
        gpu.copy(x, other)
        return other

    return launch


def both(name: str, calls: Callable[[], Any], work: int, wanted: Any, kernels: int) -> list[Case]:
    """The calls one after the other, and fused."""
    return [
        (f"{name}, called", calls, work, lambda y: error_of(rows_of(y), wanted), 0),
        (f"{name}, fused", gpu.fused()(calls), work, lambda y: error_of(rows_of(y), wanted), kernels),
    ]


def recorded(launch: Callable[[], Any]) -> tuple[Any, Any]:
    """The launches of a call, to be played, and its result, which each play writes."""
    with gpu.record() as step:
        result = launch()
    return step, result


def rows_of(y: Any) -> Any:
    """The rows of a result that are compared."""
    return ops.crop(y, [(0, PART), *[(0, n) for n in y.shape[1:]]]).numpy()


def main() -> None:
    """Time all and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    device, every = gpu.default_device(), cases(arguments.small)
    print(device.adapter.summary, flush=True)
    for name, launch, _work, error, kernels in every:
        wrong = error(launch())
        assert wrong < 1e-4, (name, wrong)
        with gpu.profile() as profile:
            launch()
        count = sum(kernel.launches for kernel in profile.kernels)
        assert not kernels or count == kernels, (name, profile)
    steps = [recorded(launch) for _name, launch, *_rest in every]
    times = medians(device, [step.play for step, _result in steps], arguments.rounds, small=arguments.small)
    copy = 0.0
    for (name, _launch, work, *_rest), median in zip(every, times, strict=True):
        rate = work / median / 1e9
        copy = rate if name.startswith("gpu.copy") else copy
        print(f"{name:42} {median * 1e3:9.3f} ms {rate:9.1f} GB/s {rate / copy:6.2f} of a copy", flush=True)


if __name__ == "__main__":
    main()
