"""Operators, methods, numbers and NumPy's indices of a tensor, beside NumPy's own, on the host and on a device."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ops.operands import random_operand

from cutepy import ComposedLayout, Layout, Swizzle, gpu, make_identity_tensor, make_tensor, ops
from cutepy.errors import KernelError, TensorError
from cutepy.tensor import Tensor, mode_sizes

F = np.float32
RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((2, 4, 4)).astype(F)
BINARY: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.matmul,
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip
INTEGERS: list[Callable[[Any, Any], Any]] = [
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.pow, operator.floordiv,
]  # fmt: skip


def alike(found: Any, wanted: np.ndarray, given: Tensor) -> None:
    assert isinstance(found, Tensor) and found.device == given.device
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
    assert found.numpy().shape == wanted.shape


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_operators(op: Callable[[Any, Any], Any], home: Any) -> None:
    t, u = home(X), home(Y)
    alike(op(t, u), op(X, Y), t)
    alike(op(t, Y), op(X, Y), t)  # an array at either side: NumPy hands it over
    alike(op(X, u), op(X, Y), u)
    if op is not operator.matmul:
        alike(op(t, 2.0), op(X, F(2)), t)
        alike(op(2.0, u), op(F(2), Y), u)
        alike(op(F(2), u), op(F(2), Y), u)


@pytest.mark.parametrize("op", INTEGERS, ids=lambda op: op.__name__)
def test_operators_of_integers(op: Callable[[Any, Any], Any], home: Any) -> None:
    a, b = RNG.integers(1, 9, (2, 5)).astype(np.int32)
    t = home(a)
    alike(op(t, home(b)), op(a, b), t)
    alike(op(t, 3), op(a, 3), t)
    alike(op(7, home(b)), op(np.int32(7), b), t)


def test_unary_operators_methods_and_functions_of_numpy(home: Any) -> None:
    t = home(X)
    for found, wanted in [
        (-t, -X), (+t, X), (abs(t), abs(X)), (t.T, X.T), (t.mT, X.T), (t.exp(), np.exp(X)), (t.sum(0), X.sum(0)),
        (t.reshape((2, 8)), X.reshape(2, 8)), (t.permute((1, 0)).max(1, keepdims=True), X.T.max(1, keepdims=True)),
        (np.exp(t), np.exp(X)), (np.add(t, Y), X + Y), (np.maximum(X, home(Y)), np.maximum(X, Y)),
    ]:  # fmt: skip
        alike(found, wanted, t)
    alike(~home(np.int32([1, -2])), ~np.int32([1, -2]), t)
    assert t.ndim == 2 and t != "text" and not t == None and len({t, t}) == 1  # noqa: E711
    with pytest.raises(TypeError):
        t + "text"
    with pytest.raises(TypeError):
        np.add.reduce(t)


def test_numbers(home: Any) -> None:
    t = home(F([[2.5]]))
    assert float(t) == 2.5 and int(t) == 2 and bool(t) and complex(t) == 2.5 and not home(F([0]))
    assert "abc"[operator.index(home(np.int32(1)))] == "b" and float(ops.sum(t)) == 2.5
    for call in (float, int, bool, complex):
        with pytest.raises(TensorError, match="it has 16 elements"):
            call(home(X))
    with pytest.raises(TensorError, match="indices are integers"):
        operator.index(t)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (0, 3), (2000,), (30, 50), (7, 6, 40), (1001, 1)])
def test_print_is_the_layout_and_numpys_numbers(shape: tuple[int, ...], home: Any) -> None:
    array = (np.arange(math.prod(shape)) * 0.5).reshape(shape).astype(F)
    t = home(array)
    if array.size:
        line, _newline, numbers = str(t).partition("\n")
        assert line == repr(t) == f"{t}" and numbers == str(array)


def test_print_shows_no_numbers_where_there_are_none() -> None:
    assert str(make_identity_tensor((4, 8))) == "ArithTuple(0,0) o (4,8):(1@0,1@1)"


def random_key(rng: np.random.Generator, sizes: tuple[int, ...]) -> Any:
    """An index of NumPy's with a slice, `...` or None in it."""

    def entry(size: int) -> Any:
        kind = rng.integers(0, 4)
        if kind == 0 and size:
            return int(rng.integers(-size, size))
        ends = [None if rng.integers(0, 3) == 0 else int(rng.integers(-size - 2, size + 3)) for _end in "ab"]
        return slice(*ends, None if rng.integers(0, 2) else int(rng.choice([-3, -2, -1, 1, 2, 3])))

    entries = [entry(size) for size in sizes]
    if rng.integers(0, 3) == 0:
        begin, end = sorted(rng.integers(0, len(entries) + 1, 2).tolist())
        entries[begin:end] = [Ellipsis]
    if rng.integers(0, 3) == 0:
        entries.insert(int(rng.integers(0, len(entries) + 1)), None)
    if not any(e is None or e is Ellipsis or isinstance(e, slice) for e in entries):
        entries.append(Ellipsis)
    return tuple(entries)


def test_indices_are_numpys() -> None:
    """Of arrays of any strides, of nested layouts and of tiles that reach beyond the edge."""
    rng = np.random.default_rng(11)
    for _case in range(300):
        sizes = tuple(rng.integers(1, 6, int(rng.integers(1, 4))).tolist())
        operand, array = random_operand(rng, sizes, "float32")
        t = operand if isinstance(operand, Tensor) else make_tensor(array)
        key = random_key(rng, mode_sizes(t))
        found, wanted = t[key], t.numpy()[key]
        assert found.numpy().shape == wanted.shape and np.array_equal(found.numpy(), wanted, equal_nan=True), key


def test_assignment_is_numpys_and_writes_through(home: Any) -> None:
    rng = np.random.default_rng(12)
    for _case in range(60 if home is make_tensor else 12):
        sizes = tuple(rng.integers(1, 5, int(rng.integers(1, 4))).tolist())
        array = rng.standard_normal(sizes).astype(F)
        t, key = home(array.copy()), random_key(rng, sizes)
        part = array[key]
        value: Any = 7 if rng.integers(0, 2) else rng.standard_normal(part.shape).astype(F)
        array[key] = value
        t[key] = value
        assert np.array_equal(t.numpy(), array), (sizes, key)
    with pytest.raises(TensorError):
        home(np.int32([1, 2]))[:] = 2.5


def test_values_are_broadcast_to_the_part_that_is_assigned(home: Any) -> None:
    """Axes of size 1 in front are left out, as NumPy has it; any other shape is refused by the assignment."""
    rng = np.random.default_rng(13)
    for _case in range(100 if home is make_tensor else 20):
        sizes = tuple(rng.integers(1, 4, int(rng.integers(1, 4))).tolist())
        array, key = rng.standard_normal(sizes).astype(F), random_key(rng, sizes)
        value = rng.standard_normal(rng.integers(1, 4, int(rng.integers(0, 4)))).astype(F)
        t = home(array.copy())
        try:
            array[key] = value
        except ValueError:
            with pytest.raises(TensorError, match="broadcast to these"):
                t[key] = value
        else:
            t[key] = value
        assert np.array_equal(t.numpy(), array), (sizes, key)


def test_a_list_takes_the_type_that_it_meets(home: Any) -> None:
    t = home(np.zeros(4, np.uint32))
    t[1:3] = [8, 2**32 - 1]
    assert t.numpy().tolist() == [0, 8, 2**32 - 1, 0]
    with pytest.raises(TensorError, match="holds 0 to"):
        t[1:3] = [1, -1]
    double = make_tensor(np.zeros(2))
    double[:] = [0.1, 0.2]
    assert double.numpy().tolist() == [0.1, 0.2]


def test_a_whole_tensor_of_any_layout_is_assigned_to(home: Any) -> None:
    array = np.arange(64, dtype=F)
    t = make_tensor(home(array.copy()), ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 8))))
    for key in (Ellipsis, slice(None), (slice(None), slice(None))):
        value = np.random.default_rng(14).standard_normal((8, 8)).astype(F)
        t[key] = value
        assert np.array_equal(t.numpy(), value)
    with pytest.raises(TensorError, match="no layout says this part"):
        t[1, :] = 0.0


def test_a_part_of_a_nested_mode_is_a_copy_and_is_not_written() -> None:
    t = make_tensor(np.arange(12, dtype=F), Layout(((2, 3), 2), ((1, 4), 2)))
    assert np.array_equal(t[1:4].numpy(), t.numpy()[1:4]) and t[:, 0].engine is t.engine
    with pytest.raises(TensorError, match="no layout says this part"):
        t[1:4] = 0.0


def test_negative_integers_count_from_the_end_of_their_mode() -> None:
    t = make_tensor(np.arange(12, dtype=F).reshape(3, 4))
    assert t[-1, -4] == 8 and t[2, -1] == 11 and make_tensor(X[0].copy())[-1] == X[0, -1]
    with pytest.raises(TensorError):
        t[-1]  # of two modes: the last row, or the last element?
    t[-1, 0] = 5.0
    assert t[2, 0] == 5


@gpu.kernel
def added(x: Any, y: Any) -> None:
    gpu.launch(threads=1)
    x + y


@gpu.kernel
def from_the_end(x: Any) -> None:
    gpu.launch(threads=1)
    x[0] = x[-1]


def test_in_a_kernel_they_are_refused_in_words() -> None:
    with pytest.raises(KernelError, match="of a tensor inside a kernel use transform"):
        added.wgsl(X, Y)
    with pytest.raises(Exception, match="goes from 0 to 3"):
        from_the_end.wgsl(F([1, 2, 3, 4]))
