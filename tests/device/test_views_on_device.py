"""Views of tensors in a device's memory keep to their elements, and only what a GPU knows goes there."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import TensorError
from cutepy.gpu.runtime import Device
from cutepy.layout import composition


def test_views_reach_their_own_elements(device: Device) -> None:
    x = gpu.array(np.arange(24, dtype=np.float32).reshape(4, 6), device=device, name="x")
    assert composition(x, (2, 3)).numpy().tolist() == [[0, 1, 2], [6, 7, 8]]
    with pytest.raises(TensorError, match=r"at \(4,5\) it reaches offset 29, which is no element of gmem_ptr"):
        composition(x, (5, 6))
    with pytest.raises(TensorError, match="coordinate 4 of"):
        x[4, 0]


@pytest.mark.parametrize("kind", ["float64", "int64", "int8", "uint16", "complex64"])
def test_types_that_no_gpu_has_stay_on_the_host(device: Device, kind: str) -> None:
    with pytest.raises(
        TensorError, match=r"no such element type on a GPU; .* convert the array first: \.(astype|view)"
    ):
        gpu.array(np.zeros(4, kind), device=device)
    with pytest.raises(TensorError, match="no such element type on a GPU"):
        gpu.empty((2, 2), kind, device=device)
