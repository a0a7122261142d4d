"""Products of few rows: what is read of B goes to the registers of one thread, and the threads share out k.

Law: that of `matmul_kernel`. A thread holds the sums of all rows of a tile, for few columns and for the k that are its
own; in the end these are added in shared memory, in the order of the threads along k. A lies there before: it is all
that several threads read.
"""

from __future__ import annotations

from math import prod

from ... import gpu
from ...layout import Layout, ceil_div, composition, size
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
)
from .. import Expr
from ..operations.domain import known
from .plan import Plan
from .staging import PADDING, Orders, Slabs, Store, copy_layout, of_batch, share_of, spread_over_grid


def multiply_few_rows(A: Tensor, B: Tensor, C: Tensor, plan: Plan, orders: Orders, store: Store) -> None:
    """The body of `matmul_kernel` for plans with `ahead`, which stores what `store` makes of the sums."""
    (bm, bn, bk), (_, tn, tk), ahead = plan.tile, plan.threads_mnk, plan.ahead
    (column, row, batch), wide, depth = spread_over_grid(C, plan.tile, prod(plan.threads)), bn // tn, 4 * tk
    batches, splits = size(A, 2) if A.rank > 2 else 1, size(C, 3) if C.rank > 3 else 1
    # Who brings what: slabs (bm, bk) of A to shared memory, runs of 4 k for each thread of B to its registers.
    A, B = (of_batch(t, batch) for t in (A, B))
    block = (4, 4) if bm * bk >= 16 * tn * tk else None  # transposed in registers: shared memory takes vectors along k
    copy_A = copy_layout((bm, bk), block, tn * tk, along_k=orders.across[0])
    copy_B = copy_layout((bn, depth), (wide, 4), tn * tk, along_k=orders.across[1])
    a, b = Slabs(A, (bm, bk), row, copy_A), Slabs(B, (bn, depth), column, copy_B)
    stand = b.unit(0, wide), b.unit(1, 4)
    # One piece of shared memory: first it holds a slab of A, row by row, in the end the sums. `parts_A` is the slab by
    # (row, (k of a run, thread along k, run)).
    pitch = bk + PADDING
    memory = gpu.shared(A.dtype.accumulator, Layout(plan.elements_ahead))
    sA = Tensor(memory.engine, Layout((bm, bk), (pitch, 1)), memory.offset)
    parts_A = Tensor(memory.engine, Layout((bm, (4, tk, bk // depth)), (pitch, (1, 4, depth))), memory.offset)
    acc = make_tensor(A.dtype.accumulator, Layout((bm, wide), (wide, 1)))
    gpu.note(copy_A=copy_A, copy_B=copy_B, acc=acc.layout)
    clear(acc)

    # k is counted in runs of `depth`, in slabs of `each` runs, and in turns of `ahead` runs, which are whole slabs.
    k = size(A, 1)
    runs, slabs, each = ceil_div(k, depth), ceil_div(k, bk), bk // depth
    whole = ceil_div(runs, ahead)
    first, turns = share_of(whole, splits, batch // batches)
    next_A = make_fragment_like(a.part(first))
    held = [make_fragment_like(b.part(first)) for _ in range(ahead)]
    a.load(gpu.minimum(first * (ahead // each), slabs - 1), next_A)

    # Of turns that are known or whole, all load the next one, the last once more for nothing: so there is no branch.
    # Where a turn may end beyond k, or k is in parts of perhaps one turn, a branch costs less.
    always = isinstance(k, int) or (known(runs % ahead == 0) and known(splits == 1))

    def load_run(turn: Expr | int, n: int) -> None:
        b.load(turn * ahead + n if known(runs % ahead == 0) else gpu.minimum(turn * ahead + n, runs - 1), held[n])

    # Before the loop: the first slab of A and `ahead` runs of B are on their way.
    for n in range(ahead):
        load_run(first, n)
    for turn in gpu.loop(turns):
        following = gpu.minimum(first + turn + 1, whole - 1)
        for n in range(ahead):
            run, slab = (first + turn) * ahead + n, (first + turn) * (ahead // each) + n // each
            # A new slab of A: all threads have read the one before.
            if n % each == 0:
                gpu.barrier()
                a.store(next_A, sA, slab)
                gpu.barrier()
                with gpu.when(True if always or n + each < ahead else turn + 1 < turns):
                    a.load(gpu.minimum(slab + 1, slabs - 1), next_A)
            # Take the run out of the registers, so that the next one can be loaded into them while this one is used.
            mine = make_tensor(B.dtype.accumulator, held[n].layout)
            b.keep(held[n], mine, run)
            with gpu.when(True if always else turn + 1 < turns):
                load_run(following, n)
            with gpu.when(True if known(runs % ahead == 0) else run < runs):
                rows = make_tensor(A.dtype.accumulator, Layout((bm, 4), (4, 1)))
                copy(parts_A(ALL, (ALL, stand[1], n % each)), rows)
                for kk in range(4):
                    gemm(rows(ALL, kk), mine(((ALL, kk, 0, 0),)), acc)
    total, owned, owns = _added(acc, memory, stand, plan, across=orders.across[2])

    def like_C(tensor: Tensor) -> Tensor:
        return thread_value_partition(local_tile(of_batch(tensor, batch), (bm, bn), (row, column)), owned)

    with gpu.when(owns):
        store(total, like_C(C), like_C)


def _added(
    acc: Tensor, memory: Tensor, stand: tuple[Expr, Expr], plan: Plan, *, across: bool
) -> tuple[Tensor, Layout, Expr | bool]:
    """The sums of the threads along k, added some rows at a time in shared memory: those that a thread then owns, the
    layout from (thread, value) to their indices in the tile, and whether the thread has any. `stand` is the thread's
    number along the columns and along k."""
    (bm, bn, _), (_, tn, tk), rows = plan.tile, plan.threads_mnk, plan.rows_at_once
    tid, wide, count = gpu.thread, bn // tn, rows * bn
    # Some rows of sums lie as C does: strides down the rows and along the columns.
    down, right = (bn, 1) if across else (1, rows)
    order = Layout((bn, rows), (bm, 1)) if across else Layout((rows, bn), (1, bm))
    owners = min(count, tn * tk)
    owns = True if owners == tn * tk else tid < owners
    share = composition(order, Layout((owners, count // owners)))
    owned = Layout((share[0].shape, (share[1].shape, bm // rows)), (share[0].stride, (share[1].stride, rows)))
    sums = make_tensor(acc.dtype, Layout((count // owners, bm // rows)))
    # In shared memory (row, column, thread along k), padded between the threads along k; `flat` is the same by owner.
    place = Layout((rows, (wide, tn), tk), (down, (right, wide * right), count + PADDING))
    staged = Tensor(memory.engine, place, memory.offset)
    flat = Tensor(memory.engine, Layout((owners, count // owners, tk), (1, owners, count + PADDING)), memory.offset)
    for step in range(bm // rows):
        gpu.barrier()
        part = Tensor(acc.engine, Layout((rows, wide), (wide, 1)), acc.offset + step * rows * wide)
        copy(part, staged(ALL, (ALL, stand[0]), stand[1]))
        gpu.barrier()
        with gpu.when(owns):
            for n in range(count // owners):
                total = flat(tid, n, 0)
                for other in range(1, tk):
                    total = total + flat(tid, n, other)
                sums[n, step] = total
    return sums, owned, owns
