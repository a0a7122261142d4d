"""SVG: well formed, one tooltip a cell, no ids, no scripts, the same bytes every time, and as small as promised."""

import re
import subprocess
import sys
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from cutepy.draw import Drawing, Style, draw, drawing_of
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
    assert "light-dark(" in text


def test_a_paint_of_covered_cells_alone_has_no_group() -> None:
    root = ElementTree.fromstring(draw("(4,8):(8,1)", view="tree").svg())
    assert all(len(group) for group in root.iter(f"{SVG}g"))


def test_a_cell_knows_its_coordinate_and_its_offset() -> None:
    layout = Layout((4, (2, 3)), (6, (3, 1)))
    root = ElementTree.fromstring(draw(layout).svg())
    hints = {cell.get("d"): cell.findtext(f"{SVG}title") for cell in cells(root)}
    for row in range(4):
        for column in range(6):
            crd = f"({row},({column % 2},{column // 2}))"
            assert hints[f"M{column} {row}h1v1h-1"] == f"{crd} → {layout(row, column)}"


@pytest.mark.parametrize(("side", "bytes_"), [(8, 8_500), (32, 100_000), (128, 2_000_000)])
def test_sizes(side: int, bytes_: int) -> None:
    for layout in (Layout((side, side)), Layout((side, side), LayoutRight)):
        assert len(draw(layout).svg().encode()) <= bytes_


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
    assert "<style>" not in light + dark
    assert 'class="bg" fill="#fff"' in light
    assert 'class="bg" fill="#0d1117"' in dark
    assert 'class="bg"' not in draw(layout, style=Style(background=False)).svg()


def test_drawing_needs_neither_numpy_nor_sympy() -> None:
    script = (
        "import sys; from cutepy.draw import draw; draw('zipped_divide((8,8):(8,1), (4,4))').svg();"
        "assert not {'numpy', 'sympy', 'wgpu'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_picture_has_a_name_for_screen_readers() -> None:
    two = [Layout((2, 2)), Layout(4)]
    for drawing, name in ((draw(two), "2 pictures: (2,2):(1,2); 4:1"), (draw(two, title="both"), "both")):
        assert f"\n<title>{name}</title>\n" in drawing.svg()
    assert "\n<title>" in drawing_of("(4,8):(8,1)\n(4,8):(1,4)").svg().partition("<style")[0]
