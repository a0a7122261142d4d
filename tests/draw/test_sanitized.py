"""A picture as hosts of documents leave it looks as it was made: no styles, no classes, only what an allow-list names.

The facts: Loofah's safe list of SVG (what of it a picture could need), the elements and attributes that GitHub's
pipeline leaves in a README, and the headers with which GitHub serves pictures (github/markup 289, 1850; tskit 2382).
"""

import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from xml.etree import ElementTree

import pytest
from chromium import Page
from serving import Server

from cutepy.draw import Drawing

ROOT = Path(__file__).parents[2]
NAMESPACE = "http://www.w3.org/2000/svg"
ELEMENTS = set("a circle defs desc ellipse g line path polygon polyline rect svg text title tspan".split())
ATTRIBUTES = set(
    "cx cy d dx dy fill fill-opacity fill-rule font-family font-size font-style font-weight height opacity points r rx "
    "ry stroke stroke-dasharray stroke-linecap stroke-linejoin stroke-opacity stroke-width text-anchor transform "
    "version viewBox width x x1 x2 y y1 y2".split()
)
IN_A_README = {"img": {"src", "alt", "width", "height", "align"}, "source": {"media", "srcset"}, "picture": set()}
HEADERS = {
    "a repository": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "an upload": "default-src 'none'; script-src 'none'; img-src 'self'; media-src 'self'; sandbox",
}
LOOKS = """[...document.querySelectorAll('svg')].map(s => [...s.querySelectorAll('path,text')].map(e => {
  const c = getComputedStyle(e), b = e.getBoundingClientRect();
  return [c.fill, c.stroke, c.strokeWidth, c.fontSize, c.fontFamily, c.textAnchor,
          ...[b.left, b.top, b.width, b.height].map(Math.round)]; }))"""


def sanitized(text: str) -> str:
    """What an allow-list leaves of a picture."""
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.fromstring(text)
    for element in [root, *root.iter()]:
        for child in list(element):
            if child.tag.removeprefix(f"{{{NAMESPACE}}}") not in ELEMENTS:
                element.remove(child)
        for name in element.attrib.keys() - ATTRIBUTES:
            del element.attrib[name]
    return ElementTree.tostring(root, encoding="unicode")


def looks(page: Page, place: Path | str) -> list[object]:
    page.open(place)
    (found,) = page.evaluate(LOOKS)  # type: ignore[misc]
    assert isinstance(found, list) and found
    return found


@pytest.fixture(scope="module")
def styled(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], list[object]]:
    """How the picture of a name looks as it is made, in the light; looked at once."""
    folder, known = tmp_path_factory.mktemp("styled"), dict[str, list[object]]()

    def look(name: str, text: str) -> list[object]:
        if name not in known:
            (folder / f"{name}.svg").write_text(text, encoding="utf-8")
            page.dark(False)
            known[name] = looks(page, folder / f"{name}.svg")
        return known[name]

    return look


def test_an_allow_list_takes_no_label(picture: tuple[str, Callable[[], Drawing]]) -> None:
    text = picture[1]().svg()
    bare = sanitized(text)
    assert not re.search(r"<style|style=|class=", bare) and bare.count("<text") == text.count("<text")


def test_what_an_allow_list_leaves_looks_the_same(
    telling: tuple[str, Callable[[], Drawing]],
    page: Page,
    styled: Callable[[str, str], list[object]],
    tmp_path: Path,
) -> None:
    text = telling[1]().svg()
    (tmp_path / "bare.svg").write_text(sanitized(text), encoding="utf-8")
    page.dark(False)
    assert looks(page, tmp_path / "bare.svg") == styled(telling[0], text)


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[str, str], str]]:
    """The address of a text served as a picture under a security policy."""
    answers: dict[str, tuple[str, str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text, policy = answers.get(self.path, ("", ""))
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", "image/svg+xml")
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *_about: object) -> None: ...

    def address(text: str, policy: str) -> str:
        answers[f"/{len(answers)}.svg"] = text, policy
        return f"{server.address}{len(answers) - 1}.svg"

    with Server(Handler) as server:
        yield address


@pytest.mark.parametrize("place", HEADERS)
def test_served_as_github_serves_it_it_looks_the_same(
    place: str,
    telling: tuple[str, Callable[[], Drawing]],
    page: Page,
    served: Callable[[str, str], str],
    styled: Callable[[str, str], list[object]],
) -> None:
    text = telling[1]().svg()
    page.dark(False)
    assert looks(page, served(text, HEADERS[place])) == styled(telling[0], text)


@pytest.mark.parametrize("page_name", ["README.md", "docs/documents.md"])
def test_pictures_of_a_readme_are_what_github_leaves(page_name: str) -> None:
    """Only `img`, `picture` and `source`, with nothing that is taken away."""
    text = (ROOT / page_name).read_text()
    tags = re.findall(r"<(img|picture|source|svg|figure|object|embed)\b([^>]*)>", text)
    assert tags or page_name == "README.md"
    for name, attributes in tags:
        assert name in IN_A_README, name
        assert set(re.findall(r"(\w[\w-]*)=", attributes)) <= IN_A_README[name], attributes
