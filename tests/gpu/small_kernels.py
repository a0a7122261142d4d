"""Kernels of at most a dozen statements, drawn by hypothesis and shrunk: what each pass of `lower` must leave as it is.

They hold what the passes treat specially: registers set lane by lane, in loops and branches; elements that nothing
writes, loaded again; predicated loads whose index is outside without the predicate; variables, breaks with a block of
their own, atomics with and without a result, shared memory, vectors, remainders of negative numbers.
"""

from collections.abc import Callable

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from ir_text import ir_text

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
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
    binary,
    builtin,
    call,
    cast,
    component,
    const,
    load,
    select,
    splat,
    unary,
    var,
    vector,
)
from cutepy.gpu.ir.simplify import simplify
from cutepy.gpu.lower import Pass
from cutepy.gpu.targets.interpreter import interpret
from cutepy.tensor.dtypes import DType, bool_, f32, i32, u32

THREADS, LENGTH, MOST_STATEMENTS = 4, 16, 12
Draw = Callable[[st.SearchStrategy[int]], int]


class _Maker:
    """One kernel. `names` are the names in scope, `budget` the statements that may still be drawn."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.budget = draw(st.integers(1, MOST_STATEMENTS))
        self.tid = builtin("local_invocation_index", 0, THREADS - 1)
        self.group = builtin("workgroup_id", 0, 1, axis=0)
        self.x = Buffer("x", f32, LENGTH)  # never written
        self.i = Buffer("i", i32, LENGTH)  # never written
        self.y = Buffer("y", f32, LENGTH, writable=True)
        self.c = Buffer("c", u32, 4, writable=True)  # of atomics
        self.s = Buffer("s", i32, 8, space="workgroup")
        self.frag = Buffer("frag", f32, 4, space="private")
        self.whole = Buffer("whole", i32, 3, space="private")
        self.one = Buffer("one", f32, 1, space="private")
        self.indexed = Buffer("indexed", u32, 4, space="private")  # at computed indices: it stays an array
        self.names: list[Expr] = []
        self.variables: list[Var] = []
        self.depth = 0

    def pick(self, *ways: Callable[[], object]) -> object:
        """What one of `ways` gives; the first is the simplest."""
        return ways[self.number(len(ways) - 1)]()

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    # Values.

    def index(self, length: int, lanes: int = 1) -> Expr:
        """An index inside an array of `length`, a multiple of `lanes`."""
        count = length // lanes
        at = self.pick(
            lambda: const(self.number(count - 1)),
            lambda: self.tid % count,
            lambda: (self.tid + self.number(2)) % count,
            lambda: (self.tid * 2 + self.group) % count,
            lambda: self.value(u32, 1) % count,
        )
        assert isinstance(at, Expr)
        return simplify(at * lanes)

    def known(self, dtype: DType, lanes: int = 1) -> list[Expr]:
        """The names of a type in scope, and the lanes of vectors."""
        out = [name for name in (*self.names, *self.variables) if name.dtype is dtype and name.lanes == lanes]
        if lanes == 1:
            wide = [name for name in (*self.names, *self.variables) if name.dtype is dtype and name.lanes > 1]
            out += [component(name, lane) for name in wide for lane in range(name.lanes)]
        return out

    def value(self, dtype: DType, depth: int = 2) -> Expr:
        """A scalar."""
        names = self.known(dtype)
        if names and self.number(1):
            return names[-1 - self.number(len(names) - 1)]
        if dtype is bool_:
            return self.condition(depth)
        leaves: dict[DType, Callable[[], Expr]] = {
            f32: lambda: const(self.number(3) / 2, f32),
            i32: lambda: const(self.number(4) - 2, i32),
            u32: lambda: self.pick(lambda: self.tid, lambda: const(self.number(5))),  # type: ignore[dict-item,return-value]
        }
        if depth == 0:
            return leaves[dtype]()
        ways: list[Callable[[], object]] = [leaves[dtype]]
        ways += {
            f32: [
                lambda: binary("+*-"[self.number(2)], self.value(f32, depth - 1), self.value(f32, depth - 1)),
                lambda: cast(self.value(u32, depth - 1), f32),
                lambda: call("tanh", self.value(f32, depth - 1) * 8.0),
                lambda: const(float(("inf", "-inf", "nan")[self.number(2)]), f32),
            ],
            i32: [
                lambda: binary("+*-/%"[self.number(2)], self.value(i32, depth - 1), self.value(i32, depth - 1)),
                lambda: binary(("//", "%")[self.number(1)], self.value(i32, depth - 1), self.value(i32, depth - 1)),
                lambda: cast(self.value(u32, depth - 1), i32),
            ],
            u32: [
                lambda: binary("+*&|^"[self.number(4)], self.value(u32, depth - 1), self.value(u32, depth - 1)),
                lambda: binary(("//", "%", ">>", "<<")[self.number(3)], self.value(u32, depth - 1), const(4)),
                lambda: cast(self.value(i32, depth - 1), u32),
            ],
        }[dtype]
        ways += [lambda: select(self.condition(depth - 1), self.value(dtype, 0), self.value(dtype, depth - 1))]
        found = self.pick(*ways)
        assert isinstance(found, Expr)
        return simplify(found)

    def condition(self, depth: int = 1) -> Expr:
        dtype = (u32, u32, i32, f32)[self.number(3)]
        op = ("<", "==", ">=", "!=", ">", "<=")[self.number(5)]
        test = binary(op, self.value(dtype, depth), self.value(dtype, 0))
        if depth > 0 and self.number(4) == 4:
            other = self.condition(0)
            test = (test & other, test | other, unary("!", test))[self.number(2)]
        return simplify(test)

    def wide(self, lanes: int) -> Expr:
        """A vector of f32."""
        names = self.known(f32, lanes)
        found = self.pick(
            lambda: splat(self.value(f32, 1), lanes),
            lambda: vector(*[self.value(f32, 0) for _ in range(lanes)]),
            lambda: binary("+", names[0], names[-1]) if names else splat(const(1.0, f32), lanes),
        )
        assert isinstance(found, Expr)
        return found

    # Statements.

    def bind(self, value: Expr) -> Let:
        name = var(f"v{len(self.names)}", value.dtype, lanes=value.lanes)
        self.names.append(name)
        return Let(name, value)

    def loaded(self) -> list[Stmt]:
        """A `let` of an element: often one that was loaded before."""
        lanes = (1, 1, 2, 4)[self.number(3)]
        read = self.pick(
            lambda: load(self.x, self.index(LENGTH, lanes), lanes=lanes),
            lambda: load(self.i, self.index(LENGTH)),
            lambda: load(self.y, self.index(LENGTH, lanes), lanes=lanes),
            lambda: load(self.s, self.index(8)),
            lambda: load(self.c, self.index(4)),
            lambda: self.register(),
            lambda: load(self.indexed, self.index(4)),
        )
        assert isinstance(read, Expr)
        return [self.bind(read)]

    def register(self) -> Expr:
        """The lanes of a register."""
        lanes = (1, 1, 2, 4)[self.number(3)]
        found = self.pick(
            lambda: load(self.frag, const(self.number(4 // lanes - 1) * lanes), lanes=lanes),
            lambda: load(self.whole, const(self.number(2))),
            lambda: load(self.one, const(0)),
        )
        assert isinstance(found, Expr)
        return found

    def guarded(self) -> list[Stmt]:
        """A load that its condition alone keeps inside: in an `if`, or with a predicate."""
        at = simplify(self.tid * (3 + self.number(5)) + self.number(6))
        inside = binary("<", at, const(LENGTH))
        buffer = (self.x, self.y)[self.number(1)]
        if self.number(1):
            return [self.bind(load(buffer, at, where=inside))]
        names, variables = len(self.names), len(self.variables)
        self.depth += 1
        body: Block = (self.bind(load(buffer, at)), *self.statement())
        self.depth -= 1
        del self.names[names:], self.variables[variables:]
        return [If(inside, body, place="k.py:1")]

    def store(self) -> list[Stmt]:
        lanes = (1, 1, 2, 4)[self.number(3)]
        wide = self.value(f32, 1) if lanes == 1 else self.wide(lanes)
        made = self.pick(
            lambda: Store(self.frag, const(self.number(4 // lanes - 1) * lanes), wide),
            lambda: Store(self.y, self.index(LENGTH, lanes), wide),
            lambda: Store(self.whole, const(self.number(2)), self.value(i32)),
            lambda: Store(self.one, const(0), self.value(f32)),
            lambda: Store(self.s, self.index(8), self.value(i32)),
            lambda: Store(self.indexed, self.index(4), self.value(u32)),
        )
        assert isinstance(made, Stmt)
        return [made]

    def declared(self) -> list[Stmt]:
        dtype, lanes = ((f32, 1), (u32, 1), (i32, 1), (bool_, 1), (f32, 4))[self.number(4)]
        start = self.wide(4) if lanes == 4 else self.value(dtype, 1)
        name = var(f"m{len(self.variables)}", dtype, lanes=lanes)
        self.variables.append(name)
        return [Declare(name, start)]

    def assigned(self) -> list[Stmt]:
        if not self.variables:
            return self.declared()
        name = self.variables[-1 - self.number(len(self.variables) - 1)]
        if name.lanes == 4 and self.number(1):
            return [Assign(name, self.value(f32, 1), self.number(3))]
        return [Assign(name, self.wide(4) if name.lanes == 4 else self.value(name.dtype, 2))]

    def atomic(self) -> list[Stmt]:
        op = ("Add", "Max", "Exchange")[self.number(2)]
        result = var(f"v{len(self.names)}") if self.number(1) else None
        made = Atomic(op, self.c, self.index(4), self.value(u32, 1), result=result)
        self.names += [result] if result is not None else []
        return [made]

    def branch(self) -> list[Stmt]:
        test = self.condition()
        first = If(test, self.block(), self.block() if self.number(1) else (), place="k.py:2")
        again = self.number(3)  # a branch on the same condition, or on its opposite, may follow
        if again < 2 or self.budget <= 0:
            return [first]
        return [first, If(test if again == 2 else simplify(unary("!", test)), self.block(), place="k.py:3")]

    def loop(self) -> list[Stmt]:
        counter = var("k", hi=3)
        stop = self.pick(lambda: const(2), lambda: const(self.number(3)), lambda: self.value(u32, 1) % 3)
        assert isinstance(stop, Expr)
        self.names.append(counter)
        body = self.block(leaves=True)
        self.names.pop()
        return [For(counter, const(self.number(1)), simplify(stop), const(1 + self.number(1)), body, place="k.py:4")]

    def endless(self) -> list[Stmt]:
        """A loop without an end of its own, left by a break on a variable that it counts up."""
        turns = var("turns")
        most = const(1 + self.number(2))
        leave = Break(binary(">=", turns, most), self.block() if self.number(1) else (), place="k.py:5")
        count = Assign(turns, turns + 1)
        body = self.block()
        inner: Block = (leave, *body, count) if self.number(1) else (count, *body, leave)
        return [Declare(turns, const(0)), For(var("k"), const(0), None, const(1), inner, place="k.py:6")]

    def statement(self) -> list[Stmt]:
        self.budget -= 1
        ways = [self.store, self.loaded, lambda: [self.bind(self.value((f32, i32, u32, bool_)[self.number(3)]))]]
        ways += [self.assigned, self.guarded, self.atomic]
        if self.depth < 2 and self.budget > 0:
            ways += [self.branch, self.loop, self.endless]
        if self.depth == 0:
            ways.append(lambda: [Barrier()])
        found = self.pick(*ways)
        assert isinstance(found, list)
        return found

    def block(self, *, leaves: bool = False) -> Block:
        """A block inside a statement; with `leaves`, the body of a loop, which a break may leave."""
        names, variables = len(self.names), len(self.variables)
        self.depth += 1
        out: list[Stmt] = []
        for _ in range(1 + self.number(2)):
            if self.budget <= 0:
                break
            out += self.statement()
            if leaves and self.number(5) == 5:
                out.append(Break(self.condition(), self.block() if self.number(1) else (), place="k.py:7"))
        self.depth -= 1
        del self.names[names:], self.variables[variables:]
        return tuple(out)

    def kernel(self) -> Kernel:
        out: list[Stmt] = [Store(self.s, simplify(self.tid * 2 + i), const(i, i32)) for i in range(2)]
        while self.budget > 0:
            out += self.statement()
        # What is still in scope may be of use afterwards, or be dead.
        kept = self.number(3)
        if kept:
            out += [Store(self.y, simplify(self.tid * 4 + i), load(self.frag, const(i))) for i in range(4)]
        if kept > 1:
            total = load(self.one, const(0)) + cast(load(self.whole, const(1)), f32)
            for name in (*self.names, *self.variables):
                parts = [component(name, i) for i in range(name.lanes)]
                for x in parts:
                    total = total + (select(x, const(1.0, f32), const(0.0, f32)) if x.dtype is bool_ else cast(x, f32))
            out.append(Store(self.y, self.tid, total))
        buffers, local = (self.x, self.i, self.y, self.c), (self.s, self.frag, self.whole, self.one, self.indexed)
        return Kernel("small", buffers, tuple(out), (2, 1, 1), (THREADS, 1, 1), local)


class Small:
    """A kernel that a failure shows as its text."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __repr__(self) -> str:
        return "\n" + ir_text(self.kernel)


@st.composite
def small_kernels(draw: Draw, *passes: Pass) -> Small:
    """A kernel of at most `MOST_STATEMENTS` drawn statements over the bindings x, i, y, c, after `passes`."""
    kernel = _Maker(draw).kernel()
    for one in passes:
        kernel = one(kernel)
    return Small(kernel)


def results(kernel: Kernel) -> list[np.ndarray]:
    """What its bindings hold after a run in the interpreter."""
    arrays = [
        ((np.arange(LENGTH) * 7 % 16 - 5) / 4).astype(np.float32),
        (np.arange(LENGTH) * 5 % 11 - 4).astype(np.int32),
        np.arange(LENGTH, dtype=np.float32),
        np.arange(4, dtype=np.uint32),
    ]
    interpret(kernel, arrays)
    return arrays[2:]


def assert_same(before: Kernel, after: Kernel) -> None:
    """Both leave the same bits in each binding; one NaN is as good as another."""
    for one, other in zip(results(before), results(after), strict=True):
        np.testing.assert_array_equal(one, other)


#: How many kernels a law is tried on.
laws = settings(max_examples=100)


def kernel_of(*body: Stmt, buffers: tuple[Buffer, ...], local: tuple[Buffer, ...] = ()) -> Kernel:
    """A kernel of one workgroup of four threads."""
    return Kernel("small", buffers, body, (1, 1, 1), (THREADS, 1, 1), local)


def lines(kernel: Kernel) -> list[str]:
    """The statements of a kernel as texts."""
    return ir_text(kernel).splitlines()[1:]
