"""What `gpu.tune` finds from a cold start, beside the best of every plan that it could have tried.

    python bench/tuner.py [--cases 0:6] [--dtypes f32,f16] [--seconds S] [--json FILE] [--small]

For each product: a tuning with an empty cache of plans and of the driver, its seconds and compilations; a second
process, which must compile none; then all plans that no other beats, and as many of the others, drawn at random, as
`--seconds` leaves time for, by several processes at once. Those that looked best there, and the one that was tuned, are
timed again, in turn and alone; `ratio` is the tuned plan's time over the least of these.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from cutepy.cli.matmul import tune_operands as operands
from cutepy.gpu import tuner
from cutepy.gpu.matmul import Plan, whole_splits
from cutepy.gpu.products import problem_of
from cutepy.gpu.runtime import Adapter, default_device
from cutepy.gpu.tuned import Problem

SHAPES = (
    "512x512x512", "1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "16x4096x4096", "64x64x1048576",
    "3000x200x7000", "128x8192x4096", "300x300x300", "700x900x3000", "200x16000x60", "32x1000x12000",
)  # fmt: skip
SMALL = ("64x64x64", "16x128x256")
FINAL, ROUNDS, LIMIT = 6, 5, 30.0
"""Plans that are timed again, how often, and the seconds that a plan may take there."""


def cold(folder: str) -> None:
    """No plan is known from here on, and the drivers of this process's children have compiled nothing."""
    os.environ |= {"CUTEPY_CACHE": folder, "__GL_SHADER_DISK_CACHE_PATH": folder, "MESA_SHADER_CACHE_DIR": folder}


def every_plan(problem: Problem, adapter: Adapter) -> tuple[list[Plan], list[Plan]]:
    """The plans that no other beats, and the others that fit the device."""
    best = tuner.unbeaten(problem, adapter.limits)
    fitting = [plan for plan in tuner.space() if plan.shared_bytes <= adapter.limits.workgroup_bytes]
    fitting = [plan for plan in fitting if plan.threads[0] * plan.threads[1] <= adapter.limits.invocations]
    whole = {whole_splits(plan, problem.k, s) for plan in fitting for s in tuner._splits(problem, plan)}
    others = sorted(whole - set(best), key=str)
    random.Random(14).shuffle(others)
    return best, others


class Crew:
    """Processes that time plans at once, and remember which of them timed which."""

    def __init__(self, adapter: Adapter, problem: Problem, size: int) -> None:
        self.workers = [tuner.Worker(adapter, problem) for _ in range(size)]
        self.found: dict[Plan, tuple[float, tuner.Worker]] = {}
        self.tried: set[Plan] = set()

    def time(self, plans: list[Plan], until: float) -> None:
        """Time plans from the front of the list until the time is over."""
        left = iter(plans)
        lock = threading.Lock()

        def work(worker: tuner.Worker) -> None:
            while time.perf_counter() < until:
                with lock:
                    plan = next(left, None)
                if plan is None:
                    return
                trial = worker.time(plan, min(LIMIT, max(1.0, until - time.perf_counter())))
                with lock:
                    self.tried.add(plan)
                    if trial.seconds is not None:
                        self.found[plan] = trial.seconds, worker

        _at_once([lambda worker=worker: work(worker) for worker in self.workers])

    def again(self, plans: list[Plan]) -> dict[Plan, float]:
        """Medians of these plans, in turn and alone; the time of one that was never timed is not there."""
        times: dict[Plan, list[float]] = {plan: [] for plan in plans}
        for _ in range(ROUNDS):
            for plan in plans:
                _, worker = self.found.get(plan, (0.0, self.workers[0]))
                seconds = worker.time(plan, LIMIT).seconds
                times[plan] += [] if seconds is None else [seconds]
        return {plan: median(found) for plan, found in times.items() if found}

    def end(self) -> None:
        for worker in self.workers:
            worker.end()


def _at_once(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def case(text: str, dtype: str, seconds: float, size: int) -> dict[str, Any]:
    """The line of one product."""
    with tempfile.TemporaryDirectory() as folder:
        cold(folder)
        a, b = operands(text, dtype, "NN")
        problem, adapter = problem_of(a, b)
        start = time.perf_counter()
        tuned = tuner.tune(a, b, again=True, progress=False)
        took = time.perf_counter() - start
        line: dict[str, Any] = {
            "product": f"{text} {dtype}",
            "us": 1e6 * tuned.seconds,
            "default_us": 1e6 * (tuned.trials[0].seconds or 0.0),
            "tuned_in": took,
            "compiled": sum(not trial.early for trial in tuned.trials),
            "late": sum("more than" in trial.dropped for trial in tuned.trials),
        }
        command = [sys.executable, "-c", "import sys; from cutepy.cli import main; sys.exit(main(sys.argv[1:]))"]
        start = time.perf_counter()
        done = subprocess.run([*command, "tune", text, "--dtype", dtype], capture_output=True, text=True, check=True)
        line["second_compiles"] = 0 if ", known" in done.stdout and "\n" not in done.stdout.strip() else done.stdout
        line["second_took"] = time.perf_counter() - start
        best, others = every_plan(problem, adapter)
        crew = Crew(adapter, problem, size)
        try:
            until = time.perf_counter() + seconds
            crew.time(sorted(best, key=lambda plan: tuner._microseconds(problem, plan)), until)
            crew.time(others, until)
            fastest = sorted(crew.found, key=lambda plan: crew.found[plan][0])[:FINAL]
            final = crew.again([tuned.plan, *(plan for plan in fastest if plan != tuned.plan)])
        finally:
            crew.end()
    line["timed"] = f"{len(crew.tried & set(best))}/{len(best)} + {len(crew.tried & set(others))}/{len(others)}"
    least = min(final, key=lambda plan: final[plan])
    line |= {"best_us": 1e6 * final[least], "ratio": final.get(tuned.plan, float("nan")) / final[least]}
    return line | {"tuned": str(tuned.plan), "best": str(least)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", default=":", help="which products, as a slice of shapes by types: 0:6")
    arguments.add_argument("--dtypes", default="f32,f16")
    arguments.add_argument("--seconds", type=float, default=20, help="for the plans beside the tuner's, of one product")
    arguments.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) - 2), help="processes")
    arguments.add_argument("--json", type=Path, help="write the lines to this file as they come")
    arguments.add_argument("--small", action="store_true", help="small sizes, as without a discrete GPU")
    options = arguments.parse_args()
    small = options.small or default_device().adapter.kind != "DiscreteGPU"
    first, last = (int(text) if text else None for text in options.cases.split(":"))
    products = [(s, t) for s in (SMALL if small else SHAPES) for t in options.dtypes.split(",")][first:last]
    lines: list[dict[str, Any]] = []
    for text, dtype in products:
        start = time.perf_counter()
        lines.append(case(text, dtype, options.seconds, options.at_once) | {"took": time.perf_counter() - start})
        shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in lines[-1].items()}
        print("  ".join(f"{key}={value}" for key, value in shown.items()), flush=True)
        if options.json:
            options.json.write_text(json.dumps(lines, indent=0) + "\n")
    print(
        f"{len(lines)} products: worst ratio {max(x['ratio'] for x in lines):.3f}, longest tuning "
        f"{max(x['tuned_in'] for x in lines):.1f} s, most compiled {max(x['compiled'] for x in lines)}"
    )


if __name__ == "__main__":
    main()
