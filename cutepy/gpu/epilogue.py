"""What becomes of the elements of a product before they are stored: a bias, an activation, a scale, a residual.

Law: `matmul(A, B, epilogue=f, ...)` is `f` of the product and of operands that broadcast to its shape, element by
element, in the types that `pointwise` gives; sums are not rounded before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import KernelError
from ..ops.rules import Weak
from ..tensor.algorithms import transform
from ..tensor.dtypes import DType
from ..tensor.engine import Scalars
from ..tensor.tensor import Tensor
from .ir import Expr
from .matmul import multiply_tiles
from .matmul_matrices import MatrixPlan, multiply_matrices
from .operations.operand import tensor_of
from .operations.pointwise import Pointwise, pointwise
from .plan import Plan
from .trace.kernel import kernel

PRODUCT = "c"
"""What an epilogue calls the element of the product."""
Asked = str | Pointwise | Callable[..., Scalars]
"""A formula, an operation, or a function of one element of each."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """An operation on one element of the product and of each operand, and the types of these in order."""

    operation: Pointwise
    types: tuple[DType | Weak, ...]

    @property
    def others(self) -> list[str]:
        """The names of the operands beside the product."""
        return [name for name in self.operation.names if name != PRODUCT]

    def of(self, product: Expr, others: tuple[Expr, ...], dtype: DType) -> Expr:
        """What it gives, as an element of `dtype`."""
        met = dict(zip([PRODUCT, *self.others], (product, *others), strict=True))
        return self.operation.of_elements([met[name] for name in self.operation.names], self.types, dtype)


def operation_of(epilogue: Asked, given: Mapping[str, object]) -> tuple[Pointwise, dict[str, Tensor]]:
    """The operation of an epilogue, and its operands as tensors.

    Raises KernelError for what is none, where its names are not `c` and those of the operands, and for an operand that
    is a number.
    """
    if not (isinstance(epilogue, str | Pointwise) or callable(epilogue)):
        raise KernelError(f"matmul(epilogue={epilogue!r}): a formula such as 'max(c + bias, 0)', or a function of c")
    operation = epilogue if isinstance(epilogue, Pointwise) else pointwise(epilogue)
    if set(operation.names) != {PRODUCT, *given} or PRODUCT in given:
        named = ", ".join(sorted(given)) or "none"
        raise KernelError(
            f"matmul: the epilogue takes {', '.join(operation.names)}; it is a function of the product, {PRODUCT}, and "
            f"of the operands that are given ({named})"
        )
    for name, x in given.items():
        if isinstance(x, int | float | complex):
            raise KernelError(f"matmul: {name} is the number {x}; write it into the epilogue, or give an array")
    return operation, {name: tensor_of("matmul", x) for name, x in given.items()}


@kernel
def epilogue_kernel(
    A: Tensor, B: Tensor, C: Tensor, others: tuple[Tensor, ...], *, plan: Plan | MatrixPlan, epilogue: Epilogue
) -> None:
    """C = epilogue(A B^T, *others), as `matmul_kernel` and `matrix_matmul_kernel`; the others are of C's shape."""

    def store(sums: Tensor, mine: Tensor, like_C: Callable[[Tensor], Tensor]) -> None:
        parts = [like_C(other) for other in others]
        transform(sums, *parts, mine, op=lambda c, *values: epilogue.of(c, values, C.dtype))

    if isinstance(plan, Plan):
        multiply_tiles(A, B, C, plan, store)
    else:
        multiply_matrices(A, B, C, plan, store)
