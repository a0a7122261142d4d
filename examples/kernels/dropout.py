"""Dropout by the random bits of Philox 4x32-10: made from a seed and a place, and made again in the backward pass.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

import numpy as np
from example import Example, main

from cutepy import Layout, ceil_div, copy, gpu, local_tile, make_fragment_like, make_tiled_copy, size
from cutepy.tensor import u32, universal_copy

COPIES = make_tiled_copy(universal_copy(4), Layout(256), Layout(4))
MULTIPLIERS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def philox(counter, key, mulhi):
    """Four random words of a counter of four and a key of two."""
    a, b, c, d = counter
    for turn in range(10):
        k0, k1 = ((word + turn * step) & 0xFFFFFFFF for word, step in zip(key, STEPS, strict=True))
        m, n = MULTIPLIERS
        a, b, c, d = mulhi(c, n) ^ b ^ k0, c * n & 0xFFFFFFFF, mulhi(a, m) ^ d ^ k1, a * m & 0xFFFFFFFF
    return a, b, c, d


@gpu.kernel
def dropout(x, y, seed: u32, *, keep):
    gpu.launch(grid=ceil_div(size(x), 1024), threads=COPIES.threads)
    tile = gpu.workgroup.x
    part = COPIES.thread(local_tile(x, 1024, tile), local_tile(y, 1024, tile))
    values = make_fragment_like(part.source)
    copy(part.source, values)
    words = philox((tile * 256 + gpu.thread, 0, 0, 0), (seed, 0), gpu.mulhi)
    for i, word in enumerate(words):
        values[i] = gpu.select(word < int(keep * 2**32), values[i] / keep, 0.0)
    copy(values, part.target)


def example(n: int = 100_003, seed: int = 7, keep: float = 0.8) -> Example:
    """A vector of any length."""
    x = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    words = philox((np.arange(ceil_div(n, 4), dtype=object), 0, 0, 0), (seed, 0), lambda a, b: a * b >> 32)
    kept = np.stack(words, 1).ravel()[:n] < int(keep * 2**32)
    return Example(dropout, (x, np.zeros_like(x), seed), np.where(kept, x / keep, 0), {"keep": keep})


if __name__ == "__main__":
    main(example())
