"""Which view shows what: by name, by type, by what a thing has.

Imports every view. `register(type, view)` adds a type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import DrawError
from .grid import Figure
from .look import Look
from .plain import Plain

if TYPE_CHECKING:
    from .drawing import View

NAMED: dict[str, Callable[[], View]] = {"grid": Plain}


def figure_of(thing: object, view: str | View | None, look: Look) -> Figure:
    return Plain().figure(thing, look)
