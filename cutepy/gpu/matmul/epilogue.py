"""What becomes of the elements of a product before they are stored: a bias, an activation, a scale, a residual.

Law: `matmul(A, B, epilogue=f, ...)` is `f` of the product and of operands that broadcast to its shape, element by
element, in the types that `pointwise` gives; sums are not rounded before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ... import gpu
from ...errors import KernelError
from ...tensor import DType, Scalars, Tensor, rules, transform
from .. import Expr
from ..operations.operand import tensor_of
from ..operations.pointwise import Pointwise, pointwise
from .kernel_fma import multiply_tiles
from .kernel_subgroup import multiply_matrices
from .plan import MatrixPlan, Plan
from .staging import Orders, orders_of

PRODUCT = "c"
"""The name of the product's element in an epilogue."""
EpilogueLike = str | Pointwise | Callable[..., Scalars]
"""A formula, an operation, or a function of one element of each."""
NUMBERS = bool | int | float | complex | np.generic
Beside = Tensor | rules.Number | np.generic
"""An operand of an epilogue: a tensor of the product's shape, or a number, which is a launch parameter."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """An operation on one element of the product and of each operand, and the types of these in order."""

    operation: Pointwise
    types: tuple[DType | rules.WeakNumber, ...]

    @property
    def others(self) -> list[str]:
        """The names of the operands beside the product."""
        return [name for name in self.operation.names if name != PRODUCT]

    def of(self, product: Expr, others: tuple[Expr, ...], dtype: DType) -> Expr:
        """What it gives, as an element of `dtype`."""
        met = dict(zip([PRODUCT, *self.others], (product, *others), strict=True))
        return self.operation.of_elements([met[name] for name in self.operation.names], self.types, dtype)

    def store(
        self, sums: Tensor, mine: Tensor, others: tuple[Tensor | Expr, ...], like_C: Callable[[Tensor], Tensor]
    ) -> None:
        """Store what it gives for each sum, with the elements of the tensors at its place."""
        tensors = [like_C(other) for other in others if isinstance(other, Tensor)]

        def of_element(c: Expr, *values: Expr) -> Expr:
            elements = iter(values)
            given = (next(elements) if isinstance(other, Tensor) else other for other in others)
            return self.of(c, tuple(given), mine.dtype)

        transform(sums, *tensors, mine, op=of_element)


@lru_cache(maxsize=64)
def epilogue_of(operation: Pointwise, types: tuple[DType | rules.WeakNumber, ...]) -> Epilogue:
    """The one epilogue of an operation and these types: kernels remember what they read of it."""
    return Epilogue(operation, types)


def operation_of(epilogue: EpilogueLike, given: Mapping[str, object]) -> tuple[Pointwise, dict[str, Beside]]:
    """The operation of an epilogue, and its operands, as tensors or as the numbers that they are.

    Raises KernelError for what is none, and where its names are not `c` and those of the operands.
    """
    if not (isinstance(epilogue, str | Pointwise) or callable(epilogue)):
        raise KernelError(f"matmul(epilogue={epilogue!r}): a formula such as 'max(c + bias, 0)', or a function of c")
    operation = epilogue if isinstance(epilogue, Pointwise) else pointwise(epilogue)
    # Each operand of the operation is the product or one that is given, and each that is given is used.
    if set(operation.names) != {PRODUCT, *given} or PRODUCT in given:
        named = ", ".join(sorted(given)) or "none"
        raise KernelError(
            f"matmul: the epilogue takes {', '.join(operation.names)}; it is a function of the product, {PRODUCT}, and "
            f"of the operands that are given ({named})"
        )
    return operation, {name: x if isinstance(x, NUMBERS) else tensor_of("matmul", x) for name, x in given.items()}


@gpu.kernel
def epilogue_kernel(
    A: Tensor,
    B: Tensor,
    C: Tensor,
    others: tuple[Tensor | Expr, ...],
    *,
    plan: Plan | MatrixPlan,
    epilogue: Epilogue,
    orders: Orders | None = None,
) -> None:
    """C = epilogue(A B^T, *others), as `matmul_kernel` and `matrix_matmul_kernel`; the others are tensors of C's shape,
    and numbers."""

    def store(sums: Tensor, mine: Tensor, like_C: Callable[[Tensor], Tensor]) -> None:
        epilogue.store(sums, mine, others, like_C)

    if isinstance(plan, Plan):
        multiply_tiles(A, B, C, plan, orders or orders_of(A, B, C), store)
    else:
        multiply_matrices(A, B, C, plan, store)
