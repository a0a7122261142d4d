"""Functions that a GPU does not have, as they are said, by NumPy's f32: rules of `tensor/decompositions.py`."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from cutepy.tensor import decompositions as said
from cutepy.tensor.dtypes import DType


class InNumpy:
    """The language of kernels over arrays of f32."""

    NAMES = {"min": np.minimum, "max": np.maximum, "nan_min": np.minimum, "nan_max": np.maximum}  # noqa: RUF012

    def call(self, name: str, *values: object) -> object:
        return self.NAMES.get(name, getattr(np, name, None))(*values)

    def select(self, condition: object, then: object, other: object) -> object:
        return np.where(condition, then, other).astype(np.float32)

    def cast(self, value: np.ndarray, dtype: DType) -> np.ndarray:
        return value.astype(dtype.numpy)

    def bits(self, value: np.ndarray, dtype: DType) -> np.ndarray:
        return np.asarray(value).view(dtype.numpy)


SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-38, -1e-45, 3.4e38]
X = np.array([*SPECIAL, *np.linspace(-6, 6, 241), *np.geomspace(1e-6, 1e6, 61)], np.float32)


@pytest.mark.parametrize(
    ("function", "truth"),
    [
        (said.is_nan, np.isnan),
        (said.is_infinite, np.isinf),
        (said.is_finite, np.isfinite),
        (said.sign_bit, np.signbit),
        (said.is_true, lambda x: x != 0),
        (said.sign, np.sign),
        (said.negative, np.negative),
        (said.absolute, np.abs),
    ],
)
def test_what_bits_tell(function: Callable[..., object], truth: Callable[[np.ndarray], np.ndarray]) -> None:
    np.testing.assert_array_equal(np.asarray(function(InNumpy(), X), np.float32), truth(X).astype(np.float32))


@pytest.mark.parametrize(
    ("function", "truth", "where"),
    [
        (said.exp_less_1, np.expm1, lambda x: abs(x) < 80),
        (said.log_of_1_and, np.log1p, lambda x: (x > -1) & (x < 1e30)),
        (said.area_sine, np.arcsinh, lambda x: abs(x) < 1e18),
        (said.area_cosine, np.arccosh, lambda x: (x >= 1) & (x < 1e18)),
        (said.area_tangent, np.arctanh, lambda x: abs(x) < 1),
        (said.cube_root, np.cbrt, lambda x: np.isfinite(x) & (abs(x) > 1e-30)),
        (said.error_function, np.vectorize(math.erf), np.isfinite),
    ],
)
def test_what_is_computed(
    function: Callable[..., np.ndarray], truth: Callable[..., np.ndarray], where: Callable[..., np.ndarray]
) -> None:
    with np.errstate(all="ignore"):
        x = X[where(X)]
        found = np.asarray(function(InNumpy(), x), np.float64)
        np.testing.assert_allclose(found, truth(x.astype(np.float64)), rtol=3e-6, atol=1e-6)


def test_two_operands() -> None:
    a, b = (grid.ravel() for grid in np.meshgrid(X, X[::7]))
    with np.errstate(all="ignore"):
        for function, truth in ((said.lesser, np.fmin), (said.greater, np.fmax), (said.copy_sign, np.copysign)):
            np.testing.assert_array_equal(function(InNumpy(), a, b), truth(a, b))
        large = (abs(a) < 1e18) & (abs(b) < 1e18)
        np.testing.assert_allclose(
            said.hypotenuse(InNumpy(), a[large], b[large]), np.hypot(a[large], b[large]), rtol=1e-6, atol=1e-30
        )
