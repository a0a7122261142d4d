"""Layouts found from accesses: free of conflicts, as told, or the best there is."""

from dataclasses import replace

import pytest
from layout.cases import cases
from layout.find_cases import (
    judged,
    judged_any_extents,
    judged_certificate,
    judged_padded,
    judged_padded_modes,
    judged_small,
    rounds,
)

from cutepy import (
    Layout,
    Swizzle,
    bank_conflicts,
    composition,
    conflict_free,
    make_composed_layout,
    parse_layout,
    product,
)
from cutepy.errors import LayoutError
from cutepy.layout.algebra.conflict_free import Found, TileAccesses


@pytest.mark.parametrize("kind", ["permuted", "linear"])
def test_random_accesses(kind: str) -> None:
    said = [judged(seed, kind, count, most_bits=10) for seed in range(cases(8)) for count in (2, 3)]
    said += [judged(seed, kind, 2, same_width=True, most_bits=10) for seed in range(cases(8))]
    assert not any(said), "\n".join(filter(None, said))


@pytest.mark.parametrize("kind", ["permuted", "linear"])
def test_three_accesses_of_a_small_tile_against_every_layout(kind: str) -> None:
    said = [judged_small(seed, kind) for seed in range(cases(13))]
    assert not any(said), "\n".join(filter(None, said))


def test_padding_is_the_smallest() -> None:
    said = [judged(seed) for seed in range(cases(20)) for judged in (judged_padded, judged_padded_modes)]
    assert not any(said), "\n".join(filter(None, said))


def test_extents_that_are_no_powers_of_two_take_no_more_memory_where_a_swizzle_does_it() -> None:
    said = [judged_any_extents(seed) for seed in range(cases(6))]
    assert not any(said), "\n".join(filter(None, said))
    found = conflict_free((24, 48), [Layout((24, 48)), Layout((48, 24), (24, 1))])
    assert found.free and found.layout.cosize == 24 * 48


def test_three_lines_of_a_plane_have_no_common_complement() -> None:
    """Bits a, b and a ^ b: a bank bit that sees the first two does not see the third."""
    lines = [
        Layout((2, 2), (1, 2)),
        Layout((2, 2), (2, 1)),
        make_composed_layout(Swizzle(1, 0, 1), 0, Layout((2, 2), (2, 1))),
    ]
    found = conflict_free((2, 2), lines, lanes=2, banks=2)
    assert not found.free and sorted(found.ways) == [1, 1, 2] and "every choice" in found.certificate


@pytest.mark.parametrize("k", [16, 32, 64])
def test_canonical_layouts_are_derived(k: int) -> None:
    """What CUTLASS's SW32, SW64 and SW128 are for: 16-byte stores along k, and ldmatrix, 8 rows of 16 bytes at once."""
    rows, chunks = 64, k // 8
    stores = Layout(((chunks, 32 // chunks), (8, rows * chunks // 32)), ((8, k), (1, 32 // chunks * k)))
    matrices = Layout((8, (8, (chunks, rows // 8))), (k, (1, (8, 8 * k))))
    found = conflict_free((k, rows), [stores, matrices], element_bytes=2, access_bytes=16)
    assert found.free and found.ways == (1, 1)
    canonical = make_composed_layout(Swizzle(chunks.bit_length() - 1, 3, 3), 0, Layout((k, rows)))
    for access in (stores, matrices):
        assert rounds(canonical, access, 2, 16, 32) == rounds(found.layout, access, 2, 16, 32) == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: conflict_free((8, 8), [Layout((8, 8), (1, 9))]), "lane 1, value 7 it is 64"),
        (lambda: conflict_free((8, 8), [Layout(8, -1)]), "elements are 0 to 63"),
        (lambda: conflict_free((8, 8), [Layout((8, 8), (8, 1))], access_bytes=6), "no whole number of elements"),
        (lambda: conflict_free((8, 8), [Layout((8, 8), (8, 1))], access_bytes=0), "no whole number of elements"),
        (lambda: conflict_free((8, 8), [Layout((8, 8), (8, 1))], access_bytes=[4, 4]), "2 access_bytes for 1"),
        (lambda: conflict_free((8, 8), [Layout(8)], access_bytes=16), "no whole accesses of 4"),
        (
            lambda: conflict_free((8, 8), [Layout((8, 8), (1, 8)), Layout((8, 8), (8, 1))], access_bytes=16),
            "cannot be neighbours",
        ),
        (lambda: conflict_free((8, 8), []), "give a list of accesses"),
        (lambda: conflict_free((8, 8), Layout(8)), "give a list of accesses"),
        (lambda: conflict_free((8, 8), ["8:1"]), "no layout of known sizes"),
        (lambda: conflict_free(Layout.parse("(n,8)").shape, [Layout(8)]), "put values in for unknown"),
        (lambda: conflict_free((1 << 12, 1 << 12), [Layout(8)]), "choose a smaller tile"),
        (lambda: conflict_free((8, 8), [Layout(8)], lanes=0), "lanes=0"),
        (lambda: conflict_free((8, 8), [Layout(8)], lanes=2048), "lanes=2048; a whole number from 1 to 1024"),
        (lambda: conflict_free((8, 8), [Layout.parse("(n,8)")]), "no layout of known sizes"),
        (lambda: conflict_free((8, 8), [Layout((1 << 10, 1 << 10))]), "at most 65536 are looked at; slice it"),
    ],
)
def test_bad_input(call, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        call()


def test_what_is_found_is_what_is_counted() -> None:
    rows, columns = Layout((32, 32), (1, 32)), Layout((32, 32), (32, 1))
    for pad in (False, True):
        found = conflict_free((32, 32), [rows, columns], pad=pad)
        for access in (rows, columns):
            assert bank_conflicts(composition(found.layout, access)).ways == 1 == rounds(found.layout, access, 4, 4, 32)


@pytest.mark.parametrize("shape", [32, (32,), (48,), (2,), (7,), (64,)])
@pytest.mark.parametrize("pad", [False, True])
def test_a_tile_of_one_mode_has_no_pitch(shape: int | tuple[int], pad: bool) -> None:
    """Nothing follows its mode, so nothing is padded: neighbours are free of conflicts as they are."""
    count = product(shape)
    found = conflict_free(shape, [Layout((count, 1))], pad=pad)
    assert found.layout == Layout(shape) and found.free
    found.check()
    strided = conflict_free(shape, [Layout((max(1, count // 2), 1), (2, 1))], pad=pad)
    assert not pad or strided.layout == Layout(shape)


def test_a_claim_about_no_accesses_is_checked_too() -> None:
    nothing = Found(Layout((4, 8)), (), True, "", TileAccesses((), 4, 32, 32))
    nothing.check()
    for wrong in (replace(nothing, ways=(1,)), replace(nothing, layout=Layout((4, 8), (1, 3)))):
        with pytest.raises(LayoutError):
            wrong.check()


def test_after_the_worst_access_the_sum_is_least() -> None:
    """Fault 3 of the review of the algebra: "none has fewer", and a better assignment of the same worst access."""
    texts = "(2,(2,2)):(4,(2,1))", "F2<1,3,7> o 0 o (2,4):(1,2)", "F2<3,7,2> o 0 o (2,4):(1,2)"
    accesses = [parse_layout(text) for text in (*texts, "S<1,0,2> o 0 o (2,(2,2)):(2,(4,1))")]
    found = conflict_free((2, 4), accesses, lanes=2, banks=2)
    assert sorted(found.ways) == [1, 1, 1, 2] and "every choice of bank bits" in found.certificate
    assert [bank_conflicts(composition(found.layout, a), lanes=2, banks=2).ways for a in accesses] == list(found.ways)


@pytest.mark.parametrize("shape", [(3, 2, 2, 2, 4), (3, 1, 2, 1, 2, 2, 4), (3, 1, 8, 1, 4)])
def test_what_is_taken_at_once_may_lie_along_the_last_of_many_modes(shape: tuple[int, ...]) -> None:
    """Fault 4: 24 orders of five modes all begin with mode 0."""
    found = conflict_free(shape, [Layout((24, 4), (1, 24))], access_bytes=16)
    assert found.free and found.ways == conflict_free((24, 4), [Layout((24, 4), (1, 24))], access_bytes=16).ways
    assert bank_conflicts(composition(found.layout, Layout((24, 4), (1, 24))), access_bytes=16).ways == 1


@pytest.mark.parametrize("slice_", range(4))
def test_a_certificate_holds_and_its_mutants_do_not(slice_: int) -> None:
    wrong = [said for seed in range(75 * slice_, 75 * slice_ + 75) if (said := judged_certificate(seed))]
    assert not wrong, wrong[:3]
