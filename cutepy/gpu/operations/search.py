"""The place of the greatest or the least element of each row: the kernel behind argmax and argmin.

Law: the least index among the elements that no other beats; NaN beats every number and no other NaN.
"""

from __future__ import annotations

from functools import reduce

from ...layout import Layout, size
from ...tensor import Tensor, fill, i32, make_tensor, transform, u32
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.folds import GREATEST, LEAST, Element, accumulator, beats, better, ordered, wins
from ..trace.kernel import kernel
from .fold import FoldPlan, Rows, columns_like, over_lanes, plan_for, walk
from .operand import Place

NOWHERE = (1 << 32) - 1


@kernel
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

    Of a float `best` has the place in the order of floats. The index of x[i, j] is indices[0][i, j], or without it
    what `counted` makes of j. Where each thread meets indices in rising order, only what is greater (or less) wins.
    """
    in_order = not indices and counted == Layout(counted.size)
    elements = x, indices[0] if indices else columns_like(x, counted)
    rows, dtype = Rows(x, plan), best.dtype
    beaten = (LEAST if greatest else GREATEST)[dtype.kind]
    value, at = make_tensor(dtype, plan.registers), make_tensor(u32, plan.registers)
    fill(value, beaten)
    fill(at, NOWHERE)
    values_of, indices_of, columns_of = (rows.parts(t) for t in (*elements, columns_like(x)))

    def meet(register: int, met: Element) -> None:
        kept = value[register], at[register]
        won = beats(met[0], kept[0], greatest) if plan.tiled and in_order else wins(met, kept, greatest)
        value[register], at[register] = (functions.select(won, m, k) for m, k in zip(met, kept, strict=True))

    def meet_tile(t: Expr | int) -> None:
        met, index = make_tensor(dtype, plan.registers), make_tensor(u32, plan.registers)
        transform(values_of(t), met, op=lambda v: ordered(v, dtype, greatest))
        transform(indices_of(t), index, op=lambda j: functions.cast(j, u32))
        if isinstance(t, int):  # the tile that ends beyond the row
            transform(columns_of(t), met, met, op=lambda j, v: functions.select(j < rows.columns, v, beaten))
            transform(columns_of(t), index, index, op=lambda j, i: functions.select(j < rows.columns, i, NOWHERE))
        for register in range(size(met)):
            meet(register, (met[register], index[register]))

    def meet_one(mine: Expr, column: Expr) -> None:
        found, index = (t[mine, column] for t in elements)
        meet(0, (ordered(found, dtype, greatest), functions.cast(index, u32)))

    if plan.tiled and in_order:  # where nothing is greater than what all begin with, the first index is the place
        transform(indices_of(rows.split), at, op=lambda j: functions.cast(j, u32))
    walk(rows, meet_tile, meet_tile, meet_one)

    def best_of(i: int) -> Element:
        registers = [(value[i, j], at[i, j]) for j in range(plan.registers[1].size)]
        return reduce(lambda kept, met: better(kept, met, greatest), registers)

    kept = map(best_of, range(len(plan.heights)))
    values, columns = shared = gpu.shared(dtype, plan.scratch), gpu.shared(u32, plan.scratch)
    over_lanes(rows, shared, kept, lambda one, other: better(one, other, greatest))
    for here, mine, place in rows.found():
        with gpu.when(here):
            best[mine, rows.split] = values[place, 0]
            places[mine, rows.split] = functions.cast(columns[place, 0], places.dtype)


def search_rows(place: Place, x: Tensor, out: Tensor, counted: Layout, *, greatest: bool) -> None:
    """out[i, 0] = what `counted` makes of the column of the greatest or the least element of row i of x."""
    rows, dtype = size(x, 0), i32 if x.dtype.kind == "f" else accumulator("max", x.dtype)
    indices: tuple[Tensor, ...] = ()
    while True:
        plan = plan_for(x)
        best = place.new((rows, plan.splits), dtype)
        places = out if plan.splits == 1 else place.new((rows, plan.splits), u32)
        place.run(search_kernel, x, indices, best, places, plan=plan, greatest=greatest, counted=counted)
        if plan.splits == 1:
            return
        x, indices = best, (places,)
