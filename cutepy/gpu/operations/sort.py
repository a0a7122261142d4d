"""Order along an axis, on a device: a merge sort of keys and columns, and places in a sorted vector.

Law: order[i, j, b] is the column of the element of row i that has j before it: equal elements keep their order, and NaN
is greater than all others. Every thread finds what its own places of a merge have by a binary search (Odeh, Green et
al., Merge Path, 2012), so no place is written but by its owner.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ... import gpu
from ...layout import ceil_div, size
from ...tensor import Tensor, i32, mode_sizes
from .. import ArgFold, Expr, cached_launches
from .copies import filled
from .domain import THREADS, coordinate_of, power_of_two
from .gather import around
from .operand import ExecutionSite, place_of, tensor_of

SORTED = 1024
"""Elements that a workgroup sorts in shared memory: their keys and columns have half of the 16 KiB of WebGPU."""
WIDTHS = (16, 128, SORTED)
"""Columns of a tile, the shortest that has the whole row."""


def key_of(value: Expr, *, descending: bool = False) -> Expr:
    """A whole number in the order of elements, NaN the greatest; or in the opposite order."""
    key: Expr = ArgFold(True, value.dtype).lift(value)
    return ~key if descending else key  # ~k is -1 - k, or the greatest u32 less k: it inverts the order of all


def first_of(low: Any, high: Any, before: Callable[[Any], Any]) -> Any:
    """The first of the numbers from low to below high that is not `before`, or high: those before it come first."""
    while low < high:
        middle = (low + high) // 2
        if before(middle):
            low = middle + 1
        else:
            high = middle
    return low


def merged(keys: Callable[[Any], Expr], place: Any, left: tuple[Any, Any], right: tuple[Any, Any]) -> Any:
    """Where the element lies that has `place` others before it when two sorted runs, (first, length), are merged: of
    equal ones the left come first. `place` is below the sum of both lengths."""
    (first, count), (second, other) = left, right
    least = gpu.select(place > other, place - other, 0)
    taken = first_of(least, gpu.minimum(place, count), lambda i: keys(first + i) <= keys(second + (place - 1 - i)))
    rest = place - taken
    mine = (taken < count) & ((rest >= other) | (keys(first + taken) <= keys(second + rest)))
    return gpu.select(mine, first + taken, second + rest)


@gpu.kernel(sizes={"x": "(?...)", "keys": "(?...)", "order": "(?...)"})
def sort_tiles_kernel(
    x: Tensor, keys: tuple[Tensor, ...], order: Tensor, *, width: int, kept: int, descending: bool
) -> None:
    """Sort each tile of so many columns of each row of x (rows, columns, batch) in shared memory: order[i, :, b] = the
    columns of the first ones of each tile, so many as are `kept`, and keys[0][i, :, b] = their keys, if more is to be
    merged."""
    high, (rows, columns, batch) = SORTED // width, (size(x, axis) for axis in range(3))
    extents = ceil_div(rows, high), ceil_div(columns, width), batch
    gpu.launch(grid=prod(extents), threads=THREADS)
    above, across, b = coordinate_of(gpu.workgroup.x, extents)
    held, at = gpu.shared(ArgFold(True, x.dtype).key, SORTED), gpu.shared("u32", SORTED)
    each = [gpu.thread + THREADS * v for v in range(SORTED // THREADS)]
    # What is not there is last: no element that is comes after it.
    last = 0x7FFF_FFFF if held.dtype is i32 else 0xFFFF_FFFF
    for n in each:
        row, column = above * high + n // width, across * width + n % width
        key = gpu.constant(last, held.dtype)
        with gpu.when((row < rows) & (column < columns)):
            key = key_of(x[row, column, b], descending=descending)
        held[n], at[n] = key, column
    gpu.barrier()
    # Sorted runs, side by side, become runs of twice the length.
    for stage in gpu.loop(width.bit_length() - 1):
        run = gpu.constant(1, "u32") << stage
        found = []
        for n in each:
            first = n - n % (2 * run)
            place = merged(lambda i: held[gpu.minimum(i, SORTED - 1)], n - first, (first, run), (first + run, run))
            place = gpu.minimum(place, SORTED - 1)
            found.append((held[place], at[place]))
        gpu.barrier()
        for n, (key, column) in zip(each, found, strict=True):
            held[n], at[n] = key, column
        gpu.barrier()
    # The last tile has fewer, where the order ends.
    for n in each:
        row, column = above * high + n // width, across * kept + n % width
        with gpu.when((row < rows) & (n % width < kept) & (column < size(order, 1))):
            for target in keys:
                target[row, column, b] = held[n]
            order[row, column, b] = gpu.cast(at[n], order.dtype)


@gpu.kernel(sizes={"keys": "(?...)", "order": "(?...)", "new_keys": "(?...)", "new_order": "(?...)"})
def merge_kernel(
    keys: Tensor, order: Tensor, run: Any, kept: Any, new_keys: tuple[Tensor, ...], new_order: Tensor
) -> None:
    """Merge each two runs of so many sorted columns: the keys and the columns in x of the first ones, as are `kept`."""
    rows, columns, batch = (size(keys, axis) for axis in range(3))
    extents = ceil_div(size(new_order, 1), THREADS), rows, batch
    gpu.launch(grid=prod(extents), threads=THREADS)
    across, row, b = coordinate_of(gpu.workgroup.x, extents)
    n = across * THREADS + gpu.thread
    with gpu.when(n < size(new_order, 1)):
        # The last runs of a row are shorter, and may be missing.
        last = columns - 1
        first = gpu.minimum(n // kept * (2 * run), last)
        count = gpu.minimum(run, columns - first)
        other = gpu.minimum(run, columns - first - count)
        place = merged(lambda i: keys[row, gpu.minimum(i, last), b], n % kept, (first, count), (first + count, other))
        place = gpu.minimum(place, last)
        for target in new_keys:
            target[row, n, b] = keys[row, place, b]
        new_order[row, n, b] = order[row, place, b]


def order_rows(place: ExecutionSite, x: Tensor, out: Tensor, *, descending: bool) -> None:
    """out[i, :, b] = the columns of the first elements of row i of x when they are in order, as many as it has."""
    columns, wanted = size(x, 1), size(out, 1)
    run = next((width for width in WIDTHS if width >= columns), SORTED)
    kept, key = min(run, power_of_two(wanted)), ArgFold(True, x.dtype).key

    def fresh() -> tuple[tuple[Tensor, ...], Tensor]:
        """Where a pass puts keys and columns that runs of `run` columns leave, so many as are `kept`."""
        if run >= columns:
            return (), out
        whole, rest = divmod(columns, run)
        shape = size(x, 0), whole * kept + min(rest, kept), size(x, 2)
        return (place.new(shape, key, (1, 0, 2)),), place.new(shape, out.dtype, (1, 0, 2))

    keys, order = fresh()
    place.run(sort_tiles_kernel, x, keys, order, width=run, kept=kept, descending=descending)
    while keys:
        columns, merging = size(order, 1), kept
        run, kept = 2 * merging, min(2 * merging, power_of_two(wanted))
        new_keys, new_order = fresh()
        place.run(merge_kernel, keys[0], order, merging, kept, new_keys, new_order)
        keys, order = new_keys, new_order


@gpu.kernel(sizes={"x": "(?...)", "values": "(?...)", "sorter": "(?...)", "out": "(?...)"})
def search_sorted_kernel(x: Tensor, values: Tensor, sorter: tuple[Tensor, ...], out: Tensor, *, right: bool) -> None:
    """out[i] = how many elements of the sorted vector x are less than values[i], or not greater; x is in the order of
    sorter[0], if that is given."""
    count = size(x)
    gpu.launch(grid=ceil_div(size(values), THREADS), threads=THREADS)
    n = gpu.workgroup.x * THREADS + gpu.thread

    def key(i: Any) -> Expr:
        at = gpu.minimum(i, count - 1)
        for order in sorter:
            at = gpu.minimum(gpu.cast(order[at], "u32"), count - 1)
        return key_of(x[at])

    with gpu.when(n < size(values)):
        mine = key_of(values[n])
        out[n] = gpu.cast(first_of(0, count, lambda i: ~(mine < key(i)) if right else key(i) < mine), out.dtype)


@cached_launches
def ordered(call: str, x: object, axis: int, descending: bool, count: int, engine: str) -> Tensor:
    """The indices, as i32, of so many first elements along an axis in order, where `x` is or `engine` computes."""
    tensor = tensor_of(call, x)
    place, sizes = place_of(call, engine, [tensor]), mode_sizes(tensor)
    out = place.new((*sizes[:axis], count, *sizes[axis + 1 :]), i32)
    if out.size:
        order_rows(place, *around(place, [place.bring(tensor)], out, axis), descending=descending)
    return out


@cached_launches
def search_sorted(x: object, values: object, sorter: object | None, right: bool, engine: str) -> Tensor:
    """Where each element of a vector stands in the sorted vector `x`, as i32, where they are or `engine` computes."""
    given = [tensor_of("searchsorted", t) for t in (x, values, sorter) if t is not None]
    place = place_of("searchsorted", engine, given)
    out = place.new(mode_sizes(given[1]), i32)
    if not given[0].size:
        return filled(place, out, 0)
    if out.size:
        sources = [place.bring(t) for t in given]
        place.run(search_sorted_kernel, sources[0], sources[1], tuple(sources[2:]), out, right=right)
    return out
