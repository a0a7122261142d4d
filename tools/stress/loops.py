"""Loops and products of many turns: right, or refused before they run, on a driver that ends loops early.

    python tools/stress/loops.py [--runtime wgpu|dawn]

The exit status is 1 where anything was wrong and nothing said so.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings

import numpy as np

COUNTS = (1000, 65_534, 65_535, 65_536, 65_537, 100_000, 1_000_000)
NESTED = (
    (300, 217),
    (1000, 64),
    (8000, 7),
    (21_000, 2),
    (2, 32_766),
    (10, 6000),
    (300, 300),
    (1000, 1000),
    (65_000, 3),
    (3, 65_000),
    (2, 32_000),
    (70_000, 2),
)
DEPTHS = (65_535, 65_536, 1_000_000, 1_500_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", default="wgpu")
    os.environ["CUTEPY_RUNTIME"] = parser.parse_args().runtime
    from cutepy import gpu, ops
    from cutepy.errors import DeviceError

    @gpu.kernel
    def by_parameter(y, n: np.uint32, m: np.uint32):
        gpu.launch(grid=1, threads=64)
        a = gpu.cast(0, "u32")
        for _ in gpu.loop(n):
            for _ in gpu.loop(m):
                a = a + 1
        y[gpu.thread] = a

    @gpu.kernel
    def by_constant(y, *, n, m):
        gpu.launch(grid=1, threads=64)
        a = gpu.cast(0, "u32")
        for _ in gpu.loop(n):
            a = a + 1
        for _ in gpu.loop(m):
            a = a + 1
        y[gpu.thread] = a

    @gpu.kernel
    def by_thread(y, *, n):
        gpu.launch(grid=1, threads=64)
        a = gpu.cast(0, "u32")
        for _ in gpu.loop(n - gpu.thread):
            a = a + 1
        y[gpu.thread] = a

    y, wrong, refused, right, warned = gpu.array(np.zeros(64, np.uint32)), [], 0, 0, 0

    def judge(name: str, call, expected: int) -> None:
        nonlocal refused, right, warned
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                call()
            except DeviceError as error:
                refused += 1
                if "turns" not in str(error):
                    wrong.append(f"{name}: {error}")
                return
        found = y.numpy()[0]
        right += found == expected
        warned += bool(said)
        if found != expected and not said:
            wrong.append(f"{name}: {found}, not {expected}")

    for n in COUNTS:
        judge(f"{n} turns of a parameter", lambda n=n: by_parameter(y, 1, n), n)
        judge(f"{n} turns in two loops", lambda n=n: by_constant(y, n=n // 2, m=n - n // 2), n)
        judge(f"{n} by thread", lambda n=n: by_thread(y, n=n), n)
    for n, m in NESTED:
        judge(f"{n} times {m} turns", lambda n=n, m=m: by_parameter(y, n, m), n * m)
    for k in DEPTHS:
        a, b = np.ones((8, k), np.float32), np.ones((k, 8), np.float32)
        for plan in (None, gpu.Plan()):
            try:
                found = ops.matmul(gpu.array(a), gpu.array(b), plan=plan).numpy()
            except DeviceError as error:
                refused += "turns" in str(error)
                continue
            right += np.all(found == k)
            if np.any(found != k):
                wrong.append(f"a product of k = {k} by {plan}: {found[0, 0]}")
    print(f"{right} right, {refused} refused, {warned} warned of, {len(wrong)} wrong", *wrong, sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
