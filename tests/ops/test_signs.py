"""Signs of zeros and infinities, and shifts by any amount, as NumPy has them; on a device in tests/device."""

import numpy as np
import pytest
from ops.signs import OF_FLOATS, SHIFTS, wrong_edges

from cutepy import ops
from cutepy.errors import TensorError
from cutepy.tensor.functions import Function


@pytest.mark.parametrize("function", OF_FLOATS, ids=lambda f: f.name)
def test_edges_in_kernels(function: Function) -> None:
    assert wrong_edges(function, "interpreter") == []


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_shifts_by_any_amount(name: str, dtype: str) -> None:
    amounts = SHIFTS if dtype[0] == "i" else SHIFTS[SHIFTS >= 0]
    limits = np.iinfo(dtype)
    amounts = amounts[(amounts >= limits.min) & (amounts <= limits.max)].astype(dtype)
    values = np.array([0, 1, 2, 100, limits.max, limits.min, limits.min + 1], dtype)
    x, by = (t.ravel() for t in np.meshgrid(values, amounts))
    wanted = getattr(np, name)(x, by)
    np.testing.assert_array_equal(getattr(ops, name)(x, by).numpy(), wanted)
    if dtype in ("int32", "uint32"):
        np.testing.assert_array_equal(getattr(ops, name)(x, by, engine="interpreter").numpy(), wanted)
        for amount in (3, 31, 32, 40):
            found = getattr(ops, name)(x, amount, engine="interpreter").numpy()
            np.testing.assert_array_equal(found, getattr(np, name)(x, x.dtype.type(amount)))


def test_clip_takes_one_limit() -> None:
    x = np.float32([-2, 0.5, np.nan, 3])
    np.testing.assert_array_equal(ops.clip(x, 0).numpy(), np.maximum(x, 0))
    np.testing.assert_array_equal(ops.clip(x, high=1, engine="interpreter").numpy(), np.minimum(x, 1))
    np.testing.assert_array_equal(ops.clip(x), x)
    with pytest.raises(TensorError, match="no truths between"):
        ops.linspace(5, 10, 3, "bool")
