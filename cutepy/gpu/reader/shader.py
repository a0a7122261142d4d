"""A compute shader as a kernel of the IR: names get their meaning, functions are put where they are called.

What WGSL evaluates in order is a statement in that order: loads and calls are named where they stand. What leaves a
block early turns the statements after it into the other branch, or, inside several blocks, sets a flag that guards
them. Vectors are their scalars. Source: https://www.w3.org/TR/WGSL/, chapters 8, 9 and 11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from ...errors import KernelError
from ...tensor.dtypes import DType, bool_, f16, f32, i32, u32
from .. import ir
from ..runtime.program import Limits
from ..verify import verify
from ..verify.verdict import Verification
from .memory import (
    ArrayType,
    AtomicType,
    Items,
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
from .syntax import SyntaxNode, parse

_SCALARS = {"f32": f32, "f16": f16, "i32": i32, "u32": u32, "bool": bool_}
_LETTERS = {"f": f32, "h": f16, "i": i32, "u": u32}
_SHORT = re.compile(r"(vec[234]|mat[234]x[234])([fhiu])")
_LANES = {**dict(zip("xyzw", range(4), strict=True)), **dict(zip("rgba", range(4), strict=True))}
#: Functions of numbers, by the IR's name.
_FUNCTIONS = {
    name: name
    for name in (
        "abs acos acosh asin asinh atan atan2 atanh ceil clamp cos cosh degrees exp exp2 floor fma fract log log2 max"
        " min pow radians round sign sin sinh sqrt tan tanh trunc"
    ).split()
} | {
    "inverseSqrt": "rsqrt",
    "countOneBits": "count_ones",
    "countLeadingZeros": "leading_zeros",
    "countTrailingZeros": "trailing_zeros",
    "reverseBits": "reverse_bits",
}
#: Functions of whole words: the lanes of the result, and whether the operands are the lanes of one vector.
_WORDS = {
    "pack2x16float": "pack2x16float",
    "pack4x8snorm": "pack4x8snorm",
    "pack4x8unorm": "pack4x8unorm",
    "unpack2x16float": "unpack2x16float",
    "unpack4x8snorm": "unpack4x8snorm",
    "unpack4x8unorm": "unpack4x8unorm",
    "unpack4xI8": "unpack4xI8",
    "unpack4xU8": "unpack4xU8",
    "pack4xI8": "pack4xI8",
    "pack4xU8": "pack4xU8",
    "dot4I8Packed": "dot4I8Packed",
    "dot4U8Packed": "dot4U8Packed",
}
_ATOMICS = {
    "atomicAdd": "Add", "atomicSub": "Sub", "atomicMin": "Min", "atomicMax": "Max", "atomicAnd": "And",
    "atomicOr": "Or", "atomicXor": "Xor", "atomicExchange": "Exchange", "atomicStore": "Store", "atomicLoad": "Load",
}  # fmt: skip
_BARRIERS = {"workgroupBarrier": False, "storageBarrier": True}
_SUBGROUP = {
    "subgroupAdd": "subgroup_add", "subgroupMul": "subgroup_mul", "subgroupMin": "subgroup_min",
    "subgroupMax": "subgroup_max", "subgroupAnd": "subgroup_and", "subgroupOr": "subgroup_or",
    "subgroupAny": "subgroup_any", "subgroupAll": "subgroup_all", "subgroupInclusiveAdd": "subgroup_inclusive_add",
    "subgroupExclusiveAdd": "subgroup_exclusive_add", "subgroupShuffle": "subgroup_shuffle",
    "subgroupShuffleXor": "subgroup_shuffle_xor", "subgroupShuffleUp": "subgroup_shuffle_up",
    "subgroupShuffleDown": "subgroup_shuffle_down", "subgroupBroadcast": "subgroup_broadcast",
    "subgroupBroadcastFirst": "subgroup_broadcast_first",
}  # fmt: skip
#: The most elements of a private array that are set to 0 one by one.
_MOST_ZEROED = 256
_EXITS = ("break", "continue", "return")


@dataclass(frozen=True, slots=True)
class Bindings:
    """What the host gives: the length of each array that a shader leaves open, numbers of uniforms and overrides by
    their name (`n` or `params.n`), the grid, the entry point where there are several."""

    lengths: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, Scalar] = field(default_factory=dict)
    grid: tuple[int, int, int] = (1, 1, 1)
    entry: str = ""


def read_shader(text: str, given: Bindings | None = None) -> ir.Kernel:
    """The kernel of the IR that a compute shader is. Raises KernelError, with the line, for what is not read."""
    return _ShaderReader(parse(text), given or Bindings()).kernel()


def verify_shader(text: str, given: Bindings | None = None, prover: str | None = None) -> Verification:
    """The verdicts on a compute shader, for every WebGPU device.

    >>> text = '''
    ... @group(0) @binding(0) var<storage, read_write> y: array<f32>;
    ... @compute @workgroup_size(64)
    ... fn main(@builtin(global_invocation_id) id: vec3<u32>) { y[id.x + 1u] = 2.0; }'''
    >>> found = verify_shader(text, Bindings(lengths={"y": 64}))
    >>> [(str(v.claim), v.array, v.witness.element, v.witness.uses[0].thread) for v in found.refuted]
    [('in bounds', 'y', 64, 63)]

    A member of a struct is an array of its own here, so the number of bindings is not claimed.
    """
    with ir.new_arena():
        kernel = read_shader(text, given)
        return verify(kernel, Limits(bindings=max(8, len(kernel.buffers))), prover=prover)


@dataclass(slots=True)
class _Exits:
    """Where statements leave to: flags of the innermost loop and function, and what follows the block at hand.

    `top`: the block is the body of the loop itself. `last`: nothing of the loop's body, or of the function outside
    loops, follows the block.
    """

    function: _Call
    loop: _Loop | None = None
    top: bool = False
    last: bool = True

    def within(self, last: bool) -> _Exits:
        return _Exits(self.function, self.loop, False, last)


@dataclass(slots=True)
class _Loop:
    """The flags of a loop, made where something needs them."""

    left: ir.Var
    skipped: ir.Var
    uses_left: bool = False
    uses_skipped: bool = False


@dataclass(slots=True)
class _Call:
    """A function under way: the variable of its result, and the flag that it has returned."""

    result: Place | None
    done: ir.Var
    uses_done: bool = False


def _exits(node: SyntaxNode | None) -> set[str]:
    """How statements of `node` leave it: by break and continue of loops outside it, by return."""
    if node is None or node.kind in ("statement", "assign", "let", "var", "const"):
        return set()
    if node.kind in _EXITS:
        return {node.kind}
    inner = set().union(*(_exits(part) for part in node.parts))
    if node.kind in ("for", "while", "loop"):
        return inner & {"return"}
    return inner - {"break"} if node.kind == "switch" else inner


def _leaves(block: SyntaxNode | None) -> bool:
    """Whether a block always ends by an exit."""
    if block is None or not block.parts:
        return False
    last = block.parts[-1]
    assert last is not None
    if last.kind == "if":
        return _leaves(last.parts[1]) and _leaves(last.parts[2])
    return last.kind in _EXITS or (last.kind == "block" and _leaves(last))


class _ShaderReader:
    """Names and their meanings, and the statements made so far."""

    def __init__(self, module: Sequence[SyntaxNode], given: Bindings) -> None:
        self.given = given
        self.nodes = {node.text: node for node in module}
        self.types: dict[str, Type] = {}
        self.globals: dict[str, Value] = {}
        self.buffers: list[tuple[tuple[int, int], ir.Buffer]] = []
        self.local: list[ir.Buffer] = []
        self.params: list[ir.Param] = []
        self.out: list[ir.Stmt] = []
        self.line = 0
        self.depth = 0
        self.written = _written(module)

    # The kernel.

    def kernel(self) -> ir.Kernel:
        entries = [node for node in self.nodes.values() if node.kind == "function" and "compute" in node.attributes]
        chosen = [node for node in entries if node.text == (self.given.entry or node.text)]
        if len(chosen) != 1:
            names = ", ".join(node.text for node in entries) or "none"
            raise KernelError(f"entry point {self.given.entry or '?'}: there are {names}; choose one by --entry")
        entry = chosen[0]
        sizes = [self.whole(node) for node in entry.attributes["workgroup_size"]]
        x, y, z = [*sizes, 1, 1][:3]
        self.size = x, y, z
        scope: dict[str, Value] = {}
        for node in entry.parts[2:]:
            assert node is not None
            scope[node.text] = self.input(node)
        call = _Call(None, ir.var("done", bool_))
        body = self.body(entry.part(0), scope, _Exits(call))
        if call.uses_done:
            body = (ir.Declare(call.done, ir.const(False, bool_)), *body)
        ordered = tuple(buffer for _, buffer in sorted(self.buffers, key=lambda pair: pair[0]))
        grid, params = self.given.grid, tuple(self.params)
        return ir.Kernel(entry.text, ordered, body, grid, self.size, tuple(self.local), params)

    def input(self, node: SyntaxNode) -> Value:
        """A parameter of the entry point: a builtin value, or a struct of these."""
        if "builtin" not in node.attributes:
            kind = self.nodes.get(node.part(0).text)
            if kind is None or kind.kind != "struct":
                raise self.refuse(node, f"the input {node.text} is no builtin value")
            members = [part for part in kind.parts if part is not None]
            return {member.text: self.input(member) for member in members}
        name = node.attributes["builtin"][0].text
        x, y, z = self.size
        tid = ir.builtin("local_invocation_index", 0, x * y * z - 1)
        group = [ir.builtin("workgroup_id", 0, n - 1, axis=axis) for axis, n in enumerate(self.given.grid)]
        # Division by 1 and by all that there are would hide that the index itself is meant.
        flat = y == z == 1
        local = [
            tid if flat else tid % x,
            ir.const(0) if flat else tid // x % y,
            ir.const(0) if z == 1 else tid // (x * y),
        ]
        values: dict[str, Callable[[], Value]] = {
            "local_invocation_index": lambda: tid,
            "local_invocation_id": lambda: Items(local),
            "workgroup_id": lambda: Items(group),
            "global_invocation_id": lambda: Items(g * n + i for g, n, i in zip(group, self.size, local, strict=True)),
            "num_workgroups": lambda: Items(ir.const(n) for n in self.given.grid),
            "subgroup_size": lambda: ir.builtin("subgroup_size", 4, 128),
            "subgroup_invocation_id": lambda: ir.builtin("subgroup_invocation_id", 0, 127),
            "subgroup_id": lambda: ir.builtin("subgroup_id", 0, max(0, (x * y * z - 1) // 4)),
            "num_subgroups": lambda: ir.builtin("num_subgroups", 1, -(-x * y * z // 4)),
        }
        if name not in values:
            raise self.refuse(node, f"the builtin value {name} is not read")
        return values[name]()

    def refuse(self, node: SyntaxNode | None, why: str) -> KernelError:
        return KernelError(f"line {node.line if node else self.line}: {why}")

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
        if short := _SHORT.fullmatch(name):
            return _shaped(short[1], _LETTERS[short[2]])
        if name.startswith(("vec", "mat")) and node.parts:
            item = self.type(node.part(0))
            assert isinstance(item, DType)
            return _shaped(name, item)
        if name == "array" and node.parts:
            return ArrayType(self.type(node.part(0)), self.whole(node.part(1)) if len(node.parts) > 1 else None)
        if name == "atomic":
            inner = self.type(node.part(0))
            assert isinstance(inner, DType)
            return AtomicType(inner)
        if name == "ptr":
            return PointerType()
        found = self.nodes.get(name)
        if found is not None and found.kind == "alias":
            return self.type(found.part(0))
        if found is None or found.kind != "struct":
            raise self.refuse(node, f"the type {name} is not read")
        if name not in self.types:
            members = [part for part in found.parts if part is not None]
            self.types[name] = StructType(name, {member.text: self.type(member.part(0)) for member in members})
        return self.types[name]

    def whole(self, node: SyntaxNode) -> int:
        """The value of a constant expression."""
        value = self.value(node, {})
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
        given = self.given.numbers.get(node.text)
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
        if space not in ("storage", "uniform", "workgroup", "private"):
            raise self.refuse(node, f"{node.text} lies in {space}: textures and samplers are not read")
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

    def launch_number(self, place: Place) -> ir.Expr:
        """A number of a uniform: what is bound, or any."""
        coordinates = [c.value if isinstance(c, ir.Const) else None for c in place.at]
        if None in coordinates:
            raise self.refuse(None, f"{place.variable.name} is a vector of the launch: an index must be a constant")
        lane = "".join("xyzw"[int(c or 0)] for c in coordinates)
        full = place.variable.name + place.path + (f".{lane}" if lane else "")
        key = f"{place.path}{lane}"
        if key not in place.variable.held:
            short = full.partition(".")[2] or full
            given = self.given.numbers.get(full, self.given.numbers.get(short))
            if given is not None:
                place.variable.held[key] = self.scalar(given, place.leaf.dtype)
            else:
                made = ir.param(full.replace(".", "_"), place.leaf.dtype)
                self.params.append(made)
                place.variable.held[key] = made
        found = place.variable.held[key]
        assert isinstance(found, ir.Expr)
        return found

    # Reading and writing.

    def read(self, value: Value) -> Value:
        """What a place holds now; a value is what it is."""
        if not isinstance(value, Place):
            return value
        match value.type:
            case StructType(members=members):
                return {name: self.read(value.member(name)) for name in members}
            case VectorType(lanes=lanes):
                return Items(self.read(value.item(ir.const(lane))) for lane in range(lanes))
            case ArrayType(length=int(length)) if length <= _MOST_ZEROED:
                return Items(self.read(value.item(ir.const(i))) for i in range(length))
            case DType() | AtomicType():
                held = value.variable.held.get(value.path)
                if held is None:
                    return self.launch_number(value)
                if isinstance(held, ir.Expr):
                    return held
                loaded = ir.load(held, value.index, place=self.place, at=value.claims)
                return self.let(value.variable.name, loaded)
        raise self.refuse(None, f"{value.variable.name} is too large to be a value")

    def let(self, name: str, value: ir.Expr) -> ir.Expr:
        """A name for a value, computed here."""
        if isinstance(value, ir.Const | ir.Builtin | ir.Param):
            return value
        made = ir.var(name, value.dtype, lanes=value.lanes)
        self.out.append(ir.Let(made, value, self.place))
        return made

    def write(self, place: Place, value: Value) -> None:
        """Store a value of the place's type, number by number."""
        match place.type:
            case StructType(members=members):
                if not isinstance(value, dict):
                    raise self.refuse(None, f"a {place.type.name} is set to another type")
                for name in members:
                    self.write(place.member(name), value[name])
            case VectorType(lanes=count) | ArrayType(length=int(count)):
                items = value if isinstance(value, Items) else Items([value] * count)
                for lane, item in enumerate(items):
                    self.write(place.item(ir.const(lane)), item)
            case DType() as dtype:
                number = self.scalar(value, dtype)
                held = place.variable.held[place.path]
                if isinstance(held, ir.Var):
                    self.out.append(ir.Assign(held, number))
                elif isinstance(held, ir.Buffer):
                    coordinates, shape = place.claims
                    self.out.append(ir.Store(held, place.index, number, self.place, coordinates, shape))
                else:
                    raise self.refuse(None, f"{place.variable.name} cannot be set")
            case _:
                raise self.refuse(None, f"{place.variable.name} cannot be set")

    def declared(self, name: str, kind: Type, value: Value | None) -> Place:
        """A variable of a function. Arrays are arrays of the thread; what is not set is 0."""
        leaves = leaves_of(kind, None, f"line {self.line}: {name}")
        held: dict[str, ir.Expr | ir.Buffer] = {}
        for path, leaf in leaves.items():
            if leaf.extents:
                buffer = ir.Buffer(name, leaf.dtype, length_of(leaf), ir.AddressSpace.PRIVATE, True)
                self.local.append(buffer)
                held[path] = buffer
            else:
                held[path] = ir.var(name, leaf.dtype)
        variable = Variable(name, leaves, held)
        place = Place(variable, kind)
        if value is None:
            value = self.zero(kind)
        for path, one in held.items():
            if isinstance(one, ir.Var):
                start = reduce(lambda v, key: v[key], path.split(".")[1:], value)
                self.out.append(ir.Declare(one, self.scalar(start, one.dtype)))
        if any(isinstance(one, ir.Buffer) for one in held.values()):
            self.write_arrays(place, value)
        return place

    def write_arrays(self, place: Place, value: Value) -> None:
        """Set what of a new variable lies in arrays."""
        if isinstance(place.type, StructType):
            assert isinstance(value, dict)
            for name in place.type.members:
                self.write_arrays(place.member(name), value[name])
        elif place.leaf.extents:
            self.write(place, value)

    def zero(self, kind: Type) -> Value:
        match kind:
            case StructType(members=members):
                return {name: self.zero(member) for name, member in members.items()}
            case VectorType(lanes=count, item=item) | ArrayType(length=int(count), item=item):
                if count > _MOST_ZEROED:
                    raise self.refuse(None, f"an array of {count} elements in a function is not read")
                return Items(self.zero(item) for _ in range(count))
            case DType():
                return ir.const(0, kind)
        raise self.refuse(None, "this type has no zero")

    # Values.

    def scalar(self, value: Value, dtype: DType | None = None) -> ir.Expr:
        """A number of the IR, of that type where one is asked for and the value has none yet."""
        value = self.read(value)
        if isinstance(value, ir.Expr):
            if dtype is not None and value.dtype is not dtype:
                raise self.refuse(None, f"a {value.dtype} stands where a {dtype} must be")
            return value
        if isinstance(value, int | float):
            if dtype is None:
                dtype = f32 if isinstance(value, float) else i32
            return ir.const(value if dtype.kind == "f" else int(value), dtype)
        raise self.refuse(None, "a vector or a struct stands where a number must be")

    def settled(self, value: Value) -> Value:
        """Literals without a type get theirs."""
        value = self.read(value)
        if isinstance(value, Items):
            return Items(self.settled(item) for item in value)
        if isinstance(value, dict):
            return {name: self.settled(item) for name, item in value.items()}
        return self.scalar(value)

    def converted(self, value: Value, kind: Type | None) -> Value:
        """A value where this type is asked for."""
        value = self.read(value)
        match kind:
            case DType():
                return self.scalar(value, kind)
            case VectorType() if isinstance(value, Items):
                return Items(self.converted(item, kind.item) for item in value)
            case ArrayType() if isinstance(value, Items):
                return Items(self.converted(item, kind.item) for item in value)
        return value

    def type_of(self, value: Value) -> Type:
        """The type of a value whose literals are settled."""
        if isinstance(value, Place):
            return value.type
        if isinstance(value, Items):
            item = self.type_of(value[0])
            if len(value) <= 4 and isinstance(item, DType | VectorType):
                return VectorType(len(value), item)
            return ArrayType(item, len(value))
        if isinstance(value, dict):
            return StructType("", {name: self.type_of(item) for name, item in value.items()})
        return self.scalar(value).dtype

    def value(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of an expression, or the place that it names."""
        self.line = node.line or self.line
        match node.kind:
            case "number":
                return _number(node.text)
            case "name" | "type":  # in a template list a number's name looks like a type's
                return self.named(node, scope)
            case "member":
                return self.member(node, self.value(node.part(0), scope))
            case "index":
                return self.indexed(node, self.value(node.part(0), scope), self.read(self.value(node.part(1), scope)))
            case "unary":
                if node.text in "&*":
                    place = self.value(node.part(0), scope)
                    return self.pinned(place) if node.text == "&" and isinstance(place, Place) else place
                return self.each(lambda x: self.unary(node.text, x), self.value(node.part(0), scope))
            case "binary" if node.text in ("&&", "||"):
                return self.short_circuit(node, scope)
            case "binary":
                left = self.read(self.value(node.part(0), scope))
                if self.calls(node.part(1)) and isinstance(left, ir.Expr | Items):
                    left = self.kept("left", left)  # the call may set what it is made of
                return self.product(node, left, self.read(self.value(node.part(1), scope)))
            case "call":
                return self.call(node, scope)
        raise self.refuse(node, f"{node.kind} is no value")

    def pinned(self, place: Place) -> Place:
        """The place that a pointer means from now on, whatever its indices become."""
        return Place(place.variable, place.type, place.path, tuple(self.let("at", index) for index in place.at))

    def calls(self, node: SyntaxNode) -> bool:
        """Whether a function of the shader is called, which may set variables."""
        found = self.nodes.get(node.text) if node.kind == "call" else None
        own = found is not None and found.kind == "function"
        return own or any(part is not None and self.calls(part) for part in node.parts)

    def member(self, node: SyntaxNode, value: Value) -> Value:
        name = node.text
        if isinstance(value, Place) and isinstance(value.type, StructType):
            return value.member(name)
        if isinstance(value, dict):
            return value[name]
        lanes = [_LANES.get(letter, 9) for letter in name]
        if isinstance(value, Place) and isinstance(value.type, VectorType) and len(lanes) == 1:
            return value.item(ir.const(lanes[0]))
        value = self.read(value)
        if not isinstance(value, Items) or max(lanes) >= len(value):
            raise self.refuse(node, f"there is no member {name}")
        return value[lanes[0]] if len(lanes) == 1 else Items(value[lane] for lane in lanes)

    def indexed(self, node: SyntaxNode, value: Value, index: Value) -> Value:
        number = self.scalar(index)
        if isinstance(number, ir.Const) and isinstance(value, Items):
            at = int(number.value)
            if at >= len(value):
                raise self.refuse(node, f"element {at} of {len(value)}")
            return value[at]
        if isinstance(value, Items):
            value = self.declared("indexed", self.type_of(self.settled(value)), self.settled(value))
        if not isinstance(value, Place) or not isinstance(value.type, ArrayType | VectorType):
            raise self.refuse(node, "what is indexed is no array")
        return value.item(number if number.dtype is u32 else ir.cast(number, u32))

    def each(self, function: Callable[..., Value], *values: Value) -> Value:
        """A function of numbers, lane by lane where there are vectors."""
        read = [self.read(value) for value in values]
        lanes = next((len(value) for value in read if isinstance(value, Items)), None)
        if lanes is None:
            return function(*read)
        spread = [value if isinstance(value, Items) else Items([value] * lanes) for value in read]
        return Items(self.each(function, *items) for items in zip(*spread, strict=True))

    def unary(self, operator: str, value: Value) -> Value:
        if isinstance(value, int | float):
            return -value if operator == "-" else ~int(value)
        return ir.unary(operator, self.scalar(value))

    def product(self, node: SyntaxNode, left: Value, right: Value) -> Value:
        """An operator of numbers, vectors or matrices."""
        matrices = [isinstance(v, Items) and isinstance(v[0], Items) for v in (left, right)]
        if node.text == "*" and any(matrices) and isinstance(left, Items) and isinstance(right, Items):
            if all(matrices):
                return Items(self.product(node, left, column) for column in right)
            if matrices[0]:  # columns times numbers
                terms = [self.product(node, column, lane) for column, lane in zip(left, right, strict=True)]
                return reduce(lambda a, b: self.product(SyntaxNode("binary", node.line, "+"), a, b), terms)
            return Items(self.dot(left, column) for column in right)
        return self.each(lambda a, b: self.binary(node.text, a, b), left, right)

    def dot(self, left: Value, right: Value) -> Value:
        products = self.each(lambda a, b: self.binary("*", a, b), left, right)
        assert isinstance(products, Items)
        return reduce(lambda a, b: self.binary("+", a, b), products)

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        if isinstance(left, int | float) and isinstance(right, int | float):
            return _folded(operator, left, right)
        shift = operator in ("<<", ">>")
        if shift:
            one, other = self.scalar(left), self.scalar(right, u32 if isinstance(right, int) else None)
        else:
            like = next(v.dtype for v in (left, right) if isinstance(v, ir.Expr))
            one, other = self.scalar(left, like), self.scalar(right, like)
        if operator == "/" and one.dtype.kind in "iu":
            operator = "//"
        if operator == "%" and one.dtype.kind == "f":
            return ir.binary("-", one, ir.binary("*", other, ir.call("trunc", ir.binary("/", one, other))))
        return ir.binary(operator, one, other)

    def short_circuit(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """`&&` and `||`: what the right operand loads is loaded only where the left one does not decide."""
        left = self.scalar(self.value(node.part(0), scope), bool_)
        with self.nested() as inside:
            right = self.scalar(self.value(node.part(1), scope), bool_)
        if not inside:
            return ir.binary(node.text[0], left, right)
        result = ir.var("both" if node.text == "&&" else "either", bool_)
        held = self.let("left", left)
        self.out.append(ir.Declare(result, held))
        block = (*inside, ir.Assign(result, right))
        condition = held if node.text == "&&" else ir.negated(held)
        self.out.append(ir.If(condition, block, (), self.place))
        return self.let("decided", result)

    # Calls.

    def call(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        name, line = node.text, node.line
        found = self.nodes.get(name)
        if found is not None and found.kind == "function":
            return self.inlined(node, found, scope)
        arguments = [part for part in node.parts[1:] if part is not None]
        if name in _BARRIERS or name == "workgroupUniformLoad":
            self.out.append(ir.Barrier(_BARRIERS.get(name, False), self.place))
            if name in _BARRIERS:
                return 0
            value = self.settled(self.value(arguments[0], scope))
            self.out.append(ir.Barrier(False, self.place))
            return value
        if name == "arrayLength":
            place = self.value(arguments[0], scope)
            assert isinstance(place, Place)
            path = next(path for path in place.variable.leaves if path.startswith(place.path))
            return ir.const(place.variable.leaves[path].extents[0])
        if name in _ATOMICS or name == "atomicCompareExchangeWeak":
            return self.atomic(node, [self.value(argument, scope) for argument in arguments])
        values: list[Value] = []
        for number, argument in enumerate(arguments):
            value = self.read(self.value(argument, scope))
            later = isinstance(value, ir.Expr | Items) and any(map(self.calls, arguments[number + 1 :]))
            values.append(self.kept("argument", value) if later else value)
        self.line = line
        if self.is_type(node.part(0)):
            return self.constructed(node, values)
        if name == "bitcast":
            kind = self.type(node.part(0).part(0))
            dtype = kind.item if isinstance(kind, VectorType) else kind
            assert isinstance(dtype, DType)
            return self.each(lambda x: ir.cast(self.scalar(x), dtype, bits=True), *values)
        return self.builtin(node, values)

    def builtin(self, node: SyntaxNode, values: list[Value]) -> Value:
        name = node.text
        if name == "select":
            other, then, condition = values
            return self.each(self.selected, condition, then, other)
        if name in _FUNCTIONS:
            return self.each(lambda *items: self.function(_FUNCTIONS[name], *items), *values)
        if name in _SUBGROUP:
            return self.each(lambda *items: self.let(name, self.subgroup(_SUBGROUP[name], *items)), *values)
        if name in _WORDS:
            operands = values[0] if isinstance(values[0], Items) else values
            made = ir.call(_WORDS[name], *[self.scalar(x) for x in operands])
            return made if made.lanes == 1 else Items(ir.component(made, lane) for lane in range(made.lanes))
        if name in ("any", "all"):
            lanes = values[0] if isinstance(values[0], Items) else Items([values[0]])
            return reduce(lambda a, b: self.binary("|" if name == "any" else "&", a, b), lanes)
        if name == "dot":
            return self.dot(*values)
        if name in ("length", "distance", "normalize"):
            between = self.product(SyntaxNode("binary", node.line, "-"), *values) if name == "distance" else values[0]
            lanes = between if isinstance(between, Items) else Items([between])
            size = self.function("sqrt", self.dot(lanes, lanes))
            return self.each(lambda x: self.binary("/", x, size), between) if name == "normalize" else size
        if name == "mix":
            return self.each(
                lambda a, b, t: self.binary("+", self.binary("*", a, self.binary("-", 1.0, t)), self.binary("*", b, t)),
                *values,
            )
        if name == "saturate":
            return self.each(lambda x: self.function("clamp", x, 0.0, 1.0), values[0])
        if name == "step":
            return self.each(lambda edge, x: self.selected(self.binary("<=", edge, x), 1.0, 0.0), *values)
        if name == "cross":
            (a, b, c), (x, y, z) = (tuple(value) if isinstance(value, Items) else () for value in values)
            pairs = ((b, z, c, y), (c, x, a, z), (a, y, b, x))
            return Items(self.binary("-", self.binary("*", p, q), self.binary("*", r, s)) for p, q, r, s in pairs)
        if name in (
            "extractBits",
            "insertBits",
            "firstLeadingBit",
            "firstTrailingBit",
            "ldexp",
            "quantizeToF16",
            "modf",
        ):
            raise self.refuse(node, f"{name} is not read")
        raise self.refuse(node, f"the function {name} is not read")

    def selected(self, condition: Value, then: Value, other: Value) -> Value:
        like = next((v.dtype for v in (then, other) if isinstance(v, ir.Expr)), None)
        if like is None and isinstance(then, float) != isinstance(other, float):
            like = f32
        one = self.scalar(then, like)
        return ir.select(self.scalar(condition, bool_), one, self.scalar(other, one.dtype))

    def function(self, name: str, *values: Value) -> ir.Expr:
        like = next((v.dtype for v in values if isinstance(v, ir.Expr)), None)
        if like is None:
            like = i32 if all(isinstance(v, int) for v in values) and name in ("abs", "min", "max", "clamp") else f32
        operands = [self.scalar(value, like) for value in values]
        if name == "abs" and like is u32:
            return operands[0]
        return ir.call(name, *operands)

    def subgroup(self, name: str, *values: Value) -> ir.Expr:
        return ir.call(name, self.scalar(values[0]), *[self.scalar(x, u32) for x in values[1:]])

    def atomic(self, node: SyntaxNode, values: list[Value]) -> Value:
        place = values[0]
        if not isinstance(place, Place) or not isinstance(place.type, AtomicType):
            raise self.refuse(node, f"{node.text} of no atomic number")
        buffer, dtype = place.variable.held[place.path], place.type.item
        assert isinstance(buffer, ir.Buffer)
        operands = [self.scalar(value, dtype) for value in values[1:]]
        coordinates, shape = place.claims
        result = None if node.text == "atomicStore" else ir.var("old", dtype)
        exchange = node.text == "atomicCompareExchangeWeak"
        operation = "CompareExchange" if exchange else _ATOMICS[node.text]
        value = operands[-1] if operands else ir.const(0, dtype)
        compare = operands[0] if exchange else None
        self.out.append(
            ir.Atomic(operation, buffer, place.index, value, compare, result, self.place, coordinates, shape)
        )
        if exchange:
            assert result is not None and compare is not None
            return {"old_value": result, "exchanged": ir.binary("==", result, compare)}
        return 0 if result is None else result

    def is_type(self, node: SyntaxNode) -> bool:
        found = self.nodes.get(node.text)
        known = node.text in _SCALARS or node.text.startswith(("vec", "mat")) or node.text == "array"
        return known or (found is not None and found.kind in ("struct", "alias"))

    def constructed(self, node: SyntaxNode, values: list[Value]) -> Value:
        """A value of a type: converted, put together, or 0."""
        callee = node.part(0)
        if callee.text == "array" and not callee.parts:
            settled = [self.settled(value) for value in values]
            return Items(settled)
        if re.fullmatch(r"vec[234]", callee.text) and not callee.parts:
            lanes = [item for value in values for item in (value if isinstance(value, Items) else [value])]
            count = int(callee.text[3])
            like = next((x.dtype for x in lanes if isinstance(x, ir.Expr)), None)
            items = [self.scalar(x, like) if like else x for x in lanes]
            return Items(items * count if len(items) == 1 else items)
        kind = self.type(callee)
        if not values:
            return self.zero(kind)
        match kind:
            case DType():
                return self.cast(values[0], kind)
            case StructType(members=members):
                return {
                    name: self.converted(value, member)
                    for (name, member), value in zip(members.items(), values, strict=True)
                }
            case ArrayType(item=item):
                return Items(self.converted(value, item) for value in values)
            case VectorType(item=DType() as item):
                lanes = [x for value in values for x in (value if isinstance(value, Items) else [value])]
                made = [self.cast(x, item) for x in lanes]
                return Items(made * kind.lanes if len(made) == 1 else made)
            case VectorType(item=VectorType() as column):
                if isinstance(values[0], Items):
                    return Items(self.converted(value, column) for value in values)
                numbers = [
                    self.scalar(value, column.item if isinstance(column.item, DType) else f32) for value in values
                ]
                step = column.lanes
                return Items(Items(numbers[i : i + step]) for i in range(0, len(numbers), step))
        raise self.refuse(node, f"a {callee.text} is not made so")

    def cast(self, value: Value, dtype: DType) -> ir.Expr:
        if isinstance(value, int | float):
            return self.scalar(value, dtype)
        number = self.scalar(value)
        if dtype is bool_ and number.dtype is not bool_:
            return ir.binary("!=", number, ir.const(0, number.dtype))
        return ir.cast(number, dtype)

    def inlined(self, node: SyntaxNode, found: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of a function of the shader: its statements are put here."""
        if self.depth > 40:
            raise self.refuse(node, f"{found.text} calls itself")
        inner: dict[str, Value] = {}
        for parameter, argument in zip(found.parts[2:], node.parts[1:], strict=True):
            assert parameter is not None and argument is not None
            kind = self.type(parameter.part(0))
            given = self.value(argument, scope)
            inner[parameter.text] = (
                given if isinstance(kind, PointerType) else self.kept(parameter.text, self.converted(given, kind))
            )
        body = found.part(0)
        statements = [part for part in body.parts if part is not None]
        self.depth += 1
        # A function that returns once, at its end, is its value there.
        once = (
            statements and statements[-1].kind == "return" and not any("return" in _exits(s) for s in statements[:-1])
        )
        result = None
        gives = self.type(found.part(1)) if found.parts[1] is not None else None
        if gives is not None and not once:
            result = self.declared("result", gives, None)
        call = _Call(result, ir.var("done", bool_))
        value: Value = 0
        if once and gives is not None:
            with_names = dict(inner)
            self.sequence(statements[:-1], with_names, _Exits(call, last=False))
            value = self.converted(self.value(statements[-1].part(0), with_names), gives)
        else:
            with self.nested() as inside:
                self.sequence(statements, inner, _Exits(call))
            if call.uses_done:
                self.out.append(ir.Declare(call.done, ir.const(False, bool_)))
            self.out += inside
            value = self.settled(result) if result is not None else 0
        self.depth -= 1
        return self.kept("result", value) if gives is not None else value

    def kept(self, name: str, value: Value) -> Value:
        """A value that later statements do not change."""
        value = self.settled(value)
        if isinstance(value, Items):
            return Items(self.kept(name, item) for item in value)
        if isinstance(value, dict):
            return {key: self.kept(key, item) for key, item in value.items()}
        assert isinstance(value, ir.Expr)
        return self.let(name, value)

    # Statements.

    def body(self, block: SyntaxNode, scope: Mapping[str, Value], exits: _Exits) -> ir.Block:
        with self.nested() as inside:
            self.sequence([part for part in block.parts if part is not None], dict(scope), exits)
        return tuple(inside)

    def sequence(self, nodes: Sequence[SyntaxNode], scope: dict[str, Value], exits: _Exits) -> None:
        """Statements in order; what comes after one that may leave is done only where it did not."""
        for number, node in enumerate(nodes):
            self.line = node.line
            rest = nodes[number + 1 :]
            if node.kind in _EXITS:
                self.leave(node, scope, exits)
                return
            found = _exits(node)
            if node.kind == "if" and found:
                if self.early(node, rest, scope, exits):
                    return
                continue
            inner = exits.within(exits.last and not rest)
            if not found:
                self.statement(node, scope, inner)
                continue
            self.statement(node, scope, inner)
            if self.guarded(found, rest, scope, exits):
                return

    def guarded(self, found: set[str], rest: Sequence[SyntaxNode], scope: dict[str, Value], exits: _Exits) -> bool:
        """The statements after one that may have set flags; whether they are done."""
        loop, flags = exits.loop, []
        if loop is not None and loop.uses_left and "break" in found:
            flags.append(loop.left)
        if loop is not None and loop.uses_skipped and "continue" in found:
            flags.append(loop.skipped)
        if exits.function.uses_done and "return" in found:
            flags.append(exits.function.done)
        if exits.top and flags:
            # In the body of the loop itself what ends the loop is said there.
            for flag in flags:
                if loop is None or flag is not loop.skipped:
                    self.out.append(ir.Break(flag, (), self.place))
            flags = [flag for flag in flags if loop is not None and flag is loop.skipped]
        if not flags or not rest:
            return not rest
        condition = ir.negated(_any(flags))
        with self.nested() as inside:
            self.sequence(rest, scope, exits.within(exits.last))
        self.out.append(ir.If(condition, tuple(inside), (), self.place))
        if exits.top and loop is not None:
            more = set().union(*(_exits(node) for node in rest))
            self.guarded(more - {"continue"}, [], scope, exits)
        return True

    def early(self, node: SyntaxNode, rest: Sequence[SyntaxNode], scope: dict[str, Value], exits: _Exits) -> bool:
        """An `if` with an exit in it; whether the statements after it are done, too."""
        then, other = node.part(1), node.parts[2]
        statements = [part for part in then.parts if part is not None]
        condition = self.scalar(self.value(node.part(0), scope), bool_)
        ends = statements and statements[-1].kind == "break" and not any(_exits(s) for s in statements[:-1])
        if exits.top and ends and other is None:
            with self.nested() as inside:
                self.sequence(statements[:-1], dict(scope), exits.within(False))
            self.out.append(ir.Break(condition, tuple(inside), self.place))
            return False
        if _leaves(then) and other is None and not (exits.top and any("break" in _exits(s) for s in rest)):
            first = self.body(then, scope, exits.within(exits.last))
            with self.nested() as inside:
                self.sequence(rest, scope, exits.within(exits.last))
            self.out.append(ir.If(condition, first, tuple(inside), self.place))
            if exits.top:
                found = set().union(_exits(node), *(_exits(s) for s in rest))
                self.guarded(found - {"continue"}, [], scope, exits)
            return True
        last = exits.last and not rest
        first = self.body(then, scope, exits.within(last))
        second = self.body(other, scope, exits.within(last)) if other is not None else ()
        self.out.append(ir.If(condition, first, second, self.place))
        return self.guarded(_exits(node), rest, scope, exits)

    def leave(self, node: SyntaxNode, scope: Mapping[str, Value], exits: _Exits) -> None:
        loop, call = exits.loop, exits.function
        if node.kind == "return":
            if node.parts[0] is not None and call.result is not None:
                self.write(call.result, self.converted(self.value(node.part(0), scope), call.result.type))
            if loop is not None or not exits.last:
                call.uses_done = True
                self.out.append(ir.Assign(call.done, ir.const(True, bool_)))
                if exits.top:
                    self.out.append(ir.Break(call.done, (), self.place))
            return
        if loop is None:
            raise self.refuse(node, f"{node.kind} outside a loop")
        if node.kind == "continue":
            if not exits.last:
                loop.uses_skipped = True
                self.out.append(ir.Assign(loop.skipped, ir.const(True, bool_)))
        elif exits.top:
            self.out.append(ir.Break(ir.const(True, bool_), (), self.place))
        else:
            loop.uses_left = True
            self.out.append(ir.Assign(loop.left, ir.const(True, bool_)))

    def statement(self, node: SyntaxNode, scope: dict[str, Value], exits: _Exits) -> None:
        match node.kind:
            case "let" | "const":
                kind = self.type(node.part(0)) if node.parts[0] is not None else None
                value = self.value(node.part(1), scope)
                pointer = node.part(1).kind == "unary" and node.part(1).text == "&"
                if pointer or (isinstance(value, Place) and isinstance(kind, PointerType)):
                    scope[node.text] = value
                elif node.kind == "const" and kind is None:
                    scope[node.text] = self.read(value)
                else:
                    scope[node.text] = self.kept(node.text, self.converted(value, kind))
            case "var":
                asked = self.type(node.part(0)) if node.parts[0] is not None else None
                start = None
                if node.parts[1] is not None:
                    start = self.settled(self.converted(self.value(node.part(1), scope), asked))
                made = asked if asked is not None else self.type_of(start if start is not None else 0)
                scope[node.text] = self.declared(node.text, made, start)
            case "assign":
                self.assign(node, scope)
            case "statement":
                self.value(node.part(0), scope)
            case "block":
                self.out += self.body(node, scope, exits)
            case "if":
                condition = self.scalar(self.value(node.part(0), scope), bool_)
                then = self.body(node.part(1), scope, exits)
                other = self.body(node.part(2), scope, exits) if node.parts[2] is not None else ()
                self.out.append(ir.If(condition, then, other, f"line {node.line}"))
            case "for" | "while" | "loop":
                self.loop(node, scope, exits)
            case "switch":
                self.switch(node, scope, exits)
            case "const_assert":
                pass
            case _:
                raise self.refuse(node, f"{node.kind} is not read")

    def assign(self, node: SyntaxNode, scope: Mapping[str, Value]) -> None:
        if node.text == "_":
            self.settled(self.value(node.part(1), scope))
            return
        early = self.value(node.part(0), scope) if self.calls(node.part(1)) else None
        pinned = self.pinned(early) if isinstance(early, Place) else None
        value = self.read(self.value(node.part(1), scope))
        place = pinned if pinned is not None else self.value(node.part(0), scope)
        if not isinstance(place, Place):
            raise self.refuse(node, "what is set is no variable")
        if node.text != "=":
            value = self.product(SyntaxNode("binary", node.line, node.text[:-1]), self.read(place), value)
        elif isinstance(place.type, StructType | ArrayType | VectorType):
            value = self.kept("value", self.converted(value, place.type))
        self.line = node.line
        self.write(place, self.converted(value, place.type))

    def switch(self, node: SyntaxNode, scope: Mapping[str, Value], exits: _Exits) -> None:
        """A `switch` as one `if` after the other; the default is what none of them takes."""
        value = self.settled(self.value(node.part(0), scope))
        chosen: list[tuple[ir.Expr | None, SyntaxNode]] = []
        for case in node.parts[1:]:
            assert case is not None
            tests: list[ir.Expr] = []
            default = False
            for selector in case.parts[1:]:
                assert selector is not None
                if selector.text == "default" and selector.kind == "name":
                    default = True
                else:
                    tests.append(self.scalar(self.binary("==", value, self.read(self.value(selector, scope)))))
            condition = None if default else _any(tests)
            block = case.part(0)
            if block.parts and (last := block.parts[-1]) is not None and last.kind == "break":
                block = SyntaxNode("block", block.line, "", block.parts[:-1])
            if "break" in _exits(block):
                raise self.refuse(case, "a break inside a case of a switch is not read")
            chosen.append((condition, block))
        orelse: ir.Block = ()
        for condition, block in chosen:
            if condition is None:
                orelse = self.body(block, scope, exits)
        for condition, block in reversed(chosen):
            if condition is not None:
                orelse = (ir.If(condition, self.body(block, scope, exits), orelse, f"line {node.line}"),)
        self.out += orelse

    # Loops.

    def loop(self, node: SyntaxNode, scope: Mapping[str, Value], exits: _Exits) -> None:
        inner = dict(scope)
        loop = _Loop(ir.var("left", bool_), ir.var("skipped", bool_))
        inside = _Exits(exits.function, loop, True, True)
        if node.kind == "for":
            if self.counted(node, inner, loop, inside):
                return
            if node.parts[0] is not None:
                self.statement(node.part(0), inner, inside)
        place = f"line {node.line}"
        with self.nested() as turn:
            test = {"for": 1, "while": 0}.get(node.kind)
            if test is not None and node.parts[test] is not None:
                condition = self.scalar(self.value(node.part(test), inner), bool_)
                self.out.append(ir.Break(ir.negated(condition), (), place))
            body = node.part({"for": 3, "while": 1, "loop": 0}[node.kind])
            names = dict(inner)
            self.sequence([part for part in body.parts if part is not None], names, inside)
            if node.kind == "for" and node.parts[2] is not None:
                self.statement(node.part(2), inner, inside)
            if node.kind == "loop" and node.parts[1] is not None:
                for part in node.part(1).parts:
                    assert part is not None
                    if part.kind == "break_if":
                        condition = self.scalar(self.value(part.part(0), names), bool_)
                        self.out.append(ir.Break(condition, (), f"line {part.line}"))
                    else:
                        self.statement(part, names, inside)
        counter = ir.var("turn")
        self.looped(ir.For(counter, ir.const(0), None, ir.const(1), self.with_flags(turn, loop), place), loop)

    def with_flags(self, turn: list[ir.Stmt], loop: _Loop) -> ir.Block:
        """A turn with its flag declared."""
        declared = [ir.Declare(loop.skipped, ir.const(False, bool_))] if loop.uses_skipped else []
        return (*declared, *turn)

    def looped(self, made: ir.For, loop: _Loop) -> None:
        if loop.uses_left:
            self.out.append(ir.Declare(loop.left, ir.const(False, bool_)))
        self.out.append(made)

    def counted(self, node: SyntaxNode, scope: dict[str, Value], loop: _Loop, exits: _Exits) -> bool:
        """`for (var i = a; i < b; i += c)` where nothing else sets i, nor what b reads: a loop that counts."""
        start, test, update, body = node.parts
        if start is None or test is None or update is None or start.kind != "var" or start.parts[1] is None:
            return False
        name = start.text
        if (
            test.kind != "binary"
            or test.text not in ("<", "<=")
            or test.part(0).text != name
            or test.part(0).kind != "name"
        ):
            return False
        step = _step(update, name)
        changed = _assigned(body)
        if step is None or name in changed or _names(test.part(1)) & changed or _reads_memory(test.part(1)):
            return False
        kind = self.type(start.part(0)) if start.parts[0] is not None else None
        first = self.scalar(self.settled(self.converted(self.value(start.part(1), scope), kind)))
        by = self.scalar(self.value(step, scope), first.dtype)
        end = self.scalar(self.value(test.part(1), scope), first.dtype)
        if first.dtype.kind not in "iu" or not isinstance(by, ir.Const) or by.value <= 0:
            return False
        if test.text == "<=":
            if not isinstance(end, ir.Const):
                return False
            end = ir.const(int(end.value) + 1, first.dtype)
        counter = ir.var(name, first.dtype)
        names = {**scope, name: counter}
        with self.nested() as turn:
            self.sequence([part for part in node.part(3).parts if part is not None], names, exits)
        made = ir.For(counter, first, self.let("end", end), by, self.with_flags(turn, loop), f"line {node.line}")
        self.looped(made, loop)
        return True


def _any(conditions: Sequence[ir.Expr]) -> ir.Expr:
    """Whether one of them holds."""
    first, *rest = conditions
    return reduce(lambda a, b: ir.binary("|", a, b), rest, first)


# Questions about the text.


def _shaped(name: str, item: DType) -> Type:
    if name.startswith("vec"):
        return VectorType(int(name[3]), item)
    return VectorType(int(name[3]), VectorType(int(name[5]), item))


def _number(text: str) -> Scalar:
    """A literal: a number of the IR where it has a suffix, else one without a type."""
    hexadecimal = text[:2] in ("0x", "0X")
    suffix = text[-1] if text[-1] in "iuh" or (text[-1] == "f" and not hexadecimal) else ""
    digits = text.removesuffix(suffix) if suffix else text
    if hexadecimal and (set(digits) & set(".pP")):
        number: int | float = float.fromhex(digits.rstrip("fh") if "p" in digits.lower() else digits)
    elif set(digits) & set(".eE") and not hexadecimal:
        number = float(digits)
    else:
        number = int(digits, 16 if hexadecimal else 10)
    if suffix:
        dtype = _LETTERS[suffix]
        return ir.const(float(number) if dtype.kind == "f" else number, dtype)
    return number


def _folded(operator: str, left: int | float, right: int | float) -> Scalar:
    """An operator of two literals without types."""
    whole = isinstance(left, int) and isinstance(right, int)
    if operator in ("<", "<=", ">", ">=", "==", "!="):
        outcomes = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}
        return ir.const((outcomes | {"==": left == right, "!=": left != right})[operator], bool_)
    if operator == "/" and not whole:
        return left / right
    if operator in ("/", "%"):
        one, other = int(left), int(right)
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return quotient if operator == "/" else one - quotient * other
    if operator in ("+", "-", "*"):
        return {"+": left + right, "-": left - right, "*": left * right}[operator]
    one, other = int(left), int(right)
    return {"&": one & other, "|": one | other, "^": one ^ other, "<<": one << other, ">>": one >> other}[operator]


def _names(node: SyntaxNode | None) -> set[str]:
    """All names in a piece of text."""
    if node is None:
        return set()
    own = {node.text} if node.kind == "name" else set()
    return own.union(*(_names(part) for part in node.parts))


def _root(node: SyntaxNode) -> str:
    """The variable that a place is a part of."""
    while node.kind in ("index", "member", "unary"):
        node = node.part(0)
    return node.text


def _assigned(node: SyntaxNode | None) -> set[str]:
    """The variables that statements may set: those assigned, and those whose pointers are passed."""
    if node is None:
        return set()
    own = {_root(node.part(0))} if node.kind == "assign" and node.text != "_" else set()
    if node.kind == "unary" and node.text == "&":
        own.add(_root(node.part(0)))
    return own.union(*(_assigned(part) for part in node.parts))


def _reads_memory(node: SyntaxNode) -> bool:
    """Whether an expression indexes, or calls, what may be another value in each turn."""
    return node.kind in ("index", "call") or any(part is not None and _reads_memory(part) for part in node.parts)


def _step(update: SyntaxNode, name: str) -> SyntaxNode | None:
    """c of `i += c` and `i = i + c`."""
    if update.kind != "assign" or update.part(0).kind != "name" or update.part(0).text != name:
        return None
    value = update.part(1)
    if update.text == "+=":
        return value
    if update.text == "=" and value.kind == "binary" and value.text == "+" and value.part(0).text == name:
        return value.part(1)
    return None


def _written(module: Sequence[SyntaxNode]) -> set[str]:
    """The variables that any function sets, or passes on."""
    return set().union(*(_assigned(part) for node in module if node.kind == "function" for part in node.parts))
