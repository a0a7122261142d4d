"""Random kernels of `while` loops and carried counters, and what goes wrong in them as plain Python.

A seed is a program. Counters are u32 or i32, start where the thread says, near the ends of their type too, and move by
steps of either sign, by halving or by doubling, or swap between two values; conditions compare them with an offset, by
any comparison, also with what memory holds. Every thread runs, in two orders. What goes wrong for some data must not be
proven, what is refuted must go wrong, and what is proven also runs under `interpret(check=True)` on corner data.
"""

from __future__ import annotations

import linecache
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from proof_checker import check_function

from cutepy import gpu
from cutepy.errors import CutepyError
from cutepy.gpu.ir import load, new_arena, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import bounds, model, races

WHOLE = 1 << 32
#: Turns that a thread makes in all before its run is given up: then nothing is said of what did not happen.
PATIENCE = 80


class U32(int):
    """A number that wraps around."""

    low = 0


class I32(int):
    """The same with a sign."""

    low = -WHOLE // 2


def wrapped(kind: type[int], value: int) -> int:
    """`value` in a type of 32 bits."""
    low: int = getattr(kind, "low")  # noqa: B009  of either class
    return kind((int(value) - low) % WHOLE + low)


def _law(name: str, swapped: bool) -> Any:
    def result(self: int, other: int) -> int:
        a, b = (int(other), int(self)) if swapped else (int(self), int(other))
        return wrapped(type(self), getattr(int, f"__{name}__")(a, b))

    return result


for _kind in (U32, I32):
    for _name in ("add", "sub", "mul", "floordiv", "mod", "xor", "and", "or"):
        setattr(_kind, f"__{_name}__", _law(_name, False))
        setattr(_kind, f"__r{_name}__", _law(_name, True))


class Writer:
    """Writes a kernel over x, which is read, and y, which is written; `rows` of shared memory are read in the end."""

    def __init__(self, seed: int) -> None:
        pick = self.pick = random.Random(seed)
        self.threads, self.groups = pick.choice([2, 2, 4, 8]), pick.choice([1, 1, 2])
        self.shared = pick.choice([8, 16, 33])
        self.length = pick.choice([16, 40, 64, 16 * self.threads, 16 * self.threads * self.groups])
        self.lines: list[str] = []
        self.uses_shared = pick.random() < 0.6
        self.names: list[tuple[str, bool]] = []
        self.put(0, "t, g = gpu.thread, gpu.workgroup.x")
        if self.uses_shared and pick.random() < 0.5:
            self.put(0, f"for k in gpu.loop({self.shared // self.threads}):")
            self.put(1, f"S[t * {self.shared // self.threads} + k] = 3")
        for number in range(pick.choice([1, 1, 1, 2])):
            self.loop(0, f"w{number}")
            self.names = [(name, signed) for name, signed in self.names if "i" not in name]
        if self.uses_shared:
            if pick.random() < 0.8:
                self.put(0, "gpu.barrier()")
            if pick.random() < 0.7:
                self.put(0, f"if {pick.choice(['t == 0', f't == {self.threads - 1}', 't < 2', 't + 1 > 0'])}:")
            else:
                self.put(0, "if t < 8:")
            at = pick.choice([str(pick.randrange(self.shared)), self.row(str(pick.randrange(3))), "t"])
            self.put(1, f"y[{self.own('t')}] = S[{at}]")
        elif pick.random() < 0.4:
            self.put(0, f"y[{self.place(self.length)}] = 1")
        shared = f"    S = gpu.shared('u32', {self.shared})\n" if self.uses_shared else ""
        head = f"    gpu.launch(grid={self.groups}, threads={self.threads})\n{shared}"
        self.text = f"def program(x, y):\n{head}" + "\n".join(self.lines) + "\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def row(self, name: str) -> str:
        """An index of shared memory that keeps to the row of its thread, more often than not."""
        width = max(1, self.shared // self.threads)
        return f"t * {width} + {name}" if self.pick.random() < 0.6 else f"{name}"

    def own(self, name: str) -> str:
        """A number for each thread of the grid."""
        return f"g * {self.threads} + {name}" if self.groups > 1 else name

    def place(self, size: int) -> str:
        """An index that one of the counters decides."""
        pick = self.pick
        name, signed = pick.choice(self.names)
        name = f"gpu.cast({name}, 'u32')" if signed else name
        own = self.own("t")
        return pick.choice(
            [
                name, f"({own}) * 16 + {name}", f"({own}) * 16 + {name}", f"{name} + {pick.randint(1, 3)}",
                f"{name} * {self.threads * self.groups} + {own}", f"{name} - {pick.randint(1, 3)}",
                f"{name} * {self.threads} + t", f"{name} % {size}", f"t * 4 + {name}", f"g * {size // 2} + {name}",
            ]
        )  # fmt: skip

    def bracket(self, depth: int, name: str) -> None:
        """Two counters that move towards one another, by a midpoint of them: a binary search, right or nearly so."""
        pick, signed = self.pick, self.pick.random() < 0.4
        low, high, mid = f"{name}l", f"{name}h", f"{name}m"
        start, end = self.ends(signed)
        end = f"gpu.cast({end}, 'i32')" if signed and pick.random() < 0.3 else end
        kind = "i32" if signed else "u32"
        self.put(depth, f"{low} = gpu.cast({start}, '{kind}')")
        self.put(depth, f"{high} = gpu.cast({end}, '{kind}')")
        op = pick.choice(["<", "<", "<", "<=", "!="])
        self.put(depth, f"while {low} {op} {high}:" if pick.random() < 0.8 else f"while {low} + 1 {op} {high}:")
        middles = [f"({low} + {high}) // 2", f"({low} + {high}) // 2", f"{low} + ({high} - {low}) // 2"]
        self.put(depth + 1, f"{mid} = {pick.choice([*middles, f'({low} + {high} + 1) // 2', f'{low} + 1'])}")
        self.names.append((mid, signed))
        self.body(depth + 1, mid)
        signs = [f"x[{mid} % 8] > 20", "x[t] > 9"] if not signed else ["x[t] > 9"]
        self.put(depth + 1, f"if {pick.choice([*signs, f'{mid} < 5', 't % 2 == 0'])}:")
        self.put(depth + 2, f"{low} = {mid}{pick.choice([' + 1', ' + 1', ' + 1', '', ' + 2'])}")
        if pick.random() < 0.2:
            self.put(depth + 1, f"elif {pick.choice([f'{mid} > 3', 't > 1'])}:")
            self.put(depth + 2, f"{high} = {mid}{pick.choice(['', ' - 1'])}")
            self.put(depth + 1, "else:")
            self.put(depth + 2, pick.choice(["break", f"{high} = {low}", f"{high} = {high} - 1"]))
        else:
            self.put(depth + 1, "else:")
            self.put(depth + 2, f"{high} = {mid}{pick.choice(['', '', '', ' - 1', ' + 1'])}")
        self.names.remove((mid, signed))
        self.names += [(low, signed), (high, signed)]

    def loop(self, depth: int, name: str) -> None:
        pick = self.pick
        if pick.random() < 0.2:
            self.bracket(depth, name)
            return
        signed = pick.random() < 0.3
        start, end = self.ends(signed)
        step = pick.choice([1, 1, 1, 1, 2, 3, 4, 7])
        down = pick.random() < 0.35
        shape = pick.random()
        self.put(depth, f"{name} = {start}")
        offset = pick.choice(["", "", "", f" + {pick.randint(1, 4)}", f" - {pick.randint(1, 4)}"])
        ops = ["<", "<", "<=", "!=", "!="] if not down else [">", ">", ">=", "!=", "!="]
        op = pick.choice(ops) if pick.random() < 0.9 else pick.choice(["<", "<=", ">", ">=", "!=", "=="])
        if op == "!=" and pick.random() < 0.9:
            step = 1
        move = f"{name} = {name} {'-' if down else '+'} {step}"
        if shape < 0.08:
            move, op = pick.choice([(f"{name} = {name} // 2", ">"), (f"{name} = {name} * 2", "<")])
        elif shape < 0.12:
            move = f"{name} = {pick.randint(1, 5)} - {name}"
        elif shape < 0.15:
            move = f"{name} = ({name} + 1) % {pick.randint(2, 5)}"
        compared = f"{name}{offset} {op} {end}" if pick.random() < 0.9 else f"{end} {op} {name}{offset}"
        if pick.random() < 0.1:
            memory = "t > 0" if signed else f"x[{name} % 8] > 0"
            compared += f" and {pick.choice(['t < 3', 'x[t] < 40', f'{name} != 5', memory])}"
        counted = pick.choice(["3", "5", "t", "t + 1", "6, step=2", "9, start=2, step=3"])
        self.put(depth, f"for k_{name} in gpu.loop({counted}):" if pick.random() < 0.12 else f"while {compared}:")
        self.names.append((name, signed))
        self.body(depth + 1, name)
        if depth == 0 and pick.random() < 0.15:
            self.loop(depth + 1, f"{name}i")
        if pick.random() < 0.08:
            self.put(depth + 1, f"if {pick.choice([f'{name} == 3', 't == 1', 'x[t] > 30', f'{name} > 6'])}:")
            self.put(depth + 2, pick.choice(["break", f"{name} = {name} + 1"]))
        self.put(depth + 1, move)
        if pick.random() < 0.3:
            self.body(depth + 1, name)

    def ends(self, signed: bool) -> tuple[str, str]:
        """Where a counter starts, and what it is compared with: small numbers, or one near an end of its type."""
        pick, n = self.pick, self.pick.randint
        if signed:
            small = ["gpu.cast(t, 'i32')", f"gpu.cast(t, 'i32') - {n(1, 6)}", "gpu.cast(t % 2, 'i32')"]
            if pick.random() < 0.15:
                near = [f"gpu.cast(t, 'i32') + {WHOLE // 2 - n(4, 20)}", f"gpu.cast(t, 'i32') - {WHOLE // 2 - n(0, 4)}"]
                return pick.choice(near), pick.choice([str(WHOLE // 2 - n(1, 6)), str(n(1, 6) - WHOLE // 2), "0"])
            return pick.choice(small), str(n(-6, 12))
        if pick.random() < 0.15:
            near = pick.choice([f"t - {n(1, 9)}", f"t + {WHOLE - n(8, 20)}"])
            return near, pick.choice([str(WHOLE - n(1, 9)), str(n(0, 6))])
        small = ["t + 0", "t + 0", f"t + {n(1, 5)}", f"t * {n(1, 4)}", f"{n(1, 9)} - t", "t % 2"]
        last = [str(n(0, 12)), str(n(0, 12)), str(n(0, 12)), "t", f"t + {n(1, 6)}", "x[t]", "x[0]"]
        return pick.choice(small), pick.choice(last)

    def body(self, depth: int, name: str) -> None:
        pick = self.pick
        kind = pick.random()
        if self.uses_shared and kind < 0.65:
            at = self.row(self.place(self.shared))
            self.put(depth, f"S[{at}] = 2" if kind < 0.5 else f"y[{self.own('t')}] = S[{at}]")
        elif kind < 0.8:
            at = self.place(self.length)
            self.put(depth, pick.choice([f"y[{at}] = 1", f"y[{at}] = x[{at}]", f"gpu.atomic_add(y, {at}, 1)"]))
        elif kind < 0.9:
            self.put(depth, f"y[{self.own('t')}] = x[{self.place(self.length)}]")
        else:
            self.put(depth, f"y[{self.own('t')}] = x[t]")

    def kernel(self) -> KernelFunction:
        file = f"<loops {id(self)}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(keepends=True), file
        names: dict[str, Any] = {"gpu": gpu}
        exec(compile(self.text, file, "exec"), names)
        return gpu.kernel(names["program"])

    def arrays(self, rng: np.random.Generator, most: int) -> list[np.ndarray]:
        """Contents for x and y."""
        return [rng.integers(0, most, self.length, np.uint32), np.zeros(self.length, np.uint32)]


class EndlessError(Exception):
    """A run that was given up."""


class Memory:
    """An array that notes in `run` who touches which element, and what is wrong about that."""

    def __init__(self, run: Run, name: str, values: list[int], *, shared: bool = False) -> None:
        self.run, self.name, self.values, self.shared = run, name, values, shared
        #: The threads that wrote each element, and after how many barriers.
        self.writers: list[set[tuple[int, int]]] = [set() for _ in values]
        self.touched: dict[int, set[tuple[int, int, int, str]]] = {}

    def touch(self, index: int, verb: str) -> int:
        at, (group, thread, phase) = int(index), self.run.now
        if not 0 <= at < len(self.values):
            self.run.wrong.add(f"in bounds {self.name}")
        phase, seen = phase if self.shared else 0, self.touched.setdefault(at, set())
        for g, t, p, v in seen:
            apart = g != group or (t != thread and p == phase)
            if apart and ("writes" in (v, verb) or v != verb):
                self.run.wrong.add(f"no races {self.name}")
        seen.add((group, thread, phase, verb))
        return at

    def __getitem__(self, index: int) -> int:
        at = self.touch(index, "reads")
        if not 0 <= at < len(self.values):
            return U32(0)
        _, thread, phase = self.run.now
        if self.shared and not any(t == thread or p < phase for t, p in self.writers[at]):
            self.run.wrong.add(f"written before read {self.name}")
        return U32(self.values[at])

    def __setitem__(self, index: int, value: int) -> None:
        at = self.touch(index, "writes")
        if 0 <= at < len(self.values):
            self.values[at] = int(value) % WHOLE
            self.writers[at].add(self.run.now[1:])

    def add(self, index: int, value: int) -> None:
        at = self.touch(index, "updates")
        if 0 <= at < len(self.values):
            self.values[at] = (self.values[at] + int(value)) % WHOLE


class Run:
    """A program as plain Python, a thread up to its next barrier at a time; `wrong` are the claims that fail, `endless`
    tells that it was given up, `forever` that a loop came back to what all counters were: only they decide its end."""

    def __init__(self, writer: Writer, arrays: list[np.ndarray], order: int) -> None:
        self.wrong: set[str] = set()
        self.endless, self.ticks, self.forever = False, 0, False
        self.seen: set[tuple[object, ...]] = set()
        self.now: tuple[int, int, int] = (0, 0, 0)
        x, y = (Memory(self, name, a.tolist()) for name, a in zip("xy", arrays, strict=True))
        text = re.sub(r"^( *)((?:while|for) .*:)$", r"\1\2\n\1    tick(locals())", writer.text, flags=re.MULTILINE)
        text = text.replace("gpu.barrier()", "yield 1").replace(":\n", ":\n    if 0: yield\n", 1)
        language = SimpleNamespace(loop=_counted, minimum=lambda a, b: U32(min(a, b)), launch=lambda **sizes: None)
        language.cast = lambda value, kind: wrapped(I32 if kind == "i32" else U32, value)
        language.constant = lambda value, kind: (I32 if kind == "i32" else U32)(value)
        language.atomic_add = lambda array, index, value: array.add(index, value)
        names: dict[str, Any] = {"gpu": language, "tick": self.tick}
        exec(compile(text, "<plain>", "exec"), names)
        for group in range(writer.groups):
            sh = Memory(self, "S", [0] * writer.shared, shared=True)
            language.shared = lambda kind, shape, sh=sh: sh
            language.workgroup = SimpleNamespace(x=U32(group))
            threads = [(t, names["program"](x, y)) for t in range(writer.threads)][::order]
            phase = 0
            while threads:
                threads = self.phase(group, phase, threads, language)
                phase += 1
        self.y = np.array(y.values, np.uint32)

    def tick(self, names: dict[str, object]) -> None:
        now = (sys._getframe(1).f_lineno, *[value for value in names.values() if isinstance(value, int)])
        self.forever |= now in self.seen
        self.seen.add(now)
        self.ticks += 1
        if self.forever or self.ticks > PATIENCE:
            raise EndlessError

    def phase(self, group: int, phase: int, waiting: list[Any], language: Any) -> list[Any]:
        """Those that come to the barrier."""
        come = []
        for thread, steps in waiting:
            self.now, language.thread, self.ticks, self.seen = (group, thread, phase), U32(thread), 0, set()
            try:
                next(steps)
                come.append((thread, steps))
            except StopIteration:
                pass
            except EndlessError:
                self.endless = True
                return []
        if come and len(come) < len(waiting):
            self.wrong.add("uniform barriers")
            return []
        return come


def _counted(stop: int, start: int = 0, step: int = 1) -> list[int]:
    return [U32(k) for k in range(int(start), int(stop), int(step))]


def made_up(kernel: KernelFunction, arrays: list[np.ndarray]) -> None:
    """Put in x what `verify` makes up for it."""
    buffer = next((b for b in kernel.ir(*arrays).buffers if b.name == "x"), None)
    if buffer is not None:
        with new_arena():
            i = var("i")
            places = Points({i: np.arange(buffer.length, dtype=np.uint32)}, frozenset([buffer]))
            arrays[0][:] = places.of(load(buffer, i))[: arrays[0].size]


@contextmanager
def budget(most: int | None) -> Iterator[None]:
    """Let the verifier make no more than `most` evaluations for an exact answer."""
    before = model.MOST, races.MOST, bounds._SMALL
    if most is not None:
        model.MOST, races.MOST, bounds._SMALL = most, most, min(most, before[2])
    try:
        yield
    finally:
        model.MOST, races.MOST, bounds._SMALL = before


def judge(seed: int) -> str:
    """What is said of a program: refused, or clean or wrong, and its verdict.

    Raises AssertionError for a verdict that is not true, for another result of the interpreter, and for a fault that
    its own check meets in what is proven.
    """
    writer, rng = Writer(seed), np.random.default_rng(seed)
    kernel, data = writer.kernel(), [writer.arrays(rng, most) for most in (64, 3, 9)]
    try:
        with budget(None if seed % 8 == 0 else 1 << 13):
            verdicts = kernel.verify(*data[0], prover="cutepy").verdicts  # z3 chooses what x holds: no run has that
        made_up(kernel, data[0])
    except CutepyError as error:
        return f"refused: {str(error).partition(': ')[2][:60]}"
    data = data if "x[" in writer.text else data[:1]
    runs = [Run(writer, arrays, order) for arrays in data for order in (1, -1)]
    wrong, endless = set[str]().union(*(run.wrong for run in runs)), any(run.endless for run in runs)
    forever = any(run.forever for run in runs) and any(
        v.claim == "bounded loops" and v.status == "proven" for v in verdicts
    )
    assert not forever, f"{seed}: bounded loops proven\n{writer.text}"
    said: dict[str, set[str]] = {"proven": set(), "refuted": set(), "undecided": set()}
    for v in verdicts:  # of an array of one mode, a coordinate is its index
        said[v.status].add(f"{str(v.claim).replace('inside its shape', 'in bounds')} {v.array}".strip())
    assert not wrong & said["proven"], f"{seed}: {wrong & said['proven']} proven\n{writer.text}"
    if not endless:
        false = said["refuted"] - wrong
        assert not false or "uniform barriers" in wrong, f"{seed}: {false} refuted\n{writer.text}"
    sure = not said["refuted"] and not said["undecided"]
    if sure and not endless:
        check_function(kernel, *data[0], extreme=False)
        for run, arrays in zip(runs[::2], data, strict=True):
            kernel.interpret(*arrays)
            assert np.array_equal(arrays[1], run.y), f"{seed}: {arrays[1]}, plain Python {run.y}\n{writer.text}"
    verdict = "refuted" if said["refuted"] else "undecided" if said["undecided"] else "proven"
    return f"{'endless' if endless else 'wrong' if wrong else 'clean'}, {verdict}"
