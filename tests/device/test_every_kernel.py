"""Each runtime's compiler, and its checks of pipelines, accept every kernel of the project and of its examples."""

import sys
from pathlib import Path

from cutepy.gpu.runtime import Device
from cutepy.gpu.runtime.program import MATRICES

sys.path.insert(0, str(Path(__file__).parents[1] / "gpu"))
from every_kernel import every_kernel, kernels_of_the_package


def test_the_compiler_accepts_every_kernel(device: Device) -> None:
    runs = every_kernel().values()
    programs = [(run.kernel, run.kernel.program(*run.arguments, dialect=device.dialect, **run.static)) for run in runs]
    usable = [(kernel, p) for kernel, p in programs if not p.excesses(device.limits, device.features)]
    if "shader-f16" in device.features:  # wgpu grants no matrices
        refused = {need for kernel, p in programs for need in p.needs if need not in device.features}
        assert refused <= {MATRICES} and len(usable) >= len(programs) - 10
    assert len(usable) > 120
    # gpu/test_every_kernel shows Tint every text, and test_examples runs those of the examples; a pipeline takes
    # SwiftShader 300 ms: one for each other kernel
    if device.dialect == "tint":
        run_there = {id(run.kernel) for name, run in every_kernel().items() if name.startswith("example")}
        usable = [(kernel, p) for kernel, p in dict(usable).items() if id(kernel) not in run_there]
    for _, program in usable:
        device.prepare(program)
    assert len(usable) > 20


def test_none_is_left_out() -> None:
    held = {id(run.kernel) for run in every_kernel().values()}
    assert not [name for name, kernel in kernels_of_the_package().items() if id(kernel) not in held]
