"""The text table of a layout's offsets, equal to CuTe's `print_layout`.

Each mode is evaluated once and the results are added, so a table of n rows and m columns costs n + m evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ...errors import LayoutError
from ..values.composed import ComposedLayout
from ..values.int_tuple import leaves, product, show
from ..values.layout import Layout

LARGEST_GRID = 1 << 16


def text_grid(layout: Layout | ComposedLayout) -> str:
    """A header line with the layout, column numbers, and a ruled row for each row of offsets.

    >>> print(text_grid(Layout((2, (2, 2)), (4, (2, 1)))))
    (2,(2,2)):(4,(2,1))
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 2 | 1 | 3 |
        +---+---+---+---+
     1  | 4 | 6 | 5 | 7 |
        +---+---+---+---+

    Rank 2 as CuTe prints it, without the blank that `print_layout` leaves at the end of the line of column numbers; a
    vector is one row. Raises LayoutError for higher ranks, symbolic sizes, and above 65,536 cells.
    Source: the format is that of CuTe's `print_layout` (`util/print_tensor.hpp`).
    """
    if any(type(extent) is not int for extent in leaves(layout.shape)):
        raise LayoutError(f"grid of {layout}: a size is not a number; substitute one first")
    if layout.rank > 2 or layout.size > LARGEST_GRID:
        raise LayoutError(
            f"grid of {layout}: rank {layout.rank} and {layout.size} cells; it draws ranks 1 and 2 "
            f"up to {LARGEST_GRID} cells, so group modes or slice"
        )
    rows, columns = extents(layout)
    cells = [[show(value) for value in row] for row in offset_rows(layout, range(rows), range(columns))]
    widest = max(len(cell) for row in cells for cell in row)
    digits = widest if any(type(step) is not int for step in _steps(layout)) else len(str(layout.cosize))
    if any(cell.startswith("-") for row in cells for cell in row):
        digits = max(digits, widest)
    return "\n".join([str(layout), *ruled(cells, digits)])


def ruled(cells: Sequence[Sequence[str]], digits: int) -> list[str]:
    """The lines of a table: column numbers, then a rule and a row in turn; numbers to the right in `digits` places."""
    rule = "    " + ("+" + "-" * (digits + 2)) * len(cells[0]) + "+"
    lines = ["    " + "".join(f"  {column:>{digits}} " for column in range(len(cells[0]))).rstrip(), rule]
    for number, row in enumerate(cells):
        lines += [f"{number:2d}  " + "".join(f"| {cell:>{digits}} " for cell in row) + "|", rule]
    return lines


def extents(layout: Layout | ComposedLayout) -> tuple[int, int]:
    """Rows and columns of the table of a layout: its first two modes, or one row for a vector.

    >>> extents(Layout((4, (2, 8)))), extents(Layout(8))
    ((4, 16), (1, 8))
    """
    sizes = [product(mode.shape) for mode in layout]
    return (sizes[0], sizes[1]) if len(sizes) > 1 else (1, sizes[0] if sizes else 1)


def offset_rows(
    layout: Layout | ComposedLayout, rows: Sequence[int], columns: Sequence[int]
) -> list[list[int | tuple[object, ...]]]:
    """What the layout gives at the chosen rows and columns of its table; each mode is evaluated once, then added.

    >>> offset_rows(Layout((4, (2, 2)), (1, (10, 100))), [0, 3], range(4))
    [[0, 10, 100, 110], [3, 13, 103, 113]]
    """
    outer, start, plain = _taken_apart(layout)
    if plain.rank < 2 or any(type(step) is not int for step in leaves(plain.stride)):
        flat = plain.rank < 2
        return [[_value(layout, (column,) if flat else (row, column)) for column in columns] for row in rows]
    down, across = plain[0], plain[1]
    along = [across(column) for column in columns]
    table: list[list[int | tuple[object, ...]]] = []
    for row in rows:
        base = start + down(row)
        table.append([base + step for step in along] if outer is None else [outer(base + step) for step in along])
    return table


def _value(layout: Layout | ComposedLayout, crd: tuple[int, ...]) -> int | tuple[object, ...]:
    index = crd[0] if len(crd) == 1 else crd
    return cast("int | tuple[object, ...]", layout(index if layout.rank else ()))


def _taken_apart(layout: Layout | ComposedLayout) -> tuple[Callable[[int], int] | None, int, Layout]:
    """The outer function or None, its offset, and the plain layout inside."""
    if isinstance(layout, ComposedLayout):
        return cast("Callable[[int], int]", layout.outer), layout.offset, layout.inner
    return None, 0, layout


def _steps(layout: Layout | ComposedLayout) -> tuple[object, ...]:
    return leaves(_taken_apart(layout)[2].stride)
