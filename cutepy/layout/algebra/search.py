"""Searching for inverses where sorted modes do not give them.

An inverse is built mode by mode from the fastest on; each further mode must continue what the ones before it fixed,
which leaves few choices.

A left inverse R reads an offset as digits in the radix of its extents. If no digit of a sum of L's modes carries,
`R(L(c))` is linear in c, and R inverts L exactly when its strides x solve the integer system `digits(stride of mode i)
. x = position of mode i`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, prod
from operator import mul

from ...errors import LayoutError
from ...lazy import numpy as np
from ..values.int_tuple import leaves
from ..values.layout import Layout, _make
from ..values.size import require_known_sizes
from .rearrange import Modes, coalesce, from_modes, moving
from .swizzled import listed
from .table import first_deviation, gathered, reached_from_0

Reached = list[tuple[int, list[int]]]
"""Offsets, each with its coordinates."""
MOST_COMPARED = 1 << 25
"""How many offsets the search for a right inverse compares before it gives up: about half a second."""
MOST_SEARCHED = 1 << 16
"""How many coordinates a search looks at."""


def largest_right_inverse(layout: Layout, asked: Layout) -> Layout:
    """The largest R with `layout(R(i)) == i`, every R(i) a coordinate of `layout`, by exhaustive search.

    Raises LayoutError, which says what was asked for, where the search is cut off.
    """
    require_known_sizes(*leaves(layout.shape), *leaves(layout.stride))
    offsets = listed(layout)
    bound = reached_from_0(offsets)
    # Offset -> coordinates: a next mode must begin at a coordinate of the next missing offset.
    wanted: dict[int, list[int]] = {}
    for position, offset in enumerate(map(int, offsets)):
        wanted.setdefault(offset, []).append(position)
    best: tuple[int, list[int], list[int]] = (1, [], [])
    left = MOST_COMPARED

    def extend(extents: list[int], strides: list[int]) -> None:
        """Try every next mode: a stride that leads to the first missing offset, at every extent that stays correct."""
        nonlocal best, left
        reached = listed(from_modes(extents, strides))
        count = len(reached)
        if count > best[0]:
            best = (count, extents, strides)
        if best[0] == bound or count * 2 > bound:
            return
        for step in wanted.get(count, ()):
            if strides and step == strides[-1] * extents[-1]:
                continue  # the mode before, longer: that was tried
            # The longest mode with this stride that keeps layout(R(i)) == i; every shorter one is tried too.
            factor = 1
            while (factor + 1) * count <= bound:
                left -= count + 320  # a try costs more than its offsets
                if left < 0:
                    raise LayoutError(
                        f"right_inverse({asked}): the modes overlap in too many ways; the largest inverse is open "
                        f"after {MOST_COMPARED} comparisons, so divide the layout first"
                    )
                further = step * factor
                if reached[-1] + further >= len(offsets):
                    break
                if first_deviation(gathered(offsets, reached, further), 1, count * factor) is not None:
                    break
                factor += 1
            for shorter in range(factor, 1, -1):
                extend([*extents, shorter], [*strides, step])

    extend([], [])
    return coalesce(from_modes(best[1], best[2]))


def some_left_inverse(layout: Layout, *, anywhere: bool = True) -> Layout:
    """An R with `layout(R(layout(i))) == layout(i)`, or LayoutError where none is found.

    First among the radix systems in which no digit of a sum of offsets carries; then, for offsets below 512, among all
    radix systems, and where coordinates share offsets among all ways to choose one for each: first of those that are 0
    along modes of stride 0, then, if it may lead `anywhere`, of all.
    """
    require_known_sizes(*leaves(layout.shape), *leaves(layout.stride))
    why = "no layout maps its offsets back"
    try:
        modes = carry_free_inverse(layout) or inverse_among_all(layout, anywhere=anywhere)
    except SearchEnded as ended:
        modes, why = None, f"no inverse was found; not searched: {ended}"
    if modes is None:
        raise LayoutError(
            f"left_inverse({layout}): {why}. There is one where each stride is a multiple of the next smaller one and "
            "spans its mode"
        )
    return coalesce(from_modes(*modes))


class SearchEnded(Exception):
    """The search went through as much as it may: what is left out, in words."""


LARGEST_STRIDE = 1 << 22
SMALL_STRIDE = 1 << 10
"""Up to here NumPy is not loaded."""
NODES = 4000
CHOICES = 300_000
"""Coordinates that the search among all radix systems tries: about a second."""


def carry_free_inverse(layout: Layout) -> Modes | None:
    """Extents and strides of a left inverse whose digits never carry; None if none was found in 4,000 radix systems.

    Depth first over radices.

    >>> carry_free_inverse(Layout((2, 2), (2, 3)))
    ([2, 3], [1, 1])
    """
    modes = moving(layout)
    if not modes:
        return [1], [0]
    all_steps, positions, extents = map(list, zip(*modes, strict=True))
    if max(all_steps) > LARGEST_STRIDE:
        return None
    wanted, nodes = [(step, [position]) for step, position in zip(all_steps, positions, strict=True)], 0

    def extend(radices: list[int], steps: list[int]) -> Modes | None:
        """Depth first over radices whose lowest digit never carries; None after NODES systems or where none works."""
        nonlocal nodes
        nodes += 1
        solution = _strides(radices, wanted, lambda: None)
        if solution is not None:
            return radices, solution
        # A common factor of all strides is the lowest radix: its digit is always 0.
        common = gcd(*steps)
        if common > 1 and not radices:
            return extend([common], [step // common for step in steps])
        for radix in _radices_without_carry(extents, steps):
            if nodes > NODES:
                return None
            if any(step % radix for step in steps):
                inverse = extend([*radices, radix], [step // radix for step in steps])
                if inverse is not None:
                    return inverse
        return None

    inverse = extend([], all_steps)
    if inverse is None:
        return None
    # The last extent must reach the greatest offset.
    return [*inverse[0], (layout.cosize - 1) // prod(inverse[0]) + 1], inverse[1]


def _radices_without_carry(extents: list[int], steps: list[int]) -> list[int]:
    """The radices in which the lowest digit never carries, those that divide the strides best first."""
    if max(steps) <= SMALL_STRIDE:
        most = {
            radix: sum((extent - 1) * (step % radix) for extent, step in zip(extents, steps, strict=True))
            for radix in range(2, max(steps) + 1)
        }
        return sorted((radix for radix in most if most[radix] < radix), key=lambda radix: most[radix] / radix)
    radices = np.arange(2, max(steps) + 1)
    carried = np.zeros(len(radices), np.int64)
    for extent, step in zip(extents, steps, strict=True):
        carried += (extent - 1) * (step % radices)
    fits = carried < radices
    order = np.argsort(carried[fits] / radices[fits], kind="stable")
    return [int(radix) for radix in radices[fits][order]]


def inverse_among_all(layout: Layout, *, anywhere: bool = True) -> Modes | None:
    """Extents and strides of a left inverse among all radix systems, or None; for offsets below 512.

    >>> inverse_among_all(Layout((2, 3), (5, 3))), inverse_among_all(Layout((2, 2, 2), (3, 10, 3)))
    (([2, 3, 2], [3, -1, 4]), ([2, 2, 3, 2], [-7, 8, -3, 10]))

    It leads to coordinates that are 0 along modes of stride 0, or `anywhere` where none does so. Raises SearchEnded
    where not all were looked at.
    """
    if layout.cosize > 512:
        raise SearchEnded(f"digits that carry, for offsets from 512 on (here up to {layout.cosize - 1})")
    steps, positions, extents = zip(*moving(layout), strict=True)
    offsets = _make(extents, steps)
    others = anywhere and offsets.size < layout.size
    return _among(_make(extents, positions), offsets) or (_among(Layout(layout.size), layout) if others else None)


def _among(coordinates: Layout, offsets: Layout) -> Modes | None:
    """Extents and strides that take each of the offsets to one of the coordinates that have it."""
    if offsets.size > MOST_SEARCHED:
        raise SearchEnded(f"coordinates beyond the first {MOST_SEARCHED}")
    # Offset -> coordinates that have it; R may choose any of them.
    positions: dict[int, list[int]] = {}
    for position, offset in zip(listed(coordinates), listed(offsets), strict=True):
        positions.setdefault(int(offset), []).append(int(position))
    # Offsets with few coordinates first: they leave the fewest choices.
    reached, highest = sorted(positions.items(), key=lambda pair: (len(pair[1]), pair[0])), max(positions)
    budget = CHOICES

    def spend() -> None:
        nonlocal budget
        budget -= 1
        if budget < 0:
            raise SearchEnded(f"radix systems and choices among coordinates beyond the first {CHOICES}")

    def extend(radices: list[int], span: int) -> Modes | None:
        """Depth first over all radices; a prefix that contradicts the offsets below its span is not continued."""
        strides = _strides(radices, reached, spend)
        if strides is not None:
            return [*radices, highest // span + 1], strides
        for radix in range(2, highest // span + 1):
            settled = [pair for pair in reached if pair[0] < span * radix]
            if _strides(radices, settled, spend) is not None:
                inverse = extend([*radices, radix], span * radix)
                if inverse is not None:
                    return inverse
        return None

    return extend([], 1)


def _strides(radices: list[int], reached: Reached, spend: Callable[[], None]) -> list[int] | None:
    """The strides by which a layout of these extents, the last one open, takes each offset to one of its positions."""
    rows = []
    for offset, _ in reached:
        row = []
        for radix in radices:
            row.append(offset % radix)
            offset //= radix
        rows.append([*row, offset])
    return solve_integers(rows, [positions for _, positions in reached], spend)


def solve_integers(
    rows: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]], spend: Callable[[], None] = lambda: None
) -> list[int] | None:
    """A whole-number solution x, each `row . x` being one of the numbers `wanted` of it, or None if there is none; by
    column reduction (Hermite's form). It does `spend()` for each choice that it tries.

    >>> solve_integers([[2, 0], [1, 1]], [[4], [3]]), solve_integers([[2, 4]], [[3]]), solve_integers([[2]], [[3, 6]])
    ([2, 1], None, [3])
    """

    def extend(at: int, solution: list[int], columns: list[list[int]]) -> list[int] | None:
        """The solution of the rows from `at` on, as one of those before it, which the `columns` do not change."""
        for number in range(at, len(rows)):
            row = rows[number]
            value = _dot(row, solution)
            # Euclid's algorithm on the columns until one of them changes the row.
            active = [(_dot(row, column), column) for column in columns]
            columns = [column for entry, column in active if not entry]
            active = [pair for pair in active if pair[0]]
            while len(active) > 1:
                active.sort(key=lambda pair: abs(pair[0]))
                (small, least), *others = active
                active = [(small, least)]
                for entry, column in others:
                    factor, rest = divmod(entry, small)
                    column = [a - factor * b for a, b in zip(column, least, strict=True)]
                    if rest:
                        active.append((rest, column))
                    else:
                        columns.append(column)
            if not active:
                if value not in wanted[number]:
                    return None
                continue
            # Before a choice: what no column changes is decided.
            if len(wanted[number]) > 1:
                for later in range(number + 1, len(rows)):
                    decided = not any(_dot(rows[later], column) for column in (active[0][1], *columns))
                    if decided and _dot(rows[later], solution) not in wanted[later]:
                        return None
            [(step, column)] = active
            for position in wanted[number]:
                spend()
                factor, askew = divmod(position - value, step)
                if not askew:
                    moved = [x + factor * c for x, c in zip(solution, column, strict=True)]
                    if (found := extend(number + 1, moved, columns)) is not None:
                        return found
            return None
        return solution

    width = len(rows[0])
    return extend(0, [0] * width, [[int(i == j) for j in range(width)] for i in range(width)])


def _dot(row: Sequence[int], column: Sequence[int]) -> int:
    return sum(map(mul, row, column))
