"""Reductions over any axes, by the rules of `ops`: folds, searches, statistics; cumulative folds.

Law: `tensor.rules` says types, axes and what is left of nothing. NaN wins in max and min, and its first place in argmax
and argmin: the least index among the elements that no other beats. Equal inputs give equal bits, and each element is
read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ... import gpu
from ...layout import Layout, ceil_div, coalesce, joined, size
from ...tensor import DType, Tensor, f32, fill, make_tensor, mode_layouts, mode_sizes, rules, transform, u32
from .. import ArgFold, Deferral, Expr, Fold, cached_launches
from .copies import copy, filled
from .domain import zipped
from .fold import FoldPlan, Pass, Rows, partials, passes, plan_for, put_state, rows_of, run_passes, splits_of
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
    merged: bool = True
    """Whether several axes may be folded in the order of memory; else they are counted as in NumPy."""

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that are not folded."""
        return tuple(axis for axis in range(len(mode_sizes(self.tensor))) if axis not in self.reduced)

    @property
    def count(self) -> int:
        """How many elements are folded into one."""
        return prod([mode_sizes(self.tensor)[axis] for axis in self.reduced])

    @property
    def shape(self) -> rules.Shape:
        """The shape of the result."""
        return rules.folded_shape(mode_sizes(self.tensor), self.reduced, self.keepdims)

    def matrices(self, place: ExecutionSite, out: Tensor) -> tuple[Tensor, Tensor]:
        """The operand as (kept, reduced, batch) and the result, which is compact, as (kept, 1, batch), in the order of
        the operand's memory, or as (kept, reduced, batch, reduced). Axes of more factors are folded in a copy, in which
        they count as in NumPy.
        """
        found = self.rows([self.tensor], out)
        if found is None or not (self.merged or found[0].rank == 3):
            order = [*self.reduced[::-1], *self.kept[::-1]]
            fresh = place.new(mode_sizes(self.tensor), self.tensor.dtype, order)
            copy(self.tensor, fresh, engine=place.engine)
            found = self.rows([fresh], out)
            assert found is not None, "both are compact"
        return found[0], found[1]

    def rows(self, tensors: Sequence[Tensor], out: Tensor) -> list[Tensor] | None:
        """Tensors of the operand's shape and the result as `rows_of` gives them; None where they have no rows in
        common."""
        modes, targets = [mode_layouts(t) for t in tensors], mode_layouts(out)
        rest = [[own[axis] for axis in self.reduced] for own in modes]
        # An index over several axes counts the last one fastest.
        columns = zipped(rest) if self.merged else [coalesce(joined(own[::-1])) for own in rest]
        kept = [[own[axis] for axis in self.kept] for own in modes]
        if columns is None:
            return None
        left = [targets[axis] for axis in self.kept] if self.keepdims else targets
        return rows_of([*tensors, out], [*kept, left], [*columns, Layout(1, 0)])


def launches(name: str, call: Reduction, place: ExecutionSite, out: Tensor) -> Iterator[Pass]:
    """The launches of `fold_kernel` that give this reduction, which is no argmax or argmin."""
    return passes(place, *call.matrices(place, out), Fold.over(name, call.tensor.dtype), call.count)


def folded(name: str, x: object, axes: rules.Axes, keepdims: bool, engine: str, option: float = 0) -> Tensor:
    """What the reduction of this name gives, where `x` is or `engine` computes; `option` is the correction of a
    variance, or the order of a norm.

    Raises TensorError as the rules do.
    """
    if engine == "wgpu" and (block := Deferral.current()) is not None:
        taken = block.take(folded, name, x, axes, keepdims, option)
        if taken is not None:
            return taken
    return _folded(name, x, axes, keepdims, engine, option)


@cached_launches
def _folded(name: str, x: object, axes: rules.Axes, keepdims: bool, engine: str, option: float) -> Tensor:
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
        search_rows(place, *replace(here, merged=False).matrices(place, out), greatest=name == "argmax")
    elif name == "logsumexp":
        _log_of_sums(place, *here.matrices(place, out))
    elif name in ("var", "std"):
        variance_of_rows(place, *here.matrices(place, out), correction=float(option), root=name == "std")
    else:
        fold = fold_of(name, tensor.dtype, option)
        run_passes(place, passes(place, *here.matrices(place, out), fold, here.count))
    return out


def fold_of(name: str, dtype: DType, option: float = 0) -> Fold:
    """The fold of a reduction of elements of `dtype`."""
    if name == "norm":
        norm = "norm1" if option == 1 else "norm2" if option == 2 else "norminf"
        return Fold(norm, rules.folded_type(name, dtype).accumulator)
    return Fold.over(name, dtype)


def _log_of_sums(place: ExecutionSite, x: Tensor, out: Tensor) -> None:
    """out[i, 0, b] = log(sum(exp(x[i, :, b]))), from the greatest and the sum below it of each split."""
    engine = place.engine
    x = x if x.dtype.kind == "f" else converted(x, f32, engine=engine)
    plan = plan_for(x, parts=2)
    splits = splits_of(x, plan)
    tops, totals = (partials(place, x, splits, f32) for _ in range(2))
    place.run(softmax_sums_kernel, x, tops, totals, plan=plan)
    # The sums of the splits, each scaled to the greatest of them all.
    if splits > 1:
        top = folded("max", tops, 1, True, engine)
        totals = folded("sum", pointwise("t * exp(a - b)")(totals, tops, top, engine=engine), 1, True, engine)
        tops = top
    pointwise("where(isinf(top) and top > 0, top, top + log(total))")(tops, totals, out=out, engine=engine)


@gpu.kernel(sizes={"x": "(...)", "indices": "(...)", "best": "(?...)", "places": "(?...)"})
def search_kernel(
    x: Tensor, indices: tuple[Tensor, ...], best: Tensor, places: Tensor, *, plan: FoldPlan, greatest: bool
) -> None:
    """best[i, s, b], places[i, s, b] = the greatest (or least) element that split s meets in row i of x, and its index.

    Of a float `best` has the key of `ArgFold`, its place in the order of floats. The index of x[i, j, b] is
    indices[0][i, j, b], or without it j: then each thread meets indices in rising order, and only what is greater (or
    less) wins.
    """
    search = ArgFold(greatest, x.dtype)
    rows, (beaten, nowhere) = Rows(x, plan, size(best, 1)), search.identity
    value, at = make_tensor(search.key, plan.registers), make_tensor(u32, plan.registers)
    fill(value, beaten)
    fill(at, nowhere)
    targets = [rows.of(best), rows.of(places)]

    def meet(place: Sequence[Any], whole: bool) -> None:
        met, index = make_tensor(search.key, plan.registers), make_tensor(u32, plan.registers)
        transform(rows.part(x, place, whole=whole), met, op=search.lift)
        if indices:
            transform(rows.part(indices[0], place, whole=whole), index, op=lambda j: gpu.cast(j, u32))
        else:
            transform(rows.within, index, op=lambda j: place[0] * plan.tile[1] + j)
        if not whole:  # what is not there loses against all
            exists = rows.exists(place)
            transform(rows.within, met, met, op=lambda j, v: gpu.select(exists(j), v, beaten))
            transform(rows.within, index, index, op=lambda j, i: gpu.select(exists(j), i, nowhere))
        for register in range(size(met)):
            found, kept = (met[register], index[register]), (value[register], at[register])
            # In rising order an equal element comes later, and loses: one comparison tells.
            won = search.wins(found, kept) if indices else search.beats(found[0], kept[0])
            put_state((value, at), tuple(gpu.select(won, m, k) for m, k in zip(found, kept, strict=True)), register)

    def store(mine: Expr, state: Iterator[Expr]) -> None:
        for target, part in zip(targets, state, strict=True):
            target[mine, rows.split] = gpu.cast(part, target.dtype)

    # Where no element beats the identity (all are the least number, say), the first index is the answer.
    if not indices:
        first, _ = rows.run(ceil_div(rows.columns, plan.tile[1]))
        transform(rows.within, at, op=lambda j: first * plan.tile[1] + j)
    rows.walk(meet)
    rows.finish((value, at), rows.of_rows((value, at), search.combine), search.combine, store)


def search_rows(place: ExecutionSite, x: Tensor, out: Tensor, *, greatest: bool) -> None:
    """out[i, 0, b] = the column of the greatest or the least element of row i of x."""
    dtype = ArgFold(greatest, x.dtype).key
    indices: tuple[Tensor, ...] = ()
    # Each pass leaves fewer candidates a row: their keys and their indices are searched by the next one.
    while True:
        plan = plan_for(x, *indices, parts=2)
        splits = splits_of(x, plan)
        best = partials(place, x, splits, dtype)
        places = out if splits == 1 else partials(place, x, splits, u32)
        place.run(search_kernel, x, indices, best, places, plan=plan, greatest=greatest)
        if splits == 1:
            return
        x, indices = best, (places,)
