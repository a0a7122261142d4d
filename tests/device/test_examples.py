"""The examples of examples/kernels on a device."""

import sys
from pathlib import Path

import pytest

from cutepy.gpu.runtime import Device

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import example_cases


@pytest.mark.parametrize(("name", "variant"), example_cases.CASES)
def test_on_a_device(device: Device, name: str, variant: str) -> None:
    if variant == "f16" and "shader-f16" not in device.features:
        pytest.skip("NOT TESTED: the device has no f16")
    example = example_cases.make(name, variant)
    assert example.run("wgpu") <= example.tolerance
