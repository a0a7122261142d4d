"""The TikZ printer: a document of its own, or the picture alone for `\\input`.

As CuTe's own pictures do, it lets x run down and y run right, so that a cell is `(row, column) rectangle +(1, 1)`. Only
`tikz` is needed, which Debian has in `texlive-pictures`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import DrawError
from .. import palette
from ..grid import Figure, Grid
from ..sheet import SAMPLE, Box, Kind, Line, sheet_of

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
    if figure.cells > LARGEST:
        raise DrawError(
            f"tikz: {figure.cells} cells; TeX's memory holds about {LARGEST}: "
            "draw a tile, set Style(limit=...), or use svg()"
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
    yield r"\begin{tikzpicture}[x={(0bp,-1bp)},y={(1bp,0bp)},line width=.4bp,font=\ttfamily\small]"
    yield rf"\path[use as bounding box] (0,0) rectangle ({_pt(sheet.height)},{_pt(sheet.width)});"
    for paint in sorted(figure.paints):
        yield rf"\definecolor{{cutepy-{paint}}}{{HTML}}{{{palette.value(paint, 'light').upper()}}}"
    if sheet.title is not None:
        yield _line(sheet.title, "")
    for box in sheet.boxes:
        yield from _box(box)
    for entry in (entry for row in sheet.legend for entry in row):
        corner, size = f"({_pt(entry.y)},{_pt(entry.x)})", f"+({_pt(SAMPLE[1])},{_pt(SAMPLE[0])})"
        yield rf"\filldraw[fill=cutepy-{entry.paint}] {corner} rectangle {size};"
        yield _line(entry.line)
    yield from map(_line, sheet.notes)
    yield r"\end{tikzpicture}"


def _line(line: Line, size: str = r"\scriptsize ") -> str:
    return rf"\node[anchor=base west,inner sep=0] at ({_pt(line.y)},{_pt(line.x)}) {{{size}{escaped(line.text)}}};"


def _pt(pixels: float) -> str:
    return f"{pixels * _POINTS:.2f}".rstrip("0").rstrip(".")


def _box(box: Box) -> Iterator[str]:
    grid = box.grid
    shift = f"shift={{({_pt(box.x)}bp,{_pt(-box.y)}bp)}}"
    unit = f"x={{(0bp,{_pt(-box.cell_height)}bp)}},y={{({_pt(box.cell_width)}bp,0bp)}}"
    yield rf"\begin{{scope}}[{shift},{unit}]"
    yield from _cells(grid)
    yield from _strokes(box)
    yield from _heads(box)
    yield r"\end{scope}"


def _cells(grid: Grid) -> Iterator[str]:
    covered = grid.covered
    for place, (paint, label) in enumerate(zip(grid.paints, grid.labels, strict=True)):
        if place in covered or (grid.spans and not label):
            continue
        row, column = divmod(place, grid.columns.size)
        span = grid.span(place)
        outline = r"\filldraw" if grid.spans else r"\fill"
        yield rf"{outline}[fill=cutepy-{paint}] ({row},{column}) rectangle +(1,{span});"
        if paint == palette.HOLE:
            yield rf"\draw[gray] ({row + 1},{column}) -- ({row},{column + 1});"
        lines = label.split("\n")
        for number, line in enumerate(lines):
            if line:
                middle = row + (number + 1) / (len(lines) + 1)
                yield rf"\node[inner sep=0] at ({middle:.3g},{column + span / 2:g}) {{{escaped(line)}}};"


_HOW: dict[tuple[Kind, int], str] = {
    ("rule", 0): "gray,line width=.3bp",
    ("rule", 1): "line width=.8bp",
    ("rule", 2): "line width=1.4bp",
    ("rule", 3): "line width=2bp",
    ("group", 0): "line width=1.4bp",
    ("mark", 0): "red,line width=2bp",
}


def _strokes(box: Box) -> Iterator[str]:
    """What is drawn over the cells; spanning cells have their own outlines, and holes were drawn with theirs."""
    for stroke in box.strokes if not box.grid.spans else ():
        x, y, to, end = stroke.segment
        if stroke.kind == "frame":
            yield rf"\draw[line width=.8bp] (0,0) rectangle ({end},{to});"
        elif stroke.kind != "hole":
            yield rf"\draw[{_HOW[stroke.kind, stroke.weight]}] ({y},{x}) -- ({end},{to});"


def _heads(box: Box) -> Iterator[str]:
    for heads in box.column_heads:
        for at, text in heads.texts:
            spot = f"({-heads.away / box.cell_height:.3f},{at:g})"
            yield rf"\node[gray,inner sep=0,anchor=base] at {spot} {{\scriptsize {escaped(text)}}};"
    for heads in box.row_heads:
        for at, text in heads.texts:
            spot = f"({at:g},{-heads.away / box.cell_width:.3f})"
            yield rf"\node[gray,inner sep=0,anchor=east] at {spot} {{\scriptsize {escaped(text)}}};"
    for above, line in box.caption:
        yield rf"\node[inner sep=0,anchor=base west] at ({-above / box.cell_height:.3f},0) {{{escaped(line)}}};"
