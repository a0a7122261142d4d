"""Matrix product by matrices of a subgroup: one kernel over the partitions of a tiled MMA.

Law: as in `kernel_fma`, `C[m, n] = sum over k of A[m, k] * B[n, k]`, in the types of one matrix instruction. Tiles
divide A and B: `of_whole_tiles` brings other operands there. C is any tensor.
"""

from __future__ import annotations

from itertools import product
from math import prod

from ... import gpu
from ...layout import _ as ALL
from ...layout import ceil_div, size
from ...tensor import (
    Tensor,
    clear,
    copy,
    gemm,
    is_row_major,
    local_tile,
    make_fragment_like,
    thread_value_partition,
)
from .. import Expr
from .kernel_fma import store_sums
from .plan import SUBGROUP, MatrixPlan
from .staging import SlabPipeline, Slabs, Store, copy_layout, of_batch, pipelined, spread_over_grid


@gpu.kernel
def matrix_matmul_kernel(A: Tensor, B: Tensor, C: Tensor, *, plan: MatrixPlan) -> None:
    """C = A B^T: A (m,k), B (n,k) and C (m,n), or with a last mode of batches; as `matmul_kernel`.

    Of elements of 8 bits, A and B are numbers of four, neighbours along what the plan makes contiguous.
    """
    multiply_matrices(A, B, C, plan, None if plan.stores(C) else store_sums)


def multiply_matrices(A: Tensor, B: Tensor, C: Tensor, plan: MatrixPlan, store: Store | None) -> None:
    """The body of `matrix_matmul_kernel`, which stores what `store` makes of the sums; without it, matrices to C."""
    # Where the workgroup stands in C; `leader` is the first thread of the subgroup.
    (bm, bn, bk), mma = plan.tile, plan.mma
    (column, row, batch), leader = spread_over_grid(C, plan.tile, prod(plan.threads)), SUBGROUP * gpu.subgroup
    batches = size(A, 2) if A.rank > 2 else 1
    if plan.in_order:
        gpu.in_order(A, B)
    if plan.band:
        row, column = _in_bands(row, column, plan.band, (ceil_div(size(C, 0), bm), ceil_div(size(C, 1), bn)))
    A, B, C = (of_batch(t, batch) for t in (A, B, C))
    # What each thread brings of the slabs, and the slabs in shared memory.
    a, b = (
        Slabs(t, plan.slab(i), block, plan.copies(i, is_row_major(t)))
        for i, (t, block) in enumerate(((A, row), (B, column)))
    )
    sA, sB = gpu.shared(A, plan.staged(0)), gpu.shared(B, plan.staged(1))
    # What the subgroup has of them: fragments of matrices.
    part_A, part_B = mma.partition_A(plan.unpacked(sA, 0), leader), mma.partition_B(plan.unpacked(sB, 1), leader)
    part_C = mma.partition_C(local_tile(C, (bm, bn), (row, column)), leader)
    frag_A, frag_B = mma.make_fragment_A(part_A(ALL, ALL, 0, 0)), mma.make_fragment_B(part_B(ALL, ALL, 0, 0))
    acc = mma.make_fragment_C(part_C)
    clear(acc)

    def multiply(stage: object) -> None:
        for kk in gpu.unroll(bk // plan.shape[2]):
            copy(part_A(ALL, ALL, kk, stage), frag_A)
            copy(part_B(ALL, ALL, kk, stage), frag_B)
            gemm(frag_A, frag_B, acc)

    how = SlabPipeline(plan.stages, plan.splits, ahead=plan.ahead)
    next_A, next_B = make_fragment_like(a.part(0)), make_fragment_like(b.part(0))  # a slab on its way
    pipelined((a, b), (next_A, next_B), (sA, sB), batch // batches, how, multiply)
    if store is None:
        copy(acc, part_C)
    else:
        _store_blocks(acc, C, plan, (row, column, batch), store)


def _store_blocks(acc: Tensor, C: Tensor, plan: MatrixPlan, place: tuple[Expr, Expr, Expr], store: Store) -> None:
    """Bring the sums to threads through shared memory, a block after the other of what the subgroups compute side by
    side; the threads store what C has of them. `place` is (row, column, batch) of the tile."""
    across = is_row_major(C)
    block = plan.block(across)
    rows, columns = block[0].size, block[1].size
    staged = gpu.shared(plan.types[1], block, name="sC")
    target = plan.mma.partition_C(staged, SUBGROUP * gpu.subgroup)
    wide = min(4, rows * columns // prod(plan.threads))  # neighbours that a thread has at a time
    shares = copy_layout((rows, columns), (1, wide) if across else (wide, 1), prod(plan.threads), along_k=across)
    for i, j in product(range(plan.tile[0] // rows), range(plan.tile[1] // columns)):
        copy(acc(ALL, i, j), target(ALL, 0, 0))  # by all subgroups: under a condition it takes a third longer
        gpu.barrier()

        def mine(tensor: Tensor, at: tuple[int, int] = (i, j)) -> Tensor:
            tile = local_tile(of_batch(tensor, place[2]), plan.tile[:2], place[:2])
            return thread_value_partition(local_tile(tile, (rows, columns), at), shares)

        store(thread_value_partition(staged, shares), mine(C), mine)
        gpu.barrier()  # the block is read before the next one takes its place


def _in_bands(row: Expr, column: Expr, band: int, tiles: tuple[int, int]) -> tuple[Expr, Expr]:
    """The tile of a workgroup, where those that run together share `band` rows of tiles and few columns: of so many
    rows and columns of tiles.

    Workgroups are numbered row by row of the grid; inside a band the numbers go down the rows first. Rows that fill no
    band stay in the order of the grid.
    """
    rows, columns = tiles
    number, whole = row % band * columns + column, row < rows // band * band
    within = row // band * band + number % band, number // band
    return gpu.select(whole, within[0], row), gpu.select(whole, within[1], column)
