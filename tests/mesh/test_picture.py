"""Pictures name for every element the devices that hold it."""

import pytest

from cutepy import DrawError, draw
from cutepy.mesh import Placement, redistribution


def test_cells_name_the_holders() -> None:
    placement = Placement.split((4, 6), (2, 3), [[0], [1]])
    (grid,) = draw(placement).figure.grids
    for i in range(4):
        for j in range(6):
            (device,) = [d for holders in placement.holders((i, j)) for d in holders]
            assert grid.labels[6 * i + j] == f"D{placement.rank(device)}"
    copied = draw(Placement.split((4,), (2, 3), [[0]])).figure.grids[0]
    assert copied.labels == ("D0-2", "D0-2", "D3-5", "D3-5")
    assert "devices 0, 1, 2" in copied.hints[0]


def test_a_plan_has_a_grid_for_each_step() -> None:
    old, new = Placement.split((8, 8), (2, 2), [[0, 1], []]), Placement.split((8, 8), (2, 2), [[1], [0]])
    plan = redistribution(old, new)
    drawing = draw(plan)
    assert [grid.caption for grid in drawing.figure.grids] == [
        "before",
        *(f"{k}. {s}" for k, s in enumerate(plan.steps, 1)),
    ]
    assert str(plan.steps[0].collective.value) in drawing.svg()


def test_what_has_no_picture() -> None:
    with pytest.raises(DrawError, match="3 dimensions"):
        draw(Placement.split((2, 2, 2), (2,), [[0], [], []])).svg()
