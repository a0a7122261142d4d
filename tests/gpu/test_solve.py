"""`gpu.shared(..., layout=gpu.solve)`: the layout of shared memory, found from what the kernel does with it."""

import random

import numpy as np
import pytest

from cutepy import Layout, ceil_div, composition, copy, gpu, local_partition, local_tile, make_tensor, universal_copy
from cutepy.errors import KernelError
from cutepy.tensor import make_tiled_copy_tv


@gpu.kernel
def turn(x, y, *, tile, threads):
    """y is x transposed, tile by tile."""
    rows, columns = tile
    gpu.launch(grid=(ceil_div(x.shape[1], columns), ceil_div(x.shape[0], rows)), threads=threads.size)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    staged = gpu.shared(x, tile, layout=gpu.solve)
    turned = composition(staged, Layout((columns, rows), (rows, 1)))
    copy(local_partition(local_tile(x, tile, (i, j)), threads), local_partition(staged, threads))
    gpu.barrier()
    back = Layout((threads.size // rows, rows), (rows, 1))
    copy(local_partition(turned, back), local_partition(local_tile(y, (columns, rows), (j, i)), back))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_a_transpose_is_free_of_conflicts(dtype: str) -> None:
    x = np.arange(100 * 70).reshape(100, 70).astype(dtype)
    y = np.zeros((70, 100), dtype)
    options = {"tile": (32, 32), "threads": Layout((8, 32), (32, 1))}
    turn.interpret(x, y, **options)
    np.testing.assert_array_equal(y, x.T)
    found = turn.report(x, y, **options)
    assert found.worst_conflict == 1
    assert turn.verify(x, y, **options).ok
    name = next(array.layout for array in found.arrays if array.name == "staged")
    assert f"staged {x.dtype.kind}{x.dtype.itemsize * 8} {name}, shared by a workgroup, found: free of conflicts" in (
        turn.wgsl(x, y, **options)
    )


def test_a_tile_that_is_no_power_of_two_is_swizzled_or_padded() -> None:
    x, y = np.arange(48.0 * 60).reshape(48, 60).astype("f4"), np.zeros((60, 48), "f4")
    options = {"tile": (24, 12), "threads": Layout((12, 12), (12, 1))}
    turn.interpret(x, y, **options)
    np.testing.assert_array_equal(y, x.T)
    text = turn.wgsl(x, y, **options)
    assert "found: a swizzle of an order of the modes, the first of fewest rounds" in text
    assert turn.report(x, y, **options).worst_conflict == 2 and turn.verify(x, y, **options).ok


@gpu.kernel
def staged_copy(x, y, *, tv, back, wide):
    gpu.launch(grid=1, threads=64)
    staged = gpu.shared(x, (32, 32), layout=gpu.solve)
    load, store = (make_tiled_copy_tv(universal_copy(wide), part, (32, 32)) for part in (tv, back))
    copy(load.partition_S(x, gpu.thread), load.partition_D(staged, gpu.thread))
    gpu.barrier()
    copy(store.partition_S(staged, gpu.thread), store.partition_D(y, gpu.thread))


def test_what_lies_side_by_side_is_taken_at_once() -> None:
    """Rows are read 4 bytes at a time, so the array is one of scalars, and 16 bytes are written as four stores."""
    x, y = (make_tensor(np.random.default_rng(0).random((32, 32), np.float32)) for _ in range(2))
    tv = Layout(((8, 8), (4, 4)), ((128, 1), (32, 8)))
    back = Layout(((32, 2), 16), ((32, 1), 2))
    staged_copy.interpret(x, y, tv=tv, back=back, wide=4)
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    found = staged_copy.report(x, y, tv=tv, back=back, wide=4)
    shared = [access for access in found.accesses if access.space == "workgroup"]
    assert found.worst_conflict == 1 and {(a.verb, a.width_bytes) for a in shared} == {("writes", 4), ("reads", 4)}


@pytest.mark.parametrize("seed", range(6))
def test_random_exchanges(seed: int) -> None:
    """Two orders of the bits of (thread, value): any such pair of one width has a layout free of conflicts."""
    rng = random.Random(seed)

    def part() -> Layout:
        steps = rng.sample([1 << bit for bit in range(10)], 10)
        return Layout(((2,) * 6, (2,) * 4), (tuple(steps[:6]), tuple(steps[6:])))

    x, y = (make_tensor(np.random.default_rng(seed).random((32, 32), np.float32)) for _ in range(2))
    options = {"tv": part(), "back": part(), "wide": 1}
    staged_copy.interpret(x, y, **options)
    np.testing.assert_array_equal(x.numpy(), y.numpy())
    found = staged_copy.report(x, y, **options)
    widths = {access.width_bytes for access in found.accesses if access.space == "workgroup"}
    assert found.worst_conflict == 1 or len(widths) > 1


@gpu.kernel
def two_products(A, B, C):
    gpu.launch(grid=1, threads=256)
    sA, sB = gpu.shared(A, (32, 32), layout=gpu.solve), gpu.shared(B, (32, 32), layout=gpu.solve)
    rows = Layout((8, 32), (32, 1))
    copy(local_partition(A, rows), local_partition(sA, rows))
    copy(local_partition(B, rows), local_partition(sB, rows))
    gpu.barrier()
    row = gpu.thread % 32
    for part in gpu.unroll(4):
        column = gpu.thread // 32 + 8 * part
        total = gpu.constant(0.0, "f32")
        for k in gpu.loop(32):
            total = total + sA[row, k] * sB[k, column]
        C[row, column] = total


def test_two_arrays_and_a_loop() -> None:
    A, B = (np.random.default_rng(seed).random((32, 32), np.float32) for seed in (0, 1))
    C = np.zeros((32, 32), np.float32)
    two_products.interpret(A, B, C)
    np.testing.assert_allclose(C, A @ B, rtol=1e-5)
    assert two_products.report(A, B, C).worst_conflict == 1


@gpu.kernel
def tree(x, out):
    gpu.launch(grid=1, threads=64)
    scratch, thread = gpu.shared(x, 64, layout=gpu.solve), gpu.thread
    scratch[thread] = x[thread]
    gpu.barrier()
    for step in (32, 16, 8, 4, 2, 1):
        with gpu.when(thread < step):
            scratch[thread] = scratch[thread] + scratch[thread + step]
        gpu.barrier()
    with gpu.when(thread == 0):
        out[0] = scratch[0]


def test_an_access_by_the_first_threads_alone() -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    tree.interpret(x, out)
    assert out[0] == x.sum() and tree.report(x, out).worst_conflict == 1


@gpu.kernel
def by_data(x, y):
    gpu.launch(grid=1, threads=32)
    bins = gpu.shared("u32", 32, layout=gpu.solve)
    bins[gpu.thread] = 0
    gpu.barrier()
    bins[x[gpu.thread]] = 1
    gpu.barrier()
    y[gpu.thread] = bins[gpu.thread]


@gpu.kernel
def bent(x, y):
    gpu.launch(grid=1, threads=32)
    staged = gpu.shared(x, 1024, layout=gpu.solve)
    staged[gpu.thread * gpu.thread] = x[gpu.thread]
    gpu.barrier()
    y[gpu.thread] = staged[gpu.thread * gpu.thread]


@gpu.kernel
def beyond(x, y):
    gpu.launch(grid=1, threads=32)
    staged = gpu.shared(x, 32, layout=gpu.solve)
    staged[gpu.thread + 1] = x[gpu.thread]
    gpu.barrier()
    y[gpu.thread] = staged[gpu.thread]


@gpu.kernel
def padded(x, y):
    gpu.launch(grid=1, threads=32)
    gpu.shared(x, (4, 8), pad=1, layout=gpu.solve)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (by_data, "test_solve.py:.*bins.*whose place data decide"),
        (bent, "no layout of .thread, value."),
        (beyond, "leads out of its 32 elements"),
        (padded, "without pad; a layout goes in the place of the shape"),
    ],
)
def test_what_cannot_be_found_says_why(kernel, words: str) -> None:
    x = np.arange(32, dtype=np.uint32)
    with pytest.raises(KernelError, match=words):
        kernel.ir(x, x.copy())


@gpu.kernel
def unused(x, y):
    gpu.launch(grid=1, threads=32)
    gpu.shared(x, (4, 8), layout=gpu.solve)
    y[gpu.thread] = x[gpu.thread]


def test_an_array_that_nobody_uses_has_any_layout() -> None:
    x = np.arange(32, dtype=np.float32)
    assert not [b for b in unused.ir(x, x.copy()).local if b.space == "workgroup"]
