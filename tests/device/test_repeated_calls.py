"""Calls made again: what the long way gives, from the pool and without a launch too many; equal bits each time."""

import gc
import math
import random
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from swiftshader import needs_special_values

from cutepy import Layout, composition, gpu, ops
from cutepy.errors import CutepyError, DeviceError, KernelError
from cutepy.gpu import CallCache
from cutepy.gpu.runtime import Device, DeviceBuffer
from cutepy.gpu.runtime.batch import LAUNCHES, taped
from cutepy.gpu.runtime.buffer import pooled_bytes
from cutepy.gpu.runtime.call_cache import RepeatedCalls
from cutepy.gpu.runtime.device import HELD, POOLED_ALWAYS, _OutOfMemory
from cutepy.gpu.runtime.device_tensor import form_of
from cutepy.gpu.runtime.pipeline import BoundLaunch
from cutepy.tensor import Tensor, i32, make_tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from shares import share
from statistic_cases import EDGES, check_scans, check_short_rows, check_statistics

CALLS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "add": ops.add,
    "formula": lambda a, b: gpu.pointwise("a + 0.5 * b")(a, b),
    "exp": lambda a, b: ops.exp(a),
    "max of rows": lambda a, b: ops.max(a, 1),
    "argmax": lambda a, b: ops.argmax(a, 0),
    "sum of columns": lambda a, b: ops.sum(a, 0, keepdims=True),
    "softmax": lambda a, b: ops.softmax(a, 0),
    "matmul": lambda a, b: ops.matmul(a, ops.permute(b, (1, 0))),
    "variance": lambda a, b: ops.var(a, 0),
    "logsumexp": lambda a, b: ops.logsumexp(b, (0, 1), keepdims=True),
    "cumsum": lambda a, b: ops.cumsum(a, 1),
    "astype": lambda a, b: ops.astype(a, "i32"),
    "where": lambda a, b: ops.where(a, b, 0.0),
    "fused": lambda a, b: ops.fused_multiply_add(a, b, 1),
    "turned": lambda a, b: ops.contiguous(ops.permute_dims(a, (1, 0))),
}


@pytest.mark.on_dawn("add", "formula", "exp", "max of rows", "sum of columns", "logsumexp", "astype", "where", "fused")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_made_again(device: Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over other elements it gives what the long way gives, without it, and each time the same bits."""
    rng = np.random.default_rng(3)
    pairs = [[gpu.array(rng.standard_normal((67, 2053), np.float32), device=device) for _ in "ab"] for _ in range(2)]
    CallCache.clear_all()
    wanted = []
    for pair in pairs:
        wanted.append(CALLS[name](*pair).numpy())
        CallCache.clear_all()
    CALLS[name](*pairs[0])
    with monkeypatch.context() as patch:
        patch.setattr(gpu.KernelFunction, "__call__", lambda *args, **static: pytest.fail("the long way"))
        for i in range(4):
            assert CALLS[name](*pairs[i % 2]).numpy().tobytes() == wanted[i % 2].tobytes()


WAYS = {"Device._repeat", "Device.replay", "Device.allocate", "Device.launch", "Device.launch_bound"}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_made_again_asks_the_device_once(device: Device, name: str) -> None:
    """For its memory and its launches together; and it runs few of Python's functions."""
    a, b = (gpu.array(np.ones((67, 131), np.float32), device=device) for _ in "ab")
    for _ in range(5):
        CALLS[name](a, b)
    asked: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _value: object) -> None:
        if event == "call":
            asked[frame.f_code.co_qualname] += 1

    sys.setprofile(count)
    try:
        CALLS[name](a, b)
    finally:
        sys.setprofile(None)
    # What its launches are bound for is enough, but where a number is a launch parameter.
    ways = Counter({"Device.replay" if name == "where" else "Device._repeat": 1})
    assert Counter({way: n for way, n in asked.items() if way in WAYS}) == ways
    assert asked.total() <= (100 if name == "where" else 70), asked


NOTHING: dict[str, Callable[[Tensor, str], Tensor]] = {
    "sum": lambda x, engine: ops.sum(x, 1, engine=engine),
    "prod": lambda x, engine: ops.prod(x, 1, engine=engine),
    "mean": lambda x, engine: ops.mean(x, 1, keepdims=True, engine=engine),
    "any": lambda x, engine: ops.any(x, 1, engine=engine),
    "all": lambda x, engine: ops.all(x, 1, engine=engine),
    "variance": lambda x, engine: ops.var(x, 1, engine=engine),
    "logsumexp": lambda x, engine: ops.logsumexp(x, 1, engine=engine),
    "matmul": lambda x, engine: ops.matmul(x, ops.permute(x, (1, 0)), engine=engine),
    "fused": lambda x, engine: ops.fused_multiply_add(x, x, 1),
}


@pytest.mark.parametrize("dtype", ["f4", "i4"])
@pytest.mark.parametrize("name", NOTHING)
def test_what_is_left_of_nothing(device: Device, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is filled in on the device, over what the pool's memory held, also by calls made again."""
    x, there = np.zeros((37, 0), dtype), gpu.array(np.zeros((37, 0), dtype), device=device)
    wanted = NOTHING[name](x, "interpreter").numpy()
    for call in range(3):
        if call == 2:
            monkeypatch.setattr(Device, "write", lambda *given: pytest.fail("it comes from the host"))
            monkeypatch.setattr(gpu.KernelFunction, "__call__", lambda *args, **static: pytest.fail("the long way"))
        found = NOTHING[name](there, "wgpu")
        np.testing.assert_array_equal(found.numpy(), wanted)
        if call < 2:
            found.engine.buffer.write(np.full(found.engine.length, 7, found.dtype.numpy))
            del found


def test_numbers_vary(device: Device) -> None:
    axpy = gpu.pointwise("a + alpha * b")
    a, b = (gpu.array(np.float32([1, 2, 3]), device=device) for _ in "ab")
    for alpha in (0.5, 2.0, np.float32(0.25), 3, -1, 1e300, float("nan"), True):
        with np.errstate(all="ignore"):
            wanted = np.float32([1, 2, 3]) + np.float32(alpha) * np.float32([1, 2, 3])
        for _ in range(2):
            np.testing.assert_array_equal(axpy(a, alpha, b).numpy(), wanted)
    with pytest.raises(KernelError, match="takes a, alpha, b once each"):
        axpy(a, 1.0)


def test_a_captured_value_that_changes_is_seen(device: Device) -> None:
    factor = 2.0

    @gpu.pointwise
    def scaled(x):
        return x * factor

    x = gpu.array(np.ones(5, np.float32), device=device)
    assert [scaled(x).numpy()[0], scaled(x).numpy()[0]] == [2, 2]
    factor = 3.0
    assert scaled(x).numpy()[0] == 3


def test_what_is_refused_once_is_refused_again(device: Device) -> None:
    x = gpu.array(np.ones((4, 6), np.float32), device=device)
    y = gpu.array(np.ones((5, 6), np.float32), device=device)
    turned = Tensor(x.engine, gpu.array(np.ones((6, 4), np.float32), device=device).layout)
    for _ in range(2):
        with pytest.raises(KernelError, match="overlap"):
            gpu.copy(x, turned)
        with pytest.raises(Exception, match="do not broadcast"):
            ops.add(x, y)
    z = ops.add(x, x)
    ops.add(x, x)
    x.engine.buffer.free()
    with pytest.raises(DeviceError, match="freed"):
        ops.add(x, x)
    assert z.numpy().sum() == 48


def test_results_come_from_a_pool_and_are_never_shared(device: Device) -> None:
    x = gpu.array(np.arange(1000, dtype=np.float32), device=device)
    ops.add(x, 1.0)
    gc.collect()
    before = device.stats
    kept = [ops.add(x, float(i)) for i in range(20)]
    for i, result in enumerate(kept):
        assert np.array_equal(result.numpy(), np.arange(1000) + i)
    numbers = {result.engine.buffer.uid for result in kept}
    assert len(numbers) == 20
    del kept, result
    assert ops.add(x, 1.0).engine.buffer.uid in numbers
    assert device.stats.bytes == before.bytes


def test_arrays_of_a_loop_have_the_memory_of_the_step_before(device: Device) -> None:
    """With its bind groups, after the launches that read what was there, submitted or not."""
    own, found, numbers = gpu.open_device(device.adapter), [], set()
    try:
        weights = gpu.array(np.arange(1000, dtype=np.float32), device=own)
        for step in range(12):
            x = gpu.array(np.full(1000, step, np.float32), device=own)
            if step > 2:  # the first calls are traced and recorded, with garbage that may hold it
                numbers.add(x.engine.buffer.uid)
            found.append(ops.add(x, weights))
            found.append(ops.multiply(x, x))
            del x
        assert len(numbers) == 1
        for step in range(12):
            np.testing.assert_array_equal(found[2 * step].numpy(), step + np.arange(1000))
            np.testing.assert_array_equal(found[2 * step + 1].numpy(), np.full(1000, step * step))
        del found
        odd = gpu.array(np.uint8([1, 2, 3]), device=own)  # whole words, of which the last is zeros
        np.testing.assert_array_equal(odd.numpy(), [1, 2, 3])
        # Beyond an array there is nothing of what its memory held.
        short = gpu.array(np.ones(961, np.float32), device=own).engine.buffer
        assert short.held == pooled_bytes(4000)
        short.nbytes = short.held
        assert short.read("f4").tolist() == [1.0] * 961 + [0.0] * (short.held // 4 - 961)
    finally:
        own.close()


def test_a_kernel_over_host_arrays_makes_no_memory_again(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutepy.gpu.trace.kernel.default_device", lambda: device)
    for step in range(6):
        x, y = np.full(64, step, np.float32), np.zeros(64, np.float32)
        if step == 4:
            monkeypatch.setattr(Device, "_create", lambda *given: pytest.fail("new memory"))
        doubled(x, y)
        np.testing.assert_array_equal(y, 2 * x)


def test_in_place(device: Device) -> None:
    add = gpu.pointwise("a + b")
    x, y = (gpu.array(np.ones(50, np.float32), device=device) for _ in "xy")
    for i in range(4):
        assert add(x, y, out=x) is x and x.numpy()[0] == i + 2


@pytest.mark.on_dawn((255,))
@pytest.mark.parametrize("shape", [*EDGES[4::16], (300_000,), (5, 20_001), (20_001, 5)], ids=str)
def test_statistics_on_the_device(device: Device, shape: tuple[int, ...]) -> None:
    check_statistics(shape, "wgpu")
    check_scans(shape, "wgpu")


def test_statistics_of_short_rows_on_the_device(device: Device) -> None:
    needs_special_values(device)
    check_short_rows("wgpu")


def test_the_pool_keeps_no_more_than_half_of_what_was_needed(device: Device) -> None:
    """Beyond a little, what is in use and kept for further results is at most 1.5 times what ever was in use."""
    own = gpu.open_device(device.adapter)
    try:
        peak = 0
        for step in range(24):
            held = [own.allocate((1 << 21) + 16 * (5 * step + i), pooled=True) for i in range(1 + step % 5)]
            peak = max(peak, sum(buffer.held for buffer in held))
            del held
            stats = own.stats
            assert stats.peak == peak and stats.bytes == 0
            assert 0 < stats.pooled <= max(POOLED_ALWAYS, HELD * peak)
        assert POOLED_ALWAYS / 2 < stats.pooled < 24 * (1 << 21)
    finally:
        own.close()


def test_another_length_has_the_memory_and_the_bind_groups_of_the_one_before(device: Device) -> None:
    """Results whose sizes are of one class, one after the other: no bind group and no buffer more, the right values."""
    own = gpu.open_device(device.adapter)
    try:
        rng, seen = np.random.default_rng(2), []
        x, wide = rng.standard_normal((256, 64), np.float32), rng.standard_normal((1, 64), np.float32)
        given, beside = gpu.array(x, device=own), gpu.array(wide, device=own)
        for rows in (200, 201, 203, 205, 199, 207):
            y = ops.exp(ops.add(composition(given, Layout((rows, 64), (1, 256))), beside))
            assert np.allclose(y.numpy(), np.exp(x[:rows] + wide), rtol=1e-5)
            del y
            seen.append((own.stats.bind_groups, own.stats.pooled))
        assert {*seen[1:]} == {seen[1]}
    finally:
        own.close()


def test_classes_of_sizes() -> None:
    """A class holds what is asked for, an eighth more at most beyond 2 KiB; there are eight an octave."""
    sizes = [*range(1, 5000), *(n + d for n in (1 << 14, 1 << 20, 3 << 20, 1 << 25) for d in (-17, -16, -1, 0, 1, 17))]
    for n in sizes:
        held = pooled_bytes(n)
        assert held % 16 == 0 and n <= held and pooled_bytes(held) == held
        assert held <= max(n + 256, n + n // 8 + 16)
    assert len({pooled_bytes(n) for n in range(1 << 20, (1 << 21) + 1, 4096)}) == 9


@gpu.kernel(sizes="known")
def doubled(x, y):
    gpu.launch(grid=1, threads=64)
    y[gpu.thread] = 2.0 * x[gpu.thread]


def test_programs_of_one_pipeline_share_bind_groups(device: Device) -> None:
    """Launches that differ in their grids alone have one group; one that needs more of a buffer is refused still."""
    own = gpu.open_device(device.adapter)
    try:
        x, y = (own.allocate(1000, pooled=True) for _ in "xy")
        program = doubled.program(*(gpu.array(np.zeros(64, np.float32), device=own) for _ in "xy"), dialect=own.dialect)
        for groups in (1, 2, 3):
            own.launch(replace(program, grid=(groups, 1, 1)), [x, y])
        assert own.stats.bind_groups == 1
        # The memory of a result is more than it asked for, and that is no one's.
        longer = replace(program, bindings=tuple(replace(b, min_bytes=1020) for b in program.bindings))
        assert x.held >= 1020
        with pytest.raises(KernelError, match="needs 1020 bytes"):
            own.launch(longer, [x, y])
    finally:
        own.close()


def test_a_call_made_again_is_refused_over_what_is_freed_or_too_small(device: Device) -> None:
    """Also where the bind group is there, from a program that needs less of a buffer."""
    own = gpu.open_device(device.adapter)
    try:
        x, y = (own.allocate(1000, pooled=True) for _ in "xy")
        program = doubled.program(*(gpu.array(np.zeros(64, np.float32), device=own) for _ in "xy"), dialect=own.dialect)
        longer = replace(program, bindings=tuple(replace(b, min_bytes=1020) for b in program.bindings))
        wide = [own.allocate(1020, pooled=True) for _ in "xy"]
        for _ in range(2):
            own.replay((), [(longer, (0, 1), (), (1, 1, 1))], wide)
        own.launch(program, [x, y])
        assert own.stats.bind_groups == 2
        with pytest.raises(KernelError, match="needs 1020 bytes"):
            own.replay((), [(longer, (0, 1), (), (1, 1, 1))], [x, y])
        wide[1].free()
        with pytest.raises(DeviceError, match="used after it was freed"):
            own.replay((), [(longer, (0, 1), (), (1, 1, 1))], wide)
    finally:
        own.close()


def test_launches_that_are_kept_bound_serve_equal_buffers_alone(device: Device) -> None:
    """Not freed ones, nor fewer bytes in the memory of others, nor other launches; what was freed is kept by none of
    them, and the next compilation finds each pipeline where it was used last."""
    own, of = gpu.open_device(device.adapter), object()
    try:
        program = doubled.program(*(gpu.array(np.zeros(64, np.float32), device=own) for _ in "xy"), dialect=own.dialect)
        longer = replace(program, bindings=tuple(replace(b, min_bytes=1020) for b in program.bindings))
        launches = [(longer, (0, 1), (), (1, 1, 1))]
        x, y = (own.allocate(1020, pooled=True) for _ in "xy")
        x.write(np.arange(64, dtype=np.float32))
        numbers = x.uid, y.uid
        for _ in range(3):
            own.replay((), launches, [x, y], of=of)
        assert np.array_equal(y.read("f4", 64), 2 * np.arange(64))
        assert [*own._groups.played] == [(of, tuple((number, 1020) for number in numbers))]
        own.replay((), [], [x, y], of=object())  # nothing, whatever else is over these buffers
        assert len(own._groups.played) == 2
        del x, y
        short, other = (own.allocate(1000, pooled=True) for _ in "xy")
        assert {short.uid, other.uid} == {*numbers}
        with pytest.raises(KernelError, match="needs 1020 bytes"):
            own.replay((), launches, sorted([short, other], key=lambda b: b.uid != numbers[0]), of=of)
        del short, other
        x, y = sorted([own.allocate(1020, pooled=True) for _ in "xy"], key=lambda b: b.uid != numbers[0])
        own.replay((), launches, [x, y], of=of)
        y.free()
        with pytest.raises(DeviceError, match="used after it was freed"):
            own.replay((), launches, [x, y], of=of)
        own.wait()
        assert not own._groups.played
        y = own.allocate(1020, pooled=True)
        own.replay((), launches, [x, y], of=of)
        own.prepare(replace(program, wgsl=program.wgsl + "// another\nconst another = 1;\n"))
        assert not own._groups.played
        assert not any(key[0] is of for keys in own._groups._of_buffer.values() for key in keys)
    finally:
        own.close()


def test_a_result_is_never_scratch_memory(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporaries of all calls share memory, which no result has, also where it is given up in between."""
    monkeypatch.setattr("cutepy.gpu.runtime.device.SCRATCH", 1 << 14)
    rng = np.random.default_rng(5)
    kept: list[tuple[Tensor, np.ndarray]] = []
    for step in range(40):
        n = int(rng.choice([96, 128, 160]))
        x = rng.standard_normal((3, n)).astype(np.float32)
        there = gpu.array(x, device=device)
        for found, wanted in (
            (ops.var(there, 0), x.var(0)),
            (ops.matmul(there, ops.permute(there, (1, 0)), epilogue="c + s * c", s=2), 3 * (x @ x.T)),
            (ops.softmax(there, 1), np.exp(x) / np.exp(x).sum(1, keepdims=True)),
        ):
            kept.append((found, wanted))
        if step % 3 == 2:
            del kept[:: int(rng.integers(2, 5))]
        scratch = {uid for uid, _ in device._scratch.values()}
        assert scratch.isdisjoint(found.engine.buffer.uid for found, _ in kept)
    for found, wanted in kept:
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_memory_that_runs_out_in_a_call_leaves_its_scratch_memory_to_calls_alone(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the second temporary has none at first: what a call had is no result's, and what no call uses goes."""
    own = gpu.open_device(device.adapter)
    try:
        program = doubled.program(*(gpu.array(np.zeros(64, np.float32), device=own) for _ in "xy"), dialect=own.dialect)
        x = own.upload(np.ones(64, np.float32))
        make, small, large = own._create, 1 << 20, 4 << 20

        def call() -> DeviceBuffer:
            launches = [(program, (at, at + 1), (), (1, 1, 1)) for at in range(3)]
            fresh = own.replay((small, large, 256), launches, [x], kept=2)
            assert fresh is not None
            return fresh

        for refusals in (2, 1):
            own._give_back()
            in_use, left = own.stats.bytes, [refusals]

            def refuse(nbytes: int, name: str, left: list[int] = left) -> object:
                if nbytes == large and left[0]:
                    left[0] -= 1
                    raise _OutOfMemory("played")
                return make(nbytes, name)

            with monkeypatch.context() as patch:
                patch.setattr(own, "_create", refuse)
                if refusals == 2:
                    with pytest.raises(DeviceError, match="played"):
                        call()
                    assert own.stats.bytes == in_use
                else:
                    assert call().read(np.float32, 64).tolist() == [8.0] * 64
            gc.collect()
            mine = own.allocate(small, pooled=True)
            mine.write(np.full(small // 4, 7, np.float32))
            assert call().read(np.float32, 64).tolist() == [8.0] * 64
            assert mine.uid not in {uid for uid, _ in own._scratch.values()}
            assert (mine.read(np.float32) == 7).all()
            del mine
    finally:
        own.close()


def test_a_batch_fails_while_another_thread_uses_scratch_memory(device: Device) -> None:
    own, stop, wrong = gpu.open_device(device.adapter), threading.Event(), list[Exception]()
    made = tuple(range(256, 256 * 40, 256))

    def call() -> None:
        while not stop.is_set():
            try:
                own.replay(made, [], [])
            except Exception as error:
                wrong.append(error)

    interval = sys.getswitchinterval()
    try:
        own.replay(made, [], [])
        thread = threading.Thread(target=call)
        sys.setswitchinterval(1e-6)
        thread.start()
        for _ in range(300):
            with own._lock:
                own._fail([], RuntimeError("played"))
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()
        own.close()
    assert not wrong


class Noted(deque[BoundLaunch]):
    """What waits for a submission, and all that ever did."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: list[BoundLaunch] = []

    def extend(self, launches: Iterable[BoundLaunch]) -> None:
        new = [*launches]
        self.ever += new
        super().extend(new)


@gpu.kernel(sizes="known")
def blended(n: "u32", x: Tensor, y: Tensor, z: Tensor, *, times: int = 1) -> None:  # noqa: F821
    gpu.launch(grid=1, threads=8)
    z[gpu.thread] += times * (x[gpu.thread] + gpu.cast(n, "f32") * y[gpu.thread])


@gpu.kernel(sizes={"x": "(n)", "z": "(n)"})
def scaled(x: Tensor, z: Tensor, by: "u32") -> None:  # noqa: F821
    gpu.launch(grid=x.shape[0], threads=1)
    z[gpu.workgroup.x] = gpu.cast(by, "f32") * x[gpu.workgroup.x]


@gpu.cached_launches
def second_half(x: Tensor) -> Tensor:
    y = ops.add(x, 1)
    return Tensor(y.engine, Layout(4), 4)


class RandomCalls:
    """Calls of operations and kernels: over few memories, one of them freed and one on another device, of few layouts,
    offsets, lengths and types, some of them frozen, and over one memory twice."""

    def __init__(self, device: Device, other: Device, seed: int) -> None:
        self.pick, self.seed = random.Random(seed), seed
        memory: list[Any] = [gpu.array(np.ones(64, np.float32), device=device).engine for _ in range(4)]
        short, far = (gpu.array(np.ones(n, np.float32), device=d).engine for n, d in ((16, device), (64, other)))
        freed = replace(short, buffer=device.allocate(256))
        freed.buffer.free()
        self.engines = [*memory, *[replace(e, length=60) for e in memory], replace(memory[0], writable=False)]
        self.engines += [replace(memory[1], dtype=i32), replace(short, length=64), freed, far]
        self.numbers = {engine.buffer.uid for engine in self.engines}
        self.layouts = [Layout(8), Layout((8,)), Layout(8, 3), Layout((2, 4)), Layout((2, 4), (4, 1))]
        self.add, self.shifted = gpu.pointwise("a + b"), gpu.pointwise("a + s * b")

    def tensor(self) -> Tensor:
        pick = self.pick.choice
        if self.pick.random() < 0.85:  # so that calls are often those of others over other memory
            return Tensor(pick(self.engines[:3]), Layout(8))
        return Tensor(pick(self.engines), pick(self.layouts), pick([0] * 9 + [4]))

    def call(self) -> tuple[str, Callable[[], object]]:
        pick = self.pick.choice
        x, y, z = (self.tensor() for _ in "xyz")
        if pick([False, False, True]):
            y = pick([x, Tensor(x.engine, y.layout, y.offset)])
        wide = Tensor(x.engine, Layout((8, 8), (8, 1)))
        times, either = pick([1, 1, 1, 2]), pick([0.5, 0, 1])
        truth = pick([True, 1, False, 0])
        number, whole = pick([0.0, -0.0, math.nan, 0.5]), pick([0, 1, 2, True])
        axis: Any = pick([0, -1, None, (0,), (False,)])
        calls: dict[str, Callable[[], object]] = {
            "kernel": lambda: blended(whole, x, y, z, times=times),
            "unknown sizes": lambda: scaled(x, z, whole),
            "add": lambda: ops.add(x, y),
            "into": lambda: self.add(x, y, out=z),
            "numbers": lambda: self.shifted(x, number, y),
            "sum": lambda: ops.sum(x, axis),
            "a part": lambda: second_half(x),
            "types": lambda: ops.where(x, truth, truth),
            "softmax": lambda: ops.softmax(x, 0),
            "epilogue": lambda: ops.matmul(wide, y, epilogue="c * s + b", s=either, b=z),
        }
        name = pick([*calls][self.seed // 4 :: 3])
        return name, calls[name]


@pytest.mark.parametrize("seed", share(range(12)))  # three kinds of calls each
def test_a_repeated_call_is_the_general_one(device: Device, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It launches the same over the same memory, gives the same and is refused alike, in any order of calls."""
    own, other = (gpu.open_device(device.adapter) for _ in range(2))
    own.pending = noted = Noted()
    served: Counter[str] = Counter()
    repeat = Device._repeat

    def counted(*given: Any) -> object:
        found = repeat(*given)
        served[name] += found is not False
        return found

    def outcome(call: Callable[[], object]) -> object:
        noted.ever.clear()
        try:
            found = call()
        except CutepyError as error:
            return str(error)
        # Which new memory it has may be another where garbage holds some.
        launches = [
            (bound.pipeline, [uid if uid in calls.numbers else "new" for uid in bound.uids], params, grid)
            for bound, params, grid in noted.ever
        ]
        if isinstance(found, Tensor):
            engine: Any = found.engine
            same = engine.buffer.uid if engine.buffer.uid in calls.numbers else "new"
            parts = same, engine.buffer.nbytes, engine.dtype, engine.length, engine.writable
            return launches, parts, type(found), type(engine), found.layout, found.offset, found.guard, engine.name
        return launches, found

    try:
        monkeypatch.setattr(Device, "_repeat", counted)
        calls = RandomCalls(own, other, seed)
        given = [calls.call() for _ in range(120)]
        for _turn in range(1000):
            name, call = calls.pick.choice(given)
            found = outcome(call)
            with monkeypatch.context() as patch:
                patch.setattr(RepeatedCalls, "reader", lambda *_: None)
                assert found == outcome(call), name
        assert len(served) >= 2 and served.total() > 100, served
    finally:
        own.close()
        other.close()


def test_a_repeated_call_is_on_every_tape_and_after_what_waits(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape sees it, a block settles before it writes, it raises a failure, and it is submitted in time."""
    own, served, repeat = gpu.open_device(device.adapter), list[bool](), Device._repeat

    def counted(*given: Any) -> object:
        found = repeat(*given)
        served.append(found is not False)
        return found

    monkeypatch.setattr(Device, "_repeat", counted)
    try:
        x, y, z = (gpu.array(np.full(8, value, np.float32), device=own) for value in (1, 5, 0))
        calls: list[Callable[[], object]] = [lambda: blended(0, x, y, z), lambda: ops.add(x, y)]
        for call in calls:
            for _ in range(9):
                call()
            assert served[-1]
            served.clear()
            with taped(own) as tape:
                kept = call()
            assert len(tape.launches) == 1 and tape.whole and not served
            assert tape.made == ([kept.engine.buffer] if isinstance(kept, Tensor) else [])
            del kept, tape
            # A failure is raised once, by a call over what it failed.
            own._failed[x.engine.buffer.uid] = "played"
            with pytest.raises(DeviceError, match="played"):
                call()
            own._dead = "lost"
            with pytest.raises(DeviceError, match="was lost"):
                call()
            own._dead = ""
            served.clear()
            for _ in range(200):
                call()
                assert len(own.pending) <= LAUNCHES
            assert served.count(False) < 20
        for _ in range(2):
            calls[0]()
        wanted = z.numpy()
        with gpu.fused():
            waits = ops.multiply(z, z)  # before it is written again
            calls[0]()
        assert (waits.numpy() == wanted * wanted).all() and (z.numpy() == wanted + 1).all()
        assert (ops.add(x, y).numpy() == 6).all()
        with own._lock:  # so that another call lets go of it
            y.engine.buffer.free()  # type: ignore[attr-defined]
        for call in calls:
            with pytest.raises(DeviceError, match="used after it was freed"):
                call()
    finally:
        own.close()
    for call in calls:
        with pytest.raises(DeviceError, match="was closed"):
            call()


def test_forms_are_compared_by_type_too(device: Device) -> None:
    """Equal numbers of other types are other forms, and tensors that are equal have one."""
    x = gpu.array(np.zeros((4, 6), np.float32), device=device)
    alike = [Tensor(x.engine, Layout((4, 6), (6, 1)), 0) for _ in range(2)]
    assert form_of(alike[0]) is form_of(alike[1]) is form_of(x) is alike[0]._form
    odd: list[Any] = [np.int64(0), False, 0.0]
    assert len({form_of(Tensor(x.engine, x.layout, offset)) for offset in (0, 1, *odd)}) == 5
    engine: Any = x.engine
    for other in ({"writable": False}, {"dtype": i32}, {"length": 23}):
        assert form_of(Tensor(replace(engine, **other), x.layout)) is not form_of(x)
    assert form_of(Tensor(make_tensor(np.zeros(3)).engine, Layout(3))) is None
    made = gpu.empty((4, 6))
    assert made._form is form_of(Tensor(made.engine, made.layout)) and type(made) is Tensor
    with pytest.raises(AttributeError):
        made.offset = 1  # type: ignore[misc]
    assert replace(made, offset=1)._form is None is not made._form
    assert copy(made).engine is made.engine and copy(made)._form is made._form
