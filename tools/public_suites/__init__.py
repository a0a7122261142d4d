"""Public suites and other projects' implementations as judges of cutepy: a row of counts each, for `tools/suites.py`.

ONNX's node tests and graphs run as they are, node by node, on `cutepy.ops`; array_api_strict, pycute, tensor-layouts
and Triton's LinearLayout answer the same questions as cutepy does. What is not installed is said, and not counted:
`pip install onnx array-api-strict nvidia-cutlass tensor-layouts triton` (nvidia-cutlass brings pycute).
"""

from collections.abc import Iterator, Sequence

from .array_functions import array_api
from .layout_functions import cute, pycute, tensor_layouts, triton
from .onnx_nodes import onnx_nodes
from .rows import Row

__all__ = ["Row", "all_suites"]


def all_suites(engines: Sequence[str]) -> Iterator[Row]:
    """Every row, those of arrays for each engine: "numpy", the "interpreter" of kernels, a "device"."""
    yield pycute()
    yield tensor_layouts()
    yield cute()
    yield triton()
    for engine in engines:
        yield onnx_nodes(engine)
        yield array_api(engine)
