"""`padded` in kernels: np.pad through tiles, slices, strides and partitions, proven, with no read outside."""

# ruff: noqa: F821  sizes in annotations are names of the kernel's own

import numpy as np
import pytest
from padding_cases import FILLS, by_numpy, judge
from tint import refusals

from cutepy import gpu
from cutepy.layout import _, ceil_div, size
from cutepy.tensor import copy, local_tile, padded


@pytest.mark.parametrize("first", range(0, 300, 20))
def test_random_rims(first: int) -> None:
    for number in range(first, first + 20):
        judge(number, device=number % 5 == 0)


@gpu.kernel
def moved_sum(x: "(M,N)", y: "(M,N)"):
    """The five-point sum, with zeros around, for all sizes."""
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 32), ceil_div(M, 4)), threads=128)
    i, j = gpu.workgroup.y * 4 + gpu.thread // 32, gpu.workgroup.x * 32 + gpu.thread % 32
    rim = padded(x, 1)
    if i < M and j < N:
        y[i, j] = rim[i, j + 1] + rim[i + 2, j + 1] + rim[i + 1, j] + rim[i + 1, j + 2] + rim[i + 1, j + 1]


@gpu.kernel
def nearest(x: "(M,N)", y: "(M,N)"):
    """The difference to the lower right neighbour, the last one again at the ends, for all sizes."""
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, 32), ceil_div(M, 4)), threads=128)
    i, j = gpu.workgroup.y * 4 + gpu.thread // 32, gpu.workgroup.x * 32 + gpu.thread % 32
    if i < M and j < N:
        y[i, j] = padded(x, 0, 1, value="edge")[i + 1, j + 1] - x[i, j]


@pytest.mark.parametrize("kernel", [moved_sum, nearest])
def test_of_unknown_sizes_it_is_proven_for_all(kernel: gpu.KernelFunction) -> None:
    rng = np.random.default_rng(1)
    for shape in ((5, 70), (1, 1), (33, 8)):
        x, y = rng.random(shape, np.float32), np.full(shape, 99, np.float32)
        kernel(x, y)
        z = np.pad(x, 1)
        five = z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:] + z[1:-1, 1:-1]
        edge = np.pad(x, (0, 1), mode="edge")[1:, 1:] - x
        assert np.allclose(y, five if kernel is moved_sum else edge, rtol=1e-6)
        assert kernel.verify(x, y).ok and kernel.size_reason == ""
    assert kernel.stats.traces <= 2  # with vectors and without


@pytest.mark.parametrize("fill", sorted({*map(str, FILLS)}))
def test_vectors_are_kept_inside(fill: str) -> None:
    @gpu.kernel(sizes="known")
    def rows(x, y, *, fill):
        gpu.launch(grid=size(y, 0), threads=8)
        rim = padded(x, (2, 0), value=fill)
        copy(*(local_tile(t(gpu.workgroup.x, _), (4,), (gpu.thread,)) for t in (rim, y)))

    value = next(f for f in FILLS if str(f) == fill)
    x = np.arange(160, dtype=np.float32).reshape(5, 32)
    wanted, y = by_numpy(x, (2, 0), (2, 0), value), np.zeros((9, 32), np.float32)
    rows(x, y, fill=value)
    assert (y == wanted).all() and rows.verify(x, y, fill=value).ok
    text = rows.wgsl(x, y, fill=value, dialect="tint")
    assert "x: array<vec4<f32>>" in text and refusals({"rows": text}) == {}
