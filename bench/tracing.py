"""Seconds of processor time to trace and to interpret kernels whose expressions share what they are made of.

python bench/tracing.py: Philox-4x32-10 in a dropout, Newton's square root in 14 steps, and a chain of 4,000 operations.
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gpu"))
from test_sharing import dropout, dropout_arguments, repeated

from cutepy.gpu.trace.kernel import KernelFunction


def measure(name: str, kernel: KernelFunction, *arguments: np.ndarray, **static: object) -> None:
    """Print the best of three."""
    best = [9e9, 9e9]
    for _ in range(3):
        fresh = KernelFunction(kernel.function)
        for which, run in enumerate((fresh.wgsl, fresh.interpret)):
            start = time.process_time()
            run(*arguments, **static)
            best[which] = min(best[which], time.process_time() - start)
    print(f"{name:24} traced in {best[0]:.3f} s, interpreted in {best[1]:.3f} s")


if __name__ == "__main__":
    measure("Philox-4x32-10", dropout, *dropout_arguments())
    x, y = np.linspace(0.5, 1.2, 64).astype(np.float32), np.zeros(64, np.float32)
    for times in (14, 1000):
        static = {"step": "a float three times", "times": times, "how": "one number"}
        measure(f"Newton, {times} steps", repeated, x, y, **static)
