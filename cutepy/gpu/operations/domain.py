"""Walking several layouts of one shape at once: in as few modes as they share, tile by tile, vectors where they can.

Law of `zipped`: the results have one flat shape, and for some order of its coordinates the i-th element of each is the
element of the operand that met the i-th elements of the others before. Source: the coalescing of TensorIterator
(PyTorch), which is `coalesce` on zipped layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...layout import Layout
from ...layout.algebra.rearrange import from_modes
from ...layout.values.int_tuple import IntTuple, leaves, show
from ...tensor.bulk import common_refinement

Piece = tuple[int, list[int]]
"""A mode that all operands share: its extent, and the stride of each."""


def zipped(layouts: Sequence[Sequence[Layout]]) -> list[Layout] | None:
    """One flat layout for each list of modes, in the order of the last one's strides, with shared modes merged.

    >>> row_major, column_major = [Layout(4, 6), Layout(6, 1)], [Layout(4, 1), Layout(6, 4)]
    >>> [str(x) for x in zipped([row_major, row_major])], [str(x) for x in zipped([column_major, row_major])]
    (['24:1', '24:1'], ['(6,4):(4,1)', '(6,4):(1,6)'])

    None where the factors of one mode do not divide those of another operand's, as 2 * 3 and 3 * 2.
    """
    pieces: list[Piece] = []
    for modes in zip(*layouts, strict=True):
        shared = common_refinement(*modes)
        if shared is None:
            return None
        pieces += [(extent, steps) for extent, *steps in zip(*shared, strict=True)]
    pieces.sort(key=lambda piece: [abs(step) for step in piece[1][::-1]])
    merged: list[Piece] = []
    for extent, steps in pieces:
        if merged:
            before, inner = merged[-1]
            if all(step == before * first for step, first in zip(steps, inner, strict=True)):
                merged[-1] = before * extent, inner
                continue
        merged.append((extent, steps))
    shape = [extent for extent, _ in merged]
    return [from_modes(shape, [steps[k] for _, steps in merged]) for k in range(len(layouts))]


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tile of a flat domain, and the layout from (thread, value) to its elements: neighbours first, then threads."""

    tile: tuple[int, ...]
    owned: Layout

    def __str__(self) -> str:
        return f"tiles of {show(self.tile)}, (thread, value) {self.owned}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.owned[0].size

    def groups(self, shape: IntTuple) -> int:
        """Tiles that cover a domain of this shape."""
        return prod(-(-extent // size) for extent, size in zip(leaves(shape), self.tile, strict=True))


def tiling_of(domain: Sequence[Layout], *, elements: int = 1024, threads: int = 256) -> Tiling:
    """A tile of `elements` for layouts that `zipped` gave, the last of which is written.

    Along the modes in order; where an operand is contiguous along another mode than the result, a square over both.

    >>> tiling_of([Layout(5000), Layout(5000)])
    Tiling(tile=(1024,), owned=Layout((256, (4, 1)), (4, (1, 1024))))
    >>> tiling_of([Layout((600, 500), (500, 1)), Layout((600, 500))]).tile
    (32, 32)
    """
    extents = leaves(domain[-1].shape)
    crossing = crossing_mode(domain)
    tile = [1] * len(extents)
    if crossing:
        tile[0] = tile[crossing] = 32
    else:
        room = elements
        for mode, extent in enumerate(extents):
            tile[mode] = min(power_of_two(extent), room)
            room //= tile[mode]
    total, width = prod(tile), min(4, tile[0])
    count = min(threads, total // width)
    return Tiling(tuple(tile), Layout((count, (width, total // (width * count))), (width, (1, width * count))))


def crossing_mode(domain: Sequence[Layout]) -> int:
    """The mode, not the first, along which an operand is contiguous that is not so along the first; 0 for none."""
    extents = leaves(domain[-1].shape)
    for layout in domain[:-1]:
        steps = [abs(step) for step in leaves(layout.stride)]
        for mode in range(1, len(steps)):
            if steps[mode] == 1 and steps[0] > 1 and extents[mode] >= 8 and extents[0] >= 8:
                return mode
    return 0


def power_of_two(n: int) -> int:
    """The least power of two that is not below n.

    >>> [power_of_two(n) for n in (1, 5, 64)]
    [1, 8, 64]
    """
    return 1 << max(0, n - 1).bit_length()
