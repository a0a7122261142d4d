"""What is found by name when first asked for: what upper rooms do with a value of a lower one, rare exports.

Law: a lower room knows the name of what it asks for, never the module; the package that has it says so with `provide`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def exported(package: str, later: Mapping[str, str], name: str) -> object:
    """What `package` exports under `name` from a module that is loaded now: `later[name]`, or the module of that name.

    >>> exported("cutepy.layout", {"parse_layout": "text.parse"}, "parse_layout")("(4,8):(8,1)")
    Layout((4, 8), (8, 1))

    Raises AttributeError for another name.
    """
    if name not in later:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = import_module(f".{later[name] or name}", package)
    return getattr(module, name) if later[name] else module
