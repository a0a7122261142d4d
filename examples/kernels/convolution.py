"""A convolution as a matrix product. The patches of the image ("im2col") are not copied anywhere: they are a layout of
it, ((q, p, image), (channel, s, r)), in which a pixel of nine patches has nine coordinates; the zeros around the image
are in no memory."""

import numpy as np
from example import Example, main

from cutepy import (
    E,
    Layout,
    _,
    ceil_div,
    clear,
    composition,
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
from cutepy.tensor import FMA, padded, universal_copy

PIXELS, FILTERS, CHANNELS = (8, 4, 1), 32, 8  # a workgroup: 8 x 4 pixels of one image, 32 filters, 8 channels at a time
COPIES = make_tiled_copy(universal_copy(4), Layout((32, 2), (2, 1)), Layout((1, 4)))
PRODUCTS = make_tiled_mma(FMA, (8, 8, 1), (Layout((8, 4), (4, 1)), Layout((8, 4), (4, 1)), None))


@gpu.kernel
def convolve(x, filters, result, *, stride, dilation, padding):  # (c,w,h,i), (f,(c,s,r)), ((q,p,i),f)
    (q, p, images), (f, taps) = result.shape[0], filters.shape
    gpu.launch(grid=(ceil_div(q, 8) * ceil_div(p, 4) * images, ceil_div(f, FILTERS)), threads=PRODUCTS.threads)
    tile, block, one_tap = gpu.workgroup.x, gpu.workgroup.y, (CHANNELS, 1, 1)
    steps = (stride * E(1), stride * E(2), E(3)), (E(0), dilation * E(1), dilation * E(2))
    patches = composition(padded(x, (0, padding, padding, 0)), Layout(((q, p, images), taps), steps))
    gA = local_tile(patches, (PIXELS, one_tap), (tile, _))
    gB = local_tile(filters, (FILTERS, one_tap), (block, _))
    gC = local_tile(result, (PIXELS, FILTERS), (tile, block))
    sA, sB = gpu.shared("f32", (32, CHANNELS), pad=4), gpu.shared("f32", (FILTERS, CHANNELS), pad=4)
    a, b, c = COPIES.thread(gA, sA), COPIES.thread(gB, sB), PRODUCTS.thread(sA, sB, gC)
    acc = make_fragment_like(c.C)
    clear(acc)
    for k in gpu.loop(size(gB, 2)):
        copy(a.source(_, _, k), a.target)
        copy(b.source(_, _, k), b.target)
        gpu.barrier()
        for kk in gpu.loop(CHANNELS):
            gemm(c.A(_, kk), c.B(_, kk), acc)
        gpu.barrier()
    copy(acc, c.C)


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
