"""Formulas over elements: text such as `"a + alpha * b"` becomes a function, read as Python's grammar, never evaluated.

Law: a formula is the composition of the functions of `ops` that it names. Operators: `+ - * / // % **`, comparisons,
`& | ^ ~ << >>`, `and or not` (truths, as bool), `x if c else y`; functions by their names in `ops`, `min` and `max`,
and the element types as conversions, `f32(mask)`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce

import numpy as np

from ...errors import KernelError
from ...ops.functions import FUNCTIONS, NAMED, Function
from ...tensor.dtypes import DTYPES
from .elements import Element, Operand, apply, convert

_SHORT = {"min": "minimum", "max": "maximum", "select": "where"}
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "power", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift", ast.RShift: "right_shift", ast.And: "logical_and", ast.Or: "logical_or",
    ast.USub: "neg", ast.Invert: "bitwise_not", ast.Not: "logical_not", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt",
    ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def _function(name: str) -> Callable[..., Operand] | None:
    """What a formula calls by this name: a function of the table, or a conversion."""
    if name in DTYPES:
        return lambda value: convert(value, DTYPES[name])
    found = NAMED.get(_SHORT.get(name, name))
    return None if found is None else partial(_applied, found)


def _applied(function: Function, *operands: Operand) -> Operand:
    """A function of elements; of Python numbers alone it is a Python number."""
    if len(operands) != function.arity:
        raise TypeError(f"{function.name} takes {function.arity} operands, not {len(operands)}")
    if any(isinstance(operand, Element) for operand in operands):
        return apply(function, *operands)
    with np.errstate(all="ignore"):
        number: Operand = np.asarray(function.numpy(*map(np.asarray, operands))).item()
    return number


def _operated(op: ast.AST, *operands: Operand) -> Operand:
    """A function of elements that Python spells as an operator, and computes for numbers alone."""
    if isinstance(op, ast.UAdd):
        return operands[0]
    function = FUNCTIONS[_OPERATORS[type(op)]]
    if function.python is None or any(isinstance(operand, Element) for operand in operands):
        return _applied(function, *operands)
    found: Operand = function.python(*operands)
    return found


def read_formula(text: str) -> tuple[tuple[str, ...], Callable[..., Operand]]:
    """The names in a formula, in the order in which they are met, and the function of them that it says.

    >>> names, function = read_formula("a + alpha * b")
    >>> names, function(1.0, 10.0, 2.0)
    (('a', 'alpha', 'b'), 21.0)

    Raises KernelError, with a caret under the place, for what is no formula.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _wrong(text, getattr(error, "offset", None) or 1, "it is not an expression") from None
    names: dict[str, None] = {}
    try:
        value = _read(tree.body, text, names)
    except RecursionError:
        raise _wrong(text, 1, "it is nested too deep") from None
    order = tuple(names)

    def function(*values: Operand) -> Operand:
        try:
            return value(dict(zip(order, values, strict=True)))
        except (ArithmeticError, TypeError) as error:
            raise _wrong(text, 1, str(error)) from None

    return order, function


def _read(node: ast.AST, text: str, names: dict[str, None]) -> Callable[[Mapping[str, Operand]], Operand]:
    """The value of a part of a formula, as a function of the values of the `names`, which are collected."""
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return lambda values: number
        case ast.Name(id=name):
            names[name] = None
            return operator.itemgetter(name)
        case ast.Call(func=ast.Name(id=name), keywords=[], args=parts) if call := _function(name):
            pass
        case ast.Call(func=func):
            listed = ", ".join([*NAMED, *_SHORT, *DTYPES])
            raise _wrong(text, func.col_offset + 1, f"there are the functions {listed}")
        case ast.BinOp(op=op, left=left, right=right) | ast.Compare(ops=[op], left=left, comparators=[right]) if (
            type(op) in _OPERATORS
        ):
            call, parts = partial(_operated, op), [left, right]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS or isinstance(op, ast.UAdd):
            call, parts = partial(_operated, op), [operand]
        case ast.BoolOp(op=op, values=parts):
            both = partial(_operated, op)
            call = lambda *found: reduce(both, found)  # noqa: E731
        case ast.IfExp(test=test, body=body, orelse=orelse):
            call, parts = partial(_applied, FUNCTIONS["where"]), [test, body, orelse]
        case _:
            place = getattr(node, "col_offset", 0) + 1
            raise _wrong(text, place, f"{type(node).__name__} has no meaning here; operators and calls have")
    read = [_read(part, text, names) for part in parts]
    return lambda values: call(*[value(values) for value in read])


def _wrong(text: str, column: int, why: str) -> KernelError:
    line = text.strip()
    return KernelError(f"pointwise: {why}\n  {line}\n  {' ' * (min(column, len(line) + 1) - 1)}^")
