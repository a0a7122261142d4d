"""Random small kernels by seed: loops, conditions, barriers, index arithmetic, right in places and wrong in others."""

import random

from cutepy.gpu.ir import (
    Assign,
    Atomic,
    Barrier,
    Block,
    Buffer,
    Declare,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Stmt,
    Store,
    binary,
    builtin,
    call,
    cast,
    const,
    load,
    select,
    splat,
    var,
)
from cutepy.gpu.ir.ranges import range_of
from cutepy.gpu.ir.simplify import simplify
from cutepy.tensor.dtypes import f32, i32, u32


class Maker:
    """What one seed gives."""

    def __init__(self, seed: int, *, data: bool = False, wild: bool = False, rounding: bool = True) -> None:
        """With `wild`, also what is hard to judge: floats, values that wrap around, signs, registers, bounds from
        memory; with `rounding`, floats on which two devices may disagree."""
        self.random = random.Random(seed)
        self.data, self.wild, self.rounding = data or wild, wild, rounding
        pick = self.random
        self.threads = pick.choice([1, 2, 3, 4, 6, 8, 12])
        self.grid = pick.choice([(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 3, 1), (2, 1, 2)])
        self.tid = builtin("local_invocation_index", 0, self.threads - 1)
        self.groups = [builtin("workgroup_id", 0, n - 1, axis=axis) for axis, n in enumerate(self.grid)]
        self.counters: list[Expr] = []
        self.length = {"storage": pick.choice([12, 24, 48, 96]), "workgroup": pick.choice([4, 8, 12, 24])}
        self.y = Buffer("y", u32, self.length["storage"], writable=True)
        self.x = Buffer("x", u32, self.length["storage"])
        self.s = Buffer("s", u32, self.length["workgroup"], space="workgroup")
        self.z = Buffer("z", f32, self.length["storage"])
        self.p = Buffer("p", u32, 4, space="private")
        self.register = var("r", u32)
        self.values: list[Expr] = []
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
        if self.wild and pick.random() < 0.4:
            total = self.strange(total)
        return simplify(total)

    def strange(self, total: Expr) -> Expr:
        """An index, taken through arithmetic that wraps around, rounds or cuts; often the same in the end."""
        pick = self.random
        big = pick.choice([0x7FFFFFFE, 0x80000000, 0x90000000, 0xFFFFFFF0, 0xFFFFFFFF])
        ways = [
            lambda: (total + big) - big,
            lambda: cast(cast(total, i32) - pick.choice([1, 5]), u32) + pick.choice([1, 5]),
            lambda: cast(total, i32) - pick.choice([0, 1]),
            lambda: binary("|", total, const(big)) - big,
            lambda: binary(">>", binary("<<", total, const(pick.choice([1, 3, 31]))), const(pick.choice([1, 3]))),
            lambda: binary("&", total, const(pick.choice([0x5, 0xA, 0x15, 0xF, 0x3F]))),
            lambda: total // (self.id() % pick.choice([1, 2, 4])),
            lambda: total % (self.id() + pick.choice([0, 1, 4])),
            lambda: binary(">>", total, binary("&", self.id(), const(3))),
            lambda: call("min", total, pick.choice([self.datum(), const(7), const(40)])),
            lambda: total + self.datum() % pick.choice([1, 2, 4]),
            lambda: self.register + total % pick.choice([1, 2]),
            lambda: load(self.p, const(pick.randrange(2))) + total % 2,
            lambda: cast(cast(total, f32) * 0.5, u32) if self.rounding else cast(cast(total, f32), u32),
            lambda: select(self.condition(), total, total + pick.choice([1, big])),
        ]
        return pick.choice(ways)()

    def id(self) -> Expr:
        return self.random.choice([self.tid, *self.groups, *self.counters])

    def datum(self) -> Expr:
        """An element of the binding that is only read."""
        pick = self.random
        return load(self.x, simplify(pick.choice([self.tid, *self.groups, *self.counters]) + pick.choice([0, 1])))

    def condition(self, *, uniform: bool = False) -> Expr:
        pick = self.random
        if self.data and pick.random() < 0.2:
            return self.datum() < pick.choice([1, 8, 32])
        if self.wild and not uniform and pick.random() < 0.35:
            return simplify(self.strange_condition())
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

    def strange_condition(self) -> Expr:
        """A guard over floats, over values that wrap around, over signs."""
        pick = self.random
        at, number = self.id() * pick.choice([1, 2, 3]) + self.id(), pick.choice([1, 3, 8, 24])
        i = cast(at, i32) - pick.choice([1, 2, 4])
        big = pick.choice([0x7FFFFFFF, 0x80000000, 0xFFFFFFFC])
        real = load(self.z, simplify(self.id()))
        ways = [
            lambda: at - pick.choice([1, 3]) < number,
            lambda: at + big < (big + pick.choice([2, 6])) % 2**32,
            lambda: (i >= 0) & (i < number),
            lambda: binary(">>", i, const(pick.choice([1, 4, 31]))) == 0,
            lambda: self.datum() - pick.choice([1, 0x80000000]) < number,
            lambda: self.register < number,
            lambda: at // (self.id() % 3) < number,
            lambda: binary("&", at, const(pick.choice([5, 10]))) == pick.choice([0, 2, 5]),
            lambda: real < pick.choice([-4.0, 0.0, 3.5]),
            lambda: real * 0.5 + cast(at, f32) < 4.0,
            lambda: (call("exp", cast(at, f32)) if self.rounding else cast(at, f32)) <= 8.0,
        ]
        return pick.choice(ways)()

    def value(self) -> Expr:
        """What to store."""
        pick = self.random
        return pick.choice([const(7), self.id() * 3 + 1, *self.values[-2:]]) if self.wild else const(7)

    def statements(self, depth: int) -> Block:
        out: list[Stmt] = []
        known = len(self.values)
        for _ in range(self.random.randint(1, 4)):
            out += self.statement(depth)
        del self.values[known:]
        return tuple(out)

    def statement(self, depth: int) -> list[Stmt]:
        pick = self.random
        kind = pick.random()
        buffer = pick.choices([self.s, self.y, self.p], [6, 3, 1])[0]
        if kind < 0.2:
            lanes = pick.choice([1, 1, 1, 2])
            value = const(7) if buffer is self.p else self.value()
            return [Store(buffer, self.index(buffer), splat(value, lanes))]
        if kind < 0.4:
            self.names += 1
            where = self.condition() if pick.random() < 0.2 else None
            source = pick.choice([buffer, buffer, self.x])
            read = Let(var(f"v{self.names}"), load(source, self.index(source), where=where))
            self.values.append(read.var)
            return [read]
        if kind < 0.45 and buffer is not self.p:
            return [Atomic(pick.choice(["Add", "Store"]), buffer, self.index(buffer), const(1))]
        if self.wild and kind < 0.52:
            at = simplify(self.strange(self.id()))
            at = cast(at, u32)
            return [Assign(self.register, at) if pick.random() < 0.5 else Store(self.p, const(pick.randrange(2)), at)]
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
        if self.wild and pick.random() < 0.4:
            return self.strange_loop(depth)
        counter = var("k", hi=max(0, getattr(stop, "value", self.threads + 1) - 1))
        return For(counter, start, stop, const(step), self.within(counter, depth))

    def strange_loop(self, depth: int) -> Stmt:
        """A loop whose start, stop or step memory decides, or that ends near 2**32."""
        pick = self.random
        counter = var("k")
        small, step = self.datum() % pick.choice([1, 3, 5]), const(pick.choice([1, 1, 2, 7]))
        first, last = pick.choice(
            [
                (const(0), small),
                (small, const(4)),
                (small, simplify(small + self.datum() % 3)),
                (self.tid, call("min", self.datum(), const(8))),
                (simplify(self.tid - 1), const(pick.choice([3, 8]))),
                (const(2**32 - 4), const(2**32 - pick.choice([1, 2]))),
            ]
        )
        if pick.random() < 0.2:
            step = simplify(self.datum() % 2 + pick.choice([0, 1, 1]))
        return For(counter, first, last, step, self.within(counter, depth))

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
        if not self.wild:
            return Kernel("random", (self.x, self.y), body, self.grid, (self.threads, 1, 1), local=(self.s, self.p))
        clear = tuple(Store(self.p, const(i), const(0)) for i in range(self.p.length))
        body = (Declare(self.register, const(0)), *clear, *body)
        buffers = self.x, self.y, self.z
        return Kernel("random", buffers, body, self.grid, (self.threads, 1, 1), local=(self.s, self.p))
