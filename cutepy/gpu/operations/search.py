"""The place of the greatest or the least element of each row: the kernels behind argmax and argmin.

Law: the least index among the elements that no other beats; NaN beats every number and no other NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from ...layout import ceil_div, size
from ...tensor.dtypes import u32
from ...tensor.make import make_tensor
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.kernel import kernel
from .fold import GREATEST, LEAST, FoldPlan, accumulator, fold_lanes, plan_for
from .operand import Place

NOWHERE = (1 << 32) - 1
Element = tuple[Expr, Expr]
"""A value and its index."""


@kernel
def search_kernel(x: Tensor, best: Tensor, places: Tensor, *, plan: FoldPlan, greatest: bool) -> None:
    """best[i, s], places[i, s] = the greatest (or least) element that split s meets in row i of x, and its index."""
    _search(lambda row, j: (x[row, j], j), size(x, 1), (best, places), plan, greatest)


@kernel
def search_again_kernel(
    x: Tensor, indices: Tensor, best: Tensor, places: Tensor, *, plan: FoldPlan, greatest: bool
) -> None:
    """The same for elements x[i, j] whose indices are indices[i, j]."""
    _search(lambda row, j: (x[row, j], indices[row, j]), size(x, 1), (best, places), plan, greatest)


def _search(
    element: Callable[[Expr, Expr], Element], columns: int, out: tuple[Tensor, Tensor], plan: FoldPlan, greatest: bool
) -> None:
    """The body of both kernels: a loop of each thread, then a tree over the lanes of a row."""
    best, places = out
    rows, splits, dtype = size(best, 0), plan.splits, best.dtype
    gpu.launch(grid=ceil_div(rows, plan.rows) * splits, threads=plan.threads)
    tile, split = gpu.workgroup.x // splits, gpu.workgroup.x % splits
    row, lane = plan.place(gpu.thread())
    mine = tile * plan.rows + row
    value, at = make_tensor(dtype, 1), make_tensor(u32, 1)
    value[0] = (LEAST if greatest else GREATEST)[dtype.kind]
    at[0] = NOWHERE
    with gpu.when(mine < rows):
        for j in gpu.loop(columns, start=split * plan.lanes + lane, step=splits * plan.lanes):
            found, index = element(mine, j)
            met = functions.cast(found, dtype), functions.cast(index, u32)
            value[0], at[0] = _better((value[0], at[0]), met, greatest)

    values, indices = (gpu.shared(kind, plan.grid_of_threads) for kind in (dtype, u32))
    values[row, lane], indices[row, lane] = value[0], at[0]

    def step(a: Expr, b: Expr) -> None:
        pair = _better((values[row, a], indices[row, a]), (values[row, b], indices[row, b]), greatest)
        values[row, a], indices[row, a] = pair

    fold_lanes(plan.lanes, lane, step)
    with gpu.when((lane == 0) & (mine < rows)):
        best[mine, split] = values[row, 0]
        places[mine, split] = functions.cast(indices[row, 0], places.dtype)


def _better(kept: Element, met: Element, greatest: bool) -> Element:
    """The one of two elements that wins."""
    wins = _beats(met[0], kept[0], greatest) | (~_beats(kept[0], met[0], greatest) & (met[1] < kept[1]))
    return functions.select(wins, met[0], kept[0]), functions.select(wins, met[1], kept[1])


def _beats(a: Expr, b: Expr, greatest: bool) -> Expr:
    more = a > b if greatest else a < b
    return more | (~(a == a) & (b == b)) if a.dtype.kind == "f" else more


def search_rows(place: Place, x: Tensor, out: Tensor, *, greatest: bool) -> None:
    """out[i, 0] = the index in row i of x of its greatest or least element."""
    rows, dtype = size(x, 0), accumulator("max", x.dtype)
    indices: Tensor | None = None
    while True:
        plan = plan_for(x)
        best = place.zeros((rows, plan.splits), dtype)
        places = out if plan.splits == 1 else place.zeros((rows, plan.splits), u32)
        if indices is None:
            place.run(search_kernel, x, best, places, plan=plan, greatest=greatest)
        else:
            place.run(search_again_kernel, x, indices, best, places, plan=plan, greatest=greatest)
        if plan.splits == 1:
            return
        x, indices = best, places
