"""Layouts as they are: one cell a coordinate, one grid for the first two modes, more grids for further modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from ..layout import Layout
from ..layout.text.write import extents
from ..layout.values.int_tuple import IntTuple
from .cells import COLORS, LABELS, detail_of, hints_of, labels_of, marked_in, paints_of
from .grid import Axis, Figure, Grid, axis_of
from .look import CellFunction, Look
from .safe import LONGEST_TITLE, clean, shorten
from .table import AnyLayout, Part, as_layout, gives_offsets, part_count, parts, table_of

MOST_PANELS = 16


@dataclass(frozen=True, slots=True)
class Plain:
    """View "grid": a layout's offsets at its coordinates."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of a layout: one for the first two modes, one for each coordinate of the others."""
        layout = as_layout(thing, "grid")
        grids = [layout_grid(part, look) for part in islice(parts(layout), MOST_PANELS)]
        more = part_count(layout) - len(grids)
        notes = (f"and {more} more grids",) if more > 0 else ()
        return Figure(arranged(grids), title=title_of(layout, look), description=description_of(layout), notes=notes)


def title_of(layout: object, look: Look) -> str:
    """The asked-for title, or the layout."""
    asked = look.style.title
    return shorten(str(layout), LONGEST_TITLE) if asked is None else clean(asked, LONGEST_TITLE)


def description_of(layout: AnyLayout) -> str:
    """What a screen reader says."""
    rows, columns = extents(layout)
    return f"Layout {shorten(str(layout), 400)}: {rows} rows, {columns} columns, {layout.size} coordinates."


def arranged(grids: Sequence[Grid]) -> tuple[tuple[Grid | None, ...], ...]:
    """Grids in rows of up to four, narrow ones side by side."""
    if not grids:
        return ()
    across = max(1, min(4, 48 // max(grid.columns.size for grid in grids), len(grids)))
    return tuple(tuple(grids[start : start + across]) for start in range(0, len(grids), across))


def layout_grid(part: Part, look: Look) -> Grid:
    """The grid of one part of a layout."""
    table = table_of(part, look.style.limit)
    down, across = table.modes
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    hints = hints_of(table)
    return Grid(
        side(down, table.rows, look, vector=part.layout.rank < 2),
        side(across, table.columns, look),
        labels=labels_of(table, label, hints),
        paints=paints_of(table, color),
        hints=hints,
        caption=part.caption,
        marked=marked_in(table, look.style.highlight),
        detail=lambda place: detail_of(table, place),
        least_width=_least_width(part.layout, label),
    )


def side(shape: IntTuple, places: Sequence[int | None], look: Look, *, vector: bool = False) -> Axis:
    """An axis in the asked-for style."""
    if vector or look.style.heads == "none":
        return Axis(tuple(places), (), axis_of(shape, places).rules)
    return axis_of(shape, places, nested=look.style.heads == "nested")


def _least_width(layout: AnyLayout, label: str | CellFunction) -> int:
    """The width that CuTe's `print_layout` gives a cell: the digits of the cosize."""
    return len(str(layout.cosize)) if label == "offset" and isinstance(layout, Layout) and gives_offsets(layout) else 1
