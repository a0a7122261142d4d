"""The six steps of a matrix product (examples/matmul_steps.py), timed on one device beside `ops.matmul`.

    python bench/steps.py [--size 4096] [--json bench/results/steps.json]

Device times by timestamps, medians of rounds in which the steps take turns; each result is compared with float64 in a
part of its rows. `python tools/benchmarks.py` puts the kept result into docs/benchmarks.md and docs/stories/matmul.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

ROUNDS = 7
ENOUGH = 0.02  # seconds that one round of a step takes at least
PART = 64  # rows of C that are compared


def measure(size: int) -> dict[str, Any]:
    """Time all steps for a product of `size`^3."""
    import numpy as np
    from matmul_steps import STEPS

    import cutepy
    from cutepy import gpu, ops, select

    device = gpu.default_device()
    random = np.random.default_rng(0)
    host_A, host_B = (random.random((size, size), np.float32) - np.float32(0.5) for _name in "AB")
    A, B, C = gpu.array(host_A), gpu.array(host_B), gpu.array(np.zeros((size, size), np.float32))
    exact = host_A[:PART].astype(np.float64) @ host_B
    turned = select(B, 1, 0)
    launches: list[tuple[str, Callable[[], object]]] = [
        (step.new, lambda step=step: step.kernel(A, turned, C, **step.static)) for step in STEPS
    ]
    launches.append(("`ops.matmul`, which chooses its plan", lambda: ops.matmul(A, B, C)))
    rows = []
    for new, launch in launches:
        launch()
        error = np.linalg.norm(C.numpy()[:PART] - exact) / np.linalg.norm(exact)
        assert error < 1e-5, (new, error)
        once = seconds(device, launch, 1)
        rows.append({"new": new, "error": float(error), "repeats": max(1, int(ENOUGH / once)), "times": []})
    for _round in range(ROUNDS):
        for row, (_new, launch) in zip(rows, launches, strict=True):
            row["times"].append(seconds(device, launch, row["repeats"]))
    return {
        "date": time.strftime("%Y-%m-%d"),
        "device": device.adapter.summary,
        "cutepy": cutepy.__version__,
        "python": platform.python_version(),
        "size": size,
        "rows": [
            {"new": row["new"], "error": row["error"], "seconds": statistics.median(row["times"])} for row in rows
        ],
    }


def seconds(device: Any, launch: Callable[[], object], repeats: int) -> float:
    """Device time of one launch, the mean of some."""
    with device.timed() as watch:
        for _ in range(repeats):
            launch()
    return watch.seconds / repeats


def table(found: dict[str, Any]) -> str:
    """The result as Markdown."""
    size = found["size"]
    lines = [
        f"{found['device']}, {found['date']}; cutepy {found['cutepy']}, Python {found['python']}.",
        f"A product of {size}^3 in f32; device time, medians; the error relative to float64. By `bench/steps.py`.",
        "",
        "| step | what is new | time | rate | step before | error |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    before = None
    for number, row in enumerate(found["rows"], 1):
        rate = 2e-12 * size**3 / row["seconds"]
        gain = f"{before / row['seconds']:.2f}x" if before else ""
        before = row["seconds"]
        step = str(number) if number < len(found["rows"]) else ""
        milliseconds = f"{row['seconds'] * 1e3:.2f} ms"
        cells = (step, row["new"], milliseconds, f"{rate:.2f} TFLOP/s", gain, f"{row['error']:.0e}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, keep."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--size", type=int, default=None, help="the product is SIZE^3; 4096 on a large GPU, else 512")
    options.add_argument("--json", type=Path, help="where the result is kept")
    given = options.parse_args()
    from cutepy import gpu

    large = gpu.default_device().adapter.kind == "DiscreteGPU"
    found = measure(given.size or (4096 if large else 512))
    print(table(found), end="")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
