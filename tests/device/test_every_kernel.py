"""naga, and wgpu's checks of pipelines, accept every kernel of the project and of its examples."""

import sys
from pathlib import Path

import pytest

from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.program import MATRICES

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from every_kernel import every_kernel


@pytest.mark.parametrize("device", ["wgpu"], indirect=True)  # gpu/test_every_kernel shows Tint every text
def test_the_compiler_accepts_every_kernel(device: Device) -> None:
    runs = every_kernel().values()
    programs = [(run.kernel, run.kernel.program(*run.arguments, dialect=device.dialect, **run.static)) for run in runs]
    usable = [(kernel, p) for kernel, p in programs if not p.excesses(device.limits, device.features)]
    if "shader-f16" in device.features:  # wgpu grants no matrices
        refused = {need for kernel, p in programs for need in p.needs if need not in device.features}
        assert refused <= {MATRICES} and len(usable) >= len(programs) - 10
    assert len(usable) > 120
    for _, program in usable:
        device.prepare(program)
