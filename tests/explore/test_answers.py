"""What the page asks is answered as cutepy answers everybody: the same text, the same picture, the same error."""

import json
import random
from collections.abc import Callable

import pytest
from explore.questions import ACCESS, asked, expressions, shown
from shares import in_share, share

from cutepy.docs import drawing_of_body
from cutepy.draw import draw, drawing_of
from cutepy.errors import CutepyError
from cutepy.explore.accesses import ThreadAccess, better
from cutepy.explore.answers import OFFERS, answer
from cutepy.layout import Layout, bank_conflicts, explain
from cutepy.layout.text.meaning import FINDINGS, functions
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.values.composed import AnyLayout

TEXTS = (
    "(8,8):(8,1)",
    "((2,2),(4,2)):((1,8),(2,16))",
    "12:2",
    "(2,4,3):(4,1,8)",
    "(4,8):(0,1)",
    "S<3,0,3> o 0 o (8,8):(8,1)",
    "zipped_divide((8,8):(8,1), (4,4))",
    "composition((6,2):(8,2), (4,3):(3,1))",
    "complement((2,2):(1,4), 16)",
    "(4,4):(1@0,1@1)",
)
LARGE = "(64,64):(64,1)"


@pytest.mark.parametrize("text", [*TEXTS, LARGE])
def test_every_view_that_is_offered_draws_in_every_colour_and_label(text: str) -> None:
    """One of 4096 cells as it is offered first: each of its pictures takes a third of a second."""
    views = asked("look", text=text)["views"]
    assert views
    for view in views:
        colors, labels = OFFERS[view] if text != LARGE else ((), ())
        for options in [{}, *({"color": color} for color in colors), *({"label": label} for label in labels)]:
            found = asked("look", text=text, view=view, options=options)
            assert "refused" not in found and found["view"] == view, (view, options, found.get("refused"))
            assert found["grids"]


@pytest.mark.parametrize("view", OFFERS)
@pytest.mark.parametrize(("what", "place"), [("color", 0), ("label", 1)])
def test_all_colours_and_labels_of_a_view_are_offered(view: str, what: str, place: int) -> None:
    """A wrong name is refused with the right ones, and these are what the page offers."""
    text = TEXTS[5] if view == "swizzle" else TEXTS[6]
    text = f"(4,8):(8,1)\n{text}" if view == "compare" else text
    refused = asked("look", text=text, view=view, options={what: "nonsense"}).get("refused", "")
    if OFFERS[view][place]:
        listed = refused.partition(f"{what}s by ")[2].rpartition(", or by a function")[0].split(", ")
        assert set(OFFERS[view][place]) <= set(listed) and listed[0] == OFFERS[view][place][0]


def test_random_expressions_are_answered_as_python_answers() -> None:
    refused = 0
    texts = list(expressions("answers", len(share(range(300)))))
    for text in texts:
        found = asked("look", text=text)
        assert found.get("value", found.get("error")) == shown(text)
        refused += "error" in found
        if "svg" in found:
            assert found["svg"] == drawing_of(text, dict(found["options"])).svg()
    assert in_share(20) < refused < 2 * len(texts) // 3


@pytest.mark.parametrize("text", ["(4,", "(8,8)x", "coalesce((8,8)", "", "coalesce(4:1, 3, 3)", "get(4:1, 7)"])
def test_an_error_points_where_python_points(text: str) -> None:
    with pytest.raises(CutepyError) as caught:
        parse_expression(text)
    found = asked("look", text=text)
    assert found["error"] == str(caught.value)
    assert found["column"] == caught.value.column is not None


def test_an_option_that_is_refused_leaves_the_rest() -> None:
    found = asked("look", text="(8,8):(8,1)", view="tiles", options={"tiler": "(0,3)"})
    assert found["value"] == "(8,8):(8,1)" and "0" in found["refused"] and "svg" not in found


def test_a_view_that_does_not_fit_gives_way() -> None:
    assert asked("look", text="(8,8):(8,1)", view="swizzle")["view"] == "grid"


def test_a_large_picture_comes_as_cells() -> None:
    found = asked("look", text="(64,64):(64,1)")
    figure = draw("(64,64):(64,1)").figure
    (cells,) = found["cells"]
    assert "svg" not in found and cells["labels"] == list(figure.grids[0].labels)
    assert len(cells["paints"]) == 4096 and max(cells["paints"]) < len(found["paints"])


@pytest.mark.parametrize("lanes", [0, 1])
@pytest.mark.parametrize("text", [text for text in TEXTS[:7] if ":" in text])
def test_a_cell_is_where_the_layout_says(text: str, lanes: int) -> None:
    layout = parse_expression(text).value
    assert isinstance(layout, AnyLayout)
    access = {**ACCESS, "lanes": lanes}
    for number, grid in enumerate(draw(layout).figure.grids):
        for place in range(grid.rows.size * grid.columns.size):
            found = asked("cell", text=text, view="grid", options={}, grid=number, place=place, access=access)
            rows = dict(found["rows"])
            coordinate = json.loads(rows["coordinate"].replace("(", "[").replace(")", "]"))
            assert str(layout(tupled(coordinate))) == rows["offset"] == grid.labels[place]
            assert str(layout(int(rows["index"]))) == rows["offset"]
            assert int(rows["address"].partition(",")[0], 16) == 4 * int(rows["offset"])
            owner = asked(
                "thread", text=text, view="grid", options={}, thread=found["thread"], value=None, access=access
            )
            assert place in owner["places"][number]
            assert [rows["coordinate"], rows["offset"]] in [row_of(row, layout.rank, lanes) for row in owner["rows"]]


@pytest.mark.parametrize("wide", [4, 16])
def test_a_cell_is_answered_for_a_thread_of_more_values_than_are_listed(wide: int) -> None:
    text, access = "(1,(4,4),6):(24,(0,1),24)", {**ACCESS, "access_bytes": wide}
    last = asked("cell", text=text, view="grid", options={}, grid=5, place=15, access=access)
    assert last["rows"][:2] == [["coordinate", "(0,(3,3),5)"], ["index", "95"]]
    subject = "value 95: one" if wide == 4 else "values 92 to 95: not one"
    name, verdict = last["rows"][-1]
    assert name == "thread 0" and verdict.startswith(f"{subject} access of {wide} bytes")


def row_of(row: list[str], rank: int, lanes: int) -> list[str]:
    """Coordinate and offset of a row of a thread, the coordinate put back as the layout has it."""
    if rank < 2:
        return [row[1], row[2]]
    first, rest = tupled(json.loads(row[1].replace("(", "[").replace(")", "]")))  # type: ignore[misc]
    rest = rest if rank > 2 else (rest,)  # type: ignore[assignment]
    whole = [*rest]  # type: ignore[misc]
    whole.insert(lanes, first)
    return [str(tuple(whole)).replace(" ", ""), row[2]]


def tupled(entry: object) -> object:
    return tuple(map(tupled, entry)) if isinstance(entry, list) else entry


def test_the_cells_of_a_thread_are_its_own() -> None:
    text, options = "((4,8),(2,2)):((32,1),(16,8))", {"over": "(16,8)"}
    labels = draw(text, view="tv").figure and drawing_of(text, {"view": "tv", **options}).figure.grids[0].labels
    for thread in range(32):
        found = asked("thread", text=text, view="tv", options=options, thread=thread, value=None, access=ACCESS)
        assert found["places"] == [[p for p, label in enumerate(labels) if label.startswith(f"T{thread}\n")]]
        for value in range(4):
            one = asked("thread", text=text, view="tv", options=options, thread=thread, value=value, access=ACCESS)
            assert one["places"] == [[p for p, label in enumerate(labels) if label == f"T{thread}\nV{value}"]]


@pytest.mark.parametrize("wide", [4, 8, 16])
def test_whole_accesses_are_those_that_banks_can_be_counted_of(wide: int) -> None:
    rng = random.Random(f"whole {wide}")
    judged = set()
    for _case in range(200):
        strides = rng.choice([(8, 1), (1, 8), (9, 1), (4, 1), (2, 1), (16, 2)])
        layout = Layout((rng.choice([2, 4, 8]), rng.choice([4, 8])), strides)
        access = ThreadAccess(4, wide, 0)
        told = [
            line
            for thread in range(layout[0].size)
            for line in asked(
                "thread",
                text=str(layout),
                view="grid",
                options={},
                thread=thread,
                value=None,
                access={**ACCESS, "access_bytes": wide},
            )["verdicts"]
        ]
        whole = not any("not one" in line for line in told)
        try:
            bank_conflicts(access.by_thread(layout), 4, wide)
            possible = True
        except CutepyError:
            possible = False
        assert whole == possible, (layout, told)
        judged.add(whole)
    assert judged == ({True} if wide == 4 else {True, False})


@pytest.mark.parametrize("wide", [4, 16])
@pytest.mark.parametrize(
    ("shape", "stride"), [((32, 32), (32, 1)), ((16, 8), (8, 1)), ((8, 64), (64, 1)), ((24, 12), (12, 1))]
)
def test_what_is_proposed_has_the_ways_that_are_said(
    shape: tuple[int, int], stride: tuple[int, int], wide: int
) -> None:
    layout, access = Layout(shape, stride), ThreadAccess(4, wide, 0)
    before = bank_conflicts(layout, 4, wide).ways
    for kind, text, why in better(layout, access):
        found = parse_expression(text).value
        assert isinstance(found, AnyLayout)
        ways = bank_conflicts(found, 4, wide).ways
        if kind == "nothing":
            assert found == layout
            continue
        assert why.startswith(f"{ways}-way") and ways < before
        if kind == "padding":
            assert isinstance(found, Layout) and f"{found.cosize - layout.cosize} more" in why
            smaller = (Layout(shape, (pitch, 1)) for pitch in range(stride[0], found.stride[0]))  # type: ignore[index,arg-type]
            assert all(ways_of(each, wide) > ways for each in smaller)


def test_where_no_swizzle_does_it_an_order_of_the_modes_may() -> None:
    layout = Layout(((2, 2, 2, 2, 2), (2, 2, 2, 2, 2)), ((512, 128, 2, 4, 256), (16, 8, 64, 32, 1)))
    kind, text, why = better(layout, ThreadAccess())[0]
    found = parse_expression(text).value
    assert isinstance(found, AnyLayout) and sorted(map(int, found.offsets().ravel())) == list(range(1024))
    assert (kind, why) == ("swizzle", "1-way; 1-way with mode 1 as threads; no more memory")
    assert bank_conflicts(layout, 4, 4).ways == 8 and bank_conflicts(found, 4, 4).ways == 1


def ways_of(layout: Layout, wide: int) -> float:
    try:
        return bank_conflicts(layout, 4, wide).ways
    except CutepyError:
        return float("inf")


def test_memory_says_what_the_library_says() -> None:
    rows = dict(asked("memory", text="(32,32):(32,1)", access=ACCESS)["rows"])
    assert rows["banks"] == str(bank_conflicts(Layout((32, 32), (32, 1))))
    assert rows["widest access"] == "16 bytes at once"
    along = dict(asked("memory", text="(32,32):(32,1)", access={**ACCESS, "lanes": 1})["rows"])
    assert along["banks"].startswith("no conflict") and along["widest access"].startswith(
        "4 bytes at once; 16 bytes: thread 0 has"
    )


@pytest.mark.parametrize("text", ["composition((6,2):(8,2), (4,3):(3,1))", "composition((6,2):(1,7), (3,2):(2,3))"])
def test_explain_is_told_step_by_step(text: str) -> None:
    found, explanation = asked("told", text=text), explain(text)
    assert [step for step, _layout in found["steps"]] == [str(step) for step in explanation.steps]
    assert (found["result"] or found["refused"]) == str(explanation.result or explanation.error)


EXPORTS: dict[str, Callable[[AnyLayout], str]] = {
    "cute": str,
    "python": repr,
    "cpp": lambda layout: layout.to_cpp(),
    "pycute": lambda layout: layout.to_pycute(),
    "latex": lambda layout: layout.to_latex(),
    "svg": lambda layout: draw(layout, view="memory").svg(),
    "tikz": lambda layout: draw(layout, view="memory").tikz(),
    "text": lambda layout: draw(layout, view="memory").text(),
}


@pytest.mark.parametrize("format", EXPORTS)
def test_exports_are_those_of_the_library(format: str) -> None:
    text = "((2,2),(4,2)):((1,8),(2,16))"
    found = asked("export", text=text, view="memory", options={}, format=format)["text"]
    assert found == EXPORTS[format](Layout.parse(text))


def test_the_fence_draws_the_same() -> None:
    options = {"over": "(16,8)", "color": "value"}
    asked_for = {"text": "((4,8),(2,2)):((32,1),(16,8))", "view": "tv", "options": options}
    fence = asked("export", **asked_for, format="fence")["text"]
    assert fence.startswith("```layout\n") and fence.endswith("\n```")
    drawn = drawing_of_body(fence.removeprefix("```layout\n").removesuffix("```"), {})[0].svg()
    assert drawn == asked("export", **asked_for, format="svg")["text"]


def test_names_are_all_that_may_be_called() -> None:
    found = json.loads(answer('{"ask": "names"}'))
    assert found.keys() == (functions() | FINDINGS).keys()
    assert found["composition"][0] == "composition(outer, inner)" and all(law for _call, law in found.values())


@pytest.mark.parametrize("element", [0, 3, 8, 4096])
def test_accesses_take_whole_elements(element: int) -> None:
    found = asked("memory", text="(8,8):(8,1)", access={"element_bytes": element, "access_bytes": 4, "lanes": 0})
    assert f"elements of {element}" in found["error"]


def test_lines_are_values_and_pictures_side_by_side() -> None:
    text = "A = (4,8):(8,1)\nB = (4,8):(1,4)\ncomposition(A, B)"
    found = asked("look", text=text)
    assert found["value"] == "(4,8):(8,1)" and "compare" in found["views"] and found["view"] == "steps"
    assert found["lines"] == [
        ["A", "(4,8):(8,1)", "(4,8):(8,1)"],
        ["B", "(4,8):(1,4)", "(4,8):(1,4)"],
        ["", "composition(A, B)", "(4,8):(8,1)"],
    ]
    both = asked("look", text="(4,8):(8,1)\n(4,8):(1,4)")
    assert both["view"] == "compare" and len(both["grids"]) == 2 and "differs" in both["svg"]
    for grid, offset in ((0, 8), (1, 1)):
        told = asked(
            "cell", text="(4,8):(8,1)\n(4,8):(1,4)", view="compare", options={}, grid=grid, place=8, access=ACCESS
        )
        assert ["offset", str(offset)] in told["rows"]


def test_what_was_found_is_a_picture() -> None:
    found = asked("look", text="conflict_free((32,32), [(32,32):(1,32), (32,32):(32,1)])")
    assert found["value"].startswith("S<5,0,5> o 0 o (32,32):(1,32), 1-way and 1-way")
    assert "banks" in found["views"] and "grids" in found and "refused" not in found
    assert asked("look", text="bank_conflicts((32,32):(128,1))")["value"].startswith("32-way conflict")


def test_a_better_layout_is_sought_for_known_sizes_and_elements_of_their_own() -> None:
    with pytest.raises(CutepyError, match="of known sizes"):
        better(Layout.parse("(M,8):(8,1)"), ThreadAccess())
    for stride in ((32, 0), (64, 64)):
        assert [kind for kind, _text, _why in better(Layout((32, 32), stride), ThreadAccess())] == ["nothing"]


@pytest.mark.parametrize("wide", [4, 8, 16])
@pytest.mark.parametrize("shape", [(32, 32), (32, 4), (32, 12), (33, 4), (8, 64)])
def test_what_is_proposed_is_what_it_is_called(shape: tuple[int, int], wide: int) -> None:
    """A swizzle has one, padding leaves elements out; the memory is that between the first and the last offset."""
    columns = shape[1]
    for stride in ((columns, 1), (64, 1), (-columns, 1)):
        layout = Layout(shape, stride)
        for kind, text, why in better(layout, ThreadAccess(4, wide)):
            if kind != "nothing":
                found = parse_expression(text).value
                assert isinstance(found, AnyLayout) and len(set(found.offsets().ravel())) == layout.size
                more = found.cosize - layout.cosize
                assert (f"; {more} more element" in why) == (more > 0) and ("no more memory" in why) == (more <= 0)
                plain = "padding" if found.cosize > found.size else "order"
                assert kind == (plain if isinstance(found, Layout) else "swizzle")
