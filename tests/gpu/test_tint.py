"""Tint accepts every kernel of the project and of its examples, plain and guarded, and every function."""

import control_forms
import leaving_forms
import numpy as np
from tint import refusals, verdict

from cutepy import gpu
from cutepy.tensor.functions import FUNCTIONS

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


def test_tint_accepts_every_form_of_control_flow() -> None:
    g = np.random.default_rng(3)
    x, n, y = g.random(64, np.float32), g.integers(0, 99, 64, np.uint32), np.zeros(64, np.float32)
    forms = leaving_forms.RIGHT | control_forms.RIGHT
    texts = {name: gpu.kernel(form).wgsl(x, n, y, dialect="tint") for name, form in forms.items()}
    assert len(texts) > 100 and refusals(texts) == {}


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
