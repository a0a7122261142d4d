"""Operations on whole tensors on a device: NumPy's meaning, and results that stay where the operands are."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.runtime import Device
from cutepy.gpu.trace import state
from cutepy.tensor import Tensor, make_tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import operation_cases

PER_FAMILY = 20


@pytest.mark.parametrize("family", operation_cases.FAMILIES)
def test_random_calls(device: Device, family: str) -> None:
    for seed in range(1000, 1000 + PER_FAMILY):
        case = operation_cases.FAMILIES[family](seed)
        if "float16" not in case.name or "shader-f16" in device.features:
            case.check("wgpu")


def test_nan_wins(device: Device) -> None:
    x = np.float32([[-3, np.nan, -1], [-5, -2, -2], [-np.inf, -np.inf, -np.inf], [np.nan, np.inf, np.nan]])
    for name in ("max", "min", "argmax", "argmin"):
        got = getattr(gpu, name)(gpu.array(x, device=device), 1).numpy()
        np.testing.assert_array_equal(got, getattr(np, name)(x, 1))


def test_softmax_of_infinities(device: Device) -> None:
    x = np.float32([[1, np.nan], [np.inf, 1], [-np.inf, -np.inf], [-np.inf, 0], [-3e38, 3e38], [3e38, 3e38]])
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_array_equal(gpu.softmax(gpu.array(x, device=device)).numpy(), wanted)


def test_grids_longer_than_a_dimension(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_GROUPS", 5)
    x = np.random.default_rng(0).standard_normal((51, 259), dtype=np.float32)
    moved = gpu.array(x, device=device)
    assert np.array_equal(gpu.pointwise("2 * a")(moved).numpy(), 2 * x)
    assert np.array_equal(gpu.max(moved, 1).numpy(), x.max(1))
    turned = np.zeros((259, 51), np.float32)
    gpu.copy(moved, make_tensor(turned.T))
    assert np.array_equal(turned, x.T)


def test_several_passes_and_long_rows(device: Device) -> None:
    x = np.random.default_rng(0).standard_normal((3, 70_000), dtype=np.float32)
    moved = gpu.array(x, device=device)
    assert np.array_equal(gpu.argmax(moved, 1).numpy(), x.argmax(1)) and gpu.min(moved) == x.min()
    np.testing.assert_allclose(gpu.mean(moved, 1).numpy(), x.mean(1, dtype=np.float64), atol=1e-6)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(gpu.softmax(moved).numpy(), e / e.sum(1, keepdims=True, dtype=np.float64), rtol=1e-4)


def test_results_stay_on_the_device(device: Device) -> None:
    x = gpu.array(np.ones((4, 5), np.float32), device=device)
    results = gpu.pointwise("a + b")(x, np.float32([1]), engine="wgpu"), gpu.max(x, 0), gpu.softmax(x)
    for result in results:
        assert isinstance(result, Tensor) and result.engine.device is device
    gpu.pointwise("a + b")(x, x, out=x)
    host = np.zeros((5, 4), np.float32)
    gpu.copy(x, make_tensor(host.T))
    assert np.array_equal(host, np.full((5, 4), 2, np.float32))


def test_device_tensors_are_not_for_the_interpreter(device: Device, own_device: Device) -> None:
    x, y = (gpu.array(np.ones(4, np.float32), device=d) for d in (device, own_device))
    with pytest.raises(KernelError, match=r"pass \.numpy"):
        gpu.max(x, engine="numpy")
    with pytest.raises(KernelError, match="the tensors are on 2 devices"):
        gpu.pointwise("a + b")(x, y)
    with pytest.raises(KernelError, match="the tensors are on 2 devices"):
        gpu.copy(x, y)
