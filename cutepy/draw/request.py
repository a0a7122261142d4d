"""Drawings asked for in words: what a fence, a directive or a command line holds.

An expression and options as texts; everything is parsed, nothing evaluated, and what is not known is refused with what
is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature

from ..errors import DrawError, NotationError
from ..layout.text.expression import parse_expression
from ..layout.text.parse import parse_tiler
from .drawing import Drawing, draw
from .look import Style, View
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


_STYLE: dict[str, Callable[[str], object]] = {
    "title": str,
    "theme": str,
    "heads": str,
    "legend": _flag,
    "highlight": parse_tiler,
    "limit": _integer,
    "background": _flag,
}

OPTIONS = ("view", "color", "label", *_STYLE, "tiler", "over", "width", "element_bytes", "banks", "bank_bytes")
"""What a fence may say after its layout, a line each."""

_OF_VIEW = {
    "tiler": "tiles",
    "over": "tv",
    "width": "memory",
    "element_bytes": "banks",
    "banks": "banks",
    "bank_bytes": "banks",
}
"""Options that belong to one view, which need not be named then."""


def drawing_of(text: str, options: Mapping[str, str] | None = None) -> Drawing:
    """The drawing of an expression with options as texts.

    >>> print(drawing_of("zipped_divide((4,4):(4,1), (2,2))", {"color": "tile"}).figure.title)
    ((2,2),(2,2)):((4,1),(8,2))
    >>> drawing_of("(4,4):(4,1)", {"view": "tiles (2,2)"}).figure.legend[0]
    ('c0', 'tile 0')

    Raises NotationError with a caret for the text, and DrawError naming the option for an option.
    """
    given = dict(options or {})
    for name in given:
        if name not in OPTIONS:
            near = get_close_matches(name, OPTIONS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(OPTIONS)}"
            raise DrawError(f"no option {name!r}; {hint}")
    expression = parse_expression(text)
    style = Style().but(**{name: _parsed(name, given[name], parse) for name, parse in _STYLE.items() if name in given})
    return draw(expression, view=_view(given), color=given.get("color"), label=given.get("label"), style=style)


def _parsed(name: str, text: str, parse: Callable[[str], object]) -> object:
    try:
        return parse(text)
    except (NotationError, DrawError) as error:
        raise DrawError(f"{name}: {error}") from None


def _view(given: Mapping[str, str]) -> View | None:
    """`tiles (4,4)`, or `tiles` with `tiler: (4,4)`, or `tiler: (4,4)` alone."""
    name, _blank, parameter = given.get("view", "").strip().partition(" ")
    meant = [view for option, view in _OF_VIEW.items() if option in given]
    if not name and not meant:
        return None
    name = name or meant[0]
    if name not in NAMED:
        raise DrawError(f"view: {name!r}; there are {', '.join(NAMED)}")
    known = list(signature(NAMED[name]).parameters)
    wrong = [option for option, view in _OF_VIEW.items() if option in given and option not in known]
    if wrong or (parameter and not known):
        raise DrawError(
            f"view {name!r} has no option {wrong[0] if wrong else parameter!r}; "
            f"its options are {', '.join(known) or 'none'}"
        )
    values = {option: _parsed(option, given[option], parse_tiler) for option in known if option in given}
    if parameter:
        values.setdefault(known[0], _parsed("view", parameter, parse_tiler))
    try:
        return NAMED[name](**values)
    except TypeError:
        missing = next(option for option in known if option not in values)
        raise DrawError(f"view {name!r} needs {missing}: write view: {name} (4,4), or {missing}: (4,4)") from None


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
