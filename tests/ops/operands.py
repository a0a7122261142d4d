"""Random operands: arrays and tensors of every type, with strides of all kinds, empty and of rank 0."""

from __future__ import annotations

import numpy as np

from cutepy.layout import ComposedLayout, Layout, Swizzle
from cutepy.tensor import Tensor, local_tile, make_counting_tensor, make_tensor

FLOATS = ("float32", "float16")
NUMBERS = ("float32", "float16", "int32", "uint32")
ALL = (*NUMBERS, "bool")
Array = np.ndarray


def random_sizes(rng: np.random.Generator, least: int = 0, most: int = 4) -> tuple[int, ...]:
    rank = int(rng.integers(least, most + 1))
    return tuple(
        int(rng.choice([0, 1, 2, 3, 4, 5, 7], p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.1, 0.1])) for _axis in range(rank)
    )


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind == "c":
        return (rng.normal(0, 2, shape) + 1j * rng.normal(0, 2, shape)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        values = rng.normal(0, 2, shape)
        if rng.random() < 0.2:
            values = -np.abs(values) - 1
        if rng.random() < 0.15 and values.size:
            values.ravel()[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf, 0.0])
        return values.astype(dtype)
    if rng.random() < 0.2:
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rng.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape, dtype)


def random_array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """An array of this shape, contiguous, transposed, stepped, reversed or broadcast."""
    kind = rng.integers(5)
    if kind == 0 or not shape:
        return random_values(rng, shape, dtype)
    if kind == 1:
        order = rng.permutation(len(shape))
        return random_values(rng, tuple(shape[axis] for axis in order), dtype).transpose(np.argsort(order))
    if kind == 2:
        steps = rng.integers(1, 3, len(shape))
        whole = random_values(rng, tuple(size * step for size, step in zip(shape, steps, strict=True)), dtype)
        return whole[tuple(slice(None, None, step) for step in steps)]
    if kind == 3:
        whole = random_values(rng, shape, dtype)
        return whole[tuple(slice(None, None, int(rng.choice([1, -1]))) for _axis in shape)]
    axis = int(rng.integers(len(shape)))
    thin = random_values(rng, tuple(min(size, 1) if at == axis else size for at, size in enumerate(shape)), dtype)
    return np.broadcast_to(thin, shape)


def random_operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> tuple[Tensor | Array, Array]:
    """An operand and the array that it stands for."""
    array = np.asarray(random_array(rng, shape, dtype))
    return (array if rng.random() < 0.3 else make_tensor(array)), array


def stretched(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`."""
    cut = shape[int(rng.integers(len(shape) + 1)) if rng.random() < 0.3 else 0 :]
    return tuple(1 if rng.random() < 0.25 and size else size for size in cut)


def same(found: Array, expected: Array, *, relative: float = 0.0) -> bool:
    """Equal, NaN included, or within a relative error; the types agree."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if relative == 0 or expected.dtype.kind != "f":
        return bool(np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f"))
    return bool(
        np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=relative, atol=1e-7, equal_nan=True)
    )


def unusual_tensors(rng: np.random.Generator, dtype: str) -> list[Tensor]:
    """Tensors of rank 2 that no NumPy strides describe: nested, swizzled, guarded, computed."""
    values = random_values(rng, (512,), dtype)
    swizzled = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((8, 12), (1, 8)))
    found = [
        make_tensor(values, ((2, 4), (3, 4)), ((1, 24), (2, 96))),
        make_tensor(values, swizzled),
        local_tile(make_tensor(values, (13, 20)), (8, 12), (1, 1)),
        local_tile(make_tensor(values, (8, 20), (20, 1)), (8, 12), (0, 1)),
    ]
    if dtype == "int32":
        found.append(make_counting_tensor(Layout((8, 12), (12, 1))))
    return found
