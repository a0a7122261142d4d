"""Repeating, turning and reading by parts: tile, repeat, roll, squeeze, unstack, tril, diff: as the array API has them.

Law: the elements are NumPy's, and they are where the operands are; what a layout says is a view, the rest one copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

import numpy as np

from ..errors import TensorError
from ..layout import from_modes, joined
from ..tensor import (
    Tensor,
    TensorLike,
    as_tensor,
    from_array,
    functions,
    load_all,
    mode_layouts,
    mode_sizes,
    rules,
    with_layout,
)
from .engine import chosen
from .indexing import has_slices, indexed
from .movement import concat, contiguous, expand, is_strided, permute, ravel, reshape, sizes_of_matrices
from .pointwise import elementwise

Axis = SupportsIndex


def _axis(call: str, x: Tensor, axis: Axis) -> int:
    return rules.chosen_axes(call, len(mode_sizes(x)), (axis,))[0]


def _listed(axes: rules.Axes) -> list[int]:
    """One axis or several in the order in which they are named."""
    return [index(a) for a in axes] if isinstance(axes, Sequence) else [] if axes is None else [index(axes)]


def unstack(x: TensorLike, axis: Axis = 0) -> tuple[Tensor, ...]:
    """The slices at each index of an axis, in order, each without that axis: views where a layout says them, else views
    of one copy.

    >>> [part.numpy().tolist() for part in unstack(np.int32([[1, 2], [3, 4]]), 1)]
    [[1, 3], [2, 4]]

    Raises TensorError for what is no array of numbers, and for an axis that is not there.
    """
    tensor = as_tensor(x)
    along = _axis("unstack", tensor, axis)
    whole = tensor if has_slices(tensor, [along]) else contiguous(tensor)
    before = (slice(None),) * along
    return tuple([indexed(whole, (*before, at, Ellipsis)) for at in range(mode_sizes(tensor)[along])])


def expand_dims(x: TensorLike, axis: Axis = 0) -> Tensor:
    """A view with a new axis of size 1 at `axis` of the result.

    >>> expand_dims(np.zeros((2, 3), np.float32), -1).shape
    (2, 3, 1)

    Raises TensorError for what is no array of numbers, and for an axis that is not there.
    """
    tensor = as_tensor(x)
    (at,) = rules.chosen_axes("expand_dims", len(mode_sizes(tensor)) + 1, (axis,))
    return indexed(tensor, (*(slice(None),) * at, None, Ellipsis))


def squeeze(x: TensorLike, axis: rules.Axes) -> Tensor:
    """A view without these axes, of size 1. Raises TensorError for an axis of another size.

    >>> squeeze(np.zeros((2, 1, 3), np.float32), 1).shape
    (2, 3)
    """
    tensor = as_tensor(x)
    sizes = mode_sizes(tensor)
    gone = rules.chosen_axes("squeeze", len(sizes), axis)
    if any(sizes[at] != 1 for at in gone):
        raise TensorError(f"squeeze({tensor}, {axis}): of the sizes {sizes} one of these is not 1")
    return indexed(tensor, tuple([0 if at in gone else slice(None) for at in range(len(sizes))]))


def moveaxis(x: TensorLike, source: rules.Axes, destination: rules.Axes) -> Tensor:
    """A view with axes at other positions, the others in their order.

    >>> moveaxis(np.zeros((2, 3, 4), np.float32), 0, -1).shape
    (3, 4, 2)

    Raises TensorError for an axis that is not there, or is named twice.
    """
    tensor = as_tensor(x)
    rank = len(mode_sizes(tensor))
    pairs = []
    for axes in (source, destination):
        listed = _listed(axes)
        rules.chosen_axes("moveaxis", rank, listed)
        pairs.append([a % rank for a in listed])
    if len(pairs[0]) != len(pairs[1]):
        raise TensorError(f"moveaxis({tensor}, {source}, {destination}): name as many axes as places")
    order = [at for at in range(rank) if at not in pairs[0]]
    for to, at in sorted(zip(pairs[1], pairs[0], strict=True)):
        order.insert(to, at)
    return permute(tensor, order)


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """The operands stretched to one shape, by NumPy's rule: views of stride 0.

    >>> [t.shape for t in broadcast_arrays([[1], [2]], [3, 4, 5])]
    [(2, 3), (2, 3)]

    Raises TensorError for what is no array of numbers, and for shapes that do not meet.
    """
    tensors = [as_tensor(x) for x in arrays]
    shape = rules.broadcast_shape("broadcast_arrays", *map(mode_sizes, tensors))
    return [expand(t, shape) for t in tensors]


def tile(x: TensorLike, repetitions: SupportsIndex | Sequence[int]) -> Tensor:
    """Copies of `x` side by side, as many along each axis, the last ones named by the last numbers.

    >>> tile(np.int32([[1, 2]]), (2, 2)).numpy().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]

    Raises TensorError for what is no array of numbers, and for repetitions below 0.
    """
    tensor, times = as_tensor(x), tuple(_listed(repetitions))
    if any(number < 0 for number in times):
        raise TensorError(f"tile({tensor}, {repetitions}): repeat 0 times or more")
    rank = max(len(times), len(mode_sizes(tensor)))
    times = (1,) * (rank - len(times)) + times
    sizes = (1,) * (rank - len(mode_sizes(tensor))) + mode_sizes(tensor)
    apart = reshape(tensor, [part for size in sizes for part in (1, size)])
    stretched = expand(apart, [part for pair in zip(times, sizes, strict=True) for part in pair])
    return contiguous(reshape(stretched, [n * size for n, size in zip(times, sizes, strict=True)]))


def repeat(x: TensorLike, repeats: SupportsIndex | TensorLike, /, *, axis: Axis | None = None) -> Tensor:
    """Each element so often, next to itself, along an axis; None means of all elements in a row.

    >>> repeat(np.int32([1, 2]), 2).numpy().tolist(), repeat(np.int32([1, 2]), [0, 2]).numpy().tolist()
    ([1, 1, 2, 2], [2, 2])

    Raises TensorError for an axis that is not there, for counts below 0, and unless there is one whole number for all
    elements, or one for each.
    """
    tensor = as_tensor(x) if axis is not None else ravel(x)
    along = _axis("repeat", tensor, 0 if axis is None else axis)
    sizes = mode_sizes(tensor)
    if not isinstance(repeats, int | np.integer):
        counts = as_tensor(repeats)
        if chosen("repeat", None, tensor, counts) != "numpy":
            raise TensorError(f"repeat({tensor}): on a device all elements are repeated equally often; give one number")
        numbers = load_all(counts)
        if counts.dtype.kind not in "iu" or counts.shape not in ((), (1,), (sizes[along],)) or (numbers < 0).any():
            raise TensorError(f"repeat({tensor}, {repeats}): give a whole number from 0, or {sizes[along]} of them")
        return from_array(np.repeat(load_all(tensor), numbers.astype(np.intp), along), tensor.dtype)
    if repeats < 0:
        raise TensorError(f"repeat({tensor}, {repeats}): repeat 0 times or more")
    apart, often = expand_dims(tensor, along + 1), int(repeats)
    stretched = expand(apart, (*sizes[: along + 1], often, *sizes[along + 1 :]))
    return contiguous(reshape(stretched, (*sizes[:along], sizes[along] * often, *sizes[along + 1 :])))


def roll(x: TensorLike, shift: int | Sequence[int], *, axis: rules.Axes = None) -> Tensor:
    """The elements moved on by `shift` along the axes, those at the end to the beginning; None rolls all in a row.

    >>> roll(np.int32([1, 2, 3]), 1).numpy().tolist()
    [3, 1, 2]

    Raises TensorError for an axis that is not there.
    """
    tensor = as_tensor(x)
    if axis is None:
        return reshape(roll(ravel(tensor), shift, axis=0), mode_sizes(tensor))
    axes, shifts = _listed(axis), _listed(shift)
    axes, shifts = axes * (len(shifts) if len(axes) == 1 else 1), shifts * (len(axes) if len(shifts) == 1 else 1)
    if len(shifts) != len(axes):
        raise TensorError(f"roll({tensor}, {shift}, axis={axis}): give a shift for each axis, or one for all")
    for each, by in zip(axes, shifts, strict=True):
        along = _axis("roll", tensor, each)
        size = mode_sizes(tensor)[along]
        before = (slice(None),) * along
        at = size - index(by) % size if size else 0
        parts = [indexed(tensor, (*before, part, Ellipsis)) for part in (slice(at, None), slice(0, at))]
        tensor = concat(parts, along)
    return tensor


def tril(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """The matrices with 0 above the diagonal `k` places to the right.

    >>> tril(np.int32([[1, 2], [3, 4]])).numpy().tolist()
    [[1, 0], [3, 4]]

    Raises TensorError for what is no array of numbers, and for one of fewer than two axes.
    """
    return _triangle("tril", x, k)


def triu(x: TensorLike, /, *, k: int = 0) -> Tensor:
    """The matrices with 0 below the diagonal `k` places to the right.

    >>> triu([[1, 2], [3, 4]], k=1).numpy().tolist()
    [[0, 2], [0, 0]]

    Raises TensorError for what is no array of numbers, and for one of fewer than two axes.
    """
    return _triangle("triu", x, k)


def _triangle(call: str, x: TensorLike, k: int) -> Tensor:
    tensor = as_tensor(x)
    sizes = sizes_of_matrices(call, tensor)
    k = min(max(index(k), -sizes[-2]), sizes[-1])  # farther diagonals are beyond all elements; int32 does not wrap
    rows, columns = (np.arange(size, dtype=np.int32) for size in sizes[-2:])
    kept = rows[:, None] + k >= columns if call == "tril" else rows[:, None] + k <= columns
    nothing = np.zeros((), tensor.dtype.numpy)[()]
    return elementwise(functions.FUNCTIONS["where"], kept, tensor, nothing)


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the last two axes, a view with them along a last axis.

    >>> diagonal(np.int32([[1, 2], [3, 4]])).numpy().tolist()
    [1, 4]

    Raises TensorError for what is no array of numbers, and for one of fewer than two axes.
    """
    tensor = as_tensor(x)
    sizes_of_matrices("diagonal", tensor)
    begin = (Ellipsis, slice(max(0, -offset), None), slice(max(0, offset), None))
    cut = indexed(tensor, begin)
    modes = mode_layouts(cut)
    steps = [mode.stride for mode in modes[-2:]]
    if not is_strided(cut) or not all(isinstance(step, int) for step in steps):
        return diagonal(contiguous(tensor), offset=offset)
    along = from_modes([min(mode_sizes(cut)[-2:])], [sum(step for step in steps if isinstance(step, int))])
    return with_layout(cut, joined([*modes[:-2], along]))


def diff(
    x: TensorLike,
    /,
    *,
    axis: Axis = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """Each element less the one before it along an axis, `n` times; first `prepend` and `append` are joined to the
    ends, of which a number is one element in each row.

    >>> diff(np.int32([1, 4, 9])).numpy().tolist()
    [3, 5]

    Raises TensorError for what is no array of numbers, for an axis that is not there, and for `n` below 0.
    """
    tensor = as_tensor(x)
    along, sizes = _axis("diff", tensor, axis), mode_sizes(tensor)
    if index(n) < 0:
        raise TensorError(f"diff({tensor}, n={n}): take differences 0 times or more")
    if n == 0:
        return tensor
    given = [None if end is None else as_tensor(end) for end in (prepend, append)]
    row = (*sizes[:along], 1, *sizes[along + 1 :])
    first, last = (end if end is None or mode_sizes(end) else expand(end, row) for end in given)
    beside = [part for part in (first, tensor, last) if part is not None]
    tensor = concat(beside, along) if len(beside) > 1 else tensor
    function = functions.FUNCTIONS["ne" if tensor.dtype.kind == "b" else "sub"]
    for _turn in range(n):
        before = (slice(None),) * along
        later, earlier = (indexed(tensor, (*before, part, Ellipsis)) for part in (slice(1, None), slice(0, -1)))
        tensor = elementwise(function, later, earlier)
    return tensor
