"""The words of a layout's text, one at a time: numbers, names, signs, and where each stands.

Law: reading is linear in the text and never goes back further than one token, so a text of
megabytes fails as fast as its first wrong character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import NotationError

LONGEST_NUMBER = 40
"""Digits of the longest number that is read: far beyond any address, far below where integers grow slow."""

_SKIPPED = re.compile(
    r"(?:\s|\{\s*\}|\\(?:left|right|mathrm)(?![A-Za-z])|\\[,;!]|(?:cute|cutlass|cutepy|pycute|tensor_layouts)(?:::|\.))+"
)
_TOKEN = re.compile(
    r"(?P<number>_-?[0-9]+|[0-9]+|_m[0-9]+(?!\w))"
    r"|(?P<braced>\{\s*-?[0-9]{1,40}\s*\})"
    r"|(?P<dynamic>\?(?:\{[^{}]*\})?)"
    r"|(?P<basis>e_\{\s*\d+(?:\s*,\s*\d+)*\s*\})"
    r"|(?P<name>[A-Za-z]\w*|_(?!\w))"
    r"|(?P<spelling>\{:\}|\\(?:circ|langle|rangle|cdot)(?![A-Za-z])|∘|\^|_(?=\w*_ptr))"
    r"|(?P<sign>\*\*|//|[()\[\]<>:,;@*+\-/%=])"
)
_SPELLINGS = {"{:}": ":", "\\circ": "o", "∘": "o", "\\langle": "<", "\\rangle": ">", "\\cdot": "*", "^": "**", "_": "o"}
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
        skipped = _SKIPPED.match(self.text, at)
        at = skipped.end() if skipped else at
        if at >= len(self.text):
            return Token("end", "", len(self.text), len(self.text))
        match = _TOKEN.match(self.text, at)
        if match is None:
            raise NotationError(f"{self.text[at]!r} has no meaning in a layout", self.text, at)
        kind, word = str(match.lastgroup), match.group()
        if kind == "number":
            after = self.text[match.end() : match.end() + 1]
            if after.isalnum() or after == "_" or after == ".":
                raise NotationError(
                    f"{after!r} follows the number {word[:LONGEST_NUMBER]}; sizes and strides are whole numbers",
                    self.text,
                    match.end(),
                )
            if len(word) > LONGEST_NUMBER:
                raise NotationError(
                    f"a number of {len(word)} digits; a size or stride has at most {LONGEST_NUMBER}", self.text, at
                )
        if kind == "braced":
            kind, word = "number", word[1:-1].strip()
        if kind == "spelling":
            word = _SPELLINGS[word]
            kind = "name" if word == "o" else "sign"
        return Token(kind, word, at, match.end())


def number(word: str) -> int:
    """The value of a number token: `4`, `_4`, `_-4` or `_m4`.

    >>> number("_4"), number("_-4"), number("_m4")
    (4, -4, -4)
    """
    return int(word.lstrip("_").replace("m", "-"))
