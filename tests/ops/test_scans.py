"""Scans along an axis against NumPy's `accumulate`, and by functions of one's own, which may not commute."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ops.operands import ALL, random_operand, random_sizes
from shares import share

from cutepy import ops
from cutepy.errors import TensorError
from cutepy.tensor import make_tensor

ENGINES = ("numpy", "interpreter")
CASES = {"numpy": range(60), "interpreter": range(24)}


def last(a: Any, b: Any) -> Any:
    """The second where it is not 0: associative, does not commute."""
    return np.where(b != 0, b, a)


def of_array(function: Callable[[Any, Any], Any], array: np.ndarray, axis: int) -> np.ndarray:
    """The law, element by element."""
    rows, found = np.moveaxis(array, axis, 0), []
    for row in rows:
        found.append(row if not found else np.asarray(function(found[-1], row), array.dtype))
    return np.moveaxis(np.stack(found), 0, axis) if found else array


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("engine", ENGINES)
def test_extremes(engine: Any, name: str) -> None:
    rng = np.random.default_rng([*name.encode()])
    for _case in share(CASES[engine]):
        operand, array = random_operand(rng, random_sizes(rng, 1, 3), rng.choice(ALL))
        axis = int(rng.integers(-array.ndim, array.ndim))
        found = getattr(ops, name)(operand, axis, engine=engine).numpy()
        expected = (np.maximum if name == "cummax" else np.minimum).accumulate(array, axis)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_of_ones_own(engine: Any) -> None:
    rng = np.random.default_rng(5)
    shapes = [random_sizes(rng, 1, 3) for _case in share(CASES[engine])[::2]] + [(2, 3000), (40, 300), (300, 40)]
    for shape in shapes:
        dtype, axis = str(rng.choice(["int32", "float32", "float16", "uint32"])), int(rng.integers(len(shape)))
        array = np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0).astype(dtype)
        for function, identity in ((last, 0), (lambda a, b: a ^ b, 0), (np.maximum, -100)):
            if function is not last and dtype != "int32":
                continue
            found = ops.scan(function, array, axis, identity=identity, engine=engine).numpy()
            np.testing.assert_array_equal(found, of_array(function, array, axis))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_function_captures_is_read_again(engine: Any) -> None:
    x = np.arange(1, 9, dtype=np.int32)
    for modulus in (7, 5):
        product = lambda a, b: a * b % modulus  # noqa: E731, B023
        out = make_tensor(np.zeros(8, np.int32))
        assert ops.scan(product, x % modulus, 0, identity=1, engine=engine, out=out) is out
        np.testing.assert_array_equal(out.numpy(), of_array(product, x % modulus, 0))


def test_what_is_refused() -> None:
    with pytest.raises(TensorError, match="convert with astype"):
        ops.scan(last, [True, False], 0, identity=0)
    with pytest.raises(TensorError, match="axis"):
        ops.scan(last, [1, 2], 1, identity=0)
    with pytest.raises(TensorError, match="no order"):
        ops.cummax(np.ones(3, np.complex64), 0)
