"""Matrix product by matrices of a subgroup: one kernel over the partitions of a tiled MMA, and the plans for it.

Law: as in `matmul`, `C[m, n] = sum over k of A[m, k] * B[n, k]`, in the types of one matrix instruction. Tiles divide
A and B: `of_whole_tiles` brings other operands there. C is any tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from math import prod
from typing import Literal

from ... import gpu
from ...errors import KernelError
from ...layout import Layout, ceil_div, leaves, size
from ...layout import _ as ALL
from ...tensor import (
    DType,
    Tensor,
    TiledMMA,
    as_dtype,
    clear,
    copy,
    gemm,
    is_row_major,
    least_strides,
    local_tile,
    make_fragment_like,
    make_tiled_mma,
    mode_layouts,
    subgroup_matrix,
    thread_value_partition,
)
from .. import Expr
from ..operations.operand import ExecutionSite
from .cost_model import PROCESSORS, START
from .kernel_fma import store_sums
from .plan import parts_of
from .staging import SlabPipeline, Slabs, Store, copy_layout, of_batch, pipelined, share_of, spread_over_grid

Sums = Literal["f32", "f16", "i32", "u32"]
ROOM = 24 * 1024
"""Bytes of shared memory that leave room for two workgroups on a processor of an H200, with this driver: at 25 KB and
beyond one runs there, and 4096^3 takes 926 us, not 515."""
SUBGROUP = 32
"""Threads of a subgroup, on the adapters that grant matrices so far."""


@gpu.static_type
@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """How the product is cut up: `subgroups` along rows and columns share a tile of (rows, columns, k), in matrices of
    `shape`, with elements and sums in `types`.

    Slabs of A and B are staged in shared memory, `stages` of them, `padding` elements between two columns or rows, each
    along k or, by `columns` (of A, of B), across it: best as they lie in memory, here of two arrays in NumPy's order.
    The next slab is brought to registers while one is used, if `ahead`. What is turned on its way, threads bring in
    `lanes` of (blocks along k, blocks across), where these share it out: 2 and 8 meet no bank twice at a padding of 8.
    `band` rows of tiles are worked through together. k is summed in `splits` parts.
    """

    tile: tuple[int, int, int] = (128, 128, 32)
    subgroups: tuple[int, int] = (2, 2)
    shape: tuple[int, int, int] = (16, 16, 16)
    types: tuple[str, str] = ("f16", "f32")
    padding: int = 8
    columns: tuple[bool, bool] = (False, True)
    ahead: bool = True
    stages: int = 1
    lanes: tuple[int, int] | None = (2, 8)
    band: int = 0
    splits: int = 1

    def __post_init__(self) -> None:
        for extent, step in zip(self.tile, self.mma.tile, strict=True):
            if extent % step:
                raise KernelError(f"{self}: the tile is no multiple of {self.mma.tile}, what its subgroups do at once")

    @property
    def mma(self) -> TiledMMA:
        """The matrices of all subgroups side by side."""
        element, sums = self.types
        return make_tiled_mma(subgroup_matrix(self.shape, (element, element, sums), SUBGROUP), (*self.subgroups, 1))

    @property
    def description(self) -> str:
        """What `explain_matmul` says of it."""
        (m, n, k), tile = self.shape, "x".join(map(str, self.tile))
        way = f"matrices of a subgroup, {self.types[0]} with sums in {self.types[1]}, {m}x{n}x{k}, tiles of {tile}"
        return way + (f", k in {self.splits} parts" if self.splits > 1 else "")

    @property
    def threads(self) -> tuple[int, int]:
        """Threads of a workgroup."""
        return SUBGROUP * self.subgroups[0], self.subgroups[1]

    @property
    def packed(self) -> int:
        """Elements in one of the numbers that memory holds: four of 8 bits in an i32 or u32, else one."""
        return 4 if as_dtype(self.types[0]).bits == 8 else 1

    def slab(self, operand: int) -> tuple[int, int]:
        """Rows and k of a slab of A (0) or B (1) in memory: packed elements are neighbours along what is staged so."""
        rows, depth = self.tile[operand], self.tile[2]
        return (rows // self.packed, depth) if self.columns[operand] else (rows, depth // self.packed)

    def unpacked(self, staged: Tensor, operand: int) -> Tensor:
        """The staged slabs of A (0) or B (1), (rows, k, stage), element by element."""
        layout = staged.layout
        if self.packed == 1 or not isinstance(layout, Layout):
            return staged
        row, column, stage = (step * self.packed for step in leaves(layout.stride))
        steps = (1, column, stage) if self.columns[operand] else (row, 1, stage)
        return Tensor(staged.engine, Layout((self.tile[operand], self.tile[2], self.stages), steps))

    def staged(self, operand: int) -> Layout:
        """The layout of the slabs of A (0) or B (1) in shared memory, (rows, k, stage)."""
        rows, depth = self.slab(operand)
        row, column = (1, rows + self.padding) if self.columns[operand] else (depth + self.padding, 1)
        return Layout((rows, depth, self.stages), (row, column, max(rows * row, depth * column)))

    def copies(self, operand: int, along_k: bool) -> Layout:
        """(thread, value) -> index in a slab of A (0) or B (1): who brings what."""
        tile, threads = self.slab(operand), prod(self.threads)
        (rows, depth), (near_k, near_m) = tile, self.lanes or (1, 1)
        far_k = max(1, depth // (4 * near_k))
        far_m = max(1, threads // (near_k * near_m * far_k))
        shared = near_k * near_m * far_k * far_m == threads and depth == 4 * near_k * far_k
        if not (along_k and self.columns[operand] and self.lanes and shared and rows % (4 * near_m * far_m) == 0):
            return copy_layout(tile, None, threads, along_k=along_k)
        shape = (near_k, near_m, far_k, far_m), (4, 4, rows // (4 * near_m * far_m))
        steps = (4 * rows, 4, 4 * rows * near_k, 4 * near_m), (1, rows, 4 * near_m * far_m)
        return Layout(shape, steps)

    @property
    def slab_bytes(self) -> int:
        """Bytes of shared memory for the slabs of A and B."""
        width = as_dtype(self.types[0]).bytes * self.packed
        return gpu.workgroup_bytes([self.staged(operand).cosize * width for operand in (0, 1)])

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory, with a block of results."""
        return gpu.workgroup_bytes([self.slab_bytes, self.block(True).cosize * as_dtype(self.types[1]).bytes])

    def block(self, across: bool) -> Layout:
        """The layout in shared memory of a block of results, what the subgroups hold side by side: padded where `ROOM`
        allows it, for then its matrices are stored without conflicts."""
        rows, columns, _ = self.mma.tile
        near, far = (columns, rows) if across else (rows, columns)
        fits = self.slab_bytes + far * (near + 8) * as_dtype(self.types[1]).bytes <= ROOM
        pitch = near + 8 if fits else near
        return Layout((rows, columns), (pitch, 1) if across else (1, pitch))

    def stores(self, C: Tensor) -> bool:
        """Whether C takes matrices as they are: whole tiles in the type of the sums, of rows or columns of neighbours,
        each at a multiple of 16 bytes."""
        if C.dtype is not as_dtype(self.types[1]) or size(C, 0) % self.tile[0] or size(C, 1) % self.tile[1]:
            return False
        if not isinstance(C.layout, Layout) or any(len(leaves(m.shape)) > 1 for m in mode_layouts(C)[:2]):
            return False
        steps = [step for mode in mode_layouts(C) for step in leaves(mode.stride) if step != 1]
        return 1 in least_strides(C) and not any(place * C.dtype.bytes % 16 for place in (*steps, C.offset))


@gpu.kernel
def matrix_matmul_kernel(A: Tensor, B: Tensor, C: Tensor, *, plan: MatrixPlan) -> None:
    """C = A B^T: A (m,k), B (n,k) and C (m,n), or with a last mode of batches; as `matmul_kernel`.

    Of elements of 8 bits, A and B are numbers of four, neighbours along what the plan stages so.
    """
    multiply_matrices(A, B, C, plan, None if plan.stores(C) else store_sums)


def multiply_matrices(A: Tensor, B: Tensor, C: Tensor, plan: MatrixPlan, store: Store | None) -> None:
    """The body of `matrix_matmul_kernel`, which stores what `store` makes of the sums; without it, matrices to C."""
    (bm, bn, bk), mma = plan.tile, plan.mma
    (column, row, batch), who = spread_over_grid(C, plan.tile, prod(plan.threads)), SUBGROUP * gpu.subgroup
    batches = size(A, 2) if A.rank > 2 else 1
    if plan.band:
        row, column = _in_bands(row, column, plan.band, ceil_div(size(C, 1), bn))
    A, B, C = (of_batch(t, batch) for t in (A, B, C))
    a, b = (
        Slabs(t, plan.slab(i), block, plan.copies(i, is_row_major(t)))
        for i, (t, block) in enumerate(((A, row), (B, column)))
    )
    sA, sB = gpu.shared(A, plan.staged(0)), gpu.shared(B, plan.staged(1))
    part_A, part_B = mma.partition_A(plan.unpacked(sA, 0), who), mma.partition_B(plan.unpacked(sB, 1), who)
    part_C = mma.partition_C(local_tile(C, (bm, bn), (row, column)), who)
    frag_A, frag_B = mma.make_fragment_A(part_A(ALL, ALL, 0, 0)), mma.make_fragment_B(part_B(ALL, ALL, 0, 0))
    acc = mma.make_fragment_C(part_C)
    clear(acc)

    def multiply(stage: object) -> None:
        for kk in gpu.unroll(bk // plan.shape[2]):
            copy(part_A(ALL, ALL, kk, stage), frag_A)
            copy(part_B(ALL, ALL, kk, stage), frag_B)
            gemm(frag_A, frag_B, acc)

    first, turns = share_of(ceil_div(size(A, 1), a.tile[1]), plan.splits, batch // batches)
    next_A, next_B = make_fragment_like(a.part(first)), make_fragment_like(b.part(first))
    how = SlabPipeline(plan.stages, plan.splits, ahead=plan.ahead)
    pipelined((a, b), (next_A, next_B), (sA, sB), (first, turns), how, multiply)
    if store is None:
        copy(acc, part_C)
    else:
        _store_blocks(acc, C, plan, (row, column, batch), store)


def _store_blocks(acc: Tensor, C: Tensor, plan: MatrixPlan, place: tuple[Expr, Expr, Expr], store: Store) -> None:
    """Bring the sums to threads through shared memory, which store what C has of them: a block after the other of what
    the subgroups hold side by side."""
    across = is_row_major(C)
    block = plan.block(across)
    rows, columns = block[0].size, block[1].size
    staged = gpu.shared(plan.types[1], block, name="sC")
    target = plan.mma.partition_C(staged, SUBGROUP * gpu.subgroup)
    shares = copy_layout((rows, columns), (1, 4) if across else (4, 1), prod(plan.threads), along_k=across)
    for i, j in product(range(plan.tile[0] // rows), range(plan.tile[1] // columns)):
        copy(acc(ALL, i, j), target(ALL, 0, 0))  # by all: under a condition, a third slower
        gpu.barrier()

        def mine(tensor: Tensor, at: tuple[int, int] = (i, j)) -> Tensor:
            tile = local_tile(of_batch(tensor, place[2]), plan.tile[:2], place[:2])
            return thread_value_partition(local_tile(tile, (rows, columns), at), shares)

        store(thread_value_partition(staged, shares), mine(C), mine)
        gpu.barrier()


def _in_bands(row: Expr, column: Expr, band: int, columns: int) -> tuple[Expr, Expr]:
    """The tile of a workgroup, where those that run together share `band` rows of tiles and few columns."""
    number = row % band * columns + column
    return row // band * band + number % band, number // band


SECOND = 8.0
"""What a second pass takes in microseconds beside its bytes, the memory for the parts included."""
LEAST = 32
"""Rows, columns and k below which tiles of matrices are mostly padding."""
LARGE = MatrixPlan()
WIDE = MatrixPlan((64, 128, 32))
SMALL = MatrixPlan((64, 64, 32))
TINY = MatrixPlan((32, 32, 32), (2, 2))


@dataclass(frozen=True, slots=True)
class Pace:
    """What a turn of a plan takes in microseconds on the GPU that was measured: `wait` for memory and barriers, and
    `work` for each workgroup of those, `most` at a time, that share a processor."""

    plan: MatrixPlan
    wait: float
    work: float
    most: int

    def predicted_us(self, m: int, n: int, k: int, batch: int, splits: int) -> float:
        """How long the product should take: whole rounds of workgroups, the rest of them, and the sum of the splits."""
        bm, bn, bk = self.plan.tile
        groups = ceil_div(m, bm) * ceil_div(n, bn) * batch * splits
        turns = ceil_div(ceil_div(k, bk), splits)
        rounds, rest = divmod(groups, PROCESSORS * self.most)
        took = rounds * (self.wait + self.work * self.most)
        took += self.wait + self.work * ceil_div(rest, PROCESSORS) if rest else 0.0
        second = SECOND + 4 * (2 * splits + 1) * m * n * batch / 4.2e6 if splits > 1 else 0.0
        return START + turns * took + rounds + second


PACES = (Pace(LARGE, 0.53, 0.24, 2), Pace(WIDE, 0.13, 0.26, 3), Pace(SMALL, 0.08, 0.20, 5), Pace(TINY, 0.14, 0.05, 8))
"""Fitted to squares of 512 to 4096 on one NVIDIA H200, 2026-11-22, which were measured with A turned on its way, and
then made shorter by 204/265, TFLOP/s of 4096 with A turned and as it lies.

With A turned, in TFLOP/s, results in f32: at 512 TINY 27, SMALL 25; at 1024 WIDE 101, SMALL with k 64 87; at 2048 LARGE
190, WIDE 145; at 3072 LARGE 166, WIDE 172. As it lies, at 4096: LARGE 265, with k 64 233; 256x128 of 8 subgroups 228.
"""


@lru_cache(maxsize=512)
def choose_matrix_plan(m: int, n: int, k: int, batch: int = 1, types: tuple[str, str] = ("f16", "f32")) -> MatrixPlan:
    """The plan of the least time, by `PACES`.

    >>> choose_matrix_plan(4096, 4096, 4096).tile
    (128, 128, 32)
    """
    best, least = LARGE, float("inf")
    for pace in PACES:
        for splits in (1, 2, 4, 8):
            took = pace.predicted_us(m, n, k, batch, splits)
            if took < least and (splits == 1 or k >= splits * pace.plan.tile[2] * 4):
                best, least = replace(pace.plan, splits=parts_of(k, pace.plan.tile[2], splits)), took
    return replace(best, types=types)


def matrix_plan(place: ExecutionSite, dtype: DType, extents: tuple[int, int, int, int], sums: str) -> MatrixPlan | str:
    """The plan for a product of (m, n, k, batch) in f16, or why there is none here."""
    m, n, k, batch = extents
    if place.device is not None and dtype.name != "f16":
        return f"they multiply f16, not {dtype}"
    types = dtype.name, sums
    shapes = matrix_shapes(place, types)
    if isinstance(shapes, str):
        return shapes
    if LARGE.shape not in shapes:
        return f"{place.device} lists {', '.join(map(str, shapes))} and not {LARGE.shape}, which the plans are of"
    if min(m, n) < LEAST or k < LEAST:
        return f"{m}x{n}x{k} has too little to share among tiles"
    return choose_matrix_plan(m, n, k, batch, types)


@cache
def _most_shared() -> int:
    """Bytes of shared memory that the largest plan takes."""
    return replace(LARGE, columns=(False, False)).shared_bytes


def matrix_shapes(place: ExecutionSite, types: tuple[str, str]) -> list[tuple[int, int, int]] | str:
    """The (m, n, k) of matrices of these types that the device grants, or why there are none."""
    if place.device is None:
        return "the interpreter is asked for, not a device"
    adapter, least = place.device.adapter, _most_shared()
    found = [(s.m, s.n, s.k) for s in place.device.matrices if (s.operand, s.result) == types]
    if not found:
        return adapter.no_matrices or f"{adapter} lists none of {types[0]} with sums in {types[1]}"
    if adapter.limits.workgroup_bytes < least:
        return f"{adapter} has {adapter.limits.workgroup_bytes} bytes of shared memory, the plans need {least}"
    return found
