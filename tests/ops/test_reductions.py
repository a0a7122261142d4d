"""Reductions against NumPy in f64: 200 random operands and axes each; empty operands, NaN, all-negative values."""

import inspect

import numpy as np
import pytest
from ops.operands import ALL, random_operand, random_sizes, same, unusual_tensors

from cutepy import ops
from cutepy.errors import TensorError
from cutepy.ops import reductions
from cutepy.tensor import make_tensor

CASES = 200


def random_axes(rng: np.random.Generator, rank: int) -> tuple[int, ...] | int | None:
    if rng.random() < 0.25:
        return None
    if rank and rng.random() < 0.4:
        return int(rng.integers(-rank, rank))
    return tuple(int(axis) for axis in rng.permutation(rank)[: rng.integers(rank + 1)])


def bounds_of(array: np.ndarray, axes: object, keepdims: bool, factor: float) -> np.ndarray:
    """How far a sum in f32, rounded to the type of the result, may be from the exact one."""
    wide = np.abs(array.astype(np.float64))
    count = max(1, array.size)
    total = wide.sum(axis=axes, keepdims=keepdims)
    return np.asarray(total * (count * 2**-24 + factor) + 1e-7)


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        axes, keepdims = random_axes(rng, array.ndim), bool(rng.random() < 0.3)
        found = getattr(ops, name)(operand, axes, keepdims=keepdims).numpy()
        with np.errstate(all="ignore"):
            if array.dtype.kind != "f" and name == "sum":
                wanted = "uint32" if array.dtype == np.uint32 else "int32"
                expected = np.asarray(array.astype(np.int64).sum(axis=axes, keepdims=keepdims)).astype(wanted)
                assert same(found, expected)
                continue
            wide = array.astype(np.float64)
            exact = np.asarray(wide.sum(axis=axes, keepdims=keepdims))
            count = array.size // max(1, exact.size) if exact.size else 0
            allowed = bounds_of(array, axes, keepdims, 2**-11 if array.dtype == np.float16 else 2**-23)
            if name == "mean":
                exact, allowed = exact / np.float64(count), allowed / np.float64(count)
        assert found.dtype == (array.dtype if array.dtype.kind == "f" else np.float32) and found.shape == exact.shape
        with np.errstate(all="ignore"):
            close = np.abs(found.astype(np.float64) - exact) <= allowed
        known = np.isfinite(exact) & (np.abs(exact) < 60000)
        assert close[known].all() and (np.isnan(found) == np.isnan(exact)).all(), (array, axes, found, exact)


def test_prod() -> None:
    rng = np.random.default_rng(5)
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(["float32", "int32", "uint32"]))
        axes = random_axes(rng, array.ndim)
        found = ops.prod(operand, axes).numpy()
        with np.errstate(all="ignore"):
            expected = np.asarray(array.prod(axis=axes, dtype=array.dtype))
        assert same(found, expected, relative=1e-4)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        axes, keepdims = random_axes(rng, array.ndim), bool(rng.random() < 0.3)
        try:
            expected = np.asarray(getattr(np, name)(array, axis=axes, keepdims=keepdims))
        except ValueError:
            with pytest.raises(TensorError, match="of no elements none is chosen"):
                getattr(ops, name)(operand, axes, keepdims=keepdims)
            continue
        assert same(getattr(ops, name)(operand, axes, keepdims=keepdims).numpy(), expected)


@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        axes = random_axes(rng, array.ndim)
        assert same(getattr(ops, name)(operand, axes).numpy(), np.asarray(getattr(np, name)(array, axis=axes)))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("block", [1 << 20, 5])
def test_places(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reductions, "BLOCK", block)
    rng = np.random.default_rng(list(name.encode()))
    for _case in range(CASES):
        operand, array = random_operand(rng, random_sizes(rng), rng.choice(ALL))
        axes, keepdims = random_axes(rng, array.ndim), bool(rng.random() < 0.3)
        over = tuple(range(array.ndim)) if axes is None else tuple(np.atleast_1d(axes) % max(1, array.ndim))
        over = tuple(sorted(over))
        kept = tuple(axis for axis in range(array.ndim) if axis not in over)
        shape = tuple(array.shape[axis] for axis in kept)
        flat = array.transpose(kept + over).reshape((*shape, int(np.prod([array.shape[axis] for axis in over]))))
        try:
            expected = np.asarray(getattr(np, name)(flat, axis=-1)).astype(np.int32)
        except ValueError:
            with pytest.raises(TensorError, match="of no elements none is chosen"):
                getattr(ops, name)(operand, axes)
            continue
        found = getattr(ops, name)(operand, axes, keepdims=keepdims).numpy()
        if keepdims:
            assert found.shape == tuple(1 if axis in over else size for axis, size in enumerate(array.shape))
        assert same(found.reshape(shape), expected), (array, axes)


def test_sums_of_f16_are_kept_in_f32() -> None:
    many = np.full(40000, 0.5, np.float16)
    assert ops.sum(many).numpy() == 20000 and ops.mean(many).numpy() == 0.5
    ones = np.ones((4096, 2), np.float16)
    assert ops.sum(ones, 0).numpy().tolist() == [4096, 4096]


def test_extremes_of_all_negative_values_and_nan() -> None:
    assert ops.max(np.float32([-3e38, -1e-40, -2])).numpy() == np.float32(-1e-40)
    assert ops.max(np.float32([-np.inf, -np.inf])).numpy() == -np.inf
    assert np.isnan(ops.max(np.float32([1, np.nan, 3])).numpy()) and np.isnan(ops.min(np.float16([np.nan, 1])).numpy())
    assert ops.max(np.array([-5, -7], np.int32)).numpy() == -5


def test_nested_modes_are_reduced_leaf_by_leaf() -> None:
    tensor = make_tensor(np.arange(64, dtype=np.float32), ((2, 3), (2, 4)), ((1, 16), (8, 2)))
    values = tensor.numpy()
    for axes in (None, 0, 1, (0, 1)):
        assert (ops.sum(tensor, axes).numpy() == values.sum(axis=axes)).all()
        assert (ops.max(tensor, axes).numpy() == values.max(axis=axes)).all()
    assert (ops.argmax(tensor, 1).numpy() == values.argmax(axis=1)).all()


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("block", [1 << 20, 7])
def test_operands_without_strides(dtype: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reductions, "BLOCK", block)
    rng = np.random.default_rng(8)
    for tensor in unusual_tensors(rng, dtype):
        values = tensor.numpy()
        for axes in (None, 0, 1, (0, 1)):
            assert np.allclose(ops.sum(tensor, axes).numpy(), values.sum(axis=axes), equal_nan=True)
            for name in ("max", "min", "any", "all"):
                found, expected = getattr(ops, name)(tensor, axes).numpy(), getattr(values, name)(axis=axes)
                assert same(found, np.asarray(expected)), (name, tensor)
            if not isinstance(axes, tuple):
                assert (ops.argmax(tensor, axes).numpy() == values.argmax(axis=axes)).all()
                assert (ops.argmin(tensor, axes).numpy() == values.argmin(axis=axes)).all()


@pytest.mark.parametrize(
    ("axes", "message"), [(2, "axis 2 of a tensor with 2 axes"), (-3, "axis -3"), ((0, -2), "name one axis twice")]
)
def test_bad_axes(axes: object, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        ops.sum(np.zeros((2, 3), np.float32), axes)  # type: ignore[arg-type]


def test_numbers_are_operands() -> None:
    assert [ops.sum(2.5).numpy(), ops.sum(True).numpy(), ops.max(3).numpy()] == [2.5, 1, 3]
    assert ops.argmax(1.0).numpy() == 0


@pytest.mark.parametrize("engine", ["numpy", "interpreter"])
def test_an_axis_is_called_as_numpy_calls_it(engine: str) -> None:
    asked = []
    for name in set(dir(ops)) & set(dir(np)):
        function = getattr(ops, name)
        if callable(function) and not isinstance(function, type):
            try:
                parameters = inspect.signature(function).parameters
            except ValueError:
                continue
            assert "axes" not in parameters or "axes" in inspect.signature(getattr(np, name)).parameters, name
            asked += [name] * ("axis" in parameters)
    assert {"sum", "max", "mean", "all", "argmax", "var"} <= set(asked)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for name in ("sum", "max", "mean", "all", "argmax", "var", "std"):
        found = getattr(ops, name)(x, axis=0, engine=engine)
        np.testing.assert_allclose(np.asarray(found.numpy()), getattr(np, name)(x, axis=0), rtol=1e-6)
