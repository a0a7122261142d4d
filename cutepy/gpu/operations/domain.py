"""Walking several layouts of one shape at once: in as few modes as they share, tile by tile, vectors where they can.

Law of `zipped`: the results have one flat shape, and for some order of its coordinates the i-th element of each is the
element of the operand that met the i-th elements of the others before. Source: the coalescing of TensorIterator
(PyTorch), which is `coalesce` on zipped layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ...layout import ComposedLayout, Layout, composition
from ...layout.algebra.find import conflict_free
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


SIDE, THREADS, ELEMENTS = 32, 256, 1024
"""Neighbours that a tile has in the order of either memory, threads, and elements of a tile."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A tile of the modes of a target, which lie in the order of its memory, and their order in that of the source."""

    tile: tuple[int, ...]
    order: tuple[int, ...]

    def __str__(self) -> str:
        return f"tiles of {show(self.tile)}, read in the order {show(self.order)} of their modes"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return min(THREADS, prod(self.tile))

    @property
    def written(self) -> Layout:
        """(thread, value) to the index in a tile: neighbouring threads stand along the target."""
        return Layout((self.threads, prod(self.tile) // self.threads), (1, self.threads))

    @property
    def read(self) -> Layout:
        """The same along the source."""
        steps = [prod(self.tile[:mode]) for mode in self.order]
        return composition(Layout(tuple(self.tile[mode] for mode in self.order), tuple(steps)), self.written)


@lru_cache(maxsize=256)
def staged_layout(turn: Turn) -> Layout | ComposedLayout:
    """Where the elements of a tile are in shared memory: no two threads that take part together meet in a bank."""
    found: Layout | ComposedLayout = conflict_free(turn.tile, [turn.written, turn.read]).layout
    return found


def turn_of(source: Layout, target: Layout) -> Turn | None:
    """The tile for a copy over modes in the order of the target's strides; None where the source's are in it too.

    >>> print(turn_of(Layout((3, 50176, 8), (50176, 1, 150528)), Layout((3, 50176, 8))))
    tiles of (4,256,1), read in the order (1,0,2) of their modes
    """
    extents, steps = leaves(target.shape), [abs(step) for step in leaves(source.stride)]
    order = sorted(range(len(extents)), key=lambda mode: (extents[mode] == 1, steps[mode] or 1 << 40))
    if steps[order[0]] != 1 or order[0] == 0 or min(extents[0], extents[order[0]]) < 2:
        return None
    tile = [1] * len(extents)
    for modes, wanted in ((range(len(extents)), SIDE), (order, SIDE), (order, ELEMENTS)):
        met = 1
        for mode in modes:
            room = ELEMENTS // prod(tile) * tile[mode]
            whole = power_of_two(extents[mode])
            tile[mode] = max(tile[mode], min(whole, room, max(1, wanted // met)))
            met *= tile[mode]
            if met >= wanted or tile[mode] < extents[mode]:
                break
    return Turn(tuple(tile), tuple(order))


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tile of a flat domain, and the layout from (thread, value) to its elements: neighbours first, then threads.

    Operands that run along another mode than what is written go through shared memory as `turn` says.
    """

    tile: tuple[int, ...]
    owned: Layout
    turn: Turn | None = None

    def __str__(self) -> str:
        return f"tiles of {show(self.tile)}, (thread, value) {self.owned}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.owned[0].size

    def groups(self, shape: IntTuple) -> int:
        """Tiles that cover a domain of this shape."""
        return prod(-(-extent // size) for extent, size in zip(leaves(shape), self.tile, strict=True))


def tiling_of(domain: Sequence[Layout], *, elements: int = ELEMENTS, threads: int = THREADS) -> Tiling:
    """A tile of `elements` for layouts that `zipped` gave, the last of which is written.

    Along the modes in order; where an operand runs along another mode than the result, a `Turn` over both.

    >>> tiling_of([Layout(5000), Layout(5000)])
    Tiling(tile=(1024,), owned=Layout((256, (4, 1)), (4, (1, 1024))), turn=None)
    >>> tiling_of([Layout((600, 500), (500, 1)), Layout((600, 500))]).tile
    (32, 32)
    """
    found = (turn_of(layout, domain[-1]) for layout in domain[:-1])
    turn = next((turn for turn in found if turn is not None), None)
    if turn is not None:
        return Tiling(turn.tile, turn.written, turn)
    tile, room = [], elements
    for extent in leaves(domain[-1].shape):
        tile.append(min(power_of_two(extent), room))
        room //= tile[-1]
    total, width = prod(tile), min(4, tile[0]) if tile else 1
    count = min(threads, total // width)
    return Tiling(tuple(tile), Layout((count, (width, total // (width * count))), (width, (1, width * count))))


def power_of_two(n: int) -> int:
    """The least power of two that is not below n.

    >>> [power_of_two(n) for n in (1, 5, 64)]
    [1, 8, 64]
    """
    return 1 << max(0, n - 1).bit_length()
