"""Several expressions in one text, a line each (or with `;` between them): `A = (8,8):(8,1)` names a value for later
lines.

Law: a line with names means what it means with the text of each value in the place of its name. An error of a line
points into that line as it was written.
"""

from __future__ import annotations

import re

_NAMED = re.compile(r"\s*(?P<name>[A-Za-z]\w*)\s*=(?!=)(?P<text>.*)", re.DOTALL)
_SIGN = re.compile(r"->|[()\[\]<>;\n]")
_VECTOR = re.compile(r"(\w+):(-?\w+)")
_WORD = re.compile(r"[A-Za-z_]\w*(?!\w)")


def names_values(text: str) -> bool:
    """True where a line of a text names a value."""
    return "=" in text and any(_NAMED.match(piece) for _start, piece in pieces(text))


def named_in(piece: str) -> tuple[str, str, int]:
    """The name that a line gives ("" for none), its expression, and where that begins in it.

    >>> named_in("A = 4:1"), named_in("coalesce(4:1)")
    (('A', '4:1', 4), ('', 'coalesce(4:1)', 0))
    """
    match = _NAMED.match(piece)
    if match is None:
        return "", piece.strip(), len(piece) - len(piece.lstrip())
    text = match["text"]
    return match["name"], text.strip(), match.start("text") + len(text) - len(text.lstrip())


def pieces(text: str) -> list[tuple[int, str]]:
    """The lines of a text, each with the column where it begins; empty ones and comments (`#`) are left out.

    >>> pieces("A = 4:1; B = 8:1\\n\\ncomposition(A, B)")
    [(0, 'A = 4:1'), (9, 'B = 8:1'), (18, 'composition(A, B)')]
    """
    found: list[tuple[int, str]] = []
    start = depth = 0
    ends = []
    for sign in _SIGN.finditer(text):
        depth += (sign.group() in "([<") - (sign.group() in ")]>")
        if sign.group() in "\n;" and depth <= 0:
            ends.append(sign.start())
            depth = 0
    for end in (*ends, len(text)):
        piece = text[start:end]
        shift = len(piece) - len(piece.lstrip())
        if piece.strip() and not piece.lstrip().startswith("#"):
            found.append((start + shift, piece.strip()))
        start = end + 1
    return found


def substituted(text: str, named: dict[str, str]) -> tuple[str, list[tuple[int, int, int]]]:
    """The text with values for names, and for each where it begins and ends there and how long the name is."""
    out, shifts, at = "", [], 0
    for word in _WORD.finditer(text):
        value, before, after = named.get(word.group(), ""), text[: word.start()], text[word.end() :].lstrip()
        if not value or re.match(r"<|=(?!=)", after) or before[-1:].isalnum() or before.endswith(("_", ".")):
            continue
        if after.startswith("("):  # at a coordinate
            value = f"({value})"
        if after.startswith("@") and (pair := _VECTOR.fullmatch(value)):  # 4:1@0 has a basis stride
            value = f"Layout({pair[1]}, {pair[2]})"
        out += text[at : word.start()]
        shifts.append((len(out), len(out) + len(value), len(word.group())))
        out, at = out + value, word.end()
    return out + text[at:], shifts


def column_before(column: int, shifts: list[tuple[int, int, int]]) -> int:
    """The column in the text with names of a column in the text with values."""
    moved = 0
    for begin, end, length in shifts:
        if column < begin:
            break
        if column < end:
            return begin - moved
        moved += end - begin - length
    return column - moved
