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
from typing import Any

from ... import gpu
from ...layout import ComposedLayout, Layout, composition, conflict_free, from_modes, leaves, make_layout
from ...tensor import Tensor, common_refinement, mode_layouts

Factor = tuple[int, list[int]]
"""A factor of a mode that all operands share: its extent, and the stride of each."""


def zipped(layouts: Sequence[Sequence[Layout]]) -> list[Layout] | None:
    """One flat layout for each operand, given by its modes: as many of the same sizes in each operand; in the order
    of the last one's strides, with shared modes merged.

    >>> row_major, column_major = [Layout(4, 6), Layout(6, 1)], [Layout(4, 1), Layout(6, 4)]
    >>> [str(x) for x in zipped([row_major, row_major])], [str(x) for x in zipped([column_major, row_major])]
    (['24:1', '24:1'], ['(6,4):(4,1)', '(6,4):(1,6)'])

    None where the factors of one mode do not divide those of another operand's, as 2 * 3 and 3 * 2.
    """
    pieces: list[Factor] = []
    for modes in zip(*layouts, strict=True):
        shared = common_refinement(*modes)
        if shared is None:
            return None
        pieces += [(extent, steps) for extent, *steps in zip(*shared, strict=True)]
    pieces.sort(key=lambda piece: [abs(step) for step in piece[1][::-1]])
    # Neighbours in order that are one factor in every operand become one.
    merged: list[Factor] = []
    for extent, steps in pieces:
        if merged:
            before, inner = merged[-1]
            if all(step == before * first for step, first in zip(steps, inner, strict=True)):
                merged[-1] = before * extent, inner
                continue
        merged.append((extent, steps))
    shape = [extent for extent, _ in merged]
    return [from_modes(shape, [steps[k] for _, steps in merged]) for k in range(len(layouts))]


THREADS, TILE_ELEMENTS, VECTOR = 256, 1024, 4
"""Threads of a workgroup, elements of its tile, and the neighbouring elements that a thread takes at once."""
TRANSPOSED_ELEMENTS = 4096
"""Elements of a tile that is transposed in shared memory: 16 KiB of those of 4 bytes. By 64 x 64, with vectors on both
sides, a copy has 0.98 of a plain one's bandwidth on an H200, and without vectors, of 16383 x 16385, 0.87; by 32 x 32 it
has 0.82 and 0.67."""

SECTOR = 8
"""Elements of 4 bytes in a sector of memory, which is read as a whole."""
WIDE = 64
"""Neighbours in a tile whose first mode is shorter than a whole tile."""
SHORTEST_SIDE = 16
"""Extents along a memory from which one mode is a side of a transposed tile."""
SHORT_SIDE, SHORT_ELEMENTS = 8, 2048
"""Elements of a tile along a mode that is short, and along the next one, half as many where a mode has at most half;
and elements of such a tile. On an H100 64 images of 3x512x512 took 135 us from NCHW to NHWC by 4 x 512, as a plain copy
does; by 8 x 512, where five of eight places are empty, 193, and by 4 x 1024 142."""
MANY_ELEMENTS = 1 << 20
"""Elements beyond those that stay in the caches: of fewer, those with short modes are counted."""


def known(condition: object) -> bool:
    """Whether a comparison of sizes is known to hold; of sizes that only the launch knows it may hold, or not."""
    return isinstance(condition, bool) and condition


def _shown(numbers: tuple[int, ...]) -> str:
    """CuTe's notation of a flat tuple."""
    return f"({','.join(map(str, numbers))})"


@gpu.static_type
@dataclass(frozen=True, slots=True)
class TransposedTile:
    """How a tile is transposed between a source and a target whose memory runs along different modes.

    `tile` has the extents of the target's modes, which lie in the order of its memory; `order` lists these modes in the
    order of the source's memory. A thread brings blocks of `width` by `width` elements: so many neighbours in either
    memory are one access.
    """

    tile: tuple[int, ...]
    order: tuple[int, ...]
    width: int = 1

    def __str__(self) -> str:
        by = f", {self.width} at once" if self.width > 1 else ""
        return f"tiles of {_shown(self.tile)}, read in the order {_shown(self.order)} of their modes{by}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return min(THREADS, prod(self.tile) // self.width**2)

    @property
    def written(self) -> Layout:
        """(thread, value) to the index in a tile, for stores: neighbouring threads stand along the target's memory."""
        return distribute(prod(self.tile), self.threads, self.width)

    @property
    def read(self) -> Layout:
        """(thread, value) to the index in a tile, for loads: neighbouring threads stand along the source's memory. A
        value is ((along the source, along the target) in a block of `width` by `width`, block)."""
        steps = [prod(self.tile[:mode]) for mode in range(len(self.tile))]
        wide = [self.width if mode in (0, self.order[0]) else 1 for mode in range(len(self.tile))]
        blocks = Layout(
            tuple(self.tile[mode] // wide[mode] for mode in self.order),
            tuple(steps[mode] * wide[mode] for mode in self.order),
        )
        mine = composition(blocks, Layout((self.threads, blocks.size // self.threads)))
        block = Layout((self.width, self.width), (steps[self.order[0]], 1))
        return make_layout(mine[0], make_layout(block, mine[1]))


def distribute(count: int, threads: int, width: int) -> Layout:
    """(thread, value) to the index of `count` elements: a thread has `width` neighbours, then come those of the next
    thread, and after the last thread the next `width` of the first one.

    >>> print(distribute(1024, 64, 4))
    (64,(4,4)):(4,(1,256))
    """
    return Layout((threads, (width, count // (width * threads))), (width, (1, width * threads)))


@lru_cache(maxsize=256)
def staged_layout(tile: TransposedTile) -> Layout | ComposedLayout:
    """The layout in shared memory of a transposed tile: neither its loads nor its stores have bank conflicts."""
    threads, (block, blocks) = tile.read
    brought = make_layout(threads, make_layout(block[1], block[0], blocks))  # each thread has transposed its blocks
    found: Layout | ComposedLayout = conflict_free(
        tile.tile, [tile.written, brought], access_bytes=4 * tile.width
    ).layout
    return found


def transposed_order(source: Layout, target: Layout) -> tuple[int, ...] | None:
    """The modes in the order of the source's strides, where its memory runs along another mode than the target's (mode
    0) does, and neighbours there share a sector; None where it is the same or none do."""
    extents, steps = leaves(target.shape), [abs(step) for step in leaves(source.stride)]
    order = sorted(range(len(extents)), key=lambda mode: (extents[mode] == 1, steps[mode] or 1 << 40))
    across = order[0]
    crosses = 0 < steps[across] < SECTOR and across != 0 and min(extents[0], extents[across]) > 1
    return tuple(order) if crosses else None


def transposed_tile_of(
    source: Layout, target: Layout, *, elements: int = TRANSPOSED_ELEMENTS, width: int = VECTOR
) -> TransposedTile | None:
    """The transposition for a copy over modes in the order of the target's strides; None where the source's memory runs
    along the target's, or few elements have a short mode.

    It has `elements`, in a square or in two, whose sides are a mode, or two where the first one is short. A thread
    takes `width` neighbours of either memory.

    >>> print(transposed_tile_of(Layout((600, 500), (500, 1)), Layout((600, 500))))
    tiles of (64,64), read in the order (1,0) of their modes, 4 at once
    >>> print(transposed_tile_of(Layout((7, 900, 80, 5), (360000, 400, 5, 1)), Layout((7, 900, 80, 5))))
    tiles of (8,8,8,8), read in the order (3,2,0,1) of their modes
    """
    order = transposed_order(source, target)
    if order is None:
        return None
    # A run along either memory has a second mode where the first one is short. Few elements stay in the caches.
    extents, side = leaves(target.shape), 1 << (elements.bit_length() - 1) // 2
    runs = [modes[: 1 if extents[modes[0]] >= SHORTEST_SIDE else 2] for modes in (order, tuple(range(len(extents))))]
    met = list(dict.fromkeys([*runs[0], *runs[1]]))
    short = len(runs[0]) + len(runs[1]) > 2
    if short and prod(extents) < MANY_ELEMENTS:
        return None
    # The other modes are read one index after the other, in their own order: sizes make no further plans.
    tile, longest = [1] * len(extents), max(met, key=lambda mode: extents[mode])
    for mode in met:
        tile[mode] = side if not short else SHORT_SIDE if 2 * extents[mode] > SHORT_SIDE else SHORT_SIDE // 2
    while prod(tile) > elements:  # four short modes, where several operands share the memory
        tile[max(met, key=lambda mode: (tile[mode], -extents[mode]))] //= 2
    tile[longest] *= max(1, min(elements, SHORT_ELEMENTS if short else elements) // prod(tile))
    rest = [mode for mode in range(len(extents)) if mode not in met]
    return TransposedTile(tuple(tile), (*met, *rest), 1 if short else width)


@gpu.static_type
@dataclass(frozen=True, slots=True)
class Tiling:
    """A tile of a flat domain, and the layout from (thread, value) to its elements: neighbours first, then threads.

    Operands whose memory runs along another mode than what is written, `crossing` by number, go through shared memory
    as `transposed` says.
    """

    tile: tuple[int, ...]
    owned: Layout
    transposed: TransposedTile | None = None
    crossing: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"tiles of {_shown(self.tile)}, (thread, value) {self.owned}"

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.owned[0].size


def vector_width(tensors: Sequence[Tensor]) -> int:
    """How many neighbours of flat tensors of one shape are one aligned vector, at every place: 4 or 1.

    Each has a mode of neighbours, or repeats its elements; and 4 divides its extent, all other strides, and the offset.
    """
    numbers: list[int] = []
    for t in tensors:
        modes = [(mode.size, abs(leaves(mode.stride)[0])) for mode in mode_layouts(t) if mode.size > 1]
        near = [n for n, step in modes if step == 1]
        apart = [step for _, step in modes if step != 1]
        if not (near or 0 in apart):
            return 1
        numbers += *near, *apart, t.offset
    return VECTOR if vectors_divide(numbers) else 1


def vectors_divide(numbers: Sequence[int]) -> bool:
    """Whether `VECTOR` divides all numbers: one question of what is left together, not one of each number, for calls of
    other sizes ask it again."""
    return sum([number % VECTOR for number in numbers]) == 0


def tiling_of(
    domain: Sequence[Layout], *, elements: int = TILE_ELEMENTS, threads: int = THREADS, width: int = VECTOR
) -> Tiling | None:
    """The tile for layouts that `zipped` gave, the last of which is written, one of few for all sizes: `elements` along
    the first mode, or `WIDE` of these, or a `TransposedTile` where operands run along another mode than the result.
    A first mode of fewer than 32 has a tile of 8 or 16 by as many of the second as make `elements`, where the second is
    long and there are `MANY_ELEMENTS`. None for other short modes, and where such operands' own mode is short: elements
    are counted through all modes.

    >>> tiling_of([Layout(5000), Layout(5000)])
    Tiling(tile=(1024,), owned=Layout((256, (4, 1)), (4, (1, 1024))), transposed=None, crossing=())
    >>> tiling_of([Layout((600, 500), (500, 1)), Layout((600, 500))]).tile
    (64, 64)
    """
    # Up to four operands share the memory of one transposed tile.
    crossing = [i for i, layout in enumerate(domain[:-1]) if transposed_order(layout, domain[-1])]
    if crossing:
        each = TRANSPOSED_ELEMENTS // min(4, power_of_two(len(crossing)))
        turned = transposed_tile_of(domain[crossing[0]], domain[-1], elements=each, width=width)
        if turned is not None:
            return Tiling(turned.tile, turned.written, turned, tuple(crossing[:4]))
        return None
    extents = leaves(domain[-1].shape)
    many = prod(extents) >= MANY_ELEMENTS
    if len(extents) == 1 or (many and extents[0] >= elements // 2):
        tile: tuple[int, ...] = (elements, *[1] * (len(extents) - 1))
    elif extents[0] >= WIDE // 2:
        tile = (WIDE, elements // WIDE, *[1] * (len(extents) - 2))
    elif many and extents[1] >= elements // (2 * SHORT_SIDE):
        side = SHORT_SIDE if extents[0] <= SHORT_SIDE else 2 * SHORT_SIDE
        tile = (side, elements // side, *[1] * (len(extents) - 2))
    else:
        return None
    return Tiling(tile, distribute(elements, threads, width))


def coordinate_of(index: Any, extents: Sequence[Any]) -> tuple[Any, ...]:
    """The coordinate of an index in colexicographic order, below the product of the extents.

    >>> coordinate_of(23, (4, 3, 2))
    (3, 2, 1)
    """
    if len(extents) == 1:
        return (index,)
    below = prod(extents[:-1])  # one division for an extent: the rest comes with its quotient
    return (*coordinate_of(index % below, extents[:-1]), index // below)


def power_of_two(n: int) -> int:
    """The least power of two that is not below n.

    >>> [power_of_two(n) for n in (1, 5, 64)]
    [1, 8, 64]
    """
    return 1 << max(0, n - 1).bit_length()
