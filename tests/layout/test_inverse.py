"""Inverses against exhaustive search that shares no code with them."""

from __future__ import annotations

from itertools import product as every

import pytest
from layout.cases import CASES, factorizations, generator, random_layout, values

from cutepy.errors import LayoutError
from cutepy.layout import E, Layout, left_inverse, right_inverse, size
from cutepy.layout.values.int_tuple import leaves
from cutepy.lazy import numpy as np


def largest_right(table: list[int | None]) -> int:
    """The size of the largest right inverse of a list of offsets, by trying every shape with every choice of strides;
    an index of None is none that may be given."""
    count = 0
    while count in table:
        count += 1
    for number in range(count, 1, -1):
        for extents in factorizations(number):
            marks = [int(np.prod(extents[:n])) for n in range(len(extents))]
            index = np.arange(number)
            digits = [index // m % e for m, e in zip(marks, extents, strict=True)]
            for strides in every(*([p for p, v in enumerate(table) if v == m] for m in marks)):
                crd = sum(digit * d for digit, d in zip(digits, strides, strict=True))
                if crd.max() < len(table) and all(table[c] == i for i, c in enumerate(crd)):
                    return number
    return 1


def left_exists(table: list[int | None]) -> bool:
    """Whether some layout inverts a list of offsets, by trying every shape with every stride up to the list's length;
    an index of None is none that may be given."""
    offsets = np.array([offset for offset in table if offset is not None])
    numbers = np.array([-1 if offset is None else offset for offset in table])
    reach = range(-len(table), len(table) + 1)

    def shapes(most: int, room: int):
        yield ()
        if room:
            for extent in range(2, most + 1):
                for rest in shapes(-(-most // extent), room - 1):
                    yield (extent, *rest)

    for extents in shapes(int(offsets.max()) + 1, 3):
        if not extents:
            continue
        marks = [int(np.prod(extents[:n])) for n in range(len(extents))]
        digits = [offsets // m % e for m, e in zip(marks[:-1], extents[:-1], strict=True)] + [offsets // marks[-1]]
        grid = np.array(list(every(reach, repeat=len(extents))))
        positions = grid @ np.array(digits)
        inside = ((positions >= 0) & (positions < len(table))).all(axis=1)
        if (numbers[positions[inside]] == offsets).all(axis=1).any():
            return True
    return False


def test_right_inverse_inverts():
    rng = generator("right inverse")
    sizes = []
    for _ in range(CASES):
        layout = random_layout(rng)
        inverse = right_inverse(layout)
        assert [layout(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size)), layout
        sizes.append(inverse.size)
    assert sum(size > 1 for size in sizes) > CASES // 3


def test_right_inverse_is_as_large_as_possible():
    rng = generator("right inverse size")
    for _ in range(CASES // 5):
        layout = random_layout(rng, 24)
        assert right_inverse(layout).size == largest_right(values(layout)), layout


def without(layout: Layout, still: int) -> list[int | None]:
    """The offsets of a flat layout, None where the coordinate along mode `still` is not 0."""
    below = int(np.prod(layout.shape[:still]))
    return [None if index // below % layout.shape[still] else offset for index, offset in enumerate(values(layout))]


def with_mode(layout: Layout, at: int, extent: int, step: object) -> Layout:
    """A flat layout with one mode more in place `at`."""
    shape, stride = leaves(layout.shape), leaves(layout.stride)
    return Layout((*shape[:at], extent, *shape[at:]), (*stride[:at], step, *stride[at:]))


def overlapping(rng, steps) -> Layout:
    """A flat layout of two or three modes with these strides."""
    shape = [rng.choice((2, 2, 3, 4)) for _ in range(rng.choice((2, 3)))]
    return Layout(tuple(shape), tuple(rng.choice(steps) for _ in shape))


def test_a_long_mode_of_stride_0_takes_nothing_from_a_right_inverse():
    rng = generator("right inverse beside stride 0")
    for _ in range(CASES // 4):
        layout = overlapping(rng, (1, 1, 2, 3, -1, 4))
        at = rng.randrange(len(layout) + 1)
        inverse = right_inverse(whole := with_mode(layout, at, 1 << 17, 0))
        assert [whole(inverse(i)) for i in range(inverse.size)] == list(range(inverse.size)), whole
        # However long the mode is: what leaves its coordinate 0 is the same.
        assert inverse.size >= largest_right(without(with_mode(layout, at, 5, 0), at)), whole


def test_a_right_inverse_of_a_large_layout_is_the_largest_chain_of_whole_modes():
    def longest(modes: list[tuple[int, int]], reached: int) -> int:
        steps = [n for n, (_, step) in enumerate(modes) if step == reached]
        return max([reached, *(longest(modes[:n] + modes[n + 1 :], reached * modes[n][0]) for n in steps)])

    rng = generator("right inverse of a large layout")
    for _ in range(CASES):
        modes = [(rng.choice((2, 3, 4, 6)), rng.choice((1, 2, 3, 4, 6, 8, 12, 24))) for _ in range(8)]
        modes.insert(rng.randrange(9), (1 << 17, rng.choice((1, 5, 24))))
        inverse = right_inverse(layout := Layout(*map(tuple, zip(*modes, strict=True))))
        assert inverse.size == longest(modes, 1), layout
        assert all(layout(inverse(i)) == i for i in rng.choices(range(inverse.size), k=50)), layout


def test_inverses_of_coordinates_are_those_of_each_axis_beside_the_others():
    rng = generator("inverses by axis")
    outcomes = [0, 0]
    while min(outcomes) < 3:
        along = overlapping(rng, (1, 2, 3, 4, 5))
        at = rng.randrange(len(along) + 1)
        table = without(with_mode(along, at, 3, 0), at)
        layout = with_mode(Layout(along.shape, tuple(step * E(0) for step in leaves(along.stride))), at, 3, E(1))
        inverse = right_inverse(layout)
        assert all(layout(inverse(c)) == c for c in every(range(size(inverse, 0)), range(3))), layout
        assert size(inverse, 0) == largest_right(table), layout
        if along.size > 8 or along.cosize > 12:
            continue
        try:
            inverse = left_inverse(layout)
        except LayoutError as error:
            assert str(error).startswith("left_inverse(") and not left_exists(table), layout
            outcomes[1] += 1
        else:
            assert all(layout(inverse(layout(i))) == layout(i) for i in range(layout.size)), layout
            outcomes[0] += 1


def test_left_inverse_inverts():
    rng = generator("left inverse")
    outcomes = [0, 0]
    for _ in range(CASES):
        layout = random_layout(rng, 256, rng.choice(("compact", "permuted", "padded", "zeros")))
        try:
            inverse = left_inverse(layout)
        except LayoutError:
            outcomes[1] += 1
            continue
        outcomes[0] += 1
        offsets = values(layout)
        assert [layout(inverse(offset)) for offset in offsets] == offsets, (layout, inverse)
    assert outcomes[0] > CASES // 2 and outcomes[1] > 0, outcomes


def test_left_inverse_is_returned_whenever_there_is_one():
    rng = generator("left inverse exists")
    outcomes = [0, 0]
    while sum(outcomes) < 500:
        shape = rng.choice([(2,), (3,), (4,), (2, 2), (2, 3), (3, 2), (2, 2, 2), (4, 2)])
        layout = Layout(shape, tuple(rng.choice((0, 1, 2, 3, 4, 5, 7)) for _ in shape))
        if layout.cosize > 16:
            continue
        try:
            left_inverse(layout)
        except LayoutError:
            assert not left_exists(values(layout)), layout
            outcomes[1] += 1
        else:
            outcomes[0] += 1
    assert min(outcomes) > 3, outcomes


@pytest.mark.parametrize(
    ("layout", "inverse"),
    [
        (Layout((2, 3, 1 << 30), (5, 3, 0)), "(2,3,2):(3,-1,4)"),
        (Layout((4, 8), (1, 5)), "(5,8):(1,4)"),
        (Layout(4, 2), "(2,4):(0,1)"),
        (Layout((32, 3, 8), (65536, 512, 1)), "(512,128,32):(96,32,1)"),
        (Layout((2, 2), (2, 3)), "(2,3):(1,1)"),
        (Layout((2, 2, 2), (3, 10, 3)), "(2,2,3,2):(-7,8,-3,10)"),
    ],
)
def test_worked_left_inverses(layout, inverse):
    assert str(left_inverse(layout)) == inverse


def test_an_inverse_of_negative_offsets_is_refused_with_the_reason():
    with pytest.raises(LayoutError, match="stride -1 gives offsets below 0"):
        left_inverse(Layout((4, 2), (-1, 4)))


def test_leaves_of_right_inverse_of_overlapping_modes():
    assert leaves(right_inverse(Layout((4, 3), (1, 2))).shape) == (4, 2)


def test_a_search_that_would_not_end_is_cut_off():
    assert right_inverse(Layout((256, 256), (1, 255))).size == 65280
    with pytest.raises(LayoutError, match="overlap in too many ways"):
        right_inverse(Layout((8, 8, 64, 16), (1, 3, 31, 5)))
