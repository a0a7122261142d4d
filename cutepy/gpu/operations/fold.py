"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import gcd, prod
from typing import Any

from ... import gpu
from ...layout import (
    ComposedLayout,
    Layout,
    ceil_div,
    composition,
    conflict_free,
    from_modes,
    joined,
    leaves,
    make_layout,
    size,
)
from ...layout import _ as ALL
from ...tensor import (
    DType,
    Tensor,
    copy,
    fill,
    is_row_major,
    least_strides,
    local_tile,
    make_counting_tensor,
    make_tensor,
    mode_layouts,
    mode_sizes,
    reduce_tree,
    rules,
    thread_value_partition,
    transform,
    u32,
    with_layout,
)
from .. import Expr, Fold
from .copies import copy as copy_elements
from .domain import THREADS, VECTOR, coordinate_of, known, vector_width, zipped
from .operand import ExecutionSite
from .pointwise import ElementFunction

MANY_WORKGROUPS, ENOUGH_WORKGROUPS = 2048, 256
"""Workgroups that fill a GPU several times over, so that its processors end at one time, and that just fill it."""
MANY_ELEMENTS, SOME_ROWS, MANY_ROWS = 1 << 20, 2048, 4096
"""Elements from which there are more plans; rows that fill a GPU by a workgroup each, and rows side by side in memory
from which a tile has many."""
FEW = 256
"""Rows, and columns, up to which sums of products have one plan, at any strides: tiles of 4 rows by 256 columns. So
have rows of no more columns that would have a workgroup each: the scores of a cache at every length."""
LONG = 2048
"""Columns from which rows of many elements have a workgroup each, where states have one part."""
gpu.static_type(Fold)
TileFactor = tuple[int, int]
"""A factor of a tile: its mode, 0 along rows or 1 along columns, and its extent."""
State = tuple[Any, ...]
"""What a fold knows of some elements: a value for each of its parts."""
Combine = Callable[[State, State], State]
"""An associative operation on states."""


@gpu.static_type
@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How rows are shared out: workgroups take tiles of `tile` = (rows, columns). `owned` maps (thread, (value's row,
    value's column)) to the index in a tile; threads and values follow memory."""

    tile: tuple[int, int]
    owned: Layout
    width: int = 1
    """Neighbours in memory that a thread accesses at once, where the tensor is aligned."""
    staged: Layout | None = None
    """(thread, value) to the index in a tile by which threads copy it to shared memory and back, coalesced; None where
    each thread loads and stores what it owns."""

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
        return self.memory()

    def memory(self, *accesses: Layout) -> Layout | ComposedLayout:
        """The same for further accesses of neighbouring threads: layouts to the index of (row, lane)."""
        rows, lanes = self.tile[0], self.lanes
        shape, along_rows, along_lanes = self._thread_strides
        # The stores as a layout from (thread, value's row) to the index of (row, lane).
        steps = [row + rows * lane for row, lane in zip(along_rows, along_lanes, strict=True)]
        stored = make_layout(from_modes(shape, steps), self.owned[1][0])
        return conflict_free((rows, lanes), [stored, *accesses]).layout

    @property
    def staged_layout(self) -> Layout:
        """The layout in shared memory of a staged tile: whole rows, neighbouring threads' in different banks."""
        rows, columns = self.tile
        return Layout((rows, columns), (columns + (VECTOR if self.width > 1 else 1), 1))

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


def plan_for(x: Tensor, *others: Tensor, parts: int = 1) -> FoldPlan:
    """A plan for `x` (rows, columns, batch), one of few for all sizes, and of four for few elements: short rows have a
    thread each, others tiles along memory, of as many columns as rows have. The `others` are accessed like x; a state
    has so many `parts`, which fit shared memory."""
    rows, columns, every, many = size(x, 0), size(x, 1), size(x, 0) * size(x, 2), x.size >= MANY_ELEMENTS
    width, along = vector_width([x, *others]), is_row_major(x)
    if columns <= 16 or (columns < 32 and rows >= SOME_ROWS):
        if along:
            return plan_of_threads(THREADS, 8, 4 if many else 1)
        near, far = (0, 256), (1, 8)
    elif not along:
        if not many:
            near, far = (0, 16), (1, 256)
        elif rows >= MANY_ROWS:
            near, far = (0, 128), (1, 16)
        elif columns <= 64:
            near, far = (0, 32), (1, 64)
        else:
            near, far = ((0, 32), (1, 128)) if parts == 1 else ((0, 16), (1, 256))
    elif many and columns <= 128 and rows > 8:  # 128 rows a tile, where there are as many side by side
        near, far = ((1, 16), (0, 128)) if rows >= 128 else ((1, 32 if columns <= 32 else 64), (0, 32))
    elif not many and rows >= SOME_ROWS // 2 and columns <= 512 and size(x, 2) == 1:
        near, far = (1, 64), (0, 32)
    elif many and parts == 1 and columns >= LONG and every >= ENOUGH_WORKGROUPS and (width > 1 or every < SOME_ROWS):
        near, far = (1, 4096), (0, 1)
    elif many and every >= SOME_ROWS:
        near, far = (1, 128), (0, 16)
    else:
        near, far = (1, 1024), (0, 1)
    return plan_of_tile(near, far, width, 4 if parts > 2 else 8)


@lru_cache(maxsize=256)
def plan_of_tile(near: TileFactor, far: TileFactor, width: int, most_rows: int = 8) -> FoldPlan:
    """The plan of a tile of these factors: (mode, extent), 0 along rows and 1 along columns, the nearest in memory
    first, which is accessed `width` neighbours at once.

    >>> print(plan_of_tile((1, 1024), (0, 1), 4))
    tiles of (1,1024), (thread, value) (256,(1,4)):(4,(0,1))
    """
    return FoldPlan(*_tile_of_factors([near, far], width, THREADS, most_rows), width)


@lru_cache(maxsize=16)
def plan_of_staged_rows(rows: int, columns: int, width: int) -> FoldPlan:
    """The plan of tiles of which each thread has a row, brought by all of them through shared memory.

    >>> plan = plan_of_staged_rows(48, 24, 1)
    >>> print(plan, plan.staged, plan.staged_layout)
    tiles of (48,24), (thread, value) (48,(1,24)):(1,(0,48)) ((24,2),(24,1)):((48,1),(2,48)) (48,24):(25,1)
    """
    lanes, step = columns // width, rows * width // columns
    staged = Layout(((lanes, step), (lanes, width)), ((rows * width, 1), (step, rows)))
    return replace(plan_of_threads(rows, columns, width), staged=staged)


@lru_cache(maxsize=16)
def plan_of_threads(rows: int, columns: int, width: int) -> FoldPlan:
    """The plan of tiles of which each thread has a row, accessed `width` neighbours at once.

    >>> print(plan_of_threads(256, 8, 1))
    tiles of (256,8), (thread, value) (256,(1,8)):(1,(0,256))
    """
    return FoldPlan((rows, columns), Layout((rows, (1, columns)), (1, (0, rows))), width)


def splits_of(x: Tensor, plan: FoldPlan) -> int:
    """Into how many splits rows are cut, of at least 4 tiles each, where their tiles are too few to fill a GPU."""
    short = x.size < 64 * MANY_ELEMENTS  # a second pass takes a good part of its time
    enough = ENOUGH_WORKGROUPS if short else 2 * ENOUGH_WORKGROUPS
    more = size(x, 3) if x.rank == 4 else 1
    tiles, turns = ceil_div(size(x, 0), plan.tile[0]) * size(x, 2), ceil_div(size(x, 1), plan.tile[1]) * more
    return max(1, min(MANY_WORKGROUPS // tiles, turns // 4)) if tiles < enough else 1


def _tile_of_factors(
    factors: list[tuple[int, int]], width: int, threads: int, most_rows: int = 8
) -> tuple[tuple[int, int], Layout]:
    """The tile (rows, columns) of these factors, and its layout from (thread, (value's row, value's column)): each bit
    of the index in the order of memory belongs to the thread or to the value.

    A vector of `width` neighbours is of one thread and 32 of these lie side by side; more values of a thread, of the
    same row where there are, lie as far apart as they can. A thread has at most `most_rows` rows.
    """
    # For each bit of the index its mode: 0 leads along the rows, 1 along the columns.
    bits = [mode for mode, extent in factors for _ in range(extent.bit_length() - 1)]
    first = (gcd(width, factors[0][1]) if factors else 1).bit_length() - 1
    while True:
        # Bits `first` to `first + 4` are 32 threads. Of those above, bits of the columns become values first.
        others = sorted(range(first + 5, len(bits)), key=lambda place: (-bits[place], -place))
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
    with its elements. The tiles of each row are cut into `splits` runs. A fourth mode of the tensor has more columns.

    `tile` is the number of the workgroup's tile of rows, `batch` that of its matrix, `split` that of its run; `row` is
    the first row of the thread in the tile, `lane` its number among the threads that share its rows.
    """

    def __init__(self, x: Tensor, plan: FoldPlan, splits: Any) -> None:
        self.plan, self.count, self.columns, self.splits = plan, size(x, 0), size(x, 1), splits
        self.more = size(x, 3) if x.rank == 4 else 1
        # What lies in between the rows comes first: it shares their sectors of memory.
        extents = size(x, 2), ceil_div(self.count, plan.tile[0]), splits
        if all(isinstance(n, int) for n in extents):  # a grid of one axis may be longer
            gpu.launch(grid=prod(extents), threads=plan.threads)
            self.batch, self.tile, self.split = coordinate_of(gpu.workgroup.x, extents)
        else:
            gpu.launch(grid=extents, threads=plan.threads)
            self.batch, self.tile, self.split = gpu.workgroup.x, gpu.workgroup.y, gpu.workgroup.z
        self.row, self.lane = plan.place(gpu.thread)
        #: Whether all rows of the tile are there.
        self.whole = self.tile < self.count // plan.tile[0]
        #: The column of each value of the thread in a tile.
        self.within = self._owned(make_counting_tensor(Layout(plan.tile, (0, 1)), dtype=u32))

    def of(self, x: Tensor, *more: Any) -> Tensor:
        """The matrix of the workgroup in a tensor (rows, columns, batch)."""
        found: Tensor = x(ALL, ALL, self.batch, *more)
        return found

    def _owned(self, tile: Tensor) -> Tensor:
        return thread_value_partition(tile, self.plan.owned)

    def bring(self, x: Tensor, at: Sequence[Any], mine: Tensor, staged: Tensor | None) -> None:
        """Load what the thread has of tile `at` of its rows of `x`, through shared memory where that is `staged`."""
        if staged is None or self.plan.staged is None:
            copy(self.part(x, at, whole=False), mine)
            return
        if self.plan.width > 1:
            copy(*[thread_value_partition(tile, self.plan.staged) for tile in (self._tile(x, at), staged)])
        else:
            # Beyond the columns, and the rows, the last one is loaded again: no load has a guard, and rows of a whole
            # tile are not compared with their count. With guards softmax took 1.1 to 1.9 times as long.
            matrix, (first, places, column) = self.of(x), self._across()
            near, held = gpu.minimum(column, self.columns - 1), make_tensor(x.dtype, len(places))
            with gpu.when(self.whole):
                for i, place in enumerate(places):
                    held[i] = matrix[first + place, near]
            with gpu.when(~self.whole):
                for i, place in enumerate(places):
                    held[i] = matrix[gpu.minimum(first + place, self.count - 1), near]
            for i, place in enumerate(places):
                staged[place, column] = gpu.cast(held[i], staged.dtype)
        gpu.barrier()
        copy(self._owned(staged), mine)

    def put(self, mine: Tensor, y: Tensor, at: Sequence[Any], staged: Tensor | None) -> None:
        """Store what the thread has of tile `at` of its rows of `y`, through shared memory where that is `staged`."""
        if staged is None or self.plan.staged is None:
            copy(mine, self.part(y, at, whole=False))
            return
        copy(mine, self._owned(staged))
        gpu.barrier()
        if self.plan.width > 1:
            copy(*[thread_value_partition(tile, self.plan.staged) for tile in (staged, self._tile(y, at))])
            return
        matrix, (first, places, column) = self.of(y), self._across()
        with gpu.when(column < self.columns):
            with gpu.when(self.whole):
                for place in places:
                    matrix[first + place, column] = gpu.cast(staged[place, column], y.dtype)
            with gpu.when(~self.whole):  # one tile of all, in less text
                for i in gpu.loop(len(places)):
                    place = places[0] + i * (self.plan.tile[0] // len(places))
                    with gpu.when(first + place < self.count):
                        matrix[first + place, column] = gpu.cast(staged[place, column], y.dtype)

    def _across(self) -> tuple[Expr, list[Expr], Expr]:
        """The first row of the tile, and what a thread copies of it: the rows, and the column that it has in each, as
        `plan.staged` says."""
        rows, wide = self.plan.tile
        row = gpu.thread // wide
        return self.tile * rows, [row + rows // wide * i for i in range(wide)], gpu.thread % wide

    def part(self, x: Tensor, at: Sequence[Any], *, whole: bool) -> Tensor:
        """What the thread has of tile `at` of its rows of `x`, (value's row, value's column); with `whole`, of a tile
        all elements of which are there."""
        tile = self._tile(x, at)
        return self._owned(Tensor(tile.engine, tile.layout, tile.offset) if whole else tile)

    def _tile(self, x: Tensor, at: Sequence[Any]) -> Tensor:
        if x.rank < 3:  # (columns, batch), the same for all rows
            shared: Tensor = local_tile(x(ALL, self.batch), self.plan.tile[1:], (at[0],))
            return composition(shared, Layout(self.plan.tile, (0, 1)))
        found: Tensor = local_tile(self.of(x, *at[1:]), self.plan.tile, (self.tile, at[0]))
        return found

    def exists(self, at: Sequence[Any]) -> Callable[[Expr], Expr]:
        """Whether there is a column, counted in tile `at`."""
        return lambda column: at[0] * self.plan.tile[1] + column < self.columns

    def walk(self, meet: Callable[[Sequence[Any], bool], None]) -> None:
        """Do `meet(at, True)` for each whole tile of the split, and `meet(at, False)` for one that ends beyond the rows
        or the columns."""
        wide = self.plan.tile[1]
        tiles = ceil_div(self.columns, wide)
        first, end = self.run(tiles * self.more)
        for turn in gpu.loop(end, start=first):
            at: tuple[Expr, ...] = (turn,)
            if not known(self.more == 1):
                # The minimum changes nothing: it tells the proof that there is such an index.
                at = (turn % tiles, gpu.minimum(turn // tiles, self.more - 1))
            self.one_way(at, meet)

    def one_way(self, at: Sequence[Any], meet: Callable[[Sequence[Any], bool], None]) -> None:
        """Do `meet(at, True)` where all elements of tile `at` are there, else `meet(at, False)`."""
        whole = self.whole & (at[0] < self.columns // self.plan.tile[1])
        with gpu.when(whole):
            meet(at, True)
        with gpu.when(~whole):
            meet(at, False)

    def run(self, tiles: Any) -> tuple[Any, Any]:
        """The first of so many tiles of a row that the split takes, and the end of its run."""
        if known(self.splits == 1):
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
        # Of so many lanes that are left each takes in what others have, a few at a time.
        lanes, few = self.plan.lanes, 16 if len(places) == 1 else 4
        while lanes > 1:
            taken = min(few, lanes)
            lanes //= taken
            gpu.barrier()
            with gpu.when(self.lane < lanes):
                for place in places:
                    met: list[State] = [state_at(shared, place, self.lane + lanes * i) for i in range(taken)]
                    folded: State = reduce(combine, met)
                    put_state(shared, folded, place, self.lane)

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
    """Tensors (rows, columns) over the same factors as flat (rows, columns, batch), or (rows, columns, batch, columns):
    of two factors of the rows one is the batch. None where there are more of either."""
    if any(type(t.layout) is not Layout for t in tensors):
        return None
    modes = [
        [
            [(n, d) for n, d in zip(leaves(mode.shape), leaves(mode.stride), strict=True) if n > 1]
            for mode in mode_layouts(t)
        ]
        for t in tensors
    ]
    rows, columns = modes[0]
    alike = all(
        [n for n, _ in own] == [n for n, _ in rows] and [n for n, _ in across] in ([n for n, _ in columns], [])
        for own, across in modes
    )
    if max(len(rows), len(columns)) > 2 or not alike:
        return None
    # The nearest factor is the rows, unless it is short: a tile would reach far beyond it. So it is of the columns,
    # but where these are neighbours.
    far_rows = len(rows) == 2 and rows[0][0] < min(16, rows[1][0])
    far_columns = len(columns) == 2 and columns[0][0] < columns[1][0] and abs(columns[0][1]) != 1
    found = []
    for t, (own, across) in zip(tensors, modes, strict=True):
        row, batch = (own + [(1, 0)] * 2)[:2][:: -1 if far_rows else 1]
        column, more = (across + [(1, 0)] * 2)[:2][:: -1 if far_columns else 1]
        flat = [row, column, batch, *([more] if len(across) == 2 else [])]
        found.append(with_layout(t, from_modes([n for n, _ in flat], [d for _, d in flat])))
    return found


def as_rows(place: ExecutionSite, x: Tensor, y: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Two tensors of one shape, y a compact one, as (rows, columns, batch), the columns those of an axis; x is a copy
    where its layout has no such factors."""
    modes = [mode_layouts(tensor) for tensor in (x, y)]
    rest, along = [[m[i] for i in range(len(m)) if i != axis] for m in modes], [m[axis] for m in modes]
    if (found := rows_of((x, y), rest, along)) is not None and found[0].rank == 3:
        return found[0], found[1]
    # y has one stride for each axis, so the rest is one factor, and a copy in this order too.
    order = [*(i for i in range(len(modes[0])) if i != axis), axis]
    whole = [with_layout(t, [m[i] for i in order]) for t, m in zip((x, y), modes, strict=True)]
    fresh = place.new(
        mode_sizes(whole[0]), x.dtype, order=sorted(range(len(order)), key=lambda i: least_strides(whole[1])[i])
    )
    copy_elements(whole[0], fresh, engine=place.engine)
    modes = [mode_layouts(tensor) for tensor in (fresh, whole[1])]
    found = rows_of((fresh, y), [m[:-1] for m in modes], [m[-1] for m in modes])
    assert found is not None, "both are compact"
    return found[0], found[1]


def rows_of(
    tensors: Sequence[Tensor], kept: Sequence[Sequence[Layout]], columns: Sequence[Layout]
) -> list[Tensor] | None:
    """Tensors as `matrices` gives them, over rows of the axes that each has `kept` and these columns; None where they
    share no factors, or too many."""
    rows = zipped([kept[-1], *kept[:-1]])
    if rows is None:
        return None
    return matrices(*[with_layout(t, [r, c]) for t, r, c in zip(tensors, [*rows[1:], rows[0]], columns, strict=True)])


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)"})
def fold_kernel(x: Tensor, out: Tensor, count: float, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s, b] = the fold of what split s takes of row i of x; a mean is that over `count`, 0 where more is to be
    folded."""
    _fold((x,), out, count, fold, plan, lambda value, so_far: fold.combine(so_far, fold.taken(value)))


fold_elements = gpu.kernel(sizes={"x": "(?...)", "out": "(?...)"})(fold_kernel.function)
"""The same for plans without vectors: one text for all strides."""


@gpu.kernel(sizes={"x": "(...)", "y": "(...)", "out": "(?...)"})
def dot_kernel(x: Tensor, y: Tensor, out: Tensor, count: float, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s, b] = the sum of x[i, j, b] * y[i, j, b] over what split s takes of row i; y (columns, batch) has the
    same of all rows."""

    def add(one: Expr, other: Expr, so_far: Expr) -> Expr:
        factors = fold.taken(one), fold.taken(other)
        return gpu.fma(*factors, so_far) if fold.dtype.kind == "f" else so_far + factors[0] * factors[1]

    _fold((x, y), out, count, fold, plan, add)


dot_elements = gpu.kernel(sizes={"x": "(M,N,B,?...)", "y": "(M,N,B,?...)", "out": "(?...)"})(dot_kernel.function)
"""The same for any strides, by one text."""
dot_rows = gpu.kernel(sizes={**dict.fromkeys("xy", "(M,N,B):(?,1,?)"), "out": "(?...)"})(dot_kernel.function)
"""The same for columns side by side in both, where a thread has one row: y may repeat or not, by one text."""
dot_columns = gpu.kernel(sizes={"x": "(M,N,B):(1,?,?)", "y": "(N,B,?...)", "out": "(?...)"})(dot_kernel.function)
"""The same for rows side by side in memory, and a y that all of them share, at any strides."""


@dataclass(frozen=True, slots=True)
class Lift:
    """A chain as what a fold takes of each column: its operation, and the types of its tensors and numbers."""

    operation: ElementFunction
    types: tuple[DType | rules.WeakNumber, ...]
    dtype: DType

    def of(self, elements: Sequence[Expr], numbers: Sequence[Expr]) -> Expr:
        """What is folded, of the elements of the tensors."""
        return self.operation.of_elements([*elements, *numbers], self.types, self.dtype)


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)"})
def lifted_fold_kernel(
    x: tuple[Tensor, ...],
    out: Tensor,
    count: float,
    numbers: tuple[Expr, ...],
    *,
    fold: Fold,
    plan: FoldPlan,
    lift: Lift,
) -> None:
    """out[i, s, b] = the fold of `lift` of the elements of all x in row i, over what split s takes of it."""

    def add(*values: Expr) -> Expr:
        return fold.combine(values[-1], fold.taken(lift.of(values[:-1], numbers)))

    _fold(x, out, count, fold, plan, add)


def _fold(
    sources: tuple[Tensor, ...], out: Tensor, count: Any, fold: Fold, plan: FoldPlan, add: Callable[..., Expr]
) -> None:
    """The body of all three kernels: `add(*elements, so_far)` in registers, then a tree over the lanes."""
    rows = Rows(sources[0], plan, size(out, 1))
    acc = make_tensor(fold.dtype, plan.registers)  # the text has it under this name
    fill(acc, fold.identity)
    target = rows.of(out)

    def meet(at: Sequence[Any], whole: bool) -> None:
        met = [rows.part(x, at, whole=whole) for x in sources]
        if whole:
            transform(*met, acc, acc, op=add)
            return
        exists = rows.exists(at)

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
        yield (x, target, 1.0 * count), {"fold": replace(fold, last=last), "plan": plan}
        if last:
            return
        x, fold = target, replace(fold, again=True)


def run_passes(place: ExecutionSite, launches: Iterable[Pass]) -> None:
    """Make these launches."""
    for operands, static in launches:
        plan = static["plan"]
        place.run(fold_kernel if isinstance(plan, FoldPlan) and plan.width > 1 else fold_elements, *operands, **static)


def _target(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold, plan: FoldPlan) -> tuple[Tensor, bool]:
    """Where a launch writes, and whether it is the last: `out`, or a new tensor (rows, splits, batch)."""
    splits = splits_of(x, plan)
    return (out, True) if splits == 1 else (partials(place, x, splits, fold.dtype), False)


def partials(place: ExecutionSite, x: Tensor, splits: int, dtype: DType) -> Tensor:
    """A new tensor (rows, splits, batch) for the splits of the rows of x."""
    return place.new((size(x, 0), splits, size(x, 2)), dtype, order=(1, 0, 2))


def sum_products(place: ExecutionSite, x: Tensor, y: Tensor, out: Tensor) -> None:
    """out[i, 0, b] = the sum of x[i, j, b] * y[i, j, b] over row i."""
    fold = Fold("sum", out.dtype.accumulator)
    rows, columns = (tuple([leaves(mode_layouts(t)[mode].stride)[0] for t in (x, y)]) for mode in (0, 1))
    shared = x.rank == 3 and rows == (1, 0)
    plan, kernel = plan_for(x) if shared else plan_for(x, y), dot_elements
    if size(x, 1) <= FEW and (x.size <= FEW * size(x, 1) or plan.tile == (1, 4 * FEW)):
        plan = plan_of_tile((1, FEW), (0, 4), 1)
    elif shared:
        kernel, y = dot_columns, with_layout(y, mode_layouts(y)[1:])
    elif x.rank == 3 and columns == (1, 1) and len(plan.heights) == 1:
        kernel = dot_rows
    elif (1, 1) in (rows, columns):
        kernel = dot_kernel
    target, last = _target(place, x, out, fold, plan)
    place.run(kernel, x, y, target, 1.0, fold=replace(fold, last=last), plan=plan)
    if not last:
        run_passes(place, passes(place, target, out, fold))
