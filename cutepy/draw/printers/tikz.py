"""The TikZ printer: a document of its own, or the picture alone for `\\input`.

As CuTe's own pictures do, it lets x run down and y run right, so that a cell is `(row, column) rectangle +(1, 1)`. Only
`tikz` is needed, which Debian has in `texlive-pictures`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import DrawError
from .. import palette
from ..grid import Figure, Grid
from ..sheet import Stroke, StrokeKind, TextKind, Texts, sheet_of

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

_STROKES: dict[tuple[StrokeKind, int], str] = {
    ("hole", 0): "gray",
    ("outline", 0): "line width=.6bp",
    ("rule", 0): "gray,line width=.3bp",
    ("rule", 1): "line width=.8bp",
    ("rule", 2): "line width=1.4bp",
    ("rule", 3): "line width=2bp",
    ("frame", 0): "line width=.8bp",
    ("group", 0): "line width=1.4bp",
    ("shared", 0): "line width=.6bp",
    ("mark", 0): "red,line width=2bp",
}
_TEXTS: dict[TextKind, str] = {
    "label": "inner sep=0,anchor=base",
    "head": r"gray,inner sep=0,anchor=base,font=\ttfamily\scriptsize",
    "side": r"gray,inner sep=0,anchor=base east,font=\ttfamily\scriptsize",
    "caption": "inner sep=0,anchor=base west",
    "title": "inner sep=0,anchor=base west",
    "key": r"inner sep=0,anchor=base,font=\ttfamily\scriptsize",
    "note": r"inner sep=0,anchor=base west,font=\ttfamily\scriptsize",
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
    """The lines of the tikzpicture: bounding box, colours, a scope for each grid, legend, texts."""
    sheet = sheet_of(figure)
    yield r"\begin{tikzpicture}[x={(0bp,-1bp)},y={(1bp,0bp)},line width=.4bp,font=\ttfamily\small]"
    yield rf"\path[use as bounding box] (0,0) rectangle ({_pt(sheet.height)},{_pt(sheet.width)});"
    for paint in sorted(figure.paints):
        yield rf"\definecolor{{cutepy-{paint}}}{{HTML}}{{{palette.value(paint, 'light').upper()}}}"
    for box in sheet.boxes:
        shift = f"shift={{({_pt(box.x)}bp,{_pt(-box.y)}bp)}}"
        unit = f"x={{(0bp,{_pt(-box.cell_height)}bp)}},y={{({_pt(box.cell_width)}bp,0bp)}}"
        yield rf"\begin{{scope}}[{shift},{unit}]"
        yield from _cells(box.grid)
        yield from map(_stroke, box.strokes)
        for texts in box.texts:
            yield from _nodes(texts)
        yield r"\end{scope}"
    for sample in sheet.samples:
        corner, size = f"({_pt(sample.y)},{_pt(sample.x)})", f"+({_pt(sample.height)},{_pt(sample.width)})"
        yield rf"\filldraw[fill=cutepy-{sample.paint}] {corner} rectangle {size};"
    for texts in sheet.texts:
        yield from _nodes(texts)
    yield r"\end{tikzpicture}"


def _pt(pixels: float) -> str:
    return f"{pixels * _POINTS:.2f}".rstrip("0").rstrip(".")


def _cells(grid: Grid) -> Iterator[str]:
    for row in range(grid.rows.size):
        for column, wide in enumerate(grid.widths(row)):
            if wide:
                paint = grid.paints[row * grid.columns.size + column]
                yield rf"\fill[cutepy-{paint}] ({row},{column}) rectangle +(1,{wide});"


def _stroke(stroke: Stroke) -> str:
    x, y, to, end = (f"{step:.4g}" for step in stroke.segment)
    path = "rectangle" if stroke.kind in ("frame", "outline") else "--"
    return rf"\draw[{_STROKES[stroke.kind, stroke.weight]}] ({y},{x}) {path} ({end},{to});"


def _nodes(line: Texts) -> Iterator[str]:
    """The texts of a line, each on its baseline; in points, whatever the unit of its surroundings."""
    for position, text in zip(line.places, line.texts, strict=True):
        if text:
            x, y = (line.x, line.y + position) if line.kind == "side" else (line.x + position, line.y)
            yield rf"\node[{_TEXTS[line.kind]}] at ({_pt(x)}bp,{_pt(-y)}bp) {{{escaped(text)}}};"
