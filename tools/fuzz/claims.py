"""Random kernels for unknown sizes: each claim that is proven holds where their text runs as plain Python.

`python tools/fuzz/claims.py COUNT [SEED]` prints one line, and each claim that is false, with the kernel and the sizes.

Coordinates and guards are sums, products, quotients and remainders of ids, counters of loops, unknown sizes and i32
values, in branches and nested loops, with facts and shared memory. The judge shares no code with the proofs: every
invocation runs the text over numbers that wrap as u32 and i32 do, and what it accessed is compared. A program that
takes more than 10 seconds of a processor is counted as slow.
"""

import linecache
import random
import signal
import sys
import warnings
from collections import Counter, defaultdict
from itertools import product
from math import prod
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "gpu"))
import numpy as np
from size_judging import said_for

from cutepy import gpu
from cutepy.errors import CutepyError
from cutepy.layout import ceil_div

MOST = 6000  # invocations that are run, and iterations of a loop


class Unjudged(Exception):
    """What no judge can tell: a division by 0, a size that is none, too many invocations."""


class Slow(BaseException):
    """A program that takes too long."""


class Number:
    """A value of a kernel: a whole number modulo 2^32, between 0 and 2^32 or, `signed`, around 0."""

    def __init__(self, value: int, signed: bool = False) -> None:
        self.signed, value = signed, value % (1 << 32)
        self.value = value - (1 << 32) if signed and value >> 31 else value

    def index(self, other: "int | Number") -> int:
        """The other side of an operation, in this type."""
        return Number(other.value if isinstance(other, Number) else other, self.signed).value


def _operators(operation, compares: bool):
    def applied(one: Number, a: int, b: int) -> object:
        if operation in (floordiv, mod) and not b:
            raise Unjudged
        return operation(a, b) if compares else Number(operation(a, b), one.signed)

    return (
        lambda self, other: applied(self, self.value, self.index(other)),
        lambda self, other: applied(self, self.index(other), self.value),
    )


for _operation in (add, sub, mul, floordiv, mod, lt, le, gt, ge, eq, ne):
    _name = _operation.__name__
    _forward, _reflected = _operators(_operation, _operation in (lt, le, gt, ge, eq, ne))
    setattr(Number, f"__{_name}__", _forward)
    setattr(Number, f"__r{_name}__", _reflected)


class Array:
    """An array that notes who accesses it: its name, the coordinate, whether that is inside, whether it is written."""

    def __init__(self, name: str, shape: tuple[int, ...], log: list) -> None:
        self.name, self.shape, self.log = name, shape, log

    def __getitem__(self, coordinate: object) -> int:
        return self.noted(coordinate, False)

    def __setitem__(self, coordinate: object, value: object) -> None:
        self.noted(coordinate, True)

    def noted(self, coordinate: object, written: bool) -> int:
        entries = coordinate if isinstance(coordinate, tuple) else (coordinate,)
        at = tuple(e.value if isinstance(e, Number) else e for e in entries)
        self.log.append((self.name, at, all(0 <= c < n for c, n in zip(at, self.shape, strict=True)), written))
        return 0


def one_run(text: str, shapes: dict[str, tuple[int, ...]]) -> tuple[list[list], int]:
    """What each invocation accesses, in order, "barrier" between; and the threads of a workgroup."""
    log: list = []
    here = SimpleNamespace(x=Number(0), y=Number(0))
    size = SimpleNamespace(grid=(1,), threads=1)

    def loop(stop, start=0, step=1):
        signed = any(isinstance(n, Number) and n.signed for n in (stop, start, step))
        at, end, by = (Number(0, signed).index(n) for n in (start, stop, step))
        for number in range(at, end, by if by > 0 else MOST):
            if by < 1 or number - at > MOST * by:
                raise Unjudged
            yield Number(number, signed)

    def least(one, other, choose=min):
        signed = any(isinstance(n, Number) and n.signed for n in (one, other))
        return Number(choose(Number(0, signed).index(one), Number(0, signed).index(other)), signed)

    fake = SimpleNamespace(
        workgroup=here, loop=loop, minimum=least, maximum=lambda one, other: least(one, other, max),
        launch=lambda grid, threads: vars(size).update(grid=grid, threads=threads),
        cast=lambda value, kind: Number(value.value, kind == "i32"),
        shared=lambda kind, shape: Array("s", shape, log), barrier=lambda: log.append("barrier"),
    )  # fmt: skip
    names = {"gpu": fake, "ceil_div": lambda a, b: -(-a // b)}
    exec(compile(text, "<plain>", "exec"), names)

    def invocation(group: tuple[int, ...], thread: int) -> list:
        here.x, here.y, fake.thread = Number(group[0]), Number(group[-1]), Number(thread)
        log.clear()
        names["k"](*[Array(name, shape, log) for name, shape in shapes.items()])
        return list(log)

    invocation((0, 0), 0)
    if not 0 < prod(size.grid) * size.threads <= MOST:
        raise Unjudged
    groups = [group[::-1] for group in product(*map(range, size.grid[::-1]))]
    return [invocation(group, thread) for group in groups for thread in range(size.threads)], size.threads


def false_claims(runs: list[list], threads: int) -> set[tuple[str, str]]:
    """The arrays of which some access is outside, or some element is of two invocations: in shared memory those of one
    workgroup between two barriers."""
    found, owners = set(), defaultdict(lambda: (set(), []))
    for number, log in enumerate(runs):
        phase = 0
        for entry in log:
            if entry == "barrier":
                phase += 1
                continue
            name, at, inside, written = entry
            if not inside:
                found.add(("in bounds", name))
            who, writes = owners[(name, at, number // threads, phase) if name == "s" else (name, at)]
            who.add(number)
            writes.append(written)
    return found | {("no races", key[0]) for key, (who, writes) in owners.items() if len(who) > 1 and any(writes)}


class Program:
    """A random kernel: its text, its sizes, its arrays by the names of their sizes, and what is given."""

    def __init__(self, seed: int) -> None:
        self.pick = pick = random.Random(seed)
        self.threads = pick.choice([4, 4, 8])
        self.letters = ["n", "m", "p"][: pick.choice([1, 2, 2, 3])]
        self.signed, self.counters = pick.random() < 0.25, 0
        ranks = [("x", 1 + n) for n in range(pick.choice([1, 2, 3]))] + [
            ("y", 1 + n) for n in range(pick.choice([1, 2]))
        ]
        self.arrays = {f"{kind}{n}": self.some_sizes() for kind, n in ranks}
        self.arrays |= {
            f"z{n}": (n,) for n in self.letters if n not in {s for sizes in self.arrays.values() for s in sizes}
        }
        self.given = [self.fact() for _ in range(pick.choice([0, 0, 0, 1, 2]))]
        self.shared = {"s": (str(self.threads),)} if pick.random() < 0.2 else {}
        lines = [
            f"{n} = {next(f'{a}.shape[{s.index(n)}]' for a, s in self.arrays.items() if n in s)}" for n in self.letters
        ]
        grids = [self.grid() for _ in range(pick.choice([1, 1, 2]))]
        lines.append(f"gpu.launch(grid=({', '.join(grids)},), threads={self.threads})")
        lines += ["g = gpu.workgroup.x", "t = gpu.thread", f"i = g * {self.threads} + t"]
        lines += ["h = gpu.workgroup.y"] * (len(grids) - 1)
        values = ["g", "t", "i", "i", *["h", "h"] * (len(grids) - 1)]
        if self.shared:
            lines += [f"s = gpu.shared('f32', ({self.threads},))", "s[t] = 0.0", "gpu.barrier()"]
        if self.signed:
            lines.append(f"a = gpu.cast({pick.choice('igt')}, 'i32') - {pick.choice(['1', '3', *self.letters])}")
            values = ["a"]
        body = [f"    {line}" for line in (*lines, *self.block(values, 2))]
        told = ", ".join(f'{name}: "({",".join(sizes)})"' for name, sizes in self.arrays.items())
        self.text = "\n".join([f"def k({told}):", *body, ""])

    def letter(self) -> str:
        return self.pick.choice(self.letters)

    def some_sizes(self) -> tuple[str, ...]:
        return tuple(self.letter() for _ in range(self.pick.choice([1, 1, 1, 2, 2, 3])))

    def fact(self) -> str:
        a, b, by = self.letter(), self.letter(), self.pick.choice([2, 4])
        return self.pick.choice([f"{a} <= {b}", f"{by} divides {a}", f"{a} >= 3", f"{a} == {by} * {b}", f"{a} <= 6"])

    def grid(self) -> str:
        a, b = self.letter(), self.letter()
        return self.pick.choice(
            [f"ceil_div({a}, {self.threads})", f"ceil_div({a} * {b}, {self.threads})", a, f"{a} + 1"]
        )

    def size(self) -> str:
        a, b, by = self.letter(), self.letter(), self.pick.choice([2, 3, 4])
        made = [
            f"({a} + {by})",
            f"({a} // {by})",
            f"({a} * {by})",
            f"({a} * {b})",
            f"({a} - 1)",
            f"ceil_div({a}, {by})",
        ]
        return self.pick.choice(
            [*[a] * 7, *made, f"({a} // {b})", f"({a} % {by})", f"({a} + {b})", f"ceil_div({a}, {b})"]
        )

    def value(self, values: list[str], depth: int = 2) -> str:
        if not depth or self.pick.random() < 0.25:
            return self.pick.choice(values)
        e, other, n = self.value(values, depth - 1), self.value(values, depth - 1), self.letter()
        by = self.pick.choice(["2", "3", "4", n, n, f"({n} + 1)", f"(2 * {n})", f"({n} * {self.letter()})"])
        return self.pick.choice([
            f"({e} + {self.pick.choice(['1', '2', n, other])})", f"({e} - {self.pick.choice(['1', '2', other])})",
            f"({self.size()} - 1 - {e})", f"({e} // {by})", f"({e} % {by})", f"({e} // {by})", f"({e} % {by})",
            f"({e} * {self.pick.choice(['2', '3', n])})", f"gpu.minimum({e}, {self.size()} - 1)",
            f"gpu.maximum({e}, {other})", f"({e} // {n} * {n} + {other} % {n})",
        ])  # fmt: skip

    def guard(self, values: list[str]) -> str:
        op = self.pick.choice(["<", "<", "<", "<=", ">", ">=", "==", "!="])
        return f"({self.value(values, 1)} {op} {self.pick.choice(['0', '1', self.size(), self.size()])})"

    def place(self, name: str, values: list[str], simple: float) -> tuple[str, list[str]]:
        """An element of an array, and guards that may keep it inside."""
        sizes, pick = (self.arrays | self.shared)[name], self.pick
        if len(sizes) > 1 and pick.random() < 0.25:  # one number for all axes
            whole, by = self.value(values, 1), [pick.choice([n, n, n, self.letter()]) for n in sizes]
            at = [f"{whole} // {by[1]}", f"{whole} % {by[1]}"]
            if len(sizes) == 3:
                at = [f"{whole} // ({by[1]} * {by[2]})", f"{whole} // {by[2]} % {by[1]}", f"{whole} % {by[2]}"]
            near = pick.choice(["", "", "", " + 1"])
            return f"{name}[{', '.join(at)}]", [f"({whole} < {' * '.join(sizes)}{near})"]
        own = ["i", "i", "t", "g"]
        at = [
            pick.choice(own) if pick.random() < simple else self.value(values, pick.choice([0, 1, 1, 2])) for _ in sizes
        ]
        ends = [f"({e} < {pick.choice([n, n, n, n, self.size()])})" for e, n in zip(at, sizes, strict=True)]
        ends += [f"({e} >= 0)" for e in at if self.signed and e not in own]
        return f"{name}[{', '.join(at)}]", [end for end in ends if pick.random() < 0.8]

    def access(self, values: list[str]) -> list[str]:
        pick = self.pick
        read = [n for n in (*self.arrays, *self.shared) if n[0] != "y"]
        write = [*[n for n in self.arrays if n[0] == "y"], *self.shared]
        one, guards = self.place(pick.choice(read), values, 0)
        other, more = self.place(pick.choice(write), values, 0.6)
        guards = [*guards, *more, *[self.guard(values) for _ in range(pick.choice([0, 0, 0, 1]))]]
        pick.shuffle(guards)
        joined = (" & " if pick.random() < 0.95 else " | ").join(guards)
        return [f"if {joined}:", f"    {other} = {one}"] if guards else [f"{other} = {one}"]

    def block(self, values: list[str], depth: int) -> list[str]:
        """Statements; only at the top, where all threads come, barriers."""
        pick, lines = self.pick, list[str]()
        for _ in range(pick.choice([1, 1, 2])):
            kind = pick.random() if depth else 1.0
            lines += ["gpu.barrier()"] if self.shared and depth == 2 and pick.random() < 0.4 else []
            self.counters += 1
            name = f"{'j' if kind < 0.3 else 'e'}{self.counters}"
            if kind < 0.3:
                start, step = (
                    pick.choice(["0", "1", *([] if self.signed else "tgi")]),
                    pick.choice("1248" + self.letter()),
                )
                stop = pick.choice([self.size(), self.letter(), self.value(values, 1)])
                head, inside = f"for {name} in gpu.loop({stop}, start={start}, step={step}):", [*values, name, name]
            elif kind < 0.5:
                asked = [f"{self.letter()} {pick.choice(['<', '==', '<='])} {self.size()}", self.guard(values)]
                head, inside = f"if {pick.choice(asked)}:", values
            else:
                if kind < 0.7:
                    lines.append(f"{name} = {self.value(values)}")
                    values = [*values, name, name]
                lines += self.access(values)
                continue
            lines += [head, *["    " + line for line in self.block(inside, depth - 1)]]
            if head[:2] == "if" and pick.random() < 0.6:
                lines += ["else:", *["    " + line for line in self.block(values, depth - 1)]]
        return lines

    def holds(self, sizes: dict[str, int]) -> bool:
        """Whether all that is given holds of these sizes."""
        divides = [fact.split() for fact in self.given if "divides" in fact]
        return all(sizes[of] % int(by) == 0 for by, _, of in divides) and all(
            eval(fact, dict(sizes)) for fact in self.given if "divides" not in fact
        )


def judge(seed: int) -> Counter[str]:
    """How many claims held, and how many sizes nothing is said of. AssertionError for a claim that is false."""
    program, found = Program(seed), Counter[str]()
    name = f"<claims {seed}>"
    linecache.cache[name] = len(program.text), None, program.text.splitlines(keepends=True), name
    names = {"gpu": gpu, "ceil_div": ceil_div}
    exec(compile(program.text, name, "exec"), names)
    every = list(product([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17], repeat=len(program.letters)))
    trials = [dict(zip(program.letters, each, strict=True)) for each in every]
    trials = [sizes for sizes in trials if program.holds(sizes)]
    try:
        kernel = gpu.kernel(given=program.given)(names["k"])
        for sizes in program.pick.sample(trials, min(16, len(trials))):
            shapes = {a: tuple(sizes[n] for n in each) for a, each in program.arrays.items()}
            said = said_for(kernel, [np.zeros(shape, np.float32) for shape in shapes.values()])
            if isinstance(said, str) or not said.applies():
                found["sizes that nothing is said of"] += 1
                continue
            proven = {(str(v.claim), v.array) for v in said.verification.verdicts if v.status == "proven"}
            try:
                wrong = proven & false_claims(*one_run(program.text, shapes))
            except Unjudged:
                found["not judged"] += 1
                continue
            told = f"{seed} at {sizes}, given {program.given}: {wrong}\n{program.text}\n{said.verification}"
            assert not wrong, told
            found["claims held"] += sum(claim in ("in bounds", "no races") for claim, _ in proven)
    except CutepyError:
        found["refused"] += 1
    del linecache.cache[name]
    return found


def give_up(*_: object) -> None:
    """Leave the program that is judged."""
    raise Slow


def main(count: int, first: int) -> int:
    """Judge so many programs; 1 if a claim is false."""
    found: Counter[str] = Counter()
    signal.signal(signal.SIGPROF, give_up)
    warnings.simplefilter("ignore", RuntimeWarning)  # of u32 values that wrap, which many of these do
    for seed in range(first, first + count):
        try:
            signal.setitimer(signal.ITIMER_PROF, 10)
            found += judge(seed)
        except AssertionError as error:
            found["FAULTS"] += 1
            print(error, flush=True)
        except Slow:
            found["slow"] += 1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{count} programs from {first}: " + ", ".join(f"{n} {what}" for what, n in sorted(found.items())))
    return int(found["FAULTS"] > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
