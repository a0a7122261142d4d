"""Matrix product of 8-bit integers, summed exactly in 32 bits: four neighbours along k are one number to the kernel.

Law: `C[m, n] = sum over k of A[m, k] * B[k, n]` in i32 (u32 of u8), modulo 2**32.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...layout import Layout, ceil_div, leaves
from ...tensor import Array, DType, PackedEngine, Tensor, make_tensor, mode_layouts, recast
from .. import DeviceEngine
from ..operations.operand import ExecutionSite
from .cost_model import ProductProblem, choose_matrix_plan, matrix_shapes
from .plan import MatrixPlan

WIDE_OF = {"i8": "i32", "u8": "u32"}
"""The type in which products of an 8-bit type are summed."""
SHAPE = (16, 16, 32)
"""(m, n, k) of the matrices that the plans are of."""
STRIP = 16
"""Indices along k that the host transposes at a time, so that they stay in its cache: 4096x4096 takes 13 ms; all at
once it takes 115 ms."""


def bytes_plan(place: ExecutionSite, dtype: DType, extents: tuple[int, int, int, int]) -> MatrixPlan | str:
    """The plan for a product of (m, n, k, batch) in 8-bit integers, or why there is none here."""
    types = dtype.name, WIDE_OF[dtype.name]
    shapes = matrix_shapes(place, types)
    if isinstance(shapes, str):
        return shapes
    if SHAPE not in shapes:
        return f"{place.device} lists {', '.join(map(str, shapes))} of {dtype} and not {SHAPE}, which the plans are of"
    # Two bytes take the place of one f16: the plan of half as many k, and its slabs have twice as many.
    m, n, k, batch = extents
    plan, _took = choose_matrix_plan(ProductProblem(m, n, ceil_div(k, 2), batch), types)
    return of_bytes(replace(plan, splits=1), types)


def of_bytes(plan: MatrixPlan, types: tuple[str, str]) -> MatrixPlan:
    """A plan for f16 as one for 8-bit integers: as many bytes along k, which four of A and of B lie along.

    So packed, 4096^3 takes half the time of B packed across k: 574 TFLOP/s, not 301 (one NVIDIA H200, 2026-11-22).

    >>> of_bytes(MatrixPlan((64, 64, 32)), ("i8", "i32")).tile
    (64, 64, 64)
    """
    bm, bn, bk = plan.tile
    return replace(plan, tile=(bm, bn, 2 * bk), shape=SHAPE, types=types, padding=4, columns=(False, False))


def numbers_along(tensor: Tensor, axis: int, dtype: DType) -> Tensor:
    """Four neighbours along `axis` as one number of `dtype`: the memory as it is where they lie so, else that of a copy
    by the host, with zeros up to a multiple of four."""
    rest = mode_layouts(tensor)
    along = rest.pop(axis)
    apart = [step for mode in rest for step in leaves(mode.stride)]
    # Whole numbers of four bytes must begin at multiples of four, in each row.
    if leaves(along.stride) != (1,) or any(number % 4 for number in (along.size, tensor.offset, *apart)):
        tensor = make_tensor(_turned(tensor.numpy(), axis))
    words = recast(tensor, "u32")
    # The kernel reads the words as numbers of `dtype`: on a device the same buffer under another type.
    if isinstance(words.engine, DeviceEngine):
        return Tensor(replace(words.engine, dtype=dtype), words.layout, words.offset)
    return recast(words, dtype)


def _turned(values: Array, axis: int) -> Array:
    """A copy whose neighbours along `axis` are neighbours in memory."""
    values = np.moveaxis(values, axis, -1)
    depth = values.shape[-1]
    whole = np.zeros((*values.shape[:-1], 4 * ceil_div(depth, 4)), values.dtype)
    for strip in range(0, depth, STRIP):
        part = slice(strip, min(strip + STRIP, depth))
        whole[..., part] = values[..., part]
    return np.moveaxis(whole, -1, axis)


def memory_of(tensor: Tensor) -> Tensor:
    """The words that a tensor of 8-bit integers is in."""
    return Tensor(tensor.engine.words, Layout(1)) if isinstance(tensor.engine, PackedEngine) else tensor
