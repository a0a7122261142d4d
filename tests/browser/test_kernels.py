"""Three kernels give equal results in Chromium, through wgpu and in the interpreter."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness import Browser

from cutepy import gpu, ops
from cutepy.errors import DeviceError
from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import compile_kernel
from cutepy.gpu.runtime import Device
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.trace.call import bind_call

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import example_cases
from operation_cases import Recorded, recorded


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
    return only(lambda: ops.matmul(a, b.copy(order="F"), engine="interpreter"))


def column_sums(dtype: str) -> Recorded:
    x = (np.random.default_rng(0).integers(-99, 99, (60, 70)) / 7).astype(dtype)
    return only(lambda: ops.sum(x, 0, engine="interpreter"))


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
    sized = kernel._sized(call)
    # The text for all sizes runs with the numbers and the grid of this call's launch; the interpreter has them put in.
    values, grid = ({**call.params, **sized.params}, sized.grid) if sized else (call.params, program.grid)
    params = [values[p.name] for p in program.params]
    inputs = [np.array(engine.memory) for engine in call.engines]
    written = [i for i, binding in enumerate(program.bindings) if binding.access == "read_write"]

    interpreted = [array.copy() for array in inputs]
    interpret(sized.known(call) if sized else ir, interpreted, call.params)
    buffers = [device.upload(array) for array in inputs]
    device.launch(replace(program, grid=grid), buffers, params)
    on_device = [buffers[i].read(inputs[i].dtype, inputs[i].size) for i in written]
    with new_arena():
        in_browser = browser.run(compile_kernel(ir, dialect="tint"), inputs, params, grid=grid)

    for i, one, other in zip(written, on_device, in_browser, strict=True):
        assert not np.array_equal(inputs[i], interpreted[i]) or make is not saxpy
        for got in (one, other):
            if dtype == "int32":
                assert np.array_equal(got, interpreted[i])
            else:
                np.testing.assert_allclose(got, interpreted[i], rtol=1e-6, atol=1e-4 * (make is column_sums))
