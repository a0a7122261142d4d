"""Proofs for all sizes, each judged at sizes, and by z3 over the integers with sizes free."""

# ruff: noqa: F821  sizes in annotations are names of the kernel's own

from dataclasses import replace

import numpy as np
import pytest
from integer_judge import compared
from size_judging import EXAMPLES, brute, by_integers, judge_text, plain_kernel, said_for, subjects
from size_kernels import CASES, WRONG, flat, some

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.trace.sizes import contradiction
from cutepy.gpu.trace.unknown_sizes import of_sizes
from cutepy.gpu.verify import _LAST, Claim, Status, conditions_for_all_sizes
from cutepy.gpu.verify.for_all_sizes import condition_text
from cutepy.layout import ceil_div

#: Those of attention take minutes, and two take z3 seconds: `python tools/fuzz/sizes.py 0 --only brute` has all.
NAMES = [name for name in subjects() if name not in ("example attention", "example causal", "example matmul")]
FALSE = ("FALSE PROOF", "FALSE REFUTATION")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("example matvec", "example dropout")])
def test_z3_over_integers_contradicts_no_verdict(name: str) -> None:
    found = list(by_integers(subjects()[name]))
    assert not [what for what in found if what[0] in FALSE]
    if name in CASES:
        assert any(kind == "confirmed" for kind, _ in found)


def test_z3_over_integers_finds_false_proofs() -> None:
    """The judge is none that says yes: what is proven under a condition is false without it."""

    @gpu.kernel
    def of_another(x: "(n)", y: "(m)") -> None:
        gpu.launch(grid=ceil_div(x.shape[0], 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < x.shape[0]:
            y[i // 2] = x[i]

    said = said_for(of_another, [some(9), some(9)])
    assert not isinstance(said, str)
    bare = [replace(v, conditions=(), status=Status.PROVEN) for v in said.verification.verdicts]
    told = {what.partition(":")[0]: (kind, what) for kind, what in compared(said.launch, bare)}
    assert told["in bounds x"][0] == "confirmed"
    assert (
        told["in bounds y"][0] == told["no races y"][0] == "FALSE PROOF" and "y.shape[0] = " in told["in bounds y"][1]
    )
    assert {kind for kind, _ in compared(said.launch, said.verification.verdicts)} == {
        "confirmed",
        "undecided and fails",
    }


@pytest.mark.parametrize("name", NAMES)
def test_no_proof_for_all_sizes_is_false_at_one(name: str) -> None:
    subject = subjects()[name]
    sizes = subject.sizes()
    found, _reasons, faults = brute(subject, sizes[:: max(1, len(sizes) // 12)])
    assert not faults and found["FAULTS"] == 0
    if name in CASES:
        assert found["proven"] >= 12


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_proven_for_all_sizes_and_right(name: str) -> None:
    """What they compute is what they compute where their sizes are known."""
    subject = subjects()[f"example {name}"]
    plain = plain_kernel(name)
    static, forms = dict(subject.static), set()
    for sizes in ((40, 3, 5), (33, 4, 9), (64, 2, 8), (100, 1, 1), (7, 6, 2)):
        one, two = (subject.arguments(*sizes[: subject.unknowns]) for _copy in range(2))
        said = said_for(subject.kernel, one, **static)
        assert not isinstance(said, str)
        left = {v.claim for v in said.verification.verdicts if v.status is not Status.PROVEN}
        assert left == ({Claim.ANY_SUBGROUP_SIZE} if name == "matvec" else set()), str(said.verification)
        forms.add(id(said.launch.traced))
        subject.kernel.interpret(*one, **static)
        assert subject.kernel.size_reason == ""
        plain.interpret(*two, **static)
        for a, b in zip(one, two, strict=True):
            assert not isinstance(a, np.ndarray) or np.allclose(a, b, equal_nan=True, atol=1e-6)
    assert len(forms) <= 2


@pytest.mark.parametrize("name", CASES)
def test_the_arena_of_a_trace_serves_its_proof(name: str) -> None:
    """What is proven there is what is proven in an arena of its own."""
    subject = subjects()[name]
    kernel = KernelFunction(subject.kernel.function, subject.kernel.given)
    call = of_sizes(kernel._bind(subject.arguments(*subject.sizes()[-1]), {}), kernel._specs, kernel.given)
    assert not isinstance(call, str)
    traced = kernel._form_of(call, True).printed()
    assert traced.arena is not None
    found = []
    for arena in (None, traced.arena):
        _LAST.clear()
        forms = conditions_for_all_sizes(traced.kernel, arena)
        found.append(None if forms is None else [condition_text(form, traced.kernel.sizes) for form in forms])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(700, 703))
def test_random_kernels_by_all_judges(seed: int) -> None:
    found, _told = judge_text(seed)
    assert found["FAULTS"] == 0


@pytest.mark.parametrize("width", [8, 7])
def test_one_index_for_two_axes(width: int) -> None:
    """y // N and y % N tell y, and y its workgroup and thread; where 4 divides N, N is 4 times a parameter."""
    found = flat.verify(x := some(5, width), np.zeros_like(x))
    assert found.ok and flat.size_reason == "" and "given" not in str(found)


def test_an_index_for_two_axes_that_two_workgroups_have() -> None:
    @gpu.kernel
    def doubly(x: "(M,N)", y: "(M,N)") -> None:
        M, N = x.shape
        gpu.launch(grid=ceil_div(M * N, 32), threads=64)
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < M * N:
            y[i // N, i % N] = x[i // N, i % N]

    @gpu.kernel
    def by_another(x: "(M,N)", y: "(M,N)") -> None:
        M, N = x.shape
        gpu.launch(grid=ceil_div(M * N, 64), threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < M * N:
            y[i // N, gpu.thread % N] = x[i // N, i % N]

    for kernel in (doubly, by_another):
        for shape in ((4, 8), (7, 30)):
            assert not kernel.verify(some(*shape), some(*shape)).ok


def test_conditions_that_no_sizes_satisfy_are_none() -> None:
    found = said_for(WRONG["one_more"][0], [some(8), some(8)])
    assert not isinstance(found, str)
    assert [v.status for v in found.verification.verdicts if v.array == "x"] == [Status.UNDECIDED]

    @gpu.kernel
    def contrary(x: "(n)", y: "(m)") -> None:
        n, m = x.shape[0], y.shape[0]
        gpu.launch(grid=1, threads=1)
        for i in gpu.loop(n + 1):
            y[i] = 1.0
        for i in gpu.loop(m):
            y[i] = x[i]

    for n, m in ((3, 5), (5, 3), (4, 4), (5, 5)):
        assert not contrary.verify(some(n), some(m)).ok


# A number of the call in a condition.


@gpu.kernel
def head(x: "(n)", y: "(m)", k: "u32") -> None:
    gpu.launch(grid=1, threads=32)
    for i in gpu.loop(k, start=gpu.thread, step=32):
        y[i] = x[i]


def test_a_condition_on_a_number_is_looked_at_in_each_call() -> None:
    x = some(20)
    for k, reason in ((5, ""), (9, ""), (10, "k <= m"), (21, "k <= n"), (0, "")):
        y = np.zeros(9 if k < 20 else 30, np.float32)
        found = head.verify(x, y, np.uint32(k))
        assert head.size_reason == (reason and f"its proof asks for {reason}")
        assert found.ok is not reason
        if not reason:
            head.interpret(x, y, np.uint32(k))
            assert (y[:k] == x[:k]).all() and not y[k:].any()
    assert not head.verify(x, x.copy(), np.uint32(3_000_000_000)).ok
    assert head.size_reason == "k is 3000000000, not from 0 to 2147483647"


def test_a_number_of_python_in_a_condition() -> None:
    @gpu.kernel
    def moved(x: "(n)", y: "(m)", by) -> None:
        gpu.launch(grid=ceil_div(y.shape[0], 32), threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < y.shape[0]:
            y[i] = x[i + by]

    x = some(40)
    for by, fits in ((0, True), (7, True), (31, False), (8, True)):
        y = np.zeros(32, np.float32)
        found = moved.verify(x, y, by)
        assert (moved.size_reason == "") is fits, moved.size_reason
        if fits:
            assert found.ok
            moved.interpret(x, y, by, check=True)
            assert (y == x[by : by + 32]).all()
        else:
            with pytest.raises(KernelError, match="element 40"):
                moved.interpret(x, y, by)
    with pytest.raises(KernelError, match="by is -1, which u32 does not hold"):
        moved.interpret(x, x.copy(), -1)


# What fails at some size is refuted, with the size.


@pytest.mark.parametrize("name", ["into_one_row", "step_too_short", "overlapping", "barrier_for_some", "neighbours"])
def test_a_refutation_has_sizes(name: str) -> None:
    kernel, unknowns = WRONG[name]
    args = [some(*(20, 30)[:unknowns]) for _argument in range(2)]
    found = kernel.verify(*args)
    assert kernel.size_reason == "" and len(found.refuted) == 1 and not found.undecided
    [verdict] = found.refuted
    where = verdict.reason.removeprefix("where ").partition(":")[0]
    sizes = {name: int(n) for name, n in (entry.split(" = ") for entry in where.split(", "))}
    known = kernel.at(**sizes).verify()
    assert (verdict.claim, verdict.array) in {(v.claim, v.array) for v in known.refuted}


# Facts.


@pytest.mark.parametrize(
    "facts",
    [
        ("n <= 5", "n >= 9"),
        ("64 divides n", "n <= 60"),
        ("n == 6", "4 divides n"),
        ("n <= m", "m < n"),
        ("n < m", "m < k", "k < n"),
        ("n*m <= 4", "n >= 5"),
        ("n > 2147483647",),
        ("4 divides n", "6 divides n", "n <= 11"),
        ("n == 5", "m == 5", "n*m == 24"),
        ("n + m <= -1",),
    ],
)
def test_facts_that_contradict_are_named(facts: tuple[str, ...]) -> None:
    assert contradiction(["n", "m", "k"], ("n <= 2147483647", *facts, "m >= 1")) == facts
    with pytest.raises(KernelError) as caught:

        @gpu.kernel(given=facts)
        def scaled(x: "(n)", y: "(m)", z: "(k)") -> None:
            gpu.launch(threads=1)

    assert str(caught.value).startswith(f"scaled: given={list(facts)}: no sizes satisfy ")


def test_few_of_many_facts_are_looked_at() -> None:
    """Of 14 facts, four of which contradict, subsets of three and fewer are tried; none is refuted: all are named."""
    names = [f"n{i}" for i in range(14)]
    ring = ("n0 < n1", "n1 < n2", "n2 < n3", "n3 < n0")
    facts = (*ring, *[f"n{i} <= {1000 + i}" for i in range(4, 14)])
    assert contradiction(names, facts) == facts


@pytest.mark.parametrize(
    "facts",
    [("4 divides n", "n <= 100", "n <= m"), ("n == m", "m == k"), ("n*m <= 4096",), ("n > -1", "n - m >= -3")],
)
def test_facts_that_may_hold(facts: tuple[str, ...]) -> None:
    assert contradiction(["n", "m", "k"], facts) == ()


def test_a_truth_value_is_no_size() -> None:
    with pytest.raises(KernelError, match="True is no size of the arguments"):
        contradiction(["n"], ("n < True",))


def test_names_of_modes_are_not_names_of_sizes() -> None:
    """`(d1,...)` would say of a tensor of two modes that both are equal, and `(d0)` tie a tensor to another's mode."""
    with pytest.raises(KernelError, match=r'tied: the size d0: "\.\.\." names a mode so; give the size another name'):

        @gpu.kernel
        def tied(x: "(...)", y: "(d0)") -> None:
            gpu.launch(threads=1)


def test_a_remainder_is_below_its_number_by_one_and_no_more() -> None:
    @gpu.kernel(given=("n <= m",))
    def fits(x: "(n)", y: "(m)") -> None:
        gpu.launch(grid=4, threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        gpu.atomic_add(y, i % x.shape[0], 1)

    @gpu.kernel(given=("n <= m + 1",))
    def one_less(x: "(n)", y: "(m)") -> None:
        gpu.launch(grid=4, threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        gpu.atomic_add(y, i % x.shape[0], 1)

    u = np.zeros(9, np.uint32)
    assert fits.verify(u, u.copy()).ok and fits.size_reason == ""
    found = said_for(one_less, [u, u[:8].copy()])
    assert isinstance(found, str) or any(
        v.array == "y" and (v.conditions or v.status is not Status.PROVEN) for v in found.verification.verdicts
    )
    assert not one_less.verify(u, u[:8].copy()).ok


def test_a_minimum_is_at_most_its_values_and_no_less() -> None:
    @gpu.kernel
    def one_too_far(x: "(n)", y: "(m)") -> None:
        gpu.launch(threads=32)
        if gpu.thread < y.shape[0]:
            y[gpu.thread] = x[gpu.minimum(gpu.thread, x.shape[0])]

    said = said_for(one_too_far, [some(40), some(9)])
    assert not isinstance(said, str)
    (read,) = [v for v in said.verification.verdicts if v.array == "x"]
    assert read.conditions or read.status is not Status.PROVEN, read
    assert not one_too_far.verify(some(9), some(32)).ok


@pytest.mark.parametrize("grid", [32, 33])
def test_a_minimum_is_its_first_value_where_that_does_not_wrap(grid: int) -> None:
    """Workgroup 32 is at 2**32, which is 0: where workgroup 0 is."""

    @gpu.kernel
    def far(y: "(m)") -> None:
        gpu.launch(grid=grid, threads=1)
        at = gpu.minimum(gpu.workgroup.x * (1 << 27), y.shape[0])
        if at < y.shape[0]:
            y[at] = 1.0

    said = said_for(far, [some(40)])
    assert not isinstance(said, str)
    (told,) = [v.status for v in said.verification.verdicts if v.claim == Claim.NO_RACES]
    assert told == (Status.PROVEN if grid == 32 else Status.UNDECIDED)


def test_one_index_for_two_axes_in_some_accesses_alone() -> None:
    """Where another access has two indices of its own, the axes are no single number."""

    @gpu.kernel
    def mixed(x: "(M,N)", y: "(M,N)") -> None:
        M, N = x.shape
        gpu.launch(grid=ceil_div(M * N, 32), threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        if i < M * N:
            y[i // N, i % N] = x[i // N, i % N]
        if i < M:
            y[i, 0] = 1.0

    for shape in ((5, 8), (1, 9)):
        x = some(*shape)
        assert (shape[0] == 1) or not mixed.verify(x, np.zeros_like(x)).ok
