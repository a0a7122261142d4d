"""Twenty puzzles about layouts: `python examples/puzzles.py 2 "(4,8):(8,1)"`; without an answer it prints the task.

`--notebook puzzles.ipynb` writes them as a notebook to fill in, `--page` the page of the docs.
"""

import json
import sys
from html import escape
from pathlib import Path
from urllib.parse import quote

from cutepy.explore.puzzles import PUZZLES, judged


def solve(number: int, answer: str) -> str:
    """Whether an answer is right, else its counter-example."""
    wrong = judged(number, answer)
    return f"{number}. {PUZZLES[number - 1].title}: " + (f"not yet. {wrong}" if wrong else "right!")


def notebook() -> dict[str, object]:
    """A cell of text and one of code for each puzzle."""
    cells: list[dict[str, object]] = [_code(0, "from puzzles import solve  # beside this file in examples/")]
    for number, puzzle in enumerate(PUZZLES, 1):
        text = f"### {number}. {puzzle.title}\n\n{puzzle.task}"
        cells.append({"cell_type": "markdown", "id": f"task-{number}", "metadata": {}, "source": text})
        cells.append(_code(number, f"print(solve({number}, {puzzle.start!r}))"))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _code(number: int, source: str) -> dict[str, object]:
    about = {"cell_type": "code", "id": f"cell-{number}", "execution_count": None, "metadata": {}, "outputs": []}
    return {**about, "source": source}


def page() -> str:
    """The rows of docs/puzzles.md: each puzzle, a link into the explorer, the answer folded away."""
    lines = []
    for number, puzzle in enumerate(PUZZLES, 1):
        link = f"explore:{quote(puzzle.start, safe='')}&puzzle={number}"
        lines += [f"## {number}. {puzzle.title}", "", puzzle.task, "", f"[Try it]({link})", ""]
        lines += [f"<details><summary>An answer</summary><code>{escape(puzzle.solution)}</code></details>", ""]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run the command; 1 for an answer that is wrong."""
    if arguments[:1] == ["--page"]:
        print(page())
    elif arguments[:1] == ["--notebook"]:
        Path(arguments[1]).write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    elif not arguments:
        print(*(f"{number}. {puzzle.title}: {puzzle.task}" for number, puzzle in enumerate(PUZZLES, 1)), sep="\n")
    elif len(arguments) == 1:
        print(PUZZLES[int(arguments[0]) - 1].task)
    else:
        print(told := solve(int(arguments[0]), arguments[1]))
        return int("right!" not in told)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
