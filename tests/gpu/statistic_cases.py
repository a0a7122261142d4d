"""Shapes around the edges of tiles, and statistics and cumulative folds of them against NumPy in f64."""

from __future__ import annotations

import numpy as np

from cutepy import gpu
from cutepy.tensor import Tensor

EDGES = [
    *[(n,) for n in (1, 3, 4, 5, 255, 256, 257, 1023, 1024, 1025, 4096, 4099)],
    *[(3, n) for n in (1, 7, 8, 31, 32, 33, 64, 1025)],
    *[(n, 3) for n in (31, 32, 33, 1025)],
    (33, 257), (64, 64), (129, 40), (3, 4, 5, 6), (7, 33, 2, 9),
]  # fmt: skip


def moved(x: np.ndarray, engine: str) -> object:
    return gpu.array(x) if engine == "wgpu" else x


def elements(found: object) -> np.ndarray:
    return found.numpy() if isinstance(found, Tensor) else np.asarray(found)


def check_statistics(shape: tuple[int, ...], engine: str) -> None:
    """Over every axis, over all and over two of four; row by row, column by column and with steps."""
    rng = np.random.default_rng(shape)
    big = (3 * rng.standard_normal([2 * size for size in shape]) + 1).astype(np.float32)
    inner = big[tuple(slice(0, size) for size in shape)]
    for x in (np.ascontiguousarray(inner), np.asfortranarray(inner), big[(slice(None, None, 2),) * len(shape)]):
        wide, given = x.astype(np.float64), moved(x, engine)
        for axes in [
            tuple(range(len(shape))),
            *[(i,) for i in range(len(shape))],
            *([(0, 2)] if len(shape) > 3 else []),
        ]:
            kept = [axis for axis in range(len(shape)) if axis not in axes]
            flat = wide.transpose([*kept, *axes]).reshape([*(shape[axis] for axis in kept), -1])
            laws = {
                "var": (gpu.var(given, axes, engine=engine), flat.var(-1)),
                "std": (gpu.std(given, axes, keepdims=True, engine=engine), wide.std(axes, keepdims=True)),
                "logsumexp": (gpu.logsumexp(given, axes, engine=engine), np.logaddexp.reduce(flat, -1)),
                "norm": (gpu.norm(given, axes, engine=engine), np.linalg.norm(flat, axis=-1)),
                "norm 1": (gpu.norm(given, axes, order=1, engine=engine), np.abs(flat).sum(-1)),
                "norm inf": (gpu.norm(given, axes, order=float("inf"), engine=engine), np.abs(flat).max(-1)),
            }
            for name, (found, wanted) in laws.items():
                what = f"{name} of {shape} over {axes}"
                np.testing.assert_allclose(elements(found), wanted, rtol=1e-5, atol=1e-5, err_msg=what)


def check_scans(shape: tuple[int, ...], engine: str) -> None:
    """Sums of integers and products of bits, which are exact; along each axis, in either order of memory."""
    rng = np.random.default_rng(shape)
    whole = rng.integers(-9, 9, shape).astype(np.int32)
    for x in (whole, np.asfortranarray(whole)):
        for axis in range(len(shape)):
            sums = gpu.cumsum(moved(x, engine), axis, engine=engine).numpy()
            np.testing.assert_array_equal(sums, x.cumsum(axis, dtype=np.int32))
            signs = np.where(x < 0, -1, 1).astype(np.float32)
            products = gpu.cumprod(moved(signs, engine), axis, engine=engine).numpy()
            np.testing.assert_array_equal(products, signs.cumprod(axis))
