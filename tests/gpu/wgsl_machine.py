"""Runs the text of a printed kernel, statement by statement, for all invocations at once: it reads WGSL, not the IR.

What a kernel that moves and multiplies numbers prints is understood, and nothing else: `let`, `var`, assignments, `if`,
`for`, barriers, storage and workgroup arrays of scalars and vectors, `fma`, and index arithmetic. Floats are float64.
Each access to an array is noted with the index of every invocation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from wgsl_reader import MASK, Reader, Value

TOKEN = re.compile(
    r"\s*(?:(\d+\.\d+(?:e[+-]\d+)?)|(\d+)[ui]|(vec[24]<\w+>)|(true|false)|([A-Za-z_]\w*)"
    r"|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^()<>!~,.\[\]]))"
)
ARRAY = re.compile(r"var<(storage|workgroup)[^>]*> (\w+): array<(\w+(?:<\w+>)?)(?:, (\d+))?>;")
BODY = re.compile(r"@compute @workgroup_size\(([\d, ]+)\)\nfn \w+\(.*?\) \{\n(.*)\n\}\n", re.DOTALL)
FOR = re.compile(r"for \(var (\w+) = (.*); \1 < (.*); \1(?:\+\+| \+= (.*))\) \{")


@dataclass
class Memory:
    """An array: `cells` is (elements,) in storage, (workgroups, elements) in workgroup memory."""

    cells: Value
    width: int
    shared: bool


@dataclass
class Access:
    """One access in the text: which elements each invocation touches, first to last, and which invocations do."""

    name: str
    write: bool
    first: Value
    width: int
    active: Value


@dataclass
class Machine:
    """`Machine(text, grid, {"x": array})`, then `run()`: storage arrays are flat, and changed in place.

    `params` are the members of the uniform buffer."""

    text: str
    grid: tuple[int, int, int]
    storage: dict[str, Value]
    params: Mapping[str, float] = field(default_factory=dict)
    accesses: list[Access] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines: list[str] = []
        found = BODY.search(self.text)
        assert found, "no entry point"
        self.lines = [line.strip() for line in found[2].split("\n")]
        threads = int(np.prod([int(n) for n in found[1].split(",")]))
        group = np.arange(int(np.prod(self.grid)))[:, None]
        x, y, _ = self.grid
        ids = {"group.x": group % x, "group.y": group // x % y, "group.z": group // (x * y)}
        self.shape = (len(group), threads)
        self.env: dict[str, Value] = {**ids, "tid": np.arange(threads)[None, :]}
        self.memory: dict[str, Memory] = {}
        for space, name, element, length in ARRAY.findall(self.text):
            width = int(element[3]) if element.startswith("vec") else 1
            if space == "storage":
                self.memory[name] = Memory(self.storage[name], width, False)
            else:
                self.memory[name] = Memory(np.full((len(group), int(length) * width), np.nan), width, True)

    def run(self) -> Machine:
        """Every statement, in order."""
        assert self.block(0, np.ones(self.shape, bool)) == len(self.lines)
        return self

    def block(self, at: int, active: Value) -> int:
        """Run the lines from `at` up to the brace that ends the block; returns the line after it."""
        while at < len(self.lines):
            line = self.lines[at]
            if line.startswith("}"):
                return at
            at += 1
            if line.startswith("if ("):
                condition = np.broadcast_to(self.read(line[4:-3], active), self.shape).astype(bool)
                at = self.block(at, active & condition)
                if self.lines[at] == "} else {":
                    at = self.block(at + 1, active & ~condition)
                assert self.lines[at] == "}", self.lines[at]
                at += 1
            elif line.startswith("for ("):
                at = self.loop(line, at, active)
            elif line and not line.startswith(("//", "workgroupBarrier")):
                self.statement(line.removesuffix(";"), active)
        return at

    def loop(self, line: str, at: int, active: Value) -> int:
        match = FOR.fullmatch(line)
        assert match, line
        name, start, stop, step = match.groups()
        value, end = self.read(start, active), at
        while True:
            self.env[name] = value
            going = active & np.broadcast_to(value < self.read(stop, active), self.shape)
            if not going.any():
                break
            end = self.block(at, going)
            value = value + (self.read(step, active) if step else 1)
        if end == at:
            end = self.skip(at)
        return end + 1

    def skip(self, at: int) -> int:
        depth = 0
        while depth or not self.lines[at].startswith("}"):
            depth += self.lines[at].endswith("{") - self.lines[at].startswith("}")
            at += 1
        return at

    def statement(self, line: str, active: Value) -> None:
        declared = re.fullmatch(r"var (\w+): (\w+)(?:<\w+>)?", line)
        if declared:
            lanes = int(declared[2][3]) if declared[2].startswith("vec") else 1
            self.env[declared[1]] = np.zeros(self.shape if lanes == 1 else (lanes, *self.shape))
            return
        named = re.fullmatch(r"(?:let|var) (\w+) = (.*)", line)
        if named:
            value = self.read(named[2], active)
            self.env[named[1]] = value
            return
        target, _, source = line.partition(" = ")
        value = self.read(source, active)
        name, bracket, index = target.partition("[")
        if bracket:
            self.store(name, self.read(index.removesuffix("]"), active), value, active)
        else:
            target, _, lane = target.partition(".")
            old = self.env[target]
            if lane:
                old = np.broadcast_to(old, (len(old), *self.shape))
                value = np.where(np.arange(len(old))[:, None, None] == "xyzw".index(lane), value, old)
            self.env[target] = np.where(
                active, np.broadcast_to(value, np.broadcast_shapes(old.shape, value.shape)), old
            )

    def read(self, text: str, active: Value) -> Value:
        reader = Text(text, self, active)
        value = reader.expression()
        assert not reader.rest, f"{reader.rest} is left of {text!r}"
        return value

    def places(self, name: str, index: Value, active: Value, *, write: bool) -> tuple[Memory, Value, Value]:
        memory = self.memory[name]
        first = np.broadcast_to(index * memory.width, self.shape)
        self.accesses.append(Access(name, write, first, memory.width, active))
        length = -(-memory.cells.shape[-1] // memory.width) * memory.width
        assert (first[active] >= 0).all() and (first[active] + memory.width <= length).all(), f"{name} left its array"
        lanes = np.arange(memory.width)[:, None, None]
        return (
            memory,
            np.where(active, first + lanes, 0),
            np.broadcast_to(np.arange(self.shape[0])[:, None], self.shape),
        )

    def load(self, name: str, index: Value, active: Value) -> Value:
        memory, at, group = self.places(name, index, active, write=False)
        padded = np.pad(memory.cells, [(0, 0)] * (memory.cells.ndim - 1) + [(0, memory.width)])
        found = padded[np.broadcast_to(group, at.shape), at] if memory.shared else padded[at]
        return found if memory.width > 1 else found[0]

    def store(self, name: str, index: Value, value: Value, active: Value) -> None:
        memory, at, group = self.places(name, index, active, write=True)
        values = np.broadcast_to(value if memory.width > 1 else value[None], at.shape)
        keep = np.broadcast_to(active, at.shape) & (at < memory.cells.shape[-1])
        where = (np.broadcast_to(group, at.shape)[keep], at[keep]) if memory.shared else at[keep]
        memory.cells[where] = values[keep]


class Text(Reader):
    """The reader of expressions, with arrays, vectors and floats."""

    def __init__(self, text: str, machine: Machine, active: Value) -> None:
        self.rest, self.text, at = [], text, 0
        self.machine, self.active = machine, active
        while at < len(text.rstrip()):
            match = TOKEN.match(text, at)
            assert match, f"cannot read {text[at:]!r}"
            self.rest.append(match[0].strip())
            at = match.end()

    def additive(self) -> tuple[Value, bool]:
        value, simple = self.multiplicative()
        while self.peek() in ("+", "-"):
            op = self.take()
            other, _ = self.multiplicative()
            total = value + other if op == "+" else value - other
            value, simple = total if total.dtype.kind == "f" else total & MASK, False
        return value, simple

    def multiplicative(self) -> tuple[Value, bool]:
        value, simple = self.unary(), True
        while self.peek() in ("*", "/", "%"):
            op = self.take()
            other, simple = self.unary(), False
            if "f" in (value.dtype.kind, other.dtype.kind):
                value = value * other if op == "*" else value / other
            else:
                value = value * other & MASK if op == "*" else value // other if op == "/" else value % other
        return value, simple

    def unary(self) -> Value:
        token = self.rest[0]
        if token == "-":
            self.take()
            return -self.unary()
        if re.fullmatch(r"\d+\.\d+(e[+-]\d+)?", token):
            return np.full((1, 1), float(self.take()))
        if token.startswith("vec"):
            return self.vector(int(self.take()[3]))
        if token in ("fma", "f32"):
            return self.function(self.take())
        if re.fullmatch(r"[A-Za-z_]\w*", token) and token not in ("true", "false", "min", "max", "select"):
            return self.name(self.take())
        value = super().unary()
        while self.peek() == ".":
            self.take()
            value = value["xyzw".index(self.take())]
        return value

    def arguments(self) -> list[Value]:
        self.take("(")
        found = [self.expression()]
        while self.peek() == ",":
            self.take()
            found.append(self.expression())
        self.take(")")
        return found

    def vector(self, lanes: int) -> Value:
        items = self.arguments()
        assert len(items) in (1, lanes), self.text
        return np.stack(np.broadcast_arrays(*items * (lanes if len(items) == 1 else 1)))

    def function(self, name: str) -> Value:
        items = self.arguments()
        return items[0] * items[1] + items[2] if name == "fma" else items[0].astype(np.float64)

    def name(self, name: str) -> Value:
        if name == "group":
            self.take(".")
            return self.machine.env[f"group.{self.take()}"]
        if name == "params":
            self.take(".")
            return np.full(self.machine.shape, self.machine.params[self.take()])
        if name in self.machine.memory:
            self.take("[")
            value = self.machine.load(name, self.expression(), self.active)
            self.take("]")
        else:
            value = self.machine.env[name]
        while self.peek() in (".", "["):
            if self.take() == ".":
                value = value["xyzw".index(self.take())]
            else:
                lane = self.expression()
                self.take("]")
                lane = np.broadcast_to(lane, value.shape[1:])
                value = np.take_along_axis(value, lane[None], 0)[0]
        return value
