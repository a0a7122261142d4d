"""Control flow of kernels: right in every engine, as plain Python has it, or refused at its line."""

import linecache
import re
from pathlib import Path
from typing import Any

import control_forms
import numpy as np
import one_thread
import pytest
from control_programs import held, iterators, met_again, numbers, outcome, program
from shares import in_share, share

from cutepy import gpu
from cutepy.errors import KernelError
from cutepy.gpu.trace.python_state import PACKAGE
from cutepy.tensor import Tensor

FILE = Path(control_forms.__file__)
PLAIN = one_thread.functions_of(FILE.read_text(), str(FILE))


def arguments() -> tuple[np.ndarray, ...]:
    g = np.random.default_rng(3)
    return g.integers(0, 40, 64).astype(np.float32) / 4, g.integers(0, 1000, 64, np.uint32), np.zeros(64, np.float32)


@pytest.mark.parametrize("name", control_forms.RIGHT)
def test_as_plain_python(name: str) -> None:
    *given, wanted = arguments()
    one_thread.run(PLAIN, name, *[a.copy() for a in given], wanted)
    *given, found = arguments()
    kernel = gpu.kernel(control_forms.RIGHT[name])
    kernel.interpret(*given, found)
    np.testing.assert_array_equal(found, wanted)
    verdict = kernel.verify(*given, found)
    assert not verdict.refuted, verdict


@pytest.mark.parametrize("name", control_forms.REFUSED)
def test_refused_at_its_line(name: str) -> None:
    body, words = control_forms.REFUSED[name]
    lines = FILE.read_text().splitlines()
    first = body.__code__.co_firstlineno
    last = max(line for *_, line in body.__code__.co_lines() if line is not None)
    marked = [n for n in range(first, last + 1) if lines[n - 1].endswith("# here")]
    helpers = [n for n in range(first - 18, first) if n > 0 and lines[n - 1].endswith("# here")]
    line = marked[0] if marked else first if words in ("returns", "writes no argument") else helpers[-1]
    with pytest.raises(KernelError) as caught:
        gpu.kernel(body).interpret(*arguments())
    text = str(caught.value)
    assert words in text, text
    assert re.match(rf"control_forms\.py:{line}: ", text), (line, text)


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    assert outcome(seed) == "right", program(seed)


@pytest.mark.parametrize("seed", share(range(25)))
def test_a_number_of_pythons_is_what_python_makes_of_it(seed: int) -> None:
    said = outcome(seed, write=numbers)
    assert said == "right" or "may lie below 0 meets a u32 value" in said, numbers(seed)


def test_most_programs_about_pythons_numbers_are_not_refused() -> None:
    assert sum(outcome(seed, write=numbers) == "right" for seed in share(range(40, 65))) > in_share(12)


@pytest.mark.parametrize("seed", [4, 53, *share(range(100, 160))])
def test_a_loop_that_python_meets_again_begins_with_what_is_there_then(seed: int) -> None:
    said = outcome(seed, write=met_again)
    assert said == "right" or said.startswith("refused"), met_again(seed)


@pytest.mark.parametrize("seed", share(range(25)))
def test_names_held_by_lists_dictionaries_and_objects(seed: int) -> None:
    assert outcome(seed, write=held) == "right", held(seed)


@pytest.mark.parametrize("seed", share(range(120)))
def test_an_iterator_that_a_block_moves_is_noticed(seed: int) -> None:
    said = outcome(seed, write=iterators)
    words = "is changed inside", "is changed where the loop takes", "does not tell how far"
    assert said == "right" or any(word in said for word in words), iterators(seed)


WITHOUT_TEXT = """
from cutepy import gpu

def plain(x):
    gpu.launch(threads=64)
    x[gpu.thread] = x[gpu.thread] * 2.0

def block(x):
    gpu.launch(threads=64)
    with gpu.when(gpu.thread > 3):
        x[gpu.thread] = 0.0

def loop(x):
    gpu.launch(threads=64)
    for k in gpu.loop(4):
        x[k] = 0.0

def branch(x):
    gpu.launch(threads=64)
    if gpu.thread > 3:
        x[gpu.thread] = 0.0
"""


def test_without_its_text_a_kernel_has_no_blocks() -> None:
    names: dict[str, Any] = {}
    exec(WITHOUT_TEXT, names)
    x = np.ones(64, np.float32)
    gpu.kernel(names["plain"]).interpret(x)
    assert x.tolist() == [2.0] * 64
    for name, line, words in (
        ("block", 10, "gpu.when outside"),
        ("loop", 15, "gpu.loop outside"),
        ("branch", 20, "GPU"),
    ):
        with pytest.raises(KernelError, match=rf"<string>:{line}: .*{words}"):
            gpu.kernel(names[name]).interpret(x)


def test_a_text_that_is_not_the_code_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "changed.py"
    names: dict[str, Any] = {}
    exec(compile(WITHOUT_TEXT, str(file), "exec"), names)
    file.write_text(WITHOUT_TEXT.replace("0.0", "1.0"))
    with pytest.raises(KernelError, match=r"gpu\.when outside"):
        gpu.kernel(names["block"]).interpret(np.ones(64, np.float32))
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    x = np.zeros(64, np.float32)
    gpu.kernel(names["branch"]).interpret(x)
    assert x.tolist() == [0.0] * 4 + [1.0] * 60


def test_a_carried_index_is_never_taken_for_what_it_starts_as() -> None:
    @gpu.kernel
    def beyond(x, y, n):
        gpu.launch(threads=64)
        i = gpu.thread
        for _k in gpu.loop(n):
            i = i + 1
        y[gpu.thread] = x[i]

    @gpu.kernel
    def alternating(x, y, n):
        gpu.launch(threads=64)
        side = 0
        for _k in gpu.loop(n):
            side = 1 - side
        y[gpu.thread] = x[gpu.thread + 32 * side]

    x, y = np.zeros(96, np.float32), np.zeros(64, np.float32)
    assert [v.array for v in beyond.verify(x, y, 40).verdicts if v.status == "undecided"] == ["x"]
    assert beyond.program(x, y, 40).checked
    assert alternating.verify(x, y, 3).ok and not alternating.program(x, y, 3).checked
    assert not alternating.verify(x[:95], y, 3).ok


@pytest.mark.parametrize("first", [0, 3, 6])
@pytest.mark.parametrize("start", [0, 2])
@pytest.mark.parametrize("typed", [False, True])
def test_a_carried_index_lies_where_it_was_put(first: int, start: int, typed: bool) -> None:
    """It is the first number or a counter's, whatever decides which: as many elements do, and no fewer."""

    @gpu.kernel
    def nearest(x, counts):
        gpu.launch(grid=2, threads=8)
        if gpu.thread < 7:
            best, which = x[gpu.thread], gpu.constant(first, "u32") if typed else first
            for k in gpu.loop(5, start=start):
                if x[k] < best:
                    best, which = x[k], k
            gpu.atomic_add(counts, which, 1)

    x, most = np.arange(8, 0, -1).astype(np.float32), max(first, 4)
    assert nearest.verify(x, np.zeros(most + 1, np.uint32)).ok
    assert not nearest.verify(x, np.zeros(most, np.uint32)).ok
    counts = np.zeros(most + 1, np.uint32)
    nearest.interpret(x, counts, check=True)
    assert counts.sum() == 14


@pytest.mark.parametrize("bins", [7, 8])
def test_what_a_branch_set_is_known_under_its_condition(bins: int) -> None:
    @gpu.kernel
    def counted(keys, counts):
        gpu.launch(grid=2, threads=32)
        i = gpu.workgroup.x * 32 + gpu.thread
        digit = gpu.constant(99, "u32")
        if i < 40:
            digit = keys[i] % 8
        if i < 40:
            gpu.atomic_add(counts, digit, 1)

    keys = np.arange(40, dtype=np.uint32)
    assert counted.verify(keys, np.zeros(bins, np.uint32)).ok == (bins == 8)


def test_a_carried_number_is_a_variable_of_the_text() -> None:
    text = gpu.kernel(control_forms.doubled).wgsl(*arguments())
    assert text[text.index("let x_0") :] == (
        "let x_0 = x[tid];\n    var v = x_0;\n    for (var k = 0u; k < 4u; k++) {\n        v = v * 2.0;\n    }\n"
        "    y[tid] = v;\n}\n"
    ).replace("var k = 0u; k < 4u; k++", "var _k = 0u; _k < 4u; _k++")


def test_what_cutepys_own_code_says_of_blocks_is_read_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a function without blocks, in another file than the kernel, calls one that has them."""
    text = "def inner(x, y):\n    for k in gpu.loop(4):\n        y[k] = x[k] + 1\ndef outer(x, y):\n    inner(x, y)\n"
    file = f"{PACKAGE}/of_this_test.py"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
    space: dict[str, Any] = {"gpu": gpu}
    exec(compile(text, file, "exec"), space)
    outer = space["outer"]

    @gpu.kernel
    def calls(x: Tensor, y: Tensor) -> None:
        gpu.launch(grid=1, threads=1)
        outer(x, y)

    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    calls.interpret(x, y)
    assert y.tolist() == [1, 2, 3, 4]
