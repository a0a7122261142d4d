"""A kernel that prints says once that a device does not."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device


def test_a_device_says_once_that_it_is_silent(device: Device, recwarn: pytest.WarningsRecorder) -> None:
    @gpu.kernel
    def double(x):
        gpu.launch(threads=4)
        x[gpu.thread] = x[gpu.thread] * 2
        gpu.print("now", x[gpu.thread])

    for length in (4, 4, 8):
        x = gpu.array(np.ones(length, np.float32), device=device)
        double(x)
        assert x.numpy().tolist() == [2.0] * 4 + [1.0] * (length - 4)
    texts = [str(w.message) for w in recwarn if "prints" in str(w.message)]
    assert texts == ["double prints in the interpreter only; double.interpret(...) shows it"]
    assert recwarn[0].filename == __file__
