"""Thirty kernels in which a loop carries a counter beside its own: bumped pointers, double buffers, cursors. All are
proven, and on the interpreter, which checks this run, they leave what NumPy computes."""

from collections.abc import Callable

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout
from cutepy.tensor import Tensor

Array = np.ndarray
rng = np.random.default_rng(0)


def numbers(*shape: int, most: int = 100) -> Array:
    return rng.integers(0, most, shape).astype(np.uint32)


# Bumped pointers.


def strided_copy(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    i = gpu.thread + 0
    for _k in gpu.loop(5):
        y[i] = x[i]
        i = i + 4


def grid_stride(x: Tensor, y: Tensor) -> None:
    gpu.launch(grid=3, threads=8)
    i = gpu.workgroup.x * 8 + gpu.thread
    while i < 100:
        y[i] = x[i] + 1
        i = i + 24


def two_pointers(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    source, target = gpu.thread + 0, gpu.thread * 4
    for _k in gpu.loop(4):
        y[target] = x[source]
        source, target = source + 8, target + 1


def backwards(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    i, j = gpu.thread + 0, 31 - gpu.thread
    for _k in gpu.loop(4):
        y[j] = x[i]
        i, j = i + 8, j - 8


def columns(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=16)
    at, total = gpu.thread + 0, gpu.constant(0, "u32")
    for _row in gpu.loop(8):
        total = total + x[at // 16, at % 16]
        at = at + 16
    y[gpu.thread] = total


def rows_of_a_matrix(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    total, at = gpu.constant(0, "u32"), gpu.thread * 16
    for _column in gpu.loop(16):
        total = total + gpu.load(x, (at // 16, at % 16))
        at = at + 1
    y[gpu.thread] = total


def transposed(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    source, target = gpu.thread * 8, gpu.thread + 0
    for _k in gpu.loop(8):
        y[target] = x[source]
        source, target = source + 1, target + 8


def nested(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    i = gpu.thread * 12
    for _a in gpu.loop(3):
        for _b in gpu.loop(4):
            y[i] = x[i] * 2
            i = i + 1


def carried_on(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    i = gpu.thread + 0
    for _a in gpu.loop(3):
        y[i] = x[i]
        i = i + 4
    for _b in gpu.loop(2):
        y[i] = x[i] + 1
        i = i + 4


def uneven_rows(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    i = gpu.thread * 8
    for _k in gpu.loop(gpu.thread + 1):
        y[i] = x[i]
        i = i + 1


def until_the_end(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    first, last = gpu.thread * 4, gpu.thread * 4 + 4
    while first != last:
        y[first] = x[first] + 3
        first = first + 1


def from_the_end(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    last = gpu.cast(gpu.thread * 4, "i32") + 3
    first = last - 3
    while last >= first:
        y[gpu.cast(last, "u32")] = x[gpu.cast(last, "u32")]
        last = last - 1


def dot_of_halves(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    a, b, total = gpu.thread * 4, gpu.thread * 4 + 16, gpu.constant(0, "u32")
    for _k in gpu.loop(4):
        total = total + x[a] * x[b]
        a, b = a + 1, b + 1
    y[gpu.thread] = total


def stencil_walk(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    at = gpu.thread * 8 + 1
    left, here = x[at - 1], x[at]
    for _k in gpu.loop(8):
        right = x[at + 1]
        y[at - 1] = left + here + right
        left, here, at = here, right, at + 1


def tiles_through_shared(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    tile, at, total = gpu.shared("u32", 8), gpu.thread + 0, gpu.constant(0, "u32")
    for _k in gpu.loop(4):
        tile[gpu.thread] = x[at]
        gpu.barrier()
        total = total + tile[7 - gpu.thread]
        gpu.barrier()
        at = at + 8
    y[gpu.thread] = total


def early_end(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    i, total = gpu.thread * 8, gpu.constant(0, "u32")
    for _k in gpu.loop(8):
        if x[i] > 90:
            break
        total = total + x[i]
        i = i + 1
    y[gpu.thread] = total


def compacted(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    count = gpu.constant(0, "u32")
    for k in gpu.loop(8):
        v = x[gpu.thread * 8 + k]
        if v < 50:
            y[gpu.thread * 8 + count] = v
            count = count + 1


def merged(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    base = gpu.thread * 8
    a, b = gpu.constant(0, "u32"), gpu.constant(0, "u32")
    for k in gpu.loop(8):
        one = gpu.load(x, base + a, where=a < 4, other=1000)
        two = gpu.load(x, base + 4 + b, where=b < 4, other=1000)
        y[base + k] = gpu.minimum(one, two)
        if one <= two:
            a = a + 1
        else:
            b = b + 1


def ring(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    slot = gpu.constant(0, "u32")
    history = gpu.shared("u32", Layout((4, 4), (4, 1)))
    for k in gpu.loop(8):
        history[gpu.thread, slot] = x[gpu.thread * 8 + k]
        y[gpu.thread * 8 + k] = history[gpu.thread, slot]
        slot = (slot + 1) % 4


# Double buffers.


def ping_pong(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=32)
    s, cur = gpu.shared("u32", Layout((2, 32), (32, 1))), gpu.constant(0, "u32")
    s[0, gpu.thread] = x[gpu.thread]
    gpu.barrier()
    for _k in gpu.loop(5):
        s[1 - cur, gpu.thread] = s[cur, gpu.thread] + 1
        gpu.barrier()
        cur = 1 - cur
    y[gpu.thread] = s[cur, gpu.thread]


def ping_pong_by_xor(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=32)
    s, cur = gpu.shared("u32", Layout((2, 32), (32, 1))), gpu.constant(0, "u32")
    s[0, gpu.thread] = x[gpu.thread]
    gpu.barrier()
    for _k in gpu.loop(4):
        s[cur ^ 1, gpu.thread] = s[cur, (gpu.thread + 1) % 32]
        gpu.barrier()
        cur = cur ^ 1
    y[gpu.thread] = s[cur, gpu.thread]


def two_names(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=16)
    s, old, new = gpu.shared("u32", 32), gpu.constant(0, "u32"), gpu.constant(16, "u32")
    s[gpu.thread] = x[gpu.thread]
    gpu.barrier()
    for _k in gpu.loop(6):
        s[new + gpu.thread] = s[old + (gpu.thread + 1) % 16]
        gpu.barrier()
        old, new = new, old
    y[gpu.thread] = s[old + gpu.thread]


def three_buffers(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    s, a, b = gpu.shared("u32", Layout((3, 8), (8, 1))), gpu.constant(0, "u32"), gpu.constant(1, "u32")
    s[0, gpu.thread] = x[gpu.thread]
    gpu.barrier()
    for _k in gpu.loop(6):
        s[b, gpu.thread] = s[a, 7 - gpu.thread] + 1
        gpu.barrier()
        a, b = b, (b + 1) % 3
    y[gpu.thread] = s[a, gpu.thread]


def scan(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=16)
    t, s, cur, reach = gpu.thread, gpu.shared("u32", Layout((2, 16), (16, 1))), gpu.constant(0, "u32"), 1
    s[0, t] = x[t]
    gpu.barrier()
    for k in gpu.loop(4):
        reach = gpu.constant(1, "u32") << k
        v = s[cur, t]
        if t >= reach:
            v = v + s[cur, t - reach]
        s[1 - cur, t] = v
        gpu.barrier()
        cur = 1 - cur
    y[t] = s[cur, t]


def prefetched(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    t, s, cur = gpu.thread, gpu.shared("u32", Layout((2, 8), (8, 1))), gpu.constant(0, "u32")
    total, at = gpu.constant(0, "u32"), t + 8
    s[0, t] = x[t]
    gpu.barrier()
    for _k in gpu.loop(3):
        s[1 - cur, t] = x[at]
        total = total + s[cur, 7 - t]
        gpu.barrier()
        at, cur = at + 8, 1 - cur
    y[t] = total + s[cur, 7 - t]


def jacobi(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=16)
    t, s, cur = gpu.thread, gpu.shared("u32", Layout((2, 18), (18, 1))), gpu.constant(0, "u32")
    s[0, t + 1], s[1, t + 1] = x[t], x[t]
    if t < 2:
        s[t, 0], s[t, 17] = 0, 0
    gpu.barrier()
    for _k in gpu.loop(3):
        s[1 - cur, t + 1] = s[cur, t] + s[cur, t + 2]
        gpu.barrier()
        cur = 1 - cur
    y[t] = s[cur, t + 1]


def a_flag_and_a_pointer(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    i, odd = gpu.thread * 6, gpu.constant(0, "u32")
    for _k in gpu.loop(6):
        y[i] = x[i] + odd
        i, odd = i + 1, 1 - odd


def halves_of_an_array(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    side = gpu.constant(16, "u32")
    for k in gpu.loop(4):
        y[side + gpu.thread + k // 2 * 8] = x[gpu.thread + k * 8]
        side = 16 - side


def alternating_ends(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=4)
    low, high = gpu.thread * 8, gpu.thread * 8 + 7
    while low < high:
        y[low] = x[high]
        y[high] = x[low]
        low, high = low + 1, high - 1


def by_while_and_flag(x: Tensor, y: Tensor) -> None:
    gpu.launch(threads=8)
    s, cur, k = gpu.shared("u32", Layout((2, 8), (8, 1))), gpu.constant(0, "u32"), gpu.thread * 0
    s[0, gpu.thread] = x[gpu.thread]
    gpu.barrier()
    for _turn in gpu.loop(3):
        s[1 - cur, (gpu.thread + 1) % 8] = s[cur, gpu.thread]
        gpu.barrier()
        cur, k = 1 - cur, k + 1
    y[gpu.thread] = s[cur, gpu.thread] + k


def stencil_of(x: Array) -> Array:
    return x[:-2] + x[1:-1] + x[2:]


def first_below(x: Array) -> Array:
    rows = x.reshape(4, 8)
    return np.array([row[: next((i for i, v in enumerate(row) if v > 90), 8)].sum() for row in rows])


def kept(x: Array) -> Array:
    rows = [[v for v in row if v < 50] for row in x.reshape(4, 8)]
    return np.array([row + [0] * (8 - len(row)) for row in rows]).ravel()


def rotated(x: Array, turns: int) -> Array:
    for _ in range(turns):
        x = x[::-1] + 1
    return x


def smoothed(x: Array) -> Array:
    for _ in range(3):
        padded = np.pad(x, 1)
        x = padded[:-2] + padded[2:]
    return x


X32, X64 = numbers(32), numbers(64)
SORTED = np.sort(numbers(4, 2, 4), axis=2)
STORIES: list[tuple[Callable[..., None], Array, Callable[[Array], Array]]] = [
    (strided_copy, numbers(20), lambda x: x),
    (grid_stride, numbers(100), lambda x: x + 1),
    (two_pointers, X32, lambda x: x.reshape(4, 8).T.ravel()),
    (backwards, X32, lambda x: x[::-1]),
    (columns, numbers(8, 16), lambda x: x.sum(axis=0)),
    (rows_of_a_matrix, numbers(8, 16), lambda x: x.sum(axis=1)),
    (transposed, X64, lambda x: x.reshape(8, 8).T.ravel()),
    (nested, numbers(48), lambda x: x * 2),
    (carried_on, numbers(20), lambda x: x + (np.arange(20) >= 12)),
    (uneven_rows, X64, lambda x: np.tril(x.reshape(8, 8)).ravel()),
    (until_the_end, X32, lambda x: x + 3),
    (from_the_end, X32, lambda x: x),
    (dot_of_halves, X32, lambda x: (x[:16] * x[16:]).reshape(4, 4).sum(axis=1)),
    (stencil_walk, numbers(34), stencil_of),
    (tiles_through_shared, X32, lambda x: x.reshape(4, 8).sum(axis=0)[::-1]),
    (early_end, X32, first_below),
    (compacted, X32, kept),
    (merged, SORTED.ravel(), lambda x: np.sort(x.reshape(4, 8), axis=1).ravel()),
    (ring, X32, lambda x: x),
    (ping_pong, X32, lambda x: x + 5),
    (ping_pong_by_xor, X32, lambda x: np.roll(x, -4)),
    (two_names, numbers(16), lambda x: np.roll(x, -6)),
    (three_buffers, numbers(8), lambda x: rotated(x, 6)),
    (scan, numbers(16), np.cumsum),
    (prefetched, X32, lambda x: x.reshape(4, 8).sum(axis=0)[::-1]),
    (jacobi, numbers(16), smoothed),
    (a_flag_and_a_pointer, numbers(48), lambda x: x + np.tile([0, 1], 24)),
    (halves_of_an_array, X32, lambda x: x.reshape(2, 2, 8).transpose(1, 0, 2)[::-1].ravel()),
    (alternating_ends, X32, lambda x: x.reshape(4, 8)[:, ::-1].ravel()),
    (by_while_and_flag, numbers(8), lambda x: np.roll(x, 3) + 3),
]


@pytest.mark.parametrize(("function", "x", "expected"), STORIES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_carried_counter_is_proven(
    function: Callable[..., None], x: Array, expected: Callable[[Array], Array]
) -> None:
    kernel: KernelFunction = gpu.kernel(function)
    wanted = expected(x.astype(np.int64))
    y = np.zeros(wanted.size, np.uint32)
    found = kernel.verify(x, y)
    assert found.ok, found
    kernel.interpret(x, y, check=True)
    np.testing.assert_array_equal(y, wanted.ravel())


def test_there_are_thirty() -> None:
    assert len(STORIES) == 30
