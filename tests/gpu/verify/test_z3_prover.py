"""z3 as a second prover: each rule of `gpu/verify/smt_encoding.py` and `z3_prover.py` on a kernel that needs it."""

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.ir import Buffer, Kernel, Store, builtin, load, new_arena
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import Z3_CLAIMS, Claim
from cutepy.gpu.verify.replay import Kept, TooLong
from cutepy.gpu.verify.smt_encoding import MOST
from cutepy.gpu.verify.z3_prover import Statistics, decide_by_z3
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import u32


def u(n: int) -> np.ndarray:
    return np.zeros(n, np.uint32)


def by_z3(kernel: KernelFunction, claim: str, array: str, *arguments: object, **static: object) -> str:
    verdicts = kernel.verify(*arguments, prover="z3", **static).verdicts
    return next(str(v.status) for v in verdicts if v.claim == claim and v.array == array)


@gpu.kernel
def shifted(x: Tensor, y: Tensor, *, by: int) -> None:
    gpu.launch(grid=4, threads=64)
    y[gpu.workgroup.x * 64 + gpu.thread] = x[gpu.workgroup.x * 64 + gpu.thread + by]


@pytest.mark.parametrize(("by", "status"), [(0, "proven"), (1, "proven"), (2, "refuted")])
def test_bounds(by: int, status: str) -> None:
    assert by_z3(shifted, "in bounds", "x", u(257), u(256), by=by) == status


@gpu.kernel
def wrapping(x: Tensor) -> None:
    gpu.launch(grid=1, threads=64)
    with gpu.when(gpu.thread * 0x10000000 < 16):  # every 16th thread: the product wraps
        x[gpu.thread * 0x10000000 + gpu.thread // 16] = 1


def test_products_wrap_as_on_the_device() -> None:
    assert by_z3(wrapping, "in bounds", "x", u(4)) == "proven"
    assert by_z3(wrapping, "in bounds", "x", u(3)) == "refuted"


@gpu.kernel
def stepped(x: Tensor, *, start: int, stop: int, step: int) -> None:
    gpu.launch(grid=1, threads=2)
    for i in gpu.loop(stop, start=start, step=step):
        x[i * 2 + gpu.thread] = 1


@pytest.mark.parametrize(("size", "status"), [(18, "proven"), (17, "refuted")])
def test_a_counter_begins_at_start_and_goes_by_step(size: int, status: str) -> None:
    assert by_z3(stepped, "in bounds", "x", u(size), start=2, stop=10, step=3) == status


@gpu.kernel
def doubling(x: Tensor) -> None:
    gpu.launch(grid=1, threads=1)
    d = gpu.constant(1, "u32")
    while d < 64:
        x[d] = 1
        d = d * 2


@pytest.mark.parametrize(("size", "status"), [(33, "proven"), (32, "refuted")])
def test_a_doubled_register_has_a_closed_form(size: int, status: str) -> None:
    assert by_z3(doubling, "in bounds", "x", u(size)) == status


@gpu.kernel
def reversed_tile(x: Tensor, y: Tensor, *, waits: bool) -> None:
    gpu.launch(grid=1, threads=64)
    s = gpu.shared("u32", 64)
    s[gpu.thread] = x[gpu.thread]
    if waits:
        gpu.barrier()
    y[gpu.thread] = s[63 - gpu.thread]


@pytest.mark.parametrize(("waits", "status"), [(True, "proven"), (False, "refuted")])
def test_a_barrier_parts_accesses(waits: bool, status: str) -> None:
    assert by_z3(reversed_tile, "no races", "s", u(64), u(64), waits=waits) == status


@gpu.kernel
def tiles(x: Tensor, y: Tensor, *, last: bool) -> None:
    """In each iteration a tile is staged and read; the barrier at the end keeps the next iteration's stores apart."""
    gpu.launch(grid=1, threads=32)
    s = gpu.shared("u32", 32)
    total = gpu.constant(0, "u32")
    for k in gpu.loop(4):
        s[gpu.thread] = x[k * 32 + gpu.thread]
        gpu.barrier()
        total = total + s[31 - gpu.thread]
        if last:
            gpu.barrier()
    y[gpu.thread] = total


@pytest.mark.parametrize(("last", "status"), [(True, "proven"), (False, "refuted")])
def test_the_end_of_an_iteration_meets_the_next(last: bool, status: str) -> None:
    assert by_z3(tiles, "no races", "s", u(128), u(32), last=last) == status


@gpu.kernel
def sums(x: Tensor, y: Tensor, *, waits: bool) -> None:
    """A reduction by halves: the stride is a register that each iteration shifts."""
    gpu.launch(grid=1, threads=64)
    s = gpu.shared("u32", 64)
    s[gpu.thread] = x[gpu.thread]
    gpu.barrier()
    d = gpu.constant(32, "u32")
    while d > 0:
        with gpu.when(gpu.thread < d):
            s[gpu.thread] = s[gpu.thread] + s[gpu.thread + d]
        if waits:
            gpu.barrier()
        d = d // 2
    with gpu.when(gpu.thread == 0):
        y[0] = s[0]


@pytest.mark.parametrize(("waits", "status"), [(True, "proven"), (False, "refuted")])
def test_a_reduction_by_halves(waits: bool, status: str) -> None:
    assert by_z3(sums, "no races", "s", u(64), u(1), waits=waits) == status


@gpu.kernel
def neighbours(y: Tensor, *, apart: int) -> None:
    gpu.launch(grid=3, threads=8)
    y[gpu.workgroup.x * apart + gpu.thread] = 1


@pytest.mark.parametrize(("apart", "status"), [(8, "proven"), (7, "refuted")])
def test_no_barrier_parts_workgroups(apart: int, status: str) -> None:
    assert by_z3(neighbours, "no races", "y", u(32), apart=apart) == status


@gpu.kernel
def partly_written(y: Tensor, *, written: int) -> None:
    gpu.launch(grid=1, threads=32)
    s = gpu.shared("u32", 32)
    with gpu.when(gpu.thread < written):
        s[gpu.thread] = 1
    gpu.barrier()
    y[gpu.thread] = s[31 - gpu.thread]


@pytest.mark.parametrize(("written", "status"), [(32, "proven"), (31, "refuted")])
def test_first_writes(written: int, status: str) -> None:
    assert by_z3(partly_written, "written before read", "s", u(32), written=written) == status


@gpu.kernel
def moved(y: Tensor, by: int) -> None:
    gpu.launch(grid=1, threads=32)
    y[gpu.thread + by] = 1


def test_data_that_decide_an_index_refute_nothing_about_bounds() -> None:
    assert by_z3(moved, "in bounds", "y", u(32), 0) == "undecided"


@gpu.kernel
def never(y: Tensor, n: int) -> None:
    """Two conditions on one number that the host gives contradict each other."""
    gpu.launch(grid=1, threads=32)
    with gpu.when((n < 100) & (n > 200)):
        y[gpu.thread + 32] = 1


def test_what_cutepy_leaves_undecided_is_proven_and_says_by_whom() -> None:
    alone = never.verify(u(32), 0, prover="cutepy").verdicts
    both = never.verify(u(32), 0, prover="auto").verdicts
    mine = next(v for v in alone if v.claim == "in bounds")
    found = next(v for v in both if v.claim == "in bounds")
    assert (mine.status, mine.by) == ("undecided", "")
    assert (found.status, found.by) == ("proven", "z3")


def test_z3_decides_its_own_claims_alone() -> None:
    for verdict in reversed_tile.verify(u(64), u(64), prover="z3", waits=True).verdicts:
        assert (verdict.by == "z3") is (verdict.claim in Z3_CLAIMS)


def test_an_unknown_prover_is_refused() -> None:
    with pytest.raises(KernelError, match=r"verify\(prover='isl'\): the provers are 'auto', 'cutepy', 'z3'"):
        moved.verify(u(32), 0, prover="isl")


@gpu.kernel
def at_a_number(y: Tensor, n: int) -> None:
    gpu.launch(grid=1, threads=8)
    with gpu.when(n == 1000):
        y[gpu.thread // 2] = 1


def test_a_candidate_may_need_a_large_number() -> None:
    """Small numbers are tried first, and none of them refutes."""
    (found,) = [v for v in at_a_number.verify(u(8), 0, prover="z3").refuted if v.claim == "no races"]
    assert found.witness is not None and found.witness.given == "for n = 1000"


@gpu.kernel
def permuted(x: Tensor, y: Tensor, *, waits: bool) -> None:
    """Each thread writes where another read; z3 does not follow what shared memory holds."""
    gpu.launch(grid=1, threads=64)
    s = gpu.shared("u32", 64)
    s[gpu.thread] = gpu.thread
    gpu.barrier()
    at = s[63 - gpu.thread] % 64
    if waits:
        gpu.barrier()
    s[at] = x[gpu.thread]
    gpu.barrier()
    y[gpu.thread] = s[gpu.thread]


@pytest.mark.parametrize(("waits", "status"), [(True, "undecided"), (False, "undecided")])
def test_a_replay_counts_the_barriers_of_its_array(waits: bool, status: str) -> None:
    """What the replay does not show is not refuted: each thread writes the element that it read."""
    assert by_z3(permuted, "no races", "s", u(64), u(64), waits=waits) == status


@gpu.kernel
def in_two_places(y: Tensor, *, apart: int) -> None:
    gpu.launch(grid=(2, 3, 2), threads=4)
    g = gpu.workgroup
    with gpu.when((g.x == 1) & (g.y == 2)):
        y[g.z * apart + gpu.thread * 2 + 1] = 1


def test_a_witness_names_who_races() -> None:
    (found,) = [v for v in in_two_places.verify(u(64), prover="z3", apart=4).refuted if v.claim == "no races"]
    assert found.witness is not None
    one, other = found.witness.uses
    assert {one.workgroup, other.workgroup} == {(1, 2, 0), (1, 2, 1)} and one.verb == other.verb == "writes"
    for use in (one, other):
        assert use.workgroup[2] * 4 + use.thread * 2 + 1 == found.witness.element
    assert by_z3(in_two_places, "no races", "y", u(64), apart=8) == "proven"


def test_what_has_no_rule_is_undecided_claim_by_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each claim that is asked, in order, with the reason."""
    x, y = Buffer("x", u32, 64), Buffer("y", u32, 64, writable=True)
    tid = builtin("local_invocation_index", 0, 63)
    kernel = Kernel("k", (x, y), (Store(y, tid, load(x, tid)),), (1, 1, 1), (64, 1, 1))
    asked = [(Claim.IN_BOUNDS, "x"), (Claim.IN_BOUNDS, "y"), (Claim.NO_RACES, "y")]
    for most, status in ((0, "undecided"), (MOST, "proven")):
        monkeypatch.setattr("cutepy.gpu.verify.smt_encoding.MOST", most)
        found = decide_by_z3(kernel, asked)
        assert [(key, v.claim, v.array, v.status) for key, v in found.items()] == [(key, *key, status) for key in asked]


@gpu.kernel
def of_a_product(x: Tensor, n: Tensor) -> None:
    gpu.launch(grid=4, threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    a, b = n[i], n[i + 256]
    with gpu.when((a * a * b == b * b * a + 3 * i) & (a > 1) & (b > a + 1) & (a * b % 1021 == 7)):
        x[a * b % 67] = 1


def test_a_limit_counts_steps_and_not_time() -> None:
    """The steps that are left are the same at each run, and none are left where a question took them all."""
    kernel = of_a_product.ir(u(64), u(512))
    asked, left = [(Claim.IN_BOUNDS, "x")], []
    for _ in range(2):
        statistics = Statistics()
        with new_arena():
            (found,) = decide_by_z3(kernel, asked, question=20_000, total=20_000, statistics=statistics).values()
        left.append((found.status, len(statistics.times)))
    assert left[0] == left[1] == ("undecided", 1)


@gpu.kernel
def outside_once(y: Tensor, *, bad: int) -> None:
    gpu.launch(grid=2048, threads=64)
    with gpu.when(gpu.workgroup.x == bad):
        y[gpu.thread + 1] = 1


def test_of_a_large_launch_the_workgroup_of_the_fault_is_replayed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    replayed: list[object] = []

    def noting(*arguments: object, **options: object) -> object:
        replayed.append(options["only"])
        return interpret(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("cutepy.gpu.verify.replay.interpret", noting)
    assert by_z3(outside_once, "in bounds", "y", u(64), bad=1234) == "refuted"
    assert replayed == [1234]


@gpu.kernel
def many_times(y: Tensor) -> None:
    gpu.launch(grid=1, threads=64)
    for i in gpu.loop(100):
        y[i * 64 + gpu.thread] = i


def test_a_replay_ends_where_enough_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most as many uses as `ACCESSES` and one access of the launch more, or `STEPS` places of the text."""
    kernel = many_times.ir(u(6400))
    for limit, most in (("ACCESSES", 1000), ("STEPS", 20)):
        with monkeypatch.context() as patched, pytest.raises(TooLong):
            patched.setattr(f"cutepy.gpu.verify.replay.{limit}", most)
            watch = Kept(kernel, "y")
            interpret(kernel, [u(6400)], {}, watch=watch)
        assert most < (watch.accesses if limit == "ACCESSES" else watch.steps) <= most + 64
