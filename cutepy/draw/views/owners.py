"""Owners of elements: threads and values over a tile, coordinates over memory.

Law: a cell names all its owners. A cell that several threads share says `T0-7`; an element without an owner is a hole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TypeAlias

from ...errors import DrawError
from ...layout import Layout
from ...layout.algebra.convert import Conversion
from ...layout.text.write import extents, gives_offsets, offset_rows
from ...layout.values.composed import AnyLayout
from ...layout.values.coordinates import idx2crd
from ...layout.values.int_tuple import IntTuple, show
from .. import palette
from ..grid import ELLIPSIS, Axis, Figure, Grid, clean, filled, shortened
from ..look import CellFunction, Look, named
from .layouts import layout_grid, side, title_of
from .table import Table, Value, as_layout, paint_from, panel_count, panels, value_sum

Owner: TypeAlias = tuple[int, int, int]
"""Thread, value, and the index among the remaining modes."""
Owners: TypeAlias = Mapping[Value, Sequence[Owner]]

LARGEST_PARTITION = 1 << 17

COLORS = ("thread", "value", "thread,value", "rest", "none")
LABELS = ("thread,value", "thread", "value", "index", "none")


@named("tv")
@dataclass(frozen=True, slots=True)
class ThreadValue:
    """View "tv": the owners of every element of `over` by a layout (thread, value[, rest...]) to indices of `over`.

    `over` is a shape (indices are colexicographic) or a layout (its offsets are what the partition gives); left out,
    it is the line of all indices. Further modes of the partition are shown as R: the whole view, not one thread's.

    >>> from cutepy import draw
    >>> draw("(4,2):(2,1)", view=ThreadValue(over=(4, 2))).figure.grids[0].labels[:2]
    ('T0\\nV0', 'T2\\nV0')
    """

    over: Layout | IntTuple | None = None

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid over `over`."""
        partition = as_layout(thing, "tv")
        if partition.rank < 2:
            raise DrawError(
                f"view 'tv' of {partition}: it takes a layout of (thread, value) or (thread, value, rest...)"
            )
        # The elements to draw, the owners of each, then the check that no owner is outside.
        over = self._base(partition)
        owners = owners_of(partition)
        _check_inside(partition, over, owners)
        grid = _owned_grid(next(panels(over)).table(look.style.limit), partition, owners, look)
        color, shared = look.colored_by(*COLORS), len(grid.shared)
        return Figure(
            ((grid,),),
            notes=(f"{shared} elements have several owners; a colour is that of the first",) if shared else (),
            title=title_of(f"{partition} over {show(over.shape)}", look),
            description=f"Thread-value layout {partition}: which thread and value own each element of {over}.",
            legend=legend_of(owners, color, look),
            subject=color.partition(",")[0] if isinstance(color, str) else "",
        )

    def _base(self, partition: AnyLayout) -> Layout:
        """The layout whose elements are owned: `over`, or the line of all indices up to the cosize of the
        partition."""
        if self.over is None:
            if not gives_offsets(partition):
                raise DrawError(
                    f"view 'tv' of {partition}: it gives coordinates; give over=make_identity_layout(shape)"
                )
            return Layout(partition.cosize)
        base = self.over if isinstance(self.over, Layout) else Layout(self.over)
        if base.rank > 2:
            raise DrawError(f"view 'tv' over {base}: it draws ranks 1 and 2; group modes, or slice")
        return base


def owners_of(partition: AnyLayout) -> dict[Value, list[Owner]]:
    """For every value of a partition, its owners (thread, value, rest), in the order of the partition's indices."""
    if partition.size > LARGEST_PARTITION:
        raise DrawError(
            f"{partition} has {partition.size} owners; pictures go up to {LARGEST_PARTITION}: "
            "draw a tile, or fewer threads"
        )
    owners: dict[Value, list[Owner]] = {}
    for number, panel in enumerate(panels(partition)):
        threads, values = extents(panel.layout)
        for thread, row in enumerate(offset_rows(panel.layout, range(threads), range(values))):
            for value, at in enumerate(row):
                owners.setdefault(panel.moved(at) if panel.base else at, []).append((thread, value, number))
    return owners


def _check_inside(partition: AnyLayout, over: Layout, owners: Owners) -> None:
    """Raises DrawError for the first owned value that `over` does not have; not asked of very large ones."""
    if over.size > LARGEST_PARTITION:
        return
    rows, columns = extents(over)
    there = {value for row in offset_rows(over, range(rows), range(columns)) for value in row}
    for value, (owner, *_others) in owners.items():
        if value not in there:
            at = show(value)
            raise DrawError(
                f"view 'tv': thread {owner[0]}, value {owner[1]} of {partition} is at {at}, "
                f"which {over} does not have; give an `over` that reaches {at}"
            )


def number_set(numbers: Iterable[int]) -> str:
    """A set of numbers in a few characters.

    >>> number_set([3]), number_set(range(8)), number_set([0, 4, 8, 12]), number_set([1, 2, 4, 9])
    ('3', '0-7', '0,4..12', '1,2,+2')
    """
    ordered = sorted(set(numbers))
    if len(ordered) == 1:
        return str(ordered[0])
    if len(ordered) < 3:
        return ("-" if len(ordered) == 2 and ordered[1] == ordered[0] + 1 else ",").join(map(str, ordered))
    # One step: a range or an arithmetic progression; otherwise the first two and a count.
    steps = {after - before for before, after in pairwise(ordered)}
    if steps == {1}:
        return f"{ordered[0]}-{ordered[-1]}"
    if len(steps) == 1:
        return f"{ordered[0]},{ordered[1]}..{ordered[-1]}"
    return f"{ordered[0]},{ordered[1]},+{len(ordered) - 2}"


def _owned_grid(table: Table, partition: AnyLayout, owners: Owners, look: Look) -> Grid:
    """The cells of `over`: labels, colours and hints by their owners (thread, value, rest), the first owner's
    colour."""
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    several = panel_count(partition) > 1
    labels, hints = [], []
    for at, hint in zip(table.cells, table.hints(), strict=True):
        # Cells in a gap of a shortened picture have no value; elements without an owner are holes.
        mine = owners.get(at[2], ()) if at else ()
        labels.append(ELLIPSIS if at is None else _label(mine, label, at[2], several) if mine else "")
        names = _all(mine, several) if mine else "no thread"
        hints.append("" if at is None else f"{hint.partition('→')[0]}→ {names}")
    down, across = table.modes
    flat = table.flat
    return Grid(
        side(down, table.rows, look, vector=table.panel.layout.rank < 2),
        side(across, table.columns, look),
        tuple(labels),
        table.painted(lambda _row, _column, cell: _paint(owners.get(cell, ()), color, look)),
        tuple(hints),
        groups=_borders([owners[cell][0][0] if cell in owners else -1 for cell in flat], len(table.columns)),
        detail=lambda cell_index: f"{hints[cell_index]}{_how(partition, owners.get(flat[cell_index], ()))}",
        source=partition,
        indices=tuple([_indices(partition, owners.get(cell, ())) for cell in flat]),
        threads=extents(partition)[0],
    )


def _indices(partition: AnyLayout, owners: Sequence[Owner]) -> tuple[int, ...]:
    """The indices of (thread, value, rest) in the partition."""
    threads, values = extents(partition)[:2]
    return tuple([thread + threads * (value + values * rest) for thread, value, rest in owners])


def _label(mine: Sequence[Owner], label: str | CellFunction, cell: Value, several: bool) -> str:
    """The text of a cell by its owners: T and V with sets of numbers, pairs where the sets do not identify them."""
    if not isinstance(label, str):
        return clean(str(label(mine[0], cell)))
    if label == "index":
        return show(cell)
    if label == "none":
        return ""
    threads, values, rest = map(number_set, zip(*mine, strict=True)) if len(mine) > 1 else map(str, mine[0])
    if label in ("thread", "value"):
        return f"T{threads}" if label == "thread" else f"V{values}"
    # T0-1 V0-1 would read as four owners, so pairs are spelt out where the set is no product.
    if _paired(mine):
        lines = [f"T{thread} V{value}" + (f" R{number}" if several else "") for thread, value, number in mine]
        return "\n".join(lines if len(lines) == 2 else [lines[0], f"+{len(lines) - 1}"])
    return f"T{threads}\nV{values}" + (f"\nR{rest}" if several else "")


def _paired(mine: Sequence[Owner]) -> bool:
    """True where the set of threads and the set of values do not identify the owners: their product has more pairs."""
    return prod(len(set(numbers)) for numbers in zip(*mine, strict=True)) != len(mine)


MOST_NAMED = 8


def _all(mine: Sequence[Owner], several: bool) -> str:
    """Every owner, or the first of very many."""
    names = [f"T{thread} V{value}" + (f" R{rest}" if several else "") for thread, value, rest in mine[:MOST_NAMED]]
    return ", ".join(names) + (f" and {len(mine) - MOST_NAMED} more" if len(mine) > MOST_NAMED else "")


def _paint(mine: Sequence[Owner], color: str | CellFunction, look: Look) -> str:
    """The paint of a cell by its first owner; a hole where there is none."""
    if not mine:
        return palette.HOLE
    thread, value, rest = mine[0]
    if not isinstance(color, str):
        return paint_from(color(mine[0], None))
    if color == "thread,value":
        return look.hue(thread, fade=value)
    return palette.PLAIN if color == "none" else look.hue({"thread": thread, "value": value, "rest": rest}[color])


def _borders(threads: Sequence[int], columns: int) -> tuple[int, ...]:
    """The threads of the cells, for a heavy line where they change; none where that would be round every cell."""
    # Borders help only if some neighbours share a thread; else every cell would be framed.
    rows = [threads[start : start + columns] for start in range(0, len(threads), columns)]
    lines = [*rows, *zip(*rows, strict=True)]
    alike = any(one == other >= 0 for line in lines for one, other in pairwise(line))
    return tuple(threads) if alike and len(set(threads)) > 1 else ()


def _how(partition: AnyLayout, mine: Sequence[Owner]) -> str:
    """How the first owner comes to own the cell: the sum over its thread, its value and the rest."""
    if not mine:
        return ""
    return f" → {value_sum(partition, idx2crd(_indices(partition, mine)[0], partition.shape))}"


def legend_of(owners: Owners, color: str | CellFunction, look: Look) -> tuple[tuple[str, str], ...]:
    """The colours of threads (of values, or of the rest); none above 32, where several share a colour."""
    field = {"thread": 0, "thread,value": 0, "value": 1, "rest": 2}.get(color) if isinstance(color, str) else None
    if field is None or not look.style.legend:
        return ()
    held: dict[int, set[str]] = {}
    for mine in owners.values():
        held.setdefault(mine[0][field], set()).add(number_set(owner[field] for owner in mine))
    if len(held) > palette.COLORS:
        return ()
    return tuple((look.hue(first), min(held[first]) if len(held[first]) == 1 else str(first)) for first in sorted(held))


Held: TypeAlias = dict[int, list[tuple[int, str]]]
"""For every offset the index and the text of each coordinate there."""

HELD_COLORS = ("index", "offset", "none")
HELD_LABELS = ("coordinate", "index", "offset", "none")

WIDEST = 256
LONGEST_LINE = 24
"""Rows that are always drawn, however small the limit."""


@named("memory")
@dataclass(frozen=True, slots=True)
class Memory:
    """View "memory": the coordinates at every offset, `width` offsets a row.

    >>> from cutepy import draw
    >>> draw("(2,2):(1,4)", view=Memory(width=4)).figure.grids[0].labels
    ('(0,0)', '(1,0)', '', '', '(0,1)', '(1,1)', '', '')
    """

    width: int = 16

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid over the offsets from the least to the greatest."""
        layout = as_layout(thing, "memory")
        if not gives_offsets(layout):
            raise DrawError(f"view 'memory' of {layout}: it gives coordinates, not offsets")
        if type(self.width) is not int or not 1 <= self.width <= WIDEST:
            raise DrawError(f"Memory(width={self.width!r}): from 1 to {WIDEST}")
        if layout.size > LARGEST_PARTITION:
            raise DrawError(f"view 'memory' of {layout}: {layout.size} coordinates; draw a tile of it")
        held = _held(layout)
        low, high = min(held), max(held)
        # Rows begin at multiples of the width, except a single row, which begins at its least offset.
        start = low // self.width * self.width if low < 0 or high - low >= self.width else low
        grid = _memory_grid(layout, held, start, min(self.width, high - start + 1), look)
        shared = sum(len(here) > 1 for here in held.values())
        empty = high - low + 1 - len(held)
        verdict = f"offsets {low} to {high}: {empty} hold nothing, {shared} hold several coordinates"
        return Figure(
            ((grid,),),
            title=title_of(layout, look),
            description=f"Memory of layout {layout}: {verdict}.",
            notes=(verdict,) if empty or shared else (),
        )


def _held(layout: AnyLayout) -> Held:
    """For every offset the index and the coordinate of each coordinate that leads there, in the order of the
    layout."""
    held: Held = {}
    for panel in panels(layout):
        table = panel.table(layout.size)
        for row, column, at in filter(None, table.cells):
            assert isinstance(at, int)
            held.setdefault(at, []).append((table.index(row, column), show(table.coordinate(row, column))))
    return held


def _memory_grid(layout: AnyLayout, held: Held, start: int, width: int, look: Look) -> Grid:
    """The grid of `width` offsets a row from `start` on; offsets that no coordinate reaches are holes. `held` has for
    each offset the (index, coordinate) pairs that reach it, several where the layout is not injective."""
    color, label = look.colored_by(*HELD_COLORS), look.labelled_by(*HELD_LABELS)
    high = max(held)
    rows = -(-(high - start + 1) // width)
    shown, _every = shortened(rows, width, max(look.style.limit, width * LONGEST_LINE))

    def cell(row: int, column: int) -> tuple[str, str, str]:
        at = start + row * width + column
        if at > high:  # the last row is not full
            return "", palette.GAP, ""
        here = held.get(at, [])
        paint = _held_paint(here, color, at, (start, high, layout.size))
        return _held_label(here, label, at), paint, _held_hint(here, at)

    heads = tuple((ELLIPSIS if row is None else str(start + row * width), 1) for row in shown)
    grid = filled(
        Axis(tuple(shown), (heads,) if look.style.heads != "none" else (), (0,) * (len(shown) - 1)),
        side(width, list(range(width)), look),
        cell,
        source=layout,
        indices=tuple(
            [
                () if row is None else tuple([index for index, _crd in held.get(start + row * width + column, ())])
                for row in shown
                for column in range(width)
            ]
        ),
    )
    return replace(grid, detail=lambda cell: f"{grid.hints[cell]}{_sums(layout, grid.indices[cell])}")


def _sums(layout: AnyLayout, indices: Sequence[int]) -> str:
    """The sum of the first coordinate at an offset."""
    return f" → {value_sum(layout, idx2crd(indices[0], layout.shape))}" if indices else ""


def _held_hint(here: Sequence[tuple[int, str]], at: int) -> str:
    if not here:
        return f"{at}: nothing"
    more = f" and {len(here) - 4} more" if len(here) > 4 else ""
    return f"{at} ← {', '.join(crd for _index, crd in here[:4])}{more}"


def _held_label(here: Sequence[tuple[int, str]], label: str | CellFunction, at: int) -> str:
    """The text of an offset: by its coordinates, its indices, its offset, or the caller's function."""
    if label == "none" or not here:
        return ""
    if label == "offset":
        return str(at)
    if label == "index":
        return number_set(index for index, _crd in here)
    if not isinstance(label, str):
        return clean(str(label(at, here[0][0])))
    return here[0][1] + (f"\n+{len(here) - 1}" if len(here) > 1 else "")


def _held_paint(
    here: Sequence[tuple[int, str]], color: str | CellFunction, at: int, limits: tuple[int, int, int]
) -> str:
    """The paint of an offset: a hole without coordinates, else on the ramp of indices or of offsets."""
    if not here:
        return palette.HOLE
    if not isinstance(color, str):
        return paint_from(color(at, here[0][0]))
    start, high, size = limits
    if color == "none":
        return palette.PLAIN
    return palette.ramp(here[0][0], 0, size - 1) if color == "index" else palette.ramp(at, start, high)


@dataclass(frozen=True, slots=True)
class Moves:
    """View of a conversion between thread-value layouts: threads down, values across, elements in the cells, before and
    after; a colour is a thread of the source."""

    def figure(self, thing: object, look: Look) -> Figure:
        """Two grids, before and after: a row of one colour has all from one thread."""
        if not isinstance(thing, Conversion):
            raise DrawError(f"{type(thing).__name__} is no conversion; draw what cutepy.convert gives")
        owners = owners_of(thing.source)
        colored = look if look.color is not None else replace(look, color=lambda _crd, at: owners[at][0][0])  # type: ignore[index]
        grids = tuple(
            replace(layout_grid(next(iter(panels(layout))), colored), caption=f"{when} {layout}")
            for when, layout in (("before", thing.source), ("after", thing.target))
        )
        said = str(thing).partition("\n")[0]
        return Figure((grids,), title=title_of(said, look), description=f"Elements by thread and value: {said}.")
