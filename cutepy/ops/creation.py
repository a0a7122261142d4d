"""Creation: asarray, zeros, ones, full, empty, arange, linspace, eye, randn, meshgrid, and what is like another.

Law: new memory has the last axis fastest. A tensor is on the host, or on the `device` that is named: made on the host
and sent there, but for one value everywhere, which a kernel writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import TensorError, shown
from ..gpu import Device, operations
from ..gpu import array as to_device
from ..tensor import (
    Tensor,
    TensorLike,
    as_dtype,
    as_tensor,
    f32,
    fit_values,
    from_array,
    gpu_dtype,
    make_tensor,
    mode_sizes,
)
from .manipulation import broadcast_arrays
from .movement import contiguous, reshape
from .pointwise import astype

Where: TypeAlias = Device | Literal["cpu"] | None
"""A device of `gpu`, or the host: "cpu", or None."""


def _sent(tensor: Tensor, device: Where) -> Tensor:
    return (
        tensor if device in (None, "cpu") else to_device(tensor, device=device if isinstance(device, Device) else None)
    )


def asarray(obj: TensorLike, dtype: object = None, *, device: Where = None, copy: bool | None = None) -> Tensor:
    """`obj` as a tensor of this type, on a device of `gpu` or on "cpu": itself, or a view of an array's memory, where
    it is so already; with `copy=True` always a copy.

    >>> asarray([1, 2], "f32").numpy().tolist()
    [1.0, 2.0]

    It has the shape of `obj`. Raises TensorError for lists that are no array, and with `copy=False` where there has to
    be a copy.
    """
    tensor = as_tensor(obj)
    there = tensor.device
    target: Device | Literal["cpu"] = there if device is None else device
    kind = tensor.dtype if dtype is None else as_dtype(dtype)
    given = isinstance(obj, Tensor | np.ndarray)
    if copy is False and (not given or kind is not tensor.dtype or target != there):
        raise TensorError(f"asarray({tensor}, {kind}, device={target}, copy=False): it has to be copied")
    found = tensor if kind is tensor.dtype else astype(tensor, kind)
    if target != there:
        return make_tensor(found.numpy(copy=True)) if isinstance(target, str) else to_device(found, device=target)
    return contiguous(found) if copy and found is tensor else found


Shape = int | Sequence[int]


def _sizes(call: str, shape: Shape) -> tuple[int, ...]:
    """A shape as a tuple. Raises TensorError for a size that is no whole number from 0."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(not isinstance(size, (int, np.integer)) or size < 0 for size in sizes):
        raise TensorError(f"{call}({shape}): sizes are whole numbers from 0")
    return tuple(map(int, sizes))


def full(shape: Shape, value: float, dtype: object = None, *, device: Where = None) -> Tensor:
    """A tensor that holds `value` everywhere, in the type that the number has alone unless one is named.

    >>> print(full((2, 3), 7).dtype, full((2, 3), 7, "f32").layout)
    i32 (2,3):(3,1)

    Raises TensorError for a value that the type cannot hold.
    """
    kind = as_tensor(value).dtype if dtype is None else as_dtype(dtype)
    sizes, held = _sizes("full", shape), fit_values(value, kind)
    if isinstance(device, Device):
        place = operations.ExecutionSite(device)
        return operations.filled(place, place.new(sizes, gpu_dtype(kind)), held.item())
    return from_array(np.full(sizes, held, kind.numpy), kind)


def zeros(shape: Shape, dtype: object = f32, *, device: Where = None) -> Tensor:
    """A tensor of zeros.

    >>> zeros(3, "i32").numpy().tolist()
    [0, 0, 0]

    Raises TensorError for a shape that is none of whole numbers from 0 on, and for what names no element type.
    """
    kind = as_dtype(dtype)
    return full(shape, np.zeros((), kind.numpy).item(), kind, device=device)


def ones(shape: Shape, dtype: object = f32, *, device: Where = None) -> Tensor:
    """A tensor of ones.

    >>> ones((2, 2)).numpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]

    Raises TensorError for a shape that is none of whole numbers from 0 on, and for what names no element type.
    """
    kind = as_dtype(dtype)
    return full(shape, np.ones((), kind.numpy).item(), kind, device=device)


def empty(shape: Shape, dtype: object = f32, *, device: Where = None) -> Tensor:
    """A tensor that holds anything until it is written; of the host zeros.

    >>> t = empty((2, 3))
    >>> t.shape, str(t.dtype)
    ((2, 3), 'f32')

    The last mode is the fastest, as NumPy's C order. Raises TensorError for a shape that is none of whole
    numbers from 0 on.
    """
    sizes = _sizes("empty", shape)
    return (
        operations.ExecutionSite(device).new(sizes, gpu_dtype(dtype))
        if isinstance(device, Device)
        else zeros(sizes, dtype)
    )


def _like(x: TensorLike, dtype: object, device: Where) -> tuple[tuple[int, ...], Any, Any]:
    """The shape, the type and the place of a tensor like `x`."""
    tensor = as_tensor(x)
    return mode_sizes(tensor), dtype or tensor.dtype, tensor.device if device is None else device


def zeros_like(x: TensorLike, /, *, dtype: object = None, device: Where = None) -> Tensor:
    """Zeros in the shape and the type of `x`, where it is.

    >>> zeros_like([1.5, 2.5]).numpy().tolist()
    [0.0, 0.0]

    Raises TensorError for what is no array of numbers.
    """
    sizes, kind, there = _like(x, dtype, device)
    return zeros(sizes, kind, device=there)


def ones_like(x: TensorLike, /, *, dtype: object = None, device: Where = None) -> Tensor:
    """Ones in the shape and the type of `x`, where it is.

    >>> ones_like([1, 2, 3]).numpy().tolist()
    [1, 1, 1]

    Raises TensorError for what is no array of numbers.
    """
    sizes, kind, there = _like(x, dtype, device)
    return ones(sizes, kind, device=there)


def empty_like(x: TensorLike, /, *, dtype: object = None, device: Where = None) -> Tensor:
    """A tensor to be written in the shape and the type of `x`, where it is.

    >>> str(empty_like(np.ones((2, 3), np.int32)).dtype)
    'i32'

    Raises TensorError for what is no array of numbers.
    """
    sizes, kind, there = _like(x, dtype, device)
    return empty(sizes, kind, device=there)


def full_like(x: TensorLike, /, fill_value: float, *, dtype: object = None, device: Where = None) -> Tensor:
    """One value everywhere in the shape and the type of `x`, where it is.

    >>> full_like([1, 2, 3], 7).numpy().tolist()
    [7, 7, 7]
    """
    sizes, kind, there = _like(x, dtype, device)
    return full(sizes, fill_value, kind, device=there)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: object = f32, device: Where = None) -> Tensor:
    """1 on the diagonal that is `k` places to the right, else 0.

    >>> eye(2, 3, k=1).numpy().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    kind = as_dtype(dtype)
    return _sent(from_array(np.eye(n_rows, n_cols, k, kind.numpy), kind), device)


def meshgrid(*arrays: TensorLike, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """The coordinates of a grid: of each vector a view with an axis for every one, the first two exchanged by "xy".

    >>> [part.numpy().tolist() for part in meshgrid([1, 2], [3, 4], indexing="ij")]
    [[[1, 1], [2, 2]], [[3, 4], [3, 4]]]

    Raises TensorError for operands that are no vectors.
    """
    vectors = [reshape(x, 1) if not mode_sizes(as_tensor(x)) else as_tensor(x) for x in arrays]
    rank = len(vectors)
    if any(len(mode_sizes(v)) != 1 for v in vectors) or indexing not in ("xy", "ij"):
        raise TensorError(f"meshgrid(indexing={indexing!r}): give vectors, and 'xy' or 'ij'")
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        axes[:2] = 1, 0
    apart = [
        reshape(v, [v.size if at == axis else 1 for at in range(rank)]) for v, axis in zip(vectors, axes, strict=True)
    ]
    return broadcast_arrays(*apart)


def from_dlpack(x: Any, /, *, device: Where = None, copy: bool | None = None) -> Tensor:
    """The elements of another library's array in the host's memory, by DLPack: shared, unless `copy` or another device
    asks for a copy.

    >>> from_dlpack(np.float32([1, 2])).numpy().tolist()
    [1.0, 2.0]
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    return asarray(make_tensor(np.from_dlpack(x)), device=device, copy=copy)


def arange(
    start: float, stop: float | None = None, step: float = 1, *, dtype: object = None, device: Where = None
) -> Tensor:
    """start, start + step, ... below stop; with one argument from 0. Integers give i32, else f32.

    >>> arange(2, 8, 2).numpy().tolist(), arange(3.0).dtype.name
    ([2, 4, 6], 'f32')

    Raises TensorError for a step of 0, and where the element type does not hold a number of them.
    """
    if step == 0:
        raise TensorError(f"arange({start}, {stop}, {step}): the step is 0; it must lead from start to stop")
    begin, end = (0, start) if stop is None else (start, stop)
    integers = isinstance(begin, int) and isinstance(end, int) and isinstance(step, int)
    kind = as_dtype(("i32" if integers else "f32") if dtype is None else dtype)
    if integers and kind.kind in "iu" and (numbers := range(int(begin), int(end), int(step))):
        low, high = np.iinfo(kind.numpy).min, np.iinfo(kind.numpy).max
        if not low <= min(numbers[0], numbers[-1]) <= max(numbers[0], numbers[-1]) <= high:
            raise TensorError(
                f"arange({shown(start)}, {shown(stop)}, {shown(step)}): it runs from "
                f"{shown(numbers[0])} to {shown(numbers[-1])}, and {kind} holds {low} to {high}; give a wider dtype"
            )
    return _sent(from_array(np.arange(begin, end, step).astype(kind.numpy), kind), device)


def linspace(
    start: float, stop: float, count: int, dtype: object = f32, *, endpoint: bool = True, device: Where = None
) -> Tensor:
    """`count` numbers from start to stop, equally far apart, both included but for stop without `endpoint`.

    >>> linspace(0, 1, 5).numpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]

    Raises TensorError for a negative count and for bool.
    """
    kind = as_dtype(dtype)
    if kind.kind == "b":
        raise TensorError(f"linspace({start}, {stop}, {count}) of bool: there are no truths between two numbers")
    if count < 0:
        raise TensorError(f"linspace({start}, {stop}, {count}): the count must be at least 0")
    return _sent(from_array(np.linspace(start, stop, count, endpoint=endpoint).astype(kind.numpy), kind), device)


def randn(shape: Shape, dtype: object = f32, *, seed: int | None = None, device: Where = None) -> Tensor:
    """Independent normal numbers, mean 0 and variance 1; the same seed gives the same numbers.

    >>> bool((randn((2, 2), seed=1).numpy() == randn((2, 2), seed=1).numpy()).all())
    True

    `shape` is one number or a tuple, as `ones` takes it. Raises TensorError for another shape, and
    for a type that is none of floats.
    """
    kind = as_dtype(dtype)
    if kind.kind != "f":
        raise TensorError(f"randn of {kind}: normal numbers are f16 or f32")
    numbers = np.random.default_rng(seed).standard_normal(_sizes("randn", shape), np.float32)
    return _sent(from_array(numbers.astype(kind.numpy, copy=False), kind), device)
