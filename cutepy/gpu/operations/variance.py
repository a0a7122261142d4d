"""The variance of each row in one pass over its elements, and the merging of what parts of a row have.

Law: `out[i]` is the sum of the squared distances of row i from its mean, over its length less a correction. A state is
(count, mean, squared distances); states are merged in an order that the plan gives, so equal inputs give equal bits.
Sources: B. P. Welford (1962) for an element more; T. F. Chan, G. H. Golub, R. J. LeVeque (1979) for two states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan

from ... import gpu
from ...layout import size
from ...tensor import Tensor, copy, f32, fill, make_tensor, transform
from .. import Expr
from .fold import FoldPlan, Rows, State, columns_like, plan_for, put_state, state_at
from .operand import ExecutionSite

MOST_ROWS = 4
"""Rows of a thread for which three numbers of each lane fit shared memory."""


def empty_states(plan: FoldPlan) -> tuple[Tensor, ...]:
    """The state of no elements for each value of a thread, (value's row, value's column)."""
    states = tuple([make_tensor(f32, plan.registers) for _ in range(3)])
    for part in states:
        fill(part, 0)
    return states


def merged(one: State, other: State) -> State:
    """Two states as one, (count, mean, squared distances); that of no elements changes nothing."""
    (n, mean, squares), (m, other_mean, other_squares) = one, other
    count, away = n + m, other_mean - mean
    share = m / gpu.maximum(count, 1.0)  # of two empty states 0, not NaN
    return count, mean + away * share, squares + other_squares + away * away * n * share


@gpu.kernel
def variance_kernel(x: Tensor, out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The state of what split s takes of row i of x, at (i, s) of the three tensors `out`; where there is one tensor,
    its (i, 0) is the variance: the squared distances over `over`, or with `root` the root of that."""
    rows, columns = Rows(x, plan), size(x, 1)
    count, mean, squares = states = empty_states(plan)
    met, whole, split = make_tensor(f32, plan.registers), columns // plan.tile[1], rows.split
    # Each value of a thread meets one element of each of so many whole tiles.
    turns = whole // plan.splits + gpu.select(split < whole % plan.splits, 1, 0)
    source, column = rows.parts(x), rows.parts(columns_like(x))

    def meet(t: Expr | int, so_far: Expr, inside: Tensor | None = None) -> None:
        """One element more for each value of the thread, which has met `so_far`: Welford's step, with one quotient for
        all of them. Elements whose column in `inside` is beyond the row change nothing."""
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
        put_state(states, merged(state_at(states, 0), (1.0, gpu.cast(x[mine, j], f32), 0.0)), 0)

    if plan.tiled:
        fill(count, gpu.cast(turns, f32))
    rows.walk(lambda t: meet(t, (t - split) // plan.splits), meet_last, meet_one)
    _store(rows, states, out, over, root)


@gpu.kernel
def merge_kernel(x: tuple[Tensor, ...], out: tuple[Tensor, ...], *, plan: FoldPlan, over: float, root: bool) -> None:
    """The variance in out[0] of rows whose parts have the states x."""
    rows = Rows(x[0], plan)
    states = empty_states(plan)

    def meet(mine: Expr, j: Expr) -> None:
        put_state(states, merged(state_at(states, 0), state_at(x, mine, j)), 0)

    rows.walk(lambda _: None, lambda _: None, meet)
    _store(rows, states, out, over, root)


def _store(rows: Rows, states: tuple[Tensor, ...], out: tuple[Tensor, ...], over: float, root: bool) -> None:
    """Merge the states of each row and store what `variance_kernel` says."""

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        _count, mean, squares = found = list(state)
        if len(out) == 3:
            put_state(out, found, mine, rows.split)
            return
        value = squares / over if over else gpu.select(squares > 0.0, inf, nan)
        # A compiler takes v - v for 0: whether an element was infinite or NaN is told by the mean.
        value = gpu.select(gpu.isfinite(mean), value, nan)
        out[0][mine, 0] = gpu.cast(gpu.sqrt(value) if root else value, out[0].dtype)

    rows.finish(states, rows.of_rows(states, merged), merged, store)


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
