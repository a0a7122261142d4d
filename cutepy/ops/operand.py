"""Operands and results: what may stand in an operation, where it is computed, how it is read, what comes back.

Law: an operand that is not on the host decides; the result is there too. NumPy computes on the host, libraries for the
rest register: `cutepy.gpu` that of device memory, and that of the values of a kernel.
Law: `np.asarray(operand[part])` is the part of the elements that NumPy slicing of the whole would give, also where
NumPy's strides cannot say the operand; nothing is read before, so that costs no more memory than a block of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..errors import KernelError, TensorError
from ..layout import ComposedLayout, Layout
from ..layout.algebra.rearrange import from_modes, joined
from ..layout.values.composed import plain_part
from ..layout.values.int_tuple import IntTuple, map_leaves, prefix_product
from ..layout.values.layout import flat_modes
from ..tensor import DType, Tensor, as_dtype
from ..tensor.bulk import load_all, mode_sizes, strided_modes, strided_view
from ..tensor.engine import Array, ArrayEngine, CoordinateEngine, offset_of
from ..tensor.make import view_of
from .rules import Number, Shape, Typed, result_type

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
    return list(plain_part(tensor.layout))


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

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
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


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """A window on a tensor: axis i runs over `shape[i]` coordinates of mode `modes[i]` from `starts[i]` on.

    A mode of None is an axis along which nothing changes; modes that no axis names stay at 0.
    """

    tensor: Tensor
    modes: tuple[int | None, ...]
    starts: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type, as NumPy's."""
        return np.dtype(self.tensor.dtype.numpy)

    def __getitem__(self, parts: tuple[slice, ...]) -> Gathered:
        starts, shape = list(self.starts), list(self.shape)
        for axis, part in enumerate(parts):
            begin, end, _step = part.indices(shape[axis])
            starts[axis] += begin
            shape[axis] = max(0, end - begin)
        return Gathered(self.tensor, self.modes, tuple(starts), tuple(shape))

    def transpose(self, order: Sequence[int]) -> Gathered:
        """The axes in another order."""
        modes = tuple(self.modes[axis] for axis in order)
        starts = tuple(self.starts[axis] for axis in order)
        return Gathered(self.tensor, modes, starts, tuple(self.shape[axis] for axis in order))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        place: list[int | Array] = [0] * len(mode_sizes(self.tensor))
        for axis, mode in enumerate(self.modes):
            if mode is not None:
                along = np.arange(self.starts[axis], self.starts[axis] + self.shape[axis])
                place[mode] = along.reshape((-1,) + (1,) * (self.ndim - 1 - axis))
        values = np.broadcast_to(_elements(self.tensor, tuple(place)), self.shape)
        return values if dtype is None else values.astype(dtype)


def _elements(tensor: Tensor, place: tuple[int | Array, ...]) -> Array:
    """The elements at a coordinate of index arrays; 0 outside the guard."""
    crd = place if isinstance(tensor.shape, tuple) else place[0]
    offsets = np.asarray(offset_of(tensor.layout, crd)) + tensor.offset
    mask = None if tensor.guard is None else np.broadcast_to(tensor.guard.inside(crd), offsets.shape)
    return np.asarray(tensor.engine.load(offsets, mask))


BLOCK = 1 << 20
"""How many elements are worked on at once where NumPy cannot work in place."""

Blocks: TypeAlias = "Array | Gathered"
"""An operand that is cut into blocks: a NumPy view, or a window that is read when it is small."""


def blocks_of(tensor: Tensor) -> Blocks:
    """A view of the elements with one axis a mode, or a window that reads them block by block."""
    modes = strided_modes(tensor)
    if modes is not None:
        return strided_view(tensor.engine, tensor.offset, *modes)
    sizes = mode_sizes(tensor)
    if isinstance(tensor.engine, CoordinateEngine):
        return tensor.numpy()
    return Gathered(tensor, tuple(range(len(sizes))), (0,) * len(sizes), sizes)


def arranged(operand: Blocks, modes: Sequence[int | None], shape: Sequence[int]) -> Blocks:
    """The operand with an axis of `shape[i]` for its mode `modes[i]`; None repeats it, modes left out have size 1.

    >>> arranged(np.arange(3), (None, 0), (2, 3)).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    named = [mode for mode in modes if mode is not None]
    if isinstance(operand, Gathered):
        starts = tuple(0 if mode is None else operand.starts[mode] for mode in modes)
        kept = tuple(None if mode is None else operand.modes[mode] for mode in modes)
        return Gathered(operand.tensor, kept, starts, tuple(shape))
    left_out = [axis for axis in range(operand.ndim) if axis not in named]
    turned = operand.transpose(named + left_out)
    for _axis in left_out:
        turned = turned[..., 0]
    widened = turned[tuple(None if mode is None else slice(None) for mode in modes)]
    return np.broadcast_to(widened, tuple(shape))


def pieces(shape: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> Iterator[tuple[slice, ...]]:
    """A box cut in halves across its longest axis until every piece fits, first to last.

    >>> [[(part.start, part.stop) for part in piece] for piece in pieces((2, 3), lambda sizes: prod(sizes) <= 2)]
    [[(0, 2), (0, 1)], [(0, 1), (1, 3)], [(1, 2), (1, 3)]]
    """
    boxes = [tuple(slice(0, size) for size in shape)]
    while boxes:
        box = boxes.pop()
        sizes = [part.stop - part.start for part in box]
        if fits(sizes):
            yield box
            continue
        axis = int(np.argmax(sizes))
        begin, end = box[axis].start, box[axis].stop
        for half in (slice((begin + end) // 2, end), slice(begin, (begin + end) // 2)):
            boxes.append((*box[:axis], half, *box[axis + 1 :]))
