"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import gcd, prod

from ...layout import Layout, ceil_div, conflict_free, make_layout, size
from ...layout import _ as ALL
from ...layout.algebra.rearrange import from_modes, joined
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import leaves, map_leaves
from ...tensor.algorithms import fill, reduce_tree, transform
from ...tensor.dtypes import u32
from ...tensor.make import make_counting_tensor, make_tensor
from ...tensor.partition import local_tile, thread_value_partition
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.folds import Fold, fold_lanes
from ..trace.kernel import kernel
from .domain import power_of_two
from .operand import Place, runs_across

THREADS = 256
GROUPS, FEW = 2048, 256
"""Workgroups that fill a GPU several times over, so that its processors end at one time, and that just do."""
LARGE = 1 << 22
"""Elements from which a thread takes 16 at a time, and 4 below."""
RUN = 128
"""Neighbouring rows, where these lie side by side in memory, that a workgroup takes."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How rows are shared out: workgroups take tiles of `tile` = (rows, columns), every `splits`-th of those in a row.

    `owned` maps (thread, (value's row, value's column)) to the index in a tile; threads and values follow memory.
    Where the layout has no such tiles (`tiled` is False), each thread takes its elements one by one.
    """

    tile: tuple[int, int]
    owned: Layout
    splits: int = 1
    tiled: bool = True

    def __str__(self) -> str:
        rows, columns = self.tile
        splits = f", rows in {self.splits} splits" if self.splits > 1 else ""
        return f"tiles of ({rows},{columns}), (thread, value) {self.owned}{splits}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.owned[0].size

    @property
    def lanes(self) -> int:
        """How many threads share a row."""
        return self.threads * self.owned[1][0].size // self.tile[0]

    @property
    def scratch(self) -> AnyLayout:
        """(row, lane) to a place in shared memory: threads that store one of their rows each meet in no bank."""
        rows, lanes = self.tile[0], self.lanes
        shape, along_rows, along_lanes = self._placed
        steps = [row + rows * lane for row, lane in zip(along_rows, along_lanes, strict=True)]
        stored = make_layout(from_modes(shape, steps), self.owned[1][0])
        return conflict_free((rows, lanes), [stored]).layout

    @property
    def registers(self) -> Layout:
        """(value's row, value's column) to a place in registers, in the order of memory."""
        rows, columns = (mode.size for mode in self.owned[1])
        return Layout((rows, columns), (1, rows) if leaves(self.owned[1].stride)[0] == 1 else (columns, 1))

    @property
    def heights(self) -> list[int]:
        """How far each row of a thread lies above its first."""
        return [int(n) for n in self.owned[1][0].offsets().ravel(order="F")]

    def place(self, thread: Expr) -> tuple[Expr, Expr]:
        """The first row of a thread, and its lane among the threads that share it."""
        shape, along_rows, along_lanes = self._placed
        return from_modes(shape, along_rows)(thread), from_modes(shape, along_lanes)(thread)

    @property
    def _placed(self) -> tuple[tuple[int, ...], list[int], list[int]]:
        """The extents of a thread's index, and how far each leads along the rows and the lanes."""
        shape, stride = (leaves(x) for x in (self.owned[0].shape, self.owned[0].stride))
        along_rows = [step if step < self.tile[0] else 0 for step in stride]
        along_lanes, lanes = [], 1
        for extent, step in zip(shape, along_rows, strict=True):
            along_lanes.append(0 if step else lanes)
            lanes *= 1 if step else extent
        return shape, along_rows, along_lanes


def plan_for(x: Tensor, *, run: int | None = None, tiled: bool = True, most_rows: int = 8) -> FoldPlan:
    """A plan for `x` (rows, columns): tiles in the order of memory, and splits where rows are too few to fill a GPU.

    A thread has at most `most_rows` rows, a power of two: more of 4 bytes would not fit shared memory.
    """
    rows, columns = x.layout[0].size, x.layout[1].size
    room = THREADS * (16 if x.size >= LARGE else 4)
    short = x.size < 16 * LARGE  # another pass would take a good part of the time
    run = run or (max(16, min(RUN, power_of_two(rows) // FEW)) if short else RUN)
    factors = _factors(x, room, max(run, room // power_of_two(columns))) if tiled else []
    tiled = prod(extent for _, extent in factors) >= min(THREADS, rows * columns)
    if not tiled:
        across = runs_across(x)
        lanes = min(THREADS if across else 4, power_of_two(columns))
        height = min(THREADS // lanes, power_of_two(rows))
        factors = [(1, lanes), (0, height)] if across else [(0, height), (1, lanes)]
    tile, owned = _shared_out(factors, _width(x) if tiled else 1, most_rows)
    tiles, turns = -(-rows // tile[0]), -(-columns // tile[1])
    splits = min(GROUPS // tiles, turns // 4) if tiles < (FEW if short else 2 * FEW) else 1
    return FoldPlan(tile, owned, max(1, splits), tiled)


def plan_of_whole_rows(x: Tensor, most: int) -> FoldPlan | None:
    """A plan whose tiles have whole rows of `x`, at most `most` values a thread; None where there is none."""
    columns = power_of_two(size(x, 1))
    least, most_rows = (1, 8) if runs_across(x) else (8, 32)
    room = max(4 * THREADS, min(most_rows * columns, THREADS * 32) if x.size >= LARGE else 0, least * columns)
    factors = _factors(x, room, room // columns)
    tile, owned = _shared_out(factors, _width(x))
    return FoldPlan(tile, owned) if room <= THREADS * most and tile[1] >= size(x, 1) else None


def _factors(x: Tensor, room: int, run: int) -> list[tuple[int, int]]:
    """The mode of `x`, 0 or 1, and the extent of each factor of a tile of at most `room` elements, nearest first.

    Extents are powers of two that divide what they are factors of, but for the last of a mode. Of rows that lie side by
    side at most `run` are taken before any column. A swizzled tensor has no such tiles.
    """
    if not isinstance(x.layout, Layout):
        return []
    left = [[(n, abs(d)) for n, d in zip(leaves(m.shape), leaves(m.stride), strict=True) if n > 1] for m in x.layout]
    taken: list[tuple[int, int]] = []
    while room > 1 and any(left):
        mode = min((mode for mode in (0, 1) if left[mode]), key=lambda mode: left[mode][0][1])
        extent = left[mode].pop(0)[0]
        whole = power_of_two(extent) if not left[mode] else extent & -extent
        most = min(room, run) if mode == 0 and not any(mode for mode, _ in taken) else room
        taken.append((mode, min(whole, most)))
        if taken[-1][1] < extent:
            left[mode].clear()
        room //= taken[-1][1]
    return taken


def _width(x: Tensor) -> int:
    """How many neighbours of `x` one vector has wherever it begins; 1 where they lie apart."""
    if not isinstance(x.layout, Layout):
        return 1
    steps = [
        abs(step) for extent, step in zip(leaves(x.layout.shape), leaves(x.layout.stride), strict=True) if extent > 1
    ]
    others = [step for step in steps if step != 1]
    return gcd(4, x.offset, *others) if len(others) < len(steps) else 1


def _shared_out(factors: list[tuple[int, int]], width: int, most_rows: int = 8) -> tuple[tuple[int, int], Layout]:
    """The tile of these factors, and who owns it, by the bits of the index in the order of memory.

    A vector of `width` neighbours is of one thread and 32 of these lie side by side; then come more values of a thread,
    of the same row where there are, and more threads. A thread has at most `most_rows` rows.
    """
    bits = [mode for mode, extent in factors for _ in range(extent.bit_length() - 1)]
    first = (gcd(width, factors[0][1]) if factors else 1).bit_length() - 1
    while True:
        others = sorted(range(first + 5, len(bits)), key=lambda place: (-bits[place], place if bits[place] else -place))
        values = [*range(first), *sorted(others[: max(0, len(bits) - first - THREADS.bit_length() + 1)])]
        if 1 << [bits[place] for place in values].count(0) <= most_rows:
            break
        bits.pop()
    rows, columns = (1 << bits.count(mode) for mode in (0, 1))
    steps = [(1, rows)[mode] << bits[:place].count(mode) for place, mode in enumerate(bits)]

    def layout(places: list[int]) -> Layout:
        runs: list[list[int]] = []
        for place in places:
            follows = runs and bits[place] == bits[runs[-1][-1]] and steps[place] == 2 * steps[runs[-1][-1]]
            runs[-1].append(place) if follows else runs.append([place])
        return from_modes([1 << len(run) for run in runs], [steps[run[0]] for run in runs])

    of_thread = layout([place for place in range(len(bits)) if place not in values])
    of_value = joined([layout([place for place in values if bits[place] == mode]) for mode in (0, 1)])
    return (rows, columns), joined([of_thread, of_value])


@kernel
def fold_kernel(x: Tensor, out: Tensor, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s] = the fold of what split s takes of row i of x."""
    _fold((x,), out, fold, plan, lambda value, so_far: fold.combine(so_far, fold.taken(value)))


@kernel
def dot_kernel(x: Tensor, y: Tensor, out: Tensor, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s] = the sum of x[i, j] * y[i, j] over what split s takes of row i."""

    def add(one: Expr, other: Expr, so_far: Expr) -> Expr:
        factors = fold.taken(one), fold.taken(other)
        return functions.fma(*factors, so_far) if fold.dtype.kind == "f" else so_far + factors[0] * factors[1]

    _fold((x, y), out, fold, plan, add)


def _fold(sources: tuple[Tensor, ...], out: Tensor, fold: Fold, plan: FoldPlan, add: Callable[..., Expr]) -> None:
    """The body of both kernels: `add(*elements, so_far)` in registers, then a tree over the lanes."""
    x, splits = sources[0], plan.splits
    rows, columns = size(x, 0), size(x, 1)
    gpu.launch(grid=ceil_div(rows, plan.tile[0]) * splits, threads=plan.threads)
    tile, split = gpu.workgroup.x // splits, gpu.workgroup.x % splits
    row, lane = plan.place(gpu.thread())
    acc = make_tensor(fold.dtype, plan.registers)
    fill(acc, fold.identity)

    def add_inside(column: Expr, *values: Expr) -> Expr:
        found: Expr = functions.select(column < columns, add(*values), values[-1])
        return found

    if plan.tiled:
        parts, places = [owned_parts(t, plan, tile) for t in sources], owned_parts(columns_like(x), plan, tile)
        for t in gpu.loop(columns // plan.tile[1], start=split, step=splits):
            transform(*(part(t) for part in parts), acc, acc, op=add)
        if columns % plan.tile[1]:
            last = columns // plan.tile[1]
            with gpu.when(split == last % splits):
                transform(places(last), *(part(last) for part in parts), acc, acc, op=add_inside)
    else:
        mine = tile * plan.tile[0] + row
        with gpu.when(mine < rows):
            for j in gpu.loop(columns, start=split * plan.lanes + lane, step=splits * plan.lanes):
                acc[0] = add(*(t[mine, j] for t in sources), acc[0])

    partial = gpu.shared(fold.dtype, plan.scratch)
    for i, height in enumerate(plan.heights):
        partial[row + height, lane] = reduce_tree(acc(i, ALL), fold.identity, fold.combine)

    def step(a: Expr, b: Expr) -> None:
        for height in plan.heights:
            partial[row + height, a] = fold.combine(partial[row + height, a], partial[row + height, b])

    fold_lanes(plan.lanes, lane, step)
    for height in plan.heights:
        mine = tile * plan.tile[0] + row + height
        with gpu.when((lane == 0) & (mine < rows)):
            value = partial[row + height, 0]
            out[mine, split] = value if splits > 1 else fold.finish(value, out.dtype)


def owned_parts(x: Tensor, plan: FoldPlan, tile: Expr) -> Callable[[object], Tensor]:
    """What the thread has of tile (`tile`, t) of `x`, as a function of t."""
    tiles = local_tile(x, plan.tile, (tile, ALL))
    return lambda t: thread_value_partition(tiles(ALL, ALL, t), plan.owned)


def columns_like(x: Tensor, counted: Layout | None = None) -> Tensor:
    """The column of each element of `x`, or what `counted` makes of it; nothing is stored."""
    rows = x.layout[0].shape
    repeated = Layout(rows, map_leaves(lambda leaf: 0, rows))
    columns = Layout(x.layout[1].shape) if counted is None else counted
    return make_counting_tensor(joined([repeated, columns]), dtype=u32)


Pass = tuple[tuple[Tensor, Tensor], dict[str, object]]
"""One launch of `fold_kernel`: its tensors and its static arguments."""


def passes(place: Place, x: Tensor, out: Tensor, fold: Fold) -> Iterator[Pass]:
    """The launches after which out[i, 0] is the fold of row i of x."""
    while True:
        plan = plan_for(x)
        target = _target(place, x, out, fold, plan)
        yield (x, target), {"fold": fold, "plan": plan}
        if target is out:
            return
        x, fold = target, replace(fold, again=True)


def _target(place: Place, x: Tensor, out: Tensor, fold: Fold, plan: FoldPlan) -> Tensor:
    """Where a launch writes: `out`, or a new tensor (rows, splits)."""
    return out if plan.splits == 1 else place.new((size(x, 0), plan.splits), fold.dtype)


def sum_products(place: Place, x: Tensor, y: Tensor, out: Tensor) -> None:
    """out[i, 0] = the sum of x[i, j] * y[i, j] over row i."""
    fold, plan = Fold("sum", out.dtype.accumulator), plan_for(x)
    target = _target(place, x, out, fold, plan)
    place.run(dot_kernel, x, y, target, fold=fold, plan=plan)
    if target is not out:
        for operands, static in passes(place, target, out, fold):
            place.run(fold_kernel, *operands, **static)
