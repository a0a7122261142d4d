"""Pages of MkDocs, Sphinx and pandoc in Chromium: every cell says its sum, and so does a notebook's output."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from chromium import Page, opened_tab
from docs_hooks.test_builds import Tool, build
from live_judge import count_sums, false_sums, heard, judged, reacts
from test_browser import JUPYTERLAB

from cutepy.docs import drawing_of_body
from cutepy.draw.sheet import sheet_of

ROOT = Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"^(`{4,})(?:.*\n)*?\1$\n", re.MULTILINE)
FENCE = re.compile(r"^```layout$\n(?P<body>(?:.*\n)*?)^```$", re.MULTILINE)
BODIES = [found["body"] for found in FENCE.finditer(QUOTED.sub("", (ROOT / "docs" / "diagrams.md").read_text("utf-8")))]
"""A fence for every view, with every option."""
PAGE = "# Page\n\n" + "\n".join(f"```layout\n{body}```\n" for body in BODIES)


tab = pytest.fixture(scope="module")(opened_tab)


def answers(tab: Page, path: Path) -> None:
    """Every picture of the page answers, and says what Python says and what adds up: of a picture of more than 32 cells
    each seventh is asked, all are in `tests/draw/test_live.py`."""
    tab.open(path)
    found = heard(tab, every=7, few=32)
    assert len(found) == len(BODIES)
    for body, cells in zip(BODIES, found, strict=True):
        assert judged(drawing_of_body(body, {})[0], cells) == []
        assert false_sums(cells) == []
    assert sum(map(count_sums, found)) > 250
    assert {number: silent for number in range(len(found)) if (silent := [*reacts(tab, number)])} == {}


def test_pages_of_builders(tool: tuple[str, Tool], tab: Page, tmp_path: Path) -> None:
    done = build(tool, tmp_path, PAGE.replace("```layout", "```{layout}") if tool[0] == "sphinx" else PAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = (tmp_path / "site").rglob("*.html")
    answers(tab, max(pages, key=lambda path: path.read_text("utf-8").count("data-live=")))


def test_a_page_of_pandoc(tab: Page, tmp_path: Path) -> None:
    if (pandoc := shutil.which("pandoc")) is None:
        pytest.skip("NOT TESTED: no pandoc: apt install pandoc")
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "filter.py").write_text("import sys\nfrom cutepy.pandoc import main\nsys.exit(main())\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [pandoc, "--filter", "./filter.py", "-s", "--metadata=title:T", "page.md", "-o", "page.html"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers(tab, tmp_path / "page.html")


CELLS = """(() => [...document.querySelectorAll('td')].filter((td) => td.querySelector('span')).map((td) => {
  td.focus();
  const span = td.querySelector('span');
  return [span.textContent, getComputedStyle(span).display, document.activeElement === td];
}))()"""


def test_the_output_of_a_notebook(tab: Page, tmp_path: Path) -> None:
    """Under JupyterLab's rules, without a script: each cell shows its sum where it has the focus, a tap gives it."""
    for body in BODIES:
        drawing = drawing_of_body(body, {})[0]
        page = f'<div class="jp-RenderedHTMLCommon jp-RenderedHTML">{drawing.html()}</div>'
        (tmp_path / "out.html").write_text(f"<!doctype html><meta charset=utf-8><style>{JUPYTERLAB}</style>{page}")
        tab.open(tmp_path / "out.html")
        found = tab.evaluate(CELLS)
        grids = [box.grid for box in sheet_of(drawing.figure).boxes]
        told = [grid.text(place) for grid in grids for place in range(len(grid.labels)) if grid.text(place)]
        assert sorted(said for said, _shown, _own in found) == sorted(told)  # type: ignore[attr-defined]
        assert all(shown == "block" and own for _said, shown, own in found)  # type: ignore[attr-defined]
        assert false_sums([[("", said, "") for said, _shown, _own in found]]) == []  # type: ignore[attr-defined]
