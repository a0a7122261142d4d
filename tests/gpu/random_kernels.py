"""Random small kernels by seed: loops, conditions, barriers, index arithmetic, right in places and wrong in others."""

import random

from cutepy.gpu.ir import (
    Atomic,
    Barrier,
    Block,
    Buffer,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    builtin,
    cast,
    const,
    load,
    splat,
    var,
)
from cutepy.gpu.ranges import range_of
from cutepy.gpu.simplify import simplify
from cutepy.tensor.dtypes import i32, u32


class Maker:
    """What one seed gives."""

    def __init__(self, seed: int, *, data: bool = False) -> None:
        self.random = random.Random(seed)
        self.data = data
        pick = self.random
        self.threads = pick.choice([1, 2, 3, 4, 6, 8, 12])
        self.grid = pick.choice([(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 3, 1), (2, 1, 2)])
        self.tid = builtin("local_invocation_index", 0, self.threads - 1)
        self.groups = [builtin(f"workgroup_id.{a}", 0, n - 1) for a, n in zip("xyz", self.grid, strict=True)]
        self.counters: list[Expr] = []
        self.length = {"storage": pick.choice([12, 24, 48, 96]), "workgroup": pick.choice([4, 8, 12, 24])}
        self.y = Buffer("y", u32, self.length["storage"], writable=True)
        self.x = Buffer("x", u32, self.length["storage"])
        self.s = Buffer("s", u32, self.length["workgroup"], space="workgroup")
        self.p = Buffer("p", u32, 4, space="private")
        self.names = 0

    def index(self, buffer: Buffer) -> Expr:
        """An address that suits the array more often than not."""
        pick = self.random
        total: Expr = const(pick.choice([0, 0, 0, 0, 1, 2]))
        ids = [self.tid, *self.counters]
        if buffer.space == "storage":
            ids += self.groups
        step = 1
        for leaf in pick.sample(ids, len(ids)):
            extent = range_of(leaf)[1] + 1
            kind = pick.random()
            if kind < 0.65:
                total, step = total + leaf * step, step * extent
            elif kind < 0.75:
                total = total + leaf * pick.choice([1, 2, 3, 4])
            elif kind < 0.85:
                by = pick.choice([2, 3, 4])
                total = total + (leaf % by) * step + (leaf // by) * pick.choice([1, 2, step * by])
            elif kind < 0.9:
                total = total + (leaf ^ pick.choice([1, 2, 3]))
        if self.data and pick.random() < 0.25:
            total = total + self.datum() % pick.choice([1, 2, 4]) * step
        if pick.random() < 0.15:
            total = total % buffer.length
        if pick.random() < 0.05:
            total = total - pick.choice([1, 2])
        return simplify(total)

    def datum(self) -> Expr:
        """An element of the binding that is only read."""
        pick = self.random
        return load(self.x, simplify(pick.choice([self.tid, *self.groups, *self.counters]) + pick.choice([0, 1])))

    def condition(self, *, uniform: bool = False) -> Expr:
        pick = self.random
        if self.data and pick.random() < 0.2:
            return self.datum() < pick.choice([1, 8, 32])
        ids: list[Expr] = (
            [*self.groups, *self.counters] if uniform else [self.tid, self.tid, *self.groups, *self.counters]
        )
        left = pick.choice(ids)
        if not uniform and pick.random() < 0.4:
            left = left * pick.choice([1, 2]) + pick.choice(ids)
        number = pick.choice([0, 1, 1, 2, 3, 4, 6, 8])
        test = pick.choice(
            [left < number, left <= number, left >= number, left > number, left == number, left % 2 == 0]
        )
        if pick.random() < 0.15:
            other = pick.choice(ids) < pick.choice([1, 2, 3])
            test = (test & other) if pick.random() < 0.5 else (test | other)
        return simplify(test)

    def statements(self, depth: int) -> Block:
        out: list[Stmt] = []
        for _ in range(self.random.randint(1, 4)):
            out += self.statement(depth)
        return tuple(out)

    def statement(self, depth: int) -> list[Stmt]:
        pick = self.random
        kind = pick.random()
        buffer = pick.choices([self.s, self.y, self.p], [6, 3, 1])[0]
        if kind < 0.2:
            lanes = pick.choice([1, 1, 1, 2])
            return [Store(buffer, self.index(buffer), splat(const(7), lanes))]
        if kind < 0.4:
            self.names += 1
            where = self.condition() if pick.random() < 0.2 else None
            source = pick.choice([buffer, buffer, self.x])
            return [Let(var(f"v{self.names}"), load(source, self.index(source), where=where))]
        if kind < 0.45 and buffer is not self.p:
            return [Atomic("Add", buffer, self.index(buffer), const(1))]
        if kind < 0.65:
            return [Barrier(storage=pick.random() < 0.15)]
        if depth == 0:
            return []
        if kind < 0.8:
            test = self.condition(uniform=pick.random() < 0.5)
            orelse = self.statements(depth - 1) if pick.random() < 0.3 else ()
            return [If(test, self.statements(depth - 1), orelse)]
        return [self.loop(depth)]

    def loop(self, depth: int) -> Stmt:
        pick = self.random
        step = pick.choice([1, 1, 1, 2])
        if pick.random() < 0.15:
            return self.signed_loop(depth, step)
        start: Expr = const(pick.choice([0, 0, 1]))
        stop: Expr = const(pick.choice([1, 2, 3, 4]))
        if pick.random() < 0.2:
            stop = simplify(pick.choice([self.tid, *self.groups]) + 1)
        elif pick.random() < 0.1:
            start = self.tid
        counter = var("k", hi=max(0, getattr(stop, "value", self.threads + 1) - 1))
        return For(counter, start, stop, const(step), self.within(counter, depth))

    def signed_loop(self, depth: int, step: int) -> Stmt:
        """A counter that starts below zero; what it adds up to is taken as unsigned."""
        low, high = -self.random.choice([1, 2]), self.random.choice([0, 1, 2])
        counter = var("i", i32, lo=low, hi=max(low, high - 1))
        body = self.within(simplify(cast(counter - low, u32)), depth)
        return For(counter, const(low, i32), const(high, i32), const(step, i32), body)

    def within(self, counter: Expr, depth: int) -> Block:
        """The body of a loop."""
        self.counters.append(counter)
        body = self.statements(depth - 1)
        self.counters.pop()
        return body

    def kernel(self) -> Kernel:
        body: Block = self.statements(2) + self.statements(2)
        if self.random.random() < 0.6:
            fill: list[Stmt] = []
            for i in range(0, self.s.length, self.threads):
                at = self.tid + i
                put: Stmt = Store(self.s, at, const(0))
                fill.append(put if i + self.threads <= self.s.length else If(simplify(at < self.s.length), (put,)))
            body = (*fill, Barrier(), *body)
        return Kernel("random", (self.x, self.y), body, self.grid, (self.threads, 1, 1), local=(self.s, self.p))
