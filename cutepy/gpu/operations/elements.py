"""The functions of `ops` on single elements inside a kernel: the same table and types, spelt in the kernel's language.

Law: `apply(f, a, b)` is what `ops.f` gives for these elements; of f16 it is kept in f32 until it is stored. A formula,
text such as `"a + alpha * b"`, is the composition of the functions that it names, read as Python's grammar, never
evaluated. Operators: `+ - * / // % **`, comparisons, `& | ^ ~ << >>`, `and or not` (truths, as bool), `x if c else y`;
functions by their names in `ops`, `min` and `max`, and the element types as conversions, `f32(mask)`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from ... import gpu
from ...errors import KernelError
from ...tensor import DTYPES, DType, Tensor, bool_, functions, rules
from .. import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """A value of one element: its expression, and its type by the rules, or the Python number that it is. An element
    of f16 has an expression in f32."""

    value: Expr
    dtype: rules.Typed


Operand: TypeAlias = Element | rules.Number


def apply(function: functions.Function, *operands: Operand) -> Element:
    """What `function` gives for these elements. Raises as the rules do, and KernelError for a whole tensor."""
    for operand in operands:
        if isinstance(operand, Tensor):
            name = getattr(operand.engine, "name", "") or "x"
            raise KernelError(
                f"{function.name} of single values, and {name} is a tensor, {operand.layout}: write {name}[i] for an "
                "element; is a number meant, or another order of arguments?"
            )
    taken, result = function.types(*map(type_of, operands))
    used = [_taken(operand, dtype.accumulator) for operand, dtype in zip(operands, taken, strict=True)]
    return Element(gpu.apply_function(function, *used), result)


def type_of(operand: Operand) -> rules.Typed:
    """What the rules know of an operand: its type, or the number itself."""
    return operand.dtype if isinstance(operand, Element) else operand


def truth(value: Expr) -> Expr:
    """Whether a value is not 0, as NaN is."""
    return ~(value == 0.0) if value.dtype.kind == "f" else gpu.cast(value, bool_)


def _taken(operand: Operand, dtype: DType) -> Expr:
    """An operand as a value of the kernel in the type in which it takes part."""
    if isinstance(operand, Element):
        return truth(operand.value) if dtype is bool_ else gpu.cast(operand.value, dtype)
    return gpu.constant(rounded(operand, dtype), dtype)


def rounded(number: rules.Number, dtype: DType) -> rules.Number:
    """A Python number as an element of `dtype`: what is beyond the greatest float is infinite."""
    with np.errstate(over="ignore"):
        found: rules.Number = np.asarray(number).astype(dtype.numpy).item()
    return found


def convert(operand: Operand, dtype: DType) -> Element:
    """The element in another type: NaN to 0 where that holds whole numbers; to f16 it is rounded at once."""
    if not isinstance(operand, Element):
        rules.check_number(f"as {dtype}", operand, dtype)
        return Element(_taken(operand, dtype.accumulator), dtype)
    # Devices differ in what NaN gives as a whole number: it is 0 here, as `ops` says.
    value = operand.value
    if value.dtype.kind == "f" and dtype.kind in "iu":
        is_nan = gpu.apply_function(functions.FUNCTIONS["isnan"], gpu.cast(value, value.dtype.accumulator))
        value = gpu.select(is_nan, gpu.constant(0, value.dtype), value)
    rounded_once = truth(value) if dtype is bool_ else gpu.cast(value, dtype)
    return Element(gpu.cast(rounded_once, dtype.accumulator), dtype)


def stored(element: Element) -> Expr:
    """The value in the type that it has by the rules."""
    assert isinstance(element.dtype, DType)
    return gpu.cast(element.value, element.dtype)


def value_as(found: Operand, dtype: DType) -> Expr:
    """What a function of elements gave, as a value of `dtype`."""
    return gpu.cast(found.value, dtype) if isinstance(found, Element) else gpu.constant(rounded(found, dtype), dtype)


def in_one_type(name: str, function: Callable[..., object], count: int = 0) -> Callable[..., Any]:
    """A function of the kernel language over elements: they meet in one type before it is called, bool stays bool.
    With a `count` it gives so many."""

    def element(*operands: Operand) -> Element | tuple[Element, ...]:
        met = rules.result_type(name, *map(type_of, operands))
        kept = [isinstance(x, Element) and x.value.dtype is bool_ for x in operands]
        used = [_taken(x, bool_ if stays else met.accumulator) for x, stays in zip(operands, kept, strict=True)]
        found = function(*used)
        if not count:
            return given(found, met)
        if not isinstance(found, tuple) or len(found) != count:
            raise KernelError(
                f"{name}: it gives {found!r}; return a tuple of {count} elements, as results={count} says"
            )
        return tuple([given(one, met) for one in found])

    def given(found: object, met: DType) -> Element:
        if not isinstance(found, Expr):
            if not isinstance(found, bool | int | float):
                several = f", or say results={len(found)}" if isinstance(found, tuple) else ""
                raise KernelError(f"{name}: it gives {type(found).__name__}; return an element{several}")
            return Element(_taken(found, met.accumulator), met)
        return Element(found, met if found.dtype is met.accumulator else found.dtype)

    return element


# Names of formulas that the table has under another name.
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
    found = functions.NAMED.get(_SHORT.get(name, name))
    return None if found is None else partial(_applied, found)


def _applied(function: functions.Function, *operands: Operand) -> Operand:
    """A function of elements; of Python numbers alone it is a Python number."""
    if len(operands) != function.arity:
        raise TypeError(f"{function.name} takes {function.arity} operands, not {len(operands)}")
    if any(isinstance(operand, Element) for operand in operands):
        return apply(function, *operands)
    with np.errstate(all="ignore"):
        number: Operand = np.asarray(function.numpy(*map(np.asarray, operands))).item()
    return number


def _operated(op: ast.AST, *operands: Operand) -> Operand:
    """What an operator of a formula gives: a function of the table, or for Python numbers alone what Python gives.

    Raises ArithmeticError for a number of more bits than any type has.
    """
    if isinstance(op, ast.UAdd):
        return operands[0]
    function = functions.FUNCTIONS[_OPERATORS[type(op)]]
    if function.python is None or any(isinstance(operand, Element) for operand in operands):
        return _applied(function, *operands)
    # Python's integers have no end: their size is bounded before they are made.
    whole = [operand for operand in operands if isinstance(operand, int)]
    if len(whole) == len(operands) and _bits(op, *whole) > MOST_BITS:
        raise ArithmeticError(f"a number of more than {MOST_BITS} bits, which no type of a GPU holds")
    found: Operand = function.python(*operands)
    return found


MOST_BITS = 1024
"""Bits of a whole number in a formula at most: as many as the greatest f64 has."""
LONGEST = 1 << 14
"""Characters of a formula at most."""
LONGEST_SHOWN = 200
"""Characters of a formula that a message shows at most."""
MOST_OPERANDS = 31
"""Operands of a formula at most: what a NumPy ufunc takes beside its result."""


def _bits(op: ast.AST, *operands: int) -> int:
    """How many bits the value of an operator has at most, where these can be many."""
    sizes = [operand.bit_length() for operand in operands]
    if isinstance(op, ast.Pow):
        return sizes[0] * max(1, operands[1])
    return sizes[0] + max(0, operands[1]) if isinstance(op, ast.LShift) else max(sizes)


def read_formula(text: str) -> tuple[tuple[str, ...], Callable[..., Operand]]:
    """The names in a formula, in the order in which they are met, and the function of them that it says.

    >>> names, function = read_formula("a + alpha * b")
    >>> names, function(1.0, 10.0, 2.0)
    (('a', 'alpha', 'b'), 21.0)

    Raises KernelError, with a caret under the place, for what is no formula.
    """
    if len(text) > LONGEST:
        raise _wrong(text, 1, f"it has {len(text)} characters, at most {LONGEST} are taken")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (RecursionError, MemoryError):
        raise _wrong(text, 1, "it is nested too deep") from None
    except (SyntaxError, ValueError) as error:
        raise _wrong(text, getattr(error, "offset", None) or 1, "it is not an expression") from None
    names: dict[str, None] = {}
    try:
        value = _read(tree.body, text, names)
    except RecursionError:
        raise _wrong(text, 1, "it is nested too deep") from None
    order = tuple(names)
    if len(order) > MOST_OPERANDS:
        raise _wrong(text, 1, f"it has {len(order)} operands, at most {MOST_OPERANDS} are taken; make two formulas")

    def function(*values: Operand) -> Operand:
        try:
            return value(dict(zip(order, values, strict=True)))
        except (ArithmeticError, TypeError) as error:
            raise _wrong(text, 1, str(error)) from None

    return order, function


def _read(node: ast.AST, text: str, names: dict[str, None]) -> Callable[[Mapping[str, Operand]], Operand]:
    """The value of a part of a formula, as a function of the values of the `names`, which are collected.

    Raises KernelError, with a caret, for a part that has no meaning.
    """
    # A leaf is its value; anything else is a `call` of the values of its `parts`.
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return lambda values: number
        case ast.Name(id=name):
            names[name] = None
            return operator.itemgetter(name)
        case ast.Call(func=ast.Name(id=name), keywords=[], args=parts) if call := _function(name):
            pass
        case ast.Call(func=func):
            listed = ", ".join([*functions.NAMED, *_SHORT, *DTYPES])
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
            call, parts = partial(_applied, functions.FUNCTIONS["where"]), [test, body, orelse]
        case _:
            place = getattr(node, "col_offset", 0) + 1
            raise _wrong(text, place, f"{type(node).__name__} has no meaning here; operators and calls have")
    read = [_read(part, text, names) for part in parts]
    return lambda values: call(*[value(values) for value in read])


def _wrong(text: str, column: int, why: str) -> KernelError:
    """The error of a formula, with a caret under a column, counted from 1; of a long text the part around it."""
    line = text.strip()
    if len(line) > LONGEST_SHOWN:
        first = max(0, min(column - LONGEST_SHOWN // 2, len(line) - LONGEST_SHOWN))
        line, column = line[first : first + LONGEST_SHOWN], column - first
    return KernelError(f"pointwise: {why}\n  {line}\n  {' ' * (min(column, len(line) + 1) - 1)}^")
