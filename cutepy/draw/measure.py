"""How large things are before they have a place: lines of text, cells, heads.

The unit is a pixel; labels are in a fixed-width font, so widths are known without measuring.
"""

from __future__ import annotations

from .grid import Grid
from .safe import width

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


def column_heads_fit(grid: Grid, cell_width: int) -> int:
    """A cell width at which every column head has room above its places."""
    needed = cell_width
    for level in grid.columns.levels:
        for text, span in level:
            needed = max(needed, -(-(text_width(text, HEAD_FONT) + 4) // span))
    return needed


def head_widths(grid: Grid) -> tuple[int, ...]:
    """The room that each level of row heads takes, the outermost first."""
    return tuple(max(text_width(text, HEAD_FONT) for text, _ in level) + 9 for level in grid.rows.levels)
