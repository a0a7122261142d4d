"""What `verify` says is true: judged by running every invocation, by planted faults, and claim by claim."""

from collections import Counter
from dataclasses import replace

import mutants
import numpy as np
import pytest
from judging import judge
from kernels import CASES
from shares import ALL, in_share, share

import cutepy.gpu.verify.model as search
from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.ir import (
    Atomic,
    Barrier,
    Buffer,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    builtin,
    call,
    cast,
    const,
    load,
    select,
    splat,
    var,
)
from cutepy.gpu.lower import lower
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.verify import Verdict, needs_checks, verify
from cutepy.tensor import make_tensor
from cutepy.tensor.dtypes import f32, i32, u32

DEVICE = Limits(workgroup_bytes=49152, invocations=1024, workgroup_size=(1024, 1024, 64), binding_bytes=1 << 31)


@pytest.mark.parametrize("data", [False, True])
@pytest.mark.parametrize("most", [None, 1, 64])
def test_verdicts_on_random_kernels_are_true(data: bool, most: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few evaluations allowed, what is proven is proven by structure alone."""
    if most is not None:
        monkeypatch.setattr(search, "MOST", most)
    counts: Counter[str] = Counter()
    for seed in share(range(60 if most is None else 30)):
        counts += judge(seed, data=data)
    assert counts["undecided"] <= (0.02 if most is None and not data else 0.1) * counts.total(), counts
    assert min(counts["proven"], counts["refuted"]) > in_share(20)


def test_verdicts_on_wild_kernels_are_true() -> None:
    """Floats in guards and indices, values that wrap around, signs, registers, loops whose bounds memory decides."""
    counts: Counter[str] = Counter()
    for seed in (*share(range(100)), 9469, 15513, 27099, 53715, 70055):
        counts += judge(seed, wild=True)
    assert counts["undecided"] <= 0.12 * counts.total(), counts
    assert min(counts["proven"], counts["refuted"]) > in_share(50)


def test_planted_faults_are_caught_and_originals_are_not() -> None:
    found, harmless = mutants.pairs(75 if ALL else 30)
    print(mutants.table(found, harmless))
    assert [f"{p.subject}: {p.mutant.kind}, {p.mutant.what}" for p in found if not p.caught] == []
    assert [str(p.subject) for p in found if not p.original_ok] == []
    # Of all sizes a race is undecided: no sizes are shown at which there is one.
    without = [p for p in found if p.mutant.kind == "barrier removed" and p.mutant.kernel.sizes is None]
    assert len(without) >= (5 if ALL else 2) and {p.caught for p in without} == {"refuted"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lowered", [False, True])
def test_correct_kernels_are_proven(name: str, lowered: bool) -> None:
    kernel = CASES[name]().kernel
    found = verify(lower(kernel) if lowered else kernel, DEVICE)
    assert found.ok, str(found)
    assert not needs_checks(kernel)


@pytest.mark.parametrize("n", [4096, 4095])
def test_a_large_matrix_product_is_proven(n: int) -> None:
    arrays = [make_tensor(np.empty((n, n), np.float32)) for _ in range(3)]
    plan = Plan((128, 128, 8), (8, 16), stages=2, unrolled=True)
    kernel = matmul_kernel.ir(*arrays, plan=plan)
    found = verify(kernel, DEVICE)
    assert found.ok, str(found)


TID = builtin("local_invocation_index", 0, 63)
GROUP = builtin("workgroup_id", 0, 3, axis=0)
X, Y = Buffer("x", u32, 256), Buffer("y", u32, 256, writable=True)
S = Buffer("s", u32, 64, space="workgroup", note="64:1")


def kernel_of(*body: Stmt, grid: int = 4, threads: int = 64, local: tuple[Buffer, ...] = (S,)) -> Kernel:
    return Kernel("k", (X, Y), body, (grid, 1, 1), (threads, 1, 1), local=local)


def verdict_of(kernel: Kernel, claim: str, array: str = "") -> Verdict:
    (found,) = [v for v in verify(kernel).verdicts if (v.claim, v.array) == (claim, array)]
    return found


def put(at: object, buffer: Buffer = Y, value: int = 1, place: str = "") -> Store:
    assert isinstance(at, Expr)
    return Store(buffer, at, const(value), place)


def test_a_refutation_names_who_and_where() -> None:
    kernel = kernel_of(put(GROUP * 64 + TID + 1, place="user.py:7"))
    found = verdict_of(kernel, "in bounds", "y")
    assert found.status == "refuted" and found.witness is not None
    assert found.witness.element == 256
    (use,) = found.witness.uses
    assert (use.workgroup, use.thread, use.verb, use.place) == ((3, 0, 0), 63, "writes", "user.py:7")
    assert str(found) == (
        "refuted    in bounds y: it has 256 elements; element 256 of y: workgroup (3, 0, 0), thread 63 writes "
        "y[group.x * 64u + tid + 1u] (user.py:7)"
    )
    with pytest.raises(VerificationError, match=r"k is refuted:\n  refuted    in bounds y: .* thread 63 writes"):
        verify(kernel).raise_if_refuted()
    verify(kernel_of(put(GROUP * 64 + TID))).raise_if_refuted()


def test_guards_count() -> None:
    at = GROUP * 80 + TID
    assert verdict_of(kernel_of(put(at)), "in bounds", "y").status == "refuted"
    assert verdict_of(kernel_of(If(at < 256, (put(at),))), "in bounds", "y").status == "proven"
    assert verdict_of(kernel_of(If(at < 257, (put(at),))), "in bounds", "y").witness.element == 256
    assert verdict_of(kernel_of(If(at >= 256, (), (put(at),))), "in bounds", "y").status == "proven"


def test_u32_wraps_below_zero() -> None:
    found = verdict_of(kernel_of(put(TID - 1)), "in bounds", "y")
    assert found.witness.element == 2**32 - 1 and found.witness.uses[0].thread == 0
    assert verdict_of(kernel_of(If(TID > 0, (put(TID - 1),)), grid=1), "in bounds", "y").status == "proven"


def test_the_last_lane_of_a_vector_counts() -> None:
    kernel = kernel_of(Store(Y, GROUP * 64 + TID, splat(const(1), 4)))
    found = verdict_of(kernel, "in bounds", "y").witness
    assert found.element == 256 and str(found.uses[0]).endswith("writes y[group.x * 64u + tid] and 3 more")


def test_an_index_in_vectors_does_not_wrap_into_the_array() -> None:
    y = Buffer("y", f32, 256, writable=True, width=4)
    for first, status in ((0, "proven"), (1 << 30, "undecided")):
        body = Store(y, TID + first, splat(const(1, f32), 4))
        kernel = Kernel("k", (y,), (body,), (1, 1, 1), (64, 1, 1))
        assert verdict_of(kernel, "in bounds", "y").status == status


def test_what_memory_decides_is_undecided_unless_it_is_tamed() -> None:
    value = var("value")
    read = Let(value, load(X, TID))
    trusted = verdict_of(kernel_of(read, Let(var("v"), load(Y, value))), "in bounds", "y")
    assert trusted.status == "undecided" and "depends on x[tid]" in trusted.reason
    for tame in (value % 256, value & 255, call("min", value, const(255)), select(value < 256, value, const(0))):
        assert verdict_of(kernel_of(read, put(tame)), "in bounds", "y").status in ("proven", "undecided")
    assert verdict_of(kernel_of(read, put(value % 256)), "in bounds", "y").status == "proven"
    assert verdict_of(kernel_of(read, put(value % 257)), "in bounds", "y").status == "undecided"
    assert verdict_of(kernel_of(read, put(value % 8 + GROUP * 300)), "in bounds", "y").status == "refuted"
    limited = verdict_of(kernel_of(read, put(value % 60 * 5)), "in bounds", "y")
    assert limited.status == "refuted" and limited.witness.given == "for data that give these (x[tid] % 60u) * 5u"


def test_two_workgroups_that_write_one_element() -> None:
    found = verdict_of(kernel_of(put(TID)), "no races", "y")
    assert found.reason == "two invocations write one element"
    first, second = found.witness.uses
    assert first.workgroup != second.workgroup and first.thread == second.thread == found.witness.element
    assert verdict_of(kernel_of(put(TID), grid=1), "no races", "y").status == "proven"


def test_a_read_that_meets_a_write_of_another_workgroup() -> None:
    old = var("old")
    at = GROUP * 64 + TID
    apart = (Let(old, load(Y, at)), Store(Y, at, old))
    assert verdict_of(kernel_of(*apart), "no races", "y").status == "proven"
    near = (If(at < 255, (Let(old, load(Y, at + 1)),)), put(at))
    found = verdict_of(kernel_of(*near), "no races", "y")
    assert found.status == "refuted" and {u.verb for u in found.witness.uses} == {"reads", "writes"}


def test_barriers_order_their_own_memory_only() -> None:
    old = var("old")
    for storage, status in ((False, "proven"), (True, "refuted")):
        kernel = kernel_of(put(TID, S), Barrier(storage), Let(old, load(S, 63 - TID)), put(GROUP * 64 + TID))
        assert verdict_of(kernel, "no races", "s").status == status
    for storage, status in ((False, "refuted"), (True, "proven")):
        kernel = kernel_of(put(TID), Barrier(storage), Let(old, load(Y, 63 - TID)), grid=1)
        assert verdict_of(kernel, "no races", "y").status == status


def test_iterations_meet_across_the_end_of_a_loop() -> None:
    k, old = var("k", hi=7), var("old")
    turn = (put(TID, S), Barrier(), Let(old, load(S, 63 - TID)))
    once = For(k, const(0), const(8), const(1), turn)
    found = verdict_of(kernel_of(once), "no races", "s")
    assert [u.loops for u in found.witness.uses] in ([(("k", 0),), (("k", 1),)], [(("k", 1),), (("k", 0),)])
    safe = For(k, const(0), const(8), const(1), (*turn, Barrier()))
    assert verdict_of(kernel_of(safe), "no races", "s").status == "proven"
    assert verdict_of(kernel_of(replace(once, stop=const(1))), "no races", "s").status == "proven"


def test_a_second_buffer_stands_in_for_a_second_barrier() -> None:
    k, old = var("k", hi=7), var("old")
    for stages, status in ((2, "proven"), (1, "refuted")):
        shared = replace(S, length=64 * stages)
        body = (put(k % stages * 64 + TID, shared), Barrier(), Let(old, load(shared, k % stages * 64 + (63 - TID))))
        kernel = kernel_of(For(k, const(0), const(8), const(1), body), local=(shared,))
        assert verdict_of(kernel, "no races", "s").status == status
        assert verdict_of(kernel, "written before read", "s").status == "proven"


@pytest.mark.parametrize(("other", "status"), [(0, "proven"), (1, "refuted"), (2, "proven")])
def test_halves_that_take_turns_as_long_as_the_host_says(other: int, status: str) -> None:
    """Where a loop has 2**32 turns, two of a kind stand for all: `k + 1` may wrap, and `% 2` does not see it."""

    @gpu.kernel
    def turns(x, steps):
        gpu.launch(threads=16)
        s, i = gpu.shared(x, (16, 2)), gpu.thread
        s[i, 0] = x[i]
        gpu.barrier()
        for k in gpu.loop(steps):
            s[i, (k + 1) % 2] = s[(i + 1) % 16, (k + other) % 2]
            gpu.barrier()
        x[i] = s[i, steps % 2]

    found = turns.verify(np.zeros(16, np.float32), np.uint32(3))
    assert next(v for v in found.verdicts if v.claim == "no races" and v.array == "s").status == status


def test_loops_in_one_another_are_not_gone_through_forever() -> None:
    """A thousand kinds of turns in a thousand kinds of turns are a million: that is left open, at once."""

    @gpu.kernel
    def strided(x, y):
        gpu.launch(threads=64)
        s = gpu.shared(x, 1024)
        for a in gpu.loop(1024):
            for b in gpu.loop(1024):
                s[(a * 3 + b * 5 + gpu.thread) % 1024] = x[(a + b) % 64]
                gpu.barrier()
        y[gpu.thread] = s[gpu.thread]

    found = strided.verify(np.zeros(64, np.float32), np.zeros(64, np.float32))
    verdict = next(v for v in found.verdicts if v.claim == "written before read")
    assert verdict.status == "undecided" and "the iterations over b are all different" in verdict.reason


def test_one_owner_in_a_loop_as_long_as_the_host_says() -> None:
    @gpu.kernel
    def counted(x, steps):
        gpu.launch(threads=16)
        s, i = gpu.shared(x, 16), gpu.thread
        s[i] = x[i]
        for _k in gpu.loop(steps):
            s[i] = s[i] + 1.0
        gpu.barrier()
        x[i] = s[i ^ 1]

    assert counted.verify(np.zeros(16, np.float32), np.uint32(3)).ok


def test_updates_do_not_disturb_one_another_but_do_disturb_others() -> None:
    update = Atomic("Add", S, TID % 4, const(1))
    zero, result = put(TID, S, 0), var("result")
    assert verdict_of(kernel_of(zero, Barrier(), update), "no races", "s").status == "proven"
    assert verdict_of(kernel_of(zero, update), "no races", "s").status == "refuted"
    assert verdict_of(kernel_of(zero, Barrier(), update, Let(result, load(S, TID % 4))), "no races", "s").witness
    values = (Let(var("v"), load(X, TID)),)
    counted = Atomic("Add", S, values[0].var % 64, const(1))
    found = verdict_of(kernel_of(zero, *values, counted), "no races", "s")
    assert found.status == "refuted" and found.witness.given == "for data that give these x[tid] % 64u"


def test_workgroup_memory_must_be_written_first() -> None:
    old = var("old")
    read = Let(old, load(S, TID))
    found = verdict_of(kernel_of(If(TID < 63, (put(TID, S),)), Barrier(), read), "written before read", "s")
    assert found.witness.element == 63 and found.witness.uses[0].thread == 63
    assert verdict_of(kernel_of(put(TID, S), read), "written before read", "s").status == "proven"
    assert verdict_of(kernel_of(put(63 - TID, S), read), "written before read", "s").status == "refuted"
    assert verdict_of(kernel_of(put(63 - TID, S), Barrier(), read), "written before read", "s").status == "proven"
    value = var("value")
    half = If(TID < 32, (put(TID, S),))
    by_data = kernel_of(half, Barrier(), Let(value, load(X, TID)), Let(old, load(S, value % 64)))
    assert verdict_of(by_data, "written before read", "s").witness.given == "for data that give this x[tid] % 64u"
    guard = load(X, TID) < 3
    unsure = verdict_of(kernel_of(If(guard, (put(TID, S),)), Barrier(), read), "written before read", "s")
    assert unsure.status == "undecided"


def test_a_barrier_that_threads_decide_about() -> None:
    found = verdict_of(kernel_of(If(TID < 32, (Barrier(),))), "uniform barriers")
    assert [(u.thread, u.verb) for u in found.witness.uses] == [(0, "comes to"), (32, "does not come to")]
    assert verdict_of(kernel_of(If(GROUP < 2, (Barrier(),))), "uniform barriers").status == "proven"
    k = var("k", hi=64)
    turns = For(k, const(0), TID + 1, const(1), (Barrier(),))
    assert verdict_of(kernel_of(turns), "uniform barriers").status == "refuted"
    one = verdict_of(kernel_of(If(load(X, GROUP) < 3, (Barrier(),))), "uniform barriers")
    assert one.status == "proven"  # all threads read the same element of what nobody writes
    other = verdict_of(kernel_of(If(load(X, TID) < 3, (Barrier(),))), "uniform barriers")
    assert other.status == "refuted" and other.witness.given == "for data that give these x[tid] < 3u"
    written = verdict_of(kernel_of(put(TID), If(load(Y, GROUP) < 3, (Barrier(),))), "uniform barriers")
    assert written.status == "undecided"


def test_races_are_not_proven_by_barriers_that_are_not() -> None:
    kernel = kernel_of(put(TID, S), If(load(Y, TID) < 3, (Barrier(),)))
    assert verdict_of(kernel, "no races", "s").status == "undecided"


def test_loops_that_may_not_end() -> None:
    k = var("k")
    steps = {0: "refuted", 1: "proven", 3: "undecided"}
    for step, status in steps.items():
        kernel = kernel_of(For(k, const(0), load(X, TID), const(step), (put(TID),)), grid=1)
        assert verdict_of(kernel, "bounded loops").status == status
        assert needs_checks(kernel) is (status != "proven")
    signed = For(var("i", i32), const(-3, i32), const(3, i32), const(2, i32), (put(TID),))
    assert verdict_of(kernel_of(signed), "bounded loops").status == "proven"


def test_signed_indices_and_loops_from_anywhere() -> None:
    i = var("i", i32)
    body = put(cast(i + 3, u32) * 64 + TID)
    kernel = kernel_of(For(i, const(-3, i32), const(1, i32), const(1, i32), (body,)), grid=1)
    assert verify(kernel).ok
    assert verdict_of(
        kernel_of(For(i, const(-3, i32), const(2, i32), const(1, i32), (body,)), grid=1), "in bounds", "y"
    )
    j = var("j", hi=255)
    strided = For(j, GROUP * 64 + TID, const(256), const(256), (put(j),))
    assert verify(kernel_of(strided)).ok


def test_every_size_of_subgroup_is_tried() -> None:
    subgroup, lane = builtin("subgroup_id", 0, 15), builtin("subgroup_invocation_id", 0, 63)
    first = If(lane == 0, (put(subgroup, S),))
    assert verdict_of(kernel_of(first), "no races", "s").status == "proven"
    assert verdict_of(kernel_of(put(subgroup, S)), "no races", "s").status == "refuted"
    few = replace(S, length=8)
    small = kernel_of(If(lane == 0, (put(subgroup, few),)), local=(few,))
    assert verdict_of(small, "in bounds", "s").status == "refuted"  # 16 subgroups of 4
    sizes = replace(Limits(), subgroup_sizes=(8, 32))
    assert all(v.status == "proven" for v in verify(small, sizes).verdicts)


def test_limits() -> None:
    big = replace(S, length=4097)
    kernel = replace(kernel_of(put(TID, big), local=(big,)), workgroup=(512, 1, 1), grid=(70000, 1, 1))
    found = verdict_of(kernel, "within limits")
    assert found.status == "refuted"
    assert "workgroup size 512 along x, the device has 256" in found.reason
    assert "16400 bytes of workgroup memory, the device has 16384" in found.reason
    assert "70000 workgroups along x, the device has 65535" in found.reason
    assert [v.status for v in verify(kernel, replace(DEVICE, workgroups=1 << 20)).verdicts if "limits" in v.claim] == [
        "proven"
    ]


def test_a_grid_of_nothing_is_fine() -> None:
    assert verify(kernel_of(put(TID + 1000), grid=0)).ok


@gpu.kernel
def shift(x, y, *, by):
    gpu.launch(grid=1, threads=64)
    y[gpu.thread] = x[gpu.thread + by]


def test_a_kernel_verifies_itself_and_runs_without_checks_only_when_proven() -> None:
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    assert shift.verify(x, y, by=0).ok and not shift.program(x, y, by=0).checked
    assert shift.program(x, y, by=0, checks="always").checked
    wrong = shift.verify(x, y, by=1)
    assert [v.array for v in wrong.refuted] == ["x"] and shift.program(x, y, by=1).checked
    assert "test_verify.py:" in wrong.refuted[0].witness.uses[0].place
    assert shift.verify(x, y, by=1) is wrong
    with pytest.raises(KernelError, match=r"checks='never'.*'auto' and 'always'"):
        shift.program(x, y, by=0, checks="never")


def test_a_wide_kernel_does_not_fit_every_device() -> None:
    @gpu.kernel
    def wide(y):
        gpu.launch(grid=1, threads=1024)
        y[gpu.thread] = 1.0

    y = np.zeros(1024, np.float32)
    assert [v.claim for v in wide.verify(y).refuted] == ["within limits"]
    assert wide.verify(y, limits=DEVICE).ok


def test_a_long_grid_folded_over_two_dimensions() -> None:
    @gpu.kernel
    def mark(y):
        gpu.launch(grid=70000, threads=4)
        group = gpu.workgroup.x
        y[group // 7 * 28 + group % 7, gpu.thread] = 1.0

    y = make_tensor(np.empty((280_000, 4), np.float32))
    found = mark.verify(y)
    assert found.ok, str(found)
    assert not mark.program(y).checked
    short = mark.verify(make_tensor(np.empty((279_978, 4), np.float32)))
    (use,) = short.refuted[0].witness.uses
    assert use.workgroup[0] + 35000 * use.workgroup[1] == 69999


def test_f32_is_no_index() -> None:
    value = var("value", f32)
    x = Buffer("z", f32, 64)
    body = (Let(value, load(x, TID)), put(cast(value, u32)))
    kernel = Kernel("k", (x, Y), body, (1, 1, 1), (64, 1, 1))
    assert verdict_of(kernel, "in bounds", "y").status == "undecided"


def test_a_vector_of_a_private_array_is_judged_by_its_alignment() -> None:
    assert judge(2002299, wild=True)["refuted"] == 2
    assert judge(7403116, prover="cutepy")["refuted"] == 2  # an even number of elements at p[1], inside its bounds
