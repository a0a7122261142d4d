"""What every view says: the labels and the colours of cells, read off the grids; refusals with a way out."""

import pydoc
import re
import sys
from base64 import b64decode
from contextlib import suppress
from html import escape
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from time import sleep
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest

from cutepy.draw import (
    Banks,
    Drawing,
    Grid,
    Memory,
    Plain,
    Steps,
    Style,
    Swizzled,
    ThreadValue,
    Tiles,
    Tree,
    draw,
    register,
    steps,
)
from cutepy.draw.views.tiles import tile_numbers
from cutepy.errors import CutepyError, DrawError
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    blocked_product,
    coalesce,
    compatible,
    complement,
    composition,
    conflict_free,
    convert,
    explain,
    logical_divide,
    make_identity_layout,
    product,
    raked_product,
    right_inverse,
    widest_copy,
    zipped_divide,
    zipped_product,
)
from cutepy.layout.values.int_tuple import map_leaves


def rows(grid: Grid) -> list[list[str]]:
    width = grid.columns.size
    return [list(grid.labels[start : start + width]) for start in range(0, len(grid.labels), width)]


def only(drawing: Drawing) -> Grid:
    (grid,) = drawing.figure.grids
    return grid


LAYOUTS = [
    Layout((4, 8), (8, 1)),
    Layout(((2, 2), (4, 2)), ((1, 8), (2, 16))),
    Layout((3, 5), (-2, 7)),
    Layout((4, 4), (0, 1)),
    ComposedLayout(Swizzle(2, 0, 2), 3, Layout((4, 4), (4, 1))),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_grid_shows_the_offset_of_every_coordinate(layout: Layout) -> None:
    height, width = layout[0].size, layout[1].size
    found = rows(only(draw(layout)))
    assert found == [[str(layout(i, j)) for j in range(width)] for i in range(height)]
    assert rows(only(draw(layout, label="index"))) == [
        [str(i + height * j) for j in range(width)] for i in range(height)
    ]
    called = only(draw(layout, label=lambda crd, offset: f"{layout(crd) == offset}"))
    assert set(called.labels) == {"True"}


def test_further_modes_are_further_grids() -> None:
    layout = Layout((2, 3, (2, 2)), (1, 2, (6, 12)))
    drawing = draw(layout)
    assert [grid.caption for grid in drawing.figure.grids] == ["(_,_,0)", "(_,_,1)", "(_,_,2)", "(_,_,3)"]
    for k, grid in enumerate(drawing.figure.grids):
        assert rows(grid) == [[str(layout(i, j, k)) for j in range(3)] for i in range(2)]
        assert grid.hints[0] == f"(0,0,({k % 2},{k // 2})) → {layout(0, 0, k)}"
    assert draw(Layout((2, 2, 20))).figure.notes == ("and 4 more grids",)


def test_coordinates_as_values() -> None:
    grids = draw(make_identity_layout((2, 2, (2, 2)))).figure.grids
    assert [grid.labels[3] for grid in grids] == [f"(1,1,({k % 2},{k // 2}))" for k in range(4)]
    tv = composition(make_identity_layout((4, 4)), Layout(((2, 2), (2, 2)), ((1, 4), (2, 8))))
    over = draw(tv, view=ThreadValue(make_identity_layout((4, 4))))
    assert rows(only(over))[3][3] == "T3\nV3"
    with pytest.raises(DrawError, match="over=make_identity_layout"):
        draw(tv, view="tv")


def test_colours_by_name_and_by_function() -> None:
    layout = zipped_divide(Layout((4, 4), (4, 1)), (2, 2))
    assert only(draw(layout, color="tile")).paints[:4] == ("c0", "c1", "c2", "c3")
    assert only(draw(layout, color="row")).paints[::4] == ("c0", "c1", "c2", "c3")
    assert only(draw(layout, color="bank")).paints[0] == "o0"
    assert only(draw(layout, color="bank", palette="distinct")).paints[0] == "c0"
    assert only(draw(layout, color=lambda crd, offset: offset % 2)).paints[:3] == ("c0", "c0", "c0")
    assert set(only(draw(layout, color=lambda crd, offset: "g3")).paints) == {"g3"}
    blocked = logical_divide(Layout((4, 4), (4, 1)), (2, 2))
    assert only(draw(blocked, color="block")).paints[:4] == ("c0", "c0", "c2", "c2")
    assert only(draw("logical_divide((4,4):(4,1), (2,2))", color="tile")).paints[:4] == ("c0", "c0", "c2", "c2")
    assert only(draw("raked_product((2,2), (2,2))", color="tile")).paints[:4] == ("c0", "c2", "c0", "c2")
    for wrong in ("colour", "thread"):
        with pytest.raises(DrawError, match=r"color=.*offset, row, column"):
            draw(layout, color=wrong)
    with pytest.raises(DrawError, match="a number from 0"):
        draw(layout, color=lambda crd, offset: -1)


def test_heads_follow_the_nesting() -> None:
    grid = only(draw(Layout((4, (2, 3)))))
    assert grid.columns.levels == (
        (("0", 2), ("1", 2), ("2", 2)),
        (("0", 1), ("1", 1), ("0", 1), ("1", 1), ("0", 1), ("1", 1)),
    )
    assert grid.columns.rules == (0, 1, 0, 1, 0)
    assert grid.rows.levels == ((("0", 1), ("1", 1), ("2", 1), ("3", 1)),)
    assert only(draw(Layout((4, (2, 3))), style=Style(heads="index"))).columns.levels[0][5] == ("5", 1)
    assert only(draw(Layout((4, (2, 3))), style=Style(heads="none"))).columns.levels == ()


def test_a_slice_is_marked() -> None:
    layout = Layout((4, (2, 3)))
    assert only(draw(layout, style=Style(highlight=(2, _)))).marked == frozenset(range(12, 18))
    assert only(draw(layout, style=Style(highlight=(_, (1, 2))))).marked == frozenset({5, 11, 17, 23})
    for wrong in ((1, 2, 3), (1, (2, 3, 4)), ((1, 1), 2), (4, _), (_, -1), (0, (0, 3))):
        with pytest.raises(DrawError, match="highlight"):
            draw(layout, style=Style(highlight=wrong))


def test_details_write_the_sum_out() -> None:
    detail = only(draw(Layout((4, (2, 8)), (1, (4, 8))))).detail
    assert detail is not None
    assert detail(1 * 16 + 2) == "(1,(0,1)) → index 9 → 1·1 + 0·4 + 1·8 = 9"
    swizzled = only(draw(ComposedLayout(Swizzle(1, 0, 2), 1, Layout((4, 2))))).detail
    assert swizzled is not None
    assert swizzled(7) == "(3,1) → index 7 → 3·1 + 1·4 = 7, 1 + 7 = 8 → S<1,0,2>: 1000 ^ 0000 = 1000 = 8"


def test_thread_value_owns_every_element_once() -> None:
    tv = Layout(((4, 2), (2, 2)), ((2, 16), (1, 8)))
    grid = only(draw(tv, view=ThreadValue((8, 4))))
    for thread in range(8):
        for value in range(4):
            index = tv(thread, value)
            assert rows(grid)[index % 8][index // 8] == f"T{thread}\nV{value}"
    assert only(draw(tv, view=ThreadValue((8, 4)), label="thread")).labels[0] == "T0"
    figure = draw(tv, view=ThreadValue((8, 4)), label="value").figure
    assert (figure.subject, figure.legend) == ("thread", tuple((f"c{thread}", str(thread)) for thread in range(8)))
    assert draw(tv, over=(8, 4), color="value").figure.legend == tuple((f"c{v}", str(v)) for v in range(4))
    assert draw(tv, over=(8, 4), legend=False).figure.legend == ()
    assert draw(tv, over=(8, 4), palette="ordered").figure.legend[3] == ("o3", "3")
    assert draw(Layout((64, 1)), over=64).figure.legend == (), "64 threads share 32 colours"


def test_a_heavy_line_runs_where_the_thread_changes() -> None:
    for tv, over in ((Layout(((4, 2), (2, 2)), ((2, 16), (1, 8))), (8, 4)), (Layout((4, 2), (1, 8)), (4, 4))):
        grid = only(draw(tv, over=over))
        owner = {tv(thread, value): thread for thread in range(tv[0].size) for value in range(tv[1].size)}
        threads = tuple(owner.get(i + over[0] * j, -1) for i in range(over[0]) for j in range(over[1]))
        assert grid.groups in ((), threads)
        assert bool(grid.groups) == (over == (8, 4)), "a line round every single cell says nothing"


def test_shared_cells_and_holes() -> None:
    assert rows(only(draw(Layout((8, 4), (0, 1)), view=ThreadValue(4)))) == [[f"T0-7\nV{v}" for v in range(4)]]
    assert only(draw(Layout((8, 4), (0, 1)), view="tv")).labels[0] == "T0-7\nV0"
    grid = only(draw(Layout((4, 2), (1, 8)), view=ThreadValue((4, 4))))
    assert rows(grid)[0] == ["T0\nV0", "", "T0\nV1", ""]
    assert grid.paints[1] == "x"
    assert grid.hints[1] == "(0,1) → no thread"


def test_a_whole_partition_shows_the_rest() -> None:
    grid = only(draw(Layout((2, 2, (2, 2)), (1, 2, (4, 8))), view=ThreadValue((4, 4))))
    assert rows(grid)[3] == ["T1\nV1\nR0", "T1\nV1\nR1", "T1\nV1\nR2", "T1\nV1\nR3"]


def test_a_partition_over_a_layout_meets_its_offsets() -> None:
    over = Layout((4, 4), (4, 1))
    assert rows(only(draw(Layout((4, 4), (1, 4)), view=ThreadValue(over))))[1][2] == "T2\nV1"


def test_thread_value_outside_of_the_tile_is_refused() -> None:
    with pytest.raises(DrawError, match=r"thread 0, value 4 of .* is at 16, .*reaches 16"):
        draw(Layout((4, 8)), view=ThreadValue((4, 4)))
    with pytest.raises(DrawError, match="thread, value"):
        draw(Layout(8), view="tv")


def test_further_modes_are_nested_in_coordinates() -> None:
    layout = Layout((2, (2, 3), (4, 2)), (30, (1, 10), (0, 60)))
    (grid,) = draw(layout, view="memory").figure.grids
    named = {label.split("\n")[0] for label in grid.labels if "(" in label}
    assert "(1,(0,1),(0,1))" in named and all(name.count("(") == 3 for name in named)
    told = draw(layout).figure.grids[-1]
    assert told.hints[1].startswith("(0,(1,0),(3,1)) ") and "(0,(1,0),(3,1)) " in told.text(1)
    marked = draw(layout, highlight=(1, (0, 1), (None, 1))).figure
    assert [len(grid.marked) for grid in marked.grids] == [0] * 4 + [1] * 4


def test_memory() -> None:
    grid = only(draw(Layout((2, 2), (1, 3)), view=Memory()))
    assert grid.labels == ("(0,0)", "(1,0)", "", "(0,1)", "(1,1)")
    assert grid.paints[2] == "x"
    shared = draw(Layout((2, 3), (1, 1)), view=Memory(), label="index")
    assert only(shared).labels == ("0", "1-2", "3-4", "5")
    assert shared.figure.notes == ("offsets 0 to 3: 0 hold nothing, 2 hold several coordinates",)
    below = only(draw(Layout(3, -2), view=Memory(width=4)))
    assert below.rows.names == ["-4", "0"]
    assert below.labels[:5] == ("2", "", "1", "", "0") or below.labels[0] == "(2)"
    with pytest.raises(DrawError, match="coordinates, not offsets"):
        draw(make_identity_layout((2, 2)), view="memory")


def test_tiles() -> None:
    drawing = draw(Layout((4, 4), (4, 1)), view=Tiles((2, Layout(2, 2))))
    assert only(drawing).groups[:4] == (0, 2, 0, 2)
    assert [text for _paint, text in drawing.figure.legend] == ["0", "1", "2", "3"]
    assert drawing.figure.subject == "tile"
    assert rows(only(draw(Layout((2, 4)), view=Tiles((2, 2)), label="place")))[0] == ["0", "2", "0", "2"]


@pytest.mark.parametrize(("shape", "tile"), [((5, 3), (2, 2)), ((4, 6), (3, 4)), ((7, 7), (3, 7)), ((4, 4), (8, 2))])
def test_tiles_that_reach_beyond_the_edge_have_the_elements_that_are_there(
    shape: tuple[int, int], tile: tuple[int, int]
) -> None:
    (m, n), (a, b) = shape, tile
    wanted = [(i // a + -(-m // a) * (j // b), i % a + a * (j % b)) for j in range(n) for i in range(m)]
    assert tile_numbers(Layout(shape, (n, 1)), tile) == wanted
    grid = only(draw(Layout(shape, (n, 1)), view=Tiles(tile)))
    assert list(grid.groups) == [wanted[i + m * j][0] for i in range(m) for j in range(n)]
    assert tile_numbers(Layout(m * n), a) == [(at // a, at % a) for at in range(m * n)]


def test_one_tile_in_the_whole() -> None:
    layout, threads = Layout((4, 6), (6, 1)), Layout((2, 3), (1, 2))
    grid = only(draw(layout, tiler=(2, 3), tile=(1, 1), threads=threads, thread=1))
    inside = {i * 6 + j for i in (2, 3) for j in (3, 4, 5)}
    assert {place for place, group in enumerate(grid.groups) if group} == inside
    assert grid.marked == {18 + 3, 18 + 4, 18 + 5}
    for place, paint in enumerate(grid.paints):
        assert paint == (f"c{(place // 6) % 2}" if place in inside else "w")
    assert only(draw(layout, tiler=(2, 3), tile=3)).groups == grid.groups
    told = only(draw(layout, tiler=(2, 3), threads=threads, label="thread,value"))
    assert rows(told)[1][:4] == ["T1\nV0", "T1\nV1", "T1\nV2", "9"]
    for wrong, match in (
        ({"tile": 4}, "there are 4 tiles"),
        ({"tile": (2, 0)}, "tile="),
        ({"thread": 1}, "give threads"),
        ({"threads": Layout((2, 4))}, "reaches 6, a tile has 6"),
        ({"threads": threads, "thread": 2}, "has 2 threads"),
        ({"threads": Layout(4)}, "thread, value"),
    ):
        with pytest.raises(DrawError, match=match):
            draw(layout, tiler=(2, 3), **wrong)


def test_banks_count_conflicts() -> None:
    drawing = draw(Layout((32, 32), (32, 1)), view=Banks())
    assert only(drawing).labels[:33] == (*tuple(map(str, range(32))), "0")
    assert drawing.figure.notes[1:] == ("down a column: 32-way conflict", "along a row: no conflict")
    padded = draw(Layout((32, 32), (33, 1)), view=Banks())
    assert padded.figure.notes[1:] == ("down a column: no conflict", "along a row: no conflict")
    halves = draw(Layout((32, 32), (32, 1)), view=Banks(element_bytes=2))
    assert halves.figure.notes == (
        "2-byte elements, 32 banks of 4 bytes; up to 32 at a time",
        "down a column: 16-way conflict",
        "along a row: no conflict",
    )
    wide = draw(Layout((1, 32), (32, 1)), view=Banks(element_bytes=16))
    assert wide.figure.notes[0].endswith("up to 8 at a time") and wide.figure.notes[2] == "along a row: no conflict"
    for nbytes, verdict in ((4, "2-way conflict"), (8, "no conflict")):
        assert draw(Layout(32, 2), view=Banks(bank_bytes=nbytes)).figure.notes[1:] == (f"along a row: {verdict}",)
    large = draw(Layout((1024, 1024)), view=Banks())
    assert large.figure.notes[1:] == ("more than 65536 elements: conflicts are not counted",)
    with pytest.raises(DrawError, match="from 1 to 1024"):
        Banks(element_bytes=0)


def test_swizzle_before_and_after() -> None:
    layout = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (4, 1)))
    drawing = draw(layout, view=Swizzled())
    before, after = drawing.figure.grids
    assert rows(before)[1] == ["4", "5", "6", "7"]
    assert rows(after)[1] == ["5", "4", "7", "6"]
    assert sorted(after.paints) == sorted(before.paints)
    assert drawing.figure.notes == ("S<2,0,2>: bits 2 to 3 of the offset flip bits 0 to 1",)
    with pytest.raises(DrawError, match="swizzle"):
        draw(Layout((4, 4)), view="swizzle")


def test_the_tree_has_a_cell_for_every_node() -> None:
    grid = only(draw(Layout(((4, (2, 3)), 8), ((1, (4, 8)), 24)), view=Tree()))
    assert [label for label in grid.labels if label] == [
        *("((4,(2,3)),8)", "(4,(2,3))", "8", "4", "(2,3)", "2", "3"),
        *("1", "4", "8", "24"),
    ]
    assert sorted(grid.spans.values()) == [1] * 8 + [2, 3, 4]


@pytest.mark.parametrize(
    "call",
    [
        steps(composition, Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))),
        steps(composition, Layout((4, 8), (8, 1)), (2, Layout(4, 2))),
        steps(complement, Layout((2, 2), (1, 6)), 24),
        steps(logical_divide, Layout((8, 8), (8, 1)), (4, 2)),
        steps(logical_divide, Layout(16, 3), Layout(4, 2)),
        steps(zipped_divide, Layout((8, 8), (8, 1)), (4, 4)),
        steps(blocked_product, Layout((2, 5), (5, 1)), Layout((3, 4))),
        steps(raked_product, Layout((2, 5), (5, 1)), Layout((3, 4))),
        steps(zipped_product, Layout((2, 2)), Layout((2, 3))),
        steps(coalesce, Layout((2, (1, 6)), (1, (6, 2)))),
        steps(right_inverse, Layout((4, 8), (8, 1))),
    ],
    ids=str,
)
def test_steps_end_in_the_result(call: object) -> None:
    drawing = draw(call, view=Steps())
    result = drawing.figure.grids[1 if call.function == "complement" else -1]  # type: ignore[attr-defined]
    value = call.value  # type: ignore[attr-defined]
    assert {int(label) for label in result.labels} == {value(i) for i in range(value.size)}
    assert str(value) in drawing.figure.title


@pytest.mark.parametrize(
    ("layout", "tiler"),
    [
        (Layout((3, 4)), (2, 2)),
        (Layout((3, 5), (5, 1)), (2, 2)),
        (Layout(((3, 5), 4)), (4, 3)),
        (Layout(((3, 5), 4)), ((2, 2), 2)),
        (Layout((3, 4)), (2,)),
        (Layout((3, 4)), 5),
    ],
    ids=str,
)
@pytest.mark.parametrize("divide", [logical_divide, zipped_divide])
def test_a_cell_is_linked_with_itself_and_not_with_what_is_beyond(divide: Any, layout: Layout, tiler: Any) -> None:
    """Offsets that tell all coordinates apart, also those beyond the shape, say what each index of the result is."""
    call = steps(divide, layout, tiler, True)
    whole = draw(call, view=Steps()).figure.grids[0]
    far = iter(range(8))
    apart = Layout(layout.shape, map_leaves(lambda _extent: 100 ** next(far), layout.shape))
    with suppress(CutepyError):  # a tile across modes of such strides
        result = divide(apart, tiler, True)
        for own, links in zip(whole.indices, whole.links, strict=True):
            for index, link in zip(own, links, strict=True):
                assert result(link) == apart(index)
    assert sorted(index for own in whole.indices for index in own) == list(range(layout.size))
    assert all(whole.links)


def test_a_call_that_gives_no_layout_has_no_result() -> None:
    first, second = draw(steps(compatible, Layout(8), Layout((2, 4))), view=Steps()).figure.grids
    assert not any(first.links) and not any(second.links)
    with pytest.raises(DrawError, match="it takes a call of layouts, or one that gives a layout"):
        draw(steps(product, (2, 3)), view=Steps())


def test_an_offset_of_several_copies_is_counted_once() -> None:
    drawing = draw(steps(complement, Layout((2, 3), (1, 0)), 4), view=Steps())
    assert drawing.figure.notes[0].endswith("0 left out, 4 twice")


def test_one_colour_follows_a_coordinate_through_a_composition() -> None:
    outer, inner = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
    right, left, result = draw(steps(composition, outer, inner), view=Steps()).figure.grids
    assert right.paints == result.paints
    hits = [tuple(map(int, label.split("→"))) for label in left.labels if "→" in label]
    assert sorted(hits) == sorted((int(index), outer(int(index))) for index in right.labels)
    paint_at = {int(label.split("→")[-1]): paint for label, paint in zip(left.labels, left.paints, strict=True)}
    assert [paint_at[int(offset)] for offset in result.labels] == list(result.paints)


def test_steps_refuse_what_is_no_call() -> None:
    with pytest.raises(DrawError, match="takes a call"):
        draw(Layout(4), view="steps")
    with pytest.raises(DrawError, match="it draws up to"):
        draw(steps(coalesce, Layout((1000, 1000))), view="steps")


def test_options_stand_flat() -> None:
    layout = Layout((4, 4))
    assert draw(layout, title="x", limit=64, heads="none") == draw(layout, style=Style("x", limit=64, heads="none"))
    assert draw(layout, style=Style(title="x"), theme="dark").style == Style(title="x", theme="dark")
    assert draw(layout, view="memory", width=4).figure == draw(layout, view=Memory(4)).figure
    assert draw(layout, element_bytes=2).figure == draw(layout, view=Banks(2)).figure
    with pytest.raises(DrawError, match="there are 4 tiles"):
        draw(layout, tiler=(2, 2), tile=-1)
    with pytest.raises(DrawError, match="did you mean title"):
        draw(layout, titel="x")  # type: ignore[call-arg]
    with pytest.raises(DrawError, match="view 'memory' has no option 'tiler'"):
        draw(layout, view="memory", tiler=(2, 2))
    with pytest.raises(DrawError, match="the view is an object"):
        draw(layout, view=Memory(), width=4)


def test_every_option_has_its_meaning_and_its_place() -> None:
    from cutepy.draw.look import OPTIONS, Options
    from cutepy.draw.views import NAMED

    fields = set(Style.__slots__)
    of_views = {option for make in NAMED.values() for option in signature(make).parameters}
    assert set(OPTIONS) == {"view", "color", "label", *Options.__annotations__}
    assert set(Options.__annotations__) == fields | of_views


def test_long_vectors_fold_and_wide_panels_stand_under_one_another() -> None:
    from cutepy.draw.sheet import sheet_of

    figure = draw(Layout((50,), (2,))).figure
    boxes = sheet_of(figure).boxes
    assert [box.grid.columns.size for box in boxes] == [16, 16, 16, 2]
    assert sum((box.grid.labels for box in boxes), ()) == only(draw(Layout((50,), (2,)))).labels
    assert [box.grid.columns.names[0] for box in boxes] == ["0", "16", "32", "48"]
    before, after = sheet_of(draw("S<3,4,3> o 0 o (8,64):(64,1)", view="swizzle").figure).boxes
    assert before.x == after.x and after.y > before.y
    before, after = sheet_of(draw("S<3,0,3> o 0 o (8,8):(8,1)", view="swizzle").figure).boxes
    assert before.y == after.y and after.x > before.x


def test_corners_are_coloured_by_rank() -> None:
    grid = only(draw(Layout((4096, 4096), (4096, 1)), limit=64))
    found = [paint for paint in grid.paints if paint != "e"]
    assert set(found) == {f"g{n}" for n in range(16)}
    assert [int(paint[1:]) for paint in found] == sorted(int(paint[1:]) for paint in found)


def test_texts_lists_figures_and_registered_types() -> None:
    assert str(draw("(2,2)").figure.title) == "(2,2):(1,2)"
    both = draw([Layout((2, 2)), "coalesce((2,2))"])
    assert [grid.caption for grid in both.figure.grids] == ["(2,2):(1,2)", "4:1"]
    assert draw(both.figure).figure == both.figure

    class Mine:
        layout = Layout((2, 2))

    with pytest.raises(DrawError, match="nothing to draw in a Mine"):
        draw(Mine())
    register(Mine, Plain())
    assert only(draw(Mine())).labels == ("0", "2", "1", "3")


def test_views_by_name() -> None:
    with pytest.raises(DrawError, match=r"view='tile': did you mean tiles\? there are grid, memory"):
        draw(Layout(4), view="tile")
    with pytest.raises(DrawError, match="view 'tiles' needs tiler"):
        draw(Layout((4, 4)), view="tiles")
    with pytest.raises(DrawError, match="theme='black'"):
        Style(theme="black")  # type: ignore[arg-type]


def test_notebooks_show_pictures() -> None:
    drawing = draw(Layout((2, 2)))
    assert drawing.html()._repr_html_() == drawing.html() and repr(drawing) == drawing.text()
    for shown in (drawing, Layout((2, 2))):
        bundle = shown._repr_mimebundle_()
        assert bundle == {"text/html": drawing.html(), "text/plain": repr(shown)}
        assert shown._repr_mimebundle_(exclude=["text/html"]) == {"text/plain": repr(shown)}
        more = shown._repr_mimebundle_(include=["image/svg+xml", *(["image/png"] if find_spec("resvg_py") else [])])
        assert more["image/svg+xml"] == drawing.svg()
        if find_spec("resvg_py"):
            assert b64decode(more["image/png"]) == drawing.png()
    large = draw(Layout((64, 64)))
    assert (
        large._repr_mimebundle_()["text/html"]
        == f'<figure class="cutepy" style="overflow-x:auto">{large.svg().rstrip()}</figure>'
    )


@pytest.mark.parametrize(
    "thing", [Layout((4, 8), (8, 1)), Layout((8, 8)), Swizzle(3, 0, 3), steps(coalesce, Layout((2, 4)))]
)
def test_what_a_notebook_keeps_of_a_picture_is_small(thing: object) -> None:
    bundle = draw(thing)._repr_mimebundle_()
    assert sum(len(shown.encode()) for shown in bundle.values()) <= 12_000


@pytest.mark.parametrize("cells", [(16, 16), (2, 24), (17, 16), (1, 128)])
def test_a_session_shows_small_drawings_as_text(cells: tuple[int, int]) -> None:
    drawing = draw(Layout(cells))
    small = cells[0] * cells[1] <= 256 and max(map(len, drawing.text().split("\n"))) <= 110
    assert repr(drawing) == (drawing.text() if small else f"<Drawing of {Layout(cells)}: {drawing.figure.cells} cells>")


def test_files_of_every_format(tmp_path) -> None:
    drawing = draw(Layout((2, 2)))
    for suffix in (".svg", ".html", ".txt", ".tex"):
        assert drawing.save(tmp_path / f"a{suffix}").stat().st_size > 50
    with pytest.raises(DrawError, match=r"no format '\.gif'"):
        drawing.save(tmp_path / "a.gif")
    assert not (tmp_path / "a.gif").exists()


def test_pdf_and_eps_hold_the_text_or_say_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    drawing = draw(Layout((2, 2)), theme="dark")
    if find_spec("cairosvg"):
        assert drawing.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
        assert drawing.pdf() != draw(Layout((2, 2)), label="none").pdf()
        first = drawing.encoded(".pdf"), drawing.encoded(".eps")
        sleep(1.1)
        assert (drawing.encoded(".pdf"), drawing.encoded(".eps")) == first, "the time of day is in it"
        assert drawing.save(tmp_path / "a.eps").read_bytes().startswith(b"%!PS-Adobe-3.0 EPSF")
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    for suffix in (".pdf", ".eps"):
        with pytest.raises(DrawError, match="cutepy\\[pdf\\]"):
            drawing.save(tmp_path / f"b{suffix}")
        assert not (tmp_path / f"b{suffix}").exists()


def test_png_draws_the_text_or_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutepy.draw.printers import svg as module

    drawing = draw(Layout((2, 2)))
    if find_spec("resvg_py"):
        assert drawing.png().startswith(b"\x89PNG")
        blank = draw(Layout((2, 2)), label=lambda crd, offset: " 0", style=Style(heads="none", title="")).png()
        other = draw(Layout((2, 2)), label=lambda crd, offset: " 8", style=Style(heads="none", title="")).png()
        assert blank != other, "resvg left the text out"
        with pytest.raises(DrawError, match="scale"):
            drawing.png(scale=100)
        monkeypatch.setattr(module, "_FONT_FOLDERS", ())
        with pytest.raises(DrawError, match="no text would be drawn"):
            drawing.png()
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(DrawError, match="pip install"):
        drawing.png()


def test_rich_gets_coloured_text(monkeypatch: pytest.MonkeyPatch) -> None:
    rich = ModuleType("rich.text")
    rich.Text = SimpleNamespace(from_ansi=lambda text: text)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rich", ModuleType("rich"))
    monkeypatch.setitem(sys.modules, "rich.text", rich)
    assert draw(Layout((2, 2))).__rich__() == draw(Layout((2, 2))).text(ansi=True)


def test_an_explanation_is_drawn_with_its_steps_below() -> None:
    told = explain(composition, Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))
    drawing = draw(told)
    assert len(drawing.figure.grids) == 3
    assert len(drawing.figure.notes) == len(told.steps)


def test_the_module_is_callable() -> None:
    from cutepy import draw as module

    assert module("(2,2)").figure == draw("(2,2)").figure  # type: ignore[operator]
    assert module.Style is Style


def test_every_list_of_the_views_is_the_list() -> None:
    from cutepy.draw.look import LAYOUT_VIEWS, OPTIONS, VIEWS, ViewName
    from cutepy.draw.views import NAMED
    from cutepy.explore.answers import OFFERS

    root = Path(__file__).parents[2]
    views = get_args(ViewName)
    assert tuple(NAMED) == views and set(VIEWS) == set(views) and set(OFFERS) == set(LAYOUT_VIEWS)
    titles = re.search(r"const TITLES = {(.*?)};", (root / "cutepy/explore/web/main.js").read_text())
    assert titles and set(re.findall(r"(\w+): ", titles[1])) == set(LAYOUT_VIEWS)
    in_docs = re.search(r"(?m)^\| `view` .*", (root / "docs/diagrams.md").read_text())
    assert in_docs
    for told in (draw.__doc__ or "", in_docs[0], OPTIONS["view"]):
        missing = [view for view in views if not re.search(rf"\b{view}\b", told)]
        assert not missing, missing


def test_help_is_one_screen_and_dir_has_no_noise() -> None:
    from cutepy import draw as module

    text = pydoc.plain(pydoc.render_doc(module))
    assert len(text.splitlines()) <= 50
    assert all(f"`{name}`" in text or f'"{name}"' in text for name in (*Style.__slots__[:-1], "tiler", "banks", "tv"))
    names = dir(module)
    assert {"draw", "Style", "Banks", "register"} <= set(names)
    assert not [name for name in names if name.startswith("_") or isinstance(getattr(module, name), ModuleType)]


def test_what_has_a_picture_shows_it_and_the_rest_its_text() -> None:
    from cutepy import bank_conflicts, transactions, vectorised
    from cutepy.tensor import COPY_ATOMS, FMA, MMA_ATOMS, make_tensor, make_tiled_mma

    pictured = [
        *(Layout(4), ComposedLayout(Swizzle(1, 0, 1), 0, Layout(4)), Swizzle(3, 4, 3), make_tensor("f32", 4)),
        *(MMA_ATOMS["sm_75.mma.m16n8k8.f32.f16.f16.f32"], COPY_ATOMS["sm_75.ldmatrix.m8n8.x1.b16"]),
        *(
            make_tiled_mma(FMA, Layout((4, 4, 1))),
            explain(coalesce, Layout((2, 2))),
            conflict_free((8, 8), [Layout((8, 8))]),
        ),
    ]
    for thing in pictured:
        bundle = thing._repr_mimebundle_()  # type: ignore[attr-defined]
        assert bundle["text/html"].startswith("<figure") and bundle["text/plain"] == repr(thing)
        assert not re.search(r"0x[0-9a-f]+", repr(thing)), "an address would be another in each run"
    assert Layout((1000, 1000))._repr_mimebundle_()["text/html"].count("<td") < 1200
    for line in (bank_conflicts(Layout(32, 32)), transactions(Layout(32))):
        assert repr(line) == str(line) and line._repr_mimebundle_() == {}  # the line says it
    told = vectorised(Layout((8, 4), (1, 8)), Layout(32))
    assert told._repr_mimebundle_() == {"text/html": f"<pre>{escape(str(told))}</pre>", "text/plain": repr(told)}
    refused = explain(composition, Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
    assert refused._repr_mimebundle_()["text/html"].startswith("<pre>composition((6,2):(1,7), (3,2):(2,3))")


@pytest.mark.parametrize(
    "text", ["(a,8):(8,1)", "((a,2),(4,b)):((1,2*a),(8*a,32*a))", "(a,b):(b,1)", "a:2", "(a,(3,1),b):(8,(1,5),0)"]
)
def test_unknown_sizes_are_drawn_at_the_ends_of_their_modes(text: str) -> None:
    """What a cell says is, with numbers for the sizes, what the layout of these numbers gives there."""
    grid = only(draw(text))
    sizes = {"a": 5, "b": 7}
    known = re.sub(r"\b[ab]\b", lambda name: str(sizes[name[0]]), text)
    layout = Layout.parse(re.sub(r"(\d+)\*(\d+)", lambda two: str(int(two[1]) * int(two[2])), known))
    assert len(grid.hints) == len(grid.labels) > 3 and "…" in grid.labels
    for label, hint in zip(grid.labels, grid.hints, strict=True):
        if hint:
            crd, value = (eval(side, dict(sizes)) for side in hint.split(" → "))
            assert value == layout(crd) and label == hint.partition(" → ")[2]
    assert only(draw(text, label="coordinate")).labels[0] == grid.hints[0].partition(" → ")[0]


def test_a_swizzle_shows_its_bits() -> None:
    for swizzle in (Swizzle(3, 4, 3), Swizzle(2, 0, 5), Swizzle(2, 1, -3), Swizzle(0, 4, 3)):
        grid = only(draw(swizzle))
        count = grid.columns.size
        for offset in range(1 << count):
            bit = {f"b{b}": offset >> b & 1 for b in range(count)}
            result = 0
            for b, label in zip(reversed(range(count)), grid.labels[count:], strict=True):
                result |= sum(bit[part] for part in label.split("^")) % 2 << b
            assert result == swizzle(offset)


def test_a_conversion_shows_who_held_what() -> None:
    plan = convert(Layout((4, 2), (2, 1)), Layout((4, 2), (1, 4)))
    before, after = draw(plan).figure.grids
    assert before.labels == tuple(map(str, range(8))) and after.labels == ("0", "4", "1", "5", "2", "6", "3", "7")
    paint = dict(zip(before.labels, before.paints, strict=True))
    assert [paint[label] for label in after.labels] == list(after.paints) and len(set(after.paints)) == 4
    assert "2 shuffles" in draw(plan).figure.title


def test_what_is_found_is_drawn_as_its_layout() -> None:
    rows, columns = Layout((8, 8), (1, 8)), Layout((8, 8), (8, 1))
    found = conflict_free((8, 8), [rows, columns], lanes=8, banks=8)
    assert draw(found).text() == draw(found.layout).text()
    copied = widest_copy(columns, columns, 8)
    assert draw(copied).text() == draw(copied.layout_tv, over=(8, 8)).text()


@pytest.mark.parametrize("size", [33, 48, 49, 100, 513])
def test_a_long_vector_is_folded_into_its_cuts(size: int) -> None:
    (vector,) = draw(f"{size}:3").figure.grids
    rows = [row for (row,) in draw(f"{size}:3").figure.pieces]
    cuts = [vector.cut(start, min(start + 16, size)) for start in range(0, size, 16)]
    assert [(row.columns, row.labels, row.caption) for row in rows] == [
        (cut.columns, cut.labels, cut.caption) for cut in cuts
    ]
    assert [row.detail(0) for row in rows if row.detail] == [cut.detail(0) for cut in cuts if cut.detail]


ASKED: dict[str, tuple[object, dict[str, object]]] = {
    **{name: ("((2,2),8):((1,64),2)", {"view": name}) for name in ("grid", "memory", "tree", "banks")},
    "tiles": ("(4,8):(8,1)", {"tiler": (2, 2)}),
    "one tile": ("(4,8):(8,1)", {"tiler": (2, 2), "tile": (1, 0), "threads": Layout((2, 2), (2, 1))}),
    "tv": ("((2,2),2,2):((4,1),8,2)", {"view": "tv"}),
    "swizzle": ("S<1,0,2> o 0 o (4,2):(1,4)", {"view": "swizzle"}),
    "steps": ("coalesce((4,8):(1,4))", {"view": "steps"}),
    "compare": ([Layout((4, 8)), Layout((4, 8), (8, 1))], {"view": "compare"}),
    "data": ("make_tensor([*range(0, 64, 2)], Layout((4, 8), (8, 1)))", {}),
    "mma": ("FMA", {}),
    "copy": ("universal_copy(4)", {}),
    "bits": (Swizzle(2, 0, 3), {}),
    "moves": (convert(Layout((2, 4), (1, 2)), Layout((2, 4), (4, 1))), {}),
}


@pytest.mark.parametrize("what", ["color", "label"])
@pytest.mark.parametrize("asked", ASKED)
def test_a_colour_or_a_label_that_is_asked_for_counts_or_is_refused(asked: str, what: str) -> None:
    thing, options = ASKED[asked]
    if asked in ("data", "mma", "copy"):  # of rooms that need NumPy
        from cutepy import tensor

        thing = eval(str(thing), {**vars(tensor), "Layout": Layout})

    def shown(choice: object) -> tuple[object, ...]:
        figure = draw(thing, **{what: choice}, **options).figure  # type: ignore[arg-type]
        return tuple(grid.paints if what == "color" else grid.labels for grid in figure.grids)

    with pytest.raises(DrawError, match=f"{what}='no such thing'") as refusal:
        shown("no such thing")
    names = re.findall(r"[a-z][a-z,]*(?=, |$)", str(refusal.value).partition(f"{what}s by ")[2].partition(", or by")[0])
    for name in {*names} - {"none"}:
        assert shown(name) != shown("none"), name
    if names:
        assert shown(lambda crd, value: 3) != shown("none")
    else:
        with pytest.raises(DrawError, match="of its own"):
            shown(lambda crd, value: 3)
