"""The text of a layout as a tree: words, brackets, signs and calls, each part with its column; nothing is computed.

A hand-written recursive descent over

    text   := [ name ":" ] whole                         tCgA: gmem_ptr[16b](0x7f) o (4,8):(8,1)
    whole  := chain { "@" chain }                        a composition, as Python writes it
    chain  := pair { "o" pair }                          swizzle o offset o layout, pointer o layout
    pair   := value [ ":" value ]                        shape:stride
    value  := number | name | "?" | basis | call | group, joined by + - * / // % ** and @
    group  := "(" [ whole { "," whole } ] ")"            also [ ; ] and < , > for tilers
    call   := name arguments [ arguments ]               Layout<Shape<_4>,Stride<_1>>, E(0), get<1>(4:1), ...
    arguments                                            a group that may have name = whole, each name once: stride=1
    at     := call "(" coordinate ")"                    a layout at a coordinate or a slice; also ((4,8):(8,1))(2,_)

Law: reading is linear in the text and never goes back further than one token, so a text of megabytes fails as fast as
its first wrong character. Nesting stops at `MAX_DEPTH`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count

from ...errors import LayoutError, NotationError, shown
from ..values.coordinates import AXES_RULE, Basis, is_listed
from ..values.coordinates import _ as underscore
from ..values.int_tuple import MAX_DEPTH, Order
from .tree import At, CallNode, Chain, Joined, ParsedText, Pointer, ShapeStride, TextNode, is_number

LONGEST_NUMBER = 40
"""Digits of the longest number that is read: far beyond any address, far below where integers grow slow."""
LARGEST_COUNT = 1024
"""The most numbers that one text may hold: a compact stride is a product of all sizes before it."""

_SKIPPED = re.compile(
    r"(?:\s|\{\s*\}|\\(?:left|right|mathrm)(?![A-Za-z])|\\[,;!]|!\w{1,99}\s*=|!?(?:cute|cutlass|cutepy|pycute|tensor_layouts|torch|[GU]MMA)(?:::|\.))+"
)
_TOKEN = re.compile(
    r"(?P<number>_-?[0-9]+|[0-9]+|_m[0-9]+(?!\w))"
    r"|(?P<braced>\{\s*-?[0-9]{1,40}\s*\})"
    r"|(?P<dynamic>\?(?:\{[^{}]*\})?)"
    r"|(?P<basis>e_\{\s*\d+(?:\s*,\s*\d+)*\s*\})"
    r"|(?P<name>(?!F_2(?!\w))[A-Za-z]\w*|_(?!\w))"
    r"|(?P<spelling>F_2|\{:\}|\\(?:circ|langle|rangle|cdot)(?![A-Za-z])|∘|\^|_(?=\w*_ptr))"
    r"|(?P<sign>\*\*|//|[()\[\]<>:,;@*+\-/%=\"])"
)
_SPELLINGS = {
    "{:}": ":",
    "\\circ": "o",
    "∘": "o",
    "\\langle": "<",
    "\\rangle": ">",
    "\\cdot": "*",
    "^": "**",
    "_": "o",
    "F_2": "F2",
}
_PAIRS = {"(": ")", "[": "]", "<": ">", "{": "}"}
_BRACKET = re.compile(r"[()\[\]<>{}]")


@dataclass(frozen=True, slots=True)
class Token:
    """One word: its kind ("number", "name", "sign", "dynamic", "basis", "end"), its meaning, where it stands."""

    kind: str
    text: str
    column: int
    end: int


class Tokens:
    """The tokens of a text from left to right, with one token of look-ahead.

    >>> words = Tokens("(_4,8)")
    >>> [words.take().text for _ in range(5)], words.next.kind
    (['(', '_4', ',', '8', ')'], 'end')
    """

    __slots__ = ("next", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.next = self._read(0)

    def take(self) -> Token:
        """The next token, read over."""
        token = self.next
        self.next = self._read(token.end)
        return token

    def sees(self, *texts: str) -> bool:
        """True if the next token is one of `texts`."""
        return self.next.text in texts and self.next.kind in ("sign", "name")

    def accept(self, *texts: str) -> Token | None:
        """The next token if it is one of `texts`, read over; None if it is something else."""
        return self.take() if self.sees(*texts) else None

    def expect(self, text: str, why: str) -> Token:
        """The next token, which must be `text`."""
        token = self.accept(text)
        if token is None:
            raise self.error(f"expected {text!r} {why}, found {self.found()}")
        return token

    def skip_brackets(self) -> None:
        """Read over bracketed groups, whatever stands in them: the inside of a pointer's print."""
        while self.sees("(", "[", "<"):
            self.skip_group(self.next, self.next.end)

    def skip_group(self, opening: Token, at: int) -> None:
        """Read from column `at` over the bracket that closes `opening`, whatever stands before it."""
        stack = [_PAIRS[opening.text]]
        while stack:
            bracket = _BRACKET.search(self.text, at)
            if bracket is None:
                raise self.error(f"this {opening.text!r} is never closed; {stack[0]!r} is missing", opening.column)
            at = bracket.end()
            if bracket.group() in _PAIRS:
                stack.append(_PAIRS[bracket.group()])
            elif stack.pop() != bracket.group():
                raise self.error(f"{bracket.group()!r} closes nothing that is open", bracket.start())
        self.next = self._read(at)

    def found(self) -> str:
        """The next token in words."""
        return "the end of the text" if self.next.kind == "end" else repr(self.next.text[:40])

    def error(self, message: str, column: int | None = None) -> NotationError:
        """The error that points at `column`, or at the next token."""
        return NotationError(message, self.text, self.next.column if column is None else column)

    def _read(self, at: int) -> Token:
        """The token that begins at column `at`, after blanks and prefixes without a meaning; kind "end" at the end."""
        skipped = _SKIPPED.match(self.text, at)
        at = skipped.end() if skipped else at
        if at >= len(self.text):
            return Token("end", "", len(self.text), len(self.text))
        match = _TOKEN.match(self.text, at)
        if match is None and self.text[at] == "!":
            raise NotationError("this is an alias of a type; paste the line that says what it is", self.text, at)
        if match is None:
            raise NotationError(f"{self.text[at]!r} has no meaning in a layout", self.text, at)
        kind, spelling = str(match.lastgroup), match.group()
        # A letter, `_` or `.` right after digits: a float or a misspelt name.
        if kind == "number":
            after = self.text[match.end() : match.end() + 1]
            if after.isalnum() or after == "_" or after == ".":
                raise NotationError(
                    f"{after!r} follows the number {spelling[:LONGEST_NUMBER]}; sizes and strides are whole numbers",
                    self.text,
                    match.end(),
                )
            if len(spelling) > LONGEST_NUMBER:
                raise NotationError(
                    f"a number of {len(spelling)} digits; a size or stride has at most {LONGEST_NUMBER}", self.text, at
                )
        if kind == "braced":
            kind, spelling = "number", spelling[1:-1].strip()
        if kind == "spelling":
            spelling = _SPELLINGS[spelling]
            kind = "name" if spelling in ("o", "F2") else "sign"
        return Token(kind, spelling, at, match.end())


def number(digits: str) -> int:
    """The value of a number token: `4`, `_4`, `_-4` or `_m4`.

    >>> number("_4"), number("_-4"), number("_m4")
    (4, -4, -4)
    """
    return int(digits.lstrip("_").replace("m", "-"))


_ORDERS = {side.value: side for side in Order} | {"GenColMajor": Order.LEFT, "GenRowMajor": Order.RIGHT}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_DIVISOR = r"div\s*=\s*([0-9]{1,18})"
_MACHINE_INTEGERS = frozenset("int unsigned long int32_t uint32_t int64_t uint64_t size_t".split())
"""Types of sizes that a C++ type does not know: each is another unknown."""
_TYPES = frozenset("layout composed_layout swizzle tile shape stride int_tuple coord step memref coord_tensor".split())
"""Types of the compiler's dialect, which hold a text."""
_NUMBERS = frozenset("Int C constant Integer E ScaledBasis F2() floor ceiling Mod Max Min Stride make_stride".split())
"""Calls that a stride may be, or be made of."""
_POINTER = re.compile(r"\w*ptr\w*|counting_iter|tmem_|DescriptorIterator")
_WORD = re.compile(r'"([a-z_]+)"')
_PYCUTE_SWIZZLE = r"SW_(\d{1,9})_(\d{1,9})_(-?\d{1,9})"


def read(text: str, calls: Collection[str], examples: str, functions: Collection[str] = ()) -> ParsedText:
    """The tree of a text in which `calls` may be called; `examples` names some of them.

    `functions` are the calls that compute: where there are any, layouts may stand at coordinates, too.

    >>> read("4:1 o 8", (), "").node.value.links[1]
    TextNode(column=6, value=8, comma=True)

    Raises NotationError, with the column where reading stopped.
    """
    if not isinstance(text, str):
        raise LayoutError(f"a layout is parsed from text, not from {shown(text)}; write Layout(shape, stride) instead")
    reader = Reader(text, calls, examples, functions)
    node = reader.whole()
    return ParsedText(text, node, tuple(reader.facts))


class Reader:
    """One text being read."""

    __slots__ = ("calls", "count", "depth", "examples", "facts", "functions", "names", "templates", "tokens")

    def __init__(self, text: str, calls: Collection[str], examples: str, functions: Collection[str]) -> None:
        self.calls, self.examples, self.functions = calls, examples, functions
        self.tokens = Tokens(text)
        self.depth = self.templates = self.count = 0
        self.facts: list[str] = []
        self.names: Iterator[str] | None = None

    def whole(self) -> TextNode:
        """The text as one chain with nothing after it."""
        tokens = self.tokens
        if tokens.next.kind == "end":
            raise tokens.error("there is no text; a layout is written (4,8):(1,4)")
        try:
            node = self.composed(labelled=True)
        except RecursionError:
            raise tokens.error("the text nests too deep for what is left of Python's stack") from None
        tokens.accept(";")
        if tokens.next.kind != "end":
            bare = "; a tuple stands in parentheses, as (4,8)" if tokens.next.text == "," else ""
            missing = " or ':' and a stride" if isinstance(node.value, tuple) else bare
            raise tokens.error(f"{tokens.found()} follows a complete layout; expected the end of the text{missing}")
        return node

    def composed(self, *, labelled: bool = False) -> TextNode:
        """`chain @ chain @ ...`, from left to right."""
        node = self.chain(labelled=labelled)
        while "composition" in self.calls and (sign := self.tokens.accept("@")):
            node = TextNode(
                node.column, CallNode("composition", sign.column, [node, self.chain()], {}, self.tokens.error)
            )
        return node

    def chain(self, *, labelled: bool = False) -> TextNode:
        """`pair o pair o ...`, after a label where one may stand."""
        parts = [self.pair(labelled=labelled)]
        while self.tokens.accept("o"):
            parts.append(self.pair())
        if len(parts) == 1:
            return parts[0]
        return TextNode(parts[0].column, Chain(parts))

    def pair(self, *, labelled: bool = False) -> TextNode:
        """`shape`, or `shape:stride`; a name with a colon in front of one of these, or of no stride, is a label."""
        shape = self.value(0)
        colon = self.tokens.accept(":")
        if colon is None:
            return shape
        stride = self.value(0)
        # "tCgA: ..." - a name and a colon may be a label or an unknown size with a stride.
        if labelled and hasattr(shape.value, "free_symbols") and self._is_labelled(stride):
            shape, colon = stride, self.tokens.accept(":")
            if colon is None:
                return shape
            stride = self.value(0)
        if isinstance(shape.value, tuple) and _is_one(stride):
            raise self.tokens.error("':' stands between a tuple of sizes and one stride", colon.column)
        if _is_one(shape) and isinstance(stride.value, tuple):
            why = "':' stands between one size and a tuple of strides; is ')' missing before it?"
            raise self.tokens.error(why, colon.column)
        return TextNode(shape.column, ShapeStride(shape, stride))

    def _is_labelled(self, after: TextNode) -> bool:
        """True if what follows a name and a colon can be no stride of an unknown size."""
        value = (after.grouped or after).value
        if self.tokens.sees(":") or isinstance(value, (Pointer, ShapeStride, Chain)):
            return True
        if isinstance(value, CallNode):
            return value.name not in _NUMBERS
        return isinstance(value, tuple) and self.tokens.sees("o")

    def value(self, floor: int) -> TextNode:
        """Numbers joined by signs that bind tighter than `floor`; one group, call or name otherwise."""
        tokens = self.tokens
        first = self.unit()
        rest: list[tuple[str, TextNode]] = []
        # Precedence climbing: a sign continues the value if it binds tighter than `floor`.
        while tokens.next.kind in ("sign", "basis"):
            sign = tokens.next.text
            if tokens.next.kind == "basis":
                rest.append(("*", self.unit()))
            elif sign == "@" and _is_layout(first) and not rest:
                break
            elif sign == "@":
                rest.append(("*", self._axes()))
            elif sign == "**":
                tokens.take()
                rest.append((sign, self.unit()))
            elif _PRECEDENCE.get(sign, 0) > floor:
                tokens.take()
                rest.append((sign, self.value(_PRECEDENCE[sign])))
            else:
                break
        return TextNode(first.column, Joined(first, rest)) if rest else first

    def unit(self) -> TextNode:
        """A number, a name, a call or a group."""
        token = self.tokens.take()
        if token.kind == "number":
            return self._counted(token, number(token.text))
        if token.kind == "basis":
            axes = tuple(map(number, re.findall(r"\d+", token.text)))
            if not is_listed(axes):
                raise self.tokens.error(AXES_RULE, token.column)
            return self._counted(token, Basis(1, axes))
        if token.kind == "dynamic":
            return self._counted(token, self._unknown(token))
        if token.kind == "name":
            return self._named(token)
        if token.text in _PAIRS:
            entries, _, comma = self.listed(token)
            group = TextNode(token.column, tuple(entries), comma or token.text != "(")
            return self._at(group) if group.grouped and _is_layout(group.grouped) else group
        if token.text == '"':
            if self.functions and (word := _WORD.match(self.tokens.text, token.column)):
                self.tokens.next = self.tokens._read(word.end())
                return TextNode(token.column, word[1])
            return self._quoted(token)
        if token.text == "-":
            return TextNode(token.column, Joined(TextNode(token.column, -1), [("*", self.value(1))]))
        seen = "the end of the text" if token.kind == "end" else repr(token.text)
        raise self.tokens.error(f"expected a number or '(', found {seen}", token.column)

    def _counted(self, token: Token, value: object) -> TextNode:
        """A leaf of the tree; raises after 2 * LARGEST_COUNT of them."""
        self.count += 1
        if self.count > 2 * LARGEST_COUNT:
            raise self.tokens.error(
                f"more than {LARGEST_COUNT} modes; a layout of that many is built with Layout(...), not parsed",
                token.column,
            )
        return TextNode(token.column, value)

    def listed(self, opening: Token, name: str = "") -> tuple[list[TextNode], dict[str, TextNode], bool]:
        """What stands between brackets, `name=...` apart, and whether a comma makes it a tuple."""
        tokens = self.tokens
        closing = _PAIRS[opening.text]
        self.depth += 1
        if self.depth > MAX_DEPTH + 2:
            raise tokens.error(f"the text nests deeper than {MAX_DEPTH} levels; no layout does", opening.column)
        entries: list[TextNode] = []
        keywords: dict[str, TextNode] = {}
        comma = True
        while not tokens.accept(closing):
            if not comma:
                what = f"the arguments of {name}" if name else "the tuple"
                raise tokens.error(f"expected ',' or {closing!r} in {what}, found {tokens.found()}")
            # name=value needs two tokens of look-ahead, so the text itself is looked at.
            keyword = _KEYWORD.match(tokens.text, tokens.next.column) if name else None
            if keyword:
                if keyword.group(1) in keywords:
                    raise tokens.error(f"{name} is given {keyword.group(1)}= twice")
                tokens.take()
                tokens.take()
                keywords[keyword.group(1)] = self.composed()
            else:
                entries.append(self.composed())
            comma = tokens.accept(",", ";") is not None
        self.depth -= 1
        return entries, keywords, comma or len(entries) != 1

    def _quoted(self, opening: Token) -> TextNode:
        """What stands between quotes, as the compiler's types have it."""
        self.depth += 1
        if self.depth > MAX_DEPTH + 2:
            raise self.tokens.error(f"the text nests deeper than {MAX_DEPTH} levels; no layout does", opening.column)
        node = self.chain()
        self.tokens.expect('"', "after what it opens")
        self.depth -= 1
        return node

    def _type(self, name: str) -> TextNode:
        """A type of the compiler: `layout<"...">`, `coord_tensor<"origin", "...">`, `memref<f16, smem, "...">`."""
        tokens = self.tokens
        opening = tokens.take()
        links: list[TextNode] = []
        if name == "memref":
            # What stands before the quote is type and memory space, not part of the layout.
            quote = tokens.text.find('"', opening.end)
            if quote < 0:
                raise tokens.error("a memref has its layout in quotes, and here are none", opening.column)
            links.append(TextNode(opening.column, Pointer.printed(tokens.text[opening.end : quote])))
            tokens.next = tokens._read(quote)
        if name == "coord_tensor":
            links.append(self.unit())
            tokens.expect(",", "after the origin")
        links.append(self.chain())
        tokens.expect(">", f"after what {name}< holds")
        return links[0] if len(links) == 1 else TextNode(opening.column, Chain(links))

    def _tensor(self) -> TextNode:
        """`tensor<ptr o layout ...>`: the layout; what a print of a tensor says after it is left out."""
        opening = self.tokens.take()
        node = self.chain()
        self.tokens.skip_group(opening, self.tokens.next.column)
        return node

    def _axes(self) -> TextNode:
        """`@1@0`: the axes from the innermost to the outermost."""
        tokens, column = self.tokens, self.tokens.next.column
        path: list[int] = []
        while tokens.accept("@"):
            axis = tokens.take()
            if axis.kind != "number" or number(axis.text) < 0:
                raise tokens.error(
                    "'@' stands between layouts, (8,8):(8,1) @ (2,4), or before the number of an axis, 1@0", axis.column
                )
            path.insert(0, number(axis.text))
            if not is_listed(path):
                raise tokens.error(AXES_RULE, axis.column)
        return TextNode(column, Basis(1, tuple(path)))

    def _named(self, token: Token) -> TextNode:
        """A name: a call where brackets follow, a pointer, an order, or an unknown size."""
        tokens, name = self.tokens, token.text
        if name in ("_", "None"):
            return TextNode(token.column, underscore)
        if name in _ORDERS:
            if tokens.accept("("):
                tokens.expect(")", f"after {name}(")
            return TextNode(token.column, _ORDERS[name])
        if swizzle := re.fullmatch(_PYCUTE_SWIZZLE, name):
            numbers = [TextNode(token.column, int(number)) for number in swizzle.groups()]
            return TextNode(token.column, CallNode("Swizzle", token.column, numbers, {}, tokens.error))
        if _POINTER.fullmatch(name):
            tokens.skip_brackets()
            return TextNode(token.column, Pointer.printed(tokens.text[token.end : tokens.next.column]))
        if name in _TYPES and tokens.sees("<"):
            return self._type(name)
        if tokens.sees("(", "<", "["):
            return self._tensor() if name == "tensor" else self._call(token)
        if name in _MACHINE_INTEGERS or (name == "X" and self.templates):
            return self._counted(token, self._unknown(token))
        if name in ("True", "False"):
            return TextNode(token.column, name == "True")
        if name == "o" or len(name) > LONGEST_NUMBER:
            raise tokens.error("expected a number, a name or '('", token.column)
        return self._counted(token, self._symbol(name, token.column))

    def _call(self, token: Token) -> TextNode:
        """The call whose name is `token`; its opening bracket comes next.

        `F2(3)` is a stride over F2 and `F2<1,3>` a map of bits: among the calls the one with round brackets is `F2()`.
        """
        called = "F2()" if token.text == "F2" and self.tokens.sees("(") else token.text
        if called not in self.calls:
            name = token.text[:LONGEST_NUMBER]
            # Suggest by lower case first: Shape and shape are different calls.
            folded: dict[str, list[str]] = {}
            for call in sorted(self.calls):
                folded.setdefault(call.lower(), []).append(call)
            close = [folded[lower] for lower in get_close_matches(name.lower(), folded, 1)]
            near = [max(calls, key=lambda call: sum(map(str.__eq__, call, name))) for calls in close]  # shape, or Shape
            hint = f"did you mean {near[0]}?" if near else f"there are {self.examples}, ..."
            error = self.tokens.error(f"{name} is no call that is known here; {hint}", token.column)
            if near:
                error.fixes = (f"{self.tokens.text[: token.column]}{near[0]}{self.tokens.text[token.end :]}",)
            raise error
        template = self.tokens.sees("<")
        self.templates += template
        entries, keywords, _ = self.listed(self.tokens.take(), token.text)
        self.templates -= template
        if template and called in self.functions and self.tokens.sees("("):  # get<1>(layout), as C++ has it
            modes, named, (entries, keywords, _) = entries, keywords, self.listed(self.tokens.take(), token.text)
            if named or "mode" in keywords:
                raise self.tokens.error(f"{token.text}<...> takes modes without names, and then no mode=", token.column)
            keywords["mode"] = TextNode(token.column, tuple(modes))
        return self._at(TextNode(token.column, CallNode(called, token.column, entries, keywords, self.tokens.error)))

    def _at(self, node: TextNode) -> TextNode:
        """A layout at the coordinate or the slice that follows it in parentheses."""
        if self.functions and isinstance(node.value, CallNode) and node.value.name in _NUMBERS:
            return node
        while self.functions and self.tokens.sees("("):
            entries, _, _ = self.listed(self.tokens.take(), "")
            node = TextNode(node.column, At(node, entries))
        return node

    def _unknown(self, token: Token) -> object:
        """`?`, with its divisor as a fact: a symbol that no name of the text collides with."""
        if self.names is None:
            taken = set(re.findall(r"\bn[0-9]+\b", self.tokens.text))
            self.names = (name for name in map("n{}".format, count()) if name not in taken)
        name = next(self.names)
        divisor = re.search(_DIVISOR, token.text)
        if divisor and int(divisor.group(1)) > 1:
            self.facts.append(f"{divisor.group(1)} divides {name}")
        return self._symbol(name, token.column)

    def _symbol(self, name: str, column: int) -> object:
        """The unknown size of that name: a SymPy symbol, integer and positive."""
        try:
            from sympy import Symbol
        except ImportError as missing:
            begun = [call for call in self.functions if call.startswith(name)][:2]
            hint = f"write a number, or {' or '.join(begun)} with its operands" if begun else "write a number"
            raise self.tokens.error(
                f"{name} is a size known later, which needs the package sympy, and that is not here; {hint}", column
            ) from missing
        return Symbol(name, integer=True, positive=True)


def _is_layout(node: TextNode) -> bool:
    """True for what can be a layout and no number: a tuple, a pair, a chain, a call, a layout at a slice."""
    value = (node.grouped or node).value
    return isinstance(value, (tuple, ShapeStride, Chain, At)) or (
        isinstance(value, CallNode) and value.name not in _NUMBERS
    )


def _is_one(node: TextNode) -> bool:
    """True for a number or a sum of them, where a tuple might stand."""
    return is_number(node.value) or isinstance(node.value, Joined)
