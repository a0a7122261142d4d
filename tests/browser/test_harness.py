"""The browser answers: what it refuses is an error, and a kernel's results come back."""

import numpy as np
import pytest
from harness import Browser, BrowserError

from cutepy.gpu.runtime import Binding, Program, ProgramParam

GOOD = "@compute @workgroup_size(64) fn f() {}"
BARRIER = """
@compute @workgroup_size(64) fn f(@builtin(local_invocation_index) i: u32) {
  if (i < 32u) { workgroupBarrier(); }
}
"""
AXPY = """
struct Params { n: u32, a: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> even: array<u32>;
@group(0) @binding(3) var<uniform> params: Params;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.n) {
    y[id.x] = params.a * x[id.x] + y[id.x];
    even[id.x] = select(0u, 1u, id.x % 2u == 0u);
  }
}
"""


def test_results_come_back(browser: Browser) -> None:
    n = 1001
    x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
    bindings = Binding("x"), Binding("y", "read_write"), Binding("even", "read_write")
    program = Program(
        AXPY, "axpy", bindings, (64, 1, 1), (16, 1, 1), (ProgramParam("n", "u32"), ProgramParam("a", "f32"))
    )
    result, even = browser.run(program, [x, y, np.zeros((n,), bool)], (n, 2.0))
    assert np.array_equal(result, 2 * x + 1)
    assert np.array_equal(even, np.arange(n) % 2 == 0)
    shorter, _ = browser.run(program, [x, y, np.zeros((n,), bool)], (n, 2.0), grid=(1, 1, 1))
    assert np.array_equal(shorter[:64], result[:64])
    assert np.array_equal(shorter[64:], y[64:])


def test_a_refused_program_is_an_error(browser: Browser) -> None:
    with pytest.raises(BrowserError, match="f:"):
        browser.run(Program(BARRIER, "f", (), (64, 1, 1), (1, 1, 1)), [])
    assert browser.run(Program(GOOD, "f", (), (64, 1, 1), (1, 1, 1)), []) == []
