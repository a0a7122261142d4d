"""`python -O` changes nothing that cutepy promises: what it leaves out are `assert`s, and no promise hangs on one."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def is_narrowing(test: ast.expr) -> bool:
    """Whether a condition tells a type checker what a value is, and nothing else."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(is_narrowing, values))
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
    return False


def test_asserts_tell_types_alone() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in (ROOT / "cutepy").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) and not is_narrowing(node.test)
    ]
    assert found == []


PRELUDE = """
import numpy as np
from cutepy import Layout, composition, complement, explain, gpu, right_inverse
from cutepy.errors import CutepyError, InternalError
from cutepy.tensor import make_tensor, local_tile, thread_value_partition, copy

assert False, "asserts are left out"

@gpu.kernel
def shifted(x, y, *, by):
    gpu.launch(threads=64)
    y[gpu.thread] = x[gpu.thread + by]

@gpu.kernel
def columns(x):
    gpu.launch(threads=8)
    x[0, gpu.thread] = 1.0

@gpu.kernel
def racing(y):
    gpu.launch(threads=8)
    y[0] = gpu.cast(gpu.thread, "f32")

x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
"""
#: What is run, and the error that it ends in; "" for none.
CASES = {
    "explain checks its steps": (
        "import cutepy.layout.text.explain as e\ne._claim('each index is its own double', Layout(4), lambda i: 2 * i)",
        "AssertionError",
    ),
    "a disjoint complement is checked": (
        "import cutepy.layout.text.explain as e\ne._disjoint(Layout(4), Layout(2))",
        "AssertionError",
    ),
    "remainders that wrapping loses": (
        "from cutepy.layout.affine import Congruent\nCongruent({'a': 1}, 0).remainder(3)",
        "InternalError",
    ),
    "a composition that is no layout": ("composition(Layout((4, 3), (1, 5)), Layout(3, 3))", "CompositionError"),
    "a composition outside its tensor": ("composition(make_tensor(x), Layout(65))", "TensorError"),
    "a partition for another tile": (
        "thread_value_partition(make_tensor(x.reshape(8, 8)), Layout((16, 8), (1, 16)), 15)",
        "TensorError",
    ),
    "a coordinate outside": ("make_tensor(x)[64]", "TensorIndexError"),
    "an index outside, interpreted": ("shifted.interpret(x, y, by=1)", "KernelError"),
    "a coordinate outside, interpreted": ("columns.interpret(x.reshape(8, 8)[:, :4])", "KernelError"),
    "a race, interpreted": ("racing.interpret(y, check=True)", "VerificationError"),
    "what is refuted": ("shifted.verify(x, y, by=1).raise_if_refuted()", "VerificationError"),
    "what is refuted of a shape": ("columns.verify(x.reshape(8, 8)[:, :4]).raise_if_refuted()", "VerificationError"),
    "what is right": (
        "shifted.verify(x, y, by=0).ok or 1 / 0\nshifted.interpret(x, y, by=0)\nnp.array_equal(x, y) or 1 / 0\n"
        "composition(Layout((4, 8), (8, 1)), right_inverse(Layout((4, 8), (8, 1))))(5) == 5 or 1 / 0\n"
        "str(explain(complement, Layout((2, 2), (1, 8)), 32))",
        "",
    ),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The error that each case ends in, in one process without asserts."""
    lines = [PRELUDE]
    for name, (code, _error) in CASES.items():
        body = "\n".join(f"    {line}" for line in code.split("\n"))
        lines.append(f"try:\n{body}\n    print({name!r}, '', sep=chr(9))")
        lines.append(f"except Exception as error:\n    print({name!r}, type(error).__name__, sep=chr(9))")
    path = tmp_path_factory.mktemp("optimised") / "program.py"  # a file: a kernel is read from its source
    path.write_text("\n".join(lines))
    command = [sys.executable, "-O", str(path)]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert ran.returncode == 0, ran.stderr
    return dict(line.split("\t") for line in ran.stdout.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_without_asserts(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == CASES[name][1]
