"""Scalars that are computed side by side become one vector computation.

The superword rule of Larsen and Amarasinghe (PLDI 2000), from the store backwards: expressions of one form are packed
by packing their operands; lanes of one vector, in order, are that vector; anything else is put together from scalars.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import (
    Binary,
    Call,
    Cast,
    Component,
    Const,
    Expr,
    Select,
    Unary,
    binary,
    call,
    cast,
    select,
    splat,
    unary,
    vector,
)
from ..ir.operators import COMPARE, FUNCTIONS


def pack(values: Sequence[Expr]) -> Expr:
    """One vector expression whose lanes are `values`, all scalars of one type.

    >>> from cutepy.gpu.ir import component, var
    >>> from cutepy.tensor.dtypes import f32
    >>> x, y = var("x", f32, lanes=2), var("y", f32)
    >>> pack([component(x, i) * y for i in range(2)]) is x * splat(y, 2)
    True
    """
    first = values[0]
    if len(values) == 1:
        return first
    kind, same = type(first), True
    for value in values:
        if type(value) is not kind:
            return vector(*values)
        same = same and value is first
    if same:
        return splat(first, len(values))
    if kind is Component or kind is Const:
        return vector(*values)
    packed = _pack_alike(values, first)
    return vector(*values) if packed is None else packed


def _pack_alike(values: Sequence[Expr], first: Expr) -> Expr | None:
    match first:
        case Binary(op=op):
            if op in COMPARE or first.dtype.kind == "b" or not _agree(values, "op"):
                return None
            left, right = pack([v.left for v in values]), pack([v.right for v in values])  # type: ignore[attr-defined]
            return binary(op, left, right)
        case Call(name=name, args=args):
            if name not in FUNCTIONS or not _agree(values, "name"):
                return None
            return call(name, *[pack([v.args[i] for v in values]) for i in range(len(args))])  # type: ignore[attr-defined]
        case Unary(op=op):
            return unary(op, pack(_operands(values))) if _agree(values, "op") else None
        case Cast(dtype=dtype, bits=bits):
            source = first.value.dtype
            if all(x.dtype is source for x in _operands(values)) and _agree(values, "bits"):
                return cast(pack(_operands(values)), dtype, bits=bits)
        case Select(condition=condition):
            if all(v.condition is condition for v in values):  # type: ignore[attr-defined]
                then, other = pack([v.then for v in values]), pack([v.other for v in values])  # type: ignore[attr-defined]
                return select(condition, then, other)
    return None


def _agree(values: Sequence[Expr], name: str) -> bool:
    wanted = getattr(values[0], name)
    return all(getattr(v, name) == wanted for v in values)


def _operands(values: Sequence[Expr]) -> list[Expr]:
    return [v.value for v in values]  # type: ignore[attr-defined]
