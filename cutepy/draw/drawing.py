"""`draw(thing)` and the `Drawing` that it gives: a figure, ready to be printed in any format.

Views say how a thing becomes a figure; `register` adds one for a type that is not a layout. What a notebook shows
unasked is never slow and never an error: large things show their corners, things without a picture none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from ..errors import CutepyError, DrawError
from .grid import Figure
from .look import CellFunction, Look, Style, View
from .printers.html import Html, html, page
from .printers.svg import png, svg
from .printers.text import text
from .printers.tikz import tikz
from .safe import shorten
from .views import figure_of

SUFFIXES = (".svg", ".html", ".txt", ".tex", ".png")


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
    """

    figure: Figure
    style: Style = field(default_factory=Style)

    def svg(self) -> str:
        """An SVG file: stands alone, or inside a page as it is."""
        return svg(self.figure, self.style)

    def html(self) -> Html:
        """An HTML element whose cells tell how their value comes about; a notebook shows the result as such."""
        return html(self.figure, self.style)

    def text(self, *, ansi: bool = False) -> str:
        """Lines of text; `ansi` colours them for a terminal."""
        return text(self.figure, ansi=ansi)

    def tikz(self, *, body: bool = False) -> str:
        """A LaTeX document, or with `body` the `tikzpicture` alone. Raises DrawError above 4,096 cells."""
        return tikz(self.figure, body=body)

    def png(self, scale: float = 2.0) -> bytes:
        """A PNG file. Raises DrawError where the extra `png` is not installed."""
        return png(self.figure, self.style, scale)

    def save(self, path: str | Path) -> Path:
        """Write the format that the suffix names: .svg, .html, .txt, .tex or .png; returns the path.

        Raises DrawError for another suffix, before anything is written.
        """
        target = Path(path)
        target.write_bytes(self.encoded(target.suffix))
        return target

    def encoded(self, suffix: str) -> bytes:
        """The bytes of a file with that suffix."""
        if suffix == ".png":
            return self.png()
        printers: dict[str, Callable[[], str]] = {
            ".svg": self.svg,
            ".html": lambda: page(self.figure, self.style),
            ".txt": lambda: self.text() + "\n",
            ".tex": self.tikz,
        }
        if suffix not in printers:
            raise DrawError(f"a drawing has no format {suffix!r}; name the file {', '.join(SUFFIXES)}")
        return printers[suffix]().encode()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __rich__(self) -> object:
        """Coloured lines for the `rich` package, which calls this."""
        return import_module("rich.text").Text.from_ansi(self.text(ansi=True))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Drawing of {shorten(self.figure.title or 'a figure', 60)}: {self.figure.cells} cells>"


def draw(
    thing: object,
    *,
    view: str | View | None = None,
    color: str | CellFunction | None = None,
    label: str | CellFunction | None = None,
    style: Style | None = None,
) -> Drawing:
    """A picture of `thing`: a layout, a tensor, an atom, a call of the algebra, a text of one, or a list of things.

    `view` says what to show: "grid" (offsets at coordinates), "memory" (coordinates at offsets), "tree" (the nesting),
    "tiles", "tv", "banks", "swizzle", "steps", or an object of `cutepy.draw` with its parameters: `Tiles((4, 4))`,
    `ThreadValue((8, 8))`. `color` and `label` are names that the view lists when it does not know one, or functions of
    (coordinate, value). Everything else is in `style`.

    >>> from cutepy.layout import Layout
    >>> draw(Layout((8, 8)), color="column")
    <Drawing of (8,8):(1,8): 64 cells>

    Raises DrawError, with what is possible, where the thing, the view and the options do not go together.
    """
    style = style if style is not None else Style()
    return Drawing(figure_of(thing, view, Look(color, label, style)), style)


NOTEBOOK_CELLS = 1024


def svg_of(thing: object) -> str | None:
    """The SVG of a layout or a tensor as a notebook shows it: up to 1,024 cells, corners above; None if there is none.

    >>> from cutepy.layout import Layout
    >>> (svg_of(Layout((4, 8))) or "")[:4], svg_of("no layout")
    ('<svg', None)
    """
    try:
        return draw(thing, style=Style(limit=NOTEBOOK_CELLS)).svg()
    except (CutepyError, TypeError, ValueError):  # a tensor under a trace holds expressions, not numbers
        return None
