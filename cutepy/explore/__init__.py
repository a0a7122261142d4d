"""The explorer: one HTML file in which cutepy itself runs, to look at layouts by hand.

`answers` is what the page asks, `accesses` what threads do, `pack` makes the file. The page imports `answers` alone.
"""

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .pack import Explorer, explore

__getattr__ = lazy_exports(__name__, {"pack": "Explorer explore"})

__all__ = ["Explorer", "explore"]
