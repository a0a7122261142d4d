"""Law: a call with `out=` gives `out`, whose elements are those of the call without it, in the type of `out`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutepy import ops
from cutepy.errors import KernelError
from cutepy.layout import Layout
from cutepy.tensor import Tensor, from_array, make_tensor

X = np.random.default_rng(7).normal(0, 2, (4, 6)).astype(np.float32)
SQUARE = X[:, :4]
CALLS: dict[str, Callable[..., Tensor]] = {
    "add": lambda **how: ops.add(X, 2.5, **how),
    "where": lambda **how: ops.where(X > 0, X, -X, **how),
    "lt": lambda **how: ops.lt(X, 0.5, **how),
    "clip": lambda **how: ops.clip(X, 0, 1, **how),
    "clip below": lambda **how: ops.clip(X, 0, **how),
    **{
        name: lambda name=name, **how: getattr(ops, name)(X, 1, **how)
        for name in (
            "sum prod mean max min any all argmax argmin var std logsumexp norm softmax cumsum cumprod".split()
        )
    },
    "keepdims": lambda **how: ops.sum(X, 0, keepdims=True, **how),
    "all of it": lambda **how: ops.sum(X, **how),
    "matmul": lambda **how: ops.matmul(X, X.T, **how),
    "dot": lambda **how: ops.dot(X, X.T, **how),
    "scaled": lambda **how: ops.dot(X, 2.0, **how),
    "einsum": lambda **how: ops.einsum("ij,kj->ki", X, X, **how),
    "turned": lambda **how: ops.einsum("ij->ji", X, **how),
    "tensordot": lambda **how: ops.tensordot(X, X, ((1,), (1,)), **how),
    "fused_multiply_add": lambda **how: ops.fused_multiply_add(X, X, 1, **how),
}


def made(values: np.ndarray, kind: str) -> Tensor:
    """A tensor of this shape, row-major, turned or stepped, filled with something else."""
    fill = np.ones(values.shape, values.dtype)
    if not fill.ndim:
        return from_array(fill)
    if kind == "turned":
        return make_tensor(np.asfortranarray(fill))
    if kind == "stepped":
        return make_tensor(np.repeat(fill[..., None], 2, -1)[..., 0])
    return from_array(fill)


@pytest.mark.parametrize("engine", ["numpy", "interpreter"])
@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_out(name: str, engine: Any) -> None:
    expected = CALLS[name](engine=engine).numpy()
    for kind in ("row-major", "turned", "stepped") if engine == "numpy" else ("stepped",):
        out = made(expected, kind)
        assert CALLS[name](engine=engine, out=out) is out
        assert np.array_equal(out.numpy(), expected, equal_nan=True) and out.numpy().dtype == expected.dtype


@pytest.mark.parametrize("engine", ["numpy", "interpreter"])
def test_the_type_of_out_is_kept(engine: Any) -> None:
    out = make_tensor(np.zeros((4, 6), np.float16))
    assert ops.add(X, 1, engine=engine, out=out) is out
    assert np.array_equal(out.numpy(), (X + 1).astype(np.float16))
    out = make_tensor(np.zeros(4, np.float16))
    ops.max(X, 1, engine=engine, out=out)
    assert np.array_equal(out.numpy(), X.max(1).astype(np.float16))


@pytest.mark.parametrize("engine", ["numpy", "interpreter"])
@pytest.mark.parametrize("call", ["add", "sum", "cumsum", "softmax", "einsum"])
def test_what_does_not_fit_is_refused(call: str, engine: Any) -> None:
    expected = CALLS[call](engine=engine).numpy()
    for out, words in (
        (make_tensor(np.zeros((9, *expected.shape), np.float32)), "out has the shape"),
        (make_tensor(np.zeros(expected.shape, np.int32)), "out holds i32"),
        (make_tensor(np.zeros(1, np.float32), Layout(expected.shape, (0,) * expected.ndim)), "share memory"),
    ):
        with pytest.raises(KernelError, match=words):
            CALLS[call](engine=engine, out=out)


@pytest.mark.parametrize("engine", ["numpy", "interpreter"])
def test_out_may_be_the_operand(engine: Any) -> None:
    for call, expected in (
        (lambda x: ops.mul(x, x, engine=engine, out=x), X * X),
        (lambda x: ops.cumsum(x, 1, engine=engine, out=x), X.cumsum(1, dtype=np.float32)),
        (lambda x: ops.softmax(x, 0, engine=engine, out=x), ops.softmax(X, 0, engine=engine).numpy()),
    ):
        x = make_tensor(X.copy())
        assert call(x) is x
        assert np.allclose(x.numpy(), expected, rtol=1e-6)


def test_one_place_is_named() -> None:
    out = make_tensor(np.zeros((4, 4), np.float32))
    with pytest.raises(KernelError, match="give one"):
        ops.matmul(X, X.T, out, out=out)
    with pytest.raises(KernelError, match="out is ndarray"):
        ops.sum(X, 0, out=np.zeros(6, np.float32))  # type: ignore[arg-type]
