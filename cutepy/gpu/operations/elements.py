"""The functions of `ops` on single elements inside a kernel: the same table and types, spelt in the kernel's language.

Law: `apply(f, a, b)` is what `ops.f` gives for these elements; of f16 it is kept in f32 until it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...errors import KernelError
from ...ops.functions import FUNCTIONS, Function
from ...ops.rules import Number, Typed, check_number, result_type
from ...tensor.dtypes import DType, bool_
from ..ir import Expr, as_expr, cast, select
from ..ir.functions import spelt, truth


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """A value of one element: its expression, and what the rules know it by. f16 is computed in f32."""

    value: Expr
    dtype: Typed


Operand: TypeAlias = Element | Number


def apply(function: Function, *operands: Operand) -> Element:
    """What `function` gives for these elements. Raises as the rules do."""
    taken, result = function.types(*map(type_of, operands))
    used = [_taken(operand, dtype.accumulator) for operand, dtype in zip(operands, taken, strict=True)]
    return Element(spelt(function, *used), result)


def type_of(operand: Operand) -> Typed:
    """What the rules know of an operand: its type, or the number itself."""
    return operand.dtype if isinstance(operand, Element) else operand


def _taken(operand: Operand, dtype: DType) -> Expr:
    if isinstance(operand, Element):
        return truth(operand.value) if dtype is bool_ else cast(operand.value, dtype)
    return as_expr(rounded(operand, dtype), dtype)


def rounded(number: Number, dtype: DType) -> Number:
    """A Python number as an element of `dtype`: what is beyond the greatest float is infinite."""
    with np.errstate(over="ignore"):
        found: Number = np.asarray(number).astype(dtype.numpy).item()
    return found


def convert(operand: Operand, dtype: DType) -> Element:
    """The element in another type: NaN to 0 where that holds whole numbers; to f16 it is rounded at once."""
    if not isinstance(operand, Element):
        check_number(f"as {dtype}", operand, dtype)
        return Element(_taken(operand, dtype.accumulator), dtype)
    value = operand.value
    if value.dtype.kind == "f" and dtype.kind in "iu":
        is_nan = spelt(FUNCTIONS["isnan"], cast(value, value.dtype.accumulator))
        value = select(is_nan, as_expr(0, value.dtype), value)
    rounded_once = truth(value) if dtype is bool_ else cast(value, dtype)
    return Element(cast(rounded_once, dtype.accumulator), dtype)


def in_one_type(name: str, function: Callable[..., object]) -> Callable[..., Element]:
    """A function of the kernel language over elements: they meet in one type before it is called, bool stays bool."""

    def element(*operands: Operand) -> Element:
        met = result_type(name, *map(type_of, operands))
        kept = [isinstance(x, Element) and x.value.dtype is bool_ for x in operands]
        used = [_taken(x, bool_ if stays else met.accumulator) for x, stays in zip(operands, kept, strict=True)]
        found = function(*used)
        if not isinstance(found, Expr):
            if not isinstance(found, bool | int | float):
                raise KernelError(f"{name}: it gives {type(found).__name__}; return an element")
            return Element(_taken(found, met.accumulator), met)
        return Element(found, met if found.dtype is met.accumulator else found.dtype)

    return element
