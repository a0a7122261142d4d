"""Inverses against exhaustive search that shares no code with them."""

from __future__ import annotations

from itertools import product as every

import pytest
from layout.cases import CASES, factorizations, generator, random_layout, values

from cutepy.errors import LayoutError
from cutepy.layout import Layout, left_inverse, right_inverse
from cutepy.layout.values.int_tuple import leaves
from cutepy.lazy import numpy as np


def largest_right(layout: Layout) -> int:
    """The size of the largest right inverse, by trying every shape with every choice of strides."""
    table = values(layout)
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


def left_exists(layout: Layout) -> bool:
    """Whether some layout inverts, by trying every shape up to the cosize with every stride up to the size."""
    offsets = np.array(values(layout))
    reach = range(-layout.size, layout.size + 1)

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
        inside = ((positions >= 0) & (positions < layout.size)).all(axis=1)
        if (offsets[positions[inside]] == offsets).all(axis=1).any():
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
        assert right_inverse(layout).size == largest_right(layout), layout


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
            assert not left_exists(layout), layout
            outcomes[1] += 1
        else:
            outcomes[0] += 1
    assert min(outcomes) > 3, outcomes


@pytest.mark.parametrize(
    ("layout", "inverse"),
    [
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
