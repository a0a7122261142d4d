"""What the examples of this folder share: a kernel with its arguments and what NumPy gives for them.

`python examples/kernels/saxpy.py` runs one on the best adapter, or in the interpreter where there is none, and
compares; `--wgsl` prints its text instead, `--engine wgpu|numpy` chooses.
"""

import argparse
from dataclasses import dataclass, field

import numpy as np

from cutepy import gpu
from cutepy.errors import DeviceError


@dataclass
class Example:
    """`kernel(*arguments, **static)` leaves `wanted` in its last tensor, within `tolerance` of the greatest element."""

    kernel: gpu.KernelFunction
    arguments: tuple[object, ...]
    wanted: np.ndarray
    static: dict[str, object] = field(default_factory=dict)
    tolerance: float = 1e-6

    @property
    def result(self) -> np.ndarray:
        """What the kernel writes."""
        return np.asarray([one for one in self.arguments if not isinstance(one, int | float)][-1])

    def run(self, engine: str) -> float:
        """Run it, and return how far it is from NumPy, in parts of the greatest element."""
        run = self.kernel if engine == "wgpu" else self.kernel.interpret
        run(*self.arguments, **self.static)
        scale = float(np.abs(self.wanted).max()) or 1.0
        return float(np.abs(self.result.astype(np.result_type(self.wanted, np.float64)) - self.wanted).max()) / scale

    def wgsl(self, **options: object) -> str:
        """The text of its kernel."""
        return self.kernel.wgsl(*self.arguments, **self.static, **options)


def main(example: Example) -> None:
    """What a script does: print the text, or run it and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wgsl", action="store_true", help="print the WGSL and run nothing")
    parser.add_argument("--engine", choices=("auto", "wgpu", "interpreter"), default="auto")
    options = parser.parse_args()
    if options.wgsl:
        print(example.wgsl(), end="")
        return
    engine, adapter = options.engine, "the interpreter"
    if engine != "interpreter":
        try:
            adapter = gpu.default_device().adapter.summary
            engine = "wgpu"
        except DeviceError as error:
            if engine == "wgpu":
                raise SystemExit(f"error: {error}") from None
            engine = "interpreter"
    error = example.run(engine)
    print(f"{example.kernel.__name__} on {adapter}: at most {error:.1e} of the greatest element away from NumPy")
    if error > example.tolerance:
        raise SystemExit(f"error: more than {example.tolerance:.0e}")
