"""matmul, dot and fused multiply-add against NumPy in f64: 200 random operands each, cut into blocks of any size."""

import numpy as np
import pytest
from ops.operands import NUMBERS, random_operand, random_values, stretched, unusual_tensors

from cutepy import ops
from cutepy.errors import TensorError
from cutepy.ops import contraction
from cutepy.tensor import Tensor

CASES = 200


@pytest.fixture(params=[1 << 20, 12], ids=["one block", "many blocks"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(contraction, "BLOCK", request.param)
    return int(request.param)


def sizes(rng: np.random.Generator, count: int) -> tuple[int, ...]:
    return tuple(int(size) for size in rng.choice([0, 1, 2, 3, 5, 8], count, p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2]))


def check(found: np.ndarray, exact: np.ndarray, magnitude: np.ndarray, terms: int, dtype: str) -> None:
    """f32 and f16: within the rounding of f32 sums, and of the result; integers: equal modulo 2**32."""
    assert found.dtype == dtype and found.shape == exact.shape
    if np.dtype(dtype).kind != "f":
        assert (found == exact.astype(dtype)).all()
        return
    with np.errstate(all="ignore"):
        allowed = magnitude * ((terms + 2) * 2**-24 + (2**-11 if dtype == "float16" else 2**-24)) + 1e-7
        known = np.isfinite(exact) & (np.abs(exact) < 60000)
        assert (np.abs(found.astype(np.float64) - exact) <= allowed)[known].all()


def wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def of_types(rng: np.random.Generator, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[object, ...]:
    kind = rng.choice(NUMBERS)
    kinds = [kind, kind] if rng.random() < 0.7 or np.dtype(kind).kind != "f" else [kind, rng.choice(NUMBERS[:2])]
    (a, x), (b, y) = (random_operand(rng, shape, dtype) for shape, dtype in zip((one, other), kinds, strict=True))
    return a, b, x, y, max(kinds, key=lambda name: (np.dtype(name).kind == "f", np.dtype(name).itemsize))


def test_matmul(block: int) -> None:
    rng = np.random.default_rng(1)
    for _case in range(CASES):
        m, n, k = sizes(rng, 3)
        batch = sizes(rng, int(rng.integers(3)))
        one = (*stretched(rng, batch), m, k) if rng.random() < 0.9 else (k,)
        other = (*stretched(rng, batch), k, n) if rng.random() < 0.9 else (k,)
        a, b, x, y, dtype = of_types(rng, one, other)
        with np.errstate(all="ignore"):
            exact, magnitude = wide(x) @ wide(y), np.abs(wide(x)) @ np.abs(wide(y))
        check(ops.matmul(a, b).numpy(), np.asarray(exact), np.asarray(magnitude), k, dtype)


def test_dot(block: int) -> None:
    rng = np.random.default_rng(2)
    for _case in range(CASES):
        k = sizes(rng, 1)[0]
        one = (*sizes(rng, int(rng.integers(3))), k)
        other = (k,) if rng.random() < 0.3 else (*sizes(rng, int(rng.integers(2))), k, *sizes(rng, 1))
        a, b, x, y, dtype = of_types(rng, one, other)
        with np.errstate(all="ignore"):
            exact, magnitude = np.dot(wide(x), wide(y)), np.dot(np.abs(wide(x)), np.abs(wide(y)))
        check(ops.dot(a, b).numpy(), np.asarray(exact), np.asarray(magnitude), k, dtype)


def test_dot_with_a_number_scales() -> None:
    assert (ops.dot(2.0, np.ones((2, 3), np.float32)).numpy() == 2).all()


def test_fused_multiply_add(block: int) -> None:
    rng = np.random.default_rng(3)
    for _case in range(CASES):
        shape = sizes(rng, int(rng.integers(5)))
        a, b, x, y, dtype = of_types(rng, stretched(rng, shape), stretched(rng, shape))
        rank = max(x.ndim, y.ndim)
        axes = tuple(int(axis) for axis in rng.permutation(rank)[: rng.integers(rank + 1)])
        with np.errstate(all="ignore"):
            product = wide(x) * wide(y)
            exact, magnitude = product.sum(axis=axes), np.abs(product).sum(axis=axes)
        terms = product.size // max(1, exact.size)
        check(ops.fused_multiply_add(a, b, axes).numpy(), np.asarray(exact), np.asarray(magnitude), terms, dtype)


def test_a_matrix_product_by_fused_multiply_add() -> None:
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(30, 20)).astype(np.float32), rng.normal(size=(20, 40)).astype(np.float32)
    left, right = ops.reshape(A, (30, 1, 20)), ops.reshape(ops.permute(B, (1, 0)), (1, 40, 20))
    assert np.allclose(ops.fused_multiply_add(left, right, 2).numpy(), A @ B, atol=1e-4)


def close(found: Tensor, expected: np.ndarray) -> bool:
    return bool(np.allclose(found.numpy(), expected, atol=1e-4, equal_nan=True))


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_operands_without_strides(dtype: str, block: int) -> None:
    rng = np.random.default_rng(7)
    for tensor in unusual_tensors(rng, dtype):
        values = tensor.numpy()
        other = np.nan_to_num(random_values(rng, (12, 5), dtype), posinf=1, neginf=1)
        with np.errstate(all="ignore"):
            expected = values @ other
            assert close(ops.matmul(tensor, other), expected) and close(ops.dot(tensor, other), expected)
            turned = ops.permute(tensor, (1, 0))
            assert close(ops.matmul(other.T, turned), other.T @ turned.numpy())
            if dtype != "bool":
                assert close(ops.fused_multiply_add(tensor, other[:, 0], 1), values @ other[:, 0])


def test_batches_broadcast_both_ways() -> None:
    rng = np.random.default_rng(5)
    A, B = rng.normal(size=(2, 1, 4, 3)).astype(np.float32), rng.normal(size=(1, 3, 3, 5)).astype(np.float32)
    assert np.allclose(ops.matmul(A, B).numpy(), A @ B, atol=1e-5)


def test_large_integers_wrap() -> None:
    A = np.full((2, 3), 2**30, np.int32)
    assert (ops.matmul(A, A.T).numpy() == np.int32((3 * 2**60) % 2**32)).all()
    B = np.full((2, 3), 123456789, np.int32)
    assert (ops.matmul(B, B.T).numpy() == np.int64(3 * 123456789**2).astype(np.int32)).all()


def test_bool_matmul_is_or_of_and() -> None:
    rng = np.random.default_rng(6)
    A, B = rng.random((4, 5)) < 0.3, rng.random((5, 6)) < 0.3
    assert (ops.matmul(A, B).numpy() == A @ B).all()


@pytest.mark.parametrize("name", ["matmul", "dot"])
def test_inner_sizes_that_differ(name: str) -> None:
    with pytest.raises(
        TensorError, match=rf"{name}: of the shapes \(2, 3\) and \(4, 5\) the inner sizes 3 and 4 differ"
    ):
        getattr(ops, name)(np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32))


def test_bad_operands() -> None:
    with pytest.raises(TensorError, match="an operand is a number"):
        ops.matmul(2.0, np.zeros((2, 2), np.float32))
    with pytest.raises(TensorError, match="do not broadcast"):
        ops.matmul(np.zeros((2, 3, 3), np.float32), np.zeros((4, 3, 3), np.float32))
    with pytest.raises(TensorError, match="i32 and u32 do not mix"):
        ops.matmul(np.zeros((2, 2), np.int32), np.zeros((2, 2), np.uint32))
