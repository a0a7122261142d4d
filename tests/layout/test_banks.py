"""Bank conflicts and transactions equal a count byte by byte."""

from __future__ import annotations

import random

import pytest
from layout.bank_cases import perfect_rounds, random_access, random_wide_access, segments, ways

from cutepy.errors import LayoutError
from cutepy.layout import E, Layout, Swizzle, bank_conflicts, make_composed_layout, parse_layout, transactions
from cutepy.layout.algebra.banks import ConflictWitness, fetched


@pytest.mark.parametrize("make", [random_access, random_wide_access])
def test_random_accesses_cost_what_is_counted_byte_by_byte(make: object) -> None:
    pick = random.Random(1)
    for _ in range(150):
        access = make(pick)  # type: ignore[operator]
        found = bank_conflicts(access.layout, access.each, access.wide, access.lanes, access.banks)
        assert list(found.phases) == ways(access), access
        assert found.perfect == perfect_rounds(access) and found.ways == max(ways(access))
        touched = transactions(access.layout, access.each, access.wide, access.lanes, access.segment)
        assert list(touched.each) == [entry[0] for entry in segments(access)], access
        assert touched.perfect == sum(entry[1] for entry in segments(access))


def test_a_witness_is_true_and_as_wide_as_the_conflict() -> None:
    pick = random.Random(2)
    seen = 0
    for _ in range(300):
        access = random_access(pick)
        found = bank_conflicts(access.layout, access.each, None, access.lanes, access.banks)
        assert (found.witness is None) == (found.ways == 1)
        if found.witness:
            seen += 1
            assert len(set(found.witness.words)) == found.ways == len(found.witness.lanes)
            firsts = access.firsts()[found.witness.access]
            for lane, word in zip(found.witness.lanes, found.witness.words, strict=True):
                assert word % access.banks == found.witness.bank
                assert set(range(firsts[lane], firsts[lane] + access.each)) & set(range(4 * word, 4 * word + 4))
    assert seen > 100


def test_the_cases_that_people_ask_about() -> None:
    rows = Layout((32, 32), (32, 1))
    assert (bank_conflicts(rows).ways, bank_conflicts(Layout((32, 32), (33, 1))).ways) == (32, 1)
    assert bank_conflicts(make_composed_layout(Swizzle(5, 0, 5), 0, rows)).ways == 1
    assert bank_conflicts(rows).witness == ConflictWitness(0, 0, tuple(range(32)), tuple(range(0, 1024, 32)))
    matrix = Layout((8, 8), (64, 1))  # eight rows of 16 bytes, as ldmatrix reads them
    assert bank_conflicts(matrix, 2, 16).phases == (8,)
    assert bank_conflicts(make_composed_layout(Swizzle(3, 3, 3), 0, matrix), 2, 16).phases == (1,)
    assert str(bank_conflicts(Layout(32, 0))) == "no conflict, 1 rounds for 1 phases"


def test_bytes_that_two_lanes_want_are_counted_once() -> None:
    assert list(fetched([0, 8, 24, None, 24], 16, 32, 32)) == [(2, 2)]
    assert list(fetched([0, 8], 16, 32, 8)) == [(3, 3)] and list(fetched([0, 16], 16, 32, 8)) == [(4, 4)]


@pytest.mark.parametrize(
    ("layout", "options", "words"),
    [
        (Layout((32, 3), (4, 1)), {"access_bytes": 16}, "3 values of 4 bytes are no whole accesses of 16"),
        (Layout((32, 4), (5, 1)), {"access_bytes": 16}, "begins at a multiple"),
        (Layout((32, 4), (4, 2)), {"access_bytes": 16}, "takes neighbours"),
        (Layout(32), {"access_bytes": 6}, "no whole number of elements"),
        (Layout(32), {"banks": 0}, "banks=0"),
        (Layout(32), {"element_bytes": 2.0}, "element_bytes=2.0"),
        (Layout(1 << 21), {}, "slice it"),
        (Layout((4, 8), (E(0), E(1))), {}, "elements are numbers"),
        ("(4,8):(1,M)", {}, "no layout of known sizes"),
        ("(M,8)", {}, "no layout of known sizes"),
        ((4, 8), {}, "no layout of known sizes"),
    ],
)
def test_what_cannot_be_counted_is_refused(layout: object, options: dict[str, int], words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        bank_conflicts(parse_layout(layout) if isinstance(layout, str) else layout, **options)  # type: ignore[arg-type]
