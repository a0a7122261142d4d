"""Colours and cell sizes of the reader's own: one meaning at every door, legible text, refusals with the way out."""

import re

import pytest
from colors import contrast
from hypothesis import example, given
from hypothesis import strategies as st

from cutepy import Layout
from cutepy.cli import main
from cutepy.docs import drawing_of_body
from cutepy.draw import draw, drawing_of, palette
from cutepy.errors import DrawError
from cutepy.explore.answers import look

COLORS = "#e41a1c #377eb8 #4daf4a"
HEX = st.integers(0, 0xFFFFFF).map("{:06x}".format)


@pytest.mark.parametrize("theme", ["light", "dark"])
@given(digits=HEX, fade=st.sampled_from("hij"))
@example(digits="0013e6", fade="h")
def test_text_can_be_read_on_any_colour(theme: str, digits: str, fade: str) -> None:
    ink, shown = palette.value("ink", theme), palette.value(fade + digits, theme)
    assert contrast(ink, shown) >= 4.5
    if fade == "h" and contrast(ink, digits) >= 4.5:
        assert shown == digits  # what can be read stays what was asked for


@given(colors=st.lists(HEX, min_size=1, max_size=32, unique=True), over=st.integers(1, 200))
def test_the_colour_of_number_n_is_the_nth_in_turns(colors: list[str], over: int) -> None:
    grid = draw(Layout((1, over)), color="column", palette=colors).figure.grids[0]
    assert grid.paints == tuple(f"h{colors[n % len(colors)]}" for n in range(over))


@given(colors=st.lists(HEX, min_size=1, max_size=32, unique=True))
def test_a_ramp_goes_from_the_first_to_the_last(colors: list[str]) -> None:
    paints = draw(Layout(64), palette=colors).figure.grids[0].paints
    order = [colors.index(paint[1:]) for paint in paints]
    assert order == sorted(order) and order[0] == 0
    assert len(colors) > palette.RAMP or set(order) == {*range(len(colors))}


def test_banks_and_steps_have_them_too() -> None:
    banks = draw("(4,8):(8,1)", banks=4, palette=[*COLORS.split(), "#984ea3"]).figure
    assert [paint for paint, _ in banks.legend] == ["he41a1c", "h377eb8", "h4daf4a", "h984ea3"]
    steps = draw("logical_divide((4,8):(8,1), (2,2))", view="steps", palette=COLORS).figure
    assert all(re.fullmatch("[hij].{6}|[wxe]", paint) for paint in steps.paints)


def test_every_door_gives_the_same_picture(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    asked = {"color": "row", "palette": COLORS, "cell_size": "48"}
    wanted = draw(Layout((4, 8), (8, 1)), color="row", palette=COLORS.split(), cell_size=48).svg()
    assert drawing_of("(4,8):(8,1)", asked).svg() == wanted
    fence = "".join(f"\n{name}: {value}" for name, value in asked.items())
    assert drawing_of_body(f"(4,8):(8,1){fence}", {})[0].svg() == wanted
    options = [part for name, value in asked.items() for part in (f"--{name.replace('_', '-')}", value)]
    assert main(["draw", "(4,8):(8,1)", *options, "-o", str(tmp_path / "l.svg")]) == 0
    assert (tmp_path / "l.svg").read_text() == wanted
    assert look("(4,8):(8,1)", "grid", asked)["svg"] == drawing_of("(4,8):(8,1)", {"view": "grid", **asked}).svg()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("sepia", "it is distinct, ordered, or 1 to 32 colours of 3 or 6 hexadecimal digits each, as '#e41a1c #37b'"),
        ("", "1 to 32 colours"),
        ("#12", "1 to 32 colours"),
        (["#111"] * 33, "1 to 32 colours"),
        (7, "a text, or a sequence of colours"),
    ],
)
def test_what_is_no_palette_is_refused_with_the_grammar(given: object, says: str) -> None:
    with pytest.raises(DrawError, match=re.escape(says)):
        draw(Layout(4), palette=given)  # type: ignore[arg-type]
    if isinstance(given, str):
        with pytest.raises(DrawError, match=re.escape(says)):
            drawing_of("4:1", {"palette": given})
        assert main(["draw", "4:1", "--palette", given]) == 2


def test_a_cell_is_as_large_as_asked_or_as_its_label_needs() -> None:
    def pitch(size: int, layout: str) -> int:
        sheet = draw(layout, cell_size=size).svg()
        return int(re.search(r'viewBox="0 0 (\d+)', sheet)[1])  # type: ignore[index]

    assert pitch(100, "(2,8):(8,1)") - pitch(50, "(2,8):(8,1)") == 8 * 50
    assert pitch(0, "(2,8):(100000,1)") == pitch(20, "(2,8):(100000,1)")
    with pytest.raises(DrawError, match="cell_size=401: the pixels are from 0 to 400"):
        draw("4:1", cell_size=401)
