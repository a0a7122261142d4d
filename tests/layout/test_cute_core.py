"""CuTe C++'s own unit tests of the algebra, ported: its operands, and the conditions that it asks of each result.

Facts read off test/unit/cute/core of NVIDIA/cutlass (BSD-3-Clause): composition, complement, coalesce, inverse_left,
inverse_right, logical_divide, logical_product, nullspace, swizzle_layout, compact_xmajor, int_tuple, compare, tuple;
off test/unit/cute/layout; and what test/python/pycute has beyond those. Sizes that are `int` there are numbers here.
tiled_mma is in `tests/tensor/test_atoms.py`. Not ported, file by file:

- array_subbyte, bitfield, constants, constant_arithmetic, math, mixedbits, packed_tuple, pointer, tuple_find, typing:
  C++ types and Python's type annotations.
- reverse, lex_less of compare, max of tuple: Python's `[::-1]`, `<` and `max`.
- transform, tensor_algs: `transform` of complex numbers, and sums over modes, which are `ops.sum(x, axis)` here.
- domain_distribute: no such function; which threads take what of a shape is said by a layout of threads.
- blockwise_scale_layout: a configuration of CUTLASS, no operation.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from cutepy.errors import LayoutError
from cutepy.layout import (
    ComposedLayout,
    E,
    IntTuple,
    Layout,
    LayoutLeft,
    LayoutRight,
    Swizzle,
    _,
    coalesce,
    compatible,
    complement,
    composition,
    depth,
    elem_less,
    evenly_divides,
    filter,
    idx2crd,
    inner_product,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    nullspace,
    parse_layout,
    parse_tiler,
    prefix_product,
    product,
    rank,
    right_inverse,
    shape_div,
    size,
    slice_and_offset,
    tiled_product,
    weakly_congruent,
    zipped_product,
)

EIGHTS = "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"
COMPOSITIONS = f"""
1:0 | 1:0;  1:0 | 1:1;  1:1 | 1:0;  1:1 | 1:1;  (4) | (4);  (4):(2) | (4);  (4):(0) | (4);  (4) | (4):(0)
(4) | (1):(0);  (4) | (2);  (4):(2) | (2);  (4) | (2):(2);  (4):(2) | (2):(2);  (4,3) | (12);  (12) | (4,3)
(12):(2) | (4,3);  (12) | (4,3):(3,1);  (12):(2) | (4,3):(3,1);  (12) | (2,3):(2,4);  (4,3) | (4,3);  (4,3) | (6)
(4,3) | (6):(2);  (4,3) | (6,2):(2,1);  (4,3) | (4,3):(3,1);  (4,3):(3,1) | (4,3);  (4,3):(3,1) | (12)
(4,3):(3,1) | (6):(2);  (4,3):(3,1) | (6,2):(2,1);  (8,8) | {EIGHTS};  (8,8):(8,1) | {EIGHTS}
((4,2)):((1,16)) | (4,2):(2,1);  (2,2):(2,1) | (2,2):(2,1);  (4,8,2) | (2,2,2):(2,8,1)
(4,8,2):(2,8,1) | (2,2,2):(1,8,2);  (4,8,2):(2,8,1) | (4,2,2):(2,8,1);  12:1 | 4:1;  (12,3):(1,24) | (4):(1)
16:2 | 4:2;  (128,24,5):(1,128,3072) | 64:2;  (128,24,5):(1,128,3072) | 480:32;  (1):(0) | (4);  (1):(1) | (4)
(4) | (4):(2);  (4,3):(3,1) | (24);  (4,3):(3,1) | (8);  (4,3,1):(3,1,0) | (24);  3:1 | 4:1
(48,24,5):(1,128,3072) | 32:1;  (8,8):(8,1) | S<2,0,-3> o 0 o (8,8):(8,1)
S<2,0,3> o 0 o (8,8):(8,1) | S<2,0,-3> o 0 o (8,8):(8,1);  (4):(-1) | (4):(1);  (4):(1) | (4):(-1)
(4):(-1) | (4):(-1);  (4):(1) | (4):(-2);  (4,4):(-1,1) | (2,4,2);  (4,4):(-1,1) | (2,4,2):(1,4,2)
(1,(2,4)):(0,(-1,512)) | 2:-1;  (1,(2,4)):(0,(-1,512)) | 4:-1;  (4,4):(4,1) | (4,4):(1@1,1@0)
(4,(2,3)):(6,(3,1)) | (2,4):(1@1@1,1@0)
{EIGHTS} | 8:4;  (4,6,8):(1,4,7) | 6:1;  (4,6,8,10):(2,3,5,7) | 6:12
"""
COMPLEMENTS = """
1:0 | cosize 2 5 4;  1:1 | cosize 2 5 4;  1:2 | 1 2 8 5 4;  4:0 | 1 2 8;  4:1 | 1 2 8;  4:2 | 1 cosize 16 19 4
4:4 | 1 cosize 17 4;  (2,4) | cosize;  (2,3) | cosize;  (2,4):(1,4) | cosize;  (2,4):(1,6) | cosize
(2,4,8):(8,1,64) | cosize;  (2,4,8):(8,1,0) | cosize 460;  ((2,2),(2,2)):((1,4),(8,32)) | cosize
((2,2),(2,2)):((1,32),(8,4)) | cosize;  (4,6):(1,6) | cosize;  (4,2):(1,10) | cosize;  (4,2):(1,16) | cosize
12:1 | 1 cosize 53 128;  12:2 | 1 cosize 53 128;  (3,6):(1,3) | cosize;  (3,6):(1,9) | cosize;  (3,6):(1,10) | cosize
64:1 | 512;  (2,(3,4)):(3,(1,6)) | cosize;  (4,10):(1,10) | cosize
"""
COALESCED = """
1:0;  1:1;  (2,4);  (2,4,6);  (2,1,6):(1,6,2);  (2,1,6):(1,7,2);  (2,1,6):(4,7,8);  (2,4):(4,1);  (2,4,6):(24,6,1)
(2,1,3):(3,3,1);  (2,1,3):(2,4,4);  (2,1,3):(2,0,4);  ((2,2),(2,2)):((1,4),(8,32))
"""
RIGHT = """
1:0;  1:1;  (4):(0);  ((1,1)):((0,0));  ((3,7)):((0,0));  (1):(1);  (4):(1);  (4):(2);  (2,4):(0,2);  (8,4)
(8,4):(4,1)
(2,4,6);  (2,4,6):(4,1,8);  (2,4,4,6):(4,1,0,8);  (4,2):(1,16);  (4,2):(1,5);  (4,2):(1,4);  (4):(-1)
S<1,0,2> o 0 o (4,4):(1,4);  S<1,0,2> o 0 o (4,4):(4,1);  S<1,0,1> o 0 o (4,4):(8,1)
"""
LEFT = """
(1):(0);  ((1,1)):((0,0));  (1):(1);  (4):(1);  (4):(2);  (8,4);  (8,4):(4,1);  (2,4,6);  (2,4,6):(4,1,8);  (4,2):(1,16)
S<1,0,2> o 0 o (4,4):(1,4);  S<1,0,2> o 0 o (4,4):(4,1);  S<1,0,1> o 0 o (4,4):(8,1)
"""
DIVIDES = """
1:0 | 1:0;  1:0 | 1:1;  1:1 | 1:0;  1:1 | 1:1;  6:1 | 2:1;  6:1 | 2:3;  6:1 | (2,3):(3,1);  6:2 | 2:1;  6:2 | 2:3
6:2 | (2,3):(3,1);  (6,6):(1,12) | (6,3):(3,1);  (6,6):(12,1) | (6,3):(3,1);  32:1 | 2:8;  (4,1):(1,1) | 2:1
(4,1):(1,1) | 2:2;  (8,8):(1,8) | 32:2;  (8,8):(8,1) | 32:2
"""
UNEVEN = {"2:1 | 32:1": "(32,1)", "48:1 | 32:1": "(32,2)", "96:1 | 32:2": "(32,(2,2))", "32:1 | 48:1": "(48,1)"}
PRODUCTS = """
1:0 | 1:0;  1:1 | 1:0;  1:0 | 1:1;  1:1 | 1:1;  3:1 | 4:0;  3:0 | 4:1;  3:0 | 4:0;  3:2 | 4:1;  (3) | (2,4)
(2,4) | (3)
(8,(2,2)) | (4):(2);  (2,2) | (3,3):(3,1);  (3):(32) | (32);  (3):(2) | (4);  (3):(32) | (128);  (3):(32) | (8,8)
(3):(32) | (8,8):(8,1);  ((4,2)):((1,16)) | (4,4);  ((4,2)):((1,16)) | (4,2):(2,1)
((2,2),(2,2)):((1,4),(8,32)) | (2,2):(1,2);  ((2,2),(2,2)):((1,4),(8,32)) | (2,2):(2,1);  ((4,6)):((1,6)) | (3):(1)
"""
NULLSPACES = "(2,2,2):(0,0,0);  (7,5,16):(0,0,0);  (2,2,2):(1,0,2);  (7,5,16):(3,1,0)"
SWIZZLED = """
S<3,0,3> o 0 o (8,8):(8,1);  S<3,0,-3> o 0 o (8,8):(8,1)
S<2,1,3> o 0 o ((2,2,2),(2,2,2)):((32,2,8),(4,1,16))
"""
COMPACT = """
1 | 0 | 0;  8 | 1 | 1;  (4,8) | (1,4) | (8,1);  (4,8,2) | (1,4,32) | (16,2,1);  (4,8,1,2) | (1,4,0,32) | (16,2,0,1)
((4,8),1,2) | ((1,4),0,32) | ((16,2),0,1);  (4,(8,1,2)) | (1,(4,0,32)) | (16,(2,0,1))
(4,(8,1,(2,3))) | (1,(4,0,(32,64))) | (48,(6,0,(3,1)))
"""


def entries(text: str) -> list[str]:
    return [entry.strip() for line in text.strip().splitlines() for entry in line.split(";") if entry.strip()]


def pairs(text: str) -> list[tuple[str, str]]:
    return [(left.strip(), right.strip()) for left, right in (entry.split(" | ") for entry in entries(text))]


@pytest.mark.parametrize(("left", "right"), pairs(COMPOSITIONS))
def test_composition(left: str, right: str) -> None:
    outer, inner = parse_layout(left), parse_layout(right)
    result = composition(outer, inner)
    assert compatible(inner, result)
    assert [result(c) for c in range(size(inner))] == [outer(inner(c)) for c in range(size(inner))]


@pytest.mark.parametrize(("text", "targets"), pairs(COMPLEMENTS))
def test_complement(text: str, targets: str) -> None:
    layout = parse_layout(text)
    for word in targets.split():
        target = layout.cosize if word == "cosize" else int(word)
        result = complement(layout, target)
        whole = make_layout(layout, result)
        assert whole.cosize >= target and result.cosize <= -(-target // layout.cosize) * layout.cosize
        values, taken = [result(i) for i in range(result.size)], {layout(j) for j in range(layout.size)}
        assert all(one < other for one, other in pairwise(values))
        assert not taken & set(values[1:])
        assert result.size <= result.cosize and whole.cosize <= result.cosize + layout.cosize
        assert min(result.size, result.cosize) >= target // filter(layout).size
        assert size(complement(whole)) == 1


@pytest.mark.parametrize("text", entries(COALESCED))
def test_coalesce(text: str) -> None:
    layout = parse_layout(text)
    result = coalesce(layout)
    assert depth(result) <= 1 and result.size == layout.size
    assert [result(i) for i in range(layout.size)] == [layout(i) for i in range(layout.size)]


@pytest.mark.parametrize("text", entries(RIGHT))
def test_right_inverse(text: str) -> None:
    layout = parse_layout(text)
    result = right_inverse(layout)
    assert [layout(result(i)) for i in range(result.size)] == list(range(result.size))


@pytest.mark.parametrize("text", entries(LEFT))
def test_left_inverse(text: str) -> None:
    layout = parse_layout(text)
    result = left_inverse(layout)
    assert [result(layout(i)) for i in range(layout.size)] == list(range(layout.size))


def test_the_left_inverse_of_a_layout_that_goes_down() -> None:
    """CuTe gives one, beyond its size; here an inverse takes the offsets from 0 to the cosize."""
    with pytest.raises(LayoutError, match="below 0"):
        left_inverse(Layout((4,), (-1,)))


@pytest.mark.parametrize(("text", "tile"), pairs(DIVIDES))
def test_logical_divide(text: str, tile: str) -> None:
    result = logical_divide(parse_layout(text), parse_layout(tile))
    assert rank(result) == 2 and compatible(parse_layout(tile), result[0])


@pytest.mark.parametrize("text", UNEVEN)
def test_logical_divide_of_uneven_tiles(text: str) -> None:
    layout, tile = map(parse_layout, text.split(" | "))
    with pytest.raises(LayoutError, match="pass round_up=True and guard the edge"):
        logical_divide(layout, tile)
    result = logical_divide(layout, tile, round_up=True)
    assert result.shape == parse_layout(UNEVEN[text]).shape and compatible(tile, result[0])


def test_an_uneven_tile_of_coordinates_is_told_the_way_that_works() -> None:
    """It says nothing of how axes go on, so that none is rounded up; a tuple of tiles does."""
    layout, tile = Layout((10, 6)), Layout((4, 2), (E(0), E(1)))
    for round_up in (False, True):
        with pytest.raises(LayoutError, match="tile by mode, with a tuple and round_up=True, and guard the edge"):
            logical_divide(layout, tile, round_up=round_up)
    assert logical_divide(layout, (4, 2), round_up=True).shape == ((4, 3), (2, 3))


@pytest.mark.parametrize(("block", "tile"), pairs(PRODUCTS))
def test_logical_product(block: str, tile: str) -> None:
    result = logical_product(parse_layout(block), parse_layout(tile))
    assert rank(result) == 2 and result[0] == parse_layout(block) and compatible(parse_layout(tile), result[1])


@pytest.mark.parametrize("text", entries(NULLSPACES))
def test_nullspace(text: str) -> None:
    layout = parse_layout(text)
    result = nullspace(layout)
    assert result.size == layout.size // filter(layout).size
    assert all(layout(result(i)) == 0 for i in range(result.size))


@pytest.mark.parametrize("text", entries(SWIZZLED))
def test_slices_of_swizzled_layouts(text: str) -> None:
    layout = parse_layout(text)
    assert isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle)
    for fixed in range(8):
        row, column = slice_and_offset((fixed, _), layout)[0], slice_and_offset((_, fixed), layout)[0]
        for free in range(8):
            assert row(free) == layout(fixed, free) and column(free) == layout(free, fixed)


@pytest.mark.parametrize("text", entries(COMPACT))
def test_compact(text: str) -> None:
    """Static sizes: a mode of size 1 has stride 0. Of an `int` 1 CuTe's stride goes on; here all numbers are static."""
    shape, left, right = map(parse_tiler, text.split(" | "))
    assert (Layout(shape).stride, Layout(shape, LayoutRight).stride) == (left, right)


WEAKLY = """
1 1 y; 2 2 y; 1 2 y; 1 (1) y; 2 (2) y; 1 (2) y; 2 (1) y; (1) 1 n; (2) 2 n; (1) 2 n; (2) 1 n; (1) (1) y
(2) (2) y; (1) (2) y
1 (1,1) y; (1) (1,1) n; (1,1) (1,1) y; 1 (1,(1,1)) y; (1) (1,(1,1)) n; (1,1) (1,(1,1)) y; 2 (2,2) y; (2) (2,2) n
(1,1) (2,2) y; (1,(1,1)) (2) n; (1,(1,1)) (1,1) n; (1,(1,1)) (2,(2,2)) y; (1) ((2,2),(2,2)) n; (1,1) ((2,2),(2,2)) y
(1,(1,1)) ((2,2),(2,2)) y
"""
EVENLY = """
16 16 y; 12 12 y; 8 8 y; 16 12 n; 16 8 y; 8 16 n; (16) (16) y; 16 (16) y; (16) 16 y; 8 (16) n; (16) 8 y; 12 (16) n
(16) 12 n
(2,8) (2,8) y; 16 (2,8) n; (16) (2,8) n; (2,8) (16) n; (2,8) (2,(2,4)) n; ((2,8)) ((2,8)) y; 16 ((2,8)) n; 8 ((2,8)) n
(16) ((2,8)) n; ((2,8)) (16) y; ((2,(4,2))) ((2,(4,2))) y; 16 ((2,(4,2))) n; 8 ((2,(4,2))) n; (16) ((2,(4,2))) n
((2,(4,2))) (16) y; ((2,8)) ((2,(4,2))) n; ((2,(4,2))) ((2,8)) y
"""


@pytest.mark.parametrize("text", entries(WEAKLY))
def test_weakly_congruent(text: str) -> None:
    left, right, word = text.split()
    assert weakly_congruent(parse_layout(left).shape, parse_layout(right).shape) is (word == "y")


@pytest.mark.parametrize("text", entries(EVENLY))
def test_evenly_divides(text: str) -> None:
    left, right, word = text.split()
    whole, tile = parse_layout(left).shape, parse_layout(right).shape
    found = evenly_divides(whole, tile)
    assert found is (word == "y")
    if found:
        assert product(whole) == size(logical_divide(Layout(whole), tile))


def test_evenly_divides_by_layouts() -> None:
    assert evenly_divides((32, 64), 128) and evenly_divides((32, 64), (Layout(8, 2), 32))
    assert not evenly_divides((32, 64), (Layout(8, 3), 32))


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), ((3, 2), (5, 2, 2))])
def test_compare(shape: IntTuple) -> None:
    """Coordinates are within the shape, and ordered as their indices are: last entry first, or first entry first."""
    for by_rows in (False, True):
        order = LayoutRight if by_rows else LayoutLeft
        found = sorted((Layout(shape, order)(c), c) for c in (idx2crd(i, shape) for i in range(product(shape))))
        assert [index for index, _crd in found] == list(range(product(shape)))
        coordinates = [crd if by_rows else turned(crd) for _index, crd in found]
        assert all(one < other for one, other in pairwise(coordinates))
        assert all(elem_less(crd, shape) for _index, crd in found)


def turned(tree: IntTuple) -> IntTuple:
    return tuple(map(turned, tree[::-1])) if isinstance(tree, tuple) else tree


def test_tuples() -> None:
    for shape, count, square, strides in (
        ((8, 4), 32, 80, (1, 8)),
        ((8, 4, 2), 64, 84, (1, 8, 32)),
        (((1, 2), 8, 2), 32, 73, ((0, 1), 2, 16)),
    ):
        assert (product(shape), inner_product(shape, shape), Layout(shape).stride) == (count, square, strides)


def test_layouts_of_cutlass() -> None:
    """Its classes of layouts as CuTe's: plain ones, and 16-bit operands of tensor cores by rows and by columns."""
    rows, columns = Layout((8, 4), (4, 1)), Layout((8, 4))
    assert all((rows(m, n), columns(m, n)) == (4 * m + n, m + 8 * n) for m in range(8) for n in range(4))
    crosswise = composition(Swizzle(3, 3, 3), Layout((128, 64), (64, 1)))
    congruous = composition(Swizzle(3, 3, 4), Layout((128, 64)))
    for m in range(128):
        for n in range(64):
            assert crosswise(m, n) == 64 * m + 8 * (n // 8 ^ m % 8) + n % 8
            assert congruous(m, n) == 128 * n + m // 64 * 64 + 8 * (m // 8 % 8 ^ n % 8) + m % 8


def test_pycute_products() -> None:
    A = Layout((2, 5), (5, 1))
    for block, count in ((A, 4), (Layout(3, 2), 4), (Layout(4), 3), (Layout((4, 8)), 16)):
        for product_of in (logical_product, zipped_product, tiled_product):
            assert product_of(block, count) == product_of(block, Layout(count))
            assert product_of(block, count).size == block.size * count
    assert logical_product(A, 4) == parse_layout("((2,5),4):((5,1),10)") and logical_product(A, None) == A
    by_mode = logical_product(A, (4, 2))
    assert by_mode == logical_product(A, (Layout(4), Layout(2)))
    assert by_mode == make_layout(logical_product(A[0], Layout(4)), logical_product(A[1], Layout(2)))


def test_pycute_swizzles() -> None:
    points = (0, 1, 2, 7, 8, 9, 15, 16, 63, 64, 255, 256)
    for numbers, expected in (
        ((0, 4, 0), points),
        ((2, 3, -3), (0, 1, 2, 7, 72, 73, 79, 144, 255, 64, 63, 256)),
        ((1, 0, 1), (0, 1, 3, 6, 8, 9, 14, 16, 62, 64, 254, 256)),
        ((3, 2, 3), (0, 1, 2, 7, 8, 9, 15, 16, 59, 72, 227, 256)),
        ((2, 1, -2), (0, 1, 10, 31, 8, 9, 23, 16, 39, 64, 231, 256)),
    ):
        swizzle = Swizzle(*numbers)
        assert tuple(map(swizzle, points)) == expected
        assert all(swizzle(swizzle(x)) == x for x in range(1 << sum(map(abs, numbers))))


def test_pycute_int_tuples() -> None:
    assert (product(2), product((3, 2)), product(((2, 3), 4))) == (2, 6, 24)
    assert (inner_product(2, 3), inner_product((1, 2), (3, 2)), inner_product(((2, 3), 4), ((2, 1), 2))) == (6, 7, 15)
    assert prefix_product(((2, 3), (2, 1, 2), (5, 2, 1))) == ((1, 2), (6, 12, 12), (24, 120, 240))
    assert (prefix_product(2), prefix_product((3, 2, 4)), prefix_product(((2, 3), 4))) == (1, (1, 3, 6), ((1, 2), 6))
    assert [shape_div((3, 4), n) for n in (6, 12, 36)] == [(1, 2), (1, 1), (1, 1)]
    assert (shape_div(((3, 4), 6), 36), shape_div((6, (3, 4)), 36)) == (((1, 1), 2), (1, (1, 2)))
