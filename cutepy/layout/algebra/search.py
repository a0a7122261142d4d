"""Searching for inverses where sorted modes do not give them.

An inverse is built mode by mode from the fastest on; each further mode must continue what the ones before it fixed,
which leaves few choices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import LayoutError
from ..values.int_tuple import leaves
from ..values.layout import Layout
from ..values.size import list_coordinates
from .radix import SearchEnded, carry_free_inverse, weighted_digits_inverse
from .rearrange import coalesce, from_modes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Options = dict[int, frozenset[int]]


def largest_right_inverse(layout: Layout) -> Layout:
    """The largest R with `layout(R(i)) == i`, every R(i) a coordinate of `layout`, by exhaustive search."""
    import numpy as np

    offsets = layout.offsets().ravel(order="F")
    wanted: dict[int, list[int]] = {}
    for position, offset in enumerate(offsets.tolist()):
        wanted.setdefault(offset, []).append(position)
    bound = 0
    while bound in wanted:
        bound += 1
    best: tuple[int, list[int], list[int]] = (1, [], [])

    def extend(reached: NDArray[np.int64], extents: list[int], strides: list[int]) -> None:
        nonlocal best
        count = len(reached)
        if count > best[0]:
            best = (count, extents, strides)
        if best[0] == bound or count * 2 > bound:
            return
        for step in wanted.get(count, ()):
            grown, factor = reached, 1
            while (factor + 1) * count <= bound:
                more = reached + step * factor
                if int(more.max()) >= len(offsets) or (offsets[more] != np.arange(count) + count * factor).any():
                    break
                grown = np.concatenate([grown, more])
                factor += 1
            for shorter in range(factor, 1, -1):
                extend(grown[: shorter * count], [*extents, shorter], [*strides, step])

    extend(np.zeros(1, np.int64), [], [])
    return coalesce(from_modes(best[1], best[2]))


def some_left_inverse(layout: Layout) -> Layout:
    """An R with `layout(R(layout(i))) == layout(i)`, or LayoutError where none is found.

    First among the radix systems in which no digit of a sum of offsets carries; then, for offsets below 512, among all
    radix systems (`radix.py`), or where coordinates share offsets among all ways to choose one for each.
    """
    list_coordinates(*leaves(layout.shape), *leaves(layout.stride))
    found, left_out = carry_free_inverse(layout), ""
    if found is None:
        found, left_out = _among_all(layout)
    if found is None:
        why = "no layout maps its offsets back" if not left_out else f"no inverse was found; not searched: {left_out}"
        raise LayoutError(
            f"left_inverse({layout}): {why}. There is one where each stride is a multiple of the next smaller one and "
            "spans its mode"
        )
    return coalesce(from_modes(*found))


def _among_all(layout: Layout) -> tuple[tuple[list[int], list[int]] | None, str]:
    """An inverse among all radix systems, or None and which of them were not looked at."""
    if layout.cosize > 512 or layout.size > 1 << 16:
        return None, f"digits that carry, for offsets from 512 on (here up to {layout.cosize - 1})"
    options: dict[int, set[int]] = {}
    for position, offset in enumerate(layout.offsets().ravel(order="F").tolist()):
        options.setdefault(offset, set()).add(position)
    if len(options) < layout.size:
        if len(options) > 64:
            return None, f"the choices among coordinates of one offset, for more than 64 offsets (here {len(options)})"
        return _fit({offset: frozenset(positions) for offset, positions in options.items()}), ""
    try:
        return weighted_digits_inverse(layout), ""
    except SearchEnded as ended:
        return None, str(ended)


def _fit(known: Options) -> tuple[list[int], list[int]] | None:
    """Extents and strides of a layout through one of the options at every known index; None if there is none."""
    highest = max(known)
    if highest == 0:
        return ([1], [0]) if 0 in known[0] else None
    straight = _straight(known)
    if straight is not None:
        return [highest + 1], [straight]
    for extent in range(2, highest + 1):
        for step in _steps(known, extent):
            rest = _blocks(known, extent, step)
            if rest is None:
                continue
            found = _fit(rest)
            if found is not None:
                return [extent, *found[0]], [step, *found[1]]
    return None


def _straight(known: Options) -> int | None:
    """The stride of a single mode through all options, if there is one."""
    first = min(index for index in known if index)
    if 0 not in known.get(0, {0}):
        return None
    for position in sorted(known[first]):
        step, askew = divmod(position, first)
        if not askew and all(step * index in positions for index, positions in known.items()):
            return step
    return None


def _steps(known: Options, extent: int) -> list[int]:
    """The strides that a fastest mode of `extent` may have, from two known indices of one block."""
    blocks: dict[int, int] = {}
    for index in known:
        block = index // extent
        if block in blocks:
            near, far = blocks[block], index
            gaps = {q - p for p in known[near] for q in known[far]}
            return sorted({gap // (far - near) for gap in gaps if gap % (far - near) == 0}, key=abs)
        blocks[block] = index
    return sorted({0} | {p // (index % extent) for index in known if index % extent for p in known[index]}, key=abs)


def _blocks(known: Options, extent: int, step: int) -> Options | None:
    """What a fastest mode `extent:step` leaves for the slower modes; None where it contradicts an option."""
    rest: dict[int, frozenset[int]] = {}
    for index, positions in known.items():
        block, within = divmod(index, extent)
        left = frozenset(p - step * within for p in positions) if step * within else positions
        rest[block] = rest[block] & left if block in rest else left
        if not rest[block]:
            return None
    return rest
