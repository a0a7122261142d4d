"""What happens between barriers, and which threads come to one: rules of `gpu/verify/barriers.py`."""

from dataclasses import replace
from itertools import product

import pytest
from test_verify import TID, Y, kernel_of, verdict_of

from cutepy.gpu.ir import (
    Barrier,
    Buffer,
    Expr,
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
from cutepy.gpu.verify.barriers import barrier_intervals, decide_whole
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.model import Gathering
from cutepy.gpu.verify.verdict import Verdict
from cutepy.tensor.dtypes import bool_, u32

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


def matrix_at(first: Expr, *, guard: Expr | None = None) -> Verdict:
    """The verdict on subgroups of 32 of 64 threads that move a matrix which begins at `first`."""
    model = collect(kernel_of(grid=1))
    guards = () if guard is None else (guard,)
    model.gatherings.append(Gathering("", "m", 32, guards, (), guards, (first,)))
    (found,) = decide_whole(model)
    return found


def test_threads_of_one_subgroup_that_mean_different_addresses() -> None:
    assert matrix_at(TID // 32 * 256).status == "proven"
    for odd, threads in ((TID >= 32, {32, 33}), (TID < 32, {0, 1})):  # one subgroup differs, the other does not
        found = matrix_at(select(odd, TID % 2 * 16, const(0)))
        assert found.status == "refuted" and found.witness is not None
        assert {use.thread for use in found.witness.uses} == threads
    assert matrix_at(TID // 32 * 256, guard=TID >= 32).status == "proven"
    found = matrix_at(const(0), guard=TID >= 33)
    assert found.witness is not None and {use.thread for use in found.witness.uses} == {32, 33}


@pytest.mark.parametrize("sizes", [(32, 64), (64, 32)])
def test_each_size_of_a_subgroup_is_asked_about_by_itself(sizes: tuple[int, int]) -> None:
    """Two halves of a subgroup of 64 threads mean different addresses where two subgroups of 32 may."""
    model = collect(kernel_of(grid=1))
    model.gatherings.extend(Gathering("", f"m{size}", size, (), (), (), (TID // 32 * 256,)) for size in sizes)
    (found,) = decide_whole(model)
    assert found.status == "refuted" and found.witness is not None
    assert {use.thread for use in found.witness.uses} == {0, 32}


def test_a_place_that_is_left_open_hides_no_refutation() -> None:
    unclear = binary("<", load(Y, TID), const(3))
    body = Store(Y, TID, const(0)), If(unclear, (Barrier(),))
    kernel = kernel_of(*body, grid=1)
    assert verdict_of(kernel, "uniform barriers").status == "undecided"
    parted = kernel_of(*body, If(TID < 3, (Barrier(),)), grid=1)
    found = verdict_of(parted, "uniform barriers")
    assert found.status == "refuted" and {use.thread for use in found.witness.uses} == {0, 3}
    model = collect(parted)
    for guards in ((unclear,), (TID < 3,)):
        model.gatherings.append(Gathering("", "m", 32, guards, (), guards, (const(0),)))
    assert decide_whole(replace(model, gatherings=model.gatherings[:1]))[0].status == "undecided"
    assert decide_whole(model)[0].status == "refuted"


def test_the_first_iteration_follows_what_is_before_the_loop() -> None:
    """Its number is 0; the iteration that follows number k is k + 1."""
    body = write(TID + K * 64), Barrier()
    found = indices(write(TID), For(K, const(0), const(4), const(1), body))
    assert [str(TID)] * 2 in found


@pytest.mark.parametrize(("apart", "wanted"), [(64, "refuted"), (128, "proven")])
def test_iterations_race_with_what_is_beside_the_loop(apart: int, wanted: str) -> None:
    """Before it the first one does, after it the last one: 64 + tid + 64 * k, and tid + 1 + 64, where k is 0 or 3."""
    s = Buffer("s", u32, 1024, space="workgroup")
    for first, before in ((True, True), (False, False)):
        at = TID + 512 + 64 * K
        beside = Store(s, TID + 1 + (512 - (apart - 64) * 4 if first else 512 + 3 * 64 + (apart - 64) * 2), const(0))
        loop = For(K, const(0), const(4), const(1), (Barrier(), Store(s, at, const(0)), Barrier()))
        head = For(K, const(0), const(4), const(1), (Store(s, at, const(0)), Barrier()))
        tail = For(K, const(0), const(4), const(1), (Barrier(), Store(s, at, const(0))))
        assert verdict_of(kernel_of(beside, loop, beside, grid=1, local=(s,)), "no races", "s").status == "proven"
        body = (beside, head) if before else (tail, beside)
        assert verdict_of(kernel_of(*body, grid=1, local=(s,)), "no races", "s").status == wanted


@pytest.mark.parametrize("passes", ["k < 2", "k >= 2", "k == 1", "n < 3", "never", "always"])
@pytest.mark.parametrize("apart", [0, 1])
def test_barriers_in_some_iterations(passes: str, apart: int) -> None:
    """Accesses before, in and after a loop of which some iterations have a barrier, against the run of four threads:
    no race that there is is denied, and none that there is not is claimed."""
    n = param("n", u32)
    conditions: dict[str, tuple[Expr, list[list[bool]]]] = {
        "k < 2": (K < 2, [[True, True, False, False]]),
        "k >= 2": (K >= 2, [[False, False, True, True]]),
        "k == 1": (binary("==", K, const(1)), [[False, True, False, False]]),
        "n < 3": (n < 3, [[True] * 4, [False] * 4]),
        "never": (const(False, bool_), [[False] * 4]),
        "always": (const(True, bool_), [[True] * 4]),
    }
    condition, runs = conditions[passes]
    for where in product((False, True), repeat=4):
        # Each place may write: the numbers of two of them are those of a neighbour's where `apart` is 1.
        places = [write(TID + (number % 2) * apart) if on else None for number, on in enumerate(where)]
        before, head, tail, after = ([place] if place is not None else [] for place in places)
        loop = For(K, const(0), const(4), const(1), (*head, If(condition, (Barrier(),)), *tail))
        kernel = kernel_of(*before, loop, *after, grid=1, threads=4, local=(S,))
        found = verdict_of(replace(kernel, params=(n,)), "no races", "s") if any(where) else None
        if found is None:
            continue
        raced = False
        for run in runs:
            intervals: list[set[int]] = [{0} if where[0] else set()]
            for barrier in run:
                intervals[-1] |= {1} if where[1] else set()
                intervals += [set()] if barrier else []
                intervals[-1] |= {2} if where[2] else set()
            intervals[-1] |= {3} if where[3] else set()
            raced |= any(apart and {number % 2 for number in interval} == {0, 1} for interval in intervals)
        assert found.status != ("proven" if raced else "refuted"), (passes, apart, where, str(found))
        assert found.status != "undecided" or passes.startswith("k"), (passes, apart, where, str(found))
