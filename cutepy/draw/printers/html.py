"""The HTML printer: real tables whose cells show, when pointed at or focused, the sum that gives their value.

Styles alone do it; there is no script, no link, nothing to load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate

from .. import palette
from ..grid import Figure, Grid
from ..look import Style
from ..sheet import cell_size
from .svg import MONOSPACE

_STYLES = """
{display:inline-block;position:relative;max-width:100%;overflow-x:auto;margin:0;padding:12px;
font:13px MONOSPACE;text-align:left}
 figcaption{font-size:14px;margin:0 0 10px}
 .all{flex-wrap:wrap;gap:10px 26px;align-items:start;justify-content:start}
 tr{background:none;border:0}
 .no{border:0}
 table{display:table;width:auto;margin:0 0 10px;border:0;border-collapse:collapse;font-size:13px;line-height:1.25}
 caption{padding:0 0 6px;text-align:left;caption-side:top;white-space:pre}
 td{max-width:none;vertical-align:middle;padding:0 4px;line-height:1.25;text-align:center;cursor:default;
min-width:var(--w);height:var(--h);white-space:pre;border:.6px solid;box-sizing:border-box}
 :is(td:hover,td:focus){outline:2px solid;outline-offset:-3px}
 th{max-width:none;vertical-align:middle;font-weight:400;font-size:11px;line-height:1.25;padding:1px 5px;
text-align:center;border:0;background:none}
 .t1{border-top-width:2px}
 :is(.t2,.t3){border-top-width:3px}
 .b1{border-left-width:2px}
 :is(.b2,.b3){border-left-width:3px}
 td span{display:none;position:absolute;left:12px;bottom:10px;z-index:1;white-space:normal;pointer-events:none}
 :is(td:hover,td:focus) span{display:block}
 .say{min-height:1.4em;margin:6px 0 0}
 .sh{background-image:CORNER}
 .mk{outline:2px solid;outline-offset:-2px}
 .keys{font-size:11px;line-height:20px}
 i{display:inline-block;min-width:18px;padding:0 3px;text-align:center;font-style:normal;border:.6px solid}
 p{margin:4px 0;font-size:11px}
""".replace("MONOSPACE", MONOSPACE).replace(
    "CORNER",  # the line across a corner of a cell that several share
    "linear-gradient(45deg,transparent calc(100% - 9px),currentcolor calc(100% - 9px),transparent calc(100% - 7px))",
)
_ROOT = ":is(.cutepy-html,#_)"
"""With the weight of an id, which no id of the page need have: rules of hosts for tables, JupyterLab's above all, give
way."""
_BASE = "".join(f"{_ROOT}{rule}}}" for rule in _STYLES.replace("\n", "").split("}")[:-1])
"""A cell's tip is hidden until the cell is pointed at or focused, and then stands at the foot of the figure."""


STYLE = "overflow-x:auto"
"""A box whose contents keep their size and scroll."""


class Html(str):
    """HTML text that a notebook shows as such."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<HTML of {len(self)} characters; print shows them>"


def html(figure: Figure, style: Style) -> Html:
    """The figure as one `<figure>` element that can stand in any page, with its styles inside."""
    rules = palette.styles(style.theme, f"{_ROOT}.{style.theme}", _rules(figure.paints, style.background))
    out = [f'<figure class="cutepy-html {style.theme}"><style>{_BASE}{rules}</style>']
    if figure.title:
        out.append(f"<figcaption>{escape(figure.title)}</figcaption>")
    # One row of grids wraps as the page narrows (flex); several rows keep their columns (grid).
    rows = figure.pieces
    columns = max((len(row) for row in rows), default=1)
    how = "flex" if len(rows) == 1 else f"grid;grid-template-columns:repeat({columns},max-content)"
    out.append(f'<div class="all" style="display:{how}">')
    for row in rows:
        for grid in [*row, *[None] * (columns - len(row))]:
            out.append("\n".join(_table(grid)) if grid is not None else "<div></div>")
    out.append("</div>")
    if figure.legend:
        keys = (f'<i class="{paint}">{escape(text)}</i>' for paint, text in figure.legend)
        out.append(f'<div class="keys">{escape(figure.subject)} {"".join(keys)}</div>')
    out += [f"<p>{escape(note)}</p>" for note in figure.notes]
    out.append('<div class="say">&#160;</div></figure>\n')
    return Html("\n".join(out))


def boxed(picture: str, attributes: str = 'class="cutepy"', caption: str = "", style: str = STYLE) -> str:
    """A picture in a box that scrolls where the page is narrower, with its caption below."""
    return f'<figure {attributes} style="{style}">{picture.rstrip()}{caption}</figure>'


def page(figure: Figure, style: Style) -> str:
    """A whole HTML document with the figure in it."""
    title = escape(figure.title or "cutepy")
    paper = palette.styles(style.theme, "body", [("", "background", "paper")])
    switch = ":root{color-scheme:light dark}" if style.theme == "auto" else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>body{{margin:0}}{switch}{paper}</style></head><body>\n"
        f"{html(figure, style)}</body></html>\n"
    )


def _rules(used: Sequence[str], background: bool) -> Iterator[tuple[str, str, str]]:
    """Selector, property and paint of what a picture has."""
    yield from (("", "color", "ink"), (" :is(td,i,span)", "color", "ink"), (" :is(th,p,.keys)", "color", "soft"))
    yield (" :is(td,i)", "border-color", "line")
    yield from (
        (" :is(.t1,.t2,.t3)", "border-top-color", "strong"),
        (" :is(.b1,.b2,.b3)", "border-left-color", "strong"),
    )
    yield from ((" .mk", "outline-color", "mark"), (" td span", "background", "paper"))
    yield from ((("", "background", "paper"),) if background else ())
    yield from ((f" .{paint}", "background-color", paint) for paint in sorted(used))


def _table(grid: Grid) -> Iterator[str]:
    """The lines of one grid's `<table>`: caption, rows of column heads, rows of cells with their heads."""
    wide, high = cell_size(grid)
    yield f'<table style="--w:{wide}px;--h:{high}px">'
    if grid.caption:
        yield f"<caption>{escape(grid.caption)}</caption>"
    corner = "<th>" * len(grid.rows.levels)
    for level in grid.columns.levels:
        yield f"<tr>{corner}{''.join(_head(text, span, 'colspan') for text, span in level)}"
    # For each level of row heads: the row in which each head starts, with its text and row span.
    starts = [
        dict(zip(accumulate((span for _, span in level), initial=0), level, strict=False)) for level in grid.rows.levels
    ]
    for row in range(grid.rows.size):
        heads = "".join(_head(*begins[row], "rowspan") for begins in starts if row in begins)
        yield f"<tr>{heads}{''.join(_cells(grid, row))}"
    yield "</table>"


def _head(text: str, span: int, attribute: str) -> str:
    return f"<th>{escape(text)}" if span == 1 else f"<th {attribute}={span}>{escape(text)}"


def _cells(grid: Grid, row: int) -> Iterator[str]:
    """The `<td>` elements of one row; a cell that a wider one covers has none."""
    start, shared = row * grid.columns.size, set(grid.shared)
    for column, span in enumerate(grid.widths(row)):
        if not span:
            continue
        cell = start + column
        # mk: marked; sh: owned by several; no: a covered cell of a tree.
        extra = [name for name, cells in (("mk", grid.marked), ("sh", shared)) if cell in cells]
        extra += ["no"] if grid.spans and not grid.labels[cell] else []
        names = " ".join([grid.paints[cell], *_borders(grid, row, column), *extra])
        say = grid.text(cell)
        tip = f"<span hidden>{escape(say)}</span>" if say else ""
        across = f" colspan={span}" if span > 1 else ""
        plain = palette.css(grid.paints[cell], "light")  # where styles are stripped
        quoted = f'"{names}"' if " " in names else names
        yield f"<td class={quoted} bgcolor={plain} tabindex=0{across}>{escape(grid.labels[cell])}{tip}"


def _borders(grid: Grid, row: int, column: int) -> list[str]:
    """The classes of a cell's top and left border, `t1` to `t3` and `b1` to `b3`; no class for the thin line."""
    columns = grid.columns.size
    cell = row * columns + column
    names = []
    for side, axis, at, before in (("t", grid.rows, row, cell - columns), ("b", grid.columns, column, cell - 1)):
        if at:
            weight = axis.rules[at - 1] if axis.rules else 0
            # A group border weighs 2, and a nesting rule may weigh more.
            if grid.groups and grid.groups[cell] != grid.groups[before]:
                weight = max(weight, 2)
            names += [f"{side}{weight}"] if weight else []
    return names
