"""`Grid`: cells with a label, a paint and a hint, and nothing about pixels. `Figure`: grids side by side.

Law: a printer decides how a cell looks, never what it says; all printers say the same. Cells stand row by row in flat
tuples, since a picture may have 16,384 of them. Text that comes from outside is made harmless: control characters are
shown, lengths bounded, widths counted; what a printer puts round a text (XML, TeX) it escapes itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby, pairwise
from operator import mul
from typing import Any, TypeAlias, TypeVar

from ..errors import DrawError
from ..layout.values.composed import AnyLayout
from ..layout.values.coordinates import idx2crd
from ..layout.values.int_tuple import IntTuple, leaves, product, show
from . import palette

Head: TypeAlias = "tuple[str, int]"
"""A text beside the grid and the number of places that it spans."""

Cells: TypeAlias = "tuple[tuple[int, ...], ...]"
"""Numbers of each cell, row by row."""

T = TypeVar("T")

HEAVIEST = 3
MOST_LEVELS = 4

ELLIPSIS = "…"
_OF_CELLS = ("labels", "paints", "hints", "groups", "indices", "links")
"""The fields of a grid with an entry for each cell, or none."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One side of a grid: its places (None is a gap), what stands beside them, and how heavy the rules between are.

    `levels` are the heads, the outermost level first; `rules[k]` is the weight (0 to 3) of the rule before place k + 1.

    >>> rows = Axis((0, 1, 2, None), ((("0", 2), ("1", 2)),))
    >>> rows.size, rows.names, rows.cut(1, 3).places
    (4, ['0', '1', '2', '…'], (1, 2))
    """

    places: tuple[int | None, ...]
    levels: tuple[tuple[Head, ...], ...] = ()
    rules: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of places."""
        return len(self.places)

    @property
    def names(self) -> list[str]:
        """One text a place: the heads where there is one level of them, else the index."""
        if len(self.levels) == 1 and all(span == 1 for _, span in self.levels[0]):
            return [text for text, _ in self.levels[0]]
        return [ELLIPSIS if position is None else str(position) for position in self.places]

    def cut(self, start: int, stop: int) -> Axis:
        """The places from `start` to `stop` alone; a head that reaches beyond is cut."""
        levels = []
        for level in self.levels:
            # Head i covers positions ends[i] to ends[i + 1] - 1; what lies outside the cut gets a span <= 0.
            ends = [0, *accumulate(span for _, span in level)]
            inside = [min(end, stop) - max(begin, start) for begin, end in pairwise(ends)]
            levels.append(tuple((text, span) for (text, _), span in zip(level, inside, strict=True) if span > 0))
        return Axis(self.places[start:stop], tuple(levels), self.rules[start : stop - 1])


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells row by row: `labels` (lines apart by newline), `paints` (names of `palette`), `hints` (one line of text).

    `groups` numbers what belongs together: a heavy line runs where it changes. `marked` cells get a frame. `spans`
    gives cells that are wider than one place; the places that they cover have empty labels. `detail(i)` is the long
    hint of cell i. `least_width` is a width in characters that text labels keep at least, `cell_size` the pixels that a
    cell has at least.

    `source` is the layout that the cells show, and `indices` holds the colexicographic indices of it at each cell: one
    where a cell is a coordinate, several where coordinates share a cell, none in a gap. `links` numbers what a cell
    shares with cells of the figure's other grids; empty, the indices do. `threads` is the size of the mode of `source`
    that counts threads, 0 if none does.

    >>> from cutepy import draw, Layout
    >>> grid = draw(Layout((2, 3), (3, 1))).figure.grids[0]
    >>> grid.labels, grid.places({2}), grid.shared, grid.widths(0), grid.cut(0, 1).labels
    (('0', '1', '2', '3', '4', '5'), [1], [], [1, 1, 1], ('0', '3'))
    >>> grid.text(1)
    '(0,1) → index 2 → 0·3 + 1·1 = 1'
    """

    rows: Axis
    columns: Axis
    labels: tuple[str, ...]
    paints: tuple[str, ...]
    hints: tuple[str, ...] = ()
    caption: str = ""
    groups: tuple[int, ...] = ()
    marked: frozenset[int] = frozenset()
    spans: Mapping[int, int] = field(default_factory=dict)
    detail: Callable[[int], str] | None = field(default=None, compare=False, repr=False)
    least_width: int = 1
    cell_size: int = 0
    source: AnyLayout | None = field(default=None, repr=False)
    indices: Cells = field(default=(), repr=False)
    links: Cells = field(default=(), repr=False)
    threads: int = 0

    def __post_init__(self) -> None:
        cells = self.rows.size * self.columns.size
        for name in _OF_CELLS:
            given = len(getattr(self, name))
            if given != cells and (given or name in ("labels", "paints")):
                raise DrawError(f"Grid: {given} {name} for {self.rows.size} * {self.columns.size} cells")

    @property
    def shared(self) -> list[int]:
        """The cells that several indices of `source` share: coordinates of one offset, owners of one element."""
        return [cell for cell, own in enumerate(self.indices) if len(own) > 1]

    def text(self, cell: int) -> str:
        """What a cell says when it is pointed at: the sum where there is one, else its hint."""
        return self.detail(cell) if self.detail else self.hints[cell] if self.hints else ""

    def places(self, indices: Container[int]) -> list[int]:
        """The cells that show one of these indices of `source`."""
        return [cell for cell, own in enumerate(self.indices) if any(index in indices for index in own)]

    def widths(self, row: int) -> list[int]:
        """How many places each cell of a row is wide: 0 where a wider one covers it."""
        # A cell of span w hides the w - 1 cells to its right.
        start, widths = row * self.columns.size, [1] * self.columns.size
        for column in range(self.columns.size if self.spans else 0):
            wide = self.spans.get(start + column, 1)
            if widths[column]:
                widths[column : column + wide] = [wide, *[0] * (wide - 1)]
        return widths

    def cut(self, start: int, stop: int) -> Grid:
        """The columns from `start` to `stop` alone; of cells that are wider than one place there is no part."""
        columns, detail = self.columns.cut(start, stop), self.detail
        kept = [row * self.columns.size + column for row in range(self.rows.size) for column in range(start, stop)]

        def of(cells: Sequence[T]) -> tuple[T, ...]:
            return tuple([cells[cell] for cell in kept]) if cells else ()

        entries: dict[str, Any] = {name: of(getattr(self, name)) for name in _OF_CELLS}
        return replace(
            self,
            columns=columns,
            **entries,
            caption=self.caption if start == 0 else "",
            marked=frozenset(new for new, cell in enumerate(kept) if cell in self.marked),
            spans={},
            detail=(lambda cell: detail(kept[cell])) if detail else None,
        )


def filled(rows: Axis, columns: Axis, cell: Callable[[int, int], tuple[str, str, str]], **others: Any) -> Grid:
    """The grid of what `cell` gives of each row and column, (label, paint, hint), an ellipsis in gaps; other fields."""
    cells = [
        (ELLIPSIS, palette.GAP, "") if row is None or column is None else cell(row, column)
        for row in rows.places
        for column in columns.places
    ]
    labels, paints, hints = zip(*cells, strict=True)
    return Grid(rows, columns, labels, paints, hints, **others)


LONGEST_ROW, FOLDED_ROW = 32, 16
"""How many places of a vector stand in one row, and how many a row has where they are more."""


def _folded(vector: Grid) -> list[Grid]:
    """The rows of FOLDED_ROW places of a vector: halved again and again, since a cut goes through all of the heads."""
    rows = -(-vector.columns.size // FOLDED_ROW)
    if rows <= 1:
        return [vector]
    half = (rows + 1) // 2 * FOLDED_ROW
    return _folded(vector.cut(0, half)) + _folded(vector.cut(half, vector.columns.size))


@dataclass(frozen=True, slots=True)
class Figure:
    """Rows of grids (None leaves a place free), what they are about, and what their colours mean.

    One row alone is broken where it is too wide; several rows stand as they are. `legend` is what the samples of the
    paints are called, `subject` what they all are: bank, thread, tile.

    >>> from cutepy import draw
    >>> figure = draw("(4,8):(8,1)").figure
    >>> len(figure.grids), figure.cells, len(figure.pieces), figure.painted(lambda paint: "w").paints
    (1, 32, 1, ['w'])
    >>> figure.mapped(lambda grid: grid.cut(0, 4)).cells
    16
    """

    panels: tuple[tuple[Grid | None, ...], ...]
    title: str = ""
    description: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    subject: str = ""

    @property
    def pieces(self) -> tuple[tuple[Grid | None, ...], ...]:
        """The panels, a vector that is too long for a row folded into rows under one another."""
        # Only a figure of one single-row grid without spans is folded: other grids have heads that would be repeated.
        (first, *others), *more = self.panels or ((None,),)
        if first is None or others or more or first.spans or first.rows.size > 1 or first.columns.size <= LONGEST_ROW:
            return self.panels
        return tuple((row,) for row in _folded(first))

    def painted(self, paint_of: Callable[[str], str]) -> Figure:
        """The same figure with other paints, each by what it was."""
        found = self.mapped(lambda grid: replace(grid, paints=tuple(map(paint_of, grid.paints))))
        return replace(found, legend=tuple((paint_of(paint), name) for paint, name in self.legend))

    def mapped(self, change: Callable[[Grid], Grid]) -> Figure:
        """The same figure of changed grids."""
        return replace(self, panels=tuple(tuple(grid and change(grid) for grid in row) for row in self.panels))

    @property
    def grids(self) -> list[Grid]:
        """The grids from left to right and from top to bottom."""
        return [grid for row in self.panels for grid in row if grid is not None]

    @property
    def cells(self) -> int:
        """The number of places of all grids."""
        return sum(grid.rows.size * grid.columns.size for grid in self.grids)

    @property
    def paints(self) -> list[str]:
        """The paints of all cells and of the legend, each once."""
        used = dict.fromkeys(paint for grid in self.grids for paint in grid.paints)
        return list(used | dict.fromkeys(paint for paint, _ in self.legend))


def axis_of(shape: IntTuple, places: Sequence[int | None], *, nested: bool = True) -> Axis:
    """The axis of a mode of `shape` at the chosen `places` (None is a gap): one level of heads for each leaf.

    >>> axis_of((2, 2), range(4))
    Axis(places=(0, 1, 2, 3), levels=((('0', 2), ('1', 2)), (('0', 1), ('1', 1), ('0', 1), ('1', 1))), rules=(0, 1, 0))
    """
    # Leaves of extent 1 have one coordinate, 0: they get no level of heads.
    extents = [extent for extent in leaves(shape) if extent != 1]
    if not nested or not 1 < len(extents) <= MOST_LEVELS:
        level = tuple((ELLIPSIS if position is None else str(position), 1) for position in places)
        return Axis(tuple(places), (level,), _rules(places, extents if nested else []))
    # Leaf i repeats every inners[i + 1] positions and changes every inners[i]; the last one does not wrap.
    inners = [*accumulate(extents[:-1], mul, initial=1), None]
    levels = [_level(places, inner or 1, around) for inner, around in pairwise(inners)]
    return Axis(tuple(places), tuple(reversed(levels)), _rules(places, extents))


def _level(places: Sequence[int | None], inner: int, around: int | None) -> tuple[Head, ...]:
    """Heads of one leaf: places whose quotient by `inner` is equal and that stand together share one."""
    runs = groupby(None if position is None else position // inner for position in places)
    wrap = 0 if around is None else around // inner
    return tuple(
        (ELLIPSIS if number is None else str(number % wrap if wrap else number), len([*run])) for number, run in runs
    )


def _rules(places: Sequence[int | None], extents: Sequence[int]) -> tuple[int, ...]:
    """How many leaves wrap round between each place and the next: the weight of the rule between them."""
    # One leaf wraps nowhere, so all rules are light.
    if len(extents) < 2:
        return (0,) * (len(places) - 1)
    inners = [*accumulate(extents[:-1], mul)]
    return tuple(
        # weight = number of leaves that carry between the two positions
        0 if position is None or after is None else min(HEAVIEST, sum(after // n != position // n for n in inners))
        for position, after in pairwise(places)
    )


def shortened(rows: int, columns: int, limit: int) -> tuple[list[int | None], list[int | None]]:
    """The rows and columns to draw: all of them up to `limit` cells, else the first and last few of a long side.

    >>> shortened(2, 3, 16)
    ([0, 1], [0, 1, 2])
    >>> shortened(2, 1000, 64)[1]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, None, 996, 997, 998, 999]
    """
    if rows * columns <= limit:
        return list(range(rows)), list(range(columns))
    # A shortened side keeps its first side - 1 - last positions, a gap and its last ones.
    side = 8 if limit < 1024 else 16
    return _ends(rows, side), _ends(columns, max(side, 16) if rows <= side else side)


def _ends(size: int, side: int) -> list[int | None]:
    if size <= side:
        return list(range(size))
    last = max(2, side // 4)
    return [*range(side - last - 1), None, *range(size - last, size)]


def coordinate_texts(shape: IntTuple, places: Sequence[int | None]) -> list[str]:
    """The nested coordinate of each place, as text.

    >>> coordinate_texts((2, 2), range(4)), coordinate_texts(4, [0, 3])
    (['(0,0)', '(1,0)', '(0,1)', '(1,1)'], ['0', '3'])
    """
    if not isinstance(shape, tuple):
        return [ELLIPSIS if position is None else str(position) for position in places]
    return [ELLIPSIS if position is None else show(idx2crd(position, shape)) for position in places]


def mode_size(shape: IntTuple) -> int:
    """The number of places of a mode; DrawError where it is not a number."""
    size = product(shape)
    if type(size) is not int:
        raise DrawError(f"a shape of {show(shape)} has no size to draw; substitute numbers for its symbols first")
    return size


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that show nothing, or change how their surroundings are shown (overrides of direction)."""

LONGEST_LABEL = 24
LONGEST_TITLE = 160


def clean(text: str, longest: int = LONGEST_LABEL) -> str:
    """`text` with everything invisible spelt out, cut to `longest` characters; a newline stays.

    >>> clean("a\\x00b"), clean("x" * 30)[-3:], clean("\\u202eabc")
    ('a\\\\x00b', 'xx…', '\\\\u202eabc')
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    # Fast exit: labels are ASCII digits in almost every picture.
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in _HIDDEN:
        return character
    # Python's own escape forms, so that the shown text can be pasted back.
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, longest: int) -> str:
    """`text`, or its beginning and its end with an ellipsis between.

    >>> shorten("abcdefgh", 5), shorten("abc", 5)
    ('ab…gh', 'abc')
    """
    if len(text) <= longest:
        return text
    head = longest // 2
    return f"{text[:head]}…{text[len(text) - (longest - head - 1) :]}"


def width(text: str) -> int:
    """How many columns of a fixed-width font `text` takes: wide characters two, combining marks none.

    >>> width("T12"), width("漢字"), width("e\\u0301")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def right_to_left(text: str) -> bool:
    """True if a letter of `text` is written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in text)
