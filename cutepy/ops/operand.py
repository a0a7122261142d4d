"""Operands and results: what may stand in an operation, in which type it is computed, and what comes back.

Imports `tensor`. Law: the type of a result depends on the types of the operands alone: bool, then i32 or u32, then
f16, then f32; a Python number is weak, it only raises the kind (bool, integer, float). f16 is computed in f32 and
rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import TensorError
from ..layout import Layout
from ..layout.int_tuple import IntTuple, map_leaves, prefix_product
from ..layout.rearrange import joined
from ..tensor.bulk import load_all, mode_sizes, store_all
from ..tensor.dtypes import DType, as_dtype, bool_, f32, i32, u32
from ..tensor.engine import Array, ArrayEngine, Scalars, allocate
from ..tensor.make import view_of
from ..tensor.tensor import Tensor

Operand: TypeAlias = "Tensor | Array | int | float | bool | Sequence[object]"
"""A tensor, an array or anything with its memory, a Python number, or nested lists of numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An operand taken apart: its tensor, or a Python number with `weak` as its kind ("b", "i" or "f")."""

    tensor: Tensor | None
    number: int | float | bool
    dtype: DType | None
    weak: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its modes."""
        return () if self.tensor is None else mode_sizes(self.tensor)

    def array(self) -> Scalars:
        """The elements, one array axis a mode; or the number."""
        return self.number if self.tensor is None else load_all(self.tensor)


def value_of(operand: Operand) -> Value:
    """Take an operand apart.

    Raises TensorError for what is no operand: complex numbers, strings, arrays of types that WGSL lacks.
    """
    if isinstance(operand, Tensor):
        return Value(operand, 0, operand.dtype, "")
    if isinstance(operand, bool):
        return Value(None, operand, None, "b")
    if isinstance(operand, (int, float)) and not isinstance(operand, np.generic):
        return Value(None, operand, None, "f" if isinstance(operand, float) else "i")
    if isinstance(operand, np.float64):
        return Value(None, float(operand), None, "f")
    if isinstance(operand, (list, tuple)):
        return value_of(wrap(_from_list(operand)))
    if isinstance(operand, np.generic):
        return value_of(wrap(np.asarray(operand)))
    engine = view_of(operand)
    return value_of(Tensor(engine, engine.home if engine.home is not None else Layout(len(engine.memory))))


def _from_list(numbers: Sequence[object]) -> Array:
    array = np.asarray(numbers)
    narrow = {"float64": "float32", "int64": "int32"}
    if array.dtype.name not in narrow:
        return array
    if array.dtype.kind == "i" and array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise TensorError(f"{numbers}: a number is beyond i32; write floats, or an array of u32")
    return array.astype(narrow[array.dtype.name])


_RANK = {"bool": 0, "i32": 1, "u32": 1, "f16": 2, "f32": 3}
_WEAK = {"b": bool_, "i": i32, "f": f32}


def promoted(call: str, *values: Value) -> DType:
    """The type of a result of these operands.

    >>> promoted("add", value_of(np.zeros(2, np.float16)), value_of(2.5)).name
    'f16'

    Raises TensorError for i32 with u32, which WGSL does not mix either.
    """
    typed = {value.dtype for value in values if value.dtype is not None}
    for dtype in typed:
        if dtype.name not in _RANK:
            raise TensorError(
                f"{call}: no such element type in operations: {dtype} ({dtype.numpy}); convert with .astype"
            )
    if i32 in typed and u32 in typed:
        raise TensorError(f"{call}: i32 and u32 do not mix; convert one with ops.astype")
    found = max(typed, key=lambda dtype: _RANK[dtype.name], default=None)
    weak = max(
        (_WEAK[value.weak] for value in values if value.dtype is None), key=lambda d: _RANK[d.name], default=None
    )
    if weak is None or (found is not None and "biuf".index(found.kind) >= "biif".index(weak.kind)):
        assert found is not None, "an operation has operands"
        return found
    return weak


def broadcast_shape(call: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to, by NumPy's rule: aligned at the last axis, size 1 stretches.

    Raises TensorError, with the axis and its sizes, where they do not.
    """
    width = max(map(len, shapes), default=0)
    found = []
    for axis in range(-width, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis}
        if len(sizes - {1}) > 1:
            listed = ", ".join(map(str, shapes))
            raise TensorError(
                f"{call}: the shapes {listed} do not broadcast: axis {axis} has the sizes {sorted(sizes)}"
            )
        found.append((sizes - {1} or {1}).pop())
    return tuple(found)


def number_as(call: str, value: int | float | bool, dtype: DType) -> int | float | bool:
    """A Python number checked against the type in which it takes part.

    Raises TensorError where an integer is out of range.
    """
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.numpy)
        if not limits.min <= value <= limits.max:
            raise TensorError(f"{call}: {value} is out of range for {dtype}, which holds {limits.min} to {limits.max}")
    return value


def wrap(array: Array, dtype: DType | None = None, shape: IntTuple | None = None) -> Tensor:
    """A tensor that owns the elements of `array`, nested as `shape` where that is given."""
    if array.dtype == object:
        return _wrap_traced(array, dtype if dtype is not None else f32, shape)
    kind = as_dtype(array.dtype) if dtype is None else dtype
    if array.dtype.name != kind.numpy:
        with np.errstate(all="ignore"):
            array = array.astype(kind.numpy)
    view = view_of(array)
    engine = ArrayEngine(view.memory, kind, view.origin)
    layout = view.home if view.home is not None else Layout(len(view.memory))
    return Tensor(engine, layout if shape is None else nested(layout, shape))


def _wrap_traced(array: Array, dtype: DType, shape: IntTuple | None) -> Tensor:
    layout = Layout(array.shape if shape is None else shape)
    result = Tensor(allocate(dtype, layout.size), layout)
    store_all(result, array)
    return result


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
