"""Fourier transforms of 256 points: four points a thread, four rounds of 4-point transforms (Stockham's order)."""

import numpy as np
from example import Example, main

from cutepy import Layout, gpu, size

POINTS = 256


@gpu.kernel
def fft(x, roots, y, *, layout=None):  # (points, signals) of complex numbers; the roots are (points)
    gpu.launch(grid=size(x, 1), threads=POINTS // 4)
    thread, signal = gpu.thread, gpu.workgroup.x
    tile = gpu.shared("f32", (POINTS, 2), layout=layout)  # the real parts, the imaginary ones
    done = 1  # points of each transform that is finished
    while done < POINTS:
        first = Layout((done, POINTS // 4 // done), (1, 4 * done))(thread)  # where its results go
        step = thread % done * (POINTS // 4 // done)
        places = [thread + i * POINTS // 4 for i in range(4)]
        if done == 1:
            a, b, c, d = (x[at, signal] for at in places)
        else:
            a, b, c, d = (gpu.Complex(tile[at, 0], tile[at, 1]) for at in places)
            b, c, d = (p * roots[i * step] for i, p in enumerate((b, c, d), 1))
        even, odd, other = a + c, b + d, gpu.Complex(b.imag - d.imag, d.real - b.real)  # a quarter turn of b - d
        gpu.barrier()
        for i, p in enumerate((even + odd, a - c + other, even - odd, a - c - other)):
            if 4 * done == POINTS:
                y[first + i * done, signal] = p
            else:
                tile[first + i * done, 0], tile[first + i * done, 1] = p.real, p.imag
        gpu.barrier()
        done = 4 * done


def example(signals: int = 50) -> Example:
    """Any number of signals of 256 points."""
    g = np.random.default_rng(0)
    x = (g.standard_normal((POINTS, signals)) + 1j * g.standard_normal((POINTS, signals))).astype(np.complex64, "F")
    roots = np.exp(-2j * np.pi * np.arange(POINTS) / POINTS).astype(np.complex64)
    return Example(fft, (x, roots, np.zeros_like(x)), np.fft.fft(x.astype(np.complex128), axis=0), tolerance=1e-6)


if __name__ == "__main__":
    main(example())
