"""The fence of a kernel: its module and arrays are in the page, and what is wrong stops the build."""

import json
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

from cutepy.docs_kernels import fence

KERNEL = """
from cutepy import gpu

@gpu.kernel
def doubled(x: "(n)", y: "(n)", *, by=2.0):
    gpu.launch(grid=-(-x.size // 64), threads=64)
    i = gpu.workgroup.x * 64 + gpu.thread
    if i < x.size:
        y[i] = by * x[i]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "doubling.py").write_text(KERNEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_page_has_the_module_the_arrays_and_the_text() -> None:
    html = fence("doubling.py:doubled 100 100\nset: by=3.0\ncaption: a < b".replace("100", "100:1"), "", "", {}, None)
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    data = json.loads(text)
    assert data["numbers"] == {"n": 100.0, "x.offset": 0.0, "y.offset": 0.0}
    assert "export async function load(" in data["module"] and isinstance(data["given"]["y"], int)
    assert "<p>a &lt; b</p>" in html and "3.0 * x" in unescape(html) and "\n\n" not in html
    assert "Run doubled on your GPU</button>" in html


def test_the_script_stands_once_on_a_page() -> None:
    page = SimpleNamespace(lines=["a page"])
    several = [fence("doubling.py:doubled 9:1 9:1", "", "", {}, page) for _ in range(2)]
    assert ["runExported" in html for html in several] == [True, False]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nothing.py:doubled 9:1 9:1", "there is no such file"),
        ("doubling.py:tripled 9:1 9:1", "doubling.py has doubled"),
        ("doubling.py:doubled 9:1", "kernel fence 'doubling.py:doubled 9:1'"),
        ("doubling.py:doubled 9:1 9:1\ncolor: red", "after the kernel come set: name=value"),
        ("doubling.py:doubled 9:1 9:1\nsizes: z=(n)", "by the names of tensors"),
        ("", "kernel fence"),
    ],
)
def test_what_is_wrong_stops_the_build(source: str, message: str) -> None:
    with pytest.raises(Exception, match=re.escape(message)) as caught:
        fence(source, "", "", {}, None)
    assert caught.type.__name__ in ("SuperFencesException", "DrawError")
