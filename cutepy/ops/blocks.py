"""How NumPy reads an operand: as a view where strides say it, else block by block.

Law: `np.asarray(operand[part])` is the part of the elements that NumPy slicing of the whole would give, also where
NumPy's strides cannot say the operand; nothing is read before, so that costs no more memory than a block of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..tensor import Array, CoordinateEngine, Tensor, mode_sizes, offset_of, strided_modes, strided_view


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
        # An index array for each mode, along the axis that names it: NumPy broadcasts them to the window.
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
"""Elements that are worked on at once where NumPy cannot work in place: some megabytes."""

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
    # A window takes other axes as they are; a view is transposed, and an axis that repeats is one of size 1, stretched.
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
        # The later half goes onto the stack first, so that pieces come in order.
        axis = int(np.argmax(sizes))
        begin, end = box[axis].start, box[axis].stop
        for half in (slice((begin + end) // 2, end), slice(begin, (begin + end) // 2)):
            boxes.append((*box[:axis], half, *box[axis + 1 :]))
