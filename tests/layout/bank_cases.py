"""Random accesses to workgroup memory and to bindings, and what they cost: counted byte by byte, lane by lane."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import product

from cutepy.layout import ComposedLayout, Layout, Swizzle, make_composed_layout

AnyLayout = Layout | ComposedLayout


@dataclass(frozen=True)
class Access:
    """Lanes and values of a layout: `each` bytes an element, `wide` bytes an access (None: an element)."""

    layout: AnyLayout
    each: int
    wide: int | None = None
    lanes: int = 32
    banks: int = 32
    segment: int = 32

    @property
    def values(self) -> int:
        """How many elements one access takes out of the values; 1 where the layout has lanes only."""
        return 1 if self.wide is None or self.layout.rank < 2 else self.wide // self.each

    def firsts(self) -> list[list[int]]:
        """For each access, the first byte of each lane."""
        sizes = [mode.size for mode in self.layout]
        places = [tuple(reversed(back)) for back in product(*(range(size) for size in reversed(sizes[1:])))]
        return [
            [self.layout(*((lane, *place) if place else (lane,))) * self.each for lane in range(sizes[0])]
            for place in places[:: self.values]
        ]


def phases(access: Access) -> list[list[list[int]]]:
    """For each access, for each phase: the first bytes of the lanes that are served together."""
    wide = access.wide or access.each
    together = max(1, access.lanes * 4 // max(4, wide))
    found = []
    for firsts in access.firsts():
        groups = [firsts[i : i + access.lanes] for i in range(0, len(firsts), access.lanes)]
        found.append([group[i : i + together] for group in groups for i in range(0, len(group), together)])
    return found


def words_of_banks(firsts: list[int], access: Access) -> dict[int, set[int]]:
    """The words of 4 bytes that hold a wanted byte, by bank."""
    banks: dict[int, set[int]] = defaultdict(set)
    for first in firsts:
        for byte in range(first, first + (access.wide or access.each)):
            word = (byte - byte % 4) // 4
            banks[word % access.banks].add(word)
    return banks


def ways(access: Access) -> list[int]:
    """The most words of one bank, phase by phase."""
    return [
        max(len(words) for words in words_of_banks(part, access).values()) for each in phases(access) for part in each
    ]


def perfect_rounds(access: Access) -> int:
    """The rounds that the words would take if they were spread over all banks."""
    counts = [
        sum(len(words) for words in words_of_banks(part, access).values()) for each in phases(access) for part in each
    ]
    return sum(-(-count // access.banks) for count in counts)


def segments(access: Access) -> list[tuple[int, int]]:
    """For each subgroup at each access: the segments touched, and those that its different bytes would fill."""
    found = []
    for firsts in access.firsts():
        for start in range(0, len(firsts), access.lanes):
            wide = access.wide or access.each
            wanted = {first + i for first in firsts[start : start + access.lanes] for i in range(wide)}
            found.append((len({byte // access.segment for byte in wanted}), -(-len(wanted) // access.segment)))
    return found


def random_access(pick: random.Random) -> Access:
    """Lanes and values in any layout, plain or composed, with elements of 1 to 16 bytes."""
    each = pick.choice([1, 2, 4, 4, 8, 16, pick.randint(1, 16)])
    lanes, banks = pick.choice([(32, 32), (32, 32), (64, 32), (16, 16), (8, 32), (pick.randint(1, 40), 12)])
    layout = _random_layout(pick, negative=True)
    return Access(layout, each, None, lanes, banks, pick.choice([32, 64, 128, 24]))


def random_wide_access(pick: random.Random) -> Access:
    """Accesses of several elements: contiguous values that begin at whole accesses."""
    each, count = pick.choice([(1, 4), (1, 16), (2, 2), (2, 4), (2, 8), (4, 2), (4, 4), (8, 2), (3, 4), (4, 1)])
    steps = [(pick.choice([4, 8, 16, 32]), pick.choice([0, 1, 1, 2, 3, 4, 8, 9, 17])), (pick.choice([1, 2]), 64)]
    (lanes, step), (more, rest) = steps
    layout: AnyLayout = Layout((lanes, (count, more)), (step * count, (1, rest * count)))
    if count & (count - 1) == 0 and pick.random() < 0.5:
        layout = make_composed_layout(
            Swizzle(pick.choice([1, 2]), count.bit_length() - 1, 2 + pick.randint(0, 2)), 0, layout
        )
    if pick.random() < 0.3:
        starts = Layout((lanes,), (step * count,))
        return Access(starts, each, each * count)
    return Access(layout, each, each * count, pick.choice([32, 32, 8]), pick.choice([32, 16]), pick.choice([32, 128]))


def _random_layout(pick: random.Random, negative: bool) -> AnyLayout:
    lanes = pick.choice([(32,), (4, 8), (8, 2, 2), (pick.randint(1, 70),), (64,), (16, 2)])
    strides = [pick.choice([0, 1, 1, 2, 3, 4, 7, 8, 16, 32, 33, 64, 256]) for _ in lanes]
    if negative and pick.random() < 0.1:
        strides[0] = -strides[0]
    values = [(pick.choice([1, 2, 3, 4]), pick.choice([1, 2, 5, 32, 100])) for _ in range(pick.choice([0, 1, 1, 2]))]
    thread = (tuple(lanes), tuple(strides)) if len(lanes) > 1 else (lanes[0], strides[0])
    layout = Layout((thread[0], *(size for size, _ in values)), (thread[1], *(step for _, step in values)))
    if not negative or min(strides) >= 0:
        kind = pick.random()
        if kind < 0.4:
            swizzle = Swizzle(pick.choice([1, 2, 3]), pick.choice([0, 1, 2, 3]), pick.choice([3, 4, 5]))
            return make_composed_layout(swizzle, pick.choice([0, 0, 0, 5]), layout)
        if kind < 0.5:
            return make_composed_layout(Layout((5, 7), (11, 3)), 2, layout)
    return layout
