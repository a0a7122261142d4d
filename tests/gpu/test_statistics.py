"""Statistics and cumulative folds around every tile edge, in any layout: on the interpreter here, on a device there."""

import numpy as np
import pytest
from shares import ALL
from statistic_cases import EDGES, check_scans, check_short_rows, check_statistics

from cutepy import ops
from cutepy.errors import TensorError


@pytest.mark.parametrize("shape", EDGES if ALL else EDGES[::2], ids=str)
def test_statistics(shape: tuple[int, ...]) -> None:
    check_statistics(shape, "interpreter")


@pytest.mark.parametrize("shape", EDGES if ALL else EDGES[1::2], ids=str)
def test_scans(shape: tuple[int, ...]) -> None:
    check_scans(shape, "interpreter")


def test_short_rows() -> None:
    check_short_rows("interpreter")


def test_a_variance_far_from_0_is_exact() -> None:
    """The sum of squares less the square of the sum would lose all of it."""
    x = np.random.default_rng(0).standard_normal((3, 5000), dtype=np.float32) + np.float32(4096)
    found = ops.var(x, 1, engine="interpreter").numpy()
    np.testing.assert_allclose(found, x.astype(np.float64).var(1), rtol=1e-4)
    x[:, 0] = 1e6  # nor does one element far from the others
    np.testing.assert_allclose(ops.var(x, 1, engine="interpreter").numpy(), x.astype(np.float64).var(1), rtol=1e-5)


def test_special_values_and_numbers() -> None:
    x = np.float32([[1, np.nan], [np.inf, 1], [-np.inf, -np.inf], [-np.inf, 0], [3e38, 3e38]])
    with np.errstate(all="ignore"):
        wanted = np.logaddexp.reduce(x, 1)
    np.testing.assert_array_equal(ops.logsumexp(x, 1, engine="interpreter").numpy(), wanted)
    assert ops.norm(x, engine="interpreter").shape == ()
    assert abs(ops.var(np.int32([1, 2, 4]), correction=1, engine="interpreter").numpy() - 7 / 3) < 1e-6
    with pytest.raises(TensorError, match="there are 1, 2 and"):
        ops.norm(x, order=0, engine="interpreter")
