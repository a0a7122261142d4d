"""The core with numpy, sympy and wgpu blocked: layouts, their algebra, explanations, pictures, commands, docs hooks.

They are requirements all the same: tensors, kernels and long tables of offsets need them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from explore.questions import expressions

ROOT = Path(__file__).parents[2]
BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "sympy", "wgpu", "wgpudawn"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
"""
ALGEBRA = """
from cutepy import *
from cutepy import Layout, Swizzle, bank_conflicts, transactions
L = Layout.parse("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))")
source = "make_layout(make_shape(4, 8), make_stride(8, 1))"
for text in ("Layout<Shape<_4,_8>,Stride<_8,_1>>{}", source, "Layout((4, 8),(8, 1))"):
    assert str(Layout.parse(text)) == "(4,8):(8,1)"
assert L(5, 3) == 57 and is_bijective(L) and L.cosize == 128
A, B = Layout((4, 8), (8, 1)), Layout((2, 3), (3, 1))
assert str(coalesce(Layout((2, (1, 6)), (1, (6, 2))))) == "12:1"
assert str(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1)))) == "((2,2),3):((24,2),8)"
assert str(composition(Layout((6, 4), (1, 8)), Layout((2, 2), (4, 6)))) == "(2,2):(4,8)"
assert str(right_inverse(Layout((4, 3), (1, 2)))) == "(4,2):(1,8)"
assert str(complement(Layout((2, 2), (1, 4)), 16)) == "(2,2):(2,8)"
assert str(right_inverse(A)) == "(8,4):(4,1)" and str(left_inverse(Layout((4, 8), (1, 5)))) == "(5,8):(1,4)"
for operation in (logical_divide, zipped_divide, tiled_divide, flat_divide):
    assert operation(A, (2, 4)).size == 32 and "checked" in str(explain(operation, Layout(24), Layout(4, 2)))
for operation in (logical_product, zipped_product, tiled_product, flat_product, blocked_product, raked_product):
    assert operation(Layout((2, 2)), B).size == 24
swizzled = make_composed_layout(Swizzle(3, 0, 3), 0, Layout((8, 8), (8, 1)))
assert swizzled(2, 1) == 19 and swizzled.cosize == 64 and str(slice_and_offset((_, 1), A)[0]) == "(4):(8)"
assert bank_conflicts(swizzled, banks=8).ways == 1 and bank_conflicts(Layout((8, 8), (8, 1)), banks=8).ways == 8
assert transactions(Layout(32, 8)).count == 32
carries = "composition(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))"
uneven, typo = "zipped_divide(Layout((10, 8)), (4, 4))", "Layout.parse('(4,8:(8,1)')"
for call in (carries, uneven, typo, "Layout((4, 8), (8, 1))(9, 9, 9)"):
    try:
        eval(call)
    except CutepyError:
        continue
    raise AssertionError(call)
"""
PICTURES = """
from cutepy.docs import fence
from cutepy.draw import drawing_of
for text, options in (
    ("(4,8):(8,1)", {}), ("(4,8):(8,1)", {"view": "memory"}), ("((4,2),8):((1,16),4)", {"view": "tree"}),
    ("(4,8):(8,1)", {"view": "tiles (2,4)"}), ("((4,8),(2,2)):((32,1),(16,8))", {"over": "(16,8)"}),
    ("S<3,0,3> o 0 o (8,8):(8,1)", {"view": "banks"}), ("S<2,0,2> o 0 o (4,4):(4,1)", {"view": "swizzle"}),
    ("zipped_divide((4,8):(8,1), (2,4))", {"view": "steps"}), ("(1000,1000):(1000,1)", {"limit": "64"}),
):
    drawing = drawing_of(text, options)
    assert drawing.svg().startswith("<svg") and drawing.text() and drawing.tikz() and drawing.html()
assert fence("(2,2):(2,1)", "layout", "layout", {}, None).startswith("<figure")
"""
COMMANDS = """
from contextlib import redirect_stdout
from io import StringIO
from cutepy.cli import main
page = "```layout\\n(4,8):(8,1)\\nfile: x.svg\\n```\\n"
open("page.md", "w").write(page)
with redirect_stdout(StringIO()) as out:
    for command in (
        ["print", "(4,8):(8,1)"], ["print", "(4,8):(8,1)", "--to", "cpp"], ["draw", "(4,8):(8,1)", "-o", "x.tex"],
        ["explain", "zipped_divide((8,12):(12,1), (4,3))"], ["figures", "page.md"], ["figures", "page.md", "--check"],
    ):
        assert main(command) == 0, command
assert "0 stale" in out.getvalue()
from contextlib import redirect_stderr
for command in (["adapters"], ["verify", "x.py:k"], ["matmul", "a.npy", "b.npy"]):
    with redirect_stderr(StringIO()) as said:
        assert main(command) == 2
    wanted = f"cutepy {command[0]}: it needs the package numpy, and that is not here: pip install numpy"
    assert said.getvalue().splitlines() == [wanted]
"""


NAMES = """
from cutepy import Layout, NotationError
for text, column in (("(4,M):(8,1)", 3), ("Layout((4, 8), (N, 1))", 16), ("make_layout((?, 4))", 13), ("(4*K,8)", 3)):
    try:
        Layout.parse(text)
    except NotationError as error:
        assert error.column == column and "a size known later, which needs the package sympy" in str(error), error
    else:
        raise AssertionError(text)
assert str(Layout.parse("(16/4,8):(8,1)")) == "(4,8):(8,1)"
"""
EXPRESSIONS = """
from cutepy.explore.answers import answer
for question in open("questions.txt"):
    assert "not in this page" not in answer(question), question
"""


def test_random_expressions_are_answered(tmp_path: Path) -> None:
    """What the explorer's page is asked, where these packages are not there."""
    questions = (json.dumps({"ask": "look", "text": text}) for text in expressions("without", 1000))
    (tmp_path / "questions.txt").write_text("\n".join(questions))
    test_it_runs(EXPRESSIONS, tmp_path)


@pytest.mark.parametrize("tests", ("layout/test_cute_core.py", "cli/test_figures.py", "docs_hooks/test_pandoc.py"))
def test_tests_of_the_core_pass(tests: str, tmp_path: Path) -> None:
    """CuTe's own unit tests of its layouts, documents on the command line, documents through pandoc."""
    (tmp_path / "blocked.py").write_text(BLOCK)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "blocked", "-p", "no:cacheprovider", str(ROOT / "tests" / tests)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    "program", [ALGEBRA, PICTURES, COMMANDS, NAMES], ids=["algebra", "pictures", "commands", "names"]
)
def test_it_runs(program: str, tmp_path: Path) -> None:
    checked = f"{BLOCK}{program}\nassert not {{'numpy', 'sympy', 'wgpu'}} & set(sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{checked}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
