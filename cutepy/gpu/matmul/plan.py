"""How a matrix product is cut up: tiles, threads and parts of k, for multiply-adds and for matrices of a subgroup.

Law: a plan that is made is one that its kernel takes, `matmul_kernel` or `matrix_matmul_kernel`; any other is refused
with the field and its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, Literal

from ... import gpu
from ...errors import KernelError, shown
from ...layout import Layout, ceil_div, leaves, size
from ...tensor import Tensor, TiledMMA, as_dtype, make_tiled_mma, subgroup_matrix
from .staging import PADDING, copy_block, copy_layout, holds_matrices, padded_slabs

TWO_WORKGROUPS_BYTES = 24 * 1024
"""Bytes of shared memory of a workgroup that leave room for a second one on a processor of an NVIDIA H200, with the
driver that was measured: at 25 KB and beyond one runs there, and 4096^3 by matrices takes 926 us, not 515."""
SUBGROUP = 32
"""Threads of a subgroup, on the adapters that grant matrices so far."""
Sums = Literal["f32", "f16", "i32", "u32"]
"""The type in which products of f16, i8 or u8 are summed."""


def _numbers(value: object, *counts: int) -> bool:
    """Whether it is a tuple of so many positive whole numbers."""
    return isinstance(value, tuple) and len(value) in counts and all(type(n) is int and n > 0 for n in value)


def _copies(value: Any) -> bool:
    """Whether it is (rows, columns of k) for A and for B."""
    return isinstance(value, tuple) and len(value) == 2 and all(_numbers(copies, 2) for copies in value)


FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tile": (lambda x: _numbers(x, 3), "3 positive whole numbers"),
    "threads": (lambda x: _numbers(x, 2, 3), "2 or 3 positive whole numbers"),
    "copies": (lambda x: x is None or _copies(x), "None, or 2 positive whole numbers for each of A and B"),
    "stages": (lambda x: type(x) is int and x in (1, 2), "1 or 2"),
    "unrolled": (lambda x: type(x) is bool, "True or False"),
    "lanes": (lambda x: x is None or _numbers(x, 2), "None, or 2 positive whole numbers"),
    "repeat_last": (lambda x: type(x) is bool, "True or False"),
    "splits": (lambda x: _numbers((x,), 1), "a positive whole number"),
    "ahead": (lambda x: (type(x) is int and x == 0) or _numbers((x,), 1), "0, or a positive whole number"),
}
"""Of each field of a plan: whether a value is one that it takes, and what it takes, in words."""


@gpu.static_type
@dataclass(frozen=True, slots=True)
class Plan:
    """How a product is cut up that fused multiply-adds compute.

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

    >>> plan = Plan((64, 32, 16), (16, 8))
    >>> plan.threads_mnk, plan.owned, plan.shared_bytes, plan.ahead
    ((16, 8, 1), (4, 4), 6624, 0)
    >>> few = Plan((4, 64, 64), (1, 16, 16), ahead=4)
    >>> few.rows_at_once, few.elements_ahead, few.shared_bytes
    (4, 4160, 16640)

    >>> plan.label
    '   64x32x16 by  16x8,    1 splits'
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

    @property
    def label(self) -> str:
        """The plan in a line of a list."""
        tile, threads = ("x".join(map(str, part)) for part in (self.tile, self.threads))
        return f"{tile:>11} by {threads:>5}, {self.splits:>4} splits"

    def __post_init__(self) -> None:
        for field, (fits, what) in FIELDS.items():
            if not fits(getattr(self, field)):
                raise KernelError(f"{shown(self)}: {field} is {shown(getattr(self, field))}; it takes {what}")
        (bm, bn, bk), (tm, tn, tk) = self.tile, self.threads_mnk
        # A thread owns blocks of 4 rows by 4 columns; with runs ahead all rows, and any number of columns.
        step_m, step_n = (1, tn) if self.ahead else (4 * tm, 4 * tn)
        if bm % step_m or bn % step_n:
            raise KernelError(
                f"{self}: tile rows and columns must be multiples of 4 times the threads along them; "
                f"{max(bm, step_m) // step_m * step_m}x{max(bn, step_n) // step_n * step_n}x{bk} would do"
            )
        # The threads share out the slabs of A and B evenly.
        for name, rows, copies in zip("AB", (bm, bn), self.copies or (None, None), strict=True):
            vm, vk = copies or copy_block((rows, bk), tm * tn * tk, along_k=False)
            if rows % vm or bk % vk or (rows * bk) % (vm * vk * tm * tn * tk):
                raise KernelError(
                    f"{self}: {tm * tn * tk} threads with {vm}x{vk} elements each do not share out "
                    f"the {rows}x{bk} tile of {name}"
                )
        # B in registers: whole runs of 4 k for each of the threads along k, and whole slabs of A for the runs ahead.
        if self.ahead and (tm > 1 or bk % (4 * tk) or self.ahead % (bk // (4 * tk))):
            raise KernelError(
                f"{self}: with runs ahead there is 1 thread along the rows, a slab has whole runs of {4 * tk} columns "
                f"of k, and so many runs are whole slabs; {4 * tk} columns would do"
            )
        # Threads along k: each has its part of a slab, and in the end hands 4 sums on, in the memory of the slabs.
        if bk % tk:
            raise KernelError(f"{self}: {tk} groups of threads do not share out {bk} columns of k; give a multiple")
        needed, slab = 4 * tm * tn * (tk - 1), padded_slabs(max(bm, bn), bk, self.stages).cosize
        if needed > slab and not self.ahead:
            enough = ceil_div(needed * bk, slab * tk) * tk
            raise KernelError(
                f"{self}: {tk - 1} groups of {tm}x{tn} threads hand on 4 sums each in the memory of a slab; that is "
                f"{needed} elements of {slab}; {enough} columns of k would do, or fewer groups"
            )
        # Blocks of neighbouring threads tile the threads.
        lm, ln = self.lanes or (1, tn)
        if tm % lm or tn % ln:
            raise KernelError(f"{self}: blocks of {lm}x{ln} threads do not fill {tm}x{tn} threads")

    @property
    def threads_mnk(self) -> tuple[int, int, int]:
        """Threads along the rows of a tile, its columns and k."""
        tm, tn, *tk = self.threads
        return tm, tn, tk[0] if tk else 1

    @property
    def owned(self) -> tuple[int, int]:
        """Rows and columns of a tile whose sums a thread holds."""
        (bm, bn, _), (tm, tn, _) = self.tile, self.threads_mnk
        return bm // tm, bn // tn

    @property
    def stores_apart(self) -> bool:
        """Whether a thread owns single columns where k is short and no vectors are stored: of more sums than 8 x 4.

        >>> Plan((128, 128, 8), (16, 16)).stores_apart, Plan((32, 32, 32), (8, 8)).stores_apart
        (True, False)
        """
        return prod(self.owned) > 32 and not self.ahead

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory for elements of 4 bytes."""
        return 4 * self.elements_ahead if self.ahead else slab_bytes(self.tile, self.stages)

    @property
    def rows_at_once(self) -> int:
        """With `ahead`: of how many rows the sums of all threads along k lie in shared memory at once: all, a half, a
        quarter ... of the tile's, so that two workgroups run on a processor; at least 1."""
        (bm, bn, bk), tk = self.tile, self.threads_mnk[2]
        room = max(bm * (bk + PADDING), TWO_WORKGROUPS_BYTES // 4)
        halves = (bm >> n for n in range(bm.bit_length()))
        return next((rows for rows in halves if tk * (rows * bn + PADDING) <= room), 1)

    @property
    def elements_ahead(self) -> int:
        """With `ahead`: elements of 4 bytes of shared memory, which holds a slab of A, then sums of some rows."""
        (bm, bn, bk), tk = self.tile, self.threads_mnk[2]
        return max(bm * (bk + PADDING), tk * (self.rows_at_once * bn + PADDING))


def slab_bytes(tile: tuple[int, int, int], stages: int = 1) -> int:
    """Bytes of workgroup memory for slabs of A and B, elements of 4 bytes, at most."""
    bm, bn, bk = tile
    return gpu.workgroup_bytes(4 * padded_slabs(rows, bk, stages).cosize for rows in (bm, bn))


def whole_splits(plan: Plan, k: int, splits: int) -> Plan:
    """The plan with at most so many splits of k, none of them empty.

    >>> whole_splits(Plan(), 5 * 16, 4).splits
    3
    """
    return in_parts(plan, parts_of(k, plan.tile[2], splits))


@lru_cache(maxsize=512)
def in_parts(plan: Plan, splits: int) -> Plan:
    """The plan with k in so many parts: it is checked once, not for each product."""
    return plan if plan.splits == splits else replace(plan, splits=splits)


def parts_of(k: int, depth: int, most: int) -> int:
    """How many parts of whole slabs there are of k, at most so many, none of them empty."""
    slabs = -(-k // depth)
    return -(-slabs // -(-slabs // most))


@gpu.static_type
@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """How a product is cut up that matrices of a subgroup (tensor cores) compute.

    A workgroup has `subgroups` (along rows, along columns), which share a tile of (rows, columns, k); each multiplies
    matrices of `shape` (m, n, k) with elements and sums in `types`.

    Slabs of A and B are staged in shared memory, `stages` of them, `padding` elements between two columns or rows: k is
    contiguous there, or with `columns` (of A, of B) the rows are. The order in which an operand lies in memory is best;
    the default is that of two arrays in NumPy's order. The next slab is brought to registers while one is used, if
    `ahead`; `in_order` keeps a driver from loading it later (`gpu.in_order`). An operand that is transposed on its way
    goes by blocks of 4 x 4, `lanes` (along k, across it) of them side by side in neighbouring threads, where these
    share it out: 2 and 8 meet no bank twice at a padding of 8. `band` rows of tiles are worked through together (0:
    all). k is summed in `splits` parts, which a second pass adds in order.

    >>> plan = MatrixPlan((64, 64, 32))
    >>> plan.threads, plan.subgroups, plan.mma.tile, plan.packed, plan.slab(0), str(plan.staged(0))
    ((64, 2), (2, 2), (32, 32, 16), 1, (64, 32), '(64,32,1):(40,1,2560)')
    >>> str(plan.copies(0, along_k=True)), str(plan.block(across=True))
    ('((8,16),(4,4,1,1)):((256,4),(1,64,64,2048))', '(32,32):(40,1)')
    >>> plan.slab_bytes, plan.shared_bytes
    (9696, 14784)
    >>> plan.description
    'matrices of a subgroup, f16 with sums in f32, 16x16x16, tiles of 64x64x32'
    >>> from cutepy.tensor import make_tensor
    >>> plan.unpacked(make_tensor("f16", plan.staged(0)), 0).shape, plan.stores(make_tensor("f32", (64, 64)))
    ((64, 32, 1), True)
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
    in_order: bool = True

    def __post_init__(self) -> None:
        for name, count in (("tile", 3), ("subgroups", 2), ("shape", 3)):
            if not _numbers(getattr(self, name), count):
                given = shown(getattr(self, name))
                raise KernelError(f"MatrixPlan: {name} is {given}; give {count} whole numbers from 1")
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
        """Rows and columns of k of a slab of A (0) or B (1), counted in the numbers that memory holds: packed elements
        are neighbours along what is contiguous in shared memory."""
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
        """(thread, value) -> index in a slab of A (0) or B (1) that lies `along_k` in memory, or along its rows: which
        elements a thread brings to shared memory."""
        tile, threads = self.slab(operand), prod(self.threads)
        # Blocks of 4 x 4: near_k by near_m of them belong to neighbouring threads, far_k by far_m such groups follow.
        (rows, depth), (near_k, near_m) = tile, self.lanes or (1, 1)
        far_k = max(1, depth // (4 * near_k))
        far_m = max(1, threads // (near_k * near_m * far_k))
        shared = near_k * near_m * far_k * far_m == threads and depth == 4 * near_k * far_k
        # Only what is transposed (along k in memory, along the rows in shared memory) goes by blocks.
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
        """Bytes of shared memory, with a block of sums, which is staged where C takes no matrices as they are."""
        return gpu.workgroup_bytes([self.slab_bytes, self.block(True).cosize * as_dtype(self.types[1]).bytes])

    def block(self, across: bool) -> Layout:
        """The layout in shared memory of a block of sums, (rows, columns) of what the subgroups compute side by side;
        row by row with `across`. Padded where `TWO_WORKGROUPS_BYTES` allows it: then storing matrices has no conflicts.
        """
        rows, columns, _ = self.mma.tile
        near, far = (columns, rows) if across else (rows, columns)
        fits = self.slab_bytes + far * (near + 8) * as_dtype(self.types[1]).bytes <= TWO_WORKGROUPS_BYTES
        pitch = near + 8 if fits else near
        return Layout((rows, columns), (pitch, 1) if across else (1, pitch))

    def stores(self, C: Tensor) -> bool:
        """Whether C takes matrices as they are: whole tiles in the type of the sums, of rows or columns of neighbours,
        each at a multiple of 16 bytes."""
        if C.dtype is not as_dtype(self.types[1]) or size(C, 0) % self.tile[0] or size(C, 1) % self.tile[1]:
            return False
        return holds_matrices(C)
