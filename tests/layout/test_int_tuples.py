"""Int tuples, coordinates and tiles, wherever CuTe takes them: results of CuTe's, and laws on random ones."""

from __future__ import annotations

from typing import Any

import pytest
from layout.cases import CASES, generator, random_layout, random_shape
from layout.composed_cases import added, any_operand, normal

from cutepy.errors import CoordinateError, CutepyError, LayoutError
from cutepy.layout import (
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    _,
    append,
    ceil_div,
    composition,
    cosize,
    dice,
    elem_less,
    flatten,
    get,
    group_modes,
    idx2crd,
    inner_product,
    is_bijective,
    is_injective,
    is_surjective,
    make_composed_layout,
    make_identity_layout,
    prefix_product,
    prepend,
    product,
    product_each,
    replace,
    select,
    slice_,
    slice_and_offset,
    take,
    unflatten,
)
from cutepy.layout.values.int_tuple import leaves

SWIZZLED = make_composed_layout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
RESULTS: list[tuple[object, object]] = [
    (select((2, 3, 5), 0, 2), (2, 5)),
    (select((2, (3, 7), 5), 1), ((3, 7),)),
    (take((2, 3, 5), 0, 2), (2, 3)),
    (get((2, (3, 5)), 1, 0), 3),
    (flatten(((2, 3), (5, (7,)))), (2, 3, 5, 7)),
    (flatten((E(0), (2 * E(1), 4))), (E(0), 2 * E(1), 4)),
    (flatten((Layout(4), (_, 3))), (Layout(4), _, 3)),
    (flatten(5), 5),
    (unflatten((2, 3, 5), (0, (0, 0))), (2, (3, 5))),
    (append((2, 3), 5), (2, 3, 5)),
    (append((2, 3), (5, 7)), (2, 3, (5, 7))),
    (append((2, 3), 1, 4), (2, 3, 1, 1)),
    (append(2, 3), (2, 3)),
    (prepend((2, 3), 5), (5, 2, 3)),
    (prepend((2, 3), _, 3), (_, 2, 3)),
    (replace((2, 3, 5), 1, (7, 8)), (2, (7, 8), 5)),
    (group_modes((2, 3, 5, 7), 1, 3), (2, (3, 5), 7)),
    (product((2, (3, 5))), 30),
    (product_each((2, (3, 5))), (2, 15)),
    (prefix_product((2, (3, 5))), (1, (2, 6))),
    (inner_product((1, (2, 3)), (4, (5, 6))), 32),
    (inner_product((2, 3), (E(0), 4 * E(1))), (2, 12)),
    (ceil_div((4, 8), 2), (2, 8)),
    (ceil_div((4, 8), 8), (1, 4)),
    (ceil_div((3, 8), 5), (1, 4)),
    (idx2crd((1, 5), (3, (2, 3))), (1, (1, 2))),
    (idx2crd((1, (1, 2)), (3, (2, 3))), (1, (1, 2))),
    (idx2crd(11, (3, (2, 3))), (2, (1, 1))),
    (elem_less((3, 4), (5, 6)), True),
    (elem_less((3, 7), (5, 6)), False),
    (elem_less((3, (4, 1)), (5, (6, 1))), False),
    (elem_less(3, 4), True),
    (elem_less((3,), (4, 0)), True),
    (elem_less((3, 4), (4,)), False),
    (cosize(Layout((2, 3), (E(0), E(1)))), 6),
    (dice((1, _), Layout((4, 8))), Layout((4,), (1,))),
    (slice_((1, _), Layout((4, 8))), Layout((8,), (4,))),
    (slice_(1, Layout((4, 8))), Layout((), ())),
    (dice((1, _), SWIZZLED), make_composed_layout(Swizzle(3, 3, 3), 0, Layout((8,), (64,)))),
    (slice_((1, _), SWIZZLED), SWIZZLED(1, _)),
    (slice_and_offset((1, _), SWIZZLED), (SWIZZLED(1, _), 0)),
    (composition(Swizzle(3, 3, 3), SWIZZLED.inner), SWIZZLED),
]


@pytest.mark.parametrize(("found", "expected"), RESULTS, ids=[str(number) for number in range(len(RESULTS))])
def test_results_are_those_of_cute(found: object, expected: object) -> None:
    assert found == expected and repr(found) == repr(expected)


@pytest.mark.parametrize("call", ["select((2,3),5)", "get((2,3),0,0,1)", "take((2,3),1,1)", "group_modes((2,3),0,9)",
    "replace((2,3),7,1)", "unflatten((2,3),0)", "append((2,3),5,1.5)", "elem_less((1,2),3)", "idx2crd((1,2),(3,))",
    "idx2crd((1,2),3)", "inner_product((1,2),(1,))", "ceil_div((4,8),0)", "elem_less(1.5,'a')"])  # fmt: skip
def test_what_does_not_fit_is_a_clear_error(call: str) -> None:
    names = globals()
    with pytest.raises(CutepyError) as caught:
        eval(call, dict(names))
    assert call.split("(")[0] in str(caught.value) or "mode" in str(caught.value)


def test_a_tuple_is_rearranged_as_a_shape_is() -> None:
    """What an operation makes of the tuple is the shape of what it makes of the layout, whose strides go along."""
    rng = generator("int tuples")
    for _case in range(CASES):
        tree: Any = random_shape(rng, depth=3)
        layout = Layout(tree, _numbered(tree))
        rank = layout.rank
        mode, other = rng.randrange(rank), random_shape(rng)
        begin = rng.randrange(rank)
        end = rng.randint(begin + 1, rank)
        new = Layout(other, _numbered(other))
        assert flatten(tree) == flatten(layout).shape
        assert get(tree, mode) == get(layout, mode).shape
        assert select(tree, mode, begin) == select(layout, mode, begin).shape
        ways = select(layout, mode, begin - layout.rank, mode)
        assert list(ways) == [layout[mode], layout[begin - layout.rank], layout[mode]]
        assert take(tree, begin, end) == take(layout, begin, end).shape
        assert group_modes(tree, begin, end) == group_modes(layout, begin, end).shape
        assert append(tree, other) == append(layout, new).shape
        assert prepend(tree, other) == prepend(layout, new).shape
        assert replace(tree, mode, other) == replace(layout, mode, new).shape


def _numbered(tree: Any) -> Any:
    return tuple(map(_numbered, tree)) if isinstance(tree, tuple) else 1


def test_a_coordinate_is_taken_apart_where_it_is_an_index() -> None:
    rng = generator("coordinates of coordinates")
    for _case in range(CASES):
        shape: Any = random_shape(rng)
        layout = Layout(shape)
        index = rng.randrange(layout.size)
        full: Any = idx2crd(index, shape)
        assert layout(full) == index and idx2crd(full, shape) == full
        if isinstance(shape, tuple):
            partly = tuple(
                Layout(entry)(part) if rng.random() < 0.5 else part for entry, part in zip(shape, full, strict=True)
            )
            assert idx2crd(partly, shape) == full
            assert elem_less(full, tuple(_tops(entry) for entry in shape))


def _tops(entry: Any) -> Any:
    return tuple(map(_tops, entry)) if isinstance(entry, tuple) else entry


def test_slices_and_dices_of_every_layout() -> None:
    """A slice with its offset gives the offsets of the coordinates that it keeps; a dice those that it leaves."""
    rng = generator("slices and dices")
    for _case in range(CASES):
        plain = random_layout(rng)
        layout: Any = plain if rng.random() < 0.4 else any_operand(rng)
        if not isinstance(layout.shape, tuple):
            continue
        crd: Any = tuple(_ if rng.random() < 0.5 else rng.randrange(mode.size) for mode in layout)
        kept, start = slice_and_offset(crd, layout)
        left = dice(crd, layout)
        assert slice_(crd, layout) == kept
        first = tuple(0 if entry is _ else entry for entry in crd)
        numbers = tuple(entry for entry in crd if entry is not _)
        assert kept.size * left.size == layout.size
        if isinstance(layout, Layout):
            assert normal(start) == normal(layout(first))
        assert normal(left(numbers)) == normal(layout(first))
        for _point in range(4):
            point = tuple(
                rng.randrange(mode.size) if entry is _ else entry for entry, mode in zip(crd, layout, strict=True)
            )
            moving = tuple(entry for entry, kind in zip(point, crd, strict=True) if kind is _)
            assert normal(added(kept(moving), start)) == normal(layout(point))


def test_a_swizzle_composes_from_both_sides() -> None:
    rng = generator("swizzles from both sides")
    for _case in range(CASES // 3):
        bits, base = rng.randint(0, 3), rng.randint(0, 3)
        swizzle = Swizzle(bits, base, rng.choice((1, -1)) * rng.randint(bits, 4))
        layout: Any = random_layout(rng) if rng.random() < 0.6 else any_operand(rng)
        if layout.size > 512:
            continue
        try:
            after: Any = composition(swizzle, layout)
        except LayoutError:
            after = None
        if after is not None:
            assert [after(i) for i in range(layout.size)] == [swizzle(layout(i)) for i in range(layout.size)]
        try:
            before: Any = composition(layout, swizzle)
        except LayoutError:
            continue
        assert before.size == layout.size
        assert [before(i) for i in range(layout.size)] == [layout(swizzle(i)) for i in range(layout.size)]


def test_questions_about_basis_strides_are_answered_by_their_coordinates() -> None:
    rng = generator("questions about coordinates")
    for _case in range(CASES // 3):
        shape: Any = random_shape(rng, 48, depth=2, rank=3)
        steps = [rng.choice((0, 1, 1, 2, 3)) * E(rng.randrange(2)) for _leaf in leaves(shape)]
        layout: Any = unflatten(Layout(leaves(shape), tuple(steps)), shape)  # type: ignore[arg-type]
        found = [leaves(layout(i)) for i in range(layout.size)]
        coordinates = {((*crd, 0, 0))[:2] for crd in found}
        assert is_injective(layout) == (len(coordinates) == layout.size)
        spans = [{crd[axis] for crd in coordinates} for axis in (0, 1)]
        box = (max(spans[0]) + 1) * (max(spans[1]) + 1)
        assert cosize(layout) == box
        assert is_bijective(layout) == (len(coordinates) == layout.size == box)
        assert is_surjective(layout) == (len(coordinates) == box)


def test_a_coordinate_may_be_the_offset_of_a_composed_layout() -> None:
    layout = Layout.parse("(6,2):(1,3) o (2,1) o (2,3):(1@1,2@0)")
    assert isinstance(layout, ComposedLayout) and layout.offset == (2, 1)
    assert str(layout) == "(6,2):(1,3) o (2,1) o (2,3):(1@1,2@0)" and Layout.parse(repr(layout)) == layout
    outer = Layout((6, 2), (1, 3))
    assert [layout(i, j) for i in range(2) for j in range(3)] == [
        outer(2 + 2 * j, 1 + i) for i in range(2) for j in range(3)
    ]
    assert layout.offsets().tolist() == [[layout(i, j) for j in range(3)] for i in range(2)]
    assert [layout(1, _)(j) for j in range(3)] == [layout(1, j) for j in range(3)]
    assert layout.cosize == max(layout(i) for i in range(6)) + 1
    moved = make_composed_layout(Layout((6, 8)), 0, make_identity_layout((4, 4)))(3, _)
    assert [moved(j) for j in range(4)] == [3 + 6 * j for j in range(4)]
    assert make_composed_layout(Layout((6, 8)), (0, 0), make_identity_layout((4, 4))).offset == 0
    with pytest.raises(LayoutError, match="coordinates"):
        make_composed_layout(Layout((6, 8)), (1, 0), Layout(4))
    with pytest.raises(LayoutError, match="coordinates"):
        make_composed_layout(Swizzle(3, 3, 3), 0, make_identity_layout((4, 4)))
    with pytest.raises((LayoutError, CoordinateError)):
        make_composed_layout(Layout((6, 8)), 2, make_identity_layout((4, 4)))
