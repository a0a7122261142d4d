"""View "compare": layouts side by side, framed where one gives another offset than the first at the same index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...errors import DrawError
from ...layout.text.parse import Lines
from ...layout.values.composed import AnyLayout
from ...layout.values.coordinates import idx2crd
from ...layout.values.int_tuple import show
from ..grid import Figure, Grid, clean, shorten
from ..look import Look, named
from .layouts import MOST_PANELS, layout_grid
from .table import as_layout, panels

MOST_COMPARED = 1 << 14
"""Layouts of more coordinates stand side by side without being compared."""


@named("compare")
@dataclass(frozen=True, slots=True)
class Compare:
    """View "compare": the layouts of a text's lines, or of a list; an index is one thing in all of them."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of each layout under its name; below, how many indices differ, and the first of them."""
        named = [*_layouts(thing)]
        if len(named) < 2:
            raise DrawError("view 'compare' takes two layouts or more: lines of a text, A = (4,8):(8,1), or a list")
        first_name, first = named[0]
        grids: list[Grid] = []
        notes = []
        for number, (name, layout) in enumerate(named):
            differing = frozenset(_differing(first, layout)) if number else frozenset()
            if number:
                notes.append(_told(name or str(layout), layout, first_name or str(first), first, differing))
            for panel in panels(layout):
                grid = layout_grid(panel, look)
                caption = "\n".join(line for line in (name, f"{layout} {grid.caption}".strip()) if line)
                marked = frozenset(grid.places(differing)) | grid.marked
                grids.append(replace(grid, caption=shorten(caption, 80), marked=marked))
        if len(grids) > MOST_PANELS:
            raise DrawError(f"view 'compare': {len(grids)} panels; it draws up to {MOST_PANELS}")
        title = clean(look.style.title or "", 160)
        told = "; ".join(grid.caption.replace("\n", " ") for grid in grids)
        return Figure((tuple(grids),), title=title, description=f"Side by side: {told}.", notes=tuple(notes))


def _layouts(thing: object) -> Iterator[tuple[str, AnyLayout]]:
    """The layouts that are compared, each with its name; of lines without names those alone, where there are two."""
    entries: Sequence[tuple[str, object]]
    if isinstance(thing, Lines):
        shown = thing.shown if len(thing.shown) > 1 else thing.lines
        entries = [(line.name or ("" if line.text == str(line.value) else line.text), line.value) for line in shown]
    else:
        entries = [("", each) for each in thing] if isinstance(thing, list | tuple) else []
    for name, value in entries:
        if isinstance(value, AnyLayout):
            yield name, as_layout(value, "compare")


def _differing(first: AnyLayout, other: AnyLayout) -> Iterator[int]:
    """The indices that both have and at which they give different offsets."""
    if max(first.size, other.size) <= MOST_COMPARED:
        yield from (index for index in range(min(first.size, other.size)) if first(index) != other(index))


def _told(name: str, layout: AnyLayout, first_name: str, first: AnyLayout, differing: frozenset[int]) -> str:
    count = min(first.size, layout.size)
    if max(first.size, layout.size) > MOST_COMPARED:
        return f"{name}: {layout.size} coordinates, more than are compared"
    more = f"; {first_name} has {first.size} indices, {name} {layout.size}" if first.size != layout.size else ""
    if not differing:
        return f"{name} gives at each of {count} indices what {first_name} gives{more}"
    at = min(differing)
    return (
        f"{name} differs from {first_name} at {len(differing)} of {count} indices, first at {at}, "
        f"{show(idx2crd(at, layout.shape))}: {show(layout(at))}, not {show(first(at))}{more}"
    )
