"""The tuner: what it drops unseen, what it keeps, whom its plans serve, and plans that take too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from swiftshader import SWIFTSHADER

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu import repeat, tune_worker, tuned, tuner
from cutepy.gpu.matmul import choose_plan
from cutepy.gpu.products import problem_of
from cutepy.gpu.runtime import Device, Limits

SHAPES = ((64, 300, 128), (16, 4096, 4096), (4096, 4096, 4096), (64, 64, 1 << 20), (33, 40, 77))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTEPY_CACHE", str(tmp_path))
    tuned._known.cache_clear()
    repeat.forget()
    yield tmp_path
    tuned._known.cache_clear()
    repeat.forget()


def problem(m: int, n: int, k: int) -> tuned.Problem:
    return tuned.Problem(m, n, k, 1, ("f32", "f32", "f32"), (True, False, True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("room", [16384, 49152])
def test_what_is_left_of_the_space(shape: tuple[int, int, int], room: int) -> None:
    found, given = tuner.unbeaten(problem(*shape), Limits(workgroup_bytes=room)), problem(*shape)
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


def test_a_product_is_tuned_once_and_for_its_class(
    device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, wanted = operands(device)
    monkeypatch.setattr(tuner, "CANDIDATES", 2)
    found = gpu.tune(a, b, seconds=60, limit=60, progress=False)
    assert not found.cached and found.trials[0].plan == choose_plan(40, 96, 70, device.adapter)
    assert sum(trial.seconds is not None for trial in found.trials) <= 2
    assert found.plan in [trial.plan for trial in found.trials if trial.seconds]
    again = gpu.tune(a, b, progress=False)
    assert again.cached and again.plan == found.plan and not again.trials
    given, adapter = problem_of(a, b)
    assert tuned.tuned_plan(adapter, given) == found.plan
    assert tuned.tuned_plan(adapter, replace(given, k=4 * given.k)) is None
    np.testing.assert_allclose(gpu.matmul(a, b).numpy(), wanted, atol=1e-4)
    tile = "x".join(map(str, found.plan.tile))
    assert f"tiles of {tile}" in gpu.explain_matmul(a, b) and "found by tuning" in gpu.explain_matmul(a, b)
    asked = "import sys; from cutepy.cli import main; sys.exit(main(['tune', '40x96x70', '--json']))"
    other = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=os.environ, timeout=60)
    assert other.returncode == 0, other.stderr
    told = json.loads(other.stdout)
    assert told["known"] and tuple(told["plan"]["tile"]) == found.plan.tile and told["product"] == "40x96x70"


class Slowing:
    """Times plans as they take on a GPU whose clock is another one at every question."""

    def __init__(self, takes: dict[gpu.Plan, float]) -> None:
        self.takes, self.asked = takes, 0

    def time(self, plans: list[gpu.Plan], limit: float, *, prove: bool = True) -> list[tuner.Trial]:
        self.asked += 1
        clock = (1.0, 5.7, 2.0)[self.asked % 3]
        return [tuner.Trial(plan, self.takes[plan] * clock) for plan in plans]


def test_the_clock_of_the_gpu_chooses_no_plan() -> None:
    takes = {gpu.Plan(splits=n + 1): 1 + (n - 3) ** 2 / 100 for n in range(6)}
    worker, first = Slowing(takes), tuner.Trial(gpu.Plan(), takes[gpu.Plan()])
    trials = [first, *(tuner.beside(worker, first, plan, 5.0) for plan in takes if plan != first.plan)]
    assert [trial.seconds for trial in trials] == pytest.approx(list(takes.values()))
    trials.append(tuner.Trial(gpu.Plan(splits=7), dropped="more than 5 s"))
    plan, _ = tuner._quickest(worker, trials, 5.0)
    assert plan == gpu.Plan(splits=4)


def test_one_lucky_round_does_not_win(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    takes, rounds = [1.0, 1.1, 3.0], [0, 0, 0]

    def round_of(_device: Device, launch: int, _repeats: int) -> float:
        rounds[launch] += 1
        return takes[launch] * (0.5 if launch == 1 and rounds[1] % 4 == 0 else 1.0)

    monkeypatch.setattr(tune_worker, "_round", round_of)
    assert tune_worker.seconds_in_turn(device, [0, 1, 2], quick=1.0) == takes
    assert rounds == [3 + tune_worker.ROUNDS, 2 + tune_worker.ROUNDS, 2], "what is much slower is not launched again"


def test_a_gpu_is_warmed_until_it_is_as_quick_as_before(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = iter([5.7, 5.7, 5.7, 4.0, 2.0, 1.02])
    monkeypatch.setattr(tune_worker, "_round", lambda *_: next(clocks, 1.0))
    monkeypatch.setattr(tune_worker, "WARM", 60.0)
    assert tune_worker.seconds_in_turn(device, [0], quick=1.0) == [1.0] and next(clocks, None) is None


def test_tunings_use_the_gpu_one_after_the_other(cache: Path) -> None:
    """Another process is let in only when this one has left."""
    asked = "from cutepy.gpu.tuned import alone\nwith alone(): print('in')"
    with tuned.alone():
        other = subprocess.Popen([sys.executable, "-c", asked], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.communicate(timeout=3)
    told, _ = other.communicate(timeout=60)
    assert told == "in\n"


def test_a_product_takes_the_plan_that_was_kept(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _ = operands(device)
    gpu.matmul(a, b)
    odd = gpu.Plan((32, 32, 8), (8, 8), splits=3)
    given, adapter = problem_of(a, b)
    tuned.keep(adapter, given, odd, 1.0)
    repeat.forget()
    taken = []

    def launch(kernel: object, *args: object, **how: object) -> None:
        taken.append(how["plan"])
        raise InterruptedError

    monkeypatch.setattr(gpu.KernelFunction, "__call__", launch)
    with pytest.raises(InterruptedError):
        gpu.matmul(a, b)
    assert taken == [odd]


def test_a_file_that_cannot_be_read_counts_as_absent(device: Device, cache: Path) -> None:
    a, b, wanted = operands(device)
    given, adapter = problem_of(a, b)
    for text in ("{", "[]", json.dumps({tuned.key_of(adapter, given): {"plan": {"tile": [3, 3, 3]}, "seconds": 1}})):
        (cache / "plans.json").write_text(text)
        tuned._known.cache_clear()
        assert tuned.tuned_plan(adapter, given) is None
    np.testing.assert_allclose(gpu.matmul(a, b).numpy(), wanted, atol=1e-4)


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)  # Dawn's process is begun above
def test_a_plan_that_takes_too_long_is_ended(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _ = operands(device)
    given, adapter = problem_of(a, b)
    with tuner.Worker(adapter, given) as worker:
        plan = choose_plan(40, 96, 70)
        [trial] = worker.time([plan], 1e-4)
        assert trial.seconds is None and "more than" in trial.dropped and worker.process is None
        assert all(trial.seconds for trial in worker.time([plan, replace(plan, splits=2)], 60))
        worker.process.kill()
        assert [trial.dropped for trial in worker.time([plan], 60)] == ["its process ended"]


class Compiling:
    """A worker on a clock of its own: a process takes 2 s to begin and 1.5 s to compile a plan, and never ends one."""

    def __init__(self, endless: int) -> None:
        self.now, self.endless = 0.0, endless
        self.process: bool | None = None
        self.met: dict[gpu.Plan, int] = {}
        self.compiled: set[gpu.Plan] = set()

    def perf_counter(self) -> float:
        return self.now

    def __call__(self, *_: object) -> Compiling:
        return self

    def __enter__(self) -> Compiling:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def time(self, plans: Sequence[gpu.Plan], limit: float, *, prove: bool = True) -> list[tuner.Trial]:
        if self.process is None:
            self.now, self.process, self.compiled = self.now + 2.0, True, set()
        for plan in plans:
            self.met.setdefault(plan, len(self.met))
        numbers = [self.met[plan] for plan in plans]
        takes = sum(1.5 for plan in plans if plan not in self.compiled) + 0.15 * len(plans)
        if self.endless in numbers or takes > limit:
            self.now, self.process = self.now + limit, None
            return [tuner.Trial(plan, dropped="more than that") for plan in plans]
        self.now += takes
        self.compiled |= set(plans)
        return [tuner.Trial(plan, 1.0 + number) for plan, number in zip(plans, numbers, strict=True)]


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)
@pytest.mark.parametrize("endless", range(13))
def test_tuning_ends_in_its_time(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch, endless: int) -> None:
    worker = Compiling(endless)
    monkeypatch.setattr(tuner, "Worker", worker)
    monkeypatch.setattr(tuner, "time", worker)
    a, b, _ = operands(device)
    found = tuner.tune(a, b, seconds=20.0, progress=False)
    assert worker.met[found.plan] == (endless == 0), "the quickest that could be timed"
    assert worker.now <= 20.0 and len(found.trials) >= 4


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
