"""The examples of examples/kernels on a device."""

import sys
from pathlib import Path

import pytest
from swiftshader import needs_f16, needs_special_values

from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.program import MATRICES

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
import example_cases


@pytest.mark.parametrize(("name", "variant"), example_cases.CASES)
def test_on_a_device(device: Device, name: str, variant: str) -> None:
    if variant == "f16" or name == "int4_matvec":
        needs_f16(device)
    if name == "attention" and device.runtime.name == "dawn" and "SwiftShader" in device.adapter.name:
        pytest.skip("NOT TESTED: it shuffles within 8 threads, SwiftShader's subgroups have 4")
    if name == "attention_matrices" and MATRICES not in device.features:
        pytest.skip("NOT TESTED: the device has no matrices of a subgroup")
    if (name, variant) in (("matmul", "whole tiles"), ("matmul", "uneven"), ("matmul", "Fortran order")):
        needs_special_values(device)  # its epilogue is a gelu, with tanh
    example = example_cases.make(name, variant)
    assert example.run("wgpu") <= example.tolerance
