"""Ctrl-C at random moments: does the process live, and is the next call right?

    python tools/stress/interrupts.py [COUNT] [--what reading launching allocating tracing tuning] [--runtime wgpu|dawn]
                                      [--seed N] [--seconds MOST] [--tuned SECONDS]

SIGINT comes COUNT times while a call runs, or as often as fits in MOST seconds, and then calls are made whose values
are known. Printed are the interrupts that arrived inside, the calls that were wrong or refused afterwards, and what
stayed allocated. The exit status is 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

N = 4096
VALUES = np.arange(N, dtype=np.float32)


class Presser:
    """A thread that sends SIGINT to this process after so many seconds."""

    def __init__(self) -> None:
        self.delays: queue.SimpleQueue[float] = queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            time.sleep(self.delays.get())
            os.kill(os.getpid(), signal.SIGINT)


def rounds(
    what: str, count: int, seed: int = 0, seconds: float = float("inf"), tuned: float = 10
) -> tuple[int, list[str]]:
    """Interrupts that arrived inside cutepy's calls, and what went wrong afterwards."""
    from cutepy import gpu, ops

    pick = random.Random(seed)

    @gpu.kernel
    def scale(x, y, *, c):
        gpu.launch(grid=N // 64, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        y[i] = x[i] * c

    device = gpu.default_device()
    x, y, large = gpu.array(VALUES), gpu.empty(N), gpu.array(np.ones(4_000_000, np.float32))
    a = np.float32(np.arange(60 * 50).reshape(60, 50) % 7)
    da, db = gpu.array(a), gpu.array(a.T.copy())

    def launching() -> None:
        for _ in range(40):
            scale(x, y, c=2)

    def allocating() -> None:
        for size in (10, 1000, 100_000):
            gpu.array(np.ones(size, np.float32))
            gpu.empty(size)

    def tracing() -> None:
        scale(x, y, c=pick.randrange(3, 1 << 20))

    calls: dict[str, Callable[[], object]] = {
        "reading": lambda: (large.numpy(), y.numpy(), ops.sum(x).numpy()),
        "launching": launching,
        "allocating": allocating,
        "tracing": tracing,
        "tuning": lambda: gpu.tune(da, db, seconds=tuned, limit=8, again=True, progress=False),
    }

    def check() -> str:
        """What is wrong with calls made now; empty where nothing is."""
        c = pick.randrange(2, 1000)
        scale(x, y, c=c if what == "tracing" else 2)
        if not np.array_equal(y.numpy(), VALUES * (c if what == "tracing" else 2)):
            return "a launch"
        if not np.array_equal(gpu.array(VALUES).numpy(), VALUES):
            return "an upload"
        if float(ops.sum(gpu.array(VALUES[:100])).numpy()) != 4950:
            return "a sum"
        if not np.allclose(ops.matmul(da, db).numpy(), a @ a.T):
            return "a product"
        return "" if device.alive and gpu.default_device() is device else "the device"

    call, presser = calls[what], Presser()
    assert not check()
    lasts = float("inf")
    for _ in range(1 if what == "tuning" else 9):
        start = time.perf_counter()
        call()
        lasts = min(lasts, time.perf_counter() - start)
    before, arrived, wrong, end = device.stats, 0, [], time.perf_counter() + seconds
    for turn in range(10 * count):
        if arrived >= count or time.perf_counter() > end:
            break
        done = pressed = False
        try:
            presser.delays.put(pick.random() * lasts * 1.1)
            pressed = True
            call()
            done = True
            time.sleep(10)  # until it comes
        except KeyboardInterrupt:
            arrived += pressed and not done
        except Exception as error:
            wrong.append(f"{turn}: the interrupt became {type(error).__name__}: {str(error)[:200]}")
        try:
            if fault := check():
                wrong.append(f"{turn}: {fault} is wrong afterwards")
        except KeyboardInterrupt:
            wrong.append(f"{turn}: the interrupt came late")
        except Exception as error:
            wrong.append(f"{turn}: {type(error).__name__} afterwards: {str(error)[:200]}")
        if len(wrong) > 5:
            break
    gc.collect()
    device.wait()
    after = device.stats
    if after.buffers > before.buffers or after.bytes > before.bytes:
        wrong.append(f"{before} became {after}")
    if what == "tuning":
        time.sleep(3)
        left = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "tuner_worker"], capture_output=True, text=True)
        if left.stdout.split():
            wrong.append(f"processes that tune are left: {left.stdout.split()}")
    return arrived, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=500)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started this with SIGINT ignored
    every = ["reading", "launching", "allocating", "tracing", "tuning"]
    parser.add_argument("--what", nargs="*", default=every, choices=every)
    parser.add_argument("--runtime", default="wgpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each of --what, at most")
    parser.add_argument("--tuned", type=float, default=10, help="seconds that one tuning may take")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUTEPY_CACHE"] = folder
        for what in options.what:
            arrived, wrong = rounds(what, options.count, options.seed, options.seconds, options.tuned)
            print(f"{options.runtime}, {what}: {arrived} of {options.count} interrupts inside, {len(wrong)} wrong")
            print("".join(f"  {line}\n" for line in wrong), end="", flush=True)
            failed |= bool(wrong)
            if left := [path.name for path in Path(folder).iterdir() if path.name not in ("alone", "plans.json")]:
                print(f"  files are left: {left}")
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
