"""What the parts of a layout's text mean: pairs, chains, sums, calls, each with the column that an error points at.

A call is a name and the parts in its brackets, as source code spells layouts: C++'s `Layout<Shape<_4>,Stride<_1>>`,
Python's `make_layout(4, stride=1)`. The grammar is that of `parse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, cast

from ...errors import LayoutError, NotationError
from ..algebra.tile import make_ordered_layout
from ..values.basis import Basis
from ..values.composed import AnyLayout, Chained, ComposedLayout, Function, Swizzle, chained
from ..values.coordinates import keeps
from ..values.int_tuple import IntTuple
from ..values.layout import Layout, Order, make_identity_layout, make_layout

LARGEST_COUNT = 1024
"""The most numbers that one text may hold: a compact stride is a product of all sizes before it."""
LARGEST_POWER = 64
LARGEST_RESULT = 10**40

Fail = Callable[[str, int], NotationError]


class Pointer:
    """What a tensor's print has in front of its layout; it says where, not how, and is left out."""


POINTER = Pointer()


@dataclass(slots=True)
class Node:
    """A part of the text: its column, its value, and for a group of one whether a comma made it a tuple.

    The value is a number, a basis stride, `_`, a swizzle, a layout, an order, `POINTER`, or a tuple of nodes.
    """

    column: int
    value: object
    comma: bool = True

    @property
    def grouped(self) -> Node | None:
        """What stands in plain parentheses, or None."""
        if isinstance(self.value, tuple) and len(self.value) == 1 and not self.comma:
            return cast(Node, self.value[0])
        return None


def bare(node: Node) -> Node:
    """The node without parentheses around one part."""
    if node.grouped is not None:
        return bare(node.grouped)
    return Node(node.column, tuple(map(bare, node.value))) if isinstance(node.value, tuple) else node


def symbol(name: str) -> object:
    """The unknown size of that name: a SymPy symbol, integer and positive."""
    from sympy import Symbol

    return Symbol(name, integer=True, positive=True)


def is_number(value: object) -> bool:
    """True for an integer and for a symbolic size."""
    return type(value) is int or hasattr(value, "free_symbols")


def tree_of(node: Node, fail: Fail, what: str, *, basis: bool = False) -> IntTuple:
    """The int tuple that a node is; `basis` allows basis strides."""
    if isinstance(node.value, tuple):
        return tuple([tree_of(entry, fail, what, basis=basis) for entry in node.value])
    if is_number(node.value) or (basis and isinstance(node.value, Basis)):
        return cast(IntTuple, node.value)
    raise fail(f"{what} holds numbers and tuples of them, not {_named(node.value)}", node.column)


def _named(value: object) -> str:
    if keeps(value):
        return "`_`"
    names = {Pointer: "a pointer", Basis: "a basis stride", tuple: "a tuple", Order: "an order", Swizzle: "a swizzle"}
    return names.get(type(value), "a number" if is_number(value) else "a layout")


def layout_of_pair(shape: Node, stride: Node, fail: Fail, colon: int | None = None) -> Layout:
    """`shape:stride`, checked leaf by leaf so that an error points at the leaf, or at the `colon` between the two."""
    if isinstance(stride.value, Order):
        return _built(shape, tree_of(shape, fail, "a shape"), stride.value, fail)
    tree_of(shape, fail, "a shape")
    if colon is not None and isinstance(shape.value, tuple) is not isinstance(stride.value, tuple):
        sides = ("one size", "a tuple of strides; is ')' missing before it?")
        sides = ("a tuple of sizes", "one stride") if isinstance(shape.value, tuple) else sides
        raise fail(f"':' stands between {sides[0]} and {sides[1]}", colon)
    _check_congruent(shape, stride, fail)
    return _built(shape, tree_of(shape, fail, "a shape"), tree_of(stride, fail, "a stride", basis=True), fail)


def _check_congruent(shape: Node, stride: Node, fail: Fail) -> None:
    if isinstance(shape.value, tuple) and isinstance(stride.value, tuple):
        if len(shape.value) != len(stride.value):
            raise fail(
                f"{len(stride.value)} strides for {len(shape.value)} sizes; the stride nests as the shape",
                stride.column,
            )
        for extent, step in zip(shape.value, stride.value, strict=True):
            _check_congruent(extent, step, fail)
    elif isinstance(shape.value, tuple) or isinstance(stride.value, tuple):
        inner, outer = (
            ("a tuple", "one size") if isinstance(stride.value, tuple) else ("one stride", "a tuple of sizes")
        )
        raise fail(f"{inner} stands against {outer}; the stride nests as the shape", stride.column)


def _built(shape: Node, extents: IntTuple, stride: IntTuple | Order | None, fail: Fail) -> Layout:
    _check_sizes(shape, fail)
    try:
        return Layout(extents, stride)
    except LayoutError as error:
        raise fail(str(error), shape.column) from None


def _check_sizes(node: Node, fail: Fail) -> None:
    if isinstance(node.value, tuple):
        for entry in node.value:
            _check_sizes(entry, fail)
    elif type(node.value) is int and node.value < 1:
        raise fail(f"a size is {node.value}; sizes are at least 1", node.column)


def layout_of(node: Node, fail: Fail) -> AnyLayout:
    """The layout that the whole text is: itself, a layout in one more pair of parentheses, or a shape."""
    value = node.value
    if isinstance(value, AnyLayout):
        return value
    inner = node.grouped
    if inner is not None and isinstance(inner.value, AnyLayout):
        return inner.value
    if isinstance(value, tuple) and any(isinstance(entry.value, AnyLayout) for entry in value):
        raise fail("a tuple of layouts is a tiler, not a layout; read it with parse_tiler", node.column)
    if isinstance(value, Swizzle):
        raise fail("a swizzle alone has no shape; write what it follows: S<3,4,3> o 0 o (8,64):(64,1)", node.column)
    return _built(node, tree_of(node, fail, "a layout"), None, fail)


def tiler_of(node: Node, fail: Fail) -> object:
    """An integer, a layout, `_`, or a tuple of tilers."""
    if isinstance(node.value, tuple):
        return tuple([tiler_of(entry, fail) for entry in node.value])
    if is_number(node.value) or keeps(node.value) or isinstance(node.value, (Layout, ComposedLayout, Basis)):
        return node.value
    raise fail(f"a tiler holds numbers, layouts, `_` and tuples of them, not {_named(node.value)}", node.column)


def compose(parts: list[Node], fail: Fail, *, part_of_chain: bool = False) -> Function:
    """`outer o offset o inner`, with any number of links; the last is a layout, pointers are left out.

    `part_of_chain`: a swizzle may be the last, for a layout follows outside.
    """
    last = parts[-1].grouped or parts[-1]
    if is_number(last.value):
        raise fail("the last link is a number; it must be a layout, shape:stride", last.column)
    chain: Function | None = None
    offset = 0
    for part in parts[:-1]:
        value = (part.grouped or part).value
        if is_number(value) and chain is not None and offset == 0:
            offset = cast(int, value)
        elif isinstance(value, tuple) and not any(leaf != 0 for leaf in _flat(part, fail)):
            continue
        elif isinstance(value, (Swizzle, Layout, Chained, ComposedLayout)):
            chain, offset = chained(chain, offset, value), 0
        elif not isinstance(value, Pointer):
            raise fail(
                f"{_named(value)} cannot stand here; a chain is S<3,4,3> o 2 o (8,64):(64,1), and a tensor's print has "
                "a pointer or an origin of zeros in front",
                part.column,
            )
    inner = last.value if isinstance(last.value, Swizzle) and part_of_chain else layout_of(last, fail)
    return chained(chain, offset, inner)


def _flat(node: Node, fail: Fail) -> list[int]:
    if isinstance(node.value, tuple):
        return [leaf for entry in node.value for leaf in _flat(entry, fail)]
    return [cast(int, tree_of(node, fail, "a coordinate"))]


def arithmetic(sign: str, left: Node, right: Node, fail: Fail) -> Node:
    """`left sign right` of two numbers; a number may also scale a basis stride."""
    left, right = left.grouped or left, right.grouped or right
    a: Any = left.value
    b: Any = right.value
    if sign == "*" and isinstance(b, Basis) and is_number(a):
        return Node(left.column, b * a)
    if sign == "*" and isinstance(a, Basis) and is_number(b):
        return Node(left.column, a * b)
    for node in (left, right):
        if not is_number(node.value):
            raise fail(f"{sign!r} joins numbers, not {_named(node.value)}", node.column)
    if sign in ("/", "//", "%") and b == 0:
        raise fail("division by 0", right.column)
    return Node(left.column, _whole(_combined(sign, a, b), left, fail))


def _combined(sign: str, a: Any, b: Any) -> object:
    if sign == "/":
        from sympy import Integer

        return (Integer(a) if type(a) is int else a) / b
    if sign in ("+", "-"):
        return a + b if sign == "+" else a - b
    return a * b if sign == "*" else a // b if sign == "//" else a % b


def _whole(value: Any, node: Node, fail: Fail) -> object:
    if getattr(value, "is_Rational", False):
        if not getattr(value, "is_Integer", False):
            raise fail(f"this is {value}; sizes and strides are whole numbers", node.column)
        value = int(value)
    if type(value) is int and abs(value) >= LARGEST_RESULT:
        raise fail("this number is too large for a size or a stride", node.column)
    return value


def power(base: Node, exponent: Node, fail: Fail) -> Node:
    """`base ** exponent`, the exponent a small number."""
    base = base.grouped or base
    if not is_number(base.value) or type(exponent.value) is not int or not 0 <= exponent.value <= LARGEST_POWER:
        raise fail(f"a power has a number below and one from 0 to {LARGEST_POWER} above", exponent.column)
    if type(base.value) is int and abs(base.value) ** exponent.value >= LARGEST_RESULT:
        raise fail("this number is too large for a size or a stride", base.column)
    value: Any = base.value
    return Node(base.column, value**exponent.value)


_ARGUMENTS = {"floor": 1, "ceiling": 1, "Mod": 2}


@dataclass(frozen=True, slots=True)
class Call:
    """A name in the text, its column, the parts in its brackets, those that are `name=part` apart."""

    name: str
    column: int
    entries: list[Node]
    keywords: dict[str, Node]
    fail: Fail

    def wrong(self, message: str) -> NotationError:
        """The error that points at the name."""
        return self.fail(f"{self.name} {message}", self.column)

    def bare(self) -> Call:
        """The call with parts as source code means them: `(a)` is `a` itself, where a print has a tuple of one."""
        keywords = {name: bare(part) for name, part in self.keywords.items()}
        return replace(self, entries=list(map(bare, self.entries)), keywords=keywords)

    def parts(self, *keywords: str) -> list[Node]:
        """The parts, and after them those of the keywords that are given."""
        return [*self.entries, *(self.keywords[key] for key in keywords if key in self.keywords)]

    def integers(self, counts: Container[int]) -> list[int]:
        """The parts, which must be whole numbers, so many of them."""
        if len(self.entries) not in counts:
            raise self.wrong(f"does not take {len(self.entries)} numbers")
        for entry in self.entries:
            if type(entry.value) is not int:
                raise self.fail(f"{self.name} takes whole numbers", entry.column)
        return [cast(int, entry.value) for entry in self.entries]


def _layout(call: Call) -> Layout:
    layouts = [entry.value for entry in call.entries if isinstance(entry.value, Layout)]
    if layouts and len(layouts) == len(call.entries):
        return layouts[0] if len(layouts) == 1 and call.name == "Layout" else make_layout(*layouts)
    parts = call.parts("shape", "stride")
    if not 1 <= len(parts) <= 2:
        raise call.wrong(f"takes a shape and a stride, or layouts; here are {len(parts)} arguments")
    stride = parts[1] if len(parts) == 2 else Node(call.column, Order.LEFT)
    return layout_of_pair(parts[0], stride, call.fail)


def _composed(call: Call) -> object:
    entries = call.entries
    if len(entries) == 2 and "offset" in call.keywords:
        entries = [entries[0], call.keywords["offset"], entries[1]]
    if len(entries) < 2 or (call.name == "composition" and not isinstance(entries[0].value, Swizzle)):
        raise call.wrong("is read where it joins a swizzle and a layout; compute others in Python")
    return compose(entries, call.fail, part_of_chain=True)


def _identity(call: Call) -> Layout:
    parts = call.parts("shape")
    if len(parts) != 1:
        raise call.wrong("takes a shape")
    return make_identity_layout(tree_of(parts[0], call.fail, "a shape"))


def _ordered(call: Call) -> Layout:
    parts = call.parts("shape", "order")
    if len(parts) != 2:
        raise call.wrong("takes a shape and an order")
    return make_ordered_layout(tree_of(parts[0], call.fail, "a shape"), tree_of(parts[1], call.fail, "an order"))


def _scaled(call: Call) -> Basis:
    value, *path = call.integers(range(2, 100))
    return Basis(value, tuple(path))


def _function(call: Call) -> object:
    import sympy

    values: list[IntTuple] = [tree_of(entry, call.fail, call.name) for entry in call.entries]
    count = _ARGUMENTS.get(call.name, max(1, len(values)))
    if len(values) != count or not all(map(is_number, values)):
        raise call.wrong(f"takes {count} numbers")
    value = getattr(sympy, call.name)(*values)
    return int(value) if value.is_Integer else value


_SPELLINGS: dict[Callable[[Call], object], str] = {
    lambda call: tuple(call.entries): "Shape Stride Step Coord Tile Tiler tuple Tuple IntTuple make_shape make_stride "
    "make_tuple make_coord make_tile make_step make_int_tuple ArithTuple ArithmeticTuple make_arithmetic_tuple "
    "make_arithmetic_tuple_iterator",
    lambda call: Swizzle(*call.integers((3,))): "Swizzle Sw S make_swizzle",
    lambda call: call.integers((1,))[0]: "Int C constant Integer",
    lambda call: Basis(1, tuple(call.integers(range(1, 100)))): "E",
    _scaled: "ScaledBasis",
    _layout: "Layout make_layout",
    _composed: "ComposedLayout Chained make_composed_layout composition",
    _identity: "make_identity_layout",
    _ordered: "make_ordered_layout",
    _function: "floor ceiling Mod Max Min",
}
CALLS = {name: meaning for meaning, names in _SPELLINGS.items() for name in names.split()}
"""What a call means, by its name."""
