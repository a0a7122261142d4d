"""Recorded steps: a play gives what the calls give, for other contents and over other tensors, in little memory."""

import gc
from dataclasses import replace

import numpy as np
import pytest
from shares import share

from cutepy import gpu, ops
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Device
from cutepy.tensor import Tensor

SIDE = 48


def random(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SIDE, SIDE)).astype(np.float32)


def chain(x: Tensor, w: Tensor, steps: np.ndarray) -> Tensor:
    """Calls of several kinds, chosen by numbers; each makes a result that the next takes."""
    kinds = (
        lambda t: ops.matmul(t, w),
        lambda t: ops.softmax(t, 1),
        lambda t: ops.add(t, w),
        lambda t: ops.mul(t, ops.sum(t, 1, keepdims=True)),
        lambda t: ops.exp(ops.mul(t, np.float32(0.01))),
        lambda t: ops.contiguous(ops.permute(t, (1, 0))),
        lambda t: gpu.pointwise("a * 0.5 + b")(t, x),
    )
    for step in steps:
        x = kinds[step](x)
    return x


@pytest.mark.on_dawn(0)
@pytest.mark.parametrize("seed", share(range(6)))
def test_a_play_gives_what_the_calls_give(device: Device, seed: int) -> None:
    g = np.random.default_rng(seed)
    steps = g.integers(0, 7, size=7)
    x, w = gpu.array(random(seed), device=device), gpu.array(random(seed + 1) / SIDE, device=device)
    with gpu.record(device) as step:
        y = chain(x, w, steps)
    first = y.numpy()
    assert np.array_equal(first, chain(x, w, steps).numpy())
    step.play()
    assert np.array_equal(y.numpy(), first)
    x.engine.buffer.write(random(seed + 2))
    step.play()
    want = chain(x, w, steps).numpy()
    assert np.array_equal(y.numpy(), want)
    other, result = gpu.array(random(seed + 3), device=device), gpu.empty(y.shape, device=device)
    if y.layout == result.layout:
        step.play({x: other, y: result})
        assert np.array_equal(result.numpy(), chain(other, w, steps).numpy())
        assert np.array_equal(y.numpy(), want)  # the recording's own result stays


@pytest.mark.parametrize(
    ("kind", "count", "submissions"),
    [("DiscreteGPU", 64, 1), ("DiscreteGPU", 65, 4), ("DiscreteGPU", 200, 6), ("CPU", 65, 2), ("CPU", 200, 4)],
)
def test_a_long_recording_begins_with_few_launches(
    device: Device, monkeypatch: pytest.MonkeyPatch, kind: str, count: int, submissions: int
) -> None:
    """The device works on the first while the host encodes the others; what fits one submission is one."""
    monkeypatch.setattr(device, "adapter", replace(device.adapter, kind=kind))
    x = gpu.array(np.zeros((4, 4), np.float32), device=device)
    with gpu.record(device) as step:
        y = x
        for _ in range(count):
            y = ops.add(y, np.float32(1))
    y.numpy()
    for buffer in (x, y):
        buffer.engine.buffer.write(np.zeros((4, 4), np.float32))
    device.wait()
    before = device.stats.submissions
    step.play()
    assert device.stats.submissions - before == submissions
    assert np.array_equal(y.numpy(), np.full((4, 4), count, np.float32))


def test_temporaries_share_memory_by_their_live_ranges(device: Device) -> None:
    x = gpu.array(random(0), device=device)
    with gpu.record(device) as step:
        y = x
        for _ in range(100):
            y = ops.add(y, x)
    assert step.launches == 100
    assert step.temporary_bytes == 2 * x.engine.length * 4  # one is read while the next is written
    assert np.allclose(y.numpy(), 101 * random(0), rtol=1e-5)
    before = device.stats
    for _ in range(20):
        step.play()
    assert (device.stats.buffers, device.stats.bytes) == (before.buffers, before.bytes)
    assert np.allclose(y.numpy(), 101 * random(0), rtol=1e-5)


def test_every_result_that_is_held_is_written_and_what_is_dropped_is_not(device: Device) -> None:
    x = gpu.array(random(0), device=device)
    with gpu.record(device) as step:
        doubled = ops.add(x, x)
        tripled = ops.add(doubled, x)
    x.engine.buffer.write(random(1))
    step.play()
    assert np.array_equal(doubled.numpy(), random(1) + random(1))
    assert np.array_equal(tripled.numpy(), random(1) + random(1) + random(1))
    assert step.temporary_bytes == 0
    bytes_held = device.stats.bytes
    del step, doubled, tripled
    gc.collect()
    assert device.stats.bytes < bytes_held


def test_a_recording_in_a_recording_is_part_of_it(device: Device) -> None:
    x = gpu.array(random(0), device=device)
    with gpu.record(device) as outer:
        y = ops.add(x, x)
        with gpu.record(device) as inner:
            z = ops.mul(y, y)
    assert (outer.launches, inner.launches) == (2, 1)
    x.engine.buffer.write(random(1))
    outer.play()
    assert np.array_equal(z.numpy(), (random(1) + random(1)) ** 2)


def test_what_cannot_be_recorded_or_played_is_refused(device: Device) -> None:
    x = gpu.array(random(0), device=device)
    for block in (
        lambda: x.numpy(),
        lambda: gpu.array(random(1), device=device),
        lambda: gpu.empty(4, cleared=True, device=device),
    ):
        with pytest.raises(KernelError, match="did more on the device than launches"):
            with gpu.record(device) as step:
                block()
        with pytest.raises(KernelError, match="has not ended"):
            step.play()
    with gpu.record(device) as step:
        y = ops.add(x, x)
        with pytest.raises(KernelError, match="has not ended"):
            step.play()
    wrong = (
        ({y: gpu.array(random(0).T, device=device)}, "same layout"),
        ({y: gpu.empty((SIDE, SIDE), "i32", device=device)}, "same layout"),
        ({gpu.empty((SIDE, SIDE), device=device): y}, "no tensor that the recorded block"),
        ({x: y}, "same buffer"),
    )
    for replaced, said in wrong:
        with pytest.raises(KernelError, match=said):
            step.play(replaced)
    x.engine.buffer.free()
    with pytest.raises(DeviceError, match="freed"):
        step.play()


def test_an_error_in_the_block_is_the_callers(device: Device) -> None:
    with pytest.raises(ValueError, match="mine"):
        with gpu.record(device):
            raise ValueError("mine")
    assert np.array_equal(ops.add(gpu.array(random(0), device=device), 1.0).numpy(), random(0) + 1)
