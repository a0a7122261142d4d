"""`loop_bounds`: how many iterations the loops of a kernel take, as linear forms in its parameters."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_kernels import kernel_of

from cutepy.gpu.ir import Break, Buffer, Expr, For, If, Stmt, Store, builtin, cast, const, load, param, var
from cutepy.gpu.lower.loop_bounds import loop_bounds
from cutepy.gpu.runtime.program import LoopBound
from cutepy.tensor.dtypes import f32, i32, u32

X, Y = Buffer("x", u32, 16), Buffer("y", f32, 16, writable=True)
TID, N = builtin("local_invocation_index", 0, 3), param("n", u32)
WORK = Store(Y, TID, const(1.0, f32))


def loop(stop: Expr | None, *body: Stmt, start: Expr | None = None, step: Expr | None = None, name: str = "k") -> For:
    first = const(0) if start is None else start
    return For(var(name, first.dtype), first, stop, const(1) if step is None else step, (*body, WORK))


def bounds(*body: Stmt) -> tuple[LoopBound, ...]:
    return loop_bounds(replace(kernel_of(*body, buffers=(X, Y)), params=(N,)))


@given(st.integers(0, 9), st.integers(0, 30), st.integers(1, 4), st.integers(0, 5))
def test_constant_loops_in_one_another_are_counted_exactly(start: int, stop: int, step: int, inner: int) -> None:
    (bound,) = bounds(loop(const(stop), loop(const(inner), name="j"), start=const(start), step=const(step)))
    iterations = len(range(start, stop, step))
    assert bound.most(()) == bound.least(()) == iterations * (inner + 2) + 1


@given(st.integers(0, 5), st.integers(0, 100))
def test_a_parameter_is_a_term(times: int, n: int) -> None:
    (bound,) = bounds(loop(N * times + 3))
    assert bound.most((n,)) == bound.least((n,)) == times * n + 4


def test_a_loop_below_zero_and_one_from_above() -> None:
    (bound,) = bounds(loop(const(2, i32), start=const(-3, i32), step=const(1, i32)))
    assert bound.most(()) == bound.least(()) == 6
    (bound,) = bounds(loop(const(7), start=N))
    assert [bound.most((n,)) for n in (0, 5, 9)] == [8, 3, 1]


def test_what_depends_on_ids_is_bounded_from_above_alone() -> None:
    (bound,) = bounds(loop(TID + 5))
    assert (bound.most(()), bound.least(())) == (9, 1) and not bound.certain
    (bound,) = bounds(loop(const(9), step=TID + 1))
    assert (bound.most(()), bound.certain) == (10, False)
    (bound,) = bounds(loop(const(9), start=TID))
    assert (bound.most(()), bound.certain) == (10, False)


def test_breaks_and_branches_make_no_iteration_certain() -> None:
    inner = loop(const(4), name="j")
    (left,) = bounds(loop(const(5), Break(TID < 2), inner))
    assert (left.most(()), left.certain, left.inside[0].certain) == (5 * 6 + 1, False, False)
    (stays,) = bounds(loop(const(5), inner))
    assert stays.certain and stays.inside[0].certain
    (branch,) = bounds(If(TID < 2, (loop(const(5)),)))
    assert (branch.most(()), branch.certain) == (6, False)


def test_loops_without_a_bound_give_those_inside() -> None:
    inner = loop(const(4), name="j")
    assert [b.most(()) for b in bounds(loop(None, Break(TID < 2), inner))] == [5]
    assert bounds(loop(load(X, TID))) == ()
    assert bounds(loop(const(4), step=cast(load(X, TID), u32))) == ()
