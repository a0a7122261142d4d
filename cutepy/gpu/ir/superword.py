"""Superwords: accesses to neighbours as vectors, and what is stored side by side computed side by side.

The rule is that of Larsen and Amarasinghe (PLDI 2000), from the store backwards: expressions of one form are packed by
packing their operands; lanes of one vector, in order, are that vector; anything else is put together from scalars.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from ...layout.affine import Congruent
from ...tensor.dtypes import u32
from ...tensor.functions import IR_FUNCTIONS, Function
from .expr import Binary, Call, Cast, Expr, Select, Unary
from .make import binary, const, select, splat, vector
from .operators import COMPARE
from .simplify import from_linear
from .walk import rebuild


@dataclass(frozen=True, slots=True)
class VectorAccess:
    """Elements [index, index + lanes), for the entries of a table given by `positions`, one list a lane."""

    index: Expr
    positions: tuple[tuple[int, ...], ...]
    where: Expr | None


def runs(terms: dict[Expr, int], places: dict[int, list[int]], where: Expr | None, most: int) -> Iterator[VectorAccess]:
    """Runs of 4, 2 and 1 neighbours among offsets that differ by constants, aligned as the coefficients prove."""
    step = gcd(*terms.values())
    # One expression for the base, plus a constant an access; not where terms are subtracted, for u32 would wrap.
    base = from_linear(Congruent(terms, 0), u32) if min(terms.values(), default=1) > 0 else None
    order = sorted(places)
    at = 0
    while at < len(order):
        first, lanes = order[at], most
        while lanes > 1:
            whole = order[at : at + lanes]
            # A vector is aligned where the constant and every coefficient are multiples of its lanes.
            if first % lanes == 0 and step % lanes == 0 and len(whole) == lanes and whole[-1] == first + lanes - 1:
                break
            lanes //= 2
        if base is None or first < 0:
            index = from_linear(Congruent(terms, first), u32)
        else:
            index = binary("+", base, const(first))
        yield VectorAccess(index, tuple(tuple(places[c]) for c in order[at : at + lanes]), where)
        at += lanes


def pack(values: Sequence[Expr], known: dict[tuple[int, ...], Expr] | None = None) -> Expr:
    """One vector expression whose lanes are `values`, all scalars of one type; `known` are lists that were packed.

    >>> from cutepy.gpu.ir import component, splat, var
    >>> from cutepy.tensor.dtypes import f32
    >>> x, y = var("x", f32, lanes=2), var("y", f32)
    >>> pack([component(x, i) * y for i in range(2)]) is x * splat(y, 2)
    True
    """
    first, kind = values[0], type(values[0])
    if len(values) == 1:
        return first
    if all(value is first for value in values):
        return splat(first, len(values))
    # pack([x.0 * y, x.1 * y]) -> x * splat(y): lanes of one operation are packed operand by operand.
    form = _FORMS[kind](first) if kind in _FORMS else None
    if form is None or any(type(v) is not kind or _FORMS[kind](v) != form for v in values):
        return vector(*values)
    known = {} if known is None else known
    key = tuple(map(id, values))
    if key not in known:
        columns = list(zip(*[value.operands for value in values], strict=True))
        if isinstance(first, Select):
            known[key] = select(first.condition, *[pack(column, known) for column in columns[1:]])
        else:
            known[key] = rebuild(first, [pack(column, known) for column in columns])
    return known[key]


#: What scalars that one vector operation computes have in common; None for what no such operation gives.
_FORMS: dict[type[Expr], Callable[[Any], object]] = {
    Binary: lambda value: None if value.op in COMPARE or value.dtype.kind == "b" else value.op,
    Call: lambda value: value.name if type(IR_FUNCTIONS.get(value.name)) is Function else None,
    Unary: lambda value: value.op,
    Cast: lambda value: (value.bits, value.value.dtype),
    Select: lambda value: id(value.condition),
}
