"""Softmax along one axis: rows in registers where they fit, else in two passes, and in pieces where rows are few.

Law: `y[i] = exp(x[i] - m) / sum(exp(x - m))` with m the greatest of the row, in f32; a row with a NaN or an infinite
greatest element, or of -inf alone, is NaN, as the formula says. Source of the one-pass maximum and sum: Milakov and
Gimelshein, arXiv 1805.02867.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from ... import gpu
from ...layout import _ as ALL
from ...layout import ceil_div, size
from ...tensor import Tensor, copy, f32, fill, is_row_major, make_tensor, mode_sizes, reduce_tree, rules, transform
from .. import Expr, cached_launches
from .domain import vector_width
from .fold import (
    MANY_ELEMENTS,
    MANY_ROWS,
    FoldPlan,
    Rows,
    TileFactor,
    as_rows,
    partials,
    plan_for,
    plan_of_staged_rows,
    plan_of_threads,
    plan_of_tile,
    put_state,
    splits_of,
)
from .operand import ExecutionSite, place_of, tensor_of
from .pointwise import converted

WHOLE_ROWS = 16384
"""Elements of a row that are kept in registers, at most; fewer where a test asks for two passes."""
STAGED_ROWS = {8: 64, 16: 64, 20: 80, 24: 48, 32: 32}
"""Of many rows with at most so many columns each, how many a tile has: each has a thread, and they go through shared
memory. On an H200 2^20 rows of 17 took 44 us by (80,20), 49 by (48,24), 52 by (32,32), 59 by (64,32), and a copy 37."""
STAGED_STEP = 8
"""How far these classes are apart at most: of the columns of a staged tile a row may lack fewer than these."""
TILES_AT_ONCE = 4
"""Tiles of a row whose quotients one workgroup stores."""
LOWEST = -3.4028234663852886e38
"""Less than or equal to every finite f32, so that `-inf - LOWEST` is no NaN."""


@gpu.kernel(sizes={"x": "(...)", "y": "(...)"})
def softmax_kernel(x: Tensor, y: Tensor, *, plan: FoldPlan, tiles: int) -> None:
    """y[i, :, b] = softmax of x[i, :, b], whose rows have at most so many `tiles`, each thread with its part of them in
    registers."""
    rows, wide = Rows(x, plan, 1), plan.tile[1]
    held, places = [make_tensor("f32", plan.registers) for _ in range(tiles)], range(len(plan.heights))

    def each(step: Callable[[int, Tensor], None]) -> None:
        """Do `step` with each tile that there is and its values."""
        step(0, held[0])
        for t, mine in list(enumerate(held))[1:]:
            with gpu.when(t * wide < rows.columns):
                step(t, mine)

    # All loads are issued before the first value is used. Columns beyond the row are -inf, of which exp is 0.
    staged = gpu.shared("f32", plan.staged_layout) if plan.staged else None
    each(lambda t, mine: rows.bring(x, (t,), mine, staged))

    def mask_beyond(t: int, mine: Tensor) -> None:
        if staged is not None:  # each row has the columns before these
            for j in range(max(0, wide - STAGED_STEP), wide):
                mine[0, j] = gpu.select(j < rows.columns, mine[0, j], float("-inf"))
            return
        exists = rows.exists((t,))
        transform(mine, rows.within, mine, op=lambda v, j: gpu.select(exists(j), v, float("-inf")))

    each(mask_beyond)
    # The greatest element, then the sum below it, each over the registers and then over the lanes of a row. Of a NaN
    # the sum is NaN, whatever the greatest is.
    scratch = gpu.shared("f32", plan.scratch) if plan.lanes > 1 else None
    top, total = (make_tensor("f32", len(places)) for _ in range(2))
    fill(top, LOWEST)
    fill(total, 0)

    def meet(_: int, mine: Tensor) -> None:
        for i in places:
            top[i] = gpu.maximum(top[i], reduce_tree(mine(i, ALL), LOWEST, gpu.maximum))

    each(meet)
    largest = _over_lanes(scratch, rows, [top[i] for i in places], gpu.maximum)

    def add(_: int, mine: Tensor) -> None:
        for i, greatest in zip(places, largest, strict=True):
            transform(mine(i, ALL), op=lambda v, greatest=greatest: gpu.exp(v - greatest))
            total[i] = total[i] + reduce_tree(mine(i, ALL), 0, operator.add)

    each(add)
    sums = _over_lanes(scratch, rows, [total[i] for i in places], operator.add)

    def put(t: int, mine: Tensor) -> None:
        for i, added in zip(places, sums, strict=True):
            share = 1 / added
            transform(mine(i, ALL), op=lambda v, share=share: v * share)
        rows.put(mine, y, (t,), staged)

    each(put)


def _over_lanes(scratch: Tensor | None, rows: Rows, values: list[Expr], op: Callable[[Expr, Expr], Expr]) -> list[Expr]:
    """What `op` gives over all lanes of a row, for each row of the thread, whose `values` these are; in each lane.
    Without `scratch` memory a row has one lane."""
    if scratch is None:
        return values
    rows.over_lanes((scratch,), [(value,) for value in values], lambda one, other: (op(one[0], other[0]),))
    gpu.barrier()
    found = [scratch[rows.row + height, 0] for height in rows.plan.heights]
    gpu.barrier()  # all have read it before it is written again
    return found


@gpu.kernel(sizes={"x": "(...)", "tops": "(?...)", "totals": "(?...)"})
def softmax_sums_kernel(x: Tensor, tops: Tensor, totals: Tensor, *, plan: FoldPlan) -> None:
    """tops[i, s, b] = the greatest element that split s meets in row i of x, totals[i, s, b] = the sum of
    exp(x - tops)."""
    rows, places = Rows(x, plan, size(tops, 1)), range(len(plan.heights))
    top, total, met = (make_tensor("f32", shape) for shape in (len(places), len(places), plan.registers))
    fill(top, LOWEST)
    fill(total, 0)
    targets = [rows.of(tops), rows.of(totals)]

    def meet(at: Sequence[Any], whole: bool) -> None:
        copy(rows.part(x, at, whole=whole), met)
        if not whole:
            exists = rows.exists(at)
            transform(met, rows.within, met, op=lambda v, j: gpu.select(exists(j), v, float("-inf")))
        # A greater element makes the sum so far smaller: it is scaled from the old maximum to the new one.
        for i in places:
            new = gpu.nan_maximum(top[i], reduce_tree(met(i, ALL), LOWEST, gpu.nan_maximum))
            transform(met(i, ALL), op=lambda v, new=new: gpu.exp(v - new))
            total[i] = total[i] * gpu.exp(top[i] - new) + reduce_tree(met(i, ALL), 0, operator.add)
            top[i] = new

    rows.walk(meet)
    # The maximum over the lanes; then the sums of the lanes, each scaled to it.
    scratch = gpu.shared("f32", plan.scratch)
    largest = _over_lanes(scratch, rows, [top[i] for i in places], gpu.nan_maximum)
    sums = _over_lanes(scratch, rows, [total[i] * gpu.exp(top[i] - largest[i]) for i in places], operator.add)
    for (here, mine, _), greatest, added in zip(rows.rows_to_store(), largest, sums, strict=True):
        with gpu.when(here):
            put_state(targets, (greatest, added), mine, rows.split)


@gpu.kernel(sizes={"x": "(...)", "y": "(...)", "tops": "(?...)", "totals": "(?...)"})
def softmax_quotients_kernel(x: Tensor, y: Tensor, tops: Tensor, totals: Tensor, *, plan: FoldPlan) -> None:
    """y[i, :, b] = exp(x[i, :, b] - the greatest of tops[i, :, b]), over the sum of all totals of row i below that."""
    tiles, splits = ceil_div(size(x, 1), plan.tile[1]), size(tops, 1)
    rows = Rows(x, plan, ceil_div(tiles, TILES_AT_ONCE))
    tops, totals = rows.of(tops), rows.of(totals)
    mine = [gpu.minimum(rows.tile * plan.tile[0] + rows.row + height, rows.count - 1) for height in plan.heights]
    top, total = (make_tensor("f32", len(mine)) for _ in range(2))
    for place, i in enumerate(mine):
        top[place], total[place] = tops[i, 0], totals[i, 0]
    # Of each row of the thread the maximum and the sum over all splits of the first pass.
    with gpu.when(splits > 1):
        scratch = gpu.shared("f32", plan.scratch)
        for s in gpu.loop(splits, start=rows.lane, step=plan.lanes):
            for place, i in enumerate(mine):
                top[place] = gpu.nan_maximum(top[place], tops[i, s])
        largest = _over_lanes(scratch, rows, [top[place] for place in range(len(mine))], gpu.nan_maximum)
        fill(total, 0)
        for s in gpu.loop(splits, start=rows.lane, step=plan.lanes):
            for place, i in enumerate(mine):
                total[place] = total[place] + totals[i, s] * gpu.exp(tops[i, s] - largest[place])
        sums = _over_lanes(scratch, rows, [total[place] for place in range(len(mine))], operator.add)
        for place, (greatest, added) in enumerate(zip(largest, sums, strict=True)):
            top[place], total[place] = greatest, added
    # The quotients, tile by tile; guards of the tiles leave out what is beyond the row.
    met = make_tensor("f32", plan.registers)

    def put(at: Sequence[Any], whole: bool) -> None:
        copy(rows.part(x, at, whole=whole), met)
        for i in range(len(mine)):
            transform(met(i, ALL), op=lambda v, i=i: gpu.exp(v - top[i]) / total[i])
        copy(met, rows.part(y, at, whole=whole))

    rows.walk(put)


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
    whole = plan_of_whole_rows(x, y)
    if whole is not None:
        plan, tiles = whole
        place.run(softmax_kernel, x, y, plan=plan, tiles=tiles)
        return
    plan = plan_of_tile((1, 4096), (0, 1), vector_width([x, y])) if is_row_major(x) else plan_for(x, y)
    tops, totals = (partials(place, x, splits_of(x, plan), f32) for _ in range(2))
    place.run(softmax_sums_kernel, x, tops, totals, plan=plan)
    place.run(softmax_quotients_kernel, x, y, tops, totals, plan=plan)


def plan_of_whole_rows(x: Tensor, y: Tensor) -> tuple[FoldPlan, int] | None:
    """The plan and the number of its tiles that hold a whole row of `x`, (rows, columns, batch): one of few for all
    sizes. None for rows of more than 16,384 elements, or of 512 where `x` is not row-major: two passes."""
    columns, many = size(x, 1), x.size >= MANY_ELEMENTS or size(x, 0) >= 2 * MANY_ROWS
    width, along = vector_width([x, y]), is_row_major(x)
    if columns <= 16 and many and not along:
        return plan_of_threads(64, 16, width), 1
    if many and columns <= (32 if width == 1 else 24 if along else 16):
        wide = min(most for most in STAGED_ROWS if columns <= most)
        return plan_of_staged_rows(STAGED_ROWS[wide], wide, width if wide <= 16 else 1), 1
    # By the longest row of each: the two factors of a tile, and how many tiles side by side. A workgroup computes those
    # that rows reach; the shorter the rows, the more of them it takes.
    classes: dict[int, tuple[TileFactor, TileFactor, int]] = {512: ((0, 8), (1, 512), 1)}
    if along:
        classes = {32: ((1, 32), (0, 32), 1), 64: ((1, 64), (0, 32), 1), 256: ((1, 256), (0, 8), 1)} if many else {}
        classes |= {512: ((1, 512), (0, 8), 1), 1024: ((1, 256), (0, 4), 4)} if many else {1024: ((1, 1024), (0, 1), 1)}
        classes |= {4096: ((1, 4096), (0, 1), 1), 8192: ((1, 2048), (0, 1), 4), 16384: ((1, 4096), (0, 1), 4)}
    for most, (near, far, tiles) in classes.items():
        if columns <= min(most, WHOLE_ROWS):
            return plan_of_tile(near, far, width), tiles
    return None
