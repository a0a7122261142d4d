"""Layouts of shared memory that a kernel asks the library for (`layout=gpu.solve`), from its own accesses.

Law: with an order of its modes in its place, an array is traced as any other, and each access is a map from threads to
elements: from those `conflict_free` finds the layout. What lies side by side in an order is what is taken at once, so
each order may lead to another layout; the one with fewest rounds, then fewest accesses, in the finished kernel stays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from ...errors import KernelError, LayoutError, TableError
from ...layout import Layout, conflict_free
from ...layout.algebra.banks import WORD
from ...layout.algebra.bits import layout_of_columns, mapped_layout
from ...layout.algebra.conflict_free import Found, TileAccesses
from ...layout.algebra.table import from_offsets
from ...layout.values.bit_map import Columns
from ...layout.values.composed import AnyLayout
from ...layout.values.int_tuple import IntTuple, leaves
from ..ir import Kernel, new_arena
from ..ir.ranges import Integers, Points
from ..lower import lower
from ..verify.collect import collect
from ..verify.model import MOST, Access, Model
from .report import report


@dataclass(frozen=True, slots=True)
class Wish:
    """An array whose layout is to be found: its elements as a shape, the bytes of one, and where it was asked for."""

    shape: IntTuple
    element_bytes: int
    place: str

    @property
    def orders(self) -> tuple[Layout, ...]:
        """What stands for the layout at first: the first mode fastest, then the last one."""
        sizes = leaves(self.shape)
        reversed_strides = [prod(sizes[at + 1 :]) for at in range(len(sizes))]
        first, last = Layout(self.shape), Layout(sizes, tuple(reversed_strides))
        if self.shape != sizes or sum(size > 1 for size in sizes) < 2:
            return (first,)
        return first, last


@dataclass(frozen=True, slots=True)
class Taken:
    """The element that thread t takes as value v is `table[t, v]`; all `table.shape[1]` values are taken at once."""

    table: Integers
    said: str


def found_for(kernel: Kernel, wishes: Mapping[str, Wish], placed: Mapping[str, Layout]) -> dict[str, Found]:
    """The layouts that serve the accesses of `kernel` best, which was traced with the stand-ins `placed`.

    Raises KernelError for an access whose index depends on data, leaves the array, takes too many combinations or is no
    layout of (thread, value), and where no layout serves all.
    """
    with new_arena():
        model = collect(lower(kernel), 32)
        every = [access for access in model.accesses if access.buffer.name in wishes]
        return {
            name: _found(model, [a for a in every if a.buffer.name == name], wish, placed[name])
            for name, wish in wishes.items()
        }


def cost(kernel: Kernel, name: str) -> tuple[int, int]:
    """The rounds of the banks that an array takes in all, and how often it is accessed."""
    mine = [access for access in report(kernel).accesses if access.array == name]
    return sum(access.rounds or 0 for access in mine), sum(access.times for access in mine)


def _found(model: Model, accesses: list[Access], wish: Wish, placed: Layout) -> Found:
    if not accesses:
        asked_nothing = TileAccesses((), wish.element_bytes, 32, 32)
        return Found(Layout(wish.shape), (), True, "nobody takes anything of it", asked_nothing)
    call = f"{wish.place}: gpu.shared(..., {wish.shape}, layout=gpu.solve)"
    # offset -> index of the element, the inverse of the placement that was traced
    element_of = np.empty(placed.size, np.int64)
    element_of[placed.offsets().ravel(order="F")] = np.arange(placed.size)
    # Maps of bits where all are linear over F2, else any layouts.
    taken = [one for access in accesses for one in _taken(call, model, access, element_of)]
    asked = _linear(taken, placed.size) or _any(call, taken, wish)
    sizes = [wish.element_bytes * one.table.shape[1] for one, _layout in asked]
    try:
        return conflict_free(wish.shape, [layout for _one, layout in asked], wish.element_bytes, sizes)
    except LayoutError as error:
        raise KernelError(f"{call}: {error}") from None


def _taken(call: str, model: Model, access: Access, element_of: Integers) -> Iterator[Taken]:
    """The (thread, value) tables of elements of one access, one for each distinct table over loops and workgroups."""
    said = f"{call}: {access.place} {access.verb} {access.text}"
    if model.unknowns([access.index]):
        raise KernelError(f"{said}, whose place data decide: no layout serves all; give one yourself")
    # Guards that data decide are dropped: what may be accessed counts as accessed.
    guards, _others = model.split_guards(access)
    ids = model.ids_of([access.index])
    domain = model.domain(ids, each=0)
    guards = tuple(guard for guard in guards if model.ids_of([guard]) <= ids)
    if domain.size * model.threads > MOST:
        raise KernelError(f"{said} in {domain.size} ways, more than are looked at; give a layout yourself")
    points = Points(model.environment(domain.every))
    shape = domain.size, model.threads
    # Rows: combinations of ids; columns: threads.
    places = np.broadcast_to(points.whole(access.index), shape)
    inside = np.broadcast_to(points.where(guards), shape)
    # Some threads are guarded out: the others must be the first ones, the same in each row.
    if not np.all((places >= 0) & (places + access.lanes <= len(element_of))):
        count = int(inside.any(axis=0).sum())
        places, inside = places[inside.any(axis=1), :count], inside[inside.any(axis=1)]
        if not inside[:, :count].all() or inside[:, count:].any():
            raise KernelError(f"{said} in some threads, which are not always the first ones; give a layout yourself")
    # Equal rows are one table.
    for row in np.unique(places, axis=0):
        if row.min(initial=0) < 0 or row.max(initial=0) + access.lanes > len(element_of):
            raise KernelError(f"{said}, which leads out of its {len(element_of)} elements")
        yield Taken(element_of[row[:, None] + np.arange(access.lanes)], said)


def _linear(taken: list[Taken], count: int) -> list[tuple[Taken, AnyLayout]]:
    """Each access once, as a map of bits; nothing where one is none. A start of its own only exchanges the banks."""
    first_of: dict[tuple[Columns, tuple[int, ...]], Taken] = {}
    for one in taken:
        shape = one.table.shape
        flat = one.table.ravel(order="F") ^ one.table[0, 0]
        # Linear over F2 needs powers of 2; then the columns are the images of single bits.
        if len(flat) & (len(flat) - 1) or shape[0] & (shape[0] - 1) or count & (count - 1):
            return []
        columns = tuple(int(flat[1 << bit]) for bit in range(len(flat).bit_length() - 1))
        # All sums of columns, in order: equal to the table if and only if the map is linear.
        made = np.zeros(1, np.int64)
        for column in columns:
            made = np.concatenate([made, made ^ column])
        if not np.array_equal(made, flat):
            return []
        first_of.setdefault((columns, shape), one)
    return [
        (one, layout_of_columns(columns, shape) or mapped_layout(columns, shape))
        for (columns, shape), one in first_of.items()
    ]


def _any(call: str, taken: list[Taken], wish: Wish) -> list[tuple[Taken, AnyLayout]]:
    """Each access once, as a layout; those that differ by a shift of all coordinates meet the same banks, rotated."""
    sizes, per_word = leaves(wish.shape), max(1, WORD // wish.element_bytes)
    first_of: dict[tuple[bytes, tuple[int, ...]], tuple[Taken, AnyLayout]] = {}
    for one in taken:
        # Compared up to a shift, and the shift's remainder within a bank's word.
        coordinates = np.stack(np.unravel_index(one.table, tuple(map(int, sizes)), order="F"))
        start = coordinates[:, :1, :1]
        key = (coordinates - start).tobytes(), tuple(int(at) for at in start.ravel() % per_word)
        if key in first_of:
            continue
        try:
            first_of[key] = one, from_offsets(one.table)
        except TableError as error:
            raise KernelError(f"{one.said}, which is no layout of (thread, value): {error}") from None
    return list(first_of.values())
