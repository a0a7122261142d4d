"""The commonest slips with layouts and tensors: each an error that names the call and a way out."""

from collections.abc import Callable

import numpy as np
import pytest

from cutepy.errors import CoordinateError, CutepyError, LayoutError, TensorError
from cutepy.layout import Layout, _, composition, explain, zipped_divide
from cutepy.tensor import (
    FMA,
    axpby,
    clear,
    cooperative_copy,
    copy,
    copy_if,
    elem_less,
    fill,
    gemm,
    inner_partition,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tensor_like,
    make_tiled_copy,
    make_tiled_mma,
    outer_partition,
    recast,
    reduce,
    reduce_tree,
    thread_value_partition,
    transform,
    universal_copy,
)

ARRAY = np.zeros((8, 8))
A = make_tensor(ARRAY)
L = Layout((4, 8), (8, 1))
COPIES = make_tiled_copy(universal_copy(1), Layout((4, 2)))
PRODUCT = make_tiled_mma(FMA, (2, 2, 1))

WITH_ARRAYS: list[Callable[[], object]] = [
    lambda: local_tile(ARRAY, (2, 2), (0, 0)),
    lambda: inner_partition(ARRAY, (2, 2), (0, 0)),
    lambda: outer_partition(ARRAY, (2, 2), (0, 0)),
    lambda: local_partition(ARRAY, (2, 2), 0),
    lambda: thread_value_partition(ARRAY, L, 0),
    lambda: copy(ARRAY, A),
    lambda: copy_if(ARRAY, A, ARRAY),
    lambda: fill(ARRAY, 0),
    lambda: clear(ARRAY),
    lambda: axpby(1, ARRAY, 0, A),
    lambda: gemm(A, A, ARRAY),
    lambda: transform(ARRAY, A, op=abs),
    lambda: reduce(ARRAY, 0, max),
    lambda: reduce_tree(ARRAY, 0, max),
    lambda: recast(ARRAY, "f32"),
    lambda: elem_less(ARRAY, (2, 2)),
    lambda: make_tensor_like(ARRAY),
    lambda: make_fragment_like(ARRAY),
    lambda: cooperative_copy(2, ARRAY, A, thread=0),
    lambda: COPIES.partition_S(ARRAY, 0),
    lambda: COPIES.partition_D(ARRAY, 0),
    lambda: COPIES.thread(A, ARRAY, 0),
    lambda: COPIES.retile(ARRAY),
    lambda: PRODUCT.partition_A(ARRAY, 0),
    lambda: PRODUCT.thread(A, A, ARRAY, 0),
    lambda: PRODUCT.make_fragment_A(ARRAY),
]  # type: ignore[list-item]


@pytest.mark.parametrize("call", WITH_ARRAYS, ids=[str(number) for number in range(len(WITH_ARRAYS))])
def test_an_array_where_a_tensor_is_meant(call: Callable[[], object]) -> None:
    with pytest.raises(TensorError, match=r"^[a-zA-Z_]+: ndarray is not a tensor; write make_tensor\(\.\.\.\)"):
        call()


SLIPS: list[tuple[Callable[[], object], type[CutepyError], str]] = [
    (lambda: L[0, 1], CoordinateError, r"brackets choose a mode, as L\[0\]; L\(0, 1\) is the offset at a coordinate"),
    (lambda: Layout(8)[0, 1], CoordinateError, "brackets choose a mode"),
    (lambda: L[1.0], CoordinateError, "mode 1.0 of L = .* brackets choose a mode"),
    (lambda: L[np.array([0, 1])], CoordinateError, "brackets choose a mode"),
    (lambda: L[(1, 2), 3], CoordinateError, r"L\(\(1, 2\), 3\) is the offset at a coordinate"),
    (lambda: L[True], CoordinateError, "mode True of L = .* brackets choose a mode"),
    (lambda: L[0:1], CoordinateError, r"brackets choose a mode, as L\[0\]; take\(L, 0, 2\) has several"),
    (lambda: Layout(4)[0:1], CoordinateError, "brackets choose a mode"),
    (lambda: Layout(())[0], CoordinateError, "it has 0 modes$"),
    (lambda: L[5], CoordinateError, r"mode 5 of \(4,8\):\(8,1\): it has 2 modes"),
    (lambda: Layout(8)[1], CoordinateError, "mode 1 of 8:1: it has 1 mode$"),
    (lambda: Layout([4, 8], [8, 1]), LayoutError, r"of type list; write the tuple \(4,8\)"),
    (lambda: Layout((4, [2, 2])), LayoutError, r"write the tuple \(2,2\)"),
    (lambda: Layout((4, 8), [8, 1]), LayoutError, r"write the tuple \(8,1\)"),
    (lambda: Layout([[4, 2], 8]), LayoutError, r"write the tuple \(\(4,2\),8\)"),
    (lambda: Layout(np.array([4, 8])), LayoutError, r"of type ndarray; write the tuple \(4,8\)"),
    (lambda: Layout("(4,8):(8,1)"), LayoutError, r"Layout.parse\('\(4,8\):\(8,1\)'\) reads a text"),
    (lambda: Layout((4, 8.0)), LayoutError, "8.0 of type float; it must be a whole number"),
    (lambda: make_tensor(ARRAY, "(8,8):(8,1)"), LayoutError, r"Layout.parse\('\(8,8\):\(8,1\)'\) reads a text"),
    (lambda: make_tensor(ARRAY, [8, 8]), LayoutError, r"write the tuple \(8,8\)"),
    (lambda: make_tensor(ARRAY, Layout.parse("(M,8):(8,1)")), LayoutError, "its sizes are not known; put values in"),
    (
        lambda: A[1:3, [0]],
        TensorError,
        r"beside a slice, `...` or None stand integers; arrays of indices are for ops.take",
    ),
    (lambda: A[1:3, _], TensorError, r"_ is for CuTe's slices"),
    (lambda: A[1:3, 8], TensorError, "8 of axis 1, which has 8 elements"),
    (lambda: A[..., 0, ...], TensorError, "1 entries and 2 `...` for 2 axes"),
    (lambda: A[0.5, 1], TensorError, "coordinate 0.5 .* give integers"),
    (lambda: A[[1, 2], 0], TensorError, r"coordinate \[1, 2\] .* give integers"),
    (lambda: zipped_divide(ARRAY, (2, 2)), LayoutError, r"or make_tensor\(\.\.\.\) for an array"),
    (lambda: local_tile(A, [2, 2], (0, 0)), LayoutError, "a tiler is a layout, an integer, `_` or a tuple of these"),
    (lambda: local_partition(A, Layout((2, 2)), 0.5), TensorError, "thread 0.5 is no whole number"),
    (lambda: local_partition(A, Layout((2, 2)), np.int64(9)), TensorError, "thread 9 of 0 to 3"),
    (lambda: COPIES.partition_S(A, np.int32(-1)), TensorError, "thread -1 of 0 to 7"),
    (lambda: PRODUCT.partition_C(A, np.uint8(200)), TensorError, "thread 200 of 0 to 3"),
    (lambda: cooperative_copy(2, A, make_tensor_like(A), thread=np.int64(2)), TensorError, "thread 2 of 0 to 1"),
    (lambda: thread_value_partition(A, "(4,4)", 0), LayoutError, "the right operand is a layout"),
    (lambda: make_tensor((4, 8)), TensorError, "over numbers write a list"),
    (lambda: explain("(4,8):(8,1)"), LayoutError, "explain takes a call, such as"),
    (lambda: explain(zipped_divide), TypeError, "missing 2 required positional arguments: 'layout' and 'tiler'"),
    (lambda: Layout((4, 8)).T, AttributeError, r"has no attribute 'T'; select\(x, 1, 0\)"),
    (lambda: Layout((4, 8)).ndim, AttributeError, "it is x.rank"),
]  # type: ignore[list-item]


@pytest.mark.parametrize(("call", "kind", "message"), SLIPS, ids=[str(number) for number in range(len(SLIPS))])
def test_slips(call: Callable[[], object], kind: type[CutepyError], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_explain_takes_the_texts_that_pictures_take() -> None:
    left, right = Layout((4, 8), (8, 1)), Layout(4, 2)
    told = str(explain(composition, left, right))
    assert str(explain("composition((4,8):(8,1), 4:2)")) == told == str(explain(composition, "(4,8):(8,1)", "4:2"))
