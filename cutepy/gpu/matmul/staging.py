"""How the threads of a workgroup bring slabs of an operand to shared memory, also at the edges of the operand.

Law: after `load` and `store` the staged slab has the elements of the operand that are there, and zeros beyond its k.
Products by matrices have operands of whole tiles: `of_whole_tiles(t)` has the elements of `t`, and zeros beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import TypeAlias

from ... import gpu
from ...errors import KernelError
from ...layout import Layout, ceil_div, composition, from_modes, leaves, size
from ...layout import _ as ALL
from ...tensor import (
    DType,
    Tensor,
    copy,
    is_row_major,
    least_strides,
    local_tile,
    make_counting_tensor,
    mode_layouts,
    mode_sizes,
    thread_value_partition,
    transform,
    u32,
    with_layout,
)
from .. import Expr, Limits
from ..operations.copies import copy as copy_elements
from ..operations.copies import filled
from ..operations.domain import known
from ..operations.operand import ExecutionSite


def copy_block(tile: tuple[int, int], threads: int, *, along_k: bool) -> tuple[int, int]:
    """The rows and columns of k that a thread brings at a time: 4 rows, which shared memory takes as one vector, and
    as many columns as its share has and one vector reads where k is contiguous.

    >>> copy_block((128, 8), 128, along_k=True), copy_block((128, 8), 128, along_k=False)
    ((4, 2), (4, 1))
    """
    rows, bk = tile
    share = rows * bk // threads  # elements of a thread
    vm = gcd(4, rows, share)
    return vm, gcd(4, bk, share // vm) if along_k else 1


def copy_layout(tile: tuple[int, int], block: tuple[int, int] | None, threads: int, *, along_k: bool) -> Layout:
    """(thread, value) -> index in the tile (rows, columns of k), rows fastest: blocks of `block` (rows, columns) for a
    thread (None: `copy_block` chooses), neighbouring threads along k or along the rows.

    A value is (row and column in a block, repeats along the rows, repeats along k). Raises KernelError where the
    threads do not share out the tile.

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


PADDING = 4
"""Elements of 4 bytes between two columns of a padded slab: threads that write along k meet different banks."""


def padded_slabs(rows: int, bk: int, stages: int) -> Layout:
    """The layout of `stages` slabs in shared memory, (rows, k, stage): rows contiguous, padding between two columns.

    The padding stays where rows without it are as free of conflicts: without it products took up to 4 % longer on an
    NVIDIA H200.
    """
    pitch = rows + PADDING
    return Layout((rows, bk, stages), (1, pitch, pitch * bk))


@dataclass(frozen=True, slots=True)
class Slabs:
    """What a thread brings of an operand (rows, k): slabs of `tile`, the `block`-th along the rows, by the layout
    `copies` of (thread, value).

    Where tiles do not divide an operand, what is not there is read from the nearest place that is, so that no load
    waits for a predicate: of such rows nothing is stored in the end, and such columns are 0 in shared memory.
    """

    source: Tensor
    tile: tuple[int, int]
    block: Expr
    copies: Layout

    def part(self, slab: Expr | int) -> Tensor:
        """What the thread brings of a slab, guarded where tiles do not divide the operand."""
        tiles = local_tile(self.source, self.tile, (self.block, ALL))
        return thread_value_partition(tiles(ALL, ALL, slab), self.copies)

    def target(self, staged: Tensor) -> Tensor:
        """The places in a slab of shared memory, (rows, k), to which the thread brings its elements."""
        return thread_value_partition(staged, self.copies)

    @property
    def nearest(self) -> bool:
        """Whether loads beyond the operand are moved to its last elements; a swizzled operand keeps its predicates."""
        uneven = any(not known(size(self.source, mode) % self.tile[mode] == 0) for mode in (0, 1))
        return uneven and isinstance(self.source.layout, Layout)

    def load(self, slab: Expr | int, registers: Tensor) -> None:
        """Bring a slab to the registers."""
        if not self.nearest:
            copy(self.part(slab), registers)
            return
        # Block by block: its first row and column of the operand, counted in the vectors that a block has along each.
        (rows, depth), (vm, vk, *repeats) = self.tile, leaves(self.copies[1].shape)
        for i, j in product(*map(range, repeats)):
            at = self.copies(0, (0, 0, i, j))
            row = self.block * (rows // vm) + self.unit(0, vm) + at % rows // vm
            column = slab * (depth // vk) + self.unit(1, vk) + at // rows // vk
            for (x, wide, r), (y, deep, c) in product(self._inside(0, row, vm), self._inside(1, column, vk)):
                block = local_tile(self.source, (wide, deep), (r, c))
                copy(block, _block_of(registers, (x, y, i, j), (wide, deep)))

    def store(self, registers: Tensor, staged: Tensor, slab: Expr | int) -> None:
        """Bring the registers, which hold slab `slab`, to its place in shared memory, (rows, k)."""
        self.keep(registers, self.target(staged), slab)

    def keep(self, registers: Tensor, target: Tensor, slab: Expr | int) -> None:
        """Bring the registers, which hold slab `slab`, to the values of `target`, with 0 beyond the operand's k."""
        (rows, depth), extent = self.tile, size(self.source, 1)
        if not self.nearest or known(extent % depth == 0):
            copy(registers, target)
            return
        columns = self.target(make_counting_tensor(Layout((rows, depth), (0, 1)), dtype=u32))

        def kept(value: Expr, column: Expr) -> Expr:
            found: Expr = gpu.select(slab * depth + column < extent, gpu.cast(value, target.dtype), 0)
            return found

        transform(registers, columns, target, op=kept)

    def unit(self, mode: int, width: int) -> Expr:
        """The thread's first vector of `width` elements along the rows (mode 0) or k (mode 1) of a tile."""
        rows, shape, stride = self.tile[0], leaves(self.copies[0].shape), leaves(self.copies[0].stride)
        steps = [step // rows if mode else step % rows for step in stride]
        return from_modes(shape, [step // width for step in steps])(gpu.thread)

    def _inside(self, mode: int, unit: Expr, width: int) -> list[tuple[int, int, Expr]]:
        """Vector number `unit` along a mode of the operand, moved inside it, as pieces (first element of the vector,
        how many, number of the piece in the operand): one piece, or single elements where vectors do not divide the
        extent."""
        extent = size(self.source, mode)
        if mode == 1 and known(extent % self.tile[mode] == 0):  # of whole slabs each is inside
            return [(0, width, unit)]
        if known(extent % width == 0):
            return [(0, width, gpu.minimum(unit, extent // width - 1))]
        return [(first, 1, gpu.minimum(unit * width + first, extent - 1)) for first in range(width)]


def _block_of(registers: Tensor, at: tuple[int, int, int, int], shape: tuple[int, int]) -> Tensor:
    """A block of `shape` from `at` on of the registers (rows, k, repeats along the rows, repeats along k)."""
    steps = leaves(registers.stride)
    place = sum(step * index for step, index in zip(steps, at, strict=True))
    return Tensor(registers.engine, Layout(shape, steps[:2]), registers.offset + place)


SHORT_K = 256
"""Columns of k up to which storing a result takes a good part of a product's time."""


@gpu.static_type
@dataclass(frozen=True, slots=True)
class Orders:
    """How the operands of a product lie in memory: whether A, B and C are row-major, whether threads own single
    places of C, side by side: where no vector of it can be stored, and storing takes long; and whether A and B are
    loaded one element at a time."""

    across: tuple[bool, bool, bool]
    apart: bool = False
    singly: tuple[bool, bool] = (False, False)

    def block(self, operand: int, tile: tuple[int, int], threads: int) -> tuple[int, int]:
        """The rows and columns of k of A (0) or B (1) that a thread brings at a time. Where no vector is loaded along
        k it brings one column, and neighbouring threads load neighbouring elements.

        >>> [Orders((True, True, True), singly=(one, one)).block(0, (64, 16), 64) for one in (False, True)]
        [(4, 4), (4, 1)]
        """
        return copy_block(tile, threads, along_k=self.across[operand] and not self.singly[operand])


def stands_apart(A: Tensor, C: Tensor) -> bool:
    """Whether threads own single places of C, whose layout is known: see `Orders`."""
    if size(A, 1) > SHORT_K:
        return False
    steps = [abs(step) for mode in mode_layouts(C) for step in leaves(mode.stride)]
    return any(place != 1 and place % 4 for place in steps) or C.offset % 4 != 0


def orders_of(A: Tensor, B: Tensor, C: Tensor) -> Orders:
    """The orders of operands whose layouts are known."""
    across = is_row_major(A), is_row_major(B), is_row_major(C)
    return Orders(across, stands_apart(A, C), (not _aligned(A, 4), not _aligned(B, 4)))


COPY_THREADS = 128
"""Threads of a workgroup that pads an operand."""


def new_of_tiles(place: ExecutionSite, like: Tensor, tile: tuple[int, ...], dtype: DType) -> Tensor:
    """A tensor to be filled, as large as `like` in whole tiles, its first two modes in the same order."""
    sizes = mode_sizes(like)
    whole = *(ceil_div(extent, step) * step for extent, step in zip(sizes, tile, strict=False)), *sizes[len(tile) :]
    return place.new(whole, dtype, (*((1, 0) if is_row_major(like) else (0, 1)), *range(2, len(sizes))))


def corner(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The first elements of a tensor of whole tiles, so many of its first two modes."""
    rows, columns, *rest = mode_layouts(tensor)
    inside = [composition(mode, Layout(extent)) for mode, extent in zip((rows, columns), sizes, strict=False)]
    return with_layout(tensor, [*inside, *rest])


@gpu.kernel
def padded_kernel(source: Tensor, result: Tensor, *, tile: tuple[int, ...]) -> None:
    """result[i] = source[i], and 0 where the source has none: tiles divide the result."""
    gpu.launch(grid=size(result) // prod(tile), threads=COPY_THREADS)
    shares = copy_layout((tile[0], tile[1]), None, COPY_THREADS, along_k=is_row_major(result))
    parts = [thread_value_partition(local_tile(t, tile, gpu.workgroup.x), shares) for t in (source, result)]
    copy(*parts)


def holds_matrices(tensor: Tensor) -> bool:
    """Whether matrices of a subgroup lie in a tensor: rows or columns of neighbours, at multiples of 16 bytes."""
    if not isinstance(tensor.layout, Layout) or any(len(leaves(m.shape)) > 1 for m in mode_layouts(tensor)[:2]):
        return False
    return _aligned(tensor, 16 // tensor.dtype.bytes)


def _aligned(tensor: Tensor, unit: int) -> bool:
    """Whether its elements are neighbours along a mode, and all other steps multiples of `unit`."""
    apart = [abs(step) for mode in mode_layouts(tensor) for step in leaves(mode.stride) if abs(step) != 1]
    return 1 in least_strides(tensor) and not any(place % unit for place in (*apart, tensor.offset))


def of_whole_tiles(place: ExecutionSite, tensor: Tensor, tile: tuple[int, int]) -> Tensor:
    """An operand of whole tiles that are read in vectors of 4: itself, or a copy that has zeros beyond its elements."""
    aligned = _aligned(tensor, 4)
    if aligned and all(extent % step == 0 for extent, step in zip(mode_sizes(tensor), tile, strict=False)):
        return tensor
    fresh = new_of_tiles(place, tensor, tile, tensor.dtype)
    place.run(padded_kernel, tensor, fresh, tile=(*tile, *[1] * (tensor.rank - 2)))
    return fresh


def in_vectors(tensor: Tensor, depth: int) -> bool:
    """Whether vectors of 4 load all of an operand (rows, k), and slabs of `depth` columns are all of its k.

    >>> from cutepy.tensor import make_tensor
    >>> [in_vectors(make_tensor("f32", Layout(shape, (1, 64))), 8) for shape in ((64, 16), (62, 16), (64, 12))]
    [True, False, False]
    """
    rows, k, *_ = mode_sizes(tensor)
    return _aligned(tensor, 4) and k % depth == 0 and (is_row_major(tensor) or rows % 4 == 0)


def of_whole_slabs(place: ExecutionSite, tensor: Tensor, depth: int) -> Tensor:
    """An operand for which `in_vectors` holds: itself, or a copy with zeros beyond its k. Rows that the copy has beyond
    the operand's hold anything: no row of a product is made of two."""
    if in_vectors(tensor, depth):
        return tensor
    fresh = new_of_tiles(place, tensor, (4, depth), tensor.dtype)
    copy_elements(tensor, corner(fresh, mode_sizes(tensor)), engine=place.engine)
    (rows, columns, *rest), k = mode_layouts(fresh), size(tensor, 1)
    if k < columns.size:
        beyond = with_layout(fresh, [rows, composition(columns, Layout(columns.size - k)), *rest])
        filled(place, Tensor(beyond.engine, beyond.layout, fresh.offset + columns(k)), 0)
    return fresh


Store: TypeAlias = Callable[[Tensor, Tensor, Callable[[Tensor], Tensor]], None]
"""What becomes of the sums of a thread: takes them, the part of C that is the thread's, and the same part of another
tensor of C's shape, as a function of that."""


def of_batch(tensor: Tensor, batch: Expr) -> Tensor:
    """The matrix (mode 0, mode 1) of a batch, where the tensor has a mode of batches, and perhaps one of parts of k
    after it; else the tensor itself.

    Batches are counted again from 0 after the last: those of a part of k go on from those of the part before.
    """
    if tensor.rank == 2:
        return tensor
    batches = size(tensor, 2)
    parts = (batch // batches,) if tensor.rank > 3 else ()
    matrix: Tensor = tensor(ALL, ALL, batch % batches, *parts)
    return matrix


def spread_over_grid(C: Tensor, tile: tuple[int, ...], threads: int) -> tuple[Expr, Expr, Expr]:
    """Launch a workgroup for each tile of C. Returns the column and the row of its tile, and its batch."""
    grid = ceil_div(size(C, 1), tile[1]), ceil_div(size(C, 0), tile[0]), prod(size(C, i) for i in range(2, C.rank))
    if not any(known(n > Limits().workgroups) for n in grid[1:]):
        gpu.launch(grid=grid, threads=threads)
        return gpu.workgroup.x, gpu.workgroup.y, gpu.workgroup.z
    # Only the first dimension of a grid may be longer than the limit: rows and batches are laid out along it.
    gpu.launch(grid=prod(grid), threads=threads)
    index = gpu.workgroup.x
    return index % grid[0], index // grid[0] % grid[1], index // (grid[0] * grid[1])


def share_of(slabs: int, splits: int, part: Expr) -> tuple[Expr | int, Expr | int]:
    """The first slab of part number `part` of k, and how many slabs it has: all but the last part have equally many."""
    if known(splits == 1):
        return (0 if isinstance(slabs, int) else gpu.constant(0, u32)), slabs
    share = ceil_div(slabs, splits)
    if known(slabs % splits == 0):
        return part * share, share
    first = part * share
    if isinstance(splits, int):
        return first, gpu.minimum(share, slabs - first)
    # Of an unknown number of parts some may be empty: what they load beforehand is there, and no turn uses it.
    return gpu.minimum(first, slabs - 1), gpu.minimum(share, slabs - gpu.minimum(first, slabs))


@dataclass(frozen=True, slots=True)
class SlabPipeline:
    """How slabs of A and B go by way of registers to shared memory, while the slab before is multiplied.

    `stages` slabs lie in shared memory; with 1 a second barrier waits until it is read. k is summed in `splits` parts.
    With `ahead` the next slab is loaded before this one is multiplied; `repeat_last` then loads the last one once more,
    unused, so that the loop has no branch.
    """

    stages: int
    splits: int
    ahead: bool = True
    repeat_last: bool = False


def pipelined(
    operands: tuple[Slabs, Slabs],
    registers: tuple[Tensor, Tensor],
    staged: tuple[Tensor, Tensor],
    part: Expr,
    how: SlabPipeline,
    multiply: Callable[[object], None],
) -> None:
    """Bring the slabs of part number `part` of k to `staged` memory of A and of B, (rows, k, stage), by way of
    `registers`, and `multiply(stage)` each of them."""
    (a, b), (next_A, next_B), (sA, sB) = operands, registers, staged
    slabs = ceil_div(size(a.source, 1), a.tile[1])
    first, turns = share_of(slabs, how.splits, part)

    def load(slab: Expr | int) -> None:
        a.load(slab, next_A)
        b.load(slab, next_B)

    if how.ahead:
        load(first)
    # Loads that are moved inside an operand cost address arithmetic in each turn: they are not repeated for nothing.
    always, whole = how.repeat_last and known(size(a.source, 1) % a.tile[1] == 0), known(how.splits == 1)
    for k in gpu.loop(turns):
        if not how.ahead:
            load(first + k)
        stage = k % how.stages
        a.store(next_A, sA(ALL, ALL, stage), first + k)
        b.store(next_B, sB(ALL, ALL, stage), first + k)
        gpu.barrier()  # with two stages one is enough: the slab before the last is not read after the last barrier
        if how.ahead:
            with gpu.when(True if always else k + 1 < turns):
                load(gpu.minimum(first + k + 1, slabs - 1) if always or not whole else k + 1)
        multiply(stage)
        if how.stages == 1:
            gpu.barrier()
