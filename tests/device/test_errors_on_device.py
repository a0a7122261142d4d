"""What a device refuses is said with the line of the user's kernel."""

import re

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Device


@gpu.kernel
def large(x):
    gpu.launch(threads=64)
    scratch = gpu.shared("f32", 1 << 20)
    scratch[gpu.thread] = x[gpu.thread]
    x[gpu.thread] = scratch[gpu.thread]


@gpu.kernel
def wide(x):
    gpu.launch(threads=4096)
    x[0] = 1


@gpu.kernel
def passed_on(x, y):
    gpu.launch(threads=64)
    y[gpu.thread] = x[gpu.thread]


@pytest.mark.parametrize(
    ("kernel", "line", "message"),
    [(large, 2, "4194304 bytes of workgroup memory"), (wide, 2, "4096 invocations in a workgroup")],
)
def test_limits(device: Device, kernel: gpu.KernelFunction, line: int, message: str) -> None:
    place = kernel.function.__code__.co_firstlineno + line + (kernel is large)
    x = gpu.array(np.zeros(64, np.float32), device=device)
    for _ in range(2):
        with pytest.raises(DeviceError) as caught:
            kernel(x)
        text = str(caught.value)
        assert re.match(rf"test_errors_on_device\.py:{place}: {kernel.__name__} asks for more than", text), text
        assert message in text


def test_two_devices(device: Device, own_device: Device) -> None:
    x, y = (gpu.array(np.zeros(64, np.float32), device=d) for d in (device, own_device))
    line = passed_on.function.__code__.co_firstlineno
    with pytest.raises(
        KernelError, match=rf"^test_errors_on_device\.py:{line}: passed_on: the tensors are on 2 devices"
    ):
        passed_on(x, y)


def test_a_tensor_beyond_one_binding(device: Device) -> None:
    most = device.limits.binding_bytes
    if most > 1 << 28:
        pytest.skip("a binding of this device takes more memory than a test should")
    x = gpu.empty((most // 4 + 64,), device=device)
    line = passed_on.function.__code__.co_firstlineno
    with pytest.raises(
        DeviceError, match=rf"^test_errors_on_device\.py:{line}: passed_on: tensor x spans {most + 256} bytes"
    ):
        passed_on(x, gpu.empty((most // 4 + 64,), device=device))


def test_memory_that_runs_out_while_a_kernel_is_compiled_is_no_fault_of_the_kernel(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = device.runtime

    def out_of_memory(*_given: object) -> object:
        raise runtime.errors[1]("Not enough memory left.")

    @gpu.kernel
    def tripled(x, y):
        gpu.launch(threads=64)
        y[gpu.thread] = 3 * x[gpu.thread]

    x, y = (gpu.array(np.ones(64, np.float32), device=device) for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(type(runtime), "module", out_of_memory)
        with pytest.raises(DeviceError, match="out of memory"):
            tripled(x, y)
    tripled(x, y)
    assert (y.numpy() == 3).all()
