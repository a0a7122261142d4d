"""Views of tensors in a device's memory keep to their elements, and only what a GPU knows goes there."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import LayoutError, TensorError
from cutepy.gpu.runtime import Device
from cutepy.layout import composition
from cutepy.tensor import local_tile


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


def test_elements_are_read_back_without_a_table_of_offsets(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """An array may be larger than any table: 1 GiB of f32 has more elements than a list of offsets may."""
    values = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
    tensor = gpu.array(values, device=device)
    monkeypatch.setattr("cutepy.layout.values.layout.LARGEST_ARRAY", 16)
    with pytest.raises(LayoutError, match="too many"):
        tensor.layout.offsets()
    assert (tensor.numpy() == values).all()
    assert (local_tile(tensor, (8, 6), (1, 2)).numpy() == values[8:16, 12:18]).all()
