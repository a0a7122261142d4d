"""Pictures of placements and plans: the array's elements with the devices that hold them, a grid for each placement.

Law: a cell names the devices that hold its element, by rank, shortened where there are many; its hint names them all.
The colour is that of the first.
"""

from __future__ import annotations

from ..draw import Figure, Grid, View, palette, register
from ..draw.grid import axis_of, filled, shortened
from ..draw.look import Look
from ..draw.views.owners import number_set
from ..errors import DrawError
from .placement import Placement, extents_text
from .plan import RedistributionPlan


class PlacementView(View):
    """One grid: dimension 0 down, dimension 1 across.

    >>> from cutepy import draw
    >>> from cutepy.mesh import Placement
    >>> print(draw(Placement.split((2, 2), (2,), [[0], []])))
    2x2 over 2: ((2),1):((1),0), ((2),2):((0),1)
           0    1
        +----+----+
     0  | D0 | D0 |
        +----+----+
     1  | D1 | D1 |
        +----+----+
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """The figure of a placement; DrawError for arrays of more than two dimensions.

        >>> from cutepy.draw.look import Look
        >>> from cutepy.mesh import Placement
        >>> PlacementView().figure(Placement.split((4, 2), (2,), [[0], []]), Look()).cells
        8
        """
        assert isinstance(thing, Placement)
        title = str(thing) if look.style.title is None else look.style.title
        return Figure(((_grid(thing, look),),), title=title, description=f"Who holds each element: {thing}.")


class PlanView(View):
    """A grid for each placement on the way, the collective that leads there above it.

    >>> from cutepy import draw
    >>> from cutepy.mesh import Placement, redistribution
    >>> rows, columns = (Placement.split((4, 4), (2,), axes) for axes in ([[0], []], [[], [0]]))
    >>> len(draw(redistribution(rows, columns)).figure.grids)
    2
    """

    def figure(self, thing: object, look: Look) -> Figure:
        """The figure of a plan; DrawError for arrays of more than two dimensions.

        >>> from cutepy.draw.look import Look
        >>> from cutepy.mesh import Placement, redistribution
        >>> rows, columns = (Placement.split((4, 4), (2,), axes) for axes in ([[0], []], [[], [0]]))
        >>> PlanView().figure(redistribution(rows, columns), Look()).cells
        32
        """
        assert isinstance(thing, RedistributionPlan)
        grids = [_grid(thing.old, look, "before")]
        grids += [_grid(step.after, look, f"{number}. {step}") for number, step in enumerate(thing.steps, 1)]
        what = f"{extents_text(thing.old.shape)} over {extents_text(thing.old.mesh)}"
        title = what if look.style.title is None else look.style.title
        return Figure((tuple(grids),), title=title, description=f"{what}: {'; '.join(map(str, thing.steps))}.")


def _grid(placement: Placement, look: Look, caption: str = "") -> Grid:
    """The grid of a placement, a cell for each element; a vector is one row, of a large array the corners are shown.

    Raises DrawError for more than two dimensions.
    """
    if len(placement.shape) > 2:
        raise DrawError(
            f"a picture of {placement}: it has {len(placement.shape)} dimensions; pictures have one or two, place two "
            "of them alone"
        )
    down, across = (1, 1, *placement.shape)[-2:]
    rows, columns = shortened(down, across, look.style.limit)

    def cell(i: int, j: int) -> tuple[str, str, str]:
        element = (i, j)[2 - len(placement.shape) :]
        ranks = sorted({placement.rank(device) for holders in placement.holders(element) for device in holders})
        if not ranks:
            return "", palette.HOLE, f"{element} → no device"
        held = f"{'devices' if len(ranks) > 1 else 'device'} {', '.join(map(str, ranks))}"
        return f"D{number_set(ranks)}", palette.color(ranks[0]), f"{element} → {held}"

    sides = axis_of(down, rows, nested=False), axis_of(across, columns, nested=False)
    return filled(*sides, cell, caption=caption)


register(Placement, PlacementView())
register(RedistributionPlan, PlanView())
