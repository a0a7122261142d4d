"""Operands of array operations: tensors, arrays, numbers and nested lists, each taken as a tensor or as a number.

Law: a NumPy scalar has its type, a Python number is weak, and a list has the narrow types, f32 and i32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import TensorError
from ..layout import Layout
from ..layout.algebra.rearrange import joined
from ..layout.values.int_tuple import IntTuple, map_leaves, prefix_product
from .bulk import load_all, mode_sizes
from .dtypes import DType, as_dtype
from .engine import Array, ArrayEngine
from .make import view_of
from .rules import Number, Shape, Typed, result_type
from .tensor import Tensor

Operand: TypeAlias = "Tensor | Array | int | float | complex | bool | Sequence[object]"
"""A tensor, an array or anything with its memory, a Python number, or nested lists of numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An operand taken apart: its tensor, or a Python number."""

    tensor: Tensor | None
    number: Number = 0

    @property
    def typed(self) -> Typed:
        """What the type of the result depends on."""
        return self.number if self.tensor is None else self.tensor.dtype

    @property
    def shape(self) -> Shape:
        """The sizes of its modes."""
        return () if self.tensor is None else mode_sizes(self.tensor)

    def array(self) -> Array:
        """The elements, one array axis a mode; a number in the type that it has alone."""
        if self.tensor is not None:
            return load_all(self.tensor)
        return np.asarray(self.number, result_type("a number", self.number).numpy)


def value_of(operand: object) -> Value:
    """Take an operand apart: a NumPy scalar is a tensor of rank 0, and has its type.

    Raises TensorError for what is no operand: strings, arrays of types that there are not.
    """
    if isinstance(operand, Tensor):
        return Value(operand)
    if isinstance(operand, int | float | complex) and not isinstance(operand, np.generic):
        return Value(None, operand)
    if isinstance(operand, list | tuple):
        return Value(wrap(_from_list(operand)))
    if isinstance(operand, np.generic):
        return Value(wrap(np.asarray(operand)))
    engine = view_of(operand)
    return Value(Tensor(engine, engine.home if engine.home is not None else Layout(len(engine.memory))))


def tensor_of(operand: object) -> Tensor:
    """The operand as a tensor; a number is one of rank 0."""
    value = value_of(operand)
    return wrap(value.array()) if value.tensor is None else value.tensor


def _from_list(numbers: Sequence[object]) -> Array:
    array = np.asarray(numbers)
    narrow = {"float64": "float32", "int64": "int32"}
    if array.dtype.name not in narrow:
        return array
    if array.dtype.kind == "i" and array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise TensorError(f"{numbers}: a number is beyond i32; write floats, or an array of u32")
    return array.astype(narrow[array.dtype.name])


def wrap(array: Array, dtype: DType | None = None, shape: IntTuple | None = None) -> Tensor:
    """A tensor that owns the elements of `array`, nested as `shape` where that is given."""
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


def common_nesting(values: Sequence[Value]) -> IntTuple | None:
    """The nested shape of the operands if all tensors have the same one."""
    shapes = {value.tensor.shape for value in values if value.tensor is not None}
    return shapes.pop() if len(shapes) == 1 else None
