"""Control flow on a device: every form that is right in the interpreter gives the same there."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu
from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import control_forms
from control_programs import outcome, program
from test_control_flow import arguments


@pytest.mark.parametrize("name", control_forms.RIGHT)
def test_form_on_device(device: Device, name: str) -> None:
    kernel = gpu.kernel(control_forms.RIGHT[name])
    wanted = arguments()
    kernel.interpret(*wanted)
    found = [gpu.array(a, device=device) for a in arguments()]
    kernel(*found)
    np.testing.assert_allclose(found[-1].numpy(), wanted[-1], rtol=1e-5)


@pytest.mark.parametrize("seed", range(10_000, 10_006))
def test_random_programs_on_device(device: Device, seed: int) -> None:
    assert outcome(seed, device=True) == "right", program(seed)
