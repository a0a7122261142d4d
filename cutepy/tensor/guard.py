"""Guards: a shape is rounded up to whole tiles, and a guard says which of their elements exist.

Law: a tile that does not divide its tensor has the shape of a whole tile, and an element at
coordinate c of it exists where `axis.origin + axis.layout(c) < axis.limit` for every axis of the guard. Axes that the
tile does divide have no entry. A guard is sliced, tiled and composed by doing the same to the layout of each axis.
A rounded layout equals the given one on its own coordinates, and its size is the least that the tile divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..layout import ComposedLayout, Layout, composition, get, slice_and_offset, weakly_congruent
from ..layout.algebra.rearrange import joined
from ..layout.algebra.tile import rounded_up
from ..layout.values.composed import plain_part
from ..layout.values.coordinates import Coordinate
from ..layout.values.int_tuple import fold_profile, leaves, map_leaves, prefix_product
from ..layout.values.layout import _make, offset_bounds
from ..layout.values.size import is_unknown
from ..lazy import numpy as np
from .engine import Array, Place, Scalars, boxed, offset_of


@dataclass(frozen=True, slots=True, eq=False)
class GuardAxis:
    """One axis that a tile does not divide: `origin + layout(crd)` is the place along it, and exists below `limit`.

    `layout` has the tensor's domain. `origin` and `limit` are ints, or expressions under a kernel trace.
    """

    layout: Layout
    origin: Scalars
    limit: Scalars

    def inside(self, crd: Place) -> Any:
        """Whether the element at `crd` exists along this axis: a bool, or an expression of one."""
        return self.origin + offset_of(self.layout, crd) < self.limit

    @property
    def always(self) -> bool:
        """True if numbers alone tell that every element exists along this axis."""
        if type(self.origin) is not int or type(self.limit) is not int:
            return False
        return self.origin + offset_bounds(self.layout)[1] < self.limit

    def table(self) -> Array:
        """`inside` for every coordinate, with one array axis a mode."""
        coordinate = np.asarray(self.origin + self.layout.offsets())
        return below(coordinate, self.limit)


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """The axes along which a tensor may reach beyond what exists."""

    axes: tuple[GuardAxis, ...]

    def map(self, function: Callable[[Layout], Layout], like: Layout) -> Guard:
        """The guard after `function` was applied to the tensor's layout, with the result `like`."""
        return Guard(
            tuple(GuardAxis(_refined(function(axis.layout), like), axis.origin, axis.limit) for axis in self.axes)
        )

    def slice(self, crd: Coordinate) -> Guard:
        """The guard of the slice at `crd`."""
        sliced = []
        for axis in self.axes:
            # The fixed part of the coordinate moves the origin; axes that can no longer fail are dropped.
            kept, moved = slice_and_offset(crd, axis.layout)
            cut = GuardAxis(kept, axis.origin + moved, axis.limit)
            if not cut.always:
                sliced.append(cut)
        return Guard(tuple(sliced))

    def inside(self, crd: Place) -> Any:
        """Whether the element at `crd` exists."""
        exists: Any = True
        for axis in self.axes:
            exists = both(exists, axis.inside(crd))
        return exists

    def table(self) -> Array | None:
        """`inside` for every coordinate; None where every one is known to exist."""
        exists: Array | None = None
        for axis in self.axes:
            exists = both(exists, axis.table())
        all_exist = exists is None or (isinstance(exists, np.ndarray) and exists.dtype == bool and bool(exists.all()))
        return None if all_exist else exists


def below(values: Array, limit: Any) -> Array:
    """`place < limit`, entry by entry, also for expressions.

    >>> below(np.arange(3), 2)
    array([ True,  True, False])
    """
    if values.dtype != object and isinstance(limit, int):
        exists: Array = values < limit
    else:
        exists = np.less(values.astype(object), boxed(limit), dtype=object)
    return exists


def both(left: Any, right: Any) -> Any:
    """`left & right` for masks of any form; None is always true.

    >>> both(None, True), both(np.array([True, False]), np.array([True, True]))
    (True, array([ True, False]))
    """
    if left is None or left is True:
        return right
    return left if right is None or right is True else left & right


def _refined(layout: Layout, like: Layout) -> Layout:
    """`layout` nested at least as finely as `like`, so that coordinates of the one serve the other."""
    try:
        if type(layout) is not Layout:
            raise LayoutError("a swizzled axis cannot be sliced")
        if not weakly_congruent(like.shape, layout.shape):
            layout = composition(layout, Layout(like.shape))
        return layout if isinstance(like.shape, tuple) or not isinstance(layout.shape, tuple) else joined([layout])
    except LayoutError as error:
        raise LayoutError(
            f"the guard {layout} of a tile that does not divide cannot follow the layout {like}; pad the tensor"
        ) from error


def rounded(
    layout: Layout | ComposedLayout, guard: Guard | None, tiler: object, *, exists_beyond: bool
) -> tuple[Layout | ComposedLayout, Guard | None]:
    """`layout` and its guard grown until `tiler` divides every mode that it names.

    With `exists_beyond` (coordinates, counted values) the elements beyond the shape are real and need no new guard.
    """
    if isinstance(layout, ComposedLayout):
        inner, guard = rounded(layout.inner, guard, tiler, exists_beyond=exists_beyond)
        return layout.with_inner(plain_part(inner)), guard
    growth = dict(_growth(layout, tiler, ()))
    if not growth:
        return layout, guard
    # Existing axes grow with the layout; each grown mode gets an axis of its own with its old size as limit.
    grown = _grow_all(layout, growth)
    axes = [GuardAxis(_grow_all(axis.layout, growth), axis.origin, axis.limit) for axis in guard.axes] if guard else []
    if not exists_beyond:
        axes += [GuardAxis(index_along(grown, path), 0, get(layout, *path).size) for path in growth]
    return grown, Guard(tuple(axes)) if axes else None


def _growth(layout: Layout, tiler: object, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The modes that grow, by path, and their new sizes."""
    if isinstance(tiler, tuple):
        for mode, entry in enumerate(tiler[: layout.rank]):
            yield from _growth(layout[mode], entry, (*path, mode) if isinstance(layout.shape, tuple) else path)
    elif isinstance(tiler, (int, Layout)) and not is_unknown(tiler):
        grown = rounded_up(layout, tiler if isinstance(tiler, Layout) else Layout(tiler))
        if (grown.size == layout.size) is not True:  # also where nothing tells whether the tile divides it
            yield path, grown.size


def _grow_all(layout: Layout, growth: dict[tuple[int, ...], int]) -> Layout:
    for path, size in growth.items():
        layout = _at(layout, path, size)
    return layout


def _at(layout: Layout, path: tuple[int, ...], size: int) -> Layout:
    """`layout` with the mode at `path` grown to `size` in its last leaf."""
    if path:
        modes = list(layout)
        modes[path[0]] = _at(modes[path[0]], path[1:], size)
        return joined(modes)
    # Grow the last leaf: the mode continues with its own stride.
    *first, last = leaves(layout.shape)
    return _make(fold_profile(iter((*first, size * last // layout.size)), layout.shape), layout.stride)


def index_along(layout: Layout, path: tuple[int, ...]) -> Layout:
    """The index within the mode at `path`, as a layout over the whole domain."""
    if not path:
        return _make(layout.shape, prefix_product(layout.shape))
    # Index along one mode: its compact strides there, stride 0 on all other modes.
    modes = [
        index_along(mode, path[1:]) if number == path[0] else _make(mode.shape, map_leaves(lambda leaf: 0, mode.shape))
        for number, mode in enumerate(layout)
    ]
    return joined(modes)
