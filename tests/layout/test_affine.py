"""Bounds of sums of terms hold, and questions about them are answered as the bounds would be.

The judge is enumeration: every value of the atoms, and the limits looked at one by one.
"""

from itertools import product
from random import Random

import pytest

from cutepy.layout.affine import Affine

ATOMS = "xyz"


def random_sum(random: Random) -> Affine[str, int]:
    terms = {atom: random.choice([-3, -2, -1, 1, 2, 4]) for atom in ATOMS if random.random() < 0.7}
    return Affine(terms, random.randint(-6, 6))


def value(sum_: Affine[str, int], at: dict[str, int]) -> int:
    return sum_.constant + sum(c * at[atom] for atom, c in sum_.terms.items())


@pytest.mark.parametrize("seed", range(60))
def test_bounds_hold_where_the_limits_do(seed: int) -> None:
    random = Random(seed)
    form, limits = random_sum(random), [random_sum(random) for _ in range(random.randint(0, 4))]
    ends = {atom: (low := random.randint(-3, 3), low + random.randint(0, 4)) for atom in ATOMS}
    places = [dict(zip(ATOMS, p, strict=True)) for p in product(*(range(a, b + 1) for a, b in ends.values()))]
    values = [value(form, at) for at in places if all(value(limit, at) <= 0 for limit in limits)]
    upper, lower = form.upper(ends.__getitem__, limits), form.lower(ends.__getitem__, limits)
    assert all(lower <= v <= upper for v in values)
    assert upper <= form.interval(ends.__getitem__)[1] and lower >= form.interval(ends.__getitem__)[0]
    for number in range(min(lower, upper) - 2, max(lower, upper) + 3):
        assert form.at_most(number, ends.__getitem__, limits) is (upper <= number)
        assert form.at_least(number, ends.__getitem__, limits) is (lower >= number)
