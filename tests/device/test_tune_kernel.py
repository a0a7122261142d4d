"""`kernel.tune`: what it drops unseen, what it finds, and that another process finds it again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import ceil_div, gpu, local_tile, size
from cutepy.errors import KernelError
from cutepy.gpu.inspect import tune as tuner
from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.plan_file import PlanFile


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTEPY_CACHE", str(tmp_path))
    PlanFile.entries.cache_clear()
    yield tmp_path
    PlanFile.entries.cache_clear()


@gpu.kernel
def added(x, y, *, threads, each):
    """y += x, `each` elements a thread."""
    gpu.launch(grid=ceil_div(size(x), threads * each), threads=threads)
    for i in gpu.unroll(each):
        at = (gpu.workgroup.x * each + i) * threads + gpu.thread
        with gpu.when(at < size(x)):
            y[at] = y[at] + x[at]


@gpu.kernel
def turned(x, y, *, pad, beyond=0):
    """The transpose, by tiles of 16 in shared memory."""
    m, n = x.shape
    gpu.launch(grid=(n // 16, m // 16), threads=(16, 16))
    tile = gpu.shared(x, (16, 16), pad=pad)
    i, j = gpu.thread.x, gpu.thread.y
    tile[i, j] = local_tile(x, (16, 16), (gpu.workgroup.y, gpu.workgroup.x))[j, i]
    gpu.barrier()
    local_tile(y, (16, 16), (gpu.workgroup.x, gpu.workgroup.y))[j, i + beyond] = tile[j, i]


def test_the_quickest_is_found_kept_and_what_it_worked_on_stays(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = (gpu.array(np.full(3000, v, np.float32), device=device) for v in (2, 5))
    seconds = {
        "threads=32, each=1": 3.0,
        "threads=32, each=2": 2.0,
        "threads=64, each=1": 1.5,
        "threads=64, each=2": 4.0,
    }

    def told(_device: Device, launches: list, _quick: float = 0.0) -> list[float]:
        """What each takes, at another clock every time."""
        found = [seconds[", ".join(f"{k}={v}" for k, v in each.keywords.items())] for each in launches]
        return [len(launches) * each for each in found]

    monkeypatch.setattr(tuner, "seconds_in_turn", told)
    over = {"threads": (32, 64), "each": (1, 2)}
    found = added.tune(x, y, over=over, progress=False)
    assert found.plan == {"threads": 64, "each": 1} and not found.cached
    assert {trial.plan.label: trial.seconds for trial in found.trials} == seconds
    assert (y.numpy() == 5).all() and (x.numpy() == 2).all()
    compiled = device.stats.compiled
    again = added.tune(x, y, over=over, progress=False)
    assert again.cached and again.plan == found.plan and device.stats.compiled == compiled
    # Of its class, and not of another, nor among other choices.
    near = [gpu.array(np.ones(3080, np.float32), device=device) for _ in "xy"]
    assert added.tune(*near, over=over, progress=False).cached
    far = [gpu.array(np.ones(9000, np.float32), device=device) for _ in "xy"]
    assert not added.tune(*far, over=over, progress=False).cached
    assert not added.tune(x, y, over={"threads": (32, 64), "each": (2, 1)}, progress=False).cached
    added(x, y, **found.plan)
    assert (y.numpy() == 7).all()


def test_what_is_dropped_before_a_driver_sees_it(device: Device) -> None:
    x, y = (gpu.array(np.ones((64, 64), np.float32), device=device) for _ in "xy")
    choices = [{"pad": 1}, {"pad": 0}, {"pad": 1, "beyond": 1}, {"pad": 1, "beyond": 0}]
    found = turned.tune(x, y, over=choices, seconds=60, progress=False)
    told = {trial.plan.label: trial.dropped for trial in found.trials}
    assert told["pad=1"] == "" and "conflicts" in told["pad=0"]
    assert "refuted" in told["pad=1, beyond=1"] and told["pad=1, beyond=0"] == "the same program as pad=1"
    assert found.plan == {"pad": 1} and all(t.early for t in found.trials if t.dropped) and found.seconds > 0


@gpu.kernel
def bytes_added(xs, y, *, threads):
    gpu.launch(grid=ceil_div(size(y), threads), threads=threads)
    y[gpu.workgroup.x * threads + gpu.thread] += xs["bytes"][gpu.workgroup.x * threads + gpu.thread]


def test_packed_tensors_in_a_dictionary_are_copied_too(device: Device) -> None:
    xs = {"bytes": gpu.array(np.arange(64, dtype=np.int8), device=device)}
    y = gpu.array(np.zeros(64, np.int32), device=device)
    found = bytes_added.tune(xs, y, over={"threads": (32, 64)}, seconds=60, progress=False)
    assert [trial.dropped for trial in found.trials] == ["", ""] and not y.numpy().any()


def test_choices_that_are_none_are_refused(device: Device) -> None:
    x = gpu.array(np.ones(64, np.float32), device=device)
    with pytest.raises(KernelError, match=r"added.tune: over has lanes, and the static arguments are each, threads"):
        added.tune(x, x, over={"lanes": (1,)})
    with pytest.raises(KernelError, match="has no choice"):
        added.tune(x, x, over={"each": ()})
    with pytest.raises(KernelError, match="no text that another process knows it by"):
        added.tune(x, x, over={"each": (object(),)})
    with pytest.raises(KernelError, match=r"no choice of added could be timed; .*each=-1"):
        added.tune(x, x, over={"each": (-1,), "threads": (32,)}, progress=False)


def test_an_entry_that_is_no_choice_is_said_and_not_taken(device: Device, cache: Path) -> None:
    x, y = (gpu.array(np.ones(64, np.float32), device=device) for _ in "xy")
    over = {"threads": (32,), "each": (1,)}
    added.tune(x, y, over=over, progress=False)
    (file,) = cache.glob("plans.json")
    file.write_text(file.read_text().replace("each=1", "each=9"))
    PlanFile.entries.cache_clear()
    with pytest.warns(RuntimeWarning, match="is none of the choices, and is not taken"):
        assert not added.tune(x, y, over=over, progress=False).cached


PROGRAM = """
import numpy as np
from cutepy import ceil_div, gpu, size
@gpu.kernel
def scaled(x, y, *, threads):
    gpu.launch(grid=ceil_div(size(x), threads), threads=threads)
    y[gpu.workgroup.x * threads + gpu.thread] = 2 * x[gpu.workgroup.x * threads + gpu.thread]
x, y = (gpu.array(np.ones(4096, np.float32)) for _ in "xy")
found = scaled.tune(x, y, over={"threads": (64, 128)}, progress=False)
print(found.cached, found.plan["threads"], gpu.default_device().stats.compiled)
"""


def test_a_second_process_compiles_nothing(cache: Path, tmp_path: Path) -> None:
    program = tmp_path / "scaled.py"
    program.write_text(PROGRAM)
    told = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, env=os.environ, timeout=120
        )
        assert run.returncode == 0, run.stderr
        told.append(run.stdout.split())
    assert told[0][0] == "False" and int(told[0][2]) >= 2
    assert told[1] == ["True", told[0][1], "0"]
