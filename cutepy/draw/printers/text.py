"""The text printer: CuTe's ruled table, for every figure; colours only where asked for.

Law: the text of a layout's grid is `layout.grid()`.
"""

from __future__ import annotations

from .. import palette
from ..grid import Figure, Grid
from ..safe import right_to_left, width

_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def text(figure: Figure, *, ansi: bool = False) -> str:
    """The figure as lines of text; `ansi` adds the colours of the cells as terminal escapes."""
    lines = [figure.title] if figure.title else []
    for grid in figure.grids:
        if grid.caption:
            lines += [*([""] if lines else []), *grid.caption.split("\n")]
        lines += _grid_lines(grid, ansi)
    if figure.notes:
        lines += ["", *figure.notes]
    return "\n".join(lines)


def _grid_lines(grid: Grid, ansi: bool) -> list[str]:
    labels = [
        label.replace("\n", " ") or ("." if paint == palette.HOLE else "")
        for label, paint in zip(grid.labels, grid.paints, strict=True)
    ]
    columns = grid.columns.size
    names, heads = grid.columns.names, grid.rows.names
    room = max(
        [
            grid.least_width,
            *(-(-(width(label) - 3 * (grid.span(i) - 1)) // grid.span(i)) for i, label in enumerate(labels)),
        ]
    )
    room = max([room, *map(width, names)]) if not grid.spans else room
    left = max(2, *map(width, heads))
    lines = []
    if grid.columns.levels or not grid.spans:
        lines.append(" " * (left + 2) + "".join(f"  {_padded(name, room)} " for name in names).rstrip())
    for row in range(grid.rows.size):
        lines.append(_rule(grid, row, room, left))
        cells = range(row * columns, (row + 1) * columns)
        lines.append(_padded(heads[row], left) + "  " + _row(grid, labels, cells, room, ansi))
    lines.append(_rule(grid, grid.rows.size, room, left))
    return lines


def _row(grid: Grid, labels: list[str], cells: range, room: int, ansi: bool) -> str:
    found = []
    place = cells.start
    while place < cells.stop:
        span = grid.span(place)
        wide = span * (room + 3) - 3
        body = f"[{_padded(labels[place], wide)}]" if place in grid.marked else f" {_padded(labels[place], wide)} "
        bar = "║" if grid.groups and place > cells.start and grid.groups[place] != grid.groups[place - 1] else "|"
        found.append(bar + (_colored(body, grid.paints[place]) if ansi else body))
        place += span
    return "".join(found) + "|"


def _rule(grid: Grid, row: int, room: int, left: int) -> str:
    columns = grid.columns.size
    heavy = [
        bool(grid.groups)
        and 0 < row < grid.rows.size
        and grid.groups[row * columns + column] != grid.groups[(row - 1) * columns + column]
        for column in range(columns)
    ]
    return " " * (left + 2) + "".join("+" + ("═" if strong else "-") * (room + 2) for strong in heavy) + "+"


def _padded(label: str, room: int) -> str:
    """Set to the right, as numbers are; a label that runs from right to left does not turn its neighbours."""
    pad = " " * (room - width(label))
    return pad + (f"{_FIRST_ISOLATE}{label}{_END_ISOLATE}" if right_to_left(label) else label)


def _colored(body: str, paint: str) -> str:
    red, green, blue = bytes.fromhex(palette.value(paint, "light"))
    return f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;27;27;27m{body}\x1b[0m"
