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
from ..ir.operators import BY_WGSL, COMPARE


def pack(values: Sequence[Expr]) -> Expr:
    """One vector expression whose lanes are `values`, all scalars of one type.

    >>> from cutepy.gpu.ir import component, var
    >>> from cutepy.tensor.dtypes import f32
    >>> x, y = var("x", f32, lanes=2), var("y", f32)
    >>> pack([component(x, i) * y for i in range(2)]) is x * splat(y, 2)
    True
    """
    return _Pack().pack(values)


class _Pack:
    """One packing, in which equal lists of lanes are packed once."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, ...], Expr] = {}

    def pack(self, values: Sequence[Expr]) -> Expr:
        key = tuple(map(id, values))
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self.packed(values, values[0])
        return known

    def packed(self, values: Sequence[Expr], first: Expr) -> Expr:
        kind = type(first)
        if len(values) == 1:
            return first
        if all(value is first for value in values):
            return splat(first, len(values))
        if kind in (Component, Const) or any(type(value) is not kind for value in values):
            return vector(*values)
        packed = self.alike(values, first)
        return vector(*values) if packed is None else packed

    def alike(self, values: Sequence[Expr], first: Expr) -> Expr | None:
        match first:
            case Binary(op=op):
                if op in COMPARE or first.dtype.kind == "b" or not _agree(values, "op"):
                    return None
                left, right = self.pack([v.left for v in values]), self.pack([v.right for v in values])  # type: ignore[attr-defined]
                return binary(op, left, right)
            case Call(name=name, args=args):
                if name not in BY_WGSL or not _agree(values, "name"):
                    return None
                return call(name, *[self.pack([v.args[i] for v in values]) for i in range(len(args))])  # type: ignore[attr-defined]
            case Unary(op=op):
                return unary(op, self.pack(_operands(values))) if _agree(values, "op") else None
            case Cast(dtype=dtype, bits=bits):
                source = first.value.dtype
                if all(x.dtype is source for x in _operands(values)) and _agree(values, "bits"):
                    return cast(self.pack(_operands(values)), dtype, bits=bits)
            case Select(condition=condition):
                if all(v.condition is condition for v in values):  # type: ignore[attr-defined]
                    then, other = self.pack([v.then for v in values]), self.pack([v.other for v in values])  # type: ignore[attr-defined]
                    return select(condition, then, other)
        return None


def _agree(values: Sequence[Expr], name: str) -> bool:
    wanted = getattr(values[0], name)
    return all(getattr(v, name) == wanted for v in values)


def _operands(values: Sequence[Expr]) -> list[Expr]:
    return [v.value for v in values]  # type: ignore[attr-defined]
