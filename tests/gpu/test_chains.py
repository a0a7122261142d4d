"""Chains of operations as one, on the interpreter: over tensors, as what a fold takes, with several results."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.fusion.chains import FusedChain, chain_of
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.operations.pointwise import of_function
from cutepy.tensor import as_tensor, bool_, f16, f32, make_tensor
from cutepy.tensor.functions import FUNCTIONS

HOST = ExecutionSite(None)
X = np.random.default_rng(0).standard_normal((9, 130), dtype=np.float32)
ROW, COLUMN = X[0].copy(), X[:, :1].copy()


def scaled() -> FusedChain:
    """exp(x0) * x1 + n0"""
    step = {name: of_function(FUNCTIONS[name]) for name in ("exp", "mul", "add")}
    return chain_of(
        (
            (step["exp"], (("t", 0),)),
            (step["mul"], (("s", 0), ("t", 1))),
            (step["add"], (("s", 1), ("n", 0))),
        ),
        (("s", 2),),
        (2, 1),
    )


def test_a_chain_is_its_steps() -> None:
    found = scaled().operation(X, ROW, 0.5, engine="interpreter")
    np.testing.assert_allclose(found.numpy(), np.exp(X) * ROW + np.float32(0.5), rtol=1e-5, atol=1e-5)
    assert scaled() is scaled()


@pytest.mark.parametrize("axes", [0, 1, (0, 1), None])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "norm", "any"])
def test_a_fold_takes_a_chain(name: str, axes: object) -> None:
    for first, second in ((X, ROW), (X, COLUMN), (np.asfortranarray(X), X), (ROW, COLUMN)):
        values = (np.exp(first) * second + np.float32(0.5)).astype(np.float64)
        norm = np.sqrt(np.square(values).sum(axis=axes))
        expected = norm if name == "norm" else getattr(np, name)(values, axis=axes)
        found = scaled().folded(
            HOST, [as_tensor(first), as_tensor(second)], [0.5], (name, axes, False, 2.0), values.shape, f32
        )
        assert found is not None
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_long_rows_are_folded_in_splits() -> None:
    long = np.random.default_rng(1).standard_normal((2, 40_000), dtype=np.float32)
    found = scaled().folded(HOST, [as_tensor(long), as_tensor(long)], [0.5], ("sum", 1, True, 0.0), long.shape, f32)
    assert found is not None and found.numpy().shape == (2, 1)
    np.testing.assert_allclose(found.numpy()[:, 0], (np.exp(long) * long + 0.5).sum(1, np.float64), rtol=1e-4)


def test_each_step_is_rounded_as_if_it_were_stored() -> None:
    """exp(12) is beyond f16, so its logarithm is infinite, as it is of a stored exp(12)."""
    steps = tuple((of_function(FUNCTIONS[name]), ref) for name, ref in (("exp", (("t", 0),)), ("log", (("s", 0),))))
    found = chain_of(steps, (("s", 1),), (1, 0)).operation(np.float16([12, 1]), engine="interpreter").numpy()
    assert found[0] == np.inf and found.dtype == np.float16
    truth = (
        (of_function(FUNCTIONS["gt"]), (("t", 0), ("n", 0))),
        (of_function(FUNCTIONS["add"]), (("s", 0), ("s", 0))),
    )
    both = chain_of(truth, (("s", 0), ("s", 1)), (1, 1))
    one, other = both.operation(np.float32([1, 3]), 2.0, engine="interpreter")
    assert one.dtype is bool_ and other.dtype is bool_ and other.numpy().tolist() == [False, True]


def test_several_results() -> None:
    wave = gpu.pointwise(lambda a, b: (a + b, a * 2, a > b), results=3)
    for x in (X, X[::-1, ::2], X.T):
        found = [t.numpy() for t in wave(x, 0.5, engine="interpreter")]
        for one, expected in zip(found, (x + np.float32(0.5), x * 2, x > 0.5), strict=True):
            assert one.dtype == expected.dtype
            np.testing.assert_array_equal(one, expected)
    out = tuple(make_tensor(np.zeros((9, 130), t)) for t in (np.float32, np.float32, bool))
    turned = make_tensor(np.asfortranarray(np.zeros((9, 130), np.float32)))
    assert wave(X, 0.5, out=(turned, *out[1:]), engine="interpreter")[0] is turned
    np.testing.assert_array_equal(turned.numpy(), X + np.float32(0.5))
    for given, words in (
        ((out[0], out[0], out[2]), "share memory"),
        (out[:2], "gives 3 results; out has 2"),
        ((out[2], *out[1:]), "out holds bool"),
    ):
        with pytest.raises(KernelError, match=words):
            wave(X, 0.5, out=given, engine="interpreter")
    with pytest.raises(KernelError, match="return a tuple of 2 elements, as results=2 says"):
        gpu.pointwise(lambda a: (a, a, a), results=2)(X, engine="interpreter")
    with pytest.raises(KernelError, match="it gives tuple; return an element, or say results=2"):
        gpu.pointwise(lambda a: (a, a))(X, engine="interpreter")
    with pytest.raises(KernelError, match="a formula gives one element"):
        gpu.pointwise("a + b", results=2)  # type: ignore[call-overload]


def test_the_type_of_a_lifted_fold_is_that_of_the_chain() -> None:
    half = X.astype(np.float16)
    found = scaled().folded(HOST, [as_tensor(half), as_tensor(half)], [0.5], ("max", 1, False, 0.0), X.shape, f16)
    assert found is not None and found.dtype is f16
