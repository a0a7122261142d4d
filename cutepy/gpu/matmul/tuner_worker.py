"""The process in which `gpu.tune` compiles and times plans: `python -m cutepy.gpu.matmul.tuner_worker PROBLEM`.

Plans come on stdin.

Law: for each line, plans as JSON, one line: the seconds of each, taken in turn, or why some were dropped. Of the
processes of one user that time plans, one at a time uses the GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import CutepyError
from ...layout import Layout
from ...tensor import Tensor, as_dtype
from .. import Device, array, default_device
from ..operations.operand import ExecutionSite
from ..runtime.plan_file import PlanFile
from ..runtime.timing import seconds_in_turn
from .contraction import Operands, run_plan
from .cost_model import ProductProblem
from .kernel_fma import matmul_kernel
from .plan import Plan
from .plan_cache import plan_of, tuples


def operands_of(problem: ProductProblem, device: Device) -> Operands:
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


def main() -> None:
    """Answer the lines of standard input, one after the other."""
    problem = ProductProblem(**tuples(json.loads(sys.argv[1])))
    device = default_device()
    operands = operands_of(problem, device)
    print("{}", flush=True)
    # Bank conflicts of the plans so far, and the least seconds of a first plan: how quick the warm GPU is.
    conflicts: dict[Plan, int] = {}
    least: dict[Plan, float] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        plans = [plan_of(plan) for plan in asked["plans"]]
        first = replace(plans[0], splits=1)
        found = [tried(device, operands, plan, first, conflicts if asked["prove"] else None) for plan in plans]
        launches = [launch for launch in found if not isinstance(launch, dict)]
        answers = [answer if isinstance(answer, dict) else {} for answer in found]
        if len(launches) == len(plans):
            with PlanFile.alone():
                seconds = seconds_in_turn(device, launches, least.get(plans[0], 0.0))
            least[plans[0]] = min(seconds[0], least.get(plans[0], seconds[0]))
            answers = [{"seconds": each} for each in seconds]
        print(json.dumps(answers), flush=True)


def tried(
    device: Device, operands: Operands, plan: Plan, first: Plan, conflicts: dict[Plan, int] | None
) -> Callable[[], None] | dict[str, Any]:
    """A launch by a plan, which was made once, or why it was dropped.

    With `conflicts`, the worst ones of the plans before, with k in one part, it is proven, and may have no more than
    the first of those that are timed with it.
    """
    try:
        whole = replace(plan, splits=1)
        if conflicts is not None and whole not in conflicts:
            verdict = matmul_kernel.verify(*operands, plan=whole)
            if not verdict.ok:
                why = (*verdict.refuted, *verdict.undecided)[0]
                return {"dropped": f"it cannot be proven: {why}"[:200], "early": True}
            conflicts[whole] = matmul_kernel.report(*operands, plan=whole).worst_conflict
        if conflicts and conflicts[whole] > conflicts.get(first, conflicts[whole]):
            return {"dropped": f"{conflicts[whole]}-way conflicts", "early": True}
        launch = partial(run_plan, ExecutionSite(device), operands, plan, alone=True)
        launch()
        device.wait()
        return launch
    except CutepyError as error:
        return {"dropped": str(error).splitlines()[0][:200]}


if __name__ == "__main__":
    main()
