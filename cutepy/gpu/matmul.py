"""Matrix product: one kernel over partitioned tensors, and the plans that choose its tiles.

Law: `C[m, n] = sum over k of A[m, k] * B[n, k]`, summed in f32 (in i32 and u32 for those), for any layouts; where a
tile does not divide an extent, loads beyond it give 0 and stores do nothing. Types and shapes are those of `ops.rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import KernelError
from ..layout import Layout, ceil_div, composition, select, size
from ..layout import _ as ALL
from ..layout.algebra.rearrange import joined
from ..ops.rules import Shape, matmul_shapes, result_type
from ..tensor.algorithms import clear, copy, fill
from ..tensor.bulk import mode_sizes
from ..tensor.dtypes import bool_, u32
from ..tensor.gemm import gemm
from ..tensor.make import make_fragment_like, make_tensor
from ..tensor.partition import local_tile, thread_value_partition
from ..tensor.tensor import Tensor
from .array import DeviceEngine
from .ir import Expr
from .ir.stmt import workgroup_bytes
from .operations.operand import broadcast, modes_of, over, place_of, steps_of, tensor_of
from .operations.pointwise import converted, pointwise
from .trace import language as gpu
from .trace.functions import minimum
from .trace.kernel import kernel

if TYPE_CHECKING:
    from .runtime import Adapter


PADDING = 4
"""Elements between two columns of a slab in shared memory: threads that write along k meet different banks."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the matrix product is cut up.

    A workgroup computes `tile = (bm, bn, bk)` slabs with `threads = (tm, tn)` threads; a thread owns rows and columns
    in blocks of 4, spread over the tile. `copies` are the (rows, columns of k) that one thread brings at a time, of A
    and of B; None chooses them by the layouts. `stages` slabs of shared memory: with 2, the next is loaded while one
    is used. `unrolled` writes out k. `lanes` is the block of rows and columns in which neighbouring threads stand, for
    a subgroup to read few different rows and columns; None stands for one row, or one column where C has columns.
    With `repeat_last` the last turn brings its own slab once more, unused, instead of none: a loop without a branch.
    """

    tile: tuple[int, int, int] = (64, 64, 16)
    threads: tuple[int, int] = (16, 16)
    copies: tuple[tuple[int, int], tuple[int, int]] | None = None
    stages: int = 1
    unrolled: bool = False
    lanes: tuple[int, int] | None = None
    repeat_last: bool = False

    def __post_init__(self) -> None:
        (bm, bn, bk), (tm, tn) = self.tile, self.threads
        numbers = (*self.tile, *self.threads)
        if not all(isinstance(n, int) and n > 0 for n in numbers) or bm % (4 * tm) or bn % (4 * tn):
            raise KernelError(
                f"{self}: tile rows and columns must be multiples of 4 times the threads along them; "
                f"{max(bm, 4 * tm) // (4 * tm) * 4 * tm}x{max(bn, 4 * tn) // (4 * tn) * 4 * tn}x{bk} would do"
            )
        for name, rows, copies in zip("AB", (bm, bn), self.copies or (None, None), strict=True):
            vm, vk = copies or copy_block((rows, bk), tm * tn, along_k=False)
            if rows % vm or bk % vk or (rows * bk) % (vm * vk * tm * tn):
                raise KernelError(
                    f"{self}: {tm * tn} threads with {vm}x{vk} elements each do not share out "
                    f"the {rows}x{bk} tile of {name}"
                )
        if self.stages not in (1, 2):
            raise KernelError(f"{self}: stages is 1 or 2")
        lm, ln = self.lanes or (1, tn)
        if min(lm, ln) < 1 or tm % lm or tn % ln:
            raise KernelError(f"{self}: blocks of {lm}x{ln} threads do not fill {tm}x{tn} threads")

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory for elements of 4 bytes."""
        return slab_bytes(self.tile, self.stages)


@kernel
def matmul_kernel(A: Tensor, B: Tensor, C: Tensor, *, plan: Plan) -> None:
    """C = A B^T: A (m,k), B (n,k) and C (m,n) in any layouts."""
    (bm, bn, bk), (tm, tn) = plan.tile, plan.threads
    gpu.launch(grid=(ceil_div(size(C, 1), bn), ceil_div(size(C, 0), bm)), threads=tm * tn)
    row, column, tid = gpu.workgroup.y, gpu.workgroup.x, gpu.thread()

    gA = local_tile(A, (bm, bk), (row, ALL))
    gB = local_tile(B, (bn, bk), (column, ALL))
    gC = local_tile(C, (bm, bn), (row, column))
    sA = gpu.shared(A.dtype.accumulator, _staged(bm, bk, plan.stages))  # f16 is converted once, not at every use
    sB = gpu.shared(B.dtype.accumulator, _staged(bn, bk, plan.stages))

    given = plan.copies or (None, None)
    copy_A = copy_layout((bm, bk), given[0], tm * tn, along_k=_across(A))
    copy_B = copy_layout((bn, bk), given[1], tm * tn, along_k=_across(B))
    rows, columns = _owned(bm, tm), _owned(bn, tn)
    across = _across(C)
    mine = _place(tid, plan, across)
    cC = composition(gC, (rows, columns))[(mine[0], ALL), (mine[1], ALL)]
    acc = make_tensor(C.dtype.accumulator, _fragment(bm // tm, bn // tn, across))
    gpu.note(copy_A=copy_A, copy_B=copy_B, rows=rows, columns=columns, acc=acc.layout)
    clear(acc)

    def multiply(stage: object) -> None:
        for kk in gpu.unroll(bk) if plan.unrolled else gpu.loop(bk):
            a = thread_value_partition(sA(ALL, kk, stage), rows, mine[0])
            b = thread_value_partition(sB(ALL, kk, stage), columns, mine[1])
            gemm(a, b, acc)

    def parts(A: Tensor, B: Tensor, k: object) -> tuple[Tensor, Tensor]:
        """What this thread moves of slab (or stage) k of both operands."""
        return (
            thread_value_partition(A(ALL, ALL, k), copy_A, tid),
            thread_value_partition(B(ALL, ALL, k), copy_B, tid),
        )

    slabs = size(gA, 2)
    if plan.stages == 1:
        for k in gpu.loop(slabs):
            _copy_both(parts(gA, gB, k), parts(sA, sB, 0))
            gpu.barrier()
            multiply(0)
            gpu.barrier()
    else:
        first_A, first_B = parts(gA, gB, 0)
        next_A = make_fragment_like(first_A)
        next_B = make_fragment_like(first_B)
        _copy_both((first_A, first_B), (next_A, next_B))
        for k in gpu.loop(slabs):
            _copy_both((next_A, next_B), parts(sA, sB, k % 2))
            gpu.barrier()  # one is enough: the slab before the last is not read after the barrier of the last
            if plan.repeat_last:
                _copy_both(parts(gA, gB, minimum(k + 1, slabs - 1)), (next_A, next_B))
            else:
                with gpu.when(k + 1 < slabs):
                    _copy_both(parts(gA, gB, k + 1), (next_A, next_B))
            multiply(k % 2)
    copy(acc, cC)


def _copy_both(sources: tuple[Tensor, Tensor], targets: tuple[Tensor, Tensor]) -> None:
    for source, target in zip(sources, targets, strict=True):
        copy(source, target)


def _staged(rows: int, bk: int, stages: int) -> Layout:
    """Shared memory for `stages` slabs: rows contiguous, padding between two values of k."""
    pitch = rows + PADDING
    return Layout((rows, bk, stages), (1, pitch, pitch * bk))


def slab_bytes(tile: tuple[int, int, int], stages: int = 1) -> int:
    """Bytes of workgroup memory for slabs of A and B, elements of 4 bytes."""
    bm, bn, bk = tile
    return workgroup_bytes(4 * _staged(rows, bk, stages).cosize for rows in (bm, bn))


def _place(tid: Expr, plan: Plan, across: bool) -> tuple[Expr, Expr]:
    """Row and column of a thread among the threads: blocks of lanes, in each of them C's contiguous direction first."""
    tm, tn = plan.threads
    lm, ln = plan.lanes or ((1, tn) if across else (tm, 1))
    lane, block = tid % (lm * ln), tid // (lm * ln)
    if across:
        return block // (tn // ln) * lm + lane // ln, block % (tn // ln) * ln + lane % ln
    return block % (tm // lm) * lm + lane % lm, block // (tm // lm) * ln + lane // lm


def copy_block(tile: tuple[int, int], threads: int, *, along_k: bool) -> tuple[int, int]:
    """The rows and columns of k that a thread brings at a time: 4 rows, which shared memory takes as one vector, and
    as many columns as its share has and one vector reads where k is contiguous.

    >>> copy_block((128, 8), 128, along_k=True), copy_block((128, 8), 128, along_k=False)
    ((4, 2), (4, 1))
    """
    rows, bk = tile
    share = rows * bk // threads
    vm = gcd(4, rows, share)
    return vm, gcd(4, bk, share // vm) if along_k else 1


def copy_layout(tile: tuple[int, int], block: tuple[int, int] | None, threads: int, *, along_k: bool) -> Layout:
    """(thread, value) -> index in the tile: blocks of `block` elements (None: `copy_block` chooses), neighbouring
    threads along k or along the rows.

    >>> str(copy_layout((8, 4), (4, 1), 8, along_k=True))
    '((4,2),(4,1,1,1)):((8,4),(1,8,8,32))'
    """
    rows, bk = tile
    vm, vk = block or copy_block(tile, threads, along_k=along_k)
    if along_k:
        tk = gcd(threads, bk // vk)
        tm = threads // tk
        shape, stride = (tk, tm), (vk * rows, vm)
    else:
        tm = gcd(threads, rows // vm)
        tk = threads // tm
        shape, stride = (tm, tk), (vm, vk * rows)
    if rows % (tm * vm) or bk % (tk * vk):
        raise KernelError(
            f"{threads} threads with blocks {block} do not share out a tile {tile}; change the plan's copies"
        )
    repeats = rows // (tm * vm), bk // (tk * vk)
    return Layout((shape, (vm, vk, *repeats)), (stride, (1, rows, tm * vm, tk * vk * rows)))


def _owned(extent: int, threads: int) -> Layout:
    """(thread, value) -> place along an axis: blocks of 4, as far apart as all threads together reach."""
    return Layout((threads, (4, extent // (4 * threads))), (4, (1, 4 * threads)))


def _fragment(rows: int, columns: int, across: bool) -> Layout:
    """Accumulators, contiguous in the direction in which C is."""
    shape = ((4, rows // 4), (4, columns // 4))
    return Layout(shape, ((columns, 4 * columns), (1, 4)) if across else ((1, 4), (rows, 4 * rows)))


def _across(tensor: Tensor) -> bool:
    """Whether neighbours along mode 1 are at least as near in memory as those along mode 0."""
    along_0, along_1 = steps_of(tensor)
    return along_0 >= along_1


LARGE = Plan((128, 128, 8), (8, 16), stages=2, unrolled=True, lanes=(8, 4), repeat_last=True)
MEDIUM = Plan((128, 64, 16), (16, 8), stages=2, unrolled=True, lanes=(8, 4))
SMALL = Plan((32, 32, 16), (8, 8), stages=2, unrolled=True, lanes=(8, 4))


def choose_plan(m: int, n: int, k: int, adapter: Adapter | None = None) -> Plan:
    """A plan for these extents on this adapter; without one, a plan that every WebGPU device can run.

    A discrete GPU gets the largest tile of which there are enough to fill it: measured on an H200, `bench/gpu.py`.

    >>> choose_plan(4096, 4096, 4096).tile
    (64, 64, 16)
    """
    if min(m, n) <= 16:
        return Plan((32, 32, 16), (8, 8))
    if adapter is None or adapter.kind != "DiscreteGPU" or adapter.limits.workgroup_bytes < LARGE.shared_bytes:
        return Plan()
    for plan, enough in ((LARGE, 192), (MEDIUM, 96)):
        if -(-m // plan.tile[0]) * -(-n // plan.tile[1]) >= enough:
            return plan
    return SMALL


def matmul(A: object, B: object, C: Tensor | None = None, *, plan: Plan | None = None, engine: str = "wgpu") -> Tensor:
    """The matrix product `A @ B` by the rules of `ops.matmul`: A (..., m, k) and B (..., k, n) or vectors, into `C` or
    a new tensor, on the device of the operands or, of arrays, on the host.

    `engine` is "wgpu" (the device of the tensors, or the default one) or "numpy" (the interpreter). Each product of a
    batch is a launch of its own.

    >>> matmul(np.float32([[1, 2], [3, 4]]), np.float32([[1, 0], [1, 1]]), engine="numpy").numpy().tolist()
    [[3.0, 2.0], [7.0, 4.0]]

    Raises TensorError for shapes and types that do not meet, KernelError for a `C` that does not fit.
    """
    a, b = (tensor_of("matmul", x) for x in (A, B))
    batch, m, n, k = matmul_shapes(mode_sizes(a), mode_sizes(b))
    dtype = result_type("matmul", a.dtype, b.dtype)
    shape = (*batch, *m, *n)
    if C is not None and (mode_sizes(C) != shape or C.dtype is not dtype):
        raise KernelError(f"matmul({a}, {b}, {C}): C must be {dtype} of shape {shape}")
    place = place_of("matmul", engine, [t for t in (a, b, C) if t is not None])
    working = u32 if dtype is bool_ else dtype
    a, b = (t if t.dtype.kind == working.kind else converted(t, working.accumulator, engine=engine) for t in (a, b))
    stays = any(isinstance(t.engine, DeviceEngine) for t in (a, b)) or bool(batch)
    c = C
    if c is None or working is not dtype:
        c = place.zeros(shape, working) if stays else make_tensor(np.zeros(shape, working.numpy))
    if c.size and k:
        if batch:
            a, b = place.bring(a), place.bring(b)
        for operands in products(a, b, c, batch):
            adapter = None if place.device is None else place.device.adapter
            place.run(matmul_kernel, *operands, plan=plan or choose_plan(prod(m), prod(n), k, adapter))
    elif c.size:
        fill(c, 0)
    if working is not dtype:
        return pointwise("x != 0")(c, out=C, engine=engine)
    return c


def products(a: Tensor, b: Tensor, c: Tensor, batch: Shape = ()) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """What the kernel takes for each product, A (m, k), B (n, k) and C (m, n): vectors have one row, or one column."""
    one = Layout(1, 0)
    left, right, out = modes_of(a), modes_of(b), modes_of(c)
    if len(left) == 1:
        left, out = [one, *left], [*out[: len(batch)], one, *out[len(batch) :]]
    if len(right) == 1:
        right, out = [*right, one], [*out, one]
    left_sizes, right_sizes = (tuple(mode.size for mode in modes[-2:]) for modes in (left, right))
    stretched = [
        broadcast(over(a, joined(left)), (*batch, *left_sizes)),
        broadcast(over(b, joined(right)), (*batch, *right_sizes)),
        over(c, joined(out)),
    ]
    for place in np.ndindex(*batch):
        A, B, C = (t[(*place, ALL, ALL)] if batch else t for t in stretched)
        yield A, select(B, 1, 0), C
