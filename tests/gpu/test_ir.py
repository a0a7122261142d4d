"""Expressions: one object for equal ones, types, constants, and refusals that name the user's line."""

import numpy as np
import pytest

from cutepy.errors import KernelError
from cutepy.gpu.ir import (
    Buffer,
    Const,
    Expr,
    TracedValueError,
    builtin,
    call,
    cast,
    const,
    is_uniform,
    load,
    new_arena,
    select,
    var,
    vector,
)
from cutepy.gpu.ir.make import component
from cutepy.layout import Layout
from cutepy.tensor.dtypes import bool_, f16, f32, i32, u32

TID = builtin("local_invocation_index", 0, 255)


def test_equal_expressions_are_one_object() -> None:
    assert (TID * 4 + 1) is (TID * 4 + 1)
    assert const(1) is not const(1, f32)
    assert const(0.0, f32) is not const(-0.0, f32)
    assert var("i") is not var("i")


def test_an_arena_ends_with_its_block() -> None:
    with new_arena() as arena:
        total = TID + 1
        assert any(node is total for node in arena.nodes.values())
    with new_arena() as arena:
        assert not arena.nodes


def test_a_layout_of_an_expression_is_an_index_expression() -> None:
    layout = Layout(((4, 8), 2), ((2, 8), 1))
    index = layout(TID % 32, TID // 32 % 2)
    assert index.dtype is u32
    assert isinstance(layout(const(5), const(1)), Const)
    assert layout(const(5), const(1)).value == layout(5, 1)


def test_operators_work_elementwise_with_arrays() -> None:
    offsets = np.arange(4) * 8 + TID
    assert offsets.dtype == object and offsets[2] is 16 + TID
    assert (TID + np.arange(3))[1] is TID + 1


@pytest.mark.parametrize(
    "misuse",
    [bool, int, float, range, lambda x: [10, 20][x], lambda x: x and 1, lambda x: not x, lambda x: 1 if x > 2 else 0],
)
def test_python_cannot_know_a_value(misuse: object) -> None:
    with pytest.raises(TracedValueError, match=r"test_ir.py:\d+: .* is known only on the GPU and cannot"):
        misuse(TID)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: TID + 0.5, "0.5 meets a u32 value; cast that value to f32 first"),
        (lambda: TID + cast(TID, f32), "convert one with gpu.cast"),
        (lambda: cast(TID, f32) // 2, "// is not defined on f32"),
        (lambda: TID / 2, "use //"),
        (lambda: call("exp", TID), "exp is defined on f16 and f32, not on u32"),
        (lambda: call("exponent", TID), "no function 'exponent' on the GPU"),
        (lambda: call("max", TID, cast(TID, i32)), "the operands differ in type"),
        (lambda: cast(cast(TID, f16), u32, bits=True), "widths differ"),
    ],
)
def test_wrong_types_are_refused_with_the_line(wrong: object, message: str) -> None:
    with pytest.raises(KernelError, match=r"test_ir.py:\d+: ") as caught:
        wrong()
    assert message in str(caught.value)


def test_types() -> None:
    half, single = cast(TID, f16), cast(TID, f32)
    assert (half + single).dtype is f32
    assert (half * 2).dtype is f16
    assert (TID < 3).dtype is bool_
    assert (~(TID < 3)).dtype is bool_
    assert call("fma", single, 2, 1).dtype is f32
    assert select(TID < 3, half, single).dtype is f32


def test_vectors() -> None:
    whole = var("v", f32, lanes=4)
    lanes = [component(whole, i) for i in range(4)]
    assert vector(*lanes) is whole
    assert vector(*reversed(lanes)).lanes == 4
    assert component(vector(*lanes[:2]), 1) is lanes[1]
    assert (whole * component(whole, 0)).lanes == 4


def test_constants_wrap() -> None:
    assert (const(1) - 2).value == 2**32 - 1
    assert (const(2**31 - 1, i32) + 1).value == -(2**31)
    assert (const(-7, i32) // 2).value == -4
    assert (const(-7, i32) % 2).value == 1


def test_threads_agree_on_what_is_made_of_what_they_share() -> None:
    group, tid, count = builtin("workgroup_id", axis=0), builtin("local_invocation_index", 0, 63), var("n")
    x, y = Buffer("x", u32, 64), Buffer("y", u32, 64, writable=True)
    shared = {group, count}

    def agree(value: Expr) -> bool:
        return is_uniform(value, shared.__contains__, lambda b: not b.writable, {})

    assert agree(group * count + load(x, group))
    assert agree(select(group < 3, count, const(7)))
    assert not agree(group + tid)
    assert not agree(load(x, tid))
    assert not agree(load(y, group))
    assert not agree(call("subgroup_add", group))  # the last subgroup may have fewer threads
