"""One kernel for sum, product, maximum ... over some axes of a tensor, run until one value a row is left.

Law: `out[i, s]` folds what split s takes of row i; the order depends on the layouts and the plan alone, so equal inputs
give equal bits. f16 is folded in f32, truths as 0 and 1 in u32, and a mean in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...layout import Layout, ceil_div, size
from ...layout import _ as ALL
from ...layout.values.int_tuple import leaves
from ...ops.rules import folded_type
from ...tensor.algorithms import fill, reduce_tree, transform
from ...tensor.dtypes import DType, bool_, u32
from ...tensor.make import make_tensor
from ...tensor.partition import local_tile, thread_value_partition
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.kernel import kernel
from .domain import power_of_two
from .operand import Place, steps_of

THREADS = 256
LEAST = {"f": float("-inf"), "i": -(1 << 31), "u": 0}
GREATEST = {"f": float("inf"), "i": (1 << 31) - 1, "u": (1 << 32) - 1}


@dataclass(frozen=True, slots=True)
class Fold:
    """An associative operation by its name, and the type in which it is done. `mean` divides by `count` at the end."""

    name: str
    dtype: DType
    count: int = 1

    def __str__(self) -> str:
        return f"{self.name} in {self.dtype}"

    @property
    def identity(self) -> float:
        """The value that changes nothing."""
        kind = self.dtype.kind
        ends = {"max": LEAST[kind], "min": GREATEST[kind]}
        return {"sum": 0, "mean": 0, "prod": 1, "any": 0, "all": 1, **ends}[self.name]

    def taken(self, value: Expr) -> Expr:
        """An element as it is folded."""
        met = functions.cast(value, bool_) if self.name in ("any", "all") else value
        return functions.cast(met, self.dtype)

    def combine(self, a: Expr, b: Expr) -> Expr:
        """Two values folded into one; NaN wins in max and min."""
        return _COMBINE[self.name](a, b)

    def finish(self, value: Expr, dtype: DType) -> Expr:
        """The result from the folded value, in its type."""
        whole = value / float(self.count) if self.name == "mean" else value
        return whole != 0 if dtype is bool_ else functions.cast(whole, dtype)


_COMBINE: dict[str, Callable[..., Expr]] = {
    "sum": lambda a, b: a + b,
    "mean": lambda a, b: a + b,
    "prod": lambda a, b: a * b,
    "max": functions.nan_maximum,
    "min": functions.nan_minimum,
    "any": functions.maximum,
    "all": functions.minimum,
}


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """How rows are shared out: a workgroup has `rows` of them and `lanes` threads for each, in `splits` workgroups.

    With `along`, neighbouring threads are in one row and take `vectors` times 4 neighbours at a time; else they are
    in neighbouring rows and take `vectors` columns.
    """

    rows: int
    lanes: int
    vectors: int
    splits: int
    along: bool

    def __str__(self) -> str:
        splits = f", rows in {self.splits} splits" if self.splits > 1 else ""
        return f"tiles of ({self.rows},{self.step}), (thread, value) {self.owned}{splits}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.rows * self.lanes

    @property
    def step(self) -> int:
        """Columns that a workgroup takes at a time."""
        return self.lanes * self.vectors * (4 if self.along else 1)

    @property
    def grid_of_threads(self) -> Layout:
        """(row, lane) to the index of the thread."""
        return Layout((self.rows, self.lanes), (self.lanes, 1) if self.along else (1, self.rows))

    @property
    def owned(self) -> Layout:
        """(thread, value) to the index in a tile of (rows, step)."""
        rows, lanes = self.rows, self.lanes
        if self.along:
            return Layout(((lanes, rows), (4, self.vectors)), ((4 * rows, 1), (rows, 4 * rows * lanes)))
        return Layout(((rows, lanes), self.vectors), ((1, rows), rows * lanes))

    def tiles(self, x: Tensor) -> bool:
        """Whether tiles of (rows, step) say where the elements of `x` are: its modes have to divide, or be one each."""
        if not isinstance(x.layout, Layout) or x.layout[1].depth:
            return False
        return not x.layout[0].depth or leaves(x.layout[0].shape)[0] % self.rows == 0

    def place(self, thread: Expr) -> tuple[Expr, Expr]:
        """The row and the lane of a thread."""
        if self.along:
            return thread // self.lanes, thread % self.lanes
        return thread % self.rows, thread // self.rows


def plan_for(x: Tensor, *, groups: int = 1024) -> FoldPlan:
    """A plan for `x` (rows, columns), with splits where its rows are too few to fill a GPU."""
    rows, columns = x.layout[0].size, x.layout[1].size
    near = steps_of(x)
    along = near[1] <= near[0] or rows == 1
    if along:
        lanes = min(THREADS, power_of_two(-(-columns // 4)))
        height = min(THREADS // lanes, power_of_two(rows))
        vectors = max(1, min(4, columns // (4 * lanes)))
    else:
        height = min(THREADS, 256 if rows > 64 * THREADS else 64, power_of_two(rows))
        lanes = min(THREADS // height, power_of_two(columns))
        vectors = max(1, min(4, columns // lanes))
    plan = FoldPlan(height, lanes, vectors, 1, along)
    tiles = -(-rows // height)
    splits = min(groups // tiles, columns // (4 * plan.step)) if tiles < groups // 4 else 1
    return FoldPlan(height, lanes, vectors, max(1, splits), along)


@kernel
def fold_kernel(x: Tensor, out: Tensor, *, fold: Fold, plan: FoldPlan) -> None:
    """out[i, s] = the fold of what split s takes of row i of x."""
    rows, columns, splits = size(x, 0), size(x, 1), plan.splits
    gpu.launch(grid=ceil_div(rows, plan.rows) * splits, threads=plan.threads)
    tile, split = gpu.workgroup.x // splits, gpu.workgroup.x % splits
    row, lane = plan.place(gpu.thread())
    mine = tile * plan.rows + row
    acc = make_tensor(fold.dtype, (4, plan.vectors) if plan.along else plan.vectors)
    fill(acc, fold.identity)

    def add(value: Expr, so_far: Expr) -> Expr:
        return fold.combine(so_far, fold.taken(value))

    whole = columns // plan.step if plan.tiles(x) else 0
    if whole:
        tiles = local_tile(x, (plan.rows, plan.step), (tile, ALL))
        for t in gpu.loop(whole, start=split, step=splits):
            transform(thread_value_partition(tiles(ALL, ALL, t), plan.owned), acc, acc, op=add)
    if whole * plan.step < columns:
        with gpu.when(mine < rows):
            first = whole * plan.step + split * plan.lanes + lane
            for j in gpu.loop(columns, start=first, step=splits * plan.lanes):
                acc[0] = add(x[mine, j], acc[0])

    partial = gpu.shared(fold.dtype, plan.grid_of_threads)
    partial[row, lane] = reduce_tree(acc, fold.identity, fold.combine)
    fold_lanes(plan.lanes, lane, lambda a, b: _into(partial, (row, a), (row, b), fold))
    with gpu.when((lane == 0) & (mine < rows)):
        value = partial[row, 0]
        out[mine, split] = value if splits > 1 else fold.finish(value, out.dtype)


def fold_lanes(lanes: int, lane: Expr, step: Callable[[Expr, Expr], None]) -> None:
    """A tree over the lanes of a row: `step(a, b)` folds what lane b has into lane a; lane 0 has all in the end."""
    half = lanes // 2
    while half:
        gpu.barrier()
        with gpu.when(lane < half):
            step(lane, lane + half)
        half //= 2


def _into(partial: Tensor, a: tuple[Expr, Expr], b: tuple[Expr, Expr], fold: Fold) -> None:
    partial[a] = fold.combine(partial[a], partial[b])


Pass = tuple[tuple[Tensor, Tensor], dict[str, object]]
"""One launch of `fold_kernel`: its tensors and its static arguments."""


def passes(place: Place, x: Tensor, out: Tensor, fold: Fold) -> Iterator[Pass]:
    """The launches after which out[i, 0] is the fold of row i of x."""
    while True:
        plan = plan_for(x)
        target = out if plan.splits == 1 else place.zeros((size(x, 0), plan.splits), fold.dtype)
        yield (x, target), {"fold": fold, "plan": plan}
        if target is out:
            return
        x = target


def accumulator(name: str, dtype: DType) -> DType:
    """The type in which elements of `dtype` are folded."""
    if name in ("any", "all"):
        return u32
    if name in ("sum", "prod", "mean"):
        return folded_type(name, dtype).accumulator
    return u32 if dtype is bool_ else dtype.accumulator
