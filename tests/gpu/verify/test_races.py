"""Owners of addresses within a workgroup and across workgroups: rules of `gpu/verify/races.py`."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.tensor import Tensor


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
