"""The variance of each row in one pass over its elements, and the merging of what parts of a row have.

Law: `out[i]` is the sum of the squared distances of row i from its mean, over its length less a correction. A state is
(count, mean, squared distances); states are merged in an order that the plan gives, so equal inputs give equal bits.
Sources: B. P. Welford (1962) for an element more; T. F. Chan, G. H. Golub, R. J. LeVeque (1979) for two states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

from ...layout import ceil_div, size
from ...tensor.algorithms import copy, fill, transform
from ...tensor.dtypes import f32
from ...tensor.make import make_tensor
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.folds import fold_lanes
from ..trace.kernel import kernel
from .fold import FoldPlan, columns_like, owned_parts, plan_for
from .operand import Place

State = tuple[Expr | float, Expr | float, Expr | float]
"""How many elements, their mean, and the sum of their squared distances from it."""
MOST_ROWS = 4
"""Rows of a thread for which three numbers of each lane fit shared memory."""


@kernel
def variance_kernel(x: Tensor, out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The state of what split s takes of row i of x in the three tensors `out`; of one split the variance in out[0],
    the squares over `over`."""
    columns = size(x, 1)
    row, lane, tile, split = _launched(x, plan)
    count, mean, squares = states = [make_tensor(f32, plan.registers) for _ in range(3)]
    for part in states:
        fill(part, 0)

    def meet(values: Tensor, so_far: Expr | int, inside: Tensor | None = None) -> None:
        """One element more for each register, which has met `so_far`."""
        away, share = make_tensor(f32, plan.registers), 1.0 / (functions.cast(so_far, f32) + 1.0)
        transform(values, mean, away, op=lambda v, m: v - m)
        if inside is not None:
            transform(inside, away, away, op=lambda j, d: functions.select(j < columns, d, 0.0))
        transform(away, mean, mean, op=lambda d, m: m + d * share)
        transform(away, values, mean, squares, squares, op=lambda d, v, m, s: s + d * (v - m))

    if plan.tiled:
        source, column = owned_parts(x, plan, tile), owned_parts(columns_like(x), plan, tile)
        met, whole = make_tensor(f32, plan.registers), columns // plan.tile[1]
        for t in gpu.loop(whole, start=split, step=plan.splits):
            copy(source(t), met)
            meet(met, (t - split) // plan.splits)
        turns = whole // plan.splits + functions.select(split < whole % plan.splits, 1, 0)
        fill(count, functions.cast(turns, f32))
        if columns % plan.tile[1]:
            with gpu.when(split == whole % plan.splits):
                copy(source(whole), met)
                meet(met, turns, column(whole))
                transform(column(whole), count, count, op=lambda j, n: n + functions.select(j < columns, 1.0, 0.0))
    else:
        mine = tile * plan.tile[0] + row
        with gpu.when(mine < size(x, 0)):
            for j in gpu.loop(columns, start=split * plan.lanes + lane, step=plan.splits * plan.lanes):
                found = 1.0, functions.cast(x[mine, j], f32), 0.0
                count[0], mean[0], squares[0] = merged((count[0], mean[0], squares[0]), found)
    _over_lanes(states, out, plan, over, root)


@kernel
def merge_kernel(x: tuple[Tensor, ...], out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The variance in out[0] of rows whose parts have the states x."""
    row, lane, tile, _split = _launched(x[0], plan)
    states = [make_tensor(f32, plan.registers) for _ in range(3)]
    for part in states:
        fill(part, 0)
    mine = tile * plan.tile[0] + row
    with gpu.when(mine < size(x[0], 0)):
        for j in gpu.loop(size(x[0], 1), start=lane, step=plan.lanes):
            both = merged(tuple(part[0] for part in states), tuple(part[mine, j] for part in x))
            for part, value in zip(states, both, strict=True):
                part[0] = value
    _over_lanes(states, out, plan, over, root)


def _launched(x: Tensor, plan: FoldPlan) -> tuple[Expr, Expr, Expr, Expr]:
    """The launch; the first row and the lane of a thread, the tile and the split of its workgroup."""
    gpu.launch(grid=ceil_div(size(x, 0), plan.tile[0]) * plan.splits, threads=plan.threads)
    row, lane = plan.place(gpu.thread())
    return row, lane, gpu.workgroup.x // plan.splits, gpu.workgroup.x % plan.splits


def merged(one: Sequence[Expr | float], other: Sequence[Expr | float]) -> State:
    """Two states as one; that of no elements changes nothing."""
    (n, mean, squares), (m, other_mean, other_squares) = one, other
    count, away = n + m, other_mean - mean
    share = m / functions.maximum(count, 1.0)
    return count, mean + away * share, squares + other_squares + away * away * n * share


def _over_lanes(states: Sequence[Tensor], out: tuple[Tensor, ...], plan: FoldPlan, over: float, root: bool) -> None:
    """From the registers of each thread to one state a row, by a tree over its lanes."""
    (row, lane), splits = plan.place(gpu.thread()), plan.splits
    shared = [gpu.shared(f32, plan.scratch) for _ in range(3)]
    for i, height in enumerate(plan.heights):
        kept: State = states[0][i, 0], states[1][i, 0], states[2][i, 0]
        for j in range(1, plan.registers[1].size):
            kept = merged(kept, tuple(part[i, j] for part in states))
        for part, value in zip(shared, kept, strict=True):
            part[row + height, lane] = value

    def step(a: Expr, b: Expr) -> None:
        for height in plan.heights:
            both = merged(*(tuple(part[row + height, at] for part in shared) for at in (a, b)))
            for part, value in zip(shared, both, strict=True):
                part[row + height, a] = value

    fold_lanes(plan.lanes, lane, step)
    for height in plan.heights:
        mine = gpu.workgroup.x // splits * plan.tile[0] + row + height
        with gpu.when((lane == 0) & (mine < size(out[0], 0))):
            _count, mean, squares = found = [part[row + height, 0] for part in shared]
            if len(out) == 3:
                for part, value in zip(out, found, strict=True):
                    part[mine, gpu.workgroup.x % splits] = value
            else:
                value = squares / over if over else functions.select(squares > 0.0, inf, nan)
                value = functions.select(functions.isfinite(mean), value, nan)  # v - v is 0 to a compiler
                out[0][mine, 0] = functions.cast(functions.sqrt(value) if root else value, out[0].dtype)


def variance_of_rows(place: Place, x: Tensor, out: Tensor, *, correction: float, root: bool) -> None:
    """out[i, 0] = the variance of row i of x, or its root."""
    plan = plan_for(x, most_rows=MOST_ROWS)
    how = {"over": max(size(x, 1) - correction, 0.0), "root": root}
    if plan.splits == 1:
        place.run(variance_kernel, x, (out,), plan=plan, **how)
        return
    parts = tuple(place.new((size(x, 0), plan.splits), f32) for _ in range(3))
    place.run(variance_kernel, x, parts, plan=plan, **how)
    last = replace(plan_for(parts[0], tiled=False), splits=1)
    place.run(merge_kernel, parts, (out,), plan=last, **how)
