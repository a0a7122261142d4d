"""Values of a shader: reading and writing variables, numbers with and without types, operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import reduce
from math import fmod

from ...tensor.dtypes import DType, bool_, f32, i32, u32
from .. import ir
from ..ir.operators import FOLD
from .declared import LETTERS, ModuleReader
from .memory import (
    ArrayType,
    AtomicType,
    HandleType,
    Items,
    Place,
    Scalar,
    StructType,
    Type,
    Value,
    Variable,
    VectorType,
    lanes_of,
    leaves_of,
    length_of,
)
from .syntax import SyntaxNode

_LANES = {**dict(zip("xyzw", range(4), strict=True)), **dict(zip("rgba", range(4), strict=True))}
#: The most elements of a private array that are set to 0 one by one.
_MOST_ZEROED = 256


class ValueReader(ModuleReader):
    """Expressions, and the variables that they read."""

    @abstractmethod
    def call(self, node: SyntaxNode, scope: Mapping[str, Value]) -> Value:
        """The value of a call."""

    # Reading and writing.

    def read(self, value: Value) -> Value:
        """What a place holds now; a value is what it is."""
        if not isinstance(value, Place):
            return value
        match value.type:
            case HandleType():
                return value
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
                if (known := self.bound_number(value)) is not None:
                    return known
                loaded = ir.load(held, value.index, place=self.place, at=value.claims)
                return self.let(value.variable.name, loaded)
        raise self.refuse(None, f"{value.variable.name} is too large to be a value")

    def bound_number(self, place: Place) -> ir.Expr | None:
        """A number of an array of a uniform that the host gave: `params.sizes[3].x`."""
        key = place.text if place.variable.name in self.uniforms else None
        given = None if key is None else self.given.numbers.get(key)
        return None if given is None else self.scalar(given, place.leaf.dtype)

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
        large = value is None and sum(map(length_of, leaves.values())) > _MOST_ZEROED
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
        if value is None and not large:
            value = self.zero(kind)
        for path, one in held.items():
            if isinstance(one, ir.Var):
                start = 0 if value is None else reduce(lambda v, key: v[key], path.split(".")[1:], value)
                self.out.append(ir.Declare(one, self.scalar(start, one.dtype)))
        # A large array that starts with zeros is not set one by one: a proof takes what it holds for any value.
        if value is not None and any(isinstance(one, ir.Buffer) for one in held.values()):
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
        return own or any(map(self.calls, node.pieces))

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
        if isinstance(value, Place) and value.path not in value.variable.held and isinstance(value.type, VectorType):
            value = self.read(value)  # a vector of the launch
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
        return reduce(lambda a, b: self.binary("+", a, b), lanes_of(products))

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

    def kept(self, name: str, value: Value) -> Value:
        """A value that later statements do not change."""
        value = self.settled(value)
        if isinstance(value, Items):
            return Items(self.kept(name, item) for item in value)
        if isinstance(value, dict):
            return {key: self.kept(key, item) for key, item in value.items()}
        assert isinstance(value, ir.Expr)
        return self.let(name, value)


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
        dtype = LETTERS[suffix]
        return ir.const(float(number) if dtype.kind == "f" else number, dtype)
    return number


def _folded(operator: str, left: int | float, right: int | float) -> Scalar:
    """An operator of two literals without types. Remainders have the sign of the dividend, in WGSL as in C."""
    floats = isinstance(left, float) or isinstance(right, float)
    if operator == "%" and floats:
        return fmod(left, right)
    result = FOLD["//" if operator == "/" and not floats else operator](left, right)
    return ir.const(result, bool_) if isinstance(result, bool) else result
