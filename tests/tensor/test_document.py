"""Tensors, slices and partitions, element by element, as in CuTe's document 03 (`cute_documents.txt` has its text)."""

import numpy as np
import pytest

from cutepy.errors import TensorError
from cutepy.layout import (
    Layout,
    LayoutRight,
    _,
    blocked_product,
    composition,
    flat_divide,
    logical_divide,
    logical_product,
    raked_product,
    size,
    tiled_divide,
    zipped_divide,
)
from cutepy.tensor import (
    Tensor,
    copy,
    f32,
    inner_partition,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tensor_like,
    outer_partition,
    thread_value_partition,
)

DATA = np.arange(4096, dtype=np.float32)


def layout_text(tensor: object) -> str:
    assert isinstance(tensor, Tensor)
    return str(tensor.layout)


def test_owning_tensors_have_their_own_memory() -> None:
    one, other = make_tensor(f32, (4, 8)), make_tensor(f32, (4, 8))
    one[1, 2] = 5
    assert (one[1, 2], other[1, 2]) == (5, 0) and str(one) != str(other)


def test_tiling() -> None:
    A = make_tensor(DATA, (24, 8))
    assert layout_text(composition(A, (Layout(8, 3), Layout(4, 2)))) == "(8,4):(3,48)"
    assert layout_text(logical_divide(A, (8, 4))) == "((8,3),(4,2)):((1,8),(24,96))"
    assert layout_text(zipped_divide(A, (8, 4))) == "((8,4),(3,2)):((1,24),(8,96))"
    assert layout_text(tiled_divide(A, (8, 4))) == "((8,4),3,2):((1,24),8,96)"
    assert layout_text(flat_divide(A, (8, 4))) == "(8,4,3,2):(1,24,8,96)"
    for product in (logical_product, blocked_product, raked_product):
        with pytest.raises(TensorError, match="a product of a tensor would reach elements outside of it"):
            product(A, Layout((2, 2)))


def test_slicing() -> None:
    A = make_tensor(DATA, ((3, 2), (2, 5, 2)), ((4, 1), (2, 13, 100)))
    assert layout_text(A(2, _)) == "((2,5,2)):((2,13,100))"
    assert layout_text(A(_, 5)) == "((3,2)):((4,1))"
    assert layout_text(A((_, _), 5)) == "(3,2):(4,1)"
    assert layout_text(A((2, _), (_, 3, _))) == "(2,2,2):(1,2,100)"
    whole = A.numpy()
    assert (A(2, _).numpy() == whole[2]).all() and (A(_, 5).numpy() == whole[:, 5]).all()
    assert A((_, _), 5)[1, 1] == whole[1 + 3 * 1, 5] == A(_, 5)[(1, 1),]
    assert A((2, _), (_, 3, _))[1, 0, 1] == A[(2, 1), (0, 3, 1)]


def test_inner_and_outer_partition() -> None:
    A = make_tensor(DATA, (24, 8))
    assert layout_text(inner_partition(A, (8, 4), (1, 1))) == "(8,4):(1,24)"
    assert local_tile(A, (8, 4), (2, 1))[3, 2] == A[19, 6]
    outer = outer_partition(A, (8, 4), 13)
    assert layout_text(outer) == "(3,2):(8,96)" and outer[1, 1] == A[8 + 13 % 8, 4 + 13 // 8]
    by_rows = local_partition(A, Layout((8, 4), (4, 1)), 13)
    assert layout_text(by_rows) == "(3,2):(8,96)" and by_rows[1, 1] == A[8 + 13 // 4, 4 + 13 % 4]


def test_thread_value_partition() -> None:
    layout_tv = Layout(((2, 4), (2, 2)), ((8, 1), (4, 16)))
    A = make_tensor(f32, (4, 8), LayoutRight)
    copy(make_tensor(DATA, (4, 8)), A)
    every = composition(A, layout_tv)
    assert (size(every, 0), size(every, 1)) == (8, 4)
    owned = []
    for thread in range(8):
        v = thread_value_partition(A, layout_tv, thread)
        assert size(v) == 4 and (v.numpy() == every(thread, _).numpy()).all()
        owned += v.numpy().tolist()
    assert sorted(owned) == sorted(A.numpy().ravel().tolist())


def test_copy_of_rows_and_tiles_to_registers() -> None:
    gmem = make_tensor(DATA, (8, 16))
    rmem = make_tensor_like(gmem(_, 0))
    assert layout_text(rmem) == "(8):(1)"
    for j in range(size(gmem, 1)):
        copy(gmem(_, j), rmem)
        assert (rmem.numpy() == gmem.numpy()[:, j]).all()
    gmem = make_tensor(DATA, (24, 16))
    for tiler in ((8, 4), (Layout(8, 3), Layout(4, 2))):
        tiled = zipped_divide(gmem, tiler)
        rmem = make_tensor_like(tiled(_, 0))
        assert layout_text(rmem) == "((8,4)):((1,8))"
        seen = []
        for j in range(size(tiled, 1)):
            copy(tiled(_, j), rmem)
            seen += rmem.numpy().tolist()
        assert sorted(seen) == gmem.numpy().ravel(order="F").tolist()


def test_fragments_keep_mode_0_together() -> None:
    part = make_tensor(DATA, ((2, 2), 3, 4), ((64, 1), 2, 128))
    assert layout_text(make_fragment_like(part)) == "((2,2),3,4):((1,2),4,12)"
    assert make_fragment_like(part, "f16").dtype.name == "f16"
