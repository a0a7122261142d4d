"""A kernel that is proven in bounds runs through a module without run-time checks, any other keeps them."""

import numpy as np

from cutepy import gpu
from cutepy.gpu.runtime import Device, Program


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
    real = device.launch

    def launch(program: Program, *arguments: object) -> None:
        launched.append(program)
        real(program, *arguments)

    device.launch = launch  # type: ignore[method-assign]
    try:
        turn(x, y)
        assert np.array_equal(y.numpy(), np.arange(64)[::-1])
        turn(x, y, checks="always")
        pick(x, places, y)
        turn(x, y)
    finally:
        del device.launch
    assert [p.checked for p in launched] == [False, True, True, False]
    assert [device.prepare(p) for p in launched] == [False, True, True, False]
    assert np.array_equal(y.numpy(), np.arange(64)[::-1])


def test_a_verification_asks_the_device_of_the_tensors(device: Device) -> None:
    @gpu.kernel
    def wide(y):
        gpu.launch(grid=1, threads=device.limits.invocations)
        y[gpu.thread] = 1.0

    y = np.zeros(device.limits.invocations, np.float32)
    assert wide.verify(gpu.array(y, device=device)).ok
    assert wide.verify(y).ok is (device.limits.invocations <= 256)
