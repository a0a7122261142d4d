"""`gpu.tune`: the fastest plan of a product on this machine, found by timing few plans, each under a time limit.

Law: the space is every plan whose tile and threads the kernel takes. Dropped before a driver compiles it is what
exceeds the device's limits, wastes half a tile, is beaten by another plan in all that it moves and computes, cannot be
proven, or meets more conflicts than a plan before it. What is left is timed, likeliest first, beside the default plan,
and of the quickest of these the one is kept that has the least median when they are timed in turn. Each is timed in
turn with the first: the clock of the GPU rises and falls, and is the same for both.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import ceil

from ..errors import KernelError
from ..layout import ceil_div
from .matmul import PROCESSORS, START, Plan, choose_plan, second_pass, whole_splits
from .operations.domain import power_of_two
from .products import problem_of
from .repeat import forget
from .runtime import Adapter, Limits
from .tuned import Problem, keep, known, lock_file

CANDIDATES, SECONDS, LIMIT = 12, 20.0, 5.0
"""Plans that are compiled at most, the seconds that all of them may take, and those of one."""
MOST_REGISTERS, ALIKE = 160, 3
"""Numbers that a thread holds at most, and plans with one tile of C that are tried."""
FINALISTS = 4
"""Plans that are timed again, in turn."""
FIRST_ROUNDS, FIRST_ROUNDS_AGAIN, BEGINNING = 0.9, 0.75, 2.0
"""What the trials may take of the time, the last rounds take the rest; and seconds until a process is ready."""
CLOCKS = 1840
"""Of a processor in a microsecond, as far as plans use them."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan that was tried: its seconds, or why it was dropped; `early` where no driver saw it."""

    plan: Plan
    seconds: float | None = None
    dropped: str = ""
    early: bool = False

    def __str__(self) -> str:
        tile, threads = ("x".join(map(str, part)) for part in (self.plan.tile, self.plan.threads))
        found = self.dropped if self.seconds is None else f"{1e6 * self.seconds:10.1f} us"
        return f"{tile:>11} by {threads:>5}, {self.plan.splits:>4} splits  {found}"


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was found for a product: its plan, the seconds of one launch, what was tried; `cached` if it was known."""

    problem: Problem
    plan: Plan
    seconds: float
    trials: tuple[Trial, ...]
    cached: bool = False

    def __str__(self) -> str:
        m, n, k = self.problem.m, self.problem.n, self.problem.k
        lines = [f"({m},{n},{k}) {self.problem.batch} times: {1e6 * self.seconds:.1f} us" + ", known" * self.cached]
        return "\n".join([*lines, *(f"{trial}{'  <' * (trial.plan == self.plan)}" for trial in self.trials)])


def tune(
    A: object, B: object, *, seconds: float = SECONDS, limit: float = LIMIT, again: bool = False, progress: bool = True
) -> Tuning:
    """Find the fastest plan of `gpu.matmul(A, B)` on the device of the operands, and keep it for products of its class.

    It takes at most about `seconds`, and `limit` for one plan: each is compiled in a process of its own, which ends
    with its time. What was found before, by any process, is given back without a compilation unless `again` is said.

    Raises TensorError and KernelError for what is no product; KernelError where no plan could be timed.
    """
    problem, adapter = problem_of(A, B)
    found = None if again else known(adapter, problem)
    if found is not None:
        return Tuning(problem, *found, (), cached=True)
    lock_file().close()  # no process is begun for what cannot be kept
    start, share = time.perf_counter(), FIRST_ROUNDS
    chosen = candidates(problem, adapter)
    trials: list[Trial] = []
    with Worker(adapter, problem) as worker:
        for plan in chosen:
            compiled, left = sum(not trial.early for trial in trials), start + share * seconds - time.perf_counter()
            if compiled == CANDIDATES or left < 0:
                break
            first = next((trial for trial in trials if trial.seconds is not None), None)
            allowed = min(limit, max(1.0, left))
            trials.append(worker.time([plan], allowed)[0] if first is None else beside(worker, first, plan, allowed))
            if worker.process is None:  # what it had compiled, the last rounds compile again
                share = FIRST_ROUNDS_AGAIN
            if progress:
                _show(compiled + 1, trials[-1])
        left = start + seconds - time.perf_counter() - (BEGINNING if worker.process is None else 0.0)
        plan, took = _quickest(worker, trials, min(limit, left))
    if progress:
        print(file=sys.stderr)
    keep(adapter, problem, plan, took)
    forget()
    return Tuning(problem, plan, took, tuple(trials))


def beside(worker: Worker, first: Trial, plan: Plan, limit: float, *, prove: bool = True) -> Trial:
    """The trial of a plan, its seconds as if the GPU had the clock that it had in the first trial."""
    again, trial = worker.time([first.plan, plan], limit, prove=prove)
    if trial.seconds is None or again.seconds is None or first.seconds is None:
        return trial
    return replace(trial, seconds=first.seconds * trial.seconds / again.seconds)


def _quickest(worker: Worker, trials: list[Trial], limit: float) -> tuple[Plan, float]:
    """The plan of the least median time when those that were quickest are timed again, in turn, and that median; of the
    least time so far where `limit` is too short for that."""
    timed = sorted((trial.seconds, place) for place, trial in enumerate(trials) if trial.seconds is not None)
    if not timed:
        raise KernelError(f"tune: no plan could be timed; {'; '.join(map(str, trials)) or 'give more seconds'}")
    last = [trials[place] for _, place in timed[:FINALISTS]]
    again = worker.time([trial.plan for trial in last], limit) if limit > 0 else []
    found = [trial for trial in again if trial.seconds is not None] or last
    best = min(found, key=lambda trial: trial.seconds or 0.0)
    return best.plan, best.seconds or 0.0


def _show(done: int, trial: Trial) -> None:
    bar = "#" * (24 * done // CANDIDATES)
    print(f"\r[{bar:<24}] {done}/{CANDIDATES} {str(trial)[:72]:<72}", end="", file=sys.stderr, flush=True)


def space() -> Iterator[Plan]:
    """Every plan that there is, with k in one part."""
    sides, depths, counts = (16, 32, 64, 128, 256), (8, 16, 32), (1, 2, 4, 8, 16, 32, 64)
    for bm, bn, bk, tm, tn, tk in product(sides, sides, depths, counts, counts, (1, 4)):
        if not 32 <= tm * tn * tk <= 256 or bm % (4 * tm) or bn % (4 * tn) or (tk > 1 and 16 not in (bm, bn)):
            continue
        for lanes in {None, (8, 4) if tm % 8 == 0 and tn % 4 == 0 else None}:
            try:
                threads = (tm, tn, tk) if tk > 1 else (tm, tn)
                plan = Plan((bm, bn, bk), threads, stages=2 if tk == 1 else 1, unrolled=True, lanes=lanes)
            except KernelError:
                continue
            yield replace(plan, repeat_last=tk > 1 or bm * bn >= 128 * 128)
    for rows, tn, tk, runs in product((4, 8, 16), (4, 8, 16), (8, 16, 32, 64), (2, 4)):
        if 64 <= tn * tk <= 256:
            yield Plan((rows, 4 * tn, 4 * tk * runs), (1, tn, tk), unrolled=True, ahead=runs)


def candidates(problem: Problem, adapter: Adapter) -> list[Plan]:
    """The plans that are tried for a product, the default one first and then the likeliest.

    >>> from .runtime import Limits
    >>> problem = Problem(64, 4096, 1024, 1, ("f32",) * 3, (True, False, True))
    >>> kept = unbeaten(problem, Limits())
    >>> len(kept) < 40 < len(list(space())), all(plan.shared_bytes <= 16384 for plan in kept)
    (True, True)
    """
    p = problem
    default = choose_plan(p.m, p.n, p.k, adapter, p.batch, along_k=p.across[1])
    found: list[Plan] = [default]
    for plan in sorted(unbeaten(p, adapter.limits), key=lambda plan: microseconds(p, plan)):
        if plan not in found and sum(other.tile[:2] == plan.tile[:2] for other in found) < ALIKE:
            found.append(plan)
    return found


def unbeaten(problem: Problem, limits: Limits) -> list[Plan]:
    """The plans within these limits that no other beats in all of: bytes moved, words of shared memory for each
    multiply-add, multiply-adds beyond the product's own, and rounds of workgroups."""
    kept: list[tuple[tuple[float, ...], Plan]] = []
    for whole in space():
        if _fits(problem, whole, limits):
            plans = [whole_splits(whole, problem.k, splits) for splits in _splits(problem, whole)]
            kept += [(costs(problem, plan), plan) for plan in plans]
    return [plan for cost, plan in kept if not any(_beats(other, cost) for other, _ in kept)]


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _groups(problem: Problem, plan: Plan) -> int:
    """Workgroups of one part of k."""
    return ceil_div(problem.m, plan.tile[0]) * ceil_div(problem.n, plan.tile[1]) * problem.batch


def _fits(problem: Problem, plan: Plan, limits: Limits) -> bool:
    """Whether a device holds it, and no half of its tile lies beyond the product."""
    (bm, bn, _bk), (tm, tn, tk) = plan.tile, plan.along
    registers = bm // tm * (bn // tn) + bm // tm + bn // tn * (1 + 4 * plan.ahead)
    wasted = plan.ahead > 0 and problem.m > 16
    wasted |= bm >= 2 * max(16, power_of_two(problem.m)) or bn >= 2 * max(16, power_of_two(problem.n))
    room = plan.shared_bytes <= limits.workgroup_bytes and tm * tn * tk <= limits.invocations
    return room and registers <= MOST_REGISTERS and not wasted


def _splits(problem: Problem, plan: Plan) -> list[int]:
    """1, and the splits of k that fill the processors once, twice and four times."""
    groups = _groups(problem, plan)
    most = max(1, problem.k // 64)
    return sorted({1, *(min(most, max(1, times * PROCESSORS // groups)) for times in (1, 2, 4))})


def costs(problem: Problem, plan: Plan) -> tuple[float, ...]:
    """What a plan costs, each to be as little as it can: see `unbeaten`."""
    (bm, bn, bk), (tm, tn, _) = plan.tile, plan.along
    rows, columns = ceil_div(problem.m, bm), ceil_div(problem.n, bn)
    deep = ceil_div(problem.k, bk) * bk
    parts = 2 * plan.splits * problem.m * problem.n if plan.splits > 1 else 0
    moved = deep * (rows * bm * columns + columns * bn * rows) + parts
    words = (bm / tm + (0 if plan.ahead else bn / tn)) / (bm / tm * (bn / tn))
    return float(moved), words, float(rows * bm * columns * bn), _rounds(problem, plan)


def _rounds(problem: Problem, plan: Plan) -> float:
    """How long the longest thread works, in multiply-adds."""
    (bm, bn, bk), (tm, tn, tk) = plan.tile, plan.along
    turns = ceil_div(ceil_div(problem.k, bk), plan.splits)
    return float(ceil_div(_groups(problem, plan) * plan.splits, PROCESSORS) * bm * bn / (tm * tn * tk) * turns * bk)


BRINGING = {"f16": 0.12}
"""Clocks of a processor for an element that is brought to shared memory; 0.1 for other types."""


def microseconds(problem: Problem, plan: Plan) -> float:
    """How long a plan should take, as 1,600 plans of 24 products took on an NVIDIA H200.

    A slab costs its multiply-adds, the words of shared memory that these read, what is brought there, and a wait at
    the barrier that workgroups of one processor share. As many run together as registers and shared memory let.
    """
    (bm, bn, bk), (tm, tn, tk) = plan.tile, plan.along
    threads, brought = tm * tn * tk, (bm if plan.ahead else bm + bn) * bk
    _, words, _, _ = costs(problem, plan)
    registers = min(255.0, bm // tm * (bn // tn) + bm // tm + bn // tn + brought / threads + 30)
    room = 100_000 // plan.shared_bytes if plan.shared_bytes <= 24_600 else 1
    together = max(1, min(int(65536 / (threads * registers)), 2048 // threads, room))
    turns = ceil_div(ceil_div(problem.k, bk), plan.splits)
    slab = bm * bn * bk / 128 * (1 + words / 2) + BRINGING.get(problem.dtypes[0], 0.1) * brought

    def clocks(groups: int) -> float:
        return turns * (slab * (groups + 13 / threads) + 200) + 1200

    own = _groups(problem, plan) * plan.splits / PROCESSORS
    rounds, rest = divmod(own, together)
    last = clocks(ceil(rest)) if rest else 0.0
    taken = rounds * clocks(together) + last if rounds < 4 else own / together * clocks(together)
    return START + taken / CLOCKS + second_pass(problem.m * problem.n * problem.batch, plan.splits)


class Worker:
    """A process that times plans, one after the other; it is ended, and another begun, where one takes too long."""

    def __init__(self, adapter: Adapter, problem: Problem) -> None:
        self.adapter, self.problem = adapter, problem
        self.process: subprocess.Popen[str] | None = None
        self.answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def time(self, plans: Sequence[Plan], limit: float, *, prove: bool = True) -> list[Trial]:
        """Time plans in turn, within so many seconds once the process has begun."""
        if self.process is None:
            self.begin()
        assert self.process is not None and self.process.stdin is not None
        try:
            asked = {"plans": [asdict(plan) for plan in plans], "prove": prove}
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            answers = json.loads(self.answers.get(timeout=limit))
        except queue.Empty:
            why = f"more than {limit:.0f} s"
        except (OSError, ValueError):
            why = "its process ended"
        else:
            return [Trial(plan, **answer) for plan, answer in zip(plans, answers, strict=True)]
        self.end()
        return [Trial(plan, dropped=why) for plan in plans]

    def begin(self) -> None:
        """Start the process and wait until it has its device and its operands."""
        one = self.adapter  # Dawn shows equal GPUs as one: its name says which
        which = one.name if one.runtime == "dawn" else str(one.index)
        chosen = {**os.environ, "CUTEPY_ADAPTER": which, "CUTEPY_RUNTIME": one.runtime}
        command = [sys.executable, "-m", "cutepy.gpu.tune_worker", json.dumps(asdict(self.problem))]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=chosen)
        self.answers = queue.Queue()
        threading.Thread(target=_listen, args=(self.process, self.answers), daemon=True).start()
        try:
            begun = self.answers.get(timeout=60)
        except queue.Empty:
            begun = ""
        if not begun:
            self.end()
            raise KernelError(f"tune: a process of its own gets no device {self.adapter} within a minute")

    def end(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    with suppress(OSError):  # what was not read is lost with it
                        stream.close()
        self.process = None


def _listen(process: subprocess.Popen[str], answers: queue.Queue[str]) -> None:
    """Hand on what a process says, and an empty answer when it ends."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(line)
    except ValueError:  # closed meanwhile
        pass
    answers.put("")
