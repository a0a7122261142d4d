"""What the array API standard asks of a namespace beside operations: types, their limits and rules, what there is.

Types are those of `cutepy.tensor` under the standard's names; 64-bit types are on the host alone, as WGSL has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..gpu import adapters, default_device
from ..tensor import DTYPES, DType, as_dtype, rules

KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip
"""The kinds of the standard by NumPy's letters."""


def isdtype(dtype: object, kind: object) -> bool:
    """Whether a type is of a kind of the standard, is a type, or one of a tuple of these.

    >>> isdtype("f32", "real floating"), isdtype("i8", ("bool", "unsigned integer"))
    (True, False)

    Raises TensorError for what names no element type.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    known = as_dtype(dtype)
    return known.kind in KINDS[kind] if isinstance(kind, str) and kind in KINDS else known is as_dtype(kind)


def result_type(*operands: object) -> DType:
    """The type in which arrays, types and Python numbers meet.

    >>> print(result_type("f16", 2.5), result_type(np.float32([1]), "i32"))
    f16 f32

    Raises TensorError for integers of which neither type holds the other.
    """
    return rules.result_type("result_type", *map(_typed, operands))


def _typed(operand: object) -> rules.Typed:
    """What the rules know of an array, a type or a Python number."""
    if isinstance(operand, bool | int | float | complex) and not isinstance(operand, np.generic):
        return operand
    return as_dtype(getattr(operand, "dtype", operand))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to, by NumPy's rule.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)

    Raises TensorError where they do not.
    """
    return rules.broadcast_shape("broadcast_shapes", *shapes)


def can_cast(from_: object, to: object) -> bool:
    """Whether every element of one type, or of a tensor, is one of the other.

    >>> can_cast("i8", "i16"), can_cast("f32", "i32")
    (True, False)

    Raises TensorError for what names no element type.
    """
    known = as_dtype(getattr(from_, "dtype", from_))
    return bool(np.can_cast(known.numpy, as_dtype(to).numpy))


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """What a float type holds."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """What an integer type holds."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: object, /) -> FloatLimits:
    """The limits of a float type, or of the parts of a complex one.

    >>> finfo("f32").bits, finfo("f16").max
    (32, 65504.0)

    Raises TensorError for what names no element type.
    """
    known = as_dtype(getattr(type, "dtype", type))
    found = np.finfo(known.numpy)
    eps, most, least, normal = map(float, (found.eps, found.max, found.min, found.smallest_normal))
    return FloatLimits(found.bits, eps, most, least, normal, as_dtype(found.dtype))


def iinfo(type: object, /) -> IntegerLimits:
    """The limits of an integer type.

    >>> iinfo("i8").max
    127

    Raises TensorError for what names no element type.
    """
    known = as_dtype(getattr(type, "dtype", type))
    found = np.iinfo(known.numpy)
    return IntegerLimits(found.bits, int(found.max), int(found.min), known)


STANDARD = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
"""The standard's names of types."""


class NamespaceInfo:
    """What `__array_namespace_info__()` tells, by the standard."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """No shape depends on data: masks and `nonzero` are not offered."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": None}

    def default_device(self) -> str:
        """Where new tensors are."""
        return "cpu"

    def devices(self) -> list[object]:
        """Where tensors can be: the host, and the default GPU where there is one."""
        return ["cpu", *([default_device()] if adapters() else [])]

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """The types of numbers without one."""
        return {kind: DTYPES[name] for kind, name in (
            ("real floating", "f32"), ("complex floating", "c64"), ("integral", "i32"), ("indexing", "i32"),
        )}  # fmt: skip

    def dtypes(self, *, device: object = None, kind: object = None) -> dict[str, DType]:
        """The types there are: on a GPU those of WGSL."""
        there = {name: DTYPES[own] for name, own in STANDARD.items()}
        if device not in (None, "cpu"):
            there = {name: dtype for name, dtype in there.items() if dtype.on_gpu}
        return {name: dtype for name, dtype in there.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What this namespace has, by the array API standard.

    >>> sorted(__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return NamespaceInfo()
