"""Softmax along one axis: rows in registers where they fit, else in two passes, and in pieces where rows are few.

Law: `y[i] = exp(x[i] - m) / sum(exp(x - m))` with m the greatest of the row, in f32; a row with a NaN or an infinite
greatest element, or of -inf alone, is NaN, as the formula says. Source of the one-pass maximum and sum: Milakov and
Gimelshein, arXiv 1805.02867.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsIndex

from ... import gpu
from ...layout import _ as ALL
from ...layout import ceil_div, size
from ...tensor import (
    Tensor,
    copy,
    f32,
    fill,
    make_tensor,
    mode_sizes,
    reduce_tree,
    rules,
    transform,
)
from .. import Expr, cached_launches
from .fold import NEIGHBOUR_ROWS, FoldPlan, Rows, as_rows, columns_like, plan_for, plan_of_whole_rows
from .operand import ExecutionSite, place_of, tensor_of
from .pointwise import converted

MOST_VALUES = 64
"""Elements of its rows that one thread keeps in registers at most."""
LOWEST = -3.4028234663852886e38
"""Less than or equal to every finite f32, so that `-inf - LOWEST` is no NaN."""


@gpu.kernel
def softmax_kernel(x: Tensor, y: Tensor, *, plan: FoldPlan) -> None:
    """y[i, :] = softmax of x[i, :], each thread with its part of its rows in registers."""
    # The thread's part of its rows; beyond the row there is nothing, of which exp gives 0.
    rows, columns = Rows(x, plan), size(x, 1)
    source, target, column = (rows.parts(t)(0) for t in (x, y, columns_like(x)))
    mine = make_tensor("f32", plan.registers)
    copy(source, mine)
    if columns % plan.tile[1]:
        transform(mine, column, mine, op=lambda v, j: gpu.select(j < columns, v, float("-inf")))
    # The greatest element, then the sum below it, each over the registers and then over the lanes of a row.
    held = [mine(i, ALL) for i in range(len(plan.heights))]
    scratch = gpu.shared("f32", plan.scratch)
    tops = (reduce_tree(row, LOWEST, gpu.nan_maximum) for row in held)
    largest = _over_lanes(scratch, rows, [*tops], gpu.nan_maximum)
    for row, top in zip(held, largest, strict=True):
        transform(row, op=lambda v, top=top: gpu.exp(v - top))
    totals = _over_lanes(scratch, rows, [reduce_tree(row, 0, _add) for row in held], _add)
    for row, total in zip(held, totals, strict=True):
        transform(row, op=lambda v, total=total: v / total)
    copy(mine, target)


def _over_lanes(scratch: Tensor, rows: Rows, values: list[Expr], op: Callable[[Expr, Expr], Expr]) -> list[Expr]:
    """What `op` gives over all lanes of a row, for each row of the thread, whose `values` these are; in each lane."""
    rows.over_lanes((scratch,), [(value,) for value in values], lambda one, other: (op(one[0], other[0]),))
    gpu.barrier()
    found = [scratch[rows.row + height, 0] for height in rows.plan.heights]
    gpu.barrier()  # all have read it before it is written again
    return found


def _add(a: Expr, b: Expr) -> Expr:
    return a + b


@gpu.kernel
def softmax_sums_kernel(x: Tensor, tops: Tensor, totals: Tensor, *, plan: FoldPlan) -> None:
    """tops[i, s] = the greatest element that split s meets in row i of x, totals[i, s] = the sum of exp(x - tops)."""
    rows, columns, places = Rows(x, plan), size(x, 1), range(len(plan.heights))
    top, total, met = (make_tensor("f32", shape) for shape in (len(places), len(places), plan.registers))
    fill(top, LOWEST)
    fill(total, 0)
    source, column = (rows.parts(t) for t in (x, columns_like(x)))

    def meet() -> None:
        # A greater element makes the sum so far smaller: it is scaled from the old maximum to the new one.
        for i in places:
            new = gpu.nan_maximum(top[i], reduce_tree(met(i, ALL), LOWEST, gpu.nan_maximum))
            transform(met(i, ALL), op=lambda v, new=new: gpu.exp(v - new))
            total[i] = total[i] * gpu.exp(top[i] - new) + reduce_tree(met(i, ALL), 0, _add)
            top[i] = new

    def meet_tile(t: Expr | int) -> None:
        copy(source(t), met)
        if not isinstance(t, Expr):  # the tile that ends beyond the row
            transform(met, column(t), met, op=lambda v, j: gpu.select(j < columns, v, float("-inf")))
        meet()

    def meet_one(mine: Expr, j: Expr) -> None:
        met[0] = gpu.cast(x[mine, j], "f32")
        meet()

    rows.walk(meet_tile, meet_tile, meet_one)
    # The maximum over the lanes; then the sums of the lanes, each scaled to it.
    scratch = gpu.shared("f32", plan.scratch)
    largest = _over_lanes(scratch, rows, [top[i] for i in places], gpu.nan_maximum)
    sums = _over_lanes(scratch, rows, [total[i] * gpu.exp(top[i] - largest[i]) for i in places], _add)
    for (here, mine, _), greatest, added in zip(rows.rows_to_store(), largest, sums, strict=True):
        with gpu.when(here):
            tops[mine, rows.split], totals[mine, rows.split] = greatest, added


@gpu.kernel
def softmax_quotients_kernel(x: Tensor, y: Tensor, tops: Tensor, totals: Tensor, *, plan: FoldPlan) -> None:
    """y[i, :] = exp(x[i, :] - the greatest of tops[i, :]), over the sum of all totals of row i below that."""
    rows, columns = Rows(x, plan), size(x, 1)
    tile, row, lane, split, splits = rows.tile, rows.row, rows.lane, rows.split, plan.splits
    mine = [gpu.minimum(tile * plan.tile[0] + row + height, rows.count - 1) for height in plan.heights]
    # Of each row of the thread the maximum and the sum over all splits of the first pass.
    if size(tops, 1) == 1:
        largest, sums = ([parts[i, 0] for i in mine] for parts in (tops, totals))
    else:
        scratch = gpu.shared("f32", plan.scratch)
        top, total = (make_tensor("f32", len(mine)) for _ in range(2))
        fill(top, LOWEST)
        fill(total, 0)
        for s in gpu.loop(size(tops, 1), start=lane, step=plan.lanes):
            for place, i in enumerate(mine):
                top[place] = gpu.nan_maximum(top[place], tops[i, s])
        largest = _over_lanes(scratch, rows, [top[place] for place in range(len(mine))], gpu.nan_maximum)
        for s in gpu.loop(size(tops, 1), start=lane, step=plan.lanes):
            for place, i in enumerate(mine):
                total[place] = total[place] + totals[i, s] * gpu.exp(tops[i, s] - largest[place])
        sums = _over_lanes(scratch, rows, [total[place] for place in range(len(mine))], _add)
    # The quotients, tile by tile; guards of the tiles leave out what is beyond the row.
    if plan.tiled:
        source, target = (rows.parts(t) for t in (x, y))
        met = make_tensor("f32", plan.registers)
        for t in gpu.loop(ceil_div(columns, plan.tile[1]), start=split, step=splits):
            copy(source(t), met)
            for i, (top, total) in enumerate(zip(largest, sums, strict=True)):
                transform(met(i, ALL), op=lambda v, top=top, total=total: gpu.exp(v - top) / total)
            copy(met, target(t))
    else:
        with gpu.when(tile * plan.tile[0] + row < rows.count):
            for j in gpu.loop(columns, start=split * plan.lanes + lane, step=splits * plan.lanes):
                y[mine[0], j] = gpu.exp(gpu.cast(x[mine[0], j], "f32") - largest[0]) / sums[0]


@cached_launches
def softmax(x: object, axis: SupportsIndex = -1, *, engine: str = "wgpu") -> Tensor:
    """Softmax along an axis, in any layout; integers give f32; the result is compact, in the order of NumPy.

    >>> import numpy as np
    >>> softmax(np.float32([[0, 0], [0, np.inf]]), engine="interpreter").numpy().tolist()
    [[0.5, 0.5], [nan, nan]]

    Raises TensorError for an axis that is not there.
    """
    tensor = tensor_of("softmax", x)
    (along,) = rules.chosen_axes("softmax", len(mode_sizes(tensor)), (axis,))
    dtype = rules.softmax_type(tensor.dtype)
    place = place_of("softmax", engine, [tensor])
    result = place.new(mode_sizes(tensor), dtype)
    if result.size:
        _softmax(place, converted(place.bring(tensor), dtype, engine=engine), result, along)
    return result


def _softmax(place: ExecutionSite, x: Tensor, y: Tensor, axis: int) -> None:
    """y = softmax of x along an axis: one launch where whole rows fit registers, else two, over splits of the rows."""
    views, shared = as_rows(x, y, axis)
    if shared and (plan := plan_of_whole_rows(views[0], MOST_VALUES)):
        place.run(softmax_kernel, *views, plan=plan)
        return
    plan = plan_for(views[0], run=NEIGHBOUR_ROWS // 4, tiled=shared)
    tops, totals = (place.new((size(views[0], 0), plan.splits), f32) for _ in range(2))
    place.run(softmax_sums_kernel, views[0], tops, totals, plan=plan)
    place.run(softmax_quotients_kernel, *views, tops, totals, plan=plan)
