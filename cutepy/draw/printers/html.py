"""The HTML printer: real tables whose cells tell, when pointed at or focused, how their value comes about.

Styles alone do it; there is no script, no link, nothing to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .. import palette
from ..grid import Figure, Grid, Head
from ..look import Style
from ..sheet import cell_size
from .svg import MONOSPACE

_STYLES = (
    ("", f"display:inline-block;margin:0;padding:12px;font:13px {MONOSPACE};position:relative;text-align:left"),
    (" figcaption", "font-size:14px;margin:0 0 10px"),
    (" .all", "display:grid;gap:10px 26px;align-items:start;justify-content:start"),
    (" .no", "border:0"),
    (
        " table",
        "display:table;width:auto;margin:0 0 10px;border:0;border-collapse:collapse;font-size:13px;line-height:1.25",
    ),
    (" caption", "text-align:left;padding:0 0 6px;caption-side:top;white-space:pre"),
    (" td", "padding:0 4px;text-align:center;cursor:default;white-space:pre;border:.6px solid;box-sizing:border-box"),
    (" td:hover,.cutepy-html td:focus", "outline:2px solid;outline-offset:-3px"),
    (" th", "font-weight:400;font-size:11px;padding:1px 5px;text-align:center;border:0;background:none"),
    (" .t1", "border-top-width:2px"),
    (" .t2,.cutepy-html .t3", "border-top-width:3px"),
    (" .b1", "border-left-width:2px"),
    (" .b2,.cutepy-html .b3", "border-left-width:3px"),
    (
        " td span",
        "display:none;position:absolute;left:12px;bottom:10px;z-index:1;white-space:normal;pointer-events:none",
    ),
    (" td:hover span,.cutepy-html td:focus span", "display:block"),
    (" .say", "min-height:1.4em;margin:6px 0 0"),
    (" .key", "display:inline-block;width:18px;height:12px;margin:0 6px 0 0;border:.6px solid"),
    (" .keys span", "margin-right:14px;white-space:nowrap;font-size:11px"),
    (" p", "margin:4px 0;font-size:11px"),
)
_BASE = "".join(f".cutepy-html{selector}{{{rule}}}" for selector, rule in _STYLES)
"""A cell's tip is hidden until the cell is pointed at or focused, and then stands at the foot of the figure."""


class Html(str):
    """HTML text that a notebook shows as such."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def html(figure: Figure, style: Style) -> Html:
    """The figure as one `<figure>` element that can stand in any page, with its styles inside."""
    used = sorted(figure.paints)
    rules = palette.themed(style.theme, lambda theme: _rules(used, theme, style.background))
    out = [f'<figure class="cutepy-html"><style>{_BASE}{rules}</style>']
    if figure.title:
        out.append(f"<figcaption>{escape(figure.title)}</figcaption>")
    columns = max((len(row) for row in figure.panels), default=1)
    out.append(f'<div class="all" style="grid-template-columns:repeat({columns},max-content)">')
    for row in figure.panels:
        for grid in [*row, *[None] * (columns - len(row))]:
            out.append("\n".join(_table(grid)) if grid is not None else "<div></div>")
    out.append("</div>")
    if figure.legend:
        keys = (f'<span><i class="key {paint}"></i>{escape(text)}</span>' for paint, text in figure.legend)
        out.append(f'<div class="keys">{"".join(keys)}</div>')
    out += [f"<p>{escape(note)}</p>" for note in figure.notes]
    out.append('<div class="say">&#160;</div></figure>\n')
    return Html("\n".join(out))


def page(figure: Figure, style: Style) -> str:
    """A whole HTML document with the figure in it."""
    title = escape(figure.title or "cutepy")
    switch = ":root{color-scheme:light dark}"
    paper = palette.themed(style.theme, lambda theme: f"body{{background:#{palette.PAPER[theme]}}}", switch)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>body{{margin:0}}{paper}</style></head><body>\n"
        f"{html(figure, style)}</body></html>\n"
    )


def _rules(used: Sequence[str], theme: palette.Theme, background: bool) -> str:
    ink, soft, line = palette.INK[theme], palette.SOFT_INK[theme], palette.LINE[theme]
    strong = palette.STRONG_LINE[theme]
    sheet = f";background:#{palette.PAPER[theme]}" if background else ""
    return (
        f".cutepy-html{{color:#{ink}{sheet}}}.cutepy-html th,.cutepy-html p{{color:#{soft}}}"
        f".cutepy-html td,.cutepy-html .key{{border-color:#{line};color:#{ink}}}"
        f".cutepy-html .t1,.cutepy-html .t2,.cutepy-html .t3{{border-top-color:#{strong}}}"
        f".cutepy-html .b1,.cutepy-html .b2,.cutepy-html .b3{{border-left-color:#{strong}}}"
        f".cutepy-html .mk{{box-shadow:inset 0 0 0 2px #{palette.MARK[theme]}}}"
        f".cutepy-html td span{{color:#{ink};background:#{palette.PAPER[theme]}}}"
        + "".join(f".cutepy-html .{paint}{{background:#{palette.value(paint, theme)}}}" for paint in used)
    )


def _table(grid: Grid) -> Iterator[str]:
    wide, high = cell_size(grid)
    yield "<table>"
    if grid.caption:
        yield f"<caption>{escape(grid.caption)}</caption>"
    corner = "<th></th>" * len(grid.rows.levels)
    for level in grid.columns.levels:
        yield f"<tr>{corner}{''.join(_head(text, span, 'colspan') for text, span in level)}</tr>"
    starts = [_starts(level) for level in grid.rows.levels]
    for row in range(grid.rows.size):
        heads = "".join(_head(*begins[row], "rowspan") for begins in starts if row in begins)
        yield f"<tr>{heads}{''.join(_cells(grid, row, wide, high))}</tr>"
    yield "</table>"


def _starts(level: Sequence[Head]) -> dict[int, Head]:
    found, place = {}, 0
    for head in level:
        found[place] = head
        place += head[1]
    return found


def _head(text: str, span: int, attribute: str) -> str:
    return f"<th>{escape(text)}</th>" if span == 1 else f'<th {attribute}="{span}">{escape(text)}</th>'


def _cells(grid: Grid, row: int, wide: int, high: int) -> Iterator[str]:
    column = 0
    while column < grid.columns.size:
        place = row * grid.columns.size + column
        span = grid.span(place)
        extra = [*(["mk"] if place in grid.marked else []), *(["no"] if grid.spans and not grid.labels[place] else [])]
        names = " ".join([grid.paints[place], *_borders(grid, row, column), *extra])
        size = f' style="min-width:{wide}px;height:{high}px"' if row == 0 or column == 0 else ""
        say = grid.detail(place) if grid.detail else grid.hints[place] if grid.hints else ""
        tip = f"<span>{escape(say)}</span>" if say else ""
        across = f' colspan="{span}"' if span > 1 else ""
        yield f'<td class="{names}" tabindex="0"{across}{size}>{escape(grid.labels[place])}{tip}</td>'
        column += span


def _borders(grid: Grid, row: int, column: int) -> list[str]:
    columns = grid.columns.size
    place = row * columns + column
    names = []
    for side, axis, at, before in (("t", grid.rows, row, place - columns), ("b", grid.columns, column, place - 1)):
        if at:
            weight = axis.rules[at - 1] if axis.rules else 0
            if grid.groups and grid.groups[place] != grid.groups[before]:
                weight = max(weight, 2)
            names += [f"{side}{weight}"] if weight else []
    return names
