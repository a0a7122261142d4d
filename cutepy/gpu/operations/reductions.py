"""Reductions over any axes, by the rules of `ops`: folds, searches, statistics; cumulative folds.

Law: `tensor.rules` says types, axes and what is left of nothing. NaN wins in max and min, and its first place in argmax
and argmin: the least index among the elements that no other beats. Equal inputs give equal bits, and each element is
read once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ... import gpu
from ...layout import Layout, LayoutRight, joined, size
from ...tensor import Tensor, f32, fill, make_tensor, mode_layouts, mode_sizes, rules, transform, u32, with_layout
from .. import ArgFold, Expr, Fold, cached_launches
from .copies import filled
from .domain import zipped
from .fold import (
    NEIGHBOUR_ROWS,
    FoldPlan,
    Pass,
    Rows,
    columns_like,
    fold_kernel,
    passes,
    plan_for,
    put_state,
)
from .operand import ExecutionSite, place_of, tensor_of
from .pointwise import converted, pointwise
from .softmax import softmax_sums_kernel
from .variance import variance_of_rows


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of a tensor over some of its axes: the operand and the result as matrices, whose rows are folded."""

    tensor: Tensor
    reduced: tuple[int, ...]
    keepdims: bool

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that are not folded."""
        return tuple(axis for axis in range(len(mode_sizes(self.tensor))) if axis not in self.reduced)

    @property
    def count(self) -> int:
        """How many elements are folded into one."""
        return int(np.prod([mode_sizes(self.tensor)[axis] for axis in self.reduced], dtype=np.int64))

    @property
    def shape(self) -> rules.Shape:
        """The shape of the result."""
        return rules.folded_shape(mode_sizes(self.tensor), self.reduced, self.keepdims)

    def rows(self, out: Tensor) -> tuple[Tensor, Tensor]:
        """The operand as (kept, reduced) and the result as (kept, 1), each in the order of the operand's memory, in as
        few factors as it can have."""
        # The rows: the axes that are kept, which both have; the last one fastest where their factors do not meet.
        modes = mode_layouts(self.tensor)
        targets = mode_layouts(out)
        if self.keepdims:
            targets = [targets[axis] for axis in self.kept]
        sources = [modes[axis] for axis in self.kept]
        pair = zipped([targets, sources]) or [joined(targets[::-1]), joined(sources[::-1])]
        # The columns: the axes that are folded, which the result has not.
        rest = [modes[axis] for axis in self.reduced]
        columns = (zipped([rest]) or [joined(rest[::-1])])[0]
        return with_layout(self.tensor, [pair[1], columns]), with_layout(out, [pair[0], Layout(1, 0)])

    def counted(self, out: Tensor) -> tuple[Tensor, Tensor, Layout]:
        """The same, and a layout from the columns to the index of each element, which counts the last axis fastest."""
        source, target = self.rows(out)
        rest = [mode_layouts(self.tensor)[axis] for axis in self.reduced]
        order = list(Layout(tuple(mode.size for mode in rest), LayoutRight)) if rest else []
        found = zipped([order, rest])
        assert found is not None, "one mode for each axis divides any"
        indices, columns = found
        return with_layout(source, [mode_layouts(source)[0], columns]), target, indices


def launches(name: str, call: Reduction, place: ExecutionSite, out: Tensor) -> Iterator[Pass]:
    """The launches of `fold_kernel` that give this reduction, which is no argmax or argmin."""
    return passes(place, *call.rows(out), Fold.over(name, call.tensor.dtype, call.count))


@cached_launches
def folded(name: str, x: object, axes: rules.Axes, keepdims: bool, engine: str, option: float = 0) -> Tensor:
    """What the reduction of this name gives, where `x` is or `engine` computes; `option` is the correction of a
    variance, or the order of a norm.

    Raises TensorError as the rules do.
    """
    # What it is, by the rules, and where its result is.
    tensor = tensor_of(name, x)
    call = Reduction(tensor, rules.chosen_axes(name, len(mode_sizes(tensor)), axes), keepdims)
    wanted = rules.folded_type(name, tensor.dtype)
    rules.check_not_empty(name, mode_sizes(tensor), call.reduced)
    place = place_of(name, engine, [tensor])
    out = place.new(call.shape, wanted)
    if not out.size or call.count == 0:
        return filled(place, out, rules.OF_NOTHING.get(name, 0))
    # Each family has its kernel: searches, log of sums, variances, folds.
    here = replace(call, tensor=place.bring(tensor))
    if name in ("argmax", "argmin"):
        search_rows(place, *here.counted(out), greatest=name == "argmax")
    elif name == "logsumexp":
        _log_of_sums(place, *here.rows(out))
    elif name in ("var", "std"):
        variance_of_rows(place, *here.rows(out), correction=float(option), root=name == "std")
    else:
        norm = "norm1" if option == 1 else "norm2" if option == 2 else "norminf"
        of_norm = passes(place, *here.rows(out), Fold(norm, wanted.accumulator))
        for operands, static in of_norm if name == "norm" else launches(name, here, place, out):
            place.run(fold_kernel, *operands, **static)
    return out


def _log_of_sums(place: ExecutionSite, x: Tensor, out: Tensor) -> None:
    """out[i, 0] = log(sum(exp(x[i, :]))), from the greatest and the sum below it of each split."""
    at = place.engine
    x = x if x.dtype.kind == "f" else converted(x, f32, engine=at)
    plan = plan_for(x, run=NEIGHBOUR_ROWS // 4)
    tops, totals = (place.new((size(x, 0), plan.splits), f32) for _ in range(2))
    place.run(softmax_sums_kernel, x, tops, totals, plan=plan)
    # The sums of the splits, each scaled to the greatest of them all.
    if plan.splits > 1:
        top = folded("max", tops, 1, True, at)
        totals = folded("sum", pointwise("t * exp(a - b)")(totals, tops, top, engine=at), 1, True, at)
        tops = top
    pointwise("where(isinf(top) and top > 0, top, top + log(total))")(tops, totals, out=out, engine=at)


@gpu.kernel
def search_kernel(
    x: Tensor,
    indices: tuple[Tensor, ...],
    best: Tensor,
    places: Tensor,
    *,
    plan: FoldPlan,
    greatest: bool,
    counted: Layout,
) -> None:
    """best[i, s], places[i, s] = the greatest (or least) element that split s meets in row i of x, and its index.

    Of a float `best` has the key of `ArgFold`, its place in the order of floats. The index of x[i, j] is
    indices[0][i, j], or without it what `counted` makes of j. Where each thread meets indices in rising order, only
    what is greater (or less) wins.
    """
    in_order = not indices and counted == Layout(counted.size)
    elements = x, indices[0] if indices else columns_like(x, counted)
    search = ArgFold(greatest, x.dtype)
    rows, (beaten, nowhere) = Rows(x, plan), search.identity
    value, at = make_tensor(search.key, plan.registers), make_tensor(u32, plan.registers)
    fill(value, beaten)
    fill(at, nowhere)
    values_of, indices_of, columns_of = (rows.parts(t) for t in (*elements, columns_like(x)))

    def meet(register: int, met: tuple[Expr, Expr]) -> None:
        kept = value[register], at[register]
        # In rising order an equal element comes later, and loses: one comparison tells.
        won = search.beats(met[0], kept[0]) if plan.tiled and in_order else search.wins(met, kept)
        put_state((value, at), tuple(gpu.select(won, m, k) for m, k in zip(met, kept, strict=True)), register)

    def meet_tile(t: Expr | int) -> None:
        met, index = make_tensor(search.key, plan.registers), make_tensor(u32, plan.registers)
        transform(values_of(t), met, op=search.lift)
        transform(indices_of(t), index, op=lambda j: gpu.cast(j, u32))
        if not isinstance(t, Expr):  # the tile that ends beyond the row: what is not there loses against all
            transform(columns_of(t), met, met, op=lambda j, v: gpu.select(j < rows.columns, v, beaten))
            transform(columns_of(t), index, index, op=lambda j, i: gpu.select(j < rows.columns, i, nowhere))
        for register in range(size(met)):
            meet(register, (met[register], index[register]))

    def meet_one(mine: Expr, column: Expr) -> None:
        found, index = (t[mine, column] for t in elements)
        meet(0, (search.lift(found), gpu.cast(index, u32)))

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        for target, part in zip((best, places), state, strict=True):
            target[mine, rows.split] = gpu.cast(part, target.dtype)

    # Where no element beats the identity (all are the least number, say), the first index is the answer.
    if plan.tiled and in_order:
        transform(indices_of(rows.split), at, op=lambda j: gpu.cast(j, u32))
    rows.walk(meet_tile, meet_tile, meet_one)
    rows.finish((value, at), rows.of_rows((value, at), search.combine), search.combine, store)


def search_rows(place: ExecutionSite, x: Tensor, out: Tensor, counted: Layout, *, greatest: bool) -> None:
    """out[i, 0] = what `counted` makes of the column of the greatest or the least element of row i of x."""
    rows, dtype = size(x, 0), ArgFold(greatest, x.dtype).key
    indices: tuple[Tensor, ...] = ()
    # Each pass leaves fewer candidates a row: their keys and their indices are searched by the next one.
    while True:
        plan = plan_for(x)
        best = place.new((rows, plan.splits), dtype)
        places = out if plan.splits == 1 else place.new((rows, plan.splits), u32)
        place.run(search_kernel, x, indices, best, places, plan=plan, greatest=greatest, counted=counted)
        if plan.splits == 1:
            return
        x, indices = best, (places,)
