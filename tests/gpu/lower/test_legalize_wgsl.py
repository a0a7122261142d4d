"""`legalize_wgsl`: what WGSL's compilers refuse or get wrong is written otherwise."""

import math

import numpy as np
import pytest
from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Binary,
    Buffer,
    Call,
    Const,
    Expr,
    Store,
    Vector,
    all_nodes,
    arena,
    binary,
    builtin,
    call,
    cast,
    const,
    load,
    new_arena,
    splat,
    var,
)
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.lower import PASSES
from cutepy.gpu.lower.legalize_wgsl import legalize_wgsl
from cutepy.gpu.targets.interpreter import interpret
from cutepy.tensor.dtypes import DType, f16, f32, i32, u32

TID = builtin("local_invocation_index", 0, 3)
BEFORE = PASSES[: PASSES.index(legalize_wgsl)]


def after(value: Expr) -> list[str]:
    """The lines that store a value."""
    y = Buffer("y", value.dtype, 16, writable=True, width=value.lanes)
    return lines(legalize_wgsl(kernel_of(Store(y, TID, value), buffers=(y, *INPUTS))))


X, I, U = Buffer("x", f32, 16), Buffer("i", i32, 16), Buffer("u", u32, 16)
INPUTS = X, I, U
F = load(X, TID)


@laws
@given(small_kernels(*BEFORE))
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, legalize_wgsl(small.kernel))


@laws
@given(small_kernels(*BEFORE))
def test_nothing_that_is_refused_is_left(small: Small) -> None:
    for node in all_nodes(legalize_wgsl(small.kernel).body):
        if isinstance(node, Const) and node.dtype.kind == "f":
            assert math.isfinite(node.value)
        if isinstance(node, Binary | Call) and node.operands[0].dtype.kind == "f":
            assert not all(isinstance(x, Const) for x in node.operands)
        if isinstance(node, Binary) and node.op == "%" and node.dtype is i32:
            assert min(range_of(node.left)[0], range_of(node.right)[0]) >= 0


def test_infinities_and_nan_are_bits_in_variables() -> None:
    one = ["var infinity_bits = 2139095040u", "y[tid] = x[tid] + bitcast<f32>(infinity_bits)"]
    assert after(F + math.inf) == one
    assert after(F + -math.inf)[1] == "y[tid] = x[tid] + -bitcast<f32>(infinity_bits)"
    assert after(F + math.nan) == ["var nan_bits = 2143289344u", "y[tid] = x[tid] + bitcast<f32>(nan_bits)"]
    assert after(call("max", F, math.inf) + call("min", F, -math.inf))[0] == one[0]
    assert after(cast(F, f16) + math.inf)[1] == "y[tid] = f16(x[tid]) + f16(bitcast<f32>(infinity_bits))"


def test_arithmetic_on_literals_has_a_variable() -> None:
    assert after(binary("+", const(1.0, f32), const(2.0, f32))) == ["var number = 1.0", "y[tid] = number + 2.0"]
    assert after(call("exp", const(1.0, f32))) == ["var number = 1.0", "y[tid] = exp(number)"]
    wide = splat(const(1.0, f32), 4)
    assert isinstance(wide, Vector)
    assert after(call("exp", wide)) == ["var number = 1.0", "y[tid] = exp(vec4<f32>(number))"]
    assert after(F + 1.0) == ["y[tid] = x[tid] + 1.0"]
    assert after(binary("<", const(1.0, f32), const(2.0, f32)) & (F < 1.0))[0].startswith("y[tid]")


def test_tanh_is_clamped_once() -> None:
    once = "y[tid] = tanh(clamp(x[tid], -10.0, 10.0))"
    assert after(call("tanh", F)) == [once]
    assert after(call("tanh", call("clamp", F, -10.0, 10.0))) == [once]
    assert np.tanh(np.float32(10)) == 1 and np.tanh(np.float32(9)) < 1


@pytest.mark.parametrize(
    ("dtype", "right", "line"),
    [
        (i32, 5, "y[tid] = i[tid] - (i[tid] / 5i) * 5i"),
        (i32, -3, "y[tid] = i[tid] - (i[tid] / (-3i)) * (-3i)"),
        (i32, None, "y[tid] = select(i[tid] - (i[tid] / i[tid + 1u]) * i[tid + 1u], 0i, i[tid + 1u] == 0i)"),
        (u32, 5, "y[tid] = u[tid] % 5u"),
        (u32, None, "y[tid] = u[tid] % u[tid + 1u]"),
    ],
)
def test_remainders_of_what_may_be_negative(dtype: DType, right: int | None, line: str) -> None:
    source = I if dtype is i32 else U
    other = load(source, TID + 1) if right is None else const(right, dtype)
    assert after(binary("%", load(source, TID), other)) == [line]


def test_the_remainder_by_what_cannot_be_0_has_no_case_for_it() -> None:
    divisor = binary("&", load(I, TID + 1), const(7, i32)) + 1
    assert "select" not in after(binary("%", load(I, TID), divisor))[0]


def test_a_shuffle_of_a_literal_has_a_variable() -> None:
    assert after(call("subgroup_shuffle", const(1.0, f32), const(1)))[0] == "var number = 1.0"


def test_the_remainder_of_a_small_number_stays() -> None:
    small = binary("&", load(I, TID), const(7, i32))
    assert after(binary("%", small, const(5, i32))) == ["y[tid] = (i[tid] & 7i) % 5i"]


@pytest.mark.parametrize("dtype", [i32, u32])
def test_what_is_written_in_bits_is_printed_in_bits(dtype: DType) -> None:
    x = load(U, TID) if dtype is u32 else binary("&", load(I, TID), const(255, i32))
    for op, number in ((">>", 3), ("&", 7), ("<<", 2), ("&", 24), ("%", 8), ("//", 8), ("*", 8)):
        with new_arena():
            right = const(number, u32 if op in (">>", "<<") else dtype)
            value = simplify(binary(op, x, right))
            y = Buffer("y", dtype, 16, writable=True)
            kernel = kernel_of(Store(y, TID, value), buffers=(y, *INPUTS))
            legal = legalize_wgsl(kernel)
            text = lines(legal)[0].replace("i[tid] & 255i", "")
            assert any(sign in text for sign in ("&", ">>", "<<")) == (op in (">>", "&", "<<")), (op, text)
            inputs = [np.zeros(16, t) for t in (f"{dtype.kind}4", "f4", "i4", "u4")]
            for whole in inputs[2:]:
                whole[:] = np.arange(16) * 77
            interpret(legal, inputs)
            at = inputs[3 if dtype is u32 else 2][:4].astype(np.int64) & (255 if dtype is i32 else -1)
            want = {">>": at >> 3, "&": at & number, "<<": at << 2, "%": at % 8, "//": at // 8, "*": at * 8}[op]
            np.testing.assert_array_equal(inputs[0][:4], want)


@pytest.mark.parametrize(("low", "text"), [(-8, "n / 4i"), (-1, "n / 4i"), (0, "n >> 2u")])
def test_a_quotient_of_what_may_be_negative_is_no_shift(low: int, text: str) -> None:
    """A shift rounds down."""
    with new_arena():
        value = binary("//", var("n", i32, lo=low, hi=7), const(4, i32))
        arena().as_bits[value] = True
        assert after(value) == [f"y[tid] = {text}"]


@pytest.mark.parametrize(("number", "text"), [(4, "u[tid] & 28u"), (2, "((u[tid] >> 2u) & 7u) << 1u")])
def test_a_shift_back_is_a_mask_and_another_shift_is_none(number: int, text: str) -> None:
    with new_arena():
        bits = binary("&", binary(">>", load(U, TID), const(2)), const(7))
        value = binary("*", bits, const(number))
        arena().as_bits[value] = True
        assert after(value) == [f"y[tid] = {text}"]
