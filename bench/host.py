"""What calls cost the host: launches, results, views, small reads, recorded steps; medians in microseconds.

    python bench/host.py [--rounds 400]

A row is the time until the call returns, with tiny operands, the device waited for between groups of calls; submissions
are part of it. A read is the time until the number is there. torch's beside it, where it has a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from cutepy import Layout, Tensor, composition, gpu, local_tile, ops

GROUP = 64
"""Calls between two waits: two or three submissions."""


@gpu.kernel
def axpy(x, y, alpha):
    gpu.launch(grid=1, threads=64)
    y[gpu.thread] = alpha * x[gpu.thread] + y[gpu.thread]


def of_calls(call: Callable[[], object], wait: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Seconds of a call on the host: the median over groups of `GROUP`, with their submissions, and that of one call
    alone, as nearly all submit nothing."""
    groups, alone = [], []
    for _ in range(max(3, rounds // GROUP)):
        wait()
        times = [time.perf_counter()]
        for _ in range(GROUP):
            call()
            times.append(time.perf_counter())
        groups.append((times[-1] - times[0]) / GROUP)
        alone += [end - begin for begin, end in pairwise(times)]
    wait()
    return statistics.median(groups), statistics.median(alone)


def of_one(call: Callable[[], object], wait: Callable[[], object], rounds: int) -> tuple[float]:
    """Seconds of a call that waits for its own work: the median."""
    times = []
    for _ in range(rounds):
        wait()
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return (statistics.median(times),)


def theirs() -> tuple[dict[str, Callable[[], object]], Callable[[], object]]:
    """torch's calls of the same names, and its wait; none where it has no GPU."""
    try:
        import torch
    except ImportError:
        return {}, lambda: None
    if not torch.cuda.is_available():
        return {}, lambda: None
    x, a, b = (torch.ones(shape, device="cuda") for shape in ((64,), (8, 8), (8, 8)))
    calls = {
        "sum, a new result": lambda: torch.sum(x),
        "product, a new result": lambda: torch.matmul(a, b),
        "sum of two, a new result": lambda: torch.add(a, b),
        "float(sum)": lambda: float(torch.sum(x)),
        "a number read": lambda: float(x[0]),
    }
    return calls, torch.cuda.synchronize


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=640)
    rounds = parser.parse_args().rounds
    device = gpu.default_device()
    ones = np.ones(64, np.float32)
    x, y, z = gpu.array(ones), gpu.array(ones), gpu.array(ones)
    a, b = (gpu.array(np.ones((8, 8), np.float32)) for _ in "ab")
    wide = gpu.empty((8, 24))
    columns = Layout((8, 4, 2), (1, 8, 32))

    def view() -> Tensor:
        return composition(local_tile(wide, (8, 8), (0, 1)), columns)

    with gpu.record() as step:
        for _ in range(GROUP // 2):
            axpy(x, y, 2.0)
            axpy(y, z, 2.0)
    calls: dict[str, Callable[[], object]] = {
        "kernel": lambda: axpy(x, y, 2.0),
        "gpu.empty": lambda: gpu.empty((8, 8)),
        "gpu.array": lambda: gpu.array(ones),
        "a tile and a view of it": view,
        "sum, a new result": lambda: ops.sum(x),
        "product, a new result": lambda: ops.matmul(a, b),
        "sum of two, a new result": lambda: ops.add(a, b),
        "softmax, a new result": lambda: ops.softmax(a),
    }
    reads: dict[str, Callable[[], object]] = {
        "float(sum)": lambda: float(ops.sum(x).numpy()),
        "a number read": lambda: float(x.numpy()[0]),
        "a launch and the wait": lambda: (axpy(x, y, 2.0), device.wait()),
    }
    peers, peers_wait = theirs()
    print(f"{device.adapter.name}: host, us", flush=True)
    for name, call in (*calls.items(), *reads.items()):
        for _ in range(20):
            call()
        time_of = of_one if name in reads else of_calls
        whole, *alone = time_of(call, device.wait, rounds)
        line = f"{name:28} {1e6 * whole:8.1f}" + "".join(f"   a call alone {1e6 * one:6.1f}" for one in alone)
        if name in peers:
            for _ in range(20):
                peers[name]()
            line += f"   torch {1e6 * time_of(peers[name], peers_wait, rounds)[0]:8.1f}"
        print(line, flush=True)
    step.play()
    played = of_one(step.play, device.wait, rounds // 4)[0] / step.launches
    print(f"{'recorded, a launch':28} {1e6 * played:8.2f}   ({step.launches} launches)", flush=True)


if __name__ == "__main__":
    main()
