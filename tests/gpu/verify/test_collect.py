"""The walk from a kernel to its model: rules of `gpu/verify/collect.py`, and what loops carry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_verify import TID, X, kernel_of, put

from cutepy.gpu.ir import (
    Assign,
    Break,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Store,
    binary,
    builtin,
    const,
    load,
    negated,
    new_arena,
    select,
    splat,
    var,
)  # fmt: skip
from cutepy.gpu.ir.ranges import Points, range_of
from cutepy.gpu.verify import verify
from cutepy.gpu.verify.collect import collect
from cutepy.tensor.dtypes import u32

R, Q = var("r"), var("q")
K = var("k", hi=5)
TURNS = [
    lambda r, q: (r + 3, q), lambda r, q: (1 - r, q), lambda r, q: (q, r), lambda r, q: ((r + 1) % 3, q + 2),
    lambda r, q: (r ^ 1, r), lambda r, q: (r - 1, q - r), lambda r, q: (r, q + 5), lambda r, q: (r * 2, q),
    lambda r, q: (select(r < 4, r + 1, r), q), lambda r, q: (r % 4, (q + 1) % 2),
]  # fmt: skip


@settings(max_examples=150)
@given(st.sampled_from(TURNS), st.integers(0, 4), st.integers(0, 4), st.integers(0, 6))
def test_carried_values_are_those_of_the_run(turn: object, first: int, second: int, count: int) -> None:
    """In every turn, and after the last: a formula gives the very value, an unknown has it in its bounds."""
    with new_arena():
        one, two = turn(R, Q)  # type: ignore[operator]
        next_ = var("next")
        body = put(R + Q * 0), Declare(next_, two), Assign(R, one), Assign(Q, next_)
        start = Declare(R, const(first)), Declare(Q, const(second))
        kernel = kernel_of(*start, For(K, const(0), const(count), const(1), body), put(R + 1), grid=1)
        model = collect(kernel)
        values, now = [], (first, second)
        for _ in range(count + 1):
            values.append(now[0])
            env = {leaf: np.asarray(n, np.uint32) for leaf, n in zip((R, Q), now, strict=True)}
            now = int(Points(env).of(one)), int(Points(env).of(two))
        inside = [a for a in model.accesses if a.loops]
        after = [a for a in model.accesses if not a.loops][-1]
        for number, value in enumerate(values[:-1]):
            assert_is(inside[0].index, {inside[0].loops[0].index: number}, value)
        assert_is(after.index, {}, (values[-1] + 1) % 2**32)


def assert_is(index: Expr, numbers: dict[Expr, int], value: int) -> None:
    points = Points({leaf: np.asarray(n, np.uint32) for leaf, n in numbers.items()})
    try:
        found = int(points.of(index))
    except Exception:  # an unknown
        low, high = range_of(index)
        assert low <= value <= high
    else:
        assert found == value


def test_steps_and_cycles_have_formulas() -> None:
    with new_arena():
        for turn, known in zip(TURNS, "yyyyyyyyny", strict=True):
            one, two = turn(R, Q)  # type: ignore[no-untyped-call]
            next_ = var("next")
            body = put(R), Declare(next_, two), Assign(R, one), Assign(Q, next_)
            start = Declare(R, const(0)), Declare(Q, const(1))
            model = collect(kernel_of(*start, For(K, const(0), const(5), const(1), body), grid=1))
            assert (not model.unknowns([model.accesses[0].index])) == (known == "y"), turn(R, Q)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_guard_is_about_the_side_that_others_choose(swapped: bool) -> None:
    with new_arena():
        few, data = TID < 32, var("d")
        chosen = select(few, data, const(99))
        tests = (chosen < 9, few) if swapped else (few, chosen < 9)
        model = collect(kernel_of(If(binary("&", *tests), (put(chosen),)), grid=1))
        assert {str(guard) for guard in model.accesses[0].guards} == {"d < 9u", "tid < 32u"}
        assert model.accesses[0].index is data


@pytest.mark.parametrize("grid", [(3, 4, 1), (4, 2, 1)])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_folded_grid_is_one_number_and_its_axes_are_themselves(grid: tuple[int, int, int], beyond: int) -> None:
    """A long grid of one dimension comes folded over two. Where the body asks for an axis, that is no longer so."""
    columns, rows, _ = grid
    x, y = (builtin("workgroup_id", 0, n - 1, axis=axis) for axis, n in enumerate(grid[:2]))
    total = y * columns + x

    def status(at: Expr, length: int, claim: str, threads: int) -> str:
        out = Buffer("out", u32, length, writable=True)
        kernel = Kernel("k", (out,), (If(total < columns * rows - 1, (put(at, out),)),), grid, (threads, 1, 1))
        return next(str(v.status) for v in verify(kernel, prover="cutepy").verdicts if v.claim == claim)

    many = columns * rows - 1
    for threads in (1, 4):
        mine = total if threads == 1 else total * 4 + builtin("local_invocation_index", 0, 3)
        wanted = ["refuted" if beyond else "proven", "proven"]
        assert [status(mine, many * threads - beyond, c, threads) for c in ("in bounds", "no races")] == wanted
        assert status(x, columns - beyond, "in bounds", threads) == wanted[0]
        assert status(y, rows - beyond, "in bounds", threads) == wanted[0]
        assert status(x, columns, "no races", threads) == "refuted"
        assert status(y * columns + x, many, "no races", threads) == ("proven" if threads == 1 else "refuted")


def test_a_counter_whose_step_memory_decides_is_any_number_below_its_end() -> None:
    """By 0 or 4 it comes to 0 and 4, and not to 7; the model does not know, and says so."""
    k, step = var("k"), load(X, const(0)) % 2 * 4
    for length, wanted in ((8, "proven"), (7, "undecided")):
        y = Buffer("y", u32, length, writable=True)
        kernel = Kernel("k", (X, y), (For(k, const(0), const(8), step, (put(k, y),)),), (1, 1, 1), (1, 1, 1))
        found = [str(v.status) for v in verify(kernel, prover="cutepy").verdicts if v.claim == "in bounds"]
        assert found == ["proven", wanted]


def test_registers_and_vectors_follow_a_counter_whose_step_memory_decides() -> None:
    k, r, step = var("k"), var("r"), load(X, const(0)) % 2 * 4
    y = Buffer("y", u32, 32, writable=True)
    wide = Buffer("y", u32, 32, writable=True, width=4)
    kept = For(k, const(0), const(32), step, (Declare(r, const(0)), Assign(r, k), put(r, y)))
    # vector number 2^30 - 1 is the last one whose elements have numbers of 32 bits
    few = For(k, const(0), const(1 << 30), step, (If(k < 8, (Store(wide, k, splat(const(1), 4)),)),))
    for body, out in ((kept, y), (few, wide)):
        kernel = Kernel("k", (X, out), (body,), (1, 1, 1), (1, 1, 1))
        found = verify(kernel, prover="cutepy").verdicts
        assert [str(v.status) for v in found if v.claim == "in bounds"] == ["proven", "proven"]


def test_a_loop_of_no_turn_accesses_nothing_and_registers_stay() -> None:
    k, r = var("k"), var("r")
    for count, length, wanted in ((0, 6, "proven"), (0, 5, "refuted"), (1, 8, "proven"), (1, 7, "refuted")):
        y = Buffer("y", u32, length, writable=True)
        loop = For(k, const(0), const(count), const(1), (put(r + count * 0, y), Assign(r, r + 2)))
        far = For(k, const(0), const(0), const(1), (put(r + 1000, y), Assign(r, r + 2)))
        kernel = Kernel("k", (y,), (Declare(r, const(5)), far, loop, put(r, y)), (1, 1, 1), (1, 1, 1))
        (found,) = [v for v in verify(kernel, prover="cutepy").verdicts if v.claim == "in bounds"]
        assert found.status == wanted


def test_a_turn_happens_where_the_only_exit_was_not_taken() -> None:
    """A `while` of one exit happens where its condition holds; beside another exit, and in a counted loop, a thread
    may have left before, so that nothing is refuted by a turn, and all that is outside the condition is proven."""
    k, r = var("k"), var("r")
    step, leave, other = Assign(r, r + 1), Break(negated(r < 8)), Break(load(X, r) < 3)
    for stop, exits, length, wanted in (
        (None, (leave,), 8, "proven"),
        (None, (leave,), 7, "refuted"),
        (None, (leave, other), 8, "proven"),
        (None, (leave, other), 7, "undecided"),
        (const(8), (other,), 8, "proven"),
        (const(8), (other,), 7, "undecided"),
        (const(8), (Break(k >= 5),), 5, "proven"),
        (const(8), (), 7, "refuted"),
    ):
        y = Buffer("y", u32, length, writable=True)
        loop = For(k, const(0), stop, const(1), (*exits, put(r, y), step))
        kernel = Kernel("k", (X, y), (Declare(r, const(0)), loop), (1, 1, 1), (1, 1, 1))
        found = next(v for v in verify(kernel, prover="cutepy").verdicts if (v.claim, v.array) == ("in bounds", "y"))
        assert found.status == wanted, (stop, exits, length, str(found))
