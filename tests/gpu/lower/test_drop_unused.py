"""`drop_unused`: what nothing reads goes, and nothing else."""

from hypothesis import given
from small_kernels import Small, assert_same, kernel_of, laws, lines, small_kernels

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Break,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    If,
    Let,
    Store,
    builtin,
    const,
    load,
    loads,
    statements,
    var,
    variables,
)
from cutepy.gpu.lower import drop_unused
from cutepy.gpu.lower.name_registers import name_registers
from cutepy.tensor.dtypes import bool_, f32

X, Y, C = Buffer("x", f32, 16), Buffer("y", f32, 16, writable=True), Buffer("c", f32, 4, writable=True)
TID = builtin("local_invocation_index", 0, 3)
ONE, TWO = Buffer("one", f32, 1, space="private"), Buffer("two", f32, 2, space="private")
TRUE, FALSE = const(True, bool_), const(False, bool_)


def stored(value: Expr) -> Store:
    return Store(Y, TID, value)


def after(*body: object) -> list[str]:
    return lines(drop_unused(kernel_of(*body, buffers=(X, Y, C), local=(ONE, TWO))))


@laws
@given(small_kernels())
def test_the_kernel_computes_the_same(small: Small) -> None:
    assert_same(small.kernel, drop_unused(small.kernel))


@laws
@given(small_kernels(name_registers))
def test_after_registers_are_named_too(small: Small) -> None:
    assert_same(small.kernel, drop_unused(small.kernel))


@laws
@given(small_kernels(name_registers))
def test_no_dead_name_branch_or_array_is_left(small: Small) -> None:
    kernel = drop_unused(small.kernel)
    body = statements(kernel.body)
    roots = [root for s in body for root in s.expressions]
    read = {name for root in roots for name in variables(root)}
    arrays = {x.buffer for root in roots for x in loads(root)} | {
        s.buffer for s in body if isinstance(s, Store | Atomic)
    }
    for stmt in body:
        assert stmt.binds is None or stmt.binds in read
        assert not isinstance(stmt, If | For) or any(stmt.blocks)
        assert not isinstance(stmt, If | Break) or not isinstance(stmt.condition, Const) or isinstance(stmt, Break)
        assert not isinstance(stmt, If) or stmt.then
    assert arrays >= set(kernel.local)


def test_names_and_registers_that_nothing_reads_go() -> None:
    a, b, m = var("a", f32), var("b", f32), var("m", f32)
    assert after(Let(a, load(X, TID)), Let(b, a + 1.0), Store(ONE, const(0), b), stored(const(1.0, f32))) == [
        "y[tid] = 1.0"
    ]
    assert after(Declare(m, const(0.0, f32)), Assign(m, load(X, TID)), stored(const(1.0, f32))) == ["y[tid] = 1.0"]


def test_a_store_to_an_array_of_two_stays() -> None:
    assert after(Store(TWO, const(1), const(1.0, f32))) == ["two[1u] = 1.0"]


def test_a_variable_that_the_next_iteration_reads_stays() -> None:
    m, k = var("m", f32), var("k")
    loop = For(k, const(0), const(2), const(1), (stored(m), Assign(m, m + 1.0)))
    assert after(Declare(m, const(0.0, f32)), loop) == [
        "var m = 0.0",
        "for k from 0u to 2u by 1u",
        "  y[tid] = m",
        "  m = m + 1.0",
    ]


def test_a_result_goes_and_its_atomic_stays() -> None:
    assert after(Atomic("Add", C, const(0), const(1.0, f32), result=var("old", f32))) == ["Add c[0u], 1.0"]


def test_a_branch_that_is_decided_is_its_arm() -> None:
    one, two = stored(const(1.0, f32)), stored(const(2.0, f32))
    assert after(If(TRUE, (one,), (two,))) == ["y[tid] = 1.0"]
    assert after(If(FALSE, (one,), (two,))) == ["y[tid] = 2.0"]
    assert after(If(FALSE, (one,))) == []


def test_a_branch_with_its_second_arm_alone_is_negated() -> None:
    dead = Let(var("a", f32), load(X, TID))
    assert after(If(TID < 2, (dead,), (stored(const(2.0, f32)),))) == ["if tid >= 2u", "  y[tid] = 2.0"]
    assert after(If(TID < 2, (dead,), (dead,))) == []


def test_a_loop_without_iterations_goes() -> None:
    k, body = var("k"), (stored(const(1.0, f32)),)
    assert after(For(k, const(2), const(2), const(1), body)) == []
    assert after(For(k, const(3), const(2), const(1), body)) == []
    assert len(after(For(k, const(1), const(2), const(1), body))) == 2


def test_nothing_follows_an_unconditional_break() -> None:
    one, two = stored(const(1.0, f32)), stored(const(2.0, f32))
    assert after(For(var("k"), const(0), None, const(1), (one, Break(TRUE, (two,)), two))) == [
        "for k from 0u to ever by 1u",
        "  y[tid] = 1.0",
        "  break if true",
        "    y[tid] = 2.0",
    ]
    loop = For(var("k"), const(0), const(2), const(1), (one, Break(FALSE, (two,)), two))
    assert "break" not in " ".join(after(loop))


def test_what_only_dead_code_reads_is_dead() -> None:
    m, n, k = var("m", f32), var("n", f32), var("k")
    dead = For(k, const(0), const(2), const(1), (Assign(m, n), Assign(n, load(X, TID))))
    assert after(Declare(m, const(0.0, f32)), Declare(n, const(0.0, f32)), dead, stored(const(1.0, f32))) == [
        "y[tid] = 1.0"
    ]
