"""How layouts show themselves in a notebook: a place that the drawing layer fills.

Imports nothing. `layout` knows no pictures; whoever has some says so with `show_with`, by function or by the name of
one that is imported when the first picture is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

Render: TypeAlias = Callable[[object], "str | None"]

_renderers: list[Render] = []


def show_with(render: Render | str) -> None:
    """Show layouts with `render`, or with the function that `"module:name"` names, found when it is first needed.

    >>> show_with("cutepy.draw.notebook:svg_of")
    """
    _renderers[:] = [_named(render) if isinstance(render, str) else render]


def svg_of(thing: object) -> str | None:
    """The picture of a layout as SVG; None where nobody draws, or nothing can be drawn of it."""
    return _renderers[0](thing) if _renderers else None


def _named(path: str) -> Render:
    module, _, name = path.partition(":")

    def render(thing: object) -> str | None:
        found: Render = getattr(import_module(module), name)
        return found(thing)

    return render
