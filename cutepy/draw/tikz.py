"""The TikZ printer: a document of its own, or the picture alone for `\\input`.

As CuTe's own pictures do, it lets x run down and y run right, so that a cell is `(row, column) rectangle +(1, 1)`. Only
`tikz` is needed, which Debian has in `texlive-pictures`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import DrawError
from . import palette
from .grid import Figure, Grid
from .measure import CAPTION_LINE, HEAD_HEIGHT, Box, caption_lines, group_edges, marked_edges, sheet_of

LARGEST = 64 * 64
"""TeX's memory ends a little above as many cells."""

_POINTS = 0.75
"""TeX points (bp) to a pixel."""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "…": r"\dots{}",
    "→": r"$\to$",
    "·": r"$\cdot$",
    "∘": r"$\circ$",
}

_HEAD = r"""\documentclass{article}
\usepackage{tikz}
\pagestyle{empty}
\newsavebox\cutepybox
\begin{document}
\begin{lrbox}{\cutepybox}%
"""
_TAIL = r"""\end{lrbox}
\pdfhorigin=0pt \pdfvorigin=0pt
\pdfpagewidth=\wd\cutepybox \pdfpageheight=\dimexpr\ht\cutepybox+\dp\cutepybox\relax
\shipout\box\cutepybox
\end{document}
"""


def tikz(figure: Figure, *, body: bool = False) -> str:
    """The figure as a LaTeX document whose page is the picture, or with `body` as the `tikzpicture` alone.

    Raises DrawError above 4,096 cells, where TeX runs out of memory.
    """
    cells = sum(grid.rows.size * grid.columns.size for grid in figure.grids)
    if cells > LARGEST:
        raise DrawError(
            f"tikz: {cells} cells; TeX's memory holds about {LARGEST}: draw a tile, set Style(limit=...), or use svg()"
        )
    picture = "\n".join(_picture(figure)) + "\n"
    return picture if body else f"{_HEAD}{picture}{_TAIL}"


def escaped(text: str) -> str:
    """Text for TeX; a letter outside ASCII that TeX may not know becomes its code.

    >>> escaped("50% of {x_1}")
    '50\\\\% of \\\\{x\\\\_1\\\\}'
    """
    return "".join(_SPECIAL.get(c) or (c if c.isascii() else f"U+{ord(c):04X}") for c in text)


def _picture(figure: Figure) -> Iterator[str]:
    sheet = sheet_of(figure)
    paints = dict.fromkeys(paint for grid in figure.grids for paint in grid.paints)
    paints.update(dict.fromkeys(paint for paint, _ in figure.legend))
    yield r"\begin{tikzpicture}[x={(0bp,-1bp)},y={(1bp,0bp)},line width=.4bp,font=\ttfamily\small]"
    yield rf"\path[use as bounding box] (0,0) rectangle ({_pt(sheet.height)},{_pt(sheet.width)});"
    for paint in sorted(paints):
        yield rf"\definecolor{{cutepy-{paint}}}{{HTML}}{{{palette.value(paint, 'light').upper()}}}"
    if sheet.title_y:
        yield rf"\node[anchor=base west,inner sep=0] at ({_pt(sheet.title_y)},{_pt(12)}) {{{escaped(figure.title)}}};"
    for box in sheet.boxes:
        yield from _box(box)
    for number, row in enumerate(sheet.legend_rows):
        for x, paint, text in row:
            y = sheet.legend_y + 22 * number
            yield rf"\filldraw[fill=cutepy-{paint}] ({_pt(y)},{_pt(x)}) rectangle +({_pt(12)},{_pt(18)});"
            place = f"({_pt(y + 10)},{_pt(x + 24)})"
            yield rf"\node[anchor=base west,inner sep=0] at {place} {{\scriptsize {escaped(text)}}};"
    for number, note in enumerate(figure.notes):
        place = f"({_pt(sheet.notes_y + 17 * number)},{_pt(12)})"
        yield rf"\node[anchor=base west,inner sep=0] at {place} {{\scriptsize {escaped(note)}}};"
    yield r"\end{tikzpicture}"


def _pt(pixels: float) -> str:
    return f"{pixels * _POINTS:.2f}".rstrip("0").rstrip(".")


def _box(box: Box) -> Iterator[str]:
    grid = box.grid
    shift = f"shift={{({_pt(box.x)}bp,{_pt(-box.y)}bp)}}"
    unit = f"x={{(0bp,{_pt(-box.cell_height)}bp)}},y={{({_pt(box.cell_width)}bp,0bp)}}"
    yield rf"\begin{{scope}}[{shift},{unit}]"
    yield from _cells(grid)
    yield from _lines(grid)
    yield from _heads(grid, box)
    yield r"\end{scope}"


def _cells(grid: Grid) -> Iterator[str]:
    covered = {place + step for place, span in grid.spans.items() for step in range(1, span)}
    for place, (paint, label) in enumerate(zip(grid.paints, grid.labels, strict=True)):
        if place in covered or (grid.spans and not label):
            continue
        row, column = divmod(place, grid.columns.size)
        span = grid.spans.get(place, 1)
        outline = r"\filldraw" if grid.spans else r"\fill"
        yield rf"{outline}[fill=cutepy-{paint}] ({row},{column}) rectangle +(1,{span});"
        if paint == palette.HOLE:
            yield rf"\draw[gray] ({row + 1},{column}) -- ({row},{column + 1});"
        lines = label.split("\n")
        for number, line in enumerate(lines):
            if line:
                middle = row + (number + 1) / (len(lines) + 1)
                yield rf"\node[inner sep=0] at ({middle:.3g},{column + span / 2:g}) {{{escaped(line)}}};"


def _lines(grid: Grid) -> Iterator[str]:
    rows, columns = grid.rows.size, grid.columns.size
    if grid.spans:
        return
    for axis, path in ((grid.rows.rules, "({0},0) -- ({0},{1})"), (grid.columns.rules, "(0,{0}) -- ({1},{0})")):
        far = columns if axis is grid.rows.rules else rows
        for place, weight in enumerate(axis):
            thick = ("gray,line width=.3bp", "line width=.8bp", "line width=1.4bp", "line width=2bp")[weight]
            yield rf"\draw[{thick}] {path.format(place + 1, far)};"
    yield rf"\draw[line width=.8bp] (0,0) rectangle ({rows},{columns});"
    for edges, how in ((group_edges(grid), "line width=1.4bp"), (marked_edges(grid), "red,line width=2bp")):
        for x, y, to, end in edges:
            yield rf"\draw[{how}] ({y},{x}) -- ({end},{to});"


def _heads(grid: Grid, box: Box) -> Iterator[str]:
    for depth, level in enumerate(reversed(grid.columns.levels)):
        y, place = -(6 + depth * HEAD_HEIGHT) / box.cell_height, 0
        for text, span in level:
            spot = f"({y:.3f},{place + span / 2:g})"
            yield rf"\node[gray,inner sep=0,anchor=base] at {spot} {{\scriptsize {escaped(text)}}};"
            place += span
    x = -6.0
    for level, wide in zip(reversed(grid.rows.levels), reversed(box.head_widths), strict=True):
        place = 0
        for text, span in level:
            spot = f"({place + span / 2:g},{x / box.cell_width:.3f})"
            yield rf"\node[gray,inner sep=0,anchor=east] at {spot} {{\scriptsize {escaped(text)}}};"
            place += span
        x -= wide
    lines = caption_lines(grid)
    for number, line in enumerate(lines):
        above = HEAD_HEIGHT * len(grid.columns.levels) + 10 + CAPTION_LINE * (len(lines) - 1 - number)
        yield rf"\node[inner sep=0,anchor=base west] at ({-above / box.cell_height:.3f},0) {{{escaped(line)}}};"
