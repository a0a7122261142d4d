"""Softmax along one axis: rows in registers where they fit, else in two passes, and in pieces where rows are few.

Law: `y[i] = exp(x[i] - m) / sum(exp(x - m))` with m the greatest of the row, in f32; a row with a NaN or an infinite
greatest element, or of -inf alone, is NaN, as the formula says. Source of the one-pass maximum and sum: Milakov and
Gimelshein, arXiv 1805.02867.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import SupportsIndex

from ...layout import Layout, ceil_div, size
from ...layout.algebra.rearrange import joined
from ...ops.rules import chosen_axes, softmax_type
from ...tensor.algorithms import copy, reduce_tree, transform
from ...tensor.bulk import mode_sizes
from ...tensor.make import make_counting_tensor, make_fragment_like, make_tensor
from ...tensor.partition import local_tile, thread_value_partition
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..trace import functions
from ..trace import language as gpu
from ..trace.kernel import kernel
from .domain import zipped
from .fold import FoldPlan, fold_lanes, plan_for
from .operand import Place, modes_of, over, place_of, tensor_of
from .pointwise import converted, pointwise
from .reductions import max as largest_of
from .reductions import sum as total_of

MOST_VALUES = 64
"""Elements of a row that one thread keeps in registers."""
LOWEST = -3.4028234663852886e38
"""Less than or equal to every finite f32, so that `-inf - LOWEST` is no NaN."""


@kernel
def softmax_kernel(x: Tensor, y: Tensor, *, plan: FoldPlan) -> None:
    """y[i, :] = softmax of x[i, :], each thread with its part of a row in registers."""
    rows, columns = size(x, 0), size(x, 1)
    gpu.launch(grid=ceil_div(rows, plan.rows), threads=plan.threads)
    row, lane = plan.place(gpu.thread())
    column = make_counting_tensor(Layout((rows, columns), (0, 1)))
    tiles = (local_tile(t, (plan.rows, plan.step), (gpu.workgroup.x, 0)) for t in (x, y, column))
    source, target, index = (thread_value_partition(t, plan.owned) for t in tiles)
    mine = make_fragment_like(source, "f32")
    copy(source, mine)
    if columns % plan.step:
        transform(mine, index, mine, op=lambda v, j: functions.select(j < columns, v, float("-inf")))
    scratch = gpu.shared("f32", plan.grid_of_threads)
    largest = _over_lanes(
        scratch, plan, (row, lane), reduce_tree(mine, LOWEST, functions.nan_maximum), functions.nan_maximum
    )
    transform(mine, op=lambda v: functions.exp(v - largest))
    total = _over_lanes(scratch, plan, (row, lane), reduce_tree(mine, 0, _add), _add)
    transform(mine, op=lambda v: v / total)
    copy(mine, target)


def _over_lanes(
    scratch: Tensor, plan: FoldPlan, at: tuple[Expr, Expr], value: Expr, op: Callable[[Expr, Expr], Expr]
) -> Expr:
    """What `op` gives over the values of all lanes of a row, for each of them."""
    row, lane = at
    scratch[row, lane] = value

    def step(a: Expr, b: Expr) -> None:
        scratch[row, a] = op(scratch[row, a], scratch[row, b])

    fold_lanes(plan.lanes, lane, step)
    gpu.barrier()
    found: Expr = scratch[row, 0]
    gpu.barrier()
    return found


def _add(a: Expr, b: Expr) -> Expr:
    return a + b


@kernel
def long_softmax_kernel(x: Tensor, y: Tensor, *, plan: FoldPlan) -> None:
    """The same for rows that do not fit: the maximum and the sum in one pass, the quotients in a second."""
    rows, columns = size(x, 0), size(x, 1)
    gpu.launch(grid=ceil_div(rows, plan.rows), threads=plan.threads)
    row, lane = plan.place(gpu.thread())
    mine = gpu.workgroup.x * plan.rows + row
    state = make_tensor("f32", 2)
    state[0], state[1] = LOWEST, 0.0
    with gpu.when(mine < rows):
        for j in gpu.loop(columns, start=lane, step=plan.lanes):
            state[0], state[1] = _joined((state[0], state[1]), (functions.cast(x[mine, j], "f32"), 1.0))

    largest, total = (gpu.shared("f32", plan.grid_of_threads) for _ in range(2))
    largest[row, lane], total[row, lane] = state[0], state[1]

    def step(a: Expr, b: Expr) -> None:
        pair = _joined((largest[row, a], total[row, a]), (largest[row, b], total[row, b]))
        largest[row, a], total[row, a] = pair

    fold_lanes(plan.lanes, lane, step)
    gpu.barrier()
    top, whole = largest[row, 0], total[row, 0]
    with gpu.when(mine < rows):
        for j in gpu.loop(columns, start=lane, step=plan.lanes):
            y[mine, j] = functions.exp(functions.cast(x[mine, j], "f32") - top) / whole


def _joined(a: tuple[Expr, Expr], b: tuple[Expr, Expr | float]) -> tuple[Expr, Expr]:
    """Two maxima, each with the sum of exponentials below it, as one."""
    top: Expr = functions.nan_maximum(a[0], b[0])
    total: Expr = a[1] * functions.exp(a[0] - top) + b[1] * functions.exp(b[0] - top)
    return top, total


def softmax(x: object, axis: SupportsIndex = -1, *, engine: str = "wgpu") -> Tensor:
    """Softmax along an axis, in any layout; integers give f32; the result is compact, in the order of NumPy.

    >>> import numpy as np
    >>> softmax(np.float32([[0, 0], [0, np.inf]]), engine="numpy").numpy().tolist()
    [[0.5, 0.5], [nan, nan]]

    Raises TensorError for an axis that is not there.
    """
    tensor = tensor_of("softmax", x)
    (along,) = chosen_axes("softmax", len(mode_sizes(tensor)), (axis,))
    dtype = softmax_type(tensor.dtype)
    place = place_of("softmax", engine, [tensor])
    result = place.zeros(mode_sizes(tensor), dtype)
    if result.size:
        _softmax(place, converted(place.bring(tensor), dtype, engine=engine), result, along)
    return result


def _softmax(place: Place, x: Tensor, y: Tensor, axis: int) -> None:
    views = _rows(x, y, axis)
    plan = replace(plan_for(views[0]), splits=1)
    columns = size(views[0], 1)
    values = -(-columns // plan.step) * plan.step // plan.lanes
    if values <= MOST_VALUES and plan.tiles(views[0]) and plan.tiles(views[1]):
        vectors = values // 4 if plan.along else values
        place.run(softmax_kernel, *views, plan=replace(plan, vectors=vectors))
    elif size(views[0], 0) > 64 * plan.rows or columns <= 1 << 16:
        place.run(long_softmax_kernel, *views, plan=plan)
    else:
        engine = "numpy" if place.device is None else "wgpu"
        top = largest_of(x, axis, keepdims=True, engine=engine)
        _exponentials(x, top, out=y, engine=engine)
        _quotients(y, total_of(y, axis, keepdims=True, engine=engine), out=y, engine=engine)


_exponentials = pointwise("exp(x - top)")
_quotients = pointwise("x / total")


def _rows(x: Tensor, y: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Both as (rows, columns), with as few factors as can say the rows."""
    modes, targets = modes_of(x), modes_of(y)
    rest = [mode for mode in range(len(modes)) if mode != axis]
    pair = zipped([[m[i] for i in rest] for m in (modes, targets)])
    rows = pair or [joined([m[i] for i in rest]) for m in (modes, targets)]
    return over(x, joined([rows[0], modes[axis]])), over(y, joined([rows[1], targets[axis]]))
