"""All elements of a tensor at once: the offset table, the mask, loads and stores, and NumPy's strides where they serve.

Law: `load_all(t)[i, j, ...] == t[i, j, ...]` with one array axis a mode of `t`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..errors import TensorError
from ..layout import Layout, axis_layout
from ..layout.algebra.rearrange import coalesced
from ..layout.values.int_tuple import IntTuple, leaves, product_each
from .engine import Array, CoordinateEngine, Engine, Scalars, ViewEngine, check_writable, fit_values
from .guard import both

if TYPE_CHECKING:
    from .tensor import Tensor

Modes = tuple[tuple[int, ...], tuple[int, ...]]


def offset_table(tensor: Tensor) -> Array:
    """The engine offset of every element: ints, or expressions (dtype object) under a kernel trace."""
    table = tensor.layout.offsets()
    if type(tensor.offset) is int and tensor.offset == 0:
        return table
    return np.asarray(tensor.offset + table)


def mask_table(tensor: Tensor) -> Array | None:
    """Where elements exist, for every element; None if they all do."""
    return None if tensor.guard is None else tensor.guard.table()


def mode_sizes(tensor: Tensor) -> tuple[int, ...]:
    """The size of each top-level mode: the shape of the tables."""
    return product_each(tensor.layout.shape)


def load_all(tensor: Tensor) -> Array:
    """Every element; do not write into the result, it may be a view. A coordinate tensor has a further, last axis."""
    if isinstance(tensor.engine, CoordinateEngine):
        return np.stack([np.asarray(table) for table in coordinate_tables(tensor)], axis=-1)
    if (host := getattr(tensor.engine, "host", None)) is not None:
        tensor = type(tensor)(ViewEngine(host(), tensor.dtype), tensor.layout, tensor.offset, tensor.guard)
    view = leaf_view(tensor)
    if view is not None:
        return view.reshape(mode_sizes(tensor), order="F")
    return np.asarray(tensor.engine.load(offset_table(tensor), mask_table(tensor)))


def computed(tensor: Tensor) -> Array:
    """All elements in the type in which they are computed: f32 for f16. Do not write into the result."""
    values = load_all(tensor)
    if values.dtype == object or tensor.dtype.accumulator is tensor.dtype:
        return values
    return values.astype(tensor.dtype.accumulator.numpy)


def store_all(tensor: Tensor, values: Scalars, where: Array | None = None) -> None:
    """Write `values`, one number or one for every element, where the guard and the mask `where` hold."""
    check_writable(tensor.engine)
    view = leaf_view(tensor) if where is None else None
    if view is None:
        mask = both(mask_table(tensor), where)
        sizes = mode_sizes(tensor)
        tensor.engine.store(offset_table(tensor), np.broadcast_to(np.asarray(values), sizes), mask)
        return
    fitting = fit_values(values, tensor.dtype)
    view[...] = fitting if fitting.ndim == 0 else fitting.reshape(view.shape, order="F")


def coordinate_tables(tensor: Tensor) -> list[Array]:
    """The entries of the coordinates of an identity tensor, axis by axis, each for every element."""
    engine = cast(CoordinateEngine, tensor.engine)
    layout = cast(Layout, tensor.layout)
    if not isinstance(engine.shape, tuple):
        return [np.asarray(tensor.offset + layout.offsets())]
    tables = []
    for path in _paths(engine.shape, ()):
        start = tensor.offset
        for axis in path:
            start = start[axis] if isinstance(start, tuple) and axis < len(start) else 0
        tables.append(np.asarray(start + axis_layout(layout, *path).offsets()))
    return tables


def _paths(shape: IntTuple, path: tuple[int, ...]) -> list[tuple[int, ...]]:
    if not isinstance(shape, tuple):
        return [path]
    return [leaf for axis, entry in enumerate(shape) for leaf in _paths(entry, (*path, axis))]


def strided_engine(tensor: Tensor) -> bool:
    """True if NumPy can see the elements: host memory, a plain layout, a known offset, nothing to guard."""
    return (
        hasattr(tensor.engine, "strided")
        and type(tensor.layout) is Layout
        and type(tensor.offset) is int
        and (tensor.guard is None or tensor.guard.table() is None)
    )


def strided_modes(tensor: Tensor) -> Modes | None:
    """Extents and strides with one entry a mode, if each mode is one NumPy axis; else None."""
    if not strided_engine(tensor):
        return None
    extents, steps = [], []
    for mode in cast(Layout, tensor.layout):
        shape, stride = coalesced(mode)
        if len(shape) > 1:
            return None
        extents.append(shape[0] if shape else mode.size)
        steps.append(stride[0] if stride else 0)
    return tuple(extents), tuple(steps)


def leaf_view(tensor: Tensor) -> Array | None:
    """A NumPy view with one axis a leaf of the layout, or None where there is none."""
    if not strided_engine(tensor):
        return None
    return strided_view(tensor.engine, tensor.offset, leaves(tensor.layout.shape), leaves(tensor.stride))


def strided_view(engine: Engine, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """The NumPy view of these modes of an engine that offers one."""
    return cast(Array, engine.strided(offset, shape, stride))  # type: ignore[attr-defined]


def common_refinement(*layouts: Layout) -> tuple[tuple[int, ...], ...] | None:
    """One flat shape, and the strides of each layout over it, that says the pairing of their elements in order.

    >>> common_refinement(Layout((4, 6), (6, 1)), Layout((8, 3), (3, 1)))
    ((4, 2, 3), (6, 1, 2), (3, 12, 1))

    None where the modes of one do not divide those of another.
    """
    rest = [list(zip(*coalesced(layout), strict=True))[::-1] for layout in layouts]
    found: list[tuple[int, ...]] = []
    while all(rest):
        heads = [stack.pop() for stack in rest]
        common = min(extent for extent, _ in heads)
        if any(extent % common for extent, _ in heads):
            return None
        found.append((common, *(step for _, step in heads)))
        for stack, (extent, step) in zip(rest, heads, strict=True):
            if extent > common:
                stack.append((extent // common, step * common))
    return tuple(zip(*found, strict=True)) if found else ((),) * (len(layouts) + 1)


BLOCK = 128
"""The edge of the blocks in which large arrays are transposed, so that both sides stay in the cache."""


def copy_blocks(source: Array, target: Array) -> None:
    """`numpy.copyto(target, source)`, in square blocks where the one runs along another axis than the other."""
    moving = [axis for axis in range(source.ndim) if source.shape[axis] > 1]
    if source.size >= BLOCK**2 and len(moving) > 1:
        fast = min(moving, key=lambda axis: abs(source.strides[axis]))
        slow = min(moving, key=lambda axis: abs(target.strides[axis]))
        others = tuple(axis for axis in range(source.ndim) if axis not in (fast, slow))
        around = [source.shape[axis] for axis in others]
        if fast != slow and min(source.shape[fast], source.shape[slow]) >= 16 and np.prod(around) <= 4096:
            order = (*others, fast, slow)
            source, target = source.transpose(order), target.transpose(order)
            for at in np.ndindex(*around):
                _copy_matrix(source[at], target[at])
            return
    np.copyto(target, source)


def _copy_matrix(source: Array, target: Array) -> None:
    rows, columns = source.shape
    for row in range(0, rows, BLOCK):
        for column in range(0, columns, BLOCK):
            block = (slice(row, row + BLOCK), slice(column, column + BLOCK))
            np.copyto(target[block], source[block])


def check_overlap(call: str, source: Tensor, target: Tensor) -> None:
    """Raise TensorError if writing `target` would change elements of `source` that are still to be read.

    Two tensors over the very same elements in the same order may meet: each element is read before it is written.
    """
    if not (isinstance(source.engine, ViewEngine) and isinstance(target.engine, ViewEngine)):
        return
    if not np.may_share_memory(source.engine.memory, target.engine.memory):
        return
    same = source.layout == target.layout and source.engine.address == target.engine.address
    if same and type(source.offset) is int and source.offset == target.offset and source.dtype is target.dtype:
        return
    if _share_elements(source, target):
        raise TensorError(
            f"{call}: {source} and {target} overlap, so elements would be overwritten before they are read; "
            "copy the source first"
        )


def _share_elements(one: Tensor, other: Tensor) -> bool:
    views = leaf_view(one), leaf_view(other)
    if views[0] is not None and views[1] is not None:
        try:
            return np.shares_memory(*views, max_work=100_000)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            pass
    first, second = _bytes_of(one), _bytes_of(other)
    if not (first.size and second.size) or first.max() < second.min() or second.max() < first.min():
        return False
    start = int(min(first.min(), second.min()))
    touched = np.zeros(int(max(first.max(), second.max())) + 1 - start, bool)
    touched[first - start] = True
    return bool(touched[second - start].any())


def _bytes_of(tensor: Tensor) -> Array:
    """The address of every byte of the elements that exist."""
    engine = cast(ViewEngine, tensor.engine)
    table, mask = offset_table(tensor), mask_table(tensor)
    start = table.ravel() if mask is None else table[mask]
    width = engine.memory.itemsize
    return cast(Array, (start[:, None] * width + engine.address + np.arange(width)).ravel())
