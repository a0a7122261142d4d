"""Dawn on a real GPU, in one go: `python tools/h200_dawn.py [SECONDS]` (the tests get so many, default 200).

The adapters of both runtimes with their matrices; on each runtime, 5,000 launches and the device time of a product;
then the tests of tests/device on Dawn. Each line is printed as soon as it is known.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cutepy import gpu, ops  # noqa: E402  found by the path above
from cutepy.errors import DeviceError  # noqa: E402
from cutepy.gpu.runtime import adapters, missing_runtimes, open_device  # noqa: E402

LAUNCHES, SIDE = 5_000, 2048


@gpu.kernel
def add_one(x):
    gpu.launch(threads=64)
    x[gpu.thread] = x[gpu.thread] + 1


def say(*words: object) -> None:
    print(*words, flush=True)


def list_adapters() -> None:
    for adapter in adapters():
        say(f"{adapter.index}: {adapter.summary}, driver {adapter.driver}")
        say(f"   matrices: {', '.join(map(str, adapter.matrices)) or adapter.no_matrices}")
    for name, why in missing_runtimes().items():
        say(f"{name}: {why}")


def try_device(runtime: str, checked: bool) -> None:
    """Many small launches, and a product on the device's own clock."""
    device = open_device(runtime=runtime, checked=checked)
    say(f"{device}, checked={checked}: {', '.join(sorted(device.features))}")
    x = gpu.array(np.zeros(64, np.float32), device=device)
    add_one(x)
    device.wait()
    start = time.perf_counter()
    for _ in range(LAUNCHES - 1):
        add_one(x)
    right = bool((x.numpy() == LAUNCHES).all())
    say(f"   {LAUNCHES} launches: {(time.perf_counter() - start) / LAUNCHES * 1e6:.1f} us each, right: {right}")
    a, b = (np.random.default_rng(i).standard_normal((SIDE, SIDE), dtype=np.float32) for i in range(2))
    left, right_ = gpu.array(a, device=device), gpu.array(b, device=device)
    end = time.perf_counter() + 0.3  # the clock is low while a pipeline compiles
    while time.perf_counter() < end:
        product = ops.matmul(left, right_)
        device.wait()
    with device.timed() as watch:
        for _ in range(10):
            product = ops.matmul(left, right_)
    error = np.abs(product.numpy()[:64] - a[:64].astype(np.float64) @ b).max() / np.abs(a[:64] @ b).max()
    say(f"   f32 {SIDE}^3: {20 * SIDE**3 / watch.seconds / 1e12:.1f} TFLOP/s, error {error:.1e}")
    device.close()


def main(seconds: float) -> int:
    list_adapters()
    for runtime, checked in (("wgpu", False), ("dawn", False), ("dawn", True)):
        try:
            try_device(runtime, checked)
        except DeviceError as error:
            say(f"{runtime}: {error}")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "dawn", "--durations=5"]
    try:
        return subprocess.run([*tests, "tests/device"], cwd=ROOT, timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        say(f"tests/device: not done in {seconds:.0f} s")
        return 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 200))
