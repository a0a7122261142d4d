"""Layouts as source code spells them: C++'s `Layout<Shape<_4>,Stride<_1>>`, Python's `make_layout(4, stride=1)`.

A call is a name and the parts in its brackets; what it means is here, how it is read in `notation`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import cast

from ...errors import NotationError
from ..algebra.product import make_ordered_layout
from ..values.basis import Basis
from ..values.composed import Swizzle
from ..values.int_tuple import IntTuple
from ..values.layout import Layout, Order, make_identity_layout, make_layout
from .reading import Fail, Node, bare, compose, is_number, layout_of_pair, tree_of

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
