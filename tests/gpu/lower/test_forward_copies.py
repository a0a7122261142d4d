"""`forward_copies`: a name that only reads a variable is the variable, as long as that is not set."""

from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Break,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Let,
    Store,
    builtin,
    component,
    const,
    splat,
    var,
)
from cutepy.gpu.lower import PASSES
from cutepy.gpu.lower.forward_copies import forward_copies
from cutepy.tensor.dtypes import f32

X, Y = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True)
TID = builtin("local_invocation_index", 0, 3)


def stored(value: Expr, at: int = 0) -> Store:
    return Store(Y, TID + at, value)


def after(*body: object) -> list[str]:
    kernel = kernel_of(*body, buffers=(X, Y))
    out = forward_copies(kernel)
    return lines(out)


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, forward_copies(small.kernel))


@laws
@given(small_kernels(*PASSES[:-1]))
def test_so_it_does_where_it_stands(small: Small) -> None:
    assert_same(small.kernel, forward_copies(small.kernel))


def test_a_copy_is_the_variable() -> None:
    m, a = var("m", f32), var("a", f32)
    assert after(Declare(m, const(1.0, f32)), Let(a, m), stored(a + a)) == ["var m = 1.0", "y[tid] = m + m"]
    w, b = var("w", f32, lanes=4), var("b", f32)
    lanes = Declare(w, splat(const(1.0, f32), 4)), Let(b, component(w, 2)), stored(b)
    assert after(*lanes)[1:] == ["y[tid] = w.z"]


def test_what_is_no_copy_stays() -> None:
    a, b = var("a", f32), var("b", f32)
    assert after(Let(a, const(1.0, f32)), Let(b, a), stored(b))[1] == "let b = a"
    m = var("m", f32)
    assert after(Declare(m, const(1.0, f32)), Let(a, m + 1.0), stored(a))[1] == "let a = m + 1.0"


def test_a_copy_stays_where_its_variable_is_set_before_the_last_use() -> None:
    m, a = var("m", f32), var("a", f32)
    assert after(Declare(m, const(1.0, f32)), Let(a, m), stored(a), Assign(m, const(2.0, f32)), stored(a, 4)) == [
        "var m = 1.0",
        "y[tid] = m",
        "let a = m",
        "m = 2.0",
        "y[tid + 4u] = a",
    ]
    # The statement that sets it may be the last use.
    assert after(Declare(m, const(1.0, f32)), Let(a, m), Assign(m, a + 1.0), stored(m)) == [
        "var m = 1.0",
        "m = m + 1.0",
        "y[tid] = m",
    ]


def test_copies_are_emitted_in_order_of_text() -> None:
    m, n, a, b = (var(name, f32) for name in "mnab")
    start = Declare(m, const(1.0, f32)), Declare(n, const(2.0, f32))
    branch = If(TID < 2, (Assign(n, const(3.0, f32)), Assign(m, const(4.0, f32))))
    assert after(*start, Let(a, m), Let(b, n), branch, stored(a + b))[2:] == [
        "let a = m",
        "let b = n",
        "if tid < 2u",
        "  n = 3.0",
        "  m = 4.0",
        "y[tid] = a + b",
    ]


def test_the_condition_of_a_branch_is_read_before_it_sets_anything() -> None:
    m, a = var("m"), var("a")
    assert after(Declare(m, TID), Let(a, m), If(a < 2, (Assign(m, const(3)),))) == [
        "var m = tid",
        "if m < 2u",
        "  m = 3u",
    ]


def test_the_bounds_of_a_loop_are_names() -> None:
    m, a, k = var("m"), var("a"), var("k")
    assert after(Declare(m, TID), Let(a, m), For(k, const(0), a, const(1), (Assign(m, m + 1),))) == [
        "var m = tid",
        "let a = m",
        "for k from 0u to a by 1u",
        "  m = m + 1u",
    ]


def test_the_bound_of_a_loop_that_sets_nothing_is_a_name_too() -> None:
    m, a = var("m"), var("a")
    loop = For(var("k"), const(0), a, const(1), (stored(const(1.0, f32)),))
    assert after(Declare(m, TID), Let(a, m), loop)[1:3] == ["let a = m", "for k from 0u to a by 1u"]


def test_a_loop_that_sets_the_variable_reads_the_copy() -> None:
    m, a, k = var("m", f32), var("a", f32), var("k")
    loop = For(k, const(0), const(2), const(1), (Assign(m, a + 1.0),))
    assert after(Declare(m, const(1.0, f32)), Let(a, m), loop, stored(m)) == [
        "var m = 1.0",
        "let a = m",
        "for k from 0u to 2u by 1u",
        "  m = a + 1.0",
        "y[tid] = m",
    ]


def test_a_break_has_copies_of_its_own() -> None:
    m, a, k = var("m", f32), var("a", f32), var("k")
    leave = Break(TID < 2, (Assign(m, const(5.0, f32)), stored(a)))
    body = Let(a, m), leave, Assign(m, a + 1.0)
    assert after(Declare(m, const(1.0, f32)), For(k, const(0), const(2), const(1), body), stored(m, 4)) == [
        "var m = 1.0",
        "for k from 0u to 2u by 1u",
        "  break if tid < 2u",
        "    let a = m",
        "    m = 5.0",
        "    y[tid] = a",
        "  m = m + 1.0",
        "y[tid + 4u] = m",
    ]
    # What is used in the block alone is not used after it.
    m, a = var("m", f32), var("a", f32)
    body = Let(a, m), Break(TID < 2, (stored(a),)), Assign(m, m + 1.0)
    assert after(Declare(m, const(1.0, f32)), For(var("k"), const(0), const(2), const(1), body))[2:] == [
        "  break if tid < 2u",
        "    y[tid] = m",
        "  m = m + 1.0",
    ]
