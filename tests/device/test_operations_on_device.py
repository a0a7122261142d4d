"""Operations on whole tensors on a device: NumPy's meaning, and results that stay where the operands are."""

import sys
from pathlib import Path

import numpy as np
import pytest
from shares import share
from swiftshader import needs_special_values

from cutepy import gpu, ops
from cutepy.errors import CutepyError, DeviceError, KernelError
from cutepy.gpu import CallCache
from cutepy.gpu.operations import pointwise
from cutepy.gpu.runtime import Device, DeviceBuffer
from cutepy.gpu.trace import state
from cutepy.layout import ComposedLayout, Layout, Swizzle
from cutepy.tensor import Tensor, make_tensor

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import operation_cases
from ops import same_calls

PER_FAMILY = 10


@pytest.mark.parametrize("family", operation_cases.FAMILIES)
def test_random_calls(device: Device, family: str) -> None:
    for seed in share(range(1000, 1000 + PER_FAMILY)):
        case = operation_cases.FAMILIES[family](seed)
        try:
            case.check("wgpu")
        except DeviceError as error:
            if "shader-f16" in device.features or "feature 'shader-f16'" not in str(error):
                raise


def test_nan_wins(device: Device) -> None:
    x = np.float32([[-3, np.nan, -1], [-5, -2, -2], [-np.inf, -np.inf, -np.inf], [np.nan, np.inf, np.nan]])
    for name in ("max", "min", "argmax", "argmin"):
        got = getattr(ops, name)(gpu.array(x, device=device), 1).numpy()
        np.testing.assert_array_equal(got, getattr(np, name)(x, 1))


def test_softmax_of_infinities(device: Device) -> None:
    needs_special_values(device)
    x = np.float32([[1, np.nan], [np.inf, 1], [-np.inf, -np.inf], [-np.inf, 0], [-3e38, 3e38], [3e38, 3e38]])
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(1, keepdims=True))
        wanted = e / e.sum(1, keepdims=True)
    np.testing.assert_array_equal(ops.softmax(gpu.array(x, device=device)).numpy(), wanted)


def test_grids_longer_than_a_dimension(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_GROUPS", 5)
    x = np.random.default_rng(0).standard_normal((51, 259), dtype=np.float32)
    moved = gpu.array(x, device=device)
    assert np.array_equal(gpu.pointwise("2 * a")(moved).numpy(), 2 * x)
    assert np.array_equal(ops.max(moved, 1).numpy(), x.max(1))
    turned = np.zeros((259, 51), np.float32)
    gpu.copy(moved, make_tensor(turned.T))
    assert np.array_equal(turned, x.T)


def test_several_passes_and_long_rows(device: Device) -> None:
    x = np.random.default_rng(0).standard_normal((3, 70_000), dtype=np.float32)
    moved = gpu.array(x, device=device)
    assert np.array_equal(ops.argmax(moved, 1).numpy(), x.argmax(1)) and ops.min(moved).numpy() == x.min()
    np.testing.assert_allclose(ops.mean(moved, 1).numpy(), x.mean(1, dtype=np.float64), atol=1e-6)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(ops.softmax(moved).numpy(), e / e.sum(1, keepdims=True, dtype=np.float64), rtol=1e-4)


@pytest.mark.on_dawn(4100)
@pytest.mark.parametrize("rows", [4096, 4100])
def test_columns_of_many_side_by_side(device: Device, rows: int) -> None:
    """By workgroups as large as the device has them."""
    x = np.random.default_rng(0).integers(-9, 10, (1100, rows)).astype(np.float32)
    moved, ones = gpu.array(x, device=device), gpu.array(np.arange(1100, dtype=np.float32) % 7, device=device)
    assert np.array_equal(ops.sum(moved, 0).numpy(), x.sum(0))
    assert np.array_equal(ops.matmul(ones, moved).numpy(), (np.arange(1100, dtype=np.float32) % 7) @ x)


def test_results_stay_on_the_device(device: Device) -> None:
    x = gpu.array(np.ones((4, 5), np.float32), device=device)
    results = gpu.pointwise("a + b")(x, np.float32([1]), engine="wgpu"), ops.max(x, 0), ops.softmax(x)
    for result in results:
        assert isinstance(result, Tensor) and result.engine.device is device
    gpu.pointwise("a + b")(x, x, out=x)
    host = np.zeros((5, 4), np.float32)
    gpu.copy(x, make_tensor(host.T))
    assert np.array_equal(host, np.full((5, 4), 2, np.float32))


def on_device(value: object) -> object:
    return value.engine.device if isinstance(value, Tensor) else None


def test_ops_of_device_tensors_run_there_and_stay_there(device: Device) -> None:
    g = np.random.default_rng(3)
    a, b = g.standard_normal((6, 8), dtype=np.float32), g.standard_normal((8, 5), dtype=np.float32)
    x, y = gpu.array(a, device=device), gpu.array(b, device=device)
    calls = {
        "add": (lambda p, _q: ops.add(p, [1.0] * 8)),
        "div": (lambda p, _q: ops.div(3, p)),
        "scaled": (lambda p, _q: ops.mul(np.float32(2), p)),
        "where": (lambda p, _q: ops.where(ops.gt(p, 0), p, -1.5)),
        "astype": (lambda p, _q: ops.astype(p, "i32")),
        "sum": (lambda p, _q: ops.sum(p)),
        "max": (lambda p, _q: ops.max(p, 1, keepdims=True)),
        "argmin": (lambda p, _q: ops.argmin(p, 0)),
        "softmax": (lambda p, _q: ops.softmax(p, 0)),
        "matmul": (lambda p, q: ops.matmul(p, q)),
        "dot": (lambda p, q: ops.dot(ops.reshape(p, (2, 3, 8)), q)),
        "fused": (lambda p, q: ops.fused_multiply_add(ops.reshape(p, (6, 8, 1)), q, 1)),
        "pad": (lambda p, _q: ops.pad(p, [(1, 0), (0, 2)], 7)),
        "flip": (lambda p, _q: ops.flip(p, 0)),
        "permute": (lambda p, _q: ops.permute(p, (1, 0))),
    }
    for name, call in calls.items():
        found, expected = call(x, y), call(a, b)
        assert on_device(found) is device, name
        assert found.dtype is expected.dtype and found.numpy().shape == expected.numpy().shape, name
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5, err_msg=name)


def test_results_go_where_out_says(device: Device) -> None:
    """Into any layout of the device's memory, again where the call is made again, and to the host."""
    array = np.random.default_rng(4).standard_normal((6, 8), dtype=np.float32)
    x = gpu.array(array, device=device)
    for name, more in {"add": (2.0,), "exp": (), "sum": (1,), "cumsum": (0,), "softmax": (1,), "clip": (0, 1)}.items():
        expected = getattr(ops, name)(array, *more).numpy()
        turned = gpu.empty(expected.shape[::-1], device=device)
        out = ops.permute(turned, range(turned.rank)[::-1])
        for _again in range(2):
            assert getattr(ops, name)(x, *more, out=out) is out
            np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5, atol=1e-5)
        at_home = make_tensor(np.zeros_like(expected))
        getattr(ops, name)(x, *more, out=at_home)
        np.testing.assert_allclose(at_home.numpy(), expected, rtol=1e-5, atol=1e-5)


def test_scans_by_functions_of_ones_own(device: Device) -> None:
    values = np.where(np.random.default_rng(0).random((3, 5000)) < 0.2, 7, 0).astype(np.int32)
    values += np.arange(5000, dtype=np.int32) * (values > 0)
    last = lambda a, b: np.where(b != 0, b, a)  # noqa: E731
    found = ops.scan(last, gpu.array(values, device=device), 1, identity=0)
    assert on_device(found) is device
    at = np.maximum.accumulate(np.where(values != 0, np.arange(5000), 0), 1)
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(values, at, 1))
    np.testing.assert_array_equal(
        ops.cummax(gpu.array(values, device=device), 1).numpy(), np.maximum.accumulate(values, 1)
    )


def test_an_index_outside_takes_nothing(device: Device) -> None:
    """The elements of a device's indices are not looked at by the host: nothing outside is read, it is 0."""
    x, far = np.arange(1, 13, dtype=np.float32).reshape(3, 4), np.int32([2, 3, -3, -4, 2**31 - 1, -(2**31)])
    found = ops.take(gpu.array(x, device=device), gpu.array(far, device=device), 0).numpy()
    np.testing.assert_array_equal(found, [x[2], [0] * 4, x[0], [0] * 4, [0] * 4, [0] * 4])


def test_the_same_calls_give_the_same(device: Device) -> None:
    found = [line for seed in share(range(10_000, 10_050)) for line in same_calls.differences(seed, ["wgpu"])]
    if "shader-f16" not in device.features:
        found = [line for line in found if "feature 'shader-f16', the device lacks it" not in line]
    assert not found, "\n".join(found)


def test_device_tensors_are_not_for_the_interpreter(device: Device, own_device: Device) -> None:
    x, y = (gpu.array(np.ones(4, np.float32), device=d) for d in (device, own_device))
    with pytest.raises(KernelError, match=r"pass \.numpy"):
        ops.max(x, engine="interpreter")
    with pytest.raises(KernelError, match="the tensors are on 2 devices"):
        gpu.pointwise("a + b")(x, y)
    with pytest.raises(KernelError, match="the tensors are on 2 devices"):
        gpu.copy(x, y)


@pytest.mark.parametrize("size", [1, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("kind", ["i4", "f4"])
def test_one_run_is_walked_by_wide_tiles(device: Device, size: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As large copies are: every element there, and nothing beyond."""
    monkeypatch.setattr(pointwise, "LONG_RUN", 1)
    x = np.random.default_rng(0).integers(1, 99, size).astype(kind)
    CallCache.clear_all()
    for step in (1, 2):
        source = gpu.array(np.repeat(x, step), device=device)
        target = gpu.array(np.zeros(size + 8, kind), device=device)
        gpu.copy(Tensor(source.engine, Layout(size, step)), Tensor(target.engine, Layout(size), 4))
        np.testing.assert_array_equal(target.numpy(), np.pad(x, 4))
        gpu.pointwise("a + 2 * a")(
            Tensor(source.engine, Layout(size, step)), out=Tensor(target.engine, Layout(size), 4)
        )
        np.testing.assert_array_equal(target.numpy(), np.pad(3 * x, 4))
    CallCache.clear_all()


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "complex64"])
def test_nothing_of_a_device_is_computed_on_the_host_in_silence(device: Device, name: str) -> None:
    """What a device has no type for it refuses, in every operation; views of it are views there."""
    x = gpu.array(np.ones((4, 8), name), device=device)
    calls = {
        "add": lambda: ops.add(x, x),
        "exp": lambda: ops.exp(x),
        "sum": lambda: ops.sum(x),
        "argmax": lambda: ops.argmax(x, 1),
        "var": lambda: ops.var(x),
        "softmax": lambda: ops.softmax(x),
        "cumsum": lambda: ops.cumsum(x, 0),
        "matmul": lambda: ops.matmul(x, ops.permute(x, (1, 0))),
        "einsum": lambda: ops.einsum("ab->b", x),
        "astype": lambda: ops.astype(x, "f32"),
        "pad": lambda: ops.pad(x, [(1, 0), (0, 0)]),
        "contiguous": lambda: ops.contiguous(x),
        "reshape": lambda: ops.reshape(ops.permute(x, (1, 0)), (4, 2, 4)),
    }
    for call, run in calls.items():
        try:
            found = run()
        except CutepyError as error:
            assert "no such element type on a GPU" in str(error), call
        else:
            assert found.engine.words.device is device, call
    with pytest.raises(KernelError, match=r"pass \.numpy\(\)"):
        ops.add(x, x, engine="numpy")


def test_movement_that_copies_stays_on_the_device(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pad`, and the copies of `reshape`, `crop`, `flip` and `expand`, of plain, permuted and swizzled tensors."""
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    swizzled = make_tensor(values.ravel(), ComposedLayout(Swizzle(1, 0, 3), 0, Layout((8, 8), (1, 8))))
    memory = gpu.array(values.ravel(), device=device)
    cases = {
        "plain": (gpu.array(values, device=device), values),
        "permuted": (ops.permute(gpu.array(values, device=device), (1, 0)), values.T),
        "swizzled": (Tensor(memory.engine, swizzled.layout), swizzled.numpy()),
    }
    calls = (
        lambda x: ops.reshape(x, (2, 32)),
        lambda x: ops.reshape(x, (4, 16), order="F"),
        lambda x: ops.reshape(ops.permute(ops.reshape(x, (2, 4, 8)), (2, 0, 1)), (4, -1)),
        lambda x: ops.crop(x, [(1, 5), (2, 8)]),
        lambda x: ops.flip(x, 1),
        lambda x: ops.expand(x, (3, 8, 8)),
        lambda x: ops.pad(x, [(1, 2), (0, 3)], 5),
        lambda x: ops.contiguous(x, "F"),
        lambda x: ops.reshape(ops.crop(x, [(0, 0), (0, 8)]), (4, 0)),
        lambda x: ops.pad(x, [(1, 2), (0, 3)], "edge"),
        lambda x: ops.pad(x, [(9, 2), (0, 3)], "reflect"),
        lambda x: ops.concat([x, ops.flip(x, 0)], 1),
        lambda x: ops.stack([x, x], 1),
        lambda x: ops.take(x, np.int32([[1, -1], [5, 0]]), 0),
        lambda x: ops.take(x, [3, 3, -8], 1),
    )
    for name, (x, array) in cases.items():
        for number, call in enumerate(calls):
            with monkeypatch.context() as patch:
                patch.setattr(DeviceBuffer, "read", lambda *_args, **_named: pytest.fail("read back"))
                found = call(x)
            assert on_device(found) is device, (name, number)
            np.testing.assert_array_equal(found.numpy(), call(array).numpy(), err_msg=f"{name} {number}")
