"""The nesting of a layout, level by level, with the stride of every leaf.

Each node is a cell as wide as its leaves; the last row has the strides.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import DrawError
from ..layout.values.int_tuple import IntTuple, depth_of, leaves, show
from . import palette
from .grid import Axis, Figure, Grid
from .look import Look
from .plain import title_of
from .safe import shorten
from .table import as_layout, plain_of

MOST_LEAVES = 64
DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Tree:
    """View "tree": the shape from the whole down to its leaves, and the strides below them."""

    def figure(self, thing: object, look: Look) -> Figure:
        """One grid: a level of nesting a row."""
        layout = as_layout(thing, "tree")
        plain = plain_of(layout)
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
        paints = tuple(_paint(paint, color) for paint in grown.paints)
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


def _paint(paint: str, color: object) -> str:
    if paint[0] != "n":
        return paint
    level = int(paint[1:])
    if color == "level":
        return f"g{min(2 * level, 14)}"
    return palette.PLAIN
