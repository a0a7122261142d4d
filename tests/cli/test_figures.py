"""`cutepy figures`: which blocks of Markdown are pictures, writing them, finding stale ones, refusing bad ones."""

import subprocess
from collections.abc import Callable
from pathlib import Path

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
    found = [(block.line, block.body, block.image) for block in blocks(Path("page.md"), PAGE)]
    assert found == [
        (3, "zipped_divide((8,8):(8,1), (4,4))\ncolor: tile\nfile: img/divided.svg", ""),
        (9, "(2,2):(2,1)", ""),
        (19, "(4,8):(8,1)\ncolor: row", "img/rows.svg"),
        (25, "(4,8):(8,1)\nfile: img/offsets.txt", ""),
    ]
    assert [block.body for block in blocks(Path("x.md"), "```layout\n4:1")] == ["4:1"]
    assert [block.body for block in blocks(Path("x.md"), "<!-- layout 4:1 -->")] == ["4:1"]
    assert not list(blocks(Path("x.md"), "<!-- layouts -->\n<!-- other\nlayout -->"))


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
        ("4:1\nfile: /tmp/x.svg", "b.md:2: file: /tmp/x.svg is not a relative path", 1),
        ("4:1\ncolour: row", "b.md:2: no option 'colour'; did you mean color?", 1),
        ("8:1\nfile: a.svg", "is another picture at a.md:1", 1),
        ("", "b.md:2: line 1: nothing to draw", 1),
    ):
        (tmp_path / "a.md").write_text(good)
        (tmp_path / "b.md").write_text(f"\n```layout\n{body}\n```\n")
        assert expected in refused("figures", "a.md", "b.md", lines=lines)
    assert "there is no such file or folder" in refused("figures", "nowhere")
