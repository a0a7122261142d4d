"""Every operation with every element type, where elements live and what is given: as NumPy, or refused with a reason.

A cell is (function, type, home, operand). What is right is asked of NumPy, in f64 for floats: numbers are small and
within every domain, as edges have tests of their own. A refusal has one of the `REASONS`; anything else is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cutepy import copy, gpu, local_tile, make_tensor, ops, recast
from cutepy.errors import CutepyError
from cutepy.tensor import DTYPES, DType, Tensor
from cutepy.tensor.dtypes import PACKED
from cutepy.tensor.functions import FUNCTIONS

HOMES = ("host", "device", "packed")
OPERANDS = ("tensor", "number", "scalar", "odd length", "view", "guarded tile")
REASONS = {
    "the kind": r"it is not defined on|complex numbers have no order|it is defined on real numbers|"
    r"of complex numbers: |loses the imaginary part",
    "WGSL has no such type": "no such element type on a GPU",
    "a tile's edge on a device": "reaches beyond its tensor",
    "no kernel": "no device computes with complex numbers",
}
"""Why a call may be refused, and the words that say so."""
NUMPYS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x), "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.log1p(np.exp(x)), "fma": lambda a, b, c: a * b + c,
    "fract": lambda x: x - np.floor(x), "round": lambda x: x if x.dtype.kind in "iu" else np.rint(x),
    "div": np.true_divide, "mul": np.multiply,
    "sub": np.subtract, "neg": np.negative, "floordiv": np.floor_divide, "mod": np.remainder, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "bitwise_not": np.invert, "cumsum": lambda x: np.cumsum(x, 0), "cumprod": lambda x: np.cumprod(x, 0),
    "norm": lambda x: np.sqrt((abs(x) ** 2).sum()), "logsumexp": lambda x: np.log(np.exp(x).sum()),
}  # fmt: skip
"""NumPy's function where it has another name than ours, or a formula."""
BY_BITS = ("leading_zeros", "trailing_zeros", "reverse_bits", "mulhi", "bitwise_count", "erf")
"""What NumPy has no function for; tests of their own have them."""
FOLDS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "var", "std", "logsumexp", "norm",
         "count_nonzero")  # fmt: skip
OTHERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softmax": (lambda t: ops.softmax(t, 0), lambda x: np.exp(x) / np.exp(x).sum(0)),
    "cumsum": (lambda t: ops.cumsum(t, 0), lambda x: np.cumsum(x, 0)),
    "cummax": (lambda t: ops.cummax(t, 0), np.maximum.accumulate),
    "cummin": (lambda t: ops.cummin(t, 0), np.minimum.accumulate),
    "cumprod": (lambda t: ops.cumprod(t, 0), lambda x: np.cumprod(x, 0)),
    "contiguous": (ops.contiguous, lambda x: x),
    "ravel": (ops.ravel, np.ravel),
    "flip": (ops.flip, np.flip),
    "pad": (lambda t: ops.pad(t, [(1, 2)] * t.ndim), lambda x: np.pad(x, [(1, 2)] * x.ndim)),
    "concat": (lambda t: ops.concat([t, t]), lambda x: np.concatenate([x, x])),
    "stack": (lambda t: ops.stack([t, t], -1), lambda x: np.stack([x, x], -1)),
    "take": (lambda t: ops.take(t, [1, 0, 1], 0), lambda x: np.take(x, [1, 0, 1], 0)),
    "roll": (lambda t: ops.roll(t, 1, axis=0), lambda x: np.roll(x, 1, 0)),
    "tile": (lambda t: ops.tile(t, (2,)), lambda x: np.tile(x, (2,))),
    "repeat": (lambda t: ops.repeat(t, 2, axis=0), lambda x: np.repeat(x, 2, 0)),
    "index": (lambda t: t[::2], lambda x: x[::2]),
    "astype f32": (lambda t: ops.astype(t, "f32"), lambda x: x.astype(np.float32)),
    "astype i32": (lambda t: ops.astype(t, "i32"), lambda x: x.astype(np.int32)),
    "sort": (lambda t: ops.sort(t, axis=0), lambda x: np.sort(x, 0)),
    "argsort": (lambda t: ops.argsort(t, axis=0), lambda x: np.argsort(x, 0, stable=True)),
    "top_k": (lambda t: ops.top_k(t, 2, axis=0)[0], lambda x: np.sort(x, 0)[::-1][:2]),
    "take_along_axis": (
        lambda t: ops.take_along_axis(t, np.zeros((1,) * t.ndim, np.int32), axis=0),
        lambda x: np.take_along_axis(x, np.zeros((1,) * x.ndim, np.int32), 0),
    ),
    "searchsorted": (
        lambda t: ops.searchsorted(ops.sort(ops.ravel(t)), t),
        lambda x: np.searchsorted(np.sort(x.ravel()), x),
    ),
    "matmul": (lambda t: t @ t.T, lambda x: x @ x.T),
    "diff": (lambda t: ops.diff(t, axis=0), lambda x: np.diff(x, axis=0)),
    "conj": (ops.conj, np.conj),
    "where": (lambda t: ops.where(True, t, t), lambda x: x),
}
OF_FRACTIONS = ("mean", "var", "std", "logsumexp", "norm", "softmax")


@dataclass(frozen=True)
class Cell:
    """One call: a function of a type, where the elements are, and what kind of operand is given."""

    function: str
    dtype: str
    home: str
    operand: str

    def __str__(self) -> str:
        return f"{self.function} of {self.dtype}, {self.home}, {self.operand}"


def names() -> list[str]:
    return [*(n for n in FUNCTIONS if n not in BY_BITS and n != "where"), *FOLDS, *OTHERS]


def cells() -> Iterator[Cell]:
    """All cells that there are: packed words hold i4 and u4 beside small integers; a number is no tensor elsewhere."""
    for function, dtype, home, operand in product(names(), [*DTYPES, *PACKED], HOMES, OPERANDS):
        small = dtype in PACKED or (DTYPES[dtype].kind in "iu" and DTYPES[dtype].bits < 32)
        if (home == "packed") != (dtype in PACKED) and not (home == "packed" and small):
            continue
        if operand in ("number", "scalar") and (home == "packed" or function not in FUNCTIONS):
            continue
        yield Cell(function, dtype, home, operand)


def elements(dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """1, 2 and 3 in turn, and True; floats a half more."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % 3 + (1.5 if dtype.kind in "fc" else 1)
    if dtype.kind == "b":
        return numbers % 2 == 1
    return numbers.astype(dtype.numpy)


def operand_of(cell: Cell) -> tuple[Any, np.ndarray]:
    """What is given first, and the same as NumPy's array."""
    dtype = PACKED.get(cell.dtype) or DTYPES[cell.dtype]
    shape = (5,) if cell.operand == "odd length" else (4, 6)
    array = elements(dtype, shape)
    if cell.operand == "number":
        # A Python number alone has a narrow type, whatever cell it stands for.
        alone = {"b": "bool", "f": "f32", "c": "c64"}.get(dtype.kind, "i32")
        array = elements(DTYPES[alone], ())
        return array.item(), array
    if cell.operand == "scalar":
        array = elements(dtype, ())
        return array[()], array
    if cell.home == "packed":
        tensor = _packed(array, dtype)
    else:
        tensor = make_tensor(array)
        if cell.home == "device":
            tensor = gpu.array(tensor)
    if cell.operand == "view":
        return ops.permute(tensor, (1, 0)), array.T
    if cell.operand == "guarded tile":
        tile = local_tile(tensor, (3, 4), (1, 1))
        inside = np.zeros((3, 4), array.dtype)
        inside[:1, :2] = array[3:, 4:]
        return tile, inside
    return tensor, array


def _packed(array: np.ndarray, dtype: DType) -> Tensor:
    """The elements as fields of words of memory."""
    words = np.zeros(-(-array.size * dtype.bits // 32), np.uint32)
    # A vector of one word has the stride 0 of a single element, which is of no other width.
    whole = recast(make_tensor(words, len(words), 1), dtype)
    used = ops.crop(whole, [(0, array.size)])
    copy(make_tensor(array.ravel()), used)
    return ops.reshape(used, array.shape)


def called(cell: Cell, given: Any, array: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any], int]:
    """The call, NumPy's, and the number of operands."""
    name = cell.function
    if name in OTHERS:
        ours, theirs = OTHERS[name]
        return lambda: ours(given), lambda: theirs(array), 1
    fold = NUMPYS.get(name) or getattr(np, name, None)
    assert fold is not None, name
    function = FUNCTIONS.get(name)
    if function is None:
        return lambda: getattr(ops, name)(given), lambda: fold(array), 1
    return (
        lambda: getattr(ops, name)(*[given] * function.arity),
        lambda: fold(*[array] * function.arity),
        function.arity,
    )


def judged(cell: Cell) -> str:
    """What a cell is: "as NumPy", "refused: " and the reason, or what is wrong."""
    try:
        given, array = operand_of(cell)
    except CutepyError as error:
        return _refusal(error)
    function = FUNCTIONS.get(cell.function)
    fractions = function.gives == "fraction" if function is not None else cell.function in OF_FRACTIONS
    wide = array.astype(np.float64) if array.dtype.kind in ("biuf" if fractions else "f") else array
    ours, _theirs, _count = called(cell, given, array)
    _ours, theirs, _count = called(cell, given, wide)
    try:
        found = ours()
    except CutepyError as error:
        return _refusal(error)
    except Exception as error:  # what is no error of cutepy is a fault
        return f"raised {type(error).__name__}: {error}"
    try:
        with np.errstate(all="ignore"):
            wanted = np.asarray(theirs())
    except TypeError as error:
        return f"computed what NumPy refuses: {error}"
    if not isinstance(found, Tensor):
        return f"gave {type(found).__name__}"
    there = given.device if isinstance(given, Tensor) else "cpu"
    if found.device != there:
        return f"computed on {found.device}, not on {there}"
    return _compared(found, wanted, cell)


def _compared(found: Tensor, wanted: np.ndarray, cell: Cell) -> str:
    values = found.numpy()
    kinds = {values.dtype.kind, wanted.dtype.kind}
    if values.shape != wanted.shape:
        return f"shape {values.shape}, not {wanted.shape}"
    if len(kinds) > 1 and not kinds <= {"i", "u"} and cell.dtype != "bool":
        return f"type {values.dtype}, not {wanted.dtype}"
    near = {"float16": 4e-3, "float32": 1e-4}.get(values.dtype.name, 1e-5)
    near = max(near, 2e-3) if cell.home == "device" else near
    if values.dtype.kind in "biu" and wanted.dtype.kind in "biu":
        # Sums of few bits are of 32 here, of 64 in NumPy: equal modulo the narrower of both.
        same = values.astype(np.int64) == wanted.astype(np.int64)
        return "as NumPy" if same.all() else f"{values.ravel()[:3]}, not {wanted.ravel()[:3]}"
    if wanted.dtype.kind == values.dtype.kind:
        with np.errstate(over="ignore"):
            wanted = wanted.astype(values.dtype)  # beyond f16 it is infinite
    if np.allclose(values, wanted, rtol=near, atol=near, equal_nan=True):
        return "as NumPy"
    return f"{values.ravel()[:3]}, not {wanted.ravel()[:3]}"


def _refusal(error: CutepyError) -> str:
    for reason, words in REASONS.items():
        if re.search(words, str(error)):
            return f"refused: {reason}"
    return f"refused, for no reason of the list: {str(error).splitlines()[0]}"


def is_right(outcome: str) -> bool:
    return outcome == "as NumPy" or outcome.startswith("refused: ")
