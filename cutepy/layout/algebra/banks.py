"""What lanes of a subgroup want of memory at once: words of the banks of workgroup memory, segments of a binding.

Law: bytes decide, not elements, and what several lanes want is counted once. A phase takes as many rounds as the
busiest bank has words to give; evenly spread they would take fewer. Pictures, reports, searches and users count here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import NamedTuple

from ...errors import LayoutError
from ..public import guarded
from ..values.composed import AnyLayout
from ..values.methods import ReprIsStr
from .swizzled import listed
from .thread_values import check_numbers, lanes_of

WORD = 4
"""Bytes that a bank gives in a round."""
LARGEST_COUNT = 1 << 18
"""The most elements whose accesses are counted one by one."""


class Phase(NamedTuple):
    """Lanes that the banks serve together, each with its first byte, and the words wanted, counted by bank."""

    firsts: dict[int, int]
    counts: Counter[int]

    @property
    def ways(self) -> int:
        """The rounds it takes: the words of the busiest bank."""
        return max(self.counts.values())

    def perfect(self, banks: int) -> int:
        """The rounds that the same words would take, spread evenly."""
        return -(-self.counts.total() // banks)


class ConflictWitness(NamedTuple):
    """Lanes that want different words of one bank at once: lane `lanes[i]` wants the word `words[i]`."""

    access: int
    bank: int
    lanes: tuple[int, ...]
    words: tuple[int, ...]

    def __str__(self) -> str:
        lanes, words = (
            ", ".join([*map(str, numbers[:4]), *["..."][: len(numbers) - 4]]) for numbers in (self.lanes, self.words)
        )
        return f"at access {self.access} lanes {lanes} want words {words} of bank {self.bank}"


@dataclass(frozen=True, slots=True, repr=False)
class BankConflicts(ReprIsStr):
    """The rounds of every phase, access by access; those that evenly spread words would take in all; the worst bank."""

    phases: tuple[int, ...]
    perfect: int
    witness: ConflictWitness | None

    @property
    def ways(self) -> int:
        """The rounds of the worst phase; 1 is no conflict."""
        return max(self.phases, default=1)

    @property
    def rounds(self) -> int:
        """The rounds of all phases."""
        return sum(self.phases)

    def __str__(self) -> str:
        rounds = f"{self.rounds} rounds for {len(self.phases)} phases"
        return f"{self.ways}-way conflict, {rounds}: {self.witness}" if self.witness else f"no conflict, {rounds}"


@dataclass(frozen=True, slots=True, repr=False)
class Transactions(ReprIsStr):
    """The segments that each subgroup touches at each access, and those that the bytes wanted would fill in all."""

    each: tuple[int, ...]
    perfect: int

    @property
    def count(self) -> int:
        """The segments of all accesses."""
        return sum(self.each)

    def __str__(self) -> str:
        return f"{self.count} transactions, {self.perfect} would do"


@guarded
def bank_conflicts(
    layout: AnyLayout, element_bytes: int = 4, access_bytes: int | None = None, lanes: int = 32, banks: int = 32
) -> BankConflicts:
    """How many rounds workgroup memory takes for the accesses of `layout`, a map from (lane, value) to an element.

    Mode 0 counts lanes, subgroup after subgroup; each coordinate of the other modes is an access of its own. A bank
    gives one word of 4 bytes a round, to all lanes that want it. As many lanes are served together as 4 bytes a lane
    allow: accesses of 8 and 16 bytes take a half and a quarter of a subgroup at a time, a phase each.

    >>> from cutepy.layout import Layout
    >>> print(bank_conflicts(Layout((32, 2), (32, 1))))
    32-way conflict, 64 rounds for 2 phases: at access 0 lanes 0, 1, 2, 3, ... want words 0, 32, 64, 96, ... of bank 0
    >>> bank_conflicts(Layout(32, 33)).ways, bank_conflicts(Layout(32, 1), element_bytes=16).phases
    (1, (1, 1, 1, 1))

    With `access_bytes` a lane takes so many bytes at once: its values in order, which must be neighbours, or, where the
    layout has lanes only, the bytes from its element on. Raises LayoutError for accesses that are no whole elements or
    do not begin at a multiple of their bytes, for unknown sizes, and above a million elements.
    """
    call = f"bank_conflicts({layout})"
    wide = _checked(call, element_bytes, access_bytes, lanes=lanes, banks=banks)
    phases = [
        (access, phase)
        for access, firsts in enumerate(accesses(call, layout, element_bytes, wide))
        for phase in served(firsts, wide, lanes, banks)
    ]
    access, worst = max(phases, key=lambda entry: entry[1].ways)
    return BankConflicts(
        tuple(phase.ways for _, phase in phases),
        sum(phase.perfect(banks) for _, phase in phases),
        _witness(access, worst, wide, banks) if worst.ways > 1 else None,
    )


@guarded
def transactions(
    layout: AnyLayout, element_bytes: int = 4, access_bytes: int | None = None, lanes: int = 32, segment_bytes: int = 32
) -> Transactions:
    """How many segments of memory the accesses of `layout` touch, a map from (lane, value) to an element.

    Lanes, values and `access_bytes` are those of `bank_conflicts`; a subgroup asks for a segment once an access.

    >>> from cutepy.layout import Layout
    >>> print(transactions(Layout(32, 1)), "|", transactions(Layout(32, 2)), "|", transactions(Layout(32, 8)))
    4 transactions, 4 would do | 8 transactions, 4 would do | 32 transactions, 4 would do

    Raises LayoutError as `bank_conflicts`.
    """
    call = f"transactions({layout})"
    wide = _checked(call, element_bytes, access_bytes, lanes=lanes, segment_bytes=segment_bytes)
    asked = accesses(call, layout, element_bytes, wide)
    counts = [entry for firsts in asked for entry in fetched(firsts, wide, lanes, segment_bytes)]
    return Transactions(tuple(touched for touched, _ in counts), sum(perfect for _, perfect in counts))


def served(firsts: Sequence[int | None], wide: int, lanes: int, banks: int, bank_bytes: int = WORD) -> Iterator[Phase]:
    """The phases of one access of `wide` bytes a lane, from byte `firsts[lane]` on; None takes no part.

    >>> [phase.ways for phase in served(range(0, 256, 8), 4, 32, 32)]
    [2]
    """
    # Hardware serves 128 bytes a phase: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
    together = served_together(wide, lanes, bank_bytes)
    for group in range(0, len(firsts), lanes):
        end = min(group + lanes, len(firsts))
        for start in range(group, end, together):
            active = range(start, min(start + together, end))
            asked = {lane: first for lane in active if (first := firsts[lane]) is not None}
            if asked:
                # Lanes that want the same word share it: count different words per bank.
                words = _units(asked.values(), wide, bank_bytes)
                yield Phase(asked, Counter([word % banks for word in words]))


def served_together(wide: int, lanes: int, bank_bytes: int = WORD) -> int:
    """How many lanes of a subgroup are served in one phase.

    >>> [served_together(wide, 32) for wide in (2, 4, 8, 16)]
    [32, 32, 16, 8]
    """
    return max(1, lanes * bank_bytes // max(bank_bytes, wide))


def fetched(firsts: Sequence[int | None], wide: int, lanes: int, segment_bytes: int) -> Iterator[tuple[int, int]]:
    """For each subgroup: the segments that one access touches, and those that the different bytes would fill.

    >>> list(fetched(range(0, 256, 8), 4, 32, 32))
    [(8, 4)]
    """
    for start in range(0, len(firsts), lanes):
        asked = sorted({first for first in firsts[start : start + lanes] if first is not None})
        if asked:
            touched = _units(asked, wide, segment_bytes)
            # Length of the union of the accesses' byte intervals, in sorted order.
            wanted = sum(min(wide, after - first) for first, after in pairwise(asked)) + wide
            yield len(touched), -(-wanted // segment_bytes)


def _units(firsts: Collection[int], wide: int, unit: int) -> set[int]:
    """The numbers of the units of so many bytes that `wide` bytes from any of `firsts` on lie in."""
    return {(first + byte) // unit for byte in {*range(0, wide, unit), wide - 1} for first in firsts}


def _witness(access: int, phase: Phase, wide: int, banks: int) -> ConflictWitness:
    """The busiest bank of a phase (the lowest number among equals), with the first lane that wants each of its
    words."""
    bank = max(phase.counts, key=lambda bank: (phase.counts[bank], -bank))
    wanted: dict[int, int] = {}
    for lane, first in phase.firsts.items():
        for word in sorted(_units((first,), wide, WORD)):
            if word % banks == bank:
                wanted.setdefault(word, lane)
    return ConflictWitness(access, bank, tuple(wanted.values()), tuple(wanted))


def _checked(call: str, element_bytes: int, access_bytes: int | None, **others: int) -> int:
    """The bytes of an access."""
    wide = element_bytes if access_bytes is None else access_bytes
    check_numbers(call, element_bytes=element_bytes, access_bytes=wide, **others)
    if wide % element_bytes:
        raise LayoutError(f"{call}: an access of {wide} bytes is no whole number of elements of {element_bytes}")
    return wide


def accesses(call: str, layout: AnyLayout, element_bytes: int, wide: int) -> Iterator[list[int]]:
    """For each access the first byte of every lane."""
    table = list(zip(*lanes_of(call, layout, LARGEST_COUNT), strict=True))
    count = wide // element_bytes if layout.rank > 1 else 1
    if len(table) % count:
        raise LayoutError(f"{call}: {len(table)} values of {element_bytes} bytes are no whole accesses of {wide} bytes")
    for start in range(0, len(table), count):
        # First byte of every lane, then the check that its elements are neighbours and aligned.
        firsts = [first * element_bytes for first in table[start]]
        for lane, offsets in enumerate(zip(*table[start : start + count], strict=True)):
            if wide > element_bytes and (firsts[lane] % wide or offsets != (*range(offsets[0], offsets[0] + count),)):
                raise LayoutError(
                    f"{call}: lane {lane} cannot take elements {', '.join(map(str, offsets))} by an access of {wide} "
                    f"bytes; it takes neighbours, and begins at a multiple of {wide // element_bytes} elements"
                )
        yield firsts


MOST_COUNTED = 1 << 16
"""The most elements of a tile."""
Offsets = Sequence[int] | Mapping[int, int]
"""Where each element is."""
Cost = tuple[int, int, int, tuple[int, ...]]
"""The rounds too many of the worst access, and of all; the elements of memory; the rounds of each access."""


class LaneAccess(NamedTuple):
    """A map from (lane, value) to elements of the tile, of which a lane takes `vector`, `wide` bytes, at once."""

    said: str
    layout: AnyLayout
    wide: int
    vector: int

    @property
    def sizes(self) -> tuple[int, int]:
        """Lanes and values."""
        lanes = self.layout[0].size
        return lanes, self.layout.size // lanes

    def torn(self, count: str) -> LayoutError:
        """That the elements which a lane takes at once cannot be neighbours."""
        return LayoutError(f"{self.said}: {count}; give smaller access_bytes")

    def elements(self, count: int) -> list[list[int]]:
        """The elements of each lane in order. Raises LayoutError for one that is not in the tile."""
        return lanes_of(self.said, self.layout, MOST_COUNTED, count)


class Tables(NamedTuple):
    """Accesses, each with the elements of each lane in order, and the memory that serves them."""

    asked: Sequence[LaneAccess]
    elements: Sequence[list[list[int]]]
    element_bytes: int
    lanes: int
    banks: int

    @property
    def first(self) -> Tables:
        """The same for the first access of each lane alone."""
        pairs = zip(self.elements, self.asked, strict=True)
        return self._replace(elements=[[row[: access.vector] for row in table] for table, access in pairs])

    @property
    def wanted(self) -> set[int]:
        """The elements that are taken."""
        return {element for table in self.elements for row in table for element in row}

    def counted(self, offsets: Offsets, most: float = inf) -> list[tuple[int, int]] | None:
        """For each access the rounds of its worst phase, and those its words need; None if one is torn, or surely takes
        more than `most` rounds too many."""
        counted: list[tuple[int, int]] = []
        for table, access in zip(self.elements, self.asked, strict=True):
            rounds = self._rounds(table, access, offsets, most)
            if rounds is None:
                return None
            counted.append(rounds)
        return counted

    def cost(self, layout: AnyLayout, most: float = inf) -> Cost | None:
        """None where what a lane takes at once is torn, or an access surely takes more than `most` rounds too many."""
        counted = self.counted(list(map(int, listed(layout))), most)
        if counted is None:
            return None
        excess = [worst - needed for worst, needed in counted]
        return max(excess, default=0), sum(excess), layout.cosize, tuple(worst for worst, _needed in counted)

    def _rounds(
        self, table: list[list[int]], access: LaneAccess, offsets: Offsets, most: float
    ) -> tuple[int, int] | None:
        """The rounds of the worst phase with element i at `offsets[i]`, what its words need; None as `counted`."""
        worst, needed = 0, 0
        words = served_together(access.wide, self.lanes) * -(-access.wide // WORD)
        end = most + -(-words // self.banks)  # no phase needs more rounds than all different words
        for start in range(0, len(table[0]), access.vector):
            # Offsets of the first element of each lane's access; the others must follow it.
            heads = [offsets[values[start]] for values in table]
            for k in range(1, access.vector):
                if [offsets[values[start + k]] - k for values in table] != heads:
                    return None
            if access.vector > 1 and any(head % access.vector for head in heads):
                return None
            firsts = [head * self.element_bytes for head in heads]
            for phase in served(firsts, access.wide, self.lanes, self.banks):
                worst, needed = max(worst, phase.ways), max(needed, phase.perfect(self.banks))
            if worst > end:
                return None
        return worst, needed
