"""What `gpu.tune` finds from a cold start, beside the best of every plan that it could have tried.

    python bench/tuner.py [--cases 0:6] [--dtypes f32,f16] [--seconds S] [--json FILE] [--small]

For each product, in a process of its own: a tuning that knows no plan, with an empty cache of the driver's, its seconds
and compilations; a second process, which must compile none; then all plans that no other beats, and as many of the
others, drawn at random, as `--seconds` leaves time for, by several processes. They compile at once, and time one after
the other, each plan beside the tuned one. The best of these are timed again; `ratio` is the tuned plan's time over the
least of these. `--json` also keeps what each plan took.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from math import prod
from pathlib import Path
from typing import Any

from cutepy.cli.matmul import tune_operands as operands
from cutepy.gpu.matmul import tuner
from cutepy.gpu.matmul.contraction import problem_of
from cutepy.gpu.matmul.cost_model import ProductProblem, choose_plan, in_splits, predicted_us
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.runtime import Adapter, default_device

SHAPES = (
    "512x512x512", "1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "16x4096x4096", "64x64x1048576",
    "3000x200x7000", "128x8192x4096", "300x300x300", "700x900x3000", "200x16000x60", "32x1000x12000",
)  # fmt: skip
SMALL = ("64x64x64", "16x128x256")
FINAL, LIMIT = 6, 30.0
"""Plans that are timed again, and the seconds that a plan may take."""


def every_plan(problem: ProductProblem, adapter: Adapter) -> tuple[list[Plan], list[Plan]]:
    """The plans that no other beats, and the others that fit the device."""
    best = tuner.unbeaten(problem, adapter.limits)
    fitting = [plan for plan in tuner.space() if plan.shared_bytes <= adapter.limits.workgroup_bytes]
    fitting = [plan for plan in fitting if prod(plan.threads) <= adapter.limits.invocations]
    whole = {plan for each in fitting for plan in in_splits(problem, each)}
    others = sorted(whole - set(best), key=str)
    random.Random(14).shuffle(others)
    return best, others


def case(text: str, dtype: str, seconds: float, size: int) -> dict[str, Any]:
    """The line of one product, with its trials."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:  # the drivers of this process's children have compiled nothing
        os.environ |= {"__GL_SHADER_DISK_CACHE_PATH": folder, "MESA_SHADER_CACHE_DIR": folder}
        a, b = operands(text, dtype, "NN")
        problem, adapter = problem_of(a, b)
        start = time.perf_counter()
        tuned = tuner.tune(a, b, again=True, progress=False)
        took = time.perf_counter() - start
        default = choose_plan(problem, adapter)
        line: dict[str, Any] = {
            "product": f"{text} {dtype}",
            "us": 1e6 * tuned.seconds,
            "default_us": 1e6 * next((t.seconds for t in tuned.trials if t.plan == default and t.seconds), 0.0),
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
        how: dict[str, Any] = {"most": float("inf"), "prove": False}
        with tuner.Crew(adapter, problem, size) as crew:
            [first] = crew.trials([tuned.plan], float("inf"), LIMIT, **how)
            until = time.perf_counter() + seconds
            best.sort(key=lambda plan: predicted_us(problem, plan))
            trials = list(crew.trials(best, until, LIMIT, **how))
            line["timed"] = f"{len(trials)}/{len(best)}"
            more = list(crew.trials(others, until, LIMIT, **how))
            line["timed"] += f" + {len(more)}/{len(others)}"
            trials += more
            found = sorted((t.seconds, place) for place, t in enumerate(trials) if t.seconds is not None)
            final = crew.again([trials[place].plan for _, place in found[:FINAL]], time.perf_counter() + LIMIT)
    least = min([first, *final], key=lambda trial: trial.seconds or float("inf"))
    assert least.seconds and first.seconds, final
    line |= {"best_us": 1e6 * least.seconds, "ratio": first.seconds / least.seconds}
    line |= {"tuned": brief(tuned.plan), "best": brief(least.plan), "took": time.perf_counter() - began}
    tried = {brief(trial.plan): trial.seconds or trial.dropped for trial in (*tuned.trials, first, *trials)}
    return line | {"trials": tried}


def brief(plan: Plan) -> str:
    """A plan in few words."""
    tile, threads = ("x".join(map(str, part)) for part in (plan.tile, plan.threads))
    return f"{tile} by {threads}{' lanes' * bool(plan.lanes)}{' repeats' * plan.repeat_last} / {plan.splits}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", default=":", help="which products, as a slice of shapes by types: 0:6")
    arguments.add_argument("--dtypes", default="f32,f16")
    arguments.add_argument("--seconds", type=float, default=20, help="for the plans beside the tuner's, of one product")
    arguments.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 2) // 4), help="products")
    arguments.add_argument("--crew", type=int, default=2, help="processes of a product")
    arguments.add_argument("--json", type=Path, help="write the lines to this file as they come")
    arguments.add_argument("--small", action="store_true", help="small sizes, as without a discrete GPU")
    options = arguments.parse_args()
    small = options.small or default_device().adapter.kind != "DiscreteGPU"
    first, last = (int(text) if text else None for text in options.cases.split(":"))
    products = [(s, t) for s in (SMALL if small else SHAPES) for t in options.dtypes.split(",")][first:last]
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUTEPY_CACHE"] = folder
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(options.at_once, mp_context=spawn, max_tasks_per_child=1) as pool:
            waiting = [pool.submit(case, *product, options.seconds, options.crew) for product in products]
            for done in as_completed(waiting):
                if done.exception() is not None:
                    print(f"failed: {done.exception()!r}", flush=True)
                    continue
                lines.append(done.result())
                told = {key: value for key, value in lines[-1].items() if key != "trials"}
                shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in told.items()}
                print("  ".join(f"{key}={value}" for key, value in shown.items()), flush=True)
                if options.json:
                    options.json.write_text(json.dumps(lines, indent=0) + "\n")
    print(
        f"{len(lines)} products: worst ratio {max(x['ratio'] for x in lines):.3f}, longest tuning "
        f"{max(x['tuned_in'] for x in lines):.1f} s, most compiled {max(x['compiled'] for x in lines)}"
    )


if __name__ == "__main__":
    main()
