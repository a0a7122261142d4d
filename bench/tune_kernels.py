"""What `kernel.tune` finds, beside every choice timed by hand: three kernels of `examples` and two of this file.

    python bench/tune_kernels.py [--large]

A line a kernel: the choice that was found in an empty folder of plans, its time over that of the best of all choices,
which are timed in turn afterwards, and what a second process compiled to find the choice again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "kernels")]

import int4_matvec  # noqa: E402  found by the path above
import numpy as np  # noqa: E402
import together  # noqa: E402
import transpose  # noqa: E402

from cutepy import ceil_div, gpu, size  # noqa: E402
from cutepy.errors import CutepyError  # noqa: E402
from cutepy.gpu.inspect.tune import choices_of  # noqa: E402
from cutepy.gpu.runtime.timing import seconds_in_turn  # noqa: E402


@gpu.kernel
def axpy(x, y, *, threads, each):
    """y += 2 x, `each` neighbours a thread."""
    gpu.launch(grid=ceil_div(size(x), threads * each), threads=threads)
    first = each * (threads * gpu.workgroup.x + gpu.thread)
    for j in gpu.unroll(each):
        y[first + j] = 2.0 * x[first + j] + y[first + j]


@gpu.kernel
def row_sums(x, y, *, threads, each):
    """The sum of each row, by `each` neighbours a thread and turn."""
    gpu.launch(grid=x.shape[0], threads=threads)
    total = 0.0
    for k in gpu.loop(x.shape[1] // each, start=gpu.thread, step=threads):
        for j in gpu.unroll(each):
            total = total + x[gpu.workgroup.x, each * k + j]
    whole = gpu.workgroup_reduce(total)
    if gpu.thread == 0:
        y[gpu.workgroup.x] = whole


def cases(large: bool) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Each kernel with its arguments and its choices."""
    random = np.random.default_rng(0)
    n = 4096 if large else 256

    def there(*shape: int) -> Any:
        return gpu.array(random.random(shape, np.float32))

    matvec = int4_matvec.example(n, n)
    blocks = tuple(there(n // 2, n // 2) for _ in "ABC")
    threads = (32, 64, 128, 256)
    return {
        "transpose": (transpose.transpose, (there(n, n), there(n, n)), {"swizzle": (False, True)}),
        "int4 by f16": (
            matvec.kernel,
            tuple(map(gpu.array, matvec.arguments)),
            {"plan": [(rows, t, share) for rows in (8, 16, 32) for t in threads[1:] for share in (1, 2)]},
        ),
        "stream-K": (together.stream_k, blocks, {"groups": (16, 33, 66, 132, 264)}),
        "axpy": (axpy, (there(n * n), there(n * n)), {"threads": threads, "each": (1, 2, 4, 8, 16)}),
        "row sums": (row_sums, (there(n, n), there(n)), {"threads": threads, "each": (1, 2, 4, 8)}),
    }


def found(large: bool) -> dict[str, Any]:
    """What this process finds, and what it compiles for that."""
    device, told = gpu.default_device(), {}
    for name, (kernel, arguments, over) in cases(large).items():
        before = device.stats.compiled
        tuning = kernel.tune(*arguments, over=over, seconds=30, progress=False)
        dropped = sum(trial.seconds is None for trial in tuning.trials)
        compiled = device.stats.compiled - before
        told[name] = {"choice": tuning.plan.label, "cached": tuning.cached, "compiled": compiled, "dropped": dropped}
    return told


def by_hand(large: bool, first: dict[str, Any]) -> None:
    """Every choice timed, beside what was found."""
    device = gpu.default_device()
    for name, (kernel, arguments, over) in cases(large).items():
        launches = {}
        for choice in choices_of(over):
            try:
                kernel(*arguments, **choice)
                launches[choice.label] = partial(kernel, *arguments, **choice)
            except CutepyError:
                continue
        took = dict(zip(launches, seconds_in_turn(device, list(launches.values())), strict=True))
        best, mine = min(took, key=took.__getitem__), first[name]["choice"]
        again = dict(zip("bm", seconds_in_turn(device, [launches[best], launches[mine]]), strict=True))
        first[name] |= {"best": best, "ratio": round(again["b"] / again["m"], 3), "us": round(1e6 * again["m"], 1)}
        first[name] |= {"choices": len(choices_of(over)), "worst_us": round(1e6 * max(took.values()), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="matrices of 4096, for a GPU")
    parser.add_argument("--found", action="store_true", help="print as JSON what is found")
    asked = parser.parse_args()
    if asked.found:
        print(json.dumps(found(asked.large)))
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUTEPY_CACHE"] = folder
        command = [sys.executable, __file__, "--found", *(["--large"] if asked.large else [])]
        first, second = (
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in "12"
        )
        by_hand(asked.large, first)
    print(gpu.default_device().adapter.name)
    for name, told in first.items():
        told |= {"second process": "known" if second[name]["cached"] else "tuned", "compiled": second[name]["compiled"]}
        print(f"{name:12}", *(f"{key}={value}" for key, value in told.items()), sep="  ", flush=True)


if __name__ == "__main__":
    main()
