"""Matrix product by fused multiply-adds: one kernel over partitioned tensors.

Law: `C[m, n] = sum over k of A[m, k] * B[n, k]`, summed in f32 (in i32 and u32 for those), for any layouts; where a
tile does not divide an extent, loads beyond it give 0 and stores do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from ... import gpu
from ...layout import Layout, composition, size
from ...layout import _ as ALL
from ...tensor import (
    Tensor,
    clear,
    copy,
    gemm,
    local_tile,
    make_fragment_like,
    make_tensor,
    thread_value_partition,
    transform,
)
from .. import Expr
from .kernel_few_rows import multiply_few_rows
from .plan import Plan
from .staging import (
    Orders,
    SlabPipeline,
    Slabs,
    Store,
    copy_layout,
    of_batch,
    orders_of,
    padded_slabs,
    pipelined,
    spread_over_grid,
)


@gpu.kernel
def matmul_kernel(A: Tensor, B: Tensor, C: Tensor, *, plan: Plan, orders: Orders | None = None) -> None:
    """C = A B^T: A (m,k), B (n,k) and C (m,n) in any layouts.

    Of a batch each has one more mode, (m,k,b), (n,k,b) and (m,n,b). Where k is summed in parts C has these as well,
    (m,n,b,parts), and each part is a sum of its own. `orders` are those of the operands, where strides are not known.
    """
    multiply_tiles(A, B, C, plan, orders or orders_of(A, B, C), store_sums)


def multiply_tiles(A: Tensor, B: Tensor, C: Tensor, plan: Plan, orders: Orders, store: Store) -> None:
    """The body of `matmul_kernel`, which stores what `store` makes of the sums."""
    if plan.ahead:
        multiply_few_rows(A, B, C, plan, orders, store)
        return
    # Where the workgroup stands in C.
    (bm, bn, bk), (tm, tn, tk) = plan.tile, plan.threads_mnk
    (column, row, batch), tid = spread_over_grid(C, plan.tile, prod(plan.threads)), gpu.thread
    batches, splits, apart = size(A, 2) if A.rank > 2 else 1, size(C, 3) if C.rank > 3 else 1, orders.apart
    A, B, C = (of_batch(t, batch) for t in (A, B, C))
    # Who brings which elements of the slabs of A and B.
    threads, tiles = prod(plan.threads), ((bm, bk), (bn, bk))
    blocks = plan.copies or [orders.block(i, tile, threads) for i, tile in enumerate(tiles)]
    copy_A, copy_B = (
        copy_layout(tile, block, threads, along_k=orders.across[i])
        for i, (tile, block) in enumerate(zip(tiles, blocks, strict=True))
    )
    a, b = Slabs(A, (bm, bk), row, copy_A), Slabs(B, (bn, bk), column, copy_B)
    # Who owns which rows and columns of the tile: their sums lie in its registers.
    across = orders.across[2]
    rows, columns = _owned(bm, tm, apart and not across), _owned(bn, tn, apart and across)
    places = _places(replace(plan, lanes=None) if apart else plan, across)
    slice_, tid = tid // (tm * tn), tid % (tm * tn)
    mine = places[0](tid), places[1](tid)
    # Slabs hold f32 of f16: each element is converted once, not at every use.
    sA = gpu.shared(A.dtype.accumulator, padded_slabs(bm, bk, plan.stages))
    sB = gpu.shared(B.dtype.accumulator, padded_slabs(bn, bk, plan.stages))

    def like_C(tensor: Tensor) -> Tensor:
        tile = composition(local_tile(of_batch(tensor, batch), (bm, bn), (row, column)), (rows, columns))
        part: Tensor = tile[(mine[0], ALL), (mine[1], ALL)]
        return part

    cC = like_C(C)
    acc = make_tensor(A.dtype.accumulator, _fragment(bm // tm, bn // tn, across))
    gpu.note(copy_A=copy_A, copy_B=copy_B, rows=rows, columns=columns, acc=acc.layout)
    clear(acc)

    def multiply(stage: object) -> None:
        for kk in gpu.unroll(bk // tk) if plan.unrolled else gpu.loop(bk // tk):
            at = slice_ * (bk // tk) + kk
            part_A = thread_value_partition(sA(ALL, at, stage), rows, mine[0])
            part_B = thread_value_partition(sB(ALL, at, stage), columns, mine[1])
            gemm(part_A, part_B, acc)

    how = SlabPipeline(plan.stages, splits, repeat_last=plan.repeat_last)
    next_A, next_B = make_fragment_like(a.part(0)), make_fragment_like(b.part(0))  # a slab on its way
    pipelined((a, b), (next_A, next_B), (sA, sB), batch // batches, how, multiply)
    if tk == 1:
        store(acc, cC, like_C)
        return
    # Threads along k have a part of each sum; those of the first group store the whole.
    add_slices(acc, max(sA, sB, key=lambda slabs: slabs.layout.cosize), (tid, slice_), plan)
    with gpu.when(slice_ == 0):
        store(acc, cC, like_C)


def add_slices(sums: Tensor, memory: Tensor, stand: tuple[Expr, Expr], plan: Plan) -> None:
    """Add what the groups of threads along k hold, in their order, to the `sums` of the first group, by way of the
    `memory` of slabs. `stand` is the number of the thread in its group, and of the group.

    Each part of a thread's sums lies there as vectors of 4, those of neighbouring threads side by side.
    """
    (tm, tn, tk), (tid, slice_) = plan.threads_mnk, stand
    workers, vectors = tm * tn, sums.layout.size // 4
    # As many vectors at a time as the memory takes of all groups but the first.
    room = memory.layout.cosize // (4 * workers * (tk - 1))
    together = max(count for count in range(1, vectors + 1) if vectors % count == 0 and count <= max(1, room))
    places = Layout(((4, together), workers, tk - 1), ((1, 4 * workers), 4, 4 * workers * together))
    staged = Tensor(memory.engine, places, memory.offset)
    for part in range(vectors // together):
        held = Tensor(sums.engine, Layout((4, together)), sums.offset + 4 * together * part)
        gpu.barrier()
        with gpu.when(slice_ > 0):
            copy(held, staged(ALL, tid, slice_ - 1))
        gpu.barrier()
        with gpu.when(slice_ == 0):
            for other in range(tk - 1):
                transform(held, staged(ALL, tid, other), held, op=lambda x, y: x + y)


def store_sums(sums: Tensor, mine: Tensor, _like_C: Callable[[Tensor], Tensor]) -> None:
    """The `Store` that stores them as they are."""
    copy(sums, mine)


def _places(plan: Plan, across: bool) -> tuple[Layout, Layout]:
    """From a thread to its row and to its column among the threads (tm, tn): block after block of `plan.lanes`, in each
    the direction first in which neighbours of C lie."""
    tm, tn, _ = plan.threads_mnk
    lm, ln = plan.lanes or ((1, tn) if across else (tm, 1))
    if across:
        shape = ln, lm, tn // ln, tm // lm
        return Layout(shape, (0, 1, 0, lm)), Layout(shape, (1, 0, ln, 0))
    shape = lm, ln, tm // lm, tn // ln
    return Layout(shape, (1, 0, lm, 0)), Layout(shape, (0, 1, 0, ln))


def _owned(extent: int, threads: int, apart: bool) -> Layout:
    """(thread, value) -> index along an axis of the tile: a thread has blocks of 4, each 4 * threads after the last;
    with `apart` single indices, each `threads` after the last one."""
    shape = threads, (4, extent // (4 * threads))
    return Layout(shape, (1, (threads, 4 * threads)) if apart else (4, (1, 4 * threads)))


def _fragment(rows: int, columns: int, across: bool) -> Layout:
    """Accumulators, contiguous in the direction in which C is."""
    shape = ((4, rows // 4), (4, columns // 4))
    return Layout(shape, ((columns, 4 * columns), (1, 4)) if across else ((1, 4), (rows, 4 * rows)))
