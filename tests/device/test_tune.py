"""The tuner: what it drops unseen, what it keeps, whom its plans serve, and plans that take too long."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from swiftshader import SWIFTSHADER

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu import repeat, tuned, tuner
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


class Noisy:
    """Times plans as they take, but for every third time, which is too short or too long."""

    def __init__(self, takes: dict[gpu.Plan, float]) -> None:
        self.takes, self.asked = takes, 0

    def time(self, plan: gpu.Plan, limit: float) -> tuner.Trial:
        self.asked += 1
        noise = (1.0, 1.0, 0.5, 1.0, 1.0, 2.0)[self.asked % 6]
        return tuner.Trial(plan, self.takes[plan] * noise)


@pytest.mark.parametrize("lucky", range(tuner.FINALISTS))
def test_one_lucky_time_does_not_win(lucky: int) -> None:
    takes = {gpu.Plan(splits=n + 1): 1 + n / 100 for n in range(6)}
    trials = [tuner.Trial(plan, took * (0.6 if n == lucky else 1)) for n, (plan, took) in enumerate(takes.items())]
    trials.append(tuner.Trial(gpu.Plan(splits=7), None, "more than 5 s"))
    assert tuner._quickest(Noisy(takes), trials, 5.0) == (gpu.Plan(splits=1), 1.0)


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


def test_a_plan_that_takes_too_long_is_ended(device: Device, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _ = operands(device)
    given, adapter = problem_of(a, b)
    with tuner.Worker(adapter, given) as worker:
        trial = worker.time(choose_plan(40, 96, 70), 1e-4)
        assert trial.seconds is None and "more than" in trial.dropped and worker.process is None
        assert worker.time(choose_plan(40, 96, 70), 60).seconds
        worker.process.kill()
        assert worker.time(choose_plan(40, 96, 70), 60).dropped == "its process ended"


def test_what_cannot_be_tuned(device: Device) -> None:
    x = gpu.array(np.ones((5, 7), np.float32), device=device)
    with pytest.raises(KernelError, match="no plan"):
        gpu.tune(x, np.ones(7, np.float32))
