"""`cutepy print` and `cutepy explain`: layouts as text.

Law: what is read is parsed, never evaluated by Python; NumPy is not loaded.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from ..draw import draw
from ..errors import CommandError
from ..layout import ComposedLayout, Layout, explain
from ..layout.text.expression import FUNCTIONS, parse_call, parse_expression
from ..layout.text.write import to_cpp, to_latex, to_pycute
from .output import check_target, write_text

AnyLayout = Layout | ComposedLayout

_WRITERS: dict[str, Callable[[AnyLayout], str]] = {
    "cute": str,
    "python": repr,
    "cpp": to_cpp,
    "pycute": to_pycute,
    "latex": to_latex,
}


def run_print(options: Namespace) -> None:
    """Write the table of a layout's offsets, or the layout in another notation."""
    check_target(options.output)
    value = parse_expression(options.layout).value
    if not isinstance(value, AnyLayout):
        write_text(options.output, str(value))
    elif options.to == "grid":
        write_text(options.output, _table(value))
    else:
        write_text(options.output, _WRITERS[options.to](value))


def _table(layout: AnyLayout) -> str:
    """CuTe's table for ranks 1 and 2, one table a slice above."""
    if layout.rank <= 2:
        return layout.grid()
    return draw(layout, view="grid").text()


def run_explain(options: Namespace) -> None:
    """Write the steps from operands to result, or to the refusal."""
    check_target(options.output)
    function, operands = parse_call(options.call)
    if not function:
        raise CommandError(f"{options.call}: explain takes a call, such as composition((4,2):(2,1), (2,2):(4,1))")
    try:
        told = explain(FUNCTIONS[function], *operands)
    except TypeError as error:
        what = str(error).partition("() ")[2] or str(error)
        raise CommandError(f"{options.call}: {function} does not take these operands: {what}") from error
    write_text(options.output, str(told))
