"""The filter of pandoc, and so of Quarto: code blocks of class `layout` become pictures.

    pandoc --filter cutepy-pandoc page.md -o page.html

In `_quarto.yml`: `filters: [{type: json, path: cutepy-pandoc}]`. HTML and EPUB get SVG, LaTeX and PDF get TikZ, docx,
odt and pptx a PNG where the extra `png` is installed, every other format text. Law: the document is as it was but for
these blocks; a layout that cannot be drawn ends the build.
"""

from __future__ import annotations

import json
import re
import sys
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from .docs import drawing_of_body, figure, latex
from .draw.live import script
from .draw.printers.tikz import LARGEST
from .draw.sheet import sheet_of
from .errors import CutepyError, DrawError

OFFICE = ("docx", "odt", "pptx")
HTML = ("html", "epub", "revealjs", "slidy", "s5", "dzslides")
TIKZ = {"t": "MetaList", "c": [{"t": "MetaBlocks", "c": [{"t": "RawBlock", "c": ["latex", "\\usepackage{tikz}"]}]}]}


def main() -> int:
    """Filter standard input to standard output for the format that is named; 1 for a layout that cannot be drawn."""
    target = sys.argv[1] if len(sys.argv) > 1 else "html"
    try:
        document = json.load(sys.stdin)
        meta, body = dict(document["meta"]), document["blocks"]
    except (ValueError, TypeError, LookupError):
        print("cutepy-pandoc: no document of pandoc's to read; call it by pandoc --filter", file=sys.stderr)
        return 1
    try:
        filtered = pictures(body, target)
    except CutepyError as error:
        print(f"cutepy-pandoc: {error}", file=sys.stderr)
        return 1
    # The script goes in once, after the last block.
    if filtered != body and target.startswith(HTML) and not target.startswith("epub") and isinstance(filtered, list):
        filtered.append({"t": "RawBlock", "c": ["html", f"<script>{script()}</script>"]})
    if filtered != body and target in ("latex", "beamer"):
        before = meta.get("header-includes", {"t": "MetaList", "c": []})
        listed = before["c"] if before["t"] == "MetaList" else [before]
        meta["header-includes"] = {"t": "MetaList", "c": [*listed, *TIKZ["c"]]}
    json.dump({**document, "meta": meta, "blocks": filtered}, sys.stdout)
    return 0


def pictures(node: object, target: str) -> object:
    """A part of a document with its layouts drawn.

    >>> block = {"t": "CodeBlock", "c": [["", ["layout"], []], "(2,2):(2,1)"]}
    >>> pictures([block], "html")[0]["c"][0], pictures([block], "plain")[0]["t"]
    ('html', 'CodeBlock')

    Raises CutepyError for a layout that cannot be drawn.
    """
    if isinstance(node, list):
        drawn = [pictures(part, target) for part in node]
        return [block for part in drawn for block in (part if type(part) is Blocks else [part])]
    if not isinstance(node, dict):
        return node
    if node.get("t") == "CodeBlock" and "layout" in node["c"][0][1]:
        (name, classes, options), body = node["c"]
        return _picture(name, classes, dict(options), body, target)
    return {key: pictures(part, target) for key, part in node.items()}


class Blocks(list[object]):
    """What stands in place of one block."""


_INLINE = re.compile(
    r"`(?P<Code>[^`]+)`|\*\*(?P<Strong>.+?)\*\*|\*(?P<Emph>[^*]+)\*|\[(?P<Link>[^\]]+)\]\((?P<to>[^)\s]+)\)|(?P<Space>\s+)"
)


def inlines(text: str) -> list[object]:
    """A caption as pandoc has inline text: words, `*emphasis*`, `**strong**`, code and links.

    >>> [part["t"] for part in inlines("see *a b* in `c`")]
    ['Str', 'Space', 'Emph', 'Space', 'Str', 'Space', 'Code']
    """
    elements: list[object] = []
    end = 0
    for match in _INLINE.finditer(text):
        elements += [{"t": "Str", "c": text[end : match.start()]}] if match.start() > end else []
        kind, end = match.lastgroup or "", match.end()
        if kind == "Code":
            elements.append({"t": "Code", "c": [["", [], []], match["Code"]]})
        elif kind == "to":
            elements.append({"t": "Link", "c": [["", [], []], inlines(match["Link"]), [match["to"], ""]]})
        else:
            elements.append({"t": kind} | ({} if kind == "Space" else {"c": inlines(match[kind])}))
    return elements + ([{"t": "Str", "c": text[end:]}] if end < len(text) else [])


def _picture(name: str, classes: Sequence[str], options: Mapping[str, str], body: str, target: str) -> object:
    """The block of pandoc that takes the place of a layout: raw HTML, raw LaTeX, or text; with its caption."""
    try:
        drawing, said = drawing_of_body(body, options)
    except CutepyError as error:
        raise DrawError(f"layout {body.partition(chr(10))[0]!r}: {error}") from error
    label, caption = name or said.get("name", ""), said.get("caption", "")
    if target.startswith(HTML):
        attributes = f'class="{" ".join(["cutepy", *classes])}"' + (f' id="{label}"' if label else "")
        # pandoc renders the caption itself, so the figure is split around it into raw HTML.
        end = "</figure>"
        whole = figure(drawing, said, attributes, "").removesuffix(end)
        if not caption:
            return {"t": "RawBlock", "c": ["html", whole + end]}
        return Blocks(
            [
                {"t": "RawBlock", "c": ["html", f"{whole}<figcaption>"]},
                {"t": "Plain", "c": inlines(caption)},
                {"t": "RawBlock", "c": ["html", f"</figcaption>{end}"]},
            ]
        )
    picture: dict[str, object]
    if target in OFFICE and find_spec("resvg_py"):
        image = b2a_base64(drawing.png(), newline=False).decode()
        size = ["width", said.get("width", f"{sheet_of(drawing.figure).width}px")]
        alt = inlines(said.get("alt", drawing.figure.description))
        shown = {"t": "Image", "c": [["", [], [size]], alt, [f"data:image/png;base64,{image}", ""]]}
        picture = {"t": "Para", "c": [shown]}
    elif target in ("latex", "beamer") and drawing.figure.cells <= LARGEST:
        picture = {"t": "RawBlock", "c": ["latex", f"\\begin{{center}}\n{latex(drawing, said)}\\end{{center}}"]}
    else:
        picture = {"t": "CodeBlock", "c": [["", [], []], drawing.text()]}
    if not caption:
        return picture
    return {"t": "Div", "c": [[label, [], []], [picture, {"t": "Para", "c": inlines(caption)}]]}


if __name__ == "__main__":
    sys.exit(main())
