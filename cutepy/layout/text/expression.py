"""Expressions of the layout algebra as text: `zipped_divide((8,8):(8,1), (4,4))`. Parsed, never evaluated by Python.

The grammar is that of `parse.py`, where a call may also be one of `FUNCTIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import LayoutError, NotationError
from ..algebra.operation import OPERATIONS, Act
from ..algebra.rearrange import filter
from ..algebra.tile import make_layout_like
from ..values.composed import AnyLayout, Swizzle
from .nodes import CALLS, Call, Node, layout_of, tiler_of
from .parse import Reader

LARGEST_OPERAND = 1 << 24
"""How many coordinates an operand after the first may have: the algebra may have to look at every one of them."""

FUNCTIONS: dict[str, Act] = dict(
    sorted(
        {
            **{name: record.call for name, record in OPERATIONS.items() if record.layouts},
            "filter": filter,
            "make_layout_like": make_layout_like,
        }.items()
    )
)
"""What an expression may call beside the spellings of layouts; each takes a layout first."""


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
    >>> print(parse_expression("S<2,0,3> o 0 o coalesce((8,8):(8,64))").value)
    S<2,0,3> o 0 o 64:8

    Raises NotationError, with the column and a caret, for a text that is none, and what the algebra raises for operands
    that do not go together.
    """
    reader, node = _read(text)
    call = reader.outermost
    if call is None:
        return Expression(text.strip(), "", (), reader.stated(layout_of(node, reader.tokens.error)))
    operands = reader.operands(call)
    return Expression(text.strip(), call.name, operands, reader.computed(call, operands))


def parse_call(text: str) -> tuple[str, tuple[object, ...]]:
    """The function that `text` calls and its operands, without the call: to explain what may be refused.

    >>> parse_call("composition((6,2):(1,7), (3,2):(2,3))")
    ('composition', (Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3))))

    A layout alone gives "" and nothing. Raises as `parse_expression`, but for the outermost call.
    """
    reader, node = _read(text)
    if reader.outermost is not None:
        return reader.outermost.name, reader.operands(reader.outermost)
    layout_of(node, reader.tokens.error)
    return "", ()


def _read(text: str) -> tuple[_Calls, Node]:
    reader = _Calls(text)
    if not text.strip():
        raise NotationError("there is no expression; write a layout such as (4,8):(8,1), or coalesce((4,8):(1,4))")
    return reader, reader.whole()


class _Calls(Reader):
    """The reader of layouts that also computes calls, all but `outermost`: one that is the whole text."""

    __slots__ = ("outermost", "start")
    known = CALLS.keys() | FUNCTIONS.keys()
    examples = ", ".join(sorted(FUNCTIONS))

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.start = self.tokens.next.column
        self.outermost: Call | None = None

    def meaning(self, call: Call) -> Node:
        """What a call stands for: a spelling of a layout, or the result of a function."""
        swizzles = call.name == "composition" and call.entries and isinstance(call.entries[0].value, Swizzle)
        if call.name not in FUNCTIONS or swizzles:
            return super().meaning(call)
        if call.column == self.start and self.tokens.next.kind == "end":
            self.outermost = call
            return Node(call.column, ())
        return Node(call.column, self.computed(call, self.operands(call)))

    def operands(self, call: Call) -> tuple[object, ...]:
        """The operands of a function: layouts where it takes layouts, else tilers, numbers, tuples."""
        if call.keywords:
            raise call.wrong(f"takes no {', '.join(call.keywords)}=; write its operands in order")
        layouts = OPERATIONS[call.name].layouts if call.name in OPERATIONS else 1
        first = [self.stated(layout_of(part, call.fail)) for part in call.entries[:layouts]]
        tilers = [tiler_of(part, call.fail) for part in call.entries[layouts:]]
        return (*first, *(self.stated(tiler) if isinstance(tiler, AnyLayout) else tiler for tiler in tilers))

    def computed(self, call: Call, operands: tuple[object, ...]) -> object:
        """The result of a function."""
        for operand in operands[1:]:
            _check_size(operand, call)
        if call.name in ("select", "get") and len(operands) == 2:
            path = operands[1]
            operands = (operands[0], *(path if isinstance(path, tuple) else (path,)))
        try:
            return FUNCTIONS[call.name](*operands)
        except TypeError as error:
            raise call.wrong(f"does not take these operands: {error}") from error
        except (OverflowError, MemoryError, RecursionError) as error:
            text = self.tokens.text.strip()
            raise LayoutError(f"{text}: too large to compute ({type(error).__name__})") from error


def _check_size(operand: object, call: Call) -> None:
    if isinstance(operand, tuple):
        for entry in operand:
            _check_size(entry, call)
    elif isinstance(operand, AnyLayout) and type(operand.size) is int and operand.size > LARGEST_OPERAND:
        raise call.wrong(
            f"has the operand {operand} of {operand.size} coordinates; expressions take up to {LARGEST_OPERAND}"
        )
