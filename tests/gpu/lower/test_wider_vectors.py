"""A shared array over vectors of which one element is set: the vector is stored, where no other thread touches it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tint import verdict

from cutepy import copy, gpu, local_tile, make_tensor
from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import could_be_wider, lower
from cutepy.gpu.targets.interpreter import interpret

THREADS, LENGTH = 8, 32
VECTORS = "array<vec4<f32>, 8>"
Guard = int | None
X = np.arange(LENGTH, dtype=np.float32)


def kernel_of(guard: Guard, step: int, first: int, reads: int | None) -> gpu.KernelFunction:
    """Threads, or one, set element `step * thread + first` between barriers, where they may read vector `reads` on."""

    def stores(x, y):
        gpu.launch(grid=1, threads=THREADS)
        tile, part = gpu.shared("f32", LENGTH), make_tensor("f32", 4)
        copy(local_tile(x, 4, gpu.thread), local_tile(tile, 4, gpu.thread))
        gpu.barrier()
        if guard is None:
            tile[step * gpu.thread + first] = -1.0
        elif gpu.thread == guard:
            tile[step * gpu.thread + first] = -1.0
        if reads is not None:
            copy(local_tile(tile, 4, (gpu.thread + reads) % THREADS), part)
            copy(part, local_tile(y, 4, gpu.thread))
        gpu.barrier()
        copy(local_tile(tile, 4, THREADS - 1 - gpu.thread), part)
        for i in range(4):
            y[4 * gpu.thread + i] += part[i]

    return gpu.kernel(stores)


def meets(guard: Guard, step: int, first: int, reads: int | None) -> bool:
    """By trying all pairs: whether one thread touches the vector of which another sets an element meanwhile."""
    setting = {t: (step * t + first) // 4 for t in range(THREADS) if guard in (None, t)}
    touched = list(setting.items())
    touched += [(t, (t + reads) % THREADS) for t in range(THREADS) if reads is not None]
    return any(t != u and v == w for (t, v), (u, w) in product(setting.items(), touched))


CASES = [
    (guard, step, first, reads)
    for guard, step, first, reads in product((None, 0, 5), (0, 1, 2, 3, 4), (0, 2, 3), (None, 0, 1))
    if all(step * t + first < LENGTH for t in range(THREADS))
]


@pytest.mark.parametrize(("guard", "step", "first", "reads"), CASES)
def test_vectors_stay_exactly_where_no_other_thread_touches_them(
    guard: Guard, step: int, first: int, reads: int | None
) -> None:
    kernel, y = kernel_of(guard, step, first, reads), np.zeros(LENGTH, np.float32)
    text = kernel.wgsl(X, y, dialect="tint")
    wide = not meets(guard, step, first, reads) and (guard is not None or step % 4 == 0)
    assert (VECTORS in text) is wide
    assert verdict(text) == []
    # The text is proven as it is printed: no better and no worse than the kernel over single elements.
    plain = kernel.ir(X, y)
    with new_arena():
        widened = replace(plain, widened=could_be_wider(plain))
        if wide:
            results = [np.zeros(LENGTH, np.float32) for _ in range(3)]
            kernel.interpret(X, results[0])
            for form, result in zip((plain, widened), results[1:], strict=True):
                interpret(lower(form), [X, result], {})
            assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
            assert kernel.verify(X, y).ok


def test_both_answers_are_met() -> None:
    wide = [not meets(*case) and (case[0] is not None or case[1] % 4 == 0) for case in CASES]
    assert 20 < sum(wide) < len(CASES) - 20


def scattered(x, y):
    """Elements that other threads set beside one's own."""
    gpu.launch(grid=1, threads=THREADS)
    tile, part = gpu.shared("f32", LENGTH), make_tensor("f32", 4)
    for j in range(4):
        tile[gpu.thread + THREADS * j] = x[gpu.thread + THREADS * j]
    gpu.barrier()
    copy(local_tile(tile, 4, gpu.thread), part)
    copy(part, local_tile(y, 4, gpu.thread))


def unwritten(x, y):
    """A vector of which three elements are never written: it is not loaded."""
    gpu.launch(grid=1, threads=THREADS - 1)
    tile, part = gpu.shared("f32", LENGTH), make_tensor("f32", 4)
    copy(local_tile(x, 4, gpu.thread), local_tile(tile, 4, gpu.thread))
    if gpu.thread == 0:
        tile[LENGTH - 4] = 1.0
    gpu.barrier()
    copy(local_tile(tile, 4, gpu.thread), part)
    copy(part, local_tile(y, 4, gpu.thread))
    if gpu.thread == 1:
        y[LENGTH - 4] = tile[LENGTH - 4]


def counted(x, y):
    """An atomic array has single elements."""
    gpu.launch(grid=1, threads=THREADS)
    tile = gpu.shared("u32", LENGTH)
    tile[4 * gpu.thread] = 0
    gpu.barrier()
    gpu.atomic_add(tile, 4 * gpu.thread, 1)
    gpu.barrier()
    y[gpu.thread] = x[gpu.thread] + gpu.cast(tile[4 * gpu.thread], "f32")


@pytest.mark.parametrize("function", [scattered, unwritten, counted])
def test_what_stays_single(function: Callable[..., None]) -> None:
    kernel, y = gpu.kernel(function), np.zeros(LENGTH, np.float32)
    assert "array<vec4<f32>, 8>;  // 32" not in kernel.wgsl(X, y).partition("var<workgroup>")[2].partition("\n")[0]
    assert kernel.verify(X, y).ok
