"""Views of one host array: a kernel stores what it changed, and views that share no element go together.

    python tools/stress/views.py [CALLS] [PAIRS] [--runtime wgpu|dawn]

Two threads call a kernel, each on its own interleaved view of one array, CALLS times together, while the main thread
counts in the elements of neither. Then PAIRS of views are given to one kernel: those that share an element are refused,
told by all addresses of each, and the others give what NumPy gives. The exit status is 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading

import numpy as np

SPLITS = (
    ("columns", np.s_[:, :20], np.s_[:, 20:40], np.s_[:, 40:]),
    ("every third column", np.s_[:, 0::3], np.s_[:, 1::3], np.s_[:, 2::3]),
    ("every third row", np.s_[0::3], np.s_[1::3], np.s_[2::3]),
    ("backwards", np.s_[::-1, 0:60:4], np.s_[::-1, 1:60:4], np.s_[:, 2:60:4]),
)


def kernels():
    from cutepy import ceil_div, gpu, size

    @gpu.kernel
    def add_one(x):
        gpu.launch(grid=ceil_div(size(x), 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        with gpu.when(i < size(x)):
            x[i] = x[i] + 1

    @gpu.kernel
    def both(x, y):
        gpu.launch(grid=ceil_div(max(size(x), size(y)), 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        with gpu.when(i < size(x)):
            x[i] = x[i] + 1
        with gpu.when(i < size(y)):
            y[i] = y[i] * 2

    return add_one, both


def in_threads(calls: int) -> list[str]:
    """What was lost where two threads and this one write interleaved elements of an array."""
    add_one, _ = kernels()
    wrong, each = [], max(1, calls // (2 * len(SPLITS)))
    for name, first, second, third in SPLITS:
        base = np.zeros((60, 60), np.float32)
        own, errors = base[third], []

        def work(view: np.ndarray, errors: list[BaseException] = errors) -> None:
            try:
                for _ in range(each):
                    add_one(view)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(base[part],)) for part in (first, second)]
        for thread in threads:
            thread.start()
        count = 0
        while any(thread.is_alive() for thread in threads):
            count += 1
            own[:] = count
            if np.any(own != count):
                wrong.append(f"{name}: what the main thread wrote is lost")
        wrong += [f"{name}: {type(each_error).__name__}: {each_error}" for each_error in errors]
        if np.any(base[first] != each) or np.any(base[second] != each) or np.any(own != count):
            wrong.append(f"{name}: {np.unique(base[first])}, {np.unique(base[second])} of {each} calls each")
    return wrong


def random_view(pick: random.Random, base: np.ndarray) -> np.ndarray:
    view = base
    for _ in range(pick.randrange(1, 3)):
        at = []
        for extent in view.shape:
            start, step = pick.randrange(extent), pick.choice((1, 1, 2, 3, -1, -2))
            stop = min(extent, start + pick.randrange(1, 9)) if step > 0 else None
            at.append(slice(start, stop, step))
        view = view[tuple(at)]
    return view.T if pick.random() < 0.3 else view


def addresses(view: np.ndarray) -> set[int]:
    """The addresses of all elements, by arithmetic on the strides alone."""
    found = {view.ctypes.data}
    for extent, step in zip(view.shape, view.strides, strict=True):
        found = {at + i * step for at in found for i in range(extent)}
    return found


def pairs(count: int, seed: int = 0) -> list[str]:
    """Pairs that were told wrong, or computed wrong."""
    from cutepy.errors import KernelError

    _, both = kernels()
    pick, wrong, apart = random.Random(seed), [], 0
    for turn in range(count):
        base = np.arange(6 * 7 * 4, dtype=np.float32).reshape(6, 7, 4)
        expected = base.copy()
        state = pick.getstate()
        x, y = random_view(pick, base), random_view(pick, base)
        pick.setstate(state)
        other_x, other_y = random_view(pick, expected), random_view(pick, expected)
        disjoint = addresses(x).isdisjoint(addresses(y))
        same = x.ctypes.data == y.ctypes.data and x.size == y.size == 1  # one memory, bound once: both write it
        apart += disjoint
        other_x += 1
        other_y *= 2
        try:
            both(x, y)
        except KernelError as error:
            if disjoint or "overlaps" not in str(error):
                wrong.append(f"{turn}: {x.strides} {x.shape} and {y.strides} {y.shape}: {error}")
            continue
        if not disjoint and not same and x.__array_interface__ != y.__array_interface__ and not covered(x, y):
            wrong.append(f"{turn}: views that share elements are taken")
        elif disjoint and not np.array_equal(base, expected):
            wrong.append(f"{turn}: a wrong result")
    return wrong if count < 10 or apart else ["no pair was apart"]


def covered(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two views span the same memory, which is then bound once."""
    return (min(addresses(x)), max(addresses(x))) == (min(addresses(y)), max(addresses(y)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="?", type=int, default=10_000)
    parser.add_argument("pairs", nargs="?", type=int, default=1000)
    parser.add_argument("--runtime", default="wgpu")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = in_threads(options.calls) + pairs(options.pairs)
    print(f"{options.calls} calls, {options.pairs} pairs of views: {len(wrong)} wrong", *wrong[:20], sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
