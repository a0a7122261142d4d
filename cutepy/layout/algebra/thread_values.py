"""Thread-value layouts: the one place where they are checked and listed, and the questions that their lists answer.

Law: such a layout maps (thread, value) to the colexicographic index of an element of a tile; row t of `lanes_of` is the
layout at (t, v) for every v in order; modes after the first count v together. The owners of an element, the
elements of a thread and the widest access are read off these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import LayoutError
from ..public import guarded
from ..values.composed import AnyLayout, gives_coordinates
from ..values.coordinates import crd2idx, idx2crd
from ..values.int_tuple import IntTuple, leaves, product, show
from ..values.methods import ReprIsStr
from ..values.size import is_unknown
from .swizzled import listed

WIDEST = 16
"""The most bytes of an access."""
MOST_ASKED = 1 << 17
"""The most elements of a layout that is asked about."""


def check_known(call: str, layout: object) -> None:
    """Raises LayoutError for what is no layout of known sizes."""
    if not isinstance(layout, AnyLayout) or is_unknown(layout):
        raise LayoutError(
            f"{call}: {layout} is no layout of known sizes, from (lane, value) to an element; write Layout(...), and "
            "put values in with subs"
        )


def check_numbers(call: str, **numbers: int) -> None:
    """Raises LayoutError for what is no whole number from 1 to 1024: bytes, lanes, banks."""
    for name, number in numbers.items():
        if type(number) is not int or not 1 <= number <= 1024:
            raise LayoutError(f"{call}: {name}={number!r}; a whole number from 1 to 1024")


def check_width(call: str, wide: int) -> None:
    """Raises LayoutError for bytes that no access of a lane takes at once: no power of two."""
    if wide & (wide - 1):
        raise LayoutError(
            f"{call}: an access of {wide} bytes; a lane takes 1, 2, 4, 8 or 16 bytes at once: give a layout of the "
            "parts of such elements, with the bytes of a part"
        )


def check_listed(call: str, layout: AnyLayout, most: int = MOST_ASKED) -> None:
    """Raises LayoutError for what is no layout of known sizes, or has more elements."""
    check_known(call, layout)
    if layout.size > most:
        raise LayoutError(f"{call}: {layout.size} elements, of which at most {most} are looked at; slice it")


def numbers_of(call: str, layout: AnyLayout, most: int = MOST_ASKED, tile: int | None = None) -> list[int]:
    """What the layout gives at every index.

    >>> from cutepy.layout import Layout
    >>> numbers_of("offsets", Layout((2, 3), (3, 1)))
    [0, 3, 1, 4, 2, 5]

    Raises LayoutError for coordinates, and for what is none of the `tile` elements of a tile.
    """
    check_listed(call, layout, most)
    right = "numbers; take one axis with axis_layout" if tile is None else f"0 to {tile - 1}, first mode fastest"
    if gives_coordinates(layout):
        raise LayoutError(f"{call}: at lane 0, value 0 it is {layout(0)}; elements are {right}")
    numbers = list(map(int, listed(layout)))
    for index, number in enumerate(numbers):
        if tile is not None and not 0 <= number < tile:
            lanes = layout[0].size if layout.rank else 1
            raise LayoutError(
                f"{call}: at lane {index % lanes}, value {index // lanes} it is {number}; elements are {right}"
            )
    return numbers


def lanes_of(call: str, layout: AnyLayout, most: int = MOST_ASKED, tile: int | None = None) -> list[list[int]]:
    """A row for each lane: what the layout gives at each of its values. Raises LayoutError as `numbers_of`.

    >>> from cutepy.layout import Layout
    >>> lanes_of("offsets", Layout((2, 3), (3, 1)))
    [[0, 1, 2], [3, 4, 5]]
    """
    numbers = numbers_of(call, layout, most, tile)
    lanes = layout[0].size if layout.rank else 1
    return [numbers[lane::lanes] for lane in range(lanes)]


class Owner(NamedTuple):
    """A thread, and which of its values."""

    thread: int
    value: int


@dataclass(frozen=True, slots=True, repr=False)
class Owners(ReprIsStr):
    """The owners of the element at `crd`: none, one value of one thread, or several."""

    crd: IntTuple
    owners: tuple[Owner, ...]

    def __str__(self) -> str:
        said = [f"thread {owner.thread} as value {owner.value}" for owner in self.owners]
        return f"{show(self.crd)}: {' and '.join(said) or 'nobody'}"


@dataclass(frozen=True, slots=True, repr=False)
class Touched(ReprIsStr):
    """The elements of `thread` in the order of its values."""

    thread: int
    crds: tuple[IntTuple, ...]

    def __str__(self) -> str:
        return f"thread {self.thread}: {', '.join(map(show, self.crds))}"


@dataclass(frozen=True, slots=True, repr=False)
class Vectorised(ReprIsStr):
    """`elements` values in succession are one access now; `order` of the values makes it `possible` ones.

    `limits` says for each wider access what forbids it, and what other threads' values would allow.
    """

    elements: int
    possible: int
    order: tuple[int, ...]
    element_bytes: int
    limits: tuple[str, ...]

    def __str__(self) -> str:
        wide = self.element_bytes
        now = f"{self.elements * wide} bytes at once"
        if self.possible > self.elements:
            first = ", ".join([*map(str, self.order[:8]), *["..."][: len(self.order) - 8]])
            now += f"; {self.possible * wide} with the values in the order {first}"
        return "\n  ".join([now, *self.limits])


@guarded
def who_owns(layout_tv: AnyLayout, crd: IntTuple, tile: IntTuple) -> Owners:
    """The threads and values of a thread-value layout that hold the element at `crd` of a tile of this shape.

    >>> from cutepy.layout import Layout
    >>> print(who_owns(Layout(((4, 8), 2), ((16, 1), 8)), (3, 5), (8, 8)))
    (3,5): thread 14 as value 1

    Raises LayoutError for unknown sizes and a coordinate that the tile does not have.

    Raises CoordinateError for a coordinate that does not fit the shape.
    """
    call = f"who_owns({layout_tv}, {show(crd)}, {show(tile)})"
    table = _table(call, layout_tv, tile)
    if any(type(entry) is not int for entry in leaves(crd)):
        raise LayoutError(f"{call}: a coordinate is whole numbers, one a mode, or one for all")
    index = crd2idx(crd, tile)
    if not _is_in(crd, tile):
        raise LayoutError(
            f"{call}: the tile has no such coordinate; the last one is {show(idx2crd(product(tile) - 1, tile))}"
        )
    # Several owners are allowed: a layout with stride 0 replicates elements.
    owners = [Owner(t, v) for t, row in enumerate(table) for v, element in enumerate(row) if element == index]
    return Owners(idx2crd(index, tile), tuple(owners))


@guarded
def touched_by(layout_tv: AnyLayout, thread: int, tile: IntTuple) -> Touched:
    """The coordinates that `thread` touches of a tile of this shape, in the order of its values.

    >>> from cutepy.layout import Layout
    >>> print(touched_by(Layout(((4, 8), 2), ((16, 1), 8)), 14, (8, 8)))
    thread 14: (3,4), (3,5)

    Raises LayoutError for unknown sizes and a thread that the layout does not have.
    """
    table = _table(f"touched_by({layout_tv}, {thread}, {tile})", layout_tv, tile)
    if type(thread) is not int or not 0 <= thread < len(table):
        raise LayoutError(f"touched_by({layout_tv}, {thread}, {tile}): there are threads 0 to {len(table) - 1}")
    return Touched(thread, tuple(idx2crd(element, tile) for element in table[thread]))


@guarded
def vectorised(layout_tv: AnyLayout, memory: AnyLayout, *, element_bytes: int = 4, align: int = 16) -> Vectorised:
    """How many values a thread moves at once between registers and a tile that lies in memory as `memory`.

    They are neighbours in memory and begin at a multiple of their bytes, for every thread; `align` is that of the first
    element. An order of the values that makes accesses wider is found where there is one.

    >>> from cutepy.layout import Layout
    >>> print(vectorised(Layout((8, (2, 2)), (4, (2, 1))), Layout(32)))
    4 bytes at once; 16 with the values in the order 0, 2, 1, 3
    >>> print(vectorised(Layout((8, 4), (1, 8)), Layout(32)))
    4 bytes at once
      16 bytes: thread 0 has the element at offset 0, and not that at 1; memory has both: give them to one thread
      8 bytes: thread 0 has the element at offset 0, and not that at 1; memory has both: give them to one thread

    Raises LayoutError for unknown sizes, and where the layout reaches out of the tile.
    """
    call = f"vectorised({layout_tv}, {memory})"
    there = numbers_of(call, memory)
    table = _table(call, layout_tv, memory.shape)
    if type(element_bytes) is not int or element_bytes < 1 or WIDEST % element_bytes or align % element_bytes:
        raise LayoutError(f"{call}: element_bytes={element_bytes!r}, align={align!r}; elements of 1 to {WIDEST} bytes")
    rows = [[there[element] for element in row] for row in table]
    whole = frozenset(there)
    # 1, 2, 4, ... elements up to 16 bytes that the alignment allows; one order of the values must serve every thread.
    as_it_is = list(range(len(rows[0])))
    widths = [1 << bit for bit in range((WIDEST // element_bytes).bit_length()) if align % (element_bytes << bit) == 0]
    orders = {count: _order(rows, count) for count in widths}
    elements = max(count for count in widths if _moves(rows, as_it_is, count))
    possible = max(count for count in widths if orders[count] is not None)
    order = as_it_is if possible <= elements else orders[possible] or as_it_is
    widths = [1 << bit for bit in range((WIDEST // element_bytes).bit_length())]
    limits = [_limit(rows, whole, count, element_bytes, align) for count in widths if count > possible]
    return Vectorised(elements, possible, tuple(order), element_bytes, tuple(limits[::-1]))


def _is_in(crd: IntTuple, tile: IntTuple) -> bool:
    if isinstance(crd, tuple) and isinstance(tile, tuple):
        return all(_is_in(entry, extent) for entry, extent in zip(crd, tile, strict=True))
    return 0 <= crd2idx(crd, tile) < product(tile)


def _table(call: str, layout_tv: AnyLayout, tile: IntTuple) -> list[list[int]]:
    """A row of elements for each thread."""
    if is_unknown(tile) or not all(type(extent) is int for extent in leaves(tile)):
        raise LayoutError(f"{call}: the tile {show(tile)} is no shape of known sizes")
    table = lanes_of(call, layout_tv, tile=product(tile))
    if layout_tv.rank < 2:
        raise LayoutError(f"{call}: {layout_tv} has threads alone; give a layout from (thread, value)")
    return table


def _moves(rows: list[list[int]], order: Sequence[int], count: int) -> bool:
    """Whether all threads can move so many values in succession at once."""
    return len(order) % count == 0 and all(
        row[order[start]] % count == 0
        and all(row[order[start + step]] == row[order[start]] + step for step in range(count))
        for row in rows
        for start in range(0, len(order), count)
    )


def _order(rows: list[list[int]], count: int) -> list[int] | None:
    """An order of the values in which all threads can move `count` in succession at once; None where there is none.

    A value has an offset in each thread. Those of one access have the same offsets but for 0 to count - 1 in turn, so
    the values of each such family are shared out to accesses, and each access needs one of each.
    """
    families: dict[tuple[int, ...], list[list[int]]] = {}
    for value, offsets in enumerate(zip(*rows, strict=True)):
        step = offsets[0] % count
        first = tuple([offset - step for offset in offsets])
        if any(offset % count for offset in first):
            return None
        families.setdefault(first, [[] for _step in range(count)])[step].append(value)
    accesses: list[tuple[int, ...]] = []
    for family in families.values():
        if len({len(values) for values in family}) > 1:
            return None
        accesses += zip(*family, strict=True)
    return [value for access in sorted(accesses, key=lambda access: rows[0][access[0]]) for value in access]


def _limit(rows: list[list[int]], whole: frozenset[int], count: int, element_bytes: int, align: int) -> str:
    """What forbids so many values at once, and what would allow it."""
    said = f"{count * element_bytes} bytes:"
    if align % (count * element_bytes):
        return f"{said} the first element is known to lie at a multiple of {align} bytes only"
    if len(rows[0]) % count:
        return f"{said} a thread has {len(rows[0])} values, no multiple of {count}; give it more"
    for thread, row in enumerate(rows):
        own = set(row)
        for offset in row:
            # An aligned group of `count` elements; the first element that the thread lacks is the reason.
            first = offset // count * count
            for lacking in range(first, first + count):
                if lacking not in own:
                    has = f"{said} thread {thread} has the element at offset {offset}, and not that at {lacking}; "
                    if lacking in whole:
                        return f"{has}memory has both: give them to one thread"
                    return f"{has}nor has memory: pad the tile, or begin it elsewhere"
                if (one := row.count(offset)) != (other := row.count(lacking)):
                    has = f"{said} thread {thread} has the element at offset {offset} {one} times"
                    return f"{has}, and that at {lacking} {other} times; give it both as often"
    return f"{said} the threads need their values in different orders; give all of them one"
