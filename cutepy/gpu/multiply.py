"""The matrix product that users call: operands and results by the rules of `ops`, epilogues, and what is told of it.

Law: `matmul(A, B)` is `ops.matmul(A, B)`; with an epilogue, that of its elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import KernelError
from ..ops.operand import tensor_of as as_tensor
from ..ops.rules import Shape, broadcast_shape, matmul_shapes, result_type
from ..tensor.bulk import mode_sizes
from ..tensor.dtypes import DType, as_dtype, bool_, u32
from ..tensor.engine import CountingEngine
from ..tensor.make import make_tensor
from ..tensor.tensor import Tensor
from .array import DeviceEngine
from .epilogue import PRODUCT, Asked, Epilogue, operation_of
from .matmul_bytes import WIDE_OF, bytes_plan, memory_of, numbers_along
from .matmul_matrices import MatrixPlan, Sums, matrix_plan
from .operations.copies import copy
from .operations.operand import Place, broadcast, place_of, target_of, tensor_of
from .operations.pointwise import Pointwise, converted, pointwise
from .plan import Plan
from .products import How, Operands, contract, contract_with, planned, problem_for_plans, stretched
from .repeat import repeatable
from .tuned import tuned_plan


@repeatable
def matmul(
    A: object,
    B: object,
    C: Tensor | None = None,
    *,
    plan: Plan | MatrixPlan | None = None,
    engine: str = "wgpu",
    sums: Sums = "f32",
    epilogue: Asked | None = None,
    **operands: object,
) -> Tensor:
    """The matrix product `A @ B` by the rules of `ops.matmul`: A (..., m, k) and B (..., k, n) or vectors, into `C` or
    a new tensor, on the device of the operands or, of arrays, on the host. Sums of floats are in f32, and are rounded
    once, to the type of `C` where that is a float's too.

    `engine` is "wgpu" (the device of the tensors, or the default one) or "numpy" (the interpreter). Where the device
    grants matrices of a subgroup (tensor cores), f16 is multiplied by them, with sums in f32 or, if `sums` says so, in
    f16; `explain_matmul` tells which way a product takes, and why. Arrays of 8-bit integers are multiplied with exact
    sums in i32 (of i8) or u32 (of u8), where `sums` says so. `epilogue` is what becomes of each element `c` before it
    is stored: a formula, or a function, of `c` and of `operands` that broadcast to the product's shape.

    >>> import numpy as np
    >>> A, B, bias = np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [1, 1]]), np.float32([-4, 10])
    >>> matmul(A, B, engine="numpy").numpy().tolist()
    [[3.0, 2.0], [7.0, 4.0]]
    >>> matmul(A, B, epilogue="max(c + bias, 0)", bias=bias, engine="numpy").numpy().tolist()
    [[0.0, 12.0], [3.0, 14.0]]

    Raises TensorError for shapes and types that do not meet, KernelError for a `C` that does not fit and for an
    epilogue with other names.
    """
    if epilogue is None and operands:
        raise KernelError(f"matmul({', '.join(operands)}=...): these are for an epilogue, epilogue='c + ...'")
    operation, given = (None, {}) if epilogue is None else operation_of(epilogue, operands)
    if sums in ("i32", "u32"):
        if C is not None:
            raise KernelError(f"matmul(sums={sums!r}, C={C}): 8-bit integers are multiplied into a new tensor")
        return _of_bytes(A, B, plan, engine, operation, given)
    a, b = (tensor_of("matmul", x) for x in (A, B))
    batch, m, n, _k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, shape = result_type("matmul", a.dtype, b.dtype), (*batch, *m, *n)
    held = [t for t in (a, b, C, *given.values()) if t is not None]
    place, how = place_of("matmul", engine, held), How(plan, _sums_of(sums))
    finish = None if operation is None else _finish(place, operation, given, dtype, shape)
    if C is not None and finish is None and C.dtype.kind == dtype.kind == "f":
        dtype = C.dtype
    gives = dtype if finish is None else finish.gives
    fits = C is None or C.dtype is gives or (finish and np.can_cast(gives.numpy, C.dtype.numpy, "same_kind"))
    if C is not None and (mode_sizes(target_of("matmul", C)) != shape or not fits):
        raise KernelError(f"matmul({a}, {b}, {C}): C must be {gives} of shape {shape}")
    out = place.new(shape, gives) if C is None else place.bring(C)
    _multiply(place, (a, b, out), dtype, how, finish)
    if C is not None:
        if out is not C:
            copy(out, C, engine=engine)
        return C
    stays = place.device is None or any(isinstance(t.engine, DeviceEngine) for t in held)
    return out if stays else make_tensor(out.numpy())


@dataclass(frozen=True, slots=True)
class Finish:
    """An epilogue made ready: its operands beside the product, on the place and of the product's shape, and the type
    that it gives."""

    others: dict[str, Tensor]
    epilogue: Epilogue
    gives: DType


def _multiply(place: Place, operands: Operands, dtype: DType, how: How, finish: Finish | None) -> None:
    """The product of type `dtype` into `out`, the last operand, by as few passes as there have to be."""
    a, b, out = operands
    working = u32 if dtype is bool_ else dtype
    a, b = (
        t if t.dtype.kind == working.kind else converted(t, working.accumulator, engine=place.engine) for t in (a, b)
    )
    a, b = place.bring(a), place.bring(b)
    if dtype is not bool_:
        if finish is None:
            contract(place, stretched(a, b, out), how)
            return
        if contract_with(place, stretched(a, b, out), list(finish.others.values()), how, finish.epilogue):
            return
    product = place.new(mode_sizes(out), working.accumulator)
    contract(place, stretched(a, b, product), how)
    if dtype is bool_:
        product = pointwise("x != 0")(product, out=out if finish is None else None, engine=place.engine)
    if finish is not None:
        finish.epilogue.operation(engine=place.engine, out=out, **{PRODUCT: product, **finish.others})


def _finish(place: Place, operation: Pointwise, given: dict[str, Tensor], dtype: DType, shape: Shape) -> Finish:
    if broadcast_shape("matmul", shape, *map(mode_sizes, given.values())) != shape:
        raise KernelError(f"matmul: an operand of the epilogue is larger than the product, whose shape is {shape}")
    types = {name: dtype if name == PRODUCT else given[name].dtype for name in operation.names}
    epilogue = Epilogue(operation, tuple(types.values()))
    others = {name: broadcast(place.bring(given[name]), shape) for name in epilogue.others}
    return Finish(others, epilogue, operation.result_type(types, {}))


def explain_matmul(A: object, B: object, *, engine: str = "wgpu", sums: Sums = "f32") -> str:
    """Which way `matmul(A, B)` takes here, and why, in a line or two.

    >>> import numpy as np
    >>> x = np.zeros((64, 64), np.float16)
    >>> print(explain_matmul(x, x, engine="numpy"))
    fused multiply-adds in f32, tiles of 64x64x16; no matrices of a subgroup: the interpreter is asked for, not a device

    Raises as `matmul`.
    """
    a, b = (as_tensor(x) if sums in ("i32", "u32") else tensor_of("matmul", x) for x in (A, B))
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, place = result_type("matmul", a.dtype, b.dtype), place_of("matmul", engine, [memory_of(a), memory_of(b)])
    extents = prod(m), prod(n), k, prod(batch)
    if sums in ("i32", "u32"):
        found = bytes_plan(place, dtype, extents)
        dtype = as_dtype(sums)
        a, b = (Tensor(CountingEngine(dtype), t.layout) for t in (a, b))
    else:
        alike = a.dtype is b.dtype
        found = matrix_plan(place, dtype, extents, _sums_of(sums)) if alike else f"{a.dtype} meets {b.dtype}"
    problem = problem_for_plans(a, b)
    plan = found if problem is None or isinstance(found, MatrixPlan) else planned(place, problem, sums)
    if isinstance(plan, MatrixPlan):
        return f"{plan.told} on {place.device}"
    if isinstance(plan, Plan):
        tile, adapter = "x".join(map(str, plan.tile)), None if place.device is None else place.device.adapter
        splits = f", k in {plan.splits} parts" * (plan.splits > 1)
        tuned = ", found by tuning" * (problem is not None and tuned_plan(adapter, problem) is not None)
        way = f"fused multiply-adds in {dtype.accumulator}, tiles of {tile}{splits}{tuned}"
    else:
        way = "sums of products, row by row" if min(extents[:2]) == 1 else "through copies, or nothing to sum"
    return f"{way}; no matrices of a subgroup: {found}"


def _sums_of(sums: Sums) -> Sums:
    if sums not in ("f32", "f16"):
        ways = "f16 is summed in 'f32' or, where matrices are, in 'f16'; i8 in 'i32', u8 in 'u32'"
        raise KernelError(f"matmul(sums={sums!r}): {ways}")
    return sums


def _of_bytes(
    A: object,
    B: object,
    plan: Plan | MatrixPlan | None,
    engine: str,
    operation: Pointwise | None,
    given: dict[str, Tensor],
) -> Tensor:
    """The product of 8-bit integers, in 32 bits, and what the operation makes of it."""
    a, b = as_tensor(A), as_tensor(B)
    wide = as_dtype(WIDE_OF.get(a.dtype.name, "i32"))
    if a.dtype is not b.dtype or a.dtype.name not in WIDE_OF:
        raise KernelError(f"matmul(sums='i32' or 'u32'): it multiplies i8, or u8, not {a.dtype} and {b.dtype}")
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    held, shape = [memory_of(a), memory_of(b), *given.values()], (*batch, *m, *n)
    place, stays = place_of("matmul", engine, held), any(isinstance(t.engine, DeviceEngine) for t in held)
    finish = None if operation is None else _finish(place, operation, given, wide, shape)
    found = plan or bytes_plan(place, a.dtype, (prod(m), prod(n), k, prod(batch)))
    out = place.new(shape, wide if finish is None else finish.gives)
    chosen = found if isinstance(found, MatrixPlan) and k and out.size else None
    if chosen is not None:
        x, y = numbers_along(a, -1, wide), numbers_along(b, -2 if b.rank > 1 else -1, wide)
    else:
        x, y = (place.put(t.numpy().astype(wide.numpy)) for t in (a, b))
    _multiply(place, (x, y, out), wide, How(chosen), finish)
    return out if stays or place.device is None else make_tensor(out.numpy())
