"""`cutepy explore`: the page that runs cutepy itself, written or opened."""

from __future__ import annotations

from argparse import Namespace

from ..explore.pack import FIRST, explore
from .output import check_target, read_input, write_text


def run_explore(options: Namespace) -> None:
    """Write the page, or open it in the browser and say where it lies."""
    page = explore(read_input(options.layout) if options.layout is not None else FIRST, options.view)
    if options.output:
        check_target(options.output)
        write_text(options.output, page.html())
    else:
        print(page.open())
