"""Traced kernels, matmul and sum on a device: equal to the interpreter, and to float64 within rounding."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu, ops
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.runtime import Device
from cutepy.tensor import Tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import traced
from test_operations import FLAGSHIP, error, operands

CASES = traced.cases()


@pytest.mark.parametrize("name", CASES)
def test_kernel_on_device(device: Device, name: str) -> None:
    case = CASES[name]()
    if "f16" in name and "shader-f16" not in device.features:
        pytest.skip("NOT TESTED: the device has no f16")
    moved = [gpu.array(a, device=device) if isinstance(a, np.ndarray) else a for a in case.arguments]
    case.kernel(*moved, **case.static)
    for mine, tensor in zip(case.arrays, [m for m in moved if isinstance(m, Tensor)], strict=True):
        mine[...] = tensor.numpy()
    case.check()


def test_subgroup_functions(device: Device) -> None:
    if "subgroups" not in device.features:
        pytest.skip("NOT TESTED: the device has no subgroups")
    x = np.random.default_rng(0).random(64, dtype=np.float32)
    moved, out = gpu.array(x, device=device), gpu.empty((64, 3), device=device)
    traced.lanes(moved, out)
    got = out.numpy()
    subgroup = int(got[0, 2])
    np.testing.assert_allclose(got[:, 0], np.repeat(x.reshape(-1, subgroup).sum(1), subgroup), rtol=1e-5)
    assert np.array_equal(got[:, 1], x.reshape(-1, 2)[:, ::-1].ravel())


@pytest.mark.parametrize("threads", [64, 96])
def test_a_size_of_subgroups_is_given_or_refused(device: Device, threads: int) -> None:
    if "subgroups" not in device.features:
        pytest.skip("NOT TESTED: the device has no subgroups")

    @gpu.kernel
    def sums(x: Tensor, y: Tensor, *, n: int) -> None:
        gpu.launch(threads=threads, subgroup=n)
        y[gpu.thread] = gpu.subgroup_add(x[gpu.thread])

    x, given = np.arange(threads, dtype=np.float32), set()
    for n in (4, 8, 16, 32):
        moved, out = gpu.array(x, device=device), gpu.empty(threads, device=device)
        try:
            sums(moved, out, n=n)
        except DeviceError as error:
            assert f"subgroup={n}" in str(error)
            continue
        given.add(n)
        assert np.array_equal(out.numpy(), np.repeat(x.reshape(-1, n).sum(1), n))
    assert device.subgroup_size() in given


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 1, 13), (127, 129, 131)])
@pytest.mark.on_dawn("strided")
@pytest.mark.parametrize("kind", ["C", "transposed", "strided"])
def test_matmul(device: Device, size: tuple[int, int, int], kind: str) -> None:
    a, b = operands(*size, kind)
    got = ops.matmul(gpu.array(a, device=device), gpu.array(b, device=device))
    assert error(got.numpy(), a, b) <= 1e-6


def test_large_matmul(device: Device) -> None:
    a, b = operands(520, 450, 350)
    assert error(ops.matmul(gpu.array(a, device=device), gpu.array(b, device=device)).numpy(), a, b) <= 1e-6


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)  # test_every_plan_at_uneven_edges has Dawn's
def test_the_fast_plan(device: Device) -> None:
    a, b = operands(130, 140, 20)
    got = ops.matmul(gpu.array(a, device=device), gpu.array(b, device=device), plan=FLAGSHIP)
    assert error(got.numpy(), a, b) <= 1e-6


@pytest.mark.parametrize("n", [1, 255, 1_000_003])
def test_sum(device: Device, n: int) -> None:
    x = np.random.default_rng(n).random(n, dtype=np.float32)
    assert abs(ops.sum(gpu.array(x, device=device)).numpy() / x.astype(np.float64).sum() - 1) <= 1e-6


def test_tensors_of_two_devices_are_refused(device: Device, own_device: Device) -> None:
    x, y = gpu.array(np.zeros(8, np.float32), device=device), gpu.array(np.zeros(8, np.float32), device=own_device)
    with pytest.raises(KernelError, match="the tensors are on 2 devices"):
        traced.saxpy(1.0, x, y)
