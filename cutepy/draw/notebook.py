"""What a notebook shows for a thing that was not drawn by hand.

Never slow and never an error: large things show their corners, things without a picture none.
"""

from __future__ import annotations

from ..errors import CutepyError
from .drawing import draw
from .look import Style

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
