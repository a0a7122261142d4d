"""From one thread-value layout to another inside a kernel: the plan of `cutepy.convert`, in registers and shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import KernelError
from ...layout import convert as planned
from ...layout.algebra.conflict_free import Trip
from ...layout.algebra.convert import Conversion
from ...layout.values.composed import AnyLayout
from ...tensor.engine import offset_of
from ...tensor.make import make_tensor
from ...tensor.tensor import Tensor
from ..ir import Expr
from ..ir.place import user_place
from ..trace.state import current
from .control import barrier, lane, shared, thread
from .functions import select, subgroup_shuffle, subgroup_shuffle_xor


def convert(
    fragment: Tensor, source: AnyLayout, target: AnyLayout, *, lanes: int = 32, through: str | None = None
) -> Tensor:
    """The registers of this thread in the layout `target`, from `fragment`, its registers in the layout `source`.

    Both map (thread, value) to an element of one tile; where the workgroup has more threads than they name, each group
    of as many has a tile of its own. `lanes`, `through` and the plan are those of `cutepy.convert`. A device whose
    subgroups are smaller is refused.

    Raises KernelError where some threads of the workgroup would not take part or the fragment has another size.

    >>> import numpy as np
    >>> from cutepy import Layout, gpu, make_tensor
    >>> rows, columns = Layout((4, 4), (4, 1)), Layout((4, 4), (1, 4))
    >>> @gpu.kernel
    ... def turned(x, y):
    ...     gpu.launch(threads=4)
    ...     held = make_tensor("f32", 4)
    ...     for v in range(4):
    ...         held[v] = x[gpu.thread, v]
    ...     other = gpu.convert(held, rows, columns)
    ...     for v in range(4):
    ...         y[gpu.thread, v] = other[v]
    >>> x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    >>> turned.interpret(x, y); (y == x.T).all()
    np.True_
    """
    # 1. The fragment, and all threads of the workgroup, must fit the layouts.
    trace, place = current("gpu.convert"), user_place()
    plan = planned(source, target, lanes, fragment.dtype.bytes, through)
    values = source.size // plan.threads
    if fragment.size != values:
        raise KernelError(f"{place}: gpu.convert({fragment}, {source}, ...): the layout has {values} values a thread")
    if trace.divergent[-1]:
        raise KernelError(
            f"{place}: gpu.convert inside {trace.divergent[-1]}, where threads may be missing; move it out"
        )
    if trace.threads % plan.threads or (plan.trip and trace.threads != plan.threads):
        raise KernelError(
            f"{place}: gpu.convert({fragment}, {source}, ...): {plan.threads} threads hold the tile, the workgroup has "
            f"{trace.threads}; launch {plan.threads}" + ("" if plan.trip else ", or a multiple")
        )
    # 2. By shuffles, or where the plan says so through shared memory.
    held = [fragment[value] for value in range(values)]
    with trace.for_every_size():  # all exchanges stay within groups of `plan.lanes` threads
        converted = _by_shared_memory(plan.trip, plan, held, fragment) if plan.trip else _shuffled(plan, held)
    result = make_tensor(fragment.dtype, (len(converted),))
    for value, entry in enumerate(converted):
        result[value] = entry
    return result


def _shuffled(plan: Conversion, held: list[Any]) -> list[Any]:
    trace = current("gpu.convert")
    inside = min(plan.lanes, plan.threads)
    if plan.shuffles:
        trace.lanes = max(trace.lanes, inside)
    index = lane() if plan.shuffles and plan.threads <= plan.lanes else thread()
    own = index % plan.threads if plan.threads < trace.threads else index

    def shuffle(value: Any, other: Any, mask: int) -> Any:
        if plan.permutation is None:
            return subgroup_shuffle_xor(value, mask)
        return subgroup_shuffle(value, (other if own is lane() else lane() ^ own ^ other) ^ mask)

    return plan(held, own, select, shuffle)


def _by_shared_memory(trip: Trip, plan: Conversion, held: list[Any], fragment: Tensor) -> list[Any]:
    own = thread()
    tile = shared(fragment, trip.found.layout, name="tile")
    barrier()  # threads may still read the tile of an earlier iteration
    written = np.array([_at(trip.found.layout, plan.source, own, value) for value in trip.written], object)
    values = np.array([held[value] for value in trip.written], object)
    tile.engine.store(written, values, (own & trip.copies) == 0 if trip.copies else None)
    barrier()
    places = np.array([_at(trip.found.layout, plan.target, own, value) for value in trip.read], object)
    loaded = tile.engine.load(places)
    values_by_number = dict(zip(trip.read, loaded, strict=True))
    return [values_by_number[value] for value in range(len(values_by_number))]


def _at(tile: AnyLayout, layout: AnyLayout, own: Expr, value: int) -> Any:
    """The offset in a tile of value `value` of this thread, by a layout (thread, value) -> element."""
    return offset_of(tile, offset_of(layout, (own, value)))
