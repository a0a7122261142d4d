"""Tensors of coordinates with an origin, as TMA takes them: tiled, sliced and moved they tell where they are."""

from __future__ import annotations

from itertools import product

import pytest
from layout.cases import generator

from cutepy import (
    E,
    Layout,
    domain_offset,
    elem_less,
    local_tile,
    make_counting_tensor,
    make_identity_layout,
    make_tensor,
    tuple_add,
    zipped_divide,
)
from cutepy.errors import TensorError
from cutepy.layout import _


def test_the_examples_of_cute() -> None:
    """Of NVIDIA's 0z_tma_tensors.md: the tensor of the beginning, iterators that move, the two small tensors."""
    tma = make_tensor((0, 0, 0, 0), Layout.parse("((_128,_64),2,3,1):((_1@0,_1@1),_64@1,_1@2,_1@3)"))
    assert str(tma) == "ArithTuple(0,0,0,0) o ((128,64),2,3,1):((1@0,1@1),64@1,1@2,1@3)"
    assert tma[(5, 3), 1, 2, 0] == (5, 67, 2, 0)
    start = make_tensor((42, 2, 7), make_identity_layout((64, 64, 64)))
    assert domain_offset((0, 5, 2), start)[0, 0, 0] == (42, 7, 9)
    one, other = (make_tensor((0, 0), (4, 5), strides) for strides in ((E(0), E(1)), (E(1), E(0))))
    for i, j in product(range(4), range(5)):
        assert (one[i, j], other[i, j]) == ((i, j), (j, i))


def test_wherever_it_is_cut_an_element_is_its_place() -> None:
    rng = generator("coordinates with an origin")
    for _case in range(40):
        shape = tuple(rng.choice((4, 6, 8, 12)) for _axis in range(3))
        origin = tuple(rng.randrange(50) for _axis in shape)
        steps = tuple(rng.choice((1, 2, 4)) for _axis in shape)
        whole = make_tensor(origin, shape, tuple(step * E(axis) for axis, step in enumerate(steps)))

        def place(crd: tuple[int, ...], origin: tuple[int, ...] = origin, steps: tuple[int, ...] = steps) -> object:
            return tuple_add(origin, tuple(x * step for x, step in zip(crd, steps, strict=True)))

        tile = tuple(rng.choice([d for d in (1, 2, 4) if extent % d == 0]) for extent in shape)
        at = tuple(rng.randrange(extent // size) for extent, size in zip(shape, tile, strict=True))
        part, moved = local_tile(whole, tile, at), domain_offset(at, whole)
        divided = zipped_divide(whole, tile)
        for crd in product(*map(range, tile)):
            there = tuple(a * size + x for a, size, x in zip(at, tile, crd, strict=True))
            assert part[crd] == place(there) == divided[crd, at]
            assert moved[crd] == place(tuple(a + x for a, x in zip(at, crd, strict=True)))
        row = whole(at[0], _, at[2])
        assert [row[j] for j in range(shape[1])] == [place((at[0], j, at[2])) for j in range(shape[1])]
        assert whole.numpy()[at].tolist() == list(place(at))  # type: ignore[call-overload]


def test_what_is_below_a_limit() -> None:
    tile = make_tensor((4, 2), (4, 2), (E(0), E(1)))
    assert elem_less(tile, (6, 3)).numpy().tolist() == [[True, False], [True, False], [False, False], [False, False]]


def test_what_moves_and_what_does_not() -> None:
    assert domain_offset(3, make_counting_tensor(Layout(8)))[2] == 5
    with pytest.raises(TensorError, match="beyond its elements"):
        domain_offset((1, 1), make_tensor("f32", (4, 8)))
    for origin, layout in (((1, 2), Layout((4, 8))), ((1.5, 2), make_identity_layout((4, 8))), ((1, 2), None)):
        with pytest.raises(TensorError, match="over numbers write a list"):
            make_tensor(origin, layout)
