"""Layouts as they are: offsets at coordinates, the tree of their nesting, and several side by side.

One grid shows the first two modes, more grids further modes. A node of a tree is a cell as wide as its leaves. Framed
is where one layout gives another offset than the first at the same index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from ...errors import DrawError
from ...layout import Layout
from ...layout.text.parse import Lines
from ...layout.text.write import extents, gives_offsets
from ...layout.values.composed import AnyLayout, plain_part
from ...layout.values.coordinates import idx2crd
from ...layout.values.int_tuple import IntTuple, as_tuple, depth_of, leaves, map_leaves, product, show
from .. import palette
from ..grid import ELLIPSIS, LONGEST_TITLE, Axis, Figure, Grid, axis_of, clean, filled, shorten
from ..look import Look, named
from .table import COLORS, LABELS, Panel, as_layout, paint_from, panel_count, panels

MOST_PANELS = 16


@named("grid")
@dataclass(frozen=True, slots=True)
class Plain:
    """View "grid": a layout's offsets at its coordinates.

    >>> from cutepy import draw
    >>> draw("(2,3):(3,1)", view=Plain()).figure.grids[0].labels
    ('0', '1', '2', '3', '4', '5')
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of a layout: one for the first two modes, one for each coordinate of the others.

        Of a mode of unknown size the first two coordinates and the last are shown.
        """
        own = getattr(thing, "layout", thing)
        if isinstance(own, Layout) and not all(type(extent) is int for extent in leaves(own.shape)):
            rest = show(tuple(map_leaves(lambda _extent: 0, shape) for shape in as_tuple(own.shape)[2:]))
            return Figure(
                ((grid_of_ends(own, look),),),
                title=title_of(own, look),
                description=f"Layout {own}, at its ends.",
                notes=(f"further modes at {rest}",) if len(as_tuple(own.shape)) > 2 else (),
            )
        layout = as_layout(thing, "grid")
        grids = [layout_grid(panel, look) for panel in islice(panels(layout), MOST_PANELS)]
        more = panel_count(layout) - len(grids)
        notes = (f"and {more} more grids",) if more > 0 else ()
        rows, columns = extents(layout)
        description = f"Layout {shorten(str(layout), 400)}: {rows} rows, {columns} columns, {layout.size} coordinates."
        return Figure((tuple(grids),), title=title_of(layout, look), description=description, notes=notes)


def grid_of_ends(layout: Layout, look: Look) -> Grid:
    """The grid of a layout that is not shown whole: what it gives at the ends of its modes, in terms of unknown
    sizes."""
    shapes = as_tuple(layout.shape)
    rest = [map_leaves(lambda _extent: 0, shape) for shape in shapes[2:]]
    down, across = (_ends(shape) for shape in (shapes[:2] if len(shapes) > 1 else (1, shapes[0])))
    color, label = look.colored_by("none", "row", "column"), look.labelled_by("offset", "coordinate", "none")

    def cell(i: int, j: int) -> tuple[str, str, str]:
        row, column = down[i], across[j]
        crd = (row, column, *rest) if len(shapes) > 1 else (column,)
        value = layout(crd if isinstance(layout.shape, tuple) else column)
        texts = {"offset": show(value), "coordinate": show(crd), "none": ""}
        hues = {"row": look.hue(i), "column": look.hue(j), "none": palette.PLAIN}
        return (
            clean(texts[label] if isinstance(label, str) else str(label(crd, value))),
            hues[color] if isinstance(color, str) else paint_from(color(crd, value)),
            f"{show(crd)} → {show(value)}",
        )

    heads = look.style.heads != "none"
    return filled(_named_ends(down, heads and len(shapes) > 1), _named_ends(across, heads), cell)


def _named_ends(ends: Sequence[IntTuple | None], headed: bool) -> Axis:
    heads = tuple((ELLIPSIS if crd is None else show(crd), 1) for crd in ends)
    return Axis(tuple(None if crd is None else k for k, crd in enumerate(ends)), (heads,) if headed else ())


SHOWN_WHOLE = 8
"""A known mode of so many coordinates is shown whole beside an unknown one."""


def _ends(shape: IntTuple) -> list[IntTuple | None]:
    """All coordinates of a small known mode; else the first two, None for a gap, and the last.

    >>> _ends(3), _ends(100), _ends((1, 50))
    ([0, 1, 2], [0, 1, None, 99], [(0, 0), (0, 1), None, (0, 49)])
    """
    size = product(shape)
    if type(size) is int and size <= SHOWN_WHOLE:
        return [idx2crd(index, shape) for index in range(size)]
    steps = iter((1,))
    second = map_leaves(lambda extent: 0 if extent == 1 else next(steps, 0), shape)
    return [map_leaves(lambda _extent: 0, shape), second, None, map_leaves(lambda extent: extent - 1, shape)]


def title_of(layout: object, look: Look) -> str:
    """The asked-for title, or the layout."""
    asked = look.style.title
    return shorten(str(layout), LONGEST_TITLE) if asked is None else clean(asked, LONGEST_TITLE)


def layout_grid(panel: Panel, look: Look) -> Grid:
    """The grid of one panel of a layout."""
    table = panel.table(look.style.limit)
    down, across = table.modes
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    hints = table.hints()
    # CuTe's print_layout gives every column the width of the cosize.
    as_print_layout = label == "offset" and isinstance(panel.layout, Layout) and gives_offsets(panel.layout)
    return Grid(
        side(down, table.rows, look, vector=panel.layout.rank < 2),
        side(across, table.columns, look),
        labels=table.labels(label, hints),
        paints=table.paints(color, look),
        hints=hints,
        caption=panel.caption,
        marked=table.marked(look.style.highlight),
        detail=table.detail,
        least_width=len(str(panel.layout.cosize)) if as_print_layout else 1,
        source=panel.whole,
        indices=table.indices,
    )


def side(shape: IntTuple, places: Sequence[int | None], look: Look, *, vector: bool = False) -> Axis:
    """An axis in the asked-for style."""
    if vector or look.style.heads == "none":
        return Axis(tuple(places), (), axis_of(shape, places).rules)
    return axis_of(shape, places, nested=look.style.heads == "nested")


MOST_LEAVES = 64
DEEPEST = 24


@named("tree")
@dataclass(frozen=True, slots=True)
class Tree:
    """View "tree": the shape from the whole down to its leaves, and the strides below them.

    >>> from cutepy import draw
    >>> draw("((2,2),3):((1,6),2)", view=Tree()).figure.grids[0].rows.size
    4
    """

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
        # Rows: depth + 1 levels of the shape, then the strides; columns: the leaves.
        labels, hints = [""] * (count * (depth + 2)), [""] * (count * (depth + 2))
        paints, spans = [palette.GAP] * len(labels), dict[int, int]()
        look.expect_none("label")
        color = look.colored_by("level", "leaf", "none")
        steps = ((depth + 1, leaf, 1, str(step), f"stride {step}") for leaf, step in enumerate(leaves(plain.stride)))
        for row, column, span, label, hint in chain(_nodes(plain.shape, 0, 0, ()), steps):
            cell = row * count + column
            labels[cell], hints[cell], spans[cell] = label, hint, span
            level = f"g{min(2 * row, 14)}" if row <= depth else palette.PLAIN
            hues = {"level": level, "leaf": look.hue(column) if span == 1 else palette.PLAIN, "none": palette.PLAIN}
            paints[cell] = hues[color] if isinstance(color, str) else paint_from(color((row, column), label))
        rows = tuple((text, 1) for text in ["shape", *[""] * depth, "stride"])
        grid = Grid(
            Axis(tuple(range(depth + 2)), (rows,)),
            Axis(tuple(range(count))),
            tuple(labels),
            tuple(paints),
            tuple(hints),
            spans=spans,
        )
        return Figure(((grid,),), title=title_of(layout, look), description=f"The nesting of {layout}.")


def _nodes(shape: IntTuple, row: int, column: int, path: tuple[int, ...]) -> Iterator[tuple[int, int, int, str, str]]:
    """A node and everything below it: row, column, how many leaves it spans, what it says, its hint."""
    span = max(1, len(leaves(shape)))
    name = f"mode {show(path)}" if path else "the whole"
    yield row, column, span, shorten(show(shape), 12 * span), f"{name}: {show(shape)}"
    for mode, entry in enumerate(shape if isinstance(shape, tuple) else ()):
        yield from _nodes(entry, row + 1, column, (*path, mode))
        column += len(leaves(entry))


MOST_COMPARED = 1 << 14
"""Layouts of more coordinates stand side by side without being compared."""


@named("compare")
@dataclass(frozen=True, slots=True)
class Compare:
    """View "compare": the layouts of a text's lines, or of a list; an index is one thing in all of them."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The grids of each layout under its name; below, how many indices differ, and the first of them."""
        named = [*_compared(thing)]
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


def _compared(thing: object) -> Iterator[tuple[str, AnyLayout]]:
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
