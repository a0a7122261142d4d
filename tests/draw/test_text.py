"""The text grid is CuTe's `print_layout`; the text of a drawing is the text grid."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cutepy.draw import Style, ThreadValue, Tiles, draw
from cutepy.draw.grid import LONGEST_ROW
from cutepy.errors import LayoutError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    logical_divide,
    logical_product,
    make_identity_layout,
    make_layout,
    raked_product,
    zipped_divide,
)

# What CuTe prints, from its documents (media/docs/cpp/cute/01_layout.md; media/docs/cute/02_layout_operations.md, whose
# static integers print with an underscore) and from public runs of print_layout.
DOCUMENTED = {
    "(2,(2,2)):(4,(2,1))": """\
      0   1   2   3
    +---+---+---+---+
 0  | 0 | 2 | 1 | 3 |
    +---+---+---+---+
 1  | 4 | 6 | 5 | 7 |
    +---+---+---+---+""",
    "(2,3):(3,1)": """\
      0   1   2
    +---+---+---+
 0  | 0 | 1 | 2 |
    +---+---+---+
 1  | 3 | 4 | 5 |
    +---+---+---+""",
    "(4,4):(4,1)": """\
       0    1    2    3
    +----+----+----+----+
 0  |  0 |  1 |  2 |  3 |
    +----+----+----+----+
 1  |  4 |  5 |  6 |  7 |
    +----+----+----+----+
 2  |  8 |  9 | 10 | 11 |
    +----+----+----+----+
 3  | 12 | 13 | 14 | 15 |
    +----+----+----+----+""",
    "(4,4):(1,4)": """\
       0    1    2    3
    +----+----+----+----+
 0  |  0 |  4 |  8 | 12 |
    +----+----+----+----+
 1  |  1 |  5 |  9 | 13 |
    +----+----+----+----+
 2  |  2 |  6 | 10 | 14 |
    +----+----+----+----+
 3  |  3 |  7 | 11 | 15 |
    +----+----+----+----+""",
    "(4,8):(8,1)": """\
       0    1    2    3    4    5    6    7
    +----+----+----+----+----+----+----+----+
 0  |  0 |  1 |  2 |  3 |  4 |  5 |  6 |  7 |
    +----+----+----+----+----+----+----+----+
 1  |  8 |  9 | 10 | 11 | 12 | 13 | 14 | 15 |
    +----+----+----+----+----+----+----+----+
 2  | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 |
    +----+----+----+----+----+----+----+----+
 3  | 24 | 25 | 26 | 27 | 28 | 29 | 30 | 31 |
    +----+----+----+----+----+----+----+----+""",
}

# The tables of the products and divides in CuTe's documents, row by row.
TILE, TILES = Layout((2, 2), (1, 2)), Layout((3, 4), (4, 1))
RAKED = Layout(((3, 2), (4, 2)), ((16, 1), (4, 2)))
SUBTILE = (Layout(2, 3), Layout(2, 4))
TABLES = [
    (blocked_product(TILE, TILES), [0, 2, 4, 6, 8, 10, 12, 14], [33, 35, 37, 39, 41, 43, 45, 47]),
    (logical_product(TILE, TILES), [0, 16, 32, 4, 20, 36, 8, 24, 40, 12, 28, 44], None),
    (raked_product(TILE, TILES), [0, 4, 8, 12, 2, 6, 10, 14], [33, 37, 41, 45, 35, 39, 43, 47]),
    (logical_divide(RAKED, SUBTILE), [0, 2, 4, 6, 8, 10, 12, 14], [33, 35, 37, 39, 41, 43, 45, 47]),
    (zipped_divide(RAKED, SUBTILE), [0, 16, 32, 4, 20, 36, 8, 24, 40, 12, 28, 44], None),
]


@pytest.mark.parametrize("notation", DOCUMENTED)
def test_the_grid_is_what_cute_prints(notation: str) -> None:
    assert Layout.parse(notation).grid() == f"{notation}\n{DOCUMENTED[notation]}"


def test_the_grid_of_a_swizzled_layout() -> None:
    lines = ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 8), (8, 1))).grid().splitlines()
    assert lines[0] == "S<2,0,3> o 0 o (4,8):(8,1)"
    assert lines[1:4] == DOCUMENTED["(4,8):(8,1)"].splitlines()[:3]
    assert lines[5] == " 1  |  9 |  8 | 11 | 10 | 13 | 12 | 15 | 14 |"


@pytest.mark.parametrize(("layout", "first", "last"), TABLES)
def test_the_tables_of_cutes_documents(layout: Layout, first: list[int], last: list[int] | None) -> None:
    rows = [line for line in layout.grid().splitlines() if "|" in line]
    numbers = [[int(cell) for cell in row.split("|")[1:-1]] for row in rows]
    assert numbers[0] == first
    assert last is None or numbers[-1] == last


def test_the_width_is_that_of_the_cosize_not_of_the_greatest_offset() -> None:
    assert Layout((2, 5)).grid().splitlines()[3] == " 0  |  0 |  2 |  4 |  6 |  8 |"


def test_other_ranks_and_strides() -> None:
    assert Layout(4, 2).grid().splitlines()[3] == " 0  | 0 | 2 | 4 | 6 |"
    assert Layout(()).grid().splitlines()[3] == " 0  | 0 |"
    assert Layout((2, 2), (-1, 10)).grid().splitlines()[5] == " 1  | -1 |  9 |"
    assert make_identity_layout((2, 2)).grid().splitlines()[3] == " 0  | (0,0) | (0,1) |"
    with pytest.raises(LayoutError, match="rank 3"):
        Layout((2, 2, 2)).grid()
    with pytest.raises(LayoutError, match="65536 cells"):
        Layout((1 << 9, 1 << 9)).grid()


layouts = st.builds(
    lambda a, b: make_layout(a, b),
    *[
        st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), min_size=1, max_size=3).map(
            lambda modes: Layout(tuple(s for s, _d in modes), tuple(d for _s, d in modes))
        )
    ]
    * 2,
)


@given(layouts)
@example(Layout(((1,), (3, 3, 4)), ((0,), (0, 0, 3))))
def test_the_text_of_a_drawing_is_the_grid(layout: Layout) -> None:
    # Beyond these columns CuTe's numbers leave theirs, and a picture folds a single row.
    folded = layout[0].size == 1 and layout[1].size > LONGEST_ROW
    if layout[1].size <= 10 ** len(str(layout.cosize)) and not folded:
        assert draw(layout).text() == layout.grid()


@pytest.mark.parametrize("width", [30, 79, 80, 200, None])
def test_wide_tables_fold_into_bands(width: int | None) -> None:
    layout = Layout((3, 40), (40, 1))
    lines = draw(layout).text(width=width).splitlines()[1:]
    assert width is None or max(map(len, lines)) <= width
    rows: dict[str, list[int]] = {}
    for line in lines:
        head, bar, cells = line.partition("|")
        if bar:
            rows.setdefault(head.strip(), []).extend(int(cell) for cell in cells.split("|")[:-1])
    assert rows == {str(i): [layout(i, j) for j in range(40)] for i in range(3)}


def test_tiles_holes_marks_and_shared_cells_show_in_text() -> None:
    tiled = draw(Layout((2, 4), (4, 1)), view=Tiles((2, 2))).text()
    assert " 0  | 0 | 1 ║ 2 | 3 |" in tiled
    assert "T0-7 V3" in draw(Layout((8, 4), (0, 1)), view=ThreadValue(4)).text()
    assert "|     . |" in draw(Layout((4, 2), (1, 8)), view=ThreadValue((4, 4))).text()
    assert "|[1]|[3]|" in draw(Layout((2, 2)), style=Style(highlight=(1, None))).text()


def test_colours_only_where_asked_for() -> None:
    drawing = draw(Layout((2, 2)))
    assert "\x1b" not in drawing.text()
    plain = drawing.text(ansi=True)
    assert plain.count("\x1b[48;2;") == 4
    assert plain.count("\x1b[0m") == 4
