"""What threads do with a layout: a map from (thread, value) to the offset of an element.

Law: banks and segments are those of `bank_conflicts` and `transactions`; what is proposed was counted by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from ..errors import LayoutError
from ..layout import Layout, composition, conflict_free, group_modes, right_inverse, select, unflatten, vectorised
from ..layout.algebra.banks import bank_conflicts, transactions
from ..layout.algebra.operation import on_any
from ..layout.algebra.queries import is_injective
from ..layout.algebra.thread_values import WIDEST
from ..layout.values.composed import AnyLayout, ComposedLayout
from ..layout.values.coordinates import idx2crd
from ..layout.values.int_tuple import leaves, prefix_product, show

WORD, BANKS = 4, 32
MOST_ROWS = 64
COUNTED = 1 << 14
SEARCHED = 1 << 12
"""A better layout is sought for those of up to so many elements."""


@dataclass(frozen=True, slots=True)
class ThreadAccess:
    """How the elements are taken: their bytes, the bytes of one access, and which mode counts the threads."""

    element_bytes: int = 4
    access_bytes: int = 4
    lanes: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.element_bytes <= self.access_bytes <= 1024 or self.access_bytes % self.element_bytes:
            raise LayoutError(
                f"accesses of {self.access_bytes} bytes to elements of {self.element_bytes}: an access takes whole "
                "elements, up to 1024 bytes of them"
            )

    def by_thread(self, layout: AnyLayout) -> AnyLayout:
        """The layout as a map of (thread, value).

        >>> print(ThreadAccess(lanes=1).by_thread(Layout((4, 8, 2), (1, 4, 32))))
        (8,(4,2)):(4,(1,32))
        """
        # Bring the mode that counts lanes to the front and group the others as values.
        if layout.rank > 1 and self.lanes:
            rest = (mode for mode in range(layout.rank) if mode != self.lanes)
            layout = on_any(select, layout, self.lanes, *rest)
        return on_any(group_modes, layout, 1, layout.rank) if layout.rank > 2 else layout

    @property
    def count(self) -> int:
        return max(1, self.access_bytes // self.element_bytes)

    def at(self, offset: int) -> list[str]:
        """Offset, byte address and bank of an element."""
        # Bank = word index modulo BANKS; a word has 4 bytes.
        byte = offset * self.element_bytes
        return [str(offset), hex(byte), str(byte // WORD % BANKS)]


def offsets_of(layout: AnyLayout, thread: int, access: ThreadAccess) -> list[int]:
    """The offsets that a thread touches, value by value."""
    lanes = access.by_thread(layout)
    if lanes.rank < 2:
        return [_whole(lanes(thread))]
    return [_whole(lanes(thread, value)) for value in range(lanes[1].size)]


def _whole(offset: object) -> int:
    if type(offset) is not int:
        raise LayoutError(f"accesses: the layout gives {offset}, which is no offset")
    return offset


def thread_rows(layout: AnyLayout, thread: int, access: ThreadAccess) -> list[list[str]]:
    """A row for each value of a thread: value, coordinate, offset, address, bank.

    >>> thread_rows(Layout((4, 2), (2, 1)), 3, ThreadAccess())
    [['0', '(3,0)', '6', '0x18', '6'], ['1', '(3,1)', '7', '0x1c', '7']]
    """
    lanes = access.by_thread(layout)
    threads = lanes[0].size
    return [
        [str(value), show(idx2crd(thread + threads * value, lanes.shape)), *access.at(offset)]
        for value, offset in enumerate(offsets_of(layout, thread, access)[:MOST_ROWS])
    ]


def verdicts(layout: AnyLayout, thread: int, access: ThreadAccess) -> list[str]:
    """For each access of a thread: the elements that it takes at once, or why it cannot.

    >>> verdicts(Layout((4, 4), (4, 1)), 1, ThreadAccess(4, 16))
    ['values 0 to 3: one access of 16 bytes']
    >>> verdicts(Layout((4, 2), (1, 4)), 1, ThreadAccess(4, 8))
    ['values 0, 1: not one access of 8 bytes, offset 5 does not follow 1']
    """
    offsets, count = offsets_of(layout, thread, access), access.count
    starts = range(0, len(offsets), count)[:MOST_ROWS]
    return [_verdict(start, offsets[start : start + count], access) for start in starts]


def summed(sentences: list[str]) -> list[str]:
    """Verdicts with those that are alike counted: all is well in one line, what is not each in its own.

    >>> summed(["value 0: one access of 4 bytes", "value 1: one access of 4 bytes"])
    ['2 of 2 accesses are whole: one access of 4 bytes each']
    """
    good = [line for line in sentences if "not one" not in line]
    first = f"{len(good)} of {len(sentences)} accesses are whole"
    each = f": {good[0].partition(': ')[2]} each" if good else ""
    return [first + each, *(line for line in sentences if "not one" in line)]


def _verdict(start: int, offsets: Sequence[int], access: ThreadAccess) -> str:
    """What one access of a thread takes: so many bytes at once, or the reason why it cannot."""
    several = len(offsets) > 1
    last = start + len(offsets) - 1
    subject = f"values {start}{',' if last == start + 1 else ' to'} {last}" if several else f"value {start}"
    wide = access.count * access.element_bytes
    if len(offsets) < access.count:
        return f"{subject}: not one access of {wide} bytes, {access.count} values are needed"
    for before, after in pairwise(offsets):
        if after != before + 1:
            return f"{subject}: not one access of {wide} bytes, offset {after} does not follow {before}"
    if offsets[0] % access.count:
        return f"{subject}: not one access of {wide} bytes, offset {offsets[0]} is no multiple of {access.count}"
    return f"{subject}: one access of {wide} bytes"


def thread_of(layout: AnyLayout, index: int, access: ThreadAccess) -> tuple[int, int]:
    """The thread and the value that an index is.

    >>> thread_of(Layout((4, 8)), 6, ThreadAccess()), thread_of(Layout((4, 8)), 6, ThreadAccess(lanes=1))
    ((2, 1), (1, 2))
    """
    threads, place_of = access.by_thread(layout)[0].size, right_inverse(access.by_thread(Layout(layout.shape)))
    value, thread = divmod(_whole(place_of(index)), threads)
    return thread, value


def cell_rows(layout: AnyLayout, index: int, access: ThreadAccess) -> list[list[str]]:
    """What is known of one index: coordinate, offset, address, bank, and whether its thread takes it at once.

    >>> cell_rows(Layout((4, 8), (8, 1)), 6, ThreadAccess())[2:4]
    [['offset', '17'], ['address', '0x44, 4 bytes']]
    """
    offset, rows = layout(index), [["coordinate", show(idx2crd(index, layout.shape))], ["index", str(index)]]
    if type(offset) is not int:
        return [*rows, ["value", show(offset)]]
    where, address, bank = access.at(offset)
    thread, value = thread_of(layout, index, access)
    # A thread takes `count` values at once, beginning at a multiple of it: those beside this value too.
    start = value - value % access.count
    taken = offsets_of(layout, thread, access)[start : start + access.count]
    return [
        *rows,
        ["offset", where],
        ["address", f"{address}, {access.element_bytes} bytes"],
        ["bank", f"{bank} of {BANKS}"],
        [f"thread {thread}", _verdict(start, taken, access)],
    ]


def indices_of(layout: AnyLayout, thread: int, value: int | None, access: ThreadAccess) -> frozenset[int]:
    """The indices that a thread has in the layout, or that of one value of it.

    >>> sorted(indices_of(Layout((4, 8)), 1, None, ThreadAccess()))[:3]
    [1, 5, 9]
    >>> indices_of(Layout((4, 8)), 1, 2, ThreadAccess(lanes=1))
    frozenset({6})
    """
    held = offsets_of(Layout(layout.shape, prefix_product(layout.shape)), thread, access)
    return frozenset(held if value is None else held[value : value + 1])


def memory_rows(layout: AnyLayout, access: ThreadAccess) -> list[list[str]]:
    """Conflicts, transactions and the widest access that every thread can make, each with its reason."""
    if layout.size > COUNTED:
        return [["accesses", f"counted for layouts of up to {COUNTED} elements, here are {layout.size}"]]
    lanes, wide = access.by_thread(layout), access.element_bytes
    rows = []
    try:
        rows.append(["banks", str(bank_conflicts(lanes, wide, access.access_bytes))])
        rows.append(["segments", str(transactions(lanes, wide, access.access_bytes))])
    except LayoutError as error:
        rows.append([f"{access.access_bytes} bytes at once", str(error).partition(": ")[2]])
    return [*rows, ["widest access", _widest(lanes, wide)]]


def _widest(lanes: AnyLayout, element_bytes: int) -> str:
    """How widely every thread moves its values, and what forbids more."""
    if lanes.rank < 2 or WIDEST % element_bytes:
        return f"{element_bytes} bytes at once"
    values = Layout((lanes[0].size, lanes[1].size))
    return "; ".join(map(str.strip, str(vectorised(values, lanes, element_bytes=element_bytes)).splitlines()))


def better(layout: AnyLayout, access: ThreadAccess) -> list[list[str]]:
    """The layouts that `conflict_free` finds for the access, and for the other mode as threads, in place of this one.

    Each as what it is, its expression, and what it costs: nothing, or how many more elements it spans than `layout`.

    >>> better(Layout((32, 32), (32, 1)), ThreadAccess())[0]
    ['swizzle', 'S<5,0,5> o 0 o (32,32):(32,1)', '1-way; 1-way with mode 1 as threads; no more memory']
    >>> better(Layout((32, 32), (32, 1)), ThreadAccess())[1][1]
    '(32,32):(33,1)'
    """
    if not isinstance(layout, Layout) or layout.facts is not None or layout.rank != 2 or layout.size > SEARCHED:
        raise LayoutError(
            f"{layout}: a better one is sought for plain layouts of known sizes, rank 2 and up to {SEARCHED} elements"
        )
    if (now := _ways(layout, access)[0]) == 1:
        return [["nothing", str(layout), "the access has no conflict as it is"]]
    if not is_injective(layout):
        return [["nothing", str(layout), "coordinates share elements, and what is found would have one for each"]]
    # Sort the modes by stride: `tile` is the compact order that the layout itself has in memory.
    modes = zip(map(abs, leaves(layout.stride)), range(len(leaves(layout.shape))), leaves(layout.shape), strict=True)
    near = [(mode, extent) for _step, mode, extent in sorted(modes)]
    tile = tuple(extent for _mode, extent in near)
    steps = {mode: step for (mode, _extent), step in zip(near, leaves(Layout(tile).stride), strict=True)}
    # Map from the layout's coordinates to indices of that tile, in which conflict_free searches.
    places = unflatten(Layout(leaves(layout.shape), tuple(steps[mode] for mode in sorted(steps))), layout.shape)
    # Both directions count: the access itself, and single elements with the other mode as lanes.
    asked = [each.by_thread(places) for each in (access, _other_mode(access))]
    suggestions: dict[str, list[str]] = {}
    for pad in (False, True):
        with suppress(LayoutError):
            wide = [access.access_bytes, access.element_bytes]
            best = composition(conflict_free(tile, asked, access.element_bytes, wide, pad=pad).layout, places)
            # Only a layout with fewer ways than the present one is offered; padding costs elements.
            (ways, others), more = _ways(best, access), max(0, best.cosize - layout.cosize)
            if ways < now:
                plain = "padding" if best.cosize > best.size else "order"
                kind = "swizzle" if isinstance(best, ComposedLayout) else plain
                cost = f"{more} more element{'s' * (more != 1)}" if more else "no more memory"
                verdict = f"{ways}-way; {others}-way with mode {1 - access.lanes} as threads; {cost}"
                suggestions[str(best)] = [kind, str(best), verdict]
    return list(suggestions.values()) or [
        ["nothing", str(layout), f"no swizzle and no padding has fewer ways than {now}"]
    ]


def _other_mode(access: ThreadAccess) -> ThreadAccess:
    """Single elements, with the other mode as threads."""
    return replace(access, lanes=1 - access.lanes, access_bytes=access.element_bytes)


def _ways(layout: AnyLayout, access: ThreadAccess) -> tuple[int, int]:
    """The worst phase of the access itself, and of single elements with the other mode as threads."""
    first, other = (
        bank_conflicts(each.by_thread(layout), each.element_bytes, each.access_bytes).ways
        for each in (access, _other_mode(access))
    )
    return first, other
