"""Kernels in the tracing language, for tests on the interpreter and on devices, with inputs and what they must give."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cutepy import gpu
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, Swizzle, _, composition, make_composed_layout, size
from cutepy.tensor import make_fragment_like, make_tensor
from cutepy.tensor.algorithms import axpby, clear, copy, fill, reduce_tree, transform
from cutepy.tensor.partition import local_partition, local_tile, thread_value_partition


@dataclass
class Case:
    kernel: KernelFunction
    arguments: tuple[object, ...]
    expected: tuple[np.ndarray, ...]
    static: dict[str, object] = field(default_factory=dict)
    rtol: float = 2e-6

    @property
    def arrays(self) -> list[np.ndarray]:
        return [a for a in self.arguments if isinstance(a, np.ndarray)]

    def check(self) -> None:
        for array, wanted in zip(self.arrays, self.expected, strict=True):
            np.testing.assert_allclose(array, wanted, rtol=self.rtol, atol=1e-6)


@gpu.kernel
def saxpy(a, x, y):
    gpu.launch(grid=-(-size(x) // 256), threads=64)
    owned = Layout((64, 4), (4, 1))
    mine = [thread_value_partition(local_tile(t, (256,), (gpu.workgroup.x,)), owned) for t in (x, y)]
    axpby(a, mine[0], 1, mine[1])


@gpu.kernel
def transpose(x, y, *, swizzled):
    """Through a tile of shared memory whose columns a swizzle spreads over the banks."""
    gpu.launch(grid=(-(-size(x, 1) // 32), -(-size(x, 0) // 32)), threads=256)
    i, j = gpu.workgroup.y, gpu.workgroup.x
    plain = Layout((32, 32), (32, 1))
    tile = gpu.shared(x, make_composed_layout(Swizzle(5, 0, 5), 0, plain) if swizzled else plain)
    source = local_tile(x, (32, 32), (i, j))
    target = local_tile(y, (32, 32), (j, i))
    along_rows = Layout((8, 32), (32, 1))
    copy(local_partition(source, along_rows), local_partition(tile, along_rows))
    gpu.barrier()
    turned = composition(tile, Layout((32, 32), (32, 1)))
    copy(local_partition(turned, along_rows), local_partition(target, along_rows))


@gpu.kernel
def histogram(x, counts):
    gpu.launch(grid=-(-size(x) // 256), threads=64)
    bins = size(counts)
    local, tid = gpu.shared("u32", bins), gpu.thread
    for b in gpu.loop(bins, start=tid, step=64):
        local[b] = 0
    gpu.barrier()
    mine = local_partition(local_tile(x, (256,), (gpu.workgroup.x,)), Layout(64))
    for i in gpu.unroll(size(mine)):
        with gpu.when(gpu.workgroup.x * 256 + tid + 64 * i < size(x)):
            gpu.atomic_add(local, mine[i] % bins, 1)
    gpu.barrier()
    for b in gpu.loop(bins, start=tid, step=64):
        gpu.atomic_add(counts, b, local[b])


@gpu.kernel
def softmax_rows(x, y):
    """A workgroup a row: the row stays in registers."""
    rows, columns = x.shape
    gpu.launch(grid=rows, threads=64)
    row, tid = gpu.workgroup.x, gpu.thread
    partial = gpu.shared("f32", 64)

    def combined(value, op):
        partial[tid] = value
        half = 32
        while half:
            gpu.barrier()
            with gpu.when(tid < half):
                partial[tid] = op(partial[tid], partial[tid + half])
            half //= 2
        gpu.barrier()
        result = partial[0]
        gpu.barrier()
        return result

    source = local_partition(local_tile(x, (1, columns), (row, 0))(0, _), Layout(64))
    target = local_partition(local_tile(y, (1, columns), (row, 0))(0, _), Layout(64))
    mine = make_fragment_like(source)
    fill(mine, -1e30)
    for i in gpu.unroll(size(mine)):
        with gpu.when(tid + 64 * i < columns):
            mine[i] = source[i]
    largest = combined(reduce_tree(mine, -1e30, gpu.maximum), gpu.maximum)
    transform(mine, op=lambda v: gpu.exp(v - largest))
    total = combined(reduce_tree(mine, 0, lambda a, b: a + b), lambda a, b: a + b)
    transform(mine, op=lambda v: v / total)
    copy(mine, target)


@gpu.kernel
def scaled(x, y, *, factor, rolled):
    """Rolled and unrolled loops over a fragment, a dynamic index into registers, integers and conversions."""
    gpu.launch(grid=1, threads=32)
    tid = gpu.thread
    mine = make_tensor("f32", 4)
    for i in gpu.loop(4) if rolled else gpu.unroll(4):
        mine[i] = x[tid * 4 + i] * factor
    total = make_tensor("f32", 1)
    clear(total)
    for i in gpu.loop(tid % 4 + 1):
        total[0] = total[0] + mine[i]
    y[tid] = total[0] + gpu.cast(gpu.cast(tid, "i32") - 16, "f32")


@gpu.kernel
def decoded(codes, y, *, levels):
    """Numbers of one table by 4-bit codes, stored in the order of another."""
    gpu.launch(grid=-(-size(codes) // 64), threads=64)
    at, order = gpu.workgroup.x * 64 + gpu.thread, (1, 0, 3, 2)
    if at < size(codes):
        y[at // 4 * 4 + order[at % 4]] = levels[codes[at] & 15]


@gpu.kernel
def lanes(x, y):
    gpu.launch(grid=1, threads=64)
    tid = gpu.thread
    value = x[tid]
    y[tid, 0] = gpu.subgroup_add(value)
    y[tid, 1] = gpu.subgroup_shuffle_xor(value, 1)
    y[tid, 2] = gpu.cast(gpu.subgroup_size - gpu.lane, "f32")


def cases() -> dict[str, Callable[[], Case]]:
    g = np.random.default_rng(5)

    def saxpy_case(n: int = 1000, step: int = 1) -> Case:
        x, y = g.random(n * abs(step), dtype=np.float32)[::step], g.random(n, dtype=np.float32)
        return Case(saxpy, (2.5, x, y), (x.copy(), np.float32(2.5) * x + y))

    def half() -> Case:
        x, y = (g.random(300).astype(np.float16) for _ in range(2))
        wanted = (np.float32(2.0) * x + y.astype(np.float32)).astype(np.float16)
        return Case(saxpy, (2.0, x, y), (x.copy(), wanted), rtol=1e-3)

    def integers() -> Case:
        x, y = (g.integers(-1000, 1000, 500).astype(np.int32) for _ in range(2))
        return Case(saxpy, (-3, x, y), (x.copy(), -3 * x + y))

    def transpose_case(swizzled: bool, shape: tuple[int, int] = (64, 96)) -> Case:
        x, y = g.random(shape, dtype=np.float32), np.zeros(shape[::-1], np.float32)
        return Case(transpose, (x, y), (x.copy(), x.T.copy()), {"swizzled": swizzled})

    def histogram_case() -> Case:
        x = g.integers(0, 1 << 20, 1000).astype(np.uint32)
        return Case(histogram, (x, np.zeros(100, np.uint32)), (x.copy(), np.bincount(x % 100, minlength=100)))

    def softmax_case() -> Case:
        x = (10 * g.standard_normal((7, 150))).astype(np.float32)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        return Case(softmax_rows, (x, np.zeros_like(x)), (x.copy(), e / e.sum(1, keepdims=True)), rtol=2e-5)

    def scaled_case(rolled: bool) -> Case:
        x = g.random(128, dtype=np.float32)
        rows = x.reshape(32, 4) * np.float32(1.5)
        wanted = [rows[t, : t % 4 + 1].sum() + t - 16 for t in range(32)]
        static = {"factor": 1.5, "rolled": rolled}
        return Case(scaled, (x, np.zeros(32, np.float32)), (x.copy(), np.float32(wanted)), static, rtol=1e-5)

    def decoded_case() -> Case:
        codes, levels = g.integers(0, 1 << 32, 100, np.uint32), g.standard_normal(16)
        wanted = levels[codes & 15].reshape(25, 4)[:, [1, 0, 3, 2]].ravel()
        return Case(decoded, (codes, np.zeros(100, np.float32)), (codes.copy(), wanted), {"levels": tuple(levels)})

    return {
        "saxpy": saxpy_case,
        "saxpy whole": lambda: saxpy_case(1024),
        "saxpy strided": lambda: saxpy_case(301, 3),
        "saxpy backwards": lambda: saxpy_case(301, -1),
        "saxpy f16": half,
        "saxpy i32": integers,
        "transpose": lambda: transpose_case(False),
        "transpose swizzled": lambda: transpose_case(True),
        "transpose guarded": lambda: transpose_case(True, (45, 70)),
        "histogram": histogram_case,
        "softmax": softmax_case,
        "scaled rolled": lambda: scaled_case(True),
        "scaled unrolled": lambda: scaled_case(False),
        "decoded": decoded_case,
    }
