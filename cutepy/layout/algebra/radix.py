"""Left inverses by radix systems: the digits of an offset, weighted, are its coordinate.

A layout R reads an offset as digits in the radix of its extents. If no digit of a sum of L's modes carries, `R(L(c))`
is linear in c, and R inverts L exactly when its strides x solve the integer system `digits(stride of mode i) . x =
position of mode i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from ..values.int_tuple import leaves
from ..values.layout import Layout

LARGEST_STRIDE = 1 << 22
NODES = 4000


def carry_free_inverse(layout: Layout) -> tuple[list[int], list[int]] | None:
    """Extents and strides of a left inverse whose digits never carry; None if none was found in 4,000 radix systems.

    >>> carry_free_inverse(Layout((2, 2), (2, 3)))
    ([2, 3], [1, 1])
    """
    modes = []
    position = 1
    for extent, step in zip(leaves(layout.shape), leaves(layout.stride), strict=True):
        if extent != 1 and step != 0:
            modes.append((extent, step, position))
        position *= extent
    if not modes:
        return [1], [0]
    if max(step for _, step, _ in modes) > LARGEST_STRIDE:
        return None
    search = _Search([extent for extent, _, _ in modes], [position for _, _, position in modes])
    found = search.radices([step for _, step, _ in modes], [])
    if found is None:
        return None
    radices, strides = found
    highest = layout.cosize - 1
    for radix in radices:
        highest //= radix
    return [*radices, highest + 1], strides


class _Search:
    """Depth first over radices; the digits of the modes' strides so far are the columns of the system."""

    def __init__(self, extents: list[int], positions: list[int]) -> None:
        self.extents, self.positions = extents, positions
        self.nodes = 0

    def radices(self, steps: list[int], columns: list[tuple[int, list[int]]]) -> tuple[list[int], list[int]] | None:
        self.nodes += 1
        rows = [[*(digits[mode] for _, digits in columns), step] for mode, step in enumerate(steps)]
        solution = solve_integers(rows, self.positions)
        if solution is not None:
            return [radix for radix, _ in columns], solution
        common = gcd(*steps)
        if common > 1 and not columns:
            return self.radices([step // common for step in steps], [(common, [0] * len(steps))])
        for radix in self._candidates(steps):
            if self.nodes > NODES:
                return None
            digits = [step % radix for step in steps]
            if any(digits):
                found = self.radices([step // radix for step in steps], [*columns, (radix, digits)])
                if found is not None:
                    return found
        return None

    def _candidates(self, steps: list[int]) -> list[int]:
        """The radices in which the lowest digit never carries, those that divide the strides best first."""
        import numpy as np

        radix = np.arange(2, max(steps) + 1)
        most = np.zeros(len(radix), np.int64)
        for extent, step in zip(self.extents, steps, strict=True):
            most += (extent - 1) * (step % radix)
        fits = most < radix
        order = np.argsort(most[fits] / radix[fits], kind="stable")
        return [int(r) for r in radix[fits][order]]


class SearchEnded(Exception):
    """The search went through as many radix systems as it may: what is left out, in words."""


def weighted_digits_inverse(layout: Layout) -> tuple[list[int], list[int]] | None:
    """Extents and strides of a left inverse of an injective layout, among all radix systems; for small offsets.

    >>> weighted_digits_inverse(Layout((2, 3), (5, 3)))
    ([2, 3, 2], [3, -1, 4])

    Raises SearchEnded where 20,000 radix systems did not decide.
    """
    offsets = sorted((layout(position), position) for position in range(layout.size))
    budget = [NODES * 5]

    def extend(radices: list[int], span: int) -> tuple[list[int], list[int]] | None:
        budget[0] -= 1
        strides = _strides(radices, offsets)
        if strides is not None:
            return [*radices, offsets[-1][0] // span + 1], strides
        for radix in range(2, offsets[-1][0] // span + 1):
            settled = [pair for pair in offsets if pair[0] < span * radix]
            if budget[0] <= 0:
                raise SearchEnded(f"radix systems beyond the first {NODES * 5}")
            if _strides(radices, settled) is not None:
                found = extend([*radices, radix], span * radix)
                if found is not None:
                    return found
        return None

    return extend([], 1)


def _strides(radices: list[int], offsets: list[tuple[int, int]]) -> list[int] | None:
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
