"""Drawings asked for in words: what a fence, a directive or a command line holds.

An expression and options as texts; everything is parsed, nothing evaluated, and what is not known is refused with what
is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature

from ..errors import DrawError, NotationError
from ..layout.text.parse import parse_expression, parse_tiler
from .drawing import Drawing, draw
from .look import expect_options
from .views import NAMED


def _flag(text: str) -> object:
    answer = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(text.lower())
    if answer is None:
        raise DrawError(f"{text!r}: write true or false")
    return answer


def _integer(text: str) -> object:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise DrawError(f"{text!r}: write a whole number")
    return int(text)


_READ: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("legend", "background"), _flag),
    **dict.fromkeys(("limit", "width", "thread", "element_bytes", "banks", "bank_bytes"), _integer),
    **dict.fromkeys(("highlight", "tiler", "tile", "threads", "over"), parse_tiler),
}
"""How options are read that are more than a text."""


def drawing_of(text: str, options: Mapping[str, str] | None = None) -> Drawing:
    """The drawing of an expression with options as texts; `view` may have its parameter behind it.

    >>> print(drawing_of("zipped_divide((4,4):(4,1), (2,2))", {"color": "tile"}).figure.title)
    ((2,2),(2,2)):((4,1),(8,2))
    >>> drawing_of("(4,4):(4,1)", {"view": "tiles (2,2)"}).figure.legend[0]
    ('c0', '0')

    Raises NotationError with a caret for the text, and DrawError naming the option for an option.
    """
    given = dict(options or {})
    expect_options(given)
    expression = parse_expression(text)
    name, _blank, parameter = given.pop("view", "").strip().partition(" ")
    values = {option: _read(option, given[option]) for option in given}
    if name:
        values["view"] = name
    if parameter and name in NAMED:
        first = next(iter(signature(NAMED[name]).parameters), None)
        if first is None:
            raise DrawError(f"view {name!r} has no options, so {parameter!r} has no place")
        values[first] = _read(first, parameter)
    return draw(expression, **values)  # type: ignore[arg-type]  # each was read as its option has it


def _read(name: str, text: str) -> object:
    try:
        return _READ.get(name, str)(text)
    except (NotationError, DrawError) as error:
        raise DrawError(f"{name}: {error}") from None


def read_body(source: str) -> tuple[str, dict[str, str]]:
    """The expression and the options of a fence: its first line that is not empty, and `key: value` lines after it.

    >>> read_body("(4,4):(4,1)\\ncolor: row\\n\\ntitle: Rows: first")
    ('(4,4):(4,1)', {'color': 'row', 'title': 'Rows: first'})

    Raises DrawError, with the line number, for a line that is neither, a key given twice, or nothing at all.
    """
    lines = [(number, line.strip()) for number, line in enumerate(source.splitlines(), 1) if line.strip()]
    if not lines:
        raise DrawError("line 1: nothing to draw; write a layout such as (4,8):(8,1)")
    options: dict[str, str] = {}
    for number, line in lines[1:]:
        key, colon, found = (part.strip() for part in line.partition(":"))
        if not colon or not key.replace("_", "").isalpha():
            raise DrawError(f"line {number}: {line!r} is not 'key: value'; the layout stands on the first line alone")
        if key in options:
            raise DrawError(f"line {number}: {key} is given twice")
        options[key] = found
    return lines[0][1], options
