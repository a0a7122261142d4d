"""Milliseconds of processor time to trace, lower and print the eight examples that people come for, the first time.

    python bench/tracing.py [--times 15]

The least of several, each with a kernel of its own that remembers nothing; and what the control-flow pass takes of it,
which reads the text once. Then kernels whose expressions share what they are made of: Philox in a dropout, Newton's
square root in 14 steps, and a chain of 4,000 operations, traced and interpreted.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gpu"))
import example_cases
from test_sharing import dropout, dropout_arguments, repeated

from cutepy.gpu.trace import syntax
from cutepy.gpu.trace.kernel import KernelFunction

EIGHT = ("attention", "layer_norm", "convolution", "scan", "top_k", "int4_matvec", "dropout", "fft")
TIMES = int(sys.argv[sys.argv.index("--times") + 1]) if "--times" in sys.argv else 15


def least(run: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    took = []
    for _ in range(TIMES):
        start = time.process_time()
        run()
        took.append(time.process_time() - start)
    return min(took) * 1e3


def of_example(name: str, variant: str) -> None:
    """One example in one of its layouts."""
    example = example_cases.make(name, variant)
    function = example.kernel.function
    text = least(lambda: KernelFunction(function).wgsl(*example.arguments, **example.static))
    control = least(lambda: syntax._rewrite(function))
    print(f"{name}, {variant}: {text:.1f} ms, the control-flow pass {control:.1f} ms", flush=True)


def measure(name: str, kernel: KernelFunction, *arguments: np.ndarray, **static: object) -> None:
    """Traced and interpreted."""
    text = least(lambda: KernelFunction(kernel.function).wgsl(*arguments, **static))
    run = least(lambda: KernelFunction(kernel.function).interpret(*arguments, **static))
    print(f"{name}: traced in {text:.0f} ms, traced and interpreted in {run:.0f} ms", flush=True)


if __name__ == "__main__":
    for name in EIGHT:
        for variant in example_cases.VARIANTS[name]:
            of_example(name, variant)
    TIMES = 3
    measure("Philox-4x32-10", dropout, *dropout_arguments())
    x, y = np.linspace(0.5, 1.2, 64).astype(np.float32), np.zeros(64, np.float32)
    for times in (14, 1000):
        static = {"step": "a float three times", "times": times, "how": "one number"}
        measure(f"Newton, {times} steps", repeated, x, y, **static)
