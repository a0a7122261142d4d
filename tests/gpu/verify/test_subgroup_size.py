"""Whether results depend on the size of subgroups: proven kernels give the same at all sizes, others are told."""

import random
from collections import Counter

import numpy as np
import pytest
from shares import in_share, share

from cutepy import gpu
from cutepy.errors import DeviceError, KernelError
from cutepy.gpu.ir import Kernel
from cutepy.gpu.ir.operators import SUBGROUP_SIZES
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.verify import Verdict, verify
from cutepy.tensor import Tensor

THREADS = 96  # three subgroups of 32, one and a half of 64, less than one of 128
Step = tuple[str, int]


@gpu.kernel
def steps_of(x: Tensor, y: Tensor, *, steps: tuple[Step, ...]) -> None:
    """A chain of operations on one u32 a thread, whose sums wrap and so do not round."""
    gpu.launch(grid=2, threads=THREADS)
    i = gpu.workgroup.x * THREADS + gpu.thread
    v = x[i]
    for name, number in steps:
        match name:
            case "own":
                v = v * (2 * number + 1) + gpu.thread
            case "exchange":
                v = v + 3 * gpu.subgroup_shuffle_xor(v, number)
            case "pair":
                v = v + 5 * gpu.subgroup_shuffle_xor(v, number % 4)
            case "group's":
                v = v + 7 * gpu.subgroup_shuffle(v, number % 16, lanes=16)
            case "in groups":
                v = v + 3 * gpu.subgroup_shuffle_xor(v, number % 32, lanes=32)
            case "reduce":
                v = v ^ gpu.workgroup_reduce(v, ("sum", "max", "min", "prod")[number % 4])
            case "scan":
                v = v + gpu.workgroup_scan(v, exclusive=number % 2 == 0)
            case "argmax":
                v = v + gpu.workgroup_argmax(v)[1]
            case "of all alike":
                v = v + gpu.subgroup_max(x[number])
            case "sum":
                v = v + gpu.subgroup_add(v)
            case "down":
                v = v + gpu.subgroup_shuffle_down(v, number)
            case "broadcast":
                v = v + gpu.subgroup_broadcast(v, number % 4)
            case "ballot":
                v = v + gpu.subgroup_ballot(v % 2 == 0)[0]
            case "lane":
                v = v + gpu.lane
            case "first":
                v = v + gpu.subgroup_broadcast_first(v)
    y[i] = v


SETTLED = "own", "pair", "group's", "in groups", "reduce", "scan", "argmax", "of all alike"
SHOWING = "sum", "exchange", "down", "broadcast", "ballot", "lane", "first"
X = np.random.default_rng(0).integers(0, 1 << 32, 2 * THREADS, dtype=np.uint32)


def traced(steps: tuple[Step, ...]) -> Kernel:
    """The kernel for a device that has subgroups."""
    call = steps_of._bind((X, X.copy()), {"steps": steps})
    return steps_of._form(call, subgroups=True).kernel


def results(kernel: Kernel) -> list[bytes]:
    """What it computes, once for each size that it may run with."""
    found = []
    for size in SUBGROUP_SIZES:
        if size >= kernel.lanes:
            y = np.zeros_like(X)
            interpret(kernel, [X, y], subgroup_size=size)
            found.append(y.tobytes())
    return found


def verdict(kernel: Kernel, limits: Limits | None = None) -> Verdict | None:
    return next((v for v in verify(kernel, limits).verdicts if v.claim == "any subgroup size"), None)


def judge(seed: int) -> str:
    """The verdict on a random kernel: AssertionError where it is proven and its results differ between sizes."""
    draw = random.Random(seed)
    names = SETTLED if seed % 3 else SETTLED + SHOWING
    kernel = traced(tuple((draw.choice(names), draw.choice((1, 2, 3, 5, 16, 31))) for _ in range(3)))
    told = verdict(kernel)
    status = "none" if told is None else told.status
    assert len(set(results(kernel))) == 1 or status not in ("proven", "none"), (seed, told)
    return status


@pytest.mark.parametrize("slice_", range(4))
def test_what_is_proven_gives_the_same_at_all_sizes(slice_: int) -> None:
    """Of 400 random kernels, `tools/fuzz/subgroups.py` tries more: none is falsely proven."""
    found = Counter(judge(seed) for seed in share(range(100 * slice_, 100 * slice_ + 100)))
    assert found["proven"] > in_share(40)
    assert found["refuted"] + found["undecided"] > in_share(12)


@pytest.mark.parametrize("name", SHOWING)
def test_what_shows_the_size_is_named_with_its_line(name: str) -> None:
    told = verdict(traced(((name, 16),)))
    assert told is not None
    assert told.status == "refuted", told
    assert "test_subgroup_size.py:" in told.reason
    assert "threads in a subgroup" in told.reason
    assert len(set(results(traced(((name, 16),))))) > 1


def test_collectives_and_exchanges_of_neighbours_are_for_every_size() -> None:
    for steps in ((("reduce", 0), ("scan", 1), ("argmax", 0)), (("pair", 3),)):
        kernel = traced(steps)
        assert kernel.lanes == 0
        assert verdict(kernel).status == "proven"
        assert len(results(kernel)) == len(SUBGROUP_SIZES)


def test_an_exchange_inside_groups_is_for_every_size_that_has_them_whole() -> None:
    for name, lanes in (("group's", 16), ("in groups", 32)):
        kernel = traced(((name, 5),))
        assert kernel.lanes == lanes and verdict(kernel).status == "proven"
        assert len(set(results(kernel))) == 1 < len(results(kernel))


@pytest.mark.parametrize("lanes", [3, 64, 256, 0.5])
def test_groups_share_out_the_workgroup(lanes: int) -> None:
    @gpu.kernel
    def grouped(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=THREADS)
        y[gpu.thread] = gpu.subgroup_shuffle(x[gpu.thread], 1, lanes=lanes)

    with pytest.raises(KernelError, match="lanes"):
        grouped.interpret(X, X.copy())


def test_one_size_is_no_choice() -> None:
    told = verdict(traced((("sum", 0),)), Limits(subgroup_sizes=(32, 32)))
    assert told == Verdict("any subgroup size", "proven", "subgroups have 32 threads")


def test_a_launch_may_ask_for_one_size() -> None:
    @gpu.kernel
    def sums(x, y, *, n):
        gpu.launch(threads=64, subgroup=n)
        y[gpu.thread] = gpu.subgroup_add(gpu.subgroup_shuffle_xor(x[gpu.thread], n // 2))

    x, y = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    for n in SUBGROUP_SIZES[:-1]:
        sums.interpret(x, y, n=n)
        assert (y.reshape(-1, n) == x.reshape(-1, n).sum(axis=1, keepdims=True)).all()
        assert verdict(sums.ir(x, y, n=n)).status == "proven"
        with pytest.raises(KernelError, match=rf"launch\(subgroup={n}\) asks for that size"):
            sums.interpret(x, y, n=n, subgroup=128)
    size = gpu.default_device().subgroup_size()
    sums(x, y, n=size)
    assert (y.reshape(-1, size) == x.reshape(-1, size).sum(axis=1, keepdims=True)).all()
    with pytest.raises(DeviceError, match="is for subgroups of"):
        sums(x, y, n=64 if size != 64 else 32)
    with pytest.raises(KernelError, match="4, 8, 16, 32, 64, 128"):
        sums.ir(x, y, n=24)


def test_a_kernel_without_subgroups_has_no_such_verdict() -> None:
    assert verdict(traced((("own", 1),))) is None


def test_interpret_takes_the_sizes_that_there_are() -> None:
    y = np.zeros_like(X)
    for size in SUBGROUP_SIZES:
        steps_of.interpret(X, y, steps=(("sum", 0),), subgroup=size)
        first = X[:size] if size <= THREADS else X[:THREADS]
        assert y[0] == (int(X[0]) + int(first.sum(dtype=np.uint64))) % (1 << 32)
    with pytest.raises(KernelError, match="4, 8, 16, 32, 64, 128"):
        steps_of.interpret(X, y, steps=(("sum", 0),), subgroup=24)


def test_where_the_size_decides_who_writes_the_size_is_named() -> None:
    @gpu.kernel
    def firsts(x: Tensor, y: Tensor) -> None:
        gpu.launch(threads=64)
        with gpu.when(gpu.lane == 0):
            y[gpu.thread // 32] = x[gpu.thread]

    refuted = firsts.verify(np.zeros(64, np.float32), np.zeros(2, np.float32)).refuted
    (race,) = (v for v in refuted if v.claim == "no races")
    assert "with 4 threads in a subgroup" in race.reason
