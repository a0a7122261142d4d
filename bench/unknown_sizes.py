"""Kernels for unknown sizes beside the same kernels of known sizes: pipelines, host time of a new size, device time.

    python bench/unknown_sizes.py [SHAPES] [EDGE]

SHAPES random shapes are run for each kernel (300), and the device time is that of matrices of EDGE (2048), the least of
15 runs in turn.
"""

import random
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gpu"))
from size_kernels import CASES

from cutepy import gpu

TIMED = {"axpy": 2, "rows_in_vectors": 2, "softmax": 2, "product": 3, "transposed": 2}


def many(name: str, shapes: int) -> str:
    """All those shapes of one kernel: pipelines, and the host's time of a call of a new size, of one of the same size
    over other buffers, whose bind group is made as well, and of a repeated one. Medians of calls that alternate."""
    case, device, pick = CASES[name], gpu.default_device(), random.Random(name)
    before, new, other, again = device.stats.compiled, [], [], []
    for turn in range(shapes):
        most = {1: 5000, 2: 300, 3: 90}[case.unknowns]
        arrays = case.arrays(*[pick.choice([1, 16, 33, 64, pick.randint(1, most)]) for _axis in range(case.unknowns)])
        wanted = case.wanted(*[array.copy() for array in arrays])
        tensors = [gpu.array(array, device=device) for array in arrays]
        begin = time.perf_counter()
        case.kernel(*case.numbers, *tensors)
        if turn > 20:  # both forms are there
            new.append(time.perf_counter() - begin)
        assert np.allclose(tensors[-1].numpy(), wanted, atol=1e-3), arrays[0].shape
        spare = [gpu.array(array, device=device) for array in arrays]
        begin = time.perf_counter()
        case.kernel(*case.numbers, *spare)
        other.append(time.perf_counter() - begin)
        device.wait()
        begin = time.perf_counter()
        case.kernel(*case.numbers, *spare)
        again.append(time.perf_counter() - begin)
    compiled = device.stats.compiled - before
    fresh, bound, known = (1e6 * statistics.median(times) for times in (new, other, again))
    return (
        f"{name:16} {compiled} pipelines for {shapes} shapes; a new size {fresh:4.0f} us, a known one over other "
        f"buffers {bound:3.0f} us, repeated {known:3.0f} us"
    )


def timed(name: str, edge: int) -> str:
    """Device time of the form for all sizes beside that of these sizes."""
    case, device = CASES[name], gpu.default_device()
    arrays = case.arrays(*[edge] * case.unknowns)
    tensors = [gpu.array(array, device=device) for array in arrays]
    known = gpu.kernel(sizes="known")(_without_annotations(case.kernel.function))
    best = {}
    for _turn in range(15):
        for which, kernel in (("all", case.kernel), ("these", known)):
            with device.timed() as watch:
                kernel(*case.numbers, *tensors)
            best[which] = min(best.get(which, watch.seconds), watch.seconds)
    ratio, (every, these) = best["these"] / best["all"], (1e3 * best[which] for which in ("all", "these"))
    return f"{name:16} {edge}: for all sizes {every:.3f} ms, for these {these:.3f} ms, {ratio:.2f}x"


def _without_annotations(function):
    import types

    plain = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__annotations__ = {
        k: v for k, v in function.__annotations__.items() if isinstance(v, str) and not v.startswith("(")
    }
    return plain


if __name__ == "__main__":
    shapes, edge = (*map(int, sys.argv[1:]), *(300, 2048)[len(sys.argv) - 1 :])
    print(gpu.default_device())
    for name in CASES:
        print(many(name, shapes), flush=True)
    if "timestamp-query" in gpu.default_device().features:
        for name, unknowns in TIMED.items():
            print(timed(name, edge if unknowns < 3 else edge // 2), flush=True)
