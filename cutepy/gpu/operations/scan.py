"""Folds so far along an axis, by any associative function: a workgroup scans a tile at a time and carries what it has.

Law: `out[i, j]` is the fold of x[i, 0] to x[i, j], in an order that the plan gives: equal inputs give equal bits. Where
rows are few, each part of a row is folded first, the folds of the parts are scanned, and each part goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, SupportsIndex

from ... import gpu
from ...layout import Layout, ceil_div, size
from ...tensor import DType, Tensor, is_row_major, make_tensor, mode_sizes, rules, transform
from .. import Expr, Fold, cached_launches
from .fold import FoldPlan, Rows, as_rows, partials
from .operand import ExecutionSite, place_of, tensor_of

VALUES = 4
"""Neighbouring elements of a row that a thread scans at a time."""
RUN = 16
"""Lanes of a row whose sums a thread scans."""
PARTS = 256
"""Workgroups that a scan is cut into where its rows are fewer."""
NAMES = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}
"""The fold of each scan."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnFold:
    """An associative function of two values of `dtype` as a fold, and the value that it leaves the other one with."""

    function: Callable[[Expr, Expr], Any]
    identity: float
    dtype: DType

    def taken(self, value: Expr) -> Expr:
        """An element as it is folded."""
        return gpu.cast(value, self.dtype)

    def combine(self, a: Expr, b: Expr) -> Expr:
        """Two values folded into one."""
        found = self.function(a, b)
        return gpu.cast(found, self.dtype) if isinstance(found, Expr) else gpu.constant(found, self.dtype)


@gpu.kernel(sizes={"x": "(...)", "out": "(...)", "totals": "(?...)", "before": "(?...)"})
def scan_kernel(
    x: Tensor,
    out: tuple[Tensor, ...],
    totals: tuple[Tensor, ...],
    before: tuple[Tensor, ...],
    *,
    fold: Fold | OwnFold,
    plan: FoldPlan,
) -> None:
    """out[0][i, j, b] = the fold of row i up to column j, from before[0][i, part - 1, b] on, where there is any;
    totals[0][i, part, b] = the fold of each part of row i."""
    parts = (*totals, *before)
    rows = Rows(x, plan, size(parts[0], 1) if parts else 1)
    (high, wide), row, lane = plan.tile, rows.row, rows.lane
    mine, identity = rows.tile * high + row, gpu.constant(fold.identity, fold.dtype)
    values, (carry, start) = make_tensor(fold.dtype, plan.registers), (make_tensor(fold.dtype, 1) for _ in range(2))
    runs = [Layout((plan.lanes // RUN, RUN), (high * RUN, high))] if plan.lanes > RUN else []
    shared = gpu.shared(fold.dtype, plan.memory(*runs))
    carry[0] = identity
    # What comes before this part of the row.
    if before:
        with gpu.when(rows.split > 0):
            carry[0] = rows.of(before[0])[gpu.minimum(mine, rows.count - 1), rows.split - 1]

    def bring(at: Sequence[Any], whole: bool) -> None:
        met = rows.part(x, at, whole=whole)
        if whole:
            transform(met, values, op=fold.taken)
        else:
            exists = rows.exists(at)
            transform(rows.within, met, values, op=lambda j, v: gpu.select(exists(j), fold.taken(v), identity))

    def put(at: Sequence[Any], whole: bool) -> None:
        for target in out:
            mine = rows.part(target, at, whole=whole)
            transform(values, mine, op=lambda v: gpu.cast(fold.combine(start[0], v), out[0].dtype))

    first, end = rows.run(ceil_div(rows.columns, wide))
    for t in gpu.loop(end, start=first):
        rows.one_way((t,), bring)
        # The scan of the thread's neighbours, then of the lanes' sums; `start` is what comes before the thread.
        for v in range(1, VALUES):
            values[v] = fold.combine(values[v - 1], values[v])
        shared[row, lane] = values[VALUES - 1]
        earlier, added = _scan_lanes(shared, plan, row, lane, fold)
        start[0] = fold.combine(carry[0], earlier)
        rows.one_way((t,), put)
        carry[0] = fold.combine(carry[0], added)
        gpu.barrier()
    for target in totals:
        with gpu.when((lane == 0) & (mine < rows.count)):
            rows.of(target)[mine, rows.split] = carry[0]


def _scan_lanes(shared: Tensor, plan: FoldPlan, row: Expr, lane: Expr, fold: Fold | OwnFold) -> tuple[Expr, Expr]:
    """The fold of what the lanes before this one have in `shared`, (row, lane), and that of all lanes.

    Runs of lanes are scanned by a thread each; then every thread folds the runs before its own.
    """
    run = RUN if plan.lanes > RUN else 1
    runs, identity = plan.lanes // run, gpu.constant(fold.identity, fold.dtype)
    gpu.barrier()
    if run > 1:
        with gpu.when(lane < runs):
            held = [shared[row, lane * run + i] for i in range(run)]
            for i in range(1, run):
                held[i] = fold.combine(held[i - 1], held[i])
                shared[row, lane * run + i] = held[i]
        gpu.barrier()
    ends = [shared[row, i * run + run - 1] for i in range(runs)]
    mine = lane // run
    earlier = reduce(fold.combine, [gpu.select(mine > i, ends[i], identity) for i in range(runs - 1)], identity)
    if run > 1:
        near = shared[row, gpu.maximum(lane, 1) - 1]
        earlier = fold.combine(earlier, gpu.select(lane % run > 0, near, identity))
    return earlier, reduce(fold.combine, ends)


def plan_of(x: Tensor) -> FoldPlan:
    """A plan for `x` (rows, columns, batch), one of three: threads along what is near in memory, each with `VALUES`
    neighbours of a row."""
    rows, lanes, along = (
        (32, 8, False) if not is_row_major(x) else (1, 256, True) if size(x, 1) > 128 else (8, 32, True)
    )
    lane, row = (lanes, VALUES * rows), (rows, 1)
    (inner, step), (outer, far) = (lane, row) if along else (row, lane)
    threads = Layout(inner, step) if outer == 1 else Layout((inner, outer), (step, far))
    return FoldPlan((rows, lanes * VALUES), Layout((threads.shape, (1, VALUES)), (threads.stride, (0, rows))))


def parts_of(x: Tensor, plan: FoldPlan) -> int:
    """Into how many parts each row is cut, of at least 4 tiles, where rows are few."""
    tiles, groups = ceil_div(size(x, 1), plan.tile[1]), ceil_div(size(x, 0), plan.tile[0]) * size(x, 2)
    return max(1, min(PARTS // groups, tiles // 4))


@cached_launches
def scanned(
    call: str,
    x: object,
    axis: SupportsIndex,
    engine: str,
    function: Callable[[Expr, Expr], Any] | None = None,
    identity: float = 0,
) -> Tensor:
    """The folds so far, where `x` is or `engine` computes: of the scan of this name, or by a `function`."""
    tensor = tensor_of(call, x)
    (along,) = rules.chosen_axes(call, len(mode_sizes(tensor)), (axis,))
    dtype = tensor.dtype if function is not None else rules.folded_type(NAMES[call], tensor.dtype)
    place = place_of(call, engine, [tensor])
    result = place.new(mode_sizes(tensor), dtype)
    if result.size:
        source, target = as_rows(place, place.bring(tensor), result, along)
        fold = None if function is None else OwnFold(function, identity, dtype.accumulator)
        scan_rows(place, source, target, fold or Fold.over(NAMES[call], tensor.dtype))
    return result


def scan_rows(place: ExecutionSite, x: Tensor, out: Tensor, fold: Fold | OwnFold) -> None:
    """out[i, j, b] = the fold of row i of x up to column j."""
    plan = plan_of(x)
    parts = parts_of(x, plan)
    before: tuple[Tensor, ...] = ()
    # Few rows: the folds of the parts, scanned in turn, are what each part goes on from.
    if parts > 1:
        each, before = partials(place, x, parts, fold.dtype), (partials(place, x, parts, fold.dtype),)
        place.run(scan_kernel, x, (), (each,), (), fold=fold, plan=plan)
        scan_rows(place, each, before[0], fold)
    place.run(scan_kernel, x, (out,), (), before, fold=fold, plan=plan)
