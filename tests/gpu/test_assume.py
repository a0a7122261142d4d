"""What the user says of data: proofs use it and name it, the interpreter and the host look at it."""

# ruff: noqa: F821  sizes in annotations are names of the kernel's own

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.verify import Claim, Status, Verification
from cutepy.layout import size
from cutepy.tensor import local_tile, make_tensor

Array = np.ndarray


@gpu.kernel
def gather(x, ids, y):
    gpu.launch(grid=4, threads=4)
    i = ids[gpu.workgroup.x * 4 + gpu.thread]
    gpu.assume(i < size(x))
    y[gpu.workgroup.x * 4 + gpu.thread] = x[i]


@gpu.kernel
def gather_each(x, ids, y):
    gpu.launch(grid=4, threads=4)
    gpu.assume(ids, bounds=(0, size(x)))
    y[gpu.workgroup.x * 4 + gpu.thread] = x[ids[gpu.workgroup.x * 4 + gpu.thread]]


@gpu.kernel
def plain_gather(x, ids, y):
    gpu.launch(grid=4, threads=4)
    y[gpu.workgroup.x * 4 + gpu.thread] = x[ids[gpu.workgroup.x * 4 + gpu.thread]]


@gpu.kernel
def segments(offsets, y):
    """Each workgroup numbers its rows."""
    gpu.launch(grid=size(offsets) - 1, threads=4)
    gpu.assume(offsets, bounds=(0, size(y) + 1))
    gpu.assume(offsets, ascending=True)
    e = gpu.workgroup.x
    stop = offsets[e + 1]
    for r in gpu.loop(stop, start=offsets[e], step=4):
        if r + gpu.thread < stop:
            y[r + gpu.thread] = e


def data() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(3)
    return np.arange(9, dtype=np.float32), rng.integers(0, 9, 16).astype(np.uint32), np.zeros(16, np.float32)


def of(found: Verification, claim: Claim, array: str) -> tuple[Status, tuple[str, ...]]:
    [verdict] = [v for v in found.verdicts if (v.claim, v.array) == (claim, array)]
    return verdict.status, verdict.given


KERNELS = [gather, gather_each, plain_gather.assuming(bounds={"ids": (0, 9)})]


@pytest.mark.parametrize("prover", ["cutepy", "z3"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_proof_uses_what_is_said_and_names_it(kernel: gpu.KernelFunction, prover: str) -> None:
    x, ids, y = data()
    assert not plain_gather.verify(x, ids, y, prover=prover).ok
    found = kernel.verify(x, ids, y, prover=prover)
    assert found.ok and len(found.given) == 1 and str(found).startswith(f"{found.kernel}: proven, given ")
    assert of(found, Claim.IN_BOUNDS, "x") == (Status.PROVEN, found.given)
    assert of(found, Claim.IN_BOUNDS, "y") == (Status.PROVEN, ())  # it needs nothing of that


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_said_and_is_not_so_is_found(kernel: gpu.KernelFunction) -> None:
    x, ids, y = data()
    kernel.interpret(x, ids, y)
    assert (y == x[ids]).all()
    kernel.check_assumptions(x, ids, y)
    ids[11], before = 9, y.copy()
    for look in (kernel.interpret, kernel.check_assumptions):
        with pytest.raises(
            KernelError, match=r"e\.py:\d+: kernel \w+ assumes .*: 9 < 9 is not so \(workgroup \(2, 0, 0\), thread 3"
        ):
            look(x, ids, y)
    with pytest.raises(KernelError, match="assumes"):
        kernel(x, ids, y, checks="assumptions")
    assert (y == before).all()


def test_a_kernel_that_rests_on_what_is_said_keeps_the_checks_of_the_runtime() -> None:
    x, ids, y = data()
    assert gather.program(x, ids, y).checked
    assert gather.wgsl(x, ids, y).split("fn gather")[1] == plain_gather.wgsl(x, ids, y).split("fn plain_gather")[1]


@pytest.mark.parametrize("prover", ["cutepy", "z3"])
def test_segments_of_a_sorted_array_have_one_owner(prover: str) -> None:
    offsets, y = np.array([0, 3, 3, 7, 20, 20, 33, 40], np.uint32), np.full(40, 99, np.uint32)
    found = segments.verify(offsets, y, prover=prover)
    assert found.ok and set(found.given) == {"offsets is ascending", "offsets in (0, 41)"}
    assert of(found, Claim.NO_RACES, "y")[1]
    segments.interpret(offsets, y, check=True)
    assert (y == np.repeat(np.arange(7), np.diff(offsets))).all()
    for broken, word in ((offsets[::-1].copy(), "element 1 is 33, after 40"), (offsets + 1, r"offsets in \(0, 41\)")):
        with pytest.raises(KernelError, match=word):
            segments.interpret(broken, y)


@gpu.kernel
def overlapping(offsets, y, *, more):
    """Segments that reach into the next ones, or begin before their own."""
    gpu.launch(grid=size(offsets) - 1, threads=4)
    gpu.assume(offsets, bounds=(4, size(y) - 3))
    gpu.assume(offsets, ascending=True)
    e = gpu.workgroup.x
    first, stop = (offsets[e], offsets[e + 1] + 1) if more > 0 else (offsets[e] - 1, offsets[e + 1])
    if first + gpu.thread < stop:
        y[first + gpu.thread] = e


@pytest.mark.parametrize("more", [1, -1])
@pytest.mark.parametrize("prover", ["cutepy", "z3"])
def test_what_overlaps_is_refuted(more: int, prover: str) -> None:
    offsets, y = np.array([4, 5, 8, 11], np.uint32), np.zeros(40, np.uint32)
    found = overlapping.verify(offsets, y, more=more, prover=prover)
    assert of(found, Claim.IN_BOUNDS, "y")[0] is Status.PROVEN
    assert of(found, Claim.NO_RACES, "y")[0] is Status.REFUTED


@gpu.kernel
def scatter(ids, x, y):
    """Row i of x becomes row ids[i] of y."""
    gpu.launch(grid=4, threads=8)
    gpu.assume(ids, bounds=(0, size(y, 0)))
    i, k = gpu.workgroup.x * 4 + gpu.thread // 2, gpu.thread % 2
    y[ids[i], k] = x[i, k]


@pytest.mark.parametrize("prover", ["cutepy", "z3"])
def test_distinct_places_have_one_owner(prover: str) -> None:
    ids, x = np.random.default_rng(0).permutation(20)[:16].astype(np.uint32), np.arange(32, dtype=np.float32)
    x, y, known = x.reshape(16, 2), np.zeros((20, 2), np.float32), scatter.assuming(distinct=["ids"])
    found = known.verify(ids, x, y, prover=prover)
    assert found.ok and of(found, Claim.NO_RACES, "y")[1] == ("ids is distinct", "ids in (0, 20)")
    known.interpret(ids, x, y, check=True)
    assert (y[ids] == x).all()
    # Nothing said: two may be equal, on the data of the witness, and then the interpreter refuses what was said.
    [verdict] = scatter.verify(ids, x, y).refuted
    assert verdict.claim is Claim.NO_RACES and verdict.witness is not None
    equal = verdict.witness.contents["ids"]
    with pytest.raises(KernelError, match="has a race"):
        scatter.interpret(equal, x, y, check=True)
    for look in (known.interpret, known.check_assumptions):
        with pytest.raises(KernelError, match=r"ids is distinct: element \d+ is \d+, after \d+ in element \d+"):
            look(equal, x, y)


def test_an_order_is_one_of_all_elements_in_every_run() -> None:
    """An order that is said of a part says nothing of the rest, nor one under a condition of other runs."""

    @gpu.kernel
    def part(offsets, y):
        gpu.launch(grid=size(offsets) - 1, threads=4)
        gpu.assume(local_tile(offsets, (4,), (0,)), ascending=True)
        y[gpu.thread] = 0

    @gpu.kernel
    def seldom(offsets, y):
        gpu.launch(grid=size(offsets) - 1, threads=4)
        gpu.assume(offsets, bounds=(0, size(y) + 1))
        with gpu.when(offsets[0] > 7):
            gpu.assume(offsets, ascending=True)
        first, stop = offsets[gpu.workgroup.x], offsets[gpu.workgroup.x + 1]
        if first + gpu.thread < stop:
            y[first + gpu.thread] = gpu.workgroup.x

    offsets, y = np.array([0, 3, 5, 7, 0, 7, 0, 7], np.uint32), np.zeros(40, np.uint32)
    with pytest.raises(KernelError, match=r"ascending=True\): it is a part of offsets"):
        part.ir(offsets, y)
    assert of(seldom.verify(offsets, y, prover="cutepy"), Claim.NO_RACES, "y")[0] is Status.REFUTED
    assert of(seldom.verify(offsets, y, prover="z3"), Claim.NO_RACES, "y")[0] is not Status.PROVEN


def test_a_fact_counts_from_its_line_to_the_end_of_its_block() -> None:
    @gpu.kernel
    def before(x, ids, y):
        gpu.launch(threads=4)
        i = ids[gpu.thread]
        y[gpu.thread] = x[i]
        gpu.assume(i < size(x))

    @gpu.kernel
    def inside(x, ids, y):
        gpu.launch(threads=4)
        i = ids[gpu.thread]
        if gpu.thread < 2:
            gpu.assume(i < size(x))
            y[gpu.thread] = 1.0
        y[gpu.thread + 4] = x[i]

    x, ids, y = data()
    for kernel in (before, inside):
        assert of(kernel.verify(x, ids, y), Claim.IN_BOUNDS, "x")[0] is not Status.PROVEN


def test_a_barrier_is_not_said_to_part_threads_by_what_holds_for_all() -> None:
    @gpu.kernel
    def both(x, ids, y):
        gpu.launch(threads=4)
        s = gpu.shared("f32", 4)
        i = ids[gpu.thread]
        gpu.assume(i < size(x))
        s[gpu.thread] = x[i]
        gpu.barrier()
        y[gpu.thread] = s[3 - gpu.thread]

    found = both.verify(*data())
    assert found.ok and found.given == ("i < size(x)",)


def test_of_unknown_sizes_it_is_proven_for_all() -> None:
    @gpu.kernel
    def take(x: "(N)", ids: "(M)", y: "(M)"):
        gpu.launch(grid=-(-size(ids) // 32), threads=32)
        gpu.assume(ids, bounds=(0, size(x)))
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < size(ids):
            y[i] = x[ids[i]]

    rng = np.random.default_rng(0)
    for n, m in ((9, 40), (5, 3), (700, 65)):
        x, ids, y = rng.random(n, np.float32), rng.integers(0, n, m).astype(np.uint32), np.zeros(m, np.float32)
        take(x, ids, y)
        assert (y == x[ids]).all() and take.size_reason == ""
        assert take.verify(x, ids, y).ok
    assert take.stats.traces == 1
    with pytest.raises(KernelError, match="ids in"):
        take.check_assumptions(x, ids + 700, y)


def test_refusals() -> None:
    def refused(body: object, word: str) -> None:
        def kernel(x, ids, y):
            gpu.launch(threads=4)
            body(x, ids, y)
            y[gpu.thread] = 0.0

        with pytest.raises(KernelError, match=word):
            gpu.kernel(kernel).ir(*data())

    refused(lambda x, ids, y: gpu.assume(ids[gpu.thread]), "compare it")
    refused(lambda x, ids, y: gpu.assume(size(x) < 3), "never so")
    refused(lambda x, ids, y: gpu.assume(ids), r"bounds=\(low, high\), ascending=True or")
    refused(lambda x, ids, y: gpu.assume(x, bounds=(0, 1)), "i32 or u32")
    refused(lambda x, ids, y: gpu.assume(ids[0] < 3, ascending=True), "said of a tensor")
    with pytest.raises(KernelError, match="there is no argument 'idz'"):
        gather.assuming(bounds={"idz": (0, 1)})


def test_what_is_known_changes_no_sizes() -> None:
    """A kernel of which something is known is for the sizes that it was for: of its own, of all, or as it learns."""
    for sizes in ("", "known", {"x": "(N)", "ids": "(M)", "y": "(M)"}):
        kernel = gpu.kernel(sizes=sizes)(plain_gather.function)
        other = kernel.assuming(bounds={"ids": (0, 9)})
        assert (other._said, other._learns) == (kernel._said, kernel._learns)
    own = gpu.kernel(sizes={"x": "(M,...)"})(matmul_kernel.function)
    assert own._said and own.assuming(bounds={"A": (0, 9)})._said == own._said


def test_what_is_said_of_an_argument_is_said_of_no_other_in_the_same_memory() -> None:
    """Views of one array are one binding; a verdict names the argument that it rests on."""

    def other(x, ids, y):
        gpu.launch(grid=1, threads=4)
        gpu.assume(ids, bounds=(0, 16))
        gpu.atomic_add(y, x[gpu.thread], 1)

    def own(x, ids, y):
        gpu.launch(grid=1, threads=4)
        gpu.assume(ids, bounds=(0, 16))
        gpu.atomic_add(y, ids[gpu.thread], x[gpu.thread])

    y, both = np.zeros(16, np.uint32), make_tensor(np.array([100, 200, 300, 400, 0, 1, 2, 3], np.uint32))
    x, ids = (local_tile(both, (4,), (at,)) for at in range(2))
    for sizes in ("known", {"x": "(N):(1)", "ids": "(N):(1)", "y": "(16)"}):
        for function, given in ((other, None), (own, ("ids in (0, 16)",))):
            found = gpu.kernel(sizes=sizes)(function).verify(x, ids, y)
            (bounds,) = [v for v in found.verdicts if (v.claim, v.array) == (Claim.IN_BOUNDS, "y")]
            assert (bounds.given if bounds.status is Status.PROVEN else None) == given, bounds
        gpu.kernel(sizes=sizes)(own).interpret(x, ids, y)
    assert y.tolist() == [200, 400, 600, 800, *[0] * 12]


@gpu.kernel(sizes={"x": "(N):(1)", "ids": "(N):(1)", "y": "(M)"})
def placed(x, ids, y, *, through):
    gpu.launch(grid=size(x), threads=1)
    gpu.assume(ids, distinct=True)
    at = (ids if through else x)[gpu.workgroup.x]
    if at < size(y):
        y[at] = 1


def test_an_order_is_of_the_array_that_a_call_gives() -> None:
    """Where sizes are put in, what is said of an array of unknown size is said of that of known size."""
    x, ids, y = np.full(4, 3, np.uint32), np.arange(4, dtype=np.uint32), np.zeros(16, np.uint32)
    assert placed.at(x, ids, y, through=True).verify().ok
    assert [(v.claim, v.array) for v in placed.verify(x, ids, y, through=False).refuted] == [(Claim.NO_RACES, "y")]


def test_bounds_are_said_to_the_end_of_the_block() -> None:
    @gpu.kernel
    def apart(x, y):
        gpu.launch(threads=4)
        if gpu.thread == 0:
            gpu.assume(x, bounds=(0, x[7] + 4))
            y[x[0] % 8] = 1
        else:
            y[x[gpu.thread] % 8 + 8] = 2

    x, y = np.array([0, 9, 10, 11, 0, 0, 0, 0], np.uint32), np.zeros(16, np.uint32)
    apart.interpret(x, y)
    assert y.tolist() == [1, *[0] * 8, 2, 2, 2, *[0] * 4]
    assert apart.check_assumptions(x, y) is None


def test_bounds_of_statements_that_are_taken_back_are_not_said() -> None:
    @gpu.kernel
    def unrolled_at_first(x, y):
        gpu.launch(threads=4)
        j = 0
        while j < 1:  # known before the first turn, not before the second
            gpu.assume(x, bounds=(0, 4))
            j = x[0]
        y[x[gpu.thread] % 16] = 1

    x, y = np.array([3, 9, 10, 11], np.uint32), np.zeros(16, np.uint32)
    unrolled_at_first.interpret(x, y)
    assert np.flatnonzero(y).tolist() == [3, 9, 10, 11]


def test_one_element_is_in_any_order() -> None:
    """Its stride is 0, as NumPy's arrays of one element have it here."""

    @gpu.kernel
    def filled(offsets, y):
        gpu.launch(grid=max(1, size(offsets) - 1), threads=1)
        gpu.assume(offsets, ascending=True)
        y[gpu.workgroup.x] = offsets[gpu.workgroup.x]

    for offsets in (np.uint32([3]), np.uint32([3, 4])):
        y = np.zeros(1, np.uint32)
        filled.interpret(offsets, y)
        assert filled.verify(offsets, y).ok and y.tolist() == [3]
