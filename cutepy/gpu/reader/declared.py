"""What a module declares: the types of a shader, its constants and overrides, its variables in every address space."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...errors import KernelError
from ...tensor.dtypes import DType, bool_, f16, f32, i32, u32
from .. import ir
from ..ir.simplify import simplify
from .memory import (
    ArrayType,
    AtomicType,
    HandleType,
    Place,
    PointerType,
    Scalar,
    StructType,
    Type,
    Value,
    Variable,
    VectorType,
    leaves_of,
    length_of,
)
from .questions import written_by
from .syntax import SyntaxNode

_SCALARS = {"f32": f32, "f16": f16, "i32": i32, "u32": u32, "bool": bool_}
LETTERS = {"f": f32, "h": f16, "i": i32, "u": u32}
_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "cube": 2, "external": 2}
_FORMATS = {"uint": u32, "sint": i32}
_SHAPED = re.compile(r"(?:vec|mat([234])x)([234])([fhiu]?)")


@dataclass(frozen=True, slots=True)
class Bindings:
    """What the host gives: the length of each array that a shader leaves open, numbers of uniforms and overrides by
    their name (`n` or `params.n`), the grid, the entry point where there are several."""

    lengths: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    grid: tuple[int, int, int] = (1, 1, 1)
    entry: str = ""


class ModuleReader(ABC):
    """Names and their meanings, and the statements made so far."""

    def __init__(self, module: Sequence[SyntaxNode], given: Bindings) -> None:
        self.given = given
        self.nodes = {node.text: node for node in module}
        self.types: dict[str, Type] = {}
        self.globals: dict[str, Value] = {}
        self.buffers: list[tuple[tuple[int, int], ir.Buffer]] = []
        self.local: list[ir.Buffer] = []
        self.params: list[ir.Param] = []
        self.chance: ir.Buffer | None = None
        self.uniforms = {node.text for node in module if "space uniform" in node.attributes}
        self.first: list[ir.Stmt] = []
        self.out: list[ir.Stmt] = []
        self.line = 0
        self.depth = 0
        self.written = written_by(module)

    @abstractmethod
    def value(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of an expression, or the place that it names."""

    @abstractmethod
    def scalar(self, value: Value, dtype: DType | None = None) -> ir.Expr:
        """A number of the IR."""

    @abstractmethod
    def declared(self, name: str, kind: Type, value: Value | None) -> Place:
        """A variable of a thread."""

    @abstractmethod
    def converted(self, value: Value, kind: Type | None) -> Value:
        """A value where this type is asked for."""

    def refuse(self, node: SyntaxNode | None, why: str) -> KernelError:
        return KernelError(f"line {(node and node.line) or self.line}: {why}")

    @property
    def place(self) -> str:
        return f"line {self.line}"

    @contextmanager
    def nested(self) -> Iterator[list[ir.Stmt]]:
        """Statements of a block of their own."""
        outside, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outside

    # Types.

    def type(self, node: SyntaxNode) -> Type:
        name = node.text
        if name in _SCALARS:
            return _SCALARS[name]
        if (shaped := _SHAPED.fullmatch(name)) and (shaped[3] or node.parts):
            item = LETTERS[shaped[3]] if shaped[3] else self.type(node.part(0))
            assert isinstance(item, DType)
            column = VectorType(int(shaped[2]), item)
            return VectorType(int(shaped[1]), column) if shaped[1] else column
        if name == "array" and node.parts:
            return ArrayType(self.type(node.part(0)), self.whole(node.part(1)) if len(node.parts) > 1 else None)
        if name == "atomic":
            inner = self.type(node.part(0))
            assert isinstance(inner, DType)
            return AtomicType(inner)
        if name == "ptr":
            return PointerType()
        if (handle := handle_type(name, node.pieces)) is not None:
            return handle
        found = self.nodes.get(name)
        if found is not None and found.kind == "alias":
            return self.type(found.part(0))
        if found is None or found.kind != "struct":
            raise self.refuse(node, f"the type {name} is not read")
        if name not in self.types:
            members = found.pieces
            self.types[name] = StructType(name, {member.text: self.type(member.part(0)) for member in members})
        return self.types[name]

    def is_type(self, node: SyntaxNode) -> bool:
        found = self.nodes.get(node.text)
        known = node.text in _SCALARS or _SHAPED.fullmatch(node.text) or node.text == "array"
        return bool(known) or (found is not None and found.kind in ("struct", "alias"))

    def whole(self, node: SyntaxNode) -> int:
        """The value of a constant expression."""
        value = self.value(node, {})
        value = simplify(value) if isinstance(value, ir.Expr) else value
        number = value.value if isinstance(value, ir.Const) else value
        if not isinstance(number, int):
            raise self.refuse(node, "a size must be a constant")
        return number

    # Variables of the module.

    def named(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        name = node.text
        if name in ("true", "false"):
            return ir.const(name == "true", bool_)
        if name in scope:
            return scope[name]
        if name not in self.globals:
            found = self.nodes.get(name)
            if found is None or found.kind not in ("var", "const", "override"):
                raise self.refuse(node, f"{name} has no meaning here")
            self.globals[name] = self.constant(found) if found.kind != "var" else self.global_variable(found)
        return self.globals[name]

    def constant(self, node: SyntaxNode) -> Value:
        kind = self.type(node.part(0)) if node.parts[0] else None
        number = self.whole(node.attributes["id"][0]) if "id" in node.attributes else node.text
        given = self.given.numbers.get(node.text, self.given.numbers.get(str(number)))
        if given is not None:
            return self.converted(given, kind) if kind else given
        if node.parts[1] is None:
            raise self.refuse(node, f"the override {node.text} has no value; bind it, --bind {node.text}=1")
        value = self.value(node.part(1), {})
        return self.converted(value, kind) if kind else value

    def global_variable(self, node: SyntaxNode) -> Place:
        spaces = [key.removeprefix("space ") for key in node.attributes if key.startswith("space ")]
        space = spaces[0] if spaces else "handle"
        if node.parts[0] is None:
            raise self.refuse(node, f"{node.text} has no type")
        kind = self.type(node.part(0))
        if space == "handle":
            return Place(Variable(node.text, {}, {}), kind)
        if space not in ("storage", "uniform", "workgroup", "private"):
            raise self.refuse(node, f"{node.text} lies in {space}, which is not read")
        if space == "private":
            return self.private_variable(node, kind)
        leaves = leaves_of(kind, self.given.lengths.get(node.text), f"line {node.line}: {node.text}")
        held: dict[str, ir.Expr | ir.Buffer] = {}
        for path, leaf in leaves.items():
            name = node.text + path.replace(".", "_")
            if space == "uniform" and not leaf.arrays:
                continue  # numbers of the launch
            where = ir.AddressSpace.STORAGE if space == "uniform" else ir.AddressSpace(space)
            writable = "read_write" in spaces and node.text in self.written
            buffer = ir.Buffer(name, leaf.dtype, length_of(leaf), where, writable, 1, leaf.atomic)
            held[path] = buffer
            if where is ir.AddressSpace.STORAGE:
                number = [
                    self.whole(node.attributes[key][0]) if key in node.attributes else 0 for key in ("group", "binding")
                ]
                self.buffers.append(((number[0], number[1]), buffer))
            else:
                self.local.append(buffer)
        return Place(Variable(node.text, leaves, held), kind)

    def private_variable(self, node: SyntaxNode, kind: Type) -> Place:
        """A variable of each thread: it is set before the statements of the entry point."""
        outside, self.out = self.out, []
        start = self.converted(self.value(node.part(1), {}), kind) if node.parts[1] is not None else None
        made = self.declared(node.text, kind, start)
        self.first += self.out
        self.out = outside
        return made

    def launch_number(self, place: Place) -> ir.Expr:
        """A number of a uniform: what is bound, or any."""
        if (full := place.text) is None:
            raise self.refuse(None, f"{place.variable.name} is a vector of the launch: an index must be a constant")
        return self.of_launch(place.variable, full.removeprefix(place.variable.name).lstrip("."), place.leaf.dtype)

    def of_launch(self, variable: Variable, key: str, dtype: DType) -> ir.Expr:
        """A number of a variable that the host sets: what is bound, or any."""
        if key not in variable.held:
            full = f"{variable.name}.{key}" if key else variable.name
            given = self.given.numbers.get(full, self.given.numbers.get(key or full))
            if given is not None:
                variable.held[key] = self.scalar(given, dtype)
            else:
                made = ir.param(full.replace(".", "_"), dtype)
                self.params.append(made)
                variable.held[key] = made
        found = variable.held[key]
        assert isinstance(found, ir.Expr)
        return found


def handle_type(name: str, parts: list[SyntaxNode]) -> HandleType | None:
    """The type of a texture or a sampler; None for another name."""
    if name in ("sampler", "sampler_comparison"):
        return HandleType(name, f32, 0)
    if not name.startswith("texture_"):
        return None
    dimensions = next((n for word, n in _DIMENSIONS.items() if word in name.split("_")), 2)
    if name.startswith("texture_storage"):
        channel = next((dtype for end, dtype in _FORMATS.items() if parts[0].text.endswith(end)), f32)
    else:
        channel = {"i32": i32, "u32": u32, "f16": f16}.get(parts[0].text, f32) if parts else f32
    return HandleType(name, channel, dimensions)
