# mypy: disable-error-code="arg-type, index, operator"
"""Correct kernels at the sizes at which they are used: padded and halo reads, rows of a matrix, histograms, streams."""

import numpy as np

from cutepy import gpu
from cutepy.layout import Layout, ceil_div, size
from cutepy.tensor import make_tensor


@gpu.kernel
def conv(x, w, y):
    """3x3 convolution of n x h x w x c images, padded by one, one output a thread."""
    n, h, wd, c = x.shape
    gpu.launch(grid=(ceil_div(wd, 16), h, n), threads=16 * 16)
    t = gpu.thread
    j, i, b = gpu.workgroup.x * 16 + t // 16, gpu.workgroup.y, gpu.workgroup.z
    o = t % 16
    acc = make_tensor("f32", 1)
    acc[0] = 0.0
    for di in gpu.loop(3):
        for dj in gpu.loop(3):
            a, d = i + di - 1, j + dj - 1
            with gpu.when((a < h) & (d < wd)):
                for k in gpu.loop(c):
                    acc[0] = acc[0] + x[b, a, d, k] * w[o, di, dj, k]
    with gpu.when(j < wd):
        y[b, i, j, o] = acc[0]


@gpu.kernel
def conv_signed(x, w, y):
    """The same with signed coordinates."""
    n, h, wd, c = x.shape
    gpu.launch(grid=(ceil_div(wd, 16), h, n), threads=16 * 16)
    t = gpu.thread
    j, i, b = gpu.workgroup.x * 16 + t // 16, gpu.workgroup.y, gpu.workgroup.z
    o = t % 16
    acc = make_tensor("f32", 1)
    acc[0] = 0.0
    for di in gpu.loop(3):
        for dj in gpu.loop(3):
            a, d = gpu.cast(i + di, "i32") - 1, gpu.cast(j + dj, "i32") - 1
            with gpu.when((a >= 0) & (a < h) & (d >= 0) & (d < wd)):
                for k in gpu.loop(c):
                    acc[0] = acc[0] + x[b, gpu.cast(a, "u32"), gpu.cast(d, "u32"), k] * w[o, di, dj, k]
    with gpu.when(j < wd):
        y[b, i, j, o] = acc[0]


@gpu.kernel
def stencil(x, y):
    """A seven-point stencil over n^3: a tile of 8 x 8 x 8 and its halo in workgroup memory, zero outside."""
    n0, n1, n2 = x.shape
    gpu.launch(grid=tuple(ceil_div(n, 8) for n in (n0, n1, n2)), threads=256)
    s = gpu.shared("f32", Layout((10, 10, 10)))
    t = gpu.thread
    g = gpu.workgroup.x * 8, gpu.workgroup.y * 8, gpu.workgroup.z * 8
    for e in gpu.loop(1000, start=t, step=256):
        i, j, k = g[0] + e % 10 - 1, g[1] + e // 10 % 10 - 1, g[2] + e // 100 - 1
        v = make_tensor("f32", 1)
        v[0] = 0.0
        with gpu.when((i < n0) & (j < n1) & (k < n2)):
            v[0] = x[i, j, k]
        s[e] = v[0]
    gpu.barrier()
    for e in gpu.loop(512, start=t, step=256):
        i, j, k = e % 8, e // 8 % 8, e // 64
        with gpu.when((g[0] + i < n0) & (g[1] + j < n1) & (g[2] + k < n2)):
            y[g[0] + i, g[1] + j, g[2] + k] = (
                s[i, j + 1, k + 1]
                + s[i + 2, j + 1, k + 1]
                + s[i + 1, j, k + 1]
                + s[i + 1, j + 2, k + 1]
                + s[i + 1, j + 1, k]
                + s[i + 1, j + 1, k + 2]
                - 6.0 * s[i + 1, j + 1, k + 1]
            )


@gpu.kernel
def csr(ptr, column, value, x, y):
    """y = A x, a row a thread: columns are clamped, rows as they are."""
    rows = size(y)
    gpu.launch(grid=ceil_div(rows, 256), threads=256)
    r = gpu.workgroup.x * 256 + gpu.thread
    with gpu.when(r < rows):
        s = make_tensor("f32", 1)
        s[0] = 0.0
        for e in gpu.loop(gpu.minimum(ptr[r + 1], size(value)), start=ptr[r]):
            s[0] = s[0] + value[e] * x[gpu.minimum(column[e], size(x) - 1)]
        y[r] = s[0]


@gpu.kernel
def histogram(x, c):
    """Bytes counted in four padded copies of the bins, added up at the end."""
    gpu.launch(grid=ceil_div(size(x), 256 * 16), threads=256)
    t = gpu.thread
    s = gpu.shared("u32", Layout((256, 4), (1, 257)))
    for i in gpu.loop(1024, start=t, step=256):
        s[i] = 0
    gpu.barrier()
    for i in gpu.loop(16):
        at = gpu.workgroup.x * 4096 + i * 256 + t
        with gpu.when(at < size(x)):
            gpu.atomic_add(s, (x[at] & 255, t % 4), 1)
    gpu.barrier()
    gpu.atomic_add(c, t, s[t, 0] + s[t, 1] + s[t, 2] + s[t, 3])


@gpu.kernel
def double_buffered(x, y, n):
    """Blocks of 256 through workgroup memory, as many as the caller says: a double buffer."""
    gpu.launch(threads=256)
    t = gpu.thread
    s = gpu.shared("f32", Layout((256, 2)))
    for c in gpu.loop(n):
        at = c * 256 + t
        v = make_tensor("f32", 1)
        v[0] = 0.0
        with gpu.when(at < size(x)):
            v[0] = x[at]
        s[t, c % 2] = v[0]
        gpu.barrier()
        with gpu.when(at < size(y)):
            y[at] = s[255 - t, c % 2]


@gpu.kernel
def in_blocks(x, y, n):
    """The same with one buffer and two barriers."""
    gpu.launch(threads=256)
    t = gpu.thread
    s = gpu.shared("f32", Layout(256))
    for c in gpu.loop(n):
        at = c * 256 + t
        v = make_tensor("f32", 1)
        v[0] = 0.0
        with gpu.when(at < size(x)):
            v[0] = x[at]
        s[t] = v[0]
        gpu.barrier()
        with gpu.when(at < size(y)):
            y[at] = s[255 - t]
        gpu.barrier()


@gpu.kernel
def slots(x, y):
    """Each thread has four elements, and what it reads says which of them it sets."""
    gpu.launch(grid=ceil_div(size(x), 256), threads=256)
    i = gpu.workgroup.x * 256 + gpu.thread
    with gpu.when(i < size(x)):
        y[i * 4 + (x[i] & 3)] = 1


@gpu.kernel
def gather(idx, x, y):
    """y = x at signed places, 0 where there is none."""
    gpu.launch(grid=ceil_div(size(y), 256), threads=256)
    t = gpu.workgroup.x * 256 + gpu.thread
    with gpu.when(t < size(y)):
        i = idx[t]
        y[t] = 0.0
        with gpu.when((i >= 0) & (i < size(x))):
            y[t] = x[gpu.cast(i, "u32")]


def _f32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _u32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.uint32)


REAL = {
    "conv": lambda: conv.verify(_f32(8, 112, 112, 64), _f32(16, 3, 3, 64), _f32(8, 112, 112, 16)),
    "conv_signed": lambda: conv_signed.verify(_f32(8, 112, 112, 64), _f32(16, 3, 3, 64), _f32(8, 112, 112, 16)),
    "stencil": lambda: stencil.verify(_f32(200, 200, 200), _f32(200, 200, 200)),
    "csr": lambda: csr.verify(_u32(1_000_001), _u32(5_000_000), _f32(5_000_000), _f32(1_000_000), _f32(1_000_000)),
    "histogram": lambda: histogram.verify(_u32(10_000_000), _u32(256)),
    "double_buffered": lambda: double_buffered.verify(_f32(1_000_000), _f32(1_000_000), 3),
    "in_blocks": lambda: in_blocks.verify(_f32(1_000_000), _f32(1_000_000), 3),
    "slots": lambda: slots.verify(_u32(1_000_000), _u32(4_000_000)),
    "gather": lambda: gather.verify(np.zeros(1_000_000, np.int32), _f32(3_000_000), _f32(1_000_000)),
}
