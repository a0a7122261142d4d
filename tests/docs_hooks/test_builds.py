"""Real builds: a good page builds and holds the picture, a bad one ends the build with file and line."""

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy.draw import drawing_of

Tool = Callable[..., subprocess.CompletedProcess[str]]

EXPRESSION, COLOR = "zipped_divide((8,8):(8,1), (4,4))", "tile"
GOOD = f"# Good\n\n```layout\n{EXPRESSION}\ncolor: {COLOR}\ncaption: A & *B* of `C`\n```\n"
BAD = "# Bad\n\n```layout\nzipped_divide((8,8:(8,1), (4,4))\n```\n"
ZENSICAL = """
[project]
site_name = "t"
[project.theme]
font = false
[project.markdown_extensions]
pymdownx.superfences.custom_fences = [
  { name = "layout", class = "layout", format = "cutepy.docs.fence", validator = "cutepy.docs.validate" },
]
"""
MKDOCS = """
site_name: t
theme: readthedocs
markdown_extensions:
  - pymdownx.superfences:
      custom_fences:
        - name: layout
          class: layout
          format: !!python/name:cutepy.docs.fence
          validator: !!python/name:cutepy.docs.validate
"""
SPHINX = """
extensions = ["cutepy.sphinxext", "myst_parser"]
myst_fence_as_directive = ["layout"]
project = "t"
numfig = True
latex_elements = {"fontpkg": ""}
"""
RST = """
Title
=====

.. layout:: zipped_divide((8,8):(8,1), (4,4))
   :color: tile
   :caption: 50 % of *it* {it}
   :name: figure
   :align: left
   :width: 50%

.. layout:: (2,2):(2,1)
   :name: small
   :caption: Small
   :width: 120px

.. layout::

   complement((2,2):(1,6), 24)
   view: steps

See :ref:`figure <figure>`, :ref:`small`, :numref:`figure` and :numref:`small`.

.. toctree::

   page
"""


def build(tool: tuple[str, Tool], folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Build a site with one page beside its index; the HTML is then in `folder/site`."""
    name, run = tool
    docs = folder if name == "sphinx" else folder / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "page.md").write_text(page)
    if name == "sphinx":
        (folder / "conf.py").write_text(SPHINX)
        (folder / "index.rst").write_text(RST)
        return run(folder, "-W", "-q", "-E", "-b", "html", ".", "site")
    (docs / "index.md").write_text("# Index\n")
    (folder / "mkdocs.yml").write_text(MKDOCS)
    if name == "mkdocs":
        return run(folder, "build", "--strict")
    (folder / "zensical.toml").write_text(ZENSICAL)
    return run(folder, "build", "--clean")


@pytest.fixture(scope="module")
def built(tool: tuple[str, Tool], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a good page with a picture by each way to ask for one."""
    folder, name = tmp_path_factory.mktemp("built"), tool[0]
    header = "```{layout} (2,2):(2,1)\n:color: row\n" if name == "sphinx" else '```layout color="row"\n(2,2):(2,1)\n'
    linking = "" if name == "sphinx" else "```layout\n4:1\ncaption: See [there](index.md#index)\nname: it\n```\n"
    done = build(tool, folder, f"{GOOD}\n{header}```\n\n{linking}")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_good_page_holds_the_very_picture(built: Path) -> None:
    pages = [path.read_text() for path in (built / "site").rglob("*.html")]
    picture = drawing_of(EXPRESSION, {"color": COLOR}).svg().rstrip()
    shown = [page for page in pages if picture in page and "A &amp; <em>B</em> of <code" in page]
    assert shown and all(re.search("<figcaption>.*A &amp; .*</figcaption>", page, re.DOTALL) for page in shown)


@pytest.mark.parametrize("tool", ["zensical", "mkdocs"], indirect=True)
def test_a_caption_links_to_other_pages(built: Path) -> None:
    (page,) = [path for path in (built / "site").rglob("*.html") if "<figcaption>" in path.read_text()]
    (to,) = re.findall(r'See <a href="([^"]*)">there</a>', page.read_text())
    path, _hash, anchor = to.partition("#")
    target = (page.parent / path).resolve()
    assert anchor == "index" and (target / "index.html" if target.is_dir() else target) == built / "site/index.html"
    assert ' id="it"' in page.read_text()


def test_a_bad_page_ends_the_build_with_file_and_line(tool: tuple[str, Tool], tmp_path: Path) -> None:
    done = build(tool, tmp_path, BAD)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "missing before it" in said
    assert "page.md:" in said
    assert " ^" in said


def test_any_tools_header_options(built: Path) -> None:
    pages = [path.read_text() for path in (built / "site").rglob("*.html")]
    assert any(drawing_of("(2,2):(2,1)", {"color": "row"}).svg().rstrip() in page for page in pages)


def test_sphinx_builders(sphinx: tuple[str, Tool], tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(SPHINX)
    (tmp_path / "index.rst").write_text(RST)
    (tmp_path / "page.md").write_text(GOOD)
    done = sphinx[1](tmp_path, "html", "latex", "text", "man", "dirhtml", "html", "latex")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site/html/index.html").read_text()
    assert re.search(r'<figure class="[^"]*align-left[^"]*" id="figure">', page)
    assert "50 % of <em>it</em> {it}" in page and 'style="width:50%;' in page
    assert 'href="#figure"><span class="std std-ref">figure</span>' in page
    assert "Fig. 1</span>" in page and "Fig. 2</span>" in page and ">Small</span></a>" in page
    assert " 0  |  0 | 32 |  4 | 36 |" in (tmp_path / "site/text/index.txt").read_text()
    assert (tmp_path / "site/dirhtml/page/index.html").exists() and list((tmp_path / "site/man").glob("*.1"))
    source = tmp_path / "site/latex/t.tex"
    text = source.read_text()
    assert "\\begin{tikzpicture}" in text and "50 \\% of \\sphinxstyleemphasis{it} \\{it\\}" in text
    assert "\\resizebox{0.5\\linewidth}" in text and "\\resizebox{90bp}" in text
    _compile(source)


def _compile(source: Path) -> None:
    command, finder = shutil.which("pdflatex"), shutil.which("kpsewhich")
    complete = command and finder and subprocess.run([finder, "fncychap.sty"], capture_output=True).returncode == 0
    if command is None or not complete:
        wanted = os.environ.get("CUTEPY_REQUIRE_TEX", "0") != "0"
        assert not wanted, "CUTEPY_REQUIRE_TEX is set, but there is no pdflatex with what Sphinx needs of it"
        return
    run = subprocess.run(
        [command, "-interaction=nonstopmode", "-halt-on-error", source.name],
        cwd=source.parent,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert run.returncode == 0, textwrap.shorten(run.stdout[-2000:], 2000)
