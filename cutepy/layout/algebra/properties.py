"""Injective, surjective, bijective: decided by arithmetic on the modes, exactly, whatever the size.

Turning a mode round (stride -d for d) only shifts the offsets, so strides count by size. Sorted by stride, the modes
before a mode reach `sum of (s - 1) * d`.
"""

from __future__ import annotations

from math import gcd
from typing import cast

from ...errors import LayoutError
from ..values.basis import path_of, value_of
from ..values.composed import AnyLayout, ComposedLayout, Swizzle
from ..values.int_tuple import leaves
from ..values.layout import Layout
from .bits import Image, columns_of
from .operation import Act, known_sizes, operation
from .rearrange import coalesced
from .swizzled import listed

Modes = list[tuple[int, int]]


def _all_differ(call: Act, layout: ComposedLayout) -> bool:
    """`is_injective` of a composed layout: a swizzle takes no two offsets to one."""
    if isinstance(layout.outer, Swizzle):
        return bool(call(layout.inner))
    known_sizes(call, layout)
    columns = columns_of(layout)
    if columns is not None:
        return len(Image(columns).pivots) == len(columns)
    import numpy as np

    return len(np.unique(listed(layout))) == layout.size


def _all_reached(call: Act, layout: ComposedLayout) -> bool:
    """`is_surjective` of a composed layout; its least offset is not always 0."""
    known_sizes(call, layout)
    columns = columns_of(layout)
    if columns is not None:
        image = Image(columns)
        return image.greatest(0) + 1 == 1 << len(image.pivots)
    import numpy as np

    offsets = np.unique(listed(layout))
    return int(offsets[-1] - offsets[0]) + 1 == len(offsets)


def _one_to_one_and_onto(_call: Act, layout: ComposedLayout) -> bool:
    return _all_differ(is_injective, layout) and _all_reached(is_surjective, layout)


def _in_a_row(call: Act, layout: ComposedLayout) -> bool:
    """`is_contiguous` of a composed layout, from whatever offset on."""
    known_sizes(call, layout)
    columns = columns_of(layout)
    if columns is not None:
        return all(column == 1 << bit for bit, column in enumerate(columns))
    offsets = listed(layout)
    return bool((offsets[1:] - offsets[:-1] == 1).all())


@operation(composed=_all_differ)
def is_injective(layout: AnyLayout) -> bool:
    """True if no two coordinates share an offset.

    >>> is_injective(Layout((4, 8), (8, 1))), is_injective(Layout((4, 3), (1, 2))), is_injective(Layout((2, 2), (2, 3)))
    (True, False, True)

    Decided by strides that outreach the smaller ones; else by looking for a vector of coordinate differences of
    offset 0. Raises LayoutError where that search is cut off (above a million steps; no layout of a kernel comes near).
    """
    return all(_apart(modes, layout) for modes in _by_axis(layout))


def _apart(modes: Modes, layout: AnyLayout) -> bool:
    if modes and modes[0][0] == 0:
        return False
    reach = 0
    for step, extent in modes:
        if step <= reach:
            return not _Collision(modes, layout).exists()
        reach += (extent - 1) * step
    return True


@operation(composed=_all_reached)
def is_surjective(layout: AnyLayout) -> bool:
    """True if every offset between the least and the greatest is reached.

    >>> is_surjective(Layout((4, 8))), is_surjective(Layout((4, 8), (1, 5))), is_surjective(Layout((4, 3), (1, 2)))
    (True, False, True)

    Exact: a stride may exceed what the smaller ones reach by 1 at most, or the next offset is missed by all.
    """
    return all(map(_gapless, _by_axis(layout)))


def _gapless(modes: Modes) -> bool:
    reach = 0
    for step, extent in modes:
        if step > reach + 1:
            return False
        reach += (extent - 1) * step
    return True


@operation(composed=_one_to_one_and_onto)
def is_bijective(layout: AnyLayout) -> bool:
    """True if every offset between the least and the greatest is reached exactly once.

    >>> is_bijective(Layout((4, 8), (8, 1))), is_bijective(Layout((4, 3), (1, 2)))
    (True, False)
    """
    return is_surjective(layout) and layout.size == layout.cosize


@operation(composed=_in_a_row)
def is_contiguous(layout: AnyLayout) -> bool:
    """True if consecutive coordinates have consecutive offsets: it coalesces to N:1.

    >>> is_contiguous(Layout((4, 8))), is_contiguous(Layout((4, 8), (8, 1)))
    (True, False)
    """
    return coalesced(cast(Layout, layout))[1] in ([], [1])


def _by_axis(layout: AnyLayout) -> list[Modes]:
    """The modes that move, by stride, for each axis of the codomain; one axis for offsets. No mode moves two."""
    axes: dict[tuple[int, ...], Modes] = {}
    plain = cast(Layout, layout)
    for extent, step in zip(leaves(plain.shape), leaves(plain.stride), strict=True):
        if extent != 1:
            axes.setdefault(path_of(step), []).append((abs(value_of(step)), extent))
    return [sorted(modes) for modes in axes.values()]


class _Collision:
    """Looks for coordinate differences c, |c_i| < s_i, not all 0, with sum of c_i * d_i = 0, largest stride first."""

    def __init__(self, modes: Modes, layout: AnyLayout) -> None:
        self.modes, self.layout = modes, layout
        self.steps_left = 1_000_000
        self.reach = [0]
        self.common = [0]
        for step, extent in modes:
            self.reach.append(self.reach[-1] + (extent - 1) * step)
            self.common.append(gcd(self.common[-1], step))

    def exists(self) -> bool:
        return any(self._closes(mode, step) for mode, (step, _) in enumerate(self.modes))

    def _closes(self, top: int, step: int) -> bool:
        """A collision in which mode `top` is the slowest that differs; its difference may be taken positive."""
        return any(self._fills(top, step * c) for c in range(1, self.modes[top][1]))

    def _fills(self, below: int, gap: int) -> bool:
        """Whether the modes before `below` can make up `gap` by differences."""
        if abs(gap) > self.reach[below]:
            return False
        if below == 0:
            return gap == 0
        if gap % self.common[below]:
            return False
        self.steps_left -= 1
        if self.steps_left < 0:
            raise LayoutError(f"is_injective({self.layout}): undecided after a million steps; divide the layout first")
        step, extent = self.modes[below - 1]
        rest = self.reach[below - 1]
        low = max(1 - extent, -((rest - gap) // step))
        high = min(extent - 1, (rest + gap) // step)
        return any(self._fills(below - 1, gap - c * step) for c in range(low, high + 1))
