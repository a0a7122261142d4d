"""The code that was loaded runs: what stands in its file by now is taken only where it compiles to that very code."""

import ast
import importlib.util
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.trace.rewrite_source import text_of

HEAD = """import numpy as np
from cutepy import gpu

def kept(function):
    return function

def helper(v):
    return v * 2

@gpu.kernel
def k(x, y):
    gpu.launch(grid=1, threads=64)
"""
TAIL = """

def k2(x, y):
    gpu.launch(grid=1, threads=64)
    y[gpu.thread] = 99
"""
BODIES = {
    "a line": "    y[gpu.thread] = x[gpu.thread] * 2\n",
    "an assert": (
        "    assert x is not None\n    v = x[gpu.thread]\n    if v > 3:\n        v = v * 2\n    y[gpu.thread] = v\n"
    ),
    "a branch": (
        "    v = x[gpu.thread]\n    if gpu.thread < 8:\n        v = v * 2\n    else:\n        v = v * 3\n"
        "        v = v + 1\n    y[gpu.thread] = v\n"
    ),
    "a loop": (
        "    v = x[gpu.thread]\n    for j in gpu.loop(3):\n        v = v + 1\n        v = v * 2\n"
        "    y[gpu.thread] = v\n"
    ),
    "loops and breaks": (
        "    v = x[gpu.thread]\n    for j in gpu.loop(5):\n        if v > 20:\n            break\n        v = v + 7\n"
        "    while v > 10:\n        v = v - 3\n    y[gpu.thread] = v\n"
    ),
    "a helper": "    v = helper(x[gpu.thread])\n    with gpu.when(v > 6):\n        y[gpu.thread] = v\n",
    "try": (
        "    v = x[gpu.thread]\n    try:\n        v = v + 1\n        v = v * 2\n    finally:\n        v = v + 3\n"
        "    y[gpu.thread] = v if v > 4 else 1\n"
    ),
    "inner": (
        "    scale = 3\n    def inner(a, b=2):\n        return a * scale + b if a > 2 else a\n"
        "    y[gpu.thread] = inner(x[gpu.thread])\n"
    ),
}


def edits(text: str, start: int, choose: random.Random) -> Iterator[str]:
    """Texts that differ from one in a line from `start` on: its indentation, its number, its operator, its place."""
    lines = text.splitlines(keepends=True)
    own = [i for i in range(start, len(lines)) if lines[i].strip()]

    def changed(*pairs: tuple[int, str]) -> str:
        found = list(lines)
        for i, line in pairs:
            found[i] = line
        return "".join(found)

    for i in own:
        line = lines[i]
        yield changed((i, "    " + line))
        yield changed((i, line.removeprefix("    ")))
        yield changed((i, ""))
        yield changed((i, line + line))
        yield changed((i, "\n" + line))
        yield changed((i, line.replace("* 2", "* 3").replace("+ 1", "+ 2").replace("< 8", "< 9").replace("(3)", "(4)")))
        yield changed((i, line.replace(" + ", " - ").replace(" > ", " >= ")))
        other = choose.choice(own)
        yield changed((i, lines[other]), (other, line))
    yield changed((start - 2, lines[start - 2].replace("def k(x, y)", "def k(y, x)")))
    yield changed((start - 2, lines[start - 2].replace("def k(x, y)", "def k(x, *, y)")))
    yield changed((start - 3, "@kept\n" + lines[start - 3]))
    yield changed((start - 3, ""))
    yield text.replace("return v * 2", "return v * 5")
    yield text.replace("def k2", "def k").replace("@gpu.kernel\n", "")
    yield "# a line above\n" + text
    yield ""


def plain(text: str, path: Path, name: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_pytest(text: str, path: Path, name: str) -> ModuleType:
    path.write_text(text)
    tree = ast.parse(text)
    rewrite_asserts(tree, text.encode())
    module = ModuleType(name)
    exec(compile(tree, str(path), "exec"), vars(module))
    return module


def result(module: ModuleType) -> list[float]:
    x, y = np.arange(64, dtype=np.float32) % 7, np.zeros(64, np.float32)
    module.k.interpret(x, y)
    return [float(v) for v in y]


@pytest.mark.parametrize("load", [plain, by_pytest])
@pytest.mark.parametrize("body", BODIES)
def test_a_file_that_is_edited_after_it_was_loaded(
    load: Callable[[str, Path, str], ModuleType], body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = HEAD + BODIES[body] + TAIL
    start = HEAD.count("\n")
    want = result(load(text, tmp_path / "whole.py", "whole"))
    ran = refused = 0
    for number, edited in enumerate(edits(text, start, random.Random(body))):
        path = tmp_path / f"edited_{number}.py"
        module = load(text, path, f"edited_{number}")
        path.write_text(edited)
        try:
            assert result(module) == want, edited
            ran += 1
        except KernelError as error:
            assert "has changed since" in str(error) or not edited, error
            refused += 1
    assert ran + refused > 20 and ran > 0


def test_what_pytest_puts_into_a_function_is_none_of_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nest: list[object] = []
    for _ in range(5000):
        nest = [nest]
    monkeypatch.setattr("_pytest.assertion.util._reprcompare", lambda *operands: str(nest))
    module = by_pytest(HEAD + BODIES["an assert"] + TAIL, tmp_path / "nest.py", "nest")
    assert result(module) == [float(v * 2 if v > 3 else v) for v in np.arange(64) % 7]


def test_definitions_of_one_name_and_lambdas_of_one_line(tmp_path: Path) -> None:
    twice = "    y[gpu.thread] = one(x[gpu.thread]) + two(x[gpu.thread])\n"
    text = HEAD.replace(
        "@gpu.kernel", "one, two = (lambda v: v * 2 if v > 1 else v), (lambda v: v * 3 if v > 1 else v)\n\n@gpu.kernel"
    )
    module = plain(text + twice + TAIL, tmp_path / "lambdas.py", "lambdas")
    x = np.arange(64) % 7
    assert result(module) == [float(v * 5 if v > 1 else v * 2) for v in x]
    again = HEAD + BODIES["a loop"] + HEAD.partition("@gpu")[2].join(["@gpu", ""]) + BODIES["a branch"]
    module = plain(again, tmp_path / "again.py", "again")
    assert result(module) == [float(v * 2 if i < 8 else v * 3 + 1) for i, v in enumerate(x)]


def test_the_text_of_a_kernel_is_that_which_was_loaded(tmp_path: Path) -> None:
    path = tmp_path / "text.py"
    module = plain(HEAD + BODIES["a line"] + TAIL, path, "text")
    assert str(module.k).startswith("@gpu.kernel\ndef k(x, y):") and str(module.k).endswith("* 2")
    path.write_text(HEAD + BODIES["a line"].replace("2", "3") + TAIL)
    assert str(module.k) == repr(module.k)
    assert text_of(module.helper).startswith("def helper(v)")


def test_a_function_without_a_text_says_so() -> None:
    names: dict[str, object] = {"gpu": gpu}
    exec("@gpu.kernel\ndef k(x):\n    gpu.launch(threads=4)\n    x[gpu.thread] = 1 if x[gpu.thread] > 1 else 2", names)
    kernel = names["k"]
    assert isinstance(kernel, gpu.KernelFunction)
    with pytest.raises(KernelError, match="there is no text of k to read; keep it in a file or a notebook"):
        kernel.interpret(np.zeros(4, np.float32))
