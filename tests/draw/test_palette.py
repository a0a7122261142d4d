"""The palette keeps its word, computed anew: contrast in both themes, distance for readers with deuteranopia."""

from itertools import combinations, pairwise

import pytest
from colors import contrast, deuteranope, difference

from cutepy.draw import palette
from cutepy.errors import DrawError

THEMES = ("light", "dark")
PAINTS = [f"{kind}{n}" for kind in "csuopq" for n in range(palette.COLORS)] + [f"g{n}" for n in range(palette.RAMP)]
FIXED = [palette.PLAIN, palette.HOLE, palette.GAP]


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_on_every_paint(theme: str) -> None:
    ink = palette.value("ink", theme)
    worst = min(contrast(ink, palette.value(paint, theme)) for paint in PAINTS + FIXED)
    assert worst >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_lines_beside_the_cells_can_be_seen(theme: str) -> None:
    paper = palette.value("paper", theme)
    for ink in ("ink", "soft", "strong", "mark"):
        assert contrast(palette.value(ink, theme), paper) >= 4.5
    assert contrast(palette.value("line", theme), paper) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_any_two_of_32_threads_differ_for_a_deuteranope(theme: str) -> None:
    values = [palette.value(palette.color(thread), theme) for thread in range(32)]
    assert min(deuteranope(a, b) for a, b in combinations(values, 2)) >= 10
    for step in (1, 2, 4, 8, 16):
        assert min(deuteranope(values[i], values[(i + step) % 32]) for i in range(32)) >= 14


@pytest.mark.parametrize("theme", THEMES)
def test_neighbours_among_1024_threads_differ_for_a_deuteranope(theme: str) -> None:
    values = [palette.value(palette.color(thread), theme) for thread in range(1024)]
    cache: dict[tuple[str, str], float] = {}
    for step in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        for a, b in zip(values, values[step:], strict=False):
            if (a, b) not in cache:
                cache[a, b] = deuteranope(a, b)
            assert cache[a, b] >= 10, (step, a, b)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("fade", [1, 2])
def test_faded_neighbours_differ_too(theme: str, fade: int) -> None:
    values = [palette.value(palette.color(thread, fade), theme) for thread in range(32)]
    for step in (1, 2, 4, 8, 16):
        assert min(deuteranope(values[i], values[(i + step) % 32]) for i in range(32)) >= 10


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("count", [2, 4, 8, 12, 16, 32, 64])
def test_ordered_colours_go_round_the_wheel_and_neighbours_differ(theme: str, count: int) -> None:
    paints = [palette.ordered(number, count) for number in range(count)]
    places = [int(paint[1:]) for paint in paints[: palette.COLORS]]
    assert places == sorted(set(places))
    values = [palette.value(paint, theme) for paint in paints]
    assert min(deuteranope(a, b) for a, b in pairwise(values)) >= 9


@pytest.mark.parametrize("theme", THEMES)
def test_the_ramp_goes_one_way(theme: str) -> None:
    ends = palette.value("g0", theme), palette.value("g15", theme)
    from_start = [difference(ends[0], palette.value(f"g{n}", theme)) for n in range(palette.RAMP)]
    assert from_start == sorted(from_start)
    assert deuteranope(*ends) >= 30


def test_a_name_that_is_no_paint_is_refused() -> None:
    for name in ("", "c32", "g16", "r1", "o32", "c-1", "c٣", "c1;}", "<b>", "c001"):
        with pytest.raises(DrawError, match="no paint"):
            palette.value(name, "light")
