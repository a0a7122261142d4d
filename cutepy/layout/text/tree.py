"""The tree that a text is read as: groups, pairs, chains, sums and calls, each part with its column."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeGuard

from ...errors import NotationError

Fail = Callable[[str, int], NotationError]


@dataclass(frozen=True, slots=True)
class Pointer:
    """What a tensor's print has in front of its layout. Where it points to is left out, how it swizzles is not.

    `width` is that of an element in bits, `swizzle` the numbers of one; either may be missing.
    """

    width: int | None = None
    swizzle: tuple[int, int, int] | None = None

    @classmethod
    def printed(cls, text: str) -> Pointer:
        """The pointer whose print has this text in its brackets.

        >>> Pointer.printed("<f16, smem, align<128>, S<3,4,3>>"), Pointer.printed("[32b](0x7f)")
        (Pointer(width=16, swizzle=(3, 4, 3)), Pointer(width=32, swizzle=None))
        """
        swizzle = re.search(_SWIZZLED, text)
        width = re.search(_WIDTH, text[: swizzle.start()] if swizzle else text)
        numbers = [int(number) for number in swizzle.groups()] if swizzle else []
        return cls(
            int(width.group(1) or width.group(2)) if width else None,
            (numbers[0], numbers[1], numbers[2]) if numbers else None,
        )


_SWIZZLED = r"\bSw?<(\d{1,9}),\s*(\d{1,9}),\s*(-?\d{1,9})>"
_WIDTH = r"(?:^<|\[)(\d{1,4})(?:>$|b\])|(?<!\w)[A-Za-z]{1,8}(\d{1,3})(?:E\d+M\d+\w{0,8})?(?!\w)"


@dataclass(slots=True)
class TextNode:
    """A part of the text: its column, its value, and for a group of one whether a comma made it a tuple.

    As read the value is a number, a truth value, a basis stride, `_`, an order, a pointer, a tuple of nodes, or a
    `Joined`, `ShapeStride`, `Chain`, `At` or `CallNode`; in place of these five `meaning.py` has a number, a stride, a
    swizzle, a layout.
    """

    column: int
    value: object
    comma: bool = True

    @property
    def grouped(self) -> TextNode | None:
        """What stands in plain parentheses, or None."""
        if isinstance(self.value, tuple) and len(self.value) == 1 and not self.comma:
            inner: TextNode = self.value[0]
            return inner
        return None


def bare(node: TextNode) -> TextNode:
    """The node without parentheses around one part."""
    if node.grouped is not None:
        return bare(node.grouped)
    return TextNode(node.column, tuple(map(bare, node.value))) if isinstance(node.value, tuple) else node


@dataclass(frozen=True, slots=True)
class Joined:
    """`first sign part sign part ...`, from left to right."""

    first: TextNode
    rest: list[tuple[str, TextNode]]


@dataclass(frozen=True, slots=True)
class ShapeStride:
    """`shape:stride`."""

    shape: TextNode
    stride: TextNode


@dataclass(frozen=True, slots=True)
class Chain:
    """`link o link o ...`"""

    links: list[TextNode]


@dataclass(frozen=True, slots=True)
class At:
    """`layout(entry, ...)`: the layout at a coordinate, or a slice of it."""

    layout: TextNode
    entries: list[TextNode]


@dataclass(frozen=True, slots=True)
class CallNode:
    """A name, its column, the parts in its brackets, those that are `name=part` apart."""

    name: str
    column: int
    entries: list[TextNode]
    keywords: dict[str, TextNode]
    fail: Fail

    def wrong(self, message: str) -> NotationError:
        """The error that points at the name."""
        return self.fail(f"{self.name} {message}", self.column)

    def bare(self) -> CallNode:
        """The call with parts as source code means them: `(a)` is `a` itself, where a print has a tuple of one."""
        keywords = {name: bare(node) for name, node in self.keywords.items()}
        return replace(self, entries=list(map(bare, self.entries)), keywords=keywords)

    def parts(self, *names: str) -> list[TextNode]:
        """The parameters of these names, by position and then by keyword; those keywords are taken out."""
        by_keyword = takewhile(self.keywords.__contains__, names[len(self.entries) :])
        return [*self.entries, *map(self.keywords.pop, by_keyword)]

    def integers(self, counts: Container[int]) -> list[int]:
        """The parts, which must be whole numbers, so many of them."""
        if len(self.entries) not in counts:
            raise self.wrong(f"does not take {len(self.entries)} numbers")
        numbers = []
        for entry in self.entries:
            if type(entry.value) is not int:
                raise self.fail(f"{self.name} takes whole numbers", entry.column)
            numbers.append(entry.value)
        return numbers


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A text that was read, and what it states of its unknown sizes."""

    text: str
    node: TextNode
    facts: tuple[str, ...]

    def error(self, message: str, column: int) -> NotationError:
        """The error that points at `column`."""
        return NotationError(message, self.text, column)


def is_number(value: object) -> TypeGuard[int]:
    """True for an integer and for a symbolic size."""
    return type(value) is int or hasattr(value, "free_symbols")
