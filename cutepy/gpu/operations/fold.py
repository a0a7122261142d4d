"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

from ... import gpu
from ...layout import (
    ComposedLayout,
    Layout,
    ceil_div,
    conflict_free,
    from_modes,
    joined,
    leaves,
    make_layout,
    map_leaves,
    size,
)
from ...layout import _ as ALL
from ...tensor import (
    Tensor,
    fill,
    is_row_major,
    local_tile,
    make_counting_tensor,
    make_tensor,
    reduce_tree,
    thread_value_partition,
    transform,
    u32,
)
from .. import Expr, Fold
from .domain import power_of_two
from .operand import ExecutionSite

THREADS, MOST_THREADS = 256, 1024
GROUPS, FEW = 2048, 256
"""Workgroups that fill a GPU several times over, so that its processors end at one time, and that just do."""
LARGE = 1 << 22
"""Elements from which a thread takes 16 at a time, and 4 below."""
RUN, WIDE = 128, 32
"""Neighbouring rows, where these lie side by side in memory, that a workgroup takes, and one of `MOST_THREADS`."""


State = tuple[Any, ...]
"""What a fold knows of some elements."""
Shared = tuple[Tensor, ...]
"""The parts of the states of a workgroup."""


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
    def scratch(self) -> Layout | ComposedLayout:
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


def plan_for(
    x: Tensor, *, run: int | None = None, tiled: bool = True, most_rows: int = 8, most_threads: int = THREADS
) -> FoldPlan:
    """A plan for `x` (rows, columns): tiles in the order of memory, and splits where rows are too few to fill a GPU.

    A thread has at most `most_rows` rows, a power of two: more of 4 bytes would not fit shared memory. Where a
    workgroup may have `MOST_THREADS`, and half of `FEW` take all rows that lie side by side, no pass adds splits.
    """
    rows, columns = x.layout[0].size, x.layout[1].size
    short = x.size < 16 * LARGE  # another pass would take a good part of the time
    wide = run is None and LARGE <= x.size and short and not is_row_major(x) and most_threads >= MOST_THREADS
    wide = wide and FEW // 2 <= -(-rows // WIDE) <= FEW
    threads, few = (MOST_THREADS, FEW // 2) if wide else (THREADS, FEW if short else 2 * FEW)
    room = threads * (16 if x.size >= LARGE else 4)
    run = run or (WIDE if wide else max(16, min(RUN, power_of_two(rows) // FEW)) if short else RUN)
    factors = _factors(x, room, max(run, room // power_of_two(columns))) if tiled else []
    tiled = prod(extent for _, extent in factors) >= min(THREADS, rows * columns)
    if not tiled:
        across = is_row_major(x)
        lanes = min(THREADS if across else 4, power_of_two(columns))
        height = min(THREADS // lanes, power_of_two(rows))
        factors = [(1, lanes), (0, height)] if across else [(0, height), (1, lanes)]
    tile, owned = _shared_out(factors, _width(x) if tiled else 1, threads, most_rows)
    tiles, turns = -(-rows // tile[0]), -(-columns // tile[1])
    splits = min(GROUPS // tiles, turns // 4) if tiles < few else 1
    return FoldPlan(tile, owned, max(1, splits), tiled)


def plan_of_whole_rows(x: Tensor, most: int) -> FoldPlan | None:
    """A plan whose tiles have whole rows of `x`, at most `most` values a thread; None where there is none."""
    columns = power_of_two(size(x, 1))
    least, most_rows = (1, 8) if is_row_major(x) else (8, 32)
    room = max(4 * THREADS, min(most_rows * columns, THREADS * 32) if x.size >= LARGE else 0, least * columns)
    factors = _factors(x, room, room // columns)
    tile, owned = _shared_out(factors, _width(x), THREADS)
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


def _shared_out(
    factors: list[tuple[int, int]], width: int, threads: int, most_rows: int = 8
) -> tuple[tuple[int, int], Layout]:
    """The tile of these factors, and who owns it, by the bits of the index in the order of memory.

    A vector of `width` neighbours is of one thread and 32 of these lie side by side; then come more values of a thread,
    of the same row where there are, and more threads. A thread has at most `most_rows` rows.
    """
    bits = [mode for mode, extent in factors for _ in range(extent.bit_length() - 1)]
    first = (gcd(width, factors[0][1]) if factors else 1).bit_length() - 1
    while True:
        others = sorted(range(first + 5, len(bits)), key=lambda place: (-bits[place], place if bits[place] else -place))
        values = [*range(first), *sorted(others[: max(0, len(bits) - first - threads.bit_length() + 1)])]
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


@gpu.kernel
def fold_kernel(x: Tensor, out: Tensor, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s] = the fold of what split s takes of row i of x."""
    _fold((x,), out, fold, plan, lambda value, so_far: fold.combine(so_far, fold.taken(value)))


@gpu.kernel
def dot_kernel(x: Tensor, y: Tensor, out: Tensor, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s] = the sum of x[i, j] * y[i, j] over what split s takes of row i."""

    def add(one: Expr, other: Expr, so_far: Expr) -> Expr:
        factors = fold.taken(one), fold.taken(other)
        return gpu.fma(*factors, so_far) if fold.dtype.kind == "f" else so_far + factors[0] * factors[1]

    _fold((x, y), out, fold, plan, add)


def _fold(sources: tuple[Tensor, ...], out: Tensor, fold: Fold, plan: FoldPlan, add: Callable[..., Expr]) -> None:
    """The body of both kernels: `add(*elements, so_far)` in registers, then a tree over the lanes."""
    rows, splits = Rows(sources[0], plan), plan.splits
    acc = make_tensor(fold.dtype, plan.registers)
    fill(acc, fold.identity)
    *parts, places = (rows.parts(t) for t in (*sources, columns_like(sources[0])))

    def add_inside(column: Expr, *values: Expr) -> Expr:
        found: Expr = gpu.select(column < rows.columns, add(*values), values[-1])
        return found

    def add_one(mine: Expr, column: Expr) -> None:
        acc[0] = add(*(t[mine, column] for t in sources), acc[0])

    walk(
        rows,
        lambda t: transform(*(part(t) for part in parts), acc, acc, op=add),
        lambda last: transform(places(last), *(part(last) for part in parts), acc, acc, op=add_inside),
        add_one,
    )
    kept = ((reduce_tree(acc(i, ALL), fold.identity, fold.combine),) for i in range(len(plan.heights)))
    partial = gpu.shared(fold.dtype, plan.scratch)
    over_lanes(rows, (partial,), kept, lambda one, other: (fold.combine(one[0], other[0]),))
    for here, mine, place in rows.found():
        with gpu.when(here):
            value = partial[place, 0]
            out[mine, rows.split] = value if splits > 1 else fold.finish(value, out.dtype)


class Rows:
    """A launch over the rows of a tensor by a plan: where the thread stands."""

    def __init__(self, x: Tensor, plan: FoldPlan) -> None:
        self.plan, self.count, self.columns = plan, size(x, 0), size(x, 1)
        gpu.launch(grid=ceil_div(self.count, plan.tile[0]) * plan.splits, threads=plan.threads)
        self.tile, self.split = gpu.workgroup.x // plan.splits, gpu.workgroup.x % plan.splits
        self.row, self.lane = plan.place(gpu.thread)

    def parts(self, x: Tensor) -> Callable[[object], Tensor]:
        """What the thread has of tile t of its rows of `x`, as a function of t."""
        tile, owned = self.plan.tile, self.plan.owned
        return lambda t: thread_value_partition(local_tile(x, tile, (self.tile, ALL))(ALL, ALL, t), owned)

    def found(self) -> Iterator[tuple[Expr, Expr, Expr]]:
        """For each row of the thread whether it is there and the thread its first lane, the row, and its place in
        shared memory."""
        for height in self.plan.heights:
            mine = self.tile * self.plan.tile[0] + self.row + height
            yield (self.lane == 0) & (mine < self.count), mine, self.row + height


def walk(
    rows: Rows, whole: Callable[[Expr], None], last: Callable[[int], None], one: Callable[[Expr, Expr], None]
) -> None:
    """`whole` of each tile of the split, and `last` of one that ends beyond the row; where the layout has no tiles,
    `one` of the row and the column of each element."""
    plan, splits, columns = rows.plan, rows.plan.splits, rows.columns
    if plan.tiled:
        tiles = columns // plan.tile[1]
        for t in gpu.loop(tiles, start=rows.split, step=splits):
            whole(t)
        if columns % plan.tile[1]:
            with gpu.when(rows.split == tiles % splits):
                last(tiles)
    else:
        mine = rows.tile * plan.tile[0] + rows.row
        with gpu.when(mine < rows.count):
            for j in gpu.loop(columns, start=rows.split * plan.lanes + rows.lane, step=splits * plan.lanes):
                one(mine, j)


def over_lanes(rows: Rows, shared: Shared, kept: Iterable[State], join: Callable[[State, State], State]) -> None:
    """What all lanes of a row have `kept` for each row of the thread, joined by a tree: in `shared` memory, which has a
    tensor for each part of a state, at (row, 0)."""
    places = [rows.row + height for height in rows.plan.heights]

    def put(place: Expr, lane: Expr, state: State) -> None:
        for part, value in zip(shared, state, strict=True):
            part[place, lane] = value

    for place, state in zip(places, kept, strict=True):
        put(place, rows.lane, state)
    half = rows.plan.lanes // 2
    while half:
        gpu.barrier()
        with gpu.when(rows.lane < half):
            for place in places:
                both = [tuple(part[place, lane] for part in shared) for lane in (rows.lane, rows.lane + half)]
                put(place, rows.lane, join(*both))
        half //= 2


def columns_like(x: Tensor, counted: Layout | None = None) -> Tensor:
    """The column of each element of `x`, or what `counted` makes of it; nothing is stored."""
    rows = x.layout[0].shape
    repeated = Layout(rows, map_leaves(lambda leaf: 0, rows))
    columns = Layout(x.layout[1].shape) if counted is None else counted
    return make_counting_tensor(joined([repeated, columns]), dtype=u32)


Pass = tuple[tuple[Tensor, Tensor], dict[str, object]]
"""One launch of `fold_kernel`: its tensors and its static arguments."""


def passes(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold) -> Iterator[Pass]:
    """The launches after which out[i, 0] is the fold of row i of x."""
    while True:
        plan = plan_for(x, most_threads=place.most_threads)
        target = _target(place, x, out, fold, plan)
        yield (x, target), {"fold": fold, "plan": plan}
        if target is out:
            return
        x, fold = target, replace(fold, again=True)


def _target(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold, plan: FoldPlan) -> Tensor:
    """Where a launch writes: `out`, or a new tensor (rows, splits)."""
    return out if plan.splits == 1 else place.new((size(x, 0), plan.splits), fold.dtype)


def sum_products(place: ExecutionSite, x: Tensor, y: Tensor, out: Tensor) -> None:
    """out[i, 0] = the sum of x[i, j] * y[i, j] over row i."""
    fold, plan = Fold("sum", out.dtype.accumulator), plan_for(x, most_threads=place.most_threads)
    target = _target(place, x, out, fold, plan)
    place.run(dot_kernel, x, y, target, fold=fold, plan=plan)
    if target is not out:
        for operands, static in passes(place, target, out, fold):
            place.run(fold_kernel, *operands, **static)
