"""The puzzles: each answer is judged right, each wrong one and the text to begin with is not, and is told why."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from explore.questions import asked

from cutepy.explore.puzzles import PUZZLES, judged

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = range(1, len(PUZZLES) + 1)


def test_there_are_twenty() -> None:
    assert len(PUZZLES) == 20 == len({puzzle.title for puzzle in PUZZLES})


@pytest.mark.parametrize("number", NUMBERS)
def test_a_solution_is_right_and_others_have_a_hint(number: int) -> None:
    puzzle = PUZZLES[number - 1]
    assert judged(number, puzzle.solution) == ""
    for text in (puzzle.wrong, puzzle.start):
        assert judged(number, text), text
    for nonsense in ("(4,", "5", "(2,2,2)", "3:7", "composition((6,2):(1,7), (3,2):(2,3))"):
        assert judged(number, nonsense) != "", nonsense
    found = asked("puzzle", number=number, text=puzzle.solution)
    assert found["solved"] and found["title"] == puzzle.title and found["count"] == 20
    assert asked("puzzle", number=number, text=puzzle.wrong)["hint"] == judged(number, puzzle.wrong)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2, "Layout(Shape(4,8), LayoutRight)"),
        (12, "complement(4:2, 16)"),
        (14, "zipped_product((2,2):(1,2), 6:1)"),
        (18, "S<5,0,5> o 0 o (32,32):(32,1)"),
        (10, "A = (4,8):(8,1); zipped_divide(A, (2,4))"),
    ],
)
def test_any_answer_that_obeys_the_rule_is_right(number: int, text: str) -> None:
    assert judged(number, text) == ""


def test_the_page_and_the_notebook_have_all(tmp_path: Path) -> None:
    made = runpy.run_path(str(ROOT / "examples" / "puzzles.py"))
    text = (ROOT / "docs" / "puzzles.md").read_text("utf-8")
    assert made["page"]().strip() in text, "python examples/puzzles.py --page"
    assert made["main"](["--notebook", str(tmp_path / "puzzles.ipynb")]) == 0
    cells = json.loads((tmp_path / "puzzles.ipynb").read_text())["cells"]
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    assert len(sources) == 21
    (tmp_path / "run.py").write_text("\n".join(sources))
    done = subprocess.run(
        [sys.executable, "run.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'examples'}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("not yet.") == 20, done.stderr
    assert made["main"](["2", "(4,8):(8,1)"]) == 0 and made["main"](["2", "(4,8):(1,4)"]) == 1
