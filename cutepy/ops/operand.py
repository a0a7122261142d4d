"""Operands and results: what may stand in an operation, where it is computed, and the tensor that comes back.

Law: an operand that is not on the host decides; the result is there too. NumPy computes on the host, libraries for the
rest register: `cutepy.gpu` that of device memory, and that of the values of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..errors import KernelError, TensorError
from ..layout import ComposedLayout, Layout
from ..layout.algebra.rearrange import from_modes, joined
from ..layout.values.int_tuple import IntTuple, map_leaves, prefix_product
from ..layout.values.layout import flat_modes
from ..tensor.bulk import load_all, mode_sizes
from ..tensor.dtypes import DType, as_dtype
from ..tensor.engine import Array, ArrayEngine
from ..tensor.make import view_of
from ..tensor.tensor import Tensor
from .functions import Function
from .rules import Axes, Number, Shape, Typed, result_type

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


def modes_of(tensor: Tensor) -> list[Layout]:
    """The axes of a tensor as layouts; those of a swizzled one before the swizzle."""
    layout = tensor.layout.inner if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    return list(layout) if isinstance(layout.shape, tuple) else [layout]


def steps_of(tensor: Tensor) -> list[int]:
    """How far apart the neighbours along each axis are at the nearest; very far where there are none."""
    return [min((abs(d) for s, d in flat_modes(m) if s > 1), default=1 << 40) for m in modes_of(tensor)]


def runs_across(tensor: Tensor) -> bool:
    """Whether neighbours along axis 1 are at least as near in memory as those along axis 0."""
    steps = steps_of(tensor)
    return steps[0] >= steps[1]


def over(tensor: Tensor, layout: Layout) -> Tensor:
    """The elements of `tensor`, which has no guard, by other axes made from its own; a swizzle stays."""
    whole = tensor.layout.with_inner(layout) if isinstance(tensor.layout, ComposedLayout) else layout
    return Tensor(tensor.engine, whole, tensor.offset)


def broadcast(tensor: Tensor, shape: Shape) -> Tensor:
    """`tensor` with new axes in front and axes of size 1 stretched, at stride 0."""
    modes = modes_of(tensor)
    new = len(shape) - len(modes)
    stretched = [
        mode if mode.size == size else from_modes([size], [0]) for mode, size in zip(modes, shape[new:], strict=True)
    ]
    return over(tensor, joined([*(from_modes([size], [0]) for size in shape[:new]), *stretched]))


class Library:
    """The operations on operands of one home, by the rules of `rules` and the table of `functions`.

    What a library does not have is refused, in its words.
    """

    refusal = "ops: these operands are not for it"

    def elementwise(self, function: Function, operands: Sequence[Any]) -> Tensor:
        """`function` of each element."""
        raise KernelError(self.refusal)

    def converted(self, x: Any, dtype: DType) -> Tensor:
        """The elements in another type."""
        raise KernelError(self.refusal)

    def folded(self, call: str, x: Any, axes: Axes, keepdims: bool) -> Tensor:
        """The sum, the maximum ... over the axes."""
        raise KernelError(self.refusal)

    def statistic(self, call: str, x: Any, axes: Axes, option: float, keepdims: bool) -> Tensor:
        """The variance, a norm ... over the axes."""
        raise KernelError(self.refusal)

    def scanned(self, call: str, x: Any, axis: int) -> Tensor:
        """The sums or the products so far along an axis."""
        raise KernelError(self.refusal)

    def softmax(self, x: Any, axis: int) -> Tensor:
        """Exponentials divided by their sum along an axis."""
        raise KernelError(self.refusal)

    def matmul(self, a: Any, b: Any) -> Tensor:
        """The matrix product."""
        raise KernelError(self.refusal)

    def summed_products(self, a: Tensor, b: Tensor, axes: tuple[int, ...], dtype: DType) -> Tensor:
        """The sum over axes of a product of tensors of numbers, which is never stored."""
        raise KernelError(self.refusal)

    def placed(self, values: Array, like: Tensor) -> Tensor:
        """These elements of the host, brought where `like` is."""
        raise KernelError(self.refusal)


LIBRARIES: dict[type, Library] = {}
"""The library for tensors over an engine of this type, and for operands of this type."""


def library_of(*operands: object) -> Library | None:
    """The library that computes with these operands; None for NumPy."""
    for operand in operands:
        if isinstance(operand, np.ndarray) and operand.dtype == object and operand.size:
            operand = operand.flat[0]
        home = operand.engine if isinstance(operand, Tensor) else operand
        for kind in type(home).__mro__:
            if kind in LIBRARIES:
                return LIBRARIES[kind]
    return None
