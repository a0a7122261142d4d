"""SVG: well formed, one tooltip a cell, no ids, no scripts, the same bytes every time, and as small as promised."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from cutepy.draw import Drawing, Style, draw
from cutepy.layout import Layout, LayoutRight

SVG = "{http://www.w3.org/2000/svg}"


def cells(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [path for path in root.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]


def test_every_picture_is_well_formed_and_says_what_it_is(picture: tuple[str, Callable[[], Drawing]]) -> None:
    drawing = picture[1]()
    text = drawing.svg()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title")
    assert root.findtext(f"{SVG}desc")
    covered = sum(span - 1 for grid in drawing.figure.grids for span in grid.spans.values())
    assert len(cells(root)) == sum(len(grid.labels) for grid in drawing.figure.grids) - covered
    assert not re.search(r"\bid=|<script|javascript:|https?://(?!www\.w3\.org/2000/svg)|@import|url\(", text)
    assert "prefers-color-scheme:dark" in text


def test_a_cell_knows_its_coordinate_and_its_offset() -> None:
    layout = Layout((4, (2, 3)), (6, (3, 1)))
    root = ElementTree.fromstring(draw(layout).svg())
    hints = {cell.get("d"): cell.findtext(f"{SVG}title") for cell in cells(root)}
    for row in range(4):
        for column in range(6):
            crd = f"({row},({column % 2},{column // 2}))"
            assert hints[f"M{column} {row}h1v1h-1"] == f"{crd} → {layout(row, column)}"


@pytest.mark.parametrize(("side", "bytes_"), [(8, 8_000), (32, 100_000), (128, 2_000_000)])
def test_sizes(side: int, bytes_: int) -> None:
    for layout in (Layout((side, side)), Layout((side, side), LayoutRight)):
        assert len(draw(layout).svg().encode()) <= bytes_


@pytest.mark.parametrize(("side", "seconds"), [(8, 0.001), (32, 0.005), (128, 0.050)])
def test_times(side: int, seconds: float) -> None:
    """The best of as many runs as fit in 10 seconds, for other work on the machine must not count."""
    layout = Layout((side, side), LayoutRight)
    took, end = seconds + 1, time.perf_counter() + 10
    while took > seconds and time.perf_counter() < end:
        start = time.perf_counter()
        draw(layout).svg()
        took = min(took, time.perf_counter() - start)
    assert took <= seconds


def test_the_same_bytes_in_another_process() -> None:
    script = (
        "from cutepy.draw import draw; import sys; sys.stdout.buffer.write(draw('(8,(4,2)):(8,(1,4))').svg().encode())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {draw("(8,(4,2)):(8,(1,4))").svg().encode()}


def test_themes() -> None:
    layout = Layout((2, 2))
    light, dark = (draw(layout, style=Style(theme=theme)).svg() for theme in ("light", "dark"))
    assert "@media" not in light + dark
    assert "fill:#fff" in light
    assert "fill:#0d1117" in dark
    assert 'class="bg"' not in draw(layout, style=Style(background=False)).svg()


def test_drawing_needs_neither_numpy_nor_sympy() -> None:
    script = (
        "import sys; from cutepy.draw import draw; draw('zipped_divide((8,8):(8,1), (4,4))').svg();"
        "assert not {'numpy', 'sympy', 'wgpu'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
