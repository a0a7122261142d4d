"""`branch_on_predicates`: loads with a predicate become loads in a branch."""

from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Buffer,
    Declare,
    Expr,
    If,
    Let,
    Store,
    builtin,
    cast,
    const,
    load,
    loads,
    negated,
    statements,
    var,
)
from cutepy.gpu.lower import PASSES
from cutepy.gpu.lower.branch_on_predicates import branch_on_predicates
from cutepy.tensor.dtypes import bool_, f32

X, Y = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True)
TID = builtin("local_invocation_index", 0, 3)
BEFORE = PASSES[: PASSES.index(branch_on_predicates)]
INSIDE = TID < 2


def stored(value: Expr, at: int = 0) -> Store:
    return Store(Y, TID + at, value)


def predicated(name: str, at: int, where: Expr, lanes: int = 1) -> Let:
    return Let(var(name, f32, lanes=lanes), load(X, TID + at, lanes=lanes, where=where))


def after(*body: object) -> list[str]:
    kernel = kernel_of(*body, buffers=(X, Y))
    text = lines(branch_on_predicates(kernel))
    return text


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, branch_on_predicates(small.kernel))


@laws
@given(small_kernels(*BEFORE))
def test_no_predicate_is_left(small: Small) -> None:
    after = branch_on_predicates(small.kernel)
    assert_same(small.kernel, after)
    assert all(x.where is None for s in statements(after.body) for root in s.expressions for x in loads(root))


def test_a_load_is_made_in_a_branch() -> None:
    a = predicated("a", 0, INSIDE)
    assert after(a, stored(a.var)) == ["var a = 0.0", "if tid < 2u", "  a = x[tid]", "y[tid] = a"]
    wide = predicated("w", 0, INSIDE, 4)
    assert after(wide)[0] == "var w = vec4<f32>(0.0)"


def test_loads_on_one_condition_share_a_branch() -> None:
    a, b, c = predicated("a", 0, INSIDE), predicated("b", 1, INSIDE), predicated("c", 2, TID < 3)
    assert after(a, b, c) == [
        "var a = 0.0",
        "var b = 0.0",
        "if tid < 2u",
        "  a = x[tid]",
        "  b = x[tid + 1u]",
        "var c = 0.0",
        "if tid < 3u",
        "  c = x[tid + 2u]",
    ]


def test_a_branch_of_the_users_is_not_one_of_loads() -> None:
    a = predicated("a", 0, INSIDE)
    assert after(If(INSIDE, (stored(const(1.0, f32)),)), a)[2:] == ["var a = 0.0", "if tid < 2u", "  a = x[tid]"]


def test_neighbours_on_one_condition_or_opposites_are_one() -> None:
    one, two = stored(const(1.0, f32)), stored(const(2.0, f32))
    assert after(If(INSIDE, (one,)), If(INSIDE, (two,))) == ["if tid < 2u", "  y[tid] = 1.0", "  y[tid] = 2.0"]
    assert after(If(INSIDE, (one,)), If(negated(INSIDE), (two,))) == [
        "if tid < 2u",
        "  y[tid] = 1.0",
        "else",
        "  y[tid] = 2.0",
    ]
    assert len(after(one, If(INSIDE, (one,)), If(INSIDE, (two,)))) == 4
    assert len(after(If(INSIDE, (one,)), If(TID < 3, (two,)))) == 4
    assert len(after(If(INSIDE, (one,), (two,)), If(INSIDE, (two,)))) == 6
    assert len(after(If(INSIDE, (one,)), If(INSIDE, (two,), (one,)))) == 6


def test_not_where_the_first_changes_the_condition() -> None:
    m, flag = var("m"), var("flag", bool_)
    changed = If(m < 2, (Assign(m, const(5)),)), If(m < 2, (stored(const(2.0, f32)),))
    assert after(Declare(m, const(0)), *changed) == [
        "var m = 0u",
        "if m < 2u",
        "  m = 5u",
        "if m < 2u",
        "  y[tid] = 2.0",
    ]
    inner = If(INSIDE, (Assign(flag, const(False, bool_)),))
    assert len(after(Declare(flag, const(True, bool_)), If(flag, (inner,)), If(flag, (stored(const(1.0, f32)),)))) == 6


def test_not_where_the_condition_reads_memory() -> None:
    loaded = cast(load(Y, TID), f32) > 0.0
    assert len(after(If(loaded, (stored(const(-1.0, f32)),)), If(loaded, (stored(const(2.0, f32)),)))) == 4
