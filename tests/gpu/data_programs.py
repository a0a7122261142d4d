"""Random kernels whose indices come through memory: factors, divisors, bounds and places that an array, a ticket, a
register or another thread gives, of grids and workgroups of one to three axes.

The judge is the interpreter, which looks at each access, on random data and for several sizes of subgroup: what it
meets must not be proven.
"""

import linecache
import random
import re
from typing import Any

import numpy as np

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError, VerificationError
from cutepy.gpu.trace.kernel import KernelFunction

#: Who proves, program by program: z3 takes its time.
PROVERS = "cutepy", "cutepy", "cutepy", "cutepy", "auto", "z3"
#: What the interpreter's message says is broken, of which array.
_BROKEN = (
    (r"has a race for element -?\d+ of (\w+)", "no races"),
    (r"reads what nobody has written, element -?\d+ of (\w+)", "written before read"),
    (r"parts a workgroup()", "uniform barriers"),
)


class Writer:
    """Writes a kernel over x and m, which are read, c, which counts, y, and the shared arrays s and n."""

    def __init__(self, seed: int) -> None:
        pick = self.pick = random.Random(seed)
        self.axes = pick.choice([(8,), (4,), (2,), (1,), (4, 2), (2, 2), (2, 2, 2)]) if seed % 4 < 3 else (16,)
        self.grid = pick.choice([(4,), (3,), (2,), (1,), (2, 2), (3, 2), (2, 1, 2)])
        self.threads, self.groups = int(np.prod(self.axes)), int(np.prod(self.grid))
        self.length = pick.choice([64, 96, 128])
        self.shared = pick.choice([8, 16, 24])
        self.lines: list[str] = []
        self.names, self.known, self.small = 0, [], []
        self.lanes = ["gpu.lane", "gpu.subgroup", "gpu.subgroup_size"] if seed % 4 == 3 else []
        head = [f"gpu.launch(grid={self.grid}, threads={self.axes})", "t = gpu.thread"]
        head += [f"t{a} = gpu.thread.{a}" for a, _ in zip("xyz", self.axes, strict=False) if len(self.axes) > 1]
        head += [f"g{a} = gpu.workgroup.{a}" for a, _ in zip("xyz", self.grid, strict=False)]
        self.threads_ids = ["t"] * 3 + [f"t{a}" for a, _ in zip("xyz", self.axes, strict=False) if len(self.axes) > 1]
        self.group_ids = [f"g{a}" for a, _ in zip("xyz", self.grid, strict=False)]
        x, y, *_ = (*self.grid, 1)
        self.whole = " + ".join(f"g{a} * {by}" for a, by, _ in zip("xyz", (1, x, x * y), self.grid, strict=False))
        head.append(f"g = {self.whole}")
        self.group_ids.append("g")
        head.append(f"s = gpu.shared('u32', ({self.shared},))")
        head.append("n = gpu.shared('u32', (2,))")
        # What is said of x and m: the data are so.
        self.most = pick.choice([3, 5, 8])
        said = [f"x, bounds=(0, {self.most})", "x, ascending=True", "m, distinct=True"]
        self.said = pick.sample(said, pick.randint(1, 3)) if pick.random() < 0.3 else []
        for line in [*head, *[f"gpu.assume({one})" for one in self.said]]:
            self.put(0, line)
        if pick.random() < 0.8:
            self.put(0, f"for k in gpu.unroll({-(-self.shared // self.threads)}):")
            self.put(1, f"if k * {self.threads} + t < {self.shared}:")
            self.put(2, f"s[k * {self.threads} + t] = {pick.choice(['0', 't', 'x[t % 8]', '3'])}")
            self.put(0, "if t == 0:")
            self.put(1, f"n[0] = {pick.choice(['0', '0', 'g', '1'])}")
            self.put(1, "n[1] = 0")
            self.put(0, "gpu.barrier()")
        for _ in range(pick.randint(2, 4)):
            self.statement(0, True)
        if "y[" not in "".join(self.lines):
            self.store(0)
        self.text = "def program(x, m, c, y):\n" + "\n".join(self.lines) + "\n"

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def atom(self) -> str:
        pick = self.pick
        return pick.choice([*self.threads_ids, *self.group_ids, *self.known * 2, *self.small * 2, *self.lanes])

    def little(self, deep: int = 0) -> str:
        """A small number, of anything."""
        pick, a = self.pick, self.atom()
        ways = [
            a, a, str(pick.randint(1, 4)), f"({a} % {pick.choice([2, 3, 4])})", f"({a} & {pick.choice([1, 3, 5, 6])})",
            f"gpu.minimum({a}, {pick.choice([2, 3, 4, 7])})", f"({a} >> {pick.choice([1, 2])})",
            f"({a} // {pick.choice([2, 3])})", f"({a} ^ {pick.choice([1, 2, 3])})",
        ]  # fmt: skip
        if deep < 2:
            b = self.little(deep + 1)
            ways += [
                f"x[{b} % 8]", f"x[{b} % 8]", f"m[{b} % 4]", f"x[{a} % 8]", f"gpu.minimum({a}, {b})",
                f"gpu.maximum({a}, {b})", f"gpu.select({a} < {b}, {b}, {pick.choice(['0', '1', a])})", f"({a} + {b})",
                f"({a} * {b})", f"({a} // {b})", f"({a} % {b})", f"({a} - {b})",
            ]  # fmt: skip
        return pick.choice(ways)

    def factor(self) -> str:
        """A number that others are multiplied by."""
        pick = self.pick
        inner = self.pick.choice([self.little(1), pick.choice(["0", "g", "gx", "t"]), self.atom()])
        return pick.choice(
            [
                str(pick.choice([2, 3, 4, 8])), f"gpu.minimum(x[{inner} % 8], 4)", f"x[{inner} % 8]",
                f"gpu.minimum(x[{self.atom()} % 8], 4)", f"m[{inner} % 4]", f"(x[{inner} % 8] % 4 + 1)", self.atom(),
                f"gpu.minimum({self.atom()}, 4)", "m[0]", "m[1]",
            ]
        )  # fmt: skip

    def index(self) -> tuple[str, str]:
        """An index, and the condition under which it is meant; '' for none."""
        pick = self.pick
        mine, group = pick.choice(self.threads_ids + self.lanes[:1]), pick.choice(self.group_ids + self.lanes[1:2])
        a, b = pick.choice(
            [
                (group, mine), (self.little(), mine), (mine, self.little()), (self.little(), self.little()),
                (f"({self.whole})", mine), (group, f"({mine} + {self.little()})"),
            ]
        )  # fmt: skip
        kind = pick.random()
        if kind < 0.35:
            (a, b), q = pick.choice([("g", "t"), (a, b)]), self.factor()
            return f"{a} * {q} + {b}", f"{b} < {q}"
        if kind < 0.5:
            c = pick.choice([2, 4, 8, self.threads])
            return f"{a} * {c} + {b} % {c}", ""
        if kind < 0.6:
            c = pick.choice([2, 4, 8])
            by, more = c * pick.choice([1, 2, 4]), pick.choice([1, 8, 16])
            return f"({b} // {c}) * {by} + {b} % {c} + {a} * {more}", ""
        if kind < 0.7:
            return f"{self.whole.replace('+', f'* {self.threads} +')} * {self.threads} + t", ""
        if kind < 0.8:
            p = self.atom()
            first, end = pick.choice([(f"x[{p} % 8]", f"x[{p} % 8 + 1]"), (f"x[{group}]", f"x[{group} + 1]")])
            return f"{first} + {b}", f"{first} + {b} < {end}"
        if kind < 0.83:
            return f"m[{pick.choice([group, mine])}] * {pick.choice([1, 8, 4])} + {pick.choice(['0', mine])}", ""
        if kind < 0.9:
            turned = f"(t + {self.little()}) % {self.threads}"
            other = pick.choice([f"t ^ {pick.choice([1, 2, 3])}", f"({self.threads - 1} - t)", turned])
            return f"g * {self.threads} + {other}", ""
        return self.little(), ""

    def access(self, size: int) -> tuple[str, str]:
        index, meant = self.index()
        pick = self.pick
        tests = [meant] if meant and pick.random() < 0.9 else []
        kind = pick.random()
        if kind < 0.5:
            tests.append(f"{index} < {size}")
        elif kind < 0.9 and not meant:
            index = f"({index}) % {size}"
        if pick.random() < 0.25:
            tests.append(self.condition(False))
        return index, " and ".join(tests)

    def condition(self, agreed: bool) -> str:
        pick = self.pick
        if agreed:
            return pick.choice(
                [
                    "g < 1", "m[0] > 1", "m[g % 4] < 3", "x[g % 8] > m[0]", "gx == 0", "gpu.uniform(x[t % 8]) > 2",
                    "gpu.uniform(n[0]) < 2",
                ]
            )  # fmt: skip
        return pick.choice(
            [
                f"{self.atom()} < {self.little(1)}", f"{self.atom()} == {pick.choice([0, 1, 't'])}", "t == 0",
                f"t < {pick.randint(1, self.threads)}", f"{self.little(1)} % 2 == 0",
            ]
        )  # fmt: skip

    def store(self, depth: int) -> None:
        pick = self.pick
        array, size = pick.choice([("y", self.length)] * 3 + [("s", self.shared)] * 2)
        index, tests = self.access(size)
        if tests:
            self.put(depth, f"if {tests}:")
        self.put(depth + bool(tests), f"{array}[{index}] = {pick.choice(['t', '1', self.atom()])}")

    def let(self, depth: int, agreed: bool) -> None:
        pick, kind = self.pick, self.pick.random()
        name = self.name("v")
        if kind < 0.3:
            value = self.little()
        elif kind < 0.5:
            op, by = pick.choice(["add", "add", "add", "max", "exchange", "sub"]), ["1", "1", "2", "t", self.little(1)]
            at = pick.choice(["0", "1", "g % 4", "t % 4", self.little(1) + " % 4"])
            value = f"gpu.atomic_{op}(c, {at}, {pick.choice(by)})"
        elif kind < 0.6:
            op, by = pick.choice(["add", "add", "max"]), pick.choice(["1", "1", "2", "t"])
            value = f"gpu.atomic_{op}(n, {pick.choice(['0', '1', 't % 2'])}, {by})"
        elif kind < 0.75:
            index, _tests = self.index()
            value = f"s[({index}) % {self.shared}]"
        elif kind < 0.85 and agreed:
            value = f"gpu.uniform({self.little()})"
        elif kind < 0.95 and agreed:
            op = pick.choice(["add", "max", "min", "inclusive_add", "broadcast_first"])
            value = f"gpu.subgroup_{op}({self.little()})"
        else:
            value = self.factor()
        self.put(depth, f"{name} = {value}")
        self.known.append(name)

    def block(self, depth: int, agreed: bool) -> None:
        known = list(self.known), list(self.small)
        for _ in range(self.pick.randint(1, 3)):
            self.statement(depth, agreed)
        self.known, self.small = known

    def statement(self, depth: int, agreed: bool) -> None:
        pick, kind = self.pick, self.pick.random()
        if kind < 0.3:
            self.let(depth, agreed)
        elif kind < 0.6 or depth > 2:
            self.store(depth)
        elif kind < 0.7:
            self.put(depth, "gpu.barrier()" if agreed else "gpu.atomic_add(c, 2, 1)")
        elif kind < 0.8:
            shared = agreed and pick.random() < 0.4
            self.put(depth, f"if {self.condition(shared)}:")
            self.block(depth + 1, shared)
            if pick.random() < 0.3:
                self.put(depth, "else:")
                self.block(depth + 1, shared)
        elif kind < 0.92:
            self.loop(depth, agreed)
        elif kind < 0.96 and self.known:
            name = pick.choice(self.known)
            self.put(depth, f"{name} = {self.little()}")
        else:
            shared = pick.random() < 0.5
            self.put(depth, f"if {self.condition(shared and agreed)}:")
            self.put(depth + 1, "return")

    def loop(self, depth: int, agreed: bool) -> None:
        pick, shared = self.pick, agreed and self.pick.random() < 0.6
        kind = pick.random()
        if kind < 0.7:
            name = self.name("k")
            turns = ["2", "3", "4", "m[0] % 4", "m[g % 4] % 3", "gpu.uniform(x[t % 8]) % 3"]
            if not shared:
                turns = ["t % 3", f"{self.little(1)} % 4", f"{self.factor()} % 5", f"gpu.minimum({self.factor()}, 5)"]
            self.put(depth, f"for {name} in gpu.loop({pick.choice(turns)}):")
        else:
            name = self.name("w")
            start = pick.choice(["0", "m[1] % 3", "1"] if shared else ["t", self.little(1) + " % 4"])
            self.put(depth, f"{name} = {start}")
            end = pick.choice(["2", "4", "m[0] % 5"] if shared else ["4", "x[t % 8] % 5"])
            self.put(depth, f"while {name} < {end}:")
            self.put(depth + 1, f"{name} += {pick.choice([1, 2])}")
        self.small.append(name)
        self.block(depth + 1, shared)
        if pick.random() < 0.2:
            self.put(depth + 1, f"if {self.condition(shared and pick.random() < 0.7)}:")
            self.put(depth + 2, pick.choice(["break", "continue"]))
        if name in self.small:
            self.small.remove(name)

    def kernel(self) -> KernelFunction:
        file = f"<data {id(self)}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(keepends=True), file
        names: dict[str, Any] = {"gpu": gpu}
        exec(compile(self.text, file, "exec"), names)
        return gpu.kernel(names["program"])

    def arrays(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Contents for x, m, c and y."""
        said = " ".join(self.said)
        x = rng.integers(0, self.most if "bounds" in said else rng.choice([3, 5, 9]), 9, np.uint32)
        x = np.sort(x) if "ascending" in said or rng.random() < 0.3 else x
        m, c = rng.integers(0, 5, 4, np.uint32), rng.integers(0, rng.choice([1, 4]), 4, np.uint32)
        m = rng.permutation(6)[:4].astype(np.uint32) if "distinct" in said else m
        return [x, m, c, np.zeros(self.length, np.uint32)]


def broken(error: CutepyError) -> tuple[str, str]:
    """The claim that a run has broken, and its array."""
    for pattern, claim in _BROKEN:
        if told := re.search(pattern, str(error)):
            return claim, told[1]
    told = re.search(r" (\w+) at element -?\d+, it has", str(error))
    return "in bounds", told[1] if told else ""


def judge(seed: int, runs: int = 6) -> str:
    """What is said of a program, and what happens. Raises AssertionError for what is proven and wrong."""
    writer, rng = Writer(seed), np.random.default_rng(seed)
    kernel, data = writer.kernel(), [writer.arrays(rng) for _ in range(runs)]
    try:
        found = kernel.verify(*data[0], prover=PROVERS[seed % len(PROVERS)])
    except CutepyError as error:
        return f"refused: {str(error).partition(': ')[2][:40]}"
    proven = {(str(v.claim), v.array) for v in found.verdicts if v.status == "proven"}
    wrong = False
    for number, arrays in enumerate(data):
        try:
            kernel.interpret(*arrays, check=True, subgroup=(4, 8, 32)[number % 3] if "subgroup" in writer.text else 0)
        except (KernelError, VerificationError) as error:
            told, wrong = broken(error), True
            assert told not in proven, f"{seed}: {told} proven\n{writer.text}{error}\n{arrays}\n{found}"
            assert told[1] or told[0] != "in bounds", f"{seed}: {error}"
    return f"{'wrong' if wrong else 'clean'}, {'proven' if found.ok else 'refuted' if found.refuted else 'undecided'}"
