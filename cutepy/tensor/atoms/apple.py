"""The register layout of Apple's 8x8 simdgroup matrices.

Imports `atom`. Apple documents the type and its `thread_elements`, not who holds what; open kernels do: two
neighbours of a row to each of 32 threads, in 4x4 quadrants.
"""

from __future__ import annotations

from ...layout import Layout
from .atom import MMAAtom, thread_value

SOURCE = (
    "Apple, Metal Shading Language Specification, section 2.4, simdgroup matrices (the type); "
    "MLX, mlx/backend/metal/kernels/steel/gemm/mma.h, BaseMMAFrag::get_coord (the layout)"
)

_ROWS = thread_value(((2, 4, 2, 2), (16, 1, 32, 4)), (2, 8))
"""(thread, value) to row + 8 * column."""
_COLUMNS = thread_value(((2, 4, 2, 2), (2, 8, 4, 32)), (2, 1))
"""(thread, value) to column + 8 * row: B is stored as (K, N) and named as (N, K)."""


def _simdgroup(kind: str) -> MMAAtom:
    return MMAAtom(
        f"apple.simdgroup_{kind}8x8", (8, 8, 8), Layout(32), _ROWS, _COLUMNS, _ROWS, (kind, kind, kind), SOURCE
    )


MMA_ATOMS = {atom.name: atom for atom in map(_simdgroup, ("half", "bfloat", "float"))}
