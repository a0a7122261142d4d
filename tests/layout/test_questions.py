"""Answers about thread-value layouts: read off the table, the other way round."""

import random

import pytest
from layout.convert_cases import random_pair, table

from cutepy import Layout, make_identity_layout, touched_by, vectorised, who_owns, widest_copy
from cutepy.errors import LayoutError


@pytest.mark.parametrize("seed", range(20))
def test_owners_and_what_they_touch_are_inverse(seed: int) -> None:
    rng = random.Random(f"{seed} owners")
    layout, _other = random_pair(rng, rng.choice(("linear", "copied")), 3, 3)
    tile = (8, 8)
    for thread in range(layout[0].size):
        for value, crd in enumerate(touched_by(layout, thread, tile).crds):
            assert (thread, value) in who_owns(layout, crd, tile).owners
    owned = [owner for element in range(64) for owner in who_owns(layout, element, tile).owners]
    assert len(owned) == len(set(owned)) == layout.size


@pytest.mark.parametrize("seed", range(40))
def test_the_order_makes_accesses_as_wide_as_told_and_none_wider(seed: int) -> None:
    rng = random.Random(f"{seed} vectors")
    layout, _other = random_pair(rng, "permuted", 2, 3)
    memory = Layout((8, 4), rng.choice(((1, 8), (1, 12), (4, 1), (1, 9), (2, 16))))
    found = vectorised(layout, memory)
    rows = [[memory(int(element)) for element in row] for row in table(layout)]
    for count, order in ((found.elements, range(8)), (found.possible, found.order)):
        for row in rows:
            taken = [row[value] for value in order]
            for start in range(0, 8, count):
                assert taken[start : start + count] == list(range(taken[start], taken[start] + count))
                assert taken[start] % count == 0
    for count in (2, 4):
        whole = all({o // count * count + k for o in row for k in range(count)} == set(row) for row in rows)
        aligned = [sorted(range(8), key=row.__getitem__) for row in rows]
        if whole and all(order == aligned[0] for order in aligned):
            assert found.possible >= count
        elif not whole:
            assert found.possible < count and any(f"{4 * count} bytes" in said for said in found.limits)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: who_owns(Layout((4, 4)), (4, 9), (4, 4)), "the tile has no such coordinate"),
        (lambda: who_owns(Layout(16), 0, (4, 4)), "give a layout from"),
        (lambda: touched_by(Layout((4, 4)), 4, (4, 4)), "there are threads 0 to 3"),
        (lambda: touched_by(Layout((4, 5)), 0, (4, 4)), "at lane 0, value 4 it is 16; elements are 0 to 15"),
        (lambda: vectorised(Layout((4, 4)), Layout((4, 4)), element_bytes=3), "element_bytes=3"),
        (lambda: vectorised(Layout((4, 4)), 16), "16 is no layout of known sizes"),
        (lambda: vectorised(Layout((4, 4)), make_identity_layout((4, 4))), "take one axis with axis_layout"),
        (lambda: touched_by(Layout((4, 4)), "a", (4, 4)), "there are threads 0 to 3"),
        (lambda: touched_by(make_identity_layout((4, 4)), 0, (4, 4)), "value 0 it is \\(0, 0\\)"),
        (lambda: who_owns(Layout((4, 4)), 0, (4, "a")), "is no shape of known sizes"),
        (lambda: widest_copy(make_identity_layout((4, 4)), Layout((4, 4)), 4), "take one axis with axis_layout"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()
