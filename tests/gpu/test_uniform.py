"""What a workgroup agrees on: conditions of it have barriers under them, proven, and accepted by Tint and naga."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tint import refusals, verdict

from cutepy import gpu
from cutepy.errors import KernelError, VerificationError
from cutepy.gpu import ir
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import (
    AddressSpace,
    Barrier,
    Break,
    Buffer,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    UniformLoad,
    builtin,
    const,
    load,
    new_arena,
    statements,
    var,
)
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.wgsl import print_wgsl
from cutepy.gpu.verify import Claim, Status, verify
from cutepy.gpu.verify.uniformity import uniform_fences
from cutepy.layout import size
from cutepy.tensor.dtypes import u32

Array = np.ndarray
T = 16


@gpu.kernel
def queue(jobs, counter, y):
    """A persistent kernel: each workgroup takes jobs while there are any."""
    gpu.launch(grid=3, threads=T)
    s = gpu.shared("u32", T)
    for _turn in gpu.loop(size(jobs) + 1):
        ticket = 0
        if gpu.thread == 0:
            ticket = gpu.atomic_add(counter, 0, 1)
        job = gpu.uniform(ticket)
        if job >= size(jobs):
            break
        s[gpu.thread] = jobs[job] + gpu.thread
        gpu.barrier()
        y[job * T + gpu.thread] = s[T - 1 - gpu.thread]
        gpu.barrier()


@gpu.kernel
def queue_in_shared(jobs, counter, y):
    """The same, by an element of shared memory."""
    gpu.launch(grid=3, threads=T)
    job = gpu.shared("u32", 1)
    for _turn in gpu.loop(size(jobs) + 1):
        if gpu.thread == 0:
            job[0] = gpu.atomic_add(counter, 0, 1)
        at = gpu.uniform(job[0])
        if at >= size(jobs):
            break
        y[at * T + gpu.thread] = jobs[at] + (T - 1) - gpu.thread


@pytest.mark.parametrize("kernel", [queue, queue_in_shared])
def test_a_persistent_queue(kernel: gpu.KernelFunction) -> None:
    def data() -> tuple[Array, Array, Array]:
        return np.arange(7, dtype=np.uint32) * 100, np.zeros(1, np.uint32), np.zeros(7 * T, np.uint32)

    wanted = (np.arange(7)[:, None] * 100 + np.arange(T)[::-1]).ravel()
    for run in (lambda *a: kernel.interpret(*a, check=True), kernel):
        arrays = data()
        run(*arrays)
        assert (arrays[2] == wanted).all()
    assert kernel.verify(*data(), prover="cutepy").ok
    assert refusals({"queue": kernel.wgsl(*data(), dialect="tint")}) == {}


def test_a_queue_whose_ticket_is_each_thread_s_own_is_no_workgroup_s() -> None:
    @gpu.kernel
    def wrong(jobs, counter, y):
        gpu.launch(grid=3, threads=T)
        at = gpu.shared("u32", 1)
        at[0] = 0
        if gpu.thread == 0 and jobs[0] == 3:
            at[0] = gpu.atomic_add(counter, 0, 1)
        job = gpu.uniform(at[0])
        if job < 7:
            y[job * T + gpu.thread] = 1

    found = wrong.verify(np.arange(7, dtype=np.uint32), np.zeros(1, np.uint32), np.zeros(7 * T, np.uint32))
    assert next(v for v in found.verdicts if (v.claim, v.array) == (Claim.NO_RACES, "y")).status is not Status.PROVEN


@gpu.kernel
def converge(x, y, turns):
    """Iterations until nothing is left that is larger than 0.001, in shared memory."""
    gpu.launch(grid=2, threads=64)
    s = gpu.shared("f32", 64)
    at = gpu.workgroup.x * 64 + gpu.thread
    v, n = x[at], 0
    while gpu.at_most(100, gpu.workgroup_reduce(v, "max") > 1e-3):
        s[gpu.thread] = v
        gpu.barrier()
        v = (s[gpu.thread] + s[63 - gpu.thread]) / 4
        gpu.barrier()
        n += 1
    y[at], turns[at] = v, n


def test_iterations_to_convergence() -> None:
    def data() -> tuple[Array, Array, Array]:
        x = np.concatenate([np.arange(64), np.zeros(64)]).astype(np.float32)
        return x, np.zeros(128, np.float32), np.zeros(128, np.uint32)

    x = data()[0].reshape(2, 64)
    counts = []
    for row in x:
        n = 0
        while row.max() > 1e-3:
            row, n = (row + row[::-1]) / np.float32(4), n + 1
        counts.append(n)
    for run in (lambda *a: converge.interpret(*a, check=True), converge):
        arrays = data()
        run(*arrays)
        assert (arrays[2].reshape(2, 64) == np.array(counts)[:, None]).all() and counts[1] == 0
    assert converge.verify(*data(), prover="cutepy").ok
    assert refusals({"converge": converge.wgsl(*data(), dialect="tint")}) == {}


def test_an_if_of_what_a_workgroup_reduced_may_hold_a_barrier() -> None:
    @gpu.kernel
    def normalise(x, y):
        gpu.launch(grid=2, threads=32)
        s = gpu.shared("f32", 32)
        at = gpu.workgroup.x * 32 + gpu.thread
        v = x[at]
        if gpu.workgroup_reduce(v, "sum") > 16.0:
            s[gpu.thread] = v
            gpu.barrier()
            v = s[31 - gpu.thread]
        y[at] = v

    x, y = np.repeat(np.float32([1, 0.25]), 32) + np.arange(64, dtype=np.float32) / 1000, np.zeros(64, np.float32)
    normalise(x, y)
    assert (y == np.concatenate([x[:32][::-1], x[32:]])).all() and normalise.verify(x, y).ok
    assert refusals({"normalise": normalise.wgsl(x, y, dialect="tint")}) == {}


def test_refusals() -> None:
    def refused(body: Callable[..., None], word: str) -> None:
        with pytest.raises(KernelError, match=word):
            gpu.kernel(body).ir(np.zeros(64, np.float32), np.zeros(64, np.float32))

    def parted(x, y):
        gpu.launch(threads=64)
        if gpu.thread < 3:
            y[gpu.thread] = gpu.uniform(x[gpu.thread])

    def own(x, y):
        gpu.launch(threads=64)
        if x[gpu.thread] > 0:  # each thread's own
            gpu.barrier()
        y[gpu.thread] = 1.0

    refused(parted, "gpu.uniform inside")
    refused(own, "gpu.barrier inside")


# Random control flow.

X, Y = Buffer("x", u32, T), Buffer("y", u32, T, writable=True)
TID = builtin("local_invocation_index", 0, T - 1)
S = Buffer("s", u32, 1, AddressSpace.WORKGROUP, writable=True)
REGISTERS = [Buffer(f"r{i}", u32, 1, AddressSpace.PRIVATE, writable=True) for i in range(3)]


@st.composite
def bodies(draw: st.DrawFn, names: list[Expr], depth: int, inside: bool = False) -> list[Stmt]:
    names, out = list(names), []
    for _ in range(draw(st.integers(1, 4))):

        def value() -> Expr:
            made = draw(
                st.sampled_from([*names, *[load(r, const(0)) for r in REGISTERS], const(draw(st.integers(0, 3)))])
            )
            return made + draw(st.sampled_from([*names, const(1)])) if draw(st.booleans()) else made

        condition = ir.binary(draw(st.sampled_from(["<", "=="])), value() % 4, const(draw(st.integers(0, 3))))
        kinds = ["let", "load", "store", "store", "barrier", "agree", "agree"]
        kinds += ["if", "for"] * (depth > 0) + ["break"] * inside
        match draw(st.sampled_from(kinds)):
            case "let" | "load" as kind:
                name = var(f"v{len(names)}_{depth}_{draw(st.integers(0, 999))}")
                out.append(Let(name, value() if kind == "let" else load(X, value() % T)))
                names.append(name)
            case "store":
                out.append(Store(draw(st.sampled_from(REGISTERS)), const(0), value()))
            case "barrier":
                out.append(Barrier())
            case "agree":
                name = var(f"a{len(names)}_{depth}_{draw(st.integers(0, 999))}")
                out += [If(ir.binary("==", TID, const(0)), (Store(S, const(0), value()),))]
                out.append(UniformLoad(name, load(S, const(0))))
                names.append(name)
            case "if":
                both = [tuple(draw(bodies(names, depth - 1))) for _ in range(draw(st.integers(1, 2)))]
                if not isinstance(condition, ir.Const):
                    out.append(If(condition, *both))
            case "for":
                k = var(f"k{depth}_{draw(st.integers(0, 999))}", hi=8)
                body = draw(bodies([*names, k], depth - 1, True))
                out.append(For(k, const(0), draw(st.sampled_from([const(2), value() % 4])), const(1), tuple(body)))
            case "break":
                if not isinstance(condition, ir.Const):
                    out.append(Break(condition))
    return out


@settings(max_examples=150)
@given(st.data())
def test_barriers_that_are_said_to_be_uniform_part_no_workgroup(data: st.DataObject) -> None:
    with new_arena():
        body = [Store(r, const(0), const(i)) for i, r in enumerate(REGISTERS)]
        body += data.draw(bodies([TID, builtin("workgroup_id", 0, 1, axis=0)], 2))
        body.append(Store(Y, TID, load(REGISTERS[0], const(0))))
        kernel = Kernel("k", (X, Y), tuple(body), (1, 1, 1), (T, 1, 1), (S, *REGISTERS))
        sure = uniform_fences(kernel)
        fences = [s for s in statements(kernel.body) if isinstance(s, Barrier | UniformLoad)]
        proven = next(v for v in verify(kernel, prover="cutepy").verdicts if v.claim is Claim.UNIFORM_BARRIERS)
        if not fences or proven.status is not Status.PROVEN:
            return
        if any(isinstance(s, UniformLoad) for s in fences) and sure >= set(fences):
            assert verdict(print_wgsl(lower(kernel), "tint")) == []
        for fill in (np.arange(T), np.zeros(T), np.full(T, 3), np.arange(T) * 5 % 7):
            try:
                interpret_checked(kernel, [fill.astype(np.uint32), np.zeros(T, np.uint32)], {})
            except VerificationError as error:
                assert "parts a workgroup" not in str(error), error


def test_who_left_a_loop_comes_to_no_barrier_in_it() -> None:
    with new_arena():
        k, agreed, r = var("k", hi=2), var("a"), REGISTERS[0]
        fence = Barrier()
        share = UniformLoad(agreed, load(S, const(0)))
        for condition, together in ((TID < 3, False), (ir.binary("<", agreed, const(3)), True)):
            body = (share, For(k, const(0), const(2), const(1), (Break(condition), fence)))
            assert (fence in uniform_fences(Kernel("k", (X, Y), body, (1, 1, 1), (T, 1, 1), (S, r)))) is together
        # What is set by those who stay differs from what those have who left.
        left = For(k, const(0), const(2), const(1), (Break(TID < 3), Store(r, const(0), const(1))))
        body = (share, left, If(ir.binary("<", load(r, const(0)), const(1)), (fence,)))
        assert fence not in uniform_fences(Kernel("k", (X, Y), body, (1, 1, 1), (T, 1, 1), (S, r)))
