"""A profile counts every launch once, and its device times add up."""

import numpy as np
import pytest

from cutepy import gpu, ops
from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device


def test_every_launch_is_counted_by_its_kernel(device: Device) -> None:
    if "timestamp-query" not in device.features:
        with pytest.raises(DeviceError, match="no timestamps"):
            with gpu.profile(device):
                pass
        return
    x = gpu.array(np.ones((64, 64), np.float32), device=device)
    with gpu.record(device) as step:
        y = ops.softmax(ops.matmul(x, x), 1)
    with gpu.profile(device) as times:
        for _ in range(3):
            ops.add(x, y)
        step.play()
    assert sum(kernel.launches for kernel in times.kernels) == 3 + step.launches
    three = [kernel for kernel in times.kernels if kernel.launches == 3]
    assert len(three) == 1 and three[0].bound_bytes == 3 * 3 * 64 * 64 * 4
    assert times.seconds == pytest.approx(sum(kernel.seconds for kernel in times.kernels))
    assert 0 <= times.seconds and 0 < times.host_seconds
    assert str(times).splitlines()[0].split()[0] == "kernel" and "ms with a pass a launch" in str(times)
    ops.add(x, y)
    with gpu.profile(device) as nothing:
        pass
    assert nothing.kernels == () and nothing.seconds == 0
