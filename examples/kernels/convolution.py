"""A convolution as a matrix product. The patches of the image ("im2col") are not copied anywhere: they are a layout of
it, ((q, p, image), (channel, s, r)), in which a pixel of nine patches has nine coordinates and one offset."""

import numpy as np
from example import Example, main

from cutepy import (
    Layout,
    _,
    ceil_div,
    clear,
    copy,
    gemm,
    gpu,
    local_tile,
    make_fragment_like,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    size,
)
from cutepy.tensor import FMA, universal_copy

PIXELS, FILTERS, CHANNELS = (8, 4, 1), 32, 8  # a workgroup: 8 x 4 pixels of one image, 32 filters, 8 channels at a time
COPIES = make_tiled_copy(universal_copy(1), Layout((8, 8), (8, 1)))
PRODUCTS = make_tiled_mma(FMA, (8, 8, 1), (Layout((8, 4), (4, 1)), Layout((8, 4), (4, 1)), None))


@gpu.kernel
def convolve(patches, filters, result):  # ((q,p,i),(c,s,r)), (f,(c,s,r)), ((q,p,i),f)
    (q, p, images), f = result.shape
    gpu.launch(grid=(ceil_div(q, 8) * ceil_div(p, 4) * images, ceil_div(f, FILTERS)), threads=PRODUCTS.threads)
    tile, block = gpu.workgroup.x, gpu.workgroup.y
    taps = (CHANNELS, 1, 1)  # of one tap of the filter at a time
    gA = local_tile(patches, (PIXELS, taps), (tile, _))
    gB = local_tile(filters, (FILTERS, taps), (block, _))
    gC = local_tile(result, (PIXELS, FILTERS), (tile, block))
    sA, sB = gpu.shared("f32", (32, CHANNELS), pad=1), gpu.shared("f32", (FILTERS, CHANNELS), pad=1)
    a, b = COPIES.thread(gA, sA), COPIES.thread(gB, sB)
    mine = PRODUCTS.thread(sA, sB, gC)
    acc = make_fragment_like(mine.C)
    clear(acc)
    for k in gpu.loop(size(gA, 2)):
        copy(a.source(_, _, k), a.target)
        copy(b.source(_, _, k), b.target)
        gpu.barrier()
        for kk in gpu.loop(CHANNELS):
            gemm(mine.A(_, kk), mine.B(_, kk), acc)
        gpu.barrier()
    copy(acc, mine.C)


def patches_of(x: np.ndarray, taps: tuple[int, int], stride: int, dilation: int):
    """The im2col matrix of images (i, h, w, c), as a view of them."""
    i, h, w, c = x.shape
    r, s = taps
    p, q = ((extent - dilation * (t - 1) - 1) // stride + 1 for extent, t in ((h, r), (w, s)))
    shape = ((q, p, i), (c, s, r))
    return make_tensor(x, Layout(shape, ((stride * c, stride * w * c, h * w * c), (1, dilation * c, dilation * w * c))))


def example(
    image: tuple[int, int, int, int] = (2, 20, 30, 12),
    filters: tuple[int, int, int] = (40, 3, 3),
    stride: int = 1,
    dilation: int = 1,
) -> Example:
    """Images (i, h, w, c) and filters (f, r, s), without padding."""
    g = np.random.default_rng(0)
    f, r, s = filters
    x, w = (g.standard_normal(shape, dtype=np.float32) for shape in (image, (*filters, image[3])))
    patches = patches_of(x, (r, s), stride, dilation)
    (q, p, i), (c, *_rest) = patches.shape
    taps = make_tensor(w, Layout((f, (c, s, r)), (r * s * c, (1, c, s * c))))
    y = np.zeros((i, p, q, f), np.float32)
    result = make_tensor(y, Layout(((q, p, i), f), ((f, q * f, p * q * f), 1)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (dilation * (r - 1) + 1, dilation * (s - 1) + 1), axis=(1, 2))
    windows = windows[:, ::stride, ::stride, :, ::dilation, ::dilation]
    wanted = np.einsum("ipqcrs,frsc->qpif", windows, w, dtype=np.float64)
    return Example(convolve, (patches, taps, result), wanted.reshape((q * p * i, f), order="F"), tolerance=2e-6)


if __name__ == "__main__":
    main(example())
