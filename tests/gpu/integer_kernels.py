"""Random kernels over integers, written through the public names, and what each must give by Python's own integers.

A program is a tuple that one kernel takes as a static argument and writes out while it is traced: registers of i32 and
u32 that are set under conditions and in loops, from expressions with every operator, divisors and amounts of any value.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cutepy import gpu
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.tensor import make_fragment_like, transform
from cutepy.tensor.partition import local_tile

Tree = tuple[object, ...]
THREADS = 32
SIGNED, UNSIGNED = "i32", "u32"
EXTREMES = {
    SIGNED: [-(2**31), -(2**31) + 1, -65536, -7, -2, -1, 0, 1, 2, 3, 7, 8, 255, 2**31 - 1],
    UNSIGNED: [0, 1, 2, 3, 5, 8, 31, 32, 255, 65535, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1],
}
BINARY = ["+", "-", "*", "//", "%", "&", "|", "^", "min", "max"]
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


def wrap(value: int, kind: str) -> int:
    return (value + 2**31) % 2**32 - 2**31 if kind == SIGNED else value % 2**32


class Draw:
    """What one seed gives: a program, and arrays to run it on."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.counters: list[tuple[str, str]] = []

    def number(self, kind: str) -> int:
        return self.pick.choice(EXTREMES[kind]) if self.pick.random() < 0.6 else self.pick.randint(0, 9)

    def leaf(self, kind: str) -> Tree:
        pick = self.pick
        if pick.random() < 0.3:
            return ("const", kind, self.number(kind))
        named = [("load", kind, pick.choice("ab")), ("register", kind, pick.randrange(2))]
        named += [("counter", kind, name) for name, its in self.counters if its == kind] * 2
        return pick.choice([*named, ("tid", kind)] if kind == UNSIGNED else named)

    def value(self, kind: str, size: int) -> Tree:
        pick = self.pick
        if size <= 1:
            return self.leaf(kind)
        left = self.value(kind, size // 2)
        right = self.value(kind, size - size // 2)
        draw = pick.random()
        if draw < 0.5:
            return (pick.choice(BINARY), kind, left, right)
        if draw < 0.72:
            amount = pick.choice([("const", UNSIGNED, pick.choice([0, 1, 2, 7, 8, 16, 24, 31, 32, 33, 40])), right])
            return (pick.choice(["<<", ">>"]), kind, left, amount)
        if draw < 0.8:
            return ("select", kind, self.condition(size // 2), left, right)
        if draw < 0.9:
            return ("cast", kind, self.value(UNSIGNED if kind == SIGNED else SIGNED, size - 1))
        return (pick.choice("-~"), kind, left)

    def condition(self, size: int) -> Tree:
        kind = self.pick.choice([SIGNED, UNSIGNED])
        return (self.pick.choice(COMPARE), "bool", self.value(kind, size // 2), self.value(kind, size // 2))

    def statements(self, depth: int) -> Tree:
        return tuple(self.statement(depth) for _ in range(self.pick.randint(1, 3)))

    def statement(self, depth: int) -> Tree:
        pick, draw = self.pick, self.pick.random()
        kind = pick.choice([SIGNED, UNSIGNED])
        if depth == 0 or draw < 0.5:
            return ("set", kind, pick.randrange(2), self.value(kind, pick.randint(1, 9)))
        if draw < 0.6:
            return ("count", self.value(UNSIGNED, 3), self.value(UNSIGNED, 3))
        if draw < 0.75:
            return ("when", self.condition(4), self.statements(depth - 1))
        return self.loop(depth)

    def loop(self, depth: int) -> Tree:
        pick = self.pick
        start, stop, step = pick.randint(-3, 3), pick.randint(-3, 6), pick.choice([1, 1, 1, 2, 3])
        kind = SIGNED if start < 0 else UNSIGNED
        bounds: list[object] = [start, stop, step]
        if pick.random() < 0.6:
            kind = pick.choice([SIGNED, UNSIGNED])
            bounds[0] = max(0, start) if kind == UNSIGNED else start
            bounds[1] = ("&", kind, self.value(kind, 3), ("const", kind, pick.choice([1, 3, 7])))
            if kind == SIGNED and pick.random() < 0.5:
                bounds[1] = ("-", kind, bounds[1], ("const", kind, 2))
            if pick.random() < 0.3:
                bounds[0] = ("&", kind, self.leaf(kind), ("const", kind, 3))
        name = f"k{len(self.counters)}"
        self.counters.append((name, kind))
        body = self.statements(depth - 1)
        self.counters.pop()
        return ("loop", kind, name, *bounds, body)

    def program(self) -> Tree:
        body = self.statements(2) + self.statements(2)
        ends = tuple(self.value(kind, self.pick.randint(1, 6)) for kind in (SIGNED, UNSIGNED))
        return (body, *ends, self.value(UNSIGNED, self.pick.randint(1, 6)))

    def arrays(self) -> list[np.ndarray]:
        """a and b of both types, and the outputs i, u, f and counts."""
        inputs = []
        for kind, dtype in ((SIGNED, np.int32), (UNSIGNED, np.uint32)):
            for spread in (False, True):
                limits = np.iinfo(dtype)
                rows = [
                    self.pick.randint(limits.min, limits.max) if spread else self.number(kind) for _ in range(THREADS)
                ]
                inputs.append(np.array(rows, dtype))
        outputs = [np.zeros(THREADS, t) for t in (np.int32, np.uint32, np.float32)]
        return [*inputs, *outputs, np.zeros(4, np.uint32)]


def apply(op: str, values: list[object]) -> object:
    """An operator on values of the kernel."""
    functions: dict[str, Callable[..., object]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, *b: a - b[0] if b else -a,
        "*": lambda a, b: a * b,
        "//": lambda a, b: a // b,
        "%": lambda a, b: a % b,
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
        "<<": lambda a, b: a << b,
        ">>": lambda a, b: a >> b,
        "~": lambda a: ~a,
        "min": gpu.minimum,
        "max": gpu.maximum,
        "select": gpu.select,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
    }
    return functions[op](*values)


class Writer:
    """Writes a program out in the kernel that is being traced."""

    def __init__(self, loads: dict[tuple[str, str], object], registers: dict[str, object], counts: object) -> None:
        self.loads, self.registers, self.counts = loads, registers, counts
        self.counters: dict[str, object] = {}

    def value(self, tree: Tree) -> object:
        match tree:
            case ("const", kind, number):
                return gpu.constant(number, kind)
            case ("load", kind, name):
                return self.loads[kind, name]
            case ("register", kind, at):
                return self.registers[kind][at]
            case ("counter", _, name):
                return self.counters[name]
            case ("tid", _):
                return gpu.thread + 0
            case ("cast", kind, inner):
                return gpu.cast(self.value(inner), kind)
            case (op, _, *operands):
                return apply(op, [self.value(x) for x in operands])
        raise AssertionError(tree)

    def bound(self, given: object) -> object:
        return self.value(given) if isinstance(given, tuple) else given

    def block(self, block: Tree) -> None:
        for stmt in block:
            self.statement(stmt)

    def statement(self, stmt: Tree) -> None:
        match stmt:
            case ("set", kind, at, tree):
                self.registers[kind][at] = self.value(tree)
            case ("count", at, tree):
                gpu.atomic_add(self.counts, self.value(at) & 3, self.value(tree))
            case ("when", condition, body):
                with gpu.when(self.value(condition)):
                    self.block(body)
            case ("loop", _, name, start, stop, step, body):
                for counter in gpu.loop(self.bound(stop), start=self.bound(start), step=step):
                    self.counters[name] = counter
                    self.block(body)


@gpu.kernel
def integers(ia, ib, ua, ub, i, u, f, counts, *, program):
    gpu.launch(threads=THREADS)
    t = gpu.thread
    body, last_i, last_u, last_f = program
    loads = {(SIGNED, "a"): ia[t], (SIGNED, "b"): ib[t], (UNSIGNED, "a"): ua[t], (UNSIGNED, "b"): ub[t]}
    pair = ((2,), (0,))
    registers = {SIGNED: make_fragment_like(local_tile(ia, *pair)), UNSIGNED: make_fragment_like(local_tile(ua, *pair))}
    writer = Writer(loads, registers, counts)
    for kind, number in ((SIGNED, -5), (UNSIGNED, 9)):
        registers[kind][0] = loads[kind, "b"]
        registers[kind][1] = number
    writer.block(body)
    i[t] = writer.value(last_i)
    u[t] = writer.value(last_u)
    f[t] = gpu.cast(writer.value(last_f) >> 9, "f32")


class Python:
    """Runs a program for one thread on Python's integers."""

    def __init__(self, arrays: list[np.ndarray], thread: int) -> None:
        self.thread, self.counts = thread, arrays[7]
        names = [(kind, name) for kind in (SIGNED, UNSIGNED) for name in "ab"]
        self.loads = {name: int(array[thread]) for name, array in zip(names, arrays[:4], strict=True)}
        self.registers = {kind: [self.loads[kind, "b"], first] for kind, first in ((SIGNED, -5), (UNSIGNED, 9))}
        self.counters: dict[str, int] = {}

    def value(self, tree: Tree) -> int:
        match tree:
            case ("const", _, number):
                return int(number)
            case ("load", kind, name):
                return self.loads[kind, name]
            case ("register", kind, at):
                return self.registers[kind][at]
            case ("counter", _, name):
                return self.counters[name]
            case ("tid", _):
                return self.thread
            case ("cast", kind, inner):
                return wrap(self.value(inner), kind)
            case ("select", _, condition, then, other):
                return self.value(then) if self.value(condition) else self.value(other)
            case (("<<" | ">>") as op, kind, left, right):
                amount = self.value(right) & 31
                return wrap(self.value(left) << amount if op == "<<" else self.value(left) >> amount, kind)
            case (("//" | "%") as op, kind, left, right):
                x, y = self.value(left), self.value(right)
                return wrap((x if op == "//" else 0) if y == 0 else (x // y if op == "//" else x % y), kind)
            case (("min" | "max") as op, _, left, right):
                return (min if op == "min" else max)(self.value(left), self.value(right))
            case (op, kind, *operands):
                found = apply(op, [self.value(x) for x in operands])
                return int(found) if kind == "bool" else wrap(found, kind)
        raise AssertionError(tree)

    def block(self, block: Tree) -> None:
        for stmt in block:
            match stmt:
                case ("set", kind, at, tree):
                    self.registers[kind][at] = self.value(tree)
                case ("count", at, tree):
                    where = self.value(at) & 3
                    self.counts[where] = wrap(int(self.counts[where]) + self.value(tree), UNSIGNED)
                case ("when", condition, body):
                    if self.value(condition):
                        self.block(body)
                case ("loop", _, name, start, stop, step, body):
                    first, last = (self.value(b) if isinstance(b, tuple) else b for b in (start, stop))
                    for counter in range(first, last, step):
                        self.counters[name] = counter
                        self.block(body)


@gpu.kernel
def lanes(x, y, *, tree):
    """A program without control flow, on vectors of four."""
    gpu.launch(threads=THREADS // 4)
    source, target = (local_tile(t, (4,), (gpu.thread,)) for t in (x, y))
    transform(source, target, op=lambda v: Writer({(SIGNED, "a"): v, (SIGNED, "b"): v}, {}, None).value(tree))


@dataclass
class Case:
    kernel: KernelFunction
    arrays: list[np.ndarray]
    expected: list[np.ndarray]
    static: dict[str, object]


def case_of(seed: int) -> Case:
    """The kernel of a seed: every sixth is one on vectors."""
    draw = Draw(seed)
    if seed % 6 == 5:
        return _vector_case(draw)
    program, arrays = draw.program(), draw.arrays()
    expected = [a.copy() for a in arrays]
    for thread in range(THREADS):
        run = Python(expected, thread)
        body, last_i, last_u, last_f = program
        run.block(body)
        expected[4][thread], expected[5][thread] = run.value(last_i), run.value(last_u)
        expected[6][thread] = run.value(last_f) >> 9
    return Case(integers, arrays, expected, {"program": program})


def _vector_case(draw: Draw) -> Case:
    def plain(tree: object) -> object:
        """Loads of the one array in place of registers."""
        if not isinstance(tree, tuple):
            return tree
        if tree[0] in ("register", "tid") or (tree[0] == "load" and tree[1] == UNSIGNED):
            return ("load", SIGNED, "a") if tree[1] == SIGNED else ("const", UNSIGNED, 5)
        return tuple(map(plain, tree))

    tree = plain(draw.value(SIGNED, draw.pick.randint(2, 9)))
    assert isinstance(tree, tuple)
    x = draw.arrays()[draw.pick.randrange(2)]
    y = [Python([x] * 8, t) for t in range(THREADS)]
    expected = np.array([run.value(tree) for run in y], np.int32)
    return Case(lanes, [x, np.zeros_like(x)], [x.copy(), expected], {"tree": tree})


def cases(count: int, start: int = 0) -> Iterator[tuple[int, Case]]:
    for seed in range(start, start + count):
        yield seed, case_of(seed)
