"""Formulas over elements: text such as `"a + alpha * b"` becomes a function, read as Python's grammar, never evaluated.

Law: a formula is the composition of the functions of `ops` that it names. Operators: `+ - * / // % **`, comparisons,
`& | ^ ~ << >>`, `and or not` (truths, as bool), `x if c else y`; functions by their names in `ops`, `min` and `max`,
and the element types as conversions, `f32(mask)`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

import numpy as np

from ...errors import KernelError
from ...ops.functions import FUNCTIONS as TABLE
from ...ops.functions import Function
from ...tensor.dtypes import DTYPES
from .elements import Element, Operand, apply, convert


def _called(function: Function) -> Callable[..., Operand]:
    """A function of elements; of Python numbers alone it is a Python number."""

    def call(*operands: Operand) -> Operand:
        if len(operands) != function.arity:
            raise TypeError(f"{function.name} takes {function.arity} operands, not {len(operands)}")
        if any(isinstance(operand, Element) for operand in operands):
            return apply(function, *operands)
        with np.errstate(all="ignore"):
            number: Operand = np.asarray(function.numpy(*map(np.asarray, operands))).item()
        return number

    return call


def _conversion(name: str) -> Callable[[Operand], Operand]:
    return lambda value: convert(value, DTYPES[name])


FUNCTIONS: dict[str, Callable[..., Operand]] = {
    **{name: _called(function) for name, function in TABLE.items()},
    "min": _called(TABLE["minimum"]),
    "max": _called(TABLE["maximum"]),
    "select": _called(TABLE["where"]),
    **{name: _conversion(name) for name in DTYPES},
}


def _operator(name: str, python: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function of elements that Python spells as an operator, and computes for numbers alone."""
    function = TABLE[name]
    return lambda *operands: (
        apply(function, *operands) if any(isinstance(x, Element) for x in operands) else python(*operands)
    )


_OPERATORS: dict[type[ast.AST], Callable[..., Operand]] = {
    ast.Add: _operator("add", operator.add),
    ast.Sub: _operator("sub", operator.sub),
    ast.Mult: _operator("mul", operator.mul),
    ast.Div: _operator("div", operator.truediv),
    ast.FloorDiv: _operator("floordiv", operator.floordiv),
    ast.Mod: _operator("mod", operator.mod),
    ast.Pow: _operator("pow", operator.pow),
    ast.BitAnd: _operator("bitwise_and", operator.and_),
    ast.BitOr: _operator("bitwise_or", operator.or_),
    ast.BitXor: _operator("bitwise_xor", operator.xor),
    ast.LShift: _operator("left_shift", operator.lshift),
    ast.RShift: _operator("right_shift", operator.rshift),
    ast.And: FUNCTIONS["logical_and"],
    ast.Or: FUNCTIONS["logical_or"],
    ast.USub: _operator("neg", operator.neg),
    ast.UAdd: lambda x: x,
    ast.Invert: _operator("bitwise_not", operator.invert),
    ast.Not: FUNCTIONS["logical_not"],
    ast.Lt: _operator("lt", operator.lt),
    ast.LtE: _operator("le", operator.le),
    ast.Gt: _operator("gt", operator.gt),
    ast.GtE: _operator("ge", operator.ge),
    ast.Eq: _operator("eq", operator.eq),
    ast.NotEq: _operator("ne", operator.ne),
}


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
        _check(tree.body, text, names)
    except RecursionError:
        raise _wrong(text, 1, "it is nested too deep") from None
    order = tuple(names)

    def function(*values: Operand) -> Operand:
        try:
            return _value(tree.body, dict(zip(order, values, strict=True)))
        except (ArithmeticError, TypeError) as error:
            raise _wrong(text, 1, str(error)) from None

    return order, function


def _check(node: ast.AST, text: str, names: dict[str, None]) -> None:
    """Refuse what is no formula, and collect the names."""
    match node:
        case ast.Constant(value=int() | float()):
            return
        case ast.Name(id=name):
            names[name] = None
            return
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            children: list[ast.AST] = [*node.args]
        case ast.Call(func=func):
            raise _wrong(text, func.col_offset + 1, f"there are the functions {', '.join(FUNCTIONS)}")
        case ast.BinOp(op=op) if type(op) in _OPERATORS:
            children = [node.left, node.right]
        case ast.UnaryOp(op=op) if type(op) in _OPERATORS:
            children = [node.operand]
        case ast.BoolOp():
            children = [*node.values]
        case ast.Compare(ops=[op]) if type(op) in _OPERATORS:
            children = [node.left, *node.comparators]
        case ast.IfExp():
            children = [node.test, node.body, node.orelse]
        case _:
            place = getattr(node, "col_offset", 0) + 1
            raise _wrong(text, place, f"{type(node).__name__} has no meaning here; operators and calls have")
    for child in children:
        _check(child, text, names)


def _value(node: ast.AST, values: Mapping[str, Operand]) -> Operand:
    """What a checked formula gives for these values."""
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return number
        case ast.Name(id=name):
            return values[name]
        case ast.Call(func=ast.Name(id=name), args=args):
            return FUNCTIONS[name](*[_value(arg, values) for arg in args])
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, values))
        case ast.BoolOp(op=op, values=parts):
            found = _value(parts[0], values)
            for part in parts[1:]:
                found = _OPERATORS[type(op)](found, _value(part, values))
            return found
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return FUNCTIONS["where"](*[_value(part, values) for part in (test, body, orelse)])
    raise AssertionError(type(node).__name__)


def _wrong(text: str, column: int, why: str) -> KernelError:
    line = text.strip()
    return KernelError(f"pointwise: {why}\n  {line}\n  {' ' * (min(column, len(line) + 1) - 1)}^")
