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
    make_identity_tensor,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    size,
)
from cutepy.tensor import FMA, universal_copy

PIXELS, FILTERS, CHANNELS = (8, 4, 1), 32, 8  # a workgroup: 8 x 4 pixels of one image, 32 filters, 8 channels at a time
COPIES = make_tiled_copy(universal_copy(4), Layout((32, 2), (2, 1)), Layout((1, 4)))
PRODUCTS = make_tiled_mma(FMA, (8, 8, 1), (Layout((8, 4), (4, 1)), Layout((8, 4), (4, 1)), None))


@gpu.kernel
def convolve(x, filters, result, *, stride, dilation, padding):  # (c,w,h,i), (f,(c,s,r)), ((q,p,i),f)
    (channels, w, h, images), (f, taps) = x.shape, filters.shape
    (q, p, _images), _f = result.shape
    gpu.launch(grid=(ceil_div(q, 8) * ceil_div(p, 4) * images, ceil_div(f, FILTERS)), threads=PRODUCTS.threads)
    tile, block = gpu.workgroup.x, gpu.workgroup.y
    one_tap = (CHANNELS, 1, 1)
    where = local_tile(make_identity_tensor((result.shape[0], taps)), (PIXELS, one_tap), (tile, _))
    gB = local_tile(filters, (FILTERS, one_tap), (block, _))
    gC = local_tile(result, (PIXELS, FILTERS), (tile, block))
    sA, sB = gpu.shared("f32", (32, CHANNELS), pad=4), gpu.shared("f32", (FILTERS, CHANNELS), pad=4)
    a, b = COPIES.thread(where, sA), COPIES.thread(gB, sB)
    mine = PRODUCTS.thread(sA, sB, gC)
    acc, pixels = make_fragment_like(mine.C), make_fragment_like(a.target)
    clear(acc)
    for k in gpu.loop(size(gB, 2)):
        (column, row, image), (channel, s, r) = a.source(_, _, k)[0]
        u, v = column * stride + s * dilation - padding, row * stride + r * dilation - padding
        clear(pixels)
        if 0 <= u < w and 0 <= v < h and channel < channels:
            copy(local_tile(x(_, u, v, image), 4, channel // 4), pixels)
        copy(pixels, a.target)
        copy(b.source(_, _, k), b.target)
        gpu.barrier()
        for kk in gpu.loop(CHANNELS):
            gemm(mine.A(_, kk), mine.B(_, kk), acc)
        gpu.barrier()
    copy(acc, mine.C)


def example(
    image: tuple[int, int, int, int] = (2, 20, 30, 12),
    filters: tuple[int, int, int] = (40, 3, 3),
    stride: int = 1,
    dilation: int = 1,
    padding: int = 1,
) -> Example:
    """Images (i, h, w, c) with `padding` zeros around, and filters (f, r, s)."""
    g = np.random.default_rng(0)
    (i, h, w, c), (f, r, s) = image, filters
    x, weights = (g.standard_normal(shape, dtype=np.float32) for shape in (image, (*filters, c)))
    around = (padding, padding)
    padded = np.pad(x, ((0, 0), around, around, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(
        padded, (dilation * (r - 1) + 1, dilation * (s - 1) + 1), axis=(1, 2)
    )[:, ::stride, ::stride, :, ::dilation, ::dilation]
    p, q = windows.shape[1:3]
    tensors = (
        make_tensor(x, Layout((c, w, h, i), (1, c, w * c, h * w * c))),
        make_tensor(weights, Layout((f, (c, s, r)), (r * s * c, (1, c, s * c)))),
        make_tensor(np.zeros((i, p, q, f), np.float32), Layout(((q, p, i), f), ((f, q * f, p * q * f), 1))),
    )
    wanted = np.einsum("ipqcrs,frsc->qpif", windows, weights, dtype=np.float64).reshape((q * p * i, f), order="F")
    return Example(convolve, tensors, wanted, {"stride": stride, "dilation": dilation, "padding": padding}, 2e-6)


if __name__ == "__main__":
    main(example())
