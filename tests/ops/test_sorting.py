"""sort, argsort, top_k, searchsorted and take_along_axis against NumPy's: random shapes, layouts, types and axes, on
the host, by kernels of the interpreter and on a device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ops.operands import ALL, NUMBERS, random_operand, random_sizes, random_values
from ops.test_joining import CASES, ENGINES, judge
from shares import share

from cutepy import ops
from cutepy.errors import CoordinateError, TensorError
from cutepy.gpu.operations.sort import SORTED, merge_kernel, search_sorted_kernel, sort_tiles_kernel
from cutepy.tensor import Tensor, make_tensor

LENGTHS = (2, 16, 17, 129, SORTED, SORTED + 1, 2 * SORTED, 3 * SORTED + 5)
"""Columns on either side of the widths of tiles, and of one, two and four runs that are merged."""


def falling(x: np.ndarray, axis: int) -> np.ndarray:
    """The order of falling elements, NaN first, equal ones in their own: one element after the other is counted."""

    def order(row: np.ndarray) -> np.ndarray:
        keys = [(0, 0.0, i) if v != v else (1, -float(v), i) for i, v in enumerate(row)]
        return np.array([i for *_, i in sorted(keys)], np.int32)

    return np.apply_along_axis(order, axis, x) if x.size else np.zeros(x.shape, np.int32)


@pytest.mark.parametrize("engine", ENGINES)
def test_order_of_random_operands(engine: Any) -> None:
    rng = np.random.default_rng(1)
    for _case in share(CASES[engine]):
        operand, array = random_operand(rng, random_sizes(rng, 1, 4), rng.choice(ALL))
        axis = int(rng.integers(-array.ndim, array.ndim))
        order = np.argsort(array, axis, stable=True).astype(np.int32)
        judge(ops.argsort(operand, axis=axis, engine=engine), order)
        judge(ops.sort(operand, axis=axis, engine=engine), np.sort(array, axis, stable=True))
        down, k = falling(array, axis), int(rng.integers(array.shape[axis] + 1))
        judge(ops.argsort(operand, axis=axis, descending=True, engine=engine), down)
        judge(ops.sort(operand, axis=axis, descending=True, engine=engine), np.take_along_axis(array, down, axis))
        values, places = ops.top_k(operand, k, axis=axis, engine=engine)
        first = np.take(down, np.arange(k), axis)
        judge(places, first)
        judge(values, np.take_along_axis(array, first, axis))


@pytest.mark.parametrize("length", LENGTHS)
def test_order_of_rows_of_every_length(length: int, home: Callable[[np.ndarray], Tensor]) -> None:
    """Few distinct values, so that equal ones meet at every border; NaN, both infinities and both zeros among them."""
    rng = np.random.default_rng(length)
    x = rng.integers(-3, 3, (2, length)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[rng.random(x.shape) < 0.1] = np.inf
    x[rng.random(x.shape) < 0.1] = -0.0
    t = home(x)
    judge(ops.argsort(t), np.argsort(x, stable=True).astype(np.int32))
    found = ops.sort(t)
    assert found.device == t.device
    judge(found, np.sort(x, stable=True))
    assert np.array_equal(np.signbit(found.numpy()), np.signbit(np.take_along_axis(x, np.argsort(x, stable=True), 1)))
    down = falling(x, 1)
    judge(ops.argsort(t, descending=True), down)
    for k in {1, 2, length // 3, length - 1}:
        judge(ops.top_k(t, k)[1], np.ascontiguousarray(down[:, :k]))
    judge(ops.top_k(t, 2)[0], np.take_along_axis(x, down[:, :2], 1))
    judge(ops.sort(home(np.ascontiguousarray(x.T)), axis=0), np.sort(x.T, 0, stable=True))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float16", "bool"])
def test_the_ends_of_each_type_are_in_order(dtype: str, home: Callable[[np.ndarray], Tensor]) -> None:
    rng = np.random.default_rng(2)
    ends = (
        [0, 1]
        if dtype == "bool"
        else [np.iinfo(dtype).min, np.iinfo(dtype).max]
        if dtype[-1] == "2"
        else [-65504, 6e-8]
    )
    x = rng.choice(np.array([*ends, 0, 1], dtype), (3, 20))
    judge(ops.argsort(home(x)), np.argsort(x, stable=True).astype(np.int32))
    judge(ops.argsort(home(x), descending=True), falling(x, 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_along_an_axis(engine: Any) -> None:
    rng = np.random.default_rng(3)
    for _case in share(CASES[engine]):
        shape = random_sizes(rng, 1, 4)
        axis = int(rng.integers(-len(shape), len(shape)))
        along = axis % len(shape)
        operand, array = random_operand(rng, shape, rng.choice(ALL))
        count = int(rng.integers(5)) if shape[along] else 0
        other = tuple(count if i == along else int(rng.choice([n, 1])) for i, n in enumerate(shape))
        kind, least = (("u4", 0), ("i4", -shape[along]), ("i8", -shape[along]))[int(rng.integers(3))]
        indices = rng.integers(least, shape[along], other).astype(kind) if count else np.zeros(other, kind)
        expected = np.take_along_axis(array, indices.astype(np.int64), along)
        judge(ops.take_along_axis(operand, indices, axis=axis, engine=engine), expected)


def test_indices_outside_of_a_device_give_0(home: Callable[[np.ndarray], Tensor]) -> None:
    x, indices = np.float32([[1, 2, 3]]), np.int32([[2, -4, -1, 3]])
    if home is make_tensor:
        with pytest.raises(CoordinateError, match="index -4 is outside its 3 elements"):
            ops.take_along_axis(x, indices)
    else:
        assert ops.take_along_axis(home(x), home(indices)).numpy().tolist() == [[3, 0, 3, 0]]


@pytest.mark.parametrize("engine", ENGINES)
def test_places_in_a_sorted_vector(engine: Any) -> None:
    rng = np.random.default_rng(4)
    for _case in share(CASES[engine]):
        dtype = str(rng.choice(NUMBERS))
        vector = random_values(rng, (int(rng.integers(40)),), dtype)
        wanted, array = random_operand(rng, random_sizes(rng, 0, 3), dtype)
        for side in ("left", "right"):
            expected = np.searchsorted(np.sort(vector), array, side).astype(np.int32)
            judge(ops.searchsorted(np.sort(vector), wanted, side=side, engine=engine), np.array(expected))
            order = np.argsort(vector, stable=True).astype(np.int32)
            judge(ops.searchsorted(vector, wanted, side=side, sorter=order, engine=engine), np.array(expected))
    mixed = ops.searchsorted(np.int32([1, 3]), np.float32([2.5, 3]), engine=engine)
    assert mixed.numpy().tolist() == [1, 1]


def test_places_on_a_device(home: Callable[[np.ndarray], Tensor]) -> None:
    vector, wanted = np.float32([-np.inf, 0, 0, 2, np.nan]), np.float32([[0, np.nan], [-0.0, 3]])
    for side in ("left", "right"):
        judge(
            ops.searchsorted(home(vector), home(wanted), side=side), np.searchsorted(vector, wanted, side).astype("i4")
        )


def test_the_kernels_are_proven_for_all_sizes() -> None:
    x, order = (make_tensor(np.zeros((3, 300, 2), dtype)) for dtype in ("f4", "i4"))
    keys, more, again = (make_tensor(np.zeros((3, 300, 2), "i4")) for _ in range(3))
    vector, values, sorter, found = (
        make_tensor(np.zeros(n, d)) for n, d in ((7, "f4"), (9, "f4"), (7, "i4"), (9, "i4"))
    )
    for kernel, arguments, static in (
        (sort_tiles_kernel, (x, (keys,), order), {"width": SORTED, "kept": 64, "descending": True}),
        (sort_tiles_kernel, (x, (), order), {"width": 16, "kept": 16, "descending": False}),
        (merge_kernel, (keys, order, 16, 32, (more,), again), {}),
        (search_sorted_kernel, (vector, values, (), found), {"right": False}),
        (search_sorted_kernel, (vector, values, (sorter,), found), {"right": True}),
    ):
        report = kernel.verify(*arguments, **static)
        assert report.ok and not report.undecided, str(report)


def test_what_is_refused() -> None:
    x = np.float32([[3, 1, 2]])
    for call, error, words in (
        (lambda: ops.top_k(x, 5), TensorError, "of 3 elements"),
        (lambda: ops.sort(x, axis=2), TensorError, "axis"),
        (lambda: ops.take_along_axis(x, [0]), TensorError, "as many axes"),
        (lambda: ops.take_along_axis(x, [[0.5]]), TensorError, "give whole numbers"),
        (lambda: ops.take_along_axis(x, [[3]]), CoordinateError, "index 3 is outside its 3 elements"),
        (lambda: ops.searchsorted(x, x), TensorError, "a vector"),
        (lambda: ops.searchsorted([1.0], [1.0], side="middle"), TensorError, "'left' and 'right'"),  # type: ignore
    ):
        with pytest.raises(error, match=words):
            call()
    for call in (ops.sort, ops.argsort, lambda t: ops.top_k(t, 1), lambda t: ops.searchsorted(t, t)):
        with pytest.raises(TensorError, match="complex numbers"):
            call(np.complex64([1]))
