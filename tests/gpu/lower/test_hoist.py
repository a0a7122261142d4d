"""`hoist`: what is used twice has a name, and what a loop does not change is computed before it."""

import pytest
from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Let,
    Store,
    Var,
    binary,
    builtin,
    call,
    cast,
    component,
    const,
    load,
    splat,
    statements,
    var,
    variables,
    vector,
)
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.lower import PASSES, finish
from cutepy.gpu.lower.hoist import hoist
from cutepy.tensor.dtypes import f32, i32

X, Y, U = Buffer("x", f32, 64), Buffer("y", f32, 64, writable=True), Buffer("u", f32, 64)
TID, GROUP = builtin("local_invocation_index", 0, 3), builtin("workgroup_id", 0, 7, axis=1)
BEFORE = PASSES[: PASSES.index(hoist)]


def stored(at: Expr, value: Expr | None = None) -> Store:
    return Store(Y, at, const(1.0, f32) if value is None else value)


def loop(*body: object, name: str = "k", start: int | Expr = 0, stop: int | Expr = 4) -> For:
    first, last = (x if isinstance(x, Expr) else const(x) for x in (start, stop))
    return For(var(name, hi=3), first, last, const(1), body)  # type: ignore[arg-type]


def after(*body: object) -> list[str]:
    return lines(hoist(kernel_of(*body, buffers=(X, Y, U))))


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, hoist(small.kernel))


@laws
@given(small_kernels(*BEFORE))
def test_so_it_does_where_it_stands(small: Small) -> None:
    assert_same(small.kernel, hoist(small.kernel))


@laws
@given(small_kernels())
def test_so_does_the_end_of_a_trace(small: Small) -> None:
    assert_same(small.kernel, finish(small.kernel))


def test_what_is_used_twice_has_a_name_in_the_block_of_its_names() -> None:
    at = TID * 4 + GROUP
    assert after(stored(at), stored(at, const(2.0, f32))) == [
        "let y_at = tid * 4u + group.y",
        "y[y_at] = 1.0",
        "y[y_at] = 2.0",
    ]
    k = var("k", hi=3)
    inner = For(k, const(0), const(4), const(1), (stored(TID * 4 + k * 2), stored(TID * 4 + k * 2, const(2.0, f32))))
    assert after(inner) == [
        "let tid_times_4 = tid * 4u",
        "for k from 0u to 4u by 1u",
        "  let y_at = tid_times_4 + k * 2u",
        "  y[y_at] = 1.0",
        "  y[y_at] = 2.0",
    ]


def test_index_arithmetic_leaves_the_loops_that_do_not_change_it() -> None:
    assert after(loop(stored(TID * 4 + GROUP)))[0] == "let y_at = tid * 4u + group.y"
    k = var("k", hi=3)
    nested = For(k, const(0), const(4), const(1), (loop(stored(k * 4 + TID), name="j"),))
    assert after(nested) == [
        "for k from 0u to 4u by 1u",
        "  let y_at = k * 4u + tid",
        "  for j from 0u to 4u by 1u",
        "    y[y_at] = 1.0",
    ]
    # Once, outside loops: nothing is saved. And floats are not moved.
    assert after(stored(TID * 4 + GROUP)) == ["y[tid * 4u + group.y] = 1.0"]
    assert after(loop(stored(TID, call("exp", cast(TID, f32)))))[0].startswith("for")


def test_what_reads_memory_is_named_for_one_statement() -> None:
    shared = call("exp", load(Y, TID))
    assert after(stored(TID, shared + shared * 2.0), stored(TID, shared)) == [
        "let value = exp(y[tid])",
        "y[tid] = value + value * 2.0",
        "y[tid] = exp(y[tid])",
    ]


def test_a_variable_counts_as_memory_until_it_is_last_set() -> None:
    m = var("m")
    at = m * 4 + TID
    assert after(Declare(m, const(0)), stored(at), Assign(m, const(1)), stored(at), stored(at, const(2.0, f32))) == [
        "var m = 0u",
        "y[m * 4u + tid] = 1.0",
        "m = 1u",
        "let y_at = m * 4u + tid",
        "y[y_at] = 1.0",
        "y[y_at] = 2.0",
    ]
    inside = loop(stored(at), stored(at), Assign(m, m + 1))
    assert "let" not in " ".join(after(Declare(m, const(0)), inside))
    later = after(Declare(m, const(0)), loop(Assign(m, m + 1)), stored(at), stored(at))
    assert later[3:] == ["let y_at = m * 4u + tid", "y[y_at] = 1.0", "y[y_at] = 1.0"]


def test_a_name_of_an_atomic_or_a_let_is_where_its_block_is() -> None:
    old = var("old")
    counter = Buffer("c", f32, 4, writable=True)
    update = Atomic("Add", counter, const(0), const(1.0, f32), result=old)
    body = If(TID < 2, (update, stored(old * 4), stored(old * 4)))
    assert lines(hoist(kernel_of(body, buffers=(Y, counter))))[2:] == [
        "  let old_times_4 = old * 4u",
        "  y[old_times_4] = 1.0",
        "  y[old_times_4] = 1.0",
    ]
    a = var("a")
    again = Let(a, cast(load(X, TID), a.dtype)), loop(stored(a * 4 + TID))
    assert after(*again)[1] == "let y_at = a * 4u + tid"


def test_the_bounds_of_a_loop_are_computed_each_time() -> None:
    m = var("m")
    stop = m * 2 + TID
    text = after(Declare(m, const(0)), loop(Assign(m, m + 1), stop=stop + stop * 3))
    assert text[1] == "for k from 0u to m * 2u + tid + (m * 2u + tid) * 3u by 1u"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (TID * 4, "tid_times_4"),
        (TID // 4, "tid_div_4"),
        (TID % 4, "tid_mod_4"),
        (binary(">>", TID, const(2)), "tid_shr_2"),
        (binary("<<", TID, const(2)), "tid_shl_2"),
        (binary("&", TID, const(2)), "tid_and_2"),
        ((GROUP * 4) // 3 * 4, "group_y_times_4_div_3_times_4"),
        (builtin("subgroup_size", 4, 128) * 2, "subgroup_size_times_2"),
        (builtin("subgroup_id", 0, 3) * 2, "subgroup_times_2"),
        (builtin("subgroup_invocation_id", 0, 31) * 2, "lane_times_2"),
        (call("min", var("n") * 0 + 3, var("n")), "n_min"),
        (TID + GROUP, "y_at"),
        ((TID + GROUP) * 4, "y_at"),
    ],
)
def test_a_name_says_what_is_computed(value: Expr, name: str) -> None:
    bound = {v: Declare(v, const(0)) for v in variables(value)}
    text = after(*bound.values(), stored(value), stored(value))
    assert text[len(bound)].split()[:2] == ["let", name]


def test_names_of_other_values() -> None:
    a, b = var("a", f32), var("b", f32)
    lets = Let(a, load(X, TID)), Let(b, load(X, TID + 1))
    wide, mixed, inside = splat(a, 4) * 2.0, vector(a, b), (TID < 3) & (TID > 1)
    assert after(*lets, stored(TID, component(wide, 0) + component(wide, 1)))[2].startswith("let value = ")
    use = stored(TID, component(mixed * mixed, 0)), stored(TID, component(mixed + mixed, 0))
    assert "let a_vec = vec2<f32>(a, b)" in after(*lets, *use)
    assert after(If(inside, (stored(TID),)), stored(TID), If(inside, (stored(TID),)))[0].startswith("let inside = ")
    gather = load(X, TID * 4 + GROUP)
    assert after(stored(TID, gather), stored(TID, load(U, TID * 4 + GROUP)))[0].startswith("let x_at = ")


@pytest.mark.parametrize("cheap", [TID + 1, cast(TID, var("i").dtype), load(X, TID), splat(const(1.0, f32), 4)])
def test_what_saves_nothing_has_no_name(cheap: Expr) -> None:
    values = [cheap] * 2
    stores = [Store(Y if v.dtype is f32 else Buffer("w", v.dtype, 64, writable=True), TID, v) for v in values]
    kernel = kernel_of(*stores, buffers=(X, Y, *[s.buffer for s in stores if s.buffer is not Y]))
    assert not any(isinstance(s, Let) for s in statements(hoist(kernel).body))


def test_a_name_has_the_bounds_of_its_value() -> None:
    at = TID * 4 + GROUP
    kernel = hoist(kernel_of(stored(at), stored(at), buffers=(X, Y)))
    name = kernel.body[0].binds
    assert isinstance(name, Var) and (name.lo, name.hi) == range_of(at) == (0, 19)


def test_floats_used_twice_are_named_after_a_trace_and_indices_are_not() -> None:
    value, at = call("exp", cast(TID, f32)), TID * 4 + GROUP
    text = lines(finish(kernel_of(stored(at, value), stored(at, value + 1.0), buffers=(X, Y))))
    assert text == ["let value = exp(f32(tid))", "y[tid * 4u + group.y] = value", "y[tid * 4u + group.y] = value + 1.0"]


def test_a_cast_of_a_name_gets_no_name_and_a_cast_of_a_sum_does() -> None:
    plain, whole = cast(TID, i32), cast(TID * 4 + GROUP, i32)
    assert after(stored(plain), stored(plain, const(2.0, f32))) == ["y[i32(tid)] = 1.0", "y[i32(tid)] = 2.0"]
    assert after(stored(whole), stored(whole, const(2.0, f32)))[0] == "let y_at = i32(tid * 4u + group.y)"
