"""Pictures that answer, in Chromium and without Python: every cell says its sum, a choice is followed everywhere."""

import json
import os
import random
from collections.abc import Iterator
from operator import le
from pathlib import Path
from types import SimpleNamespace

import pytest
from chromium import Page
from explore.picture_laws import random_case
from firefox import FirefoxPage, find_firefox
from gallery import GALLERY
from live_judge import count_sums, false_sums, heard, judged, reacts
from shares import ALL

from cutepy.docs import fence, figure, live_script
from cutepy.draw import Drawing, drawing_of
from cutepy.draw.live import live_data, script

KILOBYTES = 30
LAYOUTS = 25 if ALL else 8


def show(page: Page | FirefoxPage, folder: Path, drawings: list[Drawing]) -> None:
    """A page of these pictures."""
    figures = "".join(figure(drawing, {}, 'class="cutepy"', "") for drawing in drawings)
    path = folder / "live.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{figures}{live_script(None)}", encoding="utf-8")
    page.open(path)


def opened(page: Page | FirefoxPage, folder: Path, drawings: list[Drawing]) -> list:
    """What each picture of such a page says."""
    show(page, folder, drawings)
    return heard(page)


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
        assert false_sums(cells) == [], drawing.figure.title
    assert sum(map(count_sums, found)) > 100


@pytest.fixture(scope="module")
def firefox() -> Iterator[FirefoxPage]:
    """A tab of a headless Firefox. `CUTEPY_REQUIRE_FIREFOX=1` turns the skip into a failure."""
    command = find_firefox()
    if command is None:
        reason = "no Firefox to look at pictures with: apt install firefox-esr"
        if os.environ.get("CUTEPY_REQUIRE_FIREFOX", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_FIREFOX is set, but there is {reason}")
        pytest.skip(f"NOT TESTED: {reason}")
    tab = FirefoxPage(command)
    tab.resize(1280, 900)
    yield tab
    tab.close()


def test_pictures_answer_in_firefox_too(firefox: FirefoxPage, tmp_path: Path) -> None:
    drawings = [drawing for make in [*GALLERY.values()][::6] if live_data((drawing := make()).figure)]
    found = opened(firefox, tmp_path, drawings)
    for number, (drawing, cells) in enumerate(zip(drawings, found, strict=True)):
        assert judged(drawing, cells) == false_sums(cells) == [*reacts(firefox, number)] == [], drawing.figure.title
    assert sum(map(count_sums, found)) > 100


def test_every_cell_of_random_layouts_answers(page: Page, tmp_path: Path) -> None:
    rng = random.Random("live")
    drawings = []
    for _layout in range(LAYOUTS):
        case = random_case(rng)
        for view in ("grid", "memory", "banks"):
            drawings.append(drawing_of(case.text, {"view": view}))
    for drawing, cells in zip(drawings, opened(page, tmp_path, drawings), strict=True):
        assert false_sums(cells) == [], drawing.figure.title
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


NARROW = """(() => {
  const svg = document.querySelector('[data-live] svg');
  const box = (it) => (({left, top, right, bottom}) => [left, top, right, bottom])(it.getBoundingClientRect());
  const groups = [...svg.children].filter((g) => g.querySelector('[data-cells]'));
  const texts = [...svg.querySelectorAll(':scope > g > text')];
  return [svg.getAttribute('viewBox'), groups.map((g) => [...box(g), g.textContent]), texts.map(box), box(svg)];
})()"""


def inside(inner: list, outer: list) -> bool:
    return (
        inner[0] >= outer[0] - 1
        and inner[1] >= outer[1] - 1
        and all(map(le, inner[2:4], [end + 1 for end in outer[2:]]))
    )


@pytest.mark.parametrize(
    "text",
    [
        "composition((6,2):(8,2), (4,3):(3,1))",
        "zipped_divide((4,8):(8,1), (2,4))",
        "complement((2,2):(1,6), 24)",
        "raked_product((2,5):(5,1), (3,4):(1,3))",
    ],
)
def test_on_a_phone_panels_stand_below_one_another_the_result_first(page: Page, tmp_path: Path, text: str) -> None:
    page.resize(1280, 900)
    drawing = drawing_of(text, {"view": "steps"})
    opened(page, tmp_path, [drawing])
    wide, _shown, _texts, _box = page.evaluate(NARROW)  # type: ignore[misc]
    page.resize(390, 844)
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    _view, shown, texts, box = page.evaluate(NARROW)  # type: ignore[misc]
    results = [one for one in shown if "result" in one[4]]
    assert all(inside(one, box) for one in [*shown, *texts])
    assert all(one[0] < 70 and (one[2] <= 390 or one[2] - one[0] > 366) for one in results), "the result is cut"
    assert all(one[1] <= other[1] for one in results for other in shown)
    for number, one in enumerate(shown):
        for other in shown[number + 1 :]:
            assert one[2] <= other[0] + 1 or other[2] <= one[0] + 1 or one[3] <= other[1] + 1 or other[3] <= one[1] + 1
    assert judged(drawing, heard(page)[0]) == []
    page.resize(1280, 900)
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert page.evaluate(NARROW)[0] == wide  # type: ignore[index]


def test_the_mouse_the_keyboard_and_a_finger(page: Page, tmp_path: Path) -> None:
    page.resize(1280, 900)
    drawings = [make() for make in GALLERY.values()]
    live = [drawing for drawing in drawings if live_data(drawing.figure)]
    show(page, tmp_path, drawings)
    assert {number: silent for number in range(len(live)) if (silent := [*reacts(page, number)])} == {}
