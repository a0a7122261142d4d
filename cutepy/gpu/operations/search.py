"""The place of the greatest or the least element of each row: the kernels behind argmax and argmin.

Law: the least index among the elements that no other beats; NaN beats every number and no other NaN.
"""

from __future__ import annotations

from ...layout import Layout, ceil_div, size
from ...tensor.algorithms import fill, transform
from ...tensor.dtypes import i32, u32
from ...tensor.make import make_tensor
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.folds import GREATEST, LEAST, Element, accumulator, beats, better, fold_lanes, ordered, wins
from ..trace.kernel import kernel
from .fold import FoldPlan, columns_like, owned_parts, plan_for
from .operand import Place

NOWHERE = (1 << 32) - 1


@kernel
def search_kernel(x: Tensor, best: Tensor, places: Tensor, *, plan: FoldPlan, greatest: bool, counted: Layout) -> None:
    """best[i, s], places[i, s] = the greatest (or least) element that split s meets in row i of x, and its index.

    Of a float `best` has the place in the order of floats.

    `counted` maps a column of `x` to the index that it stands for.
    """
    in_order = counted == Layout(counted.size)
    _search((x, columns_like(x, counted)), (best, places), plan, greatest, in_order=in_order)


@kernel
def search_again_kernel(
    x: Tensor, indices: Tensor, best: Tensor, places: Tensor, *, plan: FoldPlan, greatest: bool
) -> None:
    """The same for elements x[i, j] whose indices are indices[i, j]."""
    _search((x, indices), (best, places), plan, greatest, in_order=False)


def _search(
    elements: tuple[Tensor, Tensor], out: tuple[Tensor, Tensor], plan: FoldPlan, greatest: bool, *, in_order: bool
) -> None:
    """The body of both kernels: a loop of each thread, then a tree over the lanes of a row.

    `in_order` says that each thread meets indices in rising order: then only what is greater (or less) wins.
    """
    (rows, columns), splits, dtype = (size(elements[0], mode) for mode in (0, 1)), plan.splits, out[0].dtype
    beaten = (LEAST if greatest else GREATEST)[dtype.kind]
    gpu.launch(grid=ceil_div(rows, plan.tile[0]) * splits, threads=plan.threads)
    tile, split = gpu.workgroup.x // splits, gpu.workgroup.x % splits
    row, lane = plan.place(gpu.thread())
    value, at = make_tensor(dtype, plan.registers), make_tensor(u32, plan.registers)
    fill(value, beaten)
    fill(at, NOWHERE)

    def meet(register: int, met: Element) -> None:
        kept = value[register], at[register]
        won = beats(met[0], kept[0], greatest) if plan.tiled and in_order else wins(met, kept, greatest)
        value[register], at[register] = (functions.select(won, m, k) for m, k in zip(met, kept, strict=True))

    def meet_tile(t: Expr | int) -> None:
        met, index = make_tensor(dtype, plan.registers), make_tensor(u32, plan.registers)
        transform(values_of(t), met, op=lambda v: ordered(v, dtype, greatest))
        transform(indices_of(t), index, op=lambda j: functions.cast(j, u32))
        if t is last:
            transform(columns_of(t), met, met, op=lambda j, v: functions.select(j < columns, v, beaten))
            transform(columns_of(t), index, index, op=lambda j, i: functions.select(j < columns, i, NOWHERE))
        for register in range(size(met)):
            meet(register, (met[register], index[register]))

    if plan.tiled:
        last = columns // plan.tile[1]
        values_of, indices_of, columns_of = (owned_parts(t, plan, tile) for t in (*elements, columns_like(elements[0])))
        if in_order:  # where nothing is greater than what all begin with, the first index is the place
            transform(indices_of(split), at, op=lambda j: functions.cast(j, u32))
        for t in gpu.loop(last, start=split, step=splits):
            meet_tile(t)
        if columns % plan.tile[1]:
            with gpu.when(split == last % splits):
                meet_tile(last)
    else:
        mine = tile * plan.tile[0] + row
        with gpu.when(mine < rows):
            for j in gpu.loop(columns, start=split * plan.lanes + lane, step=splits * plan.lanes):
                found, index = (t[mine, j] for t in elements)
                meet(0, (ordered(found, dtype, greatest), functions.cast(index, u32)))
    _search_lanes((value, at), out, plan, greatest)


def _search_lanes(found: tuple[Tensor, Tensor], out: tuple[Tensor, Tensor], plan: FoldPlan, greatest: bool) -> None:
    """From the registers of each thread to the best of each row, by a tree over its lanes."""
    (value, at), (best, places), (row, lane) = found, out, plan.place(gpu.thread())
    tile, split = gpu.workgroup.x // plan.splits, gpu.workgroup.x % plan.splits
    values, indices = (gpu.shared(kind, plan.scratch) for kind in (value.dtype, u32))
    for i, height in enumerate(plan.heights):
        kept = value[i, 0], at[i, 0]
        for j in range(1, plan.registers[1].size):
            kept = better(kept, (value[i, j], at[i, j]), greatest)
        values[row + height, lane], indices[row + height, lane] = kept

    def step(a: Expr, b: Expr) -> None:
        for mine in (row + height for height in plan.heights):
            pair = better((values[mine, a], indices[mine, a]), (values[mine, b], indices[mine, b]), greatest)
            values[mine, a], indices[mine, a] = pair

    fold_lanes(plan.lanes, lane, step)
    for height in plan.heights:
        mine = tile * plan.tile[0] + row + height
        with gpu.when((lane == 0) & (mine < size(best, 0))):
            best[mine, split] = values[row + height, 0]
            places[mine, split] = functions.cast(indices[row + height, 0], places.dtype)


def search_rows(place: Place, x: Tensor, out: Tensor, counted: Layout, *, greatest: bool) -> None:
    """out[i, 0] = what `counted` makes of the column of the greatest or the least element of row i of x."""
    rows, dtype = size(x, 0), i32 if x.dtype.kind == "f" else accumulator("max", x.dtype)
    indices: Tensor | None = None
    while True:
        plan = plan_for(x)
        best = place.new((rows, plan.splits), dtype)
        places = out if plan.splits == 1 else place.new((rows, plan.splits), u32)
        if indices is None:
            place.run(search_kernel, x, best, places, plan=plan, greatest=greatest, counted=counted)
        else:
            place.run(search_again_kernel, x, indices, best, places, plan=plan, greatest=greatest)
        if plan.splits == 1:
            return
        x, indices = best, places
