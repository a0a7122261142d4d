"""Random programs of control flow, and whether engines agree with plain Python on them; a seed is a program."""

import linecache
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import one_thread
from proof_checker import check_function

from cutepy import gpu
from cutepy.errors import CutepyError
from cutepy.gpu.ir import check, new_arena
from cutepy.gpu.lower import lower

THREADS = 16
HEAD = """
from cutepy import gpu


def helper(a, i):
    with gpu.when(a > 2.0):
        a = a - 1.5
        i = i + 1
    for h in gpu.loop(i % 3):
        a = a * 0.5 + h_of(h)
    return a


def h_of(h):
    return gpu.cast(h, "f32")


"""
KERNEL = """

def program(x, n, y):
    gpu.launch(threads=THREADS)
    t = gpu.thread
"""
FOUND = """
def found(a, b, i, x, n, t):
    c, j, w, flag = 0.5, 1, 2, False
"""
TAIL = """    y[t] = a + b * 2.0 + c * 4.0 + gpu.cast(i % 8, "f32") + gpu.cast(j, "f32") + gpu.cast(w, "f32")
    y[t] = y[t] + gpu.select(flag, 16.0, gpu.constant(0.0, "f32"))
"""


@dataclass
class Writer:
    """Writes statements over floats a, b, c, small integers i and j, a Python integer w and a truth value."""

    pick: random.Random
    lines: list[str] = field(default_factory=list)
    loops: int = 0
    turns: int = 1
    around: int = 0
    returns: bool = False

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def floating(self) -> str:
        p = self.pick
        simple = [*"abc", "x[t]", f"x[{self.integer()} % {THREADS}]", p.choice(["0.5", "1.0", "2.25"])]
        left, right = p.choice(simple[:5]), p.choice(simple)
        forms = [f"{left} * 0.5 + {right}", f"{left} - {right}", f"gpu.maximum({left}, {right} + a)", left]
        return p.choice([*forms, f"({left} if {self.condition(0)} else {right})"])

    def integer(self) -> str:
        return self.pick.choice(["i", "j", "t", "n[t]", "3", "(i + 2)", "(i * 3 + t)", "(j + i)", *self.counters()])

    def counters(self) -> list[str]:
        return [f"k{n}" for n in self.inside]

    @property
    def inside(self) -> list[int]:
        return self._inside

    _inside: list[int] = field(default_factory=list)

    def condition(self, depth: int = 1) -> str:
        p = self.pick
        if depth and p.random() < 0.3:
            first, second = self.condition(0), self.condition(0)
            return p.choice(
                [f"{first} and {second}", f"({first}) or ({second})", f"not ({first})", f"0 < {p.choice('abc')} <= b"]
            )
        return p.choice(
            [
                f"{p.choice('abc')} > {p.choice('abc')}",
                f"{p.choice('abc')} < x[{self.integer()} % {THREADS}]",
                f"{self.integer()} % {p.randint(2, 4)} == {p.randint(0, 1)}",
                f"t < {p.randint(0, THREADS)}",
                f"(t > {p.randint(0, 5)}) & (a < 3.0)",
                "j < 2",
            ]
        )

    def statement(self, depth: int) -> None:
        p, kind = self.pick, self.pick.random()
        if kind < 0.35 or depth > 2:
            self.simple(depth)
        elif kind < 0.57:
            word = p.choice(["if {}:", "with gpu.when({}):"])
            self.put(depth, word.format(self.condition()))
            self.block(depth + 1)
            for other in ["elif {}:"] * p.randint(0, 2) + ["else:"] * p.randint(0, 1):
                if word.startswith("if"):
                    self.put(depth, other.format(self.condition()))
                    self.block(depth + 1)
        elif kind < 0.65:
            self.leave(depth)
        elif kind < 0.76 and self.turns <= 16:
            self.turning(depth)
        elif kind < 0.92 and self.turns <= 16:
            count = p.choice(["0", "1", "3", "4", "i % 4", "t % 3", "n[t] % 4", "5, start=1, step=2", "4, start=i % 3"])
            self.loops += 1
            number, before = self.loops, self.turns
            self.put(depth, f"for k{number} in gpu.loop({count}):")
            self._inside.append(number)
            self.turns *= 4
            self.loop_body(depth)
            self.turns = before
            self._inside.pop()
            self.otherwise(depth)
        else:
            self.put(depth, f"for u in range({p.randint(1, 3)}):")
            self.put(depth + 1, "b = b + u")
            self.loop_body(depth)
            self.otherwise(depth)

    def turning(self, depth: int) -> None:
        """A `while`, of a kind that ends."""
        p = self.pick
        self.loops += 1
        number, before = self.loops, self.turns
        bound = p.choice(["3", "i % 4", "n[t] % 5", "(t % 3)"])
        form = p.choice(["up", "up", "down", "bounded", "ever", "shift", "searched"])
        self.put(depth, f"r{number} = {bound if form == 'down' else 't + 5' if form == 'shift' else '0'}")
        if form == "up":
            more = p.choice(["", f" and {self.condition(0)}", f" and not ({self.condition(0)})"])
            self.put(depth, f"while r{number} < {bound}{more}:")
        elif form == "bounded":
            self.put(depth, f"while gpu.at_most({p.choice(['3', '4', 'n[t] % 4'])}, {self.condition()}):")
        elif form == "searched":
            self.put(depth, f"while x[(t + r{number}) % {THREADS}] > {p.choice('abc')} and r{number} < 6:")
        else:
            test = {"down": f"r{number} > 0", "shift": f"r{number} > 1", "ever": "True"}[form]
            self.put(depth, f"while {test}:")
        step = {"down": "r{0} -= 1", "shift": "r{0} = r{0} // 2"}.get(form, "r{0} += 1")
        self.put(depth + 1, step.format(number))
        if form == "ever":
            self.put(depth + 1, f"if r{number} > {bound}:")
            self.put(depth + 2, "break")
        self.turns *= 4
        self.loop_body(depth)
        self.turns = before
        if form != "bounded":
            self.otherwise(depth)

    def loop_body(self, depth: int) -> None:
        self.around += 1
        self.block(depth + 1)
        self.around -= 1

    def otherwise(self, depth: int) -> None:
        if self.pick.random() < 0.2:
            self.put(depth, "else:")
            self.put(depth + 1, "c = c + 1.5")
            if self.around:
                self.leave(depth + 1)

    def leave(self, depth: int) -> None:
        """`break`, `continue` or `return`, in some threads as a rule."""
        p = self.pick
        words = ["break", "break", "continue", "continue", "return"] if self.around else ["return"]
        word = p.choice(words)
        if word == "return" and self.returns:
            word = p.choice([f"return {p.choice('abc')}", f"return {self.floating()}", "return 2.5"])
        if depth and word in ("break", "continue") and p.random() < 0.05:
            self.put(depth, word)
            return
        self.put(depth, p.choice(["if {}:", "with gpu.when({}):"]).format(self.condition()))
        if p.random() < 0.4:
            self.simple(depth + 1)
        self.put(depth + 1, word)

    def simple(self, depth: int) -> None:
        p = self.pick
        name = p.choice("abc")
        self.put(
            depth,
            p.choice(
                [
                    f"{name} = {self.floating()}",
                    f"{name} += {self.floating()}",
                    f"i = ({self.integer()}) % {p.randint(2, 9)}",
                    f"j = (j + {p.randint(1, 3)}) % {p.randint(2, 5)}",
                    f"w = w - {p.randint(1, 3)}",
                    "j = j // 2",
                    "a, b = b, a",
                    "flag = a > b",
                    "flag = True",
                    f"{name} = helper({name}, i)",
                    *(
                        []
                        if self.returns or p.random() < 0.6
                        else [f"{name} = found({name}, {p.choice('abc')}, i, x, n, t)"]
                    ),
                    f"s = {self.floating()}; {name} = s * 0.25",
                    "pair = (a, b); pair = (pair[1] * 0.5, pair[0]); c = pair[0] - pair[1]",
                ]
            ),
        )

    def block(self, depth: int) -> None:
        for _ in range(self.pick.randint(1, 3)):
            self.statement(depth)


@dataclass
class Numbers(Writer):
    """Writes statements over Python's own integers v and w, which go below 0 and meet values of the GPU; with `again`
    in the turns u of a loop that Python unrolls."""

    again: bool = False

    def integer(self) -> str:
        p = self.pick
        left, right = p.choice("vw"), p.choice(["v", "w", "1", "2", "5"])
        forms = [f"({left} - {right})", f"({left} + {right})", f"-{left}", f"({left} * 3 - {right}) % 7", left]
        return p.choice([*forms, f"({left} - {right}) // 2", f"abs({left} - 3)", f"gpu.minimum({left}, {right} - 1)"])

    def condition(self, depth: int = 1) -> str:
        p = self.pick
        forms = [f"{p.choice('vw')} < {p.randint(-2, 3)}", f"{self.integer()} >= {self.integer()}", "x[t] > 3.0"]
        forms += [f"t < {p.randint(0, THREADS)}", f"(gpu.cast(t, 'i32') + {self.integer()}) % 3 == 1"]
        if self.again and p.random() < 0.3:
            return p.choice(["u == 0", "u > 0", "u < 2", "v >= 2", "w >= 3", "v < 2"])
        met = [f"n[t] > {self.integer()}", f"(t + 64 + {self.integer()}) % 3 == 1"]  # refused where it may lie below 0
        return p.choice(forms if p.random() < 0.97 else met)

    def turning(self, depth: int) -> None:
        """Also a `while` over one of these, which falls until it ends."""
        p = self.pick
        if not self.again or p.random() < 0.3:
            super().turning(depth)
            return
        name = p.choice("vw")
        self.put(
            depth, f"while {p.choice(['n[t] % 3 > 0', 'x[t] > 1.0', 't % 3 > 0'])} and {name} >= {p.randint(1, 4)}:"
        )
        self.put(depth + 1, p.choice([f"{name} = {name} // 2", f"{name} = {name} - 1", f"{name} -= {p.randint(1, 3)}"]))
        self.put(depth, f"{name} = {name} + {p.randint(0, 3)}")

    def simple(self, depth: int) -> None:
        p = self.pick
        name, value, other = p.choice("vw"), self.integer(), self.integer()
        bounded = f"{name} = ({value}) % {p.randint(2, 9)} - {p.randint(0, 4)}"
        chosen = f"{name} = {p.randint(-3, 3)} if {self.condition(0)} else {p.choice('vw')}"
        picked = f"{name} = gpu.select({self.condition(0)}, {p.choice('vw')}, {p.randint(-3, 3)})"
        floats = f"a = a * 0.25 + gpu.cast({value}, 'f32')", f"a = x[t] * ({other}) + a * 0.5"
        self.put(depth, p.choice([bounded, bounded, chosen, picked, *floats, "v, w = w, v", f"w = {p.randint(-2, 2)}"]))


def numbers(seed: int, turns: int = 0) -> str:
    """The text of a program about Python's integers; with `turns` in a loop of so many turns that Python unrolls."""
    pick = random.Random(seed)
    writer = Numbers(pick, again=turns > 0)
    for line in ("a = x[t]", "b = c = 0.5", "i = j = 1", f"v = {pick.randint(-2, 4)}", f"w = {pick.randint(-2, 4)}"):
        writer.put(0, line)
    if turns:
        writer.put(0, f"for u in range({turns}):")
    for _ in range(pick.randint(2, 5)):
        writer.statement(int(turns > 0))
    writer.put(0, 'y[t] = a + gpu.cast(w - 3, "f32") * 64.0 + gpu.cast(v * 2 - 5, "f32") * 1024.0')
    return HEAD + KERNEL.replace("THREADS", str(THREADS)) + "\n".join(writer.lines) + "\n"


def met_again(seed: int) -> str:
    """The text of such a program whose statements Python meets three times, each time from other values."""
    return numbers(seed, turns=3)


#: Iterators of Python's, each endless or of more items than a program takes.
ITERATORS = (
    "iter([*range(20)])", "iter(dict.fromkeys(range(20)))", "iter(range(20))", "counted(20)",
    "naturals()", "(p * 2 for p in range(20))", "(p + 1 for p in [1, 1, 2, 2, 3, 3, 4] * 3)", "both(20)",
    "of_another()",
    "itertools.count()", "itertools.cycle([1, 2, 5])", "itertools.chain([1, 2, 3], [*range(20)])",
    "itertools.islice([*range(20)], 20)", "itertools.accumulate([*range(20)])",
    "itertools.chain.from_iterable([[1, 2], [3, 4], range(20)])", "map(abs, itertools.cycle([1, 4, 2]))",
    "itertools.starmap(max, [(1, 2), (5, 3), (4, 4), (1, 7), (2, 2), (0, 9)] * 3)",
    "map(sum, itertools.product([1, 2, 5], [2, 3, 4], [0, 1]))",
    "map(max, itertools.permutations([1, 2, 3, 4], 3))", "itertools.tee([*range(20)])[0]",
    "map(sum, zip([*range(20)], itertools.count()))", "map(sum, enumerate(itertools.cycle([3, 2])))",
    "filter(None, itertools.cycle([0, 1, 2]))", "reversed([*range(20)])", "iter(([1, 5, 2, 7, 3, 4] * 3).pop, 0)",
    "Wrapped([*range(20)])", "noted(log, 20)", "iter(collections.deque([4, 2, 3, 1, 5, 6] * 3))",
)  # fmt: skip
OF_ITERATORS = """
import collections
import itertools


def counted(n):
    for k in range(n):
        yield k * 3


def naturals():
    k = 0
    while True:
        k = k + 1
        yield k


def both(n):
    yield from counted(n)


def noted(log, n):
    for k in range(n):
        log[0] = log[0] + k
        yield k + 1


def of_another():
    total = 1

    def run():
        nonlocal total
        while True:
            total = total + 2
            yield total

    return run()


class Wrapped:
    def __init__(self, values):
        self.values = iter(values)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.values)
"""


def iterators(seed: int) -> str:
    """The text of a program that takes items of an iterator before a block, in it and after it."""
    pick = random.Random(seed)
    held = pick.choice(["{}", "{}", "[{}, 0]", "dict(g={})"])
    take = "next({})".format({"{}": "g", "[{}, 0]": "g[0]"}.get(held, "g['g']"))
    lines = ["    log = [0]", f"    g = {held.format(pick.choice(ITERATORS))}", "    a, k = x[t], 0"]
    lines += [f"    a = a + {take}"] * pick.randint(0, 2)
    inside = pick.choice([f"a = a + {take}", f"a = a * 0.5 + {take}", f"b = {take}", "a = a + 1.0"])
    block = pick.choice([
        "if x[t] > 3.0:", "with gpu.when(x[t] > 3.0):", "for _ in range(n[t] % 3):", "while k < n[t] % 3:",
        "for u in range(2):",
        f"a = a + ({take} if x[t] > 3.0 else 0)", f"for u, v in zip(range(3), {take[5:-1]}):",
    ])  # fmt: skip
    lines += [f"    {block}", *([f"        {inside}", "        k = k + 1"] if block[-1] == ":" else [])]
    if "for u" in block:
        lines += [
            f"        if x[t] > {pick.choice(['k', '2', 'u + 1.0'])}:",
            f"            {pick.choice(['break', 'continue'])}",
        ]
    lines += [f"    a = a * 4.0 + {take}"] * pick.randint(0, 2)
    return (
        OF_ITERATORS + HEAD + KERNEL.replace("THREADS", str(THREADS)) + "\n".join([*lines, "    y[t] = a + k"]) + "\n"
    )


def program(seed: int) -> str:
    """The text of a program."""
    pick = random.Random(seed)
    writer = Writer(pick)
    for line in (
        "y[t] = 0.25",
        "a = x[t]",
        "b = 0.0",
        "c = x[0] * 0.5",
        f"j = {pick.randint(0, 3)}",
        f"w = {pick.randint(0, 4)}",
    ):
        writer.put(0, line)
    writer.put(0, pick.choice(["i = n[t] % 5", "i = 2", "i = t", "i = 0"]))
    writer.put(0, "flag = False")
    for _ in range(pick.randint(2, 5)):
        writer.statement(0)
    called = Writer(pick, returns=True)
    for _ in range(pick.randint(1, 2)):
        called.statement(0)
    text = HEAD + FOUND + "\n".join(called.lines) + "\n    return a + c\n" + KERNEL.replace("THREADS", str(THREADS))
    return text + "\n".join(writer.lines) + "\n" + TAIL


OWN = """
class Kept(list):
    def __setitem__(self, at, value):
        list.__setitem__(self, at, value * 0.5)


class Own:
    def __init__(self):
        self.w = 0

    @property
    def w(self):
        return self.low - 1

    @w.setter
    def w(self, value):
        self.low = value + 1


"""


def held(seed: int) -> str:
    """The same program with some of its names as an item of a list, one of a dictionary, and an attribute; the list and
    the attribute are a user's, and do more than keep what they are given."""
    head, called = program(seed).split("\ndef found", 1)
    for name, place in ("c", "kept[0]"), ("j", 'named["j"]'), ("w", "own.w"):
        called = re.sub(rf"\b{name}\b", place, called)
    made = '    kept, named, own = Kept([0.0]), {"j": 0}, Own()'
    for line in ("(a, b, i, x, n, t):", f"gpu.launch(threads={THREADS})"):
        called = called.replace(line, f"{line}\n{made}", 1)
    return f"{head}{OWN}def found{called}"


def outcome(seed: int, *, device: bool = False, write: Callable[[int], str] = program) -> str:
    """What the interpreter and, if asked, the default device make of a program: right, refused, or wrong, and how."""
    text, file = write(seed), f"<program {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    g = np.random.default_rng(seed)
    x, n = (g.integers(0, 32, THREADS) / 4).astype(np.float32), g.integers(0, 50, THREADS, np.uint32)
    wanted = np.zeros(THREADS, np.float32)
    with np.errstate(all="ignore"):
        one_thread.run(one_thread.functions_of(text, file), "program", x, n, wanted, threads=THREADS)
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    kernel = gpu.kernel(names["program"])  # type: ignore[arg-type]
    found = [np.zeros(THREADS, np.float32) for _ in range(2)]
    try:
        kernel.interpret(x.copy(), n.copy(), found[0])
        with new_arena():
            check(lower(kernel.ir(x, n, found[1])))  # what is printed uses no name where nothing binds it
        check_function(kernel, x, n, found[1])
        if device:
            kernel(x.copy(), n.copy(), found[1])
    except CutepyError as error:
        return f"refused: {error}"
    finally:
        del linecache.cache[file]
    if not np.allclose(found[0], wanted, rtol=1e-4, atol=1e-4, equal_nan=True):  # Python computes in doubles
        return f"wrong: the interpreter gives {found[0]}, plain Python {wanted}"
    if device and not np.allclose(found[1], wanted, rtol=1e-4, atol=1e-4, equal_nan=True):
        return f"wrong: the device gives {found[1]}, plain Python {wanted}"
    return "right"
