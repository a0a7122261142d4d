"""Packed elements in a kernel: bit fields of 32-bit words, extracted by shifts and masks, and stored as whole words.

Law: `unpack(words, inside, dtype)` is, entry by entry, bits [inside * b, (inside + 1) * b) of a word as a value of
`dtype`, in the type that a kernel has for it: i32 and u32 for integers of fewer bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import KernelError
from ...tensor.dtypes import DType, SmallFloat, f16, f32, i32, u32
from ...tensor.small_floats import narrowed, widened
from .. import ir
from ..ir.functions import decomposed
from ..ir.place import user_place
from ..ir.simplify import simplify

Objects = np.ndarray[Any, np.dtype[np.object_]]


def unpack(words: Any, inside: Any, dtype: DType) -> Any:
    """The bit fields of words, as an array where the words are one."""
    if not isinstance(words, np.ndarray):
        return _field(words, inside, dtype)
    places = np.broadcast_to(np.asarray(inside, object), words.shape).ravel()
    fields = object_array(_field(word, position, dtype) for word, position in zip(words.ravel(), places, strict=True))
    return fields.reshape(words.shape)


def _field(word: ir.Expr, inside: Any, dtype: DType) -> ir.Expr:
    bits, whole = dtype.bits, ir.cast(word, u32, bits=True)
    if bits == 32:
        return ir.cast(word, dtype, bits=True)
    at = simplify(ir.as_expr(inside))
    if dtype is f16:
        both = ir.call("unpack2x16float", whole)
        return ir.cast(ir.component(both, ir.cast(at, u32)), f16)
    low = ir.cast(at, u32) * bits
    if dtype.kind != "i":
        # The field at the top needs no mask.
        shifted = simplify(whole >> low)
        field = shifted if isinstance(low, ir.Const) and low.value == 32 - bits else shifted & ((1 << bits) - 1)
        return decomposed(partial(widened, dtype=dtype), field) if isinstance(dtype, SmallFloat) else field
    # To the top, and back by an arithmetic shift: the sign is extended.
    return ir.cast(simplify(whole << simplify(32 - bits - low)), i32, bits=True) >> 32 - bits


def whole_words(
    split: tuple[Any, Any], dtype: DType, values: Any, where: Any, name: str
) -> tuple[Objects | tuple[Objects, ...], Objects, Objects | None]:
    """(indices of words, or their coordinates axis by axis; their new values; predicates or None) of a store that
    writes all fields of each word.

    Raises KernelError where fields of a word are missing: another thread may own them.
    """
    per, place = 32 // dtype.bits, user_place()
    # 1. Group the fields by word; simplified indices of one word are one expression.
    axes = split[0] if isinstance(split[0], tuple) else (split[0],)
    tables = np.broadcast_arrays(*[np.asarray(axis, object) for axis in axes])
    words = [tuple([simplify(ir.as_expr(w)) for w in word]) for word in zip(*[t.ravel() for t in tables], strict=True)]
    shape = tables[0].shape
    flat = np.broadcast_to(np.asarray(values, object), shape).ravel()
    masks = np.broadcast_to(np.asarray(where, object), shape).ravel()
    fields_of: dict[tuple[ir.Expr, ...], dict[int, tuple[Any, Any]]] = {}
    for word, inside, value, mask in zip(words, np.asarray(split[1], object).ravel(), flat, masks, strict=True):
        at = simplify(ir.as_expr(inside))
        number = int(at.value) if isinstance(at, ir.Const) else -1
        fields_of.setdefault(word, {})[number] = value, mask
    # 2. A store of a field alone would read and write back its neighbours, which is a race.
    for word, fields in fields_of.items():
        if set(fields) != set(range(per)) or any(mask is not fields[0][1] for _, mask in fields.values()):
            raise KernelError(
                f"{place}: store of {dtype} in a part of word {', '.join(map(str, word))} of {name}: the rest may be "
                f"another thread's; let one thread write {per} neighbours, by copy or fill of a fragment, or make "
                "words with gpu.pack4xI8"
            )
    new = [_packed([fields[i][0] for i in range(per)], dtype, place) for fields in fields_of.values()]
    kept = None if where is None else object_array([fields[0][1] for fields in fields_of.values()])
    places = tuple([object_array(axis) for axis in zip(*fields_of, strict=True)])
    return places if isinstance(split[0], tuple) else places[0], object_array(new), kept


def object_array(values: Iterable[Any]) -> Objects:
    """An object array of these values, without NumPy looking into them."""
    listed = list(values)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def _packed(values: Sequence[Any], dtype: DType, place: str) -> ir.Expr:
    """A word of its fields, the first in the lowest bits."""
    if dtype is f16:
        return ir.call("pack2x16float", *[_fitted(v, f32, dtype, place) for v in values])
    if dtype.bits == 32:
        return ir.cast(_fitted(values[0], dtype, dtype, place), u32, bits=True)
    fitted = [_fitted(v, dtype.register, dtype, place) for v in values]
    if isinstance(dtype, SmallFloat):
        fields = [decomposed(partial(narrowed, dtype=dtype), v) for v in fitted]
    else:
        fields = [ir.cast(v, u32, bits=True) for v in fitted]
    word: ir.Expr = fields[-1] << 32 - dtype.bits
    for at in range(len(fields) - 2, -1, -1):
        word = word | ((fields[at] & ((1 << dtype.bits) - 1)) << at * dtype.bits)
    return word


def _fitted(value: Any, dtype: DType, stored: DType, place: str) -> ir.Expr:
    typed = ir.as_expr(ir.in_type(value, dtype), dtype)
    if typed.dtype.kind != dtype.kind:
        raise KernelError(f"{place}: store of a {typed.dtype} value as {stored}; convert it with gpu.cast")
    return ir.cast(typed, dtype)
