"""The names of the array API that `ops` has beside its own, against NumPy's, on the host and on a device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cutepy import make_tensor, ops
from cutepy.errors import TensorError

F = np.float32
RNG = np.random.default_rng(5)
X, Y, B = (
    RNG.standard_normal((2, 3, 4)).astype(F),
    RNG.standard_normal((2, 3, 4)).astype(F),
    RNG.integers(0, 2, (3, 4)) > 0,
)
N = RNG.integers(-3, 4, (3, 4)).astype(np.int32)

CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray]] = {
    "tile": (lambda t: ops.tile(t, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), X),
    "tile more axes": (lambda t: ops.tile(t, (2, 2, 1)), lambda x: np.tile(x, (2, 2, 1)), N),
    "tile by a number": (lambda t: ops.tile(t, 2), lambda x: np.tile(x, 2), N),
    "repeat": (lambda t: ops.repeat(t, 3, axis=1), lambda x: np.repeat(x, 3, 1), X),
    "repeat all": (lambda t: ops.repeat(t, 2), lambda x: np.repeat(x, 2), N),
    "repeat by NumPy's number": (lambda t: ops.repeat(t, np.int64(2)), lambda x: np.repeat(x, 2), N),
    "roll": (lambda t: ops.roll(t, (1, -2), axis=(0, 2)), lambda x: np.roll(x, (1, -2), (0, 2)), X),
    "roll all": (lambda t: ops.roll(t, 5), lambda x: np.roll(x, 5), N),
    "roll all twice": (lambda t: ops.roll(t, (1, 2)), lambda x: np.roll(x, (1, 2)), N),
    "expand_dims": (lambda t: ops.expand_dims(t, 1), lambda x: np.expand_dims(x, 1), X),
    "squeeze": (lambda t: ops.squeeze(ops.expand_dims(t, -1), -1), lambda x: x, X),
    "moveaxis": (lambda t: ops.moveaxis(t, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0)), X),
    "stack": (lambda t: ops.stack([t, t], 1), lambda x: np.stack([x, x], 1), X),
    "unstack": (lambda t: ops.unstack(t, 1)[2], lambda x: x[:, 2], X),
    "tril": (lambda t: ops.tril(t, k=1), lambda x: np.tril(x, 1), X),
    "triu": (lambda t: ops.triu(t, k=-1), lambda x: np.triu(x, -1), N),
    "triu of bool": (ops.triu, np.triu, B),
    "tril of a far diagonal": (lambda t: ops.tril(t, k=2**31 - 1), lambda x: x, N),
    "triu of a farther one": (lambda t: ops.triu(t, k=2**40), np.zeros_like, N),
    "triu of one far below": (lambda t: ops.triu(t, k=-(2**40)), lambda x: x, N),
    "diagonal": (lambda t: ops.diagonal(t, offset=-1), lambda x: np.diagonal(x, -1, -2, -1), X),
    "diff": (lambda t: ops.diff(t, axis=1, n=2), lambda x: np.diff(x, 2, 1), X),
    "diff of bool": (ops.diff, np.diff, B),
    "diff of ends": (
        lambda t: ops.diff(t, prepend=1, append=t[:, :2]), lambda x: np.diff(x, prepend=1, append=x[:, :2]), N,
    ),
    "no diff": (lambda t: ops.diff(t, n=0, prepend=0), lambda x: np.diff(x, n=0, prepend=0), N),
    "cumulative_sum": (
        lambda t: ops.cumulative_sum(t, axis=1, include_initial=True),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True), X,
    ),
    "sum in a type": (lambda t: ops.sum(t, 0, dtype="f32"), lambda x: x.sum(0, dtype=F), N),
    "log_softmax": (
        lambda t: ops.log_softmax(t, 1), lambda x: x - np.log(np.exp(x).sum(1, keepdims=True)), X,
    ),
    "count_nonzero": (lambda t: ops.count_nonzero(t, 1), lambda x: np.count_nonzero(x, 1), N),
    "isclose": (lambda t: ops.isclose(t, t * F(1.000001)), lambda x: np.isclose(x, x * F(1.000001)), X),
    "vecdot": (lambda t: ops.vecdot(t, t), lambda x: np.vecdot(x, x), X),
    "matrix_transpose": (ops.matrix_transpose, np.matrix_transpose, X),
    "ravel": (lambda t: ops.ravel(t.T), lambda x: x.T.ravel(), X),
    "imag": (ops.imag, np.imag, N),
    "full_like": (lambda t: ops.full_like(t, 3), lambda x: np.full_like(x, 3), N),
    "logical_xor": (lambda t: ops.logical_xor(t, 1), lambda x: np.logical_xor(x, 1), N),
    "logaddexp": (lambda t: ops.logaddexp(t, 0.5), lambda x: np.logaddexp(x, F(0.5)), X * 50),
    "relu": (ops.relu, lambda x: np.maximum(x, 0), N),
    "silu": (ops.silu, lambda x: x / (1 + np.exp(-x)), X),
    "softplus": (ops.softplus, lambda x: np.log1p(np.exp(x)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy_and_where_the_tensor_is(name: str, home: Any) -> None:
    call, wanted, array = CALLS[name]
    t = home(array)
    found = call(t)
    assert found.device == t.device
    np.testing.assert_allclose(found.numpy(), wanted(array), rtol=2e-5, atol=2e-5)
    assert found.numpy().shape == wanted(array).shape


def test_creation(home: Any) -> None:
    device = home(F([0])).device
    for found, wanted in [
        (ops.full((2, 3), 7, device=device), np.full((2, 3), 7, np.int32)),
        (ops.zeros((2, 0), device=device), np.zeros((2, 0), F)), (ops.ones(3, "bool", device=device), np.ones(3, bool)),
        (ops.arange(2, 9, 3, device=device), np.arange(2, 9, 3, np.int32)),
        (ops.linspace(0, 1, 4, endpoint=False, device=device), np.linspace(0, 1, 4, False, dtype=F)),
        (ops.eye(3, 4, k=-1, device=device), np.eye(3, 4, -1, F)), (ops.zeros_like(home(N)), np.zeros_like(N)),
        (ops.asarray([[1, 2], [3, 4]], device=device), np.int32([[1, 2], [3, 4]])),
        (ops.asarray(home(N), "f32", copy=True), N.astype(F)), (home(X).to_device("cpu"), X),
        (ops.ones_like(home(X), dtype="i32"), np.ones(X.shape, np.int32)),
    ]:  # fmt: skip
        assert found.numpy().dtype == wanted.dtype and np.array_equal(found.numpy(), wanted)
    assert ops.empty((2, 3), device=device).device == device == ops.empty_like(home(X)).device
    a, b = F([1, 2, 3]), F([4, 5])
    for indexing in ("xy", "ij"):
        for found, wanted in zip(
            ops.meshgrid(home(a), home(b), indexing=indexing), np.meshgrid(a, b, indexing=indexing), strict=True
        ):
            assert np.array_equal(found.numpy(), wanted) and found.device == device


def test_what_is_shared_is_said() -> None:
    x = X.copy()
    assert np.shares_memory(ops.asarray(x).numpy(), x) and np.shares_memory(ops.from_dlpack(x).numpy(), x)
    assert not np.shares_memory(ops.asarray(x, copy=True).numpy(), x)
    t = make_tensor(x)
    assert np.shares_memory(np.from_dlpack(t), x) and ops.asarray(t) is t
    with pytest.raises(TensorError, match="has to be copied"):
        ops.asarray(x, "f16", copy=False)


def test_the_namespace_tells_what_it_has() -> None:
    xp = make_tensor(X).__array_namespace__(api_version="2024.12")
    assert xp.__name__ == "cutepy.ops" and xp.float32 is make_tensor(X).dtype and xp.isdtype(xp.uint8, "integral")
    with pytest.raises(TensorError, match=r"2024\.12"):
        make_tensor(X).__array_namespace__(api_version="1999.01")
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["integral"] is xp.int32 and "float64" in info.dtypes(device="cpu")
    assert xp.result_type(xp.float16, 2.5) is xp.float16 and xp.can_cast(xp.int8, xp.int16)
    assert xp.finfo(xp.float32).bits == 32 and xp.iinfo(xp.uint8).max == 255 and xp.e > 2 and xp.newaxis is None


@pytest.mark.parametrize(
    ("call", "judge"),
    [
        (lambda: ops.diff(N, n=-1), lambda: np.diff(N, n=-1)),
        (lambda: ops.repeat(N[0], [-1, 1, 1, 1]), lambda: np.repeat(N[0], [-1, 1, 1, 1])),
        (lambda: ops.repeat(N[0], [1, 1]), lambda: np.repeat(N[0], [1, 1])),
        (lambda: ops.repeat(N[0], [1.5, 1, 1, 1]), lambda: np.repeat(N[0], F([1.5, 1, 1, 1]))),
        (lambda: ops.tile(N, (-1,)), lambda: np.broadcast_to(N, (-1, 3, 4))),
    ],
)
def test_what_numpy_refuses_is_refused_by_the_call(call: Callable[[], Any], judge: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        judge()
    with pytest.raises(TensorError, match=r"^(diff|repeat|tile)\("):
        call()
