"""A driver for Dawn where there is no GPU: Debian's chromium brings SwiftShader; Dawn takes no lavapipe."""

from pathlib import Path

import pytest

from cutepy.gpu.runtime import adapters, missing_runtimes

SWIFTSHADER = Path("/usr/lib/chromium/vk_swiftshader_icd.json")


def show_swiftshader() -> None:
    """Let Dawn find SwiftShader when it looks for drivers, which it does once a process; wgpu-native looks anew."""
    if SWIFTSHADER.exists() and not missing_runtimes():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VK_ADD_DRIVER_FILES", str(SWIFTSHADER))
            adapters()
