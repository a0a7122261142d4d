"""The filter of pandoc and Quarto: by itself, and in pandoc where there is one (`CUTEPY_REQUIRE_PANDOC=1` insists)."""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from cutepy.draw import drawing_of

ROOT = Path(__file__).parents[2]
PAGE = """# Page

> ```{.layout #fig-a color=row}
> (4,8):(8,1)
> caption: Four *rows* & more
> ```

```python
layout = "(4,8)"
```
"""


def code(body: str, *classes: str, name: str = "", **options: str) -> dict[str, object]:
    return {"t": "CodeBlock", "c": [[name, list(classes), [list(item) for item in options.items()]], body]}


def filtered(blocks: list[object], target: str) -> subprocess.CompletedProcess[str]:
    document = {"pandoc-api-version": [1, 23], "meta": {"title": {"t": "MetaString", "c": "T"}}, "blocks": blocks}
    return subprocess.run(
        [sys.executable, "-m", "cutepy.pandoc", target],
        input=json.dumps(document),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_html_holds_the_very_picture() -> None:
    quote = {"t": "BlockQuote", "c": [code("(4,8):(8,1)\ncaption: a < b", "layout", name="fig-a", color="row")]}
    other = code("print(1)", "python")
    found = json.loads(filtered([quote, other], "html5").stdout)
    (kind, text), caption, (_html, end) = (block["c"] for block in found["blocks"][0]["c"])
    assert kind == "html" and drawing_of("(4,8):(8,1)", {"color": "row"}).svg().rstrip() in text
    assert text.startswith('<figure class="cutepy layout" id="fig-a"') and text.endswith("<figcaption>")
    assert [part.get("c") for part in caption] == ["a", None, "<", None, "b"] and end == "</figcaption></figure>"
    assert found["blocks"][1] == other and "header-includes" not in found["meta"]


def test_latex_and_text() -> None:
    block = code("(2,2):(2,1)\ncaption: two by two\nwidth: 50%", "layout")
    found = json.loads(filtered([block], "latex").stdout)
    picture, caption = found["blocks"][0]["c"][1]
    assert "\\begin{tikzpicture}" in picture["c"][1] and "0.5\\linewidth" in picture["c"][1]
    assert [part.get("c") for part in caption["c"]] == ["two", None, "by", None, "two"]
    assert "\\usepackage{tikz}" in json.dumps(found["meta"]).replace("\\\\", "\\")
    found = json.loads(filtered([block], "plain").stdout)
    assert "| 2 | 3 |" in found["blocks"][0]["c"][1][0]["c"][1]


def test_what_is_wrong_ends_the_build() -> None:
    for body, said in (("(4,8:(8,1)", "' stands"), ("(4,8)\ncolour: row", "did you mean color?"), ("", "nothing")):
        done = filtered([code(body, "layout")], "html")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("cutepy-pandoc: layout") and said in done.stderr


@pytest.mark.parametrize("target", ["html", "latex", "plain"])
def test_pandoc(target: str, tmp_path: Path) -> None:
    pandoc = shutil.which("pandoc")
    if pandoc is None:
        if os.environ.get("CUTEPY_REQUIRE_PANDOC", "0") != "0":
            pytest.fail("CUTEPY_REQUIRE_PANDOC is set, but there is no pandoc")
        pytest.skip("NOT TESTED: no pandoc to run the filter in: apt install pandoc")
    script = tmp_path / "cutepy-pandoc"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m cutepy.pandoc "$@"\n')
    script.chmod(0o755)
    command = [pandoc, "--standalone", "--metadata", "title=T", "--filter", str(script), "--to", target]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=PAGE, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"html": "<svg", "latex": "\\usepackage{tikz}", "plain": "|  0 |  1 |"}[target] in done.stdout
    assert "(4,8)" in done.stdout and "Four" in done.stdout
    wrong = subprocess.run(command, input=PAGE.replace("(8,1)", "(8"), env=environment, capture_output=True, text=True)
    assert wrong.returncode and "cutepy-pandoc: layout" in wrong.stderr


@pytest.mark.skipif(
    not find_spec("resvg_py"), reason="NOT TESTED: pictures in docx, for the extra png is not installed"
)
@pytest.mark.parametrize("target", ["docx", "odt", "pptx"])
def test_what_office_reads_holds_the_very_png(target: str, tmp_path: Path) -> None:
    block = code("(4,8):(8,1)\ncaption: rows\ncolor: row", "layout")
    found = json.loads(filtered([block], target).stdout)
    (image,) = found["blocks"][0]["c"][1][0]["c"]
    attributes, alt, (source, _title) = image["c"]
    assert attributes[2] == [["width", "328px"]] and alt[0]["c"] == "Layout"
    png = b64decode(source.removeprefix("data:image/png;base64,"))
    assert png == drawing_of("(4,8):(8,1)", {"color": "row"}).png()
    if pandoc := shutil.which("pandoc"):
        script, written = tmp_path / "cutepy-pandoc", tmp_path / f"page.{target}"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -m cutepy.pandoc "$@"\n')
        script.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [pandoc, "--filter", str(script), "--output", str(written)]
        page = "```{.layout color=row}\n(4,8):(8,1)\n```\n"
        subprocess.run(command, input=page, env=environment, text=True, check=True, cwd=tmp_path)
        with ZipFile(written) as parts:
            assert png in [parts.read(name) for name in parts.namelist() if name.endswith(".png")]


@pytest.mark.parametrize("text", ["", "# Page", "[]", "7", '{"blocks": []}', '{"meta": 3, "blocks": []}'])
def test_what_is_no_document_is_said_in_a_line(text: str) -> None:
    done = subprocess.run([sys.executable, "-m", "cutepy.pandoc"], input=text, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == "cutepy-pandoc: no document of pandoc's to read; call it by pandoc --filter\n"
