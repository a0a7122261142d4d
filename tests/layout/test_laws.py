"""The laws of the algebra, each over random layouts and against brute force that shares no code with it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from layout.cases import CASES, composition_exists, generator, random_layout, random_operand, values, vast_layout

from cutepy.errors import CompositionError, LayoutError
from cutepy.layout import (
    Layout,
    Swizzle,
    coalesce,
    compatible,
    complement,
    composition,
    logical_divide,
    logical_product,
)
from cutepy.layout.values.int_tuple import leaves


def test_coalesce_keeps_the_function_and_is_shortest():
    rng = generator("coalesce")
    for _ in range(CASES):
        layout = random_layout(rng)
        short = coalesce(layout)
        assert short.depth <= 1 and short.size == layout.size
        assert values(short) == values(layout), layout
        extents, steps = leaves(short.shape), leaves(short.stride)
        pairs = zip(extents, steps, extents[1:], steps[1:], strict=False)
        assert all(e != 1 and f != 1 and d * e != c for e, d, f, c in pairs), (layout, short)


@pytest.mark.parametrize("draw", [random_layout, vast_layout])
def test_composition_is_composition_whenever_there_is_one(draw):
    rng = generator("composition")
    outcomes = {"composed": 0, "refused": 0}
    for _ in range(CASES):
        outer = draw(rng)
        inner = random_operand(rng, outer)
        try:
            result = composition(outer, inner)
        except CompositionError as error:
            outcomes["refused"] += 1
            assert not composition_exists(outer, inner), (outer, inner)
            here, led_to = error.values
            assert outer(inner(error.witness)) == here != led_to, (outer, inner)
            continue
        outcomes["composed"] += 1
        assert compatible(inner, result), (outer, inner, result)
        assert values(result) == [outer(inner(i)) for i in range(inner.size)], (outer, inner, result)
    assert min(outcomes.values()) > CASES // 10, outcomes


def test_an_at_sign_is_composition_of_maps_and_of_nothing_else():
    rng = generator("at")
    for _ in range(100):
        outer = rng.choice([random_layout(rng), Swizzle(2, 0, 3)])
        inner = random_operand(rng, outer) if isinstance(outer, Layout) else random_layout(rng)
        try:
            expected = composition(outer, inner)
        except CompositionError as error:
            with pytest.raises(CompositionError, match=re.escape(str(error).partition("\n")[0])):
                outer @ inner
        else:
            assert outer @ inner == expected
    assert Layout((4, 2)) @ (2, 4) == composition(Layout((4, 2)), (2, 4))  # a tiler, mode by mode
    for other in ("2:4", None):
        with pytest.raises(TypeError, match="unsupported operand"):
            Layout((4, 2)) @ other


def test_complement_is_ordered_disjoint_and_covers():
    rng = generator("complement")
    made = 0
    for _ in range(CASES):
        layout = random_layout(rng, 128)
        target = rng.randint(1, 600)
        pairs = sorted((d, s) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if s > 1 and d)
        chain = [1, *(d * s for d, s in pairs)]
        overlaps = any(d < reach for (d, _), reach in zip(pairs, chain, strict=False))
        try:
            rest = complement(layout, target)
        except LayoutError:
            assert overlaps, (layout, target)
            continue
        made += 1
        assert not overlaps
        shifts = values(rest)
        assert all(a < b for a, b in pairwise(shifts)), (layout, target, rest)
        image = set(values(layout))
        reached = [offset + shift for shift in shifts for offset in image]
        assert len(set(reached)) == len(reached), (layout, target, rest)
        if all(d % reach == 0 for (d, _), reach in zip(pairs, chain, strict=False)):
            assert set(range(target)) <= set(reached), (layout, target, rest)
    assert made > CASES // 4


def test_divide_is_composition_with_the_tile_and_its_complement():
    rng = generator("divide")
    made = 0
    for _ in range(CASES):
        layout = random_layout(rng)
        tile = random_operand(rng, layout) if rng.random() < 0.7 else Layout(rng.choice((1, 2, 3, 4, 6, 8)), 1)
        try:
            divided = logical_divide(layout, tile)
        except LayoutError:
            continue
        made += 1
        rest = complement(tile, layout.size)
        index = Layout((tile.shape, rest.shape), (tile.stride, rest.stride))
        assert divided.size == layout.size
        assert values(divided) == [layout(index(i)) for i in range(index.size)], (layout, tile)
        assert sorted(values(divided)) == sorted(values(layout)), (layout, tile)
    assert made > CASES // 5


def test_divide_is_refused_only_where_it_must_be():
    rng = generator("divide refused")
    refused = 0
    for _ in range(CASES):
        layout = random_layout(rng, 128)
        tile = random_operand(rng, layout)
        try:
            logical_divide(layout, tile)
        except LayoutError:
            refused += 1
            try:
                rest = complement(tile, layout.size)
            except LayoutError:
                continue
            whole = Layout((tile.shape, rest.shape), (tile.stride, rest.stride))
            partition = whole.size == layout.size and sorted(values(whole)) == list(range(layout.size))
            assert not partition or not composition_exists(layout, whole), (layout, tile)
    assert refused > CASES // 20


def test_product_repeats_the_block_disjointly_in_the_tilers_order():
    rng = generator("product")
    made = 0
    for _ in range(CASES):
        block, tiler = random_layout(rng, 32), random_layout(rng, 16)
        try:
            whole = logical_product(block, tiler)
        except LayoutError:
            continue
        made += 1
        assert whole[0] == block
        copies = values(whole[1])
        assert compatible(tiler, whole[1])
        image = set(values(block))
        distinct = sorted(set(copies))
        reached = [copy + offset for copy in distinct for offset in image]
        assert len(set(reached)) == len(reached), (block, tiler, whole)
        ranks = values(tiler)
        for i in range(1, len(copies)):
            assert (copies[i] > copies[0]) == (ranks[i] > ranks[0]) and (copies[i] == copies[0]) == (
                ranks[i] == ranks[0]
            )
    assert made > CASES // 10


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (Layout((10, 2), (16, 4)), Layout((5, 4), (1, 5)), "(5,(2,2)):(16,(80,4))"),
        (Layout((4, 2, 8), (3, 12, 97)), Layout(3, 3), "3:9"),
        (Layout((4, 3), (3, 1)), Layout(24, 1), "(4,6):(3,1)"),
        (Layout((6, 2), (8, 2)), Layout(12, 1), "(6,2):(8,2)"),
    ],
)
def test_worked_compositions(outer, inner, expected):
    assert str(composition(outer, inner)) == expected


def test_the_refusal_says_what_where_and_what_works():
    with pytest.raises(CompositionError) as caught:
        composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    assert caught.value.witness == (2, 1) and caught.value.values == (8, 7) and caught.value.clause == "carry"
    text = str(caught.value)
    assert "(6,2):(1,7) o (3,2):(2,3) is not a layout: at (2,1) it is 8, its modes add up to 4 + 3 = 7" in text
    assert "(3,2):(2,6)" in text.partition("Right operands that work: ")[2]


def test_a_stride_askew_is_refused_with_its_clause():
    with pytest.raises(CompositionError) as caught:
        composition(Layout((4, 6, 8), (2, 3, 5)), Layout(6, 3))
    assert caught.value.clause == "stride"
    with pytest.raises(CompositionError) as caught:
        composition(Layout((4, 8), (8, 1)), Layout(6, 1))
    assert caught.value.clause == "shape" and caught.value.witness == 4
