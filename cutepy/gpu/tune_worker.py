"""The process in which `gpu.tune` compiles and times plans: `python -m cutepy.gpu.tune_worker PROBLEM`, plans on stdin.

Law: for each line, a plan as JSON, one line: its seconds, or why it was dropped before a driver saw it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import CutepyError
from ..layout import Layout
from ..tensor.dtypes import as_dtype
from ..tensor.tensor import Tensor
from .array import array
from .matmul import Plan, matmul_kernel
from .operations.operand import Place
from .products import Operands, arranged_product
from .runtime import Device, default_device
from .tuned import Problem, plan_of, tuples

STEPS, ROUNDS, LEAST, WARM = 100, 5, 2e-4, 0.05
"""Steps of the clock that a round takes at least, rounds, the seconds of one, and of launches before the first: a GPU
that waited for a compiler has slowed down."""


def operands_of(problem: Problem, device: Device) -> Operands:
    """Random operands (m,k,b), (n,k,b) and (m,n,b) of a problem, as they lie."""
    random = np.random.default_rng(0)

    def tensor(rows: int, columns: int, dtype: str, across: bool) -> Tensor:
        kind = as_dtype(dtype)
        count = rows * columns * problem.batch
        values = (
            random.random(count, np.float32) - np.float32(0.5) if kind.kind == "f" else random.integers(0, 9, count)
        )
        steps = (columns, 1, rows * columns) if across else (1, rows, rows * columns)
        moved = array(np.asarray(values, kind.numpy), device=device)
        shape = (rows, columns, problem.batch) if problem.batch > 1 else (rows, columns)
        return Tensor(moved.engine, Layout(shape, steps[: len(shape)]))

    p = problem
    sizes = (p.m, p.k), (p.n, p.k), (p.m, p.n)
    a, b, c = (tensor(*size, *how) for size, how in zip(sizes, zip(p.dtypes, p.across, strict=True), strict=True))
    return a, b, c


def seconds_of(device: Device, launch: Callable[[], None]) -> float:
    """The median time of a launch: on the device where it has a clock, in rounds that are long for it."""
    launch()
    device.wait()
    warm = time.perf_counter() + WARM
    while time.perf_counter() < warm:
        launch()
        device.wait()
    once = _round(device, launch, 1)
    repeats = 1
    step = 1e-6 if "timestamp-query" in device.features else 1e-5
    while once * repeats < max(LEAST, STEPS * step) and repeats < 256:
        repeats *= 2
    return statistics.median(_round(device, launch, repeats) for _ in range(ROUNDS))


def _round(device: Device, launch: Callable[[], None], repeats: int) -> float:
    if "timestamp-query" in device.features:
        with device.timed() as watch:
            for _ in range(repeats):
                launch()
        return watch.seconds / repeats
    start = time.perf_counter()
    for _ in range(repeats):
        launch()
    device.wait()
    return (time.perf_counter() - start) / repeats


def main() -> None:
    """Answer the plans of standard input, one after the other."""
    problem = Problem(**tuples(json.loads(sys.argv[1])))
    device = default_device()
    operands = operands_of(problem, device)
    print("{}", flush=True)
    known: dict[Plan, int] = {}
    for line in sys.stdin:
        plan = plan_of(json.loads(line))
        answer: dict[str, Any]
        try:
            answer = tried(device, operands, plan, known)
        except CutepyError as error:
            answer = {"dropped": str(error).splitlines()[0][:200]}
        print(json.dumps(answer), flush=True)


def tried(device: Device, operands: Operands, plan: Plan, known: dict[Plan, int]) -> dict[str, Any]:
    """The answer for a plan; `known` are the worst conflicts of those before, with k in one part."""
    whole = replace(plan, splits=1)
    if whole not in known:
        verdict = matmul_kernel.verify(*operands, plan=whole)
        if not verdict.ok:
            why = (*verdict.refuted, *verdict.undecided)[0]
            return {"dropped": f"it cannot be proven: {why}"[:200], "early": True}
        known[whole] = matmul_kernel.report(*operands, plan=whole).worst_conflict
    if known[whole] > next(iter(known.values())):
        return {"dropped": f"{known[whole]}-way conflicts", "early": True}
    place = Place(device)
    return {"seconds": seconds_of(device, lambda: arranged_product(place, operands, plan))}


if __name__ == "__main__":
    main()
