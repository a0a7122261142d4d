"""The Sphinx directive: `.. layout:: (4,8):(1,4)` for HTML, LaTeX and text; through MyST a fence works as well.

Sphinx alone loads this module. In `conf.py`:

    extensions = ["cutepy.sphinxext"]          # and "myst_parser" with
    myst_fence_as_directive = ["layout"]       # if the fences shall be the same as in Markdown

The argument or the first line of the content is the expression; further lines of the content, and options, are as in a
fence; `:caption:` takes inline markup, `:name:` is a target for `:ref:` and `:numref:`. A layout that cannot be drawn
is an error of the document, with file and line.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata, OptionSpec

from .docs import DOC_OPTIONS, drawing_of_body, latex, live_attribute, sized
from .draw import Drawing
from .draw.live import script
from .draw.look import OPTIONS
from .draw.printers.tikz import LARGEST
from .errors import CutepyError

Writer = Any  # what prints a document in one format: docutils ships no types


class layout_node(nodes.General, nodes.Element):
    """A drawing in a document, as its text: doctrees are pickled, and every builder prints it in its own format."""


class LayoutDirective(SphinxDirective):
    """`layout`: one drawing; with a caption, a name or an alignment it is a figure as Sphinx knows it, so that `:ref:`
    and `:numref:` find it and every builder places it."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[OptionSpec] = dict.fromkeys((*OPTIONS, *DOC_OPTIONS, "class"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """The node of the drawing; an error where there is none."""
        body = "\n".join([*self.arguments, *self.content])
        given = {name: value for name, value in self.options.items() if name != "class"}
        try:
            _drawing, said = drawing_of_body(body, given)
        except CutepyError as error:
            raise self.error(f"layout: {error}") from error
        node = layout_node("", body=body, given=given, said=said, classes=self.options.get("class", "").split())
        self.set_source_info(node)
        if not {"caption", "name", "align"} & said.keys():
            return [node]
        figure = nodes.figure("", node, align=said.get("align", "default"), classes=["cutepy"])
        self.set_source_info(figure)
        if "caption" in said:
            parsed, messages = self.parse_inline(said["caption"])
            figure += nodes.caption(said["caption"], "", *parsed, *messages)
        self.options.setdefault("name", said.get("name", ""))
        if self.options["name"]:
            self.add_name(figure)
        return [figure]


def _drawing(node: nodes.Element) -> Drawing:
    return drawing_of_body(node["body"], node["given"])[0]


def _html(writer: Writer, node: nodes.Element) -> None:
    names = " ".join(["cutepy", "layout", *node["classes"]])
    label = f' aria-label="{writer.encode(node["said"]["alt"])}"' if "alt" in node["said"] else ""
    drawing = _drawing(node)
    picture, live = sized(drawing, node["said"]), live_attribute(drawing)
    writer.body.append(f'<div class="{names}"{label}{live} style="overflow-x:auto">{picture}</div>')


def _with_script(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """The script that makes pictures answer, for the pages that have some."""
    if " data-live=" in context.get("body", ""):
        app.add_js_file(None, body=script())


def _nothing(writer: Writer, node: nodes.Element) -> None:
    """There is nothing to close."""


def _latex(writer: Writer, node: nodes.Element) -> None:
    """TikZ in the text; pictures that TeX has no memory for are printed as text."""
    drawing, inside = _drawing(node), isinstance(node.parent, nodes.figure)
    picture = latex(drawing, node["said"]) if drawing.figure.cells <= LARGEST else _verbatim(drawing)
    whole = f"\n{picture}" if inside else f"\n\\begin{{center}}\n{picture}\n\\end{{center}}\n"
    writer.body.append(whole)
    raise nodes.SkipNode


def _verbatim(drawing: Drawing) -> str:
    return f"\\begin{{sphinxVerbatim}}[fontsize=\\tiny]\n{drawing.text()}\n\\end{{sphinxVerbatim}}\n"


def _text(writer: Writer, node: nodes.Element) -> None:
    writer.new_state(0)
    writer.add_text(_drawing(node).text())
    writer.end_state(wrap=False)
    raise nodes.SkipNode


def _man(writer: Writer, node: nodes.Element) -> None:
    lines = _drawing(node).text().replace("\\", "\\\\").replace("\n.", "\n\\&.")
    writer.body.append(f"\n.nf\n{lines}\n.fi\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive, its node and the LaTeX packages."""
    app.add_node(layout_node, html=(_html, _nothing), latex=(_latex, None), text=(_text, None), man=(_man, None))
    app.add_directive("layout", LayoutDirective)
    app.add_latex_package("tikz")
    app.connect("html-page-context", _with_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
