"""The matrix product of `ops.matmul` by kernels: epilogues, plans, and what is told of it.

Law: `matmul(A, B)` is NumPy's by the rules of `tensor.rules`; with an epilogue, that of its elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ...errors import KernelError
from ...tensor import CountingEngine, DType, Tensor, as_dtype, as_tensor, bool_, broadcast_to, mode_sizes, rules, u32
from .. import Deferral, cached_launches
from ..operations.copies import copy
from ..operations.operand import ExecutionSite, place_of, target_of, tensor_of
from ..operations.pointwise import Pointwise, converted, launch_parameter, pointwise, type_of_number
from .contraction import (
    Operands,
    ProductOptions,
    contract,
    contract_fused,
    plan_for_problem,
    problem_for_plans,
    stretched,
)
from .cost_model import ProductProblem, matrix_plan
from .epilogue import PRODUCT, Beside, Epilogue, EpilogueLike, epilogue_of, operation_of
from .int8 import WIDE_OF, bytes_plan, memory_of, numbers_along
from .plan import MatrixPlan, Plan, Sums
from .plan_cache import tuned_plan


def matmul(
    A: object,
    B: object,
    C: Tensor | None = None,
    *,
    plan: Plan | MatrixPlan | None = None,
    engine: str = "wgpu",
    sums: Sums = "f32",
    epilogue: EpilogueLike | None = None,
    **operands: object,
) -> Tensor:
    """What `ops.matmul` says, on the device of the operands, or of arrays on the default one; or in the interpreter.

    Returns `C`, or a new tensor where it is None.
    """
    alone = plan is None and C is None and epilogue is None and not operands and sums == "f32"
    if alone and engine == "wgpu" and (block := Deferral.current()) is not None:
        taken = block.take(matmul, A, B)
        if taken is not None:
            return taken
    return _matmul(A, B, C, plan=plan, engine=engine, sums=sums, epilogue=epilogue, **operands)


@cached_launches
def _matmul(
    A: object,
    B: object,
    C: Tensor | None,
    *,
    plan: Plan | MatrixPlan | None,
    engine: str,
    sums: Sums,
    epilogue: EpilogueLike | None,
    **operands: object,
) -> Tensor:
    if epilogue is None and operands:
        raise KernelError(f"matmul({', '.join(operands)}=...): these are for an epilogue, epilogue='c + ...'")
    operation, given = (None, {}) if epilogue is None else operation_of(epilogue, operands)
    if sums in ("i32", "u32"):
        if C is not None:
            raise KernelError(f"matmul(sums={sums!r}, C={C}): 8-bit integers are multiplied into a new tensor")
        return _of_bytes(A, B, sums, plan, engine, operation, given)
    # What the product is, by the rules, and where it runs.
    a, b = (tensor_of("matmul", x) for x in (A, B))
    batch, m, n, _k = rules.matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, shape = rules.result_type("matmul", a.dtype, b.dtype), (*batch, *m, *n)
    held = [t for t in (a, b, C, *given.values()) if isinstance(t, Tensor)]
    place, how = place_of("matmul", engine, held), ProductOptions(plan, _sums_of(sums))
    finish = None if operation is None else _finish(place, operation, given, dtype, shape)
    # Sums are rounded once, to the type of C; what an epilogue gives is stored as it gives it.
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
    return out


@dataclass(frozen=True, slots=True)
class Finish:
    """An epilogue made ready: its operands beside the product, on the place and of the product's shape, and the type
    that it gives."""

    others: dict[str, Beside]
    epilogue: Epilogue
    gives: DType


def _multiply(
    place: ExecutionSite, operands: Operands, dtype: DType, how: ProductOptions, finish: Finish | None
) -> None:
    """The product of type `dtype` into `out`, the last operand: one launch where the plan takes the epilogue, else a
    product into a tensor of its own and a pass that finishes it."""
    a, b, out = operands
    # Truths are multiplied as whole numbers, and "not 0" is what is stored of them.
    working = u32 if dtype is bool_ else dtype
    a, b = (
        t if t.dtype.kind == working.kind else converted(t, working.accumulator, engine=place.engine) for t in (a, b)
    )
    a, b = place.bring(a), place.bring(b)
    if dtype is not bool_:
        if finish is None:
            contract(place, stretched(a, b, out), how)
            return
        if contract_fused(place, stretched(a, b, out), list(finish.others.values()), how, finish.epilogue):
            return
    product = place.new(mode_sizes(out), working.accumulator)
    contract(place, stretched(a, b, product), how)
    if dtype is bool_:
        product = pointwise("x != 0")(product, out=out if finish is None else None, engine=place.engine)
    if finish is not None:
        finish.epilogue.operation(engine=place.engine, out=out, **{PRODUCT: product, **finish.others})


def _finish(
    place: ExecutionSite, operation: Pointwise, given: dict[str, Beside], dtype: DType, shape: rules.Shape
) -> Finish:
    """The epilogue of a product of this type and shape, with its operands brought to the place and broadcast.

    Raises KernelError for an operand that is larger than the product.
    """
    numbers = {name: x for name, x in given.items() if not isinstance(x, Tensor)}
    tensors = {name: x for name, x in given.items() if isinstance(x, Tensor)}
    if rules.broadcast_shape("matmul", shape, *map(mode_sizes, tensors.values())) != shape:
        raise KernelError(f"matmul: an operand of the epilogue is larger than the product, whose shape is {shape}")
    types: dict[str, DType | rules.WeakNumber] = {PRODUCT: dtype}
    types.update({name: x.dtype for name, x in tensors.items()})
    types |= {name: type_of_number(x) for name, x in numbers.items()}
    types = {name: types[name] for name in operation.names}
    epilogue, gives = epilogue_of(operation, tuple(types.values())), operation.result_type(types, numbers)
    ready: dict[str, Beside] = {name: broadcast_to(place.bring(x), shape) for name, x in tensors.items()}
    ready |= {name: launch_parameter(x, types.values()) for name, x in numbers.items()}
    others = {name: ready[name] for name in epilogue.others}
    return Finish(others, epilogue, gives)


def explain_matmul(A: object, B: object, *, engine: str = "wgpu", sums: Sums = "f32") -> str:
    """Which way `matmul(A, B)` takes here, and why, in a line or two.

    >>> import numpy as np
    >>> x = np.zeros((64, 64), np.float16)
    >>> print(explain_matmul(x, x, engine="interpreter"))
    fused multiply-adds in f32, tiles of 32x32x16; no matrices of a subgroup: the interpreter is asked for, not a device

    Raises as `matmul`.
    """
    a, b = (as_tensor(x) if sums in ("i32", "u32") else tensor_of("matmul", x) for x in (A, B))
    batch, m, n, k = rules.matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype, place = (
        rules.result_type("matmul", a.dtype, b.dtype),
        place_of("matmul", engine, [memory_of(a), memory_of(b)]),
    )
    extents, kinds = (prod(m), prod(n), k, prod(batch)), (str(a.dtype), str(b.dtype), str(dtype))
    if sums in ("i32", "u32"):
        found = bytes_plan(place, dtype, extents)
        dtype = as_dtype(sums)
        a, b = (Tensor(CountingEngine(dtype), t.layout) for t in (a, b))
    # A found plan is one of matrices; else `found` says why there is none.
    problem = problem_for_plans(place, a, b)
    if sums not in ("i32", "u32"):
        found = matrix_plan(place, problem or ProductProblem(*extents, kinds), _sums_of(sums))
        if problem is None and isinstance(found, MatrixPlan):
            found = "there are no rows, or no columns, to share among tiles"
    plan = found if problem is None or isinstance(found, MatrixPlan) else plan_for_problem(place, problem, sums)
    if isinstance(plan, MatrixPlan):
        return f"{plan.description} on {place.device}"
    if isinstance(plan, Plan):
        tile, adapter = "x".join(map(str, plan.tile)), None if place.device is None else place.device.adapter
        splits = f", k in {plan.splits} parts" * (plan.splits > 1)
        tuned = ", found by tuning" * (problem is not None and tuned_plan(adapter, problem) is not None)
        way = f"fused multiply-adds in {dtype.accumulator}, tiles of {tile}{splits}{tuned}"
    else:
        way = "sums of products, row by row" if min(extents[:2]) == 1 else "through copies, or nothing to sum"
    return f"{way}; no matrices of a subgroup: {found}"


def _sums_of(sums: Sums) -> Sums:
    """`sums`, where it is a type of floats. Raises KernelError for any other."""
    if sums not in ("f32", "f16"):
        ways = "f16 is summed in 'f32' or, where matrices are, in 'f16'; i8 in 'i32', u8 in 'u32'"
        raise KernelError(f"matmul(sums={sums!r}): {ways}")
    return sums


def _of_bytes(
    A: object,
    B: object,
    sums: Sums,
    plan: Plan | MatrixPlan | None,
    engine: str,
    operation: Pointwise | None,
    given: dict[str, Beside],
) -> Tensor:
    """The product of 8-bit integers, in 32 bits, and what the operation makes of it."""
    a, b = of_8_bits(as_tensor(A), as_tensor(B), sums)
    wide = as_dtype(sums)
    batch, m, n, k = rules.matmul_shapes(mode_sizes(a), mode_sizes(b))
    shape = (*batch, *m, *n)
    held = [memory_of(a), memory_of(b), *(x for x in given.values() if isinstance(x, Tensor))]
    place = place_of("matmul", engine, held)
    finish = None if operation is None else _finish(place, operation, given, wide, shape)
    found = plan or bytes_plan(place, a.dtype, (prod(m), prod(n), k, prod(batch)))
    out = place.new(shape, wide if finish is None else finish.gives)
    # Matrices take four neighbours along k as one number; anything else multiplies integers of 32 bits.
    chosen = found if isinstance(found, MatrixPlan) and k and out.size else None
    if chosen is not None:
        x, y = numbers_along(a, -1, wide), numbers_along(b, -2 if b.rank > 1 else -1, wide)
    else:
        x, y = (place.put(t.numpy().astype(wide.numpy)) for t in (a, b))
    _multiply(place, (x, y, out), wide, ProductOptions(chosen), finish)
    return out


def of_8_bits(a: Tensor, b: Tensor, sums: Sums) -> tuple[Tensor, Tensor]:
    """The operands. Raises KernelError unless both are of the 8-bit type that is summed so."""
    if a.dtype is not b.dtype or WIDE_OF.get(a.dtype.name) != sums:
        takes = ", ".join(f"{wide} sums {narrow}" for narrow, wide in WIDE_OF.items())
        raise KernelError(f"matmul(sums={sums!r}): {takes}; the operands are {a.dtype} and {b.dtype}")
    return a, b
