"""Naga and Tint on every kernel text of the tests: `python tools/compilers.py [-v]` counts refusals, with the time.

The texts are those of the kernels of tests/gpu/every_kernel.py (the project's own and its examples'), plain and with
checks, of the ports in tests/suites and of the forms of control flow. Naga judges through a shader module of wgpu, on
any adapter, Tint through one of Dawn's null backend: both parse and validate, and no driver compiles. Matrices of
subgroups are Tint's alone. Only that is timed: tracing is not. Exits with 1 where a text is refused.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "suites"), str(TESTS / "gpu"), str(TESTS)]

import control_forms  # noqa: E402  found through the path above
import leaving_forms  # noqa: E402
import numpy as np  # noqa: E402
import wgpu  # noqa: E402
from every_kernel import every_kernel  # noqa: E402
from ported import all_ports  # noqa: E402
from tint import verdict  # noqa: E402

from cutepy import gpu  # noqa: E402
from cutepy.errors import KernelError  # noqa: E402
from cutepy.gpu.ir import new_arena  # noqa: E402
from cutepy.gpu.lower import lower  # noqa: E402
from cutepy.gpu.targets.wgsl import write_wgsl  # noqa: E402

DIALECTS = ("naga", "tint")
#: The extension for matrices of subgroups, which no adapter of wgpu has, and Dawn's null backend has.
MATRICES = "_matrix;"


def texts(dialect: str) -> Iterator[tuple[str, str]]:
    """Every text by its name."""
    for name, run in every_kernel().items():
        yield name, run.wgsl(dialect)
        with new_arena():
            kernel = lower(run.kernel.ir(*run.arguments, **run.static))
            yield f"{name}, with checks", write_wgsl(kernel, dialect, guarded=True).text
    g = np.random.default_rng(3)
    x, n, y = g.random(64, np.float32), g.integers(0, 99, 64, np.uint32), np.zeros(64, np.float32)
    for name, form in (leaving_forms.RIGHT | control_forms.RIGHT).items():
        yield name, gpu.kernel(form).wgsl(x, n, y, dialect=dialect)
    for port in all_ports():
        try:
            yield port.source, port.kernel.wgsl(*port.arguments, dialect=dialect, **port.static)
        except KernelError:
            continue  # no text: WGSL refuses the barrier, and so does the printer


def naga() -> Callable[[str], str]:
    """What naga says of a text: "" where it is content."""
    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    wanted: Any = adapter.features & {"shader-f16", "subgroup", "subgroup-barrier", "shader-f64"}
    device = adapter.request_device_sync(required_features=sorted(wanted))

    def say(text: str) -> str:
        try:
            device.create_shader_module(code=text)
        except wgpu.GPUError as error:
            return str(error)
        return ""

    return say


def main(verbose: bool) -> int:
    """Print a line for each compiler."""
    judges: dict[str, Callable[[str], str]] = {"naga": naga(), "tint": lambda text: "\n".join(verdict(text))}
    refused, seconds, of_cpu = 0, 0.0, 0.0
    for dialect in DIALECTS:
        given = {name: text for name, text in texts(dialect) if dialect == "tint" or MATRICES not in text}
        judges[dialect]("@compute @workgroup_size(1) fn f() {}")  # starts it
        start, cpu = perf_counter(), process_time()
        said = {name: judges[dialect](text) for name, text in given.items()}
        took, spent = perf_counter() - start, process_time() - cpu
        wrong = {name: words for name, words in said.items() if words}
        refused, seconds, of_cpu = refused + len(wrong), seconds + took, of_cpu + spent
        kib = sum(map(len, given.values())) >> 10
        print(f"{dialect}: {len(given)} texts, {kib} KiB, {len(wrong)} refused, {took:.2f} s, {spent:.2f} s of CPU")
        for name, words in wrong.items():
            print(f"  {name}: {words if verbose else words.splitlines()[0]}")
    print(f"together {seconds:.2f} s, {of_cpu:.2f} s of CPU")
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main("-v" in sys.argv[1:]))
