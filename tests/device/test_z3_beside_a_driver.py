"""The second prover in a process that has loaded a driver, which may bring a z3 of its own."""

import subprocess
import sys

import pytest

from cutepy.gpu.runtime import Device

READS = """
from cutepy import gpu
gpu.default_device()
from cutepy.gpu.verify.z3_library import z3
x, solver = z3.BitVec("x", 32), z3.Solver()
solver.add(x == 77)
assert solver.check() == z3.sat
print(solver.model()[x].as_long())
"""


@pytest.mark.on_dawn()
def test_a_model_is_read_after_a_device_was_opened(device: Device) -> None:
    pytest.importorskip("z3")
    done = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["77"]), done.stderr
