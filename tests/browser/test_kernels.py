"""Tint accepts every kernel of the tests and of the operations; three of them compute what they must in Chromium."""

import sys
from pathlib import Path

import numpy as np
import pytest
from harness import Browser

from cutepy.gpu.compile import compile_kernel
from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import lower
from cutepy.gpu.matmul import Plan, matmul_kernel
from cutepy.gpu.reduce import SumPlan, sum_kernel
from cutepy.gpu.wgsl import print_wgsl

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import kernels
import traced

TRACED = traced.cases()


def sources() -> dict[str, str]:
    """The Tint text of every kernel."""
    texts = {}
    for name, make in kernels.CASES.items():
        with new_arena():
            texts[f"IR {name}"] = print_wgsl(lower(make().kernel), "tint")
    for name, make in TRACED.items():
        case = make()
        texts[name] = case.kernel.wgsl(*case.arguments, dialect="tint", **case.static)
    texts["lanes"] = traced.lanes.wgsl(np.zeros(64, np.float32), np.zeros((64, 3), np.float32), dialect="tint")
    a = np.zeros((100, 70), np.float32)
    for kind, plan in (("plain", Plan()), ("fast", Plan((64, 64, 8), (8, 8), stages=2, unrolled=True))):
        texts[f"matmul {kind}"] = matmul_kernel.wgsl(a, a.copy(), np.zeros((100, 100), "f4"), plan=plan, dialect="tint")
    texts["sum"] = sum_kernel.wgsl(
        np.zeros(100_003, np.float32), np.zeros(7, np.float32), plan=SumPlan(), dialect="tint"
    )
    return texts


def test_tint_accepts_every_kernel(browser: Browser) -> None:
    texts = sources()
    verdicts = browser.tint_check(list(texts.values()))
    refused = {name: v for name, v in zip(texts, verdicts, strict=True) if v}
    assert not refused, refused


@pytest.mark.parametrize("name", ["saxpy", "transpose swizzled", "softmax"])
def test_chromium_computes_what_it_must(browser: Browser, name: str) -> None:
    case = TRACED[name]()
    with new_arena():
        program = compile_kernel(case.kernel.ir(*case.arguments, **case.static), dialect="tint")
    params = [a for a in case.arguments if not isinstance(a, np.ndarray)]
    results = browser.run(program, case.arrays, params)
    written = [a for a, b in zip(case.arrays, program.bindings, strict=True) if b.access == "read_write"]
    for mine, got in zip(written, results, strict=True):
        mine[...] = np.asarray(got).reshape(mine.shape)
    case.check()
