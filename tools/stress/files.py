"""Anything in place of the file of tuned plans: is every product right, with one warning, and nothing left behind?

    python tools/stress/files.py [COUNT] [--runtime wgpu|dawn] [--processes N]

COUNT files are torn, huge, deep, of wrong types, beyond the device, pipes, devices, links and folders. Then N
processes keep plans at once, and a disk is full. The exit status is 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np

VALUES = (
    None,
    True,
    0,
    -1,
    1,
    2,
    7,
    10**9,
    10**400,
    2.5,
    float("nan"),
    float("inf"),
    "2",
    "",
    "no",
    [],
    {},
    [1],
    {"a": 1},
)
FIELDS = ("tile", "threads", "copies", "stages", "unrolled", "lanes", "repeat_last", "splits", "ahead")
SECONDS = 5.0
"""A product over any file ends within this; it takes 0.02 s, and a first plan is compiled in 1 s."""


def random_plan(pick: random.Random, plan: dict[str, object]) -> dict[str, object]:
    """A plan with some fields replaced: by anything, or by numbers that another device may take."""
    plan = dict(plan)
    for _ in range(pick.randrange(1, 4)):
        field = pick.choice((*FIELDS, "x", "__class__"))
        large = [pick.choice((1, 4, 16, 64, 256, 4096, 65536)) for _ in range(pick.choice((2, 3)))]
        plan[field] = pick.choice((pick.choice(VALUES), large, [pick.choice(VALUES) for _ in range(3)]))
    return plan


def put(pick: random.Random, path: Path, key: str, plan: dict[str, object]) -> str:
    """Put one hostile thing at `path`. Returns what it is."""
    whole = json.dumps({key: {"plan": plan, "seconds": 1e-3}})
    kind = pick.choice(("plan", "plan", "plan", "plan", "entry", "torn", "bytes", "deep", "huge", "special", "top"))
    if kind == "plan":
        text = json.dumps({key: {"plan": random_plan(pick, plan), "seconds": pick.choice((1e-3, *VALUES))}})
    elif kind == "entry":
        text = json.dumps({key: pick.choice(VALUES), "other": 1})
    elif kind == "torn":
        text = whole[: pick.randrange(len(whole))]
    elif kind == "bytes":
        path.write_bytes(pick.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00")) + pick.randbytes(pick.randrange(200)))
        return kind
    elif kind == "deep":
        text = pick.choice(("[", '{"a":')) * pick.choice((1000, 100_000, 1_000_000))
    elif kind == "huge":
        text = "{" + ",".join(f'"k{i}": {{"plan": {{}}, "seconds": 1}}' for i in range(200_000)) + "}"
    elif kind == "top":
        text = pick.choice(("", " ", "[]", "1", '"x"', "null", "NaN", "1e999", "9" * 5000, '{"\\ud800": 1}'))
    else:
        special = pick.choice(("fifo", "zero", "full", "loop", "folder", "dangling"))
        if special == "fifo":
            os.mkfifo(path)
        elif special == "folder":
            path.mkdir()
        else:
            path.symlink_to({"zero": "/dev/zero", "full": "/dev/full", "loop": path, "dangling": "nowhere"}[special])
        return special
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return kind


def hostile(count: int, seed: int = 0) -> list[str]:
    """What went wrong over so many files."""
    from cutepy import gpu, ops
    from cutepy.gpu import CallCache
    from cutepy.gpu.matmul import plan_cache
    from cutepy.gpu.matmul.contraction import problem_of
    from cutepy.gpu.matmul.cost_model import choose_plan

    pick, wrong = random.Random(seed), []
    a = np.random.default_rng(0).random((200, 300), np.float32)
    b = np.random.default_rng(1).random((300, 170), np.float32)
    da, db, expected = gpu.array(a), gpu.array(b), a @ b
    problem, adapter = problem_of(da, db)
    key, plan = plan_cache.key_of(adapter, problem), asdict(choose_plan(problem, adapter))
    with tempfile.TemporaryDirectory() as name:
        for turn in range(count):
            folder = Path(name, str(turn))
            folder.mkdir()
            os.environ["CUTEPY_CACHE"] = str(folder)
            what = put(pick, folder / "plans.json", key, plan)
            plan_cache.reread()
            start = time.perf_counter()
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    for _ in range(3):
                        CallCache.clear_all()
                        close = np.allclose(ops.matmul(da, db).numpy(), expected, atol=1e-3)
                lasted = time.perf_counter() - start
                if not close:
                    wrong.append(f"{turn}, {what}: a wrong product")
                if len(said) > 1:
                    wrong.append(f"{turn}, {what}: {len(said)} warnings: {said[0].message}")
                if lasted > SECONDS:
                    wrong.append(f"{turn}, {what}: {lasted:.1f} s")
            except Exception as error:
                wrong.append(f"{turn}, {what}: {type(error).__name__}: {str(error)[:200]}")
            if left := [path.name for path in folder.iterdir() if path.name != "plans.json"]:
                wrong.append(f"{turn}, {what}: {left} left")
            shutil.rmtree(folder)
    return wrong


KEEP = """
import os, sys
from dataclasses import replace
from cutepy.gpu import Plan
from cutepy.gpu.matmul import plan_cache
from cutepy.gpu.matmul.cost_model import ProductProblem
from cutepy.gpu.runtime import choose_adapter
adapter, me = choose_adapter(), int(sys.argv[1])
for i in range(int(sys.argv[2])):
    plan_cache.keep(adapter, ProductProblem(1 << me, 1 << i, 64), Plan(), 1.0)
"""


def at_once(processes: int = 8, each: int = 10) -> list[str]:
    """What went wrong where so many processes keep plans at once."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = {**os.environ, "CUTEPY_CACHE": folder}
        running = [
            subprocess.Popen([sys.executable, "-c", KEEP, str(me), str(each)], env=chosen) for me in range(processes)
        ]
        wrong = [f"a process that keeps plans ended with {each.returncode}" for each in running if each.wait()]
        held = json.loads(Path(folder, "plans.json").read_text())
        if len(held) != processes * each:
            wrong.append(f"{len(held)} plans of {processes * each} are kept")
        if left := sorted(path.name for path in Path(folder).iterdir() if path.name not in ("alone", "plans.json")):
            wrong.append(f"{left} left")
    return wrong


def full_disk() -> list[str]:
    """What went wrong where the disk takes no more: a plan that was found serves this process, with one warning."""
    from cutepy.gpu import Plan
    from cutepy.gpu.matmul import plan_cache
    from cutepy.gpu.matmul.cost_model import ProductProblem
    from cutepy.gpu.runtime import choose_adapter

    wrong, adapter, problem = [], choose_adapter(), ProductProblem(64, 64, 64)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUTEPY_CACHE"] = folder
        for where in (folder, "/proc/nowhere"):
            os.environ["CUTEPY_CACHE"] = where
            plan_cache.reread()
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
            try:
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    plan_cache.keep(adapter, problem, Plan(), 1.0)
                if len(said) != 1 or plan_cache.tuned_plan(adapter, problem) != Plan():
                    wrong.append(f"{where}, full: {len(said)} warnings, plan {plan_cache.tuned_plan(adapter, problem)}")
            except Exception as error:
                wrong.append(f"{where}, full: {type(error).__name__}: {error}")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if left := [path.name for path in Path(folder).iterdir() if path.name != "alone"]:
            wrong.append(f"a full disk: {left} left")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--runtime", default="wgpu")
    parser.add_argument("--processes", type=int, default=8, help="that keep plans at once")
    options = parser.parse_args()
    os.environ["CUTEPY_RUNTIME"] = options.runtime
    wrong = hostile(options.count) + at_once(options.processes) + full_disk()
    print(
        f"{options.count} files, {options.processes} processes, a full disk: {len(wrong)} wrong",
        *wrong[:20],
        sep="\n  ",
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
