"""Injective, surjective, bijective: decided by arithmetic on the modes, exactly, whatever the size.

Imports `layout`, `composed`; NumPy only for composed layouts. Turning a mode round (stride -d for d) only shifts the
offsets, so strides count by size. Sorted by stride, the modes before a mode reach `sum of (s - 1) * d`.
"""

from __future__ import annotations

from math import gcd
from typing import cast

from ..errors import LayoutError
from .composed import AnyLayout, ComposedLayout, Swizzle, lift
from .int_tuple import leaves
from .layout import Layout
from .rearrange import coalesced

Modes = list[tuple[int, int]]


def is_injective(layout: Layout | ComposedLayout) -> bool:
    """True if no two coordinates share an offset.

    >>> is_injective(Layout((4, 8), (8, 1))), is_injective(Layout((4, 3), (1, 2))), is_injective(Layout((2, 2), (2, 3)))
    (True, False, True)

    Decided by strides that outreach the smaller ones; else by looking for a vector of coordinate differences of
    offset 0. Raises LayoutError where that search is cut off (above a million steps; no layout of a kernel comes near).
    """
    if isinstance(layout, Layout) and layout.facts is not None:
        return cast(bool, lift(is_injective, layout))
    if isinstance(layout, ComposedLayout):
        return is_injective(layout.inner) if isinstance(layout.outer, Swizzle) else _all_differ(layout)
    modes = _by_stride(layout)
    if modes and modes[0][0] == 0:
        return False
    reach = 0
    for step, extent in modes:
        if step <= reach:
            return not _Collision(modes, layout).exists()
        reach += (extent - 1) * step
    return True


def is_surjective(layout: Layout | ComposedLayout) -> bool:
    """True if every offset between the least and the greatest is reached.

    >>> is_surjective(Layout((4, 8))), is_surjective(Layout((4, 8), (1, 5))), is_surjective(Layout((4, 3), (1, 2)))
    (True, False, True)

    Exact: a stride may exceed what the smaller ones reach by 1 at most, or the next offset is missed by all.
    """
    if isinstance(layout, Layout) and layout.facts is not None:
        return cast(bool, lift(is_surjective, layout))
    if isinstance(layout, ComposedLayout):
        import numpy as np

        offsets = np.unique(layout.offsets())
        return int(offsets[-1] - offsets[0]) + 1 == len(offsets)
    reach = 0
    for step, extent in _by_stride(layout):
        if step > reach + 1:
            return False
        reach += (extent - 1) * step
    return True


def is_bijective(layout: Layout | ComposedLayout) -> bool:
    """True if every offset between the least and the greatest is reached exactly once.

    >>> is_bijective(Layout((4, 8), (8, 1))), is_bijective(Layout((4, 3), (1, 2)))
    (True, False)
    """
    if isinstance(layout, Layout) and layout.facts is not None:
        return cast(bool, lift(is_bijective, layout))
    return is_surjective(layout) and layout.size == _span(layout)


def is_contiguous(layout: Layout | ComposedLayout) -> bool:
    """True if consecutive coordinates have consecutive offsets: it coalesces to N:1.

    >>> is_contiguous(Layout((4, 8))), is_contiguous(Layout((4, 8), (8, 1)))
    (True, False)
    """
    if isinstance(layout, Layout) and layout.facts is not None:
        return cast(bool, lift(is_contiguous, layout))
    if isinstance(layout, ComposedLayout):
        offsets = layout.offsets().ravel(order="F")
        return bool((offsets[1:] - offsets[:-1] == 1).all())
    return coalesced(layout)[1] in ([], [1])


def _span(layout: Layout | ComposedLayout) -> int:
    if isinstance(layout, Layout):
        return layout.cosize
    offsets = layout.offsets()
    return int(offsets.max() - offsets.min()) + 1


def _all_differ(layout: ComposedLayout) -> bool:
    import numpy as np

    return len(np.unique(layout.offsets())) == layout.size


def _by_stride(layout: Layout) -> Modes:
    if not isinstance(layout, AnyLayout):
        raise LayoutError(f"{layout!r} is a {type(layout).__name__}, not a layout")
    return sorted([(abs(d), s) for s, d in zip(leaves(layout.shape), leaves(layout.stride), strict=True) if s != 1])


class _Collision:
    """Looks for coordinate differences c, |c_i| < s_i, not all 0, with sum of c_i * d_i = 0, largest stride first."""

    def __init__(self, modes: Modes, layout: Layout) -> None:
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
