"""The Markdown fence: a layout in, its picture out, wherever Python-Markdown renders (Zensical, MkDocs, others).

A fence is parsed, never evaluated: its first line is a layout or a call of the algebra, the lines after it are
`key: value`. Options may also stand in the fence's header, quoted.

    ```layout
    zipped_divide((8,8):(8,1), (4,4))
    color: tile
    ```

`fence` is pymdownx's `format`, `validate` its `validator`. What is wrong stops the build.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlencode
from xml.etree.ElementTree import Element, SubElement

from .draw import Drawing, drawing_of, read_body
from .draw.drawing import view_and_options
from .draw.grid import shorten
from .draw.live import live_data, script
from .draw.look import OPTIONS, expect_options
from .draw.printers.html import STYLE, boxed
from .draw.views import view_name
from .errors import CutepyError, DrawError

DOC_OPTIONS = ("alt", "caption", "align", "name", "file")
"""What a document may say beside the drawing's own options; and `width` with a unit (a bare number is that of a view).
`file` is for `cutepy figures`."""

PAGE_NAMES = ("e", "view", "thread", "value", "cell", "bytes", "access", "lanes", "puzzle")
"""What the explorer's address holds beside options; an option of such a name has `o.` before it."""

Markdown = Any  # Python-Markdown's object, which ships no types
ALIGN = ("left", "center", "right")
TALLEST = "0.85\\textheight"
"""The height of a picture in TeX at most: a page, and room for a caption."""
LENGTH = re.compile(r"\d+(\.\d+)?\s*(%|px|em|rem|ex|ch|vw|cm|mm|in|pt|pc)")


def fence(
    source: str,
    language: str,
    css_class: str,
    options: Mapping[str, object],
    md: Markdown,
    classes: Sequence[str] | None = None,
    id_value: str = "",
    attrs: Mapping[str, str] | None = None,
    **others: object,
) -> str:
    """The HTML of a fence: a `<figure>` with the very bytes of `Drawing.svg()` inside.

    >>> fence("(2,2):(2,1)", "layout", "layout", {}, None)[:29]
    '<figure class="cutepy layout"'

    Raises pymdownx's SuperFencesException, which stops the build, for anything that cannot be drawn.
    """
    try:
        drawing, said = drawing_of_body(source, {str(key): str(value) for key, value in options.items()})
        names = " ".join(["cutepy", css_class, *(classes or ())])
        # The id of the header wins over `name:` of the body.
        target = id_value or said.get("name", "")
        given = {"class": names, **({"id": target} if target else {}), **(attrs or {})}
        given["data-layout"] = read_body(source)[0]  # for a page's own scripts
        given["data-explore"] = explore_query(source, options)
        attributes = " ".join(f'{escape(key)}="{escape(value)}"' for key, value in given.items())
        return figure(drawing, said, attributes, inline(said.get("caption", ""), md)) + live_script(md)
    except Exception as error:  # pymdownx turns whatever it does not know into inline code, silently
        stop_build("layout", source, md, error)


def explore_query(source: str, header: Mapping[str, object]) -> str:
    """What follows `explore.html#` to show a fence's picture as it is: its expression, its view and its options.

    >>> explore_query("(4,8):(8,1)\\nview: tiles (2,2)\\ncaption: here", {"color": "tile"})
    'e=%284%2C8%29%3A%288%2C1%29&view=tiles&color=tile&tiler=%282%2C2%29'
    """
    text, body = read_body(source)
    options = {str(name): str(value) for name, value in header.items()} | body
    asked = {name: value for name, value in options.items() if name not in DOC_OPTIONS}
    if LENGTH.fullmatch(asked.get("width", "")):
        del asked["width"]
    name, values = view_and_options(asked)
    own = {f"o.{option}" if option in PAGE_NAMES else option: value for option, value in values.items()}
    return urlencode({"e": text, "view": name or view_name(drawing_of(text, asked).asked[1]) or "grid", **own})


def validate(
    language: str, inputs: Mapping[str, str], options: dict[str, object], attrs: Mapping[str, str], md: Markdown
) -> bool:
    """Take what the header of a fence says; `fence` checks it, for it can say what is wrong."""
    options.update(inputs)
    return True


def drawing_of_body(source: str, given: Mapping[str, str]) -> tuple[Drawing, dict[str, str]]:
    """The drawing of a fence's body, and what it says for the document (caption, alternative text).

    Options of the header are `given`; those of the body win. Raises what `drawing_of` and `read_body` raise.
    """
    text, options = read_body(source)
    both = {**given, **options}
    said = {name: both.pop(name) for name in DOC_OPTIONS if name in both}
    if said.get("align", ALIGN[0]) not in ALIGN:
        raise DrawError(f"align: {said['align']!r}; there are {', '.join(ALIGN)}")
    # `width` with a unit is the width of the image; a bare number is the view's option (offsets in a row).
    if LENGTH.fullmatch(both.get("width", "")):
        said["width"] = both.pop("width").replace(" ", "")
    elif not both.get("width", "0").isdecimal():
        raise DrawError(f"width: {both['width']!r}; write 50%, 300px or 8cm, or cells of the view memory as a number")
    for name in both:
        if name not in OPTIONS and name in options:
            line = next(n for n, text_line in enumerate(source.splitlines(), 1) if text_line.strip().startswith(name))
            try:
                expect_options([name], DOC_OPTIONS)
            except DrawError as error:
                raise DrawError(f"line {line}: {error}") from None
    return drawing_of(text, both), said


def figure(drawing: Drawing, said: Mapping[str, str], attributes: str, caption: str) -> str:
    """The `<figure>` of a drawing: its SVG as it is (but for a width), and a caption, in HTML, if there is one."""
    label = f' aria-label="{escape(said["alt"])}"' if said.get("alt") else ""
    attributes += live_attribute(drawing)
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    style = f"{STYLE};text-align:{said['align']}" if "align" in said else STYLE
    return boxed(sized(drawing, said), f"{attributes}{label}", below, style)


def live_attribute(drawing: Drawing) -> str:
    """What the script of a page reads of a picture, as an attribute of what stands around it; nothing for very large
    ones."""
    data = live_data(drawing.figure)
    return f' data-live="{escape(data)}"' if data else ""


def live_script(md: Markdown) -> str:
    """The script that makes pictures answer, with the first picture of a page."""
    if not once_on_a_page(md, "pictures"):
        return ""
    return f"<script>{script()}</script>".replace("\n\n", "\n")  # a blank line would end the HTML block


def once_on_a_page(md: Markdown, name: str) -> bool:
    """Whether a page asks this for the first time; always without a page."""
    if md is None:
        return True
    lines = getattr(md, "lines", md)
    asked, names = getattr(md, "cutepy_page", (None, ()))
    md.cutepy_page = lines, (*(names if asked is lines else ()), name)
    return asked is not lines or name not in names


def sized(drawing: Drawing, said: Mapping[str, str]) -> str:
    """The SVG of a drawing, as wide as the document says."""
    picture = drawing.svg().rstrip()
    if "width" not in said:
        return picture
    return picture.replace('style="', f'style="width:{said["width"]};height:auto;', 1)


def latex(drawing: Drawing, said: Mapping[str, str]) -> str:
    """The TikZ of a drawing in a box: as wide as the document says, no wider than the line, no taller than a page."""
    width = _in_tex(said.get("width", ""))
    scaled = f"\\resizebox{{{width}}}{{!}}{{\\usebox0}}" if width else "\\usebox0"
    return (
        f"\\sbox0{{%\n{drawing.tikz(body=True)}}}\\sbox0{{{scaled}}}%\n"
        "\\ifdim\\wd0>\\linewidth\\sbox0{\\resizebox{\\linewidth}{!}{\\usebox0}}\\fi\n"
        f"\\ifdim\\ht0>{TALLEST}\\sbox0{{\\resizebox{{!}}{{{TALLEST}}}{{\\usebox0}}}}\\fi\n"
        "\\usebox0\n"
    )


def _in_tex(width: str) -> str:
    """A width as TeX says it: parts of the line for `%` and `vw`, points for the units of a screen."""
    number = width.rstrip("%abcdefghijklmnopqrstuvwxyz")
    unit = width.removeprefix(number)
    if unit in ("%", "vw"):
        return f"{float(number) / 100:.4g}\\linewidth"
    points = {"px": 0.75, "rem": 12.0, "ch": 6.0}
    return f"{float(number) * points[unit]:.4g}bp" if unit in points else width


def inline(text: str, md: Markdown) -> str:
    """The HTML of a caption: its inline Markdown by the page's own rules, links to pages included.

    >>> inline("a < b", None)
    'a &lt; b'
    """
    if not text or not hasattr(md, "treeprocessors"):
        return escape(text)
    root = Element("div")
    SubElement(root, "span").text = text
    for name in ("inline", "unescape", "relpath"):  # the last is MkDocs': links to other pages
        if name in md.treeprocessors:
            changed = md.treeprocessors[name].run(root)
            root = root if changed is None else changed
    printed: str = md.serializer(root)
    return printed.removeprefix("<div><span>").removesuffix("</span></div>")


def stop_build(kind: str, source: str, md: Markdown, error: Exception) -> NoReturn:
    """End the build with file, line and reason of a fence."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    reason = str(error) if isinstance(error, CutepyError) else f"{type(error).__name__}: {error}"
    message = f"{_place(source, md)}{kind} fence {shorten(first, 80)!r}: {reason}"
    cause = None if isinstance(error, CutepyError) else error  # the message says it all
    try:
        from pymdownx.superfences import SuperFencesException
    except ImportError:
        raise DrawError(message) from cause
    raise SuperFencesException(message) from cause


def _place(source: str, md: Markdown) -> str:
    """`docs/page.md:7: `, the file and line where the body of a fence begins, as far as the builder tells the file."""
    path = _page(md)
    if path is None or not path.is_file() or not source.strip():
        return f"{path}: " if path else ""
    # superfences gives no line number: look for the body in the page's text.
    lines = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    body = [line.strip() for line in source.splitlines()]
    for start in range(len(lines) - len(body) + 1):
        if lines[start : start + len(body)] == body:
            return f"{path}:{start + 1}: "
    return f"{path}: "


def _page(md: Markdown) -> Path | None:
    """The file that is being rendered: MkDocs and Zensical each leave it in a processor of theirs."""
    for kind in ("preprocessors", "treeprocessors"):
        for processor in getattr(md, kind, ()):
            file = getattr(getattr(processor, "file", None), "abs_src_path", None)  # MkDocs
            if isinstance(file, str):
                return Path(file)
            path = getattr(getattr(processor, "page", None), "path", None)  # Zensical
            config = getattr(processor, "config", None)
            if isinstance(path, str) and isinstance(config, dict):
                return Path(str(config.get("docs_dir", "")), path)
    return None
