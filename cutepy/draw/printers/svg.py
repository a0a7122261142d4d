"""The SVG printer: real text, a tooltip for every cell, light and dark; no ids, no scripts, always the same bytes.

Cells of one paint stand in one group, drawn in units of a cell (`M3 5h1v1h-1` is column 3, row 5), so that a cell costs
about 85 bytes; labels are placed in pixels, row by row. PNG is the SVG, drawn by resvg (extra `png`), which drops text
without a word where it finds no font, so fonts are looked for first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...errors import DrawError
from .. import palette
from ..grid import Figure, Grid
from ..look import Style
from ..sheet import FONT, HEAD_FONT, LINE, SAMPLE, TITLE_FONT, Box, Entry, Kind, Line, sheet_of

MONOSPACE = 'ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace'

_BASE = (
    f".cu{{font:{FONT}px {MONOSPACE}}}"
    ".cu text{text-anchor:middle}.cu text,.cu .f{pointer-events:none}"
    f".cu .h text{{font-size:{HEAD_FONT}px}}"
    ".cu .l text{text-anchor:start}"
    ".cu .r text{text-anchor:end}"
    f".cu .t{{font-size:{TITLE_FONT}px;text-anchor:start}}"
    ".cu .f{fill:none}"
)
_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def svg(figure: Figure, style: Style) -> str:
    """The figure as the text of an SVG file that can stand alone or inside an HTML page."""
    sheet = sheet_of(figure)
    used = sorted(figure.paints, key=_by_kind)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cu" role="img" width="{sheet.width}" height="{sheet.height}" '
        f'viewBox="0 0 {sheet.width} {sheet.height}">',
    ]
    if figure.title:
        out.append(f"<title>{escaped(figure.title)}</title>")
    if figure.description:
        out.append(f"<desc>{escaped(figure.description)}</desc>")
    out.append(f"<style>{_BASE}{palette.themed(style.theme, lambda theme: _rules(used, theme))}</style>")
    if style.background:
        out.append(f'<path class="bg" d="M0 0h{sheet.width}v{sheet.height}H0z"/>')
    if sheet.title is not None:
        out.append(f'<text class="t" x="{sheet.title.x}" y="{sheet.title.y}">{escaped(sheet.title.text)}</text>')
    for box in sheet.boxes:
        out += _box(box)
    out += ["".join(map(_entry, row)) for row in sheet.legend]
    out += map(_line, sheet.notes)
    out.append("</svg>\n")
    return "\n".join(out)


def escaped(text: str) -> str:
    """Text between tags."""
    return text.translate(_SPECIAL)


def _by_kind(paint: str) -> tuple[str, int, str]:
    return paint[:1], len(paint), paint


def _rules(used: Sequence[str], theme: palette.Theme) -> str:
    fixed = (
        f".cu text{{fill:{_hex(palette.INK[theme])}}}.cu .h text{{fill:{_hex(palette.SOFT_INK[theme])}}}"
        f".cu .bg{{fill:{_hex(palette.PAPER[theme])}}}.cu .f{{stroke:{_hex(palette.LINE[theme])}}}"
        f".cu .b{{stroke:{_hex(palette.STRONG_LINE[theme])}}}.cu .m{{stroke:{_hex(palette.MARK[theme])}}}"
    )
    return fixed + "".join(f".cu .{paint}{{fill:{_hex(palette.value(paint, theme))}}}" for paint in used)


def _hex(color: str) -> str:
    short = color[::2]
    return f"#{short if short == color[1::2] else color}"


def _box(box: Box) -> Iterator[str]:
    grid = box.grid
    yield f'<g transform="translate({box.x} {box.y})">'
    yield from _cells(grid, box)
    yield from _strokes(box)
    yield from _labels(grid, box)
    yield from _heads(box)
    for above, line in box.caption:
        yield f'<g class="l"><text y="{-above}">{escaped(line)}</text></g>'
    yield "</g>"


def _cells(grid: Grid, box: Box) -> Iterator[str]:
    """Cells grouped by paint, each with its tooltip."""
    hints = grid.hints if grid.hints and not _special(grid.hints) else [escaped(hint) for hint in grid.hints]
    yield f'<g transform="scale({box.cell_width} {box.cell_height})">'
    for paint, cells in (_spanning if grid.spans else _square)(grid, hints).items():
        yield f'<g class="{paint}">{"".join(cells)}</g>'
    yield "</g>"


def _square(grid: Grid, hints: Sequence[str]) -> dict[str, list[str]]:
    """The common case, written for speed: every cell is one place wide."""
    columns = grid.columns.size
    starts = [f'<path d="M{column} ' for column in range(columns)]
    groups: dict[str, list[str]] = {paint: [] for paint in dict.fromkeys(grid.paints)}
    add = {paint: cells.append for paint, cells in groups.items()}
    end = "</title></path>"
    for row in range(grid.rows.size):
        at = row * columns
        paints = grid.paints[at : at + columns]
        if hints:
            middle = f'{row}h1v1h-1"><title>'
            for start, paint, hint in zip(starts, paints, hints[at : at + columns], strict=True):
                add[paint](f"{start}{middle}{hint}{end}")
        else:
            for start, paint in zip(starts, paints, strict=True):
                add[paint](f'{start}{row}h1v1h-1"/>')
    return groups


def _spanning(grid: Grid, hints: Sequence[str]) -> dict[str, list[str]]:
    """Cells of several widths."""
    covered = grid.covered
    groups: dict[str, list[str]] = {}
    for place, paint in enumerate(grid.paints):
        if place not in covered:
            row, column = divmod(place, grid.columns.size)
            span = grid.span(place)
            title = f"<title>{hints[place]}</title>" if hints else ""
            groups.setdefault(paint, []).append(f'<path d="M{column} {row}h{span}v1h-{span}">{title}</path>')
    return groups


def _special(texts: Iterable[str]) -> bool:
    joined = "".join(texts)
    return "&" in joined or "<" in joined or ">" in joined


_HOW: dict[tuple[Kind, int], str] = {
    ("hole", 0): '" stroke-width=".7"',
    ("rule", 0): '" stroke-width="0.6"',
    ("rule", 1): ' b" stroke-width="1.2"',
    ("rule", 2): ' b" stroke-width="2"',
    ("rule", 3): ' b" stroke-width="3"',
    ("frame", 0): ' b" stroke-width="1.2"',
    ("group", 0): ' b" stroke-width="2" stroke-linecap="square"',
    ("mark", 0): ' m" stroke-width="3" stroke-linecap="square"',
}
"""The end of the class and the width of each kind of stroke, in the order in which they are drawn."""


def _strokes(box: Box) -> Iterator[str]:
    """All strokes of one kind and weight as one path; spanning cells have outlines in place of rules."""
    wide, high = box.cell_width, box.cell_height
    paths: dict[tuple[Kind, int], list[str]] = {how: [] for how in _HOW}
    for stroke in box.strokes:
        x, y, to, end = stroke.segment
        if stroke.kind == "hole":
            path = f"M{x * wide} {y * high}l{wide}-{high}"
        elif stroke.kind == "frame":
            path = f"M0 0h{box.width}v{box.height}H0z"
        else:
            path = f"M{x * wide} {y * high}" + (f"H{to * wide}" if y == end else f"V{end * high}")
        paths[stroke.kind, stroke.weight].append(path)
    for how, found in paths.items():
        if how == ("frame", 0) and box.grid.spans:
            yield _span_lines(box.grid, box)
        if found:
            yield f'<path class="f{_HOW[how]} d="{"".join(found)}"/>'


def _span_lines(grid: Grid, box: Box) -> str:
    covered = grid.covered
    path = []
    for place in range(grid.rows.size * grid.columns.size):
        if place not in covered and (grid.labels[place] or place in grid.spans):
            row, column = divmod(place, grid.columns.size)
            long = grid.span(place) * box.cell_width
            path.append(f"M{column * box.cell_width} {row * box.cell_height}h{long}v{box.cell_height}h-{long}z")
    return f'<path class="f" stroke-width=".8" d="{"".join(path)}"/>'


def _labels(grid: Grid, box: Box) -> Iterator[str]:
    """One group a line of text of a row, so that a label needs its x alone."""
    columns, wide = grid.columns.size, box.cell_width
    middles = _positions(wide, columns)
    joined = "".join(grid.labels)
    special, several = _special((joined,)), "\n" in joined
    for row in range(grid.rows.size):
        labels = list(grid.labels[row * columns : (row + 1) * columns])
        if special:
            labels = list(map(escaped, labels))
        xs = middles
        if grid.spans:
            xs = [_number((column + grid.span(row * columns + column) / 2) * wide) for column in range(columns)]
        middle = row * box.cell_height + box.cell_height / 2
        for line, texts in _text_lines(labels) if several else [(0.0, labels)]:
            found = "".join([f'<text x="{x}">{text}</text>' for x, text in zip(xs, texts, strict=True) if text])
            if found:
                yield f'<g transform="translate(0 {_number(middle + 4.5 + line * LINE)})">{found}</g>'


def _text_lines(labels: list[str]) -> list[tuple[float, list[str]]]:
    """Labels of several lines as lines of labels, each with its place: -0.5 and 0.5 for two lines, and so on."""
    split = [label.split("\n") for label in labels]
    found: dict[float, list[str]] = {}
    for place, lines in enumerate(split):
        for number, line in enumerate(lines):
            found.setdefault(number - (len(lines) - 1) / 2, [""] * len(labels))[place] = line
    return sorted(found.items())


def _positions(size: int, count: int) -> list[str]:
    return [_number(size * place + size / 2) for place in range(count)]


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _heads(box: Box) -> Iterator[str]:
    """Coordinates beside the grid."""
    for heads in box.column_heads:
        found = [f'<text x="{_number(at * box.cell_width)}">{escaped(text)}</text>' for at, text in heads.texts]
        yield f'<g class="h" transform="translate(0 {-heads.away})">{"".join(found)}</g>'
    for heads in box.row_heads:
        found = [f'<text y="{_number(at * box.cell_height + 4)}">{escaped(text)}</text>' for at, text in heads.texts]
        yield f'<g class="h r" transform="translate({-heads.away} 0)">{"".join(found)}</g>'


def _entry(entry: Entry) -> str:
    wide, high = SAMPLE
    sample = f"M{entry.x} {entry.y}h{wide}v{high}h-{wide}z"
    return (
        f'<path class="{entry.paint}" d="{sample}"/><path class="f" stroke-width=".6" d="{sample}"/>{_line(entry.line)}'
    )


def _line(line: Line) -> str:
    return f'<g class="h l"><text x="{line.x}" y="{line.y}">{escaped(line.text)}</text></g>'


_FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.fonts",
    "~/.local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "C:/Windows/Fonts",
)
_WANTED = (
    "DejaVuSansMono.ttf",
    "LiberationMono-Regular.ttf",
    "Menlo.ttc",
    "consola.ttf",
    "NotoSansMono-Regular.ttf",
    "cour.ttf",
)
_FAMILIES = {"DejaVuSansMono": "DejaVu Sans Mono", "LiberationMono-Regular": "Liberation Mono", "Menlo": "Menlo"}
_FAMILIES |= {"consola": "Consolas", "NotoSansMono-Regular": "Noto Sans Mono", "cour": "Courier New"}


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
    font = monospace_font()
    family = _FAMILIES[font.stem]
    text = svg(figure, style.but(theme="dark" if style.theme == "dark" else "light"))
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=text.replace(' class="cu"', f' class="cu" font-family="{family}"', 1),
            font_files=[str(font)],
            skip_system_fonts=True,
            font_family=family,
            monospace_family=family,
            zoom=scale,
        )
    )


def monospace_font() -> Path:
    """A fixed-width font of this machine; DrawError where there is none that is known."""
    for folder in _FONT_FOLDERS:
        root = Path(folder).expanduser()
        if root.is_dir():
            found = {path.name: path for path in root.rglob("*") if path.name in _WANTED}
            for name in _WANTED:
                if name in found:
                    return found[name]
    raise DrawError(
        f"png: none of the fonts {', '.join(_WANTED)} is installed, so no text would be drawn; "
        "install DejaVu, or save an SVG"
    )
