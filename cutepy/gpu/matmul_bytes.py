"""Matrix product of 8-bit integers, summed exactly in 32 bits: four elements are one number in memory.

Law: `C[m, n] = sum over k of A[m, k] * B[k, n]` in i32 (u32 of u8), modulo 2**32.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..layout import Layout, ceil_div
from ..layout.algebra.rearrange import joined
from ..ops.rules import Shape
from ..tensor.dtypes import DType, as_dtype
from ..tensor.engine import Array
from ..tensor.tensor import Tensor
from .matmul import Epilogue
from .matmul_matrices import MatrixPlan, choose_matrix_plan, matrix_matmul_kernel, matrix_shapes
from .operations.operand import Place, modes_of, over

WIDE_OF = {"i8": "i32", "u8": "u32"}
SHAPE = (16, 16, 32)


def bytes_plan(place: Place, dtype: DType, extents: tuple[int, int, int, int]) -> MatrixPlan | str:
    """The plan for a product of (m, n, k, batch) in 8-bit integers, or why there is none here."""
    types = dtype.name, WIDE_OF[dtype.name]
    shapes = matrix_shapes(place, types)
    if isinstance(shapes, str):
        return shapes
    if SHAPE not in shapes:
        return f"{place.device} lists {', '.join(map(str, shapes))} of {dtype} and not {SHAPE}, which the plans are of"
    m, n, k, batch = extents
    return of_bytes(replace(choose_matrix_plan(m, n, ceil_div(k, 2), batch), splits=1), types)


def of_bytes(plan: MatrixPlan, types: tuple[str, str]) -> MatrixPlan:
    """A plan for f16 as one for 8-bit integers: as many bytes along k, rows of A and columns of B packed.

    >>> of_bytes(MatrixPlan((64, 64, 32)), ("i8", "i32")).tile
    (64, 64, 64)
    """
    bm, bn, bk = plan.tile
    return replace(plan, tile=(bm, bn, 2 * bk), shape=SHAPE, types=types, padding=4, columns=(False, True))


def multiply_bytes(
    place: Place, factors: tuple[Array, Array], shape: Shape, plan: MatrixPlan, epilogue: Epilogue | None = None
) -> Tensor:
    """The product of (batch, m, k) and (batch, k, n), as a tensor of that shape."""
    (A, B), after = factors, {} if epilogue is None else {"epilogue": epilogue}
    (batch, m, _), n = A.shape, B.shape[2]
    bm, bn, bk = plan.tile
    x, y = (place.put(_packed(t, whole)) for t, whole in ((A, (bm, bk)), (B, (bk, bn))))
    c = place.new(shape, as_dtype(plan.types[1]))
    (bx, mx, kx), (by, ky, ny), (bc, mc, nc) = modes_of(x), modes_of(y), Layout((batch, m, n), (m * n, n, 1))
    operands = over(x, joined([mx, kx, bx])), over(y, joined([ny, ky, by])), over(c, joined([mc, nc, bc]))
    place.run(matrix_matmul_kernel, *operands, plan=plan, **after)
    return c


def _packed(values: Array, tile: tuple[int, int]) -> Array:
    """Four neighbours as one number, of whole tiles: zeros beyond the values."""
    missing = [(0, -extent % whole) for extent, whole in zip(values.shape[1:], tile, strict=True)]
    whole: Array = np.ascontiguousarray(np.pad(values, [(0, 0), *missing]))
    return whole.view({"i": np.int32, "u": np.uint32}[values.dtype.kind])
