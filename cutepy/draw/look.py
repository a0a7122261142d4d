"""How a picture is asked for: its colours, its labels, its style."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, get_args

from ..errors import DrawError
from ..layout.values.coordinates import Coordinate
from .grid import Figure

CellFunction: TypeAlias = Callable[[Coordinate, object], object]
"""From the coordinate of a cell and its value to a colour number or a label."""

Theme: TypeAlias = Literal["auto", "light", "dark"]
Heads: TypeAlias = Literal["nested", "index", "none"]

DRAWN_CELLS = 128 * 128
"""Pictures of more cells show their corners instead."""


@dataclass(frozen=True, slots=True)
class Style:
    """Everything about a picture but its content.

    `title`: the line above, the layout itself if None, nothing if empty. `theme`: "auto" follows the reader's system,
    "light" and "dark" do not. `heads`: coordinates beside the grid level by level ("nested"), plain indices, or none.
    `legend`: what colours mean, where labels do not say it. `highlight`: a coordinate with `_`, whose cells are framed.
    `limit`: above so many cells only the corners are drawn. `background`: a sheet behind the picture, so that it can be
    read on any page.
    """

    title: str | None = None
    theme: Theme = "auto"
    heads: Heads = "nested"
    legend: bool = True
    highlight: Coordinate = None
    limit: int = DRAWN_CELLS
    background: bool = True

    def __post_init__(self) -> None:
        for name, allowed in (("theme", get_args(Theme)), ("heads", get_args(Heads))):
            if getattr(self, name) not in allowed:
                raise DrawError(f"Style({name}={getattr(self, name)!r}): it is one of {', '.join(allowed)}")
        if type(self.limit) is not int or not 16 <= self.limit <= 1 << 18:
            raise DrawError(f"Style(limit={self.limit!r}): the number of cells is from 16 to {1 << 18}")

    def but(self, **changes: object) -> Style:
        """The same style with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Look:
    """What a view is asked for: colours and labels by name or by function, and the style."""

    color: str | CellFunction | None = None
    label: str | CellFunction | None = None
    style: Style = Style()

    def colored_by(self, *allowed: str) -> str | CellFunction:
        """The asked-for colour, the first of `allowed` if none was asked for; DrawError for another name."""
        return _chosen("color", self.color, allowed)

    def labelled_by(self, *allowed: str) -> str | CellFunction:
        """The asked-for label, the first of `allowed` if none was asked for; DrawError for another name."""
        return _chosen("label", self.label, allowed)


def _chosen(what: str, asked: str | CellFunction | None, allowed: tuple[str, ...]) -> str | CellFunction:
    if asked is None:
        return allowed[0]
    if callable(asked) or asked in allowed:
        return asked
    raise DrawError(f"{what}={asked!r}: this picture has {what}s by {', '.join(allowed)}, or by a function")


class View(Protocol):
    """A way to look at a thing."""

    def figure(self, thing: object, look: Look) -> Figure:
        """The figure of `thing`; DrawError where it is not of the kind that this view shows."""
        ...
