"""The tuner: what it drops unseen, what it keeps, whom its plans serve, and plans that take too long."""

from __future__ import annotations

import heapq
import json
import os
import queue
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from swiftshader import SWIFTSHADER

from cutepy import gpu, ops
from cutepy.errors import KernelError
from cutepy.gpu import CallCache
from cutepy.gpu.matmul import contraction as products
from cutepy.gpu.matmul import plan_cache as tuned
from cutepy.gpu.matmul import tuner
from cutepy.gpu.matmul.contraction import problem_of
from cutepy.gpu.matmul.cost_model import ProductProblem, choose_plan
from cutepy.gpu.runtime import Device, Limits, timing
from cutepy.gpu.runtime.plan_file import PlanFile

SHAPES = ((64, 300, 128), (16, 4096, 4096), (4096, 4096, 4096), (64, 64, 1 << 20), (33, 40, 77))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTEPY_CACHE", str(tmp_path))
    tuned.reread()
    CallCache.clear_all()
    yield tmp_path
    tuned.reread()
    CallCache.clear_all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("room", [16384, 49152])
def test_what_is_left_of_the_space(shape: tuple[int, int, int], room: int) -> None:
    found, given = tuner.unbeaten(ProductProblem(*shape), Limits(workgroup_bytes=room)), ProductProblem(*shape)
    prices = [tuner.costs(given, plan) for plan in found]
    assert found and len(found) < len(list(tuner.space()))
    for plan, price in zip(found, prices, strict=True):
        assert plan.shared_bytes <= room and plan.tile[0] < 2 * max(16, 1 << (shape[0] - 1).bit_length())
        assert not any(other != price and all(a <= b for a, b in zip(other, price, strict=True)) for other in prices)


@pytest.fixture(autouse=True)
def shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that times plans finds the driver that these tests show to Dawn."""
    if "device" in request.fixturenames and request.getfixturevalue("device").runtime.name == "dawn":
        monkeypatch.setenv("VK_ADD_DRIVER_FILES", str(SWIFTSHADER))


def operands(device: Device) -> tuple[object, object, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for shape in ((40, 70), (70, 96)))
    return gpu.array(a, device=device), gpu.array(b, device=device), a @ b


@pytest.mark.on_dawn()  # whose driver compiles plans for seconds
def test_a_product_is_tuned_once_and_for_its_class(
    device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, wanted = operands(device)
    monkeypatch.setattr(tuner, "CANDIDATES", 2)
    found = gpu.tune(a, b, seconds=60, limit=60, progress=False)
    default = choose_plan(problem_of(a, b)[0], device.adapter)
    assert not found.cached and default in [trial.plan for trial in found.trials]
    assert sum(trial.seconds is not None for trial in found.trials) <= 2
    assert found.plan in [trial.plan for trial in found.trials if trial.seconds]
    again = gpu.tune(a, b, progress=False)
    assert again.cached and again.plan == found.plan and not again.trials
    given, adapter = problem_of(a, b)
    assert tuned.tuned_plan(adapter, given) == found.plan
    assert tuned.tuned_plan(adapter, replace(given, k=4 * given.k)) is None
    alone, run = [], products.run_plan
    monkeypatch.setattr(products, "run_plan", lambda *args, **how: (alone.append(how["alone"]), run(*args, **how)))
    np.testing.assert_allclose(ops.matmul(a, b).numpy(), wanted, atol=1e-4)
    ops.matmul(a, gpu.array(np.ones((70, 20), np.float32), device=device))
    # Of what was not timed no size has a kernel of its own, nor has it where its Python runs over followed numbers.
    assert alone[0] and len(alone) > 1 and not any(alone[1:])
    tile = "x".join(map(str, found.plan.tile))
    assert f"tiles of {tile}" in gpu.explain_matmul(a, b) and "found by tuning" in gpu.explain_matmul(a, b)
    asked = "import sys; from cutepy.cli import main; sys.exit(main(['tune', '40x96x70', '--json']))"
    other = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=os.environ, timeout=60)
    assert other.returncode == 0, other.stderr
    told = json.loads(other.stdout)
    assert told["known"] and tuple(told["plan"]["tile"]) == found.plan.tile and told["product"] == "40x96x70"


class Machine:
    """A clock, and what the processes of a crew say at its times: a process takes 2 s to begin and 1.5 s to compile a
    plan, and never ends the plans `endless`; the GPU has another clock at every question."""

    def __init__(self, takes: Callable[[gpu.Plan], float], endless: Callable[[gpu.Plan], bool]) -> None:
        self.takes, self.endless = takes, endless
        self.now, self.asked, self.order = 0.0, 0, 0
        self.said: list[tuple[float, int, object, str]] = []

    def perf_counter(self) -> float:
        return self.now

    def say(self, when: float, process: object, line: str) -> None:
        self.order += 1
        heapq.heappush(self.said, (when, self.order, process, line))

    def get(self, timeout: float) -> tuple[object, str]:
        """As `queue.Queue.get`."""
        if not self.said or self.said[0][0] > self.now + timeout:
            self.now += timeout
            raise queue.Empty
        when, _, process, line = heapq.heappop(self.said)
        self.now = max(self.now, when)
        return process, line


class Process:
    """As `subprocess.Popen`, with itself as the streams."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.free, self.compiled = machine, machine.now + 2.0, set()
        self.stdin = self.stdout = self
        machine.say(self.free, self, "{}")

    def write(self, line: str) -> None:
        plans = [tuned.plan_of(plan) for plan in json.loads(line)["plans"]]
        if any(map(self.machine.endless, plans)):
            return
        clock = (1.0, 5.7, 2.0)[self.machine.asked % 3]
        self.machine.asked += 1
        self.free = max(self.free, self.machine.now) + 1.5 * len({*plans} - self.compiled) + 0.1
        self.compiled |= {*plans}
        self.machine.say(self.free, self, json.dumps([{"seconds": clock * self.machine.takes(plan)} for plan in plans]))

    def flush(self) -> None: ...
    def close(self) -> None: ...
    def kill(self) -> None: ...
    def wait(self) -> None: ...


def processes(begin: Callable[..., object]) -> SimpleNamespace:
    """`subprocess` for the tuner alone: other threads of this process, as a server's, have the module itself."""
    return SimpleNamespace(Popen=begin, PIPE=subprocess.PIPE)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    def made(*how: Callable[[gpu.Plan], float]) -> Machine:
        one = Machine(*how)
        monkeypatch.setattr(tuner, "time", one)
        monkeypatch.setattr(tuner, "queue", SimpleNamespace(Queue=lambda: one, Empty=queue.Empty))
        monkeypatch.setattr(tuner, "subprocess", processes(lambda *_, **__: Process(one)))
        threads = SimpleNamespace(Thread=lambda **_: SimpleNamespace(start=lambda: None))
        monkeypatch.setattr(tuner, "threading", threads)
        return one

    return made


def test_the_clock_of_the_gpu_chooses_no_plan(device: Device, machine: Callable[..., Machine]) -> None:
    given = ProductProblem(40, 96, 70)
    one = machine(lambda plan: 1 + (plan.splits - 4) ** 2 / 100, lambda plan: plan.splits == 7)
    plans = [gpu.Plan(splits=n + 1) for n in range(7)]
    with tuner.Crew(device.adapter, given, 3) as crew:
        trials = list(crew.trials(plans, float("inf"), 5.0, most=7))
        assert {t.plan.splits: t.seconds for t in trials if t.seconds} == pytest.approx(
            {plan.splits: one.takes(plan) for plan in plans[:6]}
        )
        assert tuner._quickest(crew, trials, one.now + 5.0)[0] == gpu.Plan(splits=4)


def test_a_time_without_that_of_the_first_plan_beside_it_is_not_taken(
    device: Device, machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clocks of both cannot be compared; it is asked for once more where the first plan was not known yet."""
    one = machine(lambda plan: 1.0, lambda plan: False)
    begun: list[Process] = []

    class Later(Process):
        """From the second process on the first plan is not timed."""

        def __init__(self, machine: Machine) -> None:
            super().__init__(machine)
            begun.append(self)

        def write(self, line: str) -> None:
            plans = [tuned.plan_of(plan) for plan in json.loads(line)["plans"]]
            answers = [{"dropped": "lost"} if plan.splits == 1 else {"seconds": 1.0} for plan in plans]
            assert one.asked < 20, "the same question without end"
            one.asked += 1
            if self is begun[0]:
                answers = [{"seconds": 1.0} for plan in plans]
            self.free = max(self.free, one.now) + (1.0 if self is begun[0] else 2.0)
            one.say(self.free, self, json.dumps(answers))

    monkeypatch.setattr(tuner, "subprocess", processes(lambda *_, **__: Later(one)))
    with tuner.Crew(device.adapter, ProductProblem(40, 96, 70), 2) as crew:
        trials = list(crew.trials([gpu.Plan(splits=n) for n in (1, 2, 3)], float("inf"), 5.0, most=3))
    assert {trial.plan.splits for trial in trials if trial.seconds} == {1, 3}
    assert [trial.dropped for trial in trials if not trial.seconds] == ["the first plan could not be timed beside it"]


def test_a_process_that_gets_no_device_is_told_with_the_reason(device: Device, machine: Callable[..., Machine]) -> None:
    given, plan = ProductProblem(40, 96, 70), gpu.Plan()
    for answer, why in (("", "its process ended"), (None, "more than 60 s")):
        one = machine(lambda plan: 1.0, lambda plan: True)
        with tuner.Crew(device.adapter, given, 1) as crew:
            one.said.clear()
            if answer is not None:
                one.say(1.0, crew.workers[0].process, answer)
            with pytest.raises(KernelError, match=f"gets no device .*: {why}"):
                list(crew.trials([plan], float("inf"), 5.0, most=1))


@pytest.mark.parametrize("room", [16384, 49152])
def test_what_an_adapter_does_not_hold_is_no_candidate(device: Device, room: int) -> None:
    small = replace(device.adapter, limits=replace(device.adapter.limits, workgroup_bytes=room))
    for shape in SHAPES[:2]:
        assert all(plan.shared_bytes <= room for plan in tuner.candidates(ProductProblem(*shape), small))


def test_one_lucky_round_does_not_win(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    takes, rounds = [1.0, 1.1, 3.0], [0, 0, 0]

    def round_of(_device: Device, launch: int, _repeats: int) -> float:
        rounds[launch] += 1
        return takes[launch] * (0.5 if launch == 1 and rounds[1] % 4 == 0 else 1.0)

    monkeypatch.setattr(timing, "_round", round_of)
    assert timing.seconds_in_turn(device, [0, 1, 2], quick=1.0) == takes
    assert rounds == [3 + timing.ROUNDS, 2 + timing.ROUNDS, 2], "what is much slower is not launched again"


def test_a_gpu_is_warmed_until_it_is_as_quick_as_before(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = iter([5.7, 5.7, 5.7, 4.0, 2.0, 1.02])
    monkeypatch.setattr(timing, "_round", lambda *_: next(clocks, 1.0))
    monkeypatch.setattr(timing, "WARM_SECONDS", 60.0)
    assert timing.seconds_in_turn(device, [0], quick=1.0) == [1.0] and next(clocks, None) is None


def test_tunings_use_the_gpu_one_after_the_other(cache: Path) -> None:
    """Another process is let in only when this one has left."""
    asked = "from cutepy.gpu.runtime.plan_file import PlanFile\nwith PlanFile.alone(): print('in')"
    with PlanFile.alone():
        other = subprocess.Popen([sys.executable, "-c", asked], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.communicate(timeout=3)
    told, _ = other.communicate(timeout=60)
    assert told == "in\n"


def test_a_product_takes_the_plan_that_was_kept(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _ = operands(device)
    ops.matmul(a, b)
    odd = gpu.Plan((32, 32, 8), (8, 8), splits=3)
    given, adapter = problem_of(a, b)
    tuned.keep(adapter, given, odd, 1.0)
    CallCache.clear_all()
    taken = []

    def launch(kernel: object, *args: Any, **how: object) -> None:
        taken.append((how["plan"], args[2].shape[-1]))  # the parts of k are the last mode of what is written
        raise InterruptedError

    monkeypatch.setattr(gpu.KernelFunction, "__call__", launch)
    with pytest.raises(InterruptedError):
        ops.matmul(a, b)
    assert taken == [(replace(odd, splits=1), odd.splits)]


def test_a_file_that_cannot_be_read_counts_as_absent(device: Device, cache: Path) -> None:
    a, b, wanted = operands(device)
    given, adapter = problem_of(a, b)
    for text in ("{", "[]", json.dumps({tuned.key_of(adapter, given): {"plan": {"tile": [3, 3, 3]}, "seconds": 1}})):
        (cache / "plans.json").write_text(text)
        tuned.reread()
        with pytest.warns(RuntimeWarning, match="not taken"):
            assert tuned.tuned_plan(adapter, given) is None
        assert tuned.tuned_plan(adapter, given) is None  # said once
    np.testing.assert_allclose(ops.matmul(a, b).numpy(), wanted, atol=1e-4)


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)  # Dawn's process is begun above
def test_a_plan_that_takes_too_long_is_ended(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _ = operands(device)
    given, adapter = problem_of(a, b)
    plan = choose_plan(given)
    with tuner.Crew(adapter, given, 1) as crew:
        [trial] = crew.trials([plan], float("inf"), 1e-4, most=1)
        assert trial.seconds is None and "more than" in trial.dropped and crew.workers[0].process is None
        assert all(trial.seconds for trial in crew.trials([plan, replace(plan, splits=2)], float("inf"), 60, most=2))
        assert crew.workers[0].process is not None
        crew.workers[0].process.kill()
        assert [trial.dropped for trial in crew.trials([plan], float("inf"), 60, most=1)] == ["its process ended"]


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)
@pytest.mark.parametrize("endless", [(), (0,), (3,), (7,), (1, 2), (0, 1, 5)], ids=str)
@pytest.mark.parametrize("size", [2, 4])
def test_tuning_ends_in_its_time(
    device: Device,
    cache: Path,
    machine: Callable[..., Machine],
    monkeypatch: pytest.MonkeyPatch,
    endless: tuple[int, ...],
    size: int,
) -> None:
    """Whatever never compiles: by as many processes and one more, the quickest of the others is found meanwhile."""
    monkeypatch.setattr(tuner, "Crew", partial(tuner.Crew, size=size))
    a, b, _ = operands(device)
    given, adapter = problem_of(a, b)
    order = {plan: place for place, plan in enumerate(tuner.candidates(given, adapter))}
    one = machine(lambda plan: 2.0 - (order[plan] == 8), lambda plan: order[plan] in endless)
    found = tuner.tune(a, b, seconds=20.0, progress=False)
    assert (order[found.plan] == 8 or len(endless) >= size) and one.now <= 20.0
    assert len(found.trials) <= 12 and {*endless} <= {order[trial.plan] for trial in found.trials if trial.dropped}


def test_what_cannot_be_tuned(device: Device) -> None:
    x = gpu.array(np.ones((5, 7), np.float32), device=device)
    with pytest.raises(KernelError, match="no plan"):
        gpu.tune(x, np.ones(7, np.float32))


def test_a_cache_that_takes_no_files_is_told_before_a_process_begins(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").touch()
    monkeypatch.setattr(tuner, "Worker", None)
    for where in (tmp_path / "taken", tmp_path / "taken" / "below"):
        monkeypatch.setenv("CUTEPY_CACHE", str(where))
        with pytest.raises(KernelError, match=r"taken.*, which takes no files .*name another folder by CUTEPY_CACHE"):
            gpu.tune(*operands(device)[:2])
