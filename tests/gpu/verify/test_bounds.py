"""Bounds of indices under guards, against every value that the unknowns can have: rules of `gpu/verify/bounds.py`."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutepy import gpu
from cutepy.gpu.ir import (
    Buffer,
    ElementOrder,
    Elements,
    Expr,
    If,
    Kernel,
    Store,
    binary,
    builtin,
    call,
    const,
    load,
    new_arena,
    param,
    var,
)
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.verify import verify
from cutepy.gpu.verify.bounds import facts_of, reach
from cutepy.gpu.verify.collect import collect
from cutepy.gpu.verify.model import Access, Model
from cutepy.layout import size
from cutepy.tensor import Tensor
from cutepy.tensor.dtypes import u32

X, DATA = Buffer("x", u32, 64), Buffer("data", u32, 65)
TID = builtin("local_invocation_index", 0, 63)
THREADS, MOST = 4, 7


def model_of() -> Model:
    return collect(Kernel("k", (X,), (), grid=(1, 1, 1), workgroup=(THREADS, 1, 1)))


def access(index: Expr, guards: tuple[Expr, ...]) -> Access:
    return Access("reads", X, index, 1, guards, (), index, "", ())


def u(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint32)


def true_values(model: Model, index: Expr, guards: tuple[Expr, ...], unknowns: list[Expr]) -> dict[int, set[int]]:
    """What `index` is by thread, over all values of the unknowns for which the guards hold."""
    found: dict[int, set[int]] = {}
    for thread, *values in product(range(THREADS), *[range(MOST + 1)] * len(unknowns)):
        env = {
            leaf: np.asarray(n, np.uint32) for leaf, n in zip((model.tid, *unknowns), (thread, *values), strict=True)
        }
        points = Points(env)
        if all(bool(points.of(guard)) for guard in guards):
            found.setdefault(thread, set()).add(int(points.of(index)))
    return found


@st.composite
def sums(draw: st.DrawFn, atoms: list[Expr], depth: int = 2) -> Expr:
    """An index over thread and unknowns: sums, quotients, remainders, minima."""
    if not depth or draw(st.booleans()):
        return draw(st.sampled_from([*atoms, const(draw(st.integers(0, 9)))]))
    op = draw(st.sampled_from(["+", "+", "-", "*", "//", "%", "min"]))
    left = draw(sums(atoms, depth - 1))
    if op in ("*", "//", "%"):
        return binary(op, left, const(draw(st.integers(1, 4))))
    right = draw(sums(atoms, depth - 1))
    return call("min", left, right) if op == "min" else binary(op, left, right)


@settings(max_examples=300)
@given(st.data())
def test_an_index_lies_where_it_is_said_to(data: st.DataObject) -> None:
    with new_arena():
        model = model_of()
        unknowns: list[Expr] = [var("a", hi=MOST), var("b", hi=MOST)]
        atoms = [model.tid, *unknowns]
        index = data.draw(sums(atoms))
        comparisons = st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), sums(atoms, 1), sums(atoms, 1))
        guards = tuple(binary(*data.draw(comparisons)) for _ in range(data.draw(st.integers(0, 3))))
        guards = tuple(guard for guard in guards if not hasattr(guard, "value"))
        facts = facts_of(model, access(index, guards))
        true = true_values(model, index, guards, unknowns)
        assert set(true) <= set(np.flatnonzero(facts.mask).tolist())
        if facts.mask.any():
            low, high = reach(model, index, facts)
            assert all(low <= n <= high for values in true.values() for n in values), (index, guards, low, high)


@pytest.mark.parametrize(
    "middle", [lambda a, b: (a + b) // 2, lambda a, b: a + (b - a) // 2, lambda a, b: (a + b) // 4]
)
def test_a_midpoint_lies_below_the_end(middle: object) -> None:
    @gpu.kernel
    def mid(x: Tensor, q: Tensor, y: Tensor) -> None:
        gpu.launch(threads=4)
        a, b = q[0], q[1]
        if a < b and b <= size(x):
            y[gpu.thread] = x[middle(a, b)]  # type: ignore[operator]

    assert mid.verify(u(64), u(2), u(4)).ok


def test_a_midpoint_that_may_wrap_is_not_bounded() -> None:
    @gpu.kernel
    def mid(x: Tensor, q: Tensor, y: Tensor) -> None:
        gpu.launch(threads=4)
        a, b = q[0], q[1]
        if b <= size(x):
            y[gpu.thread] = x[(a + b) // 2]

    assert not mid.verify(u(64), u(2), u(4)).ok


@pytest.mark.parametrize("grid", [1, 2])
def test_a_guard_with_data_in_bounds_takes_threads_out(grid: int) -> None:
    @gpu.kernel
    def first(n: Tensor, x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=grid, threads=64)
        i = gpu.workgroup.x * 64 + gpu.thread
        if i < gpu.minimum(n[0], size(x)):
            y[i] = x[i]

    assert first.verify(u(1), u(60), u(60)).ok
    assert not first.verify(u(1), u(60), u(59)).ok


@pytest.mark.parametrize("first", [True, False])
def test_a_further_guard_loses_no_proof(first: bool) -> None:
    @gpu.kernel
    def count(seg: Tensor, out: Tensor) -> None:
        gpu.launch(grid=4, threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        s = gpu.load(seg, i, where=i < size(seg), other=0xFFFFFFFF)
        inside, known = i < size(seg), s < size(out)
        if (inside and known) if first else (known and inside):
            gpu.atomic_add(out, s, 1)

    assert count.verify(u(100), u(20)).ok


@pytest.mark.parametrize("bad", [0, 1, 7, 100, 2**32 - 1])
def test_a_number_is_tried_where_the_kernel_asks_for_it(bad: int) -> None:
    @gpu.kernel
    def sometimes(x: Tensor, c: int) -> None:
        gpu.launch(threads=8)
        x[gpu.select(c == bad, gpu.thread + 1, gpu.thread)] = 1

    refuted = sometimes.verify(u(8), np.uint32(3)).refuted
    assert [v.claim for v in refuted] == ["in bounds"] and f"= {bad}" in str(refuted[0])
    assert sometimes.verify(u(9), np.uint32(3)).verdicts[0].status == "proven"


def alone(kernel: Kernel, claim: str, array: str) -> str:
    """What cutepy says without z3."""
    return next(
        str(v.status) for v in verify(kernel, prover="cutepy").verdicts if v.claim == claim and v.array == array
    )


def test_a_sum_that_equals_a_number_does_not_wrap() -> None:
    """d - 3 == tid says that d is tid + 3, 66 at most, and so is what equals d, or is less by one."""
    d, e = load(DATA, TID), load(DATA, TID + 1)
    same = binary("==", d - 3, TID)
    for at, guard in ((d, same), (e, same & binary("==", e, d)), (e + 1, same & (e + 1 <= d) & (e < 99))):
        for length, status in ((67, True), (66, False)):
            y = Buffer("y", u32, length, writable=True)
            kernel = Kernel("k", (DATA, y), (If(guard, (Store(y, at, const(1)),)),), (1, 1, 1), (64, 1, 1))
            assert (alone(kernel, "in bounds", "y") == "proven") is status


@pytest.mark.parametrize("bases", [(8,), (8, 4), (8, 16), (16, 8, 4)])
def test_an_atom_is_taken_apart_as_its_guards_do(bases: tuple[int, ...]) -> None:
    """d // 8 < 3 and d % 8 < 5 say that d is 20 at most; that others are divided by other numbers plays no part."""
    d, e = load(DATA, TID), load(DATA, TID + 1)
    for length, status in ((21, True), (20, False)):
        y = Buffer("y", u32, length, writable=True)
        guard = (d // 8 < 3) & (d % 8 < 5)
        for base in bases[1:]:
            guard = guard & (e // base < 9)
        kernel = Kernel("k", (DATA, y), (If(guard, (Store(y, d, const(1)),)),), (1, 1, 1), (64, 1, 1))
        assert (alone(kernel, "in bounds", "y") == "proven") is status


def test_a_sum_of_unknowns_that_may_wrap_is_what_its_guard_says() -> None:
    """d + e may be a sum or less by 2^32: a number of its own, which the guard bounds as it stands."""
    d, e, f = (load(DATA, TID + n) for n in range(3))
    for guard, at, least in ((d + e < 10, d + e, 10), (binary("==", d + e, f) & (f < 99), d + e - f, 1),
                             ((d + e >= 10) & (d + e < 15), d + e - 10, 5)):  # fmt: skip
        for length, status in ((least, True), (least - 1, False)):
            y = Buffer("y", u32, length, writable=True)
            kernel = Kernel("k", (DATA, y), (If(guard, (Store(y, at, const(1)),)),), (1, 1, 1), (64, 1, 1))
            assert (alone(kernel, "in bounds", "y") == "proven") is status


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 1), (3, 5), (0, 1 << 20), (1 << 31, (1 << 31) + 9)])
def test_what_a_number_of_the_launch_adds_is_tried_at_both_ends(least: int, most: int) -> None:
    """5 * group % 7 is 0, 5, 3 and 1, which no bound says: each is tried, with the least and the most that n adds."""
    n, group = param("n", u32, lo=least, hi=most), builtin("workgroup_id", 0, 3, axis=0)
    for length, moved, status in (
        (6 + most - least, least, "proven"),
        (5 + most - least, least, "refuted"),
        (6 + most - least, least + 1, "refuted"),
    ):
        y = Buffer("y", u32, length, writable=True)
        body = (Store(y, group * 5 % 7 + n - moved, const(1)),)
        kernel = Kernel("k", (y,), body, (4, 1, 1), (1, 1, 1), params=(n,))
        assert alone(kernel, "in bounds", "y") == status


def test_elements_of_an_ascending_array_are_ordered_by_their_places_alone() -> None:
    """Below one that is below 8 are those before it; not those behind it, nor those of another array."""
    other = Buffer("other", u32, 65)
    said = [
        Elements(ElementOrder.ASCENDING, buffer, const(0), const(65), f"{buffer.name} is ascending")
        for buffer in (DATA, other)
    ]
    for at, proven in ((load(DATA, TID), True), (load(DATA, TID + 1), False), (load(other, TID), False)):
        y = Buffer("y", u32, 8, writable=True)
        limit = load(DATA, TID + 1) if proven else load(DATA, TID)
        body = (*said, If(limit < 8, (Store(y, at, const(1)),)))
        assert (
            alone(Kernel("k", (DATA, other, y), body, (1, 1, 1), (64, 1, 1)), "in bounds", "y") == "proven"
        ) is proven
