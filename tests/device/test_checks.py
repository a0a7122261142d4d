"""A kernel that is proven in bounds runs through a module without run-time checks, any other keeps them."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device, Program, open_device


@gpu.kernel
def pick(x, places, y):
    """y = x at places: only the caller knows that they are in x."""
    gpu.launch(grid=1, threads=64)
    y[gpu.thread] = x[gpu.cast(places[gpu.thread], "u32")]


@gpu.kernel
def turn(x, y):
    """y = x backwards, by way of workgroup memory at an index that is not constant."""
    gpu.launch(grid=1, threads=64)
    staged = gpu.shared(x, 64)
    staged[gpu.thread] = x[gpu.thread]
    gpu.barrier()
    y[gpu.thread] = staged[63 - gpu.thread]


def test_what_is_proven_runs_unchecked(device: Device) -> None:
    x, y = (gpu.array(np.arange(64, dtype=np.float32), device=device) for _ in range(2))
    places = gpu.array(np.arange(64, dtype=np.uint32)[::-1].copy(), device=device)
    launched: list[Program] = []
    real, again = device.launch, device.launch_bound

    def launch(program: Program, *arguments: object) -> None:
        launched.append(program)
        real(program, *arguments)

    def by_recipe(program: Program, *arguments: object) -> object:
        launched.append(program)
        return again(program, *arguments)

    device.launch, device.launch_bound = launch, by_recipe  # type: ignore[method-assign]
    try:
        turn(x, y)
        assert np.array_equal(y.numpy(), np.arange(64)[::-1])
        turn(x, y, checks="always")
        pick(x, places, y)
        turn(x, y)
    finally:
        del device.launch, device.launch_bound
    assert [p.checked for p in launched] == [False, True, True, False]
    assert [device.prepare(p) for p in launched] == [False, True, True, False]
    assert np.array_equal(y.numpy(), np.arange(64)[::-1])


def test_a_verification_asks_the_device_of_the_tensors(device: Device) -> None:
    most = device.limits.invocations

    @gpu.kernel
    def wide(y):
        gpu.launch(grid=1, threads=most)
        y[gpu.thread] = 1.0

    y = np.zeros(most, np.float32)
    assert wide.verify(gpu.array(y, device=device)).ok
    assert wide.verify(y).ok is (most <= 256)


@gpu.kernel
def gathered(x, places, out):
    gpu.launch(threads=64)
    out[gpu.thread] = x[places[gpu.thread]]


@gpu.kernel
def scattered(x, places, out):
    gpu.launch(threads=64)
    out[places[gpu.thread]] = x[gpu.thread]


@pytest.mark.parametrize("checked", [False, True])
def test_what_is_not_proven_stays_in_bounds(device: Device, checked: bool) -> None:
    """Indices from data, far beyond their arrays: kept in by the runtime, or in the text where it has no checks."""
    own = open_device(device.adapter, checked=checked)
    places = (np.arange(64) * 1_000_003).astype(np.uint32)
    places[:8] = [0, 5, 31, 32, 33, 2**31, 2**32 - 1, 7]
    x = np.arange(32, dtype=np.float32)
    for kind in (np.uint32, np.int32):
        held = [gpu.array(a, device=own) for a in (x, places.astype(kind), np.zeros(64, np.float32))]
        neighbour = gpu.array(np.full(1 << 16, 7, np.float32), device=own)
        gathered(*held)
        got = held[2].numpy()
        inside = places < 32
        assert np.array_equal(got[inside], x[places[inside]])
        beyond = 31.0 if own.dialect == "tint" else 0.0  # where wgpu leaves it to the driver, that reads zeros
        assert np.isin(got[~inside], (beyond, 31.0)).all()
        out = gpu.array(np.zeros(32, np.float32), device=own)
        scattered(gpu.array(np.ones(64, np.float32), device=own), held[1], out)
        assert set(np.flatnonzero(out.numpy())) == {0, 5, 7, 31}
        assert (neighbour.numpy() == 7).all()
    own.close()
