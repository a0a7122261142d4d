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

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NoReturn

from .draw import Drawing, drawing_of, read_body
from .draw.request import OPTIONS
from .draw.safe import shorten
from .errors import CutepyError, DrawError

DOC_OPTIONS = ("alt", "caption")
"""What a document may say beside the drawing's own options."""

STYLE = "overflow-x:auto"


def fence(
    source: str,
    language: str,
    css_class: str,
    options: Mapping[str, object],
    md: object,
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
        given = {"class": names, **({"id": id_value} if id_value else {}), **(attrs or {})}
        return figure(drawing, said, " ".join(f'{escape(key)}="{escape(value)}"' for key, value in given.items()))
    except Exception as error:  # pymdownx turns whatever it does not know into inline code, silently
        _stop(source, md, error)


def validate(
    language: str, inputs: Mapping[str, str], options: dict[str, object], attrs: Mapping[str, str], md: object
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
    for name in both:
        if name not in OPTIONS and name in options:
            line = next(n for n, found in enumerate(source.splitlines(), 1) if found.strip().startswith(name))
            raise DrawError(f"line {line}: no option {name!r}; there are {', '.join((*OPTIONS, *DOC_OPTIONS))}")
    return drawing_of(text, both), said


def figure(drawing: Drawing, said: Mapping[str, str], attributes: str) -> str:
    """The `<figure>` of a drawing: its SVG as it is, and a caption if there is one."""
    label = f' aria-label="{escape(said["alt"])}"' if said.get("alt") else ""
    caption = f"<figcaption>{escape(said['caption'])}</figcaption>" if said.get("caption") else ""
    return f'<figure {attributes}{label} style="{STYLE}">{drawing.svg().rstrip()}{caption}</figure>'


def _stop(source: str, md: object, error: Exception) -> NoReturn:
    """End the build with file, line and reason."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    told = str(error) if isinstance(error, CutepyError) else f"{type(error).__name__}: {error}"
    message = f"{_place(source, md)}layout fence {shorten(first, 80)!r}: {told}"
    try:
        from pymdownx.superfences import SuperFencesException
    except ImportError:
        raise DrawError(message) from error
    raise SuperFencesException(message) from error


def _place(source: str, md: object) -> str:
    """`docs/page.md:7: `, the file and line where the body of a fence begins, as far as the builder tells the file."""
    path = _page(md)
    if path is None or not path.is_file() or not source.strip():
        return f"{path}: " if path else ""
    lines = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    body = [line.strip() for line in source.splitlines()]
    for start in range(len(lines) - len(body) + 1):
        if lines[start : start + len(body)] == body:
            return f"{path}:{start + 1}: "
    return f"{path}: "


def _page(md: object) -> Path | None:
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
