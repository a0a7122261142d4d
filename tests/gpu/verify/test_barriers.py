"""What happens between barriers, and which threads come to one: rules of `gpu/verify/barriers.py`."""

import pytest
from test_verify import TID, kernel_of, verdict_of

from cutepy.gpu.ir import (
    Barrier,
    Buffer,
    For,
    If,
    Kernel,
    Stmt,
    Store,
    binary,
    const,
    load,
    new_arena,
    param,
    select,
    var,
)  # fmt: skip
from cutepy.gpu.verify.barriers import barrier_intervals
from cutepy.gpu.verify.collect import collect
from cutepy.tensor.dtypes import u32

S = Buffer("s", u32, 256, space="workgroup")
K = var("k", hi=3)


def indices(*body: Stmt) -> list[list[str]]:
    """The indices of shared memory, phase by phase."""
    with new_arena():
        found = barrier_intervals(collect(kernel_of(*body, grid=1, local=(S,))), storage=False)
        return [[str(a.index) for a in phase.accesses] for phase in found]


def write(at: object) -> Stmt:
    return Store(S, at, const(0))  # type: ignore[arg-type]


def test_a_barrier_cuts_a_stretch_of_text() -> None:
    one, two = write(TID), write(TID + 1)
    assert [len(phase) for phase in indices(one, two)] == [2]
    assert [len(phase) for phase in indices(one, Barrier(), two)] == [1, 1]
    assert [len(phase) for phase in indices(one, Barrier(storage=True), two)] == [2]


def test_the_end_of_an_iteration_is_with_the_beginning_of_the_next() -> None:
    body = write(TID), Barrier(), write(TID + 64)
    found = indices(For(K, const(0), const(4), const(1), body))
    assert sorted(map(len, found)) == [1, 1, 2]  # the first, the last, and those between


def test_a_barrier_in_one_branch_may_be_passed_by() -> None:
    found = indices(write(TID), If(load(Buffer("x", u32, 256), const(0)) < 3, (Barrier(),)), write(TID + 1))
    assert max(map(len, found)) == 2


@pytest.mark.parametrize(("number", "wanted"), [(3, "refuted"), (None, "proven")])
def test_a_barrier_under_a_number_of_the_host(number: int | None, wanted: str) -> None:
    """Threads part where the number is 3 alone: it is tried near what the kernel compares it with."""
    n = param("n", u32)
    limit = n if number is None else select(binary("==", n, const(number)), TID, n)
    kernel = Kernel("k", (), (If(limit < 4, (Barrier(),)),), (1, 1, 1), (64, 1, 1), params=(n,), local=(S,))
    found = verdict_of(kernel, "uniform barriers")
    assert found.status == wanted and (wanted == "proven" or "params.n = 3" in found.witness.given)
