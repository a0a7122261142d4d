"""Owners of addresses within a workgroup and across workgroups: rules of `gpu/verify/races.py`."""

import numpy as np
import pytest

import cutepy.gpu.verify.model as search
from cutepy import gpu
from cutepy.gpu.ir import Buffer, Expr, For, Kernel, Store, binary, builtin, const, select, var
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import Status, races, verify
from cutepy.gpu.verify.races import check_groups
from cutepy.gpu.verify.shared_values import understood
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import u32

BIG = Buffer("y", u32, 8192, writable=True)
GROUP = builtin("workgroup_id", 0, 3, axis=0)


def put(at: Expr) -> Store:
    return Store(BIG, at, const(1))


def race(kernel: KernelFunction, *arguments: object, **static: object) -> str:
    found = kernel.verify(*arguments, **static).verdicts
    return next(str(v.status) for v in found if v.claim == "no races")


def u(n: int) -> np.ndarray:
    return np.zeros(n, np.uint32)


@gpu.kernel
def overlapping(y: Tensor, *, grid: int, threads: int, apart: int, each: int) -> None:
    """Each thread writes `each` neighbours, workgroups are `apart`."""
    gpu.launch(grid=grid, threads=threads)
    for k in range(each):
        y[gpu.workgroup.x * apart + gpu.thread * 2 + k] = 1


@pytest.mark.parametrize("grid", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("apart", [1, 2, 15, 16, 17])
def test_one_owner_is_what_counting_says(grid: int, threads: int, each: int, apart: int) -> None:
    owners: dict[int, set[tuple[int, int]]] = {}
    for g in range(grid):
        for t in range(threads):
            for k in range(each):
                owners.setdefault(g * apart + t * 2 + k, set()).add((g, t))
    wanted = "proven" if all(len(own) == 1 for own in owners.values()) else "refuted"
    assert race(overlapping, u(100), grid=grid, threads=threads, each=each, apart=apart) == wanted


def test_barriers_order_no_workgroups() -> None:
    @gpu.kernel
    def handed_over(y: Tensor) -> None:
        gpu.launch(grid=2, threads=4)
        if gpu.workgroup.x == 0:
            y[gpu.thread] = 1
        gpu.barrier(storage=True)
        if gpu.workgroup.x == 1:
            y[gpu.thread] = 2

    assert race(handed_over, u(4)) == "refuted"


@pytest.mark.parametrize(("number", "wanted"), [(0, "refuted"), (5, "refuted"), (9, "refuted"), (None, "proven")])
def test_a_number_is_tried_where_a_guard_compares_it(number: int | None, wanted: str) -> None:
    @gpu.kernel
    def halves(y: Tensor, n: int) -> None:
        gpu.launch(threads=8)
        if n == (number if number is not None else 3):
            y[gpu.thread // (2 if number is not None else 1)] = 1

    assert race(halves, u(8), np.uint32(3)) == wanted


def test_what_the_launch_adds_to_all_indices_plays_no_part() -> None:
    @gpu.kernel
    def moved(y: Tensor, n: int, *, both: bool, times: int) -> None:
        gpu.launch(grid=2, threads=8)
        i = gpu.workgroup.x * 8 + gpu.thread
        y[n * times + i] = 1
        y[(n if both else 0) * times + i + 16] = 2

    def alone(both: bool, times: int) -> str:
        found = moved.verify(u(64), np.uint32(3), both=both, times=times, prover="cutepy").verdicts
        return next(str(v.status) for v in found if v.claim == "no races")

    assert alone(True, 1) == alone(True, 3) == "proven"
    assert alone(False, 1) != "proven"  # they meet where n is 16


@pytest.mark.parametrize("swapped", [False, True])
def test_a_sample_of_iterations_proves_nothing(swapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One iteration in the middle writes another workgroup's element; the iterations are too many to try, the
    workgroups of the other access are not."""
    monkeypatch.setattr(search, "MOST", 1 << 10)
    k = var("k", hi=999)
    far = For(
        k, const(0), const(1000), const(1), (put(select(binary("==", k, const(300)), const(4000), GROUP * 1000 + k)),)
    )
    near = put(GROUP + 5000)
    body = (near, far) if swapped else (far, near)
    kernel = Kernel("k", (BIG,), body, (4, 1, 1), (1, 1, 1))
    answer, _ = check_groups(understood(kernel), BIG)
    assert answer.status is Status.UNDECIDED
    monkeypatch.setattr(search, "MOST", 1 << 20)
    answer, _ = check_groups(understood(kernel), BIG)
    assert answer.status is Status.REFUTED


@pytest.mark.parametrize("grid", [1, 2])
def test_a_coordinate_has_one_owner_for_all_sizes(grid: int) -> None:
    @gpu.kernel
    def rows(x: "(M,N)", y: "(M,N)", *, apart: int) -> None:  # noqa: F821
        gpu.launch(grid=(1, x.shape[0]), threads=64)
        for j in gpu.loop(x.shape[1], start=gpu.thread * apart, step=64):
            y[gpu.workgroup.y, j] = x[gpu.workgroup.y, j]

    a = np.ones((grid * 5, 70), np.float32)
    assert rows.verify(a, a.copy(), apart=1, prover="cutepy").ok and rows.size_reason == ""
    assert not rows.verify(a, a.copy(), apart=2, prover="cutepy").ok


def test_workgroups_apart_are_not_threads_apart() -> None:
    """The workgroups are found apart by trying them, which says nothing of the threads of each."""
    at = select(binary("==", GROUP * 2 + builtin("local_invocation_index", 0, 1), const(7)), const(77), GROUP)
    kernel = Kernel("k", (BIG,), (put(at),), (4, 1, 1), (2, 1, 1))
    answer, single = check_groups(understood(kernel), BIG)
    assert answer.status is Status.PROVEN and not single
    found = verify(kernel, prover="cutepy").verdicts
    assert [str(v.status) for v in found if v.claim == "no races"] == ["refuted"]


@pytest.mark.parametrize(("entries", "said"), [(1 << 25, "proven"), (1 << 8, "undecided")])
def test_kinds_that_are_too_many_to_be_tried_are_left_open(
    monkeypatch: pytest.MonkeyPatch, entries: int, said: str
) -> None:
    """Squares of the group decide which thread writes where: no owner is read off, each kind of group is tried."""

    @gpu.kernel
    def by_squares(y: Tensor) -> None:
        gpu.launch(grid=32, threads=8)
        shared, g = gpu.shared("u32", 8), gpu.workgroup.x
        for k in gpu.loop(4):
            shared[gpu.thread ^ (g * g * 3 % 7 + k * k) % 8] = k
            gpu.barrier()
        y[g * 8 + gpu.thread] = shared[gpu.thread]

    monkeypatch.setattr(races, "MOST_ENTRIES", entries)
    found = by_squares.verify(u(256), prover="cutepy").verdicts
    assert [str(v.status) for v in found if v.claim == "no races" and v.array != "y"] == [said]
