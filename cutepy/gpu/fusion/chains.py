"""Chains of elementwise operations as one: over tensors, as what a reduction folds, as what becomes of a product.

Law: a chain gives what its operations give one after the other: what each of them gives is rounded to its type, as if
it were stored and read again. The steps of a chain are the operations' own functions of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ... import gpu
from ...tensor import DType, Tensor, bool_, broadcast_to, gpu_dtype, is_row_major, rules
from .. import CallCache
from ..matmul.api import matmul
from ..operations.elements import Element, Operand, type_of, value_as
from ..operations.fold import Lift, lifted_fold_kernel, partials, passes, plan_for, run_passes, splits_of
from ..operations.operand import ExecutionSite, place_of
from ..operations.pointwise import Pointwise, PointwiseTuple, launch_parameter, type_of_number
from ..operations.reductions import Reduction, fold_of

Number = rules.Number | np.generic
Ref = tuple[str, int]
"""What a step takes: the tensor, the number or the step of a number; `("c", 0)` is the element of a product."""
Step = tuple[Pointwise, tuple[Ref, ...]]
"""An operation, and what it takes in order."""


class FusedChain:
    """The steps of a chain as one function of elements of tensors, of numbers, and of a product where it has one."""

    def __init__(
        self, steps: tuple[Step, ...], results: tuple[Ref, ...], counts: tuple[int, int], product: DType | None
    ):
        tensors, numbers = counts
        names = [f"x{i}" for i in range(tensors)] + [f"n{i}" for i in range(numbers)]
        places: dict[Ref, int] = {("t", i): i for i in range(tensors)}
        places |= {("n", i): tensors + i for i in range(numbers)}
        if product is not None:
            places, names = {ref: place + 1 for ref, place in places.items()}, ["c", *names]
            places["c", 0] = 0

        def element(*values: Operand) -> Any:
            found: list[Operand] = []
            given = list(values)
            if product is not None:
                given[0] = as_stored("matmul", given[0], product)

            def met(ref: Ref) -> Operand:
                return found[ref[1]] if ref[0] == "s" else given[places[ref]]

            for operation, refs in steps:
                found.append(as_stored(operation.name, operation.element(*map(met, refs))))
            return met(results[0]) if len(results) == 1 else tuple(map(met, results))

        name = "_".join(dict.fromkeys(operation.name for operation, _ in steps if operation.name.isidentifier()))[:48]
        kind: Callable[..., Any] = Pointwise if len(results) == 1 else PointwiseTuple
        of_table = all(operation.of_table for operation, _ in steps)
        self.operation: Any = kind(element, tuple(names), name or "fused", of_table=of_table, count=len(results))
        self.cache = CallCache()

    def folded(
        self,
        place: ExecutionSite,
        tensors: Sequence[Tensor],
        numbers: Sequence[Number],
        reduction: tuple[str, rules.Axes, bool, float],
        shape: rules.Shape,
        dtype: DType,
    ) -> Tensor | None:
        """The reduction (its name, axes, keepdims, option) of the chain's elements, of this shape and type; None where
        the tensors have no rows in common."""

        count, end = len(tensors), len(tensors) + len(numbers)

        def launch(*given: Any) -> Tensor | None:
            return _folded(self, place, given[:count], given[count:end], reduction, given[-2], dtype)

        name, axes, keepdims, option = reduction
        key = (*tensors, *numbers, name, axes, keepdims, str(option), shape, dtype)
        return self.cache.call(
            key, launch, key=self.operation.captured, parameters=lambda: floats("numbers", 0, numbers)
        )

    def of_product(
        self, A: Tensor, B: Tensor, out: Tensor, tensors: Sequence[Tensor], numbers: Sequence[Number]
    ) -> Tensor:
        """The chain of the elements of A @ B, into `out`."""

        def launch(A: Tensor, B: Tensor, out: Tensor, *beside: Tensor | Number) -> Tensor:
            others = dict(zip(self.operation.names[1:], beside, strict=True))
            return matmul(A, B, out, epilogue=self.operation, **others)

        key = (A, B, out, *tensors, *numbers)
        return self.cache.call(
            key, launch, key=self.operation.captured, parameters=lambda: floats("others", len(tensors), numbers)
        )


def floats(name: str, before: int, numbers: Sequence[Number]) -> tuple[str, ...]:
    """The launch parameters of the floats among numbers, which a kernel has as parts of `name`, after some others."""
    return tuple([f"{name}_{before + i}" for i, x in enumerate(numbers) if type(x) in (float, np.float32)])


def as_stored(name: str, found: Operand, dtype: DType | None = None) -> Element:
    """What an operation gave, as it is read again from a tensor of its type."""
    dtype = gpu_dtype(rules.result_type(name, type_of(found))) if dtype is None else dtype
    return Element(gpu.cast(value_as(found, dtype), bool_ if dtype is bool_ else dtype.accumulator), dtype)


@lru_cache(maxsize=256)
def chain_of(
    steps: tuple[Step, ...], results: tuple[Ref, ...], counts: tuple[int, int], product: DType | None = None
) -> FusedChain:
    """The chain of these steps, over so many tensors and numbers, with its kernels for all calls."""
    return FusedChain(steps, results, counts, product)


def _folded(
    chain: FusedChain,
    place: ExecutionSite,
    tensors: Sequence[Tensor],
    numbers: Sequence[Number],
    reduction: tuple[str, rules.Axes, bool, float],
    shape: rules.Shape,
    dtype: DType,
) -> Tensor | None:
    # All tensors as (rows, columns, batch) of the chain's shape, with the result as (rows, 1, batch).
    name, axes, keepdims, option = reduction
    wide = [broadcast_to(t, shape) for t in tensors]
    call = Reduction(wide[0], rules.chosen_axes(name, len(shape), axes), keepdims)
    out = place.new(call.shape, rules.folded_type(name, dtype))
    found = call.rows(wide, out)
    if found is None:
        return None
    *sources, target = found
    # Planned by a tensor that repeats nothing, where there is one.
    first = max(sources, key=lambda t: (t.layout.cosize, is_row_major(t)))
    plan, fold = plan_for(first, *sources), fold_of(name, dtype, option)
    splits, count = splits_of(first, plan), call.count
    into, last = (target, True) if splits == 1 else (partials(place, first, splits, fold.dtype), False)
    types = (*[t.dtype for t in tensors], *map(type_of_number, numbers))
    given = tuple([launch_parameter(number, types) for number in numbers])
    lift, once = Lift(chain.operation, types, dtype), replace(fold, last=last)
    place.run(lifted_fold_kernel, tuple(sources), into, float(count), given, fold=once, plan=plan, lift=lift)
    if not last:
        run_passes(place, passes(place, into, target, replace(fold, again=True), count))
    return out


def site_of(tensor: Tensor) -> ExecutionSite:
    """Where the operations on a tensor of a device run."""
    return place_of("fused", "wgpu", [tensor])
