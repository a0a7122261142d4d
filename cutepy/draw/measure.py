"""From a figure to boxes: how large cells are, where grids stand, where heavy lines run.

The unit is a pixel; labels are in a fixed-width font, so widths are known without measuring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .grid import Figure, Grid
from .safe import width

FONT = 13
HEAD_FONT = 11
TITLE_FONT = 14
ADVANCE = 0.61
"""Width of a character over the font size: a little more than any common fixed-width font has."""
LINE = 16
SMALLEST = 36
BARE = 18
GAP = 28
MARGIN = 12
CAPTION_LINE = 17
HEAD_HEIGHT = 17
LONGEST_LINE = 100


@dataclass(frozen=True, slots=True)
class Box:
    """A grid in its place: the corner of its cells, the size of one cell, and the widths of its row heads."""

    grid: Grid
    x: int
    y: int
    cell_width: int
    cell_height: int
    head_widths: tuple[int, ...]

    @property
    def width(self) -> int:
        """The width of all cells."""
        return self.grid.columns.size * self.cell_width

    @property
    def height(self) -> int:
        """The height of all cells."""
        return self.grid.rows.size * self.cell_height


@dataclass(frozen=True, slots=True)
class Sheet:
    """A figure laid out: its size, its boxes, and the y of title, legend and notes (0 where there is none)."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    title_y: int
    legend_y: int
    legend_rows: tuple[tuple[tuple[int, str, str], ...], ...]
    notes_y: int


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


def _column_heads_fit(grid: Grid, cell_width: int) -> int:
    """A cell width at which every column head has room above its places."""
    needed = cell_width
    for level in grid.columns.levels:
        for text, span in level:
            needed = max(needed, -(-(text_width(text, HEAD_FONT) + 4) // span))
    return needed


def _head_widths(grid: Grid) -> tuple[int, ...]:
    return tuple(max(text_width(text, HEAD_FONT) for text, _ in level) + 9 for level in grid.rows.levels)


def sheet_of(figure: Figure) -> Sheet:
    """Lay a figure out: rows of grids, columns of grids aligned at their cells."""
    sizes = [[None if grid is None else _footprint(grid) for grid in row] for row in figure.panels]
    columns = max((len(row) for row in sizes), default=0)
    lefts = [max((row[c][0] for row in sizes if c < len(row) and row[c]), default=0) for c in range(columns)]  # type: ignore[index]
    rights = [max((row[c][1] for row in sizes if c < len(row) and row[c]), default=0) for c in range(columns)]  # type: ignore[index]
    title_y = MARGIN + TITLE_FONT if figure.title else 0
    y = MARGIN + (TITLE_FONT + 12 if figure.title else 0)
    boxes: list[Box] = []
    for row, found in zip(figure.panels, sizes, strict=True):
        above = max((size[2] for size in found if size), default=0)
        below = max((size[3] for size in found if size), default=0)
        x = MARGIN
        for column, (grid, size) in enumerate(zip(row, found, strict=True)):
            x += lefts[column]
            if grid is not None and size is not None:
                boxes.append(Box(grid, x, y + above, size[4], size[5], _head_widths(grid)))
            x += rights[column] + GAP
        y += above + below + GAP
    right = MARGIN + sum(lefts) + sum(rights) + GAP * max(0, columns - 1)
    longest = max([text_width(figure.title, TITLE_FONT), *(text_width(note, HEAD_FONT) for note in figure.notes)])
    full = max(right, min(longest, int(LONGEST_LINE * TITLE_FONT * ADVANCE)) + MARGIN) + MARGIN
    y -= GAP if boxes else 0
    legend_rows = _legend_rows(figure, full - 2 * MARGIN)
    legend_y = y + 16 if legend_rows else 0
    y += 10 + 22 * len(legend_rows) if legend_rows else 0
    notes_y = y + 20 if figure.notes else 0
    y += 8 + 17 * len(figure.notes) if figure.notes else 0
    return Sheet(full, y + MARGIN, tuple(boxes), title_y, legend_y, legend_rows, notes_y)


def _footprint(grid: Grid) -> tuple[int, int, int, int, int, int]:
    """Room to the left of the cells, from there to the right, above, below, and the size of a cell."""
    across, down = cell_size(grid)
    across = _column_heads_fit(grid, across)
    lines = caption_lines(grid)
    right = max([grid.columns.size * across, *map(text_width, lines)])
    above = len(grid.columns.levels) * HEAD_HEIGHT + (len(lines) * CAPTION_LINE + 6 if lines else 0)
    return sum(_head_widths(grid)), right, above, grid.rows.size * down, across, down


def _legend_rows(figure: Figure, room: int) -> tuple[tuple[tuple[int, str, str], ...], ...]:
    """Entries (x, paint, text) of each line of the legend."""
    rows: list[list[tuple[int, str, str]]] = []
    x = room + 1
    for paint, text in figure.legend:
        wide = 24 + text_width(text, HEAD_FONT) + 14
        if x + wide > room and x > 0:
            rows.append([])
            x = 0
        rows[-1].append((MARGIN + x, paint, text))
        x += wide
    return tuple(tuple(row) for row in rows)


def caption_lines(grid: Grid) -> list[str]:
    """The lines over a grid."""
    return grid.caption.split("\n") if grid.caption else []


def group_edges(grid: Grid) -> Iterator[tuple[int, int, int, int]]:
    """Segments (column, row, column, row) between cells of different groups, in cells; runs are joined."""
    if grid.groups:
        yield from _edges(grid.groups, grid.rows.size, grid.columns.size)


def marked_edges(grid: Grid) -> Iterator[tuple[int, int, int, int]]:
    """The outline of the marked cells, as segments in cells."""
    if grid.marked:
        flags = [int(place in grid.marked) for place in range(grid.rows.size * grid.columns.size)]
        yield from _edges(flags, grid.rows.size, grid.columns.size, around=0)


def _edges(
    groups: Sequence[int], rows: int, columns: int, around: int | None = None
) -> Iterator[tuple[int, int, int, int]]:
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
