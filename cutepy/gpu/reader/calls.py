"""Calls of what WGSL itself has: constructors, functions of numbers and vectors, atomics, barriers, subgroups."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import cache, partial, reduce

from ...tensor.dtypes import DType, bool_, f32, i32, u32
from .. import ir
from ..ir.operators import SUBGROUP
from ..ir.simplify import simplify
from .memory import ArrayType, AtomicType, Items, Place, StructType, Value, VectorType, lanes_of
from .syntax import SyntaxNode, parse
from .textures import TextureReader

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
#: Functions of subgroups of which only the type of the result is read.
_ANY_LANES = frozenset(
    "subgroupInclusiveMul subgroupExclusiveMul subgroupElect quadBroadcast quadSwapX quadSwapY quadSwapDiagonal".split()
)
#: Functions that are made of others: what they are of their operands, by WGSL's own words. Those that `_EACH` has are
#: of numbers, lane by lane; a name that begins with two underscores is no shader's.
_EACH = {
    "__hermite": "t: t * t * (3.0 - 2.0 * t)",
    "__leading": "x: select(31 - countLeadingZeros(x), -1, x == 0)",
    "__snorm": "x: u32(i32(floor(0.5 + 32767.0 * clamp(x, -1.0, 1.0)))) & 0xFFFF",
    "__unorm": "x: u32(i32(floor(0.5 + 65535.0 * clamp(x, 0.0, 1.0)))) & 0xFFFF",
    "firstLeadingBit": "x: __leading(select(x, ~x, x < 0))",
    "firstTrailingBit": "x: select(countTrailingZeros(x), -1, x == 0)",
    "ldexp": "x, e: x * exp2(f32(e))",
    "mix": "a, b, t: a * (1.0 - t) + b * t",
    "quantizeToF16": "x: f32(f16(x))",
    "saturate": "x: clamp(x, 0.0, 1.0)",
    "smoothstep": "low, high, x: __hermite(clamp((x - low) / (high - low), 0.0, 1.0))",
    "step": "edge, x: select(0.0, 1.0, edge <= x)",
}
_MADE = _EACH | {
    "cross": "a, b: a.yzx * b.zxy - a.zxy * b.yzx",
    "distance": "a, b: length(a - b)",
    "faceForward": "x, i, n: select(-x, x, dot(i, n) < 0.0)",
    "length": "v: sqrt(dot(v, v))",
    "normalize": "v: v / length(v)",
    "pack2x16snorm": "v: __snorm(v.x) | __snorm(v.y) << 16",
    "pack2x16unorm": "v: __unorm(v.x) | __unorm(v.y) << 16",
    "reflect": "v, n: v - 2.0 * dot(n, v) * n",
    "unpack2x16snorm": "w: max(vec2(f32(bitcast<i32>(w << 16) >> 16), f32(bitcast<i32>(w) >> 16)) / 32767.0, -1.0)",
    "unpack2x16unorm": "w: vec2(f32(w << 16 >> 16), f32(w >> 16)) / 65535.0",
}
#: Functions of whole words, whose operands are numbers or the lanes of one vector.
_WORDS = frozenset(
    "pack2x16float pack4x8snorm pack4x8unorm unpack2x16float unpack4x8snorm unpack4x8unorm unpack4xI8 unpack4xU8"
    " pack4xI8 pack4xU8 dot4I8Packed dot4U8Packed".split()
)
_ATOMICS = frozenset(f"atomic{name}" for name in "Add Sub Min Max And Or Xor Exchange Store Load".split())
_BARRIERS = {"workgroupBarrier": False, "storageBarrier": True, "textureBarrier": True}
#: Functions of subgroups as WGSL spells them.
_SUBGROUP = {re.sub(r"_(\w)", lambda match: match[1].upper(), name): name for name in SUBGROUP}


class CallReader(TextureReader):
    """Calls of what WGSL has: constructors, functions of numbers, atomics, barriers, subgroups."""

    @abstractmethod
    def inlined(self, node: SyntaxNode, found: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of a function of the shader."""

    # Calls.

    def call(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        name, line = node.text, node.line
        found = self.nodes.get(name) if line else None  # a definition speaks of WGSL's own functions
        if found is not None and found.kind == "function":
            return self.inlined(node, found, scope)
        arguments = node.pieces[1:]
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
        if name.startswith("texture"):
            return self.of_texture(node, [self.value(argument, scope) for argument in arguments])
        values: list[Value] = []
        for number, argument in enumerate(arguments):
            value = self.read(self.value(argument, scope))
            later = isinstance(value, ir.Expr | Items) and any(map(self.calls, arguments[number + 1 :]))
            values.append(self.kept("argument", value) if later else value)
        self.line = line or self.line
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
        if name == "subgroupBallot":
            votes = self.let(
                name, ir.call("subgroup_ballot", self.scalar(values[0] if values else ir.const(True, bool_)))
            )
            return Items(ir.component(votes, lane) for lane in range(4))
        if name in _SUBGROUP:
            return self.each(lambda *items: self.let(name, self.subgroup(_SUBGROUP[name], *items)), *values)
        if name in _ANY_LANES:  # what other lanes hold is any value; the vote says that they take part
            self.let(name, ir.call("subgroup_any", ir.const(True, bool_)))
            return self.each(
                lambda x: self.unknown(self.scalar(x).dtype), values[0] if values else ir.const(True, bool_)
            )
        if name in _WORDS:
            made = ir.call(name, *[self.scalar(x) for x in lanes_of(*values)])
            return made if made.lanes == 1 else Items(ir.component(made, lane) for lane in range(made.lanes))
        if name in ("any", "all"):
            return reduce(lambda a, b: self.binary("|" if name == "any" else "&", a, b), lanes_of(*values))
        if name == "dot":
            return self.dot(*values)
        if name in _MADE:
            return self.each(partial(self.made, name), *values) if name in _EACH else self.made(name, *values)
        if name in ("extractBits", "insertBits"):
            return self.each(partial(self.bits, name), *values)
        if name == "transpose":
            return Items(Items(row) for row in zip(*columns_of(values[0]), strict=True))
        if name == "determinant":
            return self.determinant(columns_of(values[0]))
        if name == "modf":
            whole = self.each(lambda x: self.function("trunc", x), values[0])
            return {"fract": self.each(lambda x, w: self.binary("-", x, w), values[0], whole), "whole": whole}
        raise self.refuse(node, f"the function {name} is not read")

    def made(self, name: str, *values: Value) -> Value:
        """A function that is made of others."""
        names, node = _definition(name)
        return self.read(self.value(node, dict(zip(names, values, strict=True))))

    def determinant(self, columns: list[Items]) -> Value:
        """By the first column."""
        if len(columns) == 1:
            return columns[0][0]
        total: Value = 0.0
        for row, number in enumerate(columns[0]):
            minor = [Items(column[:row] + column[row + 1 :]) for column in columns[1:]]
            term = self.binary("*", number, self.determinant(minor))
            total = self.binary("-" if row % 2 else "+", total, term)
        return total

    def bits(self, name: str, *values: Value) -> Value:
        """Some bits of a number, or a number with other ones in their place."""
        number = self.scalar(values[0])
        dtype = number.dtype
        low, many = (self.scalar(value, u32) for value in values[-2:])
        low = simplify(ir.call("min", low, ir.const(32)))
        many = simplify(ir.call("min", many, 32 - low))
        by, none = low & 31, ir.binary("==", many, ir.const(0))
        ones = ir.select(ir.binary("==", many, ir.const(32)), ir.const(-1), (1 << (many & 31)) - 1)
        if name == "insertBits":
            mask = ir.cast(ones << by, dtype)
            put = ir.binary("<<", self.scalar(values[1], dtype), by) & mask
            return ir.select(none, number, number & ~mask | put)
        if dtype is u32:
            return number >> by & ones
        left = ir.binary("<<", number, 32 - many - low & 31)
        return ir.select(none, ir.const(0, dtype), ir.binary(">>", left, 32 - many & 31))

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
        operation = "CompareExchange" if exchange else node.text.removeprefix("atomic")
        value = operands[-1] if operands else ir.const(0, dtype)
        compare = operands[0] if exchange else None
        self.out.append(
            ir.Atomic(operation, buffer, place.index, value, compare, result, self.place, coordinates, shape)
        )
        if exchange:
            assert result is not None and compare is not None
            return {"old_value": result, "exchanged": ir.binary("==", result, compare)}
        return 0 if result is None else result

    def constructed(self, node: SyntaxNode, values: list[Value]) -> Value:
        """A value of a type: converted, put together, or 0."""
        callee = node.part(0)
        if callee.text == "array" and not callee.parts:
            settled = [self.settled(value) for value in values]
            return Items(settled)
        if re.fullmatch(r"vec[234]", callee.text) and not callee.parts:
            lanes = lanes_of(*values)
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
                made = [self.cast(x, item) for x in lanes_of(*values)]
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


def columns_of(matrix: Value) -> list[Items]:
    """The columns of a matrix."""
    return [column for column in (matrix if isinstance(matrix, Items) else ()) if isinstance(column, Items)]


@cache
def _definition(name: str) -> tuple[tuple[str, ...], SyntaxNode]:
    """The operands of a function that is made of others, and what it is, on line 0."""
    names, _, text = _MADE[name].partition(": ")
    (constant,) = parse(f"const made = {text};", line=0)
    return tuple(names.split(", ")), constant.part(1)
