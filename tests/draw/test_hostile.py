"""Whatever is put in: escaped or refused, never a tag, never a hang."""

import time
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutepy.draw import Axis, Figure, Grid, Style, ThreadValue, Tiles, draw, drawing_of, read_body
from cutepy.draw.grid import clean, width
from cutepy.draw.printers.tikz import LARGEST
from cutepy.errors import CutepyError, DrawError, LayoutError, NotationError
from cutepy.layout import ComposedLayout, Layout, Swizzle

NASTY = [
    "<script>alert(1)</script>",
    "</title></svg>",
    "&amp;",
    "]]>",
    "\x00\x1b[31m",
    "\u202eabc\u2066",
    "אבג",
    "\ud800",
]


def formats(drawing):
    return [drawing.svg(), str(drawing.html()), drawing.text(), drawing.tikz(), drawing.encoded(".html").decode()]


@pytest.mark.parametrize("text", NASTY)
def test_labels_and_titles_are_escaped(text: str) -> None:
    drawing = draw(Layout((2, 2)), label=lambda crd, offset: text, style=Style(title=text))
    for printed in formats(drawing):
        printed.encode()
        assert not any(ord(c) < 32 and c != "\n" for c in printed)
        assert "\u202e" not in printed
    for printed in (drawing.svg(), str(drawing.html()), drawing.encoded(".html").decode()):
        assert "<script" not in printed
    root = ElementTree.fromstring(drawing.svg())
    assert len([e for e in root.iter() if e.tag.endswith("}svg")]) == 1


@given(st.text(max_size=40))
def test_any_label_keeps_the_svg_well_formed(text: str) -> None:
    drawing = draw(Layout((2, 2)), label=lambda crd, offset: text, style=Style(title=text))
    root = ElementTree.fromstring(drawing.svg())
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "title", "desc", "style", "g", "path", "text"}
    assert "<script" not in str(drawing.html())
    drawing.tikz().encode("ascii")


def test_data_of_a_grid_made_by_hand_is_escaped_by_the_printers() -> None:
    grid = Grid(Axis((0,)), Axis((0,)), ("<b>",), ("w",), ("<i>",), caption="<u>")
    for printed in (draw(grid).svg(), str(draw(grid).html())):
        assert not any(tag in printed for tag in ("<b>", "<i>", "<u>"))
    with pytest.raises(DrawError, match="no paint"):
        draw(Figure(((Grid(Axis((0,)), Axis((0,)), ("",), ('"><script>',)),),))).svg()


def quick(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    assert time.perf_counter() - start < 5
    return result


@pytest.mark.parametrize("shape", [(1000, 1000), (10**6, 10**12), 10**9, (2, 3, 10**9), ((2,) * 40, (2,) * 40)])
def test_a_million_cells_become_corners(shape) -> None:
    drawing = quick(draw, Layout(shape))
    assert sum(len(grid.labels) for grid in drawing.figure.grids) <= 128 * 128
    assert len(quick(drawing.svg)) < 2_000_000
    assert "…" in drawing.text() or "more grids" in drawing.text()


@pytest.mark.parametrize("view", ["memory", "tv", "banks", "tree"])
def test_large_layouts_are_refused_or_shortened_by_every_view(view: str) -> None:
    try:
        quick(lambda: draw(Layout((10**6, 10**6)), view=view).svg())
    except DrawError as error:
        assert "draw" in str(error)
    with pytest.raises(DrawError, match="go up to"):
        quick(lambda: draw(Layout((10**6, 10**6)), view=Tiles((2, 2))))


def test_200_nested_modes() -> None:
    shape: object = 2
    for _ in range(200):
        shape = (shape, 1)
    with pytest.raises(LayoutError, match="nest"):
        draw(Layout(shape))
    flat = Layout(tuple([(2, 1)] * 100))
    assert quick(lambda: draw(flat).svg())
    with pytest.raises(DrawError, match="tree"):
        draw(flat, view="tree")
    deep: object = 2
    for _ in range(90):
        deep = (deep, 1)
    assert quick(lambda: draw(Layout((deep, 4))).svg())


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "(8,8",
        "coalesce(" * 100 + "4" + ")" * 100,
        "4:" * 1000,
        "__import__('os').system('true')",
        "a" * 10000,
        "(9999999999999999999999999999,2):(1,2)",
        "composition((7,5,3):(1,8,99), 999999999:5)",
        "\x00",
        "(4,4):(4,1);drop",
        "🦆",
    ],
)
def test_hostile_expressions_end_quickly_in_a_clear_error(text: str) -> None:
    try:
        quick(lambda: drawing_of(text).svg())
    except CutepyError as error:
        assert str(error)


@given(st.text(max_size=60))
def test_any_fence_body_is_drawn_or_refused(source: str) -> None:
    """What is drawn is one whole picture of known elements, the same each time; what is refused says something."""
    try:
        text, options = read_body(source)
        svg = drawing_of(text, options).svg()
    except CutepyError as error:
        assert str(error).strip()
        return
    root = ElementTree.fromstring(svg.encode())
    assert {e.tag.rpartition("}")[2] for e in root.iter()} <= {"svg", "title", "desc", "style", "g", "path", "text"}
    assert drawing_of(text, options).svg() == svg


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=2),
    st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20),
)
def test_a_written_fence_body_is_drawn_as_it_says(modes: list[tuple[int, int]], caption: str) -> None:
    layout = Layout(tuple(extent for extent, _step in modes), tuple(step for _extent, step in modes))
    text, options = read_body(f"{layout}\ntitle: {caption}")
    drawing = drawing_of(text, options)
    root = ElementTree.fromstring(drawing.svg())
    shown = [e.text for e in root.iter() if e.tag.endswith("}text")]
    assert caption in [e.text for e in root.iter() if e.tag.endswith("}title")]
    for offset in {layout(i) for i in range(layout.size)}:
        assert str(offset) in shown


trees = st.recursive(
    st.tuples(st.integers(1, 5), st.integers(-2, 20)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


def built(tree: object) -> tuple[object, object]:
    """Shape and stride of a generated tree."""
    if isinstance(tree, list):
        pairs = [built(entry) for entry in tree]
        return tuple(shape for shape, _stride in pairs), tuple(stride for _shape, stride in pairs)
    return tree


@given(
    trees,
    st.sampled_from(["grid", "memory", "tree", "tv", "banks", "swizzle", Tiles((2, 2)), Tiles(2), ThreadValue((4, 4))]),
    st.sampled_from([None, Swizzle(1, 0, 1), Swizzle(2, 1, -2)]),
    st.builds(Style, heads=st.sampled_from(["nested", "index", "none"]), limit=st.sampled_from([16, 64, 16384])),
)
@example([[(5, 0), (5, 0)], [(5, 0), (5, 0)], [(4, 0), (2, 0)]], "grid", None, Style(limit=16384))
def test_any_layout_in_any_view_is_drawn_or_refused(tree, view, swizzle, style) -> None:
    layout = Layout(*built(tree))
    try:
        drawing = draw(layout if swizzle is None else ComposedLayout(swizzle, 64, layout), view=view, style=style)
    except CutepyError:
        return
    if drawing.figure.cells > LARGEST:
        with pytest.raises(DrawError, match="TeX's memory"):
            drawing.tikz()
    else:
        assert all(formats(drawing))
    ElementTree.fromstring(drawing.svg())


def test_options_are_words_and_numbers() -> None:
    for options in ({"limit": "9" * 40}, {"limit": "-1"}, {"legend": "maybe"}, {"title": "x", "onload": "y"}):
        with pytest.raises(DrawError):
            drawing_of("(2,2)", options)
    with pytest.raises(NotationError, match="\\^"):
        drawing_of("(2,2")
    assert len(drawing_of("(2,2)", {"title": "t" * 10000}).figure.title) <= 160


def test_clean() -> None:
    assert clean("a\u200bb\U000e0001") == "a\\u200bb\\U000e0001"
    assert clean("\ud800") == "\\ud800"
    assert width("漢a\u0301") == 3
