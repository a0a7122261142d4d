"""Every kernel of the project and of its examples, in several layouts, element types and plans."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache

import example_cases
import numpy as np
import operation_cases
import traced
from operation_cases import Recorded, recorded

import cutepy.gpu
from cutepy import ops
from cutepy.gpu.fusion.chains import Ref, chain_of
from cutepy.gpu.matmul.cost_model import LARGE, PLANS_OF_ONE_ROW, PLANS_OF_SHORT_K, SKINNY, SMALL, WIDE
from cutepy.gpu.matmul.plan import MatrixPlan, Plan
from cutepy.gpu.operations import softmax as softmax_module
from cutepy.gpu.operations.operand import ExecutionSite
from cutepy.gpu.operations.pointwise import of_function
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.tensor import as_tensor, f32
from cutepy.tensor.functions import FUNCTIONS

OPERATION_CALLS = 10


@cache
def every_kernel() -> dict[str, Recorded]:
    """One run of each kernel that there is, under a name; no two have the same text."""
    found: dict[str, Recorded] = {}
    for name, make in traced.cases().items():
        case = make()
        found[f"traced {name}"] = Recorded(case.kernel, case.arguments, case.static)
    found["traced lanes"] = Recorded(traced.lanes, (np.zeros(64, "f4"), np.zeros((64, 3), "f4")), {})
    for name, variant in example_cases.CASES:
        example = example_cases.make(name, variant)
        found[f"example {name}, {variant}"] = Recorded(example.kernel, example.arguments, example.static)
    with recorded() as runs:
        _run_operations()
        _run_products_and_sums()
    found |= {f"{run.kernel.__name__} {number}": run for number, run in enumerate(runs)}
    texts: set[str] = set()
    for name in list(found):
        text = found[name].wgsl("naga")
        if text in texts:
            del found[name]
        texts.add(text)
    return found


def _run_operations() -> None:
    for make in operation_cases.FAMILIES.values():
        for seed in range(2000, 2000 + OPERATION_CALLS):
            make(seed).run("interpreter")
    g = np.random.default_rng(0)
    x = g.standard_normal((3, 20_000), dtype=np.float32)
    for name in ("max", "mean", "argmin"):
        for axis in (0, 1, None):
            getattr(ops, name)(x, axis, engine="interpreter")
    for shape, axis in (((5, 300), 0), ((5, 20), 0), ((3, 5, 2), 1), ((20, 5), 1)):
        ops.take(np.zeros(shape, np.float32), [4, -5, 0], axis, engine="interpreter")
    for columns in (20, 2100):
        ops.top_k(x[:, :columns], 5, engine="interpreter")
    ops.searchsorted(np.sort(x[0]), x[1], sorter=np.arange(20_000, dtype=np.int32), engine="interpreter")
    _run_chains(g)
    registers, softmax_module.WHOLE_ROWS = softmax_module.WHOLE_ROWS, 0
    ops.softmax(x[:, :300], engine="interpreter")
    softmax_module.WHOLE_ROWS = registers
    ops.softmax(g.standard_normal((2, 70_000), dtype=np.float32), engine="interpreter")


def _run_chains(g: np.random.Generator) -> None:
    steps = tuple((of_function(FUNCTIONS[name]), refs) for name, refs in CHAIN)
    one, two = (chain_of(steps, results, (2, 1)) for results in ((("s", 1),), (("s", 0), ("s", 1))))
    for shape in ((40, 300), (3, 30_000)):
        x = g.standard_normal(shape, dtype=np.float32)
        for y in (x.copy(), x[:1].copy()):
            two.operation(x, y, 0.5, engine="interpreter")
            for axis in (0, 1):
                tensors, how = [as_tensor(x), as_tensor(y)], ("sum", axis, False, 0.0)
                one.folded(ExecutionSite(None), tensors, [0.5], how, shape, f32)
    two.operation(x.T, y.T, 0.5, engine="interpreter")


CHAIN: tuple[tuple[str, tuple[Ref, ...]], ...] = (("exp", (("t", 0),)), ("fma", (("s", 0), ("t", 1), ("n", 0))))


def _run_products_and_sums() -> None:
    g = np.random.default_rng(0)
    plans = (None, Plan((64, 64, 8), (8, 8), stages=2, unrolled=True), Plan((32, 64, 16), (8, 16)), SKINNY)
    for number, (m, n, k) in enumerate(((64, 64, 32), (70, 33, 17), (1, 1, 1), (13, 150, 40))):
        for dtype in ("float32", "float16", "int32", "uint32"):
            a, b = (g.integers(0, 9, shape).astype(dtype) for shape in ((m, k), (k, n)))
            plan = plans[number] if dtype == "float32" else None
            ops.matmul(a, b, plan=plan, engine="interpreter")
            ops.matmul(np.asfortranarray(a), b[::-1], plan=plan, engine="interpreter")
    for plan in (LARGE, WIDE, SMALL, replace(SMALL, splits=2), PLANS_OF_ONE_ROW[1], PLANS_OF_SHORT_K[0]):
        a, b = (g.random(shape, dtype=np.float32) for shape in ((70, 40), (40, 130)))
        ops.matmul(a, b, plan=plan, engine="interpreter")
        ops.matmul(a, b, plan=plan, engine="interpreter", epilogue=lambda c: c * 2)
    for dtype in ("float32", "float16", "int32", "uint32"):
        x = g.integers(0, 9, (70, 300)).astype(dtype)
        for view in (x, x[:, 1:], x[::2, ::3].T, x[:1]):
            ops.sum(view, engine="interpreter")
        ops.prod(x[:, :0], 1, engine="interpreter")
    long = g.random((2, 40_000), dtype=np.float32)
    for x in (long, long[:, :300].T):
        for axis in (0, 1):
            ops.var(x, axis, engine="interpreter")
            ops.cumsum(x, axis, engine="interpreter")
    halves = g.random((64, 64)).astype(np.float16)
    ops.matmul(halves, halves, plan=MatrixPlan((32, 32, 16)), engine="interpreter")
    for view in (halves[:50, :33], halves[:50, :33].T.copy().T):
        ops.matmul(view, view.T, plan=MatrixPlan((32, 32, 16)), engine="interpreter", epilogue=lambda c: c * 2)


def kernels_of_the_package() -> dict[str, KernelFunction]:
    """Every kernel that a module of cutepy defines, by its name."""
    found: dict[str, KernelFunction] = {}
    for module in pkgutil.walk_packages(cutepy.gpu.__path__, "cutepy.gpu."):
        if not module.name.startswith("cutepy.gpu.runtime"):
            for name, value in vars(importlib.import_module(module.name)).items():
                held = getattr(value, "kernel", value)
                if isinstance(held, KernelFunction):
                    found[name] = held
    return found
