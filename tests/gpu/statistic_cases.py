"""Shapes around the edges of tiles, and statistics and cumulative folds of them against NumPy in f64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from cutepy import gpu, ops
from cutepy.tensor import Tensor

EDGES = [
    *[(n,) for n in (1, 3, 4, 5, 255, 256, 257, 1023, 1024, 1025, 4096, 4099)],
    *[(3, n) for n in (1, 7, 8, 31, 32, 33, 64, 1025)],
    *[(n, 3) for n in (31, 32, 33, 1025)],
    (33, 257), (64, 64), (129, 40), (3, 4, 5, 6), (7, 33, 2, 9),
]  # fmt: skip
LAWS: list[tuple[str, dict[str, Any], Callable[[np.ndarray, tuple[int, ...]], np.ndarray]]] = [
    ("var", {}, lambda x, axes: x.var(axes)),
    ("std", {"keepdims": True}, lambda x, axes: x.std(axes, keepdims=True)),
    ("logsumexp", {}, lambda x, axes: np.log(np.exp(x).sum(axes))),
    ("norm", {}, lambda x, axes: np.sqrt((x * x).sum(axes))),
    ("norm", {"order": 1}, lambda x, axes: np.abs(x).sum(axes)),
    ("norm", {"order": float("inf")}, lambda x, axes: np.abs(x).max(axes)),
]


def moved(x: np.ndarray, engine: str) -> object:
    return gpu.array(x) if engine == "wgpu" else x


def elements(found: object) -> np.ndarray:
    return found.numpy() if isinstance(found, Tensor) else np.asarray(found)


def check_statistics(shape: tuple[int, ...], engine: str) -> None:
    """Over every axis, over all and over two of four; row by row, column by column and with steps.

    A call meets a third of the laws, on a device, where each is compiled, a sixth: each order of memory and each choice
    of axes meets all of them, shape by shape.
    """
    apart = 6 if engine == "wgpu" else 3
    rng = np.random.default_rng(shape)
    big = (3 * rng.standard_normal([2 * size for size in shape]) + 1).astype(np.float32)
    inner = big[tuple(slice(0, size) for size in shape)]
    orders = np.ascontiguousarray(inner), np.asfortranarray(inner), big[(slice(None, None, 2),) * len(shape)]
    every = tuple(range(len(shape)))
    chosen = dict.fromkeys([every, *((axis,) for axis in every), *([(0, 2)] if len(shape) > 3 else [])])
    for (order, x), (number, axes) in product(enumerate(orders), enumerate(chosen)):
        wide, given = x.astype(np.float64), moved(x, engine)
        for name, options, wanted in LAWS[(sum(shape) + order + number) % apart :: apart]:
            found = elements(getattr(ops, name)(given, axes, engine=engine, **options))
            what = f"{name} {options} of {shape} over {axes}"
            np.testing.assert_allclose(found, wanted(wide, axes), rtol=1e-5, atol=1e-5, err_msg=what)


def check_scans(shape: tuple[int, ...], engine: str) -> None:
    """Sums of integers or products of signs, which are exact; along each axis, in either order of memory."""
    rng = np.random.default_rng(shape)
    whole = rng.integers(-9, 9, shape).astype(np.int32)
    for order, x in enumerate((whole, np.asfortranarray(whole))):
        for axis in range(len(shape)):
            if (sum(shape) + order + axis) % 2:
                sums = ops.cumsum(moved(x, engine), axis, engine=engine).numpy()
                np.testing.assert_array_equal(sums, x.cumsum(axis, dtype=np.int32))
            else:
                signs = np.where(x < 0, -1, 1).astype(np.float32)
                products = ops.cumprod(moved(signs, engine), axis, engine=engine).numpy()
                np.testing.assert_array_equal(products, signs.cumprod(axis))


def check_short_rows(engine: str) -> None:
    """Rows of 1 to 3 elements, infinite and NaN among them, with corrections to beyond their length: a compiler sees
    through such a kernel, and takes `v - v` to be 0 and what is divided by 0 to be anything."""
    rng = np.random.default_rng(0)
    for columns in (1, 2, 3):
        rows = rng.choice(np.float32([np.nan, np.inf, -np.inf, 1, 1, -2, 0]), (24, columns))
        for x in (rows, np.ones((24, columns), np.uint32)):
            calls = [(name, {"correction": c}) for name in ("var", "std") for c in (0, 1, 2, 3, 0.5, 100)]
            for name, options in [*calls, ("logsumexp", {}), ("norm", {"order": 1}), ("softmax", {})]:
                wanted = elements(getattr(ops, name)(x, 1, **options))
                with np.errstate(all="ignore"):
                    found = elements(getattr(ops, name)(moved(x, engine), 1, engine=engine, **options))
                what = f"{name} {options} of {x.dtype} (24, {columns})"
                np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=what)
