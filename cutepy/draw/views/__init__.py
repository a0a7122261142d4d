"""Which view shows what: by name, by type, by what a thing has.

`register(type, view)` adds a type; without one, layouts, tensors, atoms, tiled copies, calls and texts are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...errors import DrawError
from ...layout import Layout
from ...layout.text.expression import Expression, parse_expression
from ...layout.values.composed import AnyLayout
from ..grid import Figure, Grid
from ..look import Look, View
from .banks import Banks, Swizzled
from .layouts import Plain, Tiles, Tree
from .owners import Memory, ThreadValue
from .steps import Steps, tile_color
from .tensors import Copies, Data, Operands, TensorLike, operands_of

NAMED: dict[str, Callable[..., View]] = {
    "grid": Plain,
    "memory": Memory,
    "tree": Tree,
    "tiles": Tiles,
    "tv": ThreadValue,
    "banks": Banks,
    "swizzle": Swizzled,
    "steps": Steps,
    "data": Data,
    "mma": Operands,
    "copy": Copies,
}
"""Views by name; those with parameters that have no default need an object instead."""

_REGISTERED: dict[type, View] = {}


def register(kind: type, view: View) -> None:
    """Draw things of type `kind` (and of types derived from it) with `view`, unless another is asked for."""
    _REGISTERED[kind] = view


def figure_of(thing: object, view: str | View | None, look: Look) -> Figure:
    """The figure of a thing: the asked-for view, else the one that fits its kind."""
    if isinstance(thing, str):
        thing = parse_expression(thing)
    if isinstance(thing, Figure):
        return thing
    if isinstance(thing, Grid):
        return Figure(((thing,),), title=thing.caption)
    if isinstance(thing, (list, tuple)) and view is None and thing:
        return _side_by_side(list(thing), look)
    chosen = _named(view) if isinstance(view, str) else view
    if isinstance(thing, Expression) and not isinstance(chosen, Steps):
        look = Look(tile_color(thing) if look.color == "tile" else look.color, look.label, look.style)
        thing = thing.value
    return (chosen if chosen is not None else _fitting(thing)).figure(thing, look)


def _named(name: str) -> View:
    if name not in NAMED:
        raise DrawError(f"view={name!r}: there are {', '.join(NAMED)}")
    try:
        return NAMED[name]()
    except TypeError:
        raise DrawError(
            f"view={name!r} needs a parameter: give an object, as draw(thing, view={NAMED[name].__name__}(...))"
        ) from None


def _fitting(thing: object) -> View:
    for kind, view in _REGISTERED.items():
        if isinstance(thing, kind):
            return view
    if isinstance(thing, AnyLayout):
        return Plain()
    if isinstance(thing, TensorLike):
        return Data()
    if operands_of(thing):
        return Operands()
    if isinstance(getattr(thing, "layout_tv", None), Layout) or isinstance(getattr(thing, "read", None), Layout):
        return Copies()
    if isinstance(getattr(thing, "call", None), str):
        return Steps()
    raise DrawError(
        f"nothing to draw in a {type(thing).__name__}; there are pictures of layouts, tensors, atoms, tiled copies, "
        "calls, and texts of these"
    )


def _side_by_side(things: list[object], look: Look) -> Figure:
    """One row of the pictures of several things, each under its own title."""
    row: list[Grid] = []
    notes: list[str] = []
    title = look.style.title
    for thing in things:
        found = figure_of(thing, None, Look(look.color, look.label, look.style.but(title=None)))
        grids = found.grids
        row += [_headed(grids[0], found.title), *grids[1:]] if grids else []
        notes += found.notes
    description = f"{len(things)} pictures: " + "; ".join(grid.caption for grid in row)
    return Figure((tuple(row),), title=title or "", description=description, notes=tuple(notes))


def _headed(grid: Grid, title: str) -> Grid:
    return replace(grid, caption=f"{title} {grid.caption}".strip())
