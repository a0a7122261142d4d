"""The text printer: CuTe's ruled table, for every figure; colours only where asked for.

Law: the text of a layout's grid is `layout.grid()`.
"""

from __future__ import annotations

from dataclasses import replace

from .. import palette
from ..grid import Figure, Grid, right_to_left, width

_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def text(figure: Figure, *, ansi: bool = False, room: int | None = None) -> str:
    """The figure as lines of text; `ansi` adds the colours of the cells as terminal escapes.

    A table wider than `room` characters is printed in bands of columns, one under another.
    """
    lines = [figure.title] if figure.title else []
    for grid in (grid for row in figure.pieces for grid in row if grid is not None):
        if grid.caption:
            lines += [*([""] if lines else []), *grid.caption.split("\n")]
        lines += _grid_lines(grid, ansi, room)
    if figure.notes:
        lines += ["", *figure.notes]
    return "\n".join(lines)


def _grid_lines(grid: Grid, ansi: bool, room: int | None) -> list[str]:
    """The lines of one grid: column names, then a rule and a row in turn; bands of columns where `room` is too
    small."""
    # An empty cell without an owner prints as a dot, so that it differs from a cell without a label.
    labels = [
        label.replace("\n", " ") or ("." if paint == palette.HOLE else "")
        for label, paint in zip(grid.labels, grid.paints, strict=True)
    ]
    names, heads = grid.columns.names, grid.rows.names
    spans = [wide for row in range(grid.rows.size) for wide in grid.widths(row)]
    # A cell takes width + 3 characters ("| " and " "); a label over `wide` cells fits in wide * (c + 3) - 3.
    needed = (-(-(width(label) + 3) // wide) - 3 for label, wide in zip(labels, spans, strict=True) if wide)
    cell = max([grid.least_width, *needed])
    cell = max([cell, *map(width, names)]) if not grid.spans else cell
    left = max(2, *map(width, heads))
    # Columns that fit into `room`; bands repeat the row heads.
    fit = max(1, (room - left - 3) // (cell + 3)) if room else grid.columns.size
    if fit < grid.columns.size and not grid.spans:
        starts = range(0, grid.columns.size, fit)
        bands = [replace(grid.cut(at, min(at + fit, grid.columns.size)), least_width=cell) for at in starts]
        return [line for band in bands for line in [*_grid_lines(band, ansi, None), ""]][:-1]
    lines = []
    if grid.columns.levels or not grid.spans:
        lines.append(" " * (left + 2) + "".join(f"  {_padded(name, cell)} " for name in names).rstrip())
    for row in range(grid.rows.size):
        lines.append(_rule(grid, row, cell, left))
        lines.append(_padded(heads[row], left) + "  " + _row(grid, labels, row, cell, ansi))
    lines.append(_rule(grid, grid.rows.size, cell, left))
    return lines


def _row(grid: Grid, labels: list[str], row: int, room: int, ansi: bool) -> str:
    """One row of cells between `|`; marked cells stand in brackets."""
    cells, start = [], row * grid.columns.size
    for column, span in enumerate(grid.widths(row)):
        cell = start + column
        if span:
            label = _padded(labels[cell], span * (room + 3) - 3)
            body = f"[{label}]" if cell in grid.marked else f" {label} "
            # A double line stands where the group changes.
            heavy = grid.groups and column and grid.groups[cell] != grid.groups[cell - 1]
            if ansi:
                red, green, blue = bytes.fromhex(palette.value(grid.paints[cell], "light"))
                body = f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;27;27;27m{body}\x1b[0m"
            cells.append(("║" if heavy else "|") + body)
    return "".join(cells) + "|"


def _rule(grid: Grid, row: int, room: int, left: int) -> str:
    """The rule above `row`, `+---+`, double where the group changes."""
    columns = grid.columns.size
    heavy = [
        bool(grid.groups)
        and 0 < row < grid.rows.size
        and grid.groups[row * columns + column] != grid.groups[(row - 1) * columns + column]
        for column in range(columns)
    ]
    return " " * (left + 2) + "".join("+" + ("═" if strong else "-") * (room + 2) for strong in heavy) + "+"


def _padded(label: str, room: int) -> str:
    """Set to the right, as numbers are; a label that runs from right to left does not reverse its neighbours."""
    pad = " " * (room - width(label))
    return pad + (f"{_FIRST_ISOLATE}{label}{_END_ISOLATE}" if right_to_left(label) else label)
