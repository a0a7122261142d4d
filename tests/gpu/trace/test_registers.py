"""`registers`: one type a register, in which both values fit; bounds that grow to a fixed point in few passes."""

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cutepy.gpu.ir import Const, Expr, Weak, binary, cast, const, var
from cutepy.gpu.ir.ranges import domain
from cutepy.gpu.trace.complex import Complex
from cutepy.gpu.trace.registers import (
    CannotCarry,
    Carried,
    Register,
    blank,
    carried,
    fitted,
    form,
    numbers_of,
    python_number,
    register_for,
    same,
    widened,
    with_numbers,
)
from cutepy.tensor.dtypes import DType, bool_, f16, f32, i32, u32

Point = namedtuple("Point", "x y")
INTEGERS = st.integers(-(2**31), 2**31 - 1)
NUMBERS = st.one_of(INTEGERS, st.booleans(), st.floats(width=32, allow_nan=False))
TREES = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(tuple), st.builds(Point, inner, inner)),
    max_leaves=6,
)


@given(TREES)
def test_a_value_is_its_form_and_its_numbers(value: object) -> None:
    numbers = numbers_of(value)
    assert numbers is not None
    again = with_numbers(value, list(numbers))
    assert again == value and type(again) is type(value) and form(again) == form(value)
    assert same(value, again)


def test_what_holds_anything_else_has_no_numbers() -> None:
    assert numbers_of([1]) is None and numbers_of((1, "a")) is None and numbers_of("a") is None
    assert numbers_of(var("v", f32, lanes=4)) is None
    pair = Complex(var("re", f32), var("im", f32))
    assert numbers_of(pair) == (pair.real, pair.imag) and form(pair) == (Complex, None, None)


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (1, 1, True), (1, True, False), (0.0, -0.0, False), (float("nan"), float("nan"), True), (1, 1.0, False),
        ((1, 2), (1, 2), True), ((1, 2), (1, 2, 3), False),
        ((1, 2), (2, 1), False), ("a", "a", True), ([1], [1], False),
        (b"a", b"a", True), (f32, f32, True), (f32, i32, False), (Point(1, 2), (1, 2), False),
        (const(1), cast(var("v"), f32), False),
    ],
)  # fmt: skip
def test_equal_values_that_cannot_change_are_the_same(first: object, second: object, equal: bool) -> None:
    assert same(first, second) is equal


@given(INTEGERS, INTEGERS)
def test_the_register_of_two_numbers_holds_both(old: int, new: int) -> None:
    register = register_for(old, new)
    low, high = register.bounds
    assert register.weak and register.dtype is (i32 if min(old, new) < 0 else u32)
    assert (low, high) == (min(old, new), max(old, new))
    for number in (old, new):
        assert int(fitted(number, register.dtype).value) == number  # type: ignore[attr-defined]


@given(INTEGERS, st.lists(INTEGERS, min_size=1, max_size=8))
def test_a_register_of_a_loop_is_settled_in_few_passes(start: int, ends: list[int]) -> None:
    register, changes = register_for(start, start), 0
    for pass_number, end in enumerate(sorted(ends, key=abs)):
        try:
            wider = widened(register, start, end, pass_number)
        except CannotCarry:  # no type holds both -1 and 2^31
            assume(False)
        changes += wider != register
        assert wider.bounds[0] <= min(start, end) and max(start, end) <= wider.bounds[1]
        if wider.dtype is register.dtype:
            assert wider.bounds[0] <= register.bounds[0] and register.bounds[1] <= wider.bounds[1]
        assert widened(wider, start, end, pass_number) == wider
        register = wider
    # Two passes as it is seen, an end of the type, another, and the other type.
    assert changes <= 5


def test_bounds_go_to_the_end_of_the_type_where_they_still_move() -> None:
    first = Register(u32, (4, 8), True)
    assert widened(first, 4, 9, 1).bounds == (4, 9)
    assert widened(first, 4, 9, 2).bounds == (4, domain(u32)[1])
    assert widened(first, 4, 3, 2).bounds == (0, 8)
    assert widened(first, 4, 6, 2) == first
    below = widened(first, 4, -1, 1)
    assert below == Register(i32, (-1, 8), True)


@pytest.mark.parametrize(
    ("old", "new", "register"),
    [
        (1, 2.5, Register(f32, (0, 0), True)),
        (True, False, Register(bool_, (0, 1), True)),
        (1, var("v", i32, lo=-3, hi=5), Register(i32, (-3, 5))),
        (var("v", u32, lo=2, hi=5), var("w", u32, lo=3, hi=9), Register(u32, (2, 9))),
        (2, var("v", f16), Register(f16)),
        (np.float16(1), 2, Register(f16)),
        (np.int32(-7), 2, Register(i32, (-7, 2))),
        (2**32 - 1, 1, Register(u32, (1, 2**32 - 1))),
        (0, var("v", u32, hi=9) + 5, Register(u32, (0, 14))),
        (0, var("v", u32, hi=2**32 - 1) + 5, Register(u32, (0, 2**32 - 1))),
        (0, binary("*", var("v", i32, lo=-2, hi=3), const(-4, i32)), Register(i32, (-12, 8))),
        (0, binary("-", var("v", i32, lo=-2, hi=3), var("w", i32, lo=0, hi=5)), Register(i32, (-7, 3))),
    ],
)
def test_the_type_and_the_bounds_of_a_register(old: object, new: object, register: Register) -> None:
    found = register_for(old, new)
    assert (found.dtype, found.weak) == (register.dtype, register.weak)
    if found.dtype.kind in "iu":
        assert found.bounds == register.bounds
    assert register_for(new, old) == found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (var("v", i32), var("w", u32)),
        (True, 1),
        (-1, var("v", u32)),
        (1.5, var("v", i32)),
        (2**31, -1),
        (True, var("v", u32)),
        (1, var("v", bool_)),
    ],
)
def test_what_no_register_holds_is_refused(old: object, new: object) -> None:
    for values in ((old, new), (new, old)):
        with pytest.raises(CannotCarry, match="register has one type"):
            register_for(*values)


def test_a_register_keeps_the_type_that_it_met() -> None:
    met = Register(i32, (0, 5))
    assert widened(met, 0, 7, 1) == Register(i32, (0, 7))
    with pytest.raises(CannotCarry, match="from i32 to f32"):
        widened(met, 0, var("v", f32), 1)
    with pytest.raises(CannotCarry):
        widened(met, 0, 0.5, 1)
    assert widened(Register(u32, (0, 5), True), 0, 0.5, 1).dtype is f32


def test_a_blank_has_the_form_of_a_value_and_no_name_of_it() -> None:
    value = (var("v", f32), 3, (var("w", i32), True))
    empty = blank(value)
    assert form(empty) == form(value) and numbers_of(empty)[1::2] == (3, True)  # type: ignore[index]
    assert all(isinstance(x, Const) and x.value == 0 for x in numbers_of(empty)[::2])  # type: ignore[index]
    assert blank("text") == "text"


def test_a_python_number_of_the_gpu_takes_the_type_that_it_meets() -> None:
    three = python_number(3)
    assert isinstance(three, Carried) and three.dtype is u32
    assert (three + var("v", f32)).dtype is f32 and (three + var("v", i32)).dtype is i32
    assert python_number(-3).dtype is i32 and python_number(0.5).dtype is f32
    assert not isinstance(python_number(np.float32(1)), Weak) and python_number(2**32 - 1).dtype is u32
    weak = carried(var("v", i32, lo=-4, hi=4))
    assert isinstance(weak, Weak) and isinstance(weak + 1, Weak) and not isinstance(weak < 1, Weak)
    test = var("v", bool_)
    assert carried(test) is test
    with pytest.raises(Exception, match="may lie below 0 meets a u32 value"):
        weak // 2 + var("w", u32)
    assert isinstance(weak * 2 + 8 + var("w", u32), Expr)


@pytest.mark.parametrize("met", [bool_, i32, u32, f16, f32])
@pytest.mark.parametrize("own", [i32, u32, f32])
def test_a_number_of_pythons_meets_what_holds_it(own: DType, met: DType) -> None:
    """A fraction meets floats alone, and no number meets a bool."""
    number = carried(var("n", own, lo=0, hi=3))
    if met.kind == "f" or (met.kind in "iu" and own.kind != "f"):
        assert register_for(var("v", met), number).dtype is register_for(number, var("v", met)).dtype is met
    else:
        for values in ((var("v", met), number), (number, var("v", met))):
            with pytest.raises(CannotCarry):
                register_for(*values)
