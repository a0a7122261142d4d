"""Integers on the device are those of Python, with the run-time checks and without."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from integer_kernels import cases
from test_integers import COUNTED, LITERALS, SAID, by_numpy, counting, interpreted, literals, operand, table


@pytest.mark.parametrize("checked", [True, False])
def test_random_kernels_give_what_python_gives(device: Device, checked: bool) -> None:
    for seed, case in cases(40, 5000):
        if interpreted(case) is None:
            continue
        program = case.kernel.program(*case.arrays, checks="always", dialect=device.dialect, **case.static)
        program = program if checked else replace(program, checked=False)
        buffers = [device.upload(array) for array in case.arrays]
        device.launch(program, buffers)
        for buffer, array, wanted in zip(buffers, case.arrays, case.expected, strict=True):
            assert np.array_equal(buffer.read(array.dtype, array.size), wanted), seed


@pytest.mark.parametrize("name", SAID)
def test_operators_on_the_device_are_those_of_numpy(device: Device, name: str) -> None:
    out = np.zeros(64, np.uint32)
    table(*map(operand, "abus"), out, name=name)
    assert np.array_equal(out, by_numpy(name))


@pytest.mark.parametrize(("bounds", "turns"), COUNTED)
def test_a_loop_on_the_device_counts_as_range_does(device: Device, bounds: object, turns: range) -> None:
    out = np.zeros(16, np.int32)
    counting(out, 5, bounds=bounds)
    assert out[: out[15]].tolist() == list(turns)


@pytest.mark.parametrize("name", LITERALS)
def test_arithmetic_on_literals_is_not_refused(device: Device, name: str) -> None:
    here, there = np.zeros(1, np.float32), np.zeros(1, np.float32)
    literals.interpret(here, name=name)
    literals(there, name=name)
    np.testing.assert_allclose(there, here, rtol=1e-6)
