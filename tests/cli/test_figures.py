"""`cutepy figures`: which blocks of Markdown are pictures, writing them, finding stale ones, refusing bad ones."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy.cli.figures import blocks
from cutepy.draw import drawing_of

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Refused = Callable[..., str]

PAGE = """# Page

```layout
zipped_divide((8,8):(8,1), (4,4))
color: tile
file: img/divided.svg
```

```layout
(2,2):(2,1)
```

````markdown
```layout
not a layout
```
````

<!-- layout
(4,8):(8,1)
color: row
-->
![rows](img/rows.svg)

<!-- layout (4,8):(8,1)
file: img/offsets.txt -->

~~~python
# ```layout
~~~
"""


def test_blocks() -> None:
    found = [(block.line, block.body, block.images) for block in blocks(Path("page.md"), PAGE)]
    assert found == [
        (3, "zipped_divide((8,8):(8,1), (4,4))\ncolor: tile\nfile: img/divided.svg", ()),
        (9, "(2,2):(2,1)", ()),
        (19, "(4,8):(8,1)\ncolor: row", (("img/rows.svg", ""),)),
        (25, "(4,8):(8,1)\nfile: img/offsets.txt", ()),
    ]
    assert [block.body for block in blocks(Path("x.md"), "```layout\n4:1")] == ["4:1"]
    assert [block.body for block in blocks(Path("x.md"), "<!-- layout 4:1 -->")] == ["4:1"]
    assert not list(blocks(Path("x.md"), "<!-- layouts -->\n<!-- other\nlayout -->"))


ANY, DARK, LIGHT = "", "dark", "light"


@pytest.mark.parametrize(
    ("after", "images"),
    [
        ("![a](x.svg)", [("x.svg", ANY)]),
        ("Some words.\n\n# A heading\n\n![a](x.svg)", [("x.svg", ANY)]),
        ("[![a](x.svg)](x.html) ![b](y.svg)", [("x.svg", ANY)]),
        ("![a][pic]\n\n[pic]: img/x.svg", [("img/x.svg", ANY)]),
        ("![a](<two words.svg>)", [("two words.svg", ANY)]),
        ("![a](two%20words.svg)", [("two words.svg", ANY)]),
        ("![a][pic]\n\n[pic]: <two words.svg>", [("two words.svg", ANY)]),
        ('<img src="two%20words.svg">', [("two words.svg", ANY)]),
        ('<img width="300" src="x.svg" alt="a">', [("x.svg", ANY)]),
        ("<p align=center>\n  <img\n    src='x.svg'\n  />\n</p>", [("x.svg", ANY)]),
        (
            '<picture><source media="(prefers-color-scheme: dark)" srcset="d.svg"><img src="l.svg"></picture>',
            [("d.svg", DARK), ("l.svg", LIGHT)],
        ),
        (
            '<picture>\n<source media="(prefers-color-scheme: dark)" srcset="d.svg 1x">\n'
            '<source media="(prefers-color-scheme: light)" srcset="l.svg">\n<img src="x.svg">\n</picture>',
            [("d.svg", DARK), ("l.svg", LIGHT), ("x.svg", ANY)],
        ),
        ("```\n![a](no.svg)\n```\n![a](x.svg)", [("x.svg", ANY)]),
        ("<!-- layout 2:1 -->\n![a](other.svg)", []),
        ("```layout\n2:1\n```\n![a](other.svg)", []),
        ("no picture", []),
    ],
)
def test_the_picture_of_a_comment(after: str, images: list[tuple[str, str]]) -> None:
    first = next(blocks(Path("page.md"), f"<!-- layout 4:1 -->\n{after}\n"))
    assert (first.body, [*first.images]) == ("4:1", images)


RST = """Title
=====

.. layout:: (4,8):(8,1)
   :color: row
   :file: rows.svg

.. layout (2,2):(2,1)
   color: column

Words between.

.. figure:: columns.svg
   :alt: columns

.. layout::

   4:1
   view: memory
"""
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "source": ["# ```layout"]},
        {"cell_type": "markdown", "source": ["# Title\n", "<!-- layout 4:1 -->\n", "![four](four.svg)\n"]},
    ]
}


def test_other_documents(here: Run, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "page.rst").write_text(RST)
    found = [(block.line, block.body, block.images) for block in blocks(Path("page.rst"), RST)]
    assert found == [
        (4, "(4,8):(8,1)\ncolor: row\nfile: rows.svg", ()),
        (8, "(2,2):(2,1)\ncolor: column", (("columns.svg", ""),)),
        (16, "4:1\nview: memory", ()),
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps(NOTEBOOK))
    (tmp_path / "paper.qmd").write_text("```{layout}\n(2,2):(2,1)\nfile: small.svg\n```\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "README.md").write_text("```layout\nnot a layout\nfile: x.svg\n```\n")
    assert here("figures", ".").stdout.endswith(b"4 figures, 4 written\n")
    assert {path.name for path in tmp_path.glob("*.svg")} == {"rows.svg", "columns.svg", "four.svg", "small.svg"}
    NOTEBOOK["cells"][1]["source"][1] = "<!-- layout (4,1 -->\n"
    (tmp_path / "book.ipynb").write_text(json.dumps(NOTEBOOK))
    assert "book.ipynb, cell 2:2: " in refused("figures", "book.ipynb", lines=3)
    (tmp_path / "book.ipynb").write_text("{}")
    assert "book.ipynb: no notebook" in refused("figures", "book.ipynb", lines=1)


def test_a_picture_for_each_theme(here: Run, tmp_path: Path) -> None:
    dark = '<picture><source media="(prefers-color-scheme: dark)" srcset="d.svg"><img src="l.svg"></picture>'
    (tmp_path / "page.md").write_text(f"<!-- layout 4:1 -->\n{dark}\n")
    assert here("figures", "page.md").stdout.endswith(b"2 figures, 2 written\n")
    assert (tmp_path / "d.svg").read_bytes() == drawing_of("4:1", {"theme": "dark"}).encoded(".svg")
    assert (tmp_path / "l.svg").read_bytes() == drawing_of("4:1", {"theme": "light"}).encoded(".svg")


def test_a_comment_without_a_picture_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Page\n\n<!-- layout 4:1 -->\n\nNo picture.\n")
    assert "page.md:3: no image follows this comment" in refused("figures", "page.md", "--check", lines=1)


def test_a_document_that_is_no_text_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_bytes("caf\u00e9".encode("latin-1"))
    assert "page.md: byte 3 is no UTF-8; save" in refused("figures", "page.md", lines=1)


def test_watch(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```layout\n4:1\nfile: x.svg\n```\n")
    command = [sys.executable, "-m", "cutepy", "figures", "page.md", "--watch"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:
        try:
            assert [running.stdout.readline() for _line in "ab"] == ["wrote x.svg\n", "1 figures, 1 written\n"]
            page.write_text("```layout\n(4:1\nfile: x.svg\n```\n")
            assert "page.md:1: " in running.stderr.readline()
            page.write_text("```layout\n8:1\nfile: x.svg\n```\n")
            assert running.stdout.readline() == "wrote x.svg\n"
            running.send_signal(signal.SIGINT)
            assert running.wait(30) == 130
        finally:
            running.kill()
    assert (tmp_path / "x.svg").read_bytes() == drawing_of("8:1").encoded(".svg")


def test_write_check_and_stale(here: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE)
    missing = here("figures", "docs", "--check")
    assert missing.returncode == 1
    assert missing.stderr.count(b"is missing") == 3
    assert not (tmp_path / "docs" / "img").exists()
    assert here("figures", "docs").returncode == 0
    drawn = (tmp_path / "docs" / "img" / "divided.svg").read_bytes()
    assert drawn == drawing_of("zipped_divide((8,8):(8,1), (4,4))", {"color": "tile"}).encoded(".svg")
    assert here("figures", "docs/page.md", "--check").returncode == 0
    (tmp_path / "docs" / "img" / "rows.svg").write_text("old")
    stale = here("figures", "docs", "--check")
    assert (stale.returncode, stale.stdout) == (1, b"3 figures, 1 stale\n")
    assert stale.stderr == b"docs/img/rows.svg is stale (docs/page.md:19)\n"
    assert b"wrote docs/img/rows.svg\n3 figures, 1 written" in here("figures", "docs").stdout


def test_a_bad_block_stops_before_anything_is_written(refused: Refused, tmp_path: Path) -> None:
    good = "```layout\n4:1\nfile: a.svg\n```\n"
    for body, expected, lines in (
        ("(4,8:(8,1)\nfile: x.svg", "b.md:2: ':' stands between one size", 3),
        ("4:1\nfile: x.jpg", "b.md:2: file: x.jpg is not a relative path", 1),
        ("4:1\nfile: https://x.org/x.svg", "b.md:2: file: https://x.org/x.svg is not a relative path", 1),
        ("4:1\nfile: /tmp/x.svg", "b.md:2: file: /tmp/x.svg is not a relative path", 1),
        ("4:1\ncolour: row", "b.md:2: line 2: no option 'colour'; did you mean color?", 1),
        ("8:1\nfile: a.svg", "is another picture at a.md:1", 1),
        ("", "b.md:2: line 1: nothing to draw", 1),
    ):
        (tmp_path / "a.md").write_text(good)
        (tmp_path / "b.md").write_text(f"\n```layout\n{body}\n```\n")
        assert expected in refused("figures", "a.md", "b.md", lines=lines)
    assert "there is no such file or folder" in refused("figures", "nowhere")


def test_a_check_answers_as_json(here: Run, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("```layout\n(4,8):(8,1)\nfile: x.svg\n```\n")
    done = here("figures", "page.md", "--check", "--json")
    stale = [{"file": "x.svg", "state": "missing", "place": "page.md:1"}]
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (1, {"figures": 1, "stale": stale}, b"")


def test_watching_outlives_a_document_that_is_gone_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cutepy.cli import figures

    page = tmp_path / "page.md"
    page.write_text("```layout\n(2,2)\nfile: a.svg\n```\n")
    steps = iter([page.unlink, lambda: page.write_text("```layout\n(4,4)\nfile: b.svg\n```\n")])

    def rest(_seconds: float) -> None:
        step = next(steps, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr(figures.time, "sleep", rest)
    with pytest.raises(KeyboardInterrupt):
        figures._watch([page])
    assert (tmp_path / "a.svg").exists() and (tmp_path / "b.svg").exists()
    assert "page.md" in capsys.readouterr().err
