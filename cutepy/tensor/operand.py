"""Whatever an operation on arrays may be given, as a tensor: tensors, arrays, numbers and nested lists of numbers.

Law: a NumPy scalar has its type; a Python number alone has a narrow one (bool, i32, f32 or c64), and so has a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..errors import TensorError, shown
from ..layout import Layout
from ..layout.algebra.rearrange import joined
from ..layout.values.int_tuple import IntTuple, map_leaves, prefix_product
from ..lazy import numpy as np
from .dtypes import DType, as_dtype
from .engine import Array, ArrayEngine
from .make import view_of
from .rules import result_type
from .tensor import Tensor

TensorLike: TypeAlias = "Tensor | Array | int | float | complex | bool | Sequence[object]"
"""A tensor, an array or anything with its memory, a Python number, or nested lists of numbers."""


def as_tensor(operand: object) -> Tensor:
    """The operand as a tensor: itself, a view of an array's memory, or a tensor of rank 0 for a number.

    >>> as_tensor([[1.0, 2.0], [3.0, 4.0]]).shape, str(as_tensor(3).dtype)
    ((2, 2), 'i32')

    Raises TensorError for what is no operand: strings, arrays of types that there are not.
    """
    if isinstance(operand, Tensor):
        return operand
    if isinstance(operand, list | tuple):
        return from_array(_from_list(operand))
    if isinstance(operand, np.generic):
        return from_array(np.asarray(operand))
    if isinstance(operand, int | float | complex):
        return from_array(np.asarray(operand, result_type("a number", operand).numpy))
    engine = view_of(operand)
    return Tensor(engine, engine.home if engine.home is not None else Layout(len(engine.memory)))


def _from_list(numbers: Sequence[object]) -> Array:
    """An array of a list's numbers, with floats in 32 bits and integers in i32."""
    try:
        array = np.asarray(numbers)
    except ValueError as error:  # rows of unequal lengths, or nested too deep
        raise TensorError(f"{shown(numbers)}: {error}; give lists of equal lengths with numbers") from error
    narrow = {"float64": "float32", "int64": "int32"}
    if array.dtype.name not in narrow:
        return array
    if array.dtype.kind == "i" and array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise TensorError(f"{numbers}: a number is beyond i32; write floats, or an array of u32")
    return array.astype(narrow[array.dtype.name])


def from_array(array: Array, dtype: DType | None = None, shape: IntTuple | None = None) -> Tensor:
    """A tensor that owns the elements of `array`, converted to `dtype`, nested as `shape`, where these are given.

    `make_tensor(array)` is a view of the caller's memory; this is for an array that nobody else holds.

    >>> print(from_array(np.zeros((6, 4)), shape=((2, 3), 4)).layout)
    ((2,3),4):((4,8),1)
    """
    kind = as_dtype(array.dtype) if dtype is None else dtype
    if array.dtype.name != kind.numpy:
        with np.errstate(all="ignore"):
            array = array.astype(kind.numpy)
    view = view_of(array)
    engine = ArrayEngine(view.memory, kind, view.origin)
    layout = view.home if view.home is not None else Layout(len(view.memory))
    return Tensor(engine, layout if shape is None else nested(layout, shape))


def nested(layout: Layout, shape: IntTuple) -> Layout:
    """A flat layout with each mode nested as in `shape`, first leaf fastest."""
    if not isinstance(shape, tuple):
        return layout[0]
    modes = []
    for mode, part in zip(layout, shape, strict=True):
        if isinstance(part, tuple) and isinstance(mode.stride, int):
            step = mode.stride
            modes.append(Layout(part, map_leaves(lambda size, step=step: size * step, prefix_product(part))))
        else:
            modes.append(mode)
    return joined(modes)
