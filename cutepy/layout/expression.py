"""Expressions of the layout algebra as text: `zipped_divide((8,8):(8,1), (4,4))`. Parsed, never evaluated by Python.

Imports the algebra and `notation`. The grammar is

    expression := name "(" expression { "," expression } ")" | anything that `parse_tiler` reads

with `name` one of `FUNCTIONS`. An error carries the column in the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar, cast

from ..errors import LayoutError, NotationError
from .complement import complement
from .composed import AnyLayout
from .composition import composition
from .coordinates import keeps
from .divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from .int_tuple import IntTuple, as_tuple
from .inverse import left_inverse, right_inverse
from .layout import Layout
from .notation import parse_layout, parse_tiler
from .product import (
    blocked_product,
    flat_product,
    logical_product,
    make_layout_like,
    make_ordered_layout,
    raked_product,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from .rearrange import coalesce, filter, filter_zeros, flatten, get, group_modes, select, take

Result = TypeVar("Result")

LONGEST = 4096
DEEPEST = 32
LARGEST_OPERAND = 1 << 24
"""How many coordinates an operand after the first may have: the algebra may have to look at every one of them."""

FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function
    for function in (
        blocked_product,
        coalesce,
        complement,
        composition,
        filter,
        filter_zeros,
        flat_divide,
        flat_product,
        flatten,
        get,
        group_modes,
        left_inverse,
        logical_divide,
        logical_product,
        make_layout_like,
        make_ordered_layout,
        raked_product,
        right_inverse,
        select,
        take,
        tile_to_shape,
        tiled_divide,
        tiled_product,
        zipped_divide,
        zipped_product,
    )
}
"""What an expression may call; each takes a layout first (`make_ordered_layout` a shape)."""

_SECOND_IS_LAYOUT = frozenset({"blocked_product", "raked_product"})
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_NOTATION = re.compile(
    r"(Layout|make|Shape|Stride|Int|Swizzle|SW_|ScaledBasis|ComposedLayout|tensor)\w*|\w*ptr\w*|S|Sw|E|C|_\d*"
)
"""Names before a bracket that belong to the notation of layouts."""
_EXACT = frozenset("make_layout make_shape make_stride make_composed_layout make_identity_layout make_swizzle".split())
"""Those of them that are near to a function's name and yet no typos."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that was read: the function called and its operands ("" and none for a layout), and the value.

    >>> expression = parse_expression("zipped_divide((8,8):(8,1), (4,4))")
    >>> expression.function, expression.operands, expression.value
    ('zipped_divide', (Layout((8, 8), (8, 1)), (4, 4)), Layout(((4, 4), (2, 2)), ((8, 1), (32, 4))))
    """

    text: str
    function: str
    operands: tuple[object, ...]
    value: object

    def __str__(self) -> str:
        return self.text


def parse_expression(text: str) -> Expression:
    """The layout, or the call of an algebra function over layouts, integers and tuples, that `text` writes down.

    >>> print(parse_expression("coalesce(composition((6,2):(8,2), (4,3):(3,1)), (1,1))").value)
    ((2,2),3):((24,2),8)
    >>> print(parse_expression("S<2,0,3> o 0 o (8,8):(8,1)").value)
    S<2,0,3> o 0 o (8,8):(8,1)

    Raises NotationError, with the column and a caret, for a text that is none, and what the algebra raises for operands
    that do not go together.
    """
    return _whole(_read, text)


def parse_call(text: str) -> tuple[str, tuple[object, ...]]:
    """The function that `text` calls and its operands, without the call: to explain what may be refused.

    >>> parse_call("composition((6,2):(1,7), (3,2):(2,3))")
    ('composition', (Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))))

    A layout alone gives "" and nothing. Raises as `parse_expression`, but for the outermost call.
    """
    return _whole(_parts, text)[:2]


def _whole(read: Callable[[str, int, int, int], Result], text: str) -> Result:
    if not isinstance(text, str):
        raise LayoutError(f"an expression is read from text, not from {text!r}")
    if len(text) > LONGEST:
        raise NotationError(f"an expression has at most {LONGEST} characters, this has {len(text)}")
    if not text.strip():
        raise NotationError("there is no expression; write a layout such as (4,8):(8,1), or coalesce((4,8):(1,4))")
    try:
        return read(text, 0, len(text), 0)
    except RecursionError:
        raise NotationError("the text nests too deep to be read") from None


def _read(text: str, start: int, stop: int, depth: int) -> Expression:
    name, operands, column = _parts(text, start, stop, depth)
    value = _called(text, column, name, operands) if name else _layout(text, start, stop)
    return Expression(text[start:stop].strip(), name, operands, value)


def _parts(text: str, start: int, stop: int, depth: int) -> tuple[str, tuple[object, ...], int]:
    """The function of a call, its operands and its column; "" and none where the text calls nothing."""
    found = _NAME.match(text, start, stop)
    name = found.group(1) if found else ""
    if not found or name not in FUNCTIONS:
        if found:
            _refuse_typo(text, name, found.start(1))
        return "", (), start
    if depth > DEEPEST:
        raise NotationError(f"calls nest deeper than {DEEPEST}", text, found.start(1))
    end = _closing(text, found.end() - 1, stop)
    if text[end + 1 : stop].strip():
        after = end + 1 + len(text[end + 1 : stop]) - len(text[end + 1 : stop].lstrip())
        raise NotationError(f"{text[after]!r} follows a complete expression", text, after)
    operands = tuple(
        _operand(text, at, to, depth + 1, name, position)
        for position, (at, to) in enumerate(_arguments(text, found.end(), end))
    )
    return name, operands, found.start(1)


def _layout(text: str, start: int, stop: int) -> AnyLayout:
    return cast(AnyLayout, _shifted(parse_layout, text, start, stop))


def _shifted(reader: Callable[[str], object], text: str, start: int, stop: int) -> object:
    """What `reader` makes of a part of the text; its errors point into the whole."""
    try:
        return reader(text[start:stop])
    except NotationError as error:
        message = str(error).partition("\n")[0]
        raise NotationError(message, text, min(start + error.column, len(text))) from None


def _refuse_typo(text: str, name: str, column: int) -> None:
    near = [] if name in _EXACT else get_close_matches(name.lower(), FUNCTIONS, 1)
    if near or not _NOTATION.fullmatch(name):
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(FUNCTIONS))}"
        raise NotationError(f"no function {name} in layout expressions; {hint}", text, column)


def _closing(text: str, opening: int, stop: int) -> int:
    """The column of the bracket that closes the one at `opening`."""
    depth = 0
    for column in range(opening, stop):
        if text[column] in "([{<":
            depth += 1
        elif text[column] in ")]}>":
            depth -= 1
            if depth == 0:
                if text[column] != ")":
                    raise NotationError(f"{text[column]!r} closes the '(' of a call", text, column)
                return column
    raise NotationError("this '(' is never closed", text, opening)


def _arguments(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Where the arguments of a call begin and end: between commas outside of brackets."""
    depth, begin = 0, start
    for column in range(start, stop):
        if text[column] in "([{<":
            depth += 1
        elif text[column] in ")]}>":
            depth -= 1
        elif text[column] == "," and depth == 0:
            yield begin, column
            begin = column + 1
    if text[begin:stop].strip() or begin != start:
        yield begin, stop


def _operand(text: str, start: int, stop: int, depth: int, call: str, position: int) -> object:
    if not text[start:stop].strip():
        raise NotationError(f"argument {position} of {call} is empty", text, start)
    found = _NAME.match(text, start, stop)
    if found and found.group(1) in FUNCTIONS:
        return _read(text, start, stop, depth).value
    if found:
        _refuse_typo(text, found.group(1), found.start(1))
    value = _shifted(parse_tiler, text, start, stop)
    wants_layout = (position == 0 and call != "make_ordered_layout") or (position == 1 and call in _SECOND_IS_LAYOUT)
    if wants_layout and not isinstance(value, AnyLayout):
        if not _is_shape(value):
            raise NotationError(f"argument {position} of {call} must be a layout", text, start)
        return Layout(cast(IntTuple, value))
    return value


def _is_shape(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_shape, value))
    return not keeps(value) and not isinstance(value, AnyLayout)


def _check_size(call: str, operand: object, text: str, column: int) -> None:
    if isinstance(operand, tuple):
        for entry in operand:
            _check_size(call, entry, text, column)
    elif isinstance(operand, AnyLayout) and type(operand.size) is int and operand.size > LARGEST_OPERAND:
        raise NotationError(
            f"{call}: the operand {operand} has {operand.size} coordinates; expressions take up to {LARGEST_OPERAND}",
            text,
            column,
        )


def _called(text: str, column: int, name: str, operands: tuple[object, ...]) -> object:
    function = FUNCTIONS[name]
    spread = operands
    if name in ("select", "get") and len(operands) == 2 and isinstance(operands[1], tuple):
        spread = (operands[0], *as_tuple(cast(IntTuple, operands[1])))
    for operand in operands[1:]:
        _check_size(name, operand, text, column)
    try:
        return function(*spread)
    except TypeError as error:
        raise NotationError(f"{name} does not take these operands: {error}", text, column) from error
    except (OverflowError, MemoryError, RecursionError) as error:
        raise LayoutError(f"{text.strip()}: too large to compute ({type(error).__name__})") from error
