"""What a proof may rest on: integers as they are, not floats, not sums modulo 2**32, not memory read twice."""

from dataclasses import replace

import numpy as np
import pytest
from real_kernels import REAL, conv, csr, stencil
from test_verify import GROUP, TID, S, X, Y, kernel_of, put, verdict_of

from cutepy import gpu
from cutepy.gpu.ir import (
    Assign,
    Barrier,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Let,
    Store,
    binary,
    call,
    cast,
    component,
    const,
    load,
    param,
    select,
    splat,
    var,
)
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.wgsl import print_wgsl
from cutepy.gpu.verify import needs_checks, verify
from cutepy.gpu.verify.collect import collect
from cutepy.tensor.dtypes import f32, i32, u32


def f(n: int) -> np.ndarray:
    return np.zeros(n, np.float32)


def u(n: int) -> np.ndarray:
    return np.zeros(n, np.uint32)


@pytest.mark.parametrize("name", REAL)
def test_correct_kernels_are_proven_at_real_sizes(name: str) -> None:
    found = REAL[name]()
    assert found.ok, str(found)


def test_slots_that_overlap_are_not_proven() -> None:
    @gpu.kernel
    def five_of_four(x, y):
        gpu.launch(grid=4, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        y[i * 4 + x[i] % 5] = 1

    assert [v.status for v in five_of_four.verify(u(256), u(1028)).verdicts if v.claim == "no races"] == ["refuted"]


def test_real_kernels_one_off_are_refuted() -> None:
    x = np.zeros((8, 20, 20, 4), np.float32)
    assert conv.verify(x, np.zeros((16, 3, 3, 4), np.float32), np.zeros((8, 20, 19, 16), np.float32)).refuted
    cube = np.zeros((20, 20, 20), np.float32)
    assert stencil.verify(cube, np.zeros((20, 20, 19), np.float32)).refuted
    short = csr.verify(u(100), u(500), f(500), f(100), f(100))  # one row too many for ptr
    assert [v.array for v in short.refuted] == ["ptr"]


@pytest.mark.parametrize("function", [gpu.exp, gpu.log, lambda v: v / 3.0, lambda v: v * v])
def test_a_float_decides_no_proof(function: object) -> None:
    @gpu.kernel
    def guard(x, y):
        gpu.launch(threads=62)
        with gpu.when(function(gpu.cast(gpu.thread, "f32")) < 0.0):  # type: ignore[operator]
            y[gpu.thread] = x[gpu.thread] + 1.0

    found = guard.verify(f(61), f(62))
    assert [(v.array, v.status) for v in found.verdicts if v.status != "proven"] == [("x", "undecided")]
    assert guard.program(f(61), f(62)).checked


def test_an_index_from_a_float_is_undecided() -> None:
    @gpu.kernel
    def half(x):
        gpu.launch(threads=64)
        x[gpu.cast(gpu.cast(gpu.thread, "f32") * 0.5, "u32")] = 1.0

    found = half.verify(f(64))
    assert {v.status for v in found.verdicts if v.array == "x"} == {"undecided"}
    half.interpret(f(64))


def test_what_a_subgroup_says_is_undecided() -> None:
    kernel = kernel_of(put(call("subgroup_shuffle", TID, const(3))), grid=1)
    assert verdict_of(kernel, "in bounds", "y").status == "undecided"


def test_sums_that_wrap_decide_no_comparison() -> None:
    v = var("v", lo=5, hi=36)
    wrapping = v + 0x7FFFFFFF > v - 2
    assert simplify(wrapping) is simplify(wrapping) and simplify(wrapping) is not const(False)
    hashed = binary("|", var("s"), const(0x80000000)) - 0x80000000
    assert not hasattr(simplify(hashed < TID + 1), "value")

    @gpu.kernel
    def bad(z, x, y):
        gpu.launch(threads=64)
        sg = gpu.subgroup_size
        a = (sg // sg) * 0x10000000 + gpu.thread
        b = gpu.maximum(z[gpu.thread], 0x70000000) - 0x70000000
        y[gpu.thread] = 1.0
        with gpu.when(a >= b):
            y[gpu.thread] = x[gpu.thread + 0x0F000000]

    found = bad.verify(u(64), f(64), f(64))
    assert [v.array for v in found.verdicts if v.claim == "in bounds" and v.status != "proven"] == ["x"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (var("x", lo=5, hi=256) % 256, (0, 255)),
        (binary("//", var("x", lo=8, hi=16), var("y", lo=1, hi=8)), (1, 16)),
        (binary("%", var("x", lo=0, hi=9), var("y", lo=0, hi=4)), (0, 3)),
        (binary("//", var("x", lo=3, hi=9), var("y", lo=0, hi=2)), (0, 9)),
        (binary(">>", var("x", i32, lo=-9, hi=-1), const(1)), (-5, -1)),
        (binary("%", var("x", i32, lo=-9, hi=100), const(8, i32)), (-7, 7)),
        (binary("//", var("x", i32, lo=-9, hi=7), const(4, i32)), (-2, 1)),
        (binary("&", var("x", i32, lo=-9, hi=7), const(6, i32)), (0, 6)),
        (var("x", lo=3, hi=9) + 0xFFFFFFFF, (2, 8)),
        (var("x", lo=0, hi=9) + 0xFFFFFFFF, (0, 2**32 - 1)),
        (call("abs", var("x", i32, lo=-9, hi=4)), (0, 9)),
        (call("abs", var("x", i32, lo=-9, hi=-4)), (4, 9)),
        (call("abs", var("x", i32)), (-(2**31), 2**31 - 1)),
        (call("leading_zeros", var("x")), (0, 32)),
        (component(call("unpack4xI8", var("x")), 2), (-128, 127)),
    ],
)
def test_ranges(value: Expr, wanted: tuple[int, int]) -> None:
    assert range_of(value) == wanted


@pytest.mark.parametrize("by", [-8, -1, 1, 5, 8])
@pytest.mark.parametrize("low", [-20, -8, -3, 0, 2])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_range_of_what_is_rounded_down_holds_it_all(by: int, low: int, count: int) -> None:
    x = var("x", i32, lo=low, hi=low + count - 1)
    for op, numbers in (
        ("%", [n % by for n in range(low, low + count)]),
        ("//", [n // by for n in range(low, low + count)]),
    ):
        least, most = range_of(Expr._operate(op, x, by))
        assert least <= min(numbers) and most >= max(numbers)
        assert op == "//" or by < 0 or (least >= 0 and most < by)


def test_divisions_that_multiply_up_and_masks_with_holes() -> None:
    x, row = var("x"), var("row", hi=15)
    assert simplify(x // 65536 // 65536) is const(0)
    masked = simplify(binary("&", TID * 4 + row % 2, const(10)))
    assert "row" not in repr(masked)
    assert simplify(binary("//", x, const(0))) is x and simplify(binary("%", x, const(0))) is const(0)
    zero = TID // (TID // 64) // 2
    assert simplify(zero) is TID // 2


def test_a_low_part_as_large_as_the_divisor_stays() -> None:
    five = var("five", hi=4)
    assert "five" in repr(simplify((TID * 4 + five) // 8))


def test_remainders_that_come_again_together() -> None:
    k = var("k")
    kernel = kernel_of(For(k, const(0), param("n", u32), const(1), (put(k % 6),)), grid=1)
    model = collect(kernel)
    index = model.loops[0].index
    assert model.period(index, [index % 2, index % 3]) == 6
    assert model.period(index, [index % 4, index * 2]) == model.loops[0].count


def test_low_digits_of_sums_that_wrap_fit_their_base() -> None:
    n = load(X, TID + 64)  # another one in each thread: what all have alike plays no part
    for apart, status in ((64, "proven"), (100, "undecided")):  # 0 + 3 * 100 and 44 are equal modulo 256
        at = n * 256 + TID + load(X, TID) % 4 * apart
        kernel = kernel_of(If(at < 256, (put(at),)), grid=1)
        assert verdict_of(kernel, "no races", "y").status == status


def test_a_shift_of_a_negative_number_rounds_down() -> None:
    x = var("x", i32)
    assert "/" not in repr(simplify(binary(">>", x, const(1))))
    positive = var("p", i32, lo=0, hi=9)
    assert simplify(binary(">>", positive, const(1))) is binary("//", positive, const(2, i32))


def test_a_loop_counts_until_its_first_failing_turn() -> None:
    s = Buffer("s", u32, 512, space="workgroup")
    k = var("k")
    fill = For(k, TID - 1, const(512), const(256), (Store(s, k, const(0)),))
    found = verdict_of(
        kernel_of(fill, Barrier(), Let(var("v"), load(s, const(255))), local=(s,), grid=1), "written before read", "s"
    )
    assert found.status != "proven"  # thread 0 starts at 2**32 - 1, and never comes to 255
    n = param("n", u32)
    strided = kernel_of(For(k, TID, n, const(64), (If(k < 256, (put(k),)),)), grid=1)
    assert verdict_of(strided, "bounded loops").status == "undecided" and needs_checks(strided)
    assert verdict_of(strided, "in bounds", "y").status == "proven"
    rows = kernel_of(For(k, load(X, TID), call("min", load(X, TID + 1), const(256)), const(1), (put(k),)), grid=1)
    assert verdict_of(rows, "bounded loops").status == verdict_of(rows, "in bounds", "y").status == "proven"


def test_an_empty_grid_proves_nothing_for_others() -> None:
    assert needs_checks(kernel_of(put(TID), grid=0))


def test_padding_of_vectors_is_not_theirs() -> None:
    y = Buffer("y", f32, 10, writable=True)
    kernel = replace(kernel_of(Store(y, TID * 4, splat(const(1, f32), 4)), grid=1, threads=3), buffers=(X, y))
    assert verdict_of(kernel, "in bounds", "y").status == "refuted" and needs_checks(kernel)


def test_an_index_that_others_may_change_between_two_reads_keeps_its_checks() -> None:
    at = var("at")
    guarded = Let(at, load(Y, TID)), If(at < 256, (Store(S, TID, load(X, at)),))
    alone = kernel_of(*guarded, grid=1)
    assert verdict_of(alone, "in bounds", "x").status == "proven" and not needs_checks(alone)
    racing = kernel_of(*guarded, put(TID + 1), grid=1)
    found = verdict_of(racing, "in bounds", "x")
    assert (
        found.status == "undecided"
        and "one read of y[tid], and other threads may write y" in found.reason
        and needs_checks(racing)
    )
    clamped = kernel_of(Let(at, load(Y, TID)), Store(S, TID, load(X, at % 256)), put(TID + 1), grid=1)
    assert verdict_of(clamped, "in bounds", "x").status == "proven" and not needs_checks(clamped)


@pytest.mark.parametrize("others", [False, True])
def test_what_others_may_change_decides_no_choice(others: bool) -> None:
    """A guard over it may read it anew, and find the other side."""

    @gpu.kernel
    def twice(flags, keys, counts):
        gpu.launch(threads=64)
        flag, digit = flags[gpu.thread // 2], gpu.constant(99, "u32")
        if flag < 8:
            digit = keys[gpu.thread] % 8
        if others:
            flags[63 - gpu.thread // 2] = 9
        if flag < 8:
            gpu.atomic_add(counts, digit, 1)

    found = [v for v in twice.verify(u(64), u(64), u(8)).verdicts if v.claim == "in bounds" and v.array == "counts"]
    assert (found[0].status == "proven") != others


def test_two_loads_are_two_values() -> None:
    one, other = load(Y, TID), load(Y, TID)
    twice = kernel_of(If(one < 256, (put(other % 300),)), grid=1)
    assert verdict_of(twice, "in bounds", "y").status != "proven"


def test_a_register_holds_what_was_put_there_last() -> None:
    r = var("r")
    start = Declare(r, const(0))
    assert verdict_of(kernel_of(start, Assign(r, TID), put(r), grid=1), "in bounds", "y").status == "proven"
    later = kernel_of(start, Assign(r, load(X, TID)), If(r < 256, (Assign(r, r + 1), put(r))), grid=1)
    assert verdict_of(later, "in bounds", "y").status != "proven"
    same = kernel_of(start, Assign(r, load(X, TID)), If(r < 256, (put(r),)), grid=1)
    assert verdict_of(same, "in bounds", "y").status == "proven"
    two = kernel_of(start, If(TID < 32, (Assign(r, const(4)),), (Assign(r, TID),)), put(r), grid=1)
    assert verdict_of(two, "in bounds", "y").status == "proven"
    far = kernel_of(start, If(TID < 32, (Assign(r, const(300)),), (Assign(r, TID),)), put(r), grid=1)
    assert verdict_of(far, "in bounds", "y").status == "refuted"
    k = var("k", hi=7)
    carried = kernel_of(start, For(k, const(0), const(8), const(1), (put(r), Assign(r, r + 64))), grid=1)
    assert verdict_of(carried, "in bounds", "y").status == "refuted"
    perhaps = For(k, const(0), load(X, TID) % 2, const(1), (Assign(r, TID),))
    skipped = kernel_of(start, Assign(r, load(X, TID)), perhaps, put(r), grid=1)
    assert verdict_of(skipped, "in bounds", "y").status != "proven"


def test_an_iteration_sees_what_itself_wrote_and_not_what_later_ones_write() -> None:
    s = Buffer("s", u32, 256, space="workgroup")
    j = var("j", hi=2)
    body = Store(s, TID * 4 + j, const(0)), Let(var("v"), load(s, TID * 4 + 2 - j))
    kernel = kernel_of(For(j, const(0), const(3), const(1), body), local=(s,))
    assert verdict_of(kernel, "written before read", "s").status == "undecided"


def test_what_atomics_touch_is_said_so() -> None:
    @gpu.kernel
    def count(x, c):
        gpu.launch(threads=64)
        gpu.atomic_add(c, x[gpu.thread] % 8, 1)

    (races,) = [v for v in count.verify(u(64), u(8)).verdicts if v.claim == "no races"]
    assert races.status == "proven" and races.reason == "only atomics touch it"


def test_windows_of_guards() -> None:
    i = GROUP * 64 + TID
    for guard, at in (
        (i - 1 < 200, i - 1),
        (load(X, TID) - 3 < 200, load(X, TID) - 3),
        (load(X, TID) + 3 < 200, load(X, TID) + 3),
        ((cast(i, i32) - 1 >= 0) & (cast(i, i32) - 1 < 200), cast(cast(i, i32) - 1, u32)),
    ):
        assert verdict_of(kernel_of(If(simplify(guard), (put(at),))), "in bounds", "y").status == "proven"
    for guard, at in (
        (i - 1 < 300, i + 1),
        (i - 1 < 200, i - 2),
        (i - 2 < call("max", load(X, TID), const(4)), i - 2),  # 2**32 - 2 is less than 2**32 - 1
        (load(X, TID) - 100 < 200, load(X, TID)),
        (load(X, TID) + 3 < 200, load(X, TID)),  # as large as 2**32 - 1 where it wraps
        (cast(i, i32) - 1 < 200, cast(cast(i, i32) - 1, u32)),
    ):
        kernel = kernel_of(If(simplify(guard), (put(at),)))
        assert guard is not None and verdict_of(kernel, "in bounds", "y").status != "proven", str(verify(kernel))


def test_a_choice_made_by_a_float_may_be_either() -> None:
    choice = select(cast(TID, f32) * 0.5 < 3.0, TID, TID + 300)
    assert verdict_of(kernel_of(put(choice), grid=1), "in bounds", "y").status == "undecided"


def test_a_barrier_that_is_never_reached_is_not_printed() -> None:
    """Tint refuses a barrier under a condition that varies; a loop without a turn has none."""
    k = var("k", u32)
    never = For(k, const(1), const(1), const(2), (Barrier(),))
    kernel = kernel_of(If(TID < 1, (never, put(TID))), grid=1)
    assert verdict_of(kernel, "uniform barriers").status == "proven"
    text = print_wgsl(lower(kernel), "tint")
    assert "if (tid" in text
    assert "Barrier" not in text
