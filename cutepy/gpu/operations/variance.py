"""The variance of each row in one pass over its elements, and the merging of what parts of a row have.

Law: `out[i]` is the sum of the squared distances of row i from its mean, over its length less a correction. A state is
(count, mean, squared distances); states are merged in an order that the plan gives, so equal inputs give equal bits.
Sources: B. P. Welford (1962) for an element more; T. F. Chan, G. H. Golub, R. J. LeVeque (1979) for two states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import Any

from ... import gpu
from ...layout import size
from ...tensor import Tensor, copy, f32, fill, make_tensor, transform
from .. import Expr
from .fold import FoldPlan, Rows, State, partials, plan_for, put_state, splits_of, state_at
from .operand import ExecutionSite


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


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)"})
def variance_kernel(x: Tensor, out: tuple[Tensor, ...], over: float, *, plan: FoldPlan, root: bool) -> None:
    """The state of what split s takes of row i of x, at (i, s, b) of the three tensors `out`; where there is one
    tensor, its (i, 0, b) is the variance: the squared distances over `over`, or with `root` the root of that."""
    rows = Rows(x, plan, size(out[0], 1) if len(out) == 3 else 1)
    count, mean, squares = states = empty_states(plan)
    met, away, share = (make_tensor(f32, plan.registers) for _ in range(3))
    # How many tiles with all their columns a thread has met, and how many that end beyond the row: each value has met
    # an element of the former, and of the latter where its column is there.
    whole_rows = rows.columns // plan.tile[1]
    met_whole, met_last = (make_tensor(f32, 1) for _ in range(2))
    fill(met_whole, 0)
    fill(met_last, 0)

    def of_column(column: Expr, there: Any, beyond: Any) -> Expr:
        """One or the other of two numbers, by whether the last tile of a row has this column."""
        found: Expr = gpu.select(whole_rows * plan.tile[1] + column < rows.columns, there, beyond)
        return found

    def meet(at: Sequence[Any], whole: bool) -> None:
        """One element more for each value of the thread: Welford's step, with one quotient for all of them. Elements
        beyond the row change nothing."""
        copy(rows.part(x, at, whole=whole), met)
        there, beyond = (1.0 / (n + 1.0) for n in (met_whole[0] + met_last[0], met_whole[0]))
        transform(rows.within, share, op=lambda j: of_column(j, there, beyond) if x.rank == 4 else there)
        transform(met, mean, away, op=lambda v, m: v - m)
        if not whole:
            exists = rows.exists(at)
            transform(rows.within, away, away, op=lambda j, d: gpu.select(exists(j), d, 0.0))
        transform(away, mean, share, mean, op=lambda d, m, s: m + d * s)
        transform(away, met, mean, squares, squares, op=lambda d, v, m, s: s + d * (v - m))
        one = gpu.select(at[0] < whole_rows, 1.0, 0.0)
        met_whole[0], met_last[0] = met_whole[0] + one, met_last[0] + (1.0 - one)

    rows.walk(meet)
    transform(rows.within, count, op=lambda j: of_column(j, met_whole[0] + met_last[0], met_whole[0]))
    _store(rows, states, out, over, root)


@gpu.kernel(sizes={"x": "(...)", "out": "(?...)"})
def merge_kernel(x: tuple[Tensor, ...], out: tuple[Tensor, ...], over: float, *, plan: FoldPlan, root: bool) -> None:
    """The variance in out[0] of rows whose parts have the states x."""
    rows, states, parts = Rows(x[0], plan, 1), empty_states(plan), empty_states(plan)

    def meet(at: Sequence[Any], whole: bool) -> None:
        for t, part in zip(x, parts, strict=True):
            copy(rows.part(t, at, whole=whole), part)  # beyond the row there are zeros, the state of no elements
        for register in range(size(parts[0])):
            put_state(states, merged(state_at(states, register), state_at(parts, register)), register)

    rows.walk(meet)
    _store(rows, states, out, over, root)


def _store(rows: Rows, states: tuple[Tensor, ...], out: tuple[Tensor, ...], over: Any, root: bool) -> None:
    """Merge the states of each row and store what `variance_kernel` says."""
    targets = [rows.of(t) for t in out]

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        _count, mean, squares = found = list(state)
        if len(out) == 3:
            put_state(targets, found, mine, rows.split)
            return
        value = gpu.select(over > 0.0, squares / gpu.select(over > 0.0, over, 1.0), gpu.select(squares > 0.0, inf, nan))
        # A compiler takes v - v for 0: whether an element was infinite or NaN is told by the mean.
        value = gpu.select(gpu.isfinite(mean), value, nan)
        targets[0][mine, 0] = gpu.cast(gpu.sqrt(value) if root else value, out[0].dtype)

    rows.finish(states, rows.of_rows(states, merged), merged, store)


def variance_of_rows(place: ExecutionSite, x: Tensor, out: Tensor, *, correction: float, root: bool) -> None:
    """out[i, 0, b] = the variance of row i of x, or its root."""
    plan = plan_for(x, parts=3)
    count = size(x) // (size(x, 0) * size(x, 2))
    splits, over = splits_of(x, plan), max(count - correction, 0.0)
    if splits == 1:
        place.run(variance_kernel, x, (out,), over, plan=plan, root=root)
        return
    parts = tuple(partials(place, x, splits, f32) for _ in range(3))
    place.run(variance_kernel, x, parts, over, plan=plan, root=root)
    place.run(merge_kernel, parts, (out,), over, plan=plan_for(*parts, parts=3), root=root)
