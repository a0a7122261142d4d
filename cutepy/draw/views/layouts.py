"""Layouts as they are: offsets at coordinates, and the tree of their nesting.

One grid shows the first two modes, more grids further modes. A node of a tree is a cell as wide as its leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from ...errors import DrawError
from ...layout import Layout
from ...layout.text.write import extents
from ...layout.values.composed import plain_part
from ...layout.values.int_tuple import IntTuple, depth_of, leaves, show
from .. import palette
from ..grid import Axis, Figure, Grid, axis_of
from ..look import Look
from ..safe import LONGEST_TITLE, clean, shorten
from .table import (
    COLORS,
    LABELS,
    Part,
    as_layout,
    detail_of,
    gives_offsets,
    hints_of,
    labels_of,
    marked_in,
    paints_of,
    part_count,
    parts,
    table_of,
)

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
        rows, columns = extents(layout)
        told = f"Layout {shorten(str(layout), 400)}: {rows} rows, {columns} columns, {layout.size} coordinates."
        return Figure((tuple(grids),), title=title_of(layout, look), description=told, notes=notes)


def title_of(layout: object, look: Look) -> str:
    """The asked-for title, or the layout."""
    asked = look.style.title
    return shorten(str(layout), LONGEST_TITLE) if asked is None else clean(asked, LONGEST_TITLE)


def layout_grid(part: Part, look: Look) -> Grid:
    """The grid of one part of a layout."""
    table = table_of(part, look.style.limit)
    down, across = table.modes
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    hints = hints_of(table)
    as_print_layout = label == "offset" and isinstance(part.layout, Layout) and gives_offsets(part.layout)
    return Grid(
        side(down, table.rows, look, vector=part.layout.rank < 2),
        side(across, table.columns, look),
        labels=labels_of(table, label, hints),
        paints=paints_of(table, color, look),
        hints=hints,
        caption=part.caption,
        marked=marked_in(table, look.style.highlight),
        detail=lambda place: detail_of(table, place),
        least_width=len(str(part.layout.cosize)) if as_print_layout else 1,
    )


def side(shape: IntTuple, places: Sequence[int | None], look: Look, *, vector: bool = False) -> Axis:
    """An axis in the asked-for style."""
    if vector or look.style.heads == "none":
        return Axis(tuple(places), (), axis_of(shape, places).rules)
    return axis_of(shape, places, nested=look.style.heads == "nested")


MOST_LEAVES = 64
DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Tree:
    """View "tree": the shape from the whole down to its leaves, and the strides below them."""

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid: a level of nesting a row."""
        layout = as_layout(thing, "tree")
        plain = plain_part(layout)
        count, depth = len(leaves(plain.shape)), depth_of(plain.shape)
        if not 1 <= count <= MOST_LEAVES or depth > DEEPEST:
            raise DrawError(
                f"view 'tree' of {shorten(str(layout), 200)}: {count} leaves, {depth} levels; it draws 1 to "
                f"{MOST_LEAVES} leaves and {DEEPEST} levels: draw a mode of it, or flatten or coalesce it"
            )
        grown = _Grown(count, depth)
        grown.add(plain.shape, 0, 0, ())
        for leaf, step in enumerate(leaves(plain.stride)):
            grown.put(depth + 1, leaf, 1, str(step), palette.PLAIN, f"stride {step}")
        color = look.colored_by("level", "leaf", "none")
        paints = tuple(
            paint if paint[0] != "n" else f"g{min(2 * int(paint[1:]), 14)}" if color == "level" else palette.PLAIN
            for paint in grown.paints
        )
        rows = tuple((text, 1) for text in ["shape", *[""] * depth, "stride"])
        grid = Grid(
            Axis(tuple(range(depth + 2)), (rows,)),
            Axis(tuple(range(count))),
            tuple(grown.labels),
            paints,
            tuple(grown.hints),
            spans=grown.spans,
        )
        return Figure(((grid,),), title=title_of(layout, look), description=f"The nesting of {layout}.")


@dataclass(slots=True)
class _Grown:
    """The cells of a tree while it is drawn."""

    count: int
    depth: int
    labels: list[str] = field(init=False)
    paints: list[str] = field(init=False)
    hints: list[str] = field(init=False)
    spans: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = self.count * (self.depth + 2)
        self.labels, self.hints = [""] * cells, [""] * cells
        self.paints = [palette.GAP] * cells

    def put(self, row: int, column: int, span: int, label: str, paint: str, hint: str) -> None:
        """One cell."""
        place = row * self.count + column
        self.labels[place], self.paints[place], self.hints[place] = label, paint, hint
        self.spans[place] = span

    def add(self, shape: IntTuple, row: int, column: int, path: tuple[int, ...]) -> None:
        """A node and everything below it."""
        span = max(1, len(leaves(shape)))
        name = f"mode {show(path)}" if path else "the whole"
        self.put(row, column, span, shorten(show(shape), 12 * span), f"n{row}", f"{name}: {show(shape)}")
        if isinstance(shape, tuple):
            for place, entry in enumerate(shape):
                self.add(entry, row + 1, column, (*path, place))
                column += len(leaves(entry))
