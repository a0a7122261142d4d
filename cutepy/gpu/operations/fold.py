"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import gcd
from typing import Any

from ... import gpu
from ...layout import ComposedLayout, Layout, ceil_div, conflict_free, from_modes, joined, leaves, make_layout, size
from ...layout import _ as ALL
from ...tensor import (
    DType,
    Tensor,
    fill,
    is_row_major,
    least_strides,
    local_tile,
    make_counting_tensor,
    make_tensor,
    mode_layouts,
    mode_sizes,
    reduce_tree,
    thread_value_partition,
    transform,
    u32,
    with_layout,
)
from .. import Expr, Fold
from .copies import copy
from .domain import THREADS, coordinate_of, vector_width, zipped
from .operand import ExecutionSite

MANY_WORKGROUPS, ENOUGH_WORKGROUPS = 2048, 256
"""Workgroups that fill a GPU several times over, so that its processors end at one time, and that just fill it."""
MANY_ELEMENTS, MANY_ROWS = 1 << 22, 4096
"""Elements, and rows side by side in memory, from which a thread takes 16 elements at a time; of fewer it takes 4."""
LONG = 1024
"""Elements of a row in a tile that has one row."""
Factor = tuple[int, int]
State = tuple[Any, ...]
"""What a fold knows of some elements: a value for each of its parts."""
Combine = Callable[[State, State], State]
"""An associative operation on states."""


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How rows are shared out: workgroups take tiles of `tile` = (rows, columns). `owned` maps (thread, (value's row,
    value's column)) to the index in a tile; threads and values follow memory."""

    tile: tuple[int, int]
    owned: Layout

    def __str__(self) -> str:
        rows, columns = self.tile
        return f"tiles of ({rows},{columns}), (thread, value) {self.owned}"

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


def plan_for(x: Tensor, *others: Tensor) -> FoldPlan:
    """A plan for `x` (rows, columns, batch), one of few for all sizes: tiles along memory, as long as rows are, and
    long ones where there is much. The `others` are accessed like x."""
    rows, columns, width = size(x, 0), size(x, 1), vector_width([x, *others])
    if not is_row_major(x):
        return plan_of_tile((0, 128), (1, 32), width) if rows >= MANY_ROWS else plan_of_tile((0, 32), (1, 32), width)
    if columns < 8:
        return plan_of_tile((1, 4), (0, 256), width)
    if columns < LONG // 4:
        return plan_of_tile((1, 32), (0, 32), width)
    many = columns >= 2 * LONG and x.size >= MANY_ELEMENTS
    return plan_of_tile((1, 4 * LONG if many else LONG), (0, 1), width)


@lru_cache(maxsize=256)
def plan_of_tile(near: Factor, far: Factor, width: int) -> FoldPlan:
    """The plan of a tile of these factors: (mode, extent), 0 along rows and 1 along columns, the nearest in memory
    first, which is accessed `width` neighbours at once.

    >>> print(plan_of_tile((1, 1024), (0, 1), 4))
    tiles of (1,1024), (thread, value) (256,(1,4)):(4,(0,1))
    """
    return FoldPlan(*_tile_of_factors([near, far], width, THREADS))


def splits_of(x: Tensor, plan: FoldPlan) -> int:
    """Into how many splits rows are cut, of at least 4 tiles each, where their tiles are too few to fill a GPU."""
    short = x.size < 16 * MANY_ELEMENTS  # a second pass takes a good part of its time
    enough = ENOUGH_WORKGROUPS if short else 2 * ENOUGH_WORKGROUPS
    tiles, turns = ceil_div(size(x, 0), plan.tile[0]) * size(x, 2), ceil_div(size(x, 1), plan.tile[1])
    return max(1, min(MANY_WORKGROUPS // tiles, turns // 4)) if tiles < enough else 1


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
    """A launch over the rows of a tensor (rows, columns, batch) by a plan: where the thread stands, and what it does
    with its elements. The tiles of each row are cut into `splits` runs.

    `tile` is the number of the workgroup's tile of rows, `batch` that of its matrix, `split` that of its run; `row` is
    the first row of the thread in the tile, `lane` its number among the threads that share its rows.
    """

    def __init__(self, x: Tensor, plan: FoldPlan, splits: Any) -> None:
        self.plan, self.count, self.columns, self.splits = plan, size(x, 0), size(x, 1), splits
        extents = splits, ceil_div(self.count, plan.tile[0]), size(x, 2)
        gpu.launch(grid=extents[0] * extents[1] * extents[2], threads=plan.threads)
        self.split, self.tile, self.batch = coordinate_of(gpu.workgroup.x, extents)
        self.row, self.lane = plan.place(gpu.thread)
        #: The column of each value of the thread in a tile.
        self.within = self._owned(make_counting_tensor(Layout(plan.tile, (0, 1)), dtype=u32))

    def of(self, x: Tensor) -> Tensor:
        """The matrix of the workgroup in a tensor (rows, columns, batch)."""
        found: Tensor = x(ALL, ALL, self.batch)
        return found

    def _owned(self, tile: Tensor) -> Tensor:
        return thread_value_partition(tile, self.plan.owned)

    def parts(self, x: Tensor) -> Callable[[object], Tensor]:
        """What the thread has of tile t of its rows of `x`, (value's row, value's column), as a function of t."""
        matrix = self.of(x)
        return lambda t: self._owned(local_tile(matrix, self.plan.tile, (self.tile, t)))

    def walk(self, meet: Callable[[Any, Callable[[Expr], Expr] | None], None]) -> None:
        """Do `meet(t, None)` for each whole tile t of the split, and `meet(t, exists)` for a tile that ends beyond the
        rows: `exists` says of a column of it, counted in the tile, whether there is one."""
        wide, columns = self.plan.tile[1], self.columns
        first, end = self.run(columns // wide)
        for t in gpu.loop(end, start=first):
            meet(t, None)
        # Only one split meets the last, partial tile: the loop above needs no guards.
        if isinstance(columns, int) and columns % wide == 0:
            return
        whole = columns // wide
        with gpu.when(self.split == self.splits - 1):
            meet(whole, lambda column: whole * wide + column < columns)

    def run(self, tiles: Any) -> tuple[Any, Any]:
        """The first of so many tiles of a row that the split takes, and the end of its run."""
        if isinstance(self.splits, int) and self.splits == 1:
            return 0, tiles
        share = ceil_div(tiles, self.splits)
        first = gpu.minimum(self.split * share, tiles)
        return first, gpu.minimum(first + share, tiles)

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


def matrices(*tensors: Tensor) -> list[Tensor] | None:
    """Tensors (rows, columns) over the same factors as flat (rows, columns, batch): of two factors of the rows one is
    the batch. None where there are more, or of columns more than one."""
    if any(type(t.layout) is not Layout for t in tensors):
        return None
    modes = [
        [
            [(n, d) for n, d in zip(leaves(mode.shape), leaves(mode.stride), strict=True) if n > 1]
            for mode in mode_layouts(t)
        ]
        for t in tensors
    ]
    if len(modes[0][0]) > 2 or any(len(columns) > 1 for _, columns in modes):
        return None
    if any([n for n, _ in rows] != [n for n, _ in modes[0][0]] for rows, _ in modes):
        return None
    # The nearest factor is the rows, unless it is short: a tile would reach far beyond it.
    first = modes[0][0]
    order = [1, 0] if len(first) == 2 and first[0][0] < min(16, first[1][0]) else [0, 1]
    found = []
    for t, (rows, columns) in zip(tensors, modes, strict=True):
        near, far = ([*rows, (1, 0), (1, 0)][i] for i in order) if len(rows) == 2 else ([*rows, (1, 0)][0], (1, 0))
        flat = [near, columns[0] if columns else (1, 0), far]
        found.append(with_layout(t, from_modes([n for n, _ in flat], [d for _, d in flat])))
    return found


def as_rows(place: ExecutionSite, x: Tensor, y: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape, y a compact one, as (rows, columns, batch), the columns those of an axis; x is a copy
    where its layout has no such factors."""
    modes = [mode_layouts(tensor) for tensor in (y, x)]
    rest, along = [[m[i] for i in range(len(m)) if i != axis] for m in modes], [m[axis] for m in modes]
    rows = zipped(rest)
    if rows is not None:
        pair = [with_layout(t, [r, c]) for t, r, c in zip((x, y), rows[::-1], along[::-1], strict=True)]
        if (found := matrices(*pair)) is not None:
            return found[0], found[1]
    # y has one stride for each axis, so the rest is one factor, and a copy in this order too.
    order = [*(i for i in range(len(modes[0])) if i != axis), axis]
    whole = [with_layout(t, [m[i] for i in order]) for t, m in zip((x, y), modes[::-1], strict=True)]
    fresh = place.new(
        mode_sizes(whole[0]), x.dtype, order=sorted(range(len(order)), key=lambda i: least_strides(whole[1])[i])
    )
    copy(whole[0], fresh, engine=place.engine)
    of_y, of_x = (mode_layouts(t) for t in (whole[1], fresh))
    joined_rows = zipped([of_y[:-1], of_x[:-1]])
    assert joined_rows is not None, "both are compact"
    found = matrices(with_layout(fresh, [joined_rows[1], of_x[-1]]), with_layout(y, [joined_rows[0], of_y[-1]]))
    assert found is not None, "compact axes are two factors"
    return found[0], found[1]


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)"})
def fold_kernel(x: Tensor, out: Tensor, count: float, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s, b] = the fold of what split s takes of row i of x; a mean is that over `count`, 0 where more is to be
    folded."""
    _fold((x,), out, count, fold, plan, lambda value, so_far: fold.combine(so_far, fold.taken(value)))


@gpu.kernel(sizes={"x": "(...)", "y": "(...)", "out": "(?...)"})
def dot_kernel(
    x: Tensor,
    y: Tensor,
    out: Tensor,
    count: float,
    *,
    fold: Fold,
    plan: FoldPlan,
) -> None:
    """out[i, s, b] = the sum of x[i, j, b] * y[i, j, b] over what split s takes of row i."""

    def add(one: Expr, other: Expr, so_far: Expr) -> Expr:
        factors = fold.taken(one), fold.taken(other)
        return gpu.fma(*factors, so_far) if fold.dtype.kind == "f" else so_far + factors[0] * factors[1]

    _fold((x, y), out, count, fold, plan, add)


def _fold(
    sources: tuple[Tensor, ...], out: Tensor, count: Any, fold: Fold, plan: FoldPlan, add: Callable[..., Expr]
) -> None:
    """The body of both kernels: `add(*elements, so_far)` in registers, then a tree over the lanes."""
    rows = Rows(sources[0], plan, size(out, 1))
    acc = make_tensor(fold.dtype, plan.registers)  # the text has it under this name
    fill(acc, fold.identity)
    parts, target = [rows.parts(t) for t in sources], rows.of(out)

    def meet(t: Any, exists: Callable[[Expr], Expr] | None) -> None:
        met = [part(t) for part in parts]
        if exists is None:
            transform(*met, acc, acc, op=add)
            return

        def add_inside(column: Expr, *values: Expr) -> Expr:
            found: Expr = gpu.select(exists(column), add(*values), values[-1])
            return found

        transform(rows.within, *met, acc, acc, op=add_inside)

    rows.walk(meet)

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        (value,) = state
        # What another pass folds again is not finished: it is in the type of the fold.
        target[mine, rows.split] = fold.finish(value, out.dtype, count) if fold.last else value

    kept = ((reduce_tree(acc(i, ALL), fold.identity, fold.combine),) for i in range(len(plan.heights)))
    rows.finish((acc,), kept, lambda one, other: (fold.combine(one[0], other[0]),), store, name="partial")


Pass = tuple[tuple[Tensor | float, ...], dict[str, object]]
"""One launch of `fold_kernel`: its operands and its static arguments."""


def passes(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold, count: float = 1.0) -> Iterator[Pass]:
    """The launches after which out[i, 0, b] is the fold of row i of x: one, and more where rows are cut into splits."""
    while True:
        plan = plan_for(x)
        target, last = _target(place, x, out, fold, plan)
        yield (x, target, float(count)), {"fold": replace(fold, last=last), "plan": plan}
        if last:
            return
        x, fold = target, replace(fold, again=True)


def _target(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold, plan: FoldPlan) -> tuple[Tensor, bool]:
    """Where a launch writes, and whether it is the last: `out`, or a new tensor (rows, splits, batch)."""
    splits = splits_of(x, plan)
    return (out, True) if splits == 1 else (partial(place, x, splits, fold.dtype), False)


def partial(place: ExecutionSite, x: Tensor, splits: int, dtype: DType) -> Tensor:
    """A new tensor (rows, splits, batch) for the splits of the rows of x."""
    return place.new((size(x, 0), splits, size(x, 2)), dtype, order=(1, 0, 2))


def sum_products(place: ExecutionSite, x: Tensor, y: Tensor, out: Tensor) -> None:
    """out[i, 0, b] = the sum of x[i, j, b] * y[i, j, b] over row i."""
    fold, plan = Fold("sum", out.dtype.accumulator), plan_for(x, y)
    target, last = _target(place, x, out, fold, plan)
    place.run(dot_kernel, x, y, target, 1.0, fold=replace(fold, last=last), plan=plan)
    if not last:
        for operands, static in passes(place, target, out, fold):
            place.run(fold_kernel, *operands, **static)
