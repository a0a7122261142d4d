"""Rows and columns of a product's accumulators, folded over the threads that share them.

Law: where `acc` has an element of row i, `reduce_rows(acc, mma, op)` has the fold of all elements of row i of the tile.
Which values and which threads share a row is read off the thread-value layout: values are folded in registers, threads
whose numbers differ in low bits by shuffles, the others through shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np

from ...errors import KernelError
from ...layout import Layout
from ...layout import _ as ALL
from ...layout.values.int_tuple import IntTuple, as_tuple, leaves, map_leaves, product_each
from ...tensor.bulk import computed
from ...tensor.make import make_counting_tensor, make_tensor
from ...tensor.tensor import Tensor
from ...tensor.tiled import TiledMMA
from ..ir.place import user_place
from ..trace.blocks import only
from . import functions
from .collectives import Element, FoldOperands, Operation, get_each, operands_of, put, scratch
from .control import barrier, thread


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which threads and values hold which rows of a tile (or columns, where `axis` is 1).

    `starts` maps a thread to the index of its first element in a tile of `extent` rows; a thread's values are in the
    rows `steps` further down, and `places` maps a value to the number of its step.
    """

    starts: Layout
    extent: int
    axis: int
    steps: tuple[int, ...]
    places: Layout

    def row(self, number: Any) -> Any:
        """The first row of a thread."""
        at: Any = self.starts(number)
        return at // self.extent if self.axis else at % self.extent

    def across(self, number: Any) -> Any:
        """Where it stands in that row."""
        at: Any = self.starts(number)
        return at % self.extent if self.axis else at // self.extent


def sharing(acc: Tensor, mma: TiledMMA, axis: int) -> Sharing:
    """Raises KernelError for registers that are no accumulators of `mma`."""
    shared_rows = _sharing(acc.shape, mma, axis) if acc.engine.space == "rmem" else None
    if shared_rows is None:
        raise KernelError(
            f"{user_place()}: {acc} is no fragment of C of {mma}: give make_fragment_like(mma.thread(A, B, C).C), whole"
        )
    return shared_rows


@lru_cache(maxsize=64)
def _sharing(shape: IntTuple, mma: TiledMMA, axis: int) -> Sharing | None:
    # 1. The fragment may cover several tiles: the extents of what it covers.
    tile = mma.tile[:2]
    once = _fragment_of_thread_0(mma, tile)
    if len(as_tuple(shape)) != once.rank or not isinstance(once.layout, Layout):
        return None
    held, one = (product_each(s)[-2:] for s in (shape, once.shape))
    if any(n % by for n, by in zip(held, one, strict=True)):
        return None
    whole = [extent * n // by for extent, n, by in zip(tile, held, one, strict=True)]
    fragment = _fragment_of_thread_0(mma, (whole[0], whole[1]))
    if fragment.shape != shape:
        return None
    # 2. The row of each value of thread 0, as an offset from its first one.
    rows = [at // whole[0] if axis else at % whole[0] for at in computed(fragment).ravel(order="F").tolist()]
    steps = tuple(sorted(set(rows)))
    # 3. The layout value -> number of its row: modes that move along the row have stride 0, the others count rows.
    along = [step // whole[0] if axis else step % whole[0] for step in leaves(fragment.stride)]
    numbers, count = {0: 0}, 1
    for step, extent in sorted(zip(along, leaves(fragment.shape), strict=True)):
        if step and extent > 1:
            numbers[step] = count
            count *= extent
    strides = iter([numbers.get(step, 0) for step in along])
    places = Layout(shape, map_leaves(lambda leaf: next(strides), shape))
    # 4. Checked against the list, for a fragment may hold its values in another order.
    if any(steps[number] != row for number, row in zip(places.offsets().ravel(order="F").tolist(), rows, strict=True)):
        raise KernelError(f"{user_place()}: {mma} deals out values askew: their rows are no layout of them")
    return Sharing(mma.layout_tv("c")[0], tile[0], axis, steps, places)


def _fragment_of_thread_0(mma: TiledMMA, extents: tuple[int, int]) -> Tensor:
    """The fragment of thread 0 of a tile of C, whose elements are their own indices in the tile."""
    fragment = mma.partition_C(make_counting_tensor(Layout(extents)), 0)
    plain = mma.atom.shape == (1, 1, 1) and mma.atom.threads.size == 1
    whole: Tensor = fragment[(0, *(ALL,) * (fragment.rank - 1))] if plain else fragment
    return whole


def reduce_rows(acc: Tensor, mma: TiledMMA, op: Operation = "sum", *, lanes: int = 4) -> Tensor:
    """The fold of each row of the tile of which `acc` holds the accumulators of `mma`: where `acc` has an element, the
    result has what its row is folded to, so that `transform(acc, rows, acc, op=...)` goes on with both.

    `op` is as in `gpu.workgroup_reduce`. Threads of a group of `lanes` shuffle, where the device has subgroups; the
    others exchange through shared memory. A device whose subgroups are smaller is refused; none are below 4.

    Raises KernelError for registers that `mma` does not deal out, and where not all threads would come here.

    >>> import numpy as np
    >>> from cutepy import FMA, Layout, gpu, make_fragment_like, make_tiled_mma
    >>> from cutepy.tensor import copy
    >>> mma = make_tiled_mma(FMA, Layout((4, 4, 1)))
    >>> @gpu.kernel
    ... def sums(x, y):
    ...     gpu.launch(threads=16)
    ...     part = mma.thread(x, x, x).C
    ...     acc = make_fragment_like(part)
    ...     copy(part, acc)
    ...     copy(gpu.reduce_rows(acc, mma), mma.thread(y, y, y).C)
    >>> x, y = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    >>> sums.interpret(x, y); y[:, 0].tolist(), x.sum(1).tolist()
    ([6.0, 22.0, 38.0, 54.0], [6.0, 22.0, 38.0, 54.0])
    """
    return _folded("gpu.reduce_rows", acc, mma, op, (0, lanes))


def reduce_columns(acc: Tensor, mma: TiledMMA, op: Operation = "sum", *, lanes: int = 4) -> Tensor:
    """As `reduce_rows`, of the columns of the tile. Raises KernelError as it does."""
    return _folded("gpu.reduce_columns", acc, mma, op, (1, lanes))


def _folded(call: str, acc: Tensor, mma: TiledMMA, op: Operation, how: tuple[int, int]) -> Tensor:
    axis, lanes = how
    given = operands_of(call, acc, op)
    trace, rows_of = given.trace, sharing(acc, mma, axis)
    if trace.threads != mma.threads:
        raise KernelError(
            f"{user_place()}: {call}({acc}, ...): {mma.threads} threads hold the tile, the workgroup "
            f"has {trace.threads}"
        )
    # 1. In registers: the values of one row.
    of_step: list[list[Element]] = [[] for _ in rows_of.steps]
    for number, element in zip(rows_of.places.offsets().ravel(order="F").tolist(), given.elements, strict=True):
        of_step[number].append(element)
    folded = [replace(given, elements=elements).own for elements in of_step]
    # 2. By shuffles: bits of the thread's number that leave its row as it is, within a subgroup.
    every = np.arange(mma.threads)
    rows, shuffled = rows_of.row(every), 0
    if mma.threads & (mma.threads - 1) == 0 and trace.has_subgroups():
        bits = [1 << i for i in range(lanes.bit_length() - 1) if 1 << i < mma.threads]
        for bit in (bit for bit in bits if (rows_of.row(every ^ bit) == rows).all()):
            shuffled |= bit
            trace.lanes = max(trace.lanes, 2 * bit)
            others = [tuple([functions.subgroup_shuffle_xor(value, bit) for value in element]) for element in folded]
            folded = [given.combine(a, b) for a, b in zip(folded, others, strict=True)]
    # 3. Through shared memory, where threads of other subgroups share the row: one of each shuffled group stores.
    speaking = every[every & shuffled == 0]
    shares = sorted(set(rows_of.across(speaking).tolist()))
    if len(shares) > 1:
        folded = _by_shared_memory(rows_of, folded, given, (shuffled, shares))
    result = make_tensor(given.dtypes[0], (len(folded),))
    for number, element in enumerate(folded):
        result[number] = given.given(element)
    return Tensor(result.engine, rows_of.places)


def _by_shared_memory(
    rows_of: Sharing, folded: list[Element], given: FoldOperands, how: tuple[int, list[int]]
) -> list[Element]:
    """Each thread stores its partial fold of each row in shared memory, and folds those of all that share the row."""
    shuffled, shares = how
    wide = gcd(*shares) or 1
    # Columns of the scratch tile: the distinct positions across a row, divided by their common step.
    count, me = shares[-1] // wide + 1, thread()
    high = int(np.max(rows_of.row(np.arange(given.trace.threads)))) + rows_of.steps[-1] + 1
    tiles = scratch(given.trace, given.dtypes, high * count)
    first, mine = rows_of.row(me), rows_of.across(me) // wide
    with only((me & shuffled) == 0):
        for step, element in zip(rows_of.steps, folded, strict=True):
            put(tiles, (first + step) * count + mine, element)
    barrier()
    out: list[Element] = []
    for step in rows_of.steps:
        row = (first + step) * count
        shares_of_row = get_each(tiles, row, [share // wide for share in shares])
        out.append(replace(given, elements=shares_of_row).own)
    return out
