"""Each runtime accepts what is printed, and the device computes what the interpreter computes."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy.gpu.ir import new_arena
from cutepy.gpu.lower import compile_kernel
from cutepy.gpu.runtime import Device
from cutepy.gpu.targets.interpreter import interpret

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from kernels import CASES, matmul


@pytest.mark.parametrize("name", [*CASES, "matmul unrolled"])
def test_device_and_interpreter_agree(device: Device, name: str) -> None:
    with new_arena():
        case = matmul(unrolled=True) if name == "matmul unrolled" else CASES[name]()
        arrays = case.inputs(np.random.default_rng(3))
        expected = [a.copy() for a in arrays]
        interpret(case.kernel, expected, case.params)
        buffers = [device.upload(a.astype(np.uint32) if a.dtype == bool else a) for a in arrays]
        program = compile_kernel(case.kernel, dialect=device.dialect, guarded=not device.runtime.module_checks)
        device.launch(program, buffers, [case.params[p.name] for p in case.kernel.params])
        for buffer, array, wanted in zip(buffers, arrays, expected, strict=True):
            got = device.read(buffer, np.uint32 if array.dtype == bool else array.dtype)[: array.size]
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
