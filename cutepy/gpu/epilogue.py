"""Products whose elements go through a function before they are stored: a bias, an activation, a scale, a residual.

Law: `matmul_with(f, A, B, ...)` is `f` of the product and of operands that broadcast to its shape, element by element.
The product itself is stored only where k is summed in parts, or an operand is laid out unlike C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from ..errors import KernelError
from ..layout.algebra.rearrange import joined
from ..ops.rules import Weak, broadcast_shape, matmul_shapes, result_type
from ..tensor.algorithms import transform
from ..tensor.bulk import mode_sizes
from ..tensor.dtypes import DType, bool_
from ..tensor.tensor import Tensor
from .array import DeviceEngine
from .ir import Expr
from .matmul import Plan, multiply_tiles
from .matmul_matrices import MatrixPlan, multiply_matrices
from .operations.operand import Place, broadcast, modes_of, over, place_of, tensor_of
from .operations.pointwise import Pointwise, pointwise, shares_memory
from .products import Operands, arranged_for_kernel, as_planned, grouped, matmul, planned, stretched
from .repeat import repeatable
from .trace.kernel import KernelFunction

PRODUCT = "c"
"""What an epilogue calls the element of the product."""


def read_epilogue(epilogue: str | Pointwise, given: Mapping[str, object]) -> Pointwise:
    """The function of an epilogue. Raises KernelError where its names are not `c` and those of the operands."""
    operation = pointwise(epilogue) if isinstance(epilogue, str) else epilogue
    if set(operation.names) != {PRODUCT, *given} or PRODUCT in given:
        named = ", ".join(sorted(given)) or "none"
        raise KernelError(
            f"matmul: the epilogue takes {', '.join(operation.names)}; it is a function of the product, {PRODUCT}, and "
            f"of the operands that are given ({named})"
        )
    return operation


@lru_cache(maxsize=64)
def kernel_with(operation: Pointwise) -> KernelFunction:
    """A product with this epilogue: a kernel of one tensor more for each operand of the function but the product."""

    def matmul_with_epilogue(
        A: Tensor,
        B: Tensor,
        C: Tensor,
        others: tuple[Tensor, ...],
        *,
        plan: Plan | MatrixPlan,
        types: tuple[DType | Weak, ...],
    ) -> None:
        def store(acc: Tensor, mine: Tensor, like_C: Callable[[Tensor], Tensor]) -> None:
            def element(*values: Expr) -> Expr:
                met = dict(zip(order, values, strict=True))
                return operation.of_elements([met[name] for name in operation.names], types, C.dtype)

            transform(acc, *[like_C(other) for other in others], mine, op=element)

        if isinstance(plan, Plan):
            multiply_tiles(A, B, C, plan, store)
        else:
            multiply_matrices(A, B, C, plan, store)

    order = [PRODUCT, *(name for name in operation.names if name != PRODUCT)]
    return KernelFunction(matmul_with_epilogue)


@repeatable
def matmul_with(
    epilogue: str | Pointwise,
    A: object,
    B: object,
    C: Tensor | None = None,
    *,
    engine: str = "wgpu",
    **operands: object,
) -> Tensor:
    """A function of the elements `c` of the product `A @ B` and of operands that broadcast to its shape, into `C` or a
    new tensor. In a tile of the kernel it is applied to the sums, before they are rounded or stored.

    >>> import numpy as np
    >>> A, B, bias = np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [0, 1]]), np.float32([-2, 10])
    >>> matmul_with("max(c + bias, 0)", A, B, bias=bias, engine="numpy").numpy().tolist()
    [[0.0, 12.0], [1.0, 14.0]]

    Raises KernelError for an epilogue with other names, or a `C` that does not fit, and as `matmul` does.
    """
    call = "matmul_with"
    a, b = (tensor_of(call, x) for x in (A, B))
    given = {name: _operand(name, x) for name, x in operands.items()}
    operation = read_epilogue(epilogue, given)
    batch, m, n, _k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, shape = result_type(call, a.dtype, b.dtype), (*batch, *m, *n)
    if broadcast_shape(call, shape, *map(mode_sizes, given.values())) != shape:
        raise KernelError(f"{call}: an operand is larger than the product, whose shape is {shape}")
    types = {name: dtype if name == PRODUCT else given[name].dtype for name in operation.names}
    result = operation.result_type(types, {})
    place = place_of(call, engine, [a, b, *given.values(), *([C] if C is not None else [])])
    out = place.new(shape, result) if C is None else C
    if mode_sizes(out) != shape or not np.can_cast(result.numpy, out.dtype.numpy, "same_kind"):
        raise KernelError(f"{call}: C is {out}; it must hold {result}, of shape {shape}")
    a, b, *others = (place.bring(t) for t in (a, b, *(given[name] for name in operation.names if name != PRODUCT)))
    if C is None or place.device is None or isinstance(C.engine, DeviceEngine):
        if _fused(place, operation, (a, b, out), others, tuple(types.values())):
            return out
    summed = matmul(a, b, place.new(shape, dtype.accumulator) if dtype.kind == "f" else None, engine=engine)
    return operation(engine=engine, out=out, **{PRODUCT: summed, **given})


def _operand(name: str, x: object) -> Tensor:
    if isinstance(x, int | float | complex):
        raise KernelError(f"matmul_with: {name} is the number {x}; write it into the epilogue, or give an array")
    return tensor_of("matmul_with", x)


def _fused(
    place: Place, operation: Pointwise, operands: Operands, others: Sequence[Tensor], types: tuple[DType | Weak, ...]
) -> bool:
    """Whether one kernel computed all of it: a product of two matrices that are as far as the plan goes undivided."""
    a, b, c = operands
    sizes = mode_sizes(c)
    if (
        len(sizes) != 2
        or min(*sizes, *mode_sizes(b)) < 2
        or a.dtype.kind != b.dtype.kind
        or bool_ in (a.dtype, b.dtype)
    ):
        return False
    if any(shares_memory(other, c) and other.layout != c.layout for other in (a, b, *others)):
        return False
    groups = grouped(*(tuple(modes_of(t)) for t in stretched(a, b, c)))
    if groups is None or groups.batch or len(groups.k) != 1:
        return False
    if [piece[0] for piece in groups.m] != [sizes[0]] or [piece[0] for piece in groups.n] != [sizes[1]]:
        return False
    arranged, problem = arranged_for_kernel(groups, stretched(a, b, c), turn=True)
    plan = planned(place, problem)
    if plan.splits > 1:
        return False
    turned = sizes[1] <= 16 < sizes[0]
    views = []
    for other in others:
        rows, columns = modes_of(broadcast(other, sizes))
        views.append(over(other, joined([columns, rows] if turned else [rows, columns])))
    place.run(kernel_with(operation), *as_planned(place, arranged, plan), tuple(views), plan=plan, types=types)
    return True
