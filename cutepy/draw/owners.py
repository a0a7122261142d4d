"""Who owns what: threads and values over a tile, coordinates over memory.

Imports `plain`. Law: every cell says all that is there. Where several threads share a cell it says `T0-7`; where nobody is,
it is a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from ..errors import DrawError
from ..layout import Layout
from ..layout.coordinates import idx2crd
from ..layout.grid import extents, offset_rows, show_value
from ..layout.int_tuple import IntTuple, leaves
from . import palette
from .detail import value_sum
from .grid import Axis, Figure, Grid, coordinate_texts, mode_size, shortened
from .look import Look
from .plain import AnyLayout, Part, Table, as_layout, paint_from, parts, side, table_of, title_of
from .safe import clean

Owner: TypeAlias = tuple[int, int, int]
"""Thread, value, and the index among the remaining modes."""

LARGEST_PARTITION = 1 << 17


@dataclass(frozen=True, slots=True)
class ThreadValue:
    """View "tv": the owners of every element of `over` by a layout (thread, value[, rest...]) to indices of `over`.

    `over` is a shape (indices are colexicographic) or a layout (its offsets are what the partition gives); left out, it is
    the line of all indices. Further modes of the partition are shown as R, so the whole view is there, not a thread's.
    """

    over: Layout | IntTuple | None = None

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid over `over`."""
        partition = as_layout(thing, "tv")
        if partition.rank < 2:
            raise DrawError(f"view 'tv' of {partition}: it takes a layout of (thread, value) or (thread, value, rest...)")
        over = self._base(partition)
        owners = owners_of(partition)
        table = table_of(Part(over, 0, (), over), look.style.limit)
        _check_inside(partition, over, owners)
        several = any(part.rest for part in parts(partition))
        grid = _owned_grid(table, owners, look, several, lambda cell: _places(partition, owners.get(cell, ())))
        colors = look.colored_by(*OWNER_COLORS)
        label = look.labelled_by(*OWNER_LABELS)
        says_color = label == "thread,value" or colors == label
        return Figure(
            ((grid,),),
            title=title_of(f"{partition} over {show_value(over.shape)}", look),
            description=f"Thread-value layout {partition}: which thread and value own each element of {over}.",
            legend=() if says_color or not look.style.legend else _legend(grid, colors),
        )

    def _base(self, partition: AnyLayout) -> Layout:
        over = self.over
        if over is None:
            return Layout(partition.cosize)
        base = over if isinstance(over, Layout) else Layout(over)
        if base.rank > 2:
            raise DrawError(f"view 'tv' over {base}: it draws ranks 1 and 2; group modes, or slice")
        return base


OWNER_COLORS = ("thread", "value", "thread,value", "rest", "none")
OWNER_LABELS = ("thread,value", "thread", "value", "index", "none")


def owners_of(partition: AnyLayout) -> dict[object, list[Owner]]:
    """For every value of a partition, who has it."""
    if partition.size > LARGEST_PARTITION:
        raise DrawError(
            f"{partition} has {partition.size} owners; pictures go up to {LARGEST_PARTITION}: draw a tile, or fewer threads"
        )
    found: dict[object, list[Owner]] = {}
    for number, part in enumerate(parts(partition)):
        threads, values = extents(part.layout)
        for thread, row in enumerate(offset_rows(part.layout, range(threads), range(values))):
            for value, at in enumerate(row):
                found.setdefault(at + part.base if type(at) is int else at, []).append((thread, value, number))
    return found


def _check_inside(partition: AnyLayout, over: Layout, owners: dict[object, list[Owner]]) -> None:
    if over.size > LARGEST_PARTITION:
        return
    rows, columns = extents(over)
    there = {value for row in offset_rows(over, range(rows), range(columns)) for value in row}
    for value, (owner, *_others) in owners.items():
        if value not in there:
            raise DrawError(
                f"view 'tv': thread {owner[0]}, value {owner[1]} of {partition} is at {show_value(value)}, which {over} does not have; "
                f"give an `over` that reaches {show_value(value)}"
            )


def number_set(numbers: Iterable[int]) -> str:
    """A set of numbers in a few characters.

    >>> number_set([3]), number_set(range(8)), number_set([0, 4, 8, 12]), number_set([1, 2, 4, 9])
    ('3', '0-7', '0,4..12', '1,2,+2')
    """
    found = sorted(set(numbers))
    if len(found) < 3:
        return ("-" if len(found) == 2 and found[1] == found[0] + 1 else ",").join(map(str, found))
    steps = {after - before for before, after in zip(found, found[1:], strict=False)}
    if steps == {1}:
        return f"{found[0]}-{found[-1]}"
    if len(steps) == 1:
        return f"{found[0]},{found[1]}..{found[-1]}"
    return f"{found[0]},{found[1]},+{len(found) - 2}"


def _owned_grid(
    table: Table,
    owners: dict[object, list[Owner]],
    look: Look,
    several: bool,
    places: Callable[[object], str],
) -> Grid:
    color, label = look.colored_by(*OWNER_COLORS), look.labelled_by(*OWNER_LABELS)
    down, across = table.modes
    row_texts, column_texts = coordinate_texts(down, table.rows), coordinate_texts(across, table.columns)
    flat = table.part.layout.rank < 2
    labels, paints, hints = [], [], []
    for row, cells in enumerate(table.values):
        for column, cell in enumerate(cells):
            mine = owners.get(cell, [])
            gap = cell is None
            labels.append("…" if gap else _label(mine, label, cell, several) if mine else "")
            paints.append(palette.GAP if gap else _paint(mine, color) if mine else palette.HOLE)
            at = column_texts[column] if flat else f"{row_texts[row]},{column_texts[column]}"
            hints.append(f"({at}) → {_label(mine, 'thread,value', cell, several).replace(chr(10), ' ') if mine else 'nobody'}")
    return Grid(
        side(down, table.rows, look, vector=flat),
        side(across, table.columns, look),
        tuple(labels),
        tuple(paints),
        tuple(hints),
        detail=lambda place: f"{hints[place]}{places(table.flat[place])}",
    )


def _label(mine: Sequence[Owner], label: object, cell: object, several: bool) -> str:
    if callable(label):
        return clean(str(label(cast(IntTuple, mine[0]), cell)))
    if label == "index":
        return show_value(cell)
    if label == "none":
        return ""
    threads, values = f"T{number_set(o[0] for o in mine)}", f"V{number_set(o[1] for o in mine)}"
    rest = f"\nR{number_set(o[2] for o in mine)}" if several else ""
    return threads if label == "thread" else values if label == "value" else f"{threads}\n{values}{rest}"


def _paint(mine: Sequence[Owner], color: object) -> str:
    thread, value, rest = mine[0]
    if callable(color):
        return paint_from(color(mine[0], None))
    if color == "thread,value":
        return palette.color(thread, value)
    return palette.PLAIN if color == "none" else palette.color({"thread": thread, "value": value, "rest": rest}[str(color)])


def _places(partition: AnyLayout, mine: Sequence[Owner]) -> str:
    """How the first owner comes to own the cell: the sum over its thread and its value."""
    if not mine or partition.rank > 2:
        return ""
    thread, value, _rest = mine[0]
    shapes = cast("tuple[IntTuple, ...]", partition.shape)
    crd = (idx2crd(thread, shapes[0]), idx2crd(value, shapes[1]))
    return f" → {value_sum(partition, crd)}"


def _legend(grid: Grid, color: object) -> tuple[tuple[str, str], ...]:
    if color not in ("thread", "value", "rest"):
        return ()
    found: dict[str, str] = {}
    for paint, hint in zip(grid.paints, grid.hints, strict=True):
        if paint[0] in "csu":
            words = hint.partition("→ ")[2].split()
            found.setdefault(paint, words[{"thread": 0, "value": 1, "rest": -1}[str(color)]])
    return tuple(sorted(found.items(), key=lambda entry: (len(entry[1]), entry[1])))[:32]


@dataclass(frozen=True, slots=True)
class Memory:
    """View "memory": which coordinates every offset holds, `width` offsets a row; holes and shared offsets show."""

    width: int = 16

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid over the offsets from the least to the greatest."""
        layout = as_layout(thing, "memory")
        if any(type(step) is not int for step in leaves(getattr(layout, "inner", layout).stride)):
            raise DrawError(f"view 'memory' of {layout}: it gives coordinates, not offsets")
        if type(self.width) is not int or not 1 <= self.width <= 256:
            raise DrawError(f"Memory(width={self.width!r}): from 1 to 256")
        if layout.size > LARGEST_PARTITION:
            raise DrawError(f"view 'memory' of {layout}: {layout.size} coordinates; draw a tile of it")
        held = _held(layout)
        low, high = min(held), max(held)
        start = low // self.width * self.width if low < 0 or high - low >= self.width else low
        count = high - start + 1
        width = min(self.width, count)
        rows = -(-count // width)
        grid = _memory_grid(layout, held, (start, high, rows, width), look)
        shared = sum(len(indices) > 1 for indices in held.values())
        empty = high - low + 1 - len(held)
        return Figure(
            ((grid,),),
            title=title_of(layout, look),
            description=f"Offsets {low} to {high} of layout {layout}: {empty} holes, {shared} shared.",
            notes=(f"offsets {low} to {high}: {empty} hold nothing, {shared} hold several coordinates",)
            if empty or shared
            else (),
        )


def _held(layout: AnyLayout) -> dict[int, list[tuple[int, str]]]:
    """For every offset the coordinates there: index and text."""
    found: dict[int, list[tuple[int, str]]] = {}
    for part in parts(layout):
        table = table_of(part, 1 << 18)
        for row, cells in enumerate(table.values):
            for column, at in enumerate(cells):
                crd = show_value(table.coordinate(row, column))
                found.setdefault(cast(int, at), []).append((table.index(row, column), crd))
    return found


def _memory_grid(
    layout: AnyLayout, held: dict[int, list[tuple[int, str]]], place: tuple[int, int, int, int], look: Look
) -> Grid:
    start, high, rows, width = place
    color, label = look.colored_by("index", "offset", "none"), look.labelled_by("coordinate", "index", "offset", "none")
    shown, _columns = shortened(rows, width, max(look.style.limit, width * 24))
    labels, paints, hints = [], [], []
    for row in shown:
        for column in range(width):
            at = start + (row or 0) * width + column
            here = held.get(at, [])
            gap = row is None or at > high
            labels.append("…" if row is None else _memory_label(here, label, at))
            paints.append(palette.GAP if gap else _memory_paint(here, color, at, layout, high) if here else palette.HOLE)
            texts = ", ".join(crd for _index, crd in here[:4]) + (f" and {len(here) - 4} more" if len(here) > 4 else "")
            hints.append("" if gap else f"{at} ← {texts}" if here else f"{at}: nothing")
    heads = tuple(("…" if row is None else str(start + row * width), 1) for row in shown)
    return Grid(
        Axis(tuple(shown), (heads,) if look.style.heads != "none" else (), (0,) * (len(shown) - 1)),
        side(width, list(range(width)), look),
        tuple(labels),
        tuple(paints),
        tuple(hints),
    )


def _memory_label(here: Sequence[tuple[int, str]], label: object, at: int) -> str:
    if label == "none" or not here:
        return ""
    if label == "offset":
        return str(at)
    if label == "index":
        return number_set(index for index, _crd in here)
    if callable(label):
        return clean(str(label(at, here[0][0])))
    return here[0][1] + (f"\n+{len(here) - 1}" if len(here) > 1 else "")


def _memory_paint(here: Sequence[tuple[int, str]], color: object, at: int, layout: AnyLayout, high: int) -> str:
    if callable(color):
        return paint_from(color(at, here[0][0]))
    if color == "none":
        return palette.PLAIN
    return palette.ramp(here[0][0], 0, mode_size(layout.shape) - 1) if color == "index" else palette.ramp(at, min(0, at), high)
