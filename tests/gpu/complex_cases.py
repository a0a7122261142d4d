"""Kernels over complex numbers, with what NumPy gives for them."""

from collections.abc import Callable

import numpy as np

from cutepy import copy, fill, gpu, local_tile, make_fragment_like, make_tensor, size, transform

COUNT = 61


def one(test: object) -> object:
    """1 where it holds, in a kernel and in NumPy."""
    return np.where(test, 1.0, 0.0) if isinstance(test, np.ndarray) else gpu.select(test, 1.0, 0.0)


def chosen(test: object, then: object, other: object) -> object:
    """One or the other, in a kernel and in NumPy."""
    return (np.where if isinstance(test, np.ndarray) else gpu.select)(test, then, other)


OPERATIONS: dict[str, Callable] = {
    "a + b": lambda a, b: a + b,
    "a - b": lambda a, b: a - b,
    "a * b": lambda a, b: a * b,
    "-a": lambda a, b: -a,
    "conj": lambda a, b: a.conj() * b,
    "parts": lambda a, b: a.real * b + a.imag,
    "a real quotient": lambda a, b: a / (b.real * b.real + 1.0),
    "quotient": lambda a, b: a / b - 1j / b + b / (2 - 1j) + 1 / a,
    "chosen": lambda a, b: (
        chosen(a.real > b.imag, a * b, b) + chosen(b.real > 0.0, 2.5, a) + chosen(a.imag < 0.0, b, 1j)
    ),
    "numbers on the left": lambda a, b: 2.0 - (1.5 + 2j * a) + 3 * b,
    "numbers of NumPy": lambda a, b: a * np.complex64(1 - 2j) + b * np.float32(0.5),
    "equal": lambda a, b: one(a == a) + 2 * one(a != b) + 4 * one(a == b),
    "abs": lambda a, b: b * abs(a),
}


def elementwise(operation: Callable) -> gpu.KernelFunction:
    """y[i] = operation(a[i], b[i])."""

    @gpu.kernel
    def each(a, b, y):
        gpu.launch(threads=size(y))
        y[gpu.thread] = operation(a[gpu.thread], b[gpu.thread])

    return each


@gpu.kernel
def carried(a, b, y):
    """Through a branch, a loop that is left, a choice, shared memory and registers."""
    gpu.launch(threads=COUNT)
    i = gpu.thread
    z = a[i]
    if z.real > 0.0:
        z = z * b[i]
    for _turn in gpu.loop(4):
        z = z * 0.5j + b[i]
        if abs(z) > 2.0:
            break
    shared = gpu.shared(a, COUNT)
    shared[i] = z if z.imag > 0.0 else -z
    gpu.barrier()
    kept = make_tensor("complex64", 2)
    fill(kept, shared[COUNT - 1 - i])
    kept[1] = kept[0].conj()
    y[i] = kept[0] * a[i] + kept[1]


def carried_in_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    z = np.where(a.real > 0, a * b, a)
    left = np.zeros(len(a), bool)
    for _turn in range(4):
        z = np.where(left, z, z * 0.5j + b)
        left |= np.abs(z) > 2
    kept = np.where(z.imag > 0, z, -z)[::-1]
    return kept * a + kept.conj()


@gpu.kernel
def masked(a, b, y):
    """The elements before and after, where there are any."""
    gpu.launch(threads=COUNT)
    i = gpu.thread
    y[i] = gpu.load(a, i - 1, where=i > 0) * b[i] + gpu.load(a, i + 1, where=i + 1 < size(a), other=2 - 1j)


def masked_in_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], a[:-1]]) * b + np.concatenate([a[1:], [2 - 1j]])


@gpu.kernel
def tiles(a, b, y):
    """y = a * a - 1, two of a tile a thread, whose edge is guarded; then b, by a copy."""
    gpu.launch(grid=2, threads=16)
    mine = [local_tile(local_tile(t, 32, gpu.workgroup.x), 2, gpu.thread) for t in (a, b, y)]
    values, others = make_fragment_like(mine[0]), make_fragment_like(mine[1])
    copy(mine[0], values)
    copy(mine[1], others)
    transform(values, others, values, op=lambda v, w: v * v - 1 + w)
    copy(values, mine[2])


CASES = [(elementwise(operation), operation) for operation in OPERATIONS.values()]
CASES += [(carried, carried_in_numpy), (masked, masked_in_numpy), (tiles, lambda a, b: a * a - 1 + b)]
NAMES = [*OPERATIONS, "carried", "masked", "tiles"]


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a and b, and room for the result."""
    g = np.random.default_rng(3)
    a, b = ((g.standard_normal(COUNT) + 1j * g.standard_normal(COUNT)).astype(np.complex64) for _operand in "ab")
    return a, b, np.zeros(COUNT, np.complex64)
