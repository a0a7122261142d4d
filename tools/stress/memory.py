"""Memory that a device holds: what lives, and no more than half as much again.

    python tools/stress/memory.py [ALLOCATIONS] [SECONDS] [--runtime wgpu|dawn]

ALLOCATIONS of 10 MB are made, one alive at a time; then 8 threads allocate, launch and read for SECONDS; 0 leaves
either out. Counted are the process's own memory and, where `nvidia-smi` is, that of the GPU. The exit status is 1 where
more than 1.5 times what lives and 200 MB are held, a result was wrong or a buffer stayed.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

EACH = 2_500_000
MARGIN = 200 << 20


def resident() -> int:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def on_gpu() -> int:
    """Bytes that are in use on the GPU, by everyone; 0 where nothing tells."""
    if shutil.which("nvidia-smi") is None:
        return 0
    ask = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    said = subprocess.run(ask, capture_output=True, text=True).stdout.split()
    return sum(int(each) for each in said if each.isdigit()) << 20


def one_alive(count: int) -> list[str]:
    """What is wrong with the memory of so many allocations, one after the other."""
    from cutepy import gpu

    most, most_gpu, ways = 0, 0, {"empty": lambda: gpu.empty(EACH), "array": lambda: gpu.array(ones)}
    ones, wrong = np.ones(EACH, np.float32), []
    for name, make in ways.items():
        tensor = make()
        before, before_gpu = resident(), on_gpu()
        for i in range(count if name == "empty" else max(1, count // 20)):
            tensor = make()
            if i % 50 == 0:
                most = max(most, resident() - before)
                most_gpu = max(most_gpu, on_gpu() - before_gpu) if i % 500 == 0 else most_gpu
        most = max(most, resident() - before)
        del tensor
        print(f"{name}: {most >> 20} MB more at most, {most_gpu >> 20} MB on the GPU, 10 MB alive", flush=True)
        if max(most, most_gpu) > 0.5 * 4 * EACH + MARGIN:
            wrong.append(f"{name}: {most >> 20} MB, {most_gpu >> 20} MB on the GPU")
    return wrong


def in_threads(seconds: float) -> list[str]:
    """What was wrong where 8 threads work for so many seconds."""
    from cutepy import gpu

    device, errors = gpu.default_device(), []
    add = gpu.pointwise("a + 1")
    add(gpu.array(np.ones(100, np.float32))).numpy()
    gc.collect()
    device.wait()
    before, held, end = device.stats, resident(), time.perf_counter() + seconds

    def work(seed: int) -> None:
        pick = random.Random(seed)
        try:
            while time.perf_counter() < end:
                values = np.full(pick.choice((100, 4096, 100_000)), pick.randrange(1000), np.float32)
                if not np.array_equal(add(gpu.array(values)).numpy(), values + 1):
                    errors.append(f"thread {seed}: a wrong result")
        except Exception as error:
            errors.append(f"thread {seed}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    device.wait()
    after, more = device.stats, resident() - held
    print(f"8 threads: {after.submissions - before.submissions} submissions, {more >> 20} MB more", flush=True)
    if after.buffers > before.buffers + 16:  # the pool keeps some of each size
        errors.append(f"{before} became {after}")
    if more > MARGIN:
        errors.append(f"{more >> 20} MB more are held")
    return errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("allocations", nargs="?", type=int, default=10_000)
    parser.add_argument("seconds", nargs="?", type=float, default=600)
    parser.add_argument("--runtime", default="wgpu")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = one_alive(options.allocations) if options.allocations else []
    wrong += in_threads(options.seconds) if options.seconds else []
    print(f"{options.runtime}: {len(wrong)} wrong", *wrong[:20], sep="\n  ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
