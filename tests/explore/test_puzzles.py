"""The puzzles: each answer is judged right, each wrong one and the text to begin with is not, and is told why."""

import json
import runpy
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from explore.questions import asked

from cutepy.explore.puzzles import PUZZLES, judged
from cutepy.layout.text.parse import expression_of

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = range(1, len(PUZZLES) + 1)


#: What the solutions that judge answers have to give at each coordinate.
RULES = {
    "Row after row": lambda i, j: 8 * i + j,
    "Padded columns": lambda i, j: i + 5 * j,
    "Every second": lambda i: 2 * i,
    "Turned": lambda j, i: 8 * i + j,
    "Broadcast": lambda i, j: j,
    "Tiles": lambda i, t: (i % 2 + 2 * (t % 2)) * 8 + i // 2 + 4 * (t // 2),
    "Copies": lambda i, k: i + 4 * k,
    "A piece each": lambda t, v: 4 * t + v,
    "Side by side": lambda t, v: t + 8 * v,
    "An accumulator": lambda lane, v: lane // 4 + 8 * (v // 2) + 16 * (2 * (lane % 4) + v % 2),
}


def test_a_solution_that_judges_obeys_the_rule() -> None:
    for puzzle in PUZZLES:
        assert (puzzle.judge is None) == (puzzle.title in RULES)
        if puzzle.judge is None:
            layout = expression_of(puzzle.solution).value
            sizes = [mode.size for mode in layout] or [layout.size]
            for crd in product(*map(range, sizes)):
                assert layout(*crd) == RULES[puzzle.title](*crd), (puzzle.title, crd)


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
