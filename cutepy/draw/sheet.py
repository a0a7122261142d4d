"""A figure laid out: every text, stroke and sample of colour in its place. Printers only spell what stands here.

Law: all printers show the same texts at the same places, for none of them places anything. Heads, captions and strokes
are placed relative to the cells of their grid, in cells along it and in pixels away from it. Labels are in a
fixed-width font, so widths are known without measuring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from . import palette
from .grid import Figure, Grid, Head
from .safe import width

GAP = 28
MARGIN = 12
LEGEND_LINE, NOTE_LINE = 22, 17
SAMPLE = 18, 12
"""Width and height of a sample of colour in the legend."""

Segment: TypeAlias = tuple[int, int, int, int]
"""From (column, row) to (column, row), in cells."""
Kind: TypeAlias = Literal["hole", "rule", "frame", "group", "mark"]


@dataclass(frozen=True, slots=True)
class Heads:
    """One level of heads: texts at their middles (in cells), `away` pixels from the cells."""

    away: int
    texts: tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Stroke:
    """Lines of one kind; rules have a weight from 0 to 3. A frame is one segment, its diagonal."""

    kind: Kind
    segment: Segment
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """A grid in its place: the corner of its cells, the size of one cell, and what stands around and over them."""

    grid: Grid
    x: int
    y: int
    cell_width: int
    cell_height: int

    @property
    def width(self) -> int:
        """The width of all cells."""
        return self.grid.columns.size * self.cell_width

    @property
    def height(self) -> int:
        """The height of all cells."""
        return self.grid.rows.size * self.cell_height

    @property
    def column_heads(self) -> Iterator[Heads]:
        """The heads above, the innermost level nearest to the cells."""
        for depth, level in enumerate(reversed(self.grid.columns.levels)):
            yield Heads(6 + depth * HEAD_HEIGHT, _middles(level))

    @property
    def row_heads(self) -> Iterator[Heads]:
        """The heads to the left, the innermost level nearest to the cells; texts end there."""
        away = 6
        for level, wide in zip(reversed(self.grid.rows.levels), reversed(head_widths(self.grid)), strict=True):
            yield Heads(away, _middles(level))
            away += wide

    @property
    def caption(self) -> Iterator[tuple[int, str]]:
        """The lines over the heads, each with its pixels above the cells."""
        lines = caption_lines(self.grid)
        for number, line in enumerate(lines):
            yield HEAD_HEIGHT * len(self.grid.columns.levels) + 10 + CAPTION_LINE * (len(lines) - 1 - number), line

    @property
    def strokes(self) -> Iterator[Stroke]:
        """Diagonals of holes, rules, the frame, borders of groups, outlines of marked cells: in that order."""
        grid = self.grid
        rows, columns = grid.rows.size, grid.columns.size
        for place, paint in enumerate(grid.paints):
            if paint == palette.HOLE:
                row, column = divmod(place, columns)
                yield Stroke("hole", (column, row + 1, column + 1, row))
        if not grid.spans:
            for k, weight in enumerate(grid.rows.rules, 1):
                yield Stroke("rule", (0, k, columns, k), weight)
            for k, weight in enumerate(grid.columns.rules, 1):
                yield Stroke("rule", (k, 0, k, rows), weight)
        yield Stroke("frame", (0, 0, columns, rows))
        for segment in _edges(grid.groups, rows, columns) if grid.groups else ():
            yield Stroke("group", segment)
        flags = [int(place in grid.marked) for place in range(rows * columns)] if grid.marked else []
        for segment in _edges(flags, rows, columns, around=0) if flags else ():
            yield Stroke("mark", segment)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text that starts at (x, y): the title, a note, or an entry of the legend."""

    x: int
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the legend: a sample of a paint with its corner at (x, y), and its text."""

    x: int
    y: int
    paint: str
    text: str

    @property
    def line(self) -> Line:
        """The text beside the sample."""
        return Line(self.x + SAMPLE[0] + 6, self.y + SAMPLE[1] - 2, self.text)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A whole figure in its place; the legend in rows."""

    width: int
    height: int
    title: Line | None
    boxes: tuple[Box, ...]
    legend: tuple[tuple[Entry, ...], ...]
    notes: tuple[Line, ...]


def sheet_of(figure: Figure) -> Sheet:
    """Lay a figure out: rows of grids, columns of grids aligned at their cells."""
    title = Line(MARGIN, MARGIN + TITLE_FONT, figure.title) if figure.title else None
    boxes, right, y = _boxes(figure, MARGIN + (TITLE_FONT + 12 if figure.title else 0))
    longest = max([text_width(figure.title, TITLE_FONT), *(text_width(note, HEAD_FONT) for note in figure.notes)])
    full = max(right, min(longest, int(LONGEST_LINE * TITLE_FONT * ADVANCE)) + MARGIN) + MARGIN
    legend = _legend(figure, full - 2 * MARGIN, y + 16)
    y += 10 + LEGEND_LINE * len(legend) if legend else 0
    notes = tuple(Line(MARGIN, y + 20 + NOTE_LINE * i, note) for i, note in enumerate(figure.notes))
    y += 8 + NOTE_LINE * len(notes) if notes else 0
    return Sheet(full, y + MARGIN, title, boxes, legend, notes)


@dataclass(frozen=True, slots=True)
class _Footprint:
    """The room that a grid takes around the corner of its cells, and the size of a cell."""

    left: int
    right: int
    above: int
    below: int
    cell: tuple[int, int]


def _boxes(figure: Figure, y: int) -> tuple[tuple[Box, ...], int, int]:
    """The grids from height `y` on, the right end of the widest row, and where the last row ends."""
    prints = [[None if grid is None else _footprint(grid) for grid in row] for row in figure.panels]
    columns = range(max(map(len, prints), default=0))
    in_column = [[row[c] for row in prints if c < len(row)] for c in columns]
    lefts = [max((found.left for found in column if found), default=0) for column in in_column]
    rights = [max((found.right for found in column if found), default=0) for column in in_column]
    boxes: list[Box] = []
    for row, footprints in zip(figure.panels, prints, strict=True):
        above = max((found.above for found in footprints if found), default=0)
        below = max((found.below for found in footprints if found), default=0)
        x = MARGIN
        for column, (grid, found) in enumerate(zip(row, footprints, strict=True)):
            x += lefts[column]
            if grid is not None and found is not None:
                boxes.append(Box(grid, x, y + above, *found.cell))
            x += rights[column] + GAP
        y += above + below + GAP
    return tuple(boxes), MARGIN + sum(lefts) + sum(rights) + GAP * max(0, len(lefts) - 1), y - (GAP if boxes else 0)


def _footprint(grid: Grid) -> _Footprint:
    across, down = cell_size(grid)
    for level in grid.columns.levels:  # every head has room above its places
        across = max([across, *(-(-(text_width(text, HEAD_FONT) + 4) // span) for text, span in level)])
    lines = caption_lines(grid)
    right = max([grid.columns.size * across, *map(text_width, lines)])
    above = len(grid.columns.levels) * HEAD_HEIGHT + (len(lines) * CAPTION_LINE + 6 if lines else 0)
    return _Footprint(sum(head_widths(grid)), right, above, grid.rows.size * down, (across, down))


def _legend(figure: Figure, room: int, y: int) -> tuple[tuple[Entry, ...], ...]:
    """The entries in rows as wide as `room`, the first row at height `y`."""
    rows: list[list[Entry]] = []
    x = room + 1
    for paint, text in figure.legend:
        wide = 24 + text_width(text, HEAD_FONT) + 14
        if x + wide > room and x > 0:
            rows.append([])
            x = 0
        rows[-1].append(Entry(MARGIN + x, y + LEGEND_LINE * (len(rows) - 1), paint, text))
        x += wide
    return tuple(map(tuple, rows))


def caption_lines(grid: Grid) -> list[str]:
    """The lines over a grid."""
    return grid.caption.split("\n") if grid.caption else []


def _middles(level: Sequence[Head]) -> tuple[tuple[float, str], ...]:
    found, place = [], 0
    for text, span in level:
        found.append((place + span / 2, text))
        place += span
    return tuple(found)


def _edges(groups: Sequence[int], rows: int, columns: int, around: int | None = None) -> Iterator[Segment]:
    """Segments between cells whose numbers differ ; outside the grid stands `around`. Runs are joined."""

    def at(row: int, column: int) -> int | None:
        return groups[row * columns + column] if 0 <= row < rows and 0 <= column < columns else around

    def differ(one: int | None, other: int | None) -> bool:
        return one is not None and other is not None and one != other

    for row in range(rows + 1):
        run = [differ(at(row - 1, column), at(row, column)) for column in range(columns)]
        yield from ((start, row, end, row) for start, end in _runs(run))
    for column in range(columns + 1):
        run = [differ(at(row, column - 1), at(row, column)) for row in range(rows)]
        yield from ((column, start, column, end) for start, end in _runs(run))


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    start = None
    for place, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = place
        elif not flag and start is not None:
            yield start, place
            start = None


FONT = 13
HEAD_FONT = 11
TITLE_FONT = 14
ADVANCE = 0.61
"""Width of a character over the font size: a little more than any common fixed-width font has."""
LINE = 16
SMALLEST = 36
BARE = 18
CAPTION_LINE = 17
HEAD_HEIGHT = 17
LONGEST_LINE = 100


def text_width(text: str, font: int = FONT) -> int:
    """Pixels that a line of text takes at most."""
    return int(width(text) * font * ADVANCE) + 1


def cell_size(grid: Grid) -> tuple[int, int]:
    """Width and height of the cells: room for the widest label, at least square, small if nothing is written."""
    joined = "".join(grid.labels)
    lines, widest = 1, 0
    if not grid.spans and joined.isascii() and "\n" not in joined:
        widest = max(map(len, grid.labels))
    elif not grid.spans:
        distinct = set(grid.labels)
        lines += max(label.count("\n") for label in distinct)
        widest = max(width(line) for label in distinct for line in label.split("\n"))
    for place, span in grid.spans.items():
        widest = max(widest, *(-(-width(line) // span) for line in grid.labels[place].split("\n")))
    if not widest:
        return BARE, BARE
    across = max(SMALLEST, int(widest * FONT * ADVANCE) + 11)
    return across, max(SMALLEST if across == SMALLEST else 30, lines * LINE + 10)


def head_widths(grid: Grid) -> tuple[int, ...]:
    """The room that each level of row heads takes, the outermost first."""
    return tuple(max(text_width(text, HEAD_FONT) for text, _ in level) + 9 for level in grid.rows.levels)
