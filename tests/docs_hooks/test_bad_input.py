"""What is wrong is wrong at every door alike: the page, the command line, the fence, `cutepy figures`.

One message with what was meant and, for a slip of the pen, a caret under it; nothing is written, nothing is run.
"""

import io
import json
import sys
from pathlib import Path

import pytest

from cutepy.cli import main
from cutepy.docs import fence
from cutepy.explore.answers import answer

try:
    from pymdownx.superfences import SuperFencesException as Refused
except ImportError:  # there it is cutepy's own
    from cutepy.errors import DrawError as Refused

BAD = {
    "(4,8": "(4,8\n    ^",
    "(4,8)x": "(4,8)x\n     ^",
    "(4,8):(8,1": "(4,8):(8,1\n          ^",
    "(4,8):(8)": "(4,8):(8)\n      ^",
    "(4,8):8,1": "(4,8):8,1\n     ^",
    "4,8:8,1": "4,8:8,1\n ^",
    "[4;4": "[4;4\n    ^",
    "(4,-8)": "(4,-8)\n   ^",
    "(4,0)": "0",
    "(4,8.5):(8,1)": "(4,8.5)",
    "(4,@8):(8,1)": "(4,@8):(8,1)\n   ^",
    "coalesc((2,4):(1,2))": "did you mean coalesce?",
    "coalesce()": "coalesce",
    "coalesce((2,4):(1,2), 1, 2, 3)": "coalesce",
    "zipped_divide((8,8:(8,1), (4,4))": "zipped_divide((8,8:(8,1), (4,4))\n",
    "zipped_divide((10,8):(8,1), (4,4))": "10",
    "composition((6,2):(1,7), (3,2):(2,3))": "at (2,1)",
    "complement((4,4):(1,2), 64)": "overlap",
    "S<9,9>": "S<9,9>\n",
    "__import__('os').system('touch run')": "^",
    "(4,8):(8,1) \x1b[31m": "^",
    "((((((((((" * 100: "deep",
    "\u0664:\u0661": "^",
    "(4,8):(8,1):(1)": "(4,8):(8,1):(1)\n           ^",
    "4/0": "4/0\n  ^",
    "0x10:1": "0x10:1\n ^",
    "(4 8):(8 1)": "(4 8):(8 1)\n   ^",
    "(4,8]:(8,1)": "(4,8]:(8,1)\n    ^",
    "(4,8):(8,1)(1,2)": "(4,8):(8,1)(1,2)\n           ^",
    "(4,8):(8,1); import os": "^",
    "(4,8):(E<0>,E<1>x)": "(4,8):(E<0>,E<1>x)\n                ^",
    "np.zeros((4, 8))": "np.zeros((4, 8))\n  ^",
    "make_layout()": "make_layout()\n^",
    "make_layout((4,8), stride=8)": "make_layout((4,8), stride=8)\n                          ^",
    "Layout<Shape<_4,_8>": "Layout<Shape<_4,_8>\n                   ^",
    "S<3,4,1> o 0 o (8,8):(8,1)": "S<3,4,1> o 0 o (8,8):(8,1)\n^",
    "select((4,8):(8,1), 5)": "select((4,8):(8,1), 5)\n^",
    "logical_product(4:1, 0)": "logical_product(4:1, 0)\n^",
    "composition(4:1)": "composition(4:1)\n^",
    "flat_divide((8,8):(8,1), (4:2, 8:3))": "flat_divide((8,8):(8,1), (4:2, 8:3))\n^",
    "left_inverse(composition((6,2):(1,7), (3,2):(2,3)))": "\n             ^",
    "composition((6,2):(1,7), composition((3,2):(2,3), 9:1))": "at (0,2)",
    "complement(4:1, -1)": "complement(4:1, -1)\n^",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:24].encode("unicode_escape").decode())
def test_it_is_refused_alike_everywhere(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_text(f"```layout\n{text}\nfile: page.svg\n```\n", encoding="utf-8")
    said = {"the page": str(json.loads(answer(json.dumps({"ask": "look", "text": text}))).get("error"))}
    for name, command in (("draw", ["draw", "-", "-o", "x.svg"]), ("figures", ["figures", "page.md"])):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert main(command) == 2
        said[name] = capsys.readouterr().err
    with pytest.raises(Refused) as caught:
        fence(text, "layout", "layout", {}, None)
    said["fence"] = str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
    for door, message in said.items():
        told = "\n".join(line.removeprefix("  ") for line in message.splitlines())
        assert BAD[text] in told and "Traceback" not in message, (door, message)
        line, *pointed = told.split("\n")
        assert line and len(pointed) == 2 and pointed[1].strip() == "^", (door, message)
    assert "page.md:2" in said["figures"] or "page.md:1" in said["figures"], said["figures"]
