"""Every picture of the built site answers: cells by sums that add up, the mouse, the keyboard and a finger.

What is said of a cell is what Python says of it, and adds up. Of large pictures every seventh cell is asked here; of
all of them each is by `python tools/live_look.py SITE`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Page, opened_tab
from live_judge import count_sums, false_sums, heard, judged, reacts

from cutepy.docs import drawing_of_body

FENCE = re.compile(r"^(?P<marks>`{3,})layout$\n(?P<body>(?:.*\n)*?)^(?P=marks)$", re.MULTILINE)
QUOTED = re.compile(r"^(`{4,})(?:.*\n)*?\1$\n", re.MULTILINE)


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    """Without the search of the site, whose index each page that is opened would read."""
    for page in opened_tab():
        page._call("Network.setBlockedURLs", urls=["*/search.*"])
        yield page


def test_every_picture_of_the_site_answers(site: Path, tab: Page) -> None:
    figures = cells = sums = 0
    wrong: list[str] = []
    for path in sorted(site.rglob("*.html")):
        count = path.read_text(encoding="utf-8").count('<figure class="cutepy')
        if not count:
            continue
        name = str(path.relative_to(site))
        tab.open(path)
        found = heard(tab, every=7)
        wrong += [f"{name}: {len(found)} of {count} pictures answer"] if len(found) != count else []
        wrong += [f"{name}: {said}" for one in found for said in false_sums(one)]
        source = (site.parent / "docs" / path.relative_to(site)).with_suffix(".md").read_text(encoding="utf-8")
        bodies = [match["body"] for match in FENCE.finditer(QUOTED.sub("", source))]
        for body, one in zip(bodies, found, strict=False) if not source.startswith("<!-- tour: ") else ():
            wrong += [f"{name}: {said}" for said in judged(drawing_of_body(body, {})[0], one)]
        wrong += [f"{name}: picture {k} does not answer {how}" for k in range(len(found)) for how in reacts(tab, k)]
        figures += count
        cells += sum(len(grid) for one in found for grid in one)
        sums += sum(map(count_sums, found))
    print(f"{figures} pictures, {cells} cells, {sums} sums")
    assert wrong == []
    assert figures > 130 and cells > 5_000 and sums > 2_000


def test_on_a_phone_no_picture_hides_its_result(site: Path, tab: Page) -> None:
    """The panel of a result stands at the left edge of its picture, and whole where a phone is wide enough for it."""
    hidden = []
    tab.resize(390, 844)
    for path in sorted(site.rglob("*.html")):
        if '"result":1' not in path.read_text(encoding="utf-8").replace("&quot;", '"'):
            continue
        tab.open(path)
        tab.evaluate("new Promise((done) => setTimeout(done, 60))")
        found = tab.evaluate("""[...document.querySelectorAll('[data-live]')].flatMap((host, number) => {
            const groups = [...host.querySelectorAll('[data-cells]')].map((g) => g.parentNode.getBoundingClientRect());
            const tops = Math.min(...groups.map((b) => b.top));
            return JSON.parse(host.dataset.live).flatMap(({result}, k) => !result ? [] :
              groups[k].left >= 0 && groups[k].left < 60 && groups[k].top <= tops + 1
                && (groups[k].right <= 390 || groups[k].width > 340) ? [] : [[number, groups[k].right]]);
        })""")
        hidden += [f"{path.relative_to(site)}: {one}" for one in found]  # type: ignore[attr-defined]
    tab.resize(1280, 900)
    assert hidden == []
