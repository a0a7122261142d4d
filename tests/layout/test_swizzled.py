"""Swizzled layouts against brute force: offsets listed one by one."""

from __future__ import annotations

import random

import pytest
from layout.cases import cases, generator, random_layout, random_operand

from cutepy.errors import LayoutError
from cutepy.layout import (
    Chained,
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    coalesce,
    complement,
    composition,
    flatten,
    from_f2,
    group_modes,
    is_bijective,
    left_inverse,
    logical_divide,
    logical_product,
    make_composed_layout,
    right_inverse,
    select,
    tile_to_shape,
    to_f2,
    zipped_divide,
)
from cutepy.layout.algebra.bits import swizzles
from cutepy.layout.values.int_tuple import IntTuple, leaves, product

SOME = cases(100)


def random_swizzle(rng: random.Random, width: int = 9) -> Swizzle:
    bits = rng.randint(1, 3)
    base = rng.randint(0, max(0, width - 2 * bits))
    return Swizzle(bits, base, rng.choice((1, 1, -1)) * rng.randint(bits, max(bits, width - base - bits)))


def random_composed(rng: random.Random, size: int = 256, kind: str | None = None) -> ComposedLayout:
    offset = rng.choice((0, 0, 0, 1, 7, 32))
    return ComposedLayout(random_swizzle(rng), offset, random_layout(rng, size, kind))


def power_of_two_layout(rng: random.Random, bits: int = 7, gap: float = 0.2) -> Layout:
    """Extents and strides that are powers of two, each bit of the offset in one mode at most."""
    sizes = [rng.randint(1, 3) for _mode in range(rng.randint(1, 4))]
    order = list(range(len(sizes)))
    rng.shuffle(order)
    strides, running = [0] * len(sizes), 0
    for mode in order:
        running += rng.random() < gap
        strides[mode] = 1 << running
        running += sizes[mode]
    if rng.random() < gap:
        strides[rng.randrange(len(strides))] = 0
    return Layout(tuple(1 << size for size in sizes), tuple(strides))


def values(layout: Layout | ComposedLayout) -> list[int]:
    return [layout(i) for i in range(layout.size)]  # type: ignore[misc]


def test_a_swizzle_is_its_own_inverse_and_stays_in_its_span() -> None:
    for swizzle in swizzles(9):
        for block in range(0, 512, swizzle.span):
            moved = [swizzle(x) for x in range(block, block + swizzle.span)]
            assert sorted(moved) == list(range(block, block + swizzle.span))
            assert [swizzle(x) for x in moved] == list(range(block, block + swizzle.span))
    assert Swizzle(0, 0, 0)(5) == 5 and Swizzle(0, 3, 2).span == 1


@pytest.mark.parametrize("parts", [(2, 0, 1), (-1, 0, 1), (1, -1, 1), (True, 0, 1), (1.0, 0, 1), (1, 0, 10**9)])
def test_what_is_no_swizzle(parts: tuple[int, int, int]) -> None:
    with pytest.raises(LayoutError, match="Swizzle"):
        Swizzle(*parts)


def test_evaluation_offsets_and_cosize() -> None:
    rng = generator("composed evaluation")
    for _case in range(SOME):
        layout = random_composed(rng)
        by_hand = [layout.outer(layout.offset + layout.inner(i)) for i in range(layout.size)]  # type: ignore[operator]
        assert values(layout) == by_hand
        assert layout.offsets().ravel(order="F").tolist() == by_hand
        assert layout.cosize == max(by_hand) + 1, layout
        assert layout.cosize == ComposedLayout(layout.outer, layout.offset, flatten(layout.inner)).cosize


def test_cosize_of_a_huge_layout_is_not_enumerated() -> None:
    assert ComposedLayout(Swizzle(3, 4, 3), 0, Layout((1 << 20, 1 << 20))).cosize == 1 << 40
    # not a power of two: only the last block of 1024 offsets matters
    inner = Layout((1000, 1 << 20, 3), (1 << 22, 3, 1))
    top = inner.cosize - 1
    assert ComposedLayout(Swizzle(3, 4, 3), 0, inner).cosize > top // 1024 * 1024


def test_slicing() -> None:
    rng = generator("composed slicing")
    for _case in range(SOME):
        layout = random_composed(rng)
        if not isinstance(layout.shape, tuple):
            continue
        at = tuple(rng.randrange(product(extent)) if rng.random() < 0.5 else _ for extent in layout.shape)
        sliced = layout(*at)
        if _ not in at:
            continue
        assert isinstance(sliced, ComposedLayout)
        kept = [mode for mode, entry in enumerate(at) if entry is _]
        for _sample in range(10):
            inside = tuple(rng.randrange(product(layout.shape[mode])) for mode in kept)
            whole = list(at)
            for mode, entry in zip(kept, inside, strict=True):
                whole[mode] = entry
            assert sliced(inside) == layout(*whole)


def test_operations_on_the_domain() -> None:
    layout = ComposedLayout(Swizzle(3, 4, 3), 2, Layout((8, (4, 16)), (64, (16, 1))))
    for changed in (coalesce(layout), flatten(layout), group_modes(layout, 0, 2)):
        assert values(changed) == values(layout)
    assert str(select(layout, 1)) == "S<3,4,3> o 2 o ((4,16)):((16,1))"
    assert str(zipped_divide(layout, (4, 16))) == "S<3,4,3> o 2 o ((4,(4,4)),(2,4)):((64,(16,1)),(256,4))"
    assert [mode.shape for mode in layout] == [8, (4, 16)] and layout[1](0, 1) == layout(0, (0, 1))
    tiled = tile_to_shape(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))), (128, 128))
    assert tiled.shape == ((8, 16), (64, 2)) and sorted(values(tiled)) == list(range(128 * 128))
    with pytest.raises(LayoutError, match="leaves out"):
        complement(layout)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="only the first operand may be a composed layout"):
        logical_divide(Layout(1024), layout)


def test_divides_and_products_divide_and_multiply_the_inner_layout() -> None:
    rng = generator("composed divides")
    made = 0
    for _case in range(SOME):
        layout = random_composed(rng)
        tiler = random_operand(rng, layout.inner)
        for operation in (logical_divide, zipped_divide, logical_product):
            try:
                inner = operation(layout.inner, tiler)
            except LayoutError:
                continue
            result = operation(layout, tiler)  # type: ignore[arg-type]
            assert [result(i) for i in range(min(result.size, 50))] == [
                layout.outer(layout.offset + inner(i))
                for i in range(min(result.size, 50))  # type: ignore[operator]
            ]
            made += 1
    assert made > SOME // 4


def test_composition_on_either_side() -> None:
    rng = generator("composed composition")
    counts = {"right": 0, "left": 0, "both": 0}
    for _case in range(SOME):
        layout = random_composed(rng) if rng.random() < 0.5 else swizzled_power_of_two(rng)
        plain = random_operand(rng, layout.inner)
        for name, outer, inner in (
            ("right", layout, plain),
            ("left", random_layout(rng), layout),
            ("left", power_of_two_layout(rng), layout),
            ("left", Layout(8, rng.choice((0, 1, 2, 3, 8))), layout),
            ("both", layout, random_composed(rng, 64)),
        ):
            try:
                result = composition(outer, inner)  # type: ignore[arg-type]
            except LayoutError:
                assert name == "right"
                with pytest.raises(LayoutError):
                    composition(layout.inner, plain)
                continue
            assert values(result) == [outer(inner(i)) for i in range(inner.size)], (outer, inner)  # type: ignore
            counts[name] += 1
    assert min(counts.values()) > SOME // 4, counts


def test_composition_becomes_a_layout_where_it_is_one() -> None:
    swizzle = Swizzle(2, 0, 3)
    back = composition(ComposedLayout(swizzle, 0, Layout(64)), ComposedLayout(swizzle, 0, Layout((8, 8), (8, 1))))
    assert values(back) == values(Layout((8, 8), (8, 1)))
    assert str(composition(Layout(4, 8), ComposedLayout(Swizzle(1, 0, 2), 1, Layout(8)))) == "S<1,3,2> o 8 o 8:8"
    assert composition(Layout((8, 8)), ComposedLayout(swizzle, 0, Layout(64))) == ComposedLayout(swizzle, 0, Layout(64))
    assert composition(Layout(4, 0), ComposedLayout(swizzle, 0, Layout((8, 8)))) == Layout((8, 8), (0, 0))
    rotated = composition(Layout((8, 8), (8, 1)), ComposedLayout(Swizzle(3, 0, 3), 0, Layout((8, 8))))
    assert str(rotated) == "S<3,0,-3> o 0 o (8,8):(8,1)"


def swizzled_power_of_two(rng: random.Random, gap: float = 0.2) -> ComposedLayout:
    return ComposedLayout(random_swizzle(rng), 0, power_of_two_layout(rng, gap=gap))


def first_missing(offsets: list[int]) -> int:
    seen = set(offsets)
    return next(i for i in range(len(seen) + 1) if i not in seen)


def test_right_inverse_is_one_and_as_large_as_possible() -> None:
    rng = generator("composed right inverse")
    made = refused = 0
    for case in range(SOME):
        layout = swizzled_power_of_two(rng) if case % 2 else random_composed(rng)
        largest = first_missing(values(layout))
        if largest == 0:
            with pytest.raises(LayoutError, match="offset 0"):
                right_inverse(layout)  # type: ignore[arg-type]
            continue
        try:
            inverse = right_inverse(layout)  # type: ignore[arg-type]
        except LayoutError:
            refused += 1
            continue
        made += 1
        assert [layout(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size)), (layout, inverse)
        assert all(0 <= inverse(i) < layout.size for i in range(inverse.size))
        assert inverse.size == largest, (layout, inverse, largest)
    assert made > SOME // 3 and 10 * refused < made, (made, refused)


def test_left_inverse() -> None:
    rng = generator("composed left inverse")
    made = 0
    for case in range(SOME):
        layout = swizzled_power_of_two(rng) if case % 2 else random_composed(rng)
        try:
            inverse = left_inverse(layout)  # type: ignore[arg-type]
        except LayoutError:
            with pytest.raises(LayoutError):
                left_inverse(layout.inner)
            continue
        made += 1
        assert inverse.size >= layout.cosize
        offsets = values(layout)
        assert [layout(inverse(offset)) for offset in offsets] == offsets, (layout, inverse)
    assert made > SOME // 2


def test_f2_law_and_round_trip() -> None:
    rng = generator("f2")
    for case in range(SOME):
        layout: Layout | ComposedLayout = power_of_two_layout(rng) if case % 3 == 0 else swizzled_power_of_two(rng)
        matrix = to_f2(layout)
        columns = [sum(row[j] << i for i, row in enumerate(matrix)) for j in range(len(matrix[0]))] if matrix else []
        for x in range(layout.size):
            total = 0
            for j, column in enumerate(columns):
                total ^= column if x >> j & 1 else 0
            assert layout(x) == total
        if not matrix:
            continue
        back = from_f2(matrix)
        assert values(back) == values(layout), (layout, back)
        assert to_f2(back) == matrix
        shaped = from_f2(matrix, layout.shape)
        assert all(shaped(crd) == layout(crd) for crd in natural(layout.shape))


def natural(shape: IntTuple) -> list[tuple[int, ...]]:
    assert isinstance(shape, tuple)
    found: list[tuple[int, ...]] = [()]
    for extent in shape:
        found = [(*crd, x) for crd in found for x in range(product(extent))]
    return found


def test_f2_of_numpy_and_of_a_random_matrix() -> None:
    import numpy as np

    rng = generator("f2 matrices")
    assert from_f2(np.eye(4, dtype=int)) == Layout(16, 1)
    outcomes = [0, 0]
    for _case in range(200):
        size = rng.randint(2, 6)
        rows = [[int(rng.random() < 0.4) for _column in range(size)] for _row in range(size)]
        table = [0]
        for j in range(size):
            column = sum(row[j] << i for i, row in enumerate(rows))
            table += [value ^ column for value in table]
        possible = any(additive([swizzle(v) for v in table]) for swizzle in [Swizzle(0, 0, 0), *swizzles(size)])
        outcomes[possible] += 1
        found = from_f2(rows)
        assert values(found) == table
        assert possible == (not isinstance(found, ComposedLayout) or isinstance(found.outer, Swizzle))
    assert min(outcomes) > 10, outcomes


def additive(table: list[int]) -> bool:
    return all(table[x] == sum(table[1 << j] for j in range(x.bit_length()) if x >> j & 1) for x in range(len(table)))


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (Layout(6), "no power of two"),
        (Layout((4, 2), (1, 2)), "share a bit"),
        (Layout(4, -1), "stride -1"),
        (ComposedLayout(Swizzle(1, 0, 1), 3, Layout(4)), "offset 3"),
        (ComposedLayout(Layout(3, 3), 0, Layout(4)), "chain"),
    ],
)
def test_what_has_no_bit_matrix(layout: Layout | ComposedLayout, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        to_f2(layout)


@pytest.mark.parametrize("rows", [[[1, 0], [1]], [[2, 0], [0, 1]]])
def test_what_is_no_bit_matrix(rows: list[list[int]]) -> None:
    with pytest.raises(LayoutError, match="bit matrix"):
        from_f2(rows)
    with pytest.raises(LayoutError, match="4 coordinates"):
        from_f2([[1, 0], [0, 1]], (4, 4))


def test_the_swizzles_of_the_manuals_are_bijective_and_invert() -> None:
    for swizzle, inner in (
        (Swizzle(3, 4, 3), Layout((8, 128), (128, 1))),
        (Swizzle(2, 4, 3), Layout((8, 64), (64, 1))),
        (Swizzle(1, 4, 3), Layout((8, 32), (32, 1))),
        (Swizzle(3, 3, 3), Layout((64, 8), (1, 64))),
    ):
        layout = ComposedLayout(swizzle, 0, inner)
        assert is_bijective(layout) and layout.cosize == layout.size
        inverse = right_inverse(layout)  # type: ignore[arg-type]
        assert [layout(inverse(i)) for i in range(layout.size)] == list(range(layout.size))
        assert [inverse(layout(i)) for i in range(layout.size)] == list(range(layout.size))


def test_chains() -> None:
    inner = ComposedLayout(Swizzle(1, 0, 2), 3, Layout((4, 2)))
    chain = make_composed_layout(Layout((4, 4), (4, 1)), 1, inner)
    assert isinstance(chain.outer, Chained) and chain.inner == Layout((4, 2))
    assert values(chain) == [Layout((4, 4), (4, 1))(1 + inner(i)) for i in range(8)]  # type: ignore[operator]
    assert chain.cosize == max(values(chain)) + 1
    with pytest.raises(LayoutError, match="inner one a layout"):
        ComposedLayout(Swizzle(1, 0, 1), 0, inner)  # type: ignore[arg-type]


def test_leaves_of_composed_layouts_are_those_of_the_inner() -> None:
    layout = ComposedLayout(Swizzle(1, 0, 2), 0, Layout((4, (2, 2))))
    assert leaves(layout.shape) == (4, 2, 2) and layout.rank == len(layout) == 2 and layout.depth == 2
