"""A driver for Dawn where there is no GPU: Debian's chromium brings SwiftShader; Dawn takes no lavapipe.

What it does not compute, through either runtime, is skipped by name.
"""

from pathlib import Path

import pytest

from cutepy.gpu.runtime import Device, missing_runtimes
from cutepy.gpu.runtime.adapters import RUNTIMES

SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")


def show_swiftshader() -> None:
    """Let Dawn find SwiftShader when it looks for drivers, which each runtime does once a process."""
    if SWIFTSHADER.exists() and not missing_runtimes():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VK_ADD_DRIVER_FILES", str(SWIFTSHADER))
            RUNTIMES["dawn"].adapters()


def needs_f16(device: Device) -> None:
    """Skip what a device without f16 cannot run."""
    if "shader-f16" not in device.features:
        pytest.skip("NOT TESTED: the device has no f16")


def needs_special_values(device: Device, what: str = "") -> None:
    """Skip what SwiftShader computes its own way: NaN and infinities in these functions, tanh beyond 44."""
    odd = "exp exp2 expm1 log log2 log10 log1p sin cos tan arctan2 cosh tanh arcsinh sigmoid power".split()
    if "SwiftShader" in device.adapter.name and (not what or what in odd):
        pytest.skip("NOT TESTED: SwiftShader has its own NaN and infinities, through wgpu as well")
