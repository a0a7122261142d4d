"""A device that is destroyed from outside at a random moment: one DeviceError, and the next default device works.

    python tools/stress/losses.py [PROCESSES] [--runtime wgpu|dawn] [--seed FIRST] [--tuning]

Each process launches, reads, uploads or allocates (tunes, with --tuning) in a loop while another thread destroys the
device, by wgpu-py's `destroy` or by the function of C. The exit status is 1 where a process aborted or hung, was told
otherwise, or its next device did not work.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading

import numpy as np

WAYS = ("launching", "reading", "uploading", "allocating", "waiting", "tuning")
SECONDS = 60


def once(seed: int, how: str) -> str:
    """What one process says: "right", or what was wrong."""
    from cutepy import gpu
    from cutepy.errors import DeviceError

    pick = random.Random(seed)
    device = gpu.default_device()
    values = np.arange(4096, dtype=np.float32)
    add = gpu.pointwise("a + 1")
    x, large = gpu.array(values), gpu.array(np.ones(3_000_000, np.float32))
    add(x).numpy(), large.numpy()
    ways = {
        "launching": lambda: add(x),
        "reading": lambda: (large if pick.random() < 0.3 else add(x)).numpy(),
        "uploading": lambda: gpu.array(values, device=device),
        "allocating": lambda: gpu.empty(100_000, device=device),
        "waiting": lambda: (add(x), device.wait()),
    }

    def destroy() -> None:
        if seed % 2:
            device.gpu.destroy()
        else:
            device.runtime.api.libf.wgpuDeviceDestroy(device.gpu._internal)

    threading.Timer(0.002 + pick.random() * 0.03, destroy).start()
    try:
        if how == "tuning":
            small = gpu.array(np.ones((64, 64), np.float32))
            while True:
                gpu.tune(small, small, seconds=1, limit=1, again=True, progress=False)
                x.numpy()
        while True:
            ways[how]()
    except DeviceError as error:
        if "was lost" not in str(error):
            return f"told otherwise: {error}"
    for call in ways.values():
        try:
            call()
        except DeviceError as error:
            if "was lost" not in str(error) and "new device" not in str(error):
                return f"told otherwise: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        else:
            return "a call on a lost device came back"
    if device.alive:
        return "it is still alive"
    return "right" if np.array_equal(add(gpu.array(values)).numpy(), values + 1) else "the next device is wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("processes", nargs="?", type=int, default=200)
    parser.add_argument("--runtime", default="wgpu")
    parser.add_argument("--seed", type=int, default=0, help="of the first process")
    parser.add_argument("--tuning", action="store_true", help="tune in every process, which takes seconds each")
    parser.add_argument("--once", nargs=2, metavar=("SEED", "WAY"), help="one process, as this script starts it")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    if options.once:
        print(once(int(options.once[0]), options.once[1]))
        return
    wrong = []
    for seed in range(options.seed, options.seed + options.processes):
        how = "tuning" if options.tuning else WAYS[seed % (len(WAYS) - 1)]
        command = [sys.executable, __file__, "--runtime", options.runtime, "--once", str(seed), how]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            wrong.append(f"{seed}, {how}: hung")
            continue
        said = done.stdout.strip().rpartition("\n")[2]
        if done.returncode or said != "right":
            wrong.append(f"{seed}, {how}: status {done.returncode}, {said or done.stderr.strip()[-300:]}")
    print(
        f"{options.runtime}: {options.processes} processes from seed {options.seed}, {len(wrong)} wrong",
        *wrong[:20],
        sep="\n  ",
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
