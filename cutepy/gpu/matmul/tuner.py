"""`gpu.tune`: the fastest plan of a product on this machine, found by timing few plans, each under a time limit.

Law: the space is every plan whose tile and threads the kernel takes. Dropped before a driver compiles it is what
exceeds the device's limits, wastes half a tile, is beaten by another plan in all that it moves and computes, cannot be
proven, or meets more conflicts than a plan before it. What is left is timed, likeliest first, by several processes: one
plan that compiles for long keeps no other waiting. The quickest are timed again. Each is timed in turn with the default
plan: the clock of the GPU rises and falls, and is the same for both.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import product
from math import prod
from operator import gt

from ...errors import KernelError
from ...layout import ceil_div
from .. import Adapter, CallCache, Limits, Trial, Tuning
from ..operations.domain import power_of_two
from ..runtime.interrupts import Uninterrupted
from ..runtime.plan_file import PlanFile
from .contraction import problem_of
from .cost_model import (
    FEW_ROWS,
    PLANS,
    PROCESSORS,
    SKINNY,
    ProductProblem,
    choose_plan,
    in_splits,
    least_of,
    predicted_us,
    registers_per_thread,
    slabs_of,
    smem_words_per_fma,
    workgroups_of,
)
from .plan import Plan
from .plan_cache import MOST_REGISTERS, keep, known

CANDIDATES, SECONDS, LIMIT_SECONDS = 12, 20.0, 5.0
"""Plans that are compiled at most, the seconds that all of them may take, and those of one."""
FINALISTS, FIRST_ROUNDS, LAST_ROUNDS = 4, 0.75, 0.9
"""Plans that are timed again, and the parts of the seconds after which the first trials and those end; processes take
the rest to end."""
PROCESSES, STARTING_SECONDS = 2, 60.0
"""Processes that time plans, and the seconds that one may take until it has its device and operands."""
Said = tuple["subprocess.Popen[str]", str]
"""A process and a line of its output."""


def tune(
    A: object,
    B: object,
    *,
    seconds: float = SECONDS,
    limit: float = LIMIT_SECONDS,
    again: bool = False,
    progress: bool = True,
) -> Tuning[Plan]:
    """Find the fastest plan of `ops.matmul(A, B)` on the device of the operands, and keep it for products of its class.

    Products of the class then have kernels for their sizes alone, each compiled at its first call; those that were not
    tuned have one for all sizes, unless they are large. That is worth up to a fifth of the time of a small product.

    It takes at most about `seconds`, and `limit` for one plan: each is compiled in a process apart, which ends with its
    time. What was found before, by any process, is given back without a compilation unless `again` is said.

    Raises TensorError and KernelError for what is no product; KernelError where no plan could be timed.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> device = gpu.default_device()
    >>> A, B = gpu.array(np.zeros((2, 3), np.float32)), gpu.array(np.zeros((4, 5), np.float32))
    >>> try:
    ...     tune(A, B)
    ... except ValueError as error:
    ...     print(error)
    matmul: of the shapes (2, 3) and (4, 5) the inner sizes 3 and 4 differ; transpose an operand with permute
    """
    problem, adapter = problem_of(A, B)
    found = None if again else known(adapter, problem)
    if found is not None:
        return Tuning(problem, *found, (), cached=True)
    PlanFile.lock().close()  # raises where nothing can be kept, before any process is begun
    start = time.perf_counter()
    trials: list[Trial[Plan]] = []
    # First each candidate once, beside the default plan; then the quickest again.
    with Crew(adapter, problem) as crew:
        until = start + FIRST_ROUNDS * seconds
        for trial in crew.trials(candidates(problem, adapter), until, limit, most=CANDIDATES):
            trials.append(trial)
            if progress:
                _show(sum(not each.early for each in trials), trial)
        plan, took = _quickest(crew, trials, start + LAST_ROUNDS * seconds)
    if progress:
        print(file=sys.stderr)
    keep(adapter, problem, plan, took)
    CallCache.clear_all()
    return Tuning(problem, plan, took, tuple(trials))


def _quickest(crew: Crew, trials: list[Trial[Plan]], end: float) -> tuple[Plan, float]:
    """The plan of the least time and its seconds: the quickest of the `trials`, timed again by `end` in the processes
    that have compiled them. Raises KernelError where no trial has a time."""
    timed = sorted((trial.seconds, place) for place, trial in enumerate(trials) if trial.seconds is not None)
    if not timed:
        raise KernelError(f"tune: no plan could be timed; {'; '.join(map(str, trials)) or 'give more seconds'}")
    last = {trials[place].plan: seconds for seconds, place in timed[:FINALISTS]}
    last |= {trial.plan: trial.seconds for trial in crew.again(last, end) if trial.seconds is not None}
    best = min(last, key=lambda plan: last[plan])
    return best, last[best]


def _show(done: int, trial: Trial[Plan]) -> None:
    """The progress, on one line of stderr."""
    bar = "#" * (24 * done // CANDIDATES)
    print(f"\r[{bar:<24}] {done}/{CANDIDATES} {str(trial)[:72]:<72}", end="", file=sys.stderr, flush=True)


def space() -> Iterator[Plan]:
    """Every plan that there is, with k in one part."""
    # Staged products: tiles whose sides are multiples of 4 for each thread, and of few rows with threads along k.
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
    # Products of few rows, with B in registers.
    for rows, tn, tk, runs in product((4, 8, 16), (4, 8, 16), (8, 16, 32, 64), (2, 4)):
        if 64 <= tn * tk <= 256:
            yield Plan((rows, 4 * tn, 4 * tk * runs), (1, tn, tk), unrolled=True, ahead=runs)


BROAD = Plan((64, 256, 8), (8, 32), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
"""For many columns and a short k in whole vectors: 200x16000x60 takes 17.3 us by it on an H200, 18.4 by `LARGE`."""


def candidates(problem: ProductProblem, adapter: Adapter) -> list[Plan]:
    """The plans that are tried for a product: the default one and the likeliest four that products have, or `BROAD`, as
    far as the adapter holds them, then the likeliest with each tile and its threads, then the others.

    >>> from ..runtime import Limits
    >>> problem = ProductProblem(64, 4096, 1024)
    >>> kept = unbeaten(problem, Limits())
    >>> len(kept) < 40 < len(list(space())), all(plan.shared_bytes <= 16384 for plan in kept)
    (True, True)
    """
    # Likeliest first; of plans with one tile and its threads the second comes after the first of all others.
    likeliest = sorted(unbeaten(problem, adapter.limits), key=lambda plan: predicted_us(problem, plan))
    before: Counter[object] = Counter()
    placed: list[tuple[int, int, Plan]] = []
    usual = sorted(
        (least_of(problem, (plan,)) for plan in (*PLANS, BROAD, SKINNY) if _has_room(plan, adapter.limits)),
        key=lambda one: predicted_us(problem, one),
    )
    for plan in dict.fromkeys([choose_plan(problem, adapter), *usual[:4], *likeliest]):
        placed.append((before[plan.tile, plan.threads], len(placed), plan))
        before[plan.tile, plan.threads] += 1
    return [plan for _, _, plan in sorted(placed)]


def unbeaten(problem: ProductProblem, limits: Limits) -> list[Plan]:
    """The plans within these limits that no other beats in all of their `costs`: the Pareto front."""
    fitting = [plan for whole in space() if _fits(problem, whole, limits) for plan in in_splits(problem, whole)]
    kept: dict[Plan, tuple[float, ...]] = {}
    for cost, plan in sorted(((costs(problem, plan), plan) for plan in fitting), key=lambda pair: pair[0]):
        if all(other == cost or any(map(gt, other, cost)) for other in kept.values()):
            kept[plan] = cost
    return list(kept)


def _fits(problem: ProductProblem, plan: Plan, limits: Limits) -> bool:
    """Whether a device holds it, and no half of its tile lies beyond the product, sides of up to 16 aside."""
    bm, bn, _ = plan.tile
    # No tile is twice as long as the next power of two of the product, and reading ahead is for few rows.
    wasted = plan.ahead > 0 and problem.m > FEW_ROWS
    wasted |= bm >= 2 * max(16, power_of_two(problem.m)) or bn >= 2 * max(16, power_of_two(problem.n))
    return _has_room(plan, limits) and registers_per_thread(plan) <= MOST_REGISTERS and not wasted


def _has_room(plan: Plan, limits: Limits) -> bool:
    """Whether a workgroup of a device may have its bytes and its threads."""
    return plan.shared_bytes <= limits.workgroup_bytes and prod(plan.threads) <= limits.invocations


def costs(problem: ProductProblem, plan: Plan) -> tuple[float, ...]:
    """What a plan costs, each to be as small as can be: elements moved between memory and workgroups, words of shared
    memory for a multiply-add, multiply-adds of whole tiles, and those of one thread in all rounds of workgroups."""
    (bm, bn, bk), groups, turns = plan.tile, workgroups_of(problem, plan), slabs_of(problem, plan)
    moved = groups * (bm + bn) * ceil_div(problem.k, bk) * bk
    parts = 2 * plan.splits * problem.m * problem.n * problem.batch if plan.splits > 1 else 0
    longest = ceil_div(groups * plan.splits, PROCESSORS) * bm * bn / prod(plan.threads) * turns * bk
    return float(moved + parts), smem_words_per_fma(plan), float(groups * bm * bn), longest


class Worker:
    """A process that times plans, one question after the other, and what it was asked for last."""

    def __init__(self, adapter: Adapter, problem: ProductProblem) -> None:
        self.adapter, self.problem = adapter, problem
        self.process: subprocess.Popen[str] | None = None
        self.ready = False
        self.first: Plan | None = None
        self.plans: list[Plan] = []
        self.limit, self.ends = 0.0, 0.0

    def begin(self, said: queue.Queue[Said]) -> None:
        """Start the process, which hands on what it says: first that it has its device and its operands."""
        one = self.adapter  # of Dawn by name: it shows equal GPUs as one, and its indices do not tell them apart
        which = one.name if one.runtime == "dawn" else str(one.index)
        chosen = {**os.environ, "CUTEPY_ADAPTER": which, "CUTEPY_RUNTIME": one.runtime}
        command = [sys.executable, "-m", "cutepy.gpu.matmul.tuner_worker", json.dumps(asdict(self.problem))]
        pipe = subprocess.PIPE
        group = 0 if os.name == "posix" else None  # of its own: a terminal's Ctrl-C is for the process that tunes
        with Uninterrupted():
            self.process, self.ready = (
                subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=chosen, process_group=group),
                False,
            )
            threading.Thread(target=_listen, args=(self.process, said), daemon=True).start()

    def end(self) -> None:
        """End the process, whatever it does."""
        with Uninterrupted():
            if self.process is not None:
                self.process.kill()
                self.process.wait()
                for stream in (self.process.stdin, self.process.stdout):
                    if stream is not None:
                        with suppress(OSError):  # what was not read is lost with it
                            stream.close()
            self.process, self.plans = None, []


class Crew:
    """Processes that time plans of a product: while one of them compiles, others go on. One that takes too long is
    ended, and another begun when it is needed."""

    def __init__(self, adapter: Adapter, problem: ProductProblem, size: int = PROCESSES) -> None:
        self.said: queue.Queue[Said] = queue.Queue()
        self.workers = [Worker(adapter, problem) for _ in range(size)]
        self.first: Trial[Plan] | None = None
        self.made: dict[Plan, Worker] = {}

    def __enter__(self) -> Crew:
        try:
            for worker in self.workers:
                worker.begin(self.said)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with Uninterrupted():
            for worker in self.workers:
                worker.end()

    def trials(
        self, plans: Iterable[Plan], until: float, limit: float, *, most: float, prove: bool = True
    ) -> Iterator[Trial[Plan]]:
        """The trials of plans as they come: none is begun after `until`, and no driver compiles more than `most`.

        Each is timed beside the first that could be timed, and has the seconds that it would have at the clock that the
        GPU had then.
        """
        left, compiled = iter(plans), 0
        while True:
            # Every process without a question gets the next plan, while there is time for one.
            for worker in self.workers:
                seconds = until - time.perf_counter()
                late = seconds <= (0 if worker.process else limit)
                if worker.plans or compiled >= most or late or not (plan := next(left, None)):
                    continue
                allowed = limit if worker.ready else 1.5 * limit  # the first is compiled, too
                self.ask(worker, [plan], min(allowed, max(1.0, seconds)), prove=prove)
                compiled += 1
            if not any(worker.plans for worker in self.workers):
                return
            for trial in self.heard():
                compiled -= trial.early
                yield trial

    def again(self, plans: Iterable[Plan], end: float) -> list[Trial[Plan]]:
        """The trials of plans, timed again by `end` where they are compiled."""
        found, given = [], list(plans)
        for worker in self.workers:
            mine, left = [plan for plan in given if self.made.get(plan) is worker], end - time.perf_counter()
            if mine and left > 0:
                self.ask(worker, mine, left)
        while any(worker.plans for worker in self.workers):
            found += self.heard()
        return found

    def ask(self, worker: Worker, plans: list[Plan], limit: float, *, prove: bool = True) -> None:
        """Have plans timed in turn with the first, within so many seconds once the process is ready."""
        if worker.process is None:
            worker.begin(self.said)
        worker.first, worker.plans, worker.limit = self.first.plan if self.first else None, plans, limit
        worker.ends = time.perf_counter() + (limit if worker.ready else STARTING_SECONDS)
        asked = [asdict(plan) for plan in (worker.first, *plans) if plan]
        assert worker.process is not None and worker.process.stdin is not None
        with suppress(OSError):  # of a process that has ended: it is heard of
            worker.process.stdin.write(json.dumps({"plans": asked, "prove": prove}) + "\n")
            worker.process.stdin.flush()

    def heard(self) -> list[Trial[Plan]]:
        """What the next worker has to say, or that one has taken too long: the trials of what it was asked for."""
        # Wait for the next line, at most until the first deadline: that process is ended.
        soonest = min((worker for worker in self.workers if worker.plans), key=lambda worker: worker.ends)
        try:
            process, line = self.said.get(timeout=max(0.0, soonest.ends - time.perf_counter()))
        except queue.Empty:
            return self.lost(soonest, f"more than {soonest.limit if soonest.ready else STARTING_SECONDS:.0f} s")
        worker = next((worker for worker in self.workers if worker.process is process), None)
        if worker is None:  # it was ended meanwhile
            return []
        if line and not worker.ready:
            worker.ready, worker.ends = True, time.perf_counter() + worker.limit
            return []
        try:
            answers = json.loads(line)
        except ValueError:
            return self.lost(worker, "its process ended")
        beside, plans, worker.plans = worker.first and answers.pop(0).get("seconds"), worker.plans, []
        found = [Trial(plan, **answer) for plan, answer in zip(plans, answers, strict=True)]
        # The clock of the GPU may be another than for the first plan: times are scaled by how long that takes now.
        if beside and self.first and self.first.seconds:
            clock = self.first.seconds / beside
            found = [replace(trial, seconds=trial.seconds and clock * trial.seconds) for trial in found]
        elif self.first and any(trial.seconds for trial in found):  # at some other clock than that of the first
            if worker.first is None:
                self.ask(worker, plans, worker.limit, prove=False)
                return []
            found = [Trial(plan, dropped="the first plan could not be timed beside it") for plan in plans]
        self.made |= {trial.plan: worker for trial in found if trial.seconds is not None}
        self.first = self.first or next((trial for trial in found if trial.seconds is not None), None)
        return found

    def lost(self, worker: Worker, why: str) -> list[Trial[Plan]]:
        """The trials of a worker that is ended. Raises KernelError where it never began."""
        plans, ready = worker.plans, worker.ready
        worker.end()
        self.made = {plan: other for plan, other in self.made.items() if other is not worker}
        if not ready:
            raise KernelError(f"tune: a process of its own gets no device {worker.adapter}: {why}")
        return [Trial(plan, dropped=why) for plan in plans]


def _listen(process: subprocess.Popen[str], said: queue.Queue[Said]) -> None:
    """Hand on what a process says, and an empty line when it ends."""
    assert process.stdout is not None
    try:
        for line in process.stdout:
            said.put((process, line))
    except ValueError:  # closed meanwhile
        pass
    said.put((process, ""))
