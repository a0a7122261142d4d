"""`cutepy print` and `cutepy explain`: layouts as text.

Law: what is read is parsed, never evaluated by Python; NumPy is not loaded.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable

from ..draw import draw
from ..errors import CommandError
from ..layout import explain
from ..layout.text.expression import parse_call, parse_expression
from ..layout.text.write import to_cpp, to_latex, to_pycute
from ..layout.values.composed import AnyLayout
from .output import check_target, write_text

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
        # CuTe's table for ranks 1 and 2, one table a slice above
        write_text(options.output, value.grid() if value.rank <= 2 else draw(value, view="grid").text())
    else:
        write_text(options.output, _WRITERS[options.to](value))


def run_explain(options: Namespace) -> None:
    """Write the steps from operands to result, or to the refusal."""
    check_target(options.output)
    function, _operands = parse_call(options.call)
    if not function:
        raise CommandError(f"{options.call}: explain takes a call, such as composition((4,2):(2,1), (2,2):(4,1))")
    try:
        told = explain(options.call)
    except TypeError as error:
        what = str(error).partition("() ")[2] or str(error)
        raise CommandError(f"{options.call}: {function} does not take these operands: {what}") from error
    write_text(options.output, str(told))
