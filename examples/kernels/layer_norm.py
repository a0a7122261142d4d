"""Layer norm of each row, and its gradients: a workgroup has a row in the registers of its threads."""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    _,
    composition,
    copy,
    gpu,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tensor,
    transform,
)

THREADS, EPSILON = 128, 1e-5


def mine(tensor, width):
    """What this thread has of the workgroup's row, and registers for it; beyond the row there are zeros."""
    row = local_tile(tensor, (1, width or tensor.shape[1]), (gpu.workgroup.x, 0))(0, _)
    part = local_partition(row, Layout(THREADS))
    return part, make_fragment_like(part, "f32")


def loaded(tensor, width):
    """The same, with the values in the registers."""
    part, values = mine(tensor, width)
    copy(part, values)
    return part, values


def normal(x, width):
    """A row of x less its mean, over its deviation; and 1 over that."""
    part, values = loaded(x, width)
    n = x.shape[1]
    mean = gpu.workgroup_reduce(values) / n
    transform(values, op=lambda v: v - mean)
    for i in range(values.size):
        values[i] = gpu.select(gpu.thread + i * THREADS < n, values[i], 0.0)
    squares = make_fragment_like(values)
    transform(values, squares, op=lambda v: v * v)
    scale = gpu.rsqrt(gpu.workgroup_reduce(squares) / n + EPSILON)
    transform(values, op=lambda v: v * scale)
    return part, values, scale


@gpu.kernel
def layer_norm(x, gain, bias, y, *, width=None):  # (rows, n); gain and bias are rows that repeat
    gpu.launch(grid=x.shape[0], threads=THREADS)  # any n up to a width, where one is given
    _part, values, _scale = normal(x, width)
    (_g, g), (_b, b), (target, _y) = loaded(gain, width), loaded(bias, width), mine(y, width)
    transform(values, g, b, values, op=lambda v, g, b: v * g + b)
    copy(values, target)


@gpu.kernel
def backward(x, gain, dy, dx, *, width=None):
    """The gradient of x."""
    gpu.launch(grid=x.shape[0], threads=THREADS)
    _part, values, scale = normal(x, width)
    (_g, g), (_dy, d), (target, found) = loaded(gain, width), loaded(dy, width), mine(dx, width)
    transform(d, g, d, op=lambda d, g: d * g)
    transform(d, values, found, op=lambda d, v: d * v)
    n = x.shape[1]
    mean, along = gpu.workgroup_reduce(d) / n, gpu.workgroup_reduce(found) / n
    transform(d, values, found, op=lambda d, v: (d - mean - v * along) * scale)
    copy(found, target)


def example(shape: tuple[int, int] = (50, 1000), gradient: bool = False) -> Example:
    """Rows of any length; with `gradient`, the kernel of the backward pass."""
    g = np.random.default_rng(0)
    x, dy = (g.standard_normal(shape, dtype=np.float32) for _array in range(2))
    gain, bias = (g.standard_normal(shape[1], dtype=np.float32) for _row in range(2))
    rows = [composition(make_tensor(row), Layout(shape, (0, 1))) for row in (gain, bias)]
    scale = 1 / np.sqrt(x.var(1, keepdims=True, dtype=np.float64) + EPSILON)
    z, d = (x - x.mean(1, keepdims=True, dtype=np.float64)) * scale, dy * gain.astype(np.float64)
    if gradient:
        wanted = (d - d.mean(1, keepdims=True) - z * (d * z).mean(1, keepdims=True)) * scale
        return Example(backward, (x, rows[0], dy, np.zeros_like(x)), wanted, tolerance=2e-6)
    return Example(layer_norm, (x, *rows, np.zeros_like(x)), z * gain + bias, tolerance=2e-6)


if __name__ == "__main__":
    main(example())
