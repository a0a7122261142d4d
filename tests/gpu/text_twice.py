"""What a printed kernel does twice: values computed, elements loaded that nobody writes, guards that always hold.

It reads the text alone, as a person would. A value is a tree of operators over names; a `let` is one value, a `var` one
for each time it may have been set; what is loaded from an array that the kernel changes is a new value each time. A
value counts where it is sure to be computed: in the block of its statement, and in the blocks inside that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from wgsl_reader import read

TOKEN = re.compile(
    r"\s*(\d+\.\d*(?:e[+-]?\d+)?[hf]?|\d+[uihf]?|subgroup\w+<[\w<>, ]+>(?=\()|[A-Za-z_]\w*(?:<[\w<>]+>(?=\())?"
    r"|<<|>>|<=|>=|==|!=|&&|\|\||.)"
)
LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    tuple("*/%"),
)
SPACE = re.compile(r"var<(storage, read|storage, read_write|workgroup)> (\w+):")
NUMBER = re.compile(r"\d")
WORDS = {"u32", "i32", "bitcast<u32>", "bitcast<i32>", "bitcast<f32>"}

Tree = tuple[object, ...]


class Parser:
    """Expressions as trees: ("name", n), ("number", t), (operator, left, right), ("call", f, ...), ("at", array, i),
    ("part", vector, lane)."""

    def __init__(self, text: str) -> None:
        self.rest = TOKEN.findall(text)

    def peek(self) -> str:
        return self.rest[0] if self.rest else ""

    def tree(self, level: int = 0) -> Tree:
        if level == len(LEVELS):
            return self.unary()
        left = self.tree(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.rest.pop(0)
            left = (op, left, self.tree(level + 1))
        return left

    def unary(self) -> Tree:
        token = self.rest.pop(0)
        if token in "-!~&" and token:
            return (token, self.unary())
        if token == "(":
            found = self.tree()
            self.rest.pop(0)
        elif NUMBER.match(token):
            found = ("number", token)
        elif self.peek() == "(":
            self.rest.pop(0)
            arguments: list[Tree] = []
            while self.peek() != ")":
                arguments.append(self.tree())
                if self.peek() == ",":
                    self.rest.pop(0)
            self.rest.pop(0)
            found = ("call", token, *arguments)
        else:
            found = ("name", token)
        while self.peek() in (".", "["):
            if self.rest.pop(0) == ".":
                found = ("part", found, self.rest.pop(0))
            else:
                found = ("at", found, self.tree())
                self.rest.pop(0)
        return found


@dataclass
class Block:
    """What is sure to have been computed and loaded in a block so far, and loaded in a branch of it."""

    outer: Block | None
    condition: object = None
    values: set[object] = field(default_factory=set)
    loads: set[object] = field(default_factory=set)
    branches: set[object] = field(default_factory=set)

    def chain(self) -> Iterator[Block]:
        block: Block | None = self
        while block is not None:
            yield block
            block = block.outer


class Text:
    """`faults` of one printed kernel. A comparison of ids is tried for all of them; that one follows from another is
    not seen."""

    def __init__(self, text: str, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
        spaces = {name: space for space, name in SPACE.findall(text)}
        self.frozen = {name for name, space in spaces.items() if space == "storage, read"}
        self.arrays = set(spaces)
        body = text[text.index("@compute") :]
        # A subgroup's number is a built-in value, told by a broadcast where a compiler doubts that it is uniform.
        lines = [line.strip() for line in body[body.index("{") + 1 :].splitlines()[1:-1]]
        self.lines = [line for line in lines if not line.startswith("let subgroup = subgroupBroadcastFirst(")]
        self.versions: dict[str, int] = {}
        self.fresh = count()
        self.faults: list[str] = []
        threads = int(np.prod([int(n) for n in re.findall(r"\d+", body[: body.index(")")])]))
        group = np.arange(int(np.prod(grid)))[:, None]
        ids = {"x": group % grid[0], "y": group // grid[0] % grid[1], "z": group // (grid[0] * grid[1])}
        self.known: dict[str, object] = {f"group_{axis}": value for axis, value in ids.items()}
        self.known["tid"] = np.arange(threads)[None, :]
        self.block(0, Block(None))

    def block(self, at: int, here: Block) -> int:
        """Read the lines of a block from `at`; returns the line that ends it."""
        while at < len(self.lines) and not self.lines[at].startswith("}"):
            line = self.lines[at]
            at += 1
            if match := re.fullmatch(r"if \((.*)\) \{", line):
                at = self.branch(match[1], at, here)
            elif line.endswith("{"):
                at = self.loop(line, at, here)
            elif line and not line.startswith("//"):
                self.statement(line.removesuffix(";"), here)
        return at

    def branch(self, text: str, at: int, here: Block) -> int:
        condition = self.value(Parser(text).tree(), here)
        if condition in {block.condition for block in here.chain()} or text in ("true", "false"):
            self.faults.append(f"a guard that is known: {text}")
        holds = self.decided(text)
        if holds is not None and not re.search(r"&&|\|\||!\(", text) and (holds.all() or not holds.any()):
            self.faults.append(f"a guard that always or never holds: {text}")
        then = Block(here, condition)
        start = dict(self.versions)
        at = self.block(at, then)
        arms = [then]
        if self.lines[at] == "} else {":
            changed = dict(self.versions)
            self.versions = start
            orelse = Block(here, ("!", condition))
            at = self.block(at + 1, orelse)
            self.versions = {
                name: next(self.fresh) if changed.get(name) != v else v for name, v in self.versions.items()
            }
            arms.append(orelse)
            for load in then.loads & orelse.loads:
                self.faults.append(f"both arms load {load}")
        for arm in arms:
            here.branches |= arm.loads | arm.branches
        self.bump(start)
        return at + 1

    def loop(self, line: str, at: int, here: Block) -> int:
        match = re.fullmatch(r"for \(var (\w+) = (.*); \1 < (.*); \1(?:\+\+| \+= (.*))\) \{", line)
        end, depth = at, 1
        while depth:
            depth += self.lines[end].endswith("{") - self.lines[end].startswith("}")
            end += 1
        for name in {m[1] for one in self.lines[at:end] if (m := re.match(r"(\w+)(?:\.\w)? = ", one))}:
            self.versions[name] = next(self.fresh)
        inside = Block(here)
        if match:
            self.value(Parser(match[2]).tree(), here)
            self.versions[match[1]] = next(self.fresh)
            self.value(Parser(match[3]).tree(), inside)
        start = dict(self.versions)
        at = self.block(at, inside)
        here.branches |= inside.loads | inside.branches
        self.bump(start)
        return at + 1

    def bump(self, start: dict[str, int]) -> None:
        """What a block may have set is another value after it."""
        for name, version in self.versions.items():
            if start.get(name) != version:
                self.versions[name] = next(self.fresh)

    def statement(self, line: str, here: Block) -> None:
        if match := re.fullmatch(r"(let|var) (\w+) = (.*)", line):
            self.value(Parser(match[3]).tree(), here)
            if match[1] == "var":
                self.versions[match[2]] = next(self.fresh)
            elif (found := self.decided(match[3])) is not None:
                self.known[match[2]] = found
        elif match := re.fullmatch(r"var (\w+): .*", line):
            self.versions[match[1]] = next(self.fresh)
        elif match := re.fullmatch(r"(\w+)(?:\.\w)? = (.*)", line):
            self.value(Parser(match[2]).tree(), here)
            self.versions[match[1]] = next(self.fresh)
        elif match := re.fullmatch(r"(\w+)\[(.*)\] = (.*)", line):
            self.value(Parser(match[2]).tree(), here)
            self.value(Parser(match[3]).tree(), here)
        elif line != "break":
            self.value(Parser(line).tree(), here)

    def decided(self, text: str) -> np.ndarray | None:
        """Whether a condition of ids alone holds, or what a number made of them is, in each invocation."""
        try:
            return np.asarray(read(re.sub(r"\bgroup\.", "group_", text), self.known))
        except (KeyError, AssertionError, ValueError, IndexError):
            return None

    def value(self, tree: Tree, here: Block) -> object:
        """What stands for the value of `tree`; faults where it, or a part of it, is known."""
        kind, *parts = tree
        if kind == "number":
            return tree
        if kind == "name":
            return ("name", parts[0], self.versions.get(str(parts[0]), -1))
        if kind == "part":
            return ("part", self.value(parts[0], here), parts[1])
        if kind == "at":
            array, index = parts[0][1], self.value(parts[1], here)
            if array not in self.arrays:
                return ("at", self.value(parts[0], here), index)
            if array not in self.frozen:
                return ("loaded", next(self.fresh))
            load = ("load", array, index)
            if any(load in block.loads for block in here.chain()) or load in here.branches:
                self.faults.append(f"loaded twice: {array}[{parts[1]}]")
            here.loads.add(load)
            return load
        values = [self.value(x, here) for x in (parts[1:] if kind == "call" else parts)]
        known = (kind, parts[0] if kind == "call" else None, *values)
        if kind == "call" and re.match(r"atomic|subgroup[A-Z]", str(parts[0])):
            return ("loaded", next(self.fresh))
        if not is_plain(tree):
            if any(known in block.values for block in here.chain()):
                self.faults.append(f"computed twice: {tree}")
            here.values.add(known)
        return known


def is_plain(tree: Tree) -> bool:
    """Whether a name for it would save nothing: what has no operands, a name and a number more, a change of sign or of
    an integer's type, the same number in each lane."""
    kind, *parts = tree
    leaves = [x for x in parts if isinstance(x, tuple)]
    simple = all(is_leaf(x) for x in leaves)
    if kind == "call":
        return str(parts[0]).startswith("vec") or (parts[0] in WORDS and simple) or not leaves
    if len(leaves) == 1:
        return True
    return kind in ("+", "-") and leaves[1][0] == "number" and "." not in str(leaves[1][1])


def is_leaf(tree: Tree) -> bool:
    return tree[0] in ("name", "number") or (tree[0] == "part" and is_leaf(tree[1]))
