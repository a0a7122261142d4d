"""Fourier transforms of 256 points: four points a thread, four rounds of 4-point transforms (Stockham's order).

Complex numbers are pairs of floats in memory and a Python class in the kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from example import Example, main

from cutepy import Layout, _, copy, gpu, make_fragment_like, make_tensor

POINTS = 256


@dataclass(frozen=True)
class Complex:
    """A complex number of two values of a kernel."""

    re: Any
    im: Any

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other):
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @classmethod
    def at(cls, pair):
        """The number in a tensor of two elements, read at once."""
        both = make_fragment_like(pair)
        copy(pair, both)
        return cls(both[0], both[1])

    def put(self, pair):
        """Store the number, at once."""
        both = make_fragment_like(pair)
        both[0], both[1] = self.re, self.im
        copy(both, pair)

    @property
    def turned(self):
        """A quarter turn clockwise: times -i."""
        return Complex(self.im, -self.re)


@gpu.kernel
def fft(x, roots, y, *, layout=None):  # (points, (re, im), signals); the roots are (points, (re, im))
    gpu.launch(grid=x.shape[2], threads=POINTS // 4)
    thread, signal = gpu.thread, gpu.workgroup.x
    source = x(_, _, signal)
    tile = gpu.shared("f32", (POINTS, 2), layout=layout)
    done = 1  # points of each transform that is finished
    while done < POINTS:
        first = Layout((done, POINTS // 4 // done), (1, 4 * done))(thread)  # where its results go
        step = thread % done * (POINTS // 4 // done)
        a, b, c, d = (Complex.at(source(thread + i * POINTS // 4, _)) for i in range(4))
        if done > 1:
            b, c, d = (p * Complex.at(roots(i * step, _)) for i, p in enumerate((b, c, d), 1))
        even, odd, other = a + c, b + d, (b - d).turned
        target = y(_, _, signal) if 4 * done == POINTS else tile
        gpu.barrier()
        for i, p in enumerate((even + odd, a - c + other, even - odd, a - c - other)):
            p.put(target(first + i * done, _))
        gpu.barrier()
        source, done = tile, 4 * done


def pairs(values: np.ndarray):
    """A complex array (signals, points) as a tensor of floats (points, 2, signals)."""
    signals, points = values.shape
    return make_tensor(values.view(np.float32), Layout((points, 2, signals), (2, 1, 2 * points)))


def example(signals: int = 50) -> Example:
    """Any number of signals of 256 points."""
    g = np.random.default_rng(0)
    x = (g.standard_normal((signals, POINTS)) + 1j * g.standard_normal((signals, POINTS))).astype(np.complex64)
    roots = np.exp(-2j * np.pi * np.arange(POINTS) / POINTS).astype(np.complex64).view(np.float32).reshape(POINTS, 2)
    y = pairs(np.zeros_like(x))
    wanted = np.fft.fft(x.astype(np.complex128))
    return Example(fft, (pairs(x), roots, y), np.stack([wanted.real, wanted.imag]).transpose(2, 0, 1), tolerance=1e-6)


if __name__ == "__main__":
    main(example())
