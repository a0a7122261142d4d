"""Tensors and atoms: data at its coordinates, guarded elements as holes, every operand in its tile."""

import json

import numpy as np
import pytest

from cutepy.draw import Operands, Style, draw
from cutepy.draw.live import live_data
from cutepy.errors import DrawError
from cutepy.layout import Layout, _
from cutepy.tensor import (
    COPY_ATOMS,
    FMA,
    MMA_ATOMS,
    local_tile,
    make_gmem_ptr,
    make_identity_tensor,
    make_tensor,
    make_tiled_copy,
    make_tiled_mma,
    universal_copy,
)

A = make_tensor(make_gmem_ptr(np.arange(30, dtype=np.float32) / 4, name="A"), (5, 6))


def test_data_and_slices() -> None:
    grid = draw(A).figure.grids[0]
    assert grid.labels[:3] == ("0.00", "1.25", "2.50")
    assert grid.hints[1] == "(0,1) → 5: 1.25"
    row = draw(A(2, _)).figure.grids[0]
    assert row.labels == tuple(f"{A[2, j]:.2f}" for j in range(6))
    assert row.hints[0] == "(0) → 2: 0.5"
    assert draw(A, label="offset").figure.grids[0].labels[:2] == ("0", "5")


def test_a_cell_that_is_pointed_at_says_its_sum_the_offset_of_the_tensor_and_its_element() -> None:
    tile = local_tile(A, (3, 4), (1, 1))  # its first element is A[3, 4], at offset 23
    grid = draw(tile).figure.grids[0]
    assert grid.text(0) == f"(0,0) → index 0 → 0·1 + 0·5 = 0, 23 + 0 = 23: {A[3, 4]}"
    assert grid.text(5) == f"(1,1) → index 4 → 1·1 + 1·5 = 6, 23 + 6 = 29: {A[4, 5]}"
    assert grid.text(2).endswith("outside of the guard")
    assert draw(A).figure.grids[0].text(1) == "(0,1) → index 5 → 0·1 + 1·5 = 5: 1.25"
    # The script of a page cannot compute elements: it has the texts.
    (record,) = json.loads(live_data(draw(tile).figure))
    assert record["texts"] == [grid.text(cell) for cell in range(12)]


def test_a_picture_of_a_tensor_is_the_same_in_every_run() -> None:
    first, second = (make_tensor(np.arange(24, dtype=np.float32).reshape(4, 6)) for _run in range(2))
    assert repr(first) == repr(second) == "ptr[32b] o (4,6):(6,1)"
    for picture in (lambda t: t, lambda t: local_tile(t, (2, 3), (1, 1)), lambda t: t(_, 1)):
        assert draw(picture(first)).svg() == draw(picture(second)).svg()
    assert draw(first).figure.title == "ptr[32b] o (4,6):(6,1)"
    assert draw(A).figure.title == "gmem_ptr[32b](A) o (5,6):(1,5)"


def test_a_heat_map_of_values() -> None:
    values = np.array([[0.0, 1.0, np.nan], [15.0, 7.0, np.inf]], np.float32)
    assert draw(make_tensor(values), color="value").figure.grids[0].paints == ("g0", "g1", "w", "g15", "g7", "w")
    flags = make_tensor(np.array([[True, False]]))
    assert draw(flags, color="value").figure.grids[0].paints == ("g15", "g0")
    assert set(draw(make_tensor(np.ones((2, 2), np.int32)), color="value").figure.grids[0].paints) == {"g0"}


def test_a_guarded_tile_has_holes() -> None:
    grid = draw(local_tile(A, (4, 4), (1, 1))).figure.grids[0]
    assert [place for place, paint in enumerate(grid.paints) if paint != "x"] == [0, 1]
    assert grid.hints[2].endswith("outside of the guard")


def test_other_elements() -> None:
    assert draw(make_identity_tensor((2, 2))).figure.grids[0].labels == ("(0,0)", "(0,1)", "(1,0)", "(1,1)")
    flags = make_tensor(make_gmem_ptr(np.array([True, False])), 2)
    assert draw(flags).figure.grids[0].labels == ("True", "False")
    big = make_tensor(make_gmem_ptr(np.zeros(1 << 20, np.int32)), (1 << 10, 1 << 10))
    assert len(draw(big, style=Style(limit=64)).figure.grids[0].labels) == 64


@pytest.mark.parametrize("name", sorted(MMA_ATOMS))
def test_every_atom_covers_its_tiles(name: str) -> None:
    atom = MMA_ATOMS[name]
    if any(tv.size > 1 << 14 for _name, tv, _tile in atom.operands()):
        return  # a picture of 16,384 owners says nothing that a smaller one of the same kind does not
    figure = draw(atom).figure
    assert [len([g for g in row if g]) for row in figure.panels] == [1, 2]
    for grid in figure.grids:
        assert "" not in grid.labels
        assert "x" not in grid.paints


def test_b_is_drawn_over_the_columns_of_c() -> None:
    atom = MMA_ATOMS["sm_75.mma.m16n8k8.f32.f16.f16.f32"]
    b, _a, c = draw(atom).figure.grids
    assert (b.rows.size, b.columns.size) == (8, 8)
    assert (c.rows.size, c.columns.size) == (16, 8)
    for thread in range(32):
        for value in range(2):
            n, k = atom.b(thread, value) % 8, atom.b(thread, value) // 8
            assert b.labels[k * 8 + n] == f"T{thread}\nV{value}"


def test_tiled_and_copies() -> None:
    assert draw(make_tiled_mma(FMA, Layout((4, 4, 1)))).figure.grids[2].labels[5] == "T5\nV0"
    copies = make_tiled_copy(universal_copy(4), Layout((8, 4), (4, 1)), Layout((1, 4)))
    assert draw(copies).figure.grids[0].labels[:5] == ("T0\nV0", "T0\nV1", "T0\nV2", "T0\nV3", "T1\nV0")
    for atom in COPY_ATOMS.values():
        assert len(draw(atom).figure.grids) == 2
    with pytest.raises(DrawError, match="multiply-add"):
        draw(Layout(4), view=Operands())
