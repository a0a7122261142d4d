"""The exactness theorem on small plain layouts: every case of a stated domain, judged by definitions alone.

A function of indices is a *layout of size n* if some chain 1 = p0 | p1 | ... | pk = n has `f(i)` equal to the sum over
digits of i in that chain times `f(p)`. The judges below search chains and strides; they evaluate layouts by their own
three lines, and use none of cutepy's algebra. docs/proofs.md states the theorems and carries them to all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from math import prod

from cutepy import Layout, coalesce, complement, composition, left_inverse, right_inverse
from cutepy.errors import CompositionError, LayoutError
from cutepy.layout.values.int_tuple import leaves

Modes = tuple[tuple[int, int], ...]
"""Extents and strides."""
Chain = tuple[int, ...]


def value(modes: Modes, index: int) -> int:
    """The offset of an index; the last mode goes on beyond its extent."""
    total = 0
    for extent, step in modes[:-1]:
        total, index = total + index % extent * step, index // extent
    return total + index * modes[-1][1]


def table(modes: Modes) -> tuple[int, ...]:
    """The offsets of all indices."""
    return tuple(value(modes, i) for i in range(prod(extent for extent, _ in modes)))


def modes_of(layout: Layout) -> Modes:
    """Extents and strides of a result of cutepy."""
    return tuple(zip(leaves(layout.shape), leaves(layout.stride), strict=True)) or ((1, 0),)


def small(most: int, modes: int, strides: int, least: int = 1) -> Iterator[Modes]:
    """All layouts of 1 to `modes` modes of `least` elements or more, at most `most` in all, with strides below
    `strides`."""

    def shapes(room: int, left: int) -> Iterator[tuple[int, ...]]:
        yield ()
        if left:
            for extent in range(least, room + 1):
                yield from ((extent, *rest) for rest in shapes(room // extent, left - 1))

    for shape in shapes(most, modes):
        if shape:
            for steps in product(range(strides), repeat=len(shape)):
                yield tuple(zip(shape, steps, strict=True))


@lru_cache(1024)
def chains(size: int) -> tuple[Chain, ...]:
    """The chains of divisors from 1 to `size`, the shortest first."""
    found: list[Chain] = [(1,)] if size == 1 else []
    for before in range(1, size):
        if size % before == 0:
            found += [(*chain, size) for chain in chains(before)]
    return tuple(sorted(found, key=len))


def follows(offsets: Sequence[int], chain: Chain) -> bool:
    """The offsets are the sums of the digits of their index in the chain, each times the offset of its place."""
    for below, above in pairwise(chain):
        step = offsets[below]
        for i in range(below, above):
            if offsets[i] != offsets[i % below] + i // below * step:
                return False
    return offsets[0] == 0


@lru_cache(1 << 16)
def fewest_modes(offsets: tuple[int, ...]) -> int | None:
    """The modes of the shortest layout with these offsets; None where no layout has them."""
    return next((len(chain) - 1 for chain in chains(len(offsets)) if follows(offsets, chain)), None)


def coalesces(modes: Modes) -> bool:
    """`coalesce`: the same size and offsets, depth at most 1, and no layout with them has fewer modes."""
    found = coalesce(Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes)))
    offsets = table(modes)
    flat = found.depth <= 1 and table(modes_of(found)) == offsets
    return flat and found.rank == max(1, fewest_modes(offsets) or 0)


def composes(outer: Modes, inner: Modes) -> bool:
    """`composition`: the layout whose mode for each mode of `inner` has its size; refused only if there is none."""
    A, B = (Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes)) for modes in (outer, inner))
    shape = [extent for extent, _ in inner]
    axes = [tuple(value(outer, x * step) for x in range(extent)) for extent, step in inner]
    through = {
        at: value(outer, sum(x * step for x, (_, step) in zip(at, inner, strict=True)))
        for at in product(*map(range, shape))
    }
    exists = all(fewest_modes(axis) is not None for axis in axes) and all(
        offset == sum(axis[x] for axis, x in zip(axes, at, strict=True)) for at, offset in through.items()
    )
    try:
        found = composition(A, B)
    except CompositionError as error:
        return not exists and error.witness is not None
    return exists and all(
        mode.size == extent and table(modes_of(mode)) == axis
        for mode, extent, axis in zip(found, shape, axes, strict=True)
    )


def complements(modes: Modes, target: int) -> bool:
    """`complement`: ordered, its translates disjoint; they cover the target wherever any layout's do that cover the
    layout's own offsets too, and only where none do it may be refused.

    Of a set of translates that cover 0, 1, 2, ... the next is the smallest offset not covered: there is one at most.
    """
    moving = tuple((s, d) for s, d in modes if s > 1 and d)
    image = table(moving or ((1, 0),))
    end = max(target, max(image) + 1)
    shifts: list[int] | None = [] if len({*image}) == len(image) else None
    covered: set[int] = set()
    while shifts is not None and (first := next((x for x in range(end) if x not in covered), None)) is not None:
        more = {first + offset for offset in image}
        shifts = None if more & covered else [*shifts, first]
        covered |= more
    tiles = shifts is not None and fewest_modes(tuple(shifts)) is not None
    try:
        rest = table(modes_of(complement(Layout(*map(tuple, zip(*modes, strict=True))), target)))
    except LayoutError:
        return not tiles
    both = [a + b for a in image for b in rest]
    ordered = all(a < b for a, b in pairwise(rest)) and len({*both}) == len(both)
    return ordered and (not tiles or set(range(target)) <= {*both})


def inverts_right(modes: Modes) -> bool:
    """`right_inverse`: offset i at every index R(i), and no longer layout has that."""
    reaching: dict[int, list[int]] = {}
    for index, offset in enumerate(table(modes)):
        reaching.setdefault(offset, []).append(index)
    found = table(modes_of(right_inverse(Layout(*map(tuple, zip(*modes, strict=True))))))
    if any(i not in reaching or index not in reaching[i] for i, index in enumerate(found)):
        return False
    reached = next(i for i in range(len(reaching) + 1) if i not in reaching)
    return not any(
        sections(chain, reaching, range(size)) for size in range(len(found) + 1, reached + 1) for chain in chains(size)
    )


def sections(chain: Chain, reaching: dict[int, list[int]], offsets: Sequence[int], indices: int | None = None) -> bool:
    """Some layout with these places takes each of the offsets to an index that reaches it."""

    def from_place(place: int, steps: tuple[int, ...]) -> bool:
        if place == len(chain) - 1:
            return True
        below, above = chain[place], chain[place + 1]
        here = [x for x in offsets if below <= x < above]
        # An offset at the place itself fixes the stride; where none is asked, any index may be the stride.
        tried: Sequence[int] = reaching[below] if below in reaching and below in here else range(indices or 1)
        for step in tried:
            new = (*steps, step)
            if all(_index(x, chain, new) in reaching[x] for x in here) and from_place(place + 1, new):
                return True
        return False

    return from_place(0, ())


def _index(offset: int, chain: Chain, steps: tuple[int, ...]) -> int:
    total = 0
    for place in reversed(range(len(steps))):
        total, offset = total + offset // chain[place] * steps[place], offset % chain[place]
    return total


@lru_cache(1024)
def rising(most: int) -> tuple[Chain, ...]:
    """The chains 1 | p1 | p2 | ... whose places are below `most`, closed by one that is not."""
    found: list[Chain] = []
    ends: list[Chain] = [(1,)]
    while ends:
        chain = ends.pop()
        found.append((*chain, chain[-1] * most))
        ends += [(*chain, place) for place in range(2 * chain[-1], most, chain[-1])]
    return tuple(sorted(found, key=len))


def inverts_left(modes: Modes) -> bool:
    """`left_inverse`: an index of every offset that is reached; refused only where no layout gives one in the size."""
    offsets = table(modes)
    reaching: dict[int, list[int]] = {}
    for index, offset in enumerate(offsets):
        reaching.setdefault(offset, []).append(index)
    try:
        found = modes_of(left_inverse(Layout(*map(tuple, zip(*modes, strict=True)))))
    except LayoutError:
        asked = sorted(reaching)
        return not any(sections(chain, reaching, asked, len(offsets)) for chain in rising(asked[-1] + 1))
    return all(value(modes, value(found, offset)) == offset for offset in offsets)


@dataclass(frozen=True, slots=True)
class Theorem:
    """A judge and the cases of its domain; a part of them is every `step`-th."""

    holds: Callable[..., bool]
    domain: str
    cases: Callable[[], Iterator[tuple[object, ...]]]


def _pairs(outer: Sequence[Modes], inner: Sequence[Modes]) -> Iterator[tuple[object, ...]]:
    return product(outer, inner)


def _coalesced(most: int, modes: int, strides: int) -> list[Modes]:
    return [each for each in small(most, modes, strides, 2) if fewest_modes(table(each)) == len(each)]


THEOREMS = {
    "coalesce": Theorem(
        coalesces, "size <= 32, modes <= 3, strides <= 8", lambda: ((each,) for each in small(32, 3, 9))
    ),
    "composition, two modes": Theorem(
        composes,
        "left: coalesced, size <= 12, modes <= 3, strides <= 3; right: size <= 8, modes <= 2, strides <= 12",
        lambda: _pairs(_coalesced(12, 3, 4), [*small(8, 2, 13)]),
    ),
    "composition, three modes": Theorem(
        composes,
        "left: as above; right: size 8, modes 3, strides <= 6",
        lambda: _pairs(_coalesced(12, 3, 4), [each for each in small(8, 3, 7, 2) if len(each) == 3]),
    ),
    "complement": Theorem(
        complements,
        "size <= 16, modes <= 3, strides <= 8, targets 1, 7, 12, 24 and the cosize",
        lambda: ((each, target) for each in small(16, 3, 9) for target in {1, 7, 12, 24, max(table(each)) + 1}),
    ),
    "right_inverse": Theorem(
        inverts_right, "size <= 24, modes <= 3, strides <= 8", lambda: ((each,) for each in small(24, 3, 9))
    ),
    "left_inverse": Theorem(
        inverts_left, "size <= 12, modes <= 3, strides <= 5", lambda: ((each,) for each in small(12, 3, 6))
    ),
}
