"""Bindings of `gpu.in_order` on a device: they are read, also two views of one buffer."""

import sys
from pathlib import Path

import numpy as np

from cutepy import gpu, recast
from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from test_in_order import operands, running


def test_on_a_device(device: Device) -> None:
    *given, right = operands()
    x, odd, y = (gpu.array(t, device=device) for t in given)
    running(x, odd, y, early=True)
    np.testing.assert_array_equal(y.numpy(), right)
    with gpu.record() as step:
        running(x, odd, y, early=True)
    assert len(step.written) == 1
    running(x, recast(x, "u32"), y, early=True)  # one buffer is one binding
    np.testing.assert_array_equal(y.numpy(), given[0].sum(1) + given[0].view(np.uint32)[:, 0] % 2)
