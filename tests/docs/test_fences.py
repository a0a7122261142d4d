"""What runs the fences notices when a page is wrong."""

import importlib.util
from pathlib import Path

import pytest
from sybil import Document
from sybil.example import SybilFailure

from cutepy import CutepyError

ROOT = Path(__file__).parents[2]
PRINTS = "```python\nprint('one')\nprint('two')\nprint('three')\n```\n"


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run all fences of a page, as the tests do; how many there are."""
    spec = importlib.util.spec_from_file_location("fences", ROOT / "conftest.py")
    assert spec is not None and spec.loader is not None
    fences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fences)
    page = folder / "page.md"
    page.write_text(text)
    monkeypatch.chdir(folder)
    examples = list(Document.parse(str(page), *fences.PARSERS))
    for example in examples:
        example.evaluate()
    return len(examples)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("```python\n>>> 1 + 1\n2\n>>> x = 3\n>>> x\n3\n```\n", 3),
        (f"{PRINTS}\nand so\n\n```text\none\ntwo\nthree\n```\n", 2),
        (f"{PRINTS}```text\none\n...\nthree\n```\n", 2),
        (f"{PRINTS}```wgsl\n...\nthree\n```\n", 2),
        ("```console\n$ echo a \\\n    b\na b\n$ echo $((1 + 1))\n2\n```\n", 1),
        ("```console\n$ cutepy print '(2):(1)' --to cpp\nLayout<Shape<_2>,Stride<_1>>{}\n```\n", 1),
        ("```layout\n(2,2):(2,1)\ncolor: row\n```\n", 1),
        ("````markdown\n```layout\n(2,2):(2,1)\n```\n````\n", 1),
        ("```toml\nthis is shown only\n```\n", 0),
    ],
)
def test_right_pages(text: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(text, tmp_path, monkeypatch) == count


@pytest.mark.parametrize(
    "text",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\n1 / 0\n```\n",
        f"{PRINTS}```text\none\nthree\n```\n",
        f"{PRINTS}```text\none\n...\n```\n```text\ntwo\n```\n",
        "```text\nnobody printed this\n```\n",
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ echo a\na\n$ echo b\n```\n",
        "```layout\n(2,2:(2,1)\n```\n",
        "```layout\n(2,2):(2,1)\ncolour: row\n```\n",
    ],
)
def test_wrong_pages(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((AssertionError, SybilFailure, CutepyError, ZeroDivisionError)):
        run(text, tmp_path, monkeypatch)
