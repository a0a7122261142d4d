"""The kernels of the explorer's page: three of examples/kernels, with text, proof, report, exported module, inputs
and results.

The page has no NumPy, so what Python says of a kernel is said here; the result is that of the interpreter, which a
visitor's GPU has to meet.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "kernels")]

from cutepy.gpu.targets.export import module_text  # noqa: E402

SIZES: dict[str, dict[str, object]] = {
    "saxpy": {"n": 3001},
    "transpose": {"shape": (45, 70)},
    "matmul": {"m": 70, "n": 65, "k": 17},
}


def biased(x, bias):  # type: ignore[no-untyped-def] # a kernel's function, traced
    """After the product."""
    return x + bias


STATIC: dict[str, dict[str, object]] = {"matmul": {"epilogue": biased}}


def described(name: str) -> dict[str, object]:
    """One kernel, as JSON."""
    example = __import__(name).example(**SIZES[name])
    kernel, arguments = example.kernel, example.arguments
    static = {**example.static, **STATIC.get(name, {})}
    trial = kernel.tested(*arguments, sizes="known", **static)
    return {
        **trial.data(),
        "name": name,
        "about": (sys.modules[name].__doc__ or "").partition("\n")[0],
        "sizes": ", ".join(f"{key} = {value}" for key, value in SIZES[name].items()),
        "wgsl": kernel.wgsl(*arguments, dialect="tint", **static),
        "module": module_text([trial.function]),
        "proof": str(kernel.verify(*arguments, **static)),
        "report": str(kernel.report(*arguments, **static)),
    }


def all_of_them() -> list[dict[str, object]]:
    """Every kernel of the page."""
    return [described(name) for name in SIZES]
