"""Functions of the array API standard, beside array_api_strict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import product
from typing import Any, TypeAlias

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
_DTYPES = ("float32", "int32", "uint32", "bool", "int8", "uint8", "int16", "uint16")
Call: TypeAlias = tuple[str, list[Any], dict[str, Any]]
"""The name of a function, its arguments and its options."""
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, float("inf"), -float("inf"), float("nan"))


def array_api(engine: str) -> Row:
    """Functions of the array API standard, by array_api_strict: values, shapes and types, special values included."""
    name = f"array API by array_api_strict, engine {engine!r}"
    if (row := missing(name, "array-api-strict", "array_api_strict")) is not None:
        return row
    xp = import_module("array_api_strict")
    row, g = Row(name), np.random.default_rng(1)
    for function, arguments, options in (*array_calls(xp, g), *other_calls(g)):
        words = f"{function}({', '.join(map(said, arguments))}, {options})"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = parts_of(called(xp, function, arguments, options, xp.asarray))
        except (TypeError, ValueError):
            continue  # the standard does not say it of these types
        ours = getattr(ops, _NAMES.get(function, function))
        bring: Callable[[Any], Any] = gpu.array if engine == "device" else lambda a: a
        chosen = {"engine": engine} if engine != "device" and "engine" in signature(ours).parameters else {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = parts_of(called(ops, ours.__name__, arguments, options | chosen, bring))
        except CutepyError as error:
            row.add("refused", f"{words}: {error}")
            continue
        outcomes = [compared(*pair, words) for pair in zip(found, wanted, strict=True)]
        row.add(*max(outcomes, key=lambda outcome: ("right", "right, in another width", "wrong").index(outcome[0])))
    return row


def called(namespace: Any, name: str, arguments: Sequence[Any], options: dict[str, Any], bring: Any) -> Any:
    """A call of a namespace: arrays are brought to it, those of a list too, and a type is its own of this name."""

    def given(a: Any) -> Any:
        if isinstance(a, list):
            return [given(each) for each in a]
        return bring(a) if isinstance(a, np.ndarray) else getattr(namespace, a) if isinstance(a, str) else a

    return getattr(namespace, name)(*map(given, arguments), **options)


def parts_of(result: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays that a call gave."""
    return [plain(part) for part in (result if isinstance(result, tuple | list) else [result])]


def said(argument: Any) -> str:
    """An argument in a message: of an array its type and shape."""
    return f"{argument.dtype}{list(argument.shape)}" if isinstance(argument, np.ndarray) else str(argument)


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


def drawn(g: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers of a type."""
    if dtype == "float32":
        return (4 * g.standard_normal(shape)).astype(dtype)
    return g.integers(0, 2 if dtype == "bool" else 7, shape).astype(dtype)


def array_calls(xp: Any, g: np.random.Generator) -> Iterator[Call]:
    """Calls of functions of elements, reductions and products that both have: element types, shapes that broadcast,
    special values, axes."""
    dtypes, array = _DTYPES, partial(drawn, g)
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


def other_calls(g: np.random.Generator) -> Iterator[Call]:
    """Calls of all other functions that both have: order, indices, joining and moving, scans, creation, types."""
    for dtype in _DTYPES:
        x, y = drawn(g, dtype, (3, 4, 5)), drawn(g, dtype, (3, 4, 5))
        for axis, descending in product((0, 1, -1), (False, True)):
            yield "sort", [x], {"axis": axis, "descending": descending}
            yield "argsort", [x], {"axis": axis, "descending": descending}
        for side in ("left", "right"):
            yield "searchsorted", [np.sort(x.ravel()), y], {"side": side}
        for axis in (0, 1, 2, -1):
            yield "take", [x, np.array([2, 0, 1, 2], np.int32)], {"axis": axis}
            yield "take_along_axis", [x, g.integers(0, 3, (3, 4, 5)).astype(np.int32)], {"axis": axis}
            yield "cumulative_sum", [x], {"axis": axis, "include_initial": axis == 1}
            yield "cumulative_prod", [x % 3 if dtype != "bool" else x], {"axis": axis, "include_initial": axis == 1}
            yield "diff", [x], {"axis": axis, "n": 2}
            yield "count_nonzero", [x], {"axis": axis, "keepdims": axis == 0}
            yield "roll", [x, 2], {"axis": axis}
            yield "repeat", [x, 2], {"axis": axis}
            yield "unstack", [x], {"axis": axis}
            yield "expand_dims", [x], {"axis": axis}
            yield "stack", [[x, y]], {"axis": axis}
            yield "concat", [[x, y]], {"axis": axis}
            yield "vecdot", [x, y], {"axis": -1 - axis % 3}
            yield "moveaxis", [x, axis, 0], {}
        for k in (-1, 0, 2):
            yield "tril", [x], {"k": k}
            yield "triu", [x], {"k": k}
            yield "eye", [3, 4], {"k": k}
        yield "concat", [[x, y]], {"axis": None}
        yield "roll", [x, 3], {}
        yield "tile", [x, (2, 1, 3)], {}
        yield "squeeze", [x[:, :1]], {"axis": 1}
        yield "matrix_transpose", [x], {}
        yield "positive", [x], {}
        yield "clip", [x, 1, 3], {}
        yield "meshgrid", [x[0, 0], y[0, :, 0]], {}
        yield "broadcast_arrays", [x[:, :1], y[0]], {}
        yield "asarray", [x], {}
        for name in ("zeros_like", "ones_like"):
            yield name, [x], {}
        yield "full_like", [x, 1], {}
        for name in ("logaddexp", "logical_xor"):
            yield name, [x, y], {}
        for other in ("float32", "int32", "uint32", "bool"):
            yield "astype", [abs(x) if dtype != "bool" else x, other], {}
    for name in ("zeros", "ones"):
        yield name, [(2, 3)], {}
    yield "full", [(2, 3), 7], {}
    yield "arange", [2, 9, 3], {}
    yield "linspace", [0, 1, 5], {}
    yield "sort", [np.array(_SPECIAL, np.float32)], {}
    for name in ("real", "imag", "conj"):
        yield name, [(drawn(g, "float32", (3, 4)) + 1j).astype(np.complex64)], {}
