"""Kernels that are exported for unknown sizes, five random sizes of each, and what the interpreter computes there."""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from cutepy.gpu.targets.export import module_text
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.trace.kernel import KernelFunction

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import example_cases
import size_kernels

ROUNDS = 5
Array = np.ndarray
Made = tuple[KernelFunction, Sequence[object], Mapping[str, object]]
"""A kernel, its arguments, its static ones."""


@dataclass(frozen=True)
class Exported:
    """A kernel with arguments for sizes, the least and largest of each size, and which tensors have them."""

    call: Callable[..., Made]
    ranges: Mapping[str, tuple[int, int]]
    sizes: Mapping[str, str] | str = "annotated"


@dataclass(frozen=True)
class Call:
    """One call: arrays by name, numbers, and the arrays afterwards."""

    buffers: dict[str, Array]
    numbers: dict[str, float]
    wanted: dict[str, Array]


def _example(name: str, sizes: Mapping[str, str], ranges: Mapping[str, tuple[int, int]], **fixed: object) -> Exported:
    def call(**given: int) -> Made:
        values = {**fixed, **given}
        if "M" in values:
            values["shape"] = values.pop("M"), values.pop("N")
        wide = {"width": values.pop("most")} if "most" in values else {}
        example = importlib.import_module(name).example(**values)
        return example.kernel, example.arguments, {**example.static, **wide}

    return Exported(call, ranges, sizes)


def _own(case: size_kernels.SizeCase) -> Exported:
    ranges = dict.fromkeys(("a", "b", "c")[: case.unknowns], (2, 90))
    return Exported(lambda **given: (case.kernel, (*case.numbers, *case.arrays(*given.values())), {}), ranges)


_SHAPE, _LONG = {"M": (2, 40), "N": (4, 120)}, {"n": (2, 5000)}
#: Of the examples those that can: see `REFUSED` in test_export_sizes.py.
CASES = {
    "saxpy": _example("saxpy", {"x": "(n)", "y": "(n)"}, _LONG),
    "saxpy f16": _example("saxpy", {"x": "(n)", "y": "(n)"}, _LONG, dtype="float16"),
    "saxpy strided": _example("saxpy", {"x": "(n)", "y": "(n)"}, _LONG, step=3),
    "transpose": _example("transpose", {"x": "(M,N)", "y": "(N,M)"}, {"M": (2, 90), "N": (2, 90)}),
    "transpose bool": _example("transpose", {"x": "(M,N)", "y": "(N,M)"}, {"M": (2, 90), "N": (2, 90)}, dtype="bool"),
    "histogram": _example("histogram", {"x": "(n)"}, _LONG, bins=30),
    "layer_norm": _example("layer_norm", dict.fromkeys(("x", "gain", "bias", "y"), "(M,N)"), _SHAPE, most=128),
    "its gradient": _example(
        "layer_norm", dict.fromkeys(("x", "gain", "dy", "dx"), "(M,N)"), _SHAPE, most=128, gradient=True
    ),
    "softmax": _example("softmax", {"x": "(M,N)", "y": "(M,N)"}, _SHAPE, most=128),
    "top_k": _example("top_k", {"x": "(M,N)", "values": "(M,4)", "places": "(M,4)"}, _SHAPE, most=128, k=4),
    "attention": _example(
        "attention", dict.fromkeys("QKVO", "(L,32,h)"), {"length": (2, 150), "heads": (2, 5)}, width=32, causal=False
    ),
    "matmul": _example(
        "matmul",
        {"A": "(M,K)", "B": "(N,K)", "D": "(M,N)", "C": "(M,N)"},
        {"m": (2, 90), "n": (2, 90), "k": (2, 90)},
    ),
    "dropout": _example("dropout", {"x": "(n)", "y": "(n)"}, _LONG),
    **{f"own {name}": _own(case) for name, case in size_kernels.CASES.items()},
}


EXAMPLES = {
    name: partial(example_cases.make, name, next(iter(example_cases.VARIANTS[name]))) for name in example_cases.NAMES
}
"""Each example, in its first variant."""


def exported(name: str) -> tuple[str, str, Iterator[Call]]:
    """The module, the name of its function, and the calls, which the same module serves."""
    case = CASES[name]
    random = np.random.default_rng(len(name))
    sizes = [{n: int(random.integers(low, high)) for n, (low, high) in case.ranges.items()} for _ in range(ROUNDS)]
    arguments = [case.call(**some) for some in sizes]
    kernel, first, static = arguments[0]
    function = kernel.exported(*first, sizes=case.sizes, **static)

    def calls() -> Iterator[Call]:
        for _, args, static in arguments:
            call = kernel._bind(tuple(args), dict(static))
            again, numbers, _ = kernel._described(call, case.sizes)
            assert again.texts == function.texts and again.data == function.data
            arrays = [np.array(engine.memory) for engine in call.engines]
            names = [buffer["name"] for buffer in function.data["buffers"]]
            before = {key: array.copy() for key, array in zip(names, arrays, strict=True)}
            interpret(kernel._form(call).kernel, arrays, call.params)
            yield Call(before, numbers, dict(zip(names, arrays, strict=True)))

    return module_text([function]), function.name, calls()
