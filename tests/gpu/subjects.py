"""Correct kernels, drawn by seed: twelve families, each with its layouts, sizes, orders of storage and plans."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import example_cases
import numpy as np
import traced

from cutepy import gpu
from cutepy.gpu.ir import Buffer, Kernel
from cutepy.gpu.language.folds import Fold
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.matmul.plan import Plan
from cutepy.gpu.operations.fold import FoldPlan, fold_kernel
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.trace.call import bind_call, run_on_host
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.layout import Layout, ceil_div, size
from cutepy.tensor import copy, f32, make_layout_tv, thread_value_partition
from cutepy.tensor.partition import local_tile


@dataclass
class Subject:
    """A kernel with arguments; `fresh()` are the arguments as they were."""

    name: str
    function: KernelFunction
    arguments: tuple[object, ...]
    static: dict[str, object] = field(default_factory=dict)

    def run(self, kernel: Kernel | None = None) -> list[np.ndarray]:
        """The arrays after the kernel, or after another one in its place."""
        arguments = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments)
        own, copied = (
            bind_call(self.function.captures, self.function.signature, given, self.static)
            for given in (self.arguments, arguments)
        )
        chosen = kernel if kernel is not None else self.kernel()
        run_on_host(copied, lambda arrays, _: interpret(chosen, arrays, own.params))
        return [np.asarray(a) for a in arguments if isinstance(a, np.ndarray)]

    def kernel(self) -> Kernel:
        return self.function.ir(*self.arguments, **self.static)

    def data(self, kernel: Kernel) -> dict[Buffer, list[int]]:
        """What the integer bindings hold that are only read."""
        call = bind_call(self.function.captures, self.function.signature, self.arguments, self.static)
        pairs = zip(kernel.buffers, call.engines, strict=True)
        return {b: e.memory.tolist() for b, e in pairs if b.dtype.kind in "iu"}  # type: ignore[union-attr]


@gpu.kernel
def tv_copy(x, y, *, tile, source, target):
    """A copy tile by tile: each thread reads its elements by one thread-value layout and writes them by another."""
    gpu.launch(grid=(ceil_div(size(x, 0), tile[0]), ceil_div(size(x, 1), tile[1])), threads=size(source, 0))
    at = gpu.workgroup.x, gpu.workgroup.y
    mine = [thread_value_partition(local_tile(t, tile, at), tv) for t, tv in ((x, source), (y, target))]
    copy(mine[0], mine[1])


@gpu.kernel
def staged_copy(x, y, *, tile, shared, put, take):
    """The same through workgroup memory of any layout."""
    gpu.launch(grid=(ceil_div(size(x, 0), tile[0]), ceil_div(size(x, 1), tile[1])), threads=size(put, 0))
    at = gpu.workgroup.x, gpu.workgroup.y
    stage = gpu.shared(x, shared)
    copy(thread_value_partition(local_tile(x, tile, at), put), thread_value_partition(stage, put))
    gpu.barrier()
    copy(thread_value_partition(stage, take), thread_value_partition(local_tile(y, tile, at), take))


def draw_subject(pick: random.Random) -> Subject:
    """A correct kernel, drawn: one of twelve families with its layouts and sizes."""
    family = pick.choice(FAMILIES)
    return family(pick)


def _matrix(pick: random.Random, shape: tuple[int, int], dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(pick.randrange(1 << 30)).integers(0, 100, shape).astype(dtype)
    return values.copy(order=pick.choice("CF"))


def _vector(pick: random.Random, n: int, dtype: str = "float32") -> np.ndarray:
    step = pick.choice([1, 1, 2, -1])
    return np.random.default_rng(pick.randrange(1 << 30)).integers(0, 100, n * abs(step)).astype(dtype)[::step]


def _tv(pick: random.Random) -> tuple[tuple[int, ...], Layout]:
    """A tile and a thread-value layout that covers it."""
    tm, tn, vm, vn = (pick.choice([2, 4, 8]), pick.choice([2, 4, 8]), pick.choice([1, 2, 4]), pick.choice([1, 2, 4]))
    threads = Layout((tm, tn)) if pick.random() < 0.5 else Layout((tm, tn), (tn, 1))
    values = Layout((vm, vn)) if pick.random() < 0.5 else Layout((vm, vn), (vn, 1))
    return make_layout_tv(threads, values)


def _saxpy(pick: random.Random) -> Subject:
    n = pick.randint(100, 900)
    kernel = pick.choice([traced.saxpy, example_cases.make("saxpy", "uneven").kernel])
    return Subject("saxpy", kernel, (2.5, _vector(pick, n), _vector(pick, n)[:n].copy()))


def _transpose(pick: random.Random) -> Subject:
    shape = pick.randint(20, 80), pick.randint(20, 80)
    x = _matrix(pick, shape)
    swizzled = pick.random() < 0.5
    return Subject("transpose", traced.transpose, (x, np.zeros(shape[::-1], x.dtype)), {"swizzled": swizzled})


def _matmul(pick: random.Random) -> Subject:
    m, n, k = pick.randint(8, 70), pick.randint(8, 70), pick.randint(4, 40)
    stages = pick.choice([1, 2])
    plan = pick.choice([Plan((32, 32, 8), (8, 8), stages=stages), Plan((16, 32, 4), (4, 8), stages=stages)])
    return Subject(
        "matmul",
        matmul_kernel,
        (_matrix(pick, (m, k)), _matrix(pick, (n, k)), np.zeros((m, n), np.float32)),
        {"plan": plan},
    )


def _example_matmul(pick: random.Random) -> Subject:
    example = example_cases.make("matmul", pick.choice(["whole tiles", "uneven", "Fortran order"]))
    return Subject("matmul with functions", example.kernel, example.arguments, example.static)


def _reduction(pick: random.Random) -> Subject:
    threads, values = pick.choice([32, 64]), pick.choice([1, 2])
    owned = Layout((threads, (1, (4, values))), (4, (0, (1, 4 * threads))))
    plan, splits = FoldPlan((1, 4 * threads * values), owned), pick.choice([1, 2, 4])
    x = _vector(pick, pick.randint(100, 3000))[None, :, None]
    operands = x, np.zeros((1, splits, 1), np.float32), 1.0
    return Subject("sum", fold_kernel, operands, {"fold": Fold("sum", f32), "plan": plan})


def _histogram(pick: random.Random) -> Subject:
    n, bins = pick.randint(100, 700), pick.randint(3, 90)
    values = np.random.default_rng(pick.randrange(1 << 30)).integers(0, 1 << 20, n).astype(np.uint32)
    return Subject("histogram", traced.histogram, (values, np.zeros(bins, np.uint32)))


def _softmax(pick: random.Random) -> Subject:
    shape = pick.randint(2, 5), pick.randint(20, 200)
    kernel = pick.choice([traced.softmax_rows, example_cases.make("softmax", "short").kernel])
    x = _matrix(pick, shape)
    return Subject("softmax", kernel, (x, np.zeros(shape, np.float32)))


def _convolution(pick: random.Random) -> Subject:
    example = example_cases.make("convolution", pick.choice(["3 x 3", "strided", "dilated", "1 x 1"]))
    return Subject("convolution", example.kernel, example.arguments, example.static)


def _tv_copy(pick: random.Random) -> Subject:
    tile, tv = _tv(pick)
    shape = pick.choice([(3 * tile[0], 2 * tile[1]), (2 * tile[0] + 1, tile[1] + 3), tile])
    x = _matrix(pick, shape)
    static = {"tile": tile, "source": tv, "target": tv}
    return Subject("copy by thread-value layouts", tv_copy, (x, np.zeros_like(x)), static)


def _staged_copy(pick: random.Random) -> Subject:
    tile, tv = _tv(pick)
    pad = pick.choice([0, 1, 2, 4])
    shared = pick.choice([Layout(tile, (1, tile[0] + pad)), Layout(tile, (tile[1] + pad, 1))])
    turned = tv if pick.random() < 0.5 else _other(pick, tile, size(tv, 0))
    x = _matrix(pick, (2 * tile[0] + pick.choice([0, 1]), 2 * tile[1]))
    static = {"tile": tile, "shared": shared, "put": tv, "take": turned}
    return Subject("copy through workgroup memory", staged_copy, (x, np.zeros_like(x)), static)


def _other(pick: random.Random, tile: tuple[int, ...], threads: int) -> Layout:
    """Another thread-value layout over the same tile: threads side by side in memory order."""
    return Layout(
        (threads, tile[0] * tile[1] // threads), pick.choice([(1, threads), (tile[0] * tile[1] // threads, 1)])
    )


FAMILIES: list[Callable[[random.Random], Subject]] = [
    _saxpy,
    _transpose,
    _matmul,
    _example_matmul,
    _reduction,
    _histogram,
    _softmax,
    _convolution,
    _tv_copy,
    _tv_copy,
    _staged_copy,
    _staged_copy,
]
