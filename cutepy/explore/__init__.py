"""The explorer: one HTML file in which cutepy itself runs, to look at layouts by hand.

`answers` is what the page asks, `accesses` what threads do, `pack` makes the file. The page imports `answers` alone.
"""

from typing import TYPE_CHECKING

from ..layout.values.above import exported as _exported

if TYPE_CHECKING:
    from .pack import Explorer as Explorer
    from .pack import explore as explore

LATER = {"Explorer": "pack", "explore": "pack"}


def __getattr__(name: str) -> object:
    return _exported(__name__, LATER, name)
