"""What a thread-value layout gives each lane: the one place where such a layout is checked and listed.

Law: row t of `lanes_of` is the layout at (t, v) for every v in order; modes after the first count v together.
"""

from __future__ import annotations

from ...errors import LayoutError
from ..values.composed import AnyLayout
from ..values.size import is_unknown
from .swizzled import listed

MOST_ASKED = 1 << 17
"""The most elements of a layout that is asked about."""


def check_known(call: str, layout: object) -> None:
    """Raises LayoutError for what is no layout of known sizes."""
    if not isinstance(layout, AnyLayout) or is_unknown(layout):
        raise LayoutError(
            f"{call}: {layout} is no layout of known sizes, from (lane, value) to an element; write Layout(...), and "
            "put values in with subs"
        )


def check_listed(call: str, layout: AnyLayout, most: int = MOST_ASKED) -> None:
    """Raises LayoutError for what is no layout of known sizes, or has more elements."""
    check_known(call, layout)
    if layout.size > most:
        raise LayoutError(f"{call}: {layout.size} elements, of which at most {most} are looked at; slice it")


def numbers_of(call: str, layout: AnyLayout, most: int = MOST_ASKED, tile: int | None = None) -> list[int]:
    """What the layout gives at every index.

    >>> from cutepy.layout import Layout
    >>> numbers_of("offsets", Layout((2, 3), (3, 1)))
    [0, 3, 1, 4, 2, 5]

    Raises LayoutError for coordinates, and for what is none of the `tile` elements of a tile.
    """
    check_listed(call, layout, most)
    found = listed(layout)
    for index, number in enumerate(found):
        if type(number) is not int or not (tile is None or 0 <= number < tile):
            lanes = layout[0].size if layout.rank else 1
            right = (
                "numbers; take one axis with axis_layout" if tile is None else f"0 to {tile - 1}, first mode fastest"
            )
            raise LayoutError(
                f"{call}: at lane {index % lanes}, value {index // lanes} it is {number}; elements are {right}"
            )
    return found


def lanes_of(call: str, layout: AnyLayout, most: int = MOST_ASKED, tile: int | None = None) -> list[list[int]]:
    """A row for each lane: what the layout gives at each of its values. Raises LayoutError as `numbers_of`.

    >>> from cutepy.layout import Layout
    >>> lanes_of("offsets", Layout((2, 3), (3, 1)))
    [[0, 1, 2], [3, 4, 5]]
    """
    found = numbers_of(call, layout, most, tile)
    lanes = layout[0].size if layout.rank else 1
    return [found[lane::lanes] for lane in range(lanes)]
