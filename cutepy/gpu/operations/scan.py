"""Sums and products so far along an axis: a workgroup scans a tile at a time and carries what it has.

Law: `out[i, j]` is the fold of x[i, 0] to x[i, j], in an order that the plan gives: equal inputs give equal bits. Where
rows are few, each part of a row is folded first, the folds of the parts are scanned, and each part goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from ... import gpu
from ...layout import Layout, ceil_div, size
from ...layout import _ as ALL
from ...tensor import Tensor, is_row_major, make_tensor, mode_sizes, rules
from .. import Expr, Fold, cached_launches
from .domain import THREADS, coordinate_of
from .fold import as_rows, partial
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

    Neighbouring threads stand side by side in a row with `along`, else in a column.
    """

    rows: int
    lanes: int
    along: bool

    @property
    def tile(self) -> int:
        """Elements of a row that the threads have at a time."""
        return self.lanes * VALUES


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)", "before": "(?...)"})
def scan_kernel(
    x: Tensor,
    out: Tensor,
    before: tuple[Tensor, ...],
    tiles: int,
    *,
    fold: Fold,
    plan: ScanPlan,
    totals: bool,
) -> None:
    """out[i, j, b] = the fold of row i up to column j, from before[0][i, part - 1, b] on, where there is any, of parts
    of so many `tiles`; with `totals` out[i, part, b] = the fold of each part of row i."""
    # Where the thread stands: its part of the rows, its row and its lane among the threads of that row.
    rows, columns = size(x, 0), size(x, 1)
    parts = size(out, 1) if totals else size(before[0], 1) if before else 1
    extents = parts, ceil_div(rows, plan.rows), size(x, 2)
    gpu.launch(grid=extents[0] * extents[1] * extents[2], threads=plan.rows * plan.lanes)
    (part, group, batch), tid = coordinate_of(gpu.workgroup.x, extents), gpu.thread
    x, out = x(ALL, ALL, batch), out(ALL, ALL, batch)
    row, lane = (tid // plan.lanes, tid % plan.lanes) if plan.along else (tid % plan.rows, tid // plan.rows)
    mine, identity = group * plan.rows + row, gpu.constant(fold.identity, fold.dtype)
    inside = gpu.minimum(mine, rows - 1)
    shared = gpu.shared(fold.dtype, Layout((plan.rows, plan.lanes), (plan.lanes, 1) if plan.along else (1, plan.rows)))
    values, carry = make_tensor(fold.dtype, VALUES), make_tensor(fold.dtype, 1)
    carry[0] = identity
    # What comes before this part of the row.
    if before:
        with gpu.when(part > 0):
            carry[0] = before[0](ALL, ALL, batch)[inside, part - 1]
    # Tiles of the part that are there: those of the last one end with the row.
    there = ceil_div(columns, plan.tile)
    begin = gpu.minimum(part * tiles, there)
    for t in gpu.loop(gpu.minimum(begin + tiles, there), start=begin):
        # The scan of the thread's neighbours, then of the lanes' sums; `start` is what comes before the thread.
        first = (t * plan.lanes + lane) * VALUES
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
    """A plan for `x` (rows, columns, batch), one of three: threads along what is near in memory."""
    if not is_row_major(x):
        return ScanPlan(32, 8, along=False)
    return ScanPlan(1, THREADS, along=True) if size(x, 1) > 4 * 32 else ScanPlan(8, 32, along=True)


def tiles_of_part(x: Tensor, plan: ScanPlan) -> int:
    """Tiles of a part of each row: all of them, or fewer where rows are few."""
    tiles, groups = ceil_div(size(x, 1), plan.tile), ceil_div(size(x, 0), plan.rows) * size(x, 2)
    return ceil_div(tiles, max(1, min(PARTS // groups, tiles // 4)))


@cached_launches
def scanned(call: str, x: object, axis: SupportsIndex, engine: str) -> Tensor:
    """The sums or the products so far, where `x` is or `engine` computes."""
    tensor = tensor_of(call, x)
    (along,) = rules.chosen_axes(call, len(mode_sizes(tensor)), (axis,))
    dtype = rules.folded_type(NAMES[call], tensor.dtype)
    place = place_of(call, engine, [tensor])
    result = place.new(mode_sizes(tensor), dtype)
    if result.size:
        source, target = as_rows(place, place.bring(tensor), result, along)
        scan_rows(place, source, target, Fold(NAMES[call], dtype.accumulator))
    return result


def scan_rows(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold) -> None:
    """out[i, j, b] = the fold of row i of x up to column j."""
    plan = plan_of(x)
    tiles = tiles_of_part(x, plan)
    parts = ceil_div(size(x, 1), tiles * plan.tile)
    before: tuple[Tensor, ...] = ()
    # Few rows: the folds of the parts, scanned in turn, are what each part goes on from.
    if parts > 1:
        each, before = partial(place, x, parts, fold.dtype), (partial(place, x, parts, fold.dtype),)
        place.run(scan_kernel, x, each, (), np.uint32(tiles), fold=fold, plan=plan, totals=True)
        scan_rows(place, each, before[0], fold)
    place.run(scan_kernel, x, out, before, np.uint32(tiles), fold=fold, plan=plan, totals=False)
