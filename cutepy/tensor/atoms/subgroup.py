"""Matrix instructions of a subgroup as WebGPU has them: shapes and types of an adapter, registers that nobody sees.

Law: each thread has the whole tile of each operand as its value, (rows, columns), and a partition says where that tile
lies in memory; a fragment of it is one matrix, `tensor.matrix`.
"""

from __future__ import annotations

from ...errors import TensorError
from ...layout import Layout
from ..dtypes import as_dtype
from .atom import MMAAtom

SOURCE = "gpuweb/gpuweb, proposals/subgroup-matrix.md, 2026-10-02; naga, cooperative matrices"


def subgroup_matrix(
    shape: tuple[int, int, int] = (16, 16, 16),
    types: tuple[str, str, str] = ("f16", "f16", "f32"),
    threads: int = 32,
) -> MMAAtom:
    """The matrix instruction of these (m, n, k) and element types of A, B and C, on subgroups of `threads` threads.

    >>> atom = subgroup_matrix()
    >>> print(atom, atom.a)
    subgroup_matrix_16x16x16_f16_f16_f32 (32,(16,16)):(0,(1,16))

    Which there are is an adapter's to say. Raises TensorError for A and B of two
    types, extents that are no powers of two, and tiles of fewer elements than threads.
    """
    m, n, k = shape
    a, b, _c = (as_dtype(kind) for kind in types)
    if a is not b or any(extent < 1 or extent & (extent - 1) for extent in (*shape, threads)):
        raise TensorError(f"subgroup_matrix({shape}, {types}): A and B have one type, extents are powers of two")
    if min(m * n, m * k, n * k) < threads:
        raise TensorError(f"subgroup_matrix({shape}, {types}): {threads} threads have more than one tile")
    left, right, result = (Layout((threads, tile), (0, (1, tile[0]))) for tile in ((m, k), (n, k), (m, n)))
    name = f"subgroup_matrix_{m}x{n}x{k}_{'_'.join(types)}"
    return MMAAtom(name, shape, Layout(threads), left, right, result, types, SOURCE, opaque=True)
