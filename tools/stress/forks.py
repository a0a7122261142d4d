"""Processes that are forked from one that has used its device: right, or one DeviceError within a second.

    python tools/stress/forks.py [COUNT] [--runtime wgpu|dawn]

Each of COUNT children is forked while launches are queued, and works, uses a tensor of the parent, ends by itself, is
one of `multiprocessing` or of a pool, or forks again. The parent computes on. The exit status is 1 where a child hung,
crashed or computed wrong.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import os
import sys
import time
from collections.abc import Callable

import numpy as np

SECONDS = 30.0
"""A child that takes longer hangs; on a busy machine a first device takes 2 s."""
WITHIN = 2.0
"""Seconds in which a tensor of the parent says what it is; it takes 0.001."""
VALUES = np.arange(4096, dtype=np.float32)


def work() -> str:
    """What a process says after work on its own device."""
    from cutepy import gpu
    from cutepy.errors import DeviceError

    try:
        if not np.array_equal(gpu.array(VALUES).numpy(), VALUES):
            return "a wrong read"
        return "right" if float(gpu.pointwise("a + 1")(gpu.array(VALUES)).numpy().sum()) == 8390656 else "a wrong sum"
    except DeviceError as error:
        return "right" if "forked" in str(error) else f"an error: {error}"


def in_child(run: Callable[[], str]) -> str:
    """What a forked child says: its exit status is 0 where it says "right"."""
    pid = os.fork()
    if pid == 0:
        try:
            said = run()
        except SystemExit:
            raise
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        if said != "right":
            print(f"  a child: {said}", file=sys.stderr, flush=True)
        os._exit(said != "right")
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return "right" if code == 0 else f"ended with {code}"
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hung"


def rounds(count: int) -> list[str]:
    """What went wrong in so many forks."""
    from cutepy import gpu
    from cutepy.errors import DeviceError

    x = gpu.array(VALUES)
    add = gpu.pointwise("a + 1")
    add(x).numpy()
    wrong: list[str] = []

    def old() -> str:
        start = time.perf_counter()
        try:
            x.numpy()
        except DeviceError as error:
            quick = time.perf_counter() - start < WITHIN
            return "right" if "before this process was forked" in str(error) and quick else f"late or other: {error}"
        return "a tensor of the parent was read"

    def ends() -> str:
        sys.exit(0)

    def process() -> str:
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join(SECONDS)
        return "right" if child.exitcode == 0 else f"multiprocessing: {child.exitcode}"

    def pool() -> str:
        fork = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=fork) as executor:
            return executor.submit(work).result(SECONDS)

    kinds = {
        "work": lambda: in_child(work),
        "a parent's tensor": lambda: in_child(old),
        "an end": lambda: in_child(ends),
        "work and an end": lambda: in_child(lambda: work() and ends()),
        "a child of a child": lambda: in_child(lambda: in_child(work)),
        "multiprocessing": process,
        "a pool": pool,
    }
    for turn in range(count):
        name = list(kinds)[turn % len(kinds)]
        queued = [add(x) for _ in range(20)]
        said = kinds[name]()
        if said != "right":
            wrong.append(f"{turn}, {name}: {said}")
        if not all(np.array_equal(each.numpy(), VALUES + 1) for each in queued):
            wrong.append(f"{turn}, {name}: the parent's results are wrong")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=140)
    parser.add_argument("--runtime", default="wgpu")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = rounds(options.count)
    print(f"{options.runtime}: {options.count} forks, {len(wrong)} wrong", *wrong[:20], sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
