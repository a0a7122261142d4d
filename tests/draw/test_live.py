"""Pictures that answer, in Chromium and without Python: every cell says its sum, a choice is followed everywhere."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from chromium import Page
from explore.picture_laws import random_case
from gallery import GALLERY

from cutepy.docs import fence, figure, live_script
from cutepy.draw import Drawing, drawing_of
from cutepy.draw.live import live_data, script
from cutepy.draw.sheet import sheet_of

KILOBYTES = 30
LAYOUTS = 25
ALL = """(() => [...document.querySelectorAll('[data-live]')].map((host) => {
  const svg = host.querySelector('svg');
  return [...svg.children].filter((g) => g.firstElementChild?.getAttribute('transform')?.startsWith('scale')).map((g) =>
    [...g.firstElementChild.querySelectorAll('path')].filter((p) => !p.dataset.mark).map((path) => {
      path.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
      const said = host.querySelector('.cutepy-live output').textContent;
      path.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      const framed = [...svg.querySelectorAll('path[data-mark=follow]')].map((p) => p.getAttribute('d'));
      return [path.getAttribute('d'), said, framed.join('')];
    }));
}))()"""
"""For each picture, grid and cell: where it is, what is said of it, and which cells are framed once it is clicked."""


def opened(page: Page, folder: Path, drawings: list[Drawing]) -> list:
    figures = "".join(figure(drawing, {}, 'class="cutepy"', "") for drawing in drawings)
    path = folder / "live.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{figures}{live_script(None)}", encoding="utf-8")
    page.open(path)
    return page.evaluate(ALL)  # type: ignore[return-value]


def place_of(path: str, columns: int) -> int:
    column, row = map(int, path.removeprefix("M").partition("h")[0].split())
    return row * columns + column


def judged(drawing: Drawing, found: list) -> list[str]:
    """What is wrong of a picture's cells: the text is that of the grid, frames are on the cells with the same link."""
    wrong: list[str] = []
    grids = [box.grid for box in sheet_of(drawing.figure).boxes]
    links = [
        [{index % grid.threads for index in own} if grid.threads else {*own} for own in grid.links or grid.indices]
        or [set()] * len(grid.labels)
        for grid in grids
    ]
    for grid, own, cells in zip(grids, links, found, strict=True):
        for path, said, framed in cells:
            place = place_of(path, grid.columns.size)
            if grid.indices and grid.indices[place] and said != grid.text(place):
                wrong.append(f"{said!r} is said of the cell {grid.text(place)!r}")
            if not said and grid.text(place):
                wrong.append(f"nothing is said of {grid.text(place)!r}")
            if own[place]:
                link = next(iter(grid.links[place] if grid.links else grid.indices[place]))
                link = link % grid.threads if grid.threads else link
                count = sum(link in there for all_of_them in links for there in all_of_them)
                if framed.count("M") != count:
                    wrong.append(f"{framed.count('M')} cells are framed for {link}, {count} have it")
    return wrong


def test_the_script_is_small_and_asks_for_nothing() -> None:
    assert len(script().encode()) <= KILOBYTES * 1000
    assert not any(word in script() for word in ("fetch", "import(", "XMLHttpRequest", "src=", "eval("))


@pytest.mark.parametrize("part", range(3))
def test_every_cell_of_the_gallery_answers(page: Page, tmp_path: Path, part: int) -> None:
    drawings = [make() for make in GALLERY.values()][part::3]
    live = [drawing for drawing in drawings if live_data(drawing.figure)]
    found = opened(page, tmp_path, drawings)
    assert len(found) == len(live) > len(drawings) // 2
    for drawing, cells in zip(live, found, strict=True):
        assert judged(drawing, cells) == [], drawing.figure.title


def test_every_cell_of_random_layouts_answers(page: Page, tmp_path: Path) -> None:
    rng = random.Random("live")
    drawings = []
    for _layout in range(LAYOUTS):
        case = random_case(rng)
        for view in ("grid", "memory", "banks"):
            drawings.append(drawing_of(case.text, {"view": view}))
    for drawing, cells in zip(drawings, opened(page, tmp_path, drawings), strict=True):
        assert judged(drawing, cells) == [], drawing.figure.title


@pytest.mark.parametrize(
    ("text", "count"),
    [("composition((6,2):(8,2), (4,3):(3,1))", 3), ("zipped_divide((8,8):(8,1), (4,4))", 2)],
)
def test_an_element_is_followed_through_the_steps(page: Page, tmp_path: Path, text: str, count: int) -> None:
    (found,) = opened(page, tmp_path, [drawing_of(text, {"view": "steps"})])
    for grid in found:
        assert all(framed.count("M") == count for _path, _said, framed in grid)


def test_keys_move_choose_and_let_go(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [drawing_of("((4,8),(2,2)):((32,1),(16,8))", {"over": "(16,8)"})])
    keys = """(() => { const svg = document.querySelector('svg'); svg.focus(); const out = [];
        for (const key of KEYS) { svg.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
          out.push([document.querySelector('output').textContent,
            (svg.querySelector('path[data-mark=follow]')?.getAttribute('d') ?? '').split('M').length - 1]); }
        return out; })()"""
    said = page.evaluate(
        keys.replace("KEYS", json.dumps(["Escape", "ArrowDown", "ArrowDown", "ArrowRight", "Enter", "Escape"]))
    )
    texts, frames = zip(*said, strict=True)  # type: ignore[call-overload]
    assert texts[1].startswith("(0,0)") and texts[2].startswith("(1,0)") and texts[3].startswith("(1,1)")
    assert texts[-1] == "" and frames == (0, 0, 0, 0, 4, 0)


def test_the_slider_follows_a_thread(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [drawing_of("((4,8),(2,2)):((32,1),(16,8))", {"over": "(16,8)"})])
    moved = """(() => { const it = document.querySelector('.cutepy-live input'); it.value = 5;
        it.dispatchEvent(new Event('input'));
        return [it.max, document.querySelector('.cutepy-live span').textContent,
          document.querySelector('path[data-mark=follow]').getAttribute('d').split('M').length - 1]; })()"""
    assert page.evaluate(moved) == ["31", "thread 5", 4]


def test_a_page_has_the_script_once() -> None:
    md = SimpleNamespace(lines=["of a page"])
    first, second = (fence("(2,2)", "layout", "layout", {}, md) for _fence in range(2))
    assert "<script>" in first and "<script>" not in second and "data-live" in second
    md.lines = ["of the next page"]
    assert "<script>" in fence("(2,2)", "layout", "layout", {}, md)
