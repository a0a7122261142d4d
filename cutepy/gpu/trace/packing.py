"""Parts of words in a kernel: shifts and masks take them out, and whole words are put together of them.

Law: `unpack(words, inside, dtype)` is, entry by entry, bits [inside * b, (inside + 1) * b) of a word as a value of
`dtype`, in the type that a kernel has for it: i32 and u32 for integers of fewer bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import DType, f16, f32, i32, u32
from .. import ir
from ..ir.place import user_place
from ..ir.simplify import simplify

Objects = np.ndarray[Any, np.dtype[np.object_]]


def unpack(words: Any, inside: Any, dtype: DType) -> Any:
    """The parts of words, as an array where the words are one."""
    if not isinstance(words, np.ndarray):
        return _part(words, inside, dtype)
    places = np.broadcast_to(np.asarray(inside, object), words.shape).ravel()
    parts = boxed(_part(word, place, dtype) for word, place in zip(words.ravel(), places, strict=True))
    return parts.reshape(words.shape)


def _part(word: ir.Expr, inside: Any, dtype: DType) -> ir.Expr:
    bits, whole = dtype.bits, ir.cast(word, u32, bits=True)
    if bits == 32:
        return ir.cast(word, dtype, bits=True)
    at = simplify(ir.as_expr(inside))
    if dtype is f16:
        both = ir.call("unpack2x16float", whole)
        return ir.cast(ir.component(both, ir.cast(at, u32)), f16)
    low = ir.cast(at, u32) * bits
    if dtype.kind == "u":
        shifted = simplify(whole >> low)
        return shifted if isinstance(low, ir.Const) and low.value == 32 - bits else shifted & ((1 << bits) - 1)
    return ir.cast(simplify(whole << simplify(32 - bits - low)), i32, bits=True) >> 32 - bits


def whole_words(
    split: tuple[Any, Any], dtype: DType, values: Any, where: Any, name: str
) -> tuple[Objects, Objects, Objects | None]:
    """The words, their new values and where they are written, of a store that writes all parts of each.

    Raises KernelError for a part of a word: the others may be another thread's.
    """
    per, place = 32 // dtype.bits, user_place()
    words = [simplify(ir.as_expr(w)) for w in np.asarray(split[0], object).ravel()]
    shape = np.shape(np.asarray(split[0], object))
    flat = np.broadcast_to(np.asarray(values, object), shape).ravel()
    masks = np.broadcast_to(np.asarray(where, object), shape).ravel()
    parts: dict[ir.Expr, dict[int, tuple[Any, Any]]] = {}
    for word, inside, value, mask in zip(words, np.asarray(split[1], object).ravel(), flat, masks, strict=True):
        at = simplify(ir.as_expr(inside))
        number = int(at.value) if isinstance(at, ir.Const) else -1
        parts.setdefault(word, {})[number] = value, mask
    for word, found in parts.items():
        if set(found) != set(range(per)) or any(mask is not found[0][1] for _, mask in found.values()):
            raise KernelError(
                f"{place}: store of {dtype} in a part of word {word} of {name}: the rest may be another thread's; let "
                f"one thread write {per} neighbours, by copy or fill of a fragment, or make words with gpu.pack4xI8"
            )
    new = [_joined([found[i][0] for i in range(per)], dtype, place) for found in parts.values()]
    kept = None if where is None else boxed([found[0][1] for found in parts.values()])
    return boxed(parts), boxed(new), kept


def boxed(values: Iterable[Any]) -> Objects:
    """An array of these objects, of which NumPy asks nothing."""
    listed = list(values)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


def _joined(values: Sequence[Any], dtype: DType, place: str) -> ir.Expr:
    """A word of its parts, the first in the lowest bits."""
    if dtype is f16:
        return ir.call("pack2x16float", *[_fitted(v, f32, dtype, place) for v in values])
    if dtype.bits == 32:
        return ir.cast(_fitted(values[0], dtype, dtype, place), u32, bits=True)
    fields = [ir.cast(_fitted(v, dtype.register, dtype, place), u32, bits=True) for v in values]
    word: ir.Expr = fields[-1] << 32 - dtype.bits
    for at in range(len(fields) - 2, -1, -1):
        word = word | ((fields[at] & ((1 << dtype.bits) - 1)) << at * dtype.bits)
    return word


def _fitted(value: Any, dtype: DType, stored: DType, place: str) -> ir.Expr:
    found = ir.as_expr(ir.in_type(value, dtype), dtype)
    if found.dtype.kind != dtype.kind:
        raise KernelError(f"{place}: store of a {found.dtype} value as {stored}; convert it with gpu.cast")
    return ir.cast(found, dtype)
