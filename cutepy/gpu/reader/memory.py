"""Types of WGSL, and where their parts lie in arrays of the IR.

Law: an array of structs is read as a struct of arrays, a vector as its scalars: one array of the IR for each member
that is a number. Two accesses meet there exactly if they meet in the shader's memory, and one leaves its array exactly
if the shader's does; inner arrays are coordinates with extents of their own.
"""

from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from ...errors import KernelError
from ...tensor.dtypes import DType
from .. import ir


@dataclass(frozen=True, slots=True)
class VectorType:
    """`lanes` numbers; a matrix has vectors for them."""

    lanes: int
    item: "DType | VectorType"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`length` is None where the binding says it."""

    item: "Type"
    length: int | None


@dataclass(frozen=True, slots=True)
class StructType:
    """Members by name, in order."""

    name: str
    members: "dict[str, Type]" = field(hash=False)


@dataclass(frozen=True, slots=True)
class AtomicType:
    """A number that is updated atomically."""

    item: DType


@dataclass(frozen=True, slots=True)
class PointerType:
    """A pointer: it is what it points to, by name."""


@dataclass(frozen=True, slots=True)
class HandleType:
    """A texture or a sampler: the type of a channel, and how many dimensions it has."""

    name: str
    channel: DType
    dimensions: int


Type = HandleType | DType | VectorType | ArrayType | StructType | AtomicType | PointerType


class Items(list["Value"]):
    """A vector, or an array, by its items."""


Scalar = ir.Expr | int | float
"""A number; a Python number is a literal without a type (a bool is one of type bool)."""
Value: TypeAlias = "Scalar | Items | dict[str, Value] | Place"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number of a variable: what the IR has of it, its type, the extents of the arrays and vectors around it."""

    dtype: DType
    extents: tuple[int, ...]
    arrays: int
    atomic: bool


def leaves_of(kind: Type, unknown: int | None, said: str) -> dict[str, Leaf]:
    """The numbers of a variable of this type by their path; `unknown` is the length that the type leaves open."""
    found: dict[str, Leaf] = {}

    def add(kind: Type, path: str, extents: tuple[int, ...], arrays: int) -> None:
        match kind:
            case StructType():
                for name, member in kind.members.items():
                    add(member, f"{path}.{name}", extents, arrays)
            case ArrayType():
                length = kind.length if kind.length is not None else unknown
                if length is None:
                    raise KernelError(f"{said} has no length: bind it, --bind {said.split()[-1]}=f32[1000]")
                add(kind.item, path, (*extents, length), arrays + 1)
            case VectorType():
                add(kind.item, path, (*extents, kind.lanes), arrays)
            case AtomicType():
                found[path] = Leaf(kind.item, extents, arrays, True)
            case DType():
                found[path] = Leaf(kind, extents, arrays, False)
            case HandleType():
                pass
            case PointerType():
                raise KernelError(f"{said} holds a pointer")

    add(kind, "", (), 0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable: for each number a name of the IR, a value that nothing sets, or an array of the IR."""

    name: str
    leaves: dict[str, Leaf]
    held: dict[str, ir.Expr | ir.Buffer]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A part of a variable: its type, the path of members, the coordinates so far, outermost first."""

    variable: Variable
    type: Type
    path: str = ""
    at: tuple[ir.Expr, ...] = ()

    def member(self, name: str) -> "Place":
        assert isinstance(self.type, StructType)
        return Place(self.variable, self.type.members[name], f"{self.path}.{name}", self.at)

    def item(self, index: ir.Expr) -> "Place":
        assert isinstance(self.type, ArrayType | VectorType)
        return Place(self.variable, self.type.item, self.path, (*self.at, index))

    @property
    def leaf(self) -> Leaf:
        return self.variable.leaves[self.path]

    @property
    def index(self) -> ir.Expr:
        """The element of the array of the IR: the last coordinate is fastest."""
        found: ir.Expr = ir.const(0)
        for coordinate, extent in zip(self.at, self.leaf.extents, strict=True):
            found = found * extent + coordinate
        return found

    @property
    def text(self) -> str | None:
        """A number as the host names it, `params.sizes[3].x`; None where an index is no constant."""
        at = [int(c.value) for c in self.at if isinstance(c, ir.Const)]
        if len(at) < len(self.at):
            return None
        arrays, lanes = at[: self.leaf.arrays], "".join("xyzw"[lane] for lane in at[self.leaf.arrays :])
        return f"{self.variable.name}{self.path}{''.join(f'[{i}]' for i in arrays)}{'.' * bool(lanes)}{lanes}"

    @property
    def claims(self) -> ir.Coordinates:
        """The coordinates that are to be inside their extents: where the element alone does not say it."""
        if len(self.at) < 2 or all(isinstance(c, ir.Const) for c in self.at[1:]):
            return ir.NO_COORDINATES
        return self.at, self.leaf.extents


def length_of(leaf: Leaf) -> int:
    """How many numbers an array of the IR has."""
    return prod(leaf.extents)


def lanes_of(*values: Value) -> Items:
    """The numbers of vectors and numbers, in a row."""
    return Items(lane for value in values for lane in (value if isinstance(value, Items) else [value]))
