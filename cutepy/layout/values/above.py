"""What upper rooms do with a value of a lower one: read it, write it, draw it; found by name when first asked for.

Law: a lower room knows the name of what it asks for, never the module; the module that has it says so with `provide`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

_WHERE: dict[str, str] = {}


def provide(**where: str) -> None:
    """Say where functions are, each as `name="module:function"`.

    >>> provide(svg_of="cutepy.draw.drawing:svg_of")
    """
    _WHERE.update(where)
    above.cache_clear()


@lru_cache(maxsize=256)
def above(name: str) -> Callable[..., Any]:
    """The function that an upper room provides under `name`.

    >>> above("parse_layout")("(4,8):(8,1)")
    Layout((4, 8), (8, 1))
    """
    module, _, function = _WHERE[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def svg_of(thing: object) -> str | None:
    """The picture that a notebook shows of a layout, as SVG; None where nobody draws, or nothing can be drawn of it."""
    picture: str | None = above("svg_of")(thing) if "svg_of" in _WHERE else None
    return picture
