"""Functions of the array API standard, beside array_api_strict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from cutepy import gpu, ops
from cutepy.errors import CutepyError

from .rows import Row, missing, plain

_NAMES = {"abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh",
          "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "divide": "div", "equal": "eq", "not_equal": "ne",
          "less": "lt",
          "less_equal": "le", "greater": "gt", "greater_equal": "ge", "multiply": "mul", "subtract": "sub",
          "negative": "neg", "pow": "power", "floor_divide": "floordiv", "remainder": "mod", "permute_dims": "permute",
          "bitwise_invert": "bitwise_not", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
          "broadcast_to": "expand"}  # fmt: skip
_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p"
    " log2 log10 logical_not negative reciprocal round sign signbit sin sinh square sqrt tan tanh trunc"
)
_BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_right_shift bitwise_or bitwise_xor copysign divide equal"
    " floor_divide greater greater_equal hypot less less_equal logical_and logical_or maximum minimum multiply"
    " not_equal pow remainder subtract"
)
_REDUCED = ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin")
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, float("inf"), -float("inf"), float("nan"))


def array_api(engine: str) -> Row:
    """Functions of the array API standard, by array_api_strict: values, shapes and types, special values included."""
    name = f"array API by array_api_strict, engine {engine!r}"
    if (row := missing(name, "array-api-strict", "array_api_strict")) is not None:
        return row
    xp = import_module("array_api_strict")
    row, g = Row(name), np.random.default_rng(1)
    for function, arguments, options in array_calls(xp, g):
        words = f"{function}({', '.join(f'{a.dtype}{list(a.shape)}' for a in arguments)}, {options})"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = np.asarray(getattr(xp, function)(*[xp.asarray(a) for a in arguments], **options))
        except (TypeError, ValueError):
            continue  # the standard does not say it of these types
        try:
            said: dict[str, Any] = options.copy()
            given: list[Any] = [gpu.array(a) for a in arguments] if engine == "device" else arguments
            if engine != "device" and function not in ("permute_dims", "broadcast_to", "reshape", "flip"):
                said["engine"] = engine
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = plain(getattr(ops, _NAMES.get(function, function))(*given, **said))
        except CutepyError as error:
            row.add("refused", f"{words}: {error}")
            continue
        row.add(*compared(found, wanted, words))
    return row


def compared(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], words: str) -> tuple[str, str]:
    if found.shape != wanted.shape:
        return "wrong", f"{words}: shape {found.shape}, not {wanted.shape}"
    if found.dtype != wanted.dtype:
        widths = {found.dtype.itemsize, wanted.dtype.itemsize}
        narrower = (found.dtype.kind in "iu" and wanted.dtype == np.int64) or widths == {4, 8}
        if not narrower:
            return "wrong", f"{words}: {found.dtype}, not {wanted.dtype}"
    near = 1e-5 if wanted.dtype.kind == "f" else 0
    if not np.allclose(found, wanted, rtol=near, atol=near, equal_nan=True):
        return "wrong", f"{words}: {found.ravel()[:3]}, not {wanted.ravel()[:3]}"
    return ("right" if found.dtype == wanted.dtype else "right, in another width"), words


def array_calls(xp: Any, g: np.random.Generator) -> Iterator[tuple[str, list[np.ndarray[Any, Any]], dict[str, Any]]]:
    """Calls of each function that both have: element types, shapes that broadcast, special values, axes."""
    dtypes = ("float32", "int32", "uint32", "bool", "int8", "uint8", "int16", "uint16")

    def array(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if dtype == "float32":
            return (4 * g.standard_normal(shape)).astype(dtype)
        return g.integers(0, 2 if dtype == "bool" else 7, shape).astype(dtype)

    unary = [name for name in _UNARY.split() if hasattr(xp, name)]
    binary = [name for name in _BINARY.split() if hasattr(xp, name)]
    specials = np.array(_SPECIAL, np.float32)
    for name in unary:
        for dtype in dtypes:
            yield name, [array(dtype, (3, 5))], {}
        yield name, [specials], {}
    for name in binary:
        for dtype in dtypes:
            shapes: Any = (((3, 5), (3, 5)), ((3, 1), (5,)), ((), (4,)))
            for a, b in shapes:
                yield name, [array(dtype, a), array(dtype, b)], {}
        yield name, [specials[:, None], specials[None, :]], {}
        for one, other in (("int32", "int8"), ("uint8", "int16"), ("uint32", "uint8")):
            yield name, [array(one, (4,)), array(other, (4,))], {}
    for name, dtype in product(_REDUCED, dtypes):
        x = array(dtype, (3, 4, 5))
        axes: Any = [None, 0, 1, -1] if name.startswith("arg") else [None, 0, -1, (0, 2)]
        for axis, keep in product(axes, (False, True)):
            yield name, [x], {"axis": axis, "keepdims": keep}
    for dtype in dtypes:
        x = array(dtype, (3, 4, 5))
        yield "permute_dims", [x], {"axes": (2, 0, 1)}
        yield "flip", [x], {"axis": 1}
        yield "reshape", [x], {"shape": (5, 12)}
        yield "broadcast_to", [array(dtype, (3, 1, 5))], {"shape": (3, 4, 5)}
        yield "where", [array("bool", (3, 4)), array(dtype, (3, 4)), array(dtype, (4,))], {}
        yield "matmul", [array(dtype, (6, 7)), array(dtype, (7, 5))], {}
        yield "tensordot", [array(dtype, (3, 4, 5)), array(dtype, (4, 5, 2))], {"axes": 2}
