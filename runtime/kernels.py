"""The kernels of the explorer's page: three of examples/kernels, with text, proof, report, inputs and result.

The page has no NumPy, so what Python says of a kernel is said here; the result is that of the interpreter, which a
visitor's GPU has to meet.
"""

import sys
from base64 import b64encode
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "kernels")]

from cutepy.gpu.ir import new_arena  # noqa: E402
from cutepy.gpu.lower import compile_kernel  # noqa: E402
from cutepy.gpu.runtime.buffer import as_bytes  # noqa: E402
from cutepy.gpu.targets.interpreter import interpret  # noqa: E402
from cutepy.gpu.trace.call import bind_call  # noqa: E402

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
    call = bind_call(kernel.captures, kernel.signature, arguments, static)
    ir = kernel.ir(*arguments, **static)
    with new_arena():
        program = compile_kernel(ir, dialect="tint")
    inputs = [np.array(engine.memory) for engine in call.engines]
    results = [array.copy() for array in inputs]
    interpret(ir, results, call.params)
    written = next(i for i, binding in enumerate(program.bindings) if binding.access == "read_write")
    params = program.pack([call.params[param.name] for param in program.params]) if program.params else b""
    return {
        "name": name,
        "about": (sys.modules[name].__doc__ or "").partition("\n")[0],
        "sizes": ", ".join(f"{key} = {value}" for key, value in SIZES[name].items()),
        "wgsl": program.wgsl,
        "entry": program.entry,
        "grid": program.grid,
        "writes": [binding.access == "read_write" for binding in program.bindings],
        "inputs": [text(array) for array in inputs],
        "params": b64encode(params).decode(),
        "written": written,
        "result": text(results[written]),
        "proof": str(kernel.verify(*arguments, **static)),
        "report": str(kernel.report(*arguments, **static)),
    }


def text(array: np.ndarray) -> str:
    """The bytes of an array."""
    return b64encode(as_bytes(array).tobytes()).decode()


def all_of_them() -> list[dict[str, object]]:
    """Every kernel of the page."""
    return [described(name) for name in SIZES]
