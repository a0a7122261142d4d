"""The file that the explorer is: complete, the same every time, with nothing that is fetched; and how one gets it."""

import base64
import gzip
import io
import json
import re
import runpy
import subprocess
import sys
import zipfile
from functools import partialmethod
from html import unescape
from pathlib import Path

import pytest

from cutepy.cli import main
from cutepy.draw import Banks, ThreadValue, draw, drawing_of
from cutepy.errors import CutepyError, DrawError, LayoutError, NotationError
from cutepy.explore import Explorer, explore
from cutepy.explore import pack as packing
from cutepy.explore.answers import QUESTIONS
from cutepy.layout import Layout, _
from cutepy.layout.text.parse import expression_of

STUB = {name: f"<{name}>".encode() for name in (*packing.RUNTIME, "cutepy.zip")}
WEB = Path(packing.__file__).parent / "web"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that is no Python, for what does not run one."""
    monkeypatch.setattr(packing, "runtime", lambda: {name: STUB[name] for name in packing.RUNTIME})


def state_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_is_the_same_every_time_and_names_no_address() -> None:
    page = Explorer("(4,8):(8,1)").page(STUB)
    assert page == Explorer("(4,8):(8,1)").page(STUB)
    outside = re.findall(r"""(?:src|href|action|url)\s*[=(]\s*["']?\s*(?!data:|blob:|#)[a-z]+:""", page)
    assert outside == [] and page.count("<link") == 1 and "@import" not in page
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'") and "http" not in policy
    for name in STUB:
        assert f'<script type="application/octet-stream" data-file="{name}"' in page


def test_a_packed_file_comes_in_parts_that_are_decoded_one_by_one_the_kernels_last() -> None:
    data = bytes(range(256)) * 1500
    files = {"python.zip": data, "kernels.json": b"[]"}
    parts = re.findall(r'<script [^>]*data-file="([^"]*)">([^<]*)</script>', Explorer("4:1").page(files))
    assert [name for name, _text in parts] == ["python.zip"] * 2 + ["kernels.json"]
    assert b"".join(base64.b64decode(text) for name, text in parts if name == "python.zip") == data


@pytest.mark.usefixtures("stub")
def test_the_page_holds_the_files_in_the_order_of_the_start_and_not_its_own_packing() -> None:
    names = re.findall(r'<script [^>]*data-file="([^"]*)"', Explorer("4:1").html())
    assert list(dict.fromkeys(names)) == [*packing.PYTHON, "cutepy.zip", "kernels.json"]
    assert "cutepy/explore/pack.py" not in zipfile.ZipFile(io.BytesIO(packing.source_zip())).namelist()


def test_the_first_picture_is_that_of_draw() -> None:
    page = Explorer("(4,8):(8,1)", "banks", {"element_bytes": "2"}).page(STUB)
    options = {"view": "banks", "element_bytes": "2", "limit": str(packing.FIRST_CELLS)}
    assert drawing_of("(4,8):(8,1)", options).svg() in page
    state = state_of(page)
    assert (state["text"], state["view"], state["options"]) == ("(4,8):(8,1)", "banks", {"element_bytes": "2"})


def test_a_large_first_picture_shows_its_corners() -> None:
    assert len(Explorer("(512,512):(512,1)").page(STUB)) < 300_000


def test_text_stays_text() -> None:
    text = "Layout<Shape<_4>,Stride<_1>>"
    page = Explorer(text).page(STUB)
    (value,) = re.findall(r'<textarea id="expression"[^>]*>([^<]*)</textarea>', page)
    assert unescape(value) == text and state_of(page)["text"] == text
    assert page.count("</script>") == 5 + len(STUB) - 2


def test_the_packed_source_answers_alone(tmp_path: Path) -> None:
    """What is in the page is all that the page imports: nothing else of cutepy, no NumPy, no SymPy, no wgpu."""
    (tmp_path / "cutepy.zip").write_bytes(packing.source_zip())
    program = """
import sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path]
sys.path.insert(0, sys.argv[1])
sys.modules.update(dict.fromkeys(("numpy", "sympy", "wgpu")))
from cutepy.explore.answers import QUESTIONS, answer
import cutepy, json
assert cutepy.__file__.startswith(sys.argv[1]), cutepy.__file__
import importlib, zipfile
for name in zipfile.ZipFile(sys.argv[1]).namelist():  # as runtime/choose.mjs does
    importlib.import_module(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
access = {"element_bytes": 4, "access_bytes": 16, "lanes": 0}
about = {"text": "zipped_divide((8,8):(8,1), (4,4))", "view": "grid", "options": {}}
more = {
    "cell": {**about, "grid": 0, "place": 3, "access": access},
    "thread": {**about, "thread": 3, "value": None, "access": access},
    "memory": {"text": "(8,8):(8,1)", "access": access},
    "found": {"text": "(16,16):(16,1)", "access": access},
    "export": {**about, "format": "tikz"},
    "names": {},
    "puzzle": {"number": 2, "text": "(4,8):(8,1)"},
}
for name in QUESTIONS:
    found = json.loads(answer(json.dumps({"ask": name, **more.get(name, {"text": about["text"]})})))
    assert "error" not in found, (name, found)
    print(name)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path / "cutepy.zip")], capture_output=True, text=True
    )
    assert done.stdout.split() == list(QUESTIONS), done.stderr


def test_compiled_modules_are_those_of_this_very_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime that was packed beside other source gives none of its compiled modules."""
    assert packing.compiled_name(b"one") != packing.compiled_name(b"other")
    monkeypatch.setattr(packing, "source_zip", lambda: b"another source")
    assert gzip.decompress(packing._packed_source()) == b"another source"


def test_without_the_runtime_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cutepy_runtime", None)
    with pytest.raises(DrawError, match="make explorer"):
        Explorer().html()
    assert main(["explore", "-o", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) == 1 and "make explorer" in said.err
    assert list(tmp_path.iterdir()) == []
    assert "make explorer" in Explorer()._repr_html_()


@pytest.mark.usefixtures("stub")
def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "page.html"
    assert main(["explore", "(4,8):(8,1)", "--view", "memory", "-o", str(target)]) == 0
    assert state_of(target.read_text())["view"] == "memory"
    assert main(["explore", "(4,8)x", "-o", str(tmp_path / "other.html")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].strip() == "^"
    assert main(["explore", "(4,8)", "--view", "nonsense", "-o", str(tmp_path / "other.html")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.usefixtures("stub")
def test_the_command_opens_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(Explorer, "open", partialmethod(Explorer.open, browser=opened.append))
    assert main(["explore", "(4,8):(8,1)"]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert opened == [path.as_uri()] and state_of(path.read_text())["text"] == "(4,8):(8,1)"


@pytest.mark.usefixtures("stub")
def test_a_notebook_shows_the_page_in_place() -> None:
    shown = explore("(4,8):(8,1)")._repr_html_()
    (inside,) = re.findall(r'srcdoc="([^"]*)"', shown)
    assert unescape(inside) == Explorer("(4,8):(8,1)").html()


def test_a_drawing_is_explored_as_it_was_asked_for() -> None:
    page = draw(Layout((4, 8), (8, 1)), view=Banks(element_bytes=2), color="none").explore()
    assert (page.text, page.view) == ("(4,8):(8,1)", "banks")
    assert page.options == {"element_bytes": "2", "banks": "32", "bank_bytes": "4", "color": "none"}
    spread = draw("((4,8),(2,2)):((32,1),(16,8))", view=ThreadValue((16, 8))).explore()
    assert (spread.view, spread.options) == ("tv", {"over": "(16,8)"})
    assert draw("coalesce((2,4):(1,2))").explore().text == "coalesce((2,4):(1,2))"
    assert explore(draw(Layout(8))) == explore(Layout(8))
    framed = draw(Layout((4, 8), (8, 1)), highlight=(1, _), title="row one", tiler=(2, 4), tile=1).explore()
    assert framed.options == {"tiler": "(2,4)", "tile": "1", "highlight": "(1,_)", "title": "row one"}
    assert draw(Layout((4, 8), (8, 1)), highlight=(1, _), title="row one", tiler=(2, 4), tile=1).svg() in framed.page(
        STUB
    )


@pytest.mark.parametrize(
    ("thing", "view", "error"),
    [
        ("(4,", None, NotationError),
        (3.5, None, LayoutError),
        ("4:1", "tv", DrawError),
    ],
)
def test_what_cannot_be_explored_is_refused(thing: object, view: object, error: type[CutepyError]) -> None:
    with pytest.raises(error):
        explore(thing, view)


def test_a_function_is_no_option() -> None:
    with pytest.raises(DrawError, match="by name"):
        draw(Layout(8), color=lambda crd, value: 1).explore()


def test_all_examples_of_the_page_are_expressions() -> None:
    found = re.search(r"const EXAMPLES = \{(.*?)\n\};", (WEB / "main.js").read_text(), re.DOTALL)
    assert found
    texts = [
        json.loads(f'"{text}"').split("|")[0] for text in re.findall(r'(?<=[\[ ])"([^"]*:[^"]*)"(?=[,\]])', found[1])
    ]
    assert len(texts) >= 15
    for text in texts:
        expression_of(text)


def test_the_kernels_of_the_page_need_no_npm_to_be_described() -> None:
    found = runpy.run_path(str(Path(__file__).parents[2] / "runtime" / "kernels.py"))["all_of_them"]()
    assert [one["name"] for one in found] == ["saxpy", "transpose", "matmul"]
    for one in found:
        assert "@compute" in one["wgsl"] and "proven" in one["proof"] and "@compute" in one["module"]
        (written,) = one["wanted"]  # with the numbers that the interpreter found, which are not those given
        assert one["given"].keys() == one["types"].keys() and one["wanted"][written] != one["given"][written]
