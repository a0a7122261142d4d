"""When the turn of a loop happens, and that loops end: rules of `gpu/verify/loops.py`, and shrunk random programs."""

import operator
from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from shares import in_share, share
from test_verify import TID, X, Y, kernel_of, put
from while_programs import judge

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import (
    Assign,
    Break,
    Buffer,
    Declare,
    Expr,
    For,
    Kernel,
    Store,
    binary,
    builtin,
    const,
    load,
    negated,
    select,
    var,
)  # fmt: skip
from cutepy.gpu.verify import verify
from cutepy.gpu.verify.loops import Limit, Recurrence
from cutepy.layout import Layout
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import u32

U = np.uint32


def test_random_loops_are_judged_as_their_threads_run() -> None:
    found = Counter(judge(seed) for seed in share(range(120)))
    assert found["clean, proven"] >= in_share(5) and found["wrong, refuted"] >= in_share(10), found


# 1a: `w + 2 > 0` holds at w == 2**32 - 1, where w has wrapped around and w + 2 has not.
def test_a_turn_whose_counter_wrapped_and_whose_comparison_did_not_happens() -> None:
    @gpu.kernel
    def wraps(y: Tensor) -> None:
        gpu.launch(threads=8)
        w = gpu.thread + 1
        while w + 2 > 0:
            gpu.atomic_add(y, w, 1)
            w = w - 1

    y = np.zeros(16, U)
    found = wraps.verify(y)
    assert [v.claim for v in found.refuted] == ["in bounds"] and found.refuted[0].witness is not None
    assert found.refuted[0].witness.element == 2**32 - 1
    assert wraps.program(y).checked
    with pytest.raises(KernelError, match="element 4294967295"):
        wraps.interpret(y)


# 1b: threads start at other places, and none goes on after `!=` has failed.
def test_no_turn_follows_the_one_that_does_not_equal_its_bound() -> None:
    @gpu.kernel
    def iterator(y: Tensor) -> None:
        gpu.launch(threads=8)
        t = gpu.thread
        rows = gpu.shared("u32", Layout((8, 16), (16, 1)))
        w = t + 0
        while w != 8:
            rows[t, w] = 2
            w = w + 1
        gpu.barrier()
        with gpu.when(t == 7):
            y[rows[7, 10] - 1] = 5

    y = np.zeros(2, U)
    found = iterator.verify(y)
    assert [(v.claim, v.array) for v in found.refuted] == [("written before read", "rows")]
    assert iterator.program(y).checked


# 1c: a counter whose comparison starts below 0 makes no turn at all.
def test_a_comparison_that_fails_at_once_lets_no_turn_happen() -> None:
    @gpu.kernel
    def below(y: Tensor) -> None:
        gpu.launch(threads=4)
        t = gpu.thread
        rows = gpu.shared("u32", Layout((4, 4), (4, 1)))
        w = t + 0
        while w - 1 <= 8:
            rows[t, t] = 1
            w = w + 3
        gpu.barrier()
        y[t] = rows[0, 0]

    found = below.verify(np.zeros(4, U))
    assert [(v.claim, v.array) for v in found.refuted] == [("written before read", "rows")]


# 1d: what is right is not refuted by turns that do not happen.
def test_a_suffix_is_not_refuted() -> None:
    @gpu.kernel
    def suffix(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=4, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        s = gpu.constant(0, "u32")
        while i != 256:
            s = s + x[i]
            i = i + 1
        y[gpu.workgroup.x * 64 + gpu.thread] = s

    assert suffix.verify(np.zeros(256, U), np.zeros(256, U)).ok


COMPARISONS = {"<": operator.lt, "<=": operator.le, "!=": operator.ne, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize(("op", "step", "start", "end"), [
    ("<", 3, 0, 12), ("<=", 3, 0, 12), ("!=", 1, 0, 12), (">", -2, 13, 1), (">=", -2, 13, 2), ("!=", -1, 13, 2),
])  # fmt: skip
@pytest.mark.parametrize("offset", [-2, 0, 1, 3])
def test_turns_are_those_that_python_makes(op: str, step: int, start: int, end: int, offset: int) -> None:
    goes_on = COMPARISONS[op]
    reached = []
    for w in (start, start + 1):
        while goes_on(w + offset, end):
            reached.append(w)
            w += step
    least, most = min(reached), max(reached)

    def bounds(lowest: int, length: int) -> str:
        @gpu.kernel
        def counted(y: Tensor) -> None:
            gpu.launch(threads=2)
            w = gpu.cast(gpu.thread, "i32") + start
            while goes_on(w + offset, end):
                gpu.atomic_add(y, gpu.cast(w - lowest, "u32"), 1)
                w = w + step

        verdicts = counted.verify(np.zeros(length, U)).verdicts
        return next(v.status for v in verdicts if (v.claim, v.array) == ("in bounds", "y"))

    size = most - least + 1
    assert [bounds(least, size), bounds(least, size - 1), bounds(least + 1, size)] == ["proven", "refuted", "refuted"]


def loops_of(step: Callable[[Expr], Expr], *, goes_on: Callable[[Expr], Expr]) -> str:
    """The verdict on `r = 100; while goes_on(r): r = step(r)`."""
    r, k = var("r"), var("k")
    leave = Break(negated(goes_on(r)))
    loop = For(k, const(0), None, const(1), (leave, put(TID), Assign(r, step(r))))
    kernel = kernel_of(Declare(r, const(100)), loop, grid=1)
    return next(str(v.status) for v in verify(kernel, prover="cutepy").verdicts if v.claim == "bounded loops")


@pytest.mark.parametrize(
    ("step", "goes_on", "wanted"),
    [
        (lambda r: r // 2, lambda r: r > 0, "proven"),
        (lambda r: r // 1, lambda r: r > 0, "undecided"),
        (lambda r: load(X, TID) // 2, lambda r: r > 0, "undecided"),
        (lambda r: r * 2, lambda r: r < 1000, "proven"),
        (lambda r: r * 3, lambda r: r < 1000, "proven"),
        (lambda r: r * 3, lambda r: r < 1 << 31, "undecided"),
        (lambda r: r + 1, lambda r: r < load(X, TID), "proven"),
        (lambda r: r + 1, lambda r: r < load(Y, TID), "undecided"),
        (lambda r: r + 1, lambda r: r < load(Y, const(0)), "undecided"),
        (lambda r: r - 1, lambda r: r != 7, "proven"),
        (lambda r: r - 1, lambda r: binary("!=", r, const(101)), "undecided"),
        (lambda r: r + 1, lambda r: binary("!=", r, const(100)), "proven"),
    ],
)
def test_what_ends_a_while(step: Callable[[Expr], Expr], goes_on: Callable[[Expr], Expr], wanted: str) -> None:
    """Halved, doubled, moved on without wrapping or by equal steps to a bound that stays: what the kernel writes may be
    another each time."""
    assert loops_of(step, goes_on=goes_on) == wanted


@pytest.mark.parametrize("start", [0, 3, 8])
@pytest.mark.parametrize("stop", [0, 3, 8])
@pytest.mark.parametrize("step", [-1, 1])
def test_a_counter_meets_what_it_is_not_to_equal(start: int, stop: int, step: int) -> None:
    """In as many turns as they are apart, or never within the numbers."""
    begin = var("r")
    limit = Limit(Recurrence(const(start), begin, begin + step), 0, "!=", const(stop))
    apart = (stop - start) * step
    assert limit.most == (apart if apart >= 0 else None)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("step", [-3, -1, 1, 3])
def test_a_counter_passes_its_bound_after_as_many_turns_as_it_takes(op: str, step: int) -> None:
    holds = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[op]
    begin, towards = var("r"), (step > 0) == (op in ("<", "<="))
    for start, stop in product([10, 12, 17], repeat=2):
        limit = Limit(Recurrence(const(start), begin, begin + step), 0, op, const(stop))
        turns = next((n for n in range(99) if not holds(start + step * n, stop)), 0) if towards else None
        assert limit.most == turns, (start, stop)


@pytest.mark.parametrize("steps", [(-1, -2), (1, 2), (-1, 3), (-3, -1)])
def test_a_register_that_data_moves_is_where_its_steps_may_take_it(steps: tuple[int, int]) -> None:
    """From 20 in five turns by one of two steps each time, at the beginning of a turn four of them."""
    r, k = var("r"), var("k")
    moved = select(load(X, k) < 3, *(r + s if s > 0 else r - -s for s in steps))
    least, most = (20 + 4 * end(0, *steps) for end in (min, max))
    for first, last, wanted in ((least, most, True), (least + 1, most, False), (least, most - 1, False)):
        y = Buffer("y", u32, last - first + 1, writable=True)
        loop = For(k, const(0), const(5), const(1), (Store(y, r - first, const(1)), Assign(r, moved)))
        kernel = Kernel("k", (X, y), (Declare(r, const(20)), loop), (1, 1, 1), (1, 1, 1))
        said = [
            str(v.status) for v in verify(kernel, prover="cutepy").verdicts if (v.claim, v.array) == ("in bounds", "y")
        ]
        assert (said == ["proven"]) is wanted, (steps, first, last)


@pytest.mark.parametrize("start", [0, 2, 9, 12])
@pytest.mark.parametrize(("op", "step"), [("<", 1), ("<", 3), ("<=", 1), ("<=", 3), (">", -1), (">=", -3), (">=", -1)])
def test_a_counter_is_after_its_loop_where_python_leaves_it(start: int, op: str, step: int) -> None:
    """`while r op bound: r += step`, then y[r], by three threads, each with its bound: as many elements as they reach
    are proven, one less refuted."""
    holds, bound, reached = COMPARISONS[op], 9 if step > 0 else 3, []
    for thread in range(3):
        r = start
        while holds(r, bound + thread):
            r += step
        reached.append(r % 2**32)
    counter, k, most = var("r"), var("k"), max(reached)
    leave = Break(negated(binary(op, counter, builtin("local_invocation_index", 0, 2) + bound)))
    moved = counter + step if step > 0 else counter - -step
    loop = For(k, const(0), None, const(1), (leave, Assign(counter, moved)))
    for length, wanted in ((most + 1, "proven"), (most, "refuted")) if most < 99 else ():
        y = Buffer("y", u32, length, writable=True)
        kernel = Kernel("k", (y,), (Declare(counter, const(start)), loop, put(counter, y)), (1, 1, 1), (3, 1, 1))
        found = next(v for v in verify(kernel, prover="cutepy").verdicts if v.claim == "in bounds")
        assert found.status == wanted, (reached, str(found))
