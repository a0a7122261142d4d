"""The fence by itself: the bytes of the picture, options, and errors that name file and line."""

import sys
from html import unescape
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest

from cutepy.docs import fence, validate
from cutepy.draw import drawing_of
from cutepy.errors import DrawError

BODY = "zipped_divide((8,8):(8,1), (4,4))\ncolor: tile"


def html(source: str, header: dict[str, str] | None = None, **more: object) -> str:
    """What the fence gives, as pymdownx calls it."""
    options: dict[str, object] = {}
    assert validate("layout", header or {}, options, {}, None)
    return fence(source, "layout", "layout", options, more.pop("md", None), **more)  # type: ignore[arg-type]


def test_the_picture_is_that_of_drawing_of() -> None:
    wanted = drawing_of("zipped_divide((8,8):(8,1), (4,4))", {"color": "tile"}).svg().rstrip()
    assert wanted in html(BODY)
    assert wanted in html("zipped_divide((8,8):(8,1), (4,4))", {"color": "tile"})
    assert wanted in html(BODY, {"color": "row"}), "the body wins over the header"


def test_what_the_document_says() -> None:
    found = html(f'{BODY}\ncaption: a < b\nalt: a "tile"', classes=["wide"], id_value="fig1", attrs={"data-x": "1"})
    assert found.startswith('<figure class="cutepy layout wide" id="fig1" data-x="1" data-layout="zipped_divide((8,8)')
    assert ' aria-label="a &quot;tile&quot;" style="' in found.partition("<svg")[0]
    assert found.partition("<script>")[0].endswith("<figcaption>a &lt; b</figcaption></figure>")
    assert "\n\n" not in found, "a blank line would end the HTML block"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("zipped_divide((8,8:(8,1), (4,4))", r"is '\)' missing before it\?\n.*\n +\^"),
        ("composition((6,2):(1,7), (3,2):(2,3))", "is not a layout: at"),
        ("(4,8)\ncolour: row", "line 2: no option 'colour'; did you mean color"),
        ("(4,8)\nalign: middle", "align: 'middle'; there are left, center, right"),
        ("(4,8)\nwidth: wide", "width"),
        ("(4,8)\ncolor", "line 2: 'color' is not 'key: value'"),
        ("(4,8)\ncolor: red", "color='red'"),
        ("(4,8)\ncolor: row\ncolor: column", "line 3: color is given twice"),
        ("(4,8)\nview: tiles", "needs tiler"),
        ("(4,8)\nwidth: 4\nview: tree", "has no option 'width'"),
        ("", "nothing to draw"),
        ("__import__('os')", "layout fence"),
    ],
)
def test_what_is_wrong_stops_the_build(source: str, message: str) -> None:
    with pytest.raises(Exception, match=message) as caught:
        html(source)
    assert caught.type.__name__ in ("SuperFencesException", "DrawError")


def test_the_error_names_file_and_line(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```layout\n(4,4)\n```\n\n```layout\n(4,8\n```\n")
    mkdocs = SimpleNamespace(treeprocessors=[SimpleNamespace(file=SimpleNamespace(abs_src_path=str(page)))])
    context = SimpleNamespace(page=SimpleNamespace(path="page.md"), config={"docs_dir": str(tmp_path)})
    for md in (mkdocs, SimpleNamespace(preprocessors=[object(), context])):
        with pytest.raises(Exception, match=r"page\.md:8: layout fence '\(4,8'"):
            html("(4,8", md=md)


def test_an_error_of_another_kind_stops_the_build_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> object:
        raise RuntimeError("not foreseen")

    monkeypatch.setattr("cutepy.docs.drawing_of", broken)
    with pytest.raises(Exception, match="RuntimeError: not foreseen"):
        html("(4,4)")


def test_without_pymdownx_it_is_a_draw_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymdownx.superfences", None)
    with pytest.raises(DrawError):
        html("(4,4")


def test_what_the_document_asks_of_the_picture() -> None:
    found = html("(2,2):(2,1)\nname: fig-a\nalign: center\nwidth: 50%\nfile: a.svg")
    assert found.startswith('<figure class="cutepy layout" id="fig-a" data-layout="(2,2):(2,1)" ')
    assert 'style="overflow-x:auto;text-align:center">' in found.partition("<svg")[0]
    assert 'style="width:50%;height:auto;max-width:none"' in found
    assert "width:8" not in html("(2,8):(8,1)\nview: memory\nwidth: 8").partition("<svg")[2].partition(">")[0]


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("(4,8):(8,1)", {"view": "grid"}),
        ("complement(4:2, 24)\nview: steps", {"view": "steps"}),
        (
            "zipped_divide((8,8):(8,1), (4,4))\ncolor: tile\ncaption: here\nwidth: 50%",
            {"view": "grid", "color": "tile"},
        ),
        ("((4,8),(2,2)):((32,1),(16,8))\nover: (16,8)", {"view": "tv", "over": "(16,8)"}),
        ("(4,8):(8,1)\nview: tiles (2,2)\nhighlight: (1,_)", {"view": "tiles", "tiler": "(2,2)", "highlight": "(1,_)"}),
        ("(8,8)\ntiler: (4,4)\nthreads: (8,2):(2,1)\nthread: 3", {"view": "tiles", "o.thread": "3"}),
    ],
)
def test_edit_me_opens_the_picture_that_is_shown(source: str, asked: dict[str, str]) -> None:
    found = dict(parse_qsl(unescape(html(source).partition('data-explore="')[2].partition('"')[0])))
    assert found.pop("e") == source.partition("\n")[0] and asked.items() <= found.items()
    options = {name.removeprefix("o."): value for name, value in found.items()}
    assert drawing_of(source.partition("\n")[0], options).svg().rstrip().partition(">")[2] in html(source)


def test_views_in_words() -> None:
    assert ">3</text>" in html("(8,8):(8,1)\ntiler: (4,4)")
    assert ">V1<" in html("((4,2),2):((2,16),1)\nview: tv (8,4)")
    assert "16-way conflict" in html("(32,32):(32,1)\nelement_bytes: 2")
    assert ">(1,1)<" in html("(2,2):(1,3)\nwidth: 8")
    assert 'class="m"' in html("(4,4)\nhighlight: (2,_)")
    assert "copy" in html("complement(4:2, 24)\nview: steps")
