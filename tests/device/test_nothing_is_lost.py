"""What surrounds a kernel: interrupts, forks, losses, failures, hostile files, views, drivers' faults. Short slices of
`tools/stress`, and each rule alone.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from device_programs import add_one
from swiftshader import SWIFTSHADER

from cutepy import gpu
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Binding, Device, Program
from cutepy.gpu.runtime.batch import Batch
from cutepy.gpu.runtime.driver_faults import LLVMPIPE_ITERATIONS
from cutepy.gpu.runtime.interrupts import Uninterrupted

TOOLS = Path(__file__).parents[2] / "tools" / "stress"
pytestmark = pytest.mark.parametrize("device", ["wgpu", "dawn checked"], indirect=True)


@pytest.mark.on_dawn(
    "interrupts.py 3 --what reading launching allocating tracing",
    "losses.py 2",
)
@pytest.mark.parametrize(
    "script",
    [
        "interrupts.py 3 --what reading launching allocating tracing",
        "forks.py 7",
        "losses.py 2",
        "files.py 6 --processes 2",
        "views.py 20 20",
        "memory.py 50 1",
        "steps.py 30 --most 64",
    ],
    ids=lambda script: script.partition(".")[0],
)
def test_a_slice_of_the_stress(device: Device, script: str, tmp_path: Path) -> None:
    """In a process of its own, which a fault may end."""
    name, *options = script.split()
    chosen = {**os.environ, "CUTEPY_CACHE": str(tmp_path)}
    if device.runtime.name == "dawn":
        chosen["VK_ADD_DRIVER_FILES"] = str(SWIFTSHADER)
    command = [sys.executable, str(TOOLS / name), *options, "--runtime", device.runtime.name]
    done = subprocess.run(command, env=chosen, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture
def alarm() -> Iterator[None]:
    """SIGALRM raises, as a test's time limit does."""

    def over(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_signal_waits_for_the_end_of_a_block(device: Device, alarm: None) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    reached = []
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        with Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            reached.append(1)
        reached.append(2)
    assert reached == [1, 2]
    with pytest.raises(TimeoutError), Uninterrupted():
        signal.raise_signal(signal.SIGALRM)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == handlers


def test_every_moment_of_a_block_gives_the_handlers_back(device: Device, alarm: None) -> None:
    """An interrupt at each bytecode of entering and leaving."""
    before = signal.getsignal(signal.SIGINT)
    for moment in range(200):
        count = 0

        def step(frame: object, event: str, argument: object) -> object:
            nonlocal count
            frame.f_trace_opcodes = True
            count += event == "opcode"
            if event == "opcode" and count == moment:  # noqa: B023
                signal.raise_signal(signal.SIGINT)
            return step

        sys.settrace(step)
        try:
            with Uninterrupted():
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
            assert signal.getsignal(signal.SIGINT) is before, moment


def test_a_wait_is_interrupted(device: Device, alarm: None) -> None:
    """A wait of any length ends by a signal, and the wait after it ends by itself."""
    x = device.upload(np.zeros(1 << 21, np.uint32))
    program = add_one(1 << 21)
    device.launch(program, [x])
    device.wait()
    for _ in range(60):
        device.launch(program, [x])
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    with pytest.raises(TimeoutError):
        while True:
            device.wait()
    assert (x.read(np.uint32, 10) == 61).all()


def test_a_batch_that_fails_fails_its_buffers_alone(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flusher's thread meets the error; a call over other buffers does not; the thread goes on."""
    a, b, c = (device.upload(np.zeros(64, np.uint32)) for _ in range(3))
    program = add_one(64)
    device.launch(program, [c])
    device.wait()
    encode, failing = Batch.encode, [True]

    def fails(*args: object) -> object:
        if failing:
            failing.clear()
            raise MemoryError("no memory for commands")
        return encode(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("cutepy.gpu.runtime.batch.Batch.encode", fails)
    device.launch(program, [a])
    device.launch(program, [b])
    end = time.perf_counter() + 20
    while device.pending and time.perf_counter() < end:
        time.sleep(0.01)
    assert not device.pending
    assert (c.read(np.uint32) == 1).all()
    with pytest.raises(DeviceError, match=f"{program.entry}.*no memory for commands"):
        a.read(np.uint32)
    with pytest.raises(DeviceError, match="submit 2 launches"):
        device.launch(program, [b])
    device.launch(program, [c])
    end = time.perf_counter() + 20
    while device.pending and time.perf_counter() < end:
        time.sleep(0.01)
    assert not device.pending and (c.read(np.uint32) == 2).all()


def test_as_python_ends_no_thread_is_inside_a_runtime(device: Device) -> None:
    """The thread that submits is stopped first, and a device works without it."""
    own = gpu.open_device(device.adapter, checked=device.checked)
    x = own.upload(np.zeros(64, np.uint32))
    own.launch(add_one(64), [x])
    own._flusher.end()
    assert not own._flusher._thread.is_alive()
    own.launch(add_one(64), [x])
    assert (x.read(np.uint32) == 2).all()
    own.close()


def test_who_goes_on_launching_submits(device: Device) -> None:
    """The thread that looks leaves a batch alone to which launches come, but for two milliseconds at most."""
    x = device.upload(np.zeros(64, np.uint32))
    device.wait()
    for _ in range(8):
        device.launch(add_one(64), [x])
    end = time.perf_counter() + 20
    while device.pending and time.perf_counter() < end:
        time.sleep(0.01)
    assert not device.pending and (x.read(np.uint32) == 8).all()
    submitted = device.stats.submissions
    device.launch(add_one(64), [x])
    assert (x.read(np.uint32) == 9).all()
    assert device.stats.submissions - submitted <= 2  # one, where the thread was not there first


@pytest.mark.parametrize("grid", [(1.5, 1, 1), (1, 1), 4, (True, 1, 1), (1, -1, 1), ("1", 1, 1)], ids=str)
def test_a_grid_is_checked_when_it_is_launched(device: Device, grid: object) -> None:
    x = device.upload(np.zeros(64, np.uint32))
    with pytest.raises(DeviceError, match="grid"):
        device.launch(add_one(64), [x], grid=grid)
    device.launch(add_one(64), [x])
    assert (x.read(np.uint32) == 1).all()


def test_wrong_calls_of_a_device_are_refused_by_name(device: Device) -> None:
    x = device.allocate(64)
    for call, said in (
        (lambda: device.allocate(16.0), "16.0 is no whole number"),
        (lambda: device.allocate(True), "True is no whole number"),
        (lambda: x.read(np.float32, 2.5), "2.5 is no whole number"),
        (lambda: x.read(object), "not bytes"),
        (lambda: x.read("no type"), "no type of elements"),
    ):
        with pytest.raises(DeviceError, match=said):
            call()
    with pytest.raises(KernelError, match="is no buffer"):
        device.launch(add_one(16), [np.zeros(16, np.uint32)])
    assert not device.allocate(16, "a \ud800 name \0").read().any()


def test_a_device_destroyed_by_another_thread_is_lost(device: Device, own_device: Device) -> None:
    x = own_device.upload(np.zeros(64, np.uint32))
    threading.Timer(0.02, own_device.gpu.destroy).start()
    with pytest.raises(DeviceError, match="was lost"):
        while True:
            own_device.launch(add_one(64), [x])
            x.read()
    assert not own_device.alive


def test_what_is_freed_comes_back_without_a_launch(device: Device) -> None:
    """On Dawn memory comes back with a later submission: there is one, though nothing else asks for it."""
    x, before = device.allocate(1 << 24), device.stats.submissions
    for _ in range(8):
        x = device.allocate(1 << 24)
    assert x.nbytes == 1 << 24
    assert (device.stats.submissions > before) is (device.runtime.name == "dawn")


@gpu.kernel
def count_turns(y, n: np.uint32, m: np.uint32):
    gpu.launch(grid=1, threads=64)
    total = gpu.cast(0, "u32")
    for _ in gpu.loop(n):
        for _ in gpu.loop(m):
            total = total + 1
    y[gpu.thread] = total


@gpu.kernel
def count_to(y, n: np.uint32):
    gpu.launch(grid=1, threads=64)
    total = gpu.cast(0, "u32")
    for _ in gpu.loop(n):
        total = total + 1
    y[gpu.thread] = total


ENDLESS = """@group(0) @binding(0) var<storage, read_write> total: array<u32>;
@compute @workgroup_size(1)
fn many_turns() {
  var sum = 0u;
  for (var i = 0u; i < 100000u; i++) { sum += 1u; }
  total[0] = sum;
}"""


def test_loops_that_a_driver_ends_are_refused(device: Device) -> None:
    """The fault is there, as a program shows that says nothing of its loops; what does say is refused."""
    total = device.upload(np.zeros(4, np.uint32))
    device.launch(Program(ENDLESS, "many_turns", (Binding("total", "read_write"),), (1, 1, 1), (1, 1, 1)), [total])
    assert total.read(np.uint32)[0] == (65_535 if "llvmpipe" in device.adapter.name else 100_000)
    y = gpu.array(np.zeros(64, np.uint32), device=device)
    count_to(y, LLVMPIPE_ITERATIONS - 1)
    assert (y.numpy() == LLVMPIPE_ITERATIONS - 1).all()
    if "llvmpipe" not in device.adapter.name:
        count_to(y, 100_000)
        assert (y.numpy() == 100_000).all()
        return
    for call in (lambda: count_to(y, 100_000), lambda: count_turns(y, 8000, 7)):  # 8000 * (1 + 7 + 1) + 1 turns
        with pytest.raises(DeviceError, match=r"loops take .* turns, and end after"):
            call()


def test_turns_that_may_be_too_many_are_warned_of_once(device: Device) -> None:
    @gpu.kernel
    def find(y, n: np.uint32):
        gpu.launch(grid=1, threads=64)
        total = gpu.cast(0, "u32")
        for i in gpu.loop(n):
            if i == 100:
                break
            total = total + 1
        y[gpu.thread] = total

    y = gpu.array(np.zeros(64, np.uint32), device=device)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            find(y, 1_000_000)
    assert len(said) == ("llvmpipe" in device.adapter.name)
    assert (y.numpy() == 100).all()


def test_waits_that_a_driver_ends_are_warned_of(device: Device) -> None:
    """A wait for what nobody writes ends on such a driver alone; a launch that waits for what is there is right."""

    @gpu.kernel
    def wait(y, flag):
        gpu.launch(grid=1, threads=1)
        while gpu.atomic_load(flag, 0) == 0:
            pass
        y[0] = 1

    ends = "llvmpipe" in device.adapter.name
    for there in [1, 0] if ends else [1]:
        y, flag = (gpu.array(np.full(1, n, np.uint32), device=device) for n in (0, there))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            wait(y, flag)
        assert y.numpy() == 1
        assert [str(s.message).split(":")[0] for s in said] == ["wait"] * (ends and there)


def test_views_that_share_no_element_go_together(device: Device) -> None:
    @gpu.kernel
    def both(x, y):
        gpu.launch(grid=1, threads=64)
        x[gpu.thread] = x[gpu.thread] + 1
        y[gpu.thread] = y[gpu.thread] * 2

    base = np.arange(128, dtype=np.float32)
    both(base[::2], base[1::2])
    assert (base[::2] == np.arange(0, 128, 2) + 1).all() and (base[1::2] == np.arange(1, 128, 2) * 2).all()
    with pytest.raises(KernelError, match="overlaps another argument in part"):
        both(base[:64], base[1:65])
    table = np.zeros((64, 3), np.float32)
    both(table[:, 0], table[:, 1])
    assert (table == [1, 0, 0]).all()
