"""`draw(thing)` and the `Drawing` that it gives: a figure, ready to be printed in any format; and drawings in words.

Views say how a thing becomes a figure; `register` adds one for a type that is not a layout. What a notebook shows
unasked is never slow and never an error: large things show their corners, things without a picture none. What a fence,
a directive or a command line holds, an expression and options as texts, is parsed, nothing evaluated.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, fields, replace
from html import escape
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ..errors import BARE, CutepyError, DrawError, NotationError, shown
from ..layout.text.parse import Lines, parse_expression, parse_tiler, several_lines
from . import palette
from .grid import Figure, shorten
from .look import SUFFIXES, CellFunction, Look, Options, Style, View, ViewName, expect_options
from .printers.html import Html, boxed, html, page
from .printers.svg import png, svg, vector
from .printers.text import text
from .printers.tikz import tikz
from .views import NAMED, figure_of, view_of

if TYPE_CHECKING:
    from ..explore.pack import Explorer

NOTEBOOK_CELLS = 1024
"""Above so many cells a notebook shows the corners, or no more than a picture."""
SESSION_CELLS, SESSION_WIDTH = 256, 110
"""Up to so many cells, and characters a line, a session shows a drawing as text."""


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """A figure and its style. A notebook shows it as a picture, `print` as text.

    >>> from cutepy.layout import Layout
    >>> print(draw(Layout((2, 3), (3, 1))))
    (2,3):(3,1)
          0   1   2
        +---+---+---+
     0  | 0 | 1 | 2 |
        +---+---+---+
     1  | 3 | 4 | 5 |
        +---+---+---+

    >>> picture = draw(Layout((2, 3), (3, 1)))
    >>> picture.svg()[:4], picture.html()[:7]
    ('<svg', '<figure')
    >>> picture.text() == str(picture), picture.encoded(".svg") == picture.svg().encode()
    (True, True)
    >>> "tikzpicture" in picture.tikz(body=True), picture.explore()
    (True, Explorer('(2,3):(3,1)'))
    >>> import tempfile
    >>> picture.save(Path(tempfile.mkdtemp()) / "offsets.svg").name
    'offsets.svg'
    """

    figure: Figure
    style: Style = field(default_factory=Style)
    asked: tuple[object, ...] = field(default=(), compare=False)
    """What `draw` was given: the thing, the view, the colour and the label."""

    def explore(self) -> Explorer:
        """The page that shows the same and takes it from there; `.open()` opens it, `.save(path)` writes it.

        Raises LayoutError where the picture is of something that no text writes down.
        """
        from ..explore.pack import explore

        return explore(*self.asked, style=self.style)

    def svg(self) -> str:
        """An SVG file: stands alone, or inside a page as it is."""
        return svg(self.figure, self.style)

    def html(self) -> Html:
        """An HTML element whose cells show the sum that gives their value; a notebook shows the result as such."""
        return html(self.figure, self.style)

    def text(self, *, ansi: bool = False, width: int | None = None) -> str:
        """Lines of text; `ansi` colours them for a terminal, `width` is the most characters that a table may take."""
        return text(self.figure, ansi=ansi, room=width)

    def tikz(self, *, body: bool = False) -> str:
        """A LaTeX document, or with `body` the `tikzpicture` alone. Raises DrawError above 4,096 cells."""
        return tikz(self.figure, body=body)

    def png(self, scale: float = 2.0) -> bytes:
        """A PNG file. Raises DrawError where the extra `png` is not installed.

        >>> try:
        ...     print(draw("(2,3):(3,1)").png()[1:4])
        ... except DrawError:  # the extra is not installed
        ...     print(b"PNG")
        b'PNG'
        """
        return png(self.figure, self.style, scale)

    def pdf(self) -> bytes:
        """A PDF file. Raises DrawError where the extra `pdf` is not installed.

        >>> try:
        ...     print(draw("(2,3):(3,1)").pdf()[:4])
        ... except DrawError:  # the extra is not installed
        ...     print(b"%PDF")
        b'%PDF'
        """
        return vector(self.figure, self.style, "pdf")

    def save(self, path: str | Path) -> Path:
        """Write the format that the suffix names: .svg, .html, .txt, .tex, .png, .pdf or .eps; returns the path.

        Raises DrawError for another suffix, before anything is written.
        """
        target = Path(path)
        target.write_bytes(self.encoded(target.suffix.lower()))
        return target

    def encoded(self, suffix: str) -> bytes:
        """The bytes of a file with that suffix.

        >>> from cutepy import draw
        >>> draw("(2,3):(3,1)").encoded(".svg")[:4]
        b'<svg'

        Raises DrawError for another suffix, and where the extra that writes it is not installed.
        """
        printers: dict[str, Callable[[], str | bytes]] = {
            ".svg": self.svg,
            ".html": lambda: page(self.figure, self.style),
            ".txt": lambda: self.text() + "\n",
            ".tex": self.tikz,
            ".png": self.png,
            ".pdf": self.pdf,
            ".eps": lambda: vector(self.figure, self.style, "eps"),
        }
        if suffix not in printers:
            raise DrawError(f"a drawing has no format {suffix!r}; name the file {', '.join(SUFFIXES)}")
        content = printers[suffix]()
        return content if isinstance(content, bytes) else content.encode()

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """For notebooks: cells that answer the pointer; an SVG or a PNG where `display(..., include=...)` names it."""
        # Large figures are given as SVG: a table of thousands of cells slows a notebook down.
        few = self.figure.cells <= NOTEBOOK_CELLS
        bundle = {"text/html": str(self.html()) if few else boxed(self.svg()), "text/plain": repr(self)}
        if "image/svg+xml" in (include or ()):
            bundle["image/svg+xml"] = self.svg()
        if "image/png" in (include or ()):
            bundle["image/png"] = b2a_base64(self.png(), newline=False).decode()
        return {kind: shown for kind, shown in bundle.items() if kind not in (exclude or ())}

    def __rich__(self) -> object:
        """Coloured lines for the `rich` package, which calls this."""
        return import_module("rich.text").Text.from_ansi(self.text(ansi=True))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        if self.figure.cells <= SESSION_CELLS:
            lines = self.text()
            if max(map(len, lines.split("\n"))) <= SESSION_WIDTH:
                return lines
        return f"<Drawing of {shorten(self.figure.title or 'a figure', 60)}: {self.figure.cells} cells>"


def draw(
    thing: object,
    *,
    view: ViewName | View | None = None,
    color: str | CellFunction | None = None,
    label: str | CellFunction | None = None,
    style: Style | None = None,
    **options: Unpack[Options],
) -> Drawing:
    """A picture of `thing`: a layout, a tensor, an atom, a call of the algebra, a text of one, or a list of things.

    `view` says what to show: "grid" (offsets at coordinates), "memory" (coordinates at offsets), "tree" (the nesting),
    "tiles", "tv" (threads and values), "banks", "swizzle", "steps", "compare" (several layouts, and where they differ),
    of tensors and atoms "data", "mma", "copy", or an object of `cutepy.draw`. `color` and `label` are names that the
    view lists when it does not know one, or functions of (coordinate, value).

    Views have options, which choose their view: `tiler`, `tile`, `threads`, `thread` (tiles), `over` (tv), `width`
    (memory), `element_bytes`, `banks`, `bank_bytes` (banks). All have `title`, `theme` ("auto", "light", "dark"),
    `heads` ("nested", "index", "none"), `palette` ("distinct", "ordered", or colours, "#e41a1c #377eb8"), `cell_size`
    (pixels at least), `legend`, `highlight` (a coordinate with `_`), `limit` (cells above which only the corners are
    drawn) and `background`; `style` holds these together.

    >>> from cutepy.layout import Layout
    >>> print(draw(Layout((2, 4), (4, 1)), tiler=(2, 2), title="two tiles"))
    two tiles
          0   1   2   3
        +---+---+---+---+
     0  | 0 | 1 ║ 2 | 3 |
        +---+---+---+---+
     1  | 4 | 5 ║ 6 | 7 |
        +---+---+---+---+

    Raises DrawError, with what is possible, where the thing, the view and the options do not go together.
    """
    expect_options(options)
    if not isinstance(style, Style | None):
        raise DrawError(f"style={shown(style)}: it is a Style, whose fields draw takes by name, too")
    # An option is a field of Style or a parameter of the view; no name is both.
    own = {field.name for field in fields(Style)}
    chosen = (style or Style()).but(**{name: value for name, value in options.items() if name in own})
    asked = view_of(view, {name: value for name, value in options.items() if name not in own})
    try:
        figure = figure_of(thing, asked, Look(color, label, chosen))
    except BARE as error:
        if isinstance(error, CutepyError) or callable(color) or callable(label):
            raise  # what a function of the user's raises is the user's own
        given = "".join(f", {name}={shown(value)}" for name, value in options.items())
        raise DrawError(f"draw({shown(thing)}{given}): this has no picture: {error}") from error
    if chosen.own_colors:
        figure = figure.painted(lambda paint: palette.recolored(paint, chosen.own_colors))
    if chosen.cell_size:
        figure = figure.mapped(lambda grid: replace(grid, cell_size=chosen.cell_size))
    return Drawing(figure, chosen, (thing, asked, color, label))


def bundle_of(
    thing: object, include: Container[str] | None = None, exclude: Container[str] | None = None
) -> dict[str, str]:
    """What a notebook shows of a thing: its picture, of large ones the corners; without one what it tells.

    >>> from cutepy.layout import Layout
    >>> list(bundle_of(Layout((4, 8)))), bundle_of(7)
    (['text/html', 'text/plain'], {})
    """
    try:
        bundle = draw(thing, limit=NOTEBOOK_CELLS)._repr_mimebundle_(include, exclude)
    except (CutepyError, TypeError, ValueError):  # a tensor under a trace holds expressions, not numbers
        if str(thing) == repr(thing) and "\n" not in repr(thing):
            return {}
        bundle = {"text/html": f"<pre>{escape(str(thing))}</pre>"}
    return bundle | {"text/plain": repr(thing)}


def _flag(text: str) -> object:
    answer = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(text.lower())
    if answer is None:
        raise DrawError(f"{text!r}: write true or false")
    return answer


def _integer(text: str) -> object:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise DrawError(f"{text!r}: write a whole number")
    return int(text)


_READ: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("legend", "background"), _flag),
    **dict.fromkeys(("limit", "cell_size", "width", "thread", "element_bytes", "banks", "bank_bytes"), _integer),
    **dict.fromkeys(("highlight", "tiler", "tile", "threads", "over"), parse_tiler),
}
"""How options are read that are more than a text."""


def drawing_of(text: str, options: Mapping[str, str] | None = None) -> Drawing:
    """The drawing of an expression with options as texts; `view` may have its parameter behind it.

    >>> print(drawing_of("zipped_divide((4,4):(4,1), (2,2))", {"color": "tile"}).figure.title)
    ((2,2),(2,2)):((4,1),(8,2))
    >>> drawing_of("(4,4):(4,1)", {"view": "tiles (2,2)"}).figure.legend[0]
    ('c0', '0')

    Raises NotationError with a caret for the text, and DrawError naming the option for an option.
    """
    expect_options(options or {})
    lines = several_lines(text)
    expression = Lines(text, tuple(lines)) if lines else parse_expression(text)
    name, given = view_and_options(options or {})
    values = {option: _read(option, given[option]) for option in given}
    if name:
        values["view"] = name
    return draw(expression, **values)  # type: ignore[arg-type]  # each was read as its option has it


def view_and_options(options: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The view that options name, or nothing, and the other options; a parameter behind the view is one of them.

    >>> view_and_options({"view": "tiles (2,2)", "color": "tile"})
    ('tiles', {'color': 'tile', 'tiler': '(2,2)'})
    """
    given = dict(options)
    name, _blank, parameter = given.pop("view", "").strip().partition(" ")
    # "tiles (2,2)": the text after the name is the view's first parameter.
    if parameter and name in NAMED:
        first = next(iter(signature(NAMED[name]).parameters), None)
        if first is None:
            raise DrawError(f"view {name!r} has no options, so {parameter!r} has no place")
        given[first] = parameter
    return name, given


def _read(name: str, text: str) -> object:
    try:
        return _READ.get(name, str)(text)
    except (NotationError, DrawError) as error:
        raise DrawError(f"{name}: {error}") from None


def read_body(source: str) -> tuple[str, dict[str, str]]:
    """The expression and the options of a fence: its first line that is not empty, and `key: value` lines after it.

    Further lines of the expression, named or not, stand before the options.

    >>> read_body("(4,4):(4,1)\\ncolor: row\\n\\ntitle: Rows: first")
    ('(4,4):(4,1)', {'color': 'row', 'title': 'Rows: first'})

    Raises DrawError, with the line number, for a line that is neither, a key given twice, or nothing at all.
    """
    lines = [(number, line.strip()) for number, line in enumerate(source.splitlines(), 1) if line.strip()]
    if not lines:
        raise DrawError("line 1: nothing to draw; write a layout such as (4,8):(8,1)")
    options: dict[str, str] = {}
    count = next((k for k, (_number, line) in enumerate(lines) if k and not _is_expression(line, source)), len(lines))
    for number, line in lines[count:]:
        key, colon, value = (text.strip() for text in line.partition(":"))
        if not colon or not key.replace("_", "").isalpha():
            raise DrawError(f"line {number}: {line!r} is not 'key: value'; the layout stands on the first line alone")
        if key in options:
            raise DrawError(f"line {number}: {key} is given twice")
        options[key] = value
    return "\n".join(line for _number, line in lines[:count]), options


_OPTION = re.compile(r"[A-Za-z_]+\s*:|[^():<=]*$")


def _is_expression(line: str, source: str) -> bool:
    """True for a line of a fence that is no option and no mistyped one: a named value, or a further layout."""
    return not _OPTION.match(line) or (line.isidentifier() and re.search(rf"(?m)^\s*{line}\s*=", source) is not None)
