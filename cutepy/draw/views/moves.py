"""A conversion between thread-value layouts: who holds which element before, and after, in the colour of the holder."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...errors import DrawError
from ...layout.algebra.convert import Conversion
from ..grid import Figure
from ..look import Look
from .layouts import layout_grid, title_of
from .owners import owners_of
from .table import parts


@dataclass(frozen=True, slots=True)
class Moves:
    """View of a conversion: threads down, values across, elements in the cells; a colour is a thread of the source."""

    def figure(self, thing: object, look: Look) -> Figure:
        """Two grids, before and after: a row of one colour has all from one thread."""
        if not isinstance(thing, Conversion):
            raise DrawError(f"{type(thing).__name__} is no conversion; draw what cutepy.convert gives")
        owners = owners_of(thing.source)
        colored = look if look.color is not None else replace(look, color=lambda _crd, at: owners[at][0][0])  # type: ignore[index]
        grids = tuple(
            replace(layout_grid(next(iter(parts(layout))), colored), caption=f"{word} {layout}")
            for word, layout in (("before", thing.source), ("after", thing.target))
        )
        said = str(thing).partition("\n")[0]
        return Figure((grids,), title=title_of(said, look), description=f"Elements by thread and value: {said}.")
