"""`ranges`: the interval of an expression holds all its values, and made-up memory is one memory."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from cutepy.gpu.ir import Buffer, binary, call, cast, component, load, meaning, param, unary, var
from cutepy.gpu.ir.ranges import Points, Unknown, is_opaque, range_of
from cutepy.tensor.dtypes import DType, bool_, f32, i32, u32

#: For how many pairs of small intervals, of u32 and of i32, no smaller interval holds all values.
TIGHT = {
    "+": (225, 784), "-": (70, 784), "*": (225, 784), "//": (195, 192), "%": (201, 189),
    "&": (186, 382), "|": (147, 89), "^": (114, 58), ">>": (134, 181),
}  # fmt: skip


@pytest.mark.parametrize("op", TIGHT)
@pytest.mark.parametrize(("dtype", "ends"), [(u32, range(5)), (i32, range(-3, 4))])
def test_an_interval_holds_all_values_of_an_operation(op: str, dtype: DType, ends: range) -> None:
    """Every pair of small intervals, divisors 0 included; and no interval of u32 goes below 0."""
    tight = 0
    for a, b, c, d in product(ends, repeat=4):
        if a > b or c > d or (dtype is u32 and op == "-" and a < d) or (op == ">>" and c < 0):
            continue
        value = binary(op, var("x", dtype, lo=a, hi=b), var("y", dtype, lo=c, hi=d))
        law = meaning(value)
        if law is None:  # x op x of one number is a constant
            continue
        x, y = np.meshgrid(np.arange(a, b + 1), np.arange(c, d + 1))
        values = law(x.astype(dtype.numpy), y.astype(dtype.numpy)).astype(np.int64)
        low, high = range_of(value)
        assert low <= values.min() and values.max() <= high, (op, (a, b), (c, d), (low, high))
        assert dtype is i32 or low >= 0
        tight += (low, high) == (values.min(), values.max())
    assert tight >= TIGHT[op][dtype is i32]


EDGES = {
    u32: (0, 1, 2, 6, 2**31 - 1, 2**31, 2**32 - 1),
    i32: (-(2**31), -7, -1, 0, 1, 5, 2**31 - 1),
}


@pytest.mark.parametrize("dtype", [u32, i32])
@pytest.mark.parametrize(
    ("name", "tight"),
    [
        *[("min", (784, 784)), ("max", (784, 784)), ("clamp", (210, 210)), ("abs", (28, 23)), ("~", (28, 28))],
        *[("-", (0, 22)), ("count_ones", (1, 12)), ("leading_zeros", (2, 12)), ("trailing_zeros", (6, 15))],
    ],
)
def test_an_interval_holds_all_values_of_a_function(name: str, tight: tuple[int, int], dtype: DType) -> None:
    """Between edges of the type; for so many of them, of u32 and of i32, no smaller interval does."""
    count = {"min": 2, "max": 2, "clamp": 3}.get(name, 1)
    if (name, dtype) == ("-", u32):  # WGSL has none
        return
    found = 0
    for ends in product(combinations_with_replacement(EDGES[dtype], 2), repeat=min(count, 2)):
        own = [var(f"x{i}", dtype, lo=low, hi=high) for i, (low, high) in enumerate(ends)]
        operands = (*own, own[0])[:count] if count == 3 else own
        value = unary(name, own[0]) if name in "~-" else call(name, *operands)
        law = meaning(value)
        if law is None:  # of one number
            continue
        within = [[n for n in EDGES[dtype] if low <= n <= high] for low, high in ends]
        numbers = dict(zip(map(id, own), np.array(list(product(*within)), dtype.numpy).T, strict=True))
        with np.errstate(over="ignore"):
            values = law(*[numbers[id(x)] for x in value.operands]).astype(np.int64)
        low, high = range_of(value)
        assert low <= values.min() and values.max() <= high, (ends, (low, high))
        found += (low, high) == (values.min(), values.max())
    assert found >= tight[dtype is i32]


def test_what_comes_of_floats_is_opaque_and_of_other_integers_is_not() -> None:
    number = var("f", f32)
    for value, opaque in ((number, True), (cast(number, u32), True), (cast(var("i", i32), u32), False)):
        assert is_opaque(value) == opaque


@pytest.mark.parametrize(("lo", "hi", "number"), [(0, 100, 64), (70, 100, 70), (0, 10, 10)])
def test_a_made_up_parameter_is_near_64(lo: int, hi: int, number: int) -> None:
    assert Points({var("at"): np.zeros(1, np.uint32)}, frozenset()).of(param("n", u32, lo=lo, hi=hi)) == number


@pytest.mark.parametrize(("op", "tight"), [("//", (0, 7)), ("%", (0, 2))])
def test_a_divisor_that_may_be_0_acts_as_1_there(op: str, tight: tuple[int, int]) -> None:
    assert range_of(binary(op, var("x", hi=7), var("y", hi=3))) == tight


def test_an_element_of_made_up_memory_is_the_same_however_it_is_loaded() -> None:
    at = var("at", hi=5)
    for dtype in (f32, u32, bool_):
        x = Buffer("x", dtype, 8)
        points = Points({at: np.arange(6, dtype=np.uint32)}, frozenset([x]))
        pair = load(x, at, lanes=2)
        for lane in (0, 1):
            np.testing.assert_array_equal(points.of(component(pair, lane)), points.of(load(x, at + lane)))
        with pytest.raises(Unknown):
            Points({at: np.arange(6, dtype=np.uint32)}).of(load(x, at))
