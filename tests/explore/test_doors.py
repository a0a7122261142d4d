"""One grammar at every door: an expression of the reference has one answer in Python, as a text, in a shell, in a
fence and in the page.

The expressions are those of all docstrings of the layouts and of all pages about them that name nothing but functions,
numbers, tuples and slices.
"""

import ast
import doctest
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from explore.questions import asked

import cutepy
from cutepy.cli import main
from cutepy.docs import drawing_of_body
from cutepy.draw import draw
from cutepy.errors import CutepyError
from cutepy.layout.text.meaning import CALLS, FINDINGS, QUESTIONS, functions
from cutepy.layout.text.parse import parse_expression
from cutepy.layout.text.write import spelt
from cutepy.layout.values.composed import AnyLayout

ROOT = Path(__file__).resolve().parents[2]
NAMES = {name: getattr(cutepy, name) for name in cutepy.__all__}
CALLED = (CALLS.keys() | functions().keys() | QUESTIONS.keys() | FINDINGS.keys()) & NAMES.keys()
SIZES = (
    "in the place of a layout the sizes of one are a layout in a text, as (4,8) alone is; in Python they are a tuple"
)


def is_pure(node: ast.expr) -> bool:
    """True for a call of the algebra over numbers, tuples, lists, `_` and such calls."""
    if isinstance(node, ast.Call):
        called = node.func
        known = called.id in CALLED if isinstance(called, ast.Name) else is_pure(called)
        known = known and not takes_sizes(node)
        return known and all(map(is_pure, node.args)) and all(is_pure(word.value) for word in node.keywords)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult) and is_pure(node.left) and is_pure(node.right)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and is_pure(node.operand)
    if isinstance(node, ast.Tuple | ast.List):
        return all(map(is_pure, node.elts))
    if isinstance(node, ast.Name):
        return node.id == "_"
    return isinstance(node, ast.Constant) and (type(node.value) in (int, bool) or node.value is None)


def takes_sizes(call: ast.Call) -> bool:
    """True for a call whose answer is another one in a text: see `SIZES`."""
    name = getattr(call.func, "id", "")
    return name in functions() | QUESTIONS and bool(call.args) and isinstance(call.args[0], ast.Tuple)


def expressions() -> Iterator[str]:
    """The pure expressions of docstrings and pages, and those that a `print` of them has."""
    parser = doctest.DocTestParser()
    sources = [path.read_text("utf-8") for path in sorted((ROOT / "cutepy" / "layout").rglob("*.py"))]
    sources += [path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    for source in sources:
        for block in source.split("\n\n"):
            try:
                examples = parser.get_examples(block)
            except ValueError:
                continue
            for example in examples:
                try:
                    tree = ast.parse(example.source.strip(), mode="eval").body
                except SyntaxError:
                    continue
                shown = tree.args if isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "print" else [tree]
                for part in shown:
                    for one in part.elts if isinstance(part, ast.Tuple) else [part]:
                        if isinstance(one, ast.Call | ast.BinOp) and is_pure(one):
                            yield " ".join(ast.unparse(one).split())


ALL = sorted(set(expressions()))


def test_the_reference_has_many() -> None:
    assert len(ALL) > 110


@pytest.mark.parametrize("text", ALL)
def test_every_door_says_the_same(text: str) -> None:
    try:
        python, refused = eval(text, dict(NAMES)), None
    except (CutepyError, TypeError) as error:
        python, refused = None, error
    if refused is not None:
        with pytest.raises(CutepyError):
            parse_expression(text)
        assert "error" in asked("look", text=text)
        return
    value = parse_expression(text).value
    if isinstance(python, AnyLayout):
        assert str(value) == str(python) and value == python
        if type(python.size) is int and python.size <= 512:
            assert drawing_of_body(f"{text}\nview: grid", {})[0].figure == draw(python, view="grid").figure
    else:
        assert spelt(value) == spelt(python)
    found = asked("look", text=text)
    assert found["value"] == str(value)
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["print", text, *(["--to", "cute"] if isinstance(value, AnyLayout) else [])]) == 0
    printed = out.getvalue().strip()
    assert printed == (spelt(value) if not isinstance(value, AnyLayout) else printed)
    if isinstance(value, AnyLayout):
        assert parse_expression(printed).value == value
    json.dumps(found)
