"""Memory: which coordinates every offset holds.

Holes and shared offsets show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from ..errors import DrawError
from ..layout.values.int_tuple import show
from . import palette
from .cells import paint_from
from .grid import ELLIPSIS, Axis, Figure, Grid, shortened
from .look import CellFunction, Look
from .owners import LARGEST_PARTITION, number_set
from .plain import side, title_of
from .safe import clean
from .table import AnyLayout, as_layout, gives_offsets, parts, table_of

Held: TypeAlias = dict[int, list[tuple[int, str]]]
"""For every offset the index and the text of each coordinate there."""

COLORS = ("index", "offset", "none")
LABELS = ("coordinate", "index", "offset", "none")

WIDEST = 256
LONGEST_LINE = 24
"""Rows that are always drawn, however small the limit."""


@dataclass(frozen=True, slots=True)
class Memory:
    """View "memory": the coordinates at every offset, `width` offsets a row."""

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
        start = low // self.width * self.width if low < 0 or high - low >= self.width else low
        grid = _grid(layout.size, held, start, min(self.width, high - start + 1), look)
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
    found: Held = {}
    for part in parts(layout):
        table = table_of(part, layout.size)
        for row, column, at in table.cells:
            place = cast(int, row), cast(int, column)
            found.setdefault(cast(int, at), []).append((table.index(*place), show(table.coordinate(*place))))
    return found


def _grid(size: int, held: Held, start: int, width: int, look: Look) -> Grid:
    color, label = look.colored_by(*COLORS), look.labelled_by(*LABELS)
    high = max(held)
    rows = -(-(high - start + 1) // width)
    shown, _every = shortened(rows, width, max(look.style.limit, width * LONGEST_LINE))
    labels, paints, hints = [], [], []
    for row in shown:
        for column in range(width):
            at = start + (row or 0) * width + column
            here = held.get(at, [])
            gap = row is None or at > high
            labels.append(ELLIPSIS if row is None else _label(here, label, at))
            paints.append(palette.GAP if gap else _paint(here, color, at, (start, high, size)))
            hints.append("" if gap else _hint(here, at))
    heads = tuple((ELLIPSIS if row is None else str(start + row * width), 1) for row in shown)
    return Grid(
        Axis(tuple(shown), (heads,) if look.style.heads != "none" else (), (0,) * (len(shown) - 1)),
        side(width, list(range(width)), look),
        tuple(labels),
        tuple(paints),
        tuple(hints),
    )


def _hint(here: Sequence[tuple[int, str]], at: int) -> str:
    if not here:
        return f"{at}: nothing"
    more = f" and {len(here) - 4} more" if len(here) > 4 else ""
    return f"{at} ← {', '.join(crd for _index, crd in here[:4])}{more}"


def _label(here: Sequence[tuple[int, str]], label: str | CellFunction, at: int) -> str:
    if label == "none" or not here:
        return ""
    if label == "offset":
        return str(at)
    if label == "index":
        return number_set(index for index, _crd in here)
    if not isinstance(label, str):
        return clean(str(label(at, here[0][0])))
    return here[0][1] + (f"\n+{len(here) - 1}" if len(here) > 1 else "")


def _paint(here: Sequence[tuple[int, str]], color: str | CellFunction, at: int, reach: tuple[int, int, int]) -> str:
    if not here:
        return palette.HOLE
    if not isinstance(color, str):
        return paint_from(color(at, here[0][0]))
    start, high, size = reach
    if color == "none":
        return palette.PLAIN
    return palette.ramp(here[0][0], 0, size - 1) if color == "index" else palette.ramp(at, start, high)
