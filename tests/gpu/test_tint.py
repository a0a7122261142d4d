"""Tint accepts every kernel of the project and of its examples, plain and guarded, and every function."""

import time

import kernels
import numpy as np
import pytest
from every_kernel import every_kernel
from tint import refusals, verdict

from cutepy import gpu
from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import lower
from cutepy.gpu.wgsl import print_wgsl, write_wgsl
from cutepy.ops.functions import FUNCTIONS

SECONDS = 2
HALF = "enable f16;\n@compute @workgroup_size(1) fn f() { var x = vec4<f16>(1h, 2.5h, f16(3.0), 0.0); x.x += x.y; }"
BARRIER = """
@compute @workgroup_size(64) fn f(@builtin(local_invocation_index) i: u32) {
  if (i < 32u) { workgroupBarrier(); }
}
"""
MATRICES = """
enable f16; enable subgroups; enable chromium_experimental_subgroup_matrix;
@group(0) @binding(0) var<storage, read> a: array<f16>;
@group(0) @binding(1) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(32) fn f() {
  let left = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>>(&a, 0, false, 16);
  let right = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>>(&a, 0, false, 16);
  var sums: subgroup_matrix_result<f32, 16, 16>;
  subgroupMatrixStore(&c, 0, subgroupMatrixMultiplyAccumulate(left, right, sums), false, 16);
}
"""


def test_tint_judges() -> None:
    assert verdict("@compute @workgroup_size(64) fn f() {}") == verdict(HALF) == verdict(MATRICES) == []
    assert "uniform control flow" in verdict(BARRIER)[0]
    assert ":1:7 error" in verdict("fn f( {")[0]
    assert ":2:" in verdict(HALF.replace("x.y", "x.q"))[0]
    assert verdict(MATRICES.replace("left<f16, 16, 16>", "left<f16, 16, 8>"))


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every kernel for Tint, as it is printed where it is proven, and with the checks in its text."""
    found = {}
    for name, run in every_kernel().items():
        found[name] = run.wgsl("tint")
        with new_arena():
            kernel = lower(run.kernel.ir(*run.arguments, **run.static))
            found[f"{name}, guarded"] = write_wgsl(kernel, "tint", guarded=True).text
    for name, make in kernels.CASES.items():
        with new_arena():
            found[f"IR {name}"] = print_wgsl(lower(make().kernel), "tint")
    return found


def test_tint_accepts_every_kernel(texts: dict[str, str]) -> None:
    assert len(texts) > 300
    start = time.process_time()
    assert refusals(texts) == {}
    assert time.process_time() - start < SECONDS


def test_tint_accepts_every_function() -> None:
    texts = {}
    for function in FUNCTIONS.values():
        dtypes = ("float32", "float16", "int32") if "f" in function.takes else ("int32", "uint32")
        for last in (
            ("c", "2.5", "0.0") if "f" in function.takes and function.arity > 1 else ("abc"[function.arity - 1],)
        ):
            formula = f"{function.name}({', '.join([*'abc'[: function.arity - 1], last])})"
            pointwise = gpu.pointwise(formula)
            for dtype in dtypes:
                if np.dtype(dtype).kind in function.takes:
                    given = [np.ones(8, dtype)] * len(pointwise.names)
                    texts[f"{formula} {dtype}"] = pointwise.wgsl(*given, dialect="tint")
    assert len(texts) > 2 * len(FUNCTIONS)
    assert refusals(texts) == {}
