"""Searching for inverses where sorted modes do not give them.

An inverse is built mode by mode from the fastest on; each further mode must continue what the ones before it fixed,
which leaves few choices.

A left inverse R reads an offset as digits in the radix of its extents. If no digit of a sum of L's modes carries,
`R(L(c))` is linear in c, and R inverts L exactly when its strides x solve the integer system `digits(stride of mode i)
. x = position of mode i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ...errors import LayoutError
from ...lazy import numpy as np
from ..values.int_tuple import leaves
from ..values.layout import Layout
from ..values.size import require_known_sizes
from .rearrange import Modes, coalesce, from_modes, moving
from .swizzled import listed
from .table import first_deviation, gathered, reached_from_0

Options = dict[int, frozenset[int]]
MOST_COMPARED = 1 << 25
"""How many offsets the search for a right inverse compares before it gives up: about half a second."""


def largest_right_inverse(layout: Layout) -> Layout:
    """The largest R with `layout(R(i)) == i`, every R(i) a coordinate of `layout`, by exhaustive search.

    Raises LayoutError where the search is cut off.
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
                        f"right_inverse({layout}): the modes overlap in too many ways; the largest inverse is open "
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


def some_left_inverse(layout: Layout) -> Layout:
    """An R with `layout(R(layout(i))) == layout(i)`, or LayoutError where none is found.

    First among the radix systems in which no digit of a sum of offsets carries; then, for offsets below 512, among all
    radix systems, or where coordinates share offsets among all ways to choose one for each.
    """
    require_known_sizes(*leaves(layout.shape), *leaves(layout.stride))
    why = "no layout maps its offsets back"
    try:
        modes = carry_free_inverse(layout) or _among_all(layout)
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


def _among_all(layout: Layout) -> Modes | None:
    """An inverse among all radix systems, or None. Raises SearchEnded where not all were looked at."""
    if layout.cosize > 512 or layout.size > 1 << 16:
        raise SearchEnded(f"digits that carry, for offsets from 512 on (here up to {layout.cosize - 1})")
    # Offset -> coordinates that have it; R may choose any of them.
    options: dict[int, set[int]] = {}
    for position, offset in enumerate(map(layout, range(layout.size))):
        options.setdefault(offset, set()).add(position)
    if len(options) == layout.size:
        return weighted_digits_inverse(layout)
    if len(options) > 64:
        count = len(options)
        raise SearchEnded(f"the choices among coordinates of one offset, for more than 64 offsets (here {count})")
    return _fit({offset: frozenset(positions) for offset, positions in options.items()})


def _fit(options: Options) -> Modes | None:
    """Extents and strides of a layout through one of the options at every known index; None if there is none."""
    highest = max(options)
    if highest == 0:
        return ([1], [0]) if 0 in options[0] else None
    straight = _straight(options)
    if straight is not None:
        return [highest + 1], [straight]
    # Choose the fastest mode, then solve for the slower ones over the blocks.
    for extent in range(2, highest + 1):
        for step in _steps(options, extent):
            rest = _blocks(options, extent, step)
            if rest is None:
                continue
            slower = _fit(rest)
            if slower is not None:
                return [extent, *slower[0]], [step, *slower[1]]
    return None


def _straight(options: Options) -> int | None:
    """The stride of a single mode through all options, if there is one."""
    first = min(index for index in options if index)
    if 0 not in options.get(0, {0}):
        return None
    for position in sorted(options[first]):
        step, askew = divmod(position, first)
        if not askew and all(step * index in positions for index, positions in options.items()):
            return step
    return None


def _steps(options: Options, extent: int) -> list[int]:
    """The strides that a fastest mode of `extent` may have, from two known indices of one block."""
    blocks: dict[int, int] = {}
    for index in options:
        block = index // extent
        if block in blocks:
            near, far = blocks[block], index
            gaps = {q - p for p in options[near] for q in options[far]}
            return sorted({gap // (far - near) for gap in gaps if gap % (far - near) == 0}, key=abs)
        blocks[block] = index
    return sorted({0} | {p // (index % extent) for index in options if index % extent for p in options[index]}, key=abs)


def _blocks(options: Options, extent: int, step: int) -> Options | None:
    """What a fastest mode `extent:step` leaves for the slower modes; None where it contradicts an option."""
    rest: dict[int, frozenset[int]] = {}
    for index, positions in options.items():
        block, within = divmod(index, extent)
        left = frozenset(p - step * within for p in positions) if step * within else positions
        rest[block] = rest[block] & left if block in rest else left
        if not rest[block]:
            return None
    return rest


LARGEST_STRIDE = 1 << 22
SMALL_STRIDE = 1 << 10
"""Up to here NumPy is not loaded."""
NODES = 4000


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
    wanted, nodes = list(zip(all_steps, positions, strict=True)), 0

    def extend(radices: list[int], steps: list[int]) -> Modes | None:
        """Depth first over radices whose lowest digit never carries; None after NODES systems or where none works."""
        nonlocal nodes
        nodes += 1
        solution = _strides(radices, wanted)
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
    highest = layout.cosize - 1
    for radix in inverse[0]:
        highest //= radix
    return [*inverse[0], highest + 1], inverse[1]


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


def weighted_digits_inverse(layout: Layout) -> Modes | None:
    """Extents and strides of a left inverse of an injective layout, among all radix systems; for small offsets.

    >>> weighted_digits_inverse(Layout((2, 3), (5, 3)))
    ([2, 3, 2], [3, -1, 4])

    Raises SearchEnded where 20,000 radix systems did not decide.
    """
    offsets = sorted((layout(position), position) for position in range(layout.size))
    budget = NODES * 5

    def extend(radices: list[int], span: int) -> Modes | None:
        """Depth first over all radices; a prefix that contradicts the offsets below its span is not continued."""
        nonlocal budget
        budget -= 1
        strides = _strides(radices, offsets)
        if strides is not None:
            return [*radices, offsets[-1][0] // span + 1], strides
        for radix in range(2, offsets[-1][0] // span + 1):
            settled = [pair for pair in offsets if pair[0] < span * radix]
            if budget <= 0:
                raise SearchEnded(f"radix systems beyond the first {NODES * 5}")
            if _strides(radices, settled) is not None:
                inverse = extend([*radices, radix], span * radix)
                if inverse is not None:
                    return inverse
        return None

    return extend([], 1)


def _strides(radices: list[int], offsets: list[tuple[int, int]]) -> list[int] | None:
    """The strides by which a layout of these extents, the last one open, takes each offset to its position."""
    rows = []
    for offset, _ in offsets:
        row = []
        for radix in radices:
            row.append(offset % radix)
            offset //= radix
        rows.append([*row, offset])
    return solve_integers(rows, [position for _, position in offsets])


def solve_integers(rows: Sequence[Sequence[int]], wanted: Sequence[int]) -> list[int] | None:
    """A whole-number solution x of `rows . x = wanted`, or None if there is none; by column reduction (Hermite's form).

    >>> solve_integers([[2, 0], [1, 1]], [4, 3]), solve_integers([[2, 4]], [3])
    ([2, 1], None)
    """
    width = len(rows[0])
    columns = [[row[j] for row in rows] + [int(i == j) for i in range(width)] for j in range(width)]
    solution = [0] * width
    pivot = 0
    left = list(wanted)
    for row in range(len(rows)):
        # Euclid's algorithm on the columns until one entry of the row is left: column Hermite form.
        while True:
            active = [j for j in range(pivot, width) if columns[j][row]]
            if len(active) < 2:
                break
            active.sort(key=lambda j: abs(columns[j][row]))
            small = columns[active[0]]
            for j in active[1:]:
                factor = columns[j][row] // small[row]
                columns[j] = [a - factor * b for a, b in zip(columns[j], small, strict=True)]
        if active:
            columns[pivot], columns[active[0]] = columns[active[0]], columns[pivot]
            factor, askew = divmod(left[row], columns[pivot][row])
            if askew:
                return None
            left = [value - factor * entry for value, entry in zip(left, columns[pivot], strict=False)]
            solution = [x + factor * u for x, u in zip(solution, columns[pivot][len(rows) :], strict=True)]
            pivot += 1
        elif left[row]:
            return None
    return solution
