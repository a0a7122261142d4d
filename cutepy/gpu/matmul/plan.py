"""How a matrix product is cut up: tiles, threads and parts of k.

Law: a plan that is made is one that `matmul_kernel` takes; any other is refused with the field and its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ... import gpu
from ...errors import KernelError
from ...layout import ceil_div
from .staging import PADDING, copy_block, padded_slabs

ROOM = 6144
"""Elements of shared memory that leave room for two workgroups on a processor of an H200."""


def _numbers(value: object, *counts: int) -> bool:
    """Whether it is a tuple of so many positive whole numbers."""
    return isinstance(value, tuple) and len(value) in counts and all(type(n) is int and n > 0 for n in value)


def _copies(value: Any) -> bool:
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
"""What each field of a plan may be."""


@gpu.static_type
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
        for field, (fits, what) in FIELDS.items():
            if not fits(getattr(self, field)):
                raise KernelError(f"{self}: {field} is {getattr(self, field)!r}; it takes {what}")
        (bm, bn, bk), (tm, tn, tk) = self.tile, self.along
        if bm % (4 * tm) or bn % (4 * tn):
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
        if tm % lm or tn % ln:
            raise KernelError(f"{self}: blocks of {lm}x{ln} threads do not fill {tm}x{tn} threads")

    @property
    def along(self) -> tuple[int, int, int]:
        """Threads along the rows, the columns and k."""
        tm, tn, *tk = self.threads
        return tm, tn, tk[0] if tk else 1

    @property
    def owned(self) -> tuple[int, int]:
        """Rows and columns of a tile whose sums a thread holds."""
        (bm, bn, _), (tm, tn, _) = self.tile, self.along
        return bm // tm, bn // tn

    @property
    def shared_bytes(self) -> int:
        """Bytes of workgroup memory for elements of 4 bytes."""
        return 4 * self.elements_ahead if self.ahead else slab_bytes(self.tile, self.stages)

    @property
    def rows_at_once(self) -> int:
        """With `ahead`: the rows of which the sums of all threads lie in shared memory at once."""
        (bm, bn, bk), tk = self.tile, self.along[2]
        room = max(bm * (bk + PADDING), ROOM)
        halves = (bm >> n for n in range(bm.bit_length()))
        return next((rows for rows in halves if tk * (rows * bn + PADDING) <= room), 1)

    @property
    def elements_ahead(self) -> int:
        """With `ahead`: elements of shared memory, for a slab of A or the sums of some rows."""
        (bm, bn, bk), tk = self.tile, self.along[2]
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
    return replace(plan, splits=parts_of(k, plan.tile[2], splits))


def parts_of(k: int, depth: int, most: int) -> int:
    """How many parts of whole slabs there are of k, at most so many, none of them empty."""
    slabs = ceil_div(k, depth)
    return ceil_div(slabs, ceil_div(slabs, most))
