"""`simplify`, rule by rule: the order of terms, comparisons that intervals decide, shifts that stay shifts."""

from itertools import product
from operator import eq, ge, gt, le, lt, ne

import pytest

from cutepy.gpu.ir import Const, arena, const, new_arena, var
from cutepy.gpu.ir.simplify import _decide, from_linear, quotient, simplify
from cutepy.gpu.targets.wgsl import show
from cutepy.layout.affine import Congruent
from cutepy.tensor.dtypes import i32, u32

OPERATORS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}


@pytest.mark.parametrize("op", OPERATORS)
def test_an_interval_of_differences_decides_a_comparison_exactly_where_it_can(op: str) -> None:
    for low, high in product(range(-3, 4), repeat=2):
        if low > high:
            continue
        truths = {OPERATORS[op](difference, 0) for difference in range(low, high + 1)}
        decided = _decide(op, (low, high))
        if len(truths) == 2:
            assert decided is None, (low, high)
        else:
            assert isinstance(decided, Const) and {bool(decided.value)} == truths, (low, high)


@pytest.mark.parametrize(
    ("constant", "text"), [(1, "1i - x"), (5, "5i - x"), (0, "0i - x"), (-5, "0i - x - 5i"), (-1, "0i - x - 1i")]
)
def test_a_sum_begins_with_its_constant_where_that_saves_a_subtraction(constant: int, text: str) -> None:
    x = var("x", i32, lo=-9, hi=9)
    assert show(from_linear(Congruent({x: -1}, constant), i32)).replace("i", "") == text.replace("i", "")


def test_terms_that_are_added_come_before_those_that_are_subtracted() -> None:
    with new_arena():
        x, y = var("x", hi=9), var("y", hi=9)
        assert show(from_linear(Congruent({y: -2, x: 3}, 7), u32)) == "x * 3u - y * 2u + 7u"
        assert from_linear(Congruent({}, 7), u32) is const(7)


def test_what_is_written_as_a_quotient_anywhere_is_no_shift() -> None:
    for writings, shifted in ((("//",), False), ((">>",), True), (("//", ">>"), False), ((">>", "//"), False)):
        with new_arena():
            x = var("x", hi=255)
            forms = {simplify(x // 4 if writing == "//" else x >> 2) for writing in writings}
            (quotient,) = forms
            assert bool(arena().as_bits.get(quotient)) is shifted, writings


def test_where_all_values_have_one_quotient_it_is_that_number_and_the_rest_a_difference() -> None:
    for low, high, by in product(range(14), range(14), range(2, 9)):
        with new_arena():
            x = var("x", lo=low, hi=high)
            if low >= high or low // by != high // by:
                continue
            assert simplify(x // by) is const(low // by), (low, high, by)
            assert simplify(x % by) is simplify(x - low // by * by), (low, high, by)


def test_a_quotient_of_a_sum_whose_rest_is_below_the_divisor_is_that_of_the_multiple() -> None:
    with new_arena():
        y, rest = var("y", hi=100), var("rest", hi=7)
        assert quotient(rest, 8) is const(0)
        assert simplify((y * 8 + rest) // 8) is y and simplify((y * 16 + rest * 2 + 1) // 16) is y
        assert simplify((y * 24 + rest) // 8) is simplify(y * 3)
        assert simplify((y * 8 + rest) % 16 // 8) is simplify(y % 2)
        assert simplify((y * 8 + rest + 1) // 8) is not y
