"""The exactness theorem on every 499th case of its domains; `tools/exactness.py` runs all."""

from itertools import islice

import pytest
import z3
from layout.exactness import THEOREMS, chains, complements, composes, fewest_modes, rising, small, table

from cutepy import Layout

#: Every so many-th case is tried here; 499 is prime to the periods of the domains.
PART = 499


@pytest.mark.parametrize("name", THEOREMS)
def test_a_part_of_each_domain(name: str) -> None:
    theorem = THEOREMS[name]
    cases = list(islice(theorem.cases(), 0, None, PART))
    assert [case for case in cases if not theorem.holds(*case)] == [] and len(cases) > 30


def test_the_judges_know_layouts_from_other_functions() -> None:
    assert table(((2, 3), (3, 10))) == (0, 3, 10, 13, 20, 23) == tuple(Layout((2, 3), (3, 10)).offsets().T.flat)
    assert {*chains(8)} == {(1, 8), (1, 2, 8), (1, 4, 8), (1, 2, 4, 8)}
    assert {*rising(4)} == {(1, 4), (1, 2, 8), (1, 3, 12)}
    assert [fewest_modes(offsets) for offsets in ((0, 2, 4), (0, 1, 5, 6), (0, 1, 3), (1, 2))] == [1, 2, None, None]
    assert len({*small(4, 2, 2)}) == len([*small(4, 2, 2)]) == 4 * 2 + 8 * 4


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layout.exactness.composition", lambda outer, inner: inner)
    assert not composes(((4, 3),), ((2, 1),))
    monkeypatch.setattr("layout.exactness.complement", lambda layout, target: Layout(1))
    assert not complements(((2, 2),), 4)


d, e, f, i, q, r, s, t, p, u = z3.Ints("d e f i q r s t p u")
#: Steps of the argument for all sizes, over the integers: names, premises and conclusion.
LEMMAS = {
    "a quotient and a remainder are one pair": (
        [s > 0, 0 <= r, r < s, 0 <= t, t < s, q * s + r == p * s + t],
        z3.And(q == p, r == t),
    ),
    "modes merge where the second goes on as the first": ([i == q * s + r], r * d + q * (s * d) == i * d),
    "modes that do not go on break where the first ends": ([s > 1, e != s * d], s * d != e),
    "a leaf whose step divides a radix fills its digit": (
        [d > 0, s > 0, t > 0, s == t * d, i == q * t + r, 0 <= r, r < t],
        z3.And(i * d == q * s + r * d, 0 <= r * d, r * d < s),
    ),
    "a leaf whose step is a multiple of a radix leaves its digit 0": ([s > 0, d == s * e], i * d == (i * e) * s),
    "digits whose sum stays below the radix do not carry": (
        [s > 0, i == q * s + r, u == p * s + t, 0 <= r, 0 <= t, r + t < s],
        z3.And(i + u == (q + p) * s + (r + t), 0 <= r + t),
    ),
    "one carry between modes that do not merge is not additive": (
        [s > 0, 0 <= r, r < s, 0 <= t, t < s, r + t >= s, e != s * d],
        (r + t - s) * d + e != r * d + t * d,
    ),
    "a stride of a whole number of spans tiles": (
        [f > 0, p > 0, s == p * f, 0 <= r, r < f, 0 <= q, q < p, 0 <= i],
        z3.And((i * p + q) * f + r == i * s + q * f + r, q * f + r < s),
    ),
}


@pytest.mark.parametrize("name", LEMMAS)
def test_z3_proves_the_lemma(name: str) -> None:
    premises, conclusion = LEMMAS[name]
    solver = z3.SolverFor("QF_NIA")
    solver.set("timeout", 20_000)
    solver.add(*premises)
    assert solver.check() == z3.sat, "the premises hold somewhere"
    solver.add(z3.Not(conclusion))
    assert solver.check() == z3.unsat
