"""A figure laid out: every text, stroke and sample of colour in its place. Printers only spell what stands here.

Law: all printers show the same texts at the same places, for none of them places anything. What belongs to a grid is
placed from the corner of its cells: strokes in cells, texts in pixels. Labels are in a fixed-width font, so widths are
known without measuring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Literal, TypeAlias

from . import palette
from .grid import Figure, Grid, Head, width

FONT = 13
HEAD_FONT = 11
TITLE_FONT = 14
ADVANCE = 0.61
"""Width of a character over the font size: a little more than any common fixed-width font has."""

_MARGIN, _GAP = 12, 28
_LINE, _HEAD_HEIGHT, _CAPTION_LINE, _NOTE_LINE, _LEGEND_LINE = 16, 17, 17, 17, 22
_SAMPLE = 18, 16
_SMALLEST, _BARE = 36, 18
_LONGEST_LINE = 100
_CORNER = 7
"""Pixels of the sides of a shared cell whose corner a line cuts off: less than labels keep clear."""
_WIDEST = 960
"""Pixels that grids side by side take at most, if each of them is narrower."""

Segment: TypeAlias = tuple[float, float, float, float]
"""From (column, row) to (column, row), in cells."""
StrokeKind: TypeAlias = Literal["hole", "outline", "rule", "frame", "group", "shared", "mark"]
TextKind: TypeAlias = Literal["label", "head", "side", "caption", "title", "note", "key"]


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of one kind on a line, in pixels: their baselines at `y`; `places` are steps along the line from `x`.

    Labels, heads and keys stand on their middles, those at the side end there and follow one another downwards, others
    begin there. An empty text is none.
    """

    kind: TextKind
    x: float
    y: float
    places: tuple[float, ...]
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line, or the diagonal of a frame or an outline; rules have a weight from 0 to 3."""

    kind: StrokeKind
    segment: Segment
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Sample:
    """A rectangle of a paint in the legend, with a text in it."""

    paint: str
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Box:
    """A grid in its place: the corner of its cells, the size of one cell, and what stands over and around them."""

    grid: Grid
    x: int
    y: int
    cell_width: int
    cell_height: int

    @property
    def texts(self) -> Iterator[Texts]:
        """Labels row by row, heads above and to the left, the lines of the caption."""
        yield from self._labels()
        away = 6
        # The innermost level stands next to the cells, so levels are placed from the inside out.
        for level in reversed(self.grid.columns.levels):
            yield Texts("head", 0, -away, *_middles(level, self.cell_width))
            away += _HEAD_HEIGHT
        left = 6
        for level, wide in zip(reversed(self.grid.rows.levels), reversed(_side_widths(self.grid)), strict=True):
            yield Texts("side", -left, 4, *_middles(level, self.cell_height))
            left += wide
        for number, line in enumerate(reversed(_lines(self.grid.caption))):
            yield Texts("caption", 0, -away - 4 - _CAPTION_LINE * number, (0,), (line,))

    def _labels(self) -> Iterator[Texts]:
        """The labels of each row of cells, several lines of a label as several texts."""
        grid, columns = self.grid, self.grid.columns.size
        # Labels of one line, the common case, are emitted as they are.
        several = "\n" in "".join(grid.labels)
        middles = tuple([(column + 0.5) * self.cell_width for column in range(columns)])
        for row in range(grid.rows.size):
            start, baseline = row * columns, (row + 0.5) * self.cell_height + 4.5
            labels = grid.labels[start : start + columns]
            if grid.spans:
                middles = tuple((c + wide / 2) * self.cell_width for c, wide in enumerate(grid.widths(row)))
            for line, texts in _split(labels) if several else [(0.0, labels)]:
                yield Texts("label", 0, baseline + line * _LINE, middles, texts)

    @property
    def strokes(self) -> Iterator[Stroke]:
        """Diagonals of holes, rules and the frame, borders of groups, cut corners of shared cells, outlines of marked
        ones: in that order."""
        grid = self.grid
        rows, columns = grid.rows.size, grid.columns.size
        for cell in (cell for cell, paint in enumerate(grid.paints) if paint == palette.HOLE):
            row, column = divmod(cell, columns)
            yield Stroke("hole", (column, row + 1, column + 1, row))
        for cell, span in grid.spans.items():
            row, column = divmod(cell, columns)
            yield Stroke("outline", (column, row, column + span, row + 1))
        # Rule k runs between positions k - 1 and k; grids with spans (trees) have outlines instead.
        for k, weight in enumerate(grid.rows.rules if not grid.spans else (), 1):
            yield Stroke("rule", (0, k, columns, k), weight)
        for k, weight in enumerate(grid.columns.rules if not grid.spans else (), 1):
            yield Stroke("rule", (k, 0, k, rows), weight)
        yield Stroke("frame", (0, 0, columns, rows))
        for segment in _edges(grid.groups, rows, columns) if grid.groups else ():
            yield Stroke("group", segment)
        for cell in grid.shared:
            row, column = divmod(cell, columns)
            across, down = _CORNER / self.cell_width, _CORNER / self.cell_height
            yield Stroke("shared", (column + 1 - across, row, column + 1, row + down))
        # Marked cells are a two-valued grouping; outside the grid counts as not marked, so borders are framed too.
        flags = [int(cell in grid.marked) for cell in range(rows * columns)] if grid.marked else []
        for segment in _edges(flags, rows, columns, around=0) if flags else ():
            yield Stroke("mark", segment)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A whole figure in its place; texts and samples from the corner of the sheet."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    samples: tuple[Sample, ...]
    texts: tuple[Texts, ...]


def sheet_of(figure: Figure) -> Sheet:
    """Lay a figure out: rows of grids, columns of grids aligned at their cells; the legend and the notes below."""
    # From top to bottom: title, grids, legend, notes; y is the lower edge of what is placed.
    texts = [_line("title", _MARGIN + TITLE_FONT, figure.title)] if figure.title else []
    boxes, right, y = _boxes(figure, _MARGIN + (TITLE_FONT + 12 if figure.title else 0))
    longest = max([text_width(figure.title, TITLE_FONT), *(text_width(note, HEAD_FONT) for note in figure.notes)])
    # The sheet is as wide as its widest row or text line; a line counts at most _LONGEST_LINE characters.
    full = max(right, min(longest, int(_LONGEST_LINE * TITLE_FONT * ADVANCE)) + _MARGIN) + _MARGIN
    samples, said, lines = _legend(figure, full - _MARGIN, y + 16)
    y += 12 + _LEGEND_LINE * lines if lines else 0
    texts += [*said, *(_line("note", y + 20 + _NOTE_LINE * i, note) for i, note in enumerate(figure.notes))]
    y += 8 + _NOTE_LINE * len(figure.notes) if figure.notes else 0
    return Sheet(full, y + _MARGIN, boxes, samples, tuple(texts))


def _line(kind: TextKind, y: int, text: str) -> Texts:
    return Texts(kind, _MARGIN, y, (0,), (text,))


@dataclass(frozen=True, slots=True)
class _Footprint:
    """The room that a grid takes around the corner of its cells, and the size of a cell."""

    left: int
    right: int
    above: int
    below: int
    cell: tuple[int, int]


_NONE = _Footprint(0, 0, 0, 0, (0, 0))


def _boxes(figure: Figure, y: int) -> tuple[tuple[Box, ...], int, int]:
    """The grids from height `y` on, the right end of the widest row, and where the last row ends."""
    # Figures of several rows are tables: columns align. A single row is broken at _WIDEST pixels.
    panels = figure.pieces if len(figure.pieces) != 1 else _broken(figure.pieces[0])
    prints = [[_NONE if grid is None else _footprint(grid) for grid in row] for row in panels]
    aligned = len(figure.pieces) != 1  # several rows are a table; of one row that was broken the first column alone
    boxes: list[Box] = []
    end = _MARGIN
    for row, footprints in zip(panels, prints, strict=True):
        above = max((footprint.above for footprint in footprints), default=0)
        x = _MARGIN
        for column, (grid, footprint) in enumerate(zip(row, footprints, strict=True)):
            # Cells of one column start at the same x: the widest heads of that column decide.
            others = [line[column] for line in prints if column < len(line)] if aligned or column == 0 else [footprint]
            x += max(other.left for other in others)
            if grid is not None:
                boxes.append(Box(grid, x, y + above, *footprint.cell))
            x += max(other.right for other in (others if aligned else [footprint])) + _GAP
        end = max(end, x - _GAP)
        y += above + max((footprint.below for footprint in footprints), default=0) + _GAP
    return tuple(boxes), end, y - (_GAP if boxes else 0)


def _footprint(grid: Grid) -> _Footprint:
    """Pixels that a grid needs left and right of, above and below the corner of its cells, and its cell size."""
    # Size of a cell in pixels; columns widen until every head fits over the positions it spans.
    across, down = cell_size(grid)
    for level in grid.columns.levels:  # every head has room above its places
        across = max([across, *(-(-(text_width(text, HEAD_FONT) + 4) // span) for text, span in level)])
    lines = _lines(grid.caption)
    right = max([grid.columns.size * across, *map(text_width, lines)])
    above = len(grid.columns.levels) * _HEAD_HEIGHT + (len(lines) * _CAPTION_LINE + 6 if lines else 0)
    return _Footprint(sum(_side_widths(grid)), right, above, grid.rows.size * down, (across, down))


def _broken(row: Sequence[Grid | None]) -> list[list[Grid | None]]:
    """The grids of a row in as many rows as they need."""
    rows: list[list[Grid | None]] = [[]]
    taken = 0
    for grid in row:
        footprint = _footprint(grid) if grid is not None else None
        # A row ends before the grid that would pass _WIDEST; a grid wider than that has a row of its own.
        wide = footprint.left + footprint.right + _GAP if footprint else 0
        if rows[-1] and taken + wide > _WIDEST:
            rows.append([])
            taken = 0
        rows[-1].append(grid)
        taken += wide
    return rows


def _legend(figure: Figure, end: int, y: int) -> tuple[tuple[Sample, ...], list[Texts], int]:
    """The subject and the samples with their texts inside, in lines up to `end`; and how many lines there are."""
    if not figure.legend:
        return (), [], 0
    samples, keys, lines = [], [], 1
    # All samples have the width of the longest text; lines after the first start below the first sample.
    left = x = _MARGIN + (text_width(figure.subject, HEAD_FONT) + 6 if figure.subject else 0)
    wide = max(_SAMPLE[0], *(text_width(text, HEAD_FONT) + 6 for _, text in figure.legend))
    for paint, text in figure.legend:
        if x + wide > end and x > left:
            x, lines = left, lines + 1
        top = y + _LEGEND_LINE * (lines - 1)
        samples.append(Sample(paint, x, top, wide, _SAMPLE[1]))
        keys.append(Texts("key", x, top + 12, (wide / 2,), (text,)))
        x += wide
    return tuple(samples), [*([_line("note", y + 12, figure.subject)] if figure.subject else []), *keys], lines


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _split(labels: Sequence[str]) -> list[tuple[float, list[str]]]:
    """Labels of several lines as lines of labels, each with its place: -0.5 and 0.5 for two lines, and so on."""
    by_height: dict[float, list[str]] = {}
    for position, lines in enumerate(label.split("\n") for label in labels):
        for number, line in enumerate(lines):
            by_height.setdefault(number - (len(lines) - 1) / 2, [""] * len(labels))[position] = line
    return sorted(by_height.items())


def _middles(level: Sequence[Head], size: int) -> tuple[tuple[float, ...], list[str]]:
    """Where the heads stand over places of that size, and what they say."""
    ends = [0, *accumulate(span for _, span in level)]
    return tuple((start + end) / 2 * size for start, end in pairwise(ends)), [text for text, _ in level]


def _edges(groups: Sequence[int], rows: int, columns: int, around: int | None = None) -> Iterator[Segment]:
    """Segments between cells whose numbers differ; outside the grid stands `around`. Runs are joined."""

    def at(row: int, column: int) -> int | None:
        return groups[row * columns + column] if 0 <= row < rows and 0 <= column < columns else around

    def differ(one: int | None, other: int | None) -> bool:
        return one is not None and other is not None and one != other

    # Horizontal edges: between row - 1 and row, at every column. Then vertical ones alike.
    for row in range(rows + 1):
        run = [differ(at(row - 1, column), at(row, column)) for column in range(columns)]
        yield from ((start, row, end, row) for start, end in _runs(run))
    for column in range(columns + 1):
        run = [differ(at(row, column - 1), at(row, column)) for row in range(rows)]
        yield from ((column, start, column, end) for start, end in _runs(run))


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    for flag, places in groupby(range(len(flags)), flags.__getitem__):
        if flag:
            first, *others = places
            yield first, first + 1 + len(others)


def text_width(text: str, font: int = FONT) -> int:
    """Pixels that a line of text takes at most."""
    return int(width(text) * font * ADVANCE) + 1


def cell_size(grid: Grid) -> tuple[int, int]:
    """Width and height of the cells: room for the widest label, at least square, small if nothing is written."""
    joined = "".join(grid.labels)
    # Width in columns of a fixed-width font. ASCII labels without newlines need no Unicode tables.
    lines, widest = 1, 0
    if not grid.spans and joined.isascii() and "\n" not in joined:
        widest = max(map(len, grid.labels))
    elif not grid.spans:
        distinct = set(grid.labels)
        lines += max(label.count("\n") for label in distinct)
        widest = max(width(line) for label in distinct for line in label.split("\n"))
    # A label over several cells needs its share of the width in each.
    for cell, span in grid.spans.items():
        widest = max(widest, *(-(-width(line) // span) for line in grid.labels[cell].split("\n")))
    if not widest:
        return max(_BARE, grid.cell_size), max(_BARE, grid.cell_size)
    # 11 and 10 pixels are the clearance left and right, above and below a label.
    across = max(_SMALLEST, int(widest * FONT * ADVANCE) + 11)
    down = max(_SMALLEST if across == _SMALLEST else 30, lines * _LINE + 10)
    return max(across, grid.cell_size), max(down, grid.cell_size)


def _side_widths(grid: Grid) -> list[int]:
    """The room that each level of row heads takes, the outermost first."""
    return [max(text_width(text, HEAD_FONT) for text, _ in level) + 9 for level in grid.rows.levels]
