"""NumPy's indices: slices, integers, `...` and None, for `t[...]`; assignment to them.

Law: `indexed(t, key)` is what `t.numpy()[key]` has, as a view wherever a layout says it, else as a copy; what is
assigned to is a view, or refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ..errors import TensorError
from ..gpu import operations
from ..layout import Layout, coalesce, from_modes, joined
from ..tensor import Tensor, TensorIndexError, TensorLike, as_tensor, fit_values, load_all, mode_layouts
from ..tensor import mode_sizes as sizes_of
from .engine import chosen
from .movement import contiguous, expand, is_strided

Entry: TypeAlias = "int | slice | EllipsisType | None"


def indexed(x: Tensor, key: Entry | Sequence[Entry], *, writes: bool = False) -> Tensor:
    """`x[key]` as NumPy reads it: a slice or an integer for an axis, `...` for those that are not named, None for a new
    one of size 1.

    >>> indexed(as_tensor(np.arange(12).reshape(3, 4)), (slice(1, None), slice(None, None, -2))).numpy().tolist()
    [[7, 5], [11, 9]]

    Raises TensorIndexError for an integer beyond its axis, for too many entries, and for arrays, which `take` takes;
    where it `writes`, TensorError for what is no view.
    """
    sizes, entries = sizes_of(x), _entries(x, key)
    modes = mode_layouts(x) if is_strided(x) else []
    named = [entry for entry in entries if entry is not None]
    cut = [axis for axis, entry in enumerate(named) if entry != slice(None)]
    flat = [coalesce(mode) for mode in modes]
    if not cut and None not in entries:
        return x
    if not has_slices(x, cut):
        if writes:
            raise TensorError(f"{x}[...] = ...: no layout says this part of a mode; write by coordinates, or copy")
        return indexed(contiguous(x), key)
    # The origin moves to the first element that is named; a slice is a run of another stride, an integer none.
    kept: list[Layout] = []
    offset, axis = x.offset, 0
    for entry in entries:
        if entry is None:
            kept.append(from_modes([1], [0]))
            continue
        if entry == slice(None):
            kept.append(modes[axis])
        else:
            step = flat[axis].stride
            assert isinstance(step, int)
            if isinstance(entry, slice):
                chosen_ones = range(*entry.indices(sizes[axis]))
                kept.append(from_modes([len(chosen_ones)], [step * chosen_ones.step if len(chosen_ones) > 1 else 0]))
                offset = offset + (step * chosen_ones[0] if chosen_ones else 0)
            else:
                offset = offset + step * _place(x, entry, sizes[axis], axis)
        axis += 1
    return Tensor(x.engine, joined(kept), offset)


def has_slices(x: Tensor, axes: Sequence[int]) -> bool:
    """True if a layout says each slice of x along these axes, so that it is a view; else it is cut from a copy.

    >>> from cutepy.tensor import make_tensor
    >>> x = make_tensor(np.zeros(12, np.float32), Layout(((2, 3), 2), ((1, 4), 2)))
    >>> has_slices(x, [1]), has_slices(x, [0])
    (True, False)
    """
    modes = mode_layouts(x) if is_strided(x) else []
    return all(isinstance(coalesce(modes[axis]).stride, int) for axis in axes) if modes else not sizes_of(x)


def _place(x: Tensor, entry: Any, size: int, axis: int) -> int:
    """An integer entry from 0. Raises TensorIndexError where the axis has no such element."""
    at = index(entry)
    if not -size <= at < size:
        raise TensorIndexError(f"{x}[...]: {at} of axis {axis}, which has {size} elements")
    return at % size


def _entries(x: Tensor, key: Any) -> list[Any]:
    """An entry for each axis, and None for each new one. Raises TensorIndexError for others, and for too many."""
    entries = list(key) if isinstance(key, tuple) else [key]
    for entry in entries:
        whole = isinstance(entry, int | np.integer) and not isinstance(entry, bool)
        if not (entry is None or entry is Ellipsis or isinstance(entry, slice) or whole):
            raise TensorIndexError(
                f"{x}[{entry!r}, ...]: beside a slice, `...` or None stand integers; arrays of indices are for "
                "ops.take, masks for ops.where, and _ is for CuTe's slices"
            )
    rank = len(sizes_of(x))
    dots = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    named = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if len(dots) > 1 or named > rank:
        raise TensorIndexError(f"{x}[...]: {named} entries and {len(dots)} `...` for {rank} axes")
    at, end = (dots[0], dots[0] + 1) if dots else (len(entries), len(entries))
    entries[at:end] = [slice(None)] * (rank - named)
    return entries


def assigned(x: Tensor, key: Entry | Sequence[Entry], value: TensorLike) -> None:
    """`x[key] = value`, broadcast by NumPy's rule; where the tensor is.

    >>> x = as_tensor(np.arange(4))
    >>> assigned(x, slice(1, 3), [8, 9])
    >>> x.numpy().tolist()
    [0, 8, 9, 3]

    `value` has the shape that `x[key]` has, or one that is broadcast to it; further axes of size 1 may stand in front.
    Python's numbers, also those of a list, take the type of `x`. Raises TensorIndexError for an index beyond the axis,
    TensorError for what is no view, for values that the type does not hold, and a value of another shape.
    """
    view = indexed(x, key, writes=True)
    sizes = sizes_of(view)
    if not x.engine.writable:
        raise TensorError(f"{x}[...] = ...: it is read-only; copy it")
    on_device = chosen("assignment", None, view, value) == "wgpu"
    place = operations.place_of("assignment", "wgpu" if on_device else "interpreter", [view])
    if on_device and isinstance(value, int | float):
        operations.filled(place, view, fit_values(value, view.dtype).item())
        return
    weak = isinstance(value, int | float | complex | list | tuple)
    given = as_tensor(fit_values(value, view.dtype) if weak else value)
    if not np.can_cast(given.dtype.numpy, view.dtype.numpy, "same_kind"):
        raise TensorError(f"{x}[...] = ...: {view.dtype} holds no {given.dtype}; convert with astype")
    more = max(0, len(sizes_of(given)) - len(sizes))
    if any(size != 1 for size in sizes_of(given)[:more]) or any(
        size not in (1, wanted) for size, wanted in zip(sizes_of(given)[::-1], sizes[::-1], strict=False)
    ):
        raise TensorError(
            f"{x}[...] = ...: a value of the sizes {sizes_of(given)} for {sizes}; give one that is broadcast to these"
        )
    stretched = expand(indexed(place.bring(given), (0,) * more), sizes)
    if on_device:
        if view.size:
            operations.copy(stretched, view)
    elif view.numpy_is_view:
        view.numpy()[...] = load_all(stretched)
    elif view.size:
        view[tuple(np.indices(sizes)) if len(sizes) > 1 else np.arange(view.size)] = np.array(load_all(stretched))
