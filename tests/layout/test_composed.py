"""Layouts with something outside: every operation is exact or refused, and the docs say which."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy
from layout.cases import cases, generator, random_layout
from layout.kind_cases import COLUMNS, KINDS, LAWS, REFUSALS, UNKNOWN, refusal, tried
from layout.test_tuple_laws import LAWS as TUPLE_LAWS

import cutepy.layout as algebra
from cutepy.errors import CoordinateError, CutepyError, LayoutError, UndecidedError
from cutepy.layout import (
    E,
    Layout,
    Swizzle,
    _,
    append,
    coalesce,
    complement,
    composition,
    coshape,
    cosize,
    downcast,
    evenly_divides,
    explain,
    get,
    idx2crd,
    is_bijective,
    is_contiguous,
    is_injective,
    is_surjective,
    left_inverse,
    logical_divide,
    make_composed_layout,
    make_identity_layout,
    make_layout,
    make_layout_like,
    max_common_vector,
    parse_layout,
    recast_layout,
    replace,
    right_inverse,
    size,
    slice_and_offset,
    stride,
    tile_to_shape,
    upcast,
    zipped_divide,
)
from cutepy.layout.algebra import search
from cutepy.layout.algebra.operation import OPERATIONS, operation

EACH = cases(14)
PAGE = Path(__file__).parents[2] / "docs" / "algebra" / "kinds.md"
S = make_composed_layout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
I = make_identity_layout((4, 8))
N = sympy.Symbol("N", integer=True, positive=True)


ALWAYS = set(
    "evaluation cosize coshape is_injective is_surjective is_bijective is_contiguous "
    "select take group_modes flatten filter_zeros filter coalesce".split()
)
"""Operations that no layout of a small size is refused for."""


@pytest.mark.parametrize("name", LAWS)
def test_every_operation_is_exact_or_refused(name: str) -> None:
    for kind in KINDS:
        outcome = tried(name, kind, EACH)
        assert outcome.wrong == 0, outcome.first_wrong
        assert outcome.refused == 0 or name not in ALWAYS, outcome.reason


JUDGED_BY = {
    "test_public_guard": "evenly_divides round_up",  # each entry and the tilers, unknown sizes at values
    "test_explain": "explain",
    "test_tuple_laws": "leaves as_tuple map_leaves flat_modes joined from_modes",
    "test_banks": "bank_conflicts transactions",
    "find_cases": "conflict_free",
    "convert_cases": "convert",
    "copies_cases": "widest_copy",
    "test_questions": "touched_by vectorised who_owns",
    "test_linear": "free_bits quotient",
    "test_symbolic": "divides make_ordered_layout",
    "test_notation": "parse_layout parse_tiler",
    "test_tools_print": "parse_parts",
    "bit_map_cases": "from_f2",
    "composed_cases": "E make_composed_layout make_identity_layout",
}
"""What is no operation on layouts of every kind, by the module whose random cases judge it."""


def test_every_public_name_has_a_law() -> None:
    """A law over every kind of layout, a law of tuples with known and unknown sizes, or random cases of its own."""
    public = {name for name in algebra.__all__ if inspect.isroutine(inspect.unwrap(getattr(algebra, name)))}
    judged = {name for names in JUDGED_BY.values() for name in names.split()}
    assert len(public) > 90 and public <= set(LAWS) | set(TUPLE_LAWS) | judged
    for module, names in JUDGED_BY.items():
        source = (Path(__file__).parent / f"{module}.py").read_text()
        assert not [name for name in names.split() if not re.search(rf"\b{name}\b", source)], module
    assert set(OPERATIONS) <= set(LAWS)


def cells() -> dict[tuple[str, str], str]:
    """(operation, kind) -> word, of the page's table."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    kinds, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]
    return {(row[0].strip("`"), kind): word for row in rows for kind, word in zip(kinds[1:], row[1:], strict=True)}


def test_the_table_of_the_docs() -> None:
    """Each cell is exact, for 2,000 answers, or refuses for a reason of the page; some cases of each are tried."""
    told = cells()
    assert told.keys() == {(name, kind) for name in LAWS for kind in COLUMNS}
    for (name, kind), word in told.items():
        letter = refusal(name, kind)
        if letter:
            assert (
                word == f"refuses ({letter})" and f"({letter}) Because {REFUSALS[letter].because}." in PAGE.read_text()
            )
            outcome = tried(name, kind, 12)
            assert outcome.refused == 12 and re.search(REFUSALS[letter].words, outcome.reason), (name, kind, outcome)
        else:
            count = re.fullmatch(r"exact ([\d,]+)", word)
            assert count and int(count[1].replace(",", "")) >= 2000, (name, kind, word)
            assert any(tried(name, kind, 5, seed).exact for seed in range(36)), (name, kind)


@pytest.mark.parametrize("name", LAWS)
def test_unknown_sizes_are_exact_or_refused(name: str) -> None:
    outcome = tried(name, UNKNOWN, 4 if name == "evaluation" else EACH // 4)
    assert outcome.wrong == 0, outcome.first_wrong


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: recast_layout(32, 16, S), "S<3,2,3> o 0 o (8,32):(32,1)"),
        (lambda: recast_layout(128, 16, S), "S<3,0,3> o 0 o (8,8):(8,1)"),
        (lambda: recast_layout(8, 16, S), "S<3,4,3> o 0 o (8,128):(128,1)"),
        (lambda: upcast(parse_layout("(4,5):(1,4) o 2 o (8,4):(1,8)"), 2), "(2,5):(1,2) o 1 o (4,4):(1,4)"),
        (lambda: downcast(parse_layout("(2,5):(1,2) o 1 o (4,4):(1,4)"), 2), "(4,5):(1,4) o 2 o (8,4):(1,8)"),
        (lambda: max_common_vector(parse_layout("S<3,3,3> o 0 o (64,8):(1,64)"), Layout((64, 8))), "64"),
        (lambda: max_common_vector(Layout((64, 8)), parse_layout("S<3,3,3> o 0 o (64,8):(1,64)")), "64"),
        (lambda: max_common_vector(parse_layout("S<2,1,3> o 0 o 32:1"), Layout(32)), "16"),
        (lambda: max_common_vector(S, S), "512"),
        (
            lambda: composition(Layout((4, 4), (4, 1)), parse_layout("4:1 o 4 o 4:1")),
            "(4,4):(4,1) o 0 o 4:1 o 4 o 4:1",
        ),
        (lambda: composition(I, Layout((2, 1), (1, 5))), "(2,1):(1@0,0)"),
        (lambda: composition(Layout((6, 4), (E(0), 6 * E(0))), Layout(6, 4)), "6:4@0"),
        (lambda: evenly_divides((32, 64), (Layout(8, 3), 32)), "False"),
        (lambda: (evenly_divides(16, (16,)), evenly_divides(48, Layout(8, 3))), "(True, True)"),
        (lambda: (cosize(I), coshape(S), coshape(I)), "(32, 512, (4, 8))"),
        (lambda: (is_injective(I), is_surjective(I), is_bijective(I), is_contiguous(I)), "(True, True, True, False)"),
        (lambda: is_injective(Layout((4, 2), (E(0), E(0)))), "False"),
        (lambda: slice_and_offset((2, _), S)[0], "S<3,3,3> o 128 o (64):(1)"),
        (lambda: slice_and_offset((2, _), I)[1], "(2, 0)"),
        (lambda: make_composed_layout(Swizzle(3, 40, 3), 0, Layout((10**6, 10**6), (10**6, 1))).cosize, str(10**12)),
        (lambda: parse_layout("(4,2):(1,4) o 0 o (4):(1@0)")(3), "3"),
        (lambda: complement(Layout((N,), (7,)).given("N >= 2"), N), "7:1"),
    ],
)
def test_worked_results(call: Callable[[], object], text: str) -> None:
    assert str(call()) == text


def test_a_composition_beyond_the_size_of_the_layout_outside() -> None:
    inner = make_composed_layout(Layout((8, 8), (8, 1)), 0, Layout((8, 16)))
    result = composition(Layout((16, 8), (8, 1)), inner)
    assert [result(i) for i in range(128)] == [Layout((16, 8), (8, 1))(inner(i)) for i in range(128)]


def test_large_swizzled_layouts_are_judged_by_their_bits() -> None:
    huge = make_composed_layout(Swizzle(3, 4, 3), 0, Layout((1 << 20, 1 << 20)))
    assert is_bijective(huge) and is_surjective(huge) and not is_contiguous(huge)
    assert max_common_vector(huge, Layout((1 << 20, 1 << 20))) == 128


@pytest.mark.parametrize(
    "text",
    [
        "S<3,4,3> o 0 o (1000,1000):(1000,1)",
        "S<3,14,3> o 3 o (1000,100,10):(1000,1,100)",
        "F2<1,3,6> o 8 o (999,1024):(-1,1000)",
        "S<3,4,3> o 0 o 1000000:1",
    ],
)
def test_large_layouts_of_any_extents_are_judged_by_arrays(text: str) -> None:
    """A million coordinates, which no bit matrix describes: the answers are those of a table made here."""
    layout = Layout.parse(text)
    offsets = layout.offsets().ravel(order="F")
    ordered = np.sort(offsets)
    distinct = ordered[np.diff(ordered, prepend=ordered[0] - 1) > 0]
    assert is_injective(layout) is (len(distinct) == layout.size)
    assert is_surjective(layout) is bool(distinct[-1] - distinct[0] + 1 == len(distinct))
    assert layout.cosize == distinct[-1] + 1 and not is_contiguous(layout)
    missing = int((distinct[distinct >= 0] != np.arange((distinct >= 0).sum())).argmax())
    if distinct[0] == 0:
        inverse = right_inverse(layout)
        assert inverse.size == (missing or len(distinct))
        assert (layout(inverse(np.arange(inverse.size))) == np.arange(inverse.size)).all()
        common = max_common_vector(layout, layout)
        assert (offsets[inverse(np.arange(common))] == np.arange(common)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: upcast(S, 16), "permutes offsets from bit 3 on, inside units of 16; units of at most 8"),
        (lambda: upcast(S, 3), "3 is no power of two"),
        (lambda: upcast(parse_layout("S<1,3,3> o 1 o 8:1"), 2), "the offset 1 is inside a unit of 2"),
        (lambda: upcast(parse_layout("(3,5):(1,4) o 0 o 8:1"), 2), "begin with a mode of stride 1"),
        (lambda: downcast(parse_layout("(3,5):(5,1) o 0 o 8:1"), 2), "begin with a mode of stride 1"),
        (lambda: recast_layout(32, 8, Layout((2, 3), (E(0), E(1)))), "2 axes would shrink"),
        (lambda: recast_layout(8, 32, Layout((2, 3), (E(0), E(1)))), "2 axes would grow"),
        (lambda: max_common_vector(I, I), "coordinates do not lie next to each other"),
        (lambda: max_common_vector(parse_layout("S<1,0,2> o 8 o 4:1"), Layout(4)), "no coordinate has the offset 0"),
        (lambda: composition(Layout((4, 8)), (S, 2)), "only the first operand may be a composed layout"),
        (lambda: zipped_divide(S, (S, 2)), "only the first operand may be a composed layout"),
        (lambda: logical_divide(Layout((4, 8)), Layout(3, E(0))), r"3 \* 16 = 48 coordinates, the layout 32"),
        (lambda: append(Layout(4), S), "only the first operand may be a composed layout"),
        (lambda: replace(Layout((4, 8)), 0, S), "only the first operand may be a composed layout"),
        (lambda: append(Layout(4), "8"), "a mode is a layout"),
        (lambda: replace(Layout((4, 8)), 0, 4), "write Layout"),
        (lambda: append(I, Layout(4)), "do not add up"),
        (lambda: make_layout(I, Layout(4)), "do not add up"),
        (lambda: complement(S), "leaves out"),
        (lambda: complement(Layout(4), S), "leaves out"),
        (lambda: coalesce(Swizzle(3, 3, 3)), r"make_composed_layout\(Swizzle\(3, 3, 3\), 0, layout\)"),
        (lambda: explain(composition, Layout((8, 64)), S), "nothing outside"),
        (lambda: explain(composition, Layout((8, 64)), Layout(N)), "known sizes"),
        (lambda: stride(S), "a composed layout has none"),
        (lambda: make_layout_like(I), "no order"),
        (lambda: composition(I, Layout(3, 3)), "only what lines up"),
        (lambda: I.offsets(), "it gives coordinates"),
        (lambda: make_composed_layout(Swizzle(1, 0, 2), 0, I), "only a layout takes those"),
        (lambda: make_composed_layout(I, 0, Layout((4, 8)))(_, 3)(9, 9, 9), "has 3 modes"),
        (lambda: size((4, 3), 5), "it has 2"),
        (lambda: get(Layout((4, 3)), 5), "it has 2 modes"),
        (lambda: idx2crd(5, Layout(4)), "give the layout's shape"),
        (lambda: tile_to_shape(Layout((2, 4)), (8, 16), (0, 5)), "ranks 2 modes"),
        (lambda: evenly_divides(8, I), "a tile is a layout of offsets"),
        (lambda: left_inverse(Layout(((2, 8), 4), ((2, 5), 600))), "not searched: digits that carry, for offsets from"),
        (lambda: left_inverse(Layout((4, 3, 6), (9, 100, 75))), "not searched|no layout maps"),
        (lambda: Layout(1 << 34).offsets(), "17179869184 offsets"),
        (lambda: Layout((2,) * 40).offsets(), "too many"),
        (lambda: Layout((4, 4), (1, 1 << 63)).offsets(), "too large"),
        (lambda: make_composed_layout(Layout(4, 1 << 62), 0, Layout(4)).offsets(), "64 bits"),
        (lambda: make_composed_layout(Swizzle(3, 100, 20), 0, Layout(4)).offsets(), "64 bits"),
        (lambda: make_composed_layout(Layout((3, 5), (5, 1)), 1, Layout(1 << 33)).cosize, "8589934592 coordinates"),
        (lambda: right_inverse(make_composed_layout(Swizzle(1, 0, 1), 0, Layout(N))), "takes known sizes"),
        (lambda: make_composed_layout(Swizzle(1, 0, 1), 0, Layout(N)).cosize, "not known"),
    ],
)
def test_what_is_refused_says_why(call: Callable[[], object], words: str) -> None:
    with pytest.raises(CutepyError, match=words) as caught:
        call()
    assert isinstance(caught.value, (LayoutError, CoordinateError))


def test_a_search_over_unknown_sizes_is_undecided() -> None:
    with pytest.raises(UndecidedError, match="listing all coordinates"):
        left_inverse(Layout((4, 4 * N), (1, 2)))


def test_no_impossible_advice() -> None:
    with pytest.raises(UndecidedError) as caught:
        complement(Layout((N,), (7,)), N)
    assert caught.value.fact == "N >= 2"
    for value in (2, 7, 8, 20):
        assert complement(Layout((N,), (7,)).given("N >= 2"), N).subs(N=value) == complement(
            Layout((value,), (7,)), value
        )


def test_the_one_record_of_an_operation() -> None:
    with pytest.raises(TypeError, match="composed"):
        operation()(len)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"composition\(\): missing .* write composition\(outer, inner\)"):
        composition()  # type: ignore[call-arg]
    assert composition(inner=Layout(4), outer=Layout(8, 2)) == Layout(4, 2)
    assert complement(Layout(4), cotarget=24) == Layout(6, 4)


def test_a_layout_outside_is_composed_up_to_its_last_coordinate() -> None:
    """Within the layout outside the two become one; one coordinate more, on either side, and they stay a chain."""
    outer, middle, down = Layout((16, 8), (8, 1)), Layout((6, 8), (8, 1)), Layout(48, -1)
    for offset, inner, one in ((0, Layout(48), True), (1, Layout(48), False), (47, down, True), (46, down, False)):
        result = composition(outer, make_composed_layout(middle, offset, inner))
        assert (result.outer == composition(outer, middle)) is one
        assert [result(i) for i in range(48)] == [outer(middle(offset + inner(i))) for i in range(48)]


def test_cosize_of_offsets_below_0() -> None:
    for bits, base, shift in ((1, 0, 2), (2, 1, 3), (2, 0, -2), (1, 3, -1)):
        for offset in range(-20, 20):
            layout = make_composed_layout(Swizzle(bits, base, shift), offset, Layout((3, 2), (-3, 5)))
            assert layout.cosize == 1 + max(layout(i) for i in range(6)), layout


@pytest.mark.parametrize("swizzle", [Swizzle(1, 0, 1), Swizzle(2, 1, 3), Swizzle(1, 3, -1)], ids=str)
def test_cosize_of_offsets_up_to_the_first_that_moves(swizzle: Swizzle) -> None:
    for count in range(1, 40):
        layout = make_composed_layout(swizzle, 0, Layout(count))
        assert layout.cosize == 1 + max(layout(i) for i in range(count)), layout


def test_an_axis_and_its_own_sub_axes_do_not_add_up() -> None:
    with pytest.raises(LayoutError, match="do not add up"):
        make_layout(Layout(4, E(0)), Layout(4, E(0, 1)))
    assert make_layout(Layout(4, E(0)), Layout(4, 0))(3, 3) == (3,)


def test_evenly_divides_is_what_a_divide_asks() -> None:
    rng, outcomes = generator("evenly divides"), [0, 0]
    for _case in range(400):
        extent = rng.choice((8, 12, 24, 30, 36))
        tile = random_layout(rng, 12) if rng.random() < 0.8 else Layout((2, 3), (1, 5))
        try:
            divides = logical_divide(Layout(extent), tile).size == extent
        except LayoutError:
            divides = False
        assert evenly_divides(extent, tile) is divides, (extent, tile)
        outcomes[divides] += 1
    assert min(outcomes) > 30, outcomes


def test_a_search_that_ends_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout((2, 2, 2), (3, 10, 3))  # coordinates share offsets, and digits of no inverse keep apart
    assert left_inverse(layout) is not None
    monkeypatch.setattr(search, "CHOICES", 0)
    with pytest.raises(LayoutError, match=r"not searched: radix systems and choices .* beyond the first 0"):
        left_inverse(layout)


def test_a_coordinate_in_front_of_strides_of_0_is_where_the_function_outside_begins() -> None:
    composed = make_composed_layout(Layout((6, 8)), (1, 2), Layout(4, 0))
    assert composed(3) == 13 and composed.cosize == 14 and composed.offsets().tolist() == [13] * 4
