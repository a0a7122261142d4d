"""First writes of workgroup memory: rules of `gpu/verify/initialised.py`, on shrunk kernels of the IR."""

import pytest
from test_verify import GROUP, TID, X, Y, kernel_of, verdict_of

from cutepy.gpu.ir import Barrier, Buffer, For, If, Stmt, Store, binary, const, load, var
from cutepy.gpu.verify import verify
from cutepy.tensor.dtypes import u32

S = Buffer("s", u32, 64, space="workgroup")
K = var("k", hi=3)


def status(*body: Stmt, grid: int = 4) -> str:
    return str(verdict_of(kernel_of(*body, grid=grid, local=(S,)), "written before read", "s").status)


def read(at: object) -> Stmt:
    return Store(Y, GROUP * 64 + TID, load(S, at))  # type: ignore[arg-type]


def loop(*body: Stmt, count: object = None) -> Stmt:
    return For(K, const(0), const(4) if count is None else count, const(1), body)  # type: ignore[arg-type]


def test_a_thread_sees_what_it_wrote_and_not_what_others_did_before_a_barrier() -> None:
    write = Store(S, TID, const(0))
    assert status(write, read(TID)) == "proven"
    assert status(write, read(63 - TID)) == "refuted"
    assert status(write, Barrier(), read(63 - TID)) == "proven"
    assert status(write, Barrier(storage=True), read(63 - TID)) == "refuted"


def test_a_write_that_not_all_make_gives_what_its_threads_wrote() -> None:
    half = If(TID < 32, (Store(S, TID, const(0)),))
    assert status(half, Barrier(), read(TID % 32)) == "proven"
    assert status(half, Barrier(), read(TID)) == "refuted"


def test_a_write_that_data_decide_gives_nothing_but_under_the_same_guard() -> None:
    some = load(X, TID) < 3
    write = Store(S, TID, const(0))
    assert status(If(some, (write,)), read(TID)) == "undecided"
    assert status(If(some, (write, read(TID)))) == "proven"


def test_an_iteration_sees_its_own_writes_in_a_row_of_its_own() -> None:
    at = (TID % 16) * 4 + K
    threads = If(TID < 16, (loop(Store(S, at, const(0)), read(at)),))
    assert status(threads) == "proven"
    early = If(TID < 16, (loop(read(at), Store(S, at, const(0))),))
    assert status(early) == "undecided"
    other = If(TID < 16, (loop(Store(S, at, const(0)), read((TID % 16) * 4 + 3 - K)),))
    assert status(other) == "undecided"


def test_what_a_loop_wrote_is_seen_after_it() -> None:
    at = (TID % 16) * 4 + K
    whole = If(TID < 16, (loop(Store(S, at, const(0))),))
    assert status(whole, Barrier(), read(TID)) == "proven"
    short = If(TID < 16, (loop(Store(S, at, const(0)), count=const(3)),))
    assert status(short, Barrier(), read(TID)) == "refuted"


@pytest.mark.parametrize("count", [32, 64])
def test_an_index_of_data_needs_every_element_that_it_may_be(count: int) -> None:
    write = If(TID < count, (Store(S, TID, const(0)),))
    assert status(write, Barrier(), read(load(X, TID) % 64)) == ("proven" if count == 64 else "refuted")
    assert status(write, Barrier(), read(load(X, TID) % 32)) == "proven"


def test_every_kind_of_workgroup_is_looked_at() -> None:
    write = If(GROUP < 3, (Store(S, TID, const(0)),))
    assert status(write, read(TID)) == "refuted"
    assert status(write, read(TID), grid=3) == "proven"


def alone(*body: Stmt, grid: int = 1) -> str:
    """What cutepy says without z3."""
    found = verify(kernel_of(*body, grid=grid, local=(S,)), prover="cutepy").verdicts
    return next(str(v.status) for v in found if v.claim == "written before read")


def test_the_guards_of_a_long_loop_are_left_open() -> None:
    """Iterations that are too many to be told apart: what is read in them was written before the loop."""
    k = var("k")
    guard = binary("<", (k * 64 + TID) % 7, k // 3)
    long = For(k, const(0), const(1 << 19), const(1), (Barrier(), If(guard, (read(TID),))))
    assert alone(Store(S, TID, const(0)), long) == "proven"
    assert alone(If(TID < 63, (Store(S, TID, const(0)),)), long) != "proven"


def test_a_loop_whose_indices_are_too_many_is_left_open() -> None:
    k = var("k")
    long = For(k, const(0), const(1 << 19), const(1), (Barrier(), read((k // 9 + TID) % 64)))
    found = verify(kernel_of(Store(S, TID, const(0)), long, grid=1, local=(S,)), prover="cutepy").verdicts
    (verdict,) = [v for v in found if v.claim == "written before read"]
    assert (verdict.status, verdict.reason) == ("undecided", "the loop over k is too long")


@pytest.mark.parametrize(("grid", "said"), [(16, "proven"), (60000, "undecided")])
def test_workgroups_that_are_too_many_to_be_told_apart_are_left_open(grid: int, said: str) -> None:
    """What each reads are squares, in so many iterations that there is no time for all workgroups."""
    k = var("k", hi=63)
    write = If(binary("!=", TID, const(5)), (Store(S, TID, const(0)),))
    root = (GROUP + TID + k) % 8
    reads = For(k, const(0), const(64), const(1), (read(root * root),))
    assert status(write, Barrier(), reads, grid=grid) == said
