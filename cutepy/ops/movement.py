"""Movement and creation: reshape, permute, expand, crop, flip, pad, concat, stack, take; zeros, ones, full, arange ...

Law: of a movement the elements are those of the operands in another order, and the result is a view of them; `pad`,
`concat`, `stack` and `take`, and what no layout says, are copies, made where the operands are. Axes are the top-level
modes; `reshape` counts the last axis fastest, and new memory has it fastest, as NumPy does.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Literal

import numpy as np

from ..errors import CoordinateError, LayoutError, TensorError
from ..gpu import operations
from ..layout import Layout, composition, flat_modes, from_modes, joined, map_leaves, select
from ..tensor import (
    Tensor,
    TensorLike,
    as_tensor,
    broadcast_to,
    fit_values,
    from_array,
    i32,
    load_all,
    mode_layouts,
    mode_sizes,
    padded,
    rules,
    u32,
    with_layout,
)
from .engine import Engine, check_out, chosen, delivered


def contiguous(x: TensorLike, order: Literal["C", "F"] = "C") -> Tensor:
    """A copy where `x` lives, its last axis fastest in memory; `order="F"` its first.

    >>> contiguous(np.float32([[1, 2], [3, 4]]).T, "F").layout
    Layout((2, 2), (1, 2))

    Raises TensorError for what is no array of numbers.
    """
    tensor = as_tensor(x)
    if chosen("contiguous", None, tensor) == "numpy":
        return from_array(np.array(load_all(tensor), order=order), tensor.dtype)
    return operations.copied(tensor, order)


def permute(x: TensorLike, axes: Sequence[int]) -> Tensor:
    """The axes in another order: axis i of the result is axis `axes[i]`.

    >>> permute(np.zeros((2, 3, 4), np.float32), (2, 0, 1)).shape
    (4, 2, 3)

    Raises TensorError unless each axis is named once.
    """
    tensor = as_tensor(x)
    rank = tensor.rank
    order = tuple([axis % rank if -rank <= axis < rank else axis for axis in axes])
    if sorted(order) != list(range(rank)):
        raise TensorError(f"permute({tensor}, {tuple(axes)}): name each of the axes 0 to {rank - 1} once")
    return tensor.lift_layout(select, *order)


def matrix_transpose(x: TensorLike) -> Tensor:
    """A view with the last two axes exchanged. Raises TensorError for a tensor of fewer.

    >>> matrix_transpose([[1, 2, 3], [4, 5, 6]]).shape
    (3, 2)
    """
    tensor = as_tensor(x)
    rank = len(sizes_of_matrices("matrix_transpose", tensor))
    return permute(tensor, (*range(rank - 2), rank - 1, rank - 2))


def sizes_of_matrices(call: str, tensor: Tensor) -> rules.Shape:
    """The sizes of a tensor whose last two axes are those of matrices. Raises TensorError for one of fewer axes."""
    sizes = mode_sizes(tensor)
    if len(sizes) < 2:
        raise TensorError(f"{call}({tensor}): it has {len(sizes)} axes; a matrix has two")
    return sizes


def reshape(x: TensorLike, shape: int | Sequence[int], *, order: Literal["C", "F"] = "C") -> Tensor:
    """The elements in a new shape, the last axis fastest; `order="F"` the first. One size may be -1.

    >>> A = reshape(np.arange(6, dtype=np.float32), (2, 3))
    >>> A.layout, A.numpy().tolist()
    (Layout((2, 3), (3, 1)), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])

    A view wherever a layout says it, which may nest: the columns of a row-major matrix laid end to end are one mode of
    two. Raises TensorError where the sizes differ.
    """
    tensor = as_tensor(x)
    wanted = _filled(tensor, (shape,) if isinstance(shape, int) else tuple(shape))
    if not tensor.size:
        return Tensor(tensor.engine, joined([from_modes([size], [0]) for size in wanted]), tensor.offset)
    # The elements in order as one mode, composed with the new shape: a view wherever that is a layout.
    if is_strided(tensor):
        ascending = slice(None, None, 1 if order == "F" else -1)
        try:
            whole = joined(mode_layouts(tensor)[ascending])
            layout = composition(whole, Layout(wanted[ascending])) if wanted else joined([])
            return with_layout(tensor, list(layout)[ascending])
        except LayoutError:
            pass
    return reshape(contiguous(tensor, order), wanted, order=order)


def _filled(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with a number in the place of -1. Raises TensorError where it has not the size of the tensor."""
    known = prod(size for size in shape if size != -1)
    if shape.count(-1) == 1 and known and tensor.size % known == 0:
        return tuple(tensor.size // known if size == -1 else size for size in shape)
    if known != tensor.size or -1 in shape:
        raise TensorError(f"reshape({tensor}, {shape}): {known} is not its size {tensor.size}")
    return shape


def ravel(x: TensorLike) -> Tensor:
    """The elements along one axis, the last axis of `x` fastest: a view wherever a layout says it.

    >>> ravel([[1, 2], [3, 4]]).numpy().tolist()
    [1, 2, 3, 4]

    Raises TensorError for what is no array of numbers.
    """
    return reshape(x, -1) if as_tensor(x).size else reshape(x, 0)


def expand(x: TensorLike, shape: Sequence[int]) -> Tensor:
    """Broadcast to `shape` by NumPy's rule: new axes in front and axes of size 1 get stride 0, nothing is copied.

    >>> expand(np.arange(3, dtype=np.float32), (2, 3)).layout
    Layout((2, 3), (0, 1))

    Raises TensorError where an axis has another size than 1. The result of repeating a place should not be written.
    """
    tensor, wanted = as_tensor(x), tuple(shape)
    sizes = mode_sizes(tensor)
    if len(wanted) < len(sizes) or any(
        size not in (1, to) for size, to in zip(sizes, wanted[len(wanted) - len(sizes) :], strict=True)
    ):
        raise TensorError(f"expand({tensor}, {wanted}): only axes of size 1 stretch, and new axes stand in front")
    return broadcast_to(tensor if tensor.guard is None else contiguous(tensor), wanted)


def crop(x: TensorLike, ranges: Sequence[tuple[int, int]]) -> Tensor:
    """The elements from begin up to end along each axis.

    >>> crop(np.arange(12, dtype=np.float32).reshape(3, 4), [(1, 3), (0, 2)]).numpy().tolist()
    [[4.0, 5.0], [8.0, 9.0]]

    Raises TensorError for a range outside the axis.
    """
    tensor = as_tensor(x)
    sizes = mode_sizes(tensor)
    if len(ranges) != len(sizes) or any(not 0 <= a <= b <= size for (a, b), size in zip(ranges, sizes, strict=True)):
        raise TensorError(f"crop({tensor}, {list(ranges)}): give 0 <= begin <= end <= size for the sizes {sizes}")
    steps = [mode.stride for mode in mode_layouts(tensor) if isinstance(mode.stride, int)]
    if not is_strided(tensor) or len(steps) < len(sizes):  # the part of a nested mode may be no layout
        return crop(contiguous(tensor), ranges)
    # The origin moves to the first element of the ranges; of an empty range nothing is reached.
    moved = sum(a * step for step, (a, b) in zip(steps, ranges, strict=True) if b > a)
    cut = [from_modes([b - a], [step]) for step, (a, b) in zip(steps, ranges, strict=True)]
    return Tensor(tensor.engine, joined(cut), tensor.offset + moved)


def flip(x: TensorLike, axis: rules.Axes = None) -> Tensor:
    """The elements in reverse along the axes, all by default: strides change sign.

    >>> flip(np.arange(3, dtype=np.float32)).layout
    Layout((3,), (-1,))

    Raises TensorError for what is no array of numbers, and for an axis that is not there.
    """
    tensor = as_tensor(x)
    modes = mode_layouts(tensor)
    turned = rules.chosen_axes("flip", len(modes), axis)
    if not tensor.size:
        return tensor
    if not is_strided(tensor):
        return flip(contiguous(tensor), axis)
    # The origin moves to the last element along each axis, and strides change sign.
    moved = 0
    for one in turned:
        mode = modes[one]
        moved += sum((s - 1) * d for s, d in flat_modes(mode) if s)
        modes[one] = Layout(mode.shape, map_leaves(operator.neg, mode.stride))
    return Tensor(tensor.engine, joined(modes), tensor.offset + moved)


def pad(
    x: TensorLike,
    widths: Sequence[tuple[int, int]],
    value: float | Literal["edge", "reflect", "wrap"] = 0,
    *,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy with so many elements before and after those of each axis: `value`, a number, or as `padded` reads around
    a tensor, "edge", "reflect" or "wrap".

    >>> pad([1.0, 2.0], [(1, 2)], 9).numpy().tolist(), pad([1, 2, 3], [(2, 1)], "reflect").numpy().tolist()
    ([9.0, 1.0, 2.0, 9.0, 9.0], [3, 2, 1, 2, 3, 2])

    Raises TensorError for a negative width, where `crop` takes away, and where there is nothing to repeat.
    """
    tensor = as_tensor(x)
    sizes = mode_sizes(tensor)
    if len(widths) != len(sizes) or any(a < 0 or b < 0 for a, b in widths):
        raise TensorError(f"pad({tensor}, {list(widths)}): give (before, after) from 0 for each of {len(sizes)} axes")
    engine = chosen("pad", engine, tensor, out)
    shape = tuple([a + size + b for (a, b), size in zip(widths, sizes, strict=True)])
    if isinstance(value, str):
        # Along each axis the elements are taken by their places, which `padded` tells.
        places = [
            padded(np.arange(n, dtype=np.int32), *ends, value=value) for n, ends in zip(sizes, widths, strict=True)
        ]
        for axis, (ends, numbers) in enumerate(zip(widths, places, strict=True)):
            if any(ends):
                tensor = take(tensor, numbers.numpy(), axis, engine=engine)
        return delivered("pad", tensor if any(map(any, widths)) else contiguous(tensor), out, engine)
    filler = fit_values(value, tensor.dtype)
    inside = [(a, a + size) for (a, _b), size in zip(widths, sizes, strict=True)]
    if engine != "numpy":
        place = operations.place_of("pad", engine, [t for t in (tensor, out) if t is not None])
        found = operations.filled(place, place.new(shape, tensor.dtype), filler.item())
        operations.copy(tensor, crop(found, inside), engine=engine)
        return delivered("pad", found, out, engine)
    values = np.full(shape, filler, tensor.dtype.numpy)
    values[tuple(slice(a, b) for a, b in inside)] = load_all(tensor)
    return delivered("pad", from_array(values, tensor.dtype), out, engine)


def concat(
    tensors: Sequence[TensorLike], axis: int | None = 0, *, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """The elements of tensors one after the other along an axis, or without one in a vector, in the type in which they
    meet.

    >>> concat([[1, 2], [3.5]]).numpy().tolist()
    [1.0, 2.0, 3.5]

    Raises TensorError for no tensors, for an axis that is not there, and for sizes that differ along another axis.
    """
    given = [as_tensor(x) for x in tensors] if axis is not None else [ravel(x) for x in tensors]
    if not given:
        raise TensorError("concat([]): there is nothing to join, and no type; give a tensor")
    sizes, dtype = [mode_sizes(x) for x in given], rules.result_type("concat", *[x.dtype for x in given])
    (along,) = rules.chosen_axes("concat", len(sizes[0]), (axis or 0,))
    if len({(len(own), *own[:along], *own[along + 1 :]) for own in sizes}) > 1:
        raise TensorError(f"concat(axis={axis}): the shapes {', '.join(map(str, sizes))} differ along another axis")
    engine = chosen("concat", engine, *given, out)
    if engine == "numpy":
        with np.errstate(all="ignore"):
            found = np.concatenate([load_all(x) for x in given], along, dtype=dtype.numpy, casting="unsafe")
        return delivered("concat", from_array(found, dtype), out, engine)
    # Each is copied to where it stands in the result.
    ends = [0, *accumulate(own[along] for own in sizes)]
    shape = (*sizes[0][:along], ends[-1], *sizes[0][along + 1 :])
    place = operations.place_of("concat", engine, [t for t in (*given, out) if t is not None])
    whole = out
    if whole is None:
        whole = place.new(shape, dtype)
    else:
        check_out("concat", shape, dtype, whole)
    for x, *ends_of in zip(given, ends, ends[1:], strict=False):
        ranges = [(0, size) for size in shape]
        ranges[along] = ends_of[0], ends_of[1]
        operations.copy(x, crop(whole, ranges), engine=engine)
    return whole


def stack(
    tensors: Sequence[TensorLike], axis: int = 0, *, engine: Engine | None = None, out: Tensor | None = None
) -> Tensor:
    """Tensors of one shape side by side along a new axis, which is axis `axis` of the result.

    >>> stack([[1, 2], [3, 4]], 1).numpy().tolist()
    [[1, 3], [2, 4]]

    Raises TensorError as `concat`, and where the shapes differ.
    """
    given = [as_tensor(x) for x in tensors]
    shapes = {mode_sizes(x) for x in given}
    if len(shapes) != 1:
        raise TensorError(f"stack: the shapes {', '.join(map(str, shapes)) or 'of no tensors'} are not one")
    shape = shapes.pop()
    (along,) = rules.chosen_axes("stack", len(shape) + 1, (axis,))
    wide = [reshape(x, (*shape[:along], 1, *shape[along:])) for x in given]
    return concat(wide, along, engine=engine, out=out)


def take(
    x: TensorLike,
    indices: TensorLike,
    axis: int | None = None,
    *,
    engine: Engine | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The elements at `indices` along an axis, or without one in the order of NumPy: the axes of `indices` take its
    place. Negative indices count from the end.

    >>> take([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [2, 0, -1], 1).numpy().tolist()
    [[3.0, 1.0, 3.0], [6.0, 4.0, 6.0]]

    Raises TensorError for an axis that is not there and for indices that are no integers, CoordinateError, which is an
    IndexError, for one outside the axis. Indices of a device are not looked at before: there the element of one outside
    the axis is 0.
    """
    tensor, numbers = as_tensor(x), as_tensor(indices)
    if axis is None:
        tensor, axis = reshape(tensor, (-1,) if tensor.size else (0,)), 0
    sizes = mode_sizes(tensor)
    (along,) = rules.chosen_axes("take", len(sizes), (axis,))
    engine = chosen("take", engine, tensor, numbers, out)
    numbers = checked_indices("take", tensor, numbers, along, engine)
    if engine == "numpy":
        values = load_all(tensor).take(load_all(numbers), along)
        return delivered("take", from_array(values, tensor.dtype), out, engine)
    found = operations.taken(tensor, reshape(numbers, (numbers.size,)), along, engine)
    shape = (*sizes[:along], *mode_sizes(numbers), *sizes[along + 1 :])
    return delivered("take", reshape(found, shape), out, engine)


def checked_indices(call: str, tensor: Tensor, indices: Tensor, axis: int, engine: Engine) -> Tensor:
    """Indices along an axis for an engine: those on the host are looked at, and kernels take 32 bits.

    Raises TensorError for what are no integers, CoordinateError for an index that is outside the axis; those from -1
    down count from its end.
    """
    if indices.dtype.kind not in "iu":
        raise TensorError(f"{call}({tensor}, {indices}): the indices are {indices.dtype}; give whole numbers")
    if chosen(call, None, indices) == "numpy":
        values, count = load_all(indices), mode_sizes(tensor)[axis]
        outside = values[(values < -count) | (values >= count)]
        if outside.size:
            raise CoordinateError(f"{call}({tensor}, axis={axis}): index {outside[0]} is outside its {count} elements")
        if engine != "numpy" and indices.dtype not in (i32, u32):
            return as_tensor(values.astype(np.int32))
    return indices


def is_strided(tensor: Tensor) -> bool:
    """Whether strides say where the elements are: no swizzle, and no edge beyond which there are none."""
    return isinstance(tensor.layout, Layout) and tensor.guard is None
