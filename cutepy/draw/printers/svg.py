"""The SVG printer: real text, a tooltip for every cell; no ids, no scripts, always the same bytes.

Every colour is an attribute, so that a picture is legible where styles are stripped or unknown. A picture of theme
"auto" adds rules for browsers: they follow the page that it stands in, and alone the reader's system.

The files for print and slides are made of it: PNG, drawn by resvg, PDF and EPS, drawn by Cairo; both are extras. resvg
drops text without a word where it finds no font, so fonts are looked for first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import repeat
from pathlib import Path

from ...errors import DrawError
from .. import palette
from ..grid import Figure, Grid
from ..look import Style
from ..sheet import FONT, HEAD_FONT, TITLE_FONT, Box, StrokeKind, TextKind, Texts, sheet_of

MONOSPACE = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_TEXTS: dict[TextKind, str] = {
    "label": "",
    "head": f' class="h" font-size="{HEAD_FONT}" fill="{{soft}}"',
    "side": f' class="h r" font-size="{HEAD_FONT}" fill="{{soft}}" text-anchor="end"',
    "caption": ' class="l" text-anchor="start"',
    "title": f' class="t" font-size="{TITLE_FONT}" text-anchor="start"',
    "key": f' class="k" font-size="{HEAD_FONT}" pointer-events="none"',
    "note": f' class="h l" font-size="{HEAD_FONT}" fill="{{soft}}" text-anchor="start"',
}
_STROKES: dict[tuple[StrokeKind, int], str] = {
    ("hole", 0): 'class="f" stroke="{line}" stroke-width=".7"',
    ("outline", 0): 'class="f" stroke="{line}" stroke-width=".8"',
    ("rule", 0): 'class="f" stroke="{line}" stroke-width=".6"',
    ("rule", 1): 'class="b" stroke="{strong}" stroke-width="1.2"',
    ("rule", 2): 'class="b" stroke="{strong}" stroke-width="2"',
    ("rule", 3): 'class="b" stroke="{strong}" stroke-width="3"',
    ("frame", 0): 'class="b" stroke="{strong}" stroke-width="1.2"',
    ("group", 0): 'class="b" stroke="{strong}" stroke-width="2" stroke-linecap="square"',
    ("shared", 0): 'class="b" stroke="{strong}" stroke-width="1"',
    ("mark", 0): 'class="m" stroke="{mark}" stroke-width="3" stroke-linecap="square"',
}
"""Each kind of text and of stroke, the strokes in the order in which they are drawn."""


def svg(figure: Figure, style: Style) -> str:
    """The figure as the text of an SVG file that can stand alone or inside an HTML page."""
    return "\n".join(_printer("dark" if style.theme == "dark" else "light").picture(figure, style))


def escaped(text: str) -> str:
    """Text between tags."""
    return text.translate(_SPECIAL)


class _Printer:
    """What is printed in one theme."""

    def __init__(self, theme: palette.Theme) -> None:
        self.theme = theme
        inks = {name: palette.css(name, theme) for name in palette.INKS}
        self.texts = {kind: how.format(**inks) for kind, how in _TEXTS.items()}
        self.strokes = {kind: how.format(**inks) for kind, how in _STROKES.items()}

    def picture(self, figure: Figure, style: Style) -> Iterator[str]:
        """The lines of the SVG: title, styles, background, grids, legend, texts."""
        sheet = sheet_of(figure)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="cu{" cua" if style.theme == "auto" else ""}" role="img" '
            f'width="{sheet.width}" height="{sheet.height}" viewBox="0 0 {sheet.width} {sheet.height}" '
            f'style="max-width:none" font-family="{MONOSPACE}" font-size="{FONT}" text-anchor="middle" '
            f'fill="{palette.css("ink", self.theme)}">'
        )
        if figure.title or figure.description:  # an image has a name, also where no line above says it
            yield f"<title>{escaped(figure.title or figure.description)}</title>"
        if figure.description:
            yield f"<desc>{escaped(figure.description)}</desc>"
        if style.theme == "auto":
            yield f"<style>{palette.styles('auto', '.cua', _rules(figure.paints))}</style>"
        if style.background:
            paper = palette.css("paper", self.theme)
            yield f'<path class="bg" fill="{paper}" d="M0 0h{sheet.width}v{sheet.height}H0z"/>'
        for box in sheet.boxes:
            yield from self._box(box)
        for sample in sheet.samples:
            path = f"M{sample.x} {sample.y}h{sample.width}v{sample.height}h-{sample.width}z"
            line = self.strokes["rule", 0].removeprefix('class="f" ')
            yield f'<path class="f {sample.paint}" fill="{palette.css(sample.paint, self.theme)}" {line} d="{path}"/>'
        yield from map(self._texts, sheet.texts)
        yield "</svg>\n"

    def _box(self, box: Box) -> Iterator[str]:
        """One grid in its place: cells in units of a cell, then strokes and texts in pixels."""
        yield f'<g transform="translate({box.x} {box.y})">'
        yield f'<g transform="scale({box.cell_width} {box.cell_height})">'
        for paint, cells in _cells(box.grid).items():
            if cells:
                yield f'<g class="{paint}" fill="{palette.css(paint, self.theme)}">{"".join(cells)}</g>'
        yield '</g><g pointer-events="none">'
        # One path element a kind and weight: a grid of 4,096 cells has thousands of strokes.
        paths: dict[tuple[StrokeKind, int], list[str]] = {how: [] for how in _STROKES}
        for stroke in box.strokes:
            # From cells to pixels of the box.
            left, top, right, end = stroke.segment
            (x, to), (y, down) = (
                [_number(step * size) for step in ends]
                for ends, size in (((left, right), box.cell_width), ((top, end), box.cell_height))
            )
            if stroke.kind in ("frame", "outline"):
                path = f"M{x} {y}H{to}V{down}H{x}z"
            else:
                path = f"M{x} {y}" + (f"H{to}" if y == down else f"V{down}" if x == to else f"L{to} {down}")
            paths[stroke.kind, stroke.weight].append(path)
        yield from (
            f'<path {self.strokes[how]} fill="none" d="{"".join(pieces)}"/>' for how, pieces in paths.items() if pieces
        )
        yield from map(self._texts, box.texts)
        yield "</g></g>"

    def _texts(self, line: Texts) -> str:
        """The group of one line of texts; "" where all of them are empty."""
        along = "y" if line.kind == "side" else "x"
        at = f"{_number(line.x)} {_number(line.y)}"
        elements = [
            f'<text {along}="{position}">{text}</text>'
            for position, text in zip(_numbers(line.places), _all_escaped(line.texts), strict=True)
            if text
        ]
        return f'<g{self.texts[line.kind]} transform="translate({at})">{"".join(elements)}</g>' if elements else ""


_printer = lru_cache(_Printer)


def _cells(grid: Grid) -> dict[str, list[str]]:
    """The path of each cell by its paint, in units of a cell: `M3 5h2v1h-2` is column 3 of row 5, two places wide.

    What is filled needs no fourth side. Where there are hints, each is a title in its path, which browsers show as a
    tooltip. A cell of width 0, which one to its left covers, has no path.
    """
    columns = grid.columns.size
    starts = [f'<path d="M{column} ' for column in range(columns)]
    hints = _all_escaped(grid.hints) or [""] * len(grid.paints)
    before, after = ('"><title>', "</title></path>") if grid.hints else ('"/>', "")
    groups: dict[str, list[str]] = {paint: [] for paint in dict.fromkeys(grid.paints)}
    add = {paint: cells.append for paint, cells in groups.items()}
    for row in range(grid.rows.size):
        here = slice(row * columns, (row + 1) * columns)
        shapes: Iterable[str] = repeat(f"{row}h1v1h-1{before}", columns)
        if grid.spans:
            shapes = [f"{row}h{wide}v1h-{wide}{before}" if wide else "" for wide in grid.widths(row)]
        for start, paint, shape, hint in zip(starts, grid.paints[here], shapes, hints[here], strict=True):
            if shape:
                add[paint](f"{start}{shape}{hint}{after}")
    return groups


def _all_escaped(texts: Sequence[str]) -> Sequence[str]:
    """Texts between tags; those without special characters are recognised together, for speed."""
    joined = "".join(texts)
    return list(map(escaped, texts)) if "&" in joined or "<" in joined or ">" in joined else texts


def _rules(used: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Selector, property and paint of what a picture has."""
    yield from (("", "fill", "ink"), (" .h", "fill", "soft"), (" .bg", "fill", "paper"))
    yield from ((" .f", "stroke", "line"), (" .b", "stroke", "strong"), (" .m", "stroke", "mark"))
    yield from (
        (f" .{paint}", "fill", paint) for paint in sorted(used, key=lambda paint: (paint[0], len(paint), paint))
    )


@lru_cache(maxsize=256)
def _numbers(values: tuple[float, ...]) -> list[str]:
    return list(map(_number, values))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


_FONT_FOLDERS = (
    "/usr/share/fonts /usr/local/share/fonts ~/.fonts ~/.local/share/fonts /System/Library/Fonts /Library/Fonts "
    "~/Library/Fonts C:/Windows/Fonts"
).split()
_FAMILIES = {
    "DejaVuSansMono.ttf": "DejaVu Sans Mono",
    "LiberationMono-Regular.ttf": "Liberation Mono",
    "Menlo.ttc": "Menlo",
    "consola.ttf": "Consolas",
    "NotoSansMono-Regular.ttf": "Noto Sans Mono",
    "cour.ttf": "Courier New",
}
"""The family of each font by its file, the preferred one first."""


_DATE = re.compile(rb"(CreationDate(?: \(D)?:) ?[^\n)]*")
"""Cairo writes the time of day; a picture in git changes only when its layout does."""


def png(figure: Figure, style: Style, scale: float = 2.0) -> bytes:
    """The figure as a PNG file, `scale` pixels to a pixel of the SVG; in the light theme unless the style says dark.

    Raises DrawError where resvg-py is not installed, or no fixed-width font is.
    """
    try:
        import resvg_py
    except ImportError:
        raise DrawError("png needs resvg-py: pip install 'cutepy[png]'; or save an SVG") from None
    if not 0.1 <= scale <= 16:
        raise DrawError(f"png(scale={scale}): from 0.1 to 16")
    # resvg drops text without an error where no font matches, so the font is passed by file and by family.
    font = monospace_font()
    family = _FAMILIES[font.name]
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=_printed(figure, style, family),
            font_files=[str(font)],
            skip_system_fonts=True,
            font_family=family,
            monospace_family=family,
            zoom=scale,
        )
    )


def vector(figure: Figure, style: Style, kind: str) -> bytes:
    """The figure as a PDF or an EPS file, its text as text, in the light theme unless the style says dark.

    Raises DrawError where CairoSVG is not installed, or the Cairo library that it calls is not.
    """
    try:
        cairo = import_module("cairosvg")
    except (ImportError, OSError):  # CairoSVG raises OSError where it finds no Cairo
        raise DrawError(
            f"{kind} needs CairoSVG: pip install 'cutepy[pdf]' (and the Cairo library); or save an SVG"
        ) from None
    write = {"pdf": cairo.svg2pdf, "eps": cairo.svg2eps}[kind]
    return _DATE.sub(rb"\g<1>20000101000000Z", write(bytestring=_printed(figure, style, "monospace").encode()))


def _printed(figure: Figure, style: Style, family: str) -> str:
    """The SVG of one theme in one font."""
    text = svg(figure, style.but(theme="dark" if style.theme == "dark" else "light"))
    return text.replace(f'font-family="{MONOSPACE}"', f'font-family="{family}"', 1)


def monospace_font() -> Path:
    """A fixed-width font of this machine; DrawError where there is none that is known."""
    for folder in _FONT_FOLDERS:
        # The first folder that has any known font decides.
        root = Path(folder).expanduser()
        if root.is_dir():
            installed = {path.name: path for path in root.rglob("*") if path.name in _FAMILIES}
            for name in _FAMILIES:
                if name in installed:
                    return installed[name]
    raise DrawError(
        f"png: none of the fonts {', '.join(_FAMILIES)} is installed, so no text would be drawn; "
        "install DejaVu, or save an SVG"
    )
