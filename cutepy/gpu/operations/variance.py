"""The variance of each row in one pass over its elements, and the merging of what parts of a row have.

Law: `out[i]` is the sum of the squared distances of row i from its mean, over its length less a correction. A state is
(count, mean, squared distances); states are merged in an order that the plan gives, so equal inputs give equal bits.
Sources: B. P. Welford (1962) for an element more; T. F. Chan, G. H. Golub, R. J. LeVeque (1979) for two states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import inf, nan

from ... import gpu
from ...layout import size
from ...tensor import Tensor, copy, f32, fill, make_tensor, transform
from .. import Expr
from .fold import FoldPlan, Rows, State, columns_like, over_lanes, plan_for, walk
from .operand import ExecutionSite

MOST_ROWS = 4
"""Rows of a thread for which three numbers of each lane fit shared memory."""


@gpu.kernel
def variance_kernel(x: Tensor, out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The state of what split s takes of row i of x in the three tensors `out`; of one split the variance in out[0],
    the squares over `over`."""
    rows, columns = Rows(x, plan), size(x, 1)
    count, mean, squares = states = [make_tensor(f32, plan.registers) for _ in range(3)]
    for part in states:
        fill(part, 0)
    met, whole, split = make_tensor(f32, plan.registers), columns // plan.tile[1], rows.split
    turns = whole // plan.splits + gpu.select(split < whole % plan.splits, 1, 0)
    source, column = rows.parts(x), rows.parts(columns_like(x))

    def meet(t: Expr | int, so_far: Expr, inside: Tensor | None = None) -> None:
        """One element more for each register, which has met `so_far`."""
        copy(source(t), met)
        away, share = make_tensor(f32, plan.registers), 1.0 / (gpu.cast(so_far, f32) + 1.0)
        transform(met, mean, away, op=lambda v, m: v - m)
        if inside is not None:
            transform(inside, away, away, op=lambda j, d: gpu.select(j < columns, d, 0.0))
        transform(away, mean, mean, op=lambda d, m: m + d * share)
        transform(away, met, mean, squares, squares, op=lambda d, v, m, s: s + d * (v - m))

    def meet_last(t: int) -> None:
        meet(t, turns, column(t))
        transform(column(t), count, count, op=lambda j, n: n + gpu.select(j < columns, 1.0, 0.0))

    def meet_one(mine: Expr, j: Expr) -> None:
        _put(states, merged(tuple(part[0] for part in states), (1.0, gpu.cast(x[mine, j], f32), 0.0)))

    if plan.tiled:
        fill(count, gpu.cast(turns, f32))
    walk(rows, lambda t: meet(t, (t - split) // plan.splits), meet_last, meet_one)
    _over_lanes(rows, states, out, over, root)


@gpu.kernel
def merge_kernel(x: tuple[Tensor, ...], out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The variance in out[0] of rows whose parts have the states x."""
    rows, states = Rows(x[0], plan), [make_tensor(f32, plan.registers) for _ in range(3)]
    for part in states:
        fill(part, 0)

    def meet(mine: Expr, j: Expr) -> None:
        _put(states, merged(tuple(part[0] for part in states), tuple(part[mine, j] for part in x)))

    walk(rows, lambda _: None, lambda _: None, meet)
    _over_lanes(rows, states, out, over, root)


def _put(states: Sequence[Tensor], found: State) -> None:
    for part, value in zip(states, found, strict=True):
        part[0] = value


def merged(one: State, other: State) -> State:
    """Two states as one, (count, mean, squared distances); that of no elements changes nothing."""
    (n, mean, squares), (m, other_mean, other_squares) = one, other
    count, away = n + m, other_mean - mean
    share = m / gpu.maximum(count, 1.0)
    return count, mean + away * share, squares + other_squares + away * away * n * share


def _over_lanes(rows: Rows, states: Sequence[Tensor], out: tuple[Tensor, ...], over: float, root: bool) -> None:
    """From the registers of each thread to one state a row, by a tree over its lanes."""
    plan = rows.plan

    def state_of(i: int) -> State:
        return reduce(merged, [tuple(part[i, j] for part in states) for j in range(plan.registers[1].size)])

    shared = tuple([gpu.shared(f32, plan.scratch) for _ in range(3)])
    over_lanes(rows, shared, map(state_of, range(len(plan.heights))), merged)
    for here, mine, place in rows.found():
        with gpu.when(here):
            _count, mean, squares = found = [part[place, 0] for part in shared]
            if len(out) == 3:
                for part, value in zip(out, found, strict=True):
                    part[mine, rows.split] = value
            else:
                value = squares / over if over else gpu.select(squares > 0.0, inf, nan)
                value = gpu.select(gpu.isfinite(mean), value, nan)  # v - v is 0 to a compiler
                out[0][mine, 0] = gpu.cast(gpu.sqrt(value) if root else value, out[0].dtype)


def variance_of_rows(place: ExecutionSite, x: Tensor, out: Tensor, *, correction: float, root: bool) -> None:
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
