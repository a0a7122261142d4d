"""Fused blocks: what they give is what the calls give one after the other, in the kernels that are promised."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shares import share

from cutepy import gpu, ops
from cutepy.errors import KernelError, TensorError
from cutepy.gpu import Device
from cutepy.tensor import Tensor

CASES = 60
UNARY = ("exp", "neg", "absolute", "tanh", "sigmoid", "square", "floor", "sign")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "fmax")
FOLDS = ("sum", "max", "min", "mean", "prod", "any", "all", "norm")


def array_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith("f"):
        return (rng.integers(-8, 9, shape) / 8).astype(dtype)
    return rng.integers(0, 5, shape).astype(dtype)


def program(rng: np.random.Generator, types: list[str]) -> tuple[list[np.ndarray], Callable[..., list[Any]]]:
    """Operands, and a random program over them that gives some of what it computes; it may be run again and again."""
    m, n = (int(rng.choice([1, 3, 16, 33, 70])) for _ in range(2))
    shapes = [(m, n), (n,), (m, 1), (m, n), (n, m)]
    operands = [array_of(rng, shape, str(rng.choice(types))) for shape in shapes]
    if rng.random() < 0.3:
        operands[0] = np.asfortranarray(operands[0])
    seed, count = int(rng.integers(1 << 30)), int(rng.integers(2, 12))

    def run(*given: Any) -> list[Any]:
        steps = np.random.default_rng(seed)
        pool, kept = list(given), []
        for _ in range(count):
            x, y = (pool[int(steps.integers(len(pool)))] for _ in range(2))
            kind, number = steps.random(), float(steps.integers(-4, 5)) / 4
            name, other, held = str(steps.choice(UNARY)), str(steps.choice(BINARY)), steps.random() < 0.15
            fold, axis, keep = str(steps.choice(FOLDS)), int(steps.integers(2)), bool(steps.random() < 0.7)
            whole = int(steps.integers(-3, 4))
            try:
                if kind < 0.3:
                    found = getattr(ops, name)(x)
                elif kind < 0.6:
                    found = getattr(ops, other)(x, y)
                elif kind < 0.7:
                    found = getattr(ops, other)(x, number if kind < 0.66 else whole)
                elif kind < 0.75:
                    found = ops.where(ops.lt(x, y), x, number)
                elif kind < 0.8:
                    found = ops.astype(x, "f32")
                elif kind < 0.88:
                    found = getattr(ops, fold)(x, axis, keepdims=keep)
                elif kind < 0.94:
                    found = ops.matmul(x, y)
                elif kind < 0.97:
                    found = ops.permute(x, (1, 0))
                else:
                    found = ops.softmax(x, 0)
            except TensorError:  # shapes or types that do not meet: the same, whoever computes
                continue
            pool.append(found)
            if held:
                kept.append(found)
        return [*kept, pool[-1]]

    return operands, run


def judge(found: list[Any], expected: list[Any], seed: int) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        a, b = (x.numpy() if isinstance(x, Tensor) else x for x in (one, other))
        assert a.dtype == b.dtype and a.shape == b.shape, seed
        scale = float(np.abs(b[np.isfinite(b)]).max(initial=1)) if b.dtype.kind == "f" else 1.0
        rough = 2e-2 if b.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(a, b, rtol=rough, atol=rough * scale, err_msg=str(seed))


@pytest.mark.on_dawn()
@pytest.mark.parametrize("seed", range(0, 9, 3))
def test_random_programs(device: Device, seed: int) -> None:
    """Against the same calls one after the other on the device, and against NumPy's on the host."""
    types = ["float32", "float32", "int32"] + ["float16"] * ("shader-f16" in device.features)
    for case in share(range(seed, seed + 3)):
        arrays, run = program(np.random.default_rng(case), types)
        tensors = [gpu.array(array, device=device) for array in arrays]
        with np.errstate(all="ignore"):
            found = gpu.fused()(run)(*tensors)
            judge(found, run(*tensors), case)
            judge(found, run(*arrays), case)


X = np.random.default_rng(1).standard_normal((40, 70), dtype=np.float32)
W = np.random.default_rng(2).standard_normal((70, 40), dtype=np.float32)
BIAS = np.linspace(-1, 1, 40, dtype=np.float32)
EXACT = np.exp(X - 1) * 2 + X


def test_a_chain_is_one_kernel(device: Device) -> None:
    x = gpu.array(X, device=device)
    with gpu.fused() as block:
        h = ops.add(ops.mul(ops.exp(ops.sub(x, 1)), 2.0), x)
        assert str(block) == "0 kernels"
    assert len(block.kernels) == 1
    np.testing.assert_allclose(h.numpy(), EXACT, rtol=1e-5, atol=1e-5)
    assert type(h.engine) is gpu.DeviceEngine


@pytest.mark.on_dawn()
def test_a_chain_and_its_reduction_are_one_kernel(device: Device) -> None:
    x = gpu.array(X, device=device)
    folds = {"sum": EXACT.sum(1), "max": EXACT.max(1), "mean": EXACT.mean(1), "norm": np.sqrt(np.square(EXACT).sum(1))}
    for name, expected in folds.items():
        with gpu.fused() as block:
            y = getattr(ops, name)(ops.add(ops.mul(ops.exp(ops.sub(x, 1)), 2.0), x), 1)
        assert len(block.kernels) == 1, block
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4)


@pytest.mark.on_dawn()
def test_a_product_and_what_becomes_of_it_are_one_kernel(device: Device) -> None:
    x, w, bias = (gpu.array(a, device=device) for a in (X, W, BIAS))
    for scale in (0.5, 0.25):  # another number is the same kernel
        before = device.stats.pipelines
        with gpu.fused() as block:
            y = ops.maximum(ops.add(ops.mul(ops.matmul(x, w), scale), bias), 0)
        assert len(block.kernels) == 1, block
        np.testing.assert_allclose(y.numpy(), np.maximum(X @ W * np.float32(scale) + BIAS, 0), rtol=1e-4, atol=1e-4)
        assert scale == 0.5 or device.stats.pipelines == before


@pytest.mark.on_dawn()
def test_numbers_are_launch_parameters(device: Device) -> None:
    x = gpu.array(X, device=device)

    @gpu.fused()
    def of(number: float) -> tuple[Tensor, Tensor]:
        return ops.add(ops.mul(x, number), 1.0), ops.sum(ops.mul(ops.mul(x, number), x), 1)

    of(0.5)
    before = device.stats.pipelines
    for number in (0.5, 0.75, -3.0, 0.75):
        one, other = of(number)
        np.testing.assert_allclose(one.numpy(), X * np.float32(number) + 1, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(other.numpy(), np.square(X).sum(1) * np.float32(number), rtol=1e-4)
    assert device.stats.pipelines == before


@pytest.mark.on_dawn()
def test_what_is_held_is_stored_and_nothing_else(device: Device) -> None:
    x = gpu.array(X, device=device)
    with gpu.fused() as block:
        s, c = ops.sin(x), ops.cos(x)
        both = ops.mul(s, c)
    assert len(block.kernels) == 1 and "3 of them stored" in block.kernels[0]
    for found, expected in ((s, np.sin(X)), (c, np.cos(X)), (both, np.sin(X) * np.cos(X))):
        np.testing.assert_allclose(found.numpy(), expected, atol=2e-3)

    @gpu.fused()
    def softmax(x: Tensor) -> Tensor:
        e = ops.exp(ops.sub(x, ops.max(x, 1, keepdims=True)))
        return ops.div(e, ops.sum(e, 1, keepdims=True))

    e = np.exp(X - X.max(1, keepdims=True))
    np.testing.assert_allclose(softmax(x).numpy(), e / e.sum(1, keepdims=True), rtol=1e-4)


def test_no_call_sees_a_later_write(device: Device) -> None:
    """Before anything writes what a waiting call reads it is launched: kernels, copies, out, the host, recordings."""

    @gpu.kernel
    def clear(y):
        gpu.launch(grid=1, threads=1)
        y[0] = 0.0

    def by_recording(x: Tensor) -> None:
        with gpu.record(device) as step:
            gpu.copy(other, x)
        step.play()

    other = gpu.array(np.zeros(8, np.float32), device=device)
    writes: dict[str, Callable[[Tensor], object]] = {
        "kernel": clear,
        "copy": lambda x: gpu.copy(other, x),
        "out": lambda x: ops.mul(x, 0.0, out=x),
        "host": lambda x: x.engine.buffer.write(np.zeros(8, np.float32)),
        "recording": by_recording,
        "element": lambda x: x.engine.store(np.int64(0), np.float32(0)),
    }
    for name, write in writes.items():
        for _again in range(2):  # the second call is a recorded one
            x = gpu.array(np.arange(1, 9, dtype=np.float32), device=device)
            with gpu.fused():
                y = ops.mul(ops.add(x, 1.0), 2.0)
                write(x)
                z = ops.add(x, 1.0)
            np.testing.assert_array_equal(y.numpy(), np.arange(2, 10) * 2, err_msg=name)
            assert z.numpy()[0] == 1, name


@pytest.mark.on_dawn()
def test_elements_are_there_when_they_are_asked_for(device: Device) -> None:
    x = gpu.array(X, device=device)
    with gpu.fused() as block:
        h = ops.add(x, 1.0)
        np.testing.assert_array_equal(h.numpy(), X + 1)
        turned = ops.permute(ops.mul(h, 2.0), (1, 0))
        y = ops.sub(turned, 1.0)
        top = ops.argmax(ops.neg(h), 1)
    np.testing.assert_allclose(y.numpy(), ((X + 1) * 2).T - 1, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(top.numpy(), X.argmin(1))
    assert any("a view of it is read" in text for text in block.kernels), block


@pytest.mark.on_dawn()
def test_errors_are_those_of_the_call(device: Device) -> None:
    x = gpu.array(X, device=device)
    with gpu.fused():
        h = ops.add(x, 1.0)
        with pytest.raises(TensorError, match="do not broadcast"):
            ops.add(h, gpu.array(np.ones(3, np.float32), device=device))
        with pytest.raises(TensorError, match="not defined on f32"):
            ops.bitwise_and(h, h)
        with pytest.raises(TensorError, match="axis"):
            ops.sum(h, 5)
    kept = []
    with pytest.raises(ZeroDivisionError), gpu.fused():
        kept.append(ops.add(x, 1.0))
        raise ZeroDivisionError
    with pytest.raises(KernelError, match="ended by an error before this was computed"):
        kept[0].numpy()
    block = gpu.fused()
    with block:
        pass
    with pytest.raises(KernelError, match="entered once"), block:
        pass


@pytest.mark.on_dawn()
def test_too_many_tensors_are_two_kernels(device: Device) -> None:
    arrays = [np.full(8, i, np.float32) for i in range(min(device.limits.bindings, 64) + 3)]
    tensors = [gpu.array(a, device=device) for a in arrays]
    with gpu.fused() as block:
        total = tensors[0]
        for tensor in tensors[1:]:
            total = ops.add(total, tensor)
    assert len(block.kernels) == 2 and "a chain has at most" in block.kernels[0], block
    np.testing.assert_array_equal(total.numpy(), sum(arrays))


@pytest.mark.on_dawn()
def test_a_block_in_a_recording_is_played(device: Device) -> None:
    x = gpu.array(X, device=device)
    with gpu.record(device) as step, gpu.fused():
        y = ops.sum(ops.exp(ops.mul(x, 0.5)), 1)
    assert step.launches == 1
    x.engine.buffer.write(X + 1)
    step.play()
    np.testing.assert_allclose(y.numpy(), np.exp((X + 1) / 2).sum(1), rtol=1e-4)


@pytest.mark.on_dawn()
def test_functions_of_ones_own_are_fused(device: Device) -> None:
    x, factor = gpu.array(X, device=device), 2.0
    scaled = gpu.pointwise(lambda a: a * factor)
    formula = gpu.pointwise("a + alpha * b")
    for factor in (2.0, 3.0):
        with gpu.fused() as block:
            y = ops.maximum(formula(scaled(x), 0.5, x), 0)
        assert len(block.kernels) == 1
        np.testing.assert_allclose(y.numpy(), np.maximum(X * factor + X / 2, 0), rtol=1e-5, atol=1e-5)


def test_what_is_of_the_host_is_computed_at_once() -> None:
    with gpu.fused() as block:
        y = ops.add(ops.exp(X), 1)
    assert block.kernels == []
    np.testing.assert_allclose(y.numpy(), np.exp(X) + 1, rtol=1e-6)
