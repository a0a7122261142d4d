"""Creation: zeros, ones, full, arange, linspace, randn. New memory, the last axis fastest, as NumPy lays it out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import TensorError
from ..tensor.dtypes import as_dtype, f32
from ..tensor.engine import fit_values
from ..tensor.tensor import Tensor
from .operand import wrap

Shape = int | Sequence[int]


def _sizes(call: str, shape: Shape) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(not isinstance(size, (int, np.integer)) or size < 0 for size in sizes):
        raise TensorError(f"{call}({shape}): sizes are whole numbers from 0")
    return tuple(map(int, sizes))


def full(shape: Shape, value: float, dtype: object = f32) -> Tensor:
    """A tensor that holds `value` everywhere.

    >>> print(full((2, 3), 7, "i32").layout)
    (2,3):(3,1)

    Raises TensorError for a value that the type cannot hold.
    """
    kind = as_dtype(dtype)
    return wrap(np.full(_sizes("full", shape), fit_values(value, kind), kind.numpy), kind)


def zeros(shape: Shape, dtype: object = f32) -> Tensor:
    """A tensor of zeros."""
    kind = as_dtype(dtype)
    return wrap(np.zeros(_sizes("zeros", shape), kind.numpy), kind)


def ones(shape: Shape, dtype: object = f32) -> Tensor:
    """A tensor of ones."""
    kind = as_dtype(dtype)
    return wrap(np.ones(_sizes("ones", shape), kind.numpy), kind)


def arange(start: float, stop: float | None = None, step: float = 1, *, dtype: object = None) -> Tensor:
    """start, start + step, ... below stop; with one argument from 0. Integers give i32, else f32.

    >>> arange(2, 8, 2).numpy().tolist(), arange(3.0).dtype.name
    ([2, 4, 6], 'f32')

    Raises TensorError for a step of 0.
    """
    if step == 0:
        raise TensorError(f"arange({start}, {stop}, {step}): the step is 0; it must lead from start to stop")
    begin, end = (0, start) if stop is None else (start, stop)
    whole = all(isinstance(number, int) for number in (begin, end, step))
    kind = as_dtype(("i32" if whole else "f32") if dtype is None else dtype)
    return wrap(np.arange(begin, end, step).astype(kind.numpy), kind)


def linspace(start: float, stop: float, count: int, dtype: object = f32) -> Tensor:
    """`count` numbers from start to stop, both included, equally far apart.

    >>> linspace(0, 1, 5).numpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    kind = as_dtype(dtype)
    if count < 0:
        raise TensorError(f"linspace({start}, {stop}, {count}): the count must be at least 0")
    return wrap(np.linspace(start, stop, count).astype(kind.numpy), kind)


def randn(shape: Shape, dtype: object = f32, *, seed: int | None = None) -> Tensor:
    """Independent normal numbers, mean 0 and variance 1; the same seed gives the same numbers.

    >>> bool((randn((2, 2), seed=1).numpy() == randn((2, 2), seed=1).numpy()).all())
    True
    """
    kind = as_dtype(dtype)
    if kind.kind != "f":
        raise TensorError(f"randn of {kind}: normal numbers are f16 or f32")
    numbers = np.random.default_rng(seed).standard_normal(_sizes("randn", shape), np.float32)
    return wrap(numbers.astype(kind.numpy, copy=False), kind)
