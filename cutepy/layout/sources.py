"""Layouts as source code spells them: C++'s `Layout<Shape<_4>,Stride<_1>>`, Python's `make_layout(4, stride=1)`.

Imports `reading`. A call is a name and the parts in its brackets; what it means is here, how it is read in `notation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from ..errors import LayoutError, NotationError
from .basis import Basis
from .composed import Swizzle
from .int_tuple import IntTuple
from .layout import Layout, Order, make_identity_layout, make_layout
from .reading import Fail, Node, compose, is_number, layout_of_pair, tree_of
from .tokens import Token

if TYPE_CHECKING:
    from .notation import Reader

Result = TypeVar("Result")

_TUPLES = frozenset(
    "Shape Stride Step Coord Tile Tiler tuple Tuple IntTuple make_shape make_stride make_tuple make_coord make_tile "
    "make_step make_int_tuple ArithTuple ArithmeticTuple make_arithmetic_tuple make_arithmetic_tuple_iterator".split()
)
_LAYOUTS = ("Layout", "make_layout")
_SWIZZLES = ("Swizzle", "Sw", "S", "make_swizzle")
_NUMBERS = ("Int", "C", "constant", "Integer")
_COMPOSED = ("ComposedLayout", "Chained", "make_composed_layout", "composition")
_FUNCTIONS = ("floor", "ceiling", "Mod", "Max", "Min")


def symbol(name: str) -> object:
    """The unknown size of that name: a SymPy symbol, integer and positive."""
    from sympy import Symbol

    return Symbol(name, integer=True, positive=True)


def checked(reader: Reader, token: Token, make: Callable[..., Result], *arguments: object) -> Result:
    """`make(*arguments)`; what it refuses is an error at `token`."""
    try:
        return make(*arguments)
    except NotationError:
        raise
    except LayoutError as error:
        raise reader.tokens.error(str(error), token.column) from None


def call(reader: Reader, token: Token) -> Node:
    """The call whose name is `token`; its opening bracket comes next."""
    name, fail = token.text, reader.tokens.error
    reader.calls += 1
    entries, keywords, _ = reader.listed(reader.tokens.take(), name)
    reader.calls -= 1
    if name in _TUPLES:
        return Node(token.column, tuple(entries))
    if name in _LAYOUTS:
        return Node(token.column, checked(reader, token, _layout, token, entries, keywords, fail))
    if name in _SWIZZLES:
        return Node(token.column, checked(reader, token, Swizzle, *_integers(token, entries, fail, (3,))))
    if name in _NUMBERS:
        return Node(token.column, _integers(token, entries, fail, (1,))[0])
    if name == "E":
        return Node(token.column, Basis(1, tuple(_integers(token, entries, fail, range(1, 100)))))
    if name == "ScaledBasis":
        value, *path = _integers(token, entries, fail, range(2, 100))
        return Node(token.column, Basis(value, tuple(path)))
    if name in _COMPOSED:
        return Node(token.column, checked(reader, token, _composed, token, entries, keywords, fail))
    if name in _FUNCTIONS:
        return Node(token.column, _function(token, entries, fail))
    if name in ("make_identity_layout", "make_ordered_layout"):
        return Node(token.column, checked(reader, token, _made, token, entries, keywords, fail))
    known = "Layout, Shape, Stride, make_layout, make_shape, make_stride, ComposedLayout, Swizzle, Int, E"
    raise fail(f"{name} is not a spelling of a layout that is known here ({known})", token.column)


def _layout(token: Token, entries: list[Node], keywords: dict[str, Node], fail: Fail) -> Layout:
    if entries and all(isinstance(entry.value, Layout) for entry in entries):
        layouts = cast("list[Layout]", [entry.value for entry in entries])
        return layouts[0] if len(layouts) == 1 and token.text == "Layout" else make_layout(*layouts)
    parts = list(entries)
    parts += [keywords[key] for key in ("shape", "stride") if key in keywords]
    if not 1 <= len(parts) <= 2:
        raise fail(
            f"{token.text} takes a shape and a stride, or layouts; here are {len(parts)} arguments", token.column
        )
    stride = parts[1] if len(parts) == 2 else Node(token.column, Order.LEFT)
    return layout_of_pair(parts[0], stride, fail)


def _composed(token: Token, entries: list[Node], keywords: dict[str, Node], fail: Fail) -> object:
    if len(entries) == 2 and "offset" in keywords:
        entries = [entries[0], keywords["offset"], entries[1]]
    if len(entries) < 2 or (token.text == "composition" and not isinstance(entries[0].value, Swizzle)):
        raise fail(
            f"{token.text} is read where it joins a swizzle and a layout; compute others in Python", token.column
        )
    return compose(entries, fail, part_of_chain=True)


def _made(token: Token, entries: list[Node], keywords: dict[str, Node], fail: Fail) -> Layout:
    from .product import make_ordered_layout

    parts = [*entries, *keywords.values()]
    if token.text == "make_identity_layout" and len(parts) == 1:
        return make_identity_layout(tree_of(parts[0], fail, "a shape"))
    if token.text == "make_ordered_layout" and len(parts) == 2:
        return make_ordered_layout(tree_of(parts[0], fail, "a shape"), tree_of(parts[1], fail, "an order"))
    raise fail(f"{token.text} takes {'a shape' if 'identity' in token.text else 'a shape and an order'}", token.column)


def _integers(token: Token, entries: list[Node], fail: Fail, counts: object) -> list[int]:
    if len(entries) not in counts:  # type: ignore[operator]
        raise fail(f"{token.text} does not take {len(entries)} numbers", token.column)
    for entry in entries:
        if type(entry.value) is not int:
            raise fail(f"{token.text} takes whole numbers", entry.column)
    return [cast(int, entry.value) for entry in entries]


def _function(token: Token, entries: list[Node], fail: Fail) -> object:
    import sympy

    values: list[IntTuple] = [tree_of(entry, fail, token.text) for entry in entries]
    count = {"floor": 1, "ceiling": 1, "Mod": 2}.get(token.text, max(1, len(values)))
    if len(values) != count or not all(map(is_number, values)):
        raise fail(f"{token.text} takes {count} numbers", token.column)
    value = getattr(sympy, token.text)(*values)
    return int(value) if value.is_Integer else value
