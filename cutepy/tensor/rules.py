"""The rules that every operation keeps, wherever it is computed: types, numbers, broadcasting, axes, nothing to fold.

NumPy's rules (NEP 50), but that a result never needs a type which none of its operands has:

| operands | type of the result |
|---|---|
| tensors, arrays, NumPy scalars | the highest kind of bool < integer < float < complex; in it, the widest |
| integers of which neither type holds the other (i32 and u32) | refused; convert one |
| a Python number | weak: it takes the type that it meets, and raises it only in kind |
| ... alone, or in a nested list | bool, i32, f32, c64 |
| ... an integer with bool; a float with integers | i32; f32 (f64 with integers of 64 bits) |
| ... an integer beyond the type that it meets | refused, never wrapped |
| functions with fractions (exp, div, mean ...) of bool and integers | f32 (f64 of 64 bits) |
| comparisons and tests | bool |
| sum, prod | the type of the elements; of bool and of integers below 32 bits, i32 or u32; they wrap |
| max, min; any, all; argmax, argmin | the type of the elements; bool; i32 |

f16 is computed and summed in f32, and rounded once. Of no elements the sum is 0, the product 1, the mean NaN, `any`
False and `all` True; there is no greatest, and asking for one is an error. No axes named means all; an axis that is
named leaves the shape, or stays with size 1. Results are tensors, of rank 0 where nothing is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex, TypeAlias

from ..errors import TensorError
from ..lazy import numpy as np
from .dtypes import BREADTH, DType, as_dtype, bool_, f32, i32, u32

Number: TypeAlias = int | float | complex
"""A Python number: weak, it takes the type that it meets."""
Shape: TypeAlias = tuple[int, ...]
"""The size of each axis."""
Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
"""One axis or several, from 0 or from the last, -1; None means all."""

# NumPy's letter of a kind of element types, in words.
KINDS = {"b": "bool", "i": "signed integers", "u": "unsigned integers", "f": "floats", "c": "complex numbers"}


@dataclass(frozen=True, slots=True)
class WeakNumber:
    """A Python number that is known later: of its type only the kind is known, "b", "i", "f" or "c"."""

    kind: str

    def __str__(self) -> str:
        return {"b": "a bool", "i": "an integer", "f": "a float", "c": "a complex number"}[self.kind]


Typed: TypeAlias = DType | WeakNumber | Number
"""What the type of an operation depends on: a type, or a Python number."""


def weak_kind(number: Number) -> str:
    """The kind of a Python number: "b", "i", "f" or "c"."""
    return {bool: "b", int: "i", float: "f"}.get(type(number), "c")


def result_type(call: str, *operands: Typed) -> DType:
    """The type in which operands of these types, and these Python numbers, meet.

    >>> from cutepy.tensor import f16
    >>> [str(result_type("add", *met)) for met in ((f16, f32), (i32, f16), (f16, 2.5), (i32, 2.5), (bool_, 3))]
    ['f32', 'f16', 'f16', 'f32', 'i32']

    Raises TensorError for integers of which neither holds the other, and for a number beyond the type that it meets.
    """
    # Element types meet first; a Python number counts by its kind, and raises what they give only to that kind.
    typed = [operand for operand in operands if isinstance(operand, DType)]
    numbers = [operand for operand in operands if not isinstance(operand, DType | WeakNumber)]
    kinds = [operand.kind for operand in operands if isinstance(operand, WeakNumber)] + [*map(weak_kind, numbers)]
    kind = max(kinds, key=BREADTH.__getitem__, default="b")
    found = _met(call, typed) if typed else None
    if found is None or BREADTH[kind] > BREADTH[found.kind]:
        found = _of_kind(kind, 0 if found is None else found.bits)
    for number in numbers:
        check_number(call, number, found)
    return found


def _met(call: str, typed: list[DType]) -> DType:
    """The type of the highest kind that holds all of that kind; integers that meet a float do not make it wider."""
    # Integers beside floats, and reals beside complex numbers, do not widen what those give.
    top = max(BREADTH[dtype.kind] for dtype in typed)
    meeting = [dtype for dtype in typed if BREADTH[dtype.kind] >= min(top, 2)]
    # NumPy would widen i32 and u32 to i64: a type that no operand has is refused.
    found = np.result_type(*(dtype.numpy for dtype in meeting)).name
    if top < 2 and found not in [dtype.numpy for dtype in meeting]:
        names = " and ".join(sorted({dtype.name for dtype in meeting}))
        raise TensorError(f"{call}: {names} do not mix, neither holds the other; convert one with astype")
    return as_dtype(found)


def _of_kind(kind: str, bits: int) -> DType:
    """The type of a number of this kind beside elements of so many bits."""
    if kind in "fc" and bits == 64:
        return as_dtype("float64" if kind == "f" else "complex128")
    return as_dtype("complex64") if kind == "c" else {"b": bool_, "i": i32, "f": f32}[kind]


def fraction_type(dtype: DType) -> DType:
    """The type of fractions of elements of `dtype`: itself for floats, else f32, or f64 for integers of 64 bits.

    >>> fraction_type(i32).name
    'f32'
    """
    return dtype if dtype.kind in "fc" else _of_kind("f", dtype.bits)


def check_number(call: str, number: Number, dtype: DType) -> None:
    """Nothing, or TensorError for a Python number that is out of range for the type in which it takes part."""
    try:
        if dtype.kind not in "iu":
            complex(number)
            return
        limits = np.iinfo(dtype.numpy)
        if limits.min <= number.real <= limits.max:
            return
        held = f", which holds {limits.min} to {limits.max}"
    except OverflowError:
        held = ""
    shown = (
        number if not isinstance(number, int) or abs(number) < 1 << 80 else f"an integer of {number.bit_length()} bits"
    )
    raise TensorError(f"{call}: {shown} is out of range for {dtype}{held}")


def broadcast_shape(call: str, *shapes: Shape) -> Shape:
    """The shape that all broadcast to, by NumPy's rule: aligned at the last axis, size 1 stretches.

    >>> broadcast_shape("add", (3, 1), (4,))
    (3, 4)

    Raises TensorError, with the axis and its sizes, where they do not.
    """
    width = max(map(len, shapes), default=0)
    found = []
    for axis in range(-width, 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis]
        stretched = next((size for size in sizes if size != 1), 1)
        if any(size not in (1, stretched) for size in sizes):
            listed = ", ".join(map(str, shapes))
            raise TensorError(
                f"{call}: the shapes {listed} do not broadcast: axis {axis} has the sizes {sorted({*sizes})}"
            )
        found.append(stretched)
    return tuple(found)


def chosen_axes(call: str, rank: int, axes: Axes) -> tuple[int, ...]:
    """Axes from 0, in order; None means all.

    >>> chosen_axes("sum", 3, (-1, 0)), chosen_axes("sum", 2, None)
    ((0, 2), (0, 1))

    Raises TensorError for an axis that is not there, is no whole number, or is named twice.
    """
    if axes is None:
        return tuple(range(rank))
    try:
        listed = tuple(map(index, axes)) if isinstance(axes, Sequence | np.ndarray) else (index(axes),)
    except TypeError:
        raise TensorError(f"{call}: the axes {axes!r} are no whole numbers") from None
    for axis in listed:
        if not -rank <= axis < rank:
            raise TensorError(f"{call}: axis {axis} of a tensor with {rank} axes")
    found = tuple(sorted(axis % rank for axis in listed))
    if len(set(found)) < len(found):
        raise TensorError(f"{call}: the axes {listed} name one axis twice")
    return found


def folded_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """What is left of a shape where these axes are folded."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keepdims or axis not in axes)


_SEARCHES = ("argmax", "argmin")
STATISTICS = {"var": float("nan"), "std": float("nan"), "logsumexp": float("-inf"), "norm": 0.0}
"""The folds that give floats of any real numbers, and what each gives of no elements."""
OF_NOTHING = {"sum": 0, "prod": 1, "mean": float("nan"), "any": False, "all": True, **STATISTICS}
"""What each fold gives of no elements; those that are missing give nothing, and are refused."""


def folded_type(call: str, dtype: DType) -> DType:
    """The type of the result of the fold `call` over elements of `dtype`.

    >>> from cutepy.tensor import f16
    >>> [str(folded_type("sum", dtype)) for dtype in (f16, bool_, u32)], str(folded_type("mean", i32))
    (['f16', 'i32', 'u32'], 'f32')

    Raises TensorError for the greatest or least of complex numbers, which have no order, and for their statistics.
    """
    if call in STATISTICS:
        if dtype.kind == "c":
            raise TensorError(f"{call} of {dtype}: it is defined on real numbers; take their abs, or a part")
        return fraction_type(dtype)
    if call in ("any", "all"):
        return bool_
    if call == "mean":
        return fraction_type(dtype)
    if call not in ("sum", "prod") and dtype.kind == "c":
        raise TensorError(f"{call} of {dtype}: complex numbers have no order; take their abs, or a part")
    if call in _SEARCHES:
        return i32
    # Sums of few bits would wrap at once: they are of 32 bits.
    narrow = dtype.kind == "b" or (dtype.kind in "iu" and dtype.bits < 32)
    if call in ("sum", "prod") and narrow:
        return u32 if dtype.kind == "u" else i32
    return dtype


def check_order(order: float) -> float:
    """The order of a norm that there is: 1, 2 or infinite. Raises TensorError for another."""
    if order not in (1, 2, float("inf")):
        raise TensorError(f"norm(order={order!r}): there are 1, 2 and float('inf'); else sum(abs(x) ** p) ** (1 / p)")
    return float(order)


def softmax_type(dtype: DType) -> DType:
    """The type of softmax over elements of `dtype`. Raises TensorError for complex numbers, which have no order."""
    folded_type("max", dtype)
    return fraction_type(dtype)


def check_not_empty(call: str, shape: Shape, axes: tuple[int, ...]) -> None:
    """Nothing, or TensorError where `call` would have to choose one of no elements."""
    if call not in OF_NOTHING and any(shape[axis] == 0 for axis in axes):
        raise TensorError(f"{call} over the axes {axes} of the shape {shape}: of no elements none is chosen")


def matmul_shapes(one: Shape, other: Shape) -> tuple[Shape, Shape, Shape, int]:
    """Batches, rows, columns and inner size of a matrix product of operands of these shapes; vectors have no rows.

    >>> matmul_shapes((5, 2, 3), (3, 4)), matmul_shapes((3,), (3,))
    (((5,), (2,), (4,), 3), ((), (), (), 3))

    Raises TensorError where the inner sizes differ, the batches do not broadcast, or an operand is a number.
    """
    if not one or not other:
        raise TensorError("matmul: an operand is a number; use mul")
    inner = other[-2:][0]
    if one[-1] != inner:
        raise TensorError(inner_sizes_differ("matmul", one, other, inner))
    return broadcast_shape("matmul", one[:-2], other[:-2]), one[-2:-1], other[-1:] if len(other) > 1 else (), inner


def inner_sizes_differ(call: str, one: Shape, other: Shape, inner: int) -> str:
    """The message of a product of two shapes whose inner sizes, the last of `one` and `inner` of `other`, differ."""
    return (
        f"{call}: of the shapes {one} and {other} the inner sizes {one[-1]} and {inner} differ; "
        "transpose an operand with permute"
    )
