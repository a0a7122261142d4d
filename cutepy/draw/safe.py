"""Text that comes from outside made harmless: control characters shown, lengths bounded, widths counted.

What a printer puts round a text (XML, TeX) it escapes itself.
"""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that show nothing, or change how their surroundings are shown (overrides of direction)."""

LONGEST_LABEL = 24
LONGEST_TITLE = 160


def clean(text: str, longest: int = LONGEST_LABEL) -> str:
    """`text` with everything invisible spelt out, cut to `longest` characters; a newline stays.

    >>> clean("a\\x00b"), clean("x" * 30)[-3:], clean("\\u202eabc")
    ('a\\\\x00b', 'xx…', '\\\\u202eabc')
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, longest: int) -> str:
    """`text`, or its beginning and its end with an ellipsis between.

    >>> shorten("abcdefgh", 5), shorten("abc", 5)
    ('ab…gh', 'abc')
    """
    if len(text) <= longest:
        return text
    head = longest // 2
    return f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"


def width(text: str) -> int:
    """How many columns of a fixed-width font `text` takes: wide characters two, combining marks none.

    >>> width("T12"), width("漢字"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def right_to_left(text: str) -> bool:
    """True if a letter of `text` is written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
