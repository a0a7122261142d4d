"""Reading layouts: every notation that people paste.

A hand-written recursive descent over

    chain  := pair { "o" pair }                          swizzle o offset o layout, pointer o layout
    pair   := value [ ":" value ]                        shape:stride
    value  := number | name | "?" | basis | call | group, joined by + - * / // % ** and @
    group  := "(" [ chain { "," chain } ] ")"            also [ ; ] and < , > for tilers
    call   := name ( "(" | "<" ) arguments ( ")" | ">" ) Layout<Shape<_4>,Stride<_1>>, make_layout(4, 1), E(0), ...

Law: for every layout and every writer of `write.py`, reading what it writes gives the layout back. Python evaluates
nothing, nesting stops at `MAX_DEPTH`, and an error carries the column where reading stopped.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from ...errors import LayoutError, NotationError
from ..values.basis import Basis
from ..values.composed import AnyLayout, ComposedLayout
from ..values.coordinates import _ as underscore
from ..values.int_tuple import MAX_DEPTH
from ..values.layout import Layout, Order
from .nodes import (
    CALLS,
    LARGEST_COUNT,
    POINTER,
    Call,
    Node,
    arithmetic,
    compose,
    layout_of,
    layout_of_pair,
    power,
    symbol,
    tiler_of,
)
from .tokens import LONGEST_NUMBER, Token, Tokens, number

_ORDERS = {
    "LayoutLeft": Order.LEFT,
    "GenColMajor": Order.LEFT,
    "LayoutRight": Order.RIGHT,
    "GenRowMajor": Order.RIGHT,
}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}
_CLOSING = {"(": ")", "[": "]", "<": ">"}
_KEYWORD = re.compile(r"(shape|stride|order|offset|loc|ip)\s*=")
_DIVISOR = re.compile(r"div\s*=\s*([0-9]{1,18})")
_MACHINE_INTEGERS = frozenset("int unsigned long int32_t uint32_t int64_t uint64_t size_t".split())
"""Types of sizes that a C++ type does not know: each is another unknown."""
_PYCUTE_SWIZZLE = re.compile(r"SW_(\d{1,9})_(\d{1,9})_(-?\d{1,9})")


def parse_layout(text: str) -> Layout | ComposedLayout:
    """The layout that `text` writes down.

    It reads CuTe C++ prints and sources, the CuTe DSL, pycute, tensor-layouts, Mojo, LaTeX, cutepy's own `str` and
    `repr`, and a bare shape. A pointer in front is left out; a name or `?` is an unknown size, a positive SymPy symbol.

    >>> print(parse_layout("((_4,_2),_8):((_1,_16),_4)"), parse_layout("Layout<Shape<_4,_8>,Stride<_8,_1>>{}"))
    ((4,2),8):((1,16),4) (4,8):(8,1)
    >>> print(parse_layout("Sw<3,4,3> o _0 o (_8,_64):(_64,_1)"), parse_layout("(4, 8)"))
    S<3,4,3> o 0 o (8,64):(64,1) (4,8):(1,4)

    Raises NotationError, with the column and a caret, for anything else.
    """
    reader = Reader(text)
    return reader.stated(layout_of(reader.whole(), reader.tokens.error))


def parse_tiler(text: str) -> object:
    """The tiler that `text` writes down: an integer, a layout, `_`, or a tuple of tilers.

    >>> parse_tiler("<3:1, 8:1>"), parse_tiler("[_;(2,4):(1,2)]"), parse_tiler("(4,(2,8))")
    ((Layout(3, 1), Layout(8, 1)), (_, Layout((2, 4), (1, 2))), (4, (2, 8)))

    Shapes, strides and coordinates are tilers too. Raises NotationError as `parse_layout`.
    """
    reader = Reader(text)
    return tiler_of(reader.whole(), reader.tokens.error)


class Reader:
    """One text being read."""

    __slots__ = ("count", "depth", "facts", "names", "templates", "tokens")
    known: Collection[str] = CALLS
    """The names that a call may have."""
    examples = "Layout, Shape, Stride, make_layout, make_shape, make_stride, ComposedLayout, Swizzle, Int, E"

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise LayoutError(f"a layout is parsed from text, not from {text!r}; write Layout(shape, stride) instead")
        self.tokens = Tokens(text)
        self.depth = self.templates = self.count = 0
        self.facts: list[str] = []
        self.names: set[str] | None = None

    def whole(self) -> Node:
        """The text as one chain with nothing after it."""
        tokens = self.tokens
        if tokens.next.kind == "end":
            raise tokens.error("there is no text; a layout is written (4,8):(1,4)")
        try:
            node = self.chain()
        except RecursionError:
            raise tokens.error("the text nests too deep for what is left of Python's stack") from None
        tokens.accept(";")
        if tokens.next.kind != "end":
            missing = " or ':' and a stride" if isinstance(node.value, tuple) else ""
            raise tokens.error(f"{tokens.found()} follows a complete layout; expected the end of the text{missing}")
        return node

    def chain(self) -> Node:
        """`pair o pair o ...`"""
        parts = [self.pair()]
        while self.tokens.accept("o"):
            parts.append(self.pair())
        if len(parts) == 1:
            return parts[0]
        return Node(parts[0].column, compose(parts, self.tokens.error))

    def pair(self) -> Node:
        """`shape`, or `shape:stride`."""
        shape = self.value(0)
        colon = self.tokens.accept(":")
        if colon is None:
            return shape
        return Node(shape.column, layout_of_pair(shape, self.value(0), self.tokens.error, colon.column))

    def value(self, floor: int) -> Node:
        """Numbers joined by signs that bind tighter than `floor`; one group, call or name otherwise."""
        tokens = self.tokens
        left = self.unit()
        while tokens.next.kind in ("sign", "basis"):
            sign = tokens.next.text
            if tokens.next.kind == "basis":
                left = arithmetic("*", left, self.unit(), tokens.error)
            elif sign == "@":
                left = self._basis(left)
            elif sign == "**":
                tokens.take()
                left = power(left, self.unit(), tokens.error)
            elif _PRECEDENCE.get(sign, 0) > floor:
                tokens.take()
                left = arithmetic(sign, left, self.value(_PRECEDENCE[sign]), tokens.error)
            else:
                break
        return left

    def unit(self) -> Node:
        """A number, a name, a call or a group."""
        token = self.tokens.take()
        if token.kind == "number":
            return self._counted(token, number(token.text))
        if token.kind == "basis":
            return self._counted(token, Basis(1, tuple(map(int, re.findall(r"\d+", token.text)))))
        if token.kind == "dynamic":
            return self._counted(token, self._unknown(token))
        if token.kind == "name":
            return self._named(token)
        if token.text in _CLOSING:
            return self._group(token)
        if token.text == "-":
            return arithmetic("*", Node(token.column, -1), self.value(1), self.tokens.error)
        found = "the end of the text" if token.kind == "end" else repr(token.text)
        raise self.tokens.error(f"expected a number or '(', found {found}", token.column)

    def _counted(self, token: Token, value: object) -> Node:
        self.count += 1
        if self.count > 2 * LARGEST_COUNT:
            raise self.tokens.error(
                f"more than {LARGEST_COUNT} modes; a layout of that many is built with Layout(...), not parsed",
                token.column,
            )
        return Node(token.column, value)

    def listed(self, opening: Token, name: str = "") -> tuple[list[Node], dict[str, Node], bool]:
        """What stands between brackets, `name=...` apart, and whether a comma makes it a tuple."""
        tokens = self.tokens
        closing = _CLOSING[opening.text]
        self.depth += 1
        if self.depth > MAX_DEPTH + 2:
            raise tokens.error(f"the text nests deeper than {MAX_DEPTH} levels; no layout does", opening.column)
        entries: list[Node] = []
        keywords: dict[str, Node] = {}
        comma = True
        while not tokens.accept(closing):
            if not comma:
                what = f"the arguments of {name}" if name else "the tuple"
                raise tokens.error(f"expected ',' or {closing!r} in {what}, found {tokens.found()}")
            keyword = _KEYWORD.match(tokens.text, tokens.next.column) if name else None
            if keyword:
                tokens.take()
                tokens.take()
                keywords[keyword.group(1)] = self.chain()
            else:
                entries.append(self.chain())
            comma = tokens.accept(",", ";") is not None
        self.depth -= 1
        return entries, keywords, comma or len(entries) != 1

    def _group(self, opening: Token) -> Node:
        entries, _, comma = self.listed(opening)
        return Node(opening.column, tuple(entries), comma or opening.text != "(")

    def _tensor(self) -> Node:
        """`tensor<ptr o layout ...>`: the layout; what a print of a tensor says after it is left out."""
        opening = self.tokens.take()
        node = self.chain()
        self.tokens.skip_group(opening, self.tokens.next.column)
        return node

    def _basis(self, left: Node) -> Node:
        """`5@1@0`: the axes from the innermost to the outermost."""
        tokens = self.tokens
        path: list[int] = []
        while tokens.accept("@"):
            axis = tokens.take()
            if axis.kind != "number" or number(axis.text) < 0:
                raise tokens.error("an axis is a number from 0", axis.column)
            path.insert(0, number(axis.text))
            if len(path) > MAX_DEPTH:
                raise tokens.error(f"more than {MAX_DEPTH} axes", axis.column)
        return arithmetic("*", left, Node(left.column, Basis(1, tuple(path))), tokens.error)

    def _named(self, token: Token) -> Node:
        """A name: a call where brackets follow, a pointer, an order, or an unknown size."""
        tokens, name = self.tokens, token.text
        if name in ("_", "None"):
            return Node(token.column, underscore)
        if name in _ORDERS:
            if tokens.accept("("):
                tokens.expect(")", f"after {name}(")
            return Node(token.column, _ORDERS[name])
        if swizzle := _PYCUTE_SWIZZLE.fullmatch(name):
            numbers = [Node(token.column, int(number)) for number in swizzle.groups()]
            return self.meaning(Call("Swizzle", token.column, numbers, {}, tokens.error))
        if "ptr" in name or name == "counting_iter":
            tokens.skip_brackets()
            return Node(token.column, POINTER)
        if tokens.sees("(", "<", "["):
            return self._tensor() if name == "tensor" else self._call(token)
        if name in _MACHINE_INTEGERS or (name == "X" and self.templates):
            return self._counted(token, self._unknown(token))
        if name in ("o", "True", "False") or len(name) > LONGEST_NUMBER:
            raise tokens.error("expected a number, a name or '('", token.column)
        return self._counted(token, symbol(name))

    def _call(self, token: Token) -> Node:
        """The call whose name is `token`; its opening bracket comes next."""
        if token.text not in self.known:
            name = token.text[:LONGEST_NUMBER]
            near = get_close_matches(name, self.known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {self.examples}, ..."
            raise self.tokens.error(f"{name} is no call that is known here; {hint}", token.column)
        template = self.tokens.sees("<")
        self.templates += template
        entries, keywords, _ = self.listed(self.tokens.take(), token.text)
        self.templates -= template
        return self.meaning(Call(token.text, token.column, entries, keywords, self.tokens.error))

    def meaning(self, call: Call) -> Node:
        """What a call stands for; what it refuses is an error at its name."""
        try:
            return Node(call.column, CALLS[call.name](call.bare()))
        except NotationError:
            raise
        except LayoutError as error:
            raise call.fail(str(error), call.column) from None

    def stated(self, layout: AnyLayout) -> AnyLayout:
        """The layout with the facts that the text states of its unknown sizes."""
        plain = layout.inner if isinstance(layout, ComposedLayout) else layout
        if not self.facts or plain.facts is None:
            return layout
        given = plain.given(*self.facts)
        return layout.with_inner(given) if isinstance(layout, ComposedLayout) else given

    def _unknown(self, token: Token) -> object:
        """`?`, with its divisor as a fact: a symbol that no name of the text collides with."""
        if self.names is None:
            self.names = set(re.findall(r"\bn[0-9]+\b", self.tokens.text))
        name = next(name for name in (f"n{i}" for i in range(len(self.names) + 1)) if name not in self.names)
        self.names.add(name)
        divisor = _DIVISOR.search(token.text)
        if divisor and int(divisor.group(1)) > 1:
            self.facts.append(f"{divisor.group(1)} divides {name}")
        return symbol(name)
