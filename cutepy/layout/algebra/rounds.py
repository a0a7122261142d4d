"""The rounds that accesses of a tile take in a layout, counted element by element, and what is found for them.

Law: a phase takes as many rounds as the busiest bank has words to give; evenly spread they would take fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import LayoutError
from ..values.above import Shown
from ..values.composed import AnyLayout
from .banks import served
from .lanes import lanes_of
from .swizzled import listed

MOST_COUNTED = 1 << 16
"""The most elements of a tile."""
Offsets = Sequence[int] | Mapping[int, int]
"""Where each element is."""
Cost = tuple[int, int, int, tuple[int, ...]]
"""The rounds too many of the worst access, and of all; the elements of memory; the rounds of each access."""


@dataclass(frozen=True, slots=True)
class Found(Shown):
    """A layout of the tile, the rounds of the worst phase of each access, and why there is no better one.

    `free` says that no access takes more rounds than its bytes make it.
    """

    layout: AnyLayout
    ways: tuple[int, ...]
    free: bool
    certificate: str

    def __str__(self) -> str:
        free = "free of conflicts; " if self.free else ""
        return f"{self.layout}, {' and '.join(f'{ways}-way' for ways in self.ways)}: {free}{self.certificate}"


class Access(NamedTuple):
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

    asked: Sequence[Access]
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

    def counted(self, offsets: Offsets) -> list[tuple[int, int]] | None:
        """For each access the rounds of its worst phase, and those its words need; None if one is torn."""
        found = [self._rounds(*pair, offsets) for pair in zip(self.elements, self.asked, strict=True)]
        counted = [entry for entry in found if entry is not None]
        return counted if len(counted) == len(found) else None

    def cost(self, layout: AnyLayout) -> Cost | None:
        """None where what a lane takes at once is torn."""
        counted = self.counted(listed(layout))
        if counted is None:
            return None
        excess = [worst - needed for worst, needed in counted]
        return max(excess), sum(excess), layout.cosize, tuple(worst for worst, _needed in counted)

    def _rounds(self, table: list[list[int]], access: Access, offsets: Offsets) -> tuple[int, int] | None:
        """The rounds of the worst phase where element i lies at `offsets[i]`, those its words need; None if torn."""
        worst, needed = 0, 0
        for start in range(0, len(table[0]), access.vector):
            firsts: list[int | None] = []
            for values in table:
                at = [offsets[element] for element in values[start : start + access.vector]]
                if at != list(range(at[0], at[0] + access.vector)) or at[0] % access.vector:
                    return None
                firsts.append(at[0] * self.element_bytes)
            for phase in served(firsts, access.wide, self.lanes, self.banks):
                worst, needed = max(worst, phase.ways), max(needed, phase.perfect(self.banks))
        return worst, needed
