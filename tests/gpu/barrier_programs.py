"""Random kernels of shared memory, barriers, loops, helpers and early returns, and what goes wrong when they run.

A seed is a program. It runs as plain Python too: each thread is a generator that yields at a barrier, and memory notes
who touched what since which barrier. What goes wrong there for some data must not be proven.
"""

from __future__ import annotations

import linecache
import random
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
from proof_checker import check_function

from cutepy import gpu
from cutepy.errors import CutepyError
from cutepy.gpu.trace.kernel import KernelFunction

WHOLE = 1 << 32
ARGUMENTS = "z, sh, y, x, m, t, g, v, i"


class Writer:
    """Writes a kernel over x and m, which are read, y, which threads share, and z, where each keeps what it read."""

    def __init__(self, seed: int) -> None:
        pick = self.pick = random.Random(seed)
        self.threads, self.groups = pick.choice([2, 4, 8]), pick.choice([1, 2, 3])
        self.shared = pick.choice([self.threads, self.threads + 1, 2 * self.threads])
        whole = self.threads * self.groups
        self.length = pick.choice([whole, whole + 1, 2 * whole, 2 * whole])
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.helpers: list[str] = []
        self.names = 0
        text = "".join(self.helper(number) for number in range(pick.choice([0, 0, 1, 2])))
        self.lines = []
        if pick.random() < 0.7:
            self.put(0, "sh[t] = t")
            self.put(0, f"if t + {self.threads} < {self.shared}:")
            self.put(1, f"sh[t + {self.threads}] = 1")
            self.put(0, "gpu.barrier()")
        for _ in range(3):
            self.block(0)
        if pick.random() < 0.4:
            self.skips()
        self.put(0, f"y[{self.index(self.length, own=True)}] = v")
        head = f"gpu.launch(grid={self.groups}, threads={self.threads})\n    sh = gpu.shared('u32', ({self.shared},))"
        names = "t, g = gpu.thread, gpu.workgroup.x\n    v, i = x[t], 0\n"
        self.text = f"{text}def program(x, m, y, z):\n    {head}\n    {names}" + "\n".join(self.lines) + "\n"

    def helper(self, number: int) -> str:
        self.lines = []
        self.block(0, helper=True)
        self.block(0, helper=True)
        self.helpers.append(f"helper_{number}")
        body = "\n".join([*self.lines, "    return v"])
        return f"def helper_{number}({ARGUMENTS}):\n{body}\n\n\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def atom(self) -> str:
        return self.pick.choice(["t", "t", "t", "v", "i", *self.counters])

    def index(self, size: int, *, own: bool = False) -> str:
        """An index that suits an array of that size more often than not."""
        pick, atom = self.pick, self.atom()
        base = f"(g * {self.threads} + t)" if own and pick.random() < 0.7 else "t"
        if pick.random() < 0.75:
            return base
        return pick.choice(
            [
                *[f"({base} + {by}) % {size}" for by in (1, 2, self.threads)], f"({atom} + {base}) % {size}",
                f"{size - 1} - {base}", f"({base} ^ 1)", f"{base} * 2", f"{base} * 2 + 1", f"{atom} % {size}",
                f"{base} // 2", f"{base} - 1", f"{atom} * {self.threads} + {base}", f"{base} + {atom}",
                f"gpu.minimum({atom} + {base}, {size - 1})", str(pick.randrange(size)),
            ]
        )  # fmt: skip

    def condition(self, *, agreed: bool) -> str:
        pick = self.pick
        if agreed:
            of_loops = [f"{name} % 2 == 0" for name in self.counters if name[0] == "k"]
            return pick.choice(["g < 1", "g == 0", "g < 2", "m[0] > 2", "m[g] < 3", *of_loops])
        own = f"g * {self.threads} + t"
        return pick.choice(
            [
                f"t < {pick.randint(0, self.threads)}", "t % 2 == 0", "t == 0", "v > 2", "t >= 1", "i + t < 4",
                f"{own} < {self.length}", f"{own} + 1 < {self.length}", f"t + 1 < {self.shared}", f"{self.atom()} < 2",
            ]
        )  # fmt: skip

    def block(self, depth: int, *, agreed: bool = True, helper: bool = False) -> None:
        for _ in range(self.pick.randint(1, 3)):
            self.statement(depth, agreed, helper)

    def statement(self, depth: int, agreed: bool, helper: bool) -> None:
        pick, kind = self.pick, self.pick.random()
        if kind < 0.25:
            self.put(depth, f"sh[{self.index(self.shared)}] = {pick.choice(['v', 't', 'i + 1', '7'])}")
        elif kind < 0.47:
            array, size = pick.choice([("sh", self.shared), ("sh", self.shared), ("y", self.length)])
            self.put(depth, f"v = v + {array}[{self.index(size, own=array == 'y')}]")
            self.put(depth, f"z[g * {self.threads} + t] = v")  # what nobody asks for is not read
        elif kind < 0.55:
            self.put(depth, f"y[{self.index(self.length, own=True)}] = {pick.choice(['v', 't', 'i'])}")
        elif kind < 0.6:
            self.put(depth, f"i = {pick.choice(['i + v % 4', 'i + 1', 'i + x[t] % 3', '(i * 3) % 5'])}")
        elif kind < 0.75 or depth > 2:
            self.put(depth, f"gpu.barrier({pick.choice(['', '', 'storage=True'])})" if agreed else "v = v + 1")
        elif kind < 0.84:
            shared = pick.random() < 0.3
            self.put(depth, f"if {self.condition(agreed=shared)}:")
            self.block(depth + 1, agreed=agreed and shared, helper=helper)
            if pick.random() < 0.3:
                self.put(depth, "else:")
                self.block(depth + 1, agreed=agreed and shared, helper=helper)
        elif kind < 0.95:
            self.loop(depth, agreed, helper)
        elif self.helpers and not helper:
            self.put(depth, f"v = v + {pick.choice(self.helpers)}({ARGUMENTS})")
        else:
            self.put(depth, f"if {self.condition(agreed=pick.random() < 0.6)}:")
            self.put(depth + 1, "return v" if helper else "return")

    def loop(self, depth: int, agreed: bool, helper: bool) -> None:
        pick, shared = self.pick, self.pick.random() < 0.7
        self.names += 1
        if pick.random() < 0.3:
            name = f"w{self.names}"
            self.put(depth, f"{name} = {pick.choice(['0', 'g', '1'] if shared else ['t', 'i'])}")
            self.put(depth, f"while {name} < {pick.choice([2, 3])}{pick.choice(['', '' if shared else ' and v < 5'])}:")
            self.put(depth + 1, f"{name} += {pick.choice([1, 2])}")
        else:
            name = f"k{self.names}"
            turns = ["2", "3", "2, start=1", "3, step=2", "m[0] % 3"] if shared else ["t % 3", "i % 3", "v % 3"]
            self.put(depth, f"for {name} in gpu.loop({pick.choice(turns)}):")
        self.counters.append(name)
        self.block(depth + 1, agreed=agreed and shared, helper=helper)
        if pick.random() < 0.15:
            self.put(depth + 1, f"if {self.condition(agreed=pick.random() < 0.5)}:")
            self.put(depth + 2, pick.choice(["break", "continue"]))
        self.counters.pop()

    def skips(self) -> None:
        """A loop of which some iterations pass no barrier: what is open in one meets what is not in the next."""
        pick, name = self.pick, f"k{self.names + 1}"
        self.names += 2
        self.counters.append(name)
        self.put(0, f"for {name} in gpu.loop({pick.choice(['3', '4', '5', '4, start=1', 'm[0] + 1'])}):")
        depth = 1
        if pick.random() < 0.3:
            self.statement(1, False, True)
        if pick.random() < 0.8:
            depth, skip = 2, pick.choice(["% 2", "% 3", "% 2 * 2", "// 2"])
            by_loop = f"for w{self.names} in gpu.loop(1 - gpu.minimum({name} {skip}, 1)):"
            self.put(1, by_loop if pick.random() < 0.4 else f"if {name} {skip} == {pick.choice([0, 0, 1])}:")
        for line in (
            f"sh[{self.index(self.shared)}] = {pick.choice(['v', 't', 'i + 1'])}",
            "gpu.barrier()",
            f"v = v + sh[{pick.choice([f'{self.threads - 1} - t', self.index(self.shared)])}]",
            f"z[g * {self.threads} + t] = v",
            *["gpu.barrier()"] * (pick.random() < 0.5),
        ):
            if pick.random() < 0.93:
                self.put(depth, line)
        self.counters.pop()

    def kernel(self) -> KernelFunction:
        file = f"<barriers {id(self)}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(keepends=True), file
        names: dict[str, Any] = {"gpu": gpu}
        exec(compile(self.text, file, "exec"), names)
        return gpu.kernel(names["program"])

    def arrays(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Contents for x, m, y and z."""
        sizes = (8, 6), (4, 5), (self.length, 5), (self.threads * self.groups, 1)
        return [rng.integers(0, most, size, np.uint32) for size, most in sizes]


class Number(int):
    """A u32: it wraps, and a divisor 0 acts as 1."""


def _wrapped(name: str, swapped: bool) -> Any:
    def result(one: int, other: int) -> Number:
        a, b = (int(other), int(one)) if swapped else (int(one), int(other))
        if name in ("floordiv", "mod"):
            b = b or 1
        return Number(getattr(int, f"__{name}__")(a, b) % WHOLE)

    return result


for _name in ("add", "sub", "mul", "floordiv", "mod", "xor"):
    setattr(Number, f"__{_name}__", _wrapped(_name, False))
    setattr(Number, f"__r{_name}__", _wrapped(_name, True))


class OutsideError(Exception):
    """An index beyond an array."""


class Memory:
    """An array that notes in `run` who touches which element, and what is wrong about that."""

    def __init__(self, run: Run, name: str, values: list[int], *, shared: bool = False) -> None:
        self.run, self.name, self.values, self.shared = run, name, values, shared
        self.written = [not shared] * len(values)
        self.touched: dict[int, set[tuple[int, int, int, bool]]] = {}

    def touch(self, index: int, writes: bool) -> int:
        at, (group, thread, phases) = int(index), self.run.now
        if not 0 <= at < len(self.values):
            self.run.wrong.add(f"in bounds {self.name}")
            raise OutsideError
        phase, known = phases[not self.shared], self.touched.setdefault(at, set())
        if any((writes or w) and (g != group or (t != thread and p == phase)) for g, t, p, w in known):
            self.run.wrong.add(f"no races {self.name}")
        known.add((group, thread, phase, writes))
        return at

    def __getitem__(self, index: int) -> Number:
        at = self.touch(index, False)
        if not self.written[at]:
            self.run.wrong.add(f"written before read {self.name}")
        return Number(self.values[at])

    def __setitem__(self, index: int, value: int) -> None:
        at = self.touch(index, True)
        self.values[at], self.written[at] = int(value) % WHOLE, True


class Run:
    """A program as plain Python, a thread up to its next barrier at a time; `wrong` are the claims that fail."""

    def __init__(self, writer: Writer, arrays: list[np.ndarray]) -> None:
        self.wrong: set[str] = set()
        self.now: tuple[int, int, list[int]] = (0, 0, [0, 0])
        x, m, y, z = (Memory(self, n, a.tolist()) for n, a in zip("xmyz", arrays, strict=True))
        text = re.sub(r"(helper_\d\(z.*\))$", r"(yield from \1)", writer.text, flags=re.MULTILINE)
        text = text.replace("gpu.barrier()", "yield 1").replace("gpu.barrier(storage=True)", "yield 2")
        text = re.sub(r"(def .*:)\n", r"\1\n    if 0: yield\n", text)
        names: dict[str, Any] = {"gpu": SimpleNamespace(loop=_counted, minimum=lambda a, b: Number(min(a, b)))}
        names["gpu"].launch = lambda **sizes: None
        exec(compile(text, "<plain>", "exec"), names)
        for group in range(writer.groups):
            sh = Memory(self, "sh", [0] * writer.shared, shared=True)
            names["gpu"].shared = lambda kind, shape, sh=sh: sh
            names["gpu"].workgroup = SimpleNamespace(x=Number(group))
            waiting = []
            for thread in range(writer.threads):
                waiting.append((thread, [0, 0], names["program"](x, m, y, z)))
            while waiting:
                waiting = self.phase(group, waiting, names["gpu"])
        self.y = np.array(y.values, np.uint32)

    def phase(self, group: int, waiting: list[Any], language: Any) -> list[Any]:
        """Those that come to a barrier, of which there is one for all, or none."""
        found = []
        for thread, phases, steps in waiting:
            self.now, language.thread = (group, thread, phases), Number(thread)
            try:
                kind = next(steps)
            except StopIteration:
                continue
            except OutsideError:
                return []
            phases[0] += 1  # of workgroup memory; of bindings, only one of storage
            phases[1] += kind == 2
            found.append((thread, phases, steps))
        if found and len(found) < len(waiting):
            self.wrong.add("uniform barriers")
            return []
        return found


def _counted(stop: int, start: int = 0, step: int = 1) -> list[Number]:
    return [Number(k) for k in range(int(start), int(stop), int(step))]


def judge(seed: int) -> str:
    """What is said of a program: refused, clean or wrong, and proven or not. Raises AssertionError for what is proven
    and wrong, and where the interpreter gives other results."""
    writer, rng = Writer(seed), np.random.default_rng(seed)
    kernel, data = writer.kernel(), [writer.arrays(rng) for _ in range(4)]
    try:
        found = kernel.verify(*data[0])
    except CutepyError as error:
        return f"refused: {str(error).partition(': ')[2][:40]}"
    runs = [Run(writer, arrays) for arrays in data]
    wrong = set().union(*(run.wrong for run in runs))
    proven = {" ".join(line.split()[1:]).partition(":")[0] for line in str(found).splitlines() if " proven " in line}
    assert not found.ok or not wrong, f"{seed}: proven, and wrong: {wrong}\n{writer.text}"
    assert not wrong & proven, f"{seed}: {wrong & proven} proven\n{writer.text}"
    if found.ok:
        check_function(kernel, *data[0])
    if not wrong:
        for run, arrays in zip(runs, data, strict=True):
            kernel.interpret(*arrays)
            assert np.array_equal(arrays[2], run.y), f"{seed}: {arrays[2]}, plain Python {run.y}\n{writer.text}"
    return f"{'wrong' if wrong else 'clean'}, {'proven' if found.ok else 'not proven'}"
