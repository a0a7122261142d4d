"""Tint accepts every kernel of the project and of its examples; three of them give equal results in Chromium, through
wgpu and in the interpreter."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from harness import Browser

from cutepy import gpu
from cutepy.errors import DeviceError
from cutepy.gpu.compile import compile_kernel
from cutepy.gpu.interpret import interpret
from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import lower
from cutepy.gpu.runtime import Device
from cutepy.gpu.trace.call import bind_call
from cutepy.gpu.wgsl import print_wgsl
from cutepy.ops.functions import FUNCTIONS

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import control_forms
import example_cases
import kernels
import leaving_forms
from every_kernel import every_kernel
from operation_cases import Recorded, recorded


def test_tint_accepts_every_kernel(browser: Browser) -> None:
    runs = every_kernel()
    texts = {name: run.wgsl("tint") for name, run in runs.items()}
    for name, make in kernels.CASES.items():
        with new_arena():
            texts[f"IR {name}"] = print_wgsl(lower(make().kernel), "tint")
    assert len(texts) > 150
    refused = refusals(browser, texts, pipelines=False)
    one_of_each = {id(runs[name].kernel): (name, texts[name]) for name in runs}
    refused |= refusals(browser, dict(one_of_each.values()), pipelines=True)
    assert not refused, refused


def test_tint_accepts_every_form_of_control_flow(browser: Browser) -> None:
    g = np.random.default_rng(3)
    x, n, y = g.random(64, np.float32), g.integers(0, 99, 64, np.uint32), np.zeros(64, np.float32)
    forms = leaving_forms.RIGHT | control_forms.RIGHT
    texts = {name: gpu.kernel(form).wgsl(x, n, y, dialect="tint") for name, form in forms.items()}
    assert refusals(browser, texts, pipelines=True) == {}


def test_tint_accepts_every_function(browser: Browser) -> None:
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
    refused = refusals(browser, texts, pipelines=False)
    assert not refused, refused


def refusals(browser: Browser, texts: dict[str, str], *, pipelines: bool) -> dict[str, list[str]]:
    """What Tint refuses, or warns of, by name."""
    verdicts = browser.tint_check(list(texts.values()), pipelines=pipelines)
    return {name: verdict for name, verdict in zip(texts, verdicts, strict=True) if verdict}


def only(call: Callable[[], object]) -> Recorded:
    """The one kernel run that a call of an operation makes."""
    with recorded() as runs:
        call()
    (run,) = runs
    return run


def saxpy(dtype: str) -> Recorded:
    example = example_cases.make("saxpy", "uneven" if dtype == "float32" else "i32")
    return Recorded(example.kernel, example.arguments, example.static)


def matmul(dtype: str) -> Recorded:
    g = np.random.default_rng(0)
    a, b = (g.integers(-9, 9, shape).astype(dtype) for shape in ((70, 40), (40, 90)))
    return only(lambda: gpu.matmul(a, b.copy(order="F"), engine="numpy"))


def column_sums(dtype: str) -> Recorded:
    x = (np.random.default_rng(0).integers(-99, 99, (60, 70)) / 7).astype(dtype)
    return only(lambda: gpu.sum(x, 0, engine="numpy"))


@pytest.fixture
def device() -> Device:
    """The default device; without one the test is skipped, or fails where CUTEPY_REQUIRE_DEVICE is set."""
    try:
        return gpu.default_device()
    except DeviceError as error:
        if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
            pytest.fail(str(error))
        pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("make", [saxpy, matmul, column_sums])
def test_equal_results_in_chromium_wgpu_and_interpreter(
    browser: Browser, device: Device, make: Callable[[str], Recorded], dtype: str
) -> None:
    run = make(dtype)
    kernel, call = run.kernel, bind_call(run.kernel.captures, run.kernel.signature, run.arguments, run.static)
    program, ir = kernel.program(*run.arguments, **run.static), kernel.ir(*run.arguments, **run.static)
    params = [call.params[p.name] for p in program.params]
    inputs = [np.array(engine.memory) for engine in call.engines]
    written = [i for i, binding in enumerate(program.bindings) if binding.access == "read_write"]

    interpreted = [array.copy() for array in inputs]
    interpret(ir, interpreted, call.params)
    buffers = [device.upload(array) for array in inputs]
    device.launch(program, buffers, params)
    on_device = [buffers[i].read(inputs[i].dtype, inputs[i].size) for i in written]
    with new_arena():
        in_browser = browser.run(compile_kernel(ir, dialect="tint"), inputs, params)

    for i, one, other in zip(written, on_device, in_browser, strict=True):
        assert not np.array_equal(inputs[i], interpreted[i]) or make is not saxpy
        for got in (one, other):
            if dtype == "int32":
                assert np.array_equal(got, interpreted[i])
            else:
                np.testing.assert_allclose(got, interpreted[i], rtol=1e-6, atol=1e-4 * (make is column_sums))
