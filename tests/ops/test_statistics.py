"""Variance, log-sum-exp, norms and cumulative folds of random operands against NumPy in f64; empty ones; refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ops.operands import random_operand, random_sizes

from cutepy import ops
from cutepy.errors import TensorError

TYPES = ("float16", "float32", "float64", "int8", "int32", "uint32", "bool")


def flat(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The array in f64 with these axes as one, the last."""
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    return array.astype(np.float64).transpose([*kept, *axes]).reshape([*(array.shape[axis] for axis in kept), -1])


LAWS: dict[str, tuple[dict[str, float], Callable[[np.ndarray], np.ndarray]]] = {
    "var": ({}, lambda x: x.var(-1)),
    "std": ({"correction": 1}, lambda x: np.sqrt(x.var(-1) * x.shape[-1] / np.float64(x.shape[-1] - 1))),
    "logsumexp": ({}, lambda x: np.logaddexp.reduce(x, -1)),
    "norm": ({}, lambda x: np.linalg.norm(x, axis=-1)),
    "norm 1": ({"order": 1}, lambda x: np.linalg.norm(x, 1, axis=-1)),
    "norm inf": ({"order": float("inf")}, lambda x: np.linalg.norm(x, np.inf, axis=-1)),
}


@pytest.mark.parametrize("name", LAWS)
def test_statistics(name: str) -> None:
    options, law = LAWS[name]
    rng = np.random.default_rng(list(name.encode()))
    for case in range(100):
        operand, array = random_operand(rng, tuple(max(1, size) for size in random_sizes(rng)), TYPES[case % 7])
        axes = tuple(int(axis) for axis in np.flatnonzero(rng.random(array.ndim) < 0.6))
        with np.errstate(all="ignore"):
            found = getattr(ops, name.partition(" ")[0])(operand, axes, **options)
            wanted = law(flat(array, axes))
            assert found.dtype.kind == "f" and found.numpy().shape == wanted.shape
            rounded = wanted.astype(found.dtype.numpy)
            near = 1e-3 if found.dtype.bits == 16 else 1e-6
            np.testing.assert_allclose(found.numpy(), rounded, rtol=near, atol=1e-6, err_msg=f"{array} over {axes}")


def test_of_no_elements() -> None:
    nothing = np.zeros((3, 0), np.float32)
    found = [getattr(ops, name)(nothing, 1).numpy() for name in ("var", "std", "logsumexp", "norm")]
    assert np.isnan(found[0]).all() and np.isnan(found[1]).all()
    assert found[2].tolist() == [-np.inf] * 3 and found[3].tolist() == [0.0] * 3
    assert ops.cumsum(nothing, 1).shape == (3, 0) and ops.var(nothing, 0, keepdims=True).numpy().shape == (1, 0)


def test_cumulative_folds() -> None:
    rng = np.random.default_rng(5)
    for case in range(100):
        sizes = random_sizes(rng, 1)
        operand, array = random_operand(rng, sizes, ("float32", "int32", "uint32", "bool")[case % 4])
        axis = int(rng.integers(-len(sizes), len(sizes)))
        for name in ("cumsum", "cumprod"):
            with np.errstate(all="ignore"):
                found = getattr(ops, name)(operand, axis).numpy()
                dtype = np.int32 if array.dtype == bool else array.dtype
                np.testing.assert_array_equal(found, getattr(np, name)(array, axis, dtype=dtype))


def test_what_is_refused() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(TensorError, match="there are 1, 2 and"):
        ops.norm(x, order=3)
    for name in ("cumulative_sum", "cumulative_prod"):
        refused = (
            (5, None, "has no axis"),
            (5, 0, "has no axis"),
            (x, None, "has 2 axes; name one"),
            (x, 2, "axis 2 of"),
        )
        for operand, axis, why in refused:
            with pytest.raises(TensorError, match=f"^{name}.*{why}"):
                getattr(ops, name)(operand, axis=axis)
    for call in (lambda: ops.cumsum(x, 2), lambda: ops.var(x, (0, 0)), lambda: ops.logsumexp(x.astype("complex64"))):
        with pytest.raises(TensorError):
            call()


@pytest.mark.parametrize("columns", [5, 1 << 16])
def test_the_sum_of_no_exponential_is_less_than_all(columns: int, home: Any) -> None:
    """Also where splits of a row, or all of them, hold nothing but -inf."""
    x = np.full((3, columns), -np.inf, np.float32)
    x[0, 2], x[2, -1] = 3, np.inf
    assert ops.logsumexp(home(x), 1).numpy().tolist() == [3, -np.inf, np.inf]
