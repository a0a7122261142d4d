"""The text of a WGSL module as a tree. The only file that knows the grammar; it gives names no meaning.

Law: a text that the grammar of https://www.w3.org/TR/WGSL/ takes is read as that grammar reads it, or refused with its
line; a template list is one where a name of `TEMPLATES` stands before `<`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...errors import KernelError

#: Names that take a list in angle brackets.
TEMPLATES = frozenset(
    "array atomic ptr bitcast vec2 vec3 vec4 texture_1d texture_2d texture_2d_array texture_3d texture_cube"
    " texture_cube_array texture_multisampled_2d"
    " texture_storage_1d texture_storage_2d texture_storage_2d_array texture_storage_3d".split()
) | {f"mat{c}x{r}" for c in (2, 3, 4) for r in (2, 3, 4)}

_TOKEN = re.compile(
    r"(?P<number>0[xX](?:[0-9a-fA-F]*\.?[0-9a-fA-F]*)(?:[pP][-+]?\d+)?[iufh]?"
    r"|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[iufh]?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>->|<<=|>>=|\+\+|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=(){}\[\];:,.@])"
)
_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")

#: How tightly each binary operator binds; those of one row are read from the left.
_LEVEL = {
    sign: level
    for level, row in enumerate("||  &&  |  ^  &  == !=  < <= > >=  << >>  + -  * / %".split("  "))
    for sign in row.split()
}
_ASSIGNS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """A piece of the text: what it is, its line, its own word, its pieces (None for one that is left out), attributes.

    The `kind` of an expression is number, name, call, index, member, unary or binary, of a statement its keyword, or
    assign, block, statement (a call), of a declaration its keyword, or function.
    """

    kind: str
    line: int
    text: str = ""
    parts: "tuple[SyntaxNode | None, ...]" = ()
    attributes: "Mapping[str, tuple[SyntaxNode, ...]]" = field(default_factory=dict)

    def part(self, number: int) -> "SyntaxNode":
        """A piece that is not left out."""
        found = self.parts[number]
        assert found is not None
        return found

    @property
    def pieces(self) -> "list[SyntaxNode]":
        """The pieces that are not left out."""
        return [part for part in self.parts if part is not None]


def parse(text: str, line: int = 1) -> tuple[SyntaxNode, ...]:
    """The declarations of a module, which begins on that line. Raises KernelError with the line where it is no WGSL, or
    nests deeper than Python's stack."""
    parser = _Parser(text, line)
    try:
        return parser.module()
    except RecursionError:
        raise KernelError(f"line {parser.line}: this nests too deep to be read") from None


def _tokens(text: str, line: int) -> list[tuple[str, str, int]]:
    """(class, text, line) of each token; block comments nest."""
    found: list[tuple[str, str, int]] = []
    at = 0
    while True:
        blank = _BLANK.match(text, at)
        assert blank is not None
        line += blank[0].count("\n")
        at = blank.end()
        if text.startswith("/*", at):
            depth, end = 1, at + 2
            while depth:
                inner = re.compile(r"/\*|\*/").search(text, end)
                if inner is None:
                    raise KernelError(f"line {line}: a comment has no end")
                depth, end = depth + (1 if inner[0] == "/*" else -1), inner.end()
            line += text.count("\n", at, end)
            at = end
            continue
        if at == len(text):
            return [*found, ("end", "", line)]
        match = _TOKEN.match(text, at)
        if match is None:
            raise KernelError(f"line {line}: {text[at : at + 10]!r} is no WGSL")
        found.append((match.lastgroup or "", match[0], line))
        at = match.end()


class _Parser:
    """One pass over the tokens, by recursive descent."""

    def __init__(self, text: str, line: int) -> None:
        self.tokens = _tokens(text, line)
        self.at = 0

    # Tokens.

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    @property
    def line(self) -> int:
        return self.tokens[self.at][2]

    def take(self, wanted: str = "") -> str:
        """The next token, which is `wanted` if that is given."""
        word = self.word
        if wanted and word != wanted:
            raise KernelError(f"line {self.line}: {word or 'the end'!r} stands where {wanted!r} must be")
        self.at += 1
        return word

    def name(self) -> str:
        if self.tokens[self.at][0] != "name":
            raise KernelError(f"line {self.line}: {self.word or 'the end'!r} stands where a name must be")
        return self.take()

    def skip(self, word: str) -> bool:
        """Whether the next token is this one, which is then taken."""
        if self.word != word:
            return False
        self.at += 1
        return True

    def close_template(self) -> None:
        """The `>` that ends a template list: also the first half of `>>`, `>=` and `>>=`."""
        kind, word, line = self.tokens[self.at]
        if word != ">" and word.startswith(">"):
            self.tokens[self.at] = kind, word[1:], line
        else:
            self.take(">")

    def listed(self, item: Callable[[], SyntaxNode], end: str) -> tuple[SyntaxNode, ...]:
        """Items with commas between, a last comma allowed, to the token `end`."""
        found: list[SyntaxNode] = []
        while self.word != end:
            found.append(item())
            if not self.skip(","):
                break
        self.take(end)
        return tuple(found)

    # Declarations.

    def module(self) -> tuple[SyntaxNode, ...]:
        found: list[SyntaxNode] = []
        while self.tokens[self.at][0] != "end":
            if self.word in ("enable", "requires", "diagnostic"):
                while self.take() != ";":
                    pass
            elif not self.skip(";"):
                found.append(self.declaration())
        return tuple(found)

    def attributes(self) -> dict[str, tuple[SyntaxNode, ...]]:
        found: dict[str, tuple[SyntaxNode, ...]] = {}
        while self.skip("@"):
            name = self.name()
            found[name] = self.listed(self.expression, ")") if self.skip("(") else ()
        return found

    def declaration(self) -> SyntaxNode:
        attributes, line = self.attributes(), self.line
        if self.skip("struct"):
            name = self.name()
            self.take("{")
            return SyntaxNode("struct", line, name, self.listed(self.member, "}"))
        if self.skip("fn"):
            name = self.name()
            self.take("(")
            parameters = self.listed(self.member, ")")
            result = None
            if self.skip("->"):
                self.attributes()
                result = self.type()
            return SyntaxNode("function", line, name, (self.block(), result, *parameters), attributes)
        if self.skip("alias"):
            name = self.name()
            self.take("=")
            made = SyntaxNode("alias", line, name, (self.type(),))
        elif self.skip("const_assert"):
            made = SyntaxNode("const_assert", line, "", (self.expression(),))
        else:
            made = self.variable(attributes)
        self.take(";")
        return made

    def member(self) -> SyntaxNode:
        attributes, line = self.attributes(), self.line
        name = self.name()
        self.take(":")
        return SyntaxNode("member", line, name, (self.type(),), attributes)

    def variable(self, attributes: Mapping[str, tuple[SyntaxNode, ...]]) -> SyntaxNode:
        """`var`, `let`, `const`, `override`: the word, (type, value), and for a `var` its space as attributes."""
        line, word = self.line, self.take()
        if word not in ("var", "let", "const", "override"):
            raise KernelError(f"line {line}: {word!r} begins no declaration")
        space: tuple[str, ...] = ()
        if word == "var" and self.skip("<"):
            space = tuple(node.text for node in self.listed(lambda: SyntaxNode("word", self.line, self.name()), ">"))
        name = self.name()
        kind = self.type() if self.skip(":") else None
        value = self.expression() if self.skip("=") else None
        words = {f"space {word}": () for word in space}
        return SyntaxNode(word, line, name, (kind, value), {**attributes, **words})

    def type(self) -> SyntaxNode:
        line, name = self.line, self.name()
        if not self.skip("<"):
            return SyntaxNode("type", line, name)
        items: list[SyntaxNode] = []
        while self.word not in (">", ">>", ">=", ">>="):
            items.append(self.template_item())
            if not self.skip(","):
                break
        self.close_template()
        return SyntaxNode("type", line, name, tuple(items))

    def template_item(self) -> SyntaxNode:
        """A type, or a number: comparisons in it stand in parentheses."""
        if self.tokens[self.at][0] == "name" and self.tokens[self.at + 1][1] in ("<", ",", ">", ">>", ">=", ">>="):
            return self.type()
        return self.expression(_LEVEL["<<"], template=True)

    # Statements.

    def block(self) -> SyntaxNode:
        line = self.line
        self.attributes()
        self.take("{")
        found: list[SyntaxNode] = []
        while not self.skip("}"):
            if not self.skip(";"):
                found.append(self.statement())
        return SyntaxNode("block", line, "", tuple(found))

    def statement(self) -> SyntaxNode:
        self.attributes()
        line, word = self.line, self.word
        heads = {"{": self.block, "if": self.branch, "for": self.counted, "loop": self.loop, "switch": self.switch}
        if word in heads:
            return heads[word]()
        if word in ("while", "continuing"):
            self.take()
            test = (self.expression(),) if word == "while" else ()
            return SyntaxNode(word, line, "", (*test, self.block()))
        if word in ("break", "continue", "discard", "return"):
            self.take()
            ends = word == "break" and self.skip("if")
            value = self.expression() if ends or (word == "return" and self.word != ";") else None
            self.take(";")
            return SyntaxNode("break_if" if ends else word, line, "", (value,))
        made = SyntaxNode(word, line, "", (self.expression(),)) if self.skip("const_assert") else self.simple()
        self.take(";")
        return made

    def simple(self) -> SyntaxNode:
        """A declaration, an assignment, an increment or a call: what may stand in the head of a `for`."""
        line = self.line
        if self.word in ("var", "let", "const"):
            return self.variable({})
        if self.skip("_"):
            self.take("=")
            return SyntaxNode("assign", line, "_", (None, self.expression()))
        target = self.unary()
        if self.word in ("++", "-"):
            operator = self.take()[0]
            if operator == "-":  # `--`: a token here alone, as in an expression it is two signs
                self.take("-")
            return SyntaxNode("assign", line, f"{operator}=", (target, SyntaxNode("number", line, "1")))
        if self.word in _ASSIGNS:
            return SyntaxNode("assign", line, self.take(), (target, self.expression()))
        if target.kind != "call":
            raise KernelError(f"line {line}: {self.word!r} stands where a statement must go on")
        return SyntaxNode("statement", line, "", (target,))

    def branch(self) -> SyntaxNode:
        line = self.line
        self.take("if")
        condition, then = self.expression(), self.block()
        other: SyntaxNode | None = None
        if self.skip("else"):
            other = SyntaxNode("block", self.line, "", (self.branch(),)) if self.word == "if" else self.block()
        return SyntaxNode("if", line, "", (condition, then, other))

    def counted(self) -> SyntaxNode:
        line = self.line
        self.take("for")
        self.take("(")
        start = None if self.word == ";" else self.simple()
        self.take(";")
        test = None if self.word == ";" else self.expression()
        self.take(";")
        update = None if self.word == ")" else self.simple()
        self.take(")")
        return SyntaxNode("for", line, "", (start, test, update, self.block()))

    def loop(self) -> SyntaxNode:
        """A `loop`: its body and, if there is one, its `continuing` block."""
        line = self.line
        self.take("loop")
        body = self.block()
        last = body.parts[-1] if body.parts else None
        if last is not None and last.kind == "continuing":
            return SyntaxNode("loop", line, "", (SyntaxNode("block", body.line, "", body.parts[:-1]), last.part(0)))
        return SyntaxNode("loop", line, "", (body, None))

    def switch(self) -> SyntaxNode:
        line = self.line
        self.take("switch")
        value = self.expression()
        self.attributes()
        self.take("{")
        cases: list[SyntaxNode] = []
        while not self.skip("}"):
            at, chosen = self.line, []
            if self.word != "default":
                self.take("case")
            while self.word not in (":", "{"):
                chosen.append(SyntaxNode("name", at, self.take()) if self.word == "default" else self.expression())
                self.skip(",")
            self.skip(":")
            cases.append(SyntaxNode("case", at, "", (self.block(), *chosen)))
        return SyntaxNode("switch", line, "", (value, *cases))

    # Expressions.

    def expression(self, loosest: int = 0, template: bool = False) -> SyntaxNode:
        """Operands of unary operators, joined by binary ones that bind as `_LEVEL` says, from the `loosest` on."""
        left = self.unary()
        while (level := _LEVEL.get(self.word, -1)) >= loosest and not (template and self.word.startswith(">")):
            line, operator = self.line, self.take()
            left = SyntaxNode("binary", line, operator, (left, self.expression(level + 1, template)))
        return left

    def unary(self) -> SyntaxNode:
        line = self.line
        if self.word == "&&":
            raise KernelError(f"line {line}: && has no left operand")
        if self.word in ("-", "!", "~", "&", "*"):
            return SyntaxNode("unary", line, self.take(), (self.unary(),))
        return self.postfix()

    def postfix(self) -> SyntaxNode:
        value = self.primary()
        while True:
            line = self.line
            if self.skip("["):
                value = SyntaxNode("index", line, "", (value, self.expression()))
                self.take("]")
            elif self.skip("."):
                value = SyntaxNode("member", line, self.name(), (value,))
            else:
                return value

    def primary(self) -> SyntaxNode:
        kind, word, line = self.tokens[self.at]
        if self.skip("("):
            inner = self.expression()
            self.take(")")
            return inner
        if kind == "number":
            return SyntaxNode("number", line, self.take())
        if kind != "name":
            raise KernelError(f"line {line}: {word or 'the end'!r} stands where a value must be")
        called = self.type() if word in TEMPLATES else SyntaxNode("type", line, self.take())
        if self.skip("("):
            return SyntaxNode("call", line, called.text, (called, *self.listed(self.expression, ")")))
        return SyntaxNode("name", line, word)
