"""The operations of `ops` where NumPy does not compute: on tensors of a device, and on the values of a kernel.

Importing this module registers both; `ops` finds them by the type of an engine or of an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, NoReturn, cast

import numpy as np

from ..errors import KernelError
from ..ops.functions import Function
from ..ops.home import LIBRARIES, Library
from ..ops.operand import value_of
from ..ops.rules import Axes
from ..tensor.dtypes import DType
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .array import DeviceEngine, array
from .ir import Expr
from .ir import cast as cast_value
from .matmul import matmul
from .operations import reductions, softmax
from .operations.elements import Element, apply, convert
from .operations.pointwise import converted, of_function
from .trace.engine import BufferEngine


@dataclass(frozen=True, slots=True)
class OnDevice:
    """Tensors in the memory of a device: what `gpu` computes, with results there."""

    def elementwise(self, function: Function, operands: Sequence[object]) -> Tensor:
        """`function` of each element."""
        given = [operand if isinstance(operand, np.generic) else _taken(operand) for operand in operands]
        return of_function(function.name)(*given)

    def converted(self, x: object, dtype: DType) -> Tensor:
        """The elements in another type."""
        return converted(cast(Tensor, x), dtype, engine="wgpu")

    def folded(self, call: str, x: object, axes: Axes, keepdims: bool) -> Tensor:
        """The sum, the maximum ... over the axes."""
        return reductions.folded(call, x, axes, keepdims, "wgpu")

    def softmax(self, x: object, axis: int) -> Tensor:
        """Exponentials divided by their sum along an axis."""
        return softmax.softmax(x, index(axis))

    def matmul(self, a: object, b: object) -> Tensor:
        """The matrix product."""
        return matmul(a, b)

    def placed(self, values: Array, like: Tensor) -> Tensor:
        """These elements of the host, on the device of `like`."""
        return array(values, device=cast(DeviceEngine, like.engine).device)


def _taken(operand: object) -> object:
    """An operand of `ops`, a list say, as `pointwise` takes it."""
    value = value_of(operand)
    return value.number if value.tensor is None else value.tensor


class InKernel:
    """Tensors of a kernel that is being traced: it says with which words kernels compute."""

    def __getattr__(self, call: str) -> NoReturn:
        raise KernelError(
            "ops: of a tensor inside a kernel use transform(x, out, op=...), reduce(x, init, op), copy and gemm; "
            "single values take the functions of ops and of gpu"
        )


class OfValues(InKernel):
    """Single values of a kernel: the functions of the table apply, by the same rules."""

    def elementwise(self, function: Function, operands: Sequence[object]) -> Tensor:
        """`function` of single values, or of the entries of object arrays."""

        def single(*values: object) -> Expr:
            found = apply(function, *(Element(v, v.dtype) if isinstance(v, Expr) else v for v in values))  # type: ignore[arg-type]
            return cast_value(found.value, cast(DType, found.dtype))

        many = any(isinstance(operand, np.ndarray) for operand in operands)
        of_all: Callable[..., Any] = np.frompyfunc(single, len(operands), 1) if many else single
        found: Tensor = of_all(*operands)
        return found

    def converted(self, x: object, dtype: DType) -> Tensor:
        """The value in another type."""
        found = convert(Element(cast(Expr, x), cast(Expr, x).dtype), dtype)
        return cast(Tensor, cast_value(found.value, dtype))


LIBRARIES[DeviceEngine] = OnDevice()
LIBRARIES[BufferEngine] = cast(Library, InKernel())
LIBRARIES[Expr] = cast(Library, OfValues())
