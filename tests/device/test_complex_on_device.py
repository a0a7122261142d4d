"""complex64 on a device: the same numbers as NumPy's, there and back."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device
from cutepy.tensor import recast

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from complex_cases import CASES, NAMES, operands


@pytest.mark.parametrize(("kernel", "law"), CASES, ids=NAMES)
def test_as_in_numpy(device: Device, kernel: gpu.KernelFunction, law: Callable) -> None:
    a, b, y = operands()
    moved = [gpu.array(t, device=device) for t in (a, b, y)]
    kernel(*moved)
    kernel(*moved)  # the quick way
    found = moved[-1].numpy()
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, law(a, b), rtol=2e-5, atol=1e-5)
    np.testing.assert_array_equal(recast(moved[0], "f32").numpy(), a.view(np.float32))


def test_a_cleared_tensor_is_zeros_that_a_kernel_writes(device: Device) -> None:
    a, b, _ = operands()
    y = gpu.empty(len(a), "complex64", cleared=True, device=device)
    assert y.numpy().dtype == np.complex64 and not y.numpy().any()
    CASES[NAMES.index("a * b")][0](a, b, y)
    np.testing.assert_allclose(y.numpy(), a * b, rtol=2e-5, atol=1e-5)
    assert gpu.empty((3, 5), "complex64", device=device).layout == gpu.empty((3, 5), device=device).layout
