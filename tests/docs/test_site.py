"""The site that `make docs` builds: no link is broken, nothing leaves it, every layout is a picture."""

import importlib.util
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from chromium import Page, opened_tab

from cutepy.explore.answers import look
from cutepy.explore.puzzles import PUZZLES

LOADS = {"src", "srcset", "poster", "data", "action", "formaction", "background", "manifest", "xlink:href"}
FOREIGN = re.compile(r"(?:https?:)?//[\w.-]+\.\w+")
IN_CSS = re.compile(r"""(?:url\(|@import)\s*["']?(?P<to>(?:https?:)?//[^"')\s]+)""")
OPENED = ("index.html", "algebra/composition.html", "diagrams.html", "api/layout.html")


class Reader(HTMLParser):
    """What a page points at, loads and defines."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.figures = self.quotes = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif (
            tag in ("link", "image", "use")
            and "href" in given
            and given.get("rel") not in ("canonical", "prev", "next")
        ):
            self.loaded.append(given["href"])
        self.loaded += [given[name] for name in LOADS & given.keys()]
        self.loaded += [found["to"] for found in IN_CSS.finditer(given.get("style", ""))]
        self.figures += tag == "figure" and "cutepy" in given.get("class", "")
        self.quotes += tag == "blockquote"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Reader]:
    """Every page of the site, read."""
    return {path: Reader(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_there(site: Path, pages: dict[Path, Reader]) -> None:
    written = {
        path.relative_to(site.parent / "docs").with_suffix(".html") for path in (site.parent / "docs").rglob("*.md")
    }
    assert written <= {path.relative_to(site) for path in pages}


def test_no_link_is_broken(site: Path, pages: dict[Path, Reader]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Reader]) -> None:
    asked = [f"{path.name}: {link}" for path, page in pages.items() for link in page.loaded if FOREIGN.match(link)]
    for path in site.rglob("*.css"):
        asked += [f"{path.name}: {found['to']}" for found in IN_CSS.finditer(path.read_text(encoding="utf-8"))]
    assert not asked


def test_every_layout_is_a_picture(site: Path, pages: dict[Path, Reader]) -> None:
    for source in (site.parent / "docs").rglob("*.md"):
        text = re.sub(r"^(`{4,})(?:.*\n)*?\1$", "", source.read_text(encoding="utf-8"), flags=re.MULTILINE)
        page = pages[site / source.relative_to(site.parent / "docs").with_suffix(".html")]
        drawn, tour = len(re.findall(r"^```layout$", text, re.MULTILINE)), text.startswith("<!-- tour: ")
        assert page.figures > drawn - (source.stem == "paper") if tour else page.figures == drawn, source.name


def test_a_tour_shows_what_its_cells_print_and_draw(site: Path) -> None:
    for name, printed, driver in (
        ("mma_atom", "registers of a thread: 8 of A, 4 of B, 4 of C", False),
        ("swizzle", "the best: S&lt;5,0,5&gt; (1, 1)", True),
        ("matmul", "tiled: proven", True),
    ):
        text = (site / "examples" / f"{name}.html").read_text(encoding="utf-8")
        assert printed in text and text.count('<figure class="cutepy layout"') == 2
        assert ("no GPU driver" in text) == driver


def test_output_of_sessions_is_not_coloured_as_python(site: Path) -> None:
    text = (site / "what-is-a-layout.html").read_text(encoding="utf-8")
    assert '<span class="go">' in text and "language-pycon" in text


def test_ids_are_unique(site: Path, pages: dict[Path, Reader]) -> None:
    for path, page in pages.items():
        twice = {name for name in page.ids if page.ids.count(name) > 1 and not name.startswith("__")}
        assert not twice, f"{path.relative_to(site)}: {sorted(twice)[:5]}"


def test_the_reference_shows_names_and_sessions(site: Path, pages: dict[Path, Reader]) -> None:
    reference = {path: page for path, page in pages.items() if path.parent == site / "api"}
    ids = {name for page in reference.values() for name in page.ids}
    for name in (
        "layout.algebra.composition.composition",
        "layout.values.layout.Layout.parse",
        "tensor.partition.local_tile",
    ):
        assert f"cutepy.{name}" in ids
    for name in (
        "gpu.trace.kernel.kernel",
        "gpu.language.functions.exp",
        "draw.drawing.draw",
        "errors.CompositionError",
    ):
        assert f"cutepy.{name}" in ids
    assert "cutepy.layout.algebra.composition.composes" not in ids, "what no layer exports is not shown"
    assert not any(page.quotes for page in reference.values()), "a doctest became a quotation"
    sources = "".join(path.read_text(encoding="utf-8") for path in (site.parent / "docs" / "api").glob("*.md"))
    for module in re.findall(r"^::: (\S+)$", sources, re.MULTILINE):
        assert any(name.startswith(f"{module}.") for name in ids), f"nothing of {module} is shown"


tab = pytest.fixture(scope="session")(opened_tab)


def test_a_browser_asks_nobody_else(site: Path, tab: Page, tmp_path: Path) -> None:
    for name in OPENED:
        assert (site / name).exists()
        tab.open(site / name)
        tab.evaluate("new Promise(done => setTimeout(done, 300))")
    outside = [url for url in tab.requests if urlsplit(url).scheme not in ("file", "data", "about", "blob")]
    assert len(tab.requests) > 2 * len(OPENED) and not outside
    tab.open(site / "algebra/composition.html")
    tab.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
    shutil.rmtree(tmp_path, ignore_errors=True)


FOUND = """(() => {
  const links = [], go = root => {
    links.push(...[...root.querySelectorAll('a')].map(a => a.href));
    root.querySelectorAll('*').forEach(e => e.shadowRoot && go(e.shadowRoot));
  };
  document.querySelectorAll('*').forEach(e => e.shadowRoot && go(e.shadowRoot));
  return links;
})()"""


def test_every_picture_of_a_fence_can_be_edited(site: Path, tab: Page) -> None:
    tab.open(site / "algebra" / "divide.html")
    links = tab.evaluate("[...document.querySelectorAll('figure.cutepy > .cutepy-edit')].map(a => a.href)")
    figures = tab.evaluate("[...document.querySelectorAll('figure.cutepy')].map(f => f.dataset.layout)")
    assert isinstance(links, list) and isinstance(figures, list) and len(links) == len(figures) > 4
    for link, layout in zip(links, figures, strict=True):
        parts = urlsplit(link)
        assert Path(unquote(parts.path)) == site / "explore.html"
        assert parse_qs(parts.fragment)["e"] == [layout]


def test_every_question_is_a_link_that_the_explorer_answers(site: Path, tab: Page) -> None:
    tab.open(site / "algebra" / "questions.html")
    links = tab.evaluate("[...document.querySelectorAll('td a.cutepy-try')].map((a) => [a.textContent, a.href])")
    assert isinstance(links, list) and [number for number, _href in links] == [str(k) for k in range(1, 25)]
    for _number, href in links:
        parts = urlsplit(href)
        assert Path(unquote(parts.path)) == site / "explore.html"
        found = look(parse_qs(parts.fragment)["e"][0])
        assert found["value"] and "refused" not in found


def test_every_puzzle_is_a_link(site: Path, tab: Page) -> None:
    tab.open(site / "puzzles.html")
    links = tab.evaluate("[...document.querySelectorAll('a.cutepy-try')].map((a) => a.href)")
    assert isinstance(links, list)
    asked = [parse_qs(urlsplit(href).fragment) for href in links]
    assert [(one["puzzle"], one["e"]) for one in asked] == [
        ([str(number)], [puzzle.start]) for number, puzzle in enumerate(PUZZLES, 1)
    ]


def test_every_how_do_i_is_in_the_search(site: Path) -> None:
    entries = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    found = [entry["title"] for entry in entries if entry["location"].startswith("how-do-i.html#")]
    assert sum(title.startswith("How do I") for title in found) == 40


def test_what_people_type_finds_what_they_want_to_do(site: Path, tab: Page) -> None:
    """Every eighth of the forty; `python tools/site_search.py SITE` asks for all."""
    tool = tool_of(site, "site_search")
    headings = re.findall(r"(?m)^### How do I (.+)\?$", (site.parent / "docs/how-do-i.md").read_text(encoding="utf-8"))
    assert [*tool.SEARCHES] == headings
    for question in headings[::8]:
        assert 0 < tool.rank(tab, site, question, tool.SEARCHES[question]) <= tool.FIRST, question


def tool_of(site: Path, name: str) -> ModuleType:
    """A script of tools/, loaded."""
    spec = importlib.util.spec_from_file_location(name, site.parent / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_search_works_from_a_folder(site: Path, tab: Page) -> None:
    tab.dark(False)
    tab.resize(1280, 900)
    tab.open(site / "algebra" / "divide.html")
    wait = "new Promise(done => setTimeout(done, 250))"
    tab.evaluate(f"document.querySelector('.md-search__button').click(); {wait}")
    tab.write("nullspace")
    links: list[str] = []
    for _try in range(40):
        tab.evaluate(wait)
        links = [str(link) for link in tab.evaluate(FOUND)]  # type: ignore[attr-defined]
        if any("inverse.html" in link for link in links):
            break
    assert any("algebra/inverse.html" in link for link in links), links
    assert not [url for url in tab.requests if urlsplit(url).scheme not in ("file", "data", "about", "blob")]


LOOKED_AT = ("index.html", "algebra/cheat-sheet.html", "stories/owners.html")
FOLLOWS = "does not follow the switch"
Seen = dict[str, list[tuple[int, list[str], str]]]


@pytest.fixture(scope="session")
def seen(site: Path, tab: Page) -> Seen:
    """What `tools/site_look.py` sees on some pages; alone it looks at all."""
    tool = tool_of(site, "site_look")
    return {name: [*tool.look(tab, site / name)] for name in LOOKED_AT}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_labels_can_be_read(name: str, seen: Seen) -> None:
    """On a phone, a tablet and a desk, in both lights."""
    assert sum(labels for labels, _found, _where in seen[name]) > 100
    for _labels, found, where in seen[name]:
        assert not [line for line in found if FOLLOWS not in line], f"{name}, {where}"


def test_pictures_follow_the_switch(seen: Seen) -> None:
    assert not [(name, where) for name in seen for _n, found, where in seen[name] if FOLLOWS in "".join(found)]
