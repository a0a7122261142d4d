"""`load_once`: an element that the kernel never writes is loaded once where that is sure to be the same."""

from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Block,
    Break,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Let,
    Load,
    Store,
    builtin,
    const,
    load,
    loads,
    statements,
    var,
    variables,
)
from cutepy.gpu.lower.load_once import load_once
from cutepy.tensor.dtypes import f32, u32

X, Y, I = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True), Buffer("i", u32, 16)
TID = builtin("local_invocation_index", 0, 3)


def stored(value: Expr) -> Store:
    return Store(Y, TID, value)


def bound(name: str, value: Expr) -> Let:
    return Let(var(name, value.dtype), value)


def after(*body: object) -> list[str]:
    return lines(load_once(kernel_of(*body, buffers=(X, Y, I))))


def repeated(block: Block, written: set[Buffer], assigned: set[Expr], loaded: frozenset[Expr]) -> list[Expr]:
    """Elements that a block loads again, in itself or in a block around it."""
    again = []
    for stmt in block:
        if isinstance(stmt, Let) and isinstance(stmt.value, Load):
            reads = {x.buffer for x in loads(stmt.value)} & written or assigned.intersection(variables(stmt.value))
            if not reads:
                again += [stmt.value] if stmt.value in loaded else []
                loaded |= {stmt.value}
        for inner in stmt.blocks:
            again += repeated(inner, written, assigned, loaded)
    return again


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, load_once(small.kernel))


@laws
@given(small_kernels())
def test_no_element_that_lasts_is_loaded_again(small: Small) -> None:
    body = statements(small.kernel.body)
    written = {s.buffer for s in body if hasattr(s, "buffer")} | set(small.kernel.local)
    assigned: set[Expr] = {s.sets for s in body if s.sets is not None}
    assert repeated(load_once(small.kernel).body, written, assigned, frozenset()) == []


def test_the_second_load_is_the_first_name() -> None:
    a, b = bound("a", load(X, TID)), bound("b", load(X, TID))
    assert after(a, b, stored(a.var + b.var)) == ["let a = x[tid]", "y[tid] = a + a"]


def test_also_in_a_block_inside_and_not_after_it() -> None:
    a, b, c = (bound(name, load(X, TID)) for name in "abc")
    assert after(a, If(TID < 2, (b, stored(b.var)))) == ["let a = x[tid]", "if tid < 2u", "  y[tid] = a"]
    assert after(If(TID < 2, (b, stored(b.var))), If(TID < 3, (c, stored(c.var)))) == [
        "if tid < 2u",
        "  let b = x[tid]",
        "  y[tid] = b",
        "if tid < 3u",
        "  let c = x[tid]",
        "  y[tid] = c",
    ]


def test_an_element_that_is_written_is_loaded_again() -> None:
    a, b = bound("a", load(Y, TID)), bound("b", load(Y, TID))
    assert after(a, stored(a.var + 1.0), b, Store(Y, TID + 4, b.var))[2] == "let b = y[tid]"
    # Of an index that is loaded from what is written, too.
    t = Buffer("t", u32, 16, writable=True)
    c, d = bound("c", load(X, load(t, TID))), bound("d", load(X, load(t, TID)))
    kernel = kernel_of(c, Store(t, TID, const(1)), d, stored(c.var + d.var), buffers=(X, Y, t))
    assert "let d = x[t[tid]]" in lines(load_once(kernel))


def test_an_index_that_changes_is_another_element() -> None:
    m = var("m")
    a, b = bound("a", load(X, m)), bound("b", load(X, m))
    assert after(Declare(m, const(0)), a, Assign(m, const(1)), b, stored(a.var + b.var))[3] == "let b = x[m]"


def test_a_load_that_both_arms_make_is_made_before() -> None:
    a, b = bound("a", load(X, TID)), bound("b", load(X, TID))
    assert after(If(TID < 2, (a, stored(a.var)), (b, stored(b.var + 1.0)))) == [
        "let a = x[tid]",
        "if tid < 2u",
        "  y[tid] = a",
        "else",
        "  y[tid] = a + 1.0",
    ]


def test_a_load_that_follows_anyhow_is_made_before_and_not_past_a_break() -> None:
    a, b = bound("a", load(X, TID)), bound("b", load(X, TID))
    branch = If(TID < 2, (a, stored(a.var)))
    assert after(branch, b, stored(b.var + 1.0)) == [
        "let a = x[tid]",
        "if tid < 2u",
        "  y[tid] = a",
        "y[tid] = a + 1.0",
    ]
    k = var("k", hi=1)
    leaving = For(k, const(0), const(2), const(1), (branch, Break(TID < 1), b, stored(b.var)))
    assert after(leaving)[1:4] == ["  if tid < 2u", "    let a = x[tid]", "    y[tid] = a"]


def test_an_element_of_an_inner_name_is_not_loaded_before_the_name() -> None:
    i = bound("i0", load(I, TID))
    a, b = bound("a", load(X, i.var)), bound("b", load(X, i.var))
    text = after(i, If(TID < 2, (a, stored(a.var))), b, stored(b.var))
    assert text[:2] == ["let i0 = i[tid]", "let a = x[i0]"]
