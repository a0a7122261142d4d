"""The page as one HTML file: its own few files, cutepy's source, and Python for the browser.

Law: the same expression gives the same bytes; nothing is fetched, neither when the file is made nor when it is opened.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import parse_qsl, urlencode
from webbrowser import open_new_tab

from ..draw import Drawing, Style, drawing_of
from ..draw.views import view_name
from ..draw.views.table import written
from ..errors import DrawError, LayoutError, hold
from ..layout.values.composed import AnyLayout
from ..layout.values.coordinates import keeps
from .answers import answer, look, names

FIRST = "zipped_divide((8,8):(8,1), (4,4))"
"""What a page shows that was asked for nothing."""
PYTHON = ("pyodide-lock.json", "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
RUNTIME = (*PYTHON, "kernels.json")
PARTS = ("errors.py", "frozen.py", "lazy.py", "draw", "layout", "explore")
"""What of cutepy runs in the page, all but this module."""
PART_LENGTH = 1 << 18
"""Characters of a packed file in one element of the page: a multiple of 4, as base64 is decoded element by element."""
_LINK = re.compile(r'(?:data-explore="|href="[^"]*explorer?\.html#)(e=[^"]+)"')
_ASKED = re.compile(r'class="cutepy-try" data-explore="([^"]+)"')
SCRIPTS = ("python.js", "picture.js", "expression.js", "panels.js", "kernels.js", "main.js")
MISSING = (
    "explore: Python for the browser is not installed: the package cutepy-runtime, which `make explorer` in cutepy's "
    "repository packs and installs"
)
FIRST_CELLS = 1024
USUAL = Style()


def source_zip() -> bytes:
    """A zip of cutepy's modules that run in the page. The same files give the same bytes."""
    contents: dict[str, bytes] = {}
    todo = [(f"cutepy/{name}", files("cutepy") / name) for name in ("__init__.py", *PARTS)]
    while todo:
        path, folder = todo.pop()
        if folder.is_dir():
            todo += [(f"{path}/{inner.name}", inner) for inner in folder.iterdir()]
        elif path.endswith(".py") and path != "cutepy/explore/pack.py":
            contents[path] = folder.read_bytes()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(contents):
            # ZipInfo without a date: the archive depends on the files alone.
            archive.writestr(zipfile.ZipInfo(path), contents[path])
    return out.getvalue()


def compiled_name(source: bytes) -> str:
    """The name of the same modules compiled, as a runtime that was packed beside this source has them."""
    return f"cutepy-{sha256(source).hexdigest()[:16]}.zip"


def _packed_source() -> bytes:
    """What of cutepy runs in the page, packed: compiled where the runtime has that of this very source."""
    source = source_zip()
    with suppress(ModuleNotFoundError):
        # Compiled modules serve this source only: their name holds its hash.
        compiled = files("cutepy_runtime") / f"{compiled_name(source)}.gz"
        if compiled.is_file():
            return compiled.read_bytes()
    return gzip.compress(source, 9, mtime=0)


def runtime() -> dict[str, bytes]:
    """The packed files of Python for the browser, each with gzip; DrawError where they are not installed."""
    try:
        folder = files("cutepy_runtime")
        return {name: (folder / f"{name}.gz").read_bytes() for name in RUNTIME}
    except (ModuleNotFoundError, FileNotFoundError):
        raise DrawError(MISSING) from None


@dataclass(frozen=True, slots=True)
class Explorer:
    """The explorer, opened at an expression; a notebook shows it in place.

    >>> Explorer("(8,8):(8,1)")
    Explorer('(8,8):(8,1)')

    >>> import tempfile
    >>> page = Explorer("(4,8):(8,1)")
    >>> try:
    ...     print(page.html()[:15])
    ...     print(page.save(Path(tempfile.mkdtemp()) / "layout.html").name, page.open(browser=len).name)
    ... except DrawError:  # Python for the browser is not installed
    ...     print("<!doctype html>\\nlayout.html explorer.html")
    <!doctype html>
    layout.html explorer.html
    """

    text: str = FIRST
    view: str = ""
    options: dict[str, str] = field(default_factory=dict, repr=False)
    links: tuple[str, ...] = field(default=(), repr=False)
    """Addresses of the page, from their `#` on, that it answers before Python has started."""

    def html(self) -> str:
        """The whole page. Raises DrawError where Python for the browser is not installed."""
        packed = runtime()
        kernels = packed.pop("kernels.json")  # which Python does not wait for
        return self.page({**packed, "cutepy.zip": _packed_source(), "kernels.json": kernels})

    def page(self, packed: dict[str, bytes]) -> str:
        """The page with these files in it, in the order in which they are needed.

        >>> "(8,8):(8,1)" in Explorer("(8,8):(8,1)").page({"python.zip": b""})
        True
        """
        web = files("cutepy") / "explore" / "web"
        first = look(self.text, self.view, self.options)
        picture, asked = "", first.get("options", {})
        assert isinstance(asked, dict)
        if "refused" not in first and first["views"]:  # what stands there before Python does; corners where it is large
            picture = drawing_of(self.text, {"limit": str(FIRST_CELLS), **asked}).svg()
        # `<` is escaped as \u003c below, so that no text can close the script element.
        kept = _answers([urlencode({"e": self.text, "view": self.view, **self.options}), *self.links])
        state = {"text": self.text, "view": self.view, "options": self.options, "names": names(), "kept": kept}
        data = "".join(
            f'<script type="application/octet-stream" data-file="{name}">{text[start : start + PART_LENGTH]}</script>\n'
            for name, text in ((name, b64encode(data).decode()) for name, data in packed.items())
            for start in range(0, len(text), PART_LENGTH)
        )
        parts = {
            "style": (web / "style.css").read_text(encoding="utf-8"),
            "text": escape(self.text),
            "value": escape(str(first["value"])),
            "picture": picture,
            "state": json.dumps(state).replace("<", "\\u003c"),
            "worker": (web / "worker.js").read_text(encoding="utf-8"),
            "script": "\n".join((web / name).read_text(encoding="utf-8") for name in SCRIPTS),
            "files": data,
        }
        # Each <!--name--> is replaced once, in the order of the page.
        page = (web / "page.html").read_text(encoding="utf-8")
        for name, text in parts.items():
            before, mark, after = page.partition(f"<!--{name}-->")
            hold(bool(mark), f"page.html has a place for {name}")
            page = before + text + after
        return page

    def save(self, path: str | Path) -> Path:
        """Write the page; returns the path."""
        target = Path(path)
        target.write_text(self.html(), encoding="utf-8")
        return target

    def open(self, browser: Callable[[str], object] = open_new_tab) -> Path:
        """Write the page into a temporary folder and open it in the browser; returns the path.

        `browser` is called with the page's URI.
        """
        page = self.html()
        path = Path(mkdtemp(prefix="cutepy-")) / "explorer.html"
        path.write_text(page, encoding="utf-8")
        browser(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:760px;border:0" title="cutepy explorer"'
        try:
            return f'<iframe {frame} srcdoc="{escape(self.html())}"></iframe>'
        except DrawError as error:
            return f"<pre>{escape(str(error))}</pre>"

    def __repr__(self) -> str:
        return f"Explorer({self.text!r})"


_NO_OPTIONS = ("e", "view", "thread", "value", "cell", "bytes", "access", "lanes", "puzzle")
"""What an address of the page says beside options of the view; an option of such a name has `o.` before it."""
KEPT_LENGTH, LONGEST_KEPT = 600_000, 60_000
"""Characters of answers that stand in a page, and of one of them, at most: about 100 KB on a line, and one."""


def _answers(links: Iterable[str]) -> dict[str, str]:
    """The answers to what the page asks first at these addresses, by the question, as far as there is room."""
    kept: dict[str, str] = {}
    for link in dict.fromkeys(links):
        given = dict(parse_qsl(link.lstrip("#"), keep_blank_values=True))
        text, view = given.get("e", ""), given.get("view", "")
        options = {name.removeprefix("o."): value for name, value in given.items() if name not in _NO_OPTIONS}
        asked: list[dict[str, object]] = [
            {"ask": "look", "text": text, "view": view, "options": options if view else {}}
        ]
        if given.get("puzzle", "").isdecimal():
            asked.append({"ask": "puzzle", "number": int(given["puzzle"]), "text": text})
        for question in asked if text else ():
            written = json.dumps(question, ensure_ascii=False, separators=(",", ":"))  # as JSON.stringify writes it
            if len(found := answer(written)) <= LONGEST_KEPT:
                kept[written] = found
        if sum(map(len, kept.values())) > KEPT_LENGTH:
            break
    return kept


def links_of(folder: Path) -> tuple[str, ...]:
    """What the pages below a folder ask an explorer for, each once: first those of questions and puzzles, which ask by
    a class `cutepy-try`, then those of links and pictures.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.html").write_text('<a href="../explore.html#e=%284%2C8%29&amp;view=tree">')
    >>> links_of(folder)
    ('e=%284%2C8%29&view=tree',)
    """
    pages = [page.read_text(encoding="utf-8") for page in sorted(folder.rglob("*.html"))]
    links = (link for pattern in (_ASKED, _LINK) for page in pages for link in pattern.findall(page))
    return tuple(dict.fromkeys(map(unescape, links)))


def explore(
    thing: object = FIRST,
    view: object = None,
    color: object = None,
    label: object = None,
    *,
    style: Style = USUAL,
    **options: object,
) -> Explorer:
    """The explorer at a layout, a call, a drawing or the text of an expression; view and options as `draw` has them.

    >>> from cutepy.layout import Layout
    >>> page = explore(Layout((4, 8), (8, 1)), "banks", element_bytes=2)
    >>> page, page.view, page.options
    (Explorer('(4,8):(8,1)'), 'banks', {'element_bytes': '2'})

    Raises NotationError for a text that is no expression, LayoutError for a thing that no text writes down, and
    DrawError for a view that does not fit.
    """
    if isinstance(thing, Drawing):
        return explore(*thing.asked, style=thing.style)
    name, given = _named(view)
    given |= {"color": color, "label": label, **options}
    text = thing if isinstance(thing, str) else str(getattr(thing, "call", getattr(thing, "layout", thing)))
    try:
        result = look(text)
    except LayoutError as error:
        if isinstance(thing, str):
            raise
        raise LayoutError(f"explore({thing!r}): it takes layouts, calls and texts of these") from error
    views = result["views"]
    assert isinstance(views, list)
    if name and name not in views:
        raise DrawError(f"explore({text}): no view {name!r} fits; there are {', '.join(views)}")
    # Only what differs from the usual style goes into the page's address.
    said = {one.name: getattr(style, one.name) for one in fields(Style)}
    given |= {name: value for name, value in said.items() if value != getattr(USUAL, name)}
    asked = {option: _written(value) for option, value in given.items() if value is not None}
    return Explorer(text, name or (str(result["view"]) if asked else ""), asked)


def _named(view: object) -> tuple[str, dict[str, object]]:
    """A view by its name, with the parameters that a view object holds."""
    if view is None or isinstance(view, str):
        return view or "", {}
    name = view_name(view)
    names = [entry.name for entry in fields(view)] if is_dataclass(view) and name else []
    return name, {option: getattr(view, option) for option in names}


def _written(value: object) -> str:
    if callable(value) and not isinstance(value, AnyLayout) and not keeps(value):
        raise DrawError(f"explore: {value!r} is a function; the page takes colours and labels by name")
    return value if isinstance(value, str) else written(value).replace(" ", "")
