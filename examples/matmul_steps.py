"""A matrix product grown in six steps: C = A B^T with A (m,k), B (n,k), C (m,n), each in any layout.

The page docs/stories/matmul.md tells the story, bench/steps.py takes the times. Run alone, each step is checked
against NumPy, proven and counted, without a GPU.
"""

from dataclasses import dataclass

import numpy as np

from cutepy import (
    Layout,
    _,
    ceil_div,
    clear,
    copy,
    gemm,
    gpu,
    local_partition,
    local_tile,
    make_fragment_like,
    make_tiled_copy,
    make_tiled_mma,
    size,
)
from cutepy.tensor import FMA, Tensor, TiledCopy, TiledMMA, universal_copy


# --8<-- [start:direct]
@gpu.kernel
def direct(A: Tensor, B: Tensor, C: Tensor, *, threads: Layout) -> None:
    """One element of C a thread, straight from global memory."""
    gpu.launch(grid=(ceil_div(size(C, 1), 16), ceil_div(size(C, 0), 16)), threads=256)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    mine_A = local_partition(local_tile(A, (16, 8), (row, _)), threads, proj=(1, None))
    mine_B = local_partition(local_tile(B, (16, 8), (column, _)), threads, proj=(None, 1))
    mine_C = local_partition(local_tile(C, (16, 16), (row, column)), threads)
    total = make_fragment_like(mine_C)
    clear(total)
    for slab in gpu.loop(size(mine_A, 2)):
        for k in gpu.unroll(8):
            gemm(mine_A(_, k, slab), mine_B(_, k, slab), total)
    copy(total, mine_C)


DOWN = Layout((16, 16), (1, 16))  # neighbouring threads one below the other
ALONG = Layout((16, 16), (16, 1))  # neighbouring threads side by side
# --8<-- [end:direct]


# --8<-- [start:staged]
@gpu.kernel
def staged(A: Tensor, B: Tensor, C: Tensor, *, threads: Layout) -> None:
    """The same, but a workgroup brings each slab into shared memory once."""
    gpu.launch(grid=(ceil_div(size(C, 1), 16), ceil_div(size(C, 0), 16)), threads=256)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    gA, gB = local_tile(A, (16, 16), (row, _)), local_tile(B, (16, 16), (column, _))
    sA, sB = gpu.shared(A, (16, 16), pad=1), gpu.shared(B, (16, 16), pad=1)
    mine_A, mine_B = local_partition(sA, threads, proj=(1, None)), local_partition(sB, threads, proj=(None, 1))
    mine_C = local_partition(local_tile(C, (16, 16), (row, column)), threads)
    total = make_fragment_like(mine_C)
    clear(total)
    for slab in gpu.loop(size(gA, 2)):
        copy(local_partition(gA(_, _, slab), ALONG), local_partition(sA, ALONG))  # A lies along k
        copy(local_partition(gB(_, _, slab), DOWN), local_partition(sB, DOWN))  # B lies along n
        gpu.barrier()
        for k in gpu.unroll(16):
            gemm(mine_A(_, k), mine_B(_, k), total)
        gpu.barrier()
    copy(total, mine_C)


# --8<-- [end:staged]


# --8<-- [start:blocked]
@dataclass(frozen=True)
class Cut:
    """How steps 4 to 6 are cut: slabs of A and B, who brings them, who multiplies what, the padding of a column."""

    tile: tuple[int, int, int]
    copies: tuple[TiledCopy, TiledCopy]
    products: TiledMMA
    pad: int = 0


@gpu.kernel
def blocked(A: Tensor, B: Tensor, C: Tensor, *, cut: Cut) -> None:
    """A block of C a thread, in registers: what is read from shared memory once is used several times."""
    bm, bn, bk = cut.tile
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=cut.products.threads)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    gA, gB = local_tile(A, (bm, bk), (row, _)), local_tile(B, (bn, bk), (column, _))
    sA, sB = gpu.shared(A, (bm, bk), pad=cut.pad), gpu.shared(B, (bn, bk), pad=cut.pad)
    a, b = cut.copies[0].thread(gA, sA), cut.copies[1].thread(gB, sB)
    mine = cut.products.thread(sA, sB, local_tile(C, (bm, bn), (row, column)))
    total = make_fragment_like(mine.C)
    clear(total)
    for slab in gpu.loop(size(gA, 2)):
        copy(a.source(_, _, slab), a.target)
        copy(b.source(_, _, slab), b.target)
        gpu.barrier()
        for k in gpu.loop(bk):
            gemm(mine.A(_, k), mine.B(_, k), total)
        gpu.barrier()
    copy(total, mine.C)


SCATTERED = Cut(
    (64, 64, 16),
    (
        make_tiled_copy(universal_copy(1), Layout((16, 16), (16, 1)), Layout((4, 1))),  # A: 16 threads along k
        make_tiled_copy(universal_copy(1), Layout((64, 4), (1, 64)), Layout((1, 4))),  # B: 64 threads along n
    ),
    make_tiled_mma(FMA, (16, 16, 1), (Layout(64), Layout(64), None)),  # rows and columns 16 apart
)
# --8<-- [end:blocked]

# --8<-- [start:neighbours]
FOURS = Layout((16, 4), (4, 1))  # 16 threads own 4 neighbours each
NEIGHBOURS = Cut(
    (64, 64, 16),
    (
        make_tiled_copy(universal_copy(4), Layout((64, 4), (4, 1)), Layout((1, 4))),  # A: 4 along k at once
        make_tiled_copy(universal_copy(4), Layout((16, 16), (1, 16)), Layout((4, 1))),  # B: 4 along n at once
    ),
    make_tiled_mma(FMA, Layout((16, 16, 1), (16, 1, 0)), (FOURS, FOURS, None)),
    pad=4,
)
# --8<-- [end:neighbours]


# --8<-- [start:overlapped]
@gpu.kernel
def overlapped(A: Tensor, B: Tensor, C: Tensor, *, cut: Cut) -> None:
    """The next slab is on its way, into registers, while this one is multiplied."""
    bm, bn, bk = cut.tile
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=cut.products.threads)
    row, column = gpu.workgroup.y, gpu.workgroup.x
    gA, gB = local_tile(A, (bm, bk), (row, _)), local_tile(B, (bn, bk), (column, _))
    sA, sB = gpu.shared(A, (bm, bk), pad=cut.pad), gpu.shared(B, (bn, bk), pad=cut.pad)
    a, b = cut.copies[0].thread(gA, sA), cut.copies[1].thread(gB, sB)
    mine = cut.products.thread(sA, sB, local_tile(C, (bm, bn), (row, column)))
    total, next_A, next_B = make_fragment_like(mine.C), make_fragment_like(a.target), make_fragment_like(b.target)
    clear(total)
    last = size(gA, 2) - 1
    copy(a.source(_, _, 0), next_A)
    copy(b.source(_, _, 0), next_B)
    for slab in gpu.loop(last + 1):
        copy(next_A, a.target)
        copy(next_B, b.target)
        gpu.barrier()
        following = gpu.minimum(slab + 1, last)  # the last slab is fetched once more, for want of a branch
        copy(a.source(_, _, following), next_A)
        copy(b.source(_, _, following), next_B)
        for k in gpu.unroll(bk):
            gemm(mine.A(_, k), mine.B(_, k), total)
        gpu.barrier()
    copy(total, mine.C)


EIGHTS = Layout((16, 4, 2), (4, 1, 64))  # 16 threads own two times 4 neighbours each
LARGE = Cut(
    (128, 128, 8),
    (
        make_tiled_copy(universal_copy(4), Layout((128, 2), (2, 1)), Layout((1, 4))),
        make_tiled_copy(universal_copy(4), Layout((32, 8), (1, 32)), Layout((4, 1))),
    ),
    make_tiled_mma(FMA, Layout((16, 16, 1), (16, 1, 0)), (EIGHTS, EIGHTS, None)),
    pad=4,
)
# --8<-- [end:overlapped]


@dataclass(frozen=True)
class Step:
    """A step of the story: what is new, the kernel, and what it is given."""

    new: str
    kernel: gpu.KernelFunction
    static: dict[str, object]


STEPS = (
    Step("one element a thread, one below the other", direct, {"threads": DOWN}),
    Step("neighbours side by side", direct, {"threads": ALONG}),
    Step("slabs in shared memory", staged, {"threads": ALONG}),
    Step("4 x 4 elements a thread, in registers", blocked, {"cut": SCATTERED}),
    Step("four neighbours at a time", blocked, {"cut": NEIGHBOURS}),
    Step("8 x 8 elements, and the next slab on its way", overlapped, {"cut": LARGE}),
)


def main() -> None:
    """Check and prove every step at sizes that no tile divides; count what a product of 1024^3 asks of memory."""
    random = np.random.default_rng(0)
    A, B = random.random((130, 75), np.float32), random.random((75, 140), np.float32)
    exact = A.astype(np.float64) @ B
    large_A, large_B, large_C = (np.zeros((1024, 1024), np.float32) for _name in "ABC")
    print(f"{'step':6}{'what is new':46}{'error':7}{'transactions':>12}{'conflict':>10}")
    for number, step in enumerate(STEPS, 1):
        C = np.zeros(exact.shape, np.float32)
        step.kernel.interpret(A, B.T, C, **step.static)
        error = np.linalg.norm(C - exact) / np.linalg.norm(exact)
        proof = step.kernel.verify(A, B.T, C, **step.static)
        assert error < 1e-6 and proof.ok, (step.new, error, proof)
        found = step.kernel.report(large_A, large_B.T, large_C, **step.static)
        conflict = f"{found.worst_conflict}-way" if found.workgroup_bytes else "-"
        print(f"{number:<6}{step.new:46}{error:<7.0e}{found.transactions:12,}{conflict:>10}")
    print("every step is proven")


if __name__ == "__main__":
    main()
