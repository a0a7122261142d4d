"""The Sphinx directive: `.. layout:: (4,8):(1,4)` for HTML, LaTeX and text; through MyST a fence works as well.

Sphinx alone loads this module. In `conf.py`:

    extensions = ["cutepy.sphinxext"]          # and "myst_parser" with
    myst_fence_as_directive = ["layout"]       # if the fences shall be the same as in Markdown

The argument or the first line of the content is the expression; further lines of the content, and options, are as in a
fence. A layout that cannot be drawn is an error of the document, with file and line.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata, OptionSpec

from .docs import DOC_OPTIONS, drawing_of_body, figure
from .draw import Drawing
from .draw.printers.tikz import LARGEST
from .draw.request import OPTIONS
from .errors import CutepyError


class Writer(Protocol):
    """What this module asks of a writer that appends to a text."""

    body: list[str]

    def encode(self, text: str) -> str:
        """Escape a text for the format."""
        ...


class TextWriter(Protocol):
    """What this module asks of the writer of plain text."""

    def new_state(self, indent: int = ...) -> None:
        """Begin a paragraph."""
        ...

    def add_text(self, text: str) -> None:
        """Add to it."""
        ...

    def end_state(self, wrap: bool = ...) -> None:
        """End it."""
        ...


class layout_node(nodes.General, nodes.Element):
    """A drawing in a document, as its text: doctrees are pickled, and every builder prints it in its own format."""


class LayoutDirective(SphinxDirective):
    """`layout`: one drawing."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[OptionSpec] = dict.fromkeys((*OPTIONS, *DOC_OPTIONS, "name", "class"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """The node of the drawing; an error where there is none."""
        body = "\n".join([*self.arguments, *self.content])
        given = {name: value for name, value in self.options.items() if name not in ("name", "class")}
        try:
            _drawing, said = drawing_of_body(body, given)
        except CutepyError as error:
            raise self.error(f"layout: {error}") from error
        node = layout_node("", body=body, given=given, said=said, classes=self.options.get("class", "").split())
        self.set_source_info(node)
        self.add_name(node)
        return [node]


def _drawing(node: nodes.Element) -> Drawing:
    return drawing_of_body(node["body"], node["given"])[0]


def _html(writer: Writer, node: nodes.Element) -> None:
    names = " ".join(["cutepy", "layout", *node["classes"]])
    ids = f' id="{node["ids"][0]}"' if node["ids"] else ""
    writer.body.append(figure(_drawing(node), node["said"], f'class="{names}"{ids}'))


def _nothing(writer: Writer, node: nodes.Element) -> None:
    """There is nothing to close."""


def _latex(writer: Writer, node: nodes.Element) -> None:
    """TikZ in the text; pictures that TeX has no memory for are printed as text."""
    drawing = _drawing(node)
    picture = _fitted(drawing.tikz(body=True)) if drawing.figure.cells <= LARGEST else _verbatim(drawing)
    caption = node["said"].get("caption", "")
    below = f"\n\n{writer.encode(caption)}" if caption else ""
    writer.body.append(f"\n\\begin{{center}}\n{picture}{below}\n\\end{{center}}\n")
    raise nodes.SkipNode


def _fitted(picture: str) -> str:
    """No wider than the line."""
    return (
        f"\\sbox0{{%\n{picture}}}%\n"
        "\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n"
    )


def _verbatim(drawing: Drawing) -> str:
    return f"\\begin{{sphinxVerbatim}}[fontsize=\\tiny]\n{drawing.text()}\n\\end{{sphinxVerbatim}}\n"


def _text(writer: TextWriter, node: nodes.Element) -> None:
    caption = node["said"].get("caption", "")
    writer.new_state(0)
    writer.add_text(_drawing(node).text() + (f"\n\n{caption}" if caption else ""))
    writer.end_state(wrap=False)
    raise nodes.SkipNode


def _man(writer: Writer, node: nodes.Element) -> None:
    lines = _drawing(node).text().replace("\\", "\\\\").replace("\n.", "\n\\&.")
    writer.body.append(f"\n.nf\n{lines}\n.fi\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive, its node and the LaTeX packages."""
    app.add_node(
        layout_node,
        html=(_html, _nothing),
        latex=(_latex, None),
        text=(_text, None),
        man=(_man, None),
    )
    app.add_directive("layout", LayoutDirective)
    app.add_latex_package("tikz")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
