"""Kernels for unknown sizes beside the same kernels of known sizes: pipelines, host time of a new size, device time.

    python bench/unknown_sizes.py [SHAPES] [EDGE]
    python bench/unknown_sizes.py ops [SHAPES] [NAME ...]
    python bench/unknown_sizes.py host [SHAPES]
    python bench/unknown_sizes.py device [PARTS]

SHAPES random shapes are run for each kernel (300), and the device time is that of matrices of EDGE (2048), the least of
15 runs in turn. With "ops" the library's own operations run at SHAPES random shapes (300) of one to three axes, and
views by offset, step and reversal, each compared with NumPy: plans and pipelines are counted. With "host", what a whole
operation costs the host at a new size where all is compiled, at a size that was met over other memory, and repeated.
With "device" the launches of products, attention, softmax and copies are timed by their kernels for all sizes and by
the same kernels for their sizes alone, extents divided by PARTS (1): medians of rounds in turn, the GPU warmed before.
"""

import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "gpu"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "kernels"))
from attention import ROWS, attention
from size_kernels import CASES

from cutepy import Layout, Tensor, gpu, ops
from cutepy.gpu.matmul.contraction import problem_for_plans
from cutepy.gpu.matmul.cost_model import choose_plan
from cutepy.gpu.operations.copies import fill_kernel
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.runtime.call_cache import CallCache
from cutepy.gpu.trace.kernel import KernelFunction

TIMED = {"axpy": 2, "rows_in_vectors": 2, "softmax": 2, "product": 3, "transposed": 2}


def many(name: str, shapes: int) -> str:
    """All those shapes of one kernel: pipelines, and the host's time of a call of a new size, of one of the same size
    over other buffers, whose bind group is made as well, and of a repeated one. Medians of calls that alternate."""
    case, device, pick = CASES[name], gpu.default_device(), random.Random(name)
    before, new, other, again = device.stats.compiled, [], [], []
    for turn in range(shapes):
        most = {1: 5000, 2: 300, 3: 90}[case.unknowns]
        arrays = case.arrays(*[pick.choice([1, 16, 33, 64, pick.randint(1, most)]) for _axis in range(case.unknowns)])
        wanted = case.wanted(*[array.copy() for array in arrays])
        tensors = [gpu.array(array, device=device) for array in arrays]
        begin = time.perf_counter()
        case.kernel(*case.numbers, *tensors)
        if turn > min(20, shapes // 2):  # both forms are there
            new.append(time.perf_counter() - begin)
        assert np.allclose(tensors[-1].numpy(), wanted, atol=1e-3), arrays[0].shape
        spare = [gpu.array(array, device=device) for array in arrays]
        begin = time.perf_counter()
        case.kernel(*case.numbers, *spare)
        other.append(time.perf_counter() - begin)
        device.wait()
        begin = time.perf_counter()
        case.kernel(*case.numbers, *spare)
        again.append(time.perf_counter() - begin)
    compiled = device.stats.compiled - before
    fresh, bound, known = (1e6 * statistics.median(times) for times in (new, other, again))
    return (
        f"{name:16} {compiled} pipelines for {shapes} shapes; a new size {fresh:4.0f} us, a known one over other "
        f"buffers {bound:3.0f} us, repeated {known:3.0f} us"
    )


def timed(name: str, edge: int) -> str:
    """Device time of the form for all sizes beside that of these sizes."""
    case, device = CASES[name], gpu.default_device()
    arrays = case.arrays(*[edge] * case.unknowns)
    tensors = [gpu.array(array, device=device) for array in arrays]
    known = gpu.kernel(sizes="known")(_without_annotations(case.kernel.function))
    best = {}
    for _turn in range(15):
        for which, kernel in (("all", case.kernel), ("these", known)):
            with device.timed() as watch:
                kernel(*case.numbers, *tensors)
            best[which] = min(best.get(which, watch.seconds), watch.seconds)
    ratio, (every, these) = best["these"] / best["all"], (1e3 * best[which] for which in ("all", "these"))
    return f"{name:16} {edge}: for all sizes {every:.3f} ms, for these {these:.3f} ms, {ratio:.2f}x"


def _without_annotations(function):
    import types

    plain = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    plain.__annotations__ = {
        k: v for k, v in function.__annotations__.items() if isinstance(v, str) and not v.startswith("(")
    }
    return plain


EDGES = [1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1021]
EDGES += [1023, 1024, 1025, 2047, 2048, 2049]
"""Extents around the edges of tiles, and primes."""


class Shapes:
    """Random views on the default device, with the same of NumPy."""

    def __init__(self, seed: str) -> None:
        self.pick, self.random = random.Random(seed), np.random.default_rng(0)

    def extents(self, ranks: tuple[int, ...] = (1, 2, 2, 3), most: int = 300_000) -> list[int]:
        """A shape of at most so many elements."""
        while True:
            rank = self.pick.choice(ranks)
            shape = [self.pick.choice([*EDGES, self.pick.randint(1, 1100)]) for _axis in range(rank)]
            if self.pick.random() < 0.03:
                shape[self.pick.randrange(rank)] = 0
            if np.prod(shape) <= most:
                return shape

    def view(self, shape: list[int], *, turned: tuple[int, ...] | None = None) -> tuple[np.ndarray, Tensor]:
        """An array of this shape, its axes `turned` where asked, and the same elements on the device."""
        kind = self.pick.choice(["plain", "plain", "offset", "step", "reversal"])
        step = 2 if kind == "step" else 1
        first = [self.pick.choice([0, 1, 3]) if kind == "offset" else 0 for _n in shape]
        memory = self.random.standard_normal([step * n + 3 * (kind == "offset") for n in shape]).astype(np.float32)
        host = memory[tuple([slice(at, at + step * n, step) for at, n in zip(first, shape, strict=True)])]
        if kind == "reversal":
            host = host[tuple([slice(None, None, self.pick.choice([1, -1])) for _n in shape])]
        host = host if turned is None else host.transpose(turned)
        if not host.size:
            return host, gpu.array(host)
        begin = (host.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // 4
        stride = tuple([step // 4 if n > 1 else 0 for n, step in zip(host.shape, host.strides, strict=True)])
        return host, Tensor(gpu.array(memory).engine, Layout(host.shape, stride), begin)


def _along(name: str, axis: int, ranks: tuple[int, ...]):
    def run(shapes: Shapes):
        x, t = shapes.view(shapes.extents(ranks))
        return getattr(ops, name)(t, axis), getattr(np, name)(x.astype(np.float64), axis)

    return run


def _exp(shapes: Shapes):
    x, t = shapes.view(shapes.extents())
    return ops.exp(t), np.exp(x)


def _transpose(shapes: Shapes):
    x, t = shapes.view(shapes.extents((2,)), turned=(1, 0))
    return ops.contiguous(t), x


def _softmax(shapes: Shapes):
    x, t = shapes.view(shapes.extents())
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True, initial=-np.inf))
    return ops.softmax(t), e / e.sum(-1, keepdims=True)


def _matmul(shapes: Shapes):
    m, n, k = (shapes.pick.choice([1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129]) for _ in range(3))
    (x, a), (y, b) = shapes.view([m, k]), shapes.view([k, n])
    return ops.matmul(a, b), x.astype(np.float64) @ y


OPERATIONS = {
    "exp": _exp,
    "transpose": _transpose,
    "sum of the first axis": _along("sum", 0, (1, 2, 3)),
    "sum of the middle axis": _along("sum", 1, (3,)),
    "sum of the last axis": _along("sum", -1, (1, 2, 3)),
    "softmax": _softmax,
    "cumsum": _along("cumsum", -1, (1, 2, 3)),
    "matmul": _matmul,
}


def operations(name: str, shapes: int) -> str:
    """One operation at so many shapes: by how many plans (kernels and tiles) its launches went, and the pipelines of
    all, and of one plan at most."""
    device, random_shapes = gpu.default_device(), Shapes(name)
    wrong, last, fills, plans, sizes = 0, 0, 0, Counter(), set()
    launch = KernelFunction.__call__

    def noted(kernel: KernelFunction, *args: object, **static: object) -> None:
        nonlocal fills
        compiled = device.stats.compiled
        launch(kernel, *args, **static)
        if kernel is fill_kernel:  # what is left of no elements is no plan of the operation
            fills += device.stats.compiled - compiled
            return
        plan = static.get("plan", static.get("tiling"))
        plan = getattr(plan, "tiling", plan)
        tile = getattr(plan, "tile", plan)
        plans[kernel.__name__, tile if isinstance(tile, tuple) else repr(tile)] += device.stats.compiled - compiled
        if kernel.size_reason:
            sizes.add(kernel.size_reason)

    KernelFunction.__call__ = noted
    for turn in range(shapes):
        compiled = device.stats.compiled
        found, wanted = OPERATIONS[name](random_shapes)
        wrong += not np.allclose(found.numpy(), wanted, rtol=1e-4, atol=2e-3)
        last = turn if device.stats.compiled > compiled else last
    KernelFunction.__call__ = launch
    known = f"; traced for their sizes: {'; '.join(sizes)}" if sizes else ""
    nothing = f" and {fills} that fill results of no elements" if fills else ""
    return (
        f"{name:22} {shapes} shapes, {wrong} wrong; {len(plans)} plans, {plans.total()} pipelines{nothing}, of one "
        f"plan at most {max(plans.values())}, the last at shape {last}{known}"
    )


HOST = {
    "exp": (ops.exp, "nm"),
    "add": (ops.add, "nm nm"),
    "multiply by a row": (ops.multiply, "nm m"),
    "sum of the first axis": (lambda x: ops.sum(x, 0), "nm"),
    "sum of the last axis": (lambda x: ops.sum(x, 1), "nm"),
    "softmax": (ops.softmax, "nm"),
    "cumsum": (lambda x: ops.cumsum(x, -1), "nm"),
    "transpose": (lambda x: ops.contiguous(ops.permute_dims(x, (1, 0))), "nm"),
    "matmul": (ops.matmul, "nm mn"),
}
"""Whole operations, and the axes of their operands."""


def host(name: str, shapes: int) -> str:
    """Medians over so many new sizes after 60 others: of calls that compile nothing, each with the device at rest."""
    (operation, axes), device, pick = HOST[name], gpu.default_device(), random.Random(name)

    def timed(operands: list[Tensor]) -> float:
        device.wait()
        begin = time.perf_counter()
        kept.append(operation(*operands))
        return 1e6 * (time.perf_counter() - begin)

    found: list[tuple[float, float, float]] = []
    for turn in range(60 + shapes):
        extents, kept = {letter: pick.randint(33, 300) for letter in "nm"}, []
        first, second = (
            [gpu.array(np.ones([extents[a] for a in each], np.float32)) for each in axes.split()] for _ in range(2)
        )
        compiled = device.stats.compiled
        new, other = timed(first), timed(second)
        kept.clear()
        timed(second)
        kept.clear()
        if turn >= 60 and device.stats.compiled == compiled:
            found.append((new, other, timed(second)))
    new, other, again = map(statistics.median, zip(*found, strict=True))
    return (
        f"{name:22} a new size {new:3.0f} us, a known one over other buffers {other:3.0f} us, repeated {again:3.0f} us"
    )


Launch = tuple[KernelFunction, tuple[object, ...], dict[str, object]]


def launches_of(work: Callable[[], object]) -> list[Launch]:
    """The launches of a call, with their arguments."""
    found: list[Launch] = []
    launch, cached = KernelFunction.__call__, CallCache.call

    def noted(kernel: KernelFunction, *args: object, **static: object) -> None:
        found.append((kernel, args, static))
        launch(kernel, *args, **static)

    KernelFunction.__call__, CallCache.call = noted, lambda _cache, args, run, **_key: run(*args)
    try:
        work()
    finally:
        KernelFunction.__call__, CallCache.call = launch, cached
    assert found
    return found


def _product(m: int, n: int, k: int) -> Callable[[], object]:
    a, b, c = (gpu.array(np.random.default_rng(0).random(s, np.float32)) for s in ((m, k), (k, n), (m, n)))
    problem = problem_for_plans(ExecutionSite(gpu.default_device()), a, b)
    plan = choose_plan(problem, gpu.default_device().adapter)  # a plan that is given is by the kernel for all sizes
    return lambda: ops.matmul(a, b, c, plan=plan)


def _attention(heads: int, length: int, width: int, causal: bool) -> Callable[[], object]:
    function = _without_annotations(attention.function)
    function.__kwdefaults__, shape = attention.function.__kwdefaults__, f"(L,{width},H):({width},1,?)"
    kernel = gpu.kernel(sizes=dict.fromkeys("QKVO", shape), often=[f"{ROWS} divides L"])(function)
    memory = [gpu.array(np.random.default_rng(0).random(heads * length * width, np.float32)) for _ in "QKVO"]
    operands = [Tensor(x.engine, Layout((length, width, heads), (width, 1, length * width))) for x in memory]
    return lambda: kernel(*operands, causal=causal)


def _moved(shape: tuple[int, ...], axes: tuple[int, ...]) -> Callable[[], object]:
    x = ops.permute_dims(gpu.array(np.random.default_rng(0).random(shape, np.float32)), axes)
    y = gpu.empty(tuple([shape[axis] for axis in axes]))
    return lambda: gpu.copy(x, y)


def _rows(operation: Callable[[Tensor], object], shape: tuple[int, ...]) -> Callable[[], object]:
    x = gpu.array(np.random.default_rng(0).random(shape, np.float32))
    return lambda: operation(x)


def device_cases(parts: int) -> dict[str, Callable[[], Callable[[], object]]]:
    """Calls whose launches are for all sizes, by name."""

    def less(*extents: int) -> tuple[int, ...]:
        return tuple([max(min(n, 2), n // parts) for n in extents])

    found: dict[str, Callable[[], Callable[[], object]]] = {}
    for extents in ((4096, 4096, 4096), (4095, 4097, 4099), (1000, 1500, 700), (128, 8192, 4096), (16, 4096, 4096)):
        found[f"matmul {'x'.join(map(str, extents))}"] = lambda e=extents: _product(*less(*e))
    for length in (1024, 2048, 4096, 4095):  # whole tiles, and one that is not
        for causal in (False, True):
            name = f"attention 16x{length}x64" + " causal" * causal
            found[name] = lambda n=length, c=causal: _attention(16, *less(n), 64, c)
    for shape in ((16384, 4096), (4096, 16384), (1 << 20, 17), (4095, 4097)):
        found[f"softmax {shape}"] = lambda s=shape: _rows(ops.softmax, less(*s))
    for shape in ((8192, 8192), (8191, 8193), (4095, 4097), (1 << 20, 24)):
        found[f"transpose {shape}"] = lambda s=shape: _moved(less(*s), (1, 0))
    for shape, axes in (
        ((1 << 26,), (0,)),
        ((8191, 8193), (0, 1)),
        ((64, 3, 512, 512), (0, 2, 3, 1)),
        ((7, 1000, 333, 5), (3, 1, 0, 2)),
        ((7, 1000, 333, 5), (0, 2, 1, 3)),
    ):
        found[f"copy {shape} by {axes}"] = lambda s=shape, a=axes: _moved(less(*s), a)
    for axis in (0, 1):
        found[f"sum (8191, 8193) over {axis}"] = lambda a=axis: _rows(lambda x: ops.sum(x, a), less(8191, 8193))
    return found


def on_device(name: str, make: Callable[[], Callable[[], object]]) -> str:
    """Device time of the launches of a call by their kernels for all sizes beside the same kernels for these sizes."""
    device, launches = gpu.default_device(), launches_of(make())
    known: list[Launch] = []
    for kernel, args, static in launches:
        plain = _without_annotations(kernel.function)
        plain.__kwdefaults__ = kernel.function.__kwdefaults__
        known.append((gpu.kernel(sizes="known")(plain), args, static))

    def run(which: list[Launch]) -> None:
        for kernel, args, static in which:
            kernel(*args, **static)

    def seconds(which: list[Launch], repeats: int) -> float:
        with device.timed() as watch:
            for _ in range(repeats):
                run(which)
        return watch.seconds / repeats

    ways = launches, known
    for way in ways:
        run(way)
    device.wait()
    repeats = max(1, min(64, int(1e-3 / max(1e-9, seconds(launches, 1)))))
    warm = time.perf_counter() + 0.3
    while time.perf_counter() < warm:
        seconds(launches, repeats)
    rounds = [[seconds(way, repeats) for way in ways] for _ in range(11)]
    every, these = (1e3 * statistics.median(times) for times in zip(*rounds, strict=True))
    reasons = {kernel.size_reason for kernel, _, _ in launches} - {""}
    sizes = f"; traced for their sizes: {'; '.join(reasons)}" if reasons else ""
    return f"{name:40} for all sizes {every:.4f} ms, for these {these:.4f} ms, {these / max(every, 1e-9):.3f}x{sizes}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["device"]:
        print(gpu.default_device())
        for name, make in device_cases(int((sys.argv[2:3] or ["1"])[0])).items():
            print(on_device(name, make), flush=True)
        raise SystemExit
    if sys.argv[1:2] == ["host"]:
        for name in HOST:
            print(host(name, int((sys.argv[2:3] or ["200"])[0])), flush=True)
        raise SystemExit
    if sys.argv[1:2] == ["ops"]:
        count, names = int((sys.argv[2:3] or ["300"])[0]), sys.argv[3:] or list(OPERATIONS)
        for name in names:
            print(operations(name, count), flush=True)
        raise SystemExit
    shapes, edge = (*map(int, sys.argv[1:]), *(300, 2048)[len(sys.argv) - 1 :])
    print(gpu.default_device())
    for name in CASES:
        print(many(name, shapes), flush=True)
    if "timestamp-query" in gpu.default_device().features:
        for name, unknowns in TIMED.items():
            print(timed(name, edge if unknowns < 3 else edge // 2), flush=True)
