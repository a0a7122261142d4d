"""Views of tensors in a device's memory keep to their elements, and only what a GPU knows goes there."""

import random

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import LayoutError, TensorError
from cutepy.gpu.runtime import Device
from cutepy.layout import Layout, composition
from cutepy.tensor import Tensor, copy, fill, local_tile, make_identity_tensor, make_tensor


def test_views_reach_their_own_elements(device: Device) -> None:
    x = gpu.array(np.arange(24, dtype=np.float32).reshape(4, 6), device=device, name="x")
    assert composition(x, (2, 3)).numpy().tolist() == [[0, 1, 2], [6, 7, 8]]
    with pytest.raises(TensorError, match=r"at \(4,5\) it reaches offset 29, which is no element of gmem_ptr"):
        composition(x, (5, 6))
    with pytest.raises(TensorError, match="coordinate 4 of"):
        x[4, 0]


def test_views_of_one_memory_begin_where_each_call_says(device: Device) -> None:
    @gpu.kernel
    def summed(x: Tensor, y: Tensor, z: Tensor) -> None:
        gpu.launch(threads=4)
        z[gpu.thread] = x[gpu.thread] - y[gpu.thread] / 2

    pick = random.Random("views of one memory")
    values = np.arange(64, dtype=np.float32).reshape(2, 32)
    memory = [gpu.array(row, device=device) for row in values]
    for _turn in range(100):
        calls = [(pick.randrange(2), pick.choice((0, 4, 8, 9, 12, 16))) for _ in range(3)]
        x, y, z = (values[at][begin : begin + 4] for at, begin in calls)
        # What is written overlaps no other view: equal ones are read before.
        if any(at == calls[2][0] and 0 < abs(begin - calls[2][1]) < 4 for at, begin in calls[:2]):
            continue
        summed(*[Tensor(memory[at].engine, Layout((4,), (1,)), begin) for at, begin in calls])
        z[:] = x - y / 2
        for row, tensor in zip(values, memory, strict=True):
            assert (tensor.numpy() == row).all(), calls


@pytest.mark.parametrize("kind", ["float64", "int64", "uint64", "complex128"])
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


def test_elements_are_written_without_a_table_of_offsets(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
    tensor, mask = gpu.array(values, device=device), gpu.array(values % 2 == 0, device=device)
    monkeypatch.setattr("cutepy.layout.values.layout.LARGEST_ARRAY", 16)
    fill(local_tile(tensor, (8, 6), (1, 2)), 7)
    values[8:16, 12:18] = 7
    assert (tensor.numpy() == values).all()
    copy(make_tensor(-values), tensor)
    copy(make_tensor(np.zeros((64, 48), bool)), mask)
    assert (tensor.numpy() == -values).all()
    assert not mask.numpy().any()
    with pytest.raises(TensorError, match="cannot hold"):
        fill(tensor, "many")
    assert (tensor.numpy() == -values).all()


def test_a_view_of_a_device_is_copied_with_its_strides(device: Device) -> None:
    x = gpu.array(np.arange(24, dtype=np.float32).reshape(4, 6), device=device)
    for tensor in (x, local_tile(x, (2, 3), (1, 1)), local_tile(x, (3, 4), (1, 1))):
        again = gpu.array(tensor, device=device)
        assert again.engine.buffer is not x.engine.buffer
        assert np.array_equal(again.numpy(), tensor.numpy())
    assert gpu.array(x, device=device).layout == x.layout
    assert gpu.array(make_identity_tensor((2, 3)), device=device).numpy().tolist() == [
        [[i, j] for j in range(3)] for i in range(2)
    ]
