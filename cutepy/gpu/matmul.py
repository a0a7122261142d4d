"""Matrix product: one kernel over partitioned tensors, and the plans that choose its tiles.

Law: `C[m, n] = sum over k of A[m, k] * B[n, k]`, summed in f32 (in i32 and u32 for those), for any layouts; where a
tile does not divide an extent, loads beyond it give 0 and stores do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, prod
from typing import TYPE_CHECKING

from ..errors import KernelError
from ..layout import Layout, ceil_div, composition, size
from ..layout import _ as ALL
from ..layout.values.int_tuple import leaves
from ..tensor.algorithms import clear, copy, transform
from ..tensor.gemm import gemm
from ..tensor.make import make_fragment_like, make_tensor
from ..tensor.partition import local_tile, thread_value_partition
from ..tensor.tensor import Tensor
from .few_rows import multiply_few_rows, shared_elements
from .ir import Expr
from .ir.stmt import workgroup_bytes
from .operations.operand import modes_of, runs_across
from .slabs import Slabs, Store, copy_block, copy_layout, of_batch, padded_slabs, share_of, spread_over_grid
from .trace import functions
from .trace import language as gpu
from .trace.kernel import kernel

if TYPE_CHECKING:
    from .runtime import Adapter


@dataclass(frozen=True, slots=True)
class Plan:
    """How the matrix product is cut up.

    A workgroup computes `tile = (bm, bn, bk)` slabs with `threads = (tm, tn)` threads; a thread owns rows and columns
    in blocks of 4, spread over the tile. With `(tm, tn, tk)`, tk such groups share out the k of each slab, and their
    sums are added in shared memory in the end. `copies` are the (rows, columns of k) that one thread brings at a time,
    of A and of B; None chooses them by the layouts. The next slab is loaded while one is used; `stages` of them lie in
    shared memory, and with 1 there is a second barrier. `unrolled` writes out k. `lanes` is the block of rows and
    columns in which neighbouring threads stand, for a subgroup to read few different rows and columns; None stands for
    one row, or one column where C has columns. With `repeat_last` the last turn brings its own slab once more, unused,
    instead of none: a loop without a branch. k is summed in `splits` parts, which a second pass adds in their order.

    With `ahead`, for few rows, B goes to the registers of `(1, tn, tk)` threads: each loads as many runs of 4 k of its
    columns before it uses the first, and `bk` is the slab of A.
    """

    tile: tuple[int, int, int] = (64, 64, 16)
    threads: tuple[int, int] | tuple[int, int, int] = (16, 16)
    copies: tuple[tuple[int, int], tuple[int, int]] | None = None
    stages: int = 1
    unrolled: bool = False
    lanes: tuple[int, int] | None = None
    repeat_last: bool = False
    splits: int = 1
    ahead: int = 0

    def __post_init__(self) -> None:
        (bm, bn, bk), (tm, tn, tk) = self.tile, self.along
        numbers = (*self.tile, *self.threads)
        if not all(isinstance(n, int) and n > 0 for n in numbers) or bm % (4 * tm) or bn % (4 * tn):
            raise KernelError(
                f"{self}: tile rows and columns must be multiples of 4 times the threads along them; "
                f"{max(bm, 4 * tm) // (4 * tm) * 4 * tm}x{max(bn, 4 * tn) // (4 * tn) * 4 * tn}x{bk} would do"
            )
        for name, rows, copies in zip("AB", (bm, bn), self.copies or (None, None), strict=True):
            vm, vk = copies or copy_block((rows, bk), tm * tn * tk, along_k=False)
            if rows % vm or bk % vk or (rows * bk) % (vm * vk * tm * tn * tk):
                raise KernelError(
                    f"{self}: {tm * tn * tk} threads with {vm}x{vk} elements each do not share out "
                    f"the {rows}x{bk} tile of {name}"
                )
        if self.ahead and (tm > 1 or bk % (4 * tk) or self.ahead % (bk // (4 * tk))):
            raise KernelError(
                f"{self}: with runs ahead there is 1 thread along the rows, a slab has whole runs of {4 * tk} columns "
                f"of k, and so many runs are whole slabs; {4 * tk} columns would do"
            )
        if self.stages not in (1, 2):
            raise KernelError(f"{self}: stages is 1 or 2")
        if bk % tk:
            raise KernelError(f"{self}: {tk} groups of threads do not share out {bk} columns of k; give a multiple")
        needed, slab = 4 * tm * tn * (tk - 1), padded_slabs(max(bm, bn), bk, self.stages).cosize
        if needed > slab and not self.ahead:
            enough = ceil_div(needed * bk, slab * tk) * tk
            raise KernelError(
                f"{self}: {tk - 1} groups of {tm}x{tn} threads hand on 4 sums each in the memory of a slab; that is "
                f"{needed} elements of {slab}; {enough} columns of k would do, or fewer groups"
            )
        lm, ln = self.lanes or (1, tn)
        if min(lm, ln) < 1 or tm % lm or tn % ln:
            raise KernelError(f"{self}: blocks of {lm}x{ln} threads do not fill {tm}x{tn} threads")

    @property
    def along(self) -> tuple[int, int, int]:
        """Threads along the rows, the columns and k."""
        tm, tn, *tk = self.threads
        return tm, tn, tk[0] if tk else 1

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory for elements of 4 bytes."""
        return 4 * shared_elements(self) if self.ahead else slab_bytes(self.tile, self.stages)


@kernel
def matmul_kernel(A: Tensor, B: Tensor, C: Tensor, *, plan: Plan) -> None:
    """C = A B^T: A (m,k), B (n,k) and C (m,n) in any layouts.

    Of a batch each has one more mode, (m,k,b), (n,k,b) and (m,n,b); for a plan with splits that of C is (b,splits),
    and C the sums of the parts.
    """
    multiply_tiles(A, B, C, plan, store_sums)


def multiply_tiles(A: Tensor, B: Tensor, C: Tensor, plan: Plan, store: Store) -> None:
    """The body of `matmul_kernel`, which stores what `store` makes of the sums."""
    if plan.ahead:
        multiply_few_rows(A, B, C, plan, store)
        return
    (bm, bn, bk), (tm, tn, tk) = plan.tile, plan.along
    (column, row, batch), tid = spread_over_grid(C, plan), gpu.thread()
    batches, apart = size(A, 2) if A.rank > 2 else 1, _apart(C, size(A, 1))
    A, B, C = (of_batch(t, batch) for t in (A, B, C))
    copy_A = copy_layout((bm, bk), plan.copies and plan.copies[0], prod(plan.threads), along_k=runs_across(A))
    copy_B = copy_layout((bn, bk), plan.copies and plan.copies[1], prod(plan.threads), along_k=runs_across(B))
    a, b = Slabs(A, (bm, bk), row, copy_A), Slabs(B, (bn, bk), column, copy_B)
    across = runs_across(C)
    rows, columns = _owned(bm, tm, apart and not across), _owned(bn, tn, apart and across)
    places = _places(replace(plan, lanes=None) if apart else plan, across)
    slice_, tid = tid // (tm * tn), tid % (tm * tn)
    mine = places[0](tid), places[1](tid)
    sA = gpu.shared(A.dtype.accumulator, padded_slabs(bm, bk, plan.stages))  # f16 is converted once, not at every use
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

    slabs = ceil_div(size(A, 1), bk)
    first, turns = share_of(slabs, plan, batch // batches)
    next_A, next_B = make_fragment_like(a.part(first)), make_fragment_like(b.part(first))
    a.load(first, next_A)
    b.load(first, next_B)
    always = plan.repeat_last and not (a.nearest or b.nearest)
    for k in gpu.loop(turns):
        a.store(next_A, sA(ALL, ALL, k % plan.stages), first + k)
        b.store(next_B, sB(ALL, ALL, k % plan.stages), first + k)
        gpu.barrier()  # with two stages one is enough: the slab before the last is not read after the last barrier
        with gpu.when(True if always else k + 1 < turns):
            following = functions.minimum(first + k + 1, slabs - 1) if always or plan.splits > 1 else k + 1
            a.load(following, next_A)
            b.load(following, next_B)
        multiply(k % plan.stages)
        if plan.stages == 1:
            gpu.barrier()
    if tk == 1:
        store(acc, cC, like_C)
        return
    add_slices(acc, max(sA, sB, key=lambda slabs: slabs.layout.cosize), (tid, slice_), plan)
    with gpu.when(slice_ == 0):
        store(acc, cC, like_C)


def add_slices(sums: Tensor, memory: Tensor, who: tuple[Expr, Expr], plan: Plan) -> None:
    """Add what the groups of threads hold, in their order, to the sums of the first group, by way of slabs' memory.

    Each part of a thread's sums lies as vectors of 4, those of neighbouring threads side by side.
    """
    (tm, tn, tk), (tid, slice_) = plan.along, who
    workers, vectors = tm * tn, sums.layout.size // 4
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


def slab_bytes(tile: tuple[int, int, int], stages: int = 1) -> int:
    """Bytes of workgroup memory for slabs of A and B, elements of 4 bytes, at most."""
    bm, bn, bk = tile
    return workgroup_bytes(4 * padded_slabs(rows, bk, stages).cosize for rows in (bm, bn))


def _places(plan: Plan, across: bool) -> tuple[Layout, Layout]:
    """From a thread to its row and to its column among the threads: blocks of lanes, C's near direction first."""
    tm, tn, _ = plan.along
    lm, ln = plan.lanes or ((1, tn) if across else (tm, 1))
    if across:
        shape = ln, lm, tn // ln, tm // lm
        return Layout(shape, (0, 1, 0, lm)), Layout(shape, (1, 0, ln, 0))
    shape = lm, ln, tm // lm, tn // ln
    return Layout(shape, (1, 0, lm, 0)), Layout(shape, (0, 1, 0, ln))


def _owned(extent: int, threads: int, apart: bool) -> Layout:
    """(thread, value) -> place along an axis: blocks of 4, or single places, as far apart as all threads together
    reach."""
    shape = threads, (4, extent // (4 * threads))
    return Layout(shape, (1, (threads, 4 * threads)) if apart else (4, (1, 4 * threads)))


STORING = 256
"""Products a result up to which storing it takes a good part of the time."""


def _apart(C: Tensor, k: int) -> bool:
    """Whether threads own single places, side by side: where no vector of C can be stored, and storing takes long."""
    steps = {abs(step) for mode in modes_of(C) for step in leaves(mode.stride)} - {1}
    return k <= STORING and any(place % 4 for place in (*steps, C.offset))


def _fragment(rows: int, columns: int, across: bool) -> Layout:
    """Accumulators, contiguous in the direction in which C is."""
    shape = ((4, rows // 4), (4, columns // 4))
    return Layout(shape, ((columns, 4 * columns), (1, 4)) if across else ((1, 4), (rows, 4 * rows)))


LARGE = Plan((128, 128, 8), (8, 16), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
MEDIUM = Plan((128, 64, 16), (16, 8), stages=2, unrolled=True, lanes=(8, 4))
SQUARE = Plan((64, 64, 16), (8, 8), stages=2, unrolled=True, lanes=(8, 4))
WIDE = Plan((64, 256, 8), (8, 32), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
SMALL = Plan((32, 32, 32), (4, 8, 4), unrolled=True)
SKINNY = Plan((16, 128, 32), (2, 16, 4), unrolled=True, repeat_last=True)

PROCESSORS, WARPS = 132, 4
"""Of the GPU that was measured, an H200, and the subgroups of 32 threads that one of them runs at a time."""
START, SECOND_START, BYTES = 2.0, 3.0, 2.8e6
"""Microseconds that a launch takes and that of a second pass, and bytes of the sums of splits in a microsecond."""


def second_pass(elements: int, splits: int) -> float:
    """Microseconds of adding up the parts of so many elements."""
    return SECOND_START + 4 * (2 * splits + 1) * elements / BYTES if splits > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Rating:
    """What a plan reaches, in TFLOP/s of the whole GPU, with one subgroup wherever one can run, and with more: of all
    products, or only of those where k is contiguous in B, or is not."""

    plan: Plan
    one: float
    more: float
    along_k: bool | None = None

    def serves(self, m: int, along_k: bool) -> bool:
        """Whether it is for products of so many rows."""
        return self.along_k in (None, along_k) and (m <= 16 or not self.plan.ahead)

    @property
    def together(self) -> int:
        """Workgroups that run at a time."""
        return PROCESSORS * max(1, 32 * WARPS // prod(self.plan.threads))

    def microseconds(self, m: int, n: int, k: int, batch: int, splits: int) -> float:
        """How long the product should take: whole rounds of workgroups, and the second pass of splits."""
        bm, bn, bk = self.plan.tile
        rounds = ceil_div(m, bm) * ceil_div(n, bn) * batch * splits / self.together
        if rounds < 4:  # a processor takes two workgroups at once, where there are more than processors
            rounds = ceil(rounds) if rounds <= 1 else 2 * ceil(rounds / 2)
        turns = ceil_div(ceil_div(k, bk), splits) * bk
        work = 2e-6 * bm * bn * turns * self.together / (self.one if rounds == 1 else self.more)
        return START + rounds * (0.5 + work) + second_pass(m * n * batch, splits)


RATINGS = (
    Rating(LARGE, 41, 47),
    Rating(WIDE, 41, 46),
    Rating(MEDIUM, 38, 40),
    Rating(SQUARE, 37, 37),
    Rating(SMALL, 20, 31),
    Rating(SKINNY, 20, 28, along_k=False),
    Rating(SKINNY, 15, 20, along_k=True),
    Rating(Plan((4, 32, 512), (1, 8, 32), unrolled=True, ahead=4), 7.6, 8, along_k=False),
    Rating(Plan((4, 16, 512), (1, 4, 64), unrolled=True, ahead=2), 5.5, 8.5, along_k=True),
    Rating(Plan((8, 16, 512), (1, 4, 64), unrolled=True, ahead=2), 10, 15.5, along_k=True),
    Rating(Plan((16, 16, 256), (1, 4, 32), unrolled=True, ahead=2), 16, 24.3, along_k=True),
    Rating(Plan((16, 32, 256), (1, 8, 16), unrolled=True, ahead=4), 19, 28, along_k=True),
)


def choose_plan(
    m: int, n: int, k: int, adapter: Adapter | None = None, batch: int = 1, *, along_k: bool = False
) -> Plan:
    """A plan for these extents on this adapter; without one, a plan that every WebGPU device can run.

    `along_k` says that k is contiguous in B.

    A discrete GPU gets the tile and the splits of k that should take the least time, by `RATINGS`.

    >>> choose_plan(4096, 4096, 4096).tile
    (64, 64, 16)
    """
    m, n, k, batch = (max(1, extent) for extent in (m, n, k, batch))
    if adapter is None or adapter.kind != "DiscreteGPU" or adapter.limits.workgroup_bytes < LARGE.shared_bytes:
        plan = Plan() if min(m, n) > 16 else Plan((32, 32, 16), (8, 8))
        groups = ceil_div(m, plan.tile[0]) * ceil_div(n, plan.tile[1]) * batch
        return whole_splits(plan, k, max(1, min(16 // groups, k // 1024)))
    return _fastest(m, n, k, batch, along_k)


@lru_cache(maxsize=512)
def _fastest(m: int, n: int, k: int, batch: int, along_k: bool) -> Plan:
    """The plan of the least time, by `RATINGS`."""
    best, least = Plan(), float("inf")
    for rating in (rating for rating in RATINGS if rating.serves(m, along_k)):
        groups = ceil_div(m, rating.plan.tile[0]) * ceil_div(n, rating.plan.tile[1]) * batch
        for rounds in (0, 1, 2, 3, 4):
            splits = max(1, min(rounds * rating.together // groups, k // 64))
            took = rating.microseconds(m, n, k, batch, splits)
            if took < least:
                best, least = whole_splits(rating.plan, k, splits), took
    return best


def whole_splits(plan: Plan, k: int, splits: int) -> Plan:
    """The plan with at most so many splits of k, none of them empty.

    >>> whole_splits(Plan(), 5 * 16, 4).splits
    3
    """
    return replace(plan, splits=parts_of(k, plan.tile[2], splits))


def parts_of(k: int, depth: int, most: int) -> int:
    """How many parts of whole slabs there are of k, at most so many, none of them empty."""
    slabs = ceil_div(k, depth)
    return ceil_div(slabs, ceil_div(slabs, most))
