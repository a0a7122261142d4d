"""Rounding a shape up to whole tiles, with the guard that says what exists.

Law: a rounded layout equals the given one on its own coordinates, and its size is the least
that the tile divides; the new guard axes tell the two apart.
"""

from __future__ import annotations

from math import gcd
from typing import cast

from ..layout import ComposedLayout, Layout, complement
from ..layout.algebra.rearrange import joined
from ..layout.values.coordinates import keeps
from ..layout.values.int_tuple import IntTuple, leaves, map_leaves, prefix_product
from ..layout.values.layout import _make
from .guard import Guard, GuardAxis

Growth = dict[tuple[int, ...], int]
"""The new size of the modes that grow, by path."""


def rounded(
    layout: Layout | ComposedLayout, guard: Guard | None, tiler: object, *, exists_beyond: bool
) -> tuple[Layout | ComposedLayout, Guard | None]:
    """`layout` and its guard grown until `tiler` divides every mode that it names.

    With `exists_beyond` (coordinates, counted values) the elements beyond the shape are real and need no new guard.
    """
    if isinstance(layout, ComposedLayout):
        inner, guard = rounded(layout.inner, guard, tiler, exists_beyond=exists_beyond)
        return layout.with_inner(cast(Layout, inner)), guard
    growth: Growth = {}
    _find_growth(layout, tiler, (), growth)
    if not growth:
        return layout, guard
    grown = layout
    for path, size in growth.items():
        grown = _at(grown, path, size)
    axes = [GuardAxis(_grow_all(axis.layout, growth), axis.origin, axis.limit) for axis in guard.axes] if guard else []
    if not exists_beyond:
        axes += [GuardAxis(_place_along(grown, path), 0, _mode(layout, path).size) for path in growth]
    return grown, Guard(tuple(axes)) if axes else None


def _find_growth(layout: Layout, tiler: object, path: tuple[int, ...], growth: Growth) -> None:
    if isinstance(tiler, tuple):
        for mode, entry in enumerate(tiler[: layout.rank]):
            _find_growth(layout[mode], entry, (*path, mode) if isinstance(layout.shape, tuple) else path, growth)
        return
    chunk = _chunk(tiler)
    if chunk and layout.size % chunk:
        extents = leaves(layout.shape)
        before = layout.size // extents[-1]
        step = chunk // gcd(chunk, before)
        growth[path] = before * -(-extents[-1] // step) * step


def _chunk(tiler: object) -> int:
    """How many elements a tile and what lies between them take; 0 where nothing has to be rounded."""
    if keeps(tiler) or not isinstance(tiler, (int, Layout)):
        return 0
    if isinstance(tiler, int):
        return tiler
    if any(type(step) is not int for step in leaves(tiler.stride)):
        return 0
    return tiler.size * complement(tiler).size


def _grow_all(layout: Layout, growth: Growth) -> Layout:
    for path, size in growth.items():
        layout = _at(layout, path, size)
    return layout


def _at(layout: Layout, path: tuple[int, ...], size: int) -> Layout:
    """`layout` with the mode at `path` grown to `size` in its last leaf."""
    if path:
        modes = list(layout)
        modes[path[0]] = _at(modes[path[0]], path[1:], size)
        return joined(modes)
    return _make(_last_leaf_times(layout.shape, size, layout.size), layout.stride)


def _last_leaf_times(shape: IntTuple, size: int, old: int) -> IntTuple:
    if isinstance(shape, tuple):
        return (*shape[:-1], _last_leaf_times(shape[-1], size, old))
    return size * shape // old


def _mode(layout: Layout, path: tuple[int, ...]) -> Layout:
    for mode in path:
        layout = layout[mode]
    return layout


def _place_along(layout: Layout, path: tuple[int, ...]) -> Layout:
    """The index within the mode at `path`, as a layout over the whole domain."""
    if not path:
        return _make(layout.shape, prefix_product(layout.shape))
    modes = [
        _place_along(mode, path[1:]) if number == path[0] else _make(mode.shape, map_leaves(lambda leaf: 0, mode.shape))
        for number, mode in enumerate(layout)
    ]
    return joined(modes)
