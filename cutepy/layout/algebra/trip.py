"""The way of a tile through shared memory from one thread-value layout to another, with a layout free of conflicts.

Law: each element is written once and read by whoever wants it; what a thread writes and reads at once are neighbours,
as many as both layouts have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import LayoutError
from ..values.bit_map import Image, apply
from ..values.composed import AnyLayout
from .banks import served_together
from .bits import columns_of, linear_layout_of
from .find import Found, conflict_free
from .lanes import WIDEST
from .linear import free_of
from .rows import completed, independent


class Trip(NamedTuple):
    """`found.layout` of the tile in shared memory; the values in the order that a thread writes and reads them.

    `together` of them are an access, of which all threads take `rounds` rounds of the banks; a thread writes where no
    bit of `copies` in its index is 1: the others hold the same.
    """

    found: Found
    written: tuple[int, ...]
    read: tuple[int, ...]
    together: int
    rounds: int
    copies: int

    def __str__(self) -> str:
        count = (len(self.written) + len(self.read)) // self.together
        return (
            f"{count} accesses of {self.together} values through shared memory as {self.found.layout}, {self.rounds} "
            f"rounds for {len(self.written)} and {len(self.read)} values; {self.found.certificate}"
        )


def trip(
    source: AnyLayout, target: AnyLayout, written: Sequence[int], read: Sequence[int], lanes: int, element_bytes: int
) -> Trip:
    """The widest trip: `written` and `read` are the columns of the values."""
    columns = [columns_of(layout) or () for layout in (source, target)]
    threads = source[0].size.bit_length() - 1
    bits = max([1, *(column.bit_length() for column in (*columns[0], *columns[1]))])
    most = max(0, (WIDEST // element_bytes).bit_length() - 1)
    common = _common(written, read)[:most]
    while True:
        orders = [_order(common, values) for values in (written, read)]
        accesses = [
            linear_layout_of(
                (*column[:threads], *(apply(values, bit) for bit in order)), (1 << threads, 1 << len(order))
            )
            for column, values, order in zip(columns, (written, read), orders, strict=True)
        ]
        try:
            found = conflict_free(
                (1 << bits,), accesses, element_bytes, element_bytes << len(common), min(128, lanes), 32, False
            )
            break
        except LayoutError:
            if not common:
                raise
            common = common[:-1]
    wide = element_bytes << len(common)
    phases = -(-(1 << threads) // served_together(wide, lanes))
    rounds = sum(ways * phases << len(order) - len(common) for ways, order in zip(found.ways, orders, strict=True))
    numbers = [tuple(apply(order, index) for index in range(1 << len(order))) for order in orders]
    return Trip(
        found,
        numbers[0],
        numbers[1],
        1 << len(common),
        -(-rounds // max(1, (1 << threads) // lanes)),
        free_of((*columns[0][threads:], *columns[0][:threads])) >> len(columns[0]) - threads,
    )


def _common(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """A basis of the elements that both sets of columns reach, the lowest first."""
    image = Image((*one, *other))
    made = [(image.solve(column) or 0) >> len(one) for column in other]
    return sorted(independent(column ^ apply(other, own) for column, own in zip(other, made, strict=True)))


def _order(common: Sequence[int], values: Sequence[int]) -> list[int]:
    """Bits of a value, so turned that the first lead to `common` in order and the others to elements beside them."""
    image = Image(values)
    return completed([image.solve(element) or 0 for element in common], len(values))
