"""Pictures that tell: the fewest of the gallery in which every way is that it draws a cell, a line or a label."""

import re
from collections.abc import Callable
from functools import cache

from gallery import GALLERY

from cutepy.draw import Drawing


def ways(text: str) -> set[str]:
    """What an SVG says of its shapes and of its lines of labels, but for where they stand: paints, strokes, fonts."""
    return {re.sub(r' (?:d|transform)="[^"]*"', "", way) for way in re.findall(r"<(?:g|path)\b([^>]*)>", text)}


@cache
def telling() -> dict[str, Callable[[], Drawing]]:
    """Name and maker of each, one after the other that which shows most of what is left."""
    shown = {name: ways(make().svg()) for name, make in GALLERY.items()}
    left, chosen = set().union(*shown.values()), {}
    while left:
        name = max(shown, key=lambda name: len(shown[name] & left))
        left -= shown[name]
        chosen[name] = GALLERY[name]
    return chosen
