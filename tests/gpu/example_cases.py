"""The kernels of examples/kernels, each in several layouts and element types."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "examples" / "kernels"
sys.path.insert(0, str(FOLDER))  # before any module called `example` that is installed

NAMES = (
    "saxpy", "transpose", "matmul", "histogram", "softmax", "convolution", "attention", "layer_norm", "scan", "top_k",
    "int4_matvec", "dropout", "fft", "attention_matrices", "decode",
)  # fmt: skip
VARIANTS: dict[str, dict[str, dict[str, object]]] = {
    "saxpy": {
        "whole tiles": {"n": 4096},
        "uneven": {"n": 5003},
        "strided": {"n": 3001, "step": 3},
        "backwards": {"n": 3001, "step": -1},
        "f16": {"n": 2050, "dtype": "float16"},
        "i32": {"n": 1000, "dtype": "int32"},
    },
    "transpose": {
        "whole tiles": {"shape": (64, 96)},
        "uneven": {"shape": (45, 70)},
        "Fortran order": {"shape": (45, 70), "order": "F"},
        "not swizzled": {"shape": (64, 32), "swizzle": False},
        "f16": {"shape": (33, 65), "dtype": "float16"},
        "u32": {"shape": (40, 40), "dtype": "uint32"},
        "bool": {"shape": (40, 50), "dtype": "bool"},
    },
    "matmul": {
        "whole tiles": {"m": 128, "n": 64, "k": 32},
        "uneven": {"m": 70, "n": 65, "k": 17},
        "one by one": {"m": 1, "n": 1, "k": 1},
        "Fortran order": {"m": 70, "n": 65, "k": 17, "orders": "FF"},
        "f16": {"m": 64, "n": 30, "k": 40, "dtype": "float16", "orders": "FC"},
    },
    "histogram": {"uneven": {"n": 10_001}, "strided": {"n": 5000, "step": 2}, "few bins": {"n": 4096, "bins": 3}},
    "softmax": {
        "uneven": {"shape": (7, 150)},
        "short": {"shape": (9, 5)},
        "Fortran order": {"shape": (8, 256), "order": "F"},
        "f16": {"shape": (5, 200), "dtype": "float16"},
    },
    "convolution": {
        "3 x 3": {"image": (1, 10, 14, 8), "filters": (33, 3, 3)},
        "strided": {"image": (2, 12, 11, 9), "filters": (10, 3, 2), "stride": 2, "padding": 2},
        "dilated": {"image": (1, 9, 9, 4), "filters": (5, 2, 2), "dilation": 3, "padding": 0},
        "1 x 1": {"image": (1, 4, 8, 16), "filters": (32, 1, 1), "padding": 0},
    },
    "attention": {
        "causal": {"length": 70, "width": 32, "heads": 2},
        "whole tiles": {"length": 64, "width": 64, "heads": 1, "causal": False},
        "uneven": {"length": 45, "width": 64, "heads": 2, "causal": False},
    },
    "attention_matrices": {
        "causal": {"length": 70, "width": 32, "heads": 2},
        "whole tiles": {"length": 128, "width": 64, "heads": 1, "causal": False},
        "uneven": {"length": 145, "width": 64, "heads": 2, "causal": False},
        "a cache": {"length": 5, "width": 64, "heads": 2, "keys": 150, "group": 2},
        "a window": {"length": 145, "width": 64, "heads": 1, "keys": 160, "window": 40},
    },
    "decode": {
        "one head a key": {"keys": 150, "group": 1},
        "short": {"keys": 3, "width": 32, "heads": 1, "group": 3},
        "f16": {"keys": 200, "dtype": "float16"},
    },
    "dropout": {"whole tiles": {"n": 2048}, "uneven": {"n": 1003, "seed": 4_000_000_000}},
    "layer_norm": {
        "uneven": {"shape": (7, 150)},
        "short": {"shape": (3, 5)},
        "its gradient": {"shape": (5, 300), "gradient": True},
    },
    "scan": {
        "whole tiles": {"n": 6144, "parts": 3},
        "uneven": {"n": 9001, "dtype": "uint32", "parts": 3},
        "floats": {"n": 1500, "dtype": "float32", "parts": 1},
    },
    "top_k": {"uneven": {"shape": (5, 150), "k": 4}, "all of them": {"shape": (3, 9), "k": 9}},
    "int4_matvec": {"uneven": {"rows": 7, "columns": 1056}, "short": {"rows": 3, "columns": 32}},
    "fft": {"one": {"signals": 1}, "some": {"signals": 3}},
}
CASES = [(name, variant) for name in NAMES for variant in VARIANTS[name]]


def make(name: str, variant: str):
    """The example `name` in one variant, ready to run."""
    factory: Callable[..., object] = importlib.import_module(name).example
    return factory(**VARIANTS[name][variant])
