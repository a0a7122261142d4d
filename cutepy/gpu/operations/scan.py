"""Sums and products so far along an axis: a workgroup scans a tile at a time and carries what it has.

Law: `out[i, j]` is the fold of x[i, 0] to x[i, j], in an order that the plan gives: equal inputs give equal bits. Where
rows are few, each part of a row is folded first, the folds of the parts are scanned, and each part goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsIndex

from ... import gpu
from ...layout import Layout, ceil_div, size
from ...tensor import Tensor, is_row_major, make_tensor, mode_sizes, rules
from .. import Expr, Fold, cached_launches
from .domain import THREADS, power_of_two
from .fold import as_rows
from .operand import ExecutionSite, place_of, tensor_of

VALUES = 4
"""Neighbouring elements of a row that a thread scans at a time."""
PARTS = 256
"""Workgroups that a scan is cut into where its rows are fewer."""
NAMES = {"cumsum": "sum", "cumprod": "prod"}
"""The fold of each scan."""


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """`rows` rows of a workgroup by `lanes` threads each, of which each has 4 neighbours of a tile.

    Neighbouring threads stand side by side in a row with `along`, else in a column; a part of a row has `tiles` tiles.
    """

    rows: int
    lanes: int
    along: bool
    tiles: int

    @property
    def part(self) -> int:
        """Elements of a part."""
        return self.tiles * self.lanes * VALUES


@gpu.kernel
def scan_kernel(
    x: Tensor, out: Tensor, before: tuple[Tensor, ...], *, fold: Fold, plan: ScanPlan, totals: bool
) -> None:
    """out[i, j] = the fold of row i up to column j, from before[0][i, part - 1] on, where there is any; with `totals`
    out[i, part] = the fold of each part of row i."""
    # Where the thread stands: its part of the rows, its row and its lane among the threads of that row.
    rows, columns = size(x, 0), size(x, 1)
    parts = ceil_div(columns, plan.part)
    gpu.launch(grid=ceil_div(rows, plan.rows) * parts, threads=plan.rows * plan.lanes)
    group, part, tid = gpu.workgroup.x // parts, gpu.workgroup.x % parts, gpu.thread
    row, lane = (tid // plan.lanes, tid % plan.lanes) if plan.along else (tid % plan.rows, tid // plan.rows)
    mine, identity = group * plan.rows + row, gpu.constant(fold.identity, fold.dtype)
    inside = gpu.minimum(mine, rows - 1)
    shared = gpu.shared(fold.dtype, Layout((plan.rows, plan.lanes), (plan.lanes, 1) if plan.along else (1, plan.rows)))
    values, carry = make_tensor(fold.dtype, VALUES), make_tensor(fold.dtype, 1)
    carry[0] = identity
    # What comes before this part of the row.
    if before:
        earlier = before[0][inside, gpu.maximum(part, 1) - 1]
        carry[0] = gpu.select(part > 0, earlier, identity)
    for t in gpu.loop(plan.tiles):
        # The scan of the thread's neighbours, then of the lanes' sums; `start` is what comes before the thread.
        first = part * plan.part + (t * plan.lanes + lane) * VALUES
        for v in range(VALUES):
            met = fold.taken(x[inside, gpu.minimum(first + v, columns - 1)])
            met = gpu.select(first + v < columns, met, identity)
            values[v] = fold.combine(values[v - 1], met) if v else met
        shared[row, lane] = values[VALUES - 1]
        _scan_lanes(shared, plan, row, lane, fold.combine)
        left = gpu.select(lane > 0, shared[row, gpu.maximum(lane, 1) - 1], identity)
        start = fold.combine(carry[0], left)
        if not totals:
            for v in range(VALUES):
                with gpu.when((mine < rows) & (first + v < columns)):
                    out[mine, first + v] = gpu.cast(fold.combine(start, values[v]), out.dtype)
        carry[0] = fold.combine(carry[0], shared[row, plan.lanes - 1])
        gpu.barrier()
    if totals:
        with gpu.when((lane == 0) & (mine < rows)):
            out[mine, part] = carry[0]


def _scan_lanes(shared: Tensor, plan: ScanPlan, row: Expr, lane: Expr, op: Callable[[Expr, Expr], Expr]) -> None:
    """shared[row, lane] = the fold of all lanes up to this one. Source: Hillis and Steele (1986)."""
    # After the step of 2**n each lane has the fold of 2**(n+1) lanes up to it.
    step = 1
    gpu.barrier()
    while step < plan.lanes:
        near = shared[row, gpu.maximum(lane, step) - step]
        found = gpu.select(lane >= step, op(near, shared[row, lane]), shared[row, lane])
        held = make_tensor(found.dtype, 1)
        held[0] = found
        gpu.barrier()
        shared[row, lane] = held[0]
        gpu.barrier()
        step *= 2


def plan_of(x: Tensor) -> ScanPlan:
    """A plan for `x` (rows, columns): threads along what is near in memory, parts where rows are few."""
    (rows, columns), along = (size(x, mode) for mode in (0, 1)), is_row_major(x)
    lanes = min(THREADS if along else 8, power_of_two(ceil_div(columns, VALUES)))
    height = min(THREADS // lanes, power_of_two(rows))
    tiles = ceil_div(columns, lanes * VALUES)
    parts = max(1, min(PARTS // ceil_div(rows, height), tiles // 4))
    return ScanPlan(height, lanes, along, ceil_div(tiles, parts))


@cached_launches
def scanned(call: str, x: object, axis: SupportsIndex, engine: str) -> Tensor:
    """The sums or the products so far, where `x` is or `engine` computes."""
    tensor = tensor_of(call, x)
    (along,) = rules.chosen_axes(call, len(mode_sizes(tensor)), (axis,))
    dtype = rules.folded_type(NAMES[call], tensor.dtype)
    place = place_of(call, engine, [tensor])
    result = place.new(mode_sizes(tensor), dtype)
    if result.size:
        (source, target), _ = as_rows(place.bring(tensor), result, along, in_order=True)
        scan_rows(place, source, target, Fold(NAMES[call], dtype.accumulator))
    return result


def scan_rows(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold) -> None:
    """out[i, j] = the fold of row i of x up to column j."""
    plan = plan_of(x)
    parts = ceil_div(size(x, 1), plan.part)
    before: tuple[Tensor, ...] = ()
    # Few rows: the folds of the parts, scanned in turn, are what each part goes on from.
    if parts > 1:
        each, before = place.new((size(x, 0), parts), fold.dtype), (place.new((size(x, 0), parts), fold.dtype),)
        place.run(scan_kernel, x, each, (), fold=fold, plan=plan, totals=True)
        scan_rows(place, each, before[0], fold)
    place.run(scan_kernel, x, out, before, fold=fold, plan=plan, totals=False)
