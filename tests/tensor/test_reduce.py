"""`reduce` is a fold from the left and `reduce_tree` a tree, on the host and in kernels, bit for bit."""

from collections.abc import Callable
from functools import reduce as fold

import numpy as np
import pytest

from cutepy import gpu
from cutepy.layout import Layout, _
from cutepy.tensor import Tensor, copy, make_fragment_like, make_tensor, reduce, reduce_tree

OPS: dict[str, Callable[..., object]] = {
    "sum of squares": lambda total, v: total + v * v,
    "difference": lambda total, v: total - v,
    "polynomial": lambda total, v: total * 0.5 + v,
    "the last": lambda total, v: v,
    "the first": lambda total, v: total,
}


@gpu.kernel
def folded(x: Tensor, y: Tensor, *, op: Callable[..., object]) -> None:
    gpu.launch(grid=1, threads=x.shape[0])
    mine = make_fragment_like(x(gpu.thread, _))
    copy(x(gpu.thread, _), mine)
    y[gpu.thread] = reduce(mine, 1.0, op)


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("count", [1, 2, 31, 33, 100])
def test_a_fold_from_the_left(name: str, count: int) -> None:
    x, y = np.random.default_rng(count).standard_normal((2, count)).astype(np.float32), np.zeros(2, np.float32)
    expected = [fold(OPS[name], row, np.float32(1)) for row in x]
    assert [reduce(make_tensor(row), np.float32(1), OPS[name]) for row in x] == expected
    folded.interpret(x, y, op=OPS[name])
    assert np.allclose(y, np.array(expected), rtol=1e-6)


def test_the_order_is_colexicographic() -> None:
    tensor = make_tensor(np.arange(6).reshape(2, 3))
    assert reduce(tensor, "", lambda seen, v: f"{seen}{v}") == "031425"
    assert reduce_tree(make_tensor(np.arange(4.0)), 100, lambda a, b: a - b) == 100 - ((0 - 1) - (2 - 3))


def test_types_and_edges() -> None:
    ints = make_tensor(np.full(4, 2**30, np.int32))
    for combine in (reduce, reduce_tree):
        assert combine(ints, 0, lambda a, b: a + b) == 0  # wraps, as NumPy's arrays do, without a warning
        assert combine(make_tensor(np.zeros((0,))), 5, lambda a, b: a + b) == 5
        halves = combine(make_tensor(np.full(4096, 1.0, np.float16)), 0, lambda a, b: a + b)
        assert halves == 4096 and halves.dtype == np.float32  # type: ignore[attr-defined]
    assert reduce(make_tensor([1j, 2, 3]), 0, lambda a, b: a * 2 + b) == 7 + 4j
    assert reduce(make_tensor(np.arange(8.0), Layout((2, 2), (1, 4))), 0, max) == 5
