"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
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
    mode_layouts,
    reduce_tree,
    thread_value_partition,
    transform,
    u32,
    with_layout,
)
from .. import Expr, Fold
from .domain import THREADS, power_of_two, zipped
from .operand import ExecutionSite

WIDE_THREADS = 1024
"""Threads of a workgroup where rows lie side by side in memory and all of them need but few workgroups."""
MANY_WORKGROUPS, ENOUGH_WORKGROUPS = 2048, 256
"""Workgroups that fill a GPU several times over, so that its processors end at one time, and that just fill it."""
MANY_ELEMENTS = 1 << 22
"""Elements from which a thread takes 16 at a time; of fewer it takes 4."""
NEIGHBOUR_ROWS, WIDE_ROWS = 128, 32
"""Rows that a workgroup takes where these lie side by side in memory, and that one of `WIDE_THREADS` takes."""


State = tuple[Any, ...]
"""What a fold knows of some elements: a value for each of its parts."""
Combine = Callable[[State, State], State]
"""An associative operation on states."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How rows are shared out: workgroups take tiles of `tile` = (rows, columns), every `splits`-th of those in a row;
    each of these splits of a row gives one state.

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
        """(row, lane) to a place in shared memory, without bank conflicts where each thread stores one of its rows."""
        rows, lanes = self.tile[0], self.lanes
        shape, along_rows, along_lanes = self._thread_strides
        # The stores as a layout from (thread, value's row) to the index of (row, lane).
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
        """For each row of a thread how many rows it comes after the thread's first."""
        return [int(n) for n in self.owned[1][0].offsets().ravel(order="F")]

    def place(self, thread: Expr) -> tuple[Expr, Expr]:
        """The first row of a thread, and its lane among the threads that share it."""
        shape, along_rows, along_lanes = self._thread_strides
        return from_modes(shape, along_rows)(thread), from_modes(shape, along_lanes)(thread)

    @property
    def _thread_strides(self) -> tuple[tuple[int, ...], list[int], list[int]]:
        """The extents of a thread's index, and their strides along the rows and along the lanes: a factor of the index
        moves the thread in one of both."""
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

    A workgroup takes at most `run` rows that lie side by side in memory; None chooses. A thread has at most `most_rows`
    rows, a power of two: more of 4 bytes would not fit shared memory. Where a workgroup may have `WIDE_THREADS`, and
    enough of these take all rows that lie side by side, no second pass adds splits.
    """
    rows, columns = x.layout[0].size, x.layout[1].size
    large, short = x.size >= MANY_ELEMENTS, x.size < 16 * MANY_ELEMENTS  # short: a second pass takes a good part of it
    # How many threads, how many neighbouring rows they take, and how many workgroups fill the GPU.
    threads, neighbours, enough = THREADS, NEIGHBOUR_ROWS, ENOUGH_WORKGROUPS if short else 2 * ENOUGH_WORKGROUPS
    if short:
        neighbours = max(16, min(NEIGHBOUR_ROWS, power_of_two(rows) // ENOUGH_WORKGROUPS))
    whole = ENOUGH_WORKGROUPS // 2 <= -(-rows // WIDE_ROWS) <= ENOUGH_WORKGROUPS
    if run is None and large and short and whole and not is_row_major(x) and most_threads >= WIDE_THREADS:
        threads, neighbours, enough = WIDE_THREADS, WIDE_ROWS, ENOUGH_WORKGROUPS // 2
    run, room = run or neighbours, threads * (16 if large else 4)
    factors = _factors(x, room, max(run, room // power_of_two(columns))) if tiled else []
    tiled = prod(extent for _, extent in factors) >= min(THREADS, rows * columns)
    # Without tiles of the layout threads stand along what is near in memory, and take elements one by one.
    if not tiled:
        across = is_row_major(x)
        lanes = min(THREADS if across else 4, power_of_two(columns))
        height = min(THREADS // lanes, power_of_two(rows))
        factors = [(1, lanes), (0, height)] if across else [(0, height), (1, lanes)]
    tile, owned = _tile_of_factors(factors, _vector_width(x) if tiled else 1, threads, most_rows)
    # Rows are split where their tiles are too few, into parts of at least 4 tiles.
    tiles, turns = -(-rows // tile[0]), -(-columns // tile[1])
    splits = min(MANY_WORKGROUPS // tiles, turns // 4) if tiles < enough else 1
    return FoldPlan(tile, owned, max(1, splits), tiled)


def plan_of_whole_rows(x: Tensor, most: int) -> FoldPlan | None:
    """A plan whose tiles have whole rows of `x`, at most `most` values a thread; None where there is none."""
    # Of columns that lie side by side at least 8 rows, for whole sectors of memory; of large tensors more.
    columns = power_of_two(size(x, 1))
    least, most_rows = (1, 8) if is_row_major(x) else (8, 32)
    room = max(4 * THREADS, min(most_rows * columns, THREADS * 32) if x.size >= MANY_ELEMENTS else 0, least * columns)
    factors = _factors(x, room, room // columns)
    tile, owned = _tile_of_factors(factors, _vector_width(x), THREADS)
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
        # The nearest factor in memory that is left, cut to a power of two and to what the tile still takes.
        mode = min((mode for mode in (0, 1) if left[mode]), key=lambda mode: left[mode][0][1])
        extent = left[mode].pop(0)[0]
        whole = power_of_two(extent) if not left[mode] else extent & -extent
        most = min(room, run) if mode == 0 and not any(mode for mode, _ in taken) else room
        taken.append((mode, min(whole, most)))
        if taken[-1][1] < extent:  # a tile ends inside this factor: no further one of its mode
            left[mode].clear()
        room //= taken[-1][1]
    return taken


def _vector_width(x: Tensor) -> int:
    """How many neighbours of `x`, 1, 2 or 4, are one aligned vector in each row and column; 1 where they lie apart."""
    if not isinstance(x.layout, Layout):
        return 1
    pairs = zip(leaves(x.layout.shape), leaves(x.layout.stride), strict=True)
    steps = [abs(step) for extent, step in pairs if extent > 1]
    others = [step for step in steps if step != 1]
    return gcd(4, x.offset, *others) if len(others) < len(steps) else 1


def _tile_of_factors(
    factors: list[tuple[int, int]], width: int, threads: int, most_rows: int = 8
) -> tuple[tuple[int, int], Layout]:
    """The tile (rows, columns) of these factors, and its layout from (thread, (value's row, value's column)): each bit
    of the index in the order of memory belongs to the thread or to the value.

    A vector of `width` neighbours is of one thread and 32 of these lie side by side; then come more values of a thread,
    of the same row where there are, and more threads. A thread has at most `most_rows` rows.
    """
    # For each bit of the index its mode: 0 leads along the rows, 1 along the columns.
    bits = [mode for mode, extent in factors for _ in range(extent.bit_length() - 1)]
    first = (gcd(width, factors[0][1]) if factors else 1).bit_length() - 1
    while True:
        # Bits `first` to `first + 4` are 32 threads. Of those above, bits of the columns become values first, in order.
        others = sorted(range(first + 5, len(bits)), key=lambda place: (-bits[place], place if bits[place] else -place))
        values = [*range(first), *sorted(others[: max(0, len(bits) - first - threads.bit_length() + 1)])]
        if 1 << [bits[place] for place in values].count(0) <= most_rows:
            break
        bits.pop()  # a smaller tile: a thread would have too many rows
    rows, columns = (1 << bits.count(mode) for mode in (0, 1))
    steps = [(1, rows)[mode] << bits[:place].count(mode) for place, mode in enumerate(bits)]

    def layout(places: list[int]) -> Layout:
        """The layout of some bits: those that follow one another in one mode are one factor."""
        runs: list[list[int]] = []
        for place in places:
            follows = runs and bits[place] == bits[runs[-1][-1]] and steps[place] == 2 * steps[runs[-1][-1]]
            runs[-1].append(place) if follows else runs.append([place])
        return from_modes([1 << len(run) for run in runs], [steps[run[0]] for run in runs])

    of_thread = layout([place for place in range(len(bits)) if place not in values])
    of_value = joined([layout([place for place in values if bits[place] == mode]) for mode in (0, 1)])
    return (rows, columns), joined([of_thread, of_value])


def state_at(parts: Sequence[Tensor], *place: Any) -> State:
    """The state whose parts lie at this coordinate of a tensor each."""
    return tuple([part[place if len(place) > 1 else place[0]] for part in parts])


def put_state(parts: Sequence[Tensor], state: Sequence[Any], *place: Any) -> None:
    """Store the parts of a state at this coordinate of a tensor each."""
    for part, value in zip(parts, state, strict=True):
        part[place if len(place) > 1 else place[0]] = value


class Rows:
    """A launch over the rows of a tensor by a plan: where the thread stands, and what it does with its elements.

    `tile` is the number of the workgroup's tile of rows, `split` which splits of each row it takes; `row` is the first
    row of the thread in the tile, `lane` its number among the threads that share its rows.
    """

    def __init__(self, x: Tensor, plan: FoldPlan) -> None:
        self.plan, self.count, self.columns = plan, size(x, 0), size(x, 1)
        gpu.launch(grid=ceil_div(self.count, plan.tile[0]) * plan.splits, threads=plan.threads)
        self.tile, self.split = gpu.workgroup.x // plan.splits, gpu.workgroup.x % plan.splits
        self.row, self.lane = plan.place(gpu.thread)

    def parts(self, x: Tensor) -> Callable[[object], Tensor]:
        """What the thread has of tile t of its rows of `x`, (value's row, value's column), as a function of t."""
        tile, owned = self.plan.tile, self.plan.owned
        return lambda t: thread_value_partition(local_tile(x, tile, (self.tile, ALL))(ALL, ALL, t), owned)

    def walk(
        self, whole: Callable[[Expr], None], last: Callable[[int], None], one: Callable[[Expr, Expr], None]
    ) -> None:
        """Do `whole(t)` for each whole tile t of the split, and `last(t)` for a tile that ends beyond the rows; where
        the layout has no tiles, `one(row, column)` for each element of the thread."""
        plan, splits, columns = self.plan, self.plan.splits, self.columns
        if plan.tiled:
            tiles = columns // plan.tile[1]
            for t in gpu.loop(tiles, start=self.split, step=splits):
                whole(t)
            # Only one split meets the last, partial tile: the loop above needs no guards.
            if columns % plan.tile[1]:
                with gpu.when(self.split == tiles % splits):
                    last(tiles)
        else:
            mine = self.tile * plan.tile[0] + self.row
            with gpu.when(mine < self.count):
                for j in gpu.loop(columns, start=self.split * plan.lanes + self.lane, step=splits * plan.lanes):
                    one(mine, j)

    def over_lanes(self, shared: Sequence[Tensor], kept: Iterable[State], combine: Combine) -> None:
        """A tree over the lanes of each row: `kept` has a state for each row of the thread; those of all lanes are
        combined in `shared` memory, (row, lane), one tensor for each part of a state, and end at (row, 0)."""
        places = [self.row + height for height in self.plan.heights]
        for place, state in zip(places, kept, strict=True):
            put_state(shared, state, place, self.lane)
        # Each step halves the lanes: lane l takes in what lane l + half has.
        half = self.plan.lanes // 2
        while half:
            gpu.barrier()
            with gpu.when(self.lane < half):
                for place in places:
                    both = [state_at(shared, place, lane) for lane in (self.lane, self.lane + half)]
                    put_state(shared, combine(*both), place, self.lane)
            half //= 2

    def finish(
        self,
        states: Sequence[Tensor],
        kept: Iterable[State],
        combine: Combine,
        store: Callable[[Expr, Iterator[Any]], None],
        *,
        name: str = "",
    ) -> None:
        """Combine what all lanes have `kept` of each row, in shared memory of the types of `states`, called `name` in
        the text. The first lane of each row that there is does `store(row, state)`; a part is read when it is taken."""
        shared = [gpu.shared(part.dtype, self.plan.scratch, name=name) for part in states]
        self.over_lanes(shared, kept, combine)
        for here, mine, place in self.rows_to_store():
            with gpu.when(here):
                store(mine, (part[place, 0] for part in shared))

    def of_rows(self, states: Sequence[Tensor], combine: Combine) -> Iterator[State]:
        """For each row of the thread the `states` of its values there, (value's row, value's column), combined in their
        order."""
        for i in range(len(self.plan.heights)):
            yield reduce(combine, [state_at(states, i, j) for j in range(self.plan.registers[1].size)])

    def rows_to_store(self) -> Iterator[tuple[Expr, Expr, Expr]]:
        """For each row of the thread: whether the thread is its first lane and the row exists, the row, and its place
        in shared memory."""
        for height in self.plan.heights:
            mine = self.tile * self.plan.tile[0] + self.row + height
            yield (self.lane == 0) & (mine < self.count), mine, self.row + height


def columns_like(x: Tensor, counted: Layout | None = None) -> Tensor:
    """A tensor as large as `x` (rows, columns) that holds the column of each element, or what `counted` makes of it;
    nothing is stored."""
    rows = x.layout[0].shape
    repeated = Layout(rows, map_leaves(lambda leaf: 0, rows))
    columns = Layout(x.layout[1].shape) if counted is None else counted
    return make_counting_tensor(joined([repeated, columns]), dtype=u32)


def as_rows(x: Tensor, y: Tensor, axis: int, *, in_order: bool = False) -> tuple[tuple[Tensor, Tensor], bool]:
    """Two tensors of one shape as (rows, columns), the columns those of an axis, in the order in which `x` lies in
    memory, and whether they share their modes. With `in_order` the columns keep their own order."""
    modes = [mode_layouts(tensor) for tensor in (y, x)]
    rest, along = [[m[i] for i in range(len(m)) if i != axis] for m in modes], [m[axis] for m in modes]
    rows, columns = zipped(rest), None if in_order else zipped([[mode] for mode in along])
    of_y, of_x = zip(rows or map(joined, rest), columns or along, strict=True)
    return (with_layout(x, of_x), with_layout(y, of_y)), rows is not None and columns is not None


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
    rows = Rows(sources[0], plan)
    acc = make_tensor(fold.dtype, plan.registers)  # the text has it under this name
    fill(acc, fold.identity)
    *parts, places = (rows.parts(t) for t in (*sources, columns_like(sources[0])))

    def add_inside(column: Expr, *values: Expr) -> Expr:
        found: Expr = gpu.select(column < rows.columns, add(*values), values[-1])
        return found

    def add_one(mine: Expr, column: Expr) -> None:
        acc[0] = add(*(t[mine, column] for t in sources), acc[0])

    rows.walk(
        lambda t: transform(*(part(t) for part in parts), acc, acc, op=add),
        lambda last: transform(places(last), *(part(last) for part in parts), acc, acc, op=add_inside),
        add_one,
    )

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        (value,) = state
        # What another pass folds again is not finished: it is in the type of the fold.
        out[mine, rows.split] = value if plan.splits > 1 else fold.finish(value, out.dtype)

    kept = ((reduce_tree(acc(i, ALL), fold.identity, fold.combine),) for i in range(len(plan.heights)))
    rows.finish((acc,), kept, lambda one, other: (fold.combine(one[0], other[0]),), store, name="partial")


Pass = tuple[tuple[Tensor, Tensor], dict[str, object]]
"""One launch of `fold_kernel`: its tensors and its static arguments."""


def passes(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold) -> Iterator[Pass]:
    """The launches after which out[i, 0] is the fold of row i of x: one, and more where rows are cut into splits."""
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
