"""`while`, `break`, `continue`, early `return`: as plain Python has them, on both engines, or refused at their line."""

import re
from collections.abc import Callable
from pathlib import Path

import leaving_forms
import numpy as np
import one_thread
import pytest
from test_control_flow import arguments

from cutepy import gpu
from cutepy.errors import KernelError

FILE = Path(leaving_forms.__file__)
PLAIN = one_thread.functions_of(FILE.read_text(), str(FILE))


def test_there_are_sixty_forms() -> None:
    assert len(leaving_forms.RIGHT) + len(leaving_forms.REFUSED) >= 60


@pytest.mark.parametrize("name", leaving_forms.RIGHT)
def test_as_plain_python(name: str) -> None:
    *given, wanted = arguments()
    one_thread.run(PLAIN, name, *given, wanted)
    kernel = gpu.kernel(leaving_forms.RIGHT[name])
    *given, found = arguments()
    kernel.interpret(*given, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    *given, found = arguments()
    kernel(*given, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert not kernel.verify(*given, found).refuted


@pytest.mark.parametrize("name", leaving_forms.REFUSED)
def test_refused_at_its_line(name: str) -> None:
    body, words = leaving_forms.REFUSED[name]
    lines = FILE.read_text().splitlines()
    first = body.__code__.co_firstlineno
    last = max(line for *_, line in body.__code__.co_lines() if line is not None)
    marked = [n for n in range(first, last + 1) if lines[n - 1].endswith("# here")]
    with pytest.raises(KernelError) as caught:
        gpu.kernel(body).interpret(*arguments())
    assert words in str(caught.value)
    if marked:
        assert re.match(rf"leaving_forms\.py:{marked[0]}: ", str(caught.value))


def turned(x, n, y):
    gpu.launch(threads=64)
    s, t, i = gpu.shared(x, 64), gpu.thread, 0
    s[t] = x[t]
    gpu.barrier()
    while i < n:
        v = s[(t + 1) % 64]
        gpu.barrier()
        s[t] = v
        gpu.barrier()
        i += 1
    y[t] = s[t]


def without_its_last_barrier(x, n, y):
    gpu.launch(threads=64)
    s, t, i = gpu.shared(x, 64), gpu.thread, 0
    s[t] = x[t]
    gpu.barrier()
    while i < n:
        v = s[(t + 1) % 64]
        gpu.barrier()
        s[t] = v
        i += 1
    y[t] = s[t]


def left_before_the_barrier(x, n, y):
    gpu.launch(threads=64)
    s, t = gpu.shared(x, 64), gpu.thread
    for k in gpu.loop(9):
        s[t] = x[t]
        if k == n:
            break
        gpu.barrier()
    y[t] = s[63 - t]


def skipped(x, n, y):
    gpu.launch(threads=64)
    s, t = gpu.shared(x, 64), gpu.thread
    for k in gpu.loop(9):
        if x[k] > 3.0:
            continue
        s[t] = x[t]
    gpu.barrier()
    y[t] = s[63 - t]


def never_begun(x, n, y):
    gpu.launch(threads=64)
    s, t, i = gpu.shared(x, 64), gpu.thread, 0
    while i < n:
        s[t] = x[t]
        i += 1
    gpu.barrier()
    y[t] = s[63 - t]


def to_its_end(x, n, y):
    gpu.launch(threads=64)
    i = gpu.thread
    while i < 64:
        y[gpu.thread] = x[i]
        i += 1


def past_its_end(x, n, y):
    gpu.launch(threads=64)
    i = gpu.thread
    while i <= 64:
        y[gpu.thread] = x[i]
        i += 1


def down_to_nothing(x, n, y):
    gpu.launch(threads=64)
    i = gpu.thread
    while i > 0:
        i -= 1
        y[gpu.thread] = x[i]


def before_its_beginning(x, n, y):
    gpu.launch(threads=64)
    i = gpu.thread
    while i > 0:
        i -= 1
        y[gpu.thread] = x[i - 1]


def broken_after_the_access(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(100):
        y[gpu.thread] = x[k]
        if k >= 63:
            break


def broken_before_the_access(x, n, y):
    gpu.launch(threads=64)
    for k in gpu.loop(100):
        if k >= 64:
            break
        y[gpu.thread] = x[k]


def by_data(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    while v > 1.0:
        v = v * 0.5
    y[gpu.thread] = v


def by_data_at_most(x, n, y):
    gpu.launch(threads=64)
    v = x[gpu.thread]
    while gpu.at_most(64, v > 1.0):
        v = v * 0.5
    y[gpu.thread] = v


def over_its_end(x, n, y):
    gpu.launch(threads=64)
    i = 0
    while i < n:
        i += 2
    y[gpu.thread] = gpu.cast(i, "f32")


#: The claim about an array, or about the kernel, and what is found.
CLAIMS: list[tuple[Callable[..., None], str, str, set[str]]] = [
    (turned, "no races", "s", {"proven"}),
    (turned, "uniform barriers", "", {"proven"}),
    (turned, "bounded loops", "", {"proven"}),
    (turned, "written before read", "s", {"proven"}),
    (without_its_last_barrier, "no races", "s", {"refuted"}),
    (left_before_the_barrier, "no races", "s", {"refuted", "undecided"}),
    (skipped, "written before read", "s", {"refuted", "undecided"}),
    (never_begun, "written before read", "s", {"refuted", "undecided"}),
    (to_its_end, "in bounds", "x", {"proven"}),
    (past_its_end, "in bounds", "x", {"refuted"}),
    (down_to_nothing, "in bounds", "x", {"proven"}),
    (before_its_beginning, "in bounds", "x", {"refuted"}),
    (broken_before_the_access, "in bounds", "x", {"proven"}),
    (broken_after_the_access, "in bounds", "x", {"undecided"}),
    (by_data, "bounded loops", "", {"undecided"}),
    (by_data_at_most, "bounded loops", "", {"proven"}),
    (over_its_end, "bounded loops", "", {"undecided"}),
]


@pytest.mark.parametrize(("body", "claim", "array", "status"), CLAIMS)
def test_what_is_proven_of_a_loop_that_is_left(
    body: Callable[..., None], claim: str, array: str, status: set[str]
) -> None:
    x, _, y = arguments()
    kernel = gpu.kernel(body)
    (found,) = [v for v in kernel.verify(x, 5, y).verdicts if (v.claim, v.array) == (claim, array)]
    assert found.status in status, str(found)
    if claim == "bounded loops":
        assert kernel.program(x, 5, y).checked == (found.status != "proven")


def test_a_while_past_the_end_of_these_data_is_found() -> None:
    @gpu.kernel
    def row_sums(first, x, y):
        gpu.launch(threads=4)
        i, s = first[gpu.thread], 0.0
        while i <= first[gpu.thread + 1]:
            s = s + x[i]
            i += 1
        y[gpu.thread] = s

    first, x = np.array([0, 3, 5, 9, 12], np.uint32), np.ones(12, np.float32)
    with pytest.raises(KernelError, match=r"thread 3"):
        row_sums.interpret(first, x, np.zeros(4, np.float32), check=True)


def test_the_interpreter_tells_of_a_while_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutepy.gpu.targets.interpreter.MAX_ITERATIONS", 100)

    @gpu.kernel
    def ever(x):
        gpu.launch(threads=4)
        v = x[gpu.thread]
        while v != 1.0:
            v = v * 0.5

        x[gpu.thread] = v

    with pytest.raises(KernelError, match=r"goes on after 101 turns"):
        ever.interpret(np.array([1, 2, 3, 4], np.float32))
