"""simplify(e) equals e at every value of the variables, and is as short as the ranges allow."""

from itertools import product

import numpy as np
import pytest
from expressions import evaluate, examine

from cutepy.gpu.ir import Binary, Const, Expr, Var, binary, call, const, nodes, param, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.ir.simplify import from_linear, simplify
from cutepy.layout.affine import Congruent
from cutepy.tensor.dtypes import bool_, i32, u32


def test_simplified_forms_and_ranges_hold() -> None:
    """A third of them conditions; simplified twice, too."""
    assert [problem for seed in range(2000) if (problem := examine(seed))] == []


def tid() -> Var:
    return var("tid", u32, hi=255)


def row() -> Var:
    return var("row", u32, hi=15)


T, R, N, M = tid(), row(), param("n", u32), param("m", u32, hi=1000)


@pytest.mark.parametrize(
    ("value", "short"),
    [
        ((R * 16 + T % 16) // 16, R),
        ((R * 16 + T % 16) % 16, T % 16),
        (T % 16 + T // 16 * 16, T),
        (T % 4 + 4 * ((T // 4) % 8), T % 32),
        (T % 4 + 4 * ((T // 4) % 8) + 32 * (T // 32), T),
        (T // 4 // 8, T // 32),
        ((T % 64) // 16, (T // 16) % 4),
        ((T % 64) % 16, T % 16),
        (T // 256, const(0)),
        (T % 256, T),
        ((4 * T + 3) // 4, T),
        ((16 * R + 4 * (T % 4) + 2) // 64, R // 4),
        (T + 4 - T, const(4)),
        (T * 2 - T, T),
        ((T << 2) >> 2, T),
        ((T * 4) & 3, const(0)),
        ((T & 48) >> 4, (T // 16) % 4),
        (T ^ T, const(0)),
        ((R * 64 + T % 64 + 512) ^ (T % 8), ((T % 64) ^ (T % 8)) + R * 64 + 512),
        ((R * 64 + 3) | (T % 8), (const(3) | (T % 8)) + R * 64),
        ((R * 64 + T % 64) & (T % 8), (T % 64) & (T % 8)),
        (T * 4 + 3 < 1024, const(True, bool_)),
        (T * 4 + 3 < 1000, T < 250),
        (T * 4 < 1000, T < 250),
        (R * 64 + T % 64 < 128, R < 2),
        (T < 256, const(True, bool_)),
        (T >= 256, const(False, bool_)),
        (R < R + 1, const(True, bool_)),
        (call("min", R, T % 16 + 16), R),
        (call("min", R, T % 16 + 15), R),
        ((R % 8 + 8) // 4, (R // 4) % 2 + 2),
        ((const(8) - R % 4) % 4, ((R % 4) * 3) % 4),
        ((R * 4 + (T % 8) * 3) % 4, ((T % 8) * 3) % 4),
        (T * 4 < M * 4, T < M),
        ((N + 4) // 4, (N + 4) // 4),
        ((N * 4) // 4, (N * 4) // 4),
        (N % 1, const(0)),
    ],
)
def test_known_forms(value: Expr, short: Expr) -> None:
    assert simplify(value) is short


@pytest.mark.parametrize("low", [-40, -3, 0])
def test_quotients_and_remainders_round_towards_0_by_divisors_of_any_sign(low: int) -> None:
    y = var("y", i32, lo=low, hi=40)
    numbers = np.arange(low, 41, dtype=np.int32)
    for c, d in product([const(n, i32) for n in (-4, -3, -1, 0, 2, 3, 8)], repeat=2):
        high, rest = binary("//", y, c), binary("%", y, c)
        digits = binary("+", rest, binary("*", binary("%", high, d), c))
        values = (digits, *(binary(op, x, d) for op in ("//", "%") for x in (high, rest)))
        for value in values:
            before, after = (Points({y: numbers}).of(x) for x in (value, simplify(value)))
            assert (before == after).all(), (value, simplify(value))
        if low == -40 and min(c.value, d.value) > 1:
            assert simplify(digits) is binary("%", y, const(int(c.value) * int(d.value), i32))


def test_the_head_of_a_sum_is_what_outer_loops_know() -> None:
    outer, inner = var("k", u32, hi=7), var("kk", u32, hi=7)
    total = simplify(inner * 4 + outer * 32 + T * 128 + 5)
    assert total is (T * 128 + outer * 32 + inner * 4) + 5


def test_a_swizzled_vector_access_keeps_its_low_bits() -> None:
    swizzled = [simplify(x ^ ((x & 0x38) >> 1)) for x in (T * 4 + j for j in range(4))]
    assert [x is simplify(swizzled[0] + j) for j, x in enumerate(swizzled)] == [True] * 4


def test_signed_floor_is_pythons() -> None:
    x = var("x", i32, lo=-9, hi=9)
    for c in (-4, -1, 1, 3):
        for number in range(-9, 10):
            assert evaluate(x // c, {x: number}) == number // c
            assert evaluate(x % c, {x: number}) == number % c


def test_a_sum_has_the_type_that_is_asked_for() -> None:
    """Terms of the other integer type are congruent, and converted: WGSL mixes none."""
    signed = var("a", i32)
    for dtype in (u32, i32):
        for terms in ({signed: -1}, {signed: 3, var("b", u32): -1}):
            found = from_linear(Congruent(terms, 1), dtype)
            sums = [node for node in nodes(found) if isinstance(node, Binary)]
            assert found.dtype is dtype and sums
            assert all({x.dtype for x in node.operands} == {node.dtype} for node in sums), found


def test_results_of_functions_are_multiplied_together() -> None:
    """256 times two products of bytes is one multiplication: `256 * (a + b)` is not written out by terms."""
    a, b, c = (call("dot4I8Packed", T * i, N) for i in (1, 3, 5))
    value = simplify(c + 256 * (a + b) - 256 * c)
    factors = [n for n in nodes(value) if isinstance(n, Binary) and n.op == "*" and n.dtype is i32]
    assert [int(n.right.value) for n in factors if isinstance(n.right, Const)] == [256, 255]
    assert simplify(value) is value
