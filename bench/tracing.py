"""Milliseconds of processor time to trace, lower and print the eight examples that people come for, the first time.

    python bench/tracing.py [--times 7] [NAME...]

The least of several fresh processes, each of which meets the kernel for the first time; and what the control-flow pass
takes of it: reading, rewriting and compiling the kernel, and what it calls of the user's functions and of cutepy's own.
Then kernels whose expressions share what they are made of: Philox in a dropout, Newton's square root in 14 steps, and a
chain of 4,000 operations, traced and interpreted.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gpu"))
import example_cases
from test_sharing import dropout, dropout_arguments, repeated

from cutepy.gpu.trace import rewrite_source
from cutepy.gpu.trace.kernel import KernelFunction

EIGHT = ("attention", "layer_norm", "convolution", "scan", "top_k", "int4_matvec", "dropout", "fft")


def timed(run: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


def once(name: str, variant: str) -> None:
    """What one process takes for the text, and the control-flow pass of that."""
    example, rewrite, control = example_cases.make(name, variant), rewrite_source._rewrite, [0.0]

    def watched(function: FunctionType) -> CodeType | None:
        found: list[CodeType | None] = []
        control[0] += timed(lambda: found.append(rewrite(function)))
        return found[0]

    rewrite_source._rewrite = watched
    text = timed(example.wgsl)
    print(text, control[0])


def of_example(name: str, variant: str, times: int) -> None:
    """One example in one of its layouts."""
    command = [sys.executable, __file__, "--once", name, variant]
    runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(times)]
    text, control = (min(map(float, taken)) for taken in zip(*runs, strict=True))
    print(f"{name}, {variant}: {text:.1f} ms, the control-flow pass {control:.1f} ms", flush=True)


def measure(name: str, kernel: KernelFunction, *arguments: np.ndarray, **static: object) -> None:
    """Traced and interpreted, the least of three."""
    text = min(timed(lambda: KernelFunction(kernel.function).wgsl(*arguments, **static)) for _ in range(3))
    run = min(timed(lambda: KernelFunction(kernel.function).interpret(*arguments, **static)) for _ in range(3))
    print(f"{name}: traced in {text:.0f} ms, traced and interpreted in {run:.0f} ms", flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", default=EIGHT)
    options = parser.parse_args()
    if options.once:
        once(*options.once)
        return
    for name in options.names:
        for variant in example_cases.VARIANTS[name]:
            of_example(name, variant, options.times)
    measure("Philox-4x32-10", dropout, *dropout_arguments())
    x, y = np.linspace(0.5, 1.2, 64).astype(np.float32), np.zeros(64, np.float32)
    for times in (14, 1000):
        static = {"step": "a float three times", "times": times, "how": "one number"}
        measure(f"Newton, {times} steps", repeated, x, y, **static)


if __name__ == "__main__":
    main()
