"""Make a notebook, with its outputs, of a script in cells: `python tools/notebook.py SCRIPT [OUT [KIND ...]]`.

`# %%` begins a cell of code, `# %% [markdown]` one of text. The cells run in one namespace, as in a notebook, and what
the last line of a cell gives is shown as a notebook would show it, and as the kinds that are named: `image/svg+xml`.
`+live` adds the data with which a picture answers in a page. Nothing of Jupyter is needed.
"""

import ast
import json
import linecache
import re
import sys
from collections.abc import Collection
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

CELL = re.compile(r"^# %%(?P<text> \[markdown\])?.*\n", re.MULTILINE)
LIVE = "application/vnd.cutepy.live+json"
Cell = dict[str, object]


def cells(source: str) -> list[tuple[bool, str]]:
    """Whether each cell is text, and what it holds."""
    marks = [*CELL.finditer(source)]
    ends = [mark.start() for mark in marks[1:]] + [len(source)]
    found = [(bool(mark["text"]), source[mark.end() : end].strip("\n")) for mark, end in zip(marks, ends, strict=True)]
    return [(text, re.sub(r"(?m)^# ?", "", body) if text else body) for text, body in found if body]


def ran(number: int, code: str, namespace: dict[str, object], file: str, kinds: Collection[str]) -> Cell:
    """A cell of code with its outputs."""
    tree = ast.parse(code, file)
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)  # a kernel reads its own text
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(StringIO()) as out:
        exec(compile(tree, file, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), namespace)
    outputs: list[Cell] = []
    if out.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(out.getvalue())})
    if value is not None:
        data = {kind: lines(text) for kind, text in bundle(value, kinds).items()}
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "execution_count": number,
        "metadata": {},
        "outputs": outputs,
        "source": lines(code),
    }


def bundle(value: object, kinds: Collection[str]) -> dict[str, str]:
    """What a notebook shows of a value, by media type."""
    given = getattr(value, "_repr_mimebundle_", None)
    shown = dict(given(include=kinds)) if given else {}
    if "+live" in kinds and "image/svg+xml" in shown:
        shown[LIVE] = live(value)
    return {"text/plain": repr(value), **shown}


def live(value: object) -> str:
    """The data with which the picture of a value answers: of its own figure, or of the one that a notebook draws."""
    from cutepy.draw import Drawing, draw
    from cutepy.draw.drawing import NOTEBOOK_CELLS
    from cutepy.draw.live import live_data

    drawing = value if isinstance(value, Drawing) else draw(value, limit=NOTEBOOK_CELLS)
    return live_data(drawing.figure)


def lines(text: str) -> list[str]:
    """A text as notebooks keep it."""
    return text.splitlines(keepends=True)


def notebook(script: Path, kinds: Collection[str] = ()) -> dict[str, object]:
    """The notebook of a script, with further kinds of output; what the script raises is raised."""
    namespace: dict[str, object] = {"__name__": "__main__", "__file__": str(script)}
    made: list[Cell] = []
    for number, (text, body) in enumerate(cells(script.read_text(encoding="utf-8")), 1):
        if text:
            made.append({"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": lines(body)})
        else:
            made.append(ran(number, body, namespace, f"{script.name}, cell {number}", kinds))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


if __name__ == "__main__":
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else source.with_suffix(".ipynb")
    kinds, sys.argv = sys.argv[3:], [str(source)]
    target.write_text(json.dumps(notebook(source, kinds), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")
