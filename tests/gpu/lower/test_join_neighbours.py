"""`join_neighbours`: unrolled accesses to neighbours become vectors, whoever wrote them."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shares import tries
from small_kernels import Small, laws, lines

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Barrier,
    Break,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    Var,
    builtin,
    cast,
    const,
    load,
    loads,
    splat,
    statements,
    var,
)
from cutepy.gpu.ir.ranges import linear
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.lower.choose_widths import choose_widths
from cutepy.gpu.lower.join_neighbours import join_neighbours
from cutepy.gpu.targets.interpreter import interpret
from cutepy.tensor.dtypes import f32, u32

THREADS, OWN = 4, 12
"""Threads of a kernel, and the elements of an array that each has for itself: nobody sees in which order it works."""
LENGTH = THREADS * OWN
Draw = Callable[[st.SearchStrategy[int]], int]


class _Maker:
    """Runs of accesses to four neighbours, each in some order, in turns: loads and stores of one array, over bases that
    overlap or change, among statements that keep accesses in their places; all of it in a loop, or not."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.tid = builtin("local_invocation_index", 0, THREADS - 1)
        self.x, self.y = Buffer("x", f32, LENGTH), Buffer("y", f32, LENGTH, writable=True)
        self.c, self.s = Buffer("c", u32, 4, writable=True), Buffer("s", f32, LENGTH, space="workgroup")
        self.at, self.sum = var("at", hi=1), var("sum", f32)
        self.names: list[Var] = [self.sum]

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def value(self) -> Expr:
        one, other = (self.names[-1 - self.number(min(4, len(self.names) - 1))] for _ in "ab")
        return (self.sum, one, one + other)[self.number(2)]

    def access(self, stores: bool, buffer: Buffer, index: Expr, where: Expr | None) -> Stmt:
        if stores:
            return Store(self.y if buffer is self.x else buffer, simplify(index), self.value())
        self.names.append(var(f"v{len(self.names)}", f32))
        return Let(self.names[-1], load(buffer, simplify(index), where=where))

    def run(self, stores: bool) -> list[Callable[[], Stmt]]:
        """What makes each access of a run."""
        buffer = (self.y, self.s, self.x)[self.number(2)]
        base = self.tid * OWN + (const(0), const(4), self.at * 4)[self.number(2)]
        where = simplify(self.at < 1) if self.number(4) == 4 else None
        order = self.draw(st.permutations(range(4)))
        return [partial(self.access, stores, buffer, base + i, where) for i in order]

    def fence(self, loop: bool) -> Stmt:
        way = self.number(5)
        if way < 2:
            return Assign(self.at, const(self.number(1))) if way else Assign(self.sum, self.value())
        if way == 2:
            return Atomic("Add", self.c, const(self.number(3)), const(1))
        stores = tuple([make() for make in self.run(stores=True)])
        if way == 3:
            return Break(simplify(self.at < 1), stores, place="k.py:1") if loop else Barrier()
        return If(simplify(self.at < 1), stores, place="k.py:2")

    def kernel(self) -> Kernel:
        loop = self.number(2) == 2
        runs = [self.run(stores=bool(self.number(1))) for _ in range(2 + self.number(2))]
        turns = self.draw(st.permutations([*[i for i in range(len(runs)) for _ in range(4)], *[-1] * self.number(3)]))
        body = [self.fence(loop) if i < 0 else runs[i].pop()() for i in turns]
        first = [Store(self.s, simplify(self.tid * OWN + i), const(float(i), f32)) for i in range(OWN)]
        out = [Declare(self.at, const(0)), Declare(self.sum, const(1.0, f32)), *first]
        if loop:
            out.append(For(var("k"), const(0), const(2), const(1), tuple(body), place="k.py:3"))
            self.names = [self.sum]
        else:
            out += body
        # What shared memory holds and what was read last are seen in the end.
        last = load(self.s, simplify(self.tid * OWN), lanes=4) + load(self.s, simplify(self.tid * OWN + 4), lanes=4)
        for name in self.names:
            last = last + splat(name, 4)
        out.append(Store(self.y, simplify(self.tid * OWN + 8), last))
        return Kernel("runs", (self.x, self.y, self.c), tuple(out), (1, 1, 1), (THREADS, 1, 1), (self.s,))


@st.composite
def kernels_of_runs(draw: Draw) -> Small:
    return Small(_Maker(draw).kernel())


def results(kernel: Kernel) -> list[np.ndarray]:
    x, y = (np.arange(LENGTH, dtype=np.float32) * k % 13 for k in (3, 5))
    arrays = [np.resize(a, kernel.buffers[0].length) for a in (x, y)] + [np.zeros(4, np.uint32)]
    with np.errstate(over="ignore", invalid="ignore"):
        interpret(kernel, arrays)
    return arrays


@tries(400)
@given(kernels_of_runs())
def test_the_kernel_computes_the_same(small: Small) -> None:
    for before, after in zip(results(small.kernel), results(join_neighbours(small.kernel)), strict=True):
        np.testing.assert_array_equal(before, after)


@laws
@given(kernels_of_runs())
def test_no_element_is_read_or_written_more_often(small: Small) -> None:
    """As many elements are loaded and stored in each block as before."""

    def elements(kernel: Kernel) -> list[tuple[str, int]]:
        count: dict[str, int] = {}
        for stmt in statements(kernel.body):
            for x in [x for root in stmt.expressions for x in loads(root)]:
                count[f"{x.buffer.name} read"] = count.get(f"{x.buffer.name} read", 0) + x.lanes
            if isinstance(stmt, Store):
                count[stmt.buffer.name] = count.get(stmt.buffer.name, 0) + stmt.value.lanes
        return sorted(count.items())

    assert elements(small.kernel) == elements(join_neighbours(small.kernel))


@laws
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 15)), min_size=1, max_size=24, unique=True))
def test_no_scalar_load_is_left_where_four_neighbours_are_read(read: list[tuple[int, int]]) -> None:
    x, y = Buffer("x", f32, 64), Buffer("y", f32, 64, writable=True)
    bases = builtin("local_invocation_index", 0, 3) * 16, builtin("workgroup_id", 0, 3, axis=0) * 16
    lets = [Let(var(f"v{i}", f32), load(x, simplify(bases[b] + c))) for i, (b, c) in enumerate(read)]
    stores = [Store(y, const(i), let.var) for i, let in enumerate(lets)]
    kernel = Kernel("reads", (x, y), (*lets, *stores), (4, 1, 1), (4, 1, 1))
    for stmt in statements(join_neighbours(kernel).body):
        for node in [n for root in stmt.expressions for n in loads(root)]:
            if node.lanes == 1:
                form = linear(node.index)
                (b,) = [b for b in (0, 1) if linear(bases[b]).terms == form.terms]
                first = form.constant // 4 * 4
                assert not all((b, first + i) in read for i in range(4)), lines(join_neighbours(kernel))


X, Y, S = Buffer("x", f32, 64), Buffer("y", f32, 64, writable=True), Buffer("s", f32, 64, space="workgroup")
C, TID = Buffer("c", u32, 4, writable=True), builtin("local_invocation_index", 0, 3)


def after(*body: Stmt) -> list[str]:
    kernel = Kernel("small", (X, Y, C), body, (1, 1, 1), (THREADS, 1, 1), (S,))
    return lines(choose_widths(join_neighbours(kernel)))


def four(name: str, buffer: Buffer = X, at: Expr = TID * 4) -> list[Let]:
    return [Let(var(f"{name}{i}", f32), load(buffer, simplify(at + i))) for i in range(4)]


def test_four_loads_are_one_and_what_is_stored_is_computed_side_by_side() -> None:
    read = four("a")
    both = [(let, Store(Y, simplify(TID * 4 + i), let.var * 2.0)) for i, let in enumerate(read)]
    assert after(*[s for pair in both for s in pair]) == ["let a0 = x[tid]", "y[tid] = a0 * vec4<f32>(2.0)"]


def test_a_vector_of_names_has_the_bounds_of_all() -> None:
    lets = [Let(var(f"n{i}", lo=low, hi=high), load(C, const(i))) for i, (low, high) in enumerate(((3, 9), (0, 5)))]
    kernel = Kernel("small", (C, Y), (*lets, Store(Y, lets[0].var, cast(lets[1].var, f32))), (1, 1, 1), (THREADS, 1, 1))
    (let, _) = join_neighbours(kernel).body
    assert isinstance(let, Let) and (let.var.lanes, let.var.lo, let.var.hi) == (2, 0, 9)


def test_what_is_loaded_twice_is_a_vector_twice() -> None:
    lets = [Let(var(f"a{i}", f32), load(X, simplify(TID * 4 + i % 4))) for i in range(8)]
    assert [line for line in after(*lets) if line.startswith("let")] == ["let a0 = x[tid]", "let a4 = x[tid]"]


def test_a_store_holds_no_loads_of_another_array() -> None:
    assert after(Store(Y, simplify(TID * 4 + 1), const(1.0, f32)), *four("a"))[1] == "let a0 = x[tid]"


AT, SUM = var("at", hi=1), var("sum", f32)
ZEROS, AGAIN = splat(const(0.0, f32), 4), load(Y, simplify(TID * 4))
HELD = {
    "an element that may be one of them is stored": (Store(Y, simplify(TID * 8 + 16), ZEROS), "loads stores"),
    "one of them is stored": (Store(Y, simplify(TID * 4), ZEROS), "loads stores"),
    "one of them is loaded": (Let(var("b", f32), AGAIN), "stores"),
    "one that may be one of them is loaded": (Let(var("b", f32), load(Y, simplify(TID * 8))), "stores"),
    "a value is computed of one of them": (Assign(SUM, AGAIN), "stores"),
    "what is stored changes": (Assign(SUM, const(2.0, f32)), "stores"),
    "where they are changes": (Assign(AT, const(1)), "loads stores"),
    "a branch stores": (If(simplify(TID < 2), (Store(Y, simplify(TID * 4), SUM),), place="k.py:1"), "loads stores"),
    "a branch changes where they are": (If(simplify(TID < 2), (Assign(AT, const(1)),), place="k.py:1"), "loads stores"),
    "a path leaves": (Break(simplify(TID < 2), place="k.py:1"), "loads stores"),
    "the workgroup waits": (Barrier(storage=True), "loads stores"),
    "an atomic tells others": (Atomic("Add", C, const(0), const(1)), "loads stores"),
}
"""What keeps loads or stores of neighbours on its two sides."""


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("stores", [False, True])
def test_what_keeps_accesses_in_their_places(held: str, stores: bool) -> None:
    fence, kept = HELD[held]
    at = TID * 4 + AT * 16
    around: list[Stmt] = [Store(Y, simplify(at + i), SUM) for i in range(4)] if stores else [*four("a", Y, at)]
    if "be one of them" in held or "one of them is" in held or "of one of them" in held:
        around = [Store(Y, simplify(TID * 4 + i), SUM) for i in range(4)] if stores else [*four("a", Y)]
    body = (*around[:2], fence, *around[2:])
    loop = For(var("k"), const(0), const(2), const(1), body, place="k.py:2")
    before = Declare(AT, const(0)), Declare(SUM, const(1.0, f32)), Store(Y, const(32), ZEROS)
    kernel = Kernel("held", (X, Y, C), (*before, loop), (1, 1, 1), (THREADS, 1, 1), (S,))
    (after_it,) = [s for s in join_neighbours(kernel).body if isinstance(s, For)]
    place = next(i for i, s in enumerate(after_it.body) if type(s) is type(fence) and s not in around)
    sides = [bool(after_it.body[:place]), bool(after_it.body[place + 1 :])]
    word = "stores" if stores else "loads"
    assert all(sides) == (word in kept.split()), lines(join_neighbours(kernel))


def test_nothing_is_read_that_a_path_leaves_before() -> None:
    read = four("a")
    body = (*read[:2], Break(simplify(TID < 2), place="k.py:1"), *read[2:])
    loop = For(var("k"), const(0), const(2), const(1), body, place="k.py:2")
    assert [line.strip() for line in after(loop)][1:] == [
        "let a0 = x[tid * 2u]",
        "break if tid < 2u",
        "let a2 = x[tid * 2u + 1u]",
    ]


def test_a_store_that_is_made_later_holds_later_loads_of_its_element() -> None:
    """As the laws found it: the store goes down past the load of another element, with which the last goes up."""
    write = [Store(Y, simplify(TID * 4 + i), SUM) for i in (0, 3, 2, 1)]
    read = [Let(var(f"a{i}", f32), load(Y, simplify(TID * 4 + i))) for i in range(8)]
    body = [write[0], read[3], write[1], read[2], write[2], read[1], write[3], read[0]]
    use = [Store(X, simplify(TID * 4 + i), let.var) for i, let in enumerate(read[:4])]
    kernel = Kernel("small", (X, Y, C), (Declare(SUM, const(1.0, f32)), *body, *use), (1, 1, 1), (THREADS, 1, 1), (S,))
    for before, now in zip(results(kernel), results(join_neighbours(kernel)), strict=True):
        np.testing.assert_array_equal(before, now)


def test_a_barrier_and_an_atomic_order_what_is_written_and_not_what_never_is() -> None:
    for fence in (Barrier(), Atomic("Add", C, const(0), const(1))):
        read, kept = four("a"), four("s", S)
        write = [Store(S, simplify(TID * 4 + i), let.var) for i, let in enumerate(read)]
        text = after(*read[:2], *kept[:2], fence, *read[2:], *kept[2:], *write)
        assert [line for line in text if line.startswith("let")] == [
            "let a0 = x[tid]",
            "let s0 = s[tid * 2u]",
            "let s2 = s[tid * 2u + 1u]",
        ]
