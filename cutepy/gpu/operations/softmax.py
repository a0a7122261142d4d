"""Softmax along one axis: rows in registers where they fit, else in two passes, and in pieces where rows are few.

Law: `y[i] = exp(x[i] - m) / sum(exp(x - m))` with m the greatest of the row, in f32; a row with a NaN or an infinite
greatest element, or of -inf alone, is NaN, as the formula says. Source of the one-pass maximum and sum: Milakov and
Gimelshein, arXiv 1805.02867.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from ... import gpu
from ...layout import _ as ALL
from ...layout import ceil_div, size
from ...tensor import (
    Tensor,
    copy,
    f32,
    fill,
    is_row_major,
    make_tensor,
    mode_sizes,
    reduce_tree,
    rules,
    transform,
)
from .. import Expr, cached_launches
from .domain import vector_width
from .fold import FoldPlan, Rows, as_rows, partial, plan_for, plan_of_tile, put_state, splits_of
from .operand import ExecutionSite, place_of, tensor_of
from .pointwise import converted

WHOLE_ROWS = 8192
"""Elements of a row that the threads of a workgroup keep in registers, at most."""
TILES_AT_ONCE = 8
"""Tiles of a row whose quotients one workgroup stores."""
LOWEST = -3.4028234663852886e38
"""Less than or equal to every finite f32, so that `-inf - LOWEST` is no NaN."""


@gpu.kernel(sizes={"x": "(...)", "y": "(...)"})
def softmax_kernel(x: Tensor, y: Tensor, *, plan: FoldPlan) -> None:
    """y[i, :, b] = softmax of x[i, :, b], each thread with its part of its rows in registers."""
    # The thread's part of its rows; beyond the row there is nothing, of which exp gives 0.
    rows, columns = Rows(x, plan, 1), size(x, 1)
    source, target = (rows.parts(t)(0) for t in (x, y))
    mine = make_tensor("f32", plan.registers)
    copy(source, mine)
    transform(mine, rows.within, mine, op=lambda v, j: gpu.select(j < columns, v, float("-inf")))
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


@gpu.kernel(sizes={"x": "(...)", "tops": "(?...)", "totals": "(?...)"})
def softmax_sums_kernel(
    x: Tensor,
    tops: Tensor,
    totals: Tensor,
    *,
    plan: FoldPlan,
) -> None:
    """tops[i, s, b] = the greatest element that split s meets in row i of x, totals[i, s, b] = the sum of
    exp(x - tops)."""
    rows, places = Rows(x, plan, size(tops, 1)), range(len(plan.heights))
    top, total, met = (make_tensor("f32", shape) for shape in (len(places), len(places), plan.registers))
    fill(top, LOWEST)
    fill(total, 0)
    source, targets = rows.parts(x), [rows.of(tops), rows.of(totals)]

    def meet(t: Any, exists: Callable[[Expr], Expr] | None) -> None:
        copy(source(t), met)
        if exists is not None:  # the tile that ends beyond the row
            transform(met, rows.within, met, op=lambda v, j: gpu.select(exists(j), v, float("-inf")))
        # A greater element makes the sum so far smaller: it is scaled from the old maximum to the new one.
        for i in places:
            new = gpu.nan_maximum(top[i], reduce_tree(met(i, ALL), LOWEST, gpu.nan_maximum))
            transform(met(i, ALL), op=lambda v, new=new: gpu.exp(v - new))
            total[i] = total[i] * gpu.exp(top[i] - new) + reduce_tree(met(i, ALL), 0, _add)
            top[i] = new

    rows.walk(meet)
    # The maximum over the lanes; then the sums of the lanes, each scaled to it.
    scratch = gpu.shared("f32", plan.scratch)
    largest = _over_lanes(scratch, rows, [top[i] for i in places], gpu.nan_maximum)
    sums = _over_lanes(scratch, rows, [total[i] * gpu.exp(top[i] - largest[i]) for i in places], _add)
    for (here, mine, _), greatest, added in zip(rows.rows_to_store(), largest, sums, strict=True):
        with gpu.when(here):
            put_state(targets, (greatest, added), mine, rows.split)


@gpu.kernel(sizes={"x": "(...)", "y": "(...)", "tops": "(?...)", "totals": "(?...)"})
def softmax_quotients_kernel(
    x: Tensor,
    y: Tensor,
    tops: Tensor,
    totals: Tensor,
    *,
    plan: FoldPlan,
) -> None:
    """y[i, :, b] = exp(x[i, :, b] - the greatest of tops[i, :, b]), over the sum of all totals of row i below that."""
    tiles, splits = ceil_div(size(x, 1), plan.tile[1]), size(tops, 1)
    rows = Rows(x, plan, ceil_div(tiles, TILES_AT_ONCE))
    tops, totals = rows.of(tops), rows.of(totals)
    mine = [gpu.minimum(rows.tile * plan.tile[0] + rows.row + height, rows.count - 1) for height in plan.heights]
    # Of each row of the thread the maximum and the sum over all splits of the first pass.
    scratch = gpu.shared("f32", plan.scratch)
    top, total = (make_tensor("f32", len(mine)) for _ in range(2))
    fill(top, LOWEST)
    fill(total, 0)
    for s in gpu.loop(splits, start=rows.lane, step=plan.lanes):
        for place, i in enumerate(mine):
            top[place] = gpu.nan_maximum(top[place], tops[i, s])
    largest = _over_lanes(scratch, rows, [top[place] for place in range(len(mine))], gpu.nan_maximum)
    for s in gpu.loop(splits, start=rows.lane, step=plan.lanes):
        for place, i in enumerate(mine):
            total[place] = total[place] + totals[i, s] * gpu.exp(tops[i, s] - largest[place])
    sums = _over_lanes(scratch, rows, [total[place] for place in range(len(mine))], _add)
    # The quotients, tile by tile; guards of the tiles leave out what is beyond the row.
    source, target = (rows.parts(t) for t in (x, y))
    met = make_tensor("f32", plan.registers)
    for turn in gpu.loop(TILES_AT_ONCE):
        t = rows.split * TILES_AT_ONCE + turn
        copy(source(t), met)
        for i, (greatest, added) in enumerate(zip(largest, sums, strict=True)):
            transform(met(i, ALL), op=lambda v, top=greatest, total=added: gpu.exp(v - top) / total)
        copy(met, target(t))


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
    x, y = as_rows(place, x, y, axis)
    plan = plan_for(x, y)
    whole = plan_of_whole_rows(x, y)
    if whole is not None:
        place.run(softmax_kernel, x, y, plan=whole)
        return
    tops, totals = (partial(place, x, splits_of(x, plan), f32) for _ in range(2))
    place.run(softmax_sums_kernel, x, tops, totals, plan=plan)
    place.run(softmax_quotients_kernel, x, y, tops, totals, plan=plan)


def plan_of_whole_rows(x: Tensor, y: Tensor) -> FoldPlan | None:
    """A plan whose tiles have whole rows of `x`, one of few for all sizes; None where rows are longer."""
    columns, width = size(x, 1), vector_width([x, y])
    if not is_row_major(x):
        return plan_of_tile((0, 32), (1, 128), width) if columns <= min(128, WHOLE_ROWS) else None
    if columns <= min(32, WHOLE_ROWS):
        return plan_of_tile((1, 32), (0, 32), width)
    return plan_of_tile((1, 1024 if columns <= 1024 else WHOLE_ROWS), (0, 1), width) if columns <= WHOLE_ROWS else None
