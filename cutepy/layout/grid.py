"""The text table of a layout's offsets, equal to CuTe's `print_layout`.

Imports nothing of the package at run time; takes anything with `shape`, `offsets()` and `str`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import LayoutError

if TYPE_CHECKING:
    from .composed import ComposedLayout
    from .layout import Layout

LARGEST_GRID = 1 << 16


def text_grid(layout: Layout | ComposedLayout) -> str:
    """A header line with the layout, column numbers, and a ruled row for each row of offsets.

    >>> from .layout import Layout
    >>> print(text_grid(Layout((2, 3), (3, 1))))
    (2,3):(3,1)
          0   1   2
        +---+---+---+
     0  | 0 | 1 | 2 |
        +---+---+---+
     1  | 3 | 4 | 5 |
        +---+---+---+

    Ranks 1 (one row a coordinate) and 2. Raises LayoutError for other ranks and above 65,536 cells.
    Source: the output format is that of CuTe's `print_layout` (`util/print_tensor.hpp`).
    """
    if layout.rank > 2 or layout.size > LARGEST_GRID:
        raise LayoutError(
            f"grid of {layout}: rank {layout.rank} and {layout.size} cells; it draws ranks 1 and 2 up to {LARGEST_GRID} cells, so group modes or slice"
        )
    table = layout.offsets()
    rows = table.reshape(table.shape[0], -1).tolist()
    width = max(len(str(max(map(max, rows)))), len(str(min(map(min, rows))))) + 2
    rule = "    " + ("+" + "-" * width) * len(rows[0]) + "+"
    lines = [str(layout), "    " + "".join(f" {column:^{width}}" for column in range(len(rows[0]))).rstrip(), rule]
    for number, row in enumerate(rows):
        lines.append(f"{number:2d}  " + "".join(f"|{cell:>{width - 1}} " for cell in row) + "|")
        lines.append(rule)
    return "\n".join(lines)
