"""Kernels written element by element beside the same by `copy`: whether each access is a vector, and the device times.

    python bench/neighbours.py [--elements 16777216] [--rounds 9]

Ten functions of one to three tensors, in three forms: four and eight neighbours a thread of a vector, and four of a row
of a matrix. Without timestamps the texts alone are compared.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cutepy import Tensor, copy, gpu, local_tile, make_fragment_like, size
from cutepy.gpu.runtime.timing import seconds_in_turn

FUNCTIONS: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "scale": (1, "f32", lambda a: 2.0 * a),
    "relu": (1, "f32", lambda a: gpu.maximum(a, 0.0)),
    "tanh": (1, "f32", lambda a: gpu.tanh(a)),
    "bits": (1, "u32", lambda a: (a >> 3) ^ a),
    "add": (2, "f32", lambda a, b: a + b),
    "larger": (2, "i32", lambda a, b: gpu.maximum(a, b)),
    "hypotenuse": (2, "f32", lambda a, b: gpu.sqrt(a * a + b * b)),
    "where": (2, "f32", lambda a, b: gpu.select(a > 0.5, a, b)),
    "multiply and add": (3, "f32", lambda a, b, c: a * b + c),
    "between": (3, "f32", lambda a, b, c: a + (b - a) * c),
}
"""Each with its number of tensors and their type."""
THREADS = 256


def by_elements(function: Callable[..., Any], each: int, rows: bool) -> Any:
    """The kernel as one writes it first: an index, and a loop over neighbours."""

    def elements(xs, y):
        n = y.shape[1] if rows else size(y)
        gpu.launch(grid=(n // (each * THREADS), y.shape[0] if rows else 1), threads=THREADS)
        first = each * (THREADS * gpu.workgroup.x + gpu.thread)
        for j in gpu.unroll(each):
            if rows:
                y[gpu.workgroup.y, first + j] = function(*[x[gpu.workgroup.y, first + j] for x in xs])
            else:
                y[first + j] = function(*[x[first + j] for x in xs])

    return gpu.kernel(elements)


def by_copies(function: Callable[..., Any], each: int, rows: bool) -> Any:
    """The same by tiles, fragments and copies."""

    def copies(xs, y):
        n = y.shape[1] if rows else size(y)
        gpu.launch(grid=(n // (each * THREADS), y.shape[0] if rows else 1), threads=THREADS)

        def own(t):
            at = THREADS * gpu.workgroup.x + gpu.thread
            return local_tile(t, (1, each), (gpu.workgroup.y, at)) if rows else local_tile(t, (each,), (at,))

        parts = [make_fragment_like(own(x)) for x in xs]
        for x, part in zip(xs, parts, strict=True):
            copy(own(x), part)
        result = make_fragment_like(own(y))
        for i in gpu.unroll(each):
            result[i] = function(*[part[i] for part in parts])
        copy(result, own(y))

    return gpu.kernel(copies)


def cases(elements: int) -> list[tuple[str, Any, Any, tuple[tuple[Tensor, ...], Tensor]]]:
    """Each case: its name, both kernels, their arguments."""
    found = []
    random = np.random.default_rng(0)
    for each, rows in ((4, False), (8, False), (4, True)):
        for name, (count, dtype, function) in FUNCTIONS.items():
            shape = (elements // 4096, 4096) if rows else (elements,)
            host = (random.random(shape) * 100).astype({"f32": np.float32, "i32": np.int32, "u32": np.uint32}[dtype])
            xs = tuple(gpu.array(np.roll(host, i)) for i in range(count))
            arguments = xs, gpu.empty(shape, dtype)
            title = f"{name}, {each} of {'a row' if rows else 'a vector'}"
            found.append((title, by_elements(function, each, rows), by_copies(function, each, rows), arguments))
    return found


def scalars(kernel: Any, arguments: tuple[Any, ...]) -> int:
    """The arrays of the text that are no arrays of vectors."""
    text = kernel.wgsl(*arguments)
    return sum("array<" in line and "array<vec4" not in line for line in text.splitlines() if "var<storage" in line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=0)
    device = gpu.default_device()
    timed = "timestamp-query" in device.features and device.adapter.kind == "DiscreteGPU"
    elements = parser.parse_args().elements or (1 << 24 if timed else 1 << 14)
    print(f"{device.adapter.name}: {elements} elements", flush=True)
    ratios = []
    for title, ours, theirs, arguments in cases(elements):
        ours(*arguments)
        first = arguments[1].numpy(copy=True)
        theirs(*arguments)
        same = np.array_equal(first, arguments[1].numpy(), equal_nan=first.dtype.kind == "f")
        line = f"{title:34} scalar arrays {scalars(ours, arguments)}, {'the same' if same else 'ANOTHER RESULT'}"
        if timed:
            seconds = seconds_in_turn(device, [partial(theirs, *arguments), partial(ours, *arguments)])
            ratios.append(seconds[1] / seconds[0])
            line += f", {1e6 * seconds[1]:8.1f} us, by copies {1e6 * seconds[0]:8.1f} us, {ratios[-1]:.3f}"
        print(line, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} kernels: {mean:.3f} of the time by copies, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()
