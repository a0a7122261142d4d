"""Which view shows what: by name, by type, by what a thing has.

`register(type, view)` adds a type; without one, layouts, tensors, atoms, tiled copies, calls and texts are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, signature
from pkgutil import iter_modules
from typing import Any, get_args

from ...errors import CutepyError, DrawError, shown
from ...layout import Layout, Swizzle
from ...layout.algebra.conflict_free import Found
from ...layout.algebra.convert import Conversion
from ...layout.text.parse import Expression, Lines, parse_expression
from ...layout.values.composed import AnyLayout
from ..grid import Figure, Grid
from ..look import VIEWS, Look, View, ViewName
from .banks import Bits
from .layouts import Compare, Plain
from .owners import Moves
from .steps import Steps, refused, tile_color
from .tensors import Copies, Data, Operands, TensorLike, operands_of

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
#: Views by name, in the order of the documentation; those with parameters that have no default need an object instead.
NAMED = {name: VIEWS[name] for name in get_args(ViewName)}


def view_name(view: object) -> str:
    """The name of a view; nothing where it has none."""
    return next((name for name, kind in NAMED.items() if kind is type(view)), "")


_REGISTERED: dict[type, View] = {}


def register(kind: type, view: View) -> None:
    """Draw things of type `kind` (and of types derived from it) with `view`, unless another is asked for.

    >>> class Board:
    ...     pass
    >>> class Squares:
    ...     def figure(self, thing, look):
    ...         return figure_of("(8,8):(8,1)", None, look)
    >>> register(Board, Squares())
    >>> from cutepy import draw
    >>> draw(Board()).figure.cells
    64
    """
    _REGISTERED[kind] = view


def figure_of(thing: object, view: View | None, look: Look) -> Figure:
    """The figure of a thing: the asked-for view, else the one that fits its kind."""
    if isinstance(thing, str):
        thing = parse_expression(thing)
    if isinstance(thing, Figure):
        return thing
    if isinstance(thing, CutepyError):
        return refused(thing)
    if isinstance(thing, Grid):
        return Figure(((thing,),), title=thing.caption)
    if isinstance(thing, Lines):
        view = Compare() if view is None and len(thing.shown) > 1 else view
        thing = thing if isinstance(view, Compare) else thing.lines[-1].expression
    if isinstance(thing, (list, tuple)) and view is None and thing:
        return _side_by_side(list(thing), look)
    if isinstance(thing, Expression) and not isinstance(view, Steps):
        look = Look(tile_color(thing) if look.color == "tile" else look.color, look.label, look.style)
        thing = thing.value
    return (view if view is not None else _fitting(thing)).figure(thing, look)


def view_of(asked: str | View | None, given: Mapping[str, object]) -> View | None:
    """The view that is named, or that the parameters `given` mean, with these; None where nothing is said.

    >>> view_of(None, {"tiler": (2, 2)}), view_of("memory", {})
    (Tiles(tiler=(2, 2), tile=None, threads=None, thread=None), Memory(width=16))

    Raises DrawError for a name that is no view, and for parameters that it does not have or that it needs.
    """
    if asked is None and not given:
        return None
    if asked is not None and not isinstance(asked, str):
        if not hasattr(asked, "figure"):
            raise DrawError(f"view={shown(asked)}: it is a name, or an object of cutepy.draw")
        if given:
            raise DrawError(f"{', '.join(given)}: the view is an object, so give it its parameters: {asked!r}")
        return asked
    # Parameters without a name choose the first view that has all of them: tiler means tiles, width means memory.
    name = asked or next((name for name, make in NAMED.items() if set(given) <= set(signature(make).parameters)), "")
    if name not in NAMED:
        near = get_close_matches(name, NAMED, 1)
        raise DrawError(f"view={name!r}: {f'did you mean {near[0]}? ' if near else ''}there are {', '.join(NAMED)}")
    parameters = signature(NAMED[name]).parameters
    if wrong := [option for option in given if option not in parameters]:
        raise DrawError(f"view {name!r} has no option {wrong[0]!r}; its options are {', '.join(parameters) or 'none'}")
    if missing := [
        option for option in parameters if parameters[option].default is Parameter.empty and option not in given
    ]:
        raise DrawError(f"view {name!r} needs {missing[0]}, as (4,4)")
    return NAMED[name](**given)


def _fitting(thing: object) -> View:
    """The view of a thing without a name: by registered type, by type, then by what it has. Raises DrawError for
    none."""
    defaults: dict[Any, View] = {
        AnyLayout: Plain(),
        Found: Plain(),
        Conversion: Moves(),
        Swizzle: Bits(),
        TensorLike: Data(),
    }
    # Registered types come first, so that a user can replace what is built in.
    for kind, view in (*_REGISTERED.items(), *defaults.items()):
        if isinstance(thing, kind):
            return view
    # Atoms and tilings are recognised by attributes, since draw imports no tensor module.
    if operands_of(thing):
        return Operands()
    if isinstance(getattr(thing, "layout_tv", None), Layout) or isinstance(getattr(thing, "read", None), Layout):
        return Copies()
    if isinstance(getattr(thing, "call", None), str):
        return Steps()
    raise DrawError(
        f"nothing to draw in a {type(thing).__name__}; there are pictures of layouts, tensors, atoms, tiled copies, "
        "calls, what is found, and texts of these"
    )


def _side_by_side(things: list[object], look: Look) -> Figure:
    """One row of the pictures of several things, each under its own title."""
    row: list[Grid] = []
    notes: list[str] = []
    title = look.style.title
    for thing in things:
        figure = figure_of(thing, None, Look(look.color, look.label, look.style.but(title=None)))
        grids = figure.grids
        row += [replace(grid, caption=f"{figure.title} {grid.caption}".strip()) for grid in grids[:1]] + grids[1:]
        notes += figure.notes
    description = f"{len(things)} pictures: " + "; ".join(grid.caption for grid in row)
    return Figure((tuple(row),), title=title or "", description=description, notes=tuple(notes))
