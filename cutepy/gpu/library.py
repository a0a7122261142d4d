"""The operations of `ops` where NumPy does not compute: on tensors of a device, and on the values of a kernel.

Importing this module registers both; `ops` finds them by the type of an engine or of an operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ops.functions import Function
from ..ops.operand import LIBRARIES, Library, value_of
from ..ops.rules import Axes
from ..tensor import DType, Tensor
from ..tensor.engine import Array
from .array import DeviceEngine, array
from .ir import Expr
from .ir import cast as cast_value
from .multiply import matmul
from .operations import reductions, scan, softmax
from .operations.elements import Element, apply, convert
from .operations.pointwise import converted, of_function
from .products import summed_products
from .trace.engine import BufferEngine


class OnDevice(Library):
    """Tensors in the memory of a device: what `gpu` computes, with results there."""

    def elementwise(self, function: Function, operands: Sequence[Any]) -> Tensor:
        return of_function(function)(*[x if isinstance(x, np.generic) else _taken(x) for x in operands])

    def converted(self, x: Any, dtype: DType) -> Tensor:
        return converted(x, dtype, engine="wgpu")

    def folded(self, call: str, x: Any, axes: Axes, keepdims: bool, option: float) -> Tensor:
        return reductions.folded(call, x, axes, keepdims, "wgpu", option)

    def scanned(self, call: str, x: Any, axis: int) -> Tensor:
        return scan.scanned(call, x, axis, "wgpu")

    def softmax(self, x: Any, axis: int) -> Tensor:
        return softmax.softmax(x, axis)

    def matmul(self, a: Any, b: Any) -> Tensor:
        return matmul(a, b)

    def summed_products(self, a: Tensor, b: Tensor, axes: tuple[int, ...], dtype: DType) -> Tensor:
        return summed_products(a, b, axes, dtype)

    def placed(self, values: Array, like: Tensor) -> Tensor:
        assert isinstance(like.engine, DeviceEngine)
        return array(values, device=like.engine.device)


def _taken(operand: object) -> object:
    """An operand of `ops`, a list say, as `pointwise` takes it."""
    if type(operand) in (Tensor, float, int):
        return operand
    value = value_of(operand)
    return value.number if value.tensor is None else value.tensor


class InKernel(Library):
    """Tensors of a kernel that is being traced: it says with which words kernels compute."""

    refusal = (
        "ops: of a tensor inside a kernel use transform(x, out, op=...), reduce(x, init, op), copy and gemm; "
        "single values take the functions of ops and of gpu"
    )


class OfValues(InKernel):
    """Single values of a kernel: the functions of the table apply, by the same rules."""

    def elementwise(self, function: Function, operands: Sequence[Any]) -> Any:
        """`function` of single values, or of the entries of object arrays."""

        def single(*values: Any) -> Expr:
            return _stored(apply(function, *(Element(v, v.dtype) if isinstance(v, Expr) else v for v in values)))

        many = any(isinstance(operand, np.ndarray) for operand in operands)
        return (np.frompyfunc(single, len(operands), 1) if many else single)(*operands)

    def converted(self, x: Any, dtype: DType) -> Any:
        """The value in another type."""
        return _stored(convert(Element(x, x.dtype), dtype))


def _stored(found: Element) -> Expr:
    """The value in the type that it has by the rules."""
    assert isinstance(found.dtype, DType)
    return cast_value(found.value, found.dtype)


LIBRARIES[DeviceEngine] = OnDevice()
LIBRARIES[BufferEngine] = InKernel()
LIBRARIES[Expr] = OfValues()
